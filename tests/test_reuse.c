/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream-ordered heap: which free may serve whom, look-up, chunks, counters. */
#include "config.h"

#include "tests/support.h"

#include "tests/reuse_fixture.h"

/* ---- whom a range may serve ---------------------------------------------------------- */

static void fresh_memory_serves_every_stream_and_the_host(void **state)
{
    (void)state;
    add_chunk(10);
    assert_int_equal(take(fixture.a, 4), BASE);
    assert_edge(SP_EDGE_FRESH, HOST);
    assert_int_equal(take(SP_SLOT_HOST, 4), BASE + 4 * UNIT);
    assert_edge(SP_EDGE_FRESH, HOST);
    assert_int_equal(take(fixture.b, 3), 0);
    assert_int_equal(take(fixture.b, 2), BASE + 8 * UNIT);
    assert_int_equal(stats().used_bytes, 10 * UNIT);
    assert_int_equal(stats().n_takes[SP_EDGE_FRESH], 3);
}

static void size_is_rounded_up_to_the_unit_and_impossible_ones_are_refused(void **state)
{
    struct sp_point at = sp_order_submit(order, fixture.a);
    struct sp_reuse_block block = {.start = 7};
    struct sp_edge edge;

    (void)state;
    add_chunk(10);
    assert_true(sp_reuse_take(fixture.reuse, UNIT + 1, at, &block, &edge));
    assert_int_equal(block.size, 2 * UNIT);
    block.start = 7;
    assert_false(sp_reuse_take(fixture.reuse, SIZE_MAX, at, &block, &edge));
    assert_false(sp_reuse_take(fixture.reuse, SIZE_MAX - 2 * UNIT, at, &block, &edge));
    assert_false(sp_reuse_take(fixture.reuse, 0, at, &block, &edge));
    assert_int_equal(block.start, 7);
}

static void own_free_serves_the_stream_at_once(void **state)
{
    struct sp_point at;
    uintptr_t start;

    (void)state;
    add_chunk(4);
    start = take(fixture.a, 4);
    at = give(fixture.a, start);
    assert_int_equal(take(fixture.a, 4), start);
    assert_edge(SP_EDGE_STREAM, at);
}

static void free_serves_no_other_stream_before_anything_is_known(void **state)
{
    (void)state;
    add_chunk(4);
    give(fixture.a, take(fixture.a, 4));
    fixture.policy->follows_events = fixture.policy->is_opportunistic = true;
    assert_int_equal(take(fixture.b, 1), 0);
    assert_int_equal(take(SP_SLOT_HOST, 1), 0);
    assert_int_equal(stats().pending_bytes, 4 * UNIT);
}

static void free_that_the_host_has_seen_serves_all(void **state)
{
    (void)state;
    add_chunk(4);
    give(fixture.a, take(fixture.a, 4));
    sp_order_see_stream(order, fixture.a);
    assert_int_equal(stats().ready_bytes, 4 * UNIT);
    assert_int_equal(take(fixture.b, 2), BASE);
    assert_edge(SP_EDGE_SEEN, HOST);
    assert_int_equal(take(SP_SLOT_HOST, 2), BASE + 2 * UNIT);
}

static void event_serves_only_if_events_are_followed(void **state)
{
    struct sp_point at;

    (void)state;
    add_chunk(4);
    at = give(fixture.a, take(fixture.a, 4));
    wait_for(fixture.b, fixture.a);
    assert_int_equal(take(fixture.b, 4), 0);
    fixture.policy->follows_events = true;
    assert_int_equal(take(fixture.c, 4), 0);
    assert_int_equal(take(fixture.b, 4), BASE);
    assert_edge(SP_EDGE_EVENT, at);
}

static void event_from_before_the_free_does_not_serve(void **state)
{
    uintptr_t start;

    (void)state;
    fixture.policy->follows_events = true;
    add_chunk(4);
    start = take(fixture.a, 4);
    wait_for(fixture.b, fixture.a);
    give(fixture.a, start);
    assert_int_equal(take(fixture.b, 4), 0);
}

