/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream-ordered heap under random operations, against a map of single units that remembers
 * of each which free it waits for, and against the checker. */
#include "config.h"

#include "tests/support.h"

#include "tests/reuse_fixture.h"

#define N_CHUNKS    8
#define CHUNK_UNITS 256
#define N_UNITS     (N_CHUNKS * CHUNK_UNITS)
#define MAX_SLOTS   10
#define MAX_BLOCKS  200
#define N_MARKS     6

enum unit_state { GONE, FREED, LIVE };

/* A free of the host's, or none at all yet, has the slot SP_SLOT_HOST. */
struct unit {
    enum unit_state state;
    struct sp_point free;
    uint64_t merged_seq; /* the latest stamp that merges may have given it; or free.seq */
};

static struct {
    struct unit units[N_UNITS];
    uintptr_t blocks[MAX_BLOCKS];
    size_t n_blocks;
    bool is_open[MAX_SLOTS];
    bool is_added[N_CHUNKS];
    struct sp_mark marks[N_MARKS];
    uint64_t n_takes, n_refused, n_waiting;
    uint64_t random;
} oracle;

static size_t below(size_t bound)
{
    return sp_test_random_below(&oracle.random, bound);
}

static struct unit *unit_at(uintptr_t start)
{
    size_t units = (start - BASE) / UNIT;

    return &oracle.units[units / 4096 * CHUNK_UNITS + units % 4096];
}

static bool is_ready(const struct unit *unit)
{
    return unit->state == FREED && sp_order_is_before(order, unit->free, SP_SLOT_HOST);
}

static bool may_have(const struct unit *unit, sp_slot slot)
{
    if (unit->state != FREED)
        return false;
    if (is_ready(unit))
        return true;
    if (slot == SP_SLOT_HOST)
        return false;
    if (unit->free.slot == slot)
        return unit->free.seq > order->streams[slot].first_seq;
    return (fixture.policy->follows_events && sp_order_is_before(order, unit->free, slot)) ||
           (fixture.policy->is_opportunistic &&
            unit->free.seq <= order->streams[unit->free.slot].done_seq);
}

/* The unit as if it had merged with all that it could. */
static struct unit merged(const struct unit *unit)
{
    struct unit late = *unit;

    late.free.seq = unit->merged_seq;
    return late;
}

/* Whether two units are sure to be in one range: both were seen whatever they merged with, or
 * neither was and one stream freed both. */
static bool are_merged(const struct unit *a, const struct unit *b)
{
    struct unit late_a = merged(a), late_b = merged(b);

    if (a->state != FREED || b->state != FREED)
        return false;
    if (is_ready(&late_a) && is_ready(&late_b))
        return true;
    return !is_ready(a) && !is_ready(b) && a->free.slot == b->free.slot;
}

/* Give all that may have merged with units just freed their stamp. */
static void spread_stamp(struct unit *first, size_t n)
{
    size_t begin = (size_t)(first - oracle.units), end = begin + n;
    struct unit late;

    while (begin % CHUNK_UNITS != 0 && oracle.units[begin - 1].state == FREED &&
           oracle.units[begin - 1].free.slot == first->free.slot)
        begin--;
    while (end % CHUNK_UNITS != 0 && oracle.units[end].state == FREED &&
           oracle.units[end].free.slot == first->free.slot)
        end++;
    for (size_t i = begin; i < end; i++) {
        late = merged(&oracle.units[i]);
        if (!is_ready(&late))
            oracle.units[i].merged_seq = first->free.seq;
    }
}

/* Whether some range must be there that serves the request. */
static bool fits_somewhere(size_t n, sp_slot slot)
{
    for (size_t i = 0; i < N_UNITS;) {
        struct unit late = merged(&oracle.units[i]);
        bool is_usable = may_have(&late, slot);
        size_t end = i + 1;

        while (end % CHUNK_UNITS != 0 &&
               are_merged(&oracle.units[end - 1], &oracle.units[end])) {
            late = merged(&oracle.units[end++]);
            is_usable = may_have(&late, slot) && is_usable;
        }
        if (is_usable && end - i >= n)
            return true;
        i = end;
    }
    return false;
}

