/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream-ordered heap: splits, merges and their stamps, waits that it adds. */
#include "config.h"

#include "tests/support.h"

#include "tests/reuse_fixture.h"

/* ---- splits and merges --------------------------------------------------------------- */

static void rest_of_a_split_range_keeps_its_stamp(void **state)
{
    struct sp_point at;

    (void)state;
    fixture.policy->follows_events = true;
    add_chunk(10);
    at = give(fixture.a, take(fixture.a, 10));
    assert_int_equal(take(fixture.a, 3), BASE);
    /* The rest is still of the free, not of the take that cut it. */
    wait_for(fixture.b, fixture.a);
    assert_int_equal(take(fixture.b, 3), BASE + 3 * UNIT);
    assert_edge(SP_EDGE_EVENT, at);
    assert_int_equal(take(fixture.c, 3), 0);
    assert_int_equal(take(fixture.a, 4), BASE + 6 * UNIT);
    assert_edge(SP_EDGE_STREAM, at);
    assert_int_equal(stats().n_splits, 2);
}

static void neighbours_of_a_stream_merge_in_every_order(void **state)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct sp_point at = HOST;

    (void)state;
    add_chunk(30);
    for (size_t i = 0; i < SP_ARRAY_SIZE(orders); i++) {
        uintptr_t start = take_all(fixture.a, 3, 10);

        for (size_t j = 0; j < 3; j++)
            at = give(fixture.a, at_unit(start, 10 * orders[i][j]));
        assert_int_equal(take(fixture.a, 30), start);
        assert_edge(SP_EDGE_STREAM, at);
        give(SP_SLOT_HOST, start);
    }
}

/* Whoever waits only for the earlier free may have neither part of what merged, and what comes
 * out of it is stamped with the later one. */
static void merged_neighbours_have_the_later_stamp(void **state)
{
    static const size_t orders[][2] = {{0, 5}, {5, 0}};

    (void)state;
    fixture.policy->follows_events = true;
    add_chunk(10);
    for (size_t i = 0; i < SP_ARRAY_SIZE(orders); i++) {
        uintptr_t start = take_all(fixture.a, 2, 5);
        struct sp_point late;

        give(fixture.a, at_unit(start, orders[i][0]));
        wait_for(fixture.b, fixture.a);
        late = give(fixture.a, at_unit(start, orders[i][1]));
        assert_int_equal(take(fixture.a, 10), start); /* all of it has merged */
        assert_edge(SP_EDGE_STREAM, late);
        give(SP_SLOT_HOST, start);
        take_all(fixture.a, 2, 5);
        give(fixture.a, at_unit(start, orders[i][0]));
        wait_for(fixture.b, fixture.a);
        late = give(fixture.a, at_unit(start, orders[i][1]));
        assert_int_equal(take(fixture.b, 10), 0); /* merges them */
        assert_int_equal(take(fixture.b, 5), 0);
        wait_for(fixture.b, fixture.a);
        assert_int_equal(take(fixture.b, 10), start);
        assert_edge(SP_EDGE_EVENT, late);
        give(SP_SLOT_HOST, start);
    }
}

/* The same where execution decides. */
static void merged_neighbours_have_not_executed_before_the_later_free_has(void **state)
{
    struct sp_point early, late;
    uintptr_t start;

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(10);
    start = take_all(fixture.a, 2, 5);
    early = give(fixture.a, start);
    late = give(fixture.a, at_unit(start, 5));
    assert_int_equal(take(fixture.b, 10), 0);
    sp_order_executed(order, fixture.a, early.seq);
    assert_int_equal(take(fixture.b, 5), 0);
    sp_order_executed(order, fixture.a, late.seq);
    assert_int_equal(take(fixture.b, 10), start);
    assert_edge(SP_EDGE_EXECUTED, late);
}

