/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order, the stream-ordered heap and the checker against the oracle: streams that come and
 * go, marks, waits, frees on other streams, what executes and what the host sees, chunks that
 * are added and trimmed, policies that change. All that can be asked must agree after every
 * step. */
#include "config.h"

#include "tests/reuse_world.h"

#include <inttypes.h>
#include <string.h>

#include "src/util/util.h"

/* Steps after which a new world begins, so that sets of operations stay small. */
#define EPISODE 1000

/* ---- what must agree after every step ---------------------------------------------------- */

static void check_used(const struct sp_reuse_stats *stats)
{
    expect(stats->used_bytes == (uint64_t)oracle->used * UNIT, "used: %" PRIu64 ", not %d",
           stats->used_bytes / UNIT, oracle->used);
    expect(stats->used_high_bytes == (uint64_t)oracle->used_high * UNIT,
           "most used: %" PRIu64 ", not %d", stats->used_high_bytes / UNIT, oracle->used_high);
    expect(stats->reserved_bytes == (uint64_t)oracle->reserved * UNIT,
           "reserved: %" PRIu64 ", not %d", stats->reserved_bytes / UNIT, oracle->reserved);
    expect(stats->reserved_high_bytes == (uint64_t)oracle->reserved_high * UNIT,
           "most reserved: %" PRIu64 ", not %d", stats->reserved_high_bytes / UNIT,
           oracle->reserved_high);
    expect(stats->n_live == (uint64_t)oracle->n_live &&
               stats->n_live_high == (uint64_t)oracle->n_live_high,
           "live: %" PRIu64 ", at most %" PRIu64 ", not %d and %d", stats->n_live,
           stats->n_live_high, oracle->n_live, oracle->n_live_high);
    expect(memcmp(stats->n_takes, world.n_takes, sizeof(world.n_takes)) == 0,
           "the takes are not counted by edge");
}

static void check_free(const struct sp_reuse_stats *stats)
{
    int least = sp_oracle_count(oracle, sp_oracle_is_range_ready);
    int most = sp_oracle_count(oracle, sp_oracle_is_ready);
    uint64_t ready = stats->ready_bytes / UNIT, sum = 0;
    uint64_t bytes[SP_ORACLE_STREAMS];
    sp_slot slots[SP_ORACLE_STREAMS];
    size_t n;

    expect(ready >= (uint64_t)least && ready <= (uint64_t)most,
           "ready: %" PRIu64 ", not %d to %d", ready, least, most);
    expect(stats->used_bytes + stats->ready_bytes + stats->pending_bytes ==
               stats->reserved_bytes,
           "used, ready and pending are not what is reserved");
    n = sp_reuse_pending(world.reuse, slots, bytes, SP_ORACLE_STREAMS);
    for (size_t i = 0; i < n; i++) {
        expect(bytes[i] > 0 && slots[i] < world.order.n_slots, "nothing is pending there");
        sum += bytes[i];
    }
    expect(sum == stats->pending_bytes, "what is pending is not what is of all streams");
}

static void check_counters(void)
{
    struct sp_reuse_stats stats;
    int largest;

    sp_reuse_notice(world.reuse);
    sp_reuse_stats(world.reuse, &stats);
    check_used(&stats);
    check_free(&stats);
    largest = (int)(sp_reuse_largest(world.reuse) / UNIT);
    expect(largest >= sp_oracle_longest_range_ready(oracle) &&
               largest <= sp_oracle_longest_ready(oracle),
           "largest: %d, not %d to %d", largest, sp_oracle_longest_range_ready(oracle),
           sp_oracle_longest_ready(oracle));
}

/* The block around some address. */
static void check_find(void)
{
    int u = below(SP_ORACLE_UNITS);
    const struct sp_oracle_unit *unit = &oracle->units[u];
    struct sp_reuse_block block;
    bool is_found = sp_reuse_find(world.reuse, address_of(u) + (uintptr_t)below(UNIT), &block);

    expect(is_found == (unit->state == SP_ORACLE_LIVE), "unit %d is %s", u,
           is_found ? "found" : "not found");
    if (!is_found)
        return;
    expect(block.start == address_of(unit->start) &&
               block.size == (size_t)sp_oracle_length(oracle, unit->start) * UNIT,
           "another block is found around unit %d", u);
    expect(block.cookie == NULL || block.cookie == &oracle->units[unit->start],
           "the cookie of another block");
    expect(unit->op == SP_ORACLE_HOST ? block.alloc.slot == SP_SLOT_HOST
                                      : op_of(block.alloc) == unit->op,
           "the block around unit %d was allocated elsewhere", u);
}

/* What a stream knows of an operation. Of a stream whose slot is another's everything has
 * executed, and may count as known. */
static void check_known(int op, int stream)
{
    struct sp_point point = world.points[op];
    bool is_known = point.seq <= sp_order_known(&world.order, slot_of(stream), point.slot);

    if (sp_order_is_before(&world.order, point, SP_SLOT_HOST) ||
        point.seq <= world.order.streams[point.slot].first_seq)
        return;
    expect(!is_known || sp_oracle_is_before(oracle, op, stream),
           "operation %d is known in stream %d", op, stream);
    expect(is_known || !sp_oracle_is_known(oracle, op, stream),
           "operation %d is not known in stream %d", op, stream);
}

static void check_order(void)
{
    int stream = is_lucky(20) ? SP_ORACLE_HOST : some_stream();
    int op = oracle->n_ops == 0 ? NO_OP : below(oracle->n_ops);
    bool is_before;

    if (op == NO_OP)
        return;
    is_before = sp_order_is_before(&world.order, world.points[op], slot_of(stream));
    expect(!is_before || sp_oracle_is_before(oracle, op, stream) ||
               (sp_oracle_is_done(oracle, op) && !is_tellable(op)),
           "operation %d is before stream %d", op, stream);
    expect(is_before || !sp_oracle_is_known(oracle, op, stream),
           "operation %d is not before stream %d", op, stream);
    if (stream != SP_ORACLE_HOST)
        check_known(op, stream);
}

static void check_world(void)
{
    struct sp_checker_report report;

    if (is_lucky(60))
        check_counters();
    check_find();
    for (int i = 0; i < 4; i++)
        check_order();
    sp_checker_report(world.checker, &report);
    expect(report.n_violations == 0, "the checker: %s", report.first);
    if (is_lucky(20))
        expect(sp_reuse_is_valid(world.reuse) && sp_order_is_valid(&world.order),
               "an invariant is broken");
}

/* ---- episodes ---------------------------------------------------------------------------- */

/* `n` operations or a few more, in as many episodes as it takes. Their seeds follow each other,
 * so that an episode can be repeated by its own. */
static void run(uint64_t seed, size_t n)
{
    world.n_steps = 0;
    while (world.n_steps < n) {
        world_begin(seed++);
        for (int i = 0; i < EPISODE && oracle->n_ops + OPS_A_STEP < SP_ORACLE_OPS; i++) {
            world_step();
            check_world();
        }
        world_end();
    }
}

static void heap_agrees_with_the_oracle_for_ten_thousand_operations(void **state)
{
    (void)state;
    run(1, 10000);
}

static void heap_agrees_with_the_oracle_from_any_seed(void **state)
{
    (void)state;
    run(sp_test_seed(), sp_test_scaled(100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_agrees_with_the_oracle_for_ten_thousand_operations),
        cmocka_unit_test(heap_agrees_with_the_oracle_from_any_seed),
    };

    return cmocka_run_group_tests_name("reuse_oracle", tests, NULL, NULL);
}
