/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes before what: streams, marks, waits, what the host has seen, places that are used
 * again. */
#include "config.h"

#include "tests/support.h"

#include "tests/order_fixture.h"

/* ---- streams and waits --------------------------------------------------------------- */

static void operations_of_a_stream_come_one_before_the_next(void **state)
{
    sp_slot a = new_stream();
    struct sp_point first = submit(a, 1), third = submit(a, 2);

    (void)state;
    assert_int_equal(first.slot, a);
    assert_int_equal(third.seq, first.seq + 2);
    assert_true(sp_order_is_before(&order, first, a));
    assert_true(sp_order_is_before(&order, third, a));
    assert_int_equal(sp_order_known(&order, a, a), third.seq);
}

static void streams_know_nothing_of_each_other(void **state)
{
    sp_slot a = new_stream(), b = new_stream();
    struct sp_point point = submit(a, 1);

    (void)state;
    submit(b, 5);
    assert_int_not_equal(a, b);
    assert_false(sp_order_is_before(&order, point, b));
    assert_false(sp_order_is_before(&order, point, SP_SLOT_HOST));
    assert_int_equal(sp_order_known(&order, b, a), 0);
}

static void what_the_host_does_comes_before_everything(void **state)
{
    sp_slot a = new_stream();
    struct sp_point host = {SP_SLOT_HOST, 0}, none = {a, 0};

    (void)state;
    assert_true(sp_order_is_before(&order, host, a));
    assert_true(sp_order_is_before(&order, none, SP_SLOT_HOST));
}

static void wait_orders_what_was_recorded_and_nothing_later(void **state)
{
    sp_slot a = new_stream(), b = new_stream();
    struct sp_point before = submit(a, 2), after;
    struct sp_mark mark = record(a);

    (void)state;
    after = submit(a, 1);
    assert_ok(sp_order_wait(&order, b, &mark));
    assert_true(sp_order_is_before(&order, before, b));
    assert_false(sp_order_is_before(&order, after, b));
    assert_int_equal(sp_order_known(&order, b, a), before.seq);
    assert_false(sp_order_is_before(&order, before, SP_SLOT_HOST));
    sp_mark_fini(&mark);
}

static void earlier_mark_does_not_lower_what_is_known(void **state)
{
    sp_slot a = new_stream(), b = new_stream();
    struct sp_mark early, late;
    struct sp_point point;

    (void)state;
    submit(a, 1);
    early = record(a);
    point = submit(a, 1);
    late = record(a);
    assert_ok(sp_order_wait(&order, b, &late));
    assert_ok(sp_order_wait(&order, b, &early));
    assert_true(sp_order_is_before(&order, point, b));
    sp_mark_fini(&early);
    sp_mark_fini(&late);
}

static void waits_reach_through_streams(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point point = submit(a, 3);

    (void)state;
    wait_for(b, a);
    submit(b, 1);
    wait_for(c, b);
    assert_true(sp_order_is_before(&order, point, c));
    assert_int_equal(sp_order_known(&order, c, a), point.seq);
    assert_int_equal(sp_order_known(&order, c, b), 1);
}

static void mark_keeps_what_was_known_when_it_was_recorded(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point point = submit(a, 1);
    struct sp_mark mark;

    (void)state;
    submit(b, 1);
    mark = record(b);
    wait_for(b, a);
    assert_ok(sp_order_wait(&order, c, &mark));
    assert_false(sp_order_is_before(&order, point, c));
    sp_mark_fini(&mark);
}

static void mark_of_a_stream_without_operations_passes_its_waits_on(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point point = submit(a, 1);

    (void)state;
    wait_for(b, a);
    wait_for(c, b);
    assert_true(sp_order_is_before(&order, point, c));
    assert_int_equal(sp_order_known(&order, c, b), 0);
}

static void join_is_a_wait_for_all_that_the_other_was_given(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point in_a = submit(a, 2), in_b;

    (void)state;
    assert_ok(sp_order_join(&order, b, a));
    in_b = submit(b, 2);
    assert_ok(sp_order_join(&order, c, b));
    assert_ok(sp_order_join(&order, c, c));
    assert_true(sp_order_is_before(&order, in_a, c));
    assert_true(sp_order_is_before(&order, in_b, c));
    assert_false(sp_order_is_before(&order, submit(b, 1), c));
}

static void bare_points_bring_nothing_that_came_before_them(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point in_a = submit(a, 1), points[2];

    (void)state;
    wait_for(b, a);
    points[0] = submit(b, 1);
    points[1] = (struct sp_point){b, 1};
    assert_ok(sp_order_wait_points(&order, c, points, 2));
    assert_true(sp_order_is_before(&order, points[0], c));
    assert_false(sp_order_is_before(&order, in_a, c));
    assert_int_equal(order.streams[c].known.n_points, 1);
}

/* ---- the host ------------------------------------------------------------------------ */

