/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools of a device's plain memory (slabs) on the CPU model: what they are, growth, shortage,
 * streams, captures, two devices. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "src/pool/why.h"
#include "tests/capture_fixture.h"
#include "tests/device_case.h"
#include "tests/fixture.h"

static const struct starpool_location device1 = {STARPOOL_DEVICE, 1};

static struct starpool_stats stats(void)
{
    return sp_fixture_stats_of(slabs);
}

static void *take(size_t size)
{
    return sp_fixture_alloc_from(slabs, size);
}

static void give(void *ptr)
{
    sp_fixture_give(ptr);
}

/* ---- what such a pool is ----------------------------------------------------------------- */

static void no_context_is_made_before_memory_is_asked_for(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = sp_device_case_pool(1, STARPOOL_BACKEND_SLAB, 0), *initial;
    bool was_active = sp_device_case_is_active(1);

    (void)state;
    assert_false(was_active);
    (void)sp_fixture_stats_of(pool);
    assert_false(sp_device_case_is_active(1));
    starpool_pool_destroy(pool);
    assert_false(sp_device_case_is_active(1));
    starpool_pool_config_init(&config);
    config.location = device1;
    config.backend = STARPOOL_BACKEND_SLAB;
    config.initial = SP_MIB;
    assert_ok(starpool_pool_create(&config, &initial));
    assert_true(sp_device_case_is_active(1));
    assert_true(sp_fixture_stats_of(initial).reserved_bytes >= SP_MIB);
    starpool_pool_destroy(initial);
}

static void blocks_are_plain_memory_of_the_device(void **state)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    enum starpool_access access = STARPOOL_ACCESS_READ;
    char *ptr = take(100000);
    int ordinal = -1, type = 0;
    char text[16] = "", copy[16] = "plain memory";

    (void)state;
    assert_int_equal((uintptr_t)ptr % 256, 0);
    assert_ok(starpool_block_info(ptr + 50000, &info));
    assert_ptr_equal(info.base, ptr);
    assert_ptr_equal(info.pool, slabs);
    assert_int_equal(on.driver->cuPointerGetAttribute(&ordinal, SP_CU_POINTER_DEVICE_ORDINAL,
                                                      (uintptr_t)ptr),
                     SP_CU_SUCCESS);
    assert_int_equal(ordinal, 0);
    assert_int_equal(
        on.driver->cuPointerGetAttribute(&type, SP_CU_POINTER_MEMORY_TYPE, (uintptr_t)ptr),
        SP_CU_SUCCESS);
    assert_int_equal(type, SP_CU_MEMORY_TYPE_DEVICE);
    assert_cu(SUCCESS, on.driver->cuMemcpyHtoD((uintptr_t)ptr + 99984, copy, 16));
    assert_cu(SUCCESS, on.driver->cuMemcpyDtoH(text, (uintptr_t)ptr + 99984, 16));
    assert_string_equal(text, copy);
    assert_ok(
        starpool_pool_get_access(slabs, (struct starpool_location){STARPOOL_HOST, 0}, &access));
    assert_int_equal(access, STARPOOL_ACCESS_NONE); /* to the host */
    assert_status(STARPOOL_ENOTSUP,
                  starpool_pool_set_access(slabs, device1, STARPOOL_ACCESS_READWRITE));
    give(ptr);
}

static void configuration_that_makes_no_sense_is_refused(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = slabs;

    (void)state;
    starpool_pool_config_init(&config);
    config.backend = STARPOOL_BACKEND_SLAB;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &pool)); /* HOST */
    config.location = (struct starpool_location){STARPOOL_DEVICE, 2};
    assert_status(STARPOOL_EDEVICE, starpool_pool_create(&config, &pool));
    config.location.id = 1;
    config.memory = STARPOOL_MANAGED;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &pool));
    config.memory = STARPOOL_PINNED;
    config.handle_types = STARPOOL_HANDLE_FD;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &pool));
    config.handle_types = 0;
    config.is_registered = true;
    assert_status(STARPOOL_EINVAL, starpool_pool_create(&config, &pool));
    assert_ptr_equal(pool, slabs);
    assert_false(sp_device_case_is_active(1));
}

static void blocks_are_aligned_as_is_asked(void **state)
{
    (void)state;
    for (size_t align = 1; align <= 4 * SP_MIB; align *= 2) {
        void *ptr = NULL;

        assert_ok(sp_alloc_aligned(slabs, 1000, align, &ptr));
        assert_int_equal((uintptr_t)ptr % align, 0);
        assert_int_equal(sp_free_if_ours(ptr), SP_FREED);
    }
    assert_int_equal(sp_free_if_ours(&state), SP_FREE_FOREIGN);
    assert_int_equal(stats().n_live, 0);
}

