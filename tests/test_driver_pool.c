/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools that the driver serves, and the driver's streams in the one order, on the CPU model:
 * nothing of starpool can tell it from the real one. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpool.h>

#include "src/model/model.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/util/util.h"
#include "tests/driver_fixture.h"
#include "tests/fixture.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};
static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};
static const struct starpool_location device1 = {STARPOOL_DEVICE, 1};

static int setup(void **state)
{
    (void)state;
    return sp_driver_fixture_setup(STARPOOL_HANDLE_FD, false);
}

/* ---- pools ------------------------------------------------------------------------------- */

static void blocks_are_the_drivers_and_known_to_us(void **state)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct starpool_pool *pool = NULL;
    char *ptr = sp_driver_fixture_alloc(on.pool, on.a, SP_MIB);

    (void)state;
    assert_ok(starpool_pool_of(ptr, &pool));
    assert_ptr_equal(pool, on.pool);
    assert_ok(starpool_block_info(ptr + 5000, &info));
    assert_ptr_equal(info.base, ptr);
    assert_int_equal(info.size, SP_MIB);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live, 1);
    assert_true(sp_fixture_stats_of(on.pool).used_bytes >= SP_MIB);
    assert_int_equal(on.driver->cuMemsetD8Async((uintptr_t)ptr, 1, SP_MIB, on.a),
                     SP_CU_SUCCESS);
    assert_ok(starpool_free(ptr, on.a));
    assert_status(STARPOOL_EINVAL, starpool_pool_of(ptr, &pool));
    assert_ok(starpool_stream_synchronize(on.a));
    assert_int_equal(sp_fixture_stats_of(on.pool).used_bytes, 0);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live_high, 1);
}

static void block_of_the_host_is_ready_and_idle_at_once(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 1000);

    (void)state;
    assert_true(starpool_is_ready(ptr));
    assert_true(starpool_is_ready_on(ptr, on.a, 0));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_false(starpool_is_ready(ptr));
    assert_int_equal(sp_fixture_stats_of(on.pool).used_bytes, 0);
}

static void stream_of_our_own_is_no_stream_to_the_driver(void **state)
{
    starpool_stream own;
    void *ptr = &on, *block = sp_driver_fixture_alloc(on.pool, on.a, 1000);

    (void)state;
    assert_ok(starpool_stream_create(device0, &own));
    assert_status(STARPOOL_EINVAL, starpool_alloc(on.pool, 1000, own, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_free(block, own));
    assert_ptr_equal(ptr, &on);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live, 1);
    assert_ok(starpool_free(block, on.a));
    starpool_stream_destroy(own);
}

static void free_that_the_driver_refuses_leaves_the_block_live(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.pool, on.a, 1000);
    const char *call = "";

    (void)state;
    assert_ok(starpool_model_inject("cuMemFreeAsync@1=999"));
    assert_status(STARPOOL_EDRIVER, starpool_free(ptr, on.a));
    assert_int_equal(starpool_driver_error(&call), SP_CU_UNKNOWN);
    assert_string_equal(call, "cuMemFreeAsync");
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live, 1);
    assert_ok(starpool_free(ptr, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.a));
}

static void refusal_of_the_driver_keeps_its_cause(void **state)
{
    void *ptr = &on;

    (void)state;
    assert_ok(starpool_model_inject("cuMemAllocFromPoolAsync@1=901"));
    assert_status(STARPOOL_ECAPTURE_INVALIDATED, starpool_alloc(on.pool, 1, on.a, &ptr));
    assert_status(STARPOOL_ENOMEM, starpool_alloc(on.pool, (size_t)1 << 40, on.a, &ptr));
    assert_ptr_equal(ptr, &on);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_refused, 1);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live, 0);
}

static void creation_that_fails_half_way_leaves_nothing(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = on.pool;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    assert_ok(starpool_model_inject("cuMemPoolSetAttribute@1=999"));
    assert_status(STARPOOL_EDRIVER, starpool_pool_create(&config, &pool));
    config.location.id = 2;
    assert_status(STARPOOL_EDEVICE, starpool_pool_create(&config, &pool));
    assert_ptr_equal(pool, on.pool);
}

