/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pool says it holds and has held, on a scripted backing that knows it, too. */
#include "config.h"

#include "tests/support.h"

#include "src/pool/pool.h"
#include "tests/script.h"

static struct {
    struct sp_script script;
    struct starpool_pool *pool;
} fixture;

static int setup(void **state)
{
    (void)state;
    sp_script_init(&fixture.script);
    fixture.pool = sp_script_pool(&fixture.script, 0);
    sp_script_clear();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(fixture.pool);
    sp_script_fini(&fixture.script);
    return 0;
}

static void *alloc(size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(fixture.pool, size, STARPOOL_STREAM_HOST, &ptr));
    return ptr;
}

static void give(void *ptr)
{
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static struct starpool_stats stats_of(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    assert_ok(starpool_pool_stats(pool, &stats));
    return stats;
}

static uint64_t attribute(enum starpool_pool_attribute which)
{
    uint64_t value = 0;

    assert_ok(starpool_pool_get_attribute(fixture.pool, which, &value));
    return value;
}

static void used_and_reserved_are_exact_when_nothing_moves(void **state)
{
    void *a = alloc(1), *b = alloc(300), *c = alloc(100 * SP_KIB);
    struct starpool_stats stats = stats_of(fixture.pool);

    (void)state;
    assert_int_equal(stats.used_bytes, 256 + 512 + 100 * SP_KIB);
    assert_int_equal(stats.reserved_bytes, SP_MIB);
    assert_int_equal(stats.n_live, 3);
    assert_int_equal(stats.n_allocs, 3);
    assert_int_equal(stats.n_resident, 2); /* the first one made the pool grow */
    assert_int_equal(stats.cached_bytes, 0);
    assert_int_equal(attribute(STARPOOL_ATTR_USED_CURRENT), stats.used_bytes);
    assert_int_equal(attribute(STARPOOL_ATTR_RESERVED_CURRENT), SP_MIB);
    give(b);
    stats = stats_of(fixture.pool);
    assert_int_equal(stats.used_bytes, 256 + 100 * SP_KIB);
    assert_int_equal(stats.cached_bytes, 512);
    assert_int_equal(stats.n_live, 2);
    assert_int_equal(stats.n_frees, 1);
    give(a);
    give(c);
    assert_int_equal(attribute(STARPOOL_ATTR_USED_CURRENT), 0);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    stats = stats_of(fixture.pool);
    assert_int_equal(stats.reserved_bytes, 0);
    assert_int_equal(stats.reserved_high_bytes, SP_MIB);
    assert_int_equal(stats.cached_bytes, 0);
    assert_int_equal(stats.n_live, 0);
    assert_int_equal(stats.n_frees, 3);
}

static void largest_hole_is_what_one_block_could_have(void **state)
{
    void *a = alloc(256 * SP_KIB);

    (void)state;
    assert_int_equal(stats_of(fixture.pool).largest_hole_bytes, 768 * SP_KIB);
    give(a);
}

/* A block in a cache still counts for the mark: it may be high by what the caches hold. */
static void high_water_mark_of_used_counts_what_lies_in_caches(void **state)
{
    (void)state;
    give(alloc(512 * SP_KIB));
    give(alloc(256 * SP_KIB));
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
        give(ptr);
        assert_int_equal(stats_of(pool).cached_bytes, 0);
    }
    assert_int_equal(stats_of(pool).used_high_bytes, 512 * SP_KIB);
    starpool_pool_destroy(pool);
    sp_script_fini(&script);
}

static void high_water_marks_start_again_from_now(void **state)
{
    void *a = alloc(256 * SP_KIB), *b = alloc(2 * SP_MIB);

    (void)state;
    give(b);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(attribute(STARPOOL_ATTR_USED_HIGH), 2 * SP_MIB + 256 * SP_KIB);
    assert_ok(starpool_pool_reset_peaks(fixture.pool));
    assert_int_equal(attribute(STARPOOL_ATTR_USED_HIGH), 256 * SP_KIB);
    assert_int_equal(attribute(STARPOOL_ATTR_RESERVED_HIGH),
                     attribute(STARPOOL_ATTR_RESERVED_CURRENT));
    assert_status(STARPOOL_EINVAL, starpool_pool_reset_peaks(NULL));
    give(a);
}

static void attributes_that_are_facts_cannot_be_set(void **state)
{
    uint64_t value = 7;

    (void)state;
    for (int i = STARPOOL_ATTR_RESERVED_CURRENT; i <= STARPOOL_ATTR_USED_HIGH + 1; i++)
        assert_status(STARPOOL_EINVAL, starpool_pool_set_attribute(
                                           fixture.pool, (enum starpool_pool_attribute)i, 1));
    assert_status(STARPOOL_EINVAL, starpool_pool_set_attribute(NULL, STARPOOL_ATTR_MAXIMUM, 1));
    assert_status(
        STARPOOL_EINVAL,
        starpool_pool_get_attribute(
            fixture.pool, (enum starpool_pool_attribute)(STARPOOL_ATTR_USED_HIGH + 1), &value));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_get_attribute(NULL, STARPOOL_ATTR_MAXIMUM, &value));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_get_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, NULL));
    assert_int_equal(value, 7);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(used_and_reserved_are_exact_when_nothing_moves),
        CASE(largest_hole_is_what_one_block_could_have),
        CASE(high_water_mark_of_used_counts_what_lies_in_caches),
        CASE(high_water_mark_of_used_is_exact_on_demand),
        CASE(high_water_marks_start_again_from_now),
        CASE(attributes_that_are_facts_cannot_be_set),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