static void executed_range_that_merges_with_a_later_free_waits_for_it(void **state)
{
    struct sp_point early, late;
    uintptr_t start;

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(10);
    start = take_all(fixture.a, 2, 5);
    early = give(fixture.a, start);
    sp_order_executed(order, fixture.a, early.seq);
    late = give(fixture.a, at_unit(start, 5));
    assert_int_equal(take(fixture.a, 10), start);
    assert_edge(SP_EDGE_STREAM, late);
}

/* Free in two streams, side by side: a stream that waits for one of them gets its part only. */
static void ranges_of_two_streams_do_not_merge_and_neither_free_is_forgotten(void **state)
{
    struct sp_point in_a;
    uintptr_t start;

    (void)state;
    fixture.policy->follows_events = true;
    add_chunk(10);
    start = take_all(fixture.a, 2, 5);
    wait_for(fixture.b, fixture.a);
    in_a = give(fixture.a, start);
    give(fixture.b, at_unit(start, 5));
    wait_for(fixture.c, fixture.a);
    assert_int_equal(take(fixture.c, 10), 0);
    assert_int_equal(take(fixture.c, 5), start);
    assert_edge(SP_EDGE_EVENT, in_a);
    assert_int_equal(take(fixture.c, 5), 0);
    assert_int_equal(take(fixture.a, 5), 0);
}

static void ranges_of_two_streams_merge_when_both_frees_are_seen(void **state)
{
    uintptr_t start;

    (void)state;
    add_chunk(10);
    start = take_all(fixture.a, 2, 5);
    wait_for(fixture.b, fixture.a);
    give(fixture.a, start);
    give(fixture.b, at_unit(start, 5));
    sp_order_see_stream(order, fixture.a);
    assert_int_equal(take(fixture.c, 10), 0);
    assert_int_equal(sp_reuse_largest(fixture.reuse), 5 * UNIT);
    sp_order_see_stream(order, fixture.b);
    assert_int_equal(take(fixture.c, 10), start);
    assert_edge(SP_EDGE_SEEN, HOST);
}

static void ready_memory_does_not_merge_with_what_is_pending(void **state)
{
    (void)state;
    add_chunk(10);
    give(fixture.a, take(fixture.a, 5));
    assert_int_equal(take(fixture.a, 10), 0);
    assert_int_equal(sp_reuse_largest(fixture.reuse), 5 * UNIT);
    sp_order_see_all(order);
    assert_int_equal(take(fixture.a, 10), BASE);
}

static void fresh_memory_that_merges_with_freed_memory_is_fresh_no_more(void **state)
{
    static const size_t first_freed[] = {0, 5};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uintptr_t start;

        add_chunk(10);
        start = take_all(fixture.a, 2, 5);
        give(SP_SLOT_HOST, at_unit(start, first_freed[i]));
        give(SP_SLOT_HOST, at_unit(start, 5 - first_freed[i]));
        assert_int_equal(take(fixture.a, 10), start);
        assert_edge(SP_EDGE_SEEN, HOST);
    }
    add_chunk(10);
    give(SP_SLOT_HOST, take(fixture.a, 5));
    assert_int_not_equal(take(fixture.a, 10), 0);
    assert_edge(SP_EDGE_SEEN, HOST);
}

static void chunks_that_touch_do_not_merge(void **state)
{
    struct sp_chunk *low = add_chunk(4096), *high = add_chunk(10);

    (void)state;
    assert_int_equal(low->base + low->size, high->base);
    assert_int_equal(take(fixture.a, 4097), 0);
    assert_int_equal(sp_reuse_largest(fixture.reuse), 4096 * UNIT);
}

