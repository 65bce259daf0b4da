/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of streams under random operations, against dense clocks, which know nothing of
 * sparse ones. */
#include "config.h"

#include "tests/support.h"

#include "tests/order_fixture.h"

#define MAX_SLOTS 24
#define N_MARKS   16

/* A row of numbers, one a slot: the whole clock. */
static struct {
    uint64_t known[MAX_SLOTS][MAX_SLOTS];
    uint64_t first[MAX_SLOTS], last[MAX_SLOTS], done[MAX_SLOTS], seen[MAX_SLOTS];
    bool is_open[MAX_SLOTS];
    struct sp_mark marks[N_MARKS];
    struct sp_point at[N_MARKS];
    uint64_t mark_known[N_MARKS][MAX_SLOTS];
    bool is_set[N_MARKS];
    uint64_t random;
} oracle;

static size_t below(size_t bound)
{
    return sp_test_random_below(&oracle.random, bound);
}

static void raise_to(uint64_t *value, uint64_t to)
{
    if (*value < to)
        *value = to;
}

static bool oracle_is_before(struct sp_point point, sp_slot slot)
{
    if (point.seq <= oracle.seen[point.slot])
        return true;
    if (slot == SP_SLOT_HOST)
        return false;
    if (point.seq <= oracle.first[point.slot])
        return true; /* a gone stream's, which had executed */
    return (point.slot == slot && point.seq > oracle.first[slot]) ||
           point.seq <= oracle.known[slot][point.slot];
}

/* A stream that is open, or SP_SLOT_HOST. */
static sp_slot any_open(void)
{
    sp_slot slot = (sp_slot)below(MAX_SLOTS);

    for (int i = 0; i < MAX_SLOTS; i++, slot = (slot + 1) % MAX_SLOTS) {
        if (oracle.is_open[slot])
            return slot;
    }
    return SP_SLOT_HOST;
}

static void add_any(void)
{
    sp_slot slot;

    if (order.n_slots == MAX_SLOTS)
        return;
    slot = new_stream();
    assert_true(slot < MAX_SLOTS);
    assert_false(oracle.is_open[slot]);
    assert_true(oracle.done[slot] == oracle.last[slot]);
    oracle.is_open[slot] = true;
    oracle.first[slot] = oracle.last[slot];
    memset(oracle.known[slot], 0, sizeof(oracle.known[slot]));
}

static void record_any(sp_slot slot)
{
    size_t i = below(N_MARKS);

    if (oracle.is_set[i])
        sp_mark_fini(&oracle.marks[i]);
    oracle.marks[i] = record(slot);
    oracle.is_set[i] = true;
    oracle.at[i] =
        (struct sp_point){slot, oracle.last[slot] > oracle.first[slot] ? oracle.last[slot] : 0};
    memcpy(oracle.mark_known[i], oracle.known[slot], sizeof(oracle.known[slot]));
}

static void oracle_wait(sp_slot slot, struct sp_point at, const uint64_t *known)
{
    for (sp_slot other = 0; other < MAX_SLOTS; other++) {
        if (other != slot || known[other] <= oracle.first[slot])
            raise_to(&oracle.known[slot][other], known[other]);
    }
    if (at.slot != slot || at.seq <= oracle.first[slot])
        raise_to(&oracle.known[slot][at.slot], at.seq);
}

static void oracle_see(struct sp_point at, const uint64_t *known)
{
    for (sp_slot other = 0; other < MAX_SLOTS; other++)
        raise_to(&oracle.seen[other], known[other]);
    raise_to(&oracle.seen[at.slot], at.seq);
    for (sp_slot other = 0; other < MAX_SLOTS; other++)
        raise_to(&oracle.done[other], oracle.seen[other]);
}

static void use_any_mark(sp_slot slot)
{
    size_t i = below(N_MARKS);

    if (!oracle.is_set[i])
        return;
    if (below(10) == 0) {
        sp_order_see(&order, &oracle.marks[i]);
        oracle_see(oracle.at[i], oracle.mark_known[i]);
    } else {
        assert_ok(sp_order_wait(&order, slot, &oracle.marks[i]));
        oracle_wait(slot, oracle.at[i], oracle.mark_known[i]);
    }
}

static void join_or_see_any(sp_slot slot)
{
    sp_slot other = any_open();
    struct sp_point at = {other,
                          oracle.last[other] > oracle.first[other] ? oracle.last[other] : 0};

    if (below(4) != 0) {
        assert_ok(sp_order_join(&order, slot, other));
        if (slot != other)
            oracle_wait(slot, at, oracle.known[other]);
    } else {
        sp_order_see_stream(&order, other);
        oracle_see(at, oracle.known[other]);
    }
}

static void execute_any(void)
{
    sp_slot slot = (sp_slot)below(order.n_slots);
    uint64_t seq = oracle.done[slot] + below(oracle.last[slot] - oracle.done[slot] + 1);

    sp_order_executed(&order, slot, seq);
    oracle.done[slot] = seq;
}

static void do_any(void)
{
    sp_slot slot = any_open();
    size_t what = below(100);

    if (slot == SP_SLOT_HOST || what < 4) {
        add_any();
    } else if (what < 7) {
        sp_order_remove_stream(&order, slot);
        oracle.is_open[slot] = false;
    } else if (what < 45) {
        assert_int_equal(sp_order_submit(&order, slot).seq, ++oracle.last[slot]);
    } else if (what < 60) {
        record_any(slot);
    } else if (what < 78) {
        use_any_mark(slot);
    } else if (what < 86) {
        join_or_see_any(slot);
    } else {
        execute_any();
    }
}

static void check_any(void)
{
    struct sp_point point = {(sp_slot)below(order.n_slots), 0};
    sp_slot slot = below(8) == 0 ? SP_SLOT_HOST : any_open();
    uint64_t known;

    point.seq = below(oracle.last[point.slot] + 1);
    assert_int_equal(sp_order_is_before(&order, point, slot), oracle_is_before(point, slot));
    if (slot == SP_SLOT_HOST || slot == point.slot)
        return;
    known = oracle.known[slot][point.slot];
    assert_int_equal(sp_order_known(&order, slot, point.slot),
                     known > oracle.seen[point.slot] ? known : 0);
}

static void check_numbers(void)
{
    for (sp_slot slot = 0; slot < order.n_slots; slot++) {
        assert_int_equal(order.streams[slot].last_seq, oracle.last[slot]);
        assert_int_equal(order.streams[slot].done_seq, oracle.done[slot]);
        assert_int_equal(order.streams[slot].seen_seq, oracle.seen[slot]);
    }
}

static void random_operations_agree_with_dense_clocks(void **state)
{
    (void)state;
    memset(&oracle, 0, sizeof(oracle));
    oracle.random = sp_test_seed();
    order.checker = sp_checker_create();
    add_any();
    for (size_t i = 0; i < sp_test_scaled(100000); i++) {
        do_any();
        for (int j = 0; j < 4; j++)
            check_any();
        check_numbers();
        assert_true(sp_order_is_valid(&order));
    }
    for (size_t i = 0; i < N_MARKS; i++) {
        if (oracle.is_set[i])
            sp_mark_fini(&oracle.marks[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_operations_agree_with_dense_clocks),
    };

    return cmocka_run_group_tests_name("order_random", tests, NULL, NULL);
}