static void event_through_another_stream_serves(void **state)
{
    struct sp_point at;

    (void)state;
    fixture.policy->follows_events = true;
    add_chunk(4);
    at = give(fixture.a, take(fixture.a, 4));
    wait_for(fixture.b, fixture.a);
    sp_order_submit(order, fixture.b);
    wait_for(fixture.c, fixture.b);
    assert_int_equal(take(fixture.c, 4), BASE);
    assert_edge(SP_EDGE_EVENT, at);
}

static void executed_free_serves_only_if_reuse_is_opportunistic(void **state)
{
    struct sp_point at;

    (void)state;
    add_chunk(4);
    at = give(fixture.a, take(fixture.a, 4));
    fixture.policy->is_opportunistic = true;
    assert_int_equal(take(fixture.b, 4), 0);
    sp_order_executed(order, fixture.a, at.seq);
    fixture.policy->is_opportunistic = false;
    assert_int_equal(take(fixture.b, 4), 0);
    fixture.policy->is_opportunistic = true;
    assert_int_equal(take(SP_SLOT_HOST, 4), 0);
    assert_int_equal(take(fixture.b, 4), BASE);
    assert_edge(SP_EDGE_EXECUTED, at);
}

/* What all streams may have goes back to its own when reuse is no longer opportunistic. */
static void policies_may_change_at_any_time(void **state)
{
    struct sp_point first, second;
    uintptr_t start;

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(9);
    start = take_all(fixture.a, 3, 3);
    first = give(fixture.a, start);
    sp_order_executed(order, fixture.a, first.seq);
    second = give(fixture.a, at_unit(start, 6));
    fixture.policy->is_opportunistic = false;
    assert_int_equal(take(fixture.b, 3), 0);
    assert_int_equal(take(fixture.a, 3), start);
    assert_edge(SP_EDGE_STREAM, first);
    assert_int_equal(take(fixture.a, 3), at_unit(start, 6));
    assert_edge(SP_EDGE_STREAM, second);
    first = give(fixture.a, start);
    fixture.policy->is_opportunistic = true;
    assert_int_equal(take(fixture.b, 3), 0);
    sp_order_executed(order, fixture.a, first.seq);
    assert_int_equal(take(fixture.b, 3), start);
    assert_edge(SP_EDGE_EXECUTED, first);
}

/* Another thread may see a free executed before who submitted it tells the heap. By then the
 * heap may have dealt with all that the stream had to tell, and another stream may have more.
 */
static void free_that_has_executed_before_it_is_told_serves(void **state)
{
    struct sp_point at, other;
    uintptr_t start;

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(8);
    start = take(fixture.a, 4);
    at = sp_order_submit(order, fixture.a);
    sp_order_executed(order, fixture.a, at.seq);
    other = give(fixture.b, take(fixture.b, 4));
    assert_int_equal(take(fixture.c, 4), 0);
    sp_order_executed(order, fixture.b, other.seq);
    assert_ok(sp_reuse_give(fixture.reuse, start, at));
    assert_true(sp_reuse_is_valid(fixture.reuse));
    assert_int_equal(take(fixture.c, 4), start);
    assert_edge(SP_EDGE_EXECUTED, at);
    assert_int_equal(take(fixture.c, 4), at_unit(start, 4));
    assert_edge(SP_EDGE_EXECUTED, other);
    assert_true(sp_reuse_is_valid(fixture.reuse));
}

static void see_block(const struct sp_reuse_block *block, void *arg)
{
    struct sp_reuse_block **next = arg;

    *(*next)++ = *block;
}