static void only_what_the_host_has_seen_becomes_ready(void **state)
{
    struct sp_point early;
    struct sp_mark mark;
    uintptr_t start;

    (void)state;
    add_chunk(15);
    start = take_all(fixture.a, 3, 5);
    early = give(fixture.a, start);
    assert_ok(sp_order_record(order, fixture.a, &mark));
    give(fixture.a, at_unit(start, 10));
    sp_order_see(order, &mark);
    sp_mark_fini(&mark);
    assert_int_equal(order->streams[fixture.a].seen_seq, early.seq);
    assert_int_equal(stats().ready_bytes, 5 * UNIT);
    assert_int_equal(stats().pending_bytes, 5 * UNIT);
    assert_true(sp_reuse_is_valid(fixture.reuse));
}

static void frees_given_out_of_turn_become_ready_by_their_stamps(void **state)
{
    struct sp_point first, second;
    uintptr_t start;

    (void)state;
    add_chunk(15);
    start = take_all(fixture.a, 3, 5);
    first = sp_order_submit(order, fixture.a);
    second = sp_order_submit(order, fixture.a);
    assert_ok(sp_reuse_give(fixture.reuse, start, second));
    assert_ok(sp_reuse_give(fixture.reuse, at_unit(start, 10), first));
    assert_true(sp_reuse_is_valid(fixture.reuse));
    fixture.policy->is_opportunistic = true;
    sp_order_executed(order, fixture.a, first.seq);
    assert_int_equal(take(fixture.b, 5), at_unit(start, 10));
    assert_int_equal(take(fixture.b, 5), 0);
}

/* A range that fits exactly is elsewhere: the stream's own large one stays whole. */
static void large_range_of_its_own_is_not_cut_while_another_fits(void **state)
{
    uintptr_t start;

    (void)state;
    add_chunk(108);
    start = take(fixture.a, 100);
    assert_int_equal(take(fixture.b, 8), at_unit(start, 100));
    give(fixture.a, start);
    give(SP_SLOT_HOST, at_unit(start, 100));
    assert_int_equal(take(fixture.a, 8), at_unit(start, 100));
    assert_int_equal(take(fixture.a, 8), start);
}

static void all_of_a_streams_frees_can_be_had_again_by_it(void **state)
{
    enum { N = 40 };
    uintptr_t start;

    (void)state;
    add_chunk(2 * N);
    start = take_all(fixture.a, N, 2);
    for (size_t i = 0; i < N; i += 2)
        give(fixture.a, at_unit(start, 2 * i));
    for (size_t i = 0; i < N; i += 2)
        assert_int_not_equal(take(fixture.a, 2), 0);
    assert_int_equal(stats().used_bytes, 2 * N * UNIT);
    assert_int_equal(stats().n_takes[SP_EDGE_STREAM], N / 2);
}

/* 64 and 65 units share a bin; what is too small hides nothing. */
static void range_behind_many_that_are_too_small_is_found(void **state)
{
    enum { N_HIDING = 50 };
    uintptr_t fits, hiding[N_HIDING];

    (void)state;
    add_chunk(66 + N_HIDING * 65 - 0);
    fits = take(fixture.a, 65);
    assert_int_not_equal(take(fixture.b, 1), 0);
    for (size_t i = 0; i < N_HIDING; i++) {
        hiding[i] = take(fixture.a, 64);
        assert_int_not_equal(take(fixture.b, 1), 0);
    }
    give(fixture.a, fits);
    for (size_t i = 0; i < N_HIDING; i++)
        give(fixture.a, hiding[i]);
    assert_int_equal(take(fixture.a, 65), fits);
}

/* ---- ranges that wait for a request of their size ------------------------------------------
 */

static void ranges_of_a_size_go_round_without_splits_and_merges(void **state)
{
    static const size_t n_rounds = 20;
    uintptr_t start;

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(30);
    start = take_all(fixture.a, 3, 10);
    for (size_t i = 0; i < n_rounds; i++) {
        sp_slot next = i % 2 == 0 ? fixture.b : fixture.a;
        struct sp_point last;

        for (size_t j = 0; j < 3; j++)
            last = give(i % 2 == 0 ? fixture.a : fixture.b, at_unit(start, 10 * j));
        if (i % 4 < 2)
            sp_order_see_all(order);
        else
            sp_order_executed(order, last.slot, last.seq);
        for (size_t j = 0; j < 3; j++)
            assert_int_not_equal(take(next, 10), 0);
    }
    assert_int_equal(stats().n_splits, 2);
    assert_int_equal(stats().n_merges, 0);
    assert_int_equal(stats().used_bytes, 30 * UNIT);
}