/* ---- growth and shortage ----------------------------------------------------------------- */

static void recycled_block_costs_no_call_of_the_driver(void **state)
{
    void *small = take(1000), *large = take(8 * SP_MIB);

    (void)state;
    assert_int_equal(stats().reserved_bytes, 32 * SP_MIB); /* one slab, as StarPU's chunk */
    assert_ok(starpool_model_inject("cuMemAlloc@1=999,cuMemFree@1=999"));
    for (int i = 0; i < 1000; i++) {
        give(small);
        give(large);
        small = take(1000);
        large = take(8 * SP_MIB);
    }
    assert_int_equal(stats().n_grows, 1);
    assert_int_equal(stats().n_refused, 0);
    assert_ok(starpool_model_inject(NULL));
    give(small);
    give(large);
}

static void number_of_slabs_grows_slower_than_their_bytes(void **state)
{
    void *blocks[48];

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        blocks[i] = take(16 * SP_MIB);
    assert_true(stats().n_grows <= 14); /* 24 slabs of 32 MiB would hold them */
    assert_true(stats().reserved_bytes <= (48 * 16 + 256) * SP_MIB);
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        give(blocks[i]);
}

static void growth_backs_off_to_the_exact_size(void **state)
{
    size_t least = 5 * SP_MIB - SP_PAGE;
    void *first, *second, *third;

    (void)state;
    assert_ok(starpool_model_inject("memory:0=21M"));
    first = take(5 * SP_MIB);
    assert_int_equal(stats().reserved_bytes, 16 * SP_MIB); /* 32 MiB are not to be had */
    second = take(11 * SP_MIB);
    assert_int_equal(stats().reserved_bytes, 16 * SP_MIB);
    third = take(least); /* 6 MiB, a multiple of the granularity, are not to be had */
    assert_int_equal(stats().reserved_bytes, 16 * SP_MIB + least);
    give(third);
    give(second);
    give(first);
}

static void shortage_of_the_device_is_enomem_and_changes_nothing(void **state)
{
    struct starpool_stats before, after;
    void *first, *ptr = &before;
    const char *call = "";

    (void)state;
    assert_ok(starpool_model_inject("memory:0=48M"));
    first = take(30 * SP_MIB);
    before = stats();
    assert_status(STARPOOL_ENOMEM, starpool_alloc(slabs, 20 * SP_MIB, on.a, &ptr));
    assert_int_equal(starpool_driver_error(&call), SP_CU_OUT_OF_MEMORY);
    assert_string_equal(call, "cuMemAlloc");
    assert_status(STARPOOL_ENOMEM,
                  starpool_alloc(slabs, 20 * SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    assert_status(STARPOOL_ENOMEM,
                  starpool_alloc(slabs, SIZE_MAX / 2, STARPOOL_STREAM_HOST, &ptr));
    after = stats();
    assert_ptr_equal(ptr, &before);
    assert_int_equal(after.n_refused, before.n_refused + 3);
    assert_int_equal(after.used_bytes, before.used_bytes);
    assert_int_equal(after.reserved_bytes, before.reserved_bytes);
    give(first);
}

static void other_failure_of_the_driver_is_not_taken_for_shortage(void **state)
{
    void *ptr = slabs;

    (void)state;
    assert_ok(starpool_model_inject("cuMemAlloc@1=999,cuMemAlloc@2=999,cuMemAlloc@3=999,"
                                    "cuMemAlloc@4=999,cuMemAlloc@5=999,cuMemAlloc@6=999"));
    assert_status(STARPOOL_EDRIVER, starpool_alloc(slabs, 1, STARPOOL_STREAM_HOST, &ptr));
    assert_ptr_equal(ptr, slabs);
    assert_ok(starpool_model_inject(NULL));
    give(take(1));
}

static void pools_of_one_device_help_each_other_out(void **state)
{
    struct starpool_pool *other = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 0);
    void *block;

    (void)state;
    assert_ok(starpool_model_inject("memory:0=64M"));
    sp_fixture_give(sp_fixture_alloc_from(other, 20 * SP_MIB));
    sp_fixture_give(
        sp_fixture_alloc_from(on.pool, SP_MIB)); /* the driver's pool has the rest */
    assert_int_equal(sp_fixture_stats_of(other).reserved_bytes, 32 * SP_MIB);
    assert_int_equal(sp_fixture_stats_of(on.pool).reserved_bytes, 32 * SP_MIB);
    block = take(60 * SP_MIB);
    assert_int_equal(sp_fixture_stats_of(other).reserved_bytes, 0);
    assert_int_equal(sp_fixture_stats_of(on.pool).reserved_bytes, 0);
    give(block);
    sp_fixture_give(sp_fixture_alloc_from(on.pool, 40 * SP_MIB)); /* and the other way round */
    assert_int_equal(stats().reserved_bytes, 0);
    starpool_pool_destroy(other);
}

static void empty_slabs_make_room_for_a_larger_block(void **state)
{
    struct starpool_pool *pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 64 * SP_MIB);
    void *ptr = pool, *block;

    (void)state;
    sp_fixture_give(sp_fixture_alloc_from(pool, 1000));
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 32 * SP_MIB);
    sp_fixture_give(
        sp_fixture_alloc_from(pool, 40 * SP_MIB)); /* the maximum is too low for both */
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 40 * SP_MIB);
    assert_status(STARPOOL_ENOMEM,
                  starpool_alloc(pool, 65 * SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    assert_ptr_equal(ptr, pool);
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 40 * SP_MIB); /* in vain */
    block = sp_driver_fixture_alloc(pool, on.a, 60 * SP_MIB);
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 60 * SP_MIB);
    assert_ok(starpool_free(block, on.a));
    assert_int_equal(sp_fixture_stats_of(pool).n_refused, 1);
    starpool_pool_destroy(pool);
    assert_ok(starpool_model_inject("memory:0=64M"));
    give(take(1000));
    give(take(40 * SP_MIB)); /* the device has too little for both */
    assert_int_equal(stats().reserved_bytes, 40 * SP_MIB);
    assert_int_equal(stats().n_refused, 0);
}

