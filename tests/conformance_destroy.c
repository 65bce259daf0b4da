/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DESTROY: what cuMemPoolDestroy() refuses, and what outlives the handle. */
#include "config.h"

#include "tests/conformance.h"

#define SIZE ((size_t)4096)

/* A pool that the case destroys itself. */
static sp_cu_pool own_pool(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    sp_cu_pool pool = NULL;

    assert_success(cu->cuMemPoolCreate(&pool, &props));
    return pool;
}

static void destroy_01_no_pool_is_refused(void)
{
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolDestroy(NULL));
}

static void destroy_02_a_devices_default_pool_is_refused_and_still_works(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_default_pool(0);
    sp_cu_ptr ptr;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolDestroy(pool));
    assert_ptr_equal(sp_case_default_pool(0), pool);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_assert_bytes(ptr, 1, SIZE, stream);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void destroy_02_the_hosts_default_pool_is_refused_and_still_works(void)
{
    struct sp_cu_location host = {SP_CU_LOCATION_HOST, 0};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = NULL;

    sp_case_need(SP_CALL_cuMemGetDefaultMemPool);
    assert_success(cu->cuMemGetDefaultMemPool(&pool, &host, SP_CU_ALLOCATION_PINNED));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolDestroy(pool));
    sp_case_free(sp_case_alloc(pool, SIZE, stream), stream);
    sp_case_finish(stream);
}

static void destroy_03_a_pool_with_live_memory_goes_with_the_last_of_it(void)
{
    sp_cu_stream stream = sp_case_stream();
    size_t before = sp_case_device_free();
    sp_cu_pool pool = own_pool();
    sp_cu_ptr first;
    sp_cu_ptr second;

    (void)sp_case_stall(stream);
    first = sp_case_alloc(pool, SIZE, stream);
    second = sp_case_alloc(pool, SIZE, stream);
    assert_success(cu->cuMemPoolDestroy(pool));
    assert_false(sp_case_is_idle(stream));
    sp_case_release_all();
    sp_case_free(first, stream);
    sp_case_finish(stream);
    if (cu->is_model) /* One block still holds the memory of both. */
        assert_true(sp_case_device_free() < before);
    sp_case_free(second, stream);
    sp_case_finish(stream);
    assert_true(sp_case_device_free() >= before);
}

static void destroy_03_a_pool_with_an_unfinished_free_goes_when_the_host_sees_it(void)
{
    sp_cu_stream stream = sp_case_stream();
    size_t before = sp_case_device_free();
    sp_cu_pool pool = own_pool();

    (void)sp_case_stall(stream);
    sp_case_free(sp_case_alloc(pool, SIZE, stream), stream);
    assert_success(cu->cuMemPoolDestroy(pool));
    assert_false(sp_case_is_idle(stream));
    if (cu->is_model)
        assert_true(sp_case_device_free() < before);
    sp_case_release_all();
    sp_case_finish(stream);
    assert_true(sp_case_device_free() >= before);
}

static void destroy_03_a_query_that_answers_success_has_seen_the_last_free(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_event event = sp_case_event();
    size_t before = sp_case_device_free();

    for (int i = 0; i < 2; i++) {
        sp_cu_pool pool = own_pool();

        sp_case_free(sp_case_alloc(pool, SIZE, stream), stream);
        assert_success(cu->cuMemPoolDestroy(pool));
        assert_success(cu->cuEventRecord(event, stream));
        while ((i == 0 ? cu->cuStreamQuery(stream) : cu->cuEventQuery(event)) != SP_CU_SUCCESS)
            continue;
        assert_true(sp_case_device_free() >= before);
    }
}

static void destroy_03_nothing_else_holds_a_pools_memory(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream busy = sp_case_stream();
    size_t before = sp_case_device_free();
    sp_cu_pool pool = own_pool();

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_free(sp_case_alloc(pool, SIZE, stream), stream);
    sp_case_finish(stream);
    assert_true(sp_case_reserved(pool) >= SIZE);
    (void)sp_case_stall(busy);
    /* Neither the threshold nor a stream that never used the pool. */
    assert_success(cu->cuMemPoolDestroy(pool));
    assert_true(sp_case_device_free() >= before);
    sp_case_release_all();
    sp_case_finish(busy);
}