static void destroyed_pool_goes_with_its_last_block(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    void *ptr, *other = &on;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    config.initial = 2 * SP_MIB;
    assert_ok(starpool_pool_create(&config, &pool));
    assert_true(sp_fixture_stats_of(pool).reserved_bytes >= 2 * SP_MIB);
    ptr = sp_driver_fixture_alloc(pool, on.a, 1000);
    starpool_pool_destroy(pool);
    assert_status(STARPOOL_EINVAL, starpool_alloc(pool, 1, on.a, &other));
    assert_ok(starpool_free(ptr, on.a));
}

static void attributes_are_the_drivers(void **state)
{
    uint64_t value = 7;

    (void)state;
    assert_ok(starpool_pool_get_attribute(on.pool, STARPOOL_ATTR_FOLLOWS_EVENTS, &value));
    assert_int_equal(value, 1);
    assert_ok(starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_FOLLOWS_EVENTS, 0));
    assert_ok(starpool_pool_get_attribute(on.pool, STARPOOL_ATTR_FOLLOWS_EVENTS, &value));
    assert_int_equal(value, 0);
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_INTERNAL_WAITS, 2));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_MAXIMUM, 1));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_USED_CURRENT, 0));
    assert_ok(starpool_pool_trim(on.pool, 0));
    assert_ok(starpool_pool_reset_peaks(on.pool));
}

/* ---- default, current -------------------------------------------------------------------- */

static void current_pool_is_the_drivers_and_serves_its_streams(void **state)
{
    struct starpool_pool *standard, *current, *pool = NULL;
    void *ptr = NULL;

    (void)state;
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &standard));
    assert_ok(starpool_pool_current(device0, STARPOOL_PINNED, &current));
    assert_ptr_equal(current, standard);
    assert_ok(starpool_pool_set_current(device0, STARPOOL_PINNED, on.pool));
    assert_ok(starpool_pool_current(device0, STARPOOL_PINNED, &current));
    assert_ptr_equal(current, on.pool);
    assert_ok(starpool_alloc_current(1000, on.a, &ptr));
    assert_ok(starpool_pool_of(ptr, &pool));
    assert_ptr_equal(pool, on.pool);
    assert_ok(starpool_free(ptr, on.a));
    assert_int_equal(on.driver->cuDeviceSetMemPool(0, standard->driver->handle), SP_CU_SUCCESS);
    assert_ok(starpool_pool_current(device0, STARPOOL_PINNED, &current));
    assert_ptr_equal(current, standard);
}

static void managed_pools_are_the_drivers(void **state)
{
    static const struct starpool_location nowhere = {STARPOOL_NONE, 0};
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    (void)state;
    assert_ok(starpool_pool_default(nowhere, STARPOOL_MANAGED, &pool));
    assert_ok(starpool_free(sp_driver_fixture_alloc(pool, on.a, 1000), on.a));
    starpool_pool_config_init(&config);
    config.memory = STARPOOL_MANAGED;
    config.backend = STARPOOL_BACKEND_CPU;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &pool));
}

/* ---- access, sharing --------------------------------------------------------------------- */

static void access_of_a_peer_is_given_and_taken(void **state)
{
    enum starpool_access access = STARPOOL_ACCESS_READ;

    (void)state;
    assert_ok(starpool_pool_get_access(on.pool, device1, &access));
    assert_int_equal(access, STARPOOL_ACCESS_READWRITE); /* Every peer has it from the start. */
    assert_ok(starpool_pool_set_access(on.pool, device1, STARPOOL_ACCESS_NONE));
    assert_ok(starpool_pool_get_access(on.pool, device1, &access));
    assert_int_equal(access, STARPOOL_ACCESS_NONE);
    assert_ok(starpool_pool_set_access(on.pool, device1, STARPOOL_ACCESS_READWRITE));
    assert_ok(starpool_pool_set_access(on.pool, device1, STARPOOL_ACCESS_NONE));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_set_access(on.pool, device1, (enum starpool_access)2));
    assert_status(STARPOOL_EINVAL, starpool_pool_get_access(on.pool, device1, NULL));
}

