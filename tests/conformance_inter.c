/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* INTER: pools beside the rest of the driver: memory of no stream's order, questions about
 * pointers, streams that go, and faults. */
#include "config.h"

#include "tests/conformance_order.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SIZE ((size_t)4096)

/* ---- cuMemAlloc() and cuMemFree() -----------------------------------------------------------
 */

static void inter_01_cu_mem_free_of_pool_memory_waits_for_no_stream(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream busy = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_finish(stream);
    (void)sp_case_stall(busy);
    assert_success(cu->cuMemFree(ptr));
    assert_false(sp_case_is_idle(busy));
    assert_int_equal(sp_case_used(pool), 0);
    sp_case_release_all();
    sp_case_finish(busy);
}

static void inter_02_cu_mem_free_async_takes_memory_of_no_pool(void)
{
    sp_cu_stream stream = sp_case_stream();
    size_t before = sp_case_device_free();
    sp_cu_ptr ptr;

    assert_success(cu->cuMemAlloc(&ptr, SP_MIB));
    (void)sp_case_stall(stream);
    sp_case_fill(ptr, 1, SP_MIB, stream);
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    assert_false(sp_case_is_idle(stream));
    if (cu->is_model) /* It is in use for as long as the stream is held. */
        assert_true(sp_case_device_free() < before);
    sp_case_release_all();
    sp_case_finish(stream);
    assert_true(sp_case_device_free() >= before);
    if (cu->is_model)
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFree(ptr));
}

/* How much more a pool with a big block reserves for another stream's, after cuMemFree() of the
 * first one and with every reuse flag off. */
static uint64_t growth_after_free_now(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    uint64_t reserved;
    uint64_t growth;
    sp_cu_ptr ptr;

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_set_reuse(pool, false, false, false);
    ptr = sp_case_alloc(pool, SP_BIG, stream);
    sp_case_finish(stream);
    reserved = sp_case_reserved(pool);
    assert_success(cu->cuMemFree(ptr));
    assert_int_equal(sp_case_used(pool), 0);
    ptr = sp_case_alloc(pool, SP_BIG, other);
    growth = sp_case_reserved(pool) - reserved;
    sp_case_free(ptr, other);
    sp_case_finish(other);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    return growth;
}

static void inter_03_memory_freed_by_cu_mem_free_is_the_pools_at_once(void)
{
    if (!cu->is_model) {
        uint64_t growth = growth_after_free_now();

        sp_case_observe("INTER-03", "%" PRIu64 " bytes more", growth);
        sp_case_settle("free_now_reuse", growth == 0 ? "at-once" : "after-sync");
        return;
    }
    assert_true(sp_case_switch("free_now_reuse", "at-once"));
    assert_int_equal(growth_after_free_now(), 0);
    assert_true(sp_case_switch("free_now_reuse", "after-sync"));
    assert_true(growth_after_free_now() > 0);
}

static void inter_05_no_bytes_are_refused_and_null_is_freed(void)
{
    sp_cu_ptr ptr;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemAlloc(&ptr, 0));
    assert_success(cu->cuMemFree(0));
}

/* ---- memory of the host ---------------------------------------------------------------------
 */

static sp_cu_pool host_pool(int location_type)
{
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .location = {.type = location_type, .id = 0}};
    struct sp_cu_access_desc access = {{SP_CU_LOCATION_DEVICE, 0}, SP_CU_ACCESS_READWRITE};
    sp_cu_pool pool = sp_case_pool_of(&props);

    assert_success(cu->cuMemPoolSetAccess(pool, &access, 1));
    return pool;
}

static void inter_04_the_host_uses_host_pools_memory_after_a_synchronise(void)
{
    static const int types[] = {SP_CU_LOCATION_HOST, SP_CU_LOCATION_HOST_NUMA};
    sp_cu_stream stream = sp_case_stream();

    for (int i = 0; i < 2; i++) {
        sp_cu_ptr ptr = sp_case_alloc(host_pool(types[i]), SIZE, stream);
        volatile unsigned char *bytes = (volatile unsigned char *)(uintptr_t)ptr;

        sp_case_fill(ptr, 1, SIZE, stream);
        sp_case_finish(stream);
        for (size_t j = 0; j < SIZE; j++) {
            assert_int_equal(bytes[j], 1);
            bytes[j] = 2;
        }
        sp_case_assert_bytes(ptr, 2, SIZE, stream);
        sp_case_free(ptr, stream);
        sp_case_finish(stream);
    }
}

