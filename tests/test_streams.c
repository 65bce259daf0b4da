/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams of our own as a program uses them: handles, points, waits, executing, and what may be
 * used when. No driver is asked. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>

#include <starpool/block.h>
#include <starpool/stream.h>

#include "src/pool/streams.h"
#include "tests/stream_fixture.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};

static uint64_t record(starpool_stream stream)
{
    uint64_t point = 0;

    assert_ok(starpool_stream_record(stream, &point));
    return point;
}

/* ---- handles ----------------------------------------------------------------------------- */

static void place_of_a_stream_is_checked(void **state)
{
    static const struct starpool_location wrong[] = {{STARPOOL_NONE, 0},
                                                     {STARPOOL_HOST, 1},
                                                     {STARPOOL_DEVICE, -1},
                                                     {STARPOOL_HOST_NUMA, -2},
                                                     {(enum starpool_kind)9, 0}};
    starpool_stream stream = streams.a;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(wrong); i++)
        assert_status(STARPOOL_EINVAL, starpool_stream_create(wrong[i], &stream));
    assert_status(STARPOOL_EINVAL, starpool_stream_create(host, NULL));
    assert_ptr_equal(stream, streams.a);
}

static void handle_that_is_no_stream_is_refused_everywhere(void **state)
{
    starpool_stream wrong[] = {NULL, STARPOOL_STREAM_LEGACY, STARPOOL_STREAM_PER_THREAD,
                               STARPOOL_STREAM_HOST, (starpool_stream)&fixture};
    void *block = sp_fixture_alloc(1);
    uint64_t point = 7;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(wrong); i++) {
        assert_status(STARPOOL_EINVAL, starpool_stream_synchronize(wrong[i]));
        assert_status(STARPOOL_EINVAL, starpool_stream_query(wrong[i]));
        assert_status(STARPOOL_EINVAL, starpool_stream_record(wrong[i], &point));
        assert_status(STARPOOL_EINVAL, starpool_stream_wait(wrong[i], streams.a, 1));
        assert_status(STARPOOL_EINVAL, starpool_stream_wait(streams.a, wrong[i], 1));
        assert_false(starpool_is_ready_on(block, wrong[i], 1));
    }
    assert_status(STARPOOL_EINVAL, starpool_stream_record(streams.a, NULL));
    assert_int_equal(point, 7);
    sp_fixture_give(block);
}

static void destroyed_stream_is_no_stream(void **state)
{
    starpool_stream stream;

    (void)state;
    assert_ok(starpool_stream_create(host, &stream));
    starpool_stream_destroy(stream);
    starpool_stream_destroy(NULL);
    assert_status(STARPOOL_EINVAL, starpool_stream_query(stream));
}

/* ---- executing --------------------------------------------------------------------------- */

static void stream_executes_when_somebody_waits(void **state)
{
    void *block;

    (void)state;
    assert_ok(starpool_stream_query(streams.a));
    block = sp_stream_fixture_alloc(streams.a, 1000);
    assert_status(STARPOOL_ENOTREADY, starpool_stream_query(streams.a));
    assert_false(starpool_is_ready(block));
    assert_ok(starpool_stream_synchronize(streams.a));
    assert_ok(starpool_stream_query(streams.a));
    assert_true(starpool_is_ready(block));
    sp_fixture_give(block);
}

static void waiting_executes_what_the_stream_waits_for_and_no_more(void **state)
{
    void *first = sp_stream_fixture_alloc(streams.a, 1000), *second;
    uint64_t point = record(streams.a);

    (void)state;
    second = sp_stream_fixture_alloc(streams.a, 1000);
    assert_ok(starpool_stream_wait(streams.b, streams.a, point));
    assert_false(starpool_is_ready(first));
    assert_ok(starpool_stream_synchronize(streams.b));
    assert_true(starpool_is_ready(first));
    assert_false(starpool_is_ready(second));
    assert_status(STARPOOL_ENOTREADY, starpool_stream_query(streams.a));
    sp_fixture_give(first);
    sp_fixture_give(second);
}

static void stream_that_is_destroyed_executes(void **state)
{
    starpool_stream stream;
    void *block;

    (void)state;
    assert_ok(starpool_stream_create(host, &stream));
    block = sp_stream_fixture_alloc(stream, 1000);
    starpool_stream_destroy(stream);
    assert_true(starpool_is_ready(block));
    sp_fixture_give(block);
}

/* ---- points ------------------------------------------------------------------------------ */

static void points_rise_and_are_never_zero(void **state)
{
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t point = record(streams.a);

        assert_true(point > last);
        last = point;
    }
}