static void memory_of_the_host_is_no_help_to_a_device(void **state)
{
    void *ptr = NULL;

    (void)state;
    sp_fixture_give(sp_fixture_alloc_from(on.host, SP_MIB));
    assert_ok(starpool_model_inject("memory:0=16M"));
    assert_status(STARPOOL_ENOMEM,
                  starpool_alloc(slabs, 20 * SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    assert_true(sp_fixture_stats_of(on.host).reserved_bytes > 0);
}

static unsigned n_asked;

static bool free_one(struct starpool_pool *pool, size_t size, unsigned attempt, void *arg)
{
    void **block = arg;

    (void)pool, (void)size;
    n_asked++;
    if (attempt > 0)
        return false;
    return starpool_free(*block, STARPOOL_STREAM_HOST) == STARPOOL_OK;
}

static void callback_may_make_room(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    void *block = NULL, *ptr = NULL;

    (void)state;
    n_asked = 0;
    starpool_pool_config_init(&config);
    config.location = (struct starpool_location){STARPOOL_DEVICE, 0};
    config.backend = STARPOOL_BACKEND_SLAB;
    config.maximum = 32 * SP_MIB;
    config.on_oom = free_one;
    config.on_oom_arg = &block;
    assert_ok(starpool_pool_create(&config, &pool));
    block = sp_fixture_alloc_from(pool, 30 * SP_MIB);
    assert_ok(starpool_alloc(pool, 20 * SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    assert_int_equal(n_asked, 1);
    sp_fixture_give(ptr);
    starpool_pool_destroy(pool);
}

static void maximum_holds_and_is_used_to_the_end(void **state)
{
    struct starpool_pool *pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 9 * SP_MIB);
    void *first = sp_fixture_alloc_from(pool, SP_MIB), *second = NULL, *third = NULL;
    void *none = pool;

    (void)state;
    assert_true(sp_fixture_stats_of(pool).reserved_bytes <= 9 * SP_MIB);
    assert_ok(starpool_alloc(pool, 7 * SP_MIB, STARPOOL_STREAM_HOST, &second));
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 8 * SP_MIB);
    assert_ok(starpool_alloc(pool, SP_MIB, STARPOOL_STREAM_HOST, &third));
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 9 * SP_MIB);
    assert_status(STARPOOL_ENOMEM, starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &none));
    assert_ptr_equal(none, pool);
    sp_fixture_give(first);
    sp_fixture_give(second);
    sp_fixture_give(third);
    starpool_pool_destroy(pool);
}

static void refusal_names_the_limit_of_devices_and_not_of_the_host(void **state)
{
    struct starpool_pool *pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, SP_MIB);
    char text[SP_WHY_SIZE];

    (void)state;
    sp_pool_why(pool, 2 * SP_MIB, STARPOOL_ENOMEM, text, sizeof(text));
    assert_non_null(strstr(text, "limit 1 MiB"));
    assert_non_null(strstr(text, "STARPOOL_DEVICE_LIMIT"));
    assert_null(strstr(text, "STARPOOL_HOST_LIMIT"));
    starpool_pool_destroy(pool);
}