static void pool_and_block_go_through_handles(void **state)
{
    struct starpool_pool_handle handle = {.fd = -1};
    struct starpool_block_handle block;
    struct starpool_pool *imported = NULL;
    void *ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 1000), *there = NULL;

    (void)state;
    assert_ok(starpool_pool_export(on.pool, STARPOOL_HANDLE_FD, &handle));
    assert_true(handle.fd >= 0);
    assert_status(STARPOOL_ENOTSUP, starpool_pool_export(on.host, STARPOOL_HANDLE_FD, &handle));
    assert_ok(starpool_block_export(ptr, &block));
    assert_ok(starpool_pool_import(device0, &handle, &imported));
    assert_ok(starpool_block_import(imported, &block, &there));
    assert_status(STARPOOL_EINVAL, starpool_block_import(on.pool, &block, &there));
    assert_status(STARPOOL_ENOTSUP, starpool_block_import(on.host, &block, &there));
    assert_ok(starpool_free(there, on.a));
    assert_ok(starpool_stream_synchronize(on.a));
    starpool_pool_destroy(imported);
    close(handle.fd);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

/* ---- the driver's streams in the order --------------------------------------------------- */

static void special_streams_are_the_drivers(void **state)
{
    static const uintptr_t special[] = {0, 1, 2};

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(special); i++) {
        starpool_stream stream = (starpool_stream)special[i];

        assert_ok(starpool_free(sp_driver_fixture_alloc(on.pool, stream, 1000), stream));
        assert_ok(starpool_free(sp_driver_fixture_alloc(on.host, stream, 1000), stream));
        assert_ok(starpool_stream_synchronize(stream));
        assert_ok(starpool_stream_query(stream));
    }
    assert_status(STARPOOL_EINVAL, starpool_stream_query((starpool_stream)&on));
}

static void pool_of_a_device_needs_no_current_context(void **state)
{
    sp_cu_context current = on.context;
    void *ptr;

    (void)state;
    assert_int_equal(on.driver->cuCtxSetCurrent(NULL), SP_CU_SUCCESS);
    ptr = sp_driver_fixture_alloc(on.pool, NULL, 1000);
    assert_ok(starpool_free(ptr, NULL));
    assert_int_equal(on.driver->cuCtxGetCurrent(&current), SP_CU_SUCCESS);
    assert_null(current);
}

static void pool_outlives_a_context_that_it_was_used_in(void **state)
{
    sp_cu_context own;
    void *ptr;

    (void)state;
    assert_int_equal(on.driver->cuCtxCreate(&own, 0, 0), SP_CU_SUCCESS);
    ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 1000);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(on.driver->cuCtxDestroy(own), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuCtxSetCurrent(on.context), SP_CU_SUCCESS);
    ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 1000);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static void block_freed_in_a_context_that_is_gone_goes_back(void **state)
{
    sp_cu_context own;
    sp_cu_stream stream;

    (void)state;
    assert_int_equal(on.driver->cuCtxCreate(&own, 0, 0), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING),
                     SP_CU_SUCCESS);
    assert_ok(
        starpool_free(sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, 1000), stream));
    assert_ok(starpool_free(sp_driver_fixture_alloc(on.host, stream, 1000), stream));
    assert_int_equal(on.driver->cuCtxDestroy(own), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuCtxSetCurrent(on.context), SP_CU_SUCCESS);
    assert_ok(starpool_pool_trim(on.host, 0));
    assert_int_equal(sp_fixture_stats_of(on.host).reserved_bytes, 0);
}

static void device_that_there_is_not_imports_nothing(void **state)
{
    struct starpool_pool_handle handle = {.fd = -1};
    struct starpool_pool *imported = NULL;

    (void)state;
    assert_ok(starpool_pool_export(on.pool, STARPOOL_HANDLE_FD, &handle));
    assert_status(STARPOOL_EDEVICE,
                  starpool_pool_import((struct starpool_location){STARPOOL_DEVICE, 99}, &handle,
                                       &imported));
    assert_null(imported);
    close(handle.fd);
}