static void live_blocks_of_a_chunk_are_shown_in_order(void **state)
{
    struct sp_reuse_block blocks[8], *end = blocks;
    uintptr_t first, middle, last;

    (void)state;
    add_chunk(10);
    first = take(fixture.a, 2);
    middle = take(SP_SLOT_HOST, 3);
    last = take(fixture.b, 4);
    give(fixture.a, middle);
    sp_reuse_each_live(fixture.reuse, sp_reuse_next_chunk(fixture.reuse, NULL), see_block,
                       &end);
    assert_int_equal(end - blocks, 2);
    assert_int_equal(blocks[0].start, first);
    assert_int_equal(blocks[0].size, 2 * UNIT);
    assert_int_equal(blocks[0].alloc.slot, fixture.a);
    assert_int_equal(blocks[1].start, last);
    assert_int_equal(blocks[1].size, 4 * UNIT);
}

/* A free that has executed goes through the hands of its own stream, too. */
static void executed_free_still_serves_its_own_stream(void **state)
{
    struct sp_point at;

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(4);
    at = give(fixture.a, take(fixture.a, 4));
    sp_order_executed(order, fixture.a, at.seq);
    assert_int_equal(take(fixture.a, 3), BASE);
    assert_edge(SP_EDGE_STREAM, at);
}

static void host_frees_are_ready_at_once(void **state)
{
    (void)state;
    add_chunk(4);
    give(SP_SLOT_HOST, take(fixture.a, 4));
    assert_int_equal(stats().ready_bytes, 4 * UNIT);
    assert_int_equal(take(fixture.b, 4), BASE);
    assert_edge(SP_EDGE_SEEN, HOST);
    give(SP_SLOT_HOST, BASE);
    assert_int_equal(take(SP_SLOT_HOST, 4), BASE);
    give(fixture.a, BASE);
    assert_int_equal(stats().pending_bytes, 4 * UNIT);
}

/* Nobody gives news of the free any more. */
static void free_that_was_seen_before_it_is_given_is_ready(void **state)
{
    struct sp_point at;

    (void)state;
    add_chunk(4);
    assert_int_equal(take(fixture.a, 4), BASE);
    at = sp_order_submit(order, fixture.a);
    sp_order_see_all(order);
    assert_ok(sp_reuse_give(fixture.reuse, BASE, at));
    assert_int_equal(stats().ready_bytes, 4 * UNIT);
    assert_int_equal(take(fixture.b, 4), BASE);
}

static void free_in_another_stream_is_that_streams(void **state)
{
    (void)state;
    add_chunk(4);
    assert_int_equal(take(fixture.a, 4), BASE);
    wait_for(fixture.b, fixture.a);
    give(fixture.b, BASE);
    assert_int_equal(take(fixture.a, 4), 0);
    assert_int_equal(take(fixture.b, 4), BASE);
}

/* ---- wrong frees and look-up --------------------------------------------------------- */

static void what_is_no_live_block_is_refused_and_nothing_changes(void **state)
{
    struct sp_point at = sp_order_submit(order, fixture.a);
    struct sp_reuse_stats before, after;

    (void)state;
    assert_status(STARPOOL_EINVAL, sp_reuse_give(fixture.reuse, BASE, at));
    add_chunk(8);
    assert_int_equal(take(fixture.a, 4), BASE);
    before = stats();
    assert_status(STARPOOL_EINVAL, sp_reuse_give(fixture.reuse, BASE + UNIT, at));
    assert_status(STARPOOL_EINVAL, sp_reuse_give(fixture.reuse, BASE + 4 * UNIT, at));
    assert_status(STARPOOL_EINVAL, sp_reuse_give(fixture.reuse, BASE + 1, at));
    assert_status(STARPOOL_EINVAL, sp_reuse_give(fixture.reuse, 64, at));
    after = stats();
    assert_memory_equal(&before, &after, sizeof(before));
    give(fixture.a, BASE);
    assert_status(STARPOOL_EINVAL, sp_reuse_give(fixture.reuse, BASE, at));
}