static void report_says_nothing_of_pages_where_there_are_none(void **state)
{
    struct starpool_pool *const pools[] = {slabs, on.pool, on.host};
    static const char *const beginnings[] = {"(DEVICE, slab, limit none)",
                                             "(DEVICE, driver, limit ", "huge pages "};
    char *text;
    size_t size;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(pools); i++) {
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        sp_report_pool_text(out, pools[i]);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, beginnings[i]));
        assert_int_equal(strstr(text, "pages") != NULL, pools[i] == on.host);
        free(text);
    }
}

static void trim_gives_slabs_back_to_the_device(void **state)
{
    size_t before = sp_device_case_free(0);
    void *block;

    (void)state;
    give(take(SP_MIB));
    block = take(100 * SP_MIB);
    assert_true(sp_device_case_free(0) <= before - 132 * SP_MIB);
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_true(stats().reserved_bytes < 132 * SP_MIB);
    give(block);
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(sp_device_case_free(0), before);
}

static void slab_that_the_driver_does_not_take_back_stays(void **state)
{
    (void)state;
    give(take(SP_MIB));
    assert_ok(starpool_model_inject("cuMemFree@1=999"));
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(stats().reserved_bytes, 32 * SP_MIB);
    give(take(20 * SP_MIB));
    assert_int_equal(stats().n_grows, 1);
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(stats().reserved_bytes, 0);
}

static void destroyed_pool_stays_with_what_the_driver_does_not_take_back(void **state)
{
    struct starpool_pool *pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 0);
    size_t before = sp_device_case_free(0);
    void *ptr = sp_fixture_alloc_from(pool, 40 * SP_MIB);

    (void)state;
    assert_ok(starpool_model_inject("memory:0=64M"));
    sp_fixture_give(ptr);
    assert_ok(starpool_model_inject("cuMemFree@1=700"));
    starpool_pool_destroy(pool);
    assert_int_equal(sp_device_case_free(0), 24 * SP_MIB);
    /* Whoever is short of it gets it then. */
    assert_ok(starpool_alloc(slabs, 50 * SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    sp_fixture_give(ptr);
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_ok(starpool_model_inject("memory:0=1G"));
    assert_int_equal(sp_device_case_free(0), before);
}

static void threshold_lets_go_at_the_next_growth(void **state)
{
    void *block;

    (void)state;
    assert_ok(starpool_pool_set_attribute(slabs, STARPOOL_ATTR_RELEASE_THRESHOLD, 0));
    give(take(SP_MIB));
    assert_int_equal(stats().reserved_bytes, 32 * SP_MIB);
    block = take(50 * SP_MIB);
    assert_int_equal(stats().reserved_bytes, 50 * SP_MIB);
    give(block);
}

/* ---- streams and captures ---------------------------------------------------------------- */

static void blocks_follow_the_order_of_streams(void **state)
{
    void *block = sp_driver_fixture_alloc(slabs, on.a, 4 * SP_MIB), *other;
    bool is_threaded = sp_device_case_is_threaded();

    (void)state;
    assert_ok(starpool_pool_set_attribute(slabs, STARPOOL_ATTR_INTERNAL_WAITS, 0));
    if (is_threaded)
        sp_gate_close_in(on.a);
    assert_int_equal(on.driver->cuMemsetD8Async((uintptr_t)block, 1, 4 * SP_MIB, on.a),
                     SP_CU_SUCCESS);
    assert_ok(starpool_free(block, on.a));
    other = sp_driver_fixture_alloc(slabs, on.b, 4 * SP_MIB);
    if (is_threaded)
        assert_ptr_not_equal(other, block);
    assert_ok(starpool_free(other, on.b));
    assert_ptr_equal(sp_driver_fixture_alloc(slabs, on.a, 4 * SP_MIB),
                     is_threaded ? block : other);
    if (is_threaded)
        sp_gate_set(&gate.is_open);
    assert_ok(starpool_free(is_threaded ? block : other, on.a));
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_stream_synchronize(on.b));
    assert_int_equal(stats().n_live, 0);
    assert_int_equal(starpool_model_violations(NULL), 0);
}