static void executed_is_not_seen(void **state)
{
    sp_slot a = new_stream(), b = new_stream();
    struct sp_point point = submit(a, 3);
    uint64_t epoch = order.epoch;

    (void)state;
    sp_order_executed(&order, a, 2);
    assert_int_equal(order.streams[a].done_seq, 2);
    assert_int_equal(order.streams[a].seen_seq, 0);
    assert_true(order.epoch > epoch);
    epoch = order.epoch;
    sp_order_executed(&order, a, 1);
    assert_int_equal(order.streams[a].done_seq, 2);
    assert_int_equal(order.epoch, epoch);
    sp_order_executed(&order, a, point.seq);
    assert_false(sp_order_is_before(&order, point, b));
    assert_false(sp_order_is_before(&order, point, SP_SLOT_HOST));
}

static void what_the_host_has_seen_comes_before_all_and_has_executed(void **state)
{
    sp_slot a = new_stream(), b = new_stream();
    struct sp_point point = submit(a, 3), later;

    (void)state;
    see(a);
    later = submit(a, 1);
    assert_int_equal(order.streams[a].done_seq, point.seq);
    assert_true(sp_order_is_before(&order, point, b));
    assert_true(sp_order_is_before(&order, point, SP_SLOT_HOST));
    assert_false(sp_order_is_before(&order, later, SP_SLOT_HOST));
    assert_int_equal(sp_order_known(&order, b, a), 0);
}

static void seeing_a_mark_sees_all_that_it_knows(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point in_a = submit(a, 1), in_b, later;
    struct sp_mark mark;

    (void)state;
    wait_for(b, a);
    in_b = submit(b, 1);
    wait_for(c, b);
    submit(c, 1);
    mark = record(c);
    later = submit(a, 1);
    sp_order_see(&order, &mark);
    sp_mark_fini(&mark);
    assert_true(sp_order_is_before(&order, in_a, SP_SLOT_HOST));
    assert_true(sp_order_is_before(&order, in_b, SP_SLOT_HOST));
    assert_false(sp_order_is_before(&order, later, SP_SLOT_HOST));
}

static void seeing_a_stream_sees_what_it_waited_for(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_point in_a = submit(a, 1), in_c = submit(c, 1);

    (void)state;
    wait_for(b, a);
    submit(b, 1);
    sp_order_see_stream(&order, b);
    assert_true(sp_order_is_before(&order, in_a, SP_SLOT_HOST));
    assert_false(sp_order_is_before(&order, in_c, SP_SLOT_HOST));
    assert_int_equal(order.streams[b].known.n_points, 0);
    sp_order_see_all(&order);
    assert_true(sp_order_is_before(&order, in_c, SP_SLOT_HOST));
}

static void what_is_seen_leaves_the_clocks(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    struct sp_mark mark;

    (void)state;
    submit(a, 1);
    submit(c, 1);
    wait_for(b, a);
    wait_for(b, c);
    assert_int_equal(order.streams[b].known.n_points, 2);
    sp_order_see_stream(&order, a);
    submit(b, 1);
    mark = record(b);
    assert_int_equal(mark.known.n_points, 1);
    assert_int_equal(mark.known.points[0].slot, c);
    sp_order_see_stream(&order, c);
    sp_mark_fini(&mark);
    mark = record(b);
    assert_int_equal(mark.known.n_points, 0);
    assert_null(mark.known.points);
    sp_mark_fini(&mark);
}

static void latest_news_come_first(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();
    uint64_t epoch;

    (void)state;
    assert_int_equal(order.newest, SP_SLOT_HOST);
    submit(a, 2);
    submit(b, 2);
    submit(c, 2);
    sp_order_executed(&order, a, 1);
    sp_order_executed(&order, b, 1);
    sp_order_executed(&order, c, 1);
    epoch = order.epoch;
    sp_order_executed(&order, b, 2);
    sp_order_see_stream(&order, a);
    assert_int_equal(order.newest, a);
    assert_int_equal(order.streams[a].older, b);
    assert_true(order.streams[b].epoch > epoch);
    assert_int_equal(order.streams[b].older, c);
    assert_int_equal(order.streams[c].epoch, epoch);
    assert_true(sp_order_is_valid(&order));
}

/* ---- places that are used again ------------------------------------------------------ */

static void place_of_an_open_stream_is_not_given_away(void **state)
{
    sp_slot a = new_stream();

    (void)state;
    submit(a, 1);
    sp_order_see_all(&order);
    assert_int_not_equal(new_stream(), a);
}

static void place_is_used_again_when_the_host_has_seen_all_of_it(void **state)
{
    sp_slot a = new_stream();
    uint64_t id = order.streams[a].id;
    struct sp_point point = submit(a, 3);

    (void)state;
    sp_order_hold(&order, a);
    sp_order_remove_stream(&order, a);
    assert_int_not_equal(new_stream(), a);
    sp_order_executed(&order, a, point.seq);
    assert_int_not_equal(new_stream(), a);
    sp_order_see_all(&order);
    assert_int_equal(new_stream(), a);
    assert_int_not_equal(order.streams[a].id, id);
    assert_int_equal(submit(a, 1).seq, point.seq + 1);
    sp_order_release(&order, a);
}

