/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pool says it holds and has held, on a scripted backing that knows it, too. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool/block.h>
#include <starpool/stream.h>

#include "src/pool/pool.h"
#include "tests/fixture.h"

static uint64_t attribute(enum starpool_pool_attribute which)
{
    uint64_t value = 0;

    assert_ok(starpool_pool_get_attribute(fixture.pool, which, &value));
    return value;
}

static void used_and_reserved_are_exact_when_nothing_moves(void **state)
{
    void *a = sp_fixture_alloc(1), *b = sp_fixture_alloc(300),
         *c = sp_fixture_alloc(100 * SP_KIB);
    struct starpool_stats stats = sp_fixture_stats_of(fixture.pool);

    (void)state;
    assert_int_equal(stats.used_bytes, 256 + 512 + 100 * SP_KIB);
    assert_int_equal(stats.reserved_bytes, SP_MIB);
    assert_int_equal(stats.n_live, 3);
    assert_int_equal(stats.n_allocs, 3);
    assert_int_equal(stats.n_resident, 2); /* the first one made the pool grow */
    assert_int_equal(stats.cached_bytes, 0);
    assert_int_equal(attribute(STARPOOL_ATTR_USED_CURRENT), stats.used_bytes);
    assert_int_equal(attribute(STARPOOL_ATTR_RESERVED_CURRENT), SP_MIB);
    sp_fixture_give(b);
    stats = sp_fixture_stats_of(fixture.pool);
    assert_int_equal(stats.used_bytes, 256 + 100 * SP_KIB);
    assert_int_equal(stats.cached_bytes, 512);
    assert_int_equal(stats.n_live, 2);
    assert_int_equal(stats.n_frees, 1);
    sp_fixture_give(a);
    sp_fixture_give(c);
    assert_int_equal(attribute(STARPOOL_ATTR_USED_CURRENT), 0);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    stats = sp_fixture_stats_of(fixture.pool);
    assert_int_equal(stats.reserved_bytes, 0);
    assert_int_equal(stats.reserved_high_bytes, SP_MIB);
    assert_int_equal(stats.cached_bytes, 0);
    assert_int_equal(stats.n_live, 0);
    assert_int_equal(stats.n_frees, 3);
}

static void largest_hole_is_what_one_block_could_have(void **state)
{
    void *a = sp_fixture_alloc(256 * SP_KIB);

    (void)state;
    assert_int_equal(sp_fixture_stats_of(fixture.pool).largest_hole_bytes, 768 * SP_KIB);
    sp_fixture_give(a);
}

/* A block in a cache still counts for the mark: it may be high by what the caches hold. */
static void high_water_mark_of_used_counts_what_lies_in_caches(void **state)
{
    (void)state;
    sp_fixture_give(sp_fixture_alloc(512 * SP_KIB));
    sp_fixture_give(sp_fixture_alloc(256 * SP_KIB));
    assert_int_equal(attribute(STARPOOL_ATTR_USED_HIGH), 768 * SP_KIB);
    assert_int_equal(attribute(STARPOOL_ATTR_USED_CURRENT), 0);
}

static void high_water_mark_of_used_is_exact_on_demand(void **state)
{
    struct sp_script script;
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    void *ptr;

    (void)state;
    starpool_pool_config_init(&config);
    config.has_exact_peak = true;
    sp_script_init(&script);
    assert_ok(sp_pool_create_on(&config, &script.backing, &pool));
    for (size_t size = 512 * SP_KIB; size >= 256; size /= 2) {
        assert_ok(starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &ptr));
        sp_fixture_give(ptr);
        assert_int_equal(sp_fixture_stats_of(pool).cached_bytes, 0);
    }
    assert_int_equal(sp_fixture_stats_of(pool).used_high_bytes, 512 * SP_KIB);
    starpool_pool_destroy(pool);
    sp_script_fini(&script);
}