/* In each of the places where they wait: their stream's, the executed and the ready. */
static void what_waits_merges_before_a_request_is_refused(void **state)
{
    enum { OWN, EXECUTED, SEEN, BY_HOST, N_WAYS };

    (void)state;
    fixture.policy->is_opportunistic = true;
    add_chunk(30);
    for (int way = OWN; way < N_WAYS; way++) {
        uintptr_t start = take_all(fixture.a, 3, 10);
        struct sp_point last = HOST;

        assert_int_not_equal(start, 0);
        for (size_t j = 0; j < 3; j++)
            last = give(way == BY_HOST ? SP_SLOT_HOST : fixture.a, at_unit(start, 10 * j));
        if (way == EXECUTED)
            sp_order_executed(order, last.slot, last.seq);
        if (way == SEEN)
            sp_order_see_all(order);
        assert_int_equal(take(way == OWN ? fixture.a : fixture.b, 30), start);
        assert_int_equal(stats().n_merges, 2 * (way + 1));
        give(SP_SLOT_HOST, start);
    }
}

static void chunk_whose_parts_wait_is_removed(void **state)
{
    struct sp_chunk *chunk = add_chunk(30);
    uintptr_t start;

    (void)state;
    start = take_all(fixture.a, 3, 10);
    wait_for(fixture.b, fixture.a);
    give(SP_SLOT_HOST, start);
    give(fixture.a, at_unit(start, 20));
    give(fixture.b, at_unit(start, 10));
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 0));
    sp_order_see_all(order);
    assert_null(sp_reuse_remove_chunk(fixture.reuse, 1));
    assert_ptr_equal(sp_reuse_remove_chunk(fixture.reuse, 0), chunk);
    assert_int_equal(stats().reserved_bytes, 0);
}

static void largest_range_is_told_of_what_waits(void **state)
{
    uintptr_t start;

    (void)state;
    add_chunk(30);
    start = take_all(fixture.a, 3, 10);
    give(SP_SLOT_HOST, start);
    give(SP_SLOT_HOST, at_unit(start, 10));
    assert_int_equal(sp_reuse_largest(fixture.reuse), 20 * UNIT);
    give(fixture.a, at_unit(start, 20));
    assert_int_equal(sp_reuse_largest(fixture.reuse), 20 * UNIT);
    sp_order_see_all(order);
    sp_reuse_notice(fixture.reuse);
    assert_int_equal(sp_reuse_largest(fixture.reuse), 30 * UNIT);
}

/* So that no request has all too much to merge. */
static void only_so_many_frees_of_a_stream_wait(void **state)
{
    enum { N = 100 };
    uintptr_t start;

    (void)state;
    add_chunk(2 * N);
    start = take_all(fixture.a, N, 2);
    for (size_t i = 0; i < N; i++)
        give(fixture.a, at_unit(start, 2 * i));
    assert_true(stats().n_merges >= N / 2);
    assert_int_equal(take(fixture.a, 2 * N), start);
    assert_int_equal(stats().n_merges, N - 1);
}

/* There is room for every request in what nobody has had yet. */
static void what_waits_merges_where_sizes_are_various(void **state)
{
    enum { N = 100 };
    uintptr_t start;

    (void)state;
    add_chunk(2 * N + 2000);
    start = take_all(fixture.a, N, 2);
    for (size_t i = 0; i < N; i++)
        give(SP_SLOT_HOST, at_unit(start, 2 * i));
    assert_int_equal(stats().n_merges, 0);
    for (size_t i = 0; i < 20; i++)
        assert_int_not_equal(take(fixture.a, 3 + i), 0);
    assert_true(stats().n_merges >= N - 1);
}

