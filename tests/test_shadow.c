/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is counted beside the driver's pools of devices: the engine with nothing behind it
 * against a plain list, and the driver's own numbers against it at points where the host has
 * waited. */
#include "config.h"

#include "tests/support.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <starpool.h>

#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/shadow.h"
#include "tests/capture_fixture.h"
#include "tests/device_case.h"
#include "tests/fixture.h"

#define UNIT     512
#define N_BLOCKS 64

static int setup(void **state)
{
    (void)state;
    return sp_driver_fixture_setup(0, true);
}

static struct starpool_stats stats(void)
{
    return sp_fixture_stats_of(on.pool);
}

/* ---- the engine with nothing behind it --------------------------------------------------- */

static struct sp_shadow *shadow;

static int setup_alone(void **state)
{
    (void)state;
    shadow = sp_shadow_create();
    return shadow == NULL ? -1 : 0;
}

static int teardown_alone(void **state)
{
    (void)state;
    sp_shadow_destroy(shadow);
    return 0;
}

static uintptr_t take(size_t size)
{
    uintptr_t place = 0;
    size_t wanted;

    while (!sp_shadow_take(shadow, size, &place)) {
        struct sp_shadow_food *food;

        (void)sp_shadow_is_hungry(shadow, &wanted);
        food = sp_shadow_make_food(wanted);
        assert_non_null(food);
        sp_shadow_feed(shadow, food);
    }
    assert_int_not_equal(place, 0);
    return place;
}

static void random_takes_agree_with_a_list(void **state)
{
    uint64_t random = sp_test_seed(), used = 0;
    struct {
        uintptr_t place;
        size_t size;
    } blocks[N_BLOCKS] = {{0, 0}};

    (void)state;
    for (size_t n = 0; n < sp_test_scaled(20000); n++) {
        size_t i = sp_test_random_below(&random, N_BLOCKS), size;

        if (blocks[i].place != 0) {
            sp_shadow_give(shadow, blocks[i].place);
            used -= sp_round_up(blocks[i].size, UNIT);
            blocks[i].place = 0;
        } else {
            size = 1 + (sp_test_random(&random) >> (38 + sp_test_random_below(&random, 20)));
            blocks[i].place = take(size);
            blocks[i].size = size;
            used += sp_round_up(size, UNIT);
            for (size_t j = 0; j < N_BLOCKS; j++)
                assert_true(j == i || blocks[j].place == 0 ||
                            blocks[j].place + blocks[j].size <= blocks[i].place ||
                            blocks[i].place + size <= blocks[j].place);
        }
        assert_int_equal(sp_shadow_used_bytes(shadow), used);
        assert_true(sp_shadow_reserved_bytes(shadow) >= used);
        if (n % 500 == 0)
            sp_shadow_trim(shadow, sp_test_random_below(&random, SP_GIB));
    }
}

static void what_fits_is_known_before_it_is_taken(void **state)
{
    uintptr_t place;

    (void)state;
    assert_int_equal(sp_shadow_largest(shadow), 0); /* Everything is to come yet. */
    place = take(SP_MIB);
    assert_int_equal(sp_shadow_reserved_bytes(shadow), 32 * SP_MIB);
    assert_int_equal(sp_shadow_largest(shadow), 31 * SP_MIB);
    sp_shadow_give(shadow, place);
    assert_int_equal(sp_shadow_largest(shadow), 32 * SP_MIB);
    sp_shadow_trim(shadow, 1);
    assert_int_equal(sp_shadow_reserved_bytes(shadow), 32 * SP_MIB);
    sp_shadow_trim(shadow, 0);
    assert_int_equal(sp_shadow_reserved_bytes(shadow), 0);
}

/* ---- beside the driver ------------------------------------------------------------------- */

static bool has_shadow(struct starpool_pool *pool)
{
    struct starpool_pool_config config = {.struct_size = sizeof(config)};

    assert_ok(starpool_pool_get_config(pool, &config));
    return config.has_shadow;
}

static void pools_of_our_own_on_devices_have_one(void **state)
{
    static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};
    struct starpool_pool_config config;
    struct starpool_pool *pool, *standard;

    (void)state;
    assert_true(has_shadow(on.pool));
    assert_false(has_shadow(on.host));
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &standard));
    assert_false(has_shadow(standard)); /* The program may allocate from it past us. */
    pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 0);
    assert_false(has_shadow(pool));
    starpool_pool_destroy(pool);
    starpool_pool_config_init(&config);
    assert_true(config.has_shadow);
    config.location = device0;
    config.has_shadow = false;
    assert_ok(starpool_pool_create(&config, &pool));
    assert_false(has_shadow(pool));
    sp_fixture_give(sp_fixture_alloc_from(pool, SP_MIB));
    assert_int_equal(sp_fixture_stats_of(pool).shadow_reserved_bytes, 0);
    starpool_pool_destroy(pool);
}