static void block_is_found_by_any_address_in_it(void **state)
{
    struct sp_reuse_block block = {.start = 0};
    struct sp_chunk *chunk;
    uintptr_t start;

    (void)state;
    add_chunk(4);
    chunk = add_chunk(20);
    add_chunk(4);
    start = take_all(fixture.a, 3, 6);
    assert_int_equal(start, chunk->base);
    give(fixture.a, start);
    for (size_t offset = 0; offset < 6 * UNIT; offset += 100) {
        assert_true(sp_reuse_find(fixture.reuse, at_unit(start, 6) + offset, &block));
        assert_int_equal(block.start, at_unit(start, 6));
        assert_int_equal(block.size, 6 * UNIT);
        assert_ptr_equal(block.chunk, chunk);
        assert_int_equal(block.alloc.slot, fixture.a);
    }
    block.start = 7;
    assert_false(sp_reuse_find(fixture.reuse, start + 1, &block));
    assert_false(sp_reuse_find(fixture.reuse, start, &block));
    assert_false(sp_reuse_find(fixture.reuse, at_unit(start, 18), &block));
    assert_false(sp_reuse_find(fixture.reuse, at_unit(start, 20), &block));
    assert_false(sp_reuse_find(fixture.reuse, BASE - 1, &block));
    assert_int_equal(block.start, 7);
}

static void cookie_stays_with_its_block(void **state)
{
    struct sp_reuse_block block;
    uintptr_t start;

    (void)state;
    add_chunk(8);
    start = take_all(fixture.a, 2, 4);
    assert_true(sp_reuse_set_cookie(fixture.reuse, start, &fixture));
    assert_false(sp_reuse_set_cookie(fixture.reuse, start + UNIT, &fixture));
    assert_true(sp_reuse_find(fixture.reuse, start + 5, &block));
    assert_ptr_equal(block.cookie, &fixture);
    assert_true(sp_reuse_find(fixture.reuse, at_unit(start, 4), &block));
    assert_null(block.cookie);
    give(fixture.a, start);
    assert_int_equal(take(fixture.a, 4), start);
    assert_true(sp_reuse_find(fixture.reuse, start, &block));
    assert_null(block.cookie);
}

/* ---- places, chunks, counters -------------------------------------------------------- */

static void pending_free_holds_its_streams_place(void **state)
{
    sp_slot a = fixture.a, other;
    struct sp_point at;

    (void)state;
    add_chunk(4);
    at = give(a, take(a, 4));
    assert_int_equal(order->streams[a].n_holds, 1);
    sp_order_remove_stream(order, a);
    sp_order_executed(order, a, at.seq);
    other = new_stream();
    assert_int_not_equal(other, a);
    assert_int_equal(take(other, 4), 0);
    fixture.policy->is_opportunistic = true;
    assert_int_equal(take(other, 4), BASE);
    assert_int_equal(order->streams[a].n_holds, 0);
    assert_int_equal(new_stream(), a);
}

/* The new stream finds nothing that it would take for its own. */
static void free_of_the_last_stream_of_a_place_is_ready_for_the_next(void **state)
{
    sp_slot a = fixture.a;

    (void)state;
    add_chunk(4);
    give(a, take(a, 4));
    sp_order_remove_stream(order, a);
    sp_order_see_all(order);
    assert_int_equal(new_stream(), a);
    assert_int_equal(take(a, 4), BASE);
    assert_edge(SP_EDGE_SEEN, HOST);
    assert_int_equal(order->streams[a].n_holds, 0);
}

static void chunk_is_removed_only_when_all_of_it_is_ready(void **state)
{
    struct sp_chunk *chunk = add_chunk(8);

    (void)state;
    assert_int_equal(take(fixture.a, 4), BASE);
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 0));
    give(fixture.a, BASE);
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 0));
    sp_order_executed(order, fixture.a, order->streams[fixture.a].last_seq);
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 0));
    sp_order_see_stream(order, fixture.a);
    assert_ptr_equal(sp_reuse_remove_chunk(fixture.reuse, 0), chunk);
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(stats().reserved_high_bytes, 8 * UNIT);
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 0));
    assert_null(sp_reuse_next_chunk(fixture.reuse, NULL));
    assert_int_equal(take(fixture.a, 1), 0);
}