static void point_that_was_never_recorded_is_refused(void **state)
{
    uint64_t point = record(streams.a);

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_stream_wait(streams.b, streams.a, 0));
    assert_status(STARPOOL_EINVAL, starpool_stream_wait(streams.b, streams.a, point + 1));
    assert_ok(starpool_stream_wait(streams.b, streams.a, point));
    assert_ok(starpool_stream_wait(streams.a, streams.a, point));
}

/* What c is ordered after through b is what b knew at the point, not what it learned later. */
static void point_keeps_what_was_known_when_it_was_recorded(void **state)
{
    starpool_stream c;
    uint64_t early, late;
    void *block = sp_stream_fixture_alloc(streams.a, 1000);

    (void)state;
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_OPPORTUNISTIC, 0));
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_INTERNAL_WAITS, 0));
    assert_ok(starpool_stream_create(host, &c));
    early = record(streams.b);
    assert_ok(starpool_free(block, streams.a));
    assert_ok(starpool_stream_wait(streams.b, streams.a, record(streams.a)));
    late = record(streams.b);
    assert_ok(starpool_stream_wait(c, streams.b, early));
    block = sp_stream_fixture_alloc(c, 1000);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_takes_event, 0);
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
    assert_ok(starpool_stream_wait(c, streams.b, late));
    block = sp_stream_fixture_alloc(c, 2 * SP_MIB - 1000);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_takes_event, 0);
    sp_fixture_give(block);
    starpool_stream_destroy(c);
}

static void wait_on_a_point_makes_earlier_frees_the_streams_own(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 2 * SP_MIB), *again;

    (void)state;
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_OPPORTUNISTIC, 0));
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_INTERNAL_WAITS, 0));
    assert_ok(starpool_free(block, streams.a));
    assert_ok(starpool_stream_wait(streams.b, streams.a, record(streams.a)));
    again = sp_stream_fixture_alloc(streams.b, 2 * SP_MIB);
    assert_ptr_equal(again, block);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_takes_event, 1);
    sp_fixture_give(again);
}

/* ---- whether a block may be used --------------------------------------------------------- */

static void block_of_the_host_is_ready_for_all(void **state)
{
    void *block = sp_fixture_alloc(100);

    (void)state;
    assert_true(starpool_is_ready(block));
    assert_true(starpool_is_ready_on(block, streams.a, 0));
    assert_false(starpool_is_ready((char *)block + 1));
    assert_false(starpool_is_ready(NULL));
    assert_false(starpool_is_ready(&streams));
    sp_fixture_give(block);
    assert_false(starpool_is_ready(block));
}

static void block_is_ready_on_a_stream_that_came_after_it(void **state)
{
    uint64_t before = record(streams.a), after;
    void *block = sp_stream_fixture_alloc(streams.a, 1000);

    (void)state;
    after = record(streams.a);
    assert_true(starpool_is_ready_on(block, streams.a, 0));
    assert_false(starpool_is_ready_on(block, streams.b, before));
    assert_true(starpool_is_ready_on(block, streams.b, after));
    assert_ok(starpool_free(block, streams.a));
    assert_false(starpool_is_ready_on(block, streams.b, after));
    assert_false(starpool_is_ready_on(block, streams.a, 0));
}

static void block_of_a_stream_that_is_gone_is_not_its_successors(void **state)
{
    starpool_stream first, second;
    void *block;

    (void)state;
    assert_ok(starpool_stream_create(host, &first));
    block = sp_stream_fixture_alloc(first, 1000);
    starpool_stream_destroy(first);
    assert_ok(starpool_stream_create(host, &second));
    assert_false(starpool_is_ready_on(block, second, 0));
    starpool_stream_destroy(second);
    sp_fixture_give(block);
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_stream_fixture_setup, sp_stream_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(place_of_a_stream_is_checked),
        CASE(handle_that_is_no_stream_is_refused_everywhere),
        CASE(destroyed_stream_is_no_stream),
        CASE(stream_executes_when_somebody_waits),
        CASE(waiting_executes_what_the_stream_waits_for_and_no_more),
        CASE(stream_that_is_destroyed_executes),
        CASE(points_rise_and_are_never_zero),
        CASE(point_that_was_never_recorded_is_refused),
        CASE(point_keeps_what_was_known_when_it_was_recorded),
        CASE(wait_on_a_point_makes_earlier_frees_the_streams_own),
        CASE(block_of_the_host_is_ready_for_all),
        CASE(block_is_ready_on_a_stream_that_came_after_it),
        CASE(block_of_a_stream_that_is_gone_is_not_its_successors),
    };

    if (setenv("STARPOOL_DRIVER", "none", 1) != 0 || setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