/* The program again, with the option. */
static int run_with_option(void)
{
    struct starpool_pool_config config;

    starpool_pool_config_init(&config);
    return config.has_shadow ? 1 : 0;
}

static void option_leaves_it_out(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again("STARPOOL_SHADOW", "0", "option"), 0);
    assert_int_equal(sp_device_case_again("STARPOOL_SHADOW", "1", "option"), 1);
}

static void driver_needs_what_the_shadow_says(void **state)
{
    void *first, *second, *third;

    (void)state;
    first = sp_driver_fixture_alloc(on.pool, on.a, 1000);
    assert_int_equal(stats().shadow_used_bytes, 1024);
    assert_int_equal(stats().used_bytes, 1024);
    second = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 40 * SP_MIB);
    third = sp_driver_fixture_alloc(on.pool, on.b, 20 * SP_MIB);
    assert_int_equal(stats().shadow_used_bytes, stats().used_bytes);
    assert_int_equal(stats().shadow_reserved_bytes, stats().reserved_bytes);
    assert_int_equal(stats().reserved_bytes, 96 * SP_MIB);
    assert_ok(starpool_free(second, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(third, on.b));
    assert_ok(starpool_stream_synchronize(on.b));
    assert_ok(starpool_pool_trim(on.pool, 0));
    assert_int_equal(stats().shadow_reserved_bytes, stats().reserved_bytes);
    assert_int_equal(stats().shadow_used_bytes, 1024);
    assert_ok(starpool_free(first, on.a));
    assert_int_equal(stats().shadow_used_bytes, 0);
}

static void request_that_fits_makes_the_driver_grow_no_more(void **state)
{
    void *first = sp_driver_fixture_alloc(on.pool, on.a, SP_MIB), *second;
    uint64_t reserved = stats().reserved_bytes;

    (void)state;
    assert_int_equal(stats().largest_hole_bytes, 31 * SP_MIB);
    second = sp_driver_fixture_alloc(on.pool, on.a, stats().largest_hole_bytes);
    assert_int_equal(stats().reserved_bytes, reserved);
    assert_int_equal(stats().largest_hole_bytes, 0);
    assert_ok(starpool_free(first, on.a));
    assert_ok(starpool_free(second, on.a));
}

static void reserved_bytes_beyond_the_shadow_wait_for_streams(void **state)
{
    void *block = sp_driver_fixture_alloc(on.pool, on.a, 30 * SP_MIB), *other;

    (void)state;
    if (!sp_device_case_is_threaded()) {
        assert_ok(starpool_free(block, on.a));
        return; /* Nothing can be held there. */
    }
    assert_ok(starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_INTERNAL_WAITS, 0));
    sp_gate_close_in(on.a);
    assert_ok(starpool_free(block, on.a));
    other = sp_driver_fixture_alloc(on.pool, on.b, 30 * SP_MIB);
    assert_int_equal(stats().reserved_bytes, 64 * SP_MIB);
    assert_int_equal(stats().shadow_reserved_bytes, 32 * SP_MIB);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_free(other, on.b));
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_stream_synchronize(on.b));
    assert_int_equal(stats().shadow_used_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
}

static struct walk {
    uint64_t random;
    struct {
        void *ptr;
        size_t size;
    } blocks[N_BLOCKS];
    uint64_t used_bytes; /* as the driver rounds */
} walk;

static void wait_for_streams(void)
{
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_stream_synchronize(on.b));
}

static starpool_stream any_stream(void)
{
    starpool_stream streams[] = {on.a, on.b, STARPOOL_STREAM_HOST};

    return streams[sp_test_random_below(&walk.random, SP_ARRAY_SIZE(streams))];
}

/* A free on another stream than the allocation's comes after all that was given before. */
static void step(size_t i)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    size_t size;

    if (walk.blocks[i].ptr != NULL) {
        wait_for_streams();
        assert_ok(starpool_free(walk.blocks[i].ptr, any_stream()));
        walk.used_bytes -= sp_round_up(walk.blocks[i].size, UNIT);
        walk.blocks[i].ptr = NULL;
        return;
    }
    size = 1 + (sp_test_random(&walk.random) >> (40 + sp_test_random_below(&walk.random, 16)));
    if (starpool_alloc(on.pool, size, any_stream(), &walk.blocks[i].ptr) != STARPOOL_OK)
        return;
    assert_ok(starpool_block_info(walk.blocks[i].ptr, &info)); /* The host asks for pages. */
    walk.blocks[i].size = info.size;
    walk.used_bytes += sp_round_up(info.size, UNIT);
}