/* ---- internal waits ------------------------------------------------------------------ */

static uintptr_t take_waiting(sp_slot slot, size_t units, struct sp_point *waits, size_t room,
                              size_t *n_waits)
{
    struct sp_point at = slot == SP_SLOT_HOST ? HOST : sp_order_submit(order, slot);
    struct sp_reuse_block block = {.start = 0};
    bool is_taken;

    feed();
    is_taken = sp_reuse_take_waiting(fixture.reuse, units * UNIT, at, &block, &fixture.edge,
                                     waits, room, n_waits);
    assert_true(sp_reuse_is_valid(fixture.reuse));
    assert_true(sp_order_is_valid(order));
    assert_int_equal(is_taken, block.start != 0);
    return block.start;
}

static void wait_is_added_only_if_that_is_allowed(void **state)
{
    struct sp_point waits[4], at;
    size_t n_waits = 7;

    (void)state;
    add_chunk(10);
    at = give(fixture.a, take(fixture.a, 10));
    assert_int_equal(take_waiting(fixture.b, 10, waits, 4, &n_waits), 0);
    fixture.policy->allows_internal_wait = true;
    assert_int_equal(take_waiting(SP_SLOT_HOST, 10, waits, 4, &n_waits), 0);
    assert_int_equal(take_waiting(fixture.b, 11, waits, 4, &n_waits), 0);
    assert_int_equal(take_waiting(fixture.b, 10, waits, 0, &n_waits), 0);
    assert_int_equal(n_waits, 7);
    assert_false(sp_order_is_before(order, at, fixture.b));
    assert_int_equal(take(fixture.b, 10), 0);
    assert_int_equal(take_waiting(fixture.b, 10, waits, 4, &n_waits), BASE);
    assert_int_equal(n_waits, 1);
    assert_int_equal(waits[0].slot, at.slot);
    assert_int_equal(waits[0].seq, at.seq);
    assert_edge(SP_EDGE_INTERNAL, at);
    assert_true(sp_order_is_before(order, at, fixture.b));
}

static void ranges_of_several_streams_are_put_together_each_waited_for_once(void **state)
{
    struct sp_point waits[4], late_a, in_b;
    uintptr_t start;
    size_t n_waits = 0;

    (void)state;
    fixture.policy->allows_internal_wait = true;
    add_chunk(25);
    start = take_all(fixture.a, 5, 5);
    wait_for(fixture.b, fixture.a);
    give(fixture.a, start);
    in_b = give(fixture.b, at_unit(start, 5));
    late_a = give(fixture.a, at_unit(start, 10));
    give(SP_SLOT_HOST, at_unit(start, 15));
    wait_for(fixture.c, fixture.a); /* to free what is a's */
    give(fixture.c, at_unit(start, 20));
    assert_int_equal(take_waiting(fixture.c, 25, waits, 4, &n_waits), start);
    assert_int_equal(n_waits, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(waits[i].slot == fixture.a || waits[i].slot == fixture.b);
        assert_int_equal(waits[i].seq, waits[i].slot == fixture.a ? late_a.seq : in_b.seq);
        assert_true(sp_order_is_before(order, waits[i], fixture.c));
    }
    assert_int_not_equal(waits[0].slot, waits[1].slot);
    assert_int_equal(stats().used_bytes, 25 * UNIT);
}