static void number_that_was_never_a_point_is_refused(void **state)
{
    uint64_t point = 0;
    void *ptr;

    (void)state;
    sp_gate_close_in(on.a);
    assert_ok(starpool_stream_record(on.a, &point));
    ptr = sp_driver_fixture_alloc(on.host, on.a, 1000); /* the next number is its own */
    assert_status(STARPOOL_EINVAL, starpool_stream_wait(on.b, on.a, point + 1));
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_free(ptr, on.a));
    assert_ok(starpool_stream_synchronize(on.a));
}

static void block_is_ready_when_the_drivers_stream_is(void **state)
{
    void *ptr;

    (void)state;
    sp_gate_close_in(on.a);
    ptr = sp_driver_fixture_alloc(on.pool, on.a, 1000);
    assert_false(starpool_is_ready(ptr));
    assert_status(STARPOOL_ENOTREADY, starpool_stream_query(on.a));
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.a));
    assert_true(starpool_is_ready(ptr));
    assert_ok(starpool_free(ptr, on.a));
}

static void host_memory_waits_for_the_drivers_stream(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.host, on.a, 2 * SP_MIB), *other;
    void *parked = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, 2 * SP_MIB);

    (void)state;
    sp_gate_close_in(on.a);
    assert_ok(starpool_free(ptr, on.a));
    assert_ok(starpool_free(parked, on.a));
    other = sp_driver_fixture_alloc(on.host, on.b, 2 * SP_MIB);
    assert_ptr_not_equal(other, ptr);
    assert_int_equal(sp_fixture_stats_of(on.host).ordered_pending_bytes, 4 * SP_MIB);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.a));
    assert_int_equal(sp_fixture_stats_of(on.host).ordered_pending_bytes, 0);
    assert_ok(starpool_free(other, on.b));
}

static void free_that_the_driver_has_executed_serves_others_unasked(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.host, on.a, 2 * SP_MIB);

    (void)state;
    assert_ok(starpool_pool_set_attribute(on.host, STARPOOL_ATTR_OPPORTUNISTIC, 1));
    assert_ok(starpool_free(ptr, on.a));
    assert_int_equal(on.driver->cuStreamSynchronize(on.a), SP_CU_SUCCESS);
    assert_ptr_equal(sp_driver_fixture_alloc(on.host, on.b, 2 * SP_MIB), ptr);
    assert_int_equal(sp_fixture_stats_of(on.host).n_takes_executed, 1);
    assert_ok(starpool_free(ptr, on.b));
}

static void stream_of_the_driver_waits_for_one_of_its_own(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.host, on.a, 2 * SP_MIB);
    uint64_t point = 0;

    (void)state;
    sp_gate_close_in(on.a);
    assert_ok(starpool_free(ptr, on.a));
    assert_ok(starpool_stream_record(on.a, &point));
    assert_ok(starpool_stream_wait(on.b, on.a, point));
    assert_ptr_equal(sp_driver_fixture_alloc(on.host, on.b, 2 * SP_MIB), ptr);
    assert_int_equal(sp_fixture_stats_of(on.host).n_takes_event, 1);
    assert_status(STARPOOL_ENOTREADY, starpool_stream_query(on.b));
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.b));
    assert_ok(starpool_free(ptr, on.b));
}

static void wait_that_is_added_is_the_drivers_too(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.host, on.a, 2 * SP_MIB);

    (void)state;
    assert_ok(starpool_pool_set_attribute(on.host, STARPOOL_ATTR_INTERNAL_WAITS, 1));
    sp_gate_close_in(on.a);
    assert_ok(starpool_free(ptr, on.a));
    assert_ptr_equal(sp_driver_fixture_alloc(on.host, on.b, 2 * SP_MIB), ptr);
    assert_int_equal(sp_fixture_stats_of(on.host).n_takes_internal, 1);
    assert_status(STARPOOL_ENOTREADY, starpool_stream_query(on.b));
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.b));
    assert_ok(starpool_free(ptr, on.b));
}