static void used_bytes_are_the_drivers_when_the_host_has_waited(void **state)
{
    (void)state;
    memset(&walk, 0, sizeof(walk));
    walk.random = sp_test_seed();
    for (size_t n = 0; n < sp_test_scaled(3000); n++) {
        step(sp_test_random_below(&walk.random, N_BLOCKS));
        if (sp_test_random_below(&walk.random, 64) == 0)
            assert_ok(starpool_pool_trim(on.pool, sp_test_random(&walk.random) >> 36));
        if (n % 16 != 0)
            continue;
        wait_for_streams();
        assert_int_equal(stats().shadow_used_bytes, walk.used_bytes);
        assert_int_equal(stats().used_bytes, walk.used_bytes);
        assert_true(stats().shadow_reserved_bytes >= walk.used_bytes);
    }
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (walk.blocks[i].ptr != NULL)
            step(i);
    }
    wait_for_streams();
    assert_int_equal(stats().shadow_used_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
}

/* ---- what is not the pool's -------------------------------------------------------------- */

static void captured_allocations_are_the_graphs(void **state)
{
    void *held = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SP_MIB), *node = NULL;
    sp_cu_graph graph;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuStreamBeginCapture(on.a, SP_CU_CAPTURE_MODE_RELAXED));
    assert_ok(starpool_alloc(on.pool, 2 * SP_MIB, on.a, &node));
    assert_ok(starpool_free(node, on.a));
    assert_ok(starpool_free(held, on.a)); /* which the graph may name */
    graph = sp_capture_end(on.a);
    assert_int_equal(stats().shadow_used_bytes, SP_MIB);
    assert_int_equal(stats().used_bytes, SP_MIB);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats().shadow_used_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
}

static void imported_pools_have_none(void **state)
{
    static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};
    struct starpool_pool_handle handle = {.fd = -1};
    struct starpool_pool *shared, *imported;
    struct starpool_pool_config config;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    config.handle_types = STARPOOL_HANDLE_FD;
    assert_ok(starpool_pool_create(&config, &shared));
    assert_true(has_shadow(shared));
    assert_ok(starpool_pool_export(shared, STARPOOL_HANDLE_FD, &handle));
    assert_ok(starpool_pool_import(device0, &handle, &imported));
    close(handle.fd);
    assert_false(has_shadow(imported));
    sp_fixture_give(sp_fixture_alloc_from(shared, SP_MIB));
    assert_ok(starpool_pool_trim(shared, 0)); /* The driver trims none that can be shared. */
    assert_int_equal(sp_fixture_stats_of(shared).shadow_reserved_bytes,
                     sp_fixture_stats_of(shared).reserved_bytes);
    assert_true(sp_fixture_stats_of(shared).reserved_bytes > 0);
    starpool_pool_destroy(imported);
    starpool_pool_destroy(shared);
}

static void streams_may_go_before_their_blocks(void **state)
{
    sp_cu_stream stream;
    void *block;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    block = sp_driver_fixture_alloc(on.pool, stream, SP_MIB);
    assert_ok(starpool_stream_synchronize(stream));
    assert_cu(SUCCESS, on.driver->cuStreamDestroy(stream));
    assert_int_equal(stats().shadow_used_bytes, SP_MIB);
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
    assert_int_equal(stats().shadow_used_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
}

static void destroyed_pool_keeps_its_own_until_the_last_block(void **state)
{
    struct starpool_pool *pool = sp_device_case_pool(0, STARPOOL_BACKEND_DRIVER, 0);
    void *block = sp_driver_fixture_alloc(pool, on.a, SP_MIB);

    (void)state;
    starpool_pool_destroy(pool);
    assert_ok(starpool_free(block, on.a));
    assert_ok(starpool_stream_synchronize(on.a));
}

static void threshold_reaches_the_driver_and_the_shadow(void **state)
{
    uint64_t threshold = 0;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuMemPoolGetAttribute(
                           on.pool->driver->handle, SP_CU_POOL_RELEASE_THRESHOLD, &threshold));
    assert_true(threshold == STARPOOL_UNLIMITED); /* Nothing goes unless it is asked for. */
    assert_ok(starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_RELEASE_THRESHOLD, 0));
    assert_ok(starpool_free(sp_driver_fixture_alloc(on.pool, on.a, SP_MIB), on.a));
    assert_ok(starpool_stream_synchronize(on.a));
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(stats().shadow_reserved_bytes, 0);
}