static void destroy_04_memory_outlives_the_pool_and_is_freed_either_way(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = own_pool();
    sp_cu_ptr first = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr second = sp_case_alloc(pool, SIZE, stream);

    sp_case_fill(first, 1, SIZE, stream);
    sp_case_fill(second, 2, SIZE, stream);
    assert_success(cu->cuMemPoolDestroy(pool));
    sp_case_assert_bytes(first, 1, SIZE, stream);
    sp_case_assert_bytes(second, 2, SIZE, stream);
    sp_case_fill(first, 3, SIZE, stream);
    sp_case_assert_bytes(first, 3, SIZE, stream);
    assert_success(cu->cuMemFreeAsync(first, stream));
    sp_case_finish(stream);
    sp_case_assert_bytes(second, 2, SIZE, stream);
    assert_success(cu->cuMemFree(second));
}

static void destroy_05_a_destroyed_pools_handle_is_refused_everywhere(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct sp_cu_access_desc access = {{SP_CU_LOCATION_DEVICE, 0}, SP_CU_ACCESS_READWRITE};
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_pool pool = own_pool();
    uint64_t bytes = 0;
    const char *first;
    int flags = -1;
    sp_cu_ptr ptr = 1;

    sp_case_expect_violations(8);
    assert_success(cu->cuMemPoolDestroy(pool));
    assert_int_equal(starpool_model_violations(NULL), before);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolDestroy(pool));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolGetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &bytes));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolSetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &bytes));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolTrimTo(pool, 0));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAccess(&flags, pool, &access.location));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolSetAccess(pool, &access, 1));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, pool));
    assert_int_equal(starpool_model_violations(&first), before + 8);
    assert_string_not_equal(first, "");
    assert_int_equal(ptr, 1);
    assert_int_equal(flags, -1);
}

static void destroy_05_a_handle_is_given_again_or_never(void)
{
    sp_cu_pool old;
    sp_cu_pool young;

    assert_true(sp_case_switch("stale_handle", "invalid-value"));
    old = own_pool();
    assert_success(cu->cuMemPoolDestroy(old));
    young = sp_case_pool(0);
    assert_ptr_not_equal(young, old);

    assert_true(sp_case_switch("stale_handle", "recycled"));
    old = own_pool();
    assert_success(cu->cuMemPoolDestroy(old));
    young = own_pool();
    assert_ptr_equal(young, old);
    /* The stale handle names the new pool, and destroys it. */
    assert_success(cu->cuMemPoolDestroy(old));
}

static const struct sp_case cases[] = {
    SP_CASE(destroy_01_no_pool_is_refused, 0),
    SP_CASE(destroy_02_a_devices_default_pool_is_refused_and_still_works, 0),
    SP_CASE(destroy_02_the_hosts_default_pool_is_refused_and_still_works, SP_TAG_HOST),
    SP_CASE(destroy_03_a_pool_with_live_memory_goes_with_the_last_of_it, SP_TAG_STALL),
    SP_CASE(destroy_03_a_pool_with_an_unfinished_free_goes_when_the_host_sees_it, SP_TAG_STALL),
    SP_CASE(destroy_03_a_query_that_answers_success_has_seen_the_last_free, 0),
    SP_CASE(destroy_03_nothing_else_holds_a_pools_memory, SP_TAG_STALL),
    SP_CASE(destroy_04_memory_outlives_the_pool_and_is_freed_either_way, 0),
    SP_CASE(destroy_05_a_destroyed_pools_handle_is_refused_everywhere, SP_TAG_UB),
    SP_CASE(destroy_05_a_handle_is_given_again_or_never, SP_TAG_UB),
};

const struct sp_case_group sp_cases_destroy = SP_CASE_GROUP("DESTROY", cases);