static void streams_use_a_slab_up_before_the_pool_grows(void **state)
{
    void *blocks[56]; /* 28 MiB, in chunks of 2 MiB */

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        blocks[i] = sp_driver_fixture_alloc(slabs, on.a, SP_MIB / 2);
    assert_int_equal(stats().n_grows, 1);
    assert_int_equal(stats().reserved_bytes, 32 * SP_MIB);
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        assert_ok(starpool_free(blocks[i], on.a));
}

static void growth_and_trim_leave_captures_whole(void **state)
{
    static const int modes[] = {SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_CAPTURE_MODE_THREAD_LOCAL,
                                SP_CU_CAPTURE_MODE_RELAXED};

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(modes); i++) {
        void *block, *temporary = NULL;

        assert_cu(SUCCESS, on.driver->cuStreamBeginCapture(on.a, modes[i]));
        block = take(40 * SP_MIB);
        give(block);
        assert_ok(starpool_alloc(slabs, SP_MIB, on.a, &temporary));
        assert_cu(SUCCESS, on.driver->cuMemsetD8Async((uintptr_t)temporary, 1, SP_MIB, on.a));
        assert_ok(starpool_free(temporary, on.a));
        assert_ok(starpool_pool_trim(slabs, 0));
        assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    }
    sp_capture_wait_for_destructors();
    assert_int_equal(stats().graph_arena_bytes, 0);
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(stats().reserved_bytes, 0);
}

/* ---- two devices ------------------------------------------------------------------------- */

static void devices_have_pools_of_their_own_and_peers_copy(void **state)
{
    struct starpool_pool *other = sp_device_case_pool(1, STARPOOL_BACKEND_SLAB, 0);
    void *here = take(SP_MIB), *there = sp_fixture_alloc_from(other, SP_MIB);
    char sent[32] = "from device 0 to device 1", got[32] = "";
    int ordinal = -1;

    (void)state;
    assert_int_equal(on.driver->cuPointerGetAttribute(&ordinal, SP_CU_POINTER_DEVICE_ORDINAL,
                                                      (uintptr_t)there),
                     SP_CU_SUCCESS);
    assert_int_equal(ordinal, 1);
    assert_cu(SUCCESS, on.driver->cuMemcpyHtoD((uintptr_t)here, sent, sizeof(sent)));
    assert_cu(SUCCESS,
              on.driver->cuMemcpyDtoD((uintptr_t)there, (uintptr_t)here, sizeof(sent)));
    assert_cu(SUCCESS, on.driver->cuMemcpyDtoH(got, (uintptr_t)there, sizeof(got)));
    assert_string_equal(got, sent);
    assert_ok(starpool_model_inject("memory:0=32M"));
    assert_ok(starpool_alloc(other, 100 * SP_MIB, STARPOOL_STREAM_HOST, (void **)&sent));
    sp_fixture_give(*(void **)sent);
    sp_fixture_give(there);
    give(here);
    starpool_pool_destroy(other);
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_device_case_setup, sp_device_case_teardown)

static const struct CMUnitTest tests[] = {
    CASE(configuration_that_makes_no_sense_is_refused),
    CASE(no_context_is_made_before_memory_is_asked_for),
    CASE(blocks_are_plain_memory_of_the_device),
    CASE(blocks_are_aligned_as_is_asked),
    CASE(recycled_block_costs_no_call_of_the_driver),
    CASE(number_of_slabs_grows_slower_than_their_bytes),
    CASE(growth_backs_off_to_the_exact_size),
    CASE(shortage_of_the_device_is_enomem_and_changes_nothing),
    CASE(other_failure_of_the_driver_is_not_taken_for_shortage),
    CASE(pools_of_one_device_help_each_other_out),
    CASE(empty_slabs_make_room_for_a_larger_block),
    CASE(memory_of_the_host_is_no_help_to_a_device),
    CASE(callback_may_make_room),
    CASE(maximum_holds_and_is_used_to_the_end),
    CASE(refusal_names_the_limit_of_devices_and_not_of_the_host),
    CASE(report_says_nothing_of_pages_where_there_are_none),
    CASE(trim_gives_slabs_back_to_the_device),
    CASE(slab_that_the_driver_does_not_take_back_stays),
    CASE(destroyed_pool_stays_with_what_the_driver_does_not_take_back),
    CASE(threshold_lets_go_at_the_next_growth),
    CASE(blocks_follow_the_order_of_streams),
    CASE(streams_use_a_slab_up_before_the_pool_grows),
    CASE(growth_and_trim_leave_captures_whole),
    CASE(devices_have_pools_of_their_own_and_peers_copy),
    cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
};

int main(void)
{
    return sp_device_case_init() ? cmocka_run_group_tests_name("device_pool", tests, NULL, NULL)
                                 : 99;
}