static void high_water_marks_start_again_from_now(void **state)
{
    void *a = sp_fixture_alloc(256 * SP_KIB), *b = sp_fixture_alloc(2 * SP_MIB);

    (void)state;
    sp_fixture_give(b);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(attribute(STARPOOL_ATTR_USED_HIGH), 2 * SP_MIB + 256 * SP_KIB);
    assert_ok(starpool_pool_reset_peaks(fixture.pool));
    assert_int_equal(attribute(STARPOOL_ATTR_USED_HIGH), 256 * SP_KIB);
    assert_int_equal(attribute(STARPOOL_ATTR_RESERVED_HIGH),
                     attribute(STARPOOL_ATTR_RESERVED_CURRENT));
    assert_status(STARPOOL_EINVAL, starpool_pool_reset_peaks(NULL));
    sp_fixture_give(a);
}

static void attributes_that_are_facts_cannot_be_set(void **state)
{
    uint64_t value = 7;

    (void)state;
    for (int i = STARPOOL_ATTR_RESERVED_CURRENT; i <= STARPOOL_ATTR_USED_HIGH; i++)
        assert_status(STARPOOL_EINVAL, starpool_pool_set_attribute(
                                           fixture.pool, (enum starpool_pool_attribute)i, 1));
    for (int i = STARPOOL_ATTR_FOLLOWS_EVENTS; i <= STARPOOL_ATTR_INTERNAL_WAITS + 1; i++)
        assert_status(STARPOOL_EINVAL, starpool_pool_set_attribute(
                                           fixture.pool, (enum starpool_pool_attribute)i, 2));
    assert_status(STARPOOL_EINVAL, starpool_pool_set_attribute(NULL, STARPOOL_ATTR_MAXIMUM, 1));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_get_attribute(
                      fixture.pool,
                      (enum starpool_pool_attribute)(STARPOOL_ATTR_INTERNAL_WAITS + 1),
                      &value));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_get_attribute(NULL, STARPOOL_ATTR_MAXIMUM, &value));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_get_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, NULL));
    assert_int_equal(value, 7);
}

static void assert_report(enum starpool_report_format format, const char *wanted,
                          const char *unwanted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_ok(starpool_report(out, format));
    fclose(out);
    assert_non_null(strstr(text, wanted));
    if (unwanted != NULL)
        assert_null(strstr(text, unwanted));
    free(text);
}

static void report_has_what_streams_did_if_they_did_anything(void **state)
{
    static const struct starpool_location host = {STARPOOL_HOST, 0};
    starpool_stream stream;
    void *ptr = NULL;

    (void)state;
    assert_report(STARPOOL_REPORT_TEXT, "HOST pool (HOST, host, ", "served to a stream");
    assert_report(STARPOOL_REPORT_JSON, "\"backend\": \"host\"", "n_takes_");
    assert_ok(starpool_stream_create(host, &stream));
    assert_ok(starpool_alloc(fixture.pool, 256, stream, &ptr));
    assert_ok(starpool_free(ptr, stream));
    assert_report(STARPOOL_REPORT_TEXT, "served to a stream: nothing had been there",
                  "served to a stream: freed in the same stream");
    assert_report(STARPOOL_REPORT_TEXT, "256 bytes    freed in a stream, not seen", NULL);
    assert_report(STARPOOL_REPORT_JSON, "\"n_takes_fresh\": 1", "\"n_takes_stream\"");
    assert_report(STARPOOL_REPORT_JSON, "\"ordered_pending_bytes\": 256", NULL);
    starpool_stream_destroy(stream);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, sp_fixture_setup, sp_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(used_and_reserved_are_exact_when_nothing_moves),
        CASE(largest_hole_is_what_one_block_could_have),
        CASE(high_water_mark_of_used_counts_what_lies_in_caches),
        CASE(high_water_mark_of_used_is_exact_on_demand),
        CASE(high_water_marks_start_again_from_now),
        CASE(attributes_that_are_facts_cannot_be_set),
        CASE(report_has_what_streams_did_if_they_did_anything),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