/* ---- without memory ---------------------------------------------------------------------- */

/* No page more for this process, but what malloc() has put aside. */
static bool starve(void)
{
    struct rlimit limit;
    void *reserve;

    if (mallopt(M_MMAP_THRESHOLD, 1 << 30) != 1 || mallopt(M_TRIM_THRESHOLD, 1 << 30) != 1 ||
        getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    reserve = malloc(16 * SP_MIB);
    if (reserve == NULL)
        return false;
    free(reserve);
    limit.rlim_cur = SP_PAGE;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/* A program of its own: every allocation is served, and the report says what is not counted. */
static int run_without_memory(void)
{
    static char text[16384];
    static void *blocks[4096];
    FILE *out = fmemopen(text, sizeof(text), "w");

    if (out == NULL || setup(NULL) != 0)
        return 1;
    /* The driver has memory and threads of its own. */
    if (starpool_free(sp_driver_fixture_alloc(on.pool, on.a, SP_MIB), on.a) != STARPOOL_OK ||
        starpool_stream_synchronize(on.a) != STARPOOL_OK || !starve())
        return 1;
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        if (starpool_alloc(on.pool, UNIT, on.a, &blocks[i]) != STARPOOL_OK)
            return 2;
    }
    if (on.pool->driver->shadow != NULL || !on.pool->driver->has_lost_shadow)
        return 3;
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        if (starpool_free(blocks[i], on.a) != STARPOOL_OK)
            return 4;
    }
    if (starpool_report(out, STARPOOL_REPORT_TEXT) != STARPOOL_OK)
        return 5;
    return strstr(text, "no memory to count it beside the driver") != NULL ? 0 : 6;
}

static void allocations_go_on_without_memory_for_it(void **state)
{
    (void)state;
    if (SP_HAS_SANITIZER)
        return; /* Their run time needs more. */
    assert_int_equal(sp_device_case_again(NULL, NULL, "starve"), 0);
}

/* ---- threads ----------------------------------------------------------------------------- */

#define N_THREADS 3

static void *churn(void *arg)
{
    uint64_t random = *(uint64_t *)arg;
    size_t n_failed = 0;

    (void)on.driver->cuCtxSetCurrent(on.context);
    for (size_t i = 0; i < 400; i++) {
        void *ptr;

        if (starpool_alloc(on.pool, 1 + sp_test_random_below(&random, SP_MIB),
                           STARPOOL_STREAM_HOST, &ptr) != STARPOOL_OK ||
            starpool_free(ptr, STARPOOL_STREAM_HOST) != STARPOOL_OK)
            n_failed++;
    }
    (void)on.driver->cuCtxSetCurrent(NULL);
    *(uint64_t *)arg = n_failed;
    return NULL;
}

static void threads_are_counted_together(void **state)
{
    pthread_t threads[N_THREADS];
    uint64_t args[N_THREADS];

    (void)state;
    for (size_t i = 0; i < N_THREADS; i++) {
        args[i] = sp_test_seed() + i;
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &args[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(args[i], 0);
    }
    assert_int_equal(stats().shadow_used_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
}

#define CASE(name)  cmocka_unit_test_setup_teardown(name, setup, sp_driver_fixture_teardown)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, setup_alone, teardown_alone)

static const struct CMUnitTest tests[] = {
    ALONE(random_takes_agree_with_a_list),
    ALONE(what_fits_is_known_before_it_is_taken),
    CASE(pools_of_our_own_on_devices_have_one),
    CASE(driver_needs_what_the_shadow_says),
    CASE(request_that_fits_makes_the_driver_grow_no_more),
    CASE(reserved_bytes_beyond_the_shadow_wait_for_streams),
    CASE(used_bytes_are_the_drivers_when_the_host_has_waited),
    CASE(captured_allocations_are_the_graphs),
    CASE(imported_pools_have_none),
    CASE(streams_may_go_before_their_blocks),
    CASE(destroyed_pool_keeps_its_own_until_the_last_block),
    CASE(threshold_reaches_the_driver_and_the_shadow),
    CASE(threads_are_counted_together),
    cmocka_unit_test(option_leaves_it_out),
    cmocka_unit_test(allocations_go_on_without_memory_for_it),
    cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
};

int main(int argc, char **argv)
{
    if (!sp_device_case_init())
        return 99;
    if (argc > 1)
        return strcmp(argv[1], "option") == 0 ? run_with_option() : run_without_memory();
    return cmocka_run_group_tests_name("shadow", tests, NULL, NULL);
}