static void so_many_bytes_as_are_to_be_kept_stay(void **state)
{
    struct sp_chunk *small = add_chunk(4), *large = add_chunk(16), *middle = add_chunk(8);

    (void)state;
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 28 * UNIT));
    assert_null(sp_reuse_remove_chunk(fixture.reuse, UINT64_MAX));
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 28 * UNIT - 1));
    assert_ptr_equal(sp_reuse_remove_chunk(fixture.reuse, 19 * UNIT), middle);
    assert_ptr_equal(sp_reuse_remove_chunk(fixture.reuse, 4 * UNIT), large);
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 1));
    assert_true(sp_reuse_is_valid(fixture.reuse));
    assert_ptr_equal(sp_reuse_next_chunk(fixture.reuse, NULL), small);
    assert_ptr_equal(sp_reuse_remove_chunk(fixture.reuse, 0), small);
}

static void all_chunks_are_walked_over(void **state)
{
    bool is_met[3] = {false};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        add_chunk(1 + i);
    for (struct sp_chunk *chunk = sp_reuse_next_chunk(fixture.reuse, NULL); chunk != NULL;
         chunk = sp_reuse_next_chunk(fixture.reuse, chunk)) {
        is_met[chunk - fixture.chunks] = true;
        n++;
    }
    assert_int_equal(n, 3);
    assert_true(is_met[0] && is_met[1] && is_met[2]);
}

static void peaks_are_remembered_until_they_are_reset(void **state)
{
    struct sp_reuse_stats now;
    uintptr_t start;

    (void)state;
    add_chunk(10);
    start = take_all(fixture.a, 2, 4);
    give(fixture.a, start);
    now = stats();
    assert_int_equal(now.used_high_bytes, 8 * UNIT);
    assert_int_equal(now.n_live, 1);
    assert_int_equal(now.n_live_high, 2);
    assert_int_equal(now.reserved_high_bytes, 10 * UNIT);
    sp_reuse_reset_used_high(fixture.reuse);
    sp_reuse_reset_reserved_high(fixture.reuse);
    now = stats();
    assert_int_equal(now.used_high_bytes, 4 * UNIT);
    assert_int_equal(now.n_live_high, 1);
    assert_int_equal(now.reserved_high_bytes, 10 * UNIT);
}

static void bytes_are_known_by_the_stream_that_freed_them(void **state)
{
    sp_slot slots[3] = {SP_SLOT_HOST, SP_SLOT_HOST, SP_SLOT_HOST};
    uint64_t bytes[3] = {0};
    uintptr_t start;

    (void)state;
    add_chunk(15);
    start = take_all(fixture.a, 3, 5);
    wait_for(fixture.c, fixture.a);
    assert_int_equal(sp_reuse_pending(fixture.reuse, slots, bytes, 3), 0);
    give(fixture.a, start);
    give(fixture.a, at_unit(start, 5));
    give(fixture.c, at_unit(start, 10));
    assert_int_equal(sp_reuse_pending(fixture.reuse, slots, bytes, 1), 2);
    assert_int_equal(slots[1], SP_SLOT_HOST);
    assert_int_equal(sp_reuse_pending(fixture.reuse, slots, bytes, 3), 2);
    assert_int_equal(slots[0], fixture.a);
    assert_int_equal(bytes[0], 10 * UNIT);
    assert_int_equal(slots[1], fixture.c);
    assert_int_equal(bytes[1], 5 * UNIT);
}