static void place_is_used_again_when_all_has_executed_and_nothing_holds_it(void **state)
{
    sp_slot a = new_stream(), b;
    struct sp_point point = submit(a, 3);

    (void)state;
    sp_order_hold(&order, a);
    sp_order_remove_stream(&order, a);
    sp_order_executed(&order, a, point.seq);
    b = new_stream();
    assert_int_not_equal(b, a);
    sp_order_release(&order, a);
    assert_int_equal(new_stream(), a);
}

static void new_stream_comes_after_the_last_one_of_its_place_which_has_executed(void **state)
{
    sp_slot a = new_stream();
    struct sp_point old = submit(a, 3), fresh;
    struct sp_mark mark;

    (void)state;
    sp_order_remove_stream(&order, a);
    sp_order_executed(&order, a, old.seq);
    assert_int_equal(new_stream(), a);
    assert_true(sp_order_is_before(&order, old, a));
    assert_int_equal(sp_order_known(&order, a, a), 0);
    mark = record(a);
    assert_int_equal(mark.at.seq, 0);
    sp_order_see(&order, &mark);
    sp_mark_fini(&mark);
    assert_false(sp_order_is_before(&order, old, SP_SLOT_HOST));
    fresh = submit(a, 1);
    assert_true(sp_order_is_before(&order, fresh, a));
    assert_true(sp_order_is_before(&order, old, a));
}

static void mark_of_a_stream_that_is_no_more_can_be_waited_for_in_its_own_place(void **state)
{
    sp_slot a = new_stream();
    struct sp_point old = submit(a, 3);
    struct sp_mark mark = record(a);

    (void)state;
    sp_order_remove_stream(&order, a);
    sp_order_executed(&order, a, old.seq);
    assert_int_equal(new_stream(), a);
    assert_ok(sp_order_wait(&order, a, &mark));
    assert_true(sp_order_is_before(&order, old, a));
    assert_false(sp_order_is_before(&order, old, SP_SLOT_HOST));
    sp_mark_fini(&mark);
}

static void new_stream_has_not_waited_for_what_the_last_one_of_its_place_did(void **state)
{
    sp_slot a = new_stream(), b = new_stream();
    struct sp_point in_b = submit(b, 1);

    (void)state;
    wait_for(a, b);
    sp_order_remove_stream(&order, a);
    assert_int_equal(new_stream(), a);
    assert_false(sp_order_is_before(&order, in_b, a));
}

static void broken_invariants_are_seen(void **state)
{
    sp_slot a = new_stream(), b = new_stream(), c = new_stream();

    (void)state;
    submit(a, 1);
    submit(c, 1);
    wait_for(b, a);
    wait_for(b, c);
    assert_true(sp_order_is_valid(&order));
    order.streams[a].done_seq = 2;
    assert_false(sp_order_is_valid(&order));
    order.streams[a].done_seq = 0;
    order.streams[b].known.points[0].slot = c;
    assert_false(sp_order_is_valid(&order));
    order.streams[b].known.points[0].slot = a;
    order.streams[a].epoch = 1; /* but it is not in the list */
    assert_false(sp_order_is_valid(&order));
    order.streams[a].epoch = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operations_of_a_stream_come_one_before_the_next),
        TEST(streams_know_nothing_of_each_other),
        TEST(what_the_host_does_comes_before_everything),
        TEST(wait_orders_what_was_recorded_and_nothing_later),
        TEST(earlier_mark_does_not_lower_what_is_known),
        TEST(waits_reach_through_streams),
        TEST(mark_keeps_what_was_known_when_it_was_recorded),
        TEST(mark_of_a_stream_without_operations_passes_its_waits_on),
        TEST(join_is_a_wait_for_all_that_the_other_was_given),
        TEST(bare_points_bring_nothing_that_came_before_them),
        TEST(executed_is_not_seen),
        TEST(what_the_host_has_seen_comes_before_all_and_has_executed),
        TEST(seeing_a_mark_sees_all_that_it_knows),
        TEST(seeing_a_stream_sees_what_it_waited_for),
        TEST(what_is_seen_leaves_the_clocks),
        TEST(latest_news_come_first),
        TEST(place_of_an_open_stream_is_not_given_away),
        TEST(place_is_used_again_when_the_host_has_seen_all_of_it),
        TEST(place_is_used_again_when_all_has_executed_and_nothing_holds_it),
        TEST(new_stream_comes_after_the_last_one_of_its_place_which_has_executed),
        TEST(mark_of_a_stream_that_is_no_more_can_be_waited_for_in_its_own_place),
        TEST(new_stream_has_not_waited_for_what_the_last_one_of_its_place_did),
        TEST(broken_invariants_are_seen),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