/* The edge names why each unit could be had. */
static void check_unit(const struct unit *unit, sp_slot slot)
{
    const struct sp_edge *edge = &fixture.edge;

    assert_true(may_have(unit, slot));
    if (edge->kind == SP_EDGE_FRESH || edge->kind == SP_EDGE_SEEN) {
        assert_true(is_ready(unit));
        return;
    }
    assert_int_equal(unit->free.slot, edge->free.slot);
    assert_true(unit->free.seq <= edge->free.seq);
    if (edge->kind == SP_EDGE_STREAM)
        assert_int_equal(edge->free.slot, slot);
    else if (edge->kind == SP_EDGE_EVENT)
        assert_true(fixture.policy->follows_events &&
                    sp_order_is_before(order, edge->free, slot));
    else
        assert_true(fixture.policy->is_opportunistic &&
                    edge->free.seq <= order->streams[edge->free.slot].done_seq);
}

static void set_live(uintptr_t start, size_t n)
{
    for (size_t i = 0; i < n; i++)
        unit_at(start)[i].state = LIVE;
    oracle.blocks[oracle.n_blocks++] = start;
}

static sp_slot any_open(void)
{
    sp_slot slot;

    do
        slot = (sp_slot)below(MAX_SLOTS);
    while (!oracle.is_open[slot]);
    return slot;
}

static void take_any(void)
{
    sp_slot slot = below(10) == 0 ? SP_SLOT_HOST : any_open();
    size_t n = 1 + (below(4) == 0 ? below(CHUNK_UNITS) : below(12));
    bool must_fit = fits_somewhere(n, slot);
    uintptr_t start;

    if (oracle.n_blocks == MAX_BLOCKS)
        return;
    start = take(slot, n);
    if (start == 0) {
        assert_false(must_fit);
        oracle.n_refused++;
        return;
    }
    for (size_t i = 0; i < n; i++)
        check_unit(&unit_at(start)[i], slot);
    set_live(start, n);
    oracle.n_takes++;
}

static void take_any_waiting(void)
{
    struct sp_point waits[MAX_SLOTS];
    sp_slot slot = any_open();
    size_t n = 1 + below(CHUNK_UNITS), n_waits = 0;
    struct sp_reuse_block block;

    if (oracle.n_blocks == MAX_BLOCKS)
        return;
    feed();
    if (!sp_reuse_take_waiting(fixture.reuse, n * UNIT, sp_order_submit(order, slot), &block,
                               &fixture.edge, waits, MAX_SLOTS, &n_waits))
        return;
    assert_true(fixture.policy->allows_internal_wait);
    for (size_t i = 0; i < n_waits; i++)
        assert_true(sp_order_is_before(order, waits[i], slot));
    for (size_t i = 0; i < n; i++) {
        const struct unit *unit = &unit_at(block.start)[i];
        bool is_waited_for = may_have(unit, slot);

        assert_int_equal(unit->state, FREED);
        for (size_t j = 0; j < n_waits; j++)
            is_waited_for |= waits[j].slot == unit->free.slot && waits[j].seq >= unit->free.seq;
        assert_true(is_waited_for);
    }
    set_live(block.start, n);
    oracle.n_waiting++;
}

static void give_any(void)
{
    struct sp_point at;
    struct sp_reuse_block block;
    size_t i;
    sp_slot slot;

    if (oracle.n_blocks == 0)
        return;
    i = below(oracle.n_blocks);
    assert_true(sp_reuse_find(fixture.reuse, oracle.blocks[i], &block));
    slot = block.alloc.slot;
    if (below(12) == 0)
        slot = SP_SLOT_HOST;
    else if (slot == SP_SLOT_HOST || !oracle.is_open[slot] || below(4) == 0)
        slot = any_open();
    if (slot != SP_SLOT_HOST && !sp_order_is_before(order, block.alloc, slot))
        assert_ok(sp_order_wait_points(order, slot, &block.alloc, 1));
    at = give(slot, block.start);
    for (size_t j = 0; j < block.size / UNIT; j++)
        unit_at(block.start)[j] = (struct unit){FREED, at, at.seq};
    if (slot != SP_SLOT_HOST)
        spread_stamp(unit_at(block.start), block.size / UNIT);
    oracle.blocks[i] = oracle.blocks[--oracle.n_blocks];
    assert_false(sp_reuse_find(fixture.reuse, block.start, &block));
}