/* The host's own loads and stores go past any driver; its synchronous copies do not. */
static void inter_04_the_host_using_it_before_the_allocation_is_diagnosed(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = host_pool(SP_CU_LOCATION_HOST);
    uint64_t before = starpool_model_violations(NULL);
    unsigned char bytes[64] = {0};
    const char *first;
    sp_cu_ptr ptr;

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    (void)cu->cuMemcpyHtoD(ptr, bytes, sizeof(bytes));
    assert_int_equal(starpool_model_violations(&first), before + 1);
    assert_string_not_equal(first, "");
    sp_case_release_all();
    sp_case_finish(stream);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

/* ---- questions about pointers ---------------------------------------------------------------
 */

/* The range around an address inside a block of 1000 bytes. */
static size_t range_of_1000_bytes(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(sp_case_pool(0), 1000, stream);
    sp_cu_ptr base = 0;
    size_t size = 0;

    sp_case_finish(stream);
    assert_success(cu->cuMemGetAddressRange(&base, &size, ptr + 300));
    assert_int_equal(base, ptr);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
    return size;
}

static void inter_06_pool_memory_has_an_address_range(void)
{
    if (!cu->is_model) {
        size_t size = range_of_1000_bytes();

        sp_case_observe("INTER-06", "%zu bytes for 1000", size);
        sp_case_settle("address_range", size == 1000 ? "requested" : "rounded");
        assert_true(size >= 1000);
        return;
    }
    assert_true(sp_case_switch("address_range", "rounded"));
    assert_int_equal(range_of_1000_bytes(), 1024);
    assert_true(sp_case_switch("address_range", "requested"));
    assert_int_equal(range_of_1000_bytes(), 1000);
}

static void inter_06_pool_memory_has_no_allocation_handle(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(sp_case_pool(0), SIZE, stream);
    struct sp_cu_ipc_mem_handle legacy;
    unsigned long long handle = 0;
    sp_cu_result result;

    sp_case_finish(stream);
    result = cu->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)ptr);
    sp_case_observe("INTER-06", "cuMemRetainAllocationHandle: %d", result);
    assert_int_not_equal(result, SP_CU_SUCCESS);
    if (cu->is_model)
        assert_cu(SP_CU_INVALID_VALUE, result);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuIpcGetMemHandle(&legacy, ptr));
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void inter_07_a_foreign_pointer_has_nothing_in_plural_and_fails_in_singular(void)
{
    static int foreign;
    int attributes[] = {SP_CU_POINTER_CONTEXT, SP_CU_POINTER_MEMORY_TYPE,
                        SP_CU_POINTER_DEVICE_POINTER};
    sp_cu_context context = (sp_cu_context)(void *)&foreign;
    unsigned type = 77;
    sp_cu_ptr pointer = 77;
    void *values[] = {(void *)&context, &type, &pointer};
    sp_cu_ptr ptr = (sp_cu_ptr)(uintptr_t)&foreign;

    assert_success(cu->cuPointerGetAttributes(3, attributes, values, ptr));
    assert_null(context);
    assert_int_equal(type, 0);
    assert_int_equal(pointer, 0);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuPointerGetAttribute(&type, SP_CU_POINTER_MEMORY_TYPE, ptr));
}

/* An explicit memset node takes the memory's context, of which pool memory has none; a memset
 * in a stream, captured or not, takes the stream's. */