static void own_stream_executes_after_what_it_waits_for(void **state)
{
    starpool_stream own;
    uint64_t point = 0;
    void *ptr;

    (void)state;
    assert_ok(starpool_stream_create(host, &own));
    ptr = sp_driver_fixture_alloc(on.host, own, 1000);
    assert_ok(starpool_stream_record(own, &point));
    assert_false(starpool_is_ready(ptr));
    assert_ok(starpool_stream_wait(on.a, own, point));
    assert_true(starpool_is_ready(ptr));
    assert_ok(starpool_stream_record(on.a, &point));
    assert_ok(starpool_stream_wait(own, on.a, point));
    assert_ok(starpool_free(ptr, own));
    assert_ok(starpool_stream_synchronize(own));
    assert_int_equal(sp_fixture_stats_of(on.host).ordered_pending_bytes, 0);
    starpool_stream_destroy(own);
}

/* INTER-10 */
static void handle_that_comes_back_is_another_stream(void **state)
{
    sp_cu_stream first, second = NULL;
    void *ptr, *other;

    (void)state;
    assert_int_equal(on.driver->cuStreamCreate(&first, SP_CU_STREAM_NON_BLOCKING), 0);
    ptr = sp_driver_fixture_alloc(on.host, first, 2 * SP_MIB);
    sp_gate_close_in(first);
    assert_ok(starpool_free(ptr, first));
    assert_int_equal(on.driver->cuStreamDestroy(first), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuStreamCreate(&second, SP_CU_STREAM_NON_BLOCKING), 0);
    other = sp_driver_fixture_alloc(on.host, second, 2 * SP_MIB);
    assert_ptr_not_equal(other, ptr);
    assert_int_equal(sp_fixture_stats_of(on.host).n_takes_stream, 0);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_free(other, second));
    assert_ok(starpool_stream_synchronize(second));
    assert_int_equal(on.driver->cuStreamDestroy(second), SP_CU_SUCCESS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, sp_driver_fixture_teardown)

static const struct CMUnitTest tests[] = {
    CASE(blocks_are_the_drivers_and_known_to_us),
    CASE(block_of_the_host_is_ready_and_idle_at_once),
    CASE(stream_of_our_own_is_no_stream_to_the_driver),
    CASE(free_that_the_driver_refuses_leaves_the_block_live),
    CASE(refusal_of_the_driver_keeps_its_cause),
    CASE(creation_that_fails_half_way_leaves_nothing),
    CASE(destroyed_pool_goes_with_its_last_block),
    CASE(attributes_are_the_drivers),
    CASE(current_pool_is_the_drivers_and_serves_its_streams),
    CASE(managed_pools_are_the_drivers),
    CASE(access_of_a_peer_is_given_and_taken),
    CASE(pool_and_block_go_through_handles),
    CASE(special_streams_are_the_drivers),
    CASE(pool_of_a_device_needs_no_current_context),
    CASE(pool_outlives_a_context_that_it_was_used_in),
    CASE(block_freed_in_a_context_that_is_gone_goes_back),
    CASE(device_that_there_is_not_imports_nothing),
    CASE(number_that_was_never_a_point_is_refused),
    CASE(block_is_ready_when_the_drivers_stream_is),
    CASE(host_memory_waits_for_the_drivers_stream),
    CASE(free_that_the_driver_has_executed_serves_others_unasked),
    CASE(stream_of_the_driver_waits_for_one_of_its_own),
    CASE(wait_that_is_added_is_the_drivers_too),
    CASE(own_stream_executes_after_what_it_waits_for),
    CASE(handle_that_comes_back_is_another_stream),
};

int main(void)
{
    if (setenv("STARPOOL_DRIVER", "model", 1) != 0 ||
        setenv("STARPOOL_MODEL_DEVICES", "2", 1) != 0 ||
        setenv("STARPOOL_MODEL_EXEC", "threads", 1) != 0 ||
        setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("driver_pool", tests, NULL, NULL);
}