static void add_or_remove_chunk(void)
{
    size_t i = below(N_CHUNKS);
    const struct sp_chunk *removed;

    feed();
    if (!oracle.is_added[i]) {
        fixture.chunks[i].base = BASE + i * 4096 * UNIT;
        fixture.chunks[i].size = CHUNK_UNITS * UNIT;
        sp_reuse_add_chunk(fixture.reuse, &fixture.chunks[i]);
        oracle.is_added[i] = true;
        for (size_t j = 0; j < CHUNK_UNITS; j++)
            oracle.units[i * CHUNK_UNITS + j] = (struct unit){FREED, HOST, 0};
        return;
    }
    removed = sp_reuse_remove_chunk(fixture.reuse, 3 * CHUNK_UNITS * UNIT);
    if (removed == NULL)
        return;
    i = (size_t)(removed - fixture.chunks);
    oracle.is_added[i] = false;
    for (size_t j = 0; j < CHUNK_UNITS; j++) {
        assert_true(is_ready(&oracle.units[i * CHUNK_UNITS + j]));
        oracle.units[i * CHUNK_UNITS + j].state = GONE;
    }
}

static void open_or_close_stream(void)
{
    sp_slot slot = (sp_slot)below(MAX_SLOTS);

    if (slot < 3)
        return;
    if (oracle.is_open[slot]) {
        sp_order_remove_stream(order, slot);
        oracle.is_open[slot] = false;
        return;
    }
    /* A place that is not free yet makes a new one: there may be no more than are counted on.
     */
    sp_order_see_all(order);
    slot = new_stream();
    assert_true(slot < MAX_SLOTS);
    oracle.is_open[slot] = true;
}

static void learn_any(void)
{
    struct sp_mark *mark = &oracle.marks[below(N_MARKS)];
    sp_slot slot = any_open(), other = (sp_slot)below(order->n_slots);
    const struct sp_order_stream *stream = &order->streams[other];

    switch (below(8)) {
    case 0:
    case 1:
        sp_mark_fini(mark);
        assert_ok(sp_order_record(order, slot, mark));
        break;
    case 2:
    case 3:
        assert_ok(sp_order_wait(order, slot, mark));
        break;
    case 4:
        if (below(3) == 0)
            sp_order_see(order, mark);
        break;
    case 5:
        if (below(6) == 0)
            sp_order_see_stream(order, slot);
        break;
    default:
        sp_order_executed(order, other,
                          stream->done_seq + below(stream->last_seq - stream->done_seq + 1));
    }
}

static void change_policy(void)
{
    fixture.policy->follows_events = below(2) == 0;
    fixture.policy->is_opportunistic = below(2) == 0;
    fixture.policy->allows_internal_wait = below(2) == 0;
}

static void check_counters(void)
{
    size_t used = 0, ready = 0, pending = 0;
    struct sp_reuse_stats now = stats();

    for (size_t i = 0; i < N_UNITS; i++) {
        used += oracle.units[i].state == LIVE;
        ready += is_ready(&oracle.units[i]);
        pending += oracle.units[i].state == FREED && !is_ready(&oracle.units[i]);
    }
    /* A unit that was seen may be in a range that was freed later, and waits with it. */
    assert_int_equal(now.used_bytes, used * UNIT);
    assert_true(now.ready_bytes <= ready * UNIT);
    assert_int_equal(now.ready_bytes + now.pending_bytes, (ready + pending) * UNIT);
    assert_int_equal(now.n_live, oracle.n_blocks);
}

static void do_any(void)
{
    size_t what = below(100);

    if (what < 34)
        take_any();
    else if (what < 66)
        give_any();
    else if (what < 69)
        take_any_waiting();
    else if (what < 72)
        add_or_remove_chunk();
    else if (what < 74)
        open_or_close_stream();
    else if (what < 97)
        learn_any();
    else
        change_policy();
    if (what % 8 == 0)
        check_counters();
    assert_true(sp_reuse_is_valid(fixture.reuse));
}

static void random_operations_agree_with_a_map_of_units(void **state)
{
    (void)state;
    memset(&oracle, 0, sizeof(oracle));
    oracle.random = sp_test_seed();
    for (sp_slot slot = 0; slot < 3; slot++)
        oracle.is_open[slot] = true;
    for (size_t i = 0; i < sp_test_scaled(40000); i++)
        do_any();
    assert_true(oracle.n_takes > 0 && oracle.n_refused > 0 && oracle.n_waiting > 0);
    for (size_t i = 0; i < N_MARKS; i++)
        sp_mark_fini(&oracle.marks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_operations_agree_with_a_map_of_units),
    };

    return cmocka_run_group_tests_name("reuse_random", tests, NULL, NULL);
}