static void records_are_fed_before_they_are_needed(void **state)
{
    enum { N = 20000 };
    struct sp_chunk *chunk = &fixture.chunks[0];
    uintptr_t start = BASE;
    struct sp_reuse_stats now;

    (void)state;
    assert_true(sp_reuse_wants(fixture.reuse) >= 64 * SP_KIB);
    *chunk = (struct sp_chunk){.base = BASE, .size = N * UNIT};
    feed();
    sp_reuse_add_chunk(fixture.reuse, chunk);
    for (size_t i = 0; i < N; i++) {
        struct sp_reuse_block block;

        feed();
        assert_true(sp_reuse_take(fixture.reuse, UNIT, HOST, &block, &fixture.edge));
        assert_int_equal(block.start, start + i * UNIT);
    }
    sp_reuse_stats(fixture.reuse, &now);
    assert_int_equal(now.metadata_bytes, fixture.fed + sp_reuse_size());
    assert_true(now.metadata_bytes / N < 100);
    for (size_t i = 0; i < N; i++)
        assert_ok(sp_reuse_give(fixture.reuse, start + i * UNIT, HOST));
    assert_int_equal(sp_reuse_largest(fixture.reuse), N * UNIT);
}

static void host_frees_without_a_record_more(void **state)
{
    struct sp_reuse_block block;
    uintptr_t starts[4096];
    size_t n = 0;

    (void)state;
    add_chunk(SP_ARRAY_SIZE(starts));
    while (sp_reuse_wants(fixture.reuse) == 0 && n < SP_ARRAY_SIZE(starts)) {
        assert_true(sp_reuse_take(fixture.reuse, UNIT, sp_order_submit(order, fixture.a),
                                  &block, &fixture.edge));
        starts[n++] = block.start;
    }
    assert_true(sp_reuse_wants(fixture.reuse) > 0);
    while (n > 0)
        assert_ok(sp_reuse_give(fixture.reuse, starts[--n], HOST));
    assert_int_equal(sp_reuse_largest(fixture.reuse),
                     sizeof(starts) / sizeof(starts[0]) * UNIT);
}

static void steady_cycle_wants_no_more_memory(void **state)
{
    size_t fed = 0;

    (void)state;
    add_chunk(64);
    for (int round = 0; round < 1000; round++) {
        uintptr_t starts[4];

        for (size_t i = 0; i < 4; i++) {
            starts[i] = take(fixture.a, 5 + i);
            assert_int_not_equal(starts[i], 0);
        }
        for (size_t i = 0; i < 4; i++)
            give(fixture.a, starts[i]);
        if (round % 3 == 0)
            sp_order_see_all(order);
        if (round == 10)
            fed = fixture.fed;
        assert_true(round <= 10 || fixture.fed == fed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fresh_memory_serves_every_stream_and_the_host),
        TEST(size_is_rounded_up_to_the_unit_and_impossible_ones_are_refused),
        TEST(own_free_serves_the_stream_at_once),
        TEST(free_serves_no_other_stream_before_anything_is_known),
        TEST(free_that_the_host_has_seen_serves_all),
        TEST(event_serves_only_if_events_are_followed),
        TEST(event_from_before_the_free_does_not_serve),
        TEST(event_through_another_stream_serves),
        TEST(executed_free_serves_only_if_reuse_is_opportunistic),
        TEST(free_that_has_executed_before_it_is_told_serves),
        TEST(live_blocks_of_a_chunk_are_shown_in_order),
        TEST(policies_may_change_at_any_time),
        TEST(executed_free_still_serves_its_own_stream),
        TEST(host_frees_are_ready_at_once),
        TEST(free_that_was_seen_before_it_is_given_is_ready),
        TEST(free_in_another_stream_is_that_streams),
        TEST(what_is_no_live_block_is_refused_and_nothing_changes),
        TEST(block_is_found_by_any_address_in_it),
        TEST(cookie_stays_with_its_block),
        TEST(pending_free_holds_its_streams_place),
        TEST(free_of_the_last_stream_of_a_place_is_ready_for_the_next),
        TEST(chunk_is_removed_only_when_all_of_it_is_ready),
        TEST(so_many_bytes_as_are_to_be_kept_stay),
        TEST(all_chunks_are_walked_over),
        TEST(peaks_are_remembered_until_they_are_reset),
        TEST(bytes_are_known_by_the_stream_that_freed_them),
        TEST(records_are_fed_before_they_are_needed),
        TEST(host_frees_without_a_record_more),
        TEST(steady_cycle_wants_no_more_memory),
    };

    return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