static void inter_08_pool_memory_has_no_context_and_is_set_in_streams(void)
{
    int attributes[] = {SP_CU_POINTER_CONTEXT, SP_CU_POINTER_MEMORY_TYPE};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(sp_case_pool(0), SIZE, stream);
    sp_cu_context context = sp_case_device(0);
    unsigned type = 0;
    void *values[] = {(void *)&context, &type};

    sp_case_finish(stream);
    assert_success(cu->cuPointerGetAttributes(2, attributes, values, ptr));
    assert_null(context);
    assert_int_equal(type, SP_CU_MEMORY_TYPE_DEVICE);
    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_assert_bytes(ptr, 1, SIZE, stream);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void inter_08_no_explicit_node_sets_pool_memory(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr plain, ptr = sp_case_alloc(sp_case_pool(0), SIZE, stream);
    struct sp_cu_memset_params params = {
        .target = ptr, .value = 1, .element_size = 1, .width = SIZE, .height = 1};
    sp_cu_context context = sp_case_device(0);
    sp_cu_node node = NULL;
    sp_cu_graph graph;

    sp_case_finish(stream);
    assert_success(cu->cuMemAlloc(&plain, SIZE));
    assert_success(cu->cuGraphCreate(&graph, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuGraphAddMemsetNode(&node, graph, NULL, 0, &params, context));
    assert_null(node);
    params.target = plain;
    assert_success(cu->cuGraphAddMemsetNode(&node, graph, NULL, 0, &params, context));
    assert_success(cu->cuGraphDestroy(graph));
    assert_success(cu->cuMemFree(plain));
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void inter_08_a_captured_memset_sets_pool_memory(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(sp_case_pool(0), SIZE, stream);
    sp_cu_graph graph = NULL;
    sp_cu_exec exec = NULL;

    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_finish(stream);
    assert_success(cu->cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    sp_case_fill(ptr, 2, SIZE, stream);
    assert_success(cu->cuStreamEndCapture(stream, &graph));
    sp_case_assert_bytes(ptr, 1, SIZE, stream);
    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    assert_success(cu->cuGraphLaunch(exec, stream));
    sp_case_assert_bytes(ptr, 2, SIZE, stream);
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

/* ---- streams that go ------------------------------------------------------------------------
 */

static void destroy_stream(sp_cu_stream stream)
{
    sp_case_forget_stream(stream);
    assert_success(cu->cuStreamDestroy(stream));
}

static void inter_09_memory_outlives_the_stream_that_allocated_it(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_finish(stream);
    destroy_stream(stream);
    sp_case_assert_bytes(ptr, 1, SIZE, other);
    assert_int_equal(sp_case_used(pool), SIZE);
    assert_success(cu->cuMemFreeAsync(ptr, other));
    sp_case_finish(other);
    assert_int_equal(sp_case_used(pool), 0);
}

static void inter_09_work_of_a_destroyed_stream_still_orders_others(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr;

    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    assert_success(cu->cuEventRecord(event, stream));
    destroy_stream(stream);
    assert_success(cu->cuStreamWaitEvent(other, event, 0));
    sp_case_fill(ptr, 2, SIZE, other);
    assert_false(sp_case_is_idle(other));
    sp_case_release_all();
    sp_case_assert_bytes(ptr, 2, SIZE, other);
    assert_success(cu->cuMemFreeAsync(ptr, other));
    sp_case_finish(other);
}

/* Streams made after another was destroyed, one of which has its handle, if not all. */
enum { N_YOUNG = 8 };

static void inter_10_a_stream_has_nothing_of_the_one_whose_handle_it_got(void)
{
    sp_cu_stream old = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    bool is_given_again = false;
    sp_cu_ptr freed;

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_set_reuse(pool, true, false, false);
    (void)sp_case_stall(old);
    freed = sp_case_alloc(pool, SIZE, old);
    sp_case_fill(freed, 1, SIZE, old);
    sp_case_free(freed, old);
    destroy_stream(old);
    for (int i = 0; i < N_YOUNG; i++) {
        sp_cu_stream young = sp_case_stream();
        sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, young);

        is_given_again = is_given_again || young == old;
        assert_int_not_equal(ptr, freed);
        sp_case_free(ptr, young);
        sp_case_finish(young);
    }
    if (cu->is_model) /* Else the case has shown little. */
        assert_true(is_given_again);
    sp_case_release_all();
    assert_success(cu->cuCtxSynchronize());
}

static void inter_10_an_executed_free_of_a_destroyed_stream_is_not_a_new_ones(void)
{
    sp_cu_stream old = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr freed;

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_set_reuse(pool, false, false, false);
    freed = sp_case_alloc(pool, SP_BIG, old);
    sp_case_free(freed, old);
    sp_case_await(old);
    destroy_stream(old);
    for (int i = 0; i < 2; i++) {
        sp_cu_stream young = sp_case_stream();
        sp_cu_ptr ptr = sp_case_alloc(pool, SP_BIG, young);

        /* A real driver may have other reasons to let it. */
        sp_case_observe("INTER-10", "memory is %s", ptr == freed ? "taken" : "not taken");
        if (cu->is_model)
            assert_int_not_equal(ptr, freed);
        sp_case_free(ptr, young);
    }
    assert_success(cu->cuCtxSynchronize());
}

static unsigned long long id_of(sp_cu_stream stream)
{
    unsigned long long id = 0;

    assert_success(cu->cuStreamGetId(stream, &id));
    return id;
}

static void inter_10_a_streams_id_is_never_given_again(void)
{
    unsigned long long ids[N_YOUNG];

    sp_case_need(SP_CALL_cuStreamGetId);
    for (int i = 0; i < N_YOUNG; i++) {
        sp_cu_stream stream = sp_case_stream();

        ids[i] = id_of(stream);
        assert_int_equal(id_of(stream), ids[i]);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(ids[i], ids[j]);
        destroy_stream(stream);
    }
}

/* What another thread finds. */
struct seen {
    sp_cu_context context;
    sp_cu_result set, get;
    unsigned long long id;
};

static void *ask_id(void *arg)
{
    struct seen *seen = arg;

    seen->set = cu->cuCtxSetCurrent(seen->context);
    seen->get = cu->cuStreamGetId(SP_CU_STREAM_PER_THREAD, &seen->id);
    return NULL;
}

static void inter_10_each_thread_has_a_stream_of_its_own(void)
{
    struct seen seen = {.context = sp_case_device(0)};
    pthread_t thread;

    sp_case_need(SP_CALL_cuStreamGetId);
    assert_int_equal(pthread_create(&thread, NULL, ask_id, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_success(seen.set);
    assert_success(seen.get);
    assert_int_not_equal(seen.id, id_of(SP_CU_STREAM_PER_THREAD));
    assert_int_not_equal(id_of(SP_CU_STREAM_PER_THREAD), id_of(SP_CU_STREAM_LEGACY));
    assert_int_equal(id_of(NULL), id_of(SP_CU_STREAM_LEGACY));
}
/* ---- faults ---------------------------------------------------------------------------------
 */

/* What calls of all kinds answer in the current context; the block is not freed by them. */
static void assert_every_call_answers(sp_cu_result fault, sp_cu_pool pool, sp_cu_ptr ptr,
                                      sp_cu_stream stream)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    struct sp_cu_access_desc access = {{SP_CU_LOCATION_DEVICE, 0}, SP_CU_ACCESS_READWRITE};
    uint64_t bytes = 0;
    int flags;
    sp_cu_event event;
    sp_cu_pool other;
    sp_cu_ptr out;

    assert_cu(fault, cu->cuStreamSynchronize(stream));
    assert_cu(fault, cu->cuStreamQuery(stream));
    assert_cu(fault, cu->cuCtxSynchronize());
    assert_cu(fault, cu->cuEventCreate(&event, 0));
    assert_cu(fault, cu->cuMemAllocAsync(&out, SIZE, stream));
    assert_cu(fault, cu->cuMemAllocFromPoolAsync(&out, SIZE, pool, stream));
    assert_cu(fault, cu->cuMemFreeAsync(ptr, stream));
    assert_cu(fault, cu->cuMemFree(ptr));
    assert_cu(fault, cu->cuMemAlloc(&out, SIZE));
    assert_cu(fault, cu->cuMemsetD8Async(ptr, 1, SIZE, stream));
    assert_cu(fault, cu->cuMemPoolCreate(&other, &props));
    assert_cu(fault, cu->cuMemPoolDestroy(pool));
    assert_cu(fault, cu->cuMemPoolTrimTo(pool, 0));
    assert_cu(fault, cu->cuMemPoolGetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &bytes));
    assert_cu(fault, cu->cuMemPoolSetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &bytes));
    assert_cu(fault, cu->cuMemPoolGetAccess(&flags, pool, &access.location));
    assert_cu(fault, cu->cuMemPoolSetAccess(pool, &access, 1));
}

static void inter_11_an_asynchronous_fault_is_every_later_calls_answer(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_context context;
    sp_cu_stream stream;
    char fault[64];
    sp_cu_ptr ptr;

    assert_success(cu->cuCtxCreate(&context, 0, 0));
    assert_success(cu->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    /* The stream's third operation: after the allocation and one use. */
    (void)snprintf(fault, sizeof(fault), "fault:%llu@3=LAUNCH_FAILED", id_of(stream));
    assert_ok(starpool_model_inject(fault));
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_finish(stream);
    (void)cu->cuMemsetD8Async(ptr, 2, SIZE, stream);
    assert_every_call_answers(SP_CU_LAUNCH_FAILED, pool, ptr, stream);

    /* It is that context's, and the block is as it was. */
    (void)sp_case_device(0);
    assert_int_equal(sp_case_used(pool), SIZE);
    assert_success(cu->cuCtxDestroy(context));
    (void)sp_case_device(0);
    assert_int_equal(sp_case_used(pool), SIZE);
    sp_case_free(ptr, NULL);
    sp_case_finish(NULL);
    assert_int_equal(sp_case_used(pool), 0);
}

static void inter_11_a_failed_free_leaves_the_block_live_and_counted(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr other;

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_fill(ptr, 1, SIZE, stream);
    assert_ok(starpool_model_inject("cuMemFreeAsync@1=ILLEGAL_ADDRESS"));
    assert_cu(SP_CU_ILLEGAL_ADDRESS, cu->cuMemFreeAsync(ptr, stream));
    assert_int_equal(sp_case_used(pool), SIZE);
    other = sp_case_alloc(pool, SIZE, stream);
    assert_int_not_equal(other, ptr);
    sp_case_assert_bytes(ptr, 1, SIZE, stream);
    sp_case_free(other, stream);
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
}

static const struct sp_case cases[] = {
    SP_CASE(inter_01_cu_mem_free_of_pool_memory_waits_for_no_stream, SP_TAG_STALL),
    SP_CASE(inter_02_cu_mem_free_async_takes_memory_of_no_pool, SP_TAG_STALL),
    SP_CASE(inter_03_memory_freed_by_cu_mem_free_is_the_pools_at_once, 0),
    SP_CASE(inter_04_the_host_uses_host_pools_memory_after_a_synchronise, SP_TAG_HOST),
    SP_CASE(inter_04_the_host_using_it_before_the_allocation_is_diagnosed,
            SP_TAG_HOST | SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(inter_05_no_bytes_are_refused_and_null_is_freed, 0),
    SP_CASE(inter_06_pool_memory_has_an_address_range, 0),
    SP_CASE(inter_06_pool_memory_has_no_allocation_handle, 0),
    SP_CASE(inter_07_a_foreign_pointer_has_nothing_in_plural_and_fails_in_singular, 0),
    SP_CASE(inter_08_pool_memory_has_no_context_and_is_set_in_streams, 0),
    SP_CASE(inter_08_no_explicit_node_sets_pool_memory, 0),
    SP_CASE(inter_08_a_captured_memset_sets_pool_memory, 0),
    SP_CASE(inter_09_memory_outlives_the_stream_that_allocated_it, 0),
    SP_CASE(inter_09_work_of_a_destroyed_stream_still_orders_others, SP_TAG_STALL),
    SP_CASE(inter_10_a_stream_has_nothing_of_the_one_whose_handle_it_got, SP_TAG_STALL),
    SP_CASE(inter_10_an_executed_free_of_a_destroyed_stream_is_not_a_new_ones, 0),
    SP_CASE(inter_10_a_streams_id_is_never_given_again, 0),
    SP_CASE(inter_10_each_thread_has_a_stream_of_its_own, SP_TAG_THR),
    SP_CASE(inter_11_an_asynchronous_fault_is_every_later_calls_answer, SP_TAG_MODEL),
    SP_CASE(inter_11_a_failed_free_leaves_the_block_live_and_counted, SP_TAG_MODEL),
};

const struct sp_case_group sp_cases_inter = SP_CASE_GROUP("INTER", cases);