static void fewest_ranges_are_waited_for(void **state)
{
    struct sp_point waits[4], in_c;
    uintptr_t start;
    size_t n_waits = 0;

    (void)state;
    fixture.policy->allows_internal_wait = true;
    add_chunk(20);
    start = take_all(fixture.a, 4, 5);
    wait_for(fixture.b, fixture.a);
    wait_for(fixture.c, fixture.a);
    give(fixture.b, start);
    give(fixture.c, at_unit(start, 5));
    /* Between two that are live, so that what follows is the only pair with one foreign part.
     */
    give(fixture.a, at_unit(start, 10));
    in_c = (struct sp_point){fixture.c, order->streams[fixture.c].last_seq};
    assert_int_equal(take_waiting(fixture.a, 10, waits, 4, &n_waits), at_unit(start, 5));
    assert_int_equal(n_waits, 1);
    assert_edge(SP_EDGE_INTERNAL, in_c);
}

static void rest_of_what_was_put_together_stays_its_streams(void **state)
{
    struct sp_point waits[4], in_b;
    uintptr_t start;
    size_t n_waits = 0;

    (void)state;
    fixture.policy->allows_internal_wait = true;
    add_chunk(10);
    start = take_all(fixture.a, 2, 5);
    wait_for(fixture.b, fixture.a);
    give(fixture.a, start);
    in_b = give(fixture.b, at_unit(start, 5));
    assert_int_equal(take_waiting(fixture.c, 7, waits, 4, &n_waits), start);
    assert_int_equal(n_waits, 2);
    assert_int_equal(take(fixture.a, 3), 0);
    assert_int_equal(take(fixture.b, 3), at_unit(start, 7));
    assert_edge(SP_EDGE_STREAM, in_b);
}

static void live_block_is_never_put_together_with_others(void **state)
{
    struct sp_point waits[4];
    uintptr_t start;
    size_t n_waits = 0;

    (void)state;
    fixture.policy->allows_internal_wait = true;
    add_chunk(15);
    start = take_all(fixture.a, 3, 5);
    give(fixture.a, start);
    give(fixture.a, at_unit(start, 10));
    assert_int_equal(take_waiting(fixture.b, 6, waits, 4, &n_waits), 0);
    assert_int_equal(take_waiting(fixture.b, 5, waits, 4, &n_waits), start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rest_of_a_split_range_keeps_its_stamp),
        TEST(neighbours_of_a_stream_merge_in_every_order),
        TEST(merged_neighbours_have_the_later_stamp),
        TEST(merged_neighbours_have_not_executed_before_the_later_free_has),
        TEST(executed_range_that_merges_with_a_later_free_waits_for_it),
        TEST(ranges_of_two_streams_do_not_merge_and_neither_free_is_forgotten),
        TEST(ranges_of_two_streams_merge_when_both_frees_are_seen),
        TEST(ready_memory_does_not_merge_with_what_is_pending),
        TEST(fresh_memory_that_merges_with_freed_memory_is_fresh_no_more),
        TEST(chunks_that_touch_do_not_merge),
        TEST(only_what_the_host_has_seen_becomes_ready),
        TEST(frees_given_out_of_turn_become_ready_by_their_stamps),
        TEST(large_range_of_its_own_is_not_cut_while_another_fits),
        TEST(all_of_a_streams_frees_can_be_had_again_by_it),
        TEST(range_behind_many_that_are_too_small_is_found),
        TEST(ranges_of_a_size_go_round_without_splits_and_merges),
        TEST(what_waits_merges_before_a_request_is_refused),
        TEST(chunk_whose_parts_wait_is_removed),
        TEST(largest_range_is_told_of_what_waits),
        TEST(only_so_many_frees_of_a_stream_wait),
        TEST(what_waits_merges_where_sizes_are_various),
        TEST(wait_is_added_only_if_that_is_allowed),
        TEST(ranges_of_several_streams_are_put_together_each_waited_for_once),
        TEST(fewest_ranges_are_waited_for),
        TEST(rest_of_what_was_put_together_stays_its_streams),
        TEST(live_block_is_never_put_together_with_others),
    };

    return cmocka_run_group_tests_name("reuse_merge", tests, NULL, NULL);
}
