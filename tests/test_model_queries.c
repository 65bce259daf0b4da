/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the model answers of its devices, contexts, streams, kernels and managed memory, and
 * values that streams wait for and write. */
#include "config.h"

#include "tests/kernel_fixture.h"
#include "tests/model_capture_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/attributes.h"

/* ---- devices ----------------------------------------------------------------------------- */

static int attribute(enum sp_model_attribute number)
{
    int value = INT32_MIN;

    assert_done(cuDeviceGetAttribute(&value, (int)number, 1));
    return value;
}

static void every_attribute_is_answered_and_fits_the_others(void **state)
{
    char name[32];
    int value = INT32_MIN;

    (void)state;
    for (int number = 1; number <= SP_ATTRIBUTE_LAST; number++) {
        assert_done(cuDeviceGetAttribute(&value, number, 0));
        assert_int_not_equal(value, INT32_MIN);
    }
    value = -7;
    assert_result(SP_CU_INVALID_VALUE, cuDeviceGetAttribute(&value, 0, 0));
    assert_result(SP_CU_INVALID_VALUE, cuDeviceGetAttribute(&value, SP_ATTRIBUTE_LAST + 1, 0));
    assert_result(SP_CU_INVALID_DEVICE, cuDeviceGetAttribute(&value, 1, 2));
    assert_int_equal(value, -7);
    assert_done(cuDeviceGetName(name, sizeof(name), 0));
    assert_string_equal(name, "starpool simulated");
    assert_int_equal(attribute(SP_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
    assert_int_equal(attribute(SP_ATTRIBUTE_WARP_SIZE), 32);
    assert_int_equal(attribute(SP_ATTRIBUTE_PCI_BUS_ID), 0xf1);
    assert_true(attribute(SP_ATTRIBUTE_MAX_THREADS_PER_BLOCK) <=
                attribute(SP_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
    assert_true(attribute(SP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) +
                    attribute(SP_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) <=
                attribute(SP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
}

static void properties_are_the_attributes(void **state)
{
    struct sp_cu_device_properties properties;
    int major, minor;
    size_t width = 0;

    (void)state;
    assert_done(cuDeviceGetProperties(&properties, 1));
    assert_int_equal(properties.max_threads_dim[2], attribute(SP_ATTRIBUTE_MAX_BLOCK_DIM_Z));
    assert_int_equal(properties.max_grid_size[0], INT32_MAX);
    assert_int_equal(properties.warp_size, 32);
    assert_int_equal(properties.texture_alignment, attribute(SP_ATTRIBUTE_TEXTURE_ALIGNMENT));
    assert_done(cuDeviceComputeCapability(&major, &minor, 0));
    assert_int_equal(major * 10 + minor, 80);
    assert_done(cuDeviceGetTexture1DLinearMaxWidth(&width, 0x20, 4, 0));
    assert_int_equal(width, (1 << 28) / 16);
    assert_result(SP_CU_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(&width, 0x20, 3, 0));
    assert_result(SP_CU_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(&width, 5, 4, 0));
}

static void devices_are_found_by_where_they_are(void **state)
{
    static const char *const none[] = {
        "",  "0000:f2:00.0",  "0001:f1:00.0", "0000:f1:01.0", "f1",
        "x", "0000:f1:00.0x", "0000:01:00.0", "0000:f1:00:"};
    sp_cu_device device = -1;
    char luid[8];
    unsigned mask;

    (void)state;
    assert_done(cuDeviceGetByPCIBusId(&device, "0000:f1:00.0"));
    assert_int_equal(device, 1);
    assert_done(cuDeviceGetByPCIBusId(&device, "F0:00.0"));
    assert_int_equal(device, 0);
    assert_done(cuDeviceGetByPCIBusId(&device, "f1:0"));
    assert_int_equal(device, 1);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_result(SP_CU_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, none[i]));
    assert_int_equal(device, 1);
    assert_result(SP_CU_NOT_SUPPORTED, cuDeviceGetLuid(luid, &mask, 0));
}

static void peers_are_what_the_configuration_says(void **state)
{
    int value = -1;

    (void)state;
    assert_done(cuDeviceGetP2PAttribute(&value, SP_CU_P2P_ACCESS_SUPPORTED, 0, 1));
    assert_int_equal(value, 1);
    assert_done(cuDeviceGetP2PAttribute(&value, SP_CU_P2P_NATIVE_ATOMIC_SUPPORTED, 0, 1));
    assert_int_equal(value, 0);
    assert_result(SP_CU_INVALID_VALUE, cuDeviceGetP2PAttribute(&value, 9, 0, 1));
    assert_result(SP_CU_INVALID_DEVICE, cuDeviceGetP2PAttribute(&value, 2, 0, 0));
    assert_result(SP_CU_INVALID_DEVICE, cuDeviceGetP2PAttribute(&value, 2, 0, 2));
    assert_int_equal(value, 0);
}

/* ---- contexts and streams ---------------------------------------------------------------- */

static void contexts_tell_what_they_are_and_keep_what_they_are_told(void **state)
{
    unsigned long long first, second;
    sp_cu_context other, found;
    unsigned version, flags;
    size_t bytes = 0;
    int config = -1;

    (void)state;
    assert_done(cuCtxGetApiVersion(sp_model.context, &version));
    assert_int_equal(version, 3020);
    assert_done(cuCtxGetId(NULL, &first));
    assert_done(cuCtxCreate(&other, SP_CU_CONTEXT_SCHED_YIELD, 1));
    assert_done(cuCtxGetId(NULL, &second));
    assert_int_not_equal(first, second);
    assert_done(cuCtxGetFlags(&flags));
    assert_int_equal(flags, SP_CU_CONTEXT_SCHED_YIELD);
    assert_done(cuCtxSetFlags(SP_CU_CONTEXT_SCHED_SPIN));
    assert_result(SP_CU_INVALID_VALUE, cuCtxSetFlags(3)); /* two ways of waiting */
    assert_done(cuCtxGetFlags(&flags));
    assert_int_equal(flags, SP_CU_CONTEXT_SCHED_SPIN);
    assert_done(cuCtxGetLimit(&bytes, SP_CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(bytes, 8 << 20);
    assert_done(cuCtxSetLimit(SP_CU_LIMIT_MALLOC_HEAP_SIZE, 123));
    assert_done(cuCtxGetLimit(&bytes, SP_CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(bytes, 123);
    assert_result(SP_CU_UNSUPPORTED_LIMIT, cuCtxGetLimit(&bytes, SP_CU_N_LIMITS));
    assert_result(SP_CU_UNSUPPORTED_LIMIT, cuCtxSetLimit(-1, 1));
    assert_done(cuCtxSetCacheConfig(SP_CU_CACHE_PREFER_L1));
    assert_done(cuCtxGetCacheConfig(&config));
    assert_int_equal(config, SP_CU_CACHE_PREFER_L1);
    assert_result(SP_CU_INVALID_VALUE, cuCtxSetCacheConfig(4));
    assert_done(cuCtxAttach(&found, 0));
    assert_ptr_equal(found, other);
    assert_done(cuCtxDetach(other));
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxDetach(sp_model.context));
    assert_done(cuProfilerStart());
    assert_done(cuProfilerStop());
    assert_result(SP_CU_NOT_SUPPORTED, cuFlushGPUDirectRDMAWrites(0, 100));
    assert_done(cuCtxDestroy(other));
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxGetId(other, &first));
}

static void streams_keep_priorities_and_attributes(void **state)
{
    sp_cu_stream low, high = NULL, other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    union sp_cu_launch_value value = {.number = 9}, found;
    int least, greatest, priority = 1;
    sp_cu_device device = -1;

    (void)state;
    assert_done(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 0);
    assert_true(greatest < least);
    assert_done(cuStreamCreateWithPriority(&low, 0, least + 100));
    assert_done(cuStreamCreateWithPriority(&high, 0, greatest - 100));
    assert_done(cuStreamGetPriority(low, &priority));
    assert_int_equal(priority, least);
    assert_done(cuStreamGetPriority(high, &priority));
    assert_int_equal(priority, greatest);
    assert_done(cuStreamGetDevice(high, &device));
    assert_int_equal(device, 0);
    assert_done(cuStreamGetAttribute(high, SP_CU_LAUNCH_SYNCHRONIZATION_POLICY, &found));
    assert_int_equal(found.number, 1);
    assert_done(cuStreamSetAttribute(high, SP_CU_LAUNCH_SYNCHRONIZATION_POLICY, &value));
    assert_done(cuStreamCopyAttributes(other, high));
    assert_done(cuStreamGetAttribute(other, SP_CU_LAUNCH_SYNCHRONIZATION_POLICY, &found));
    assert_int_equal(found.number, 9);
    assert_done(cuStreamGetAttribute(other, SP_CU_LAUNCH_PRIORITY, &found));
    assert_int_equal(found.number, greatest);
    assert_done(cuStreamCopyAttributes(other, low));
    assert_done(cuStreamGetAttribute(other, SP_CU_LAUNCH_SYNCHRONIZATION_POLICY, &found));
    assert_int_equal(found.number, 1);
    assert_result(SP_CU_INVALID_VALUE, cuStreamSetAttribute(other, 99, &value));
    assert_result(SP_CU_INVALID_VALUE, cuStreamGetAttribute(other, 99, &found));
    assert_result(SP_CU_INVALID_VALUE,
                  cuStreamSetAttribute(other, SP_CU_LAUNCH_PRIORITY, &value));
}

/* ---- kernels ----------------------------------------------------------------------------- */

static size_t four_bytes_a_thread(int block_size)
{
    return (size_t)block_size * 40;
}

static void occupancy_is_that_of_the_device(void **state)
{
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    int n = -1, grid = 0, block = 0;

    (void)state;
    assert_done(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, 1024, 0));
    assert_int_equal(n, 2);
    assert_done(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, 32, 0));
    assert_int_equal(n, 32); /* blocks of a multiprocessor */
    assert_done(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, 33, 0));
    assert_int_equal(n, 32);
    assert_done(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, 128, 40960));
    assert_int_equal(n, 4); /* shared memory */
    assert_result(SP_CU_INVALID_VALUE,
                  cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, 0, 0));
    assert_done(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0));
    assert_int_equal(block, 1024);
    assert_int_equal(grid, 216);
    assert_done(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 100));
    assert_int_equal(block, 64); /* 32 blocks fill a multiprocessor; 21 of 96 do not. */
    assert_done(
        cuOccupancyMaxPotentialBlockSize(&grid, &block, add, four_bytes_a_thread, 0, 0));
    assert_int_equal(block, 1024);
}

static void attributes_of_kernels_are_kept(void **state)
{
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    int value = -9;

    (void)state;
    assert_done(cuFuncGetAttribute(&value, SP_CU_FUNCTION_MAX_THREADS_PER_BLOCK, add));
    assert_int_equal(value, 1024);
    assert_done(cuFuncGetAttribute(&value, SP_CU_FUNCTION_BINARY_VERSION, add));
    assert_int_equal(value, 80);
    assert_done(cuFuncSetAttribute(add, SP_CU_FUNCTION_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    assert_done(
        cuFuncGetAttribute(&value, SP_CU_FUNCTION_PREFERRED_SHARED_MEMORY_CARVEOUT, add));
    assert_int_equal(value, 50);
    assert_result(SP_CU_INVALID_VALUE, cuFuncSetAttribute(add, SP_CU_FUNCTION_NUM_REGS, 16));
    assert_result(
        SP_CU_INVALID_VALUE,
        cuFuncSetAttribute(add, SP_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, 166913));
    assert_result(SP_CU_INVALID_VALUE, cuFuncGetAttribute(&value, 99, add));
    assert_result(SP_CU_INVALID_HANDLE, cuFuncGetAttribute(&value, 0, NULL));
    assert_int_equal(value, 50);
    assert_done(cuFuncSetCacheConfig(add, SP_CU_CACHE_PREFER_SHARED));
    assert_result(SP_CU_INVALID_VALUE, cuFuncSetCacheConfig(add, -1));
}

/* ---- memory ------------------------------------------------------------------------------ */

static void pointers_of_devices_can_be_told_to_be_strict(void **state)
{
    sp_cu_ptr ptr;
    unsigned yes = 1, flags = 9;
    void *host, *plain = &yes;

    (void)state;
    assert_done(cuMemAlloc(&ptr, 4096));
    assert_done(cuPointerSetAttribute(&yes, SP_CU_POINTER_SYNC_MEMOPS, ptr));
    assert_result(SP_CU_INVALID_VALUE,
                  cuPointerSetAttribute(&yes, SP_CU_POINTER_IS_MANAGED, ptr));
    assert_result(SP_CU_INVALID_VALUE,
                  cuPointerSetAttribute(&yes, SP_CU_POINTER_SYNC_MEMOPS, (uintptr_t)plain));
    assert_done(cuMemHostAlloc(&host, 4096, SP_CU_HOST_ALLOC_PORTABLE));
    assert_done(cuMemHostGetFlags(&flags, (char *)host + 5));
    assert_int_equal(flags, SP_CU_HOST_ALLOC_PORTABLE);
    assert_result(SP_CU_INVALID_VALUE, cuMemHostGetFlags(&flags, plain));
}

static int range_attribute(int what, sp_cu_ptr ptr, size_t size)
{
    int value = -9;

    assert_done(cuMemRangeGetAttribute(&value, sizeof(value), what, ptr, size));
    return value;
}

static void advice_about_managed_memory_is_remembered(void **state)
{
    const struct sp_cu_location device_1 = {SP_CU_LOCATION_DEVICE, 1};
    size_t page = 4096, size = 4 * page;
    int readers[3];
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAllocManaged(&ptr, size, SP_CU_MEM_ATTACH_GLOBAL));
    assert_int_equal(range_attribute(SP_CU_RANGE_PREFERRED_LOCATION, ptr, size),
                     SP_CU_DEVICE_INVALID);
    assert_done(cuMemAdvise(ptr, size, SP_CU_ADVISE_SET_PREFERRED_LOCATION, device_1));
    assert_int_equal(range_attribute(SP_CU_RANGE_PREFERRED_LOCATION, ptr, size), 1);
    assert_int_equal(range_attribute(SP_CU_RANGE_PREFERRED_LOCATION_TYPE, ptr, size),
                     SP_CU_LOCATION_DEVICE);
    assert_done(
        cuMemAdvise_v1(ptr, page, SP_CU_ADVISE_SET_PREFERRED_LOCATION, SP_CU_DEVICE_CPU));
    assert_int_equal(range_attribute(SP_CU_RANGE_PREFERRED_LOCATION, ptr, page),
                     SP_CU_DEVICE_CPU);
    assert_int_equal(range_attribute(SP_CU_RANGE_PREFERRED_LOCATION, ptr + page, page), 1);
    assert_int_equal(range_attribute(SP_CU_RANGE_PREFERRED_LOCATION, ptr, size),
                     SP_CU_DEVICE_INVALID);
    assert_done(cuMemAdvise_v1(ptr, page + 1, SP_CU_ADVISE_SET_READ_MOSTLY, 0));
    assert_int_equal(range_attribute(SP_CU_RANGE_READ_MOSTLY, ptr, 2 * page), 1);
    assert_int_equal(range_attribute(SP_CU_RANGE_READ_MOSTLY, ptr, size), 0);
    assert_done(cuMemAdvise_v1(ptr, size, SP_CU_ADVISE_SET_ACCESSED_BY, 1));
    assert_done(cuMemAdvise_v1(ptr, size, SP_CU_ADVISE_SET_ACCESSED_BY, SP_CU_DEVICE_CPU));
    assert_done(
        cuMemRangeGetAttribute(readers, sizeof(readers), SP_CU_RANGE_ACCESSED_BY, ptr, size));
    assert_int_equal(readers[0], SP_CU_DEVICE_CPU);
    assert_int_equal(readers[1], 1);
    assert_int_equal(readers[2], SP_CU_DEVICE_INVALID);

    assert_done(cuMemFree(ptr));
    assert_done(cuMemAllocManaged(&ptr, size, SP_CU_MEM_ATTACH_GLOBAL));
    assert_int_equal(range_attribute(SP_CU_RANGE_READ_MOSTLY, ptr, page), 0);
}

static void prefetches_are_operations_of_a_stream(void **state)
{
    const struct sp_cu_location device_1 = {SP_CU_LOCATION_DEVICE, 1};
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    int location, node, *values[] = {&location, &node};
    int attributes[] = {SP_CU_RANGE_LAST_PREFETCH_LOCATION,
                        SP_CU_RANGE_LAST_PREFETCH_LOCATION_ID};
    size_t sizes[] = {sizeof(int), sizeof(int)};
    sp_cu_ptr ptr, plain;
    sp_cu_graph graph;

    (void)state;
    assert_done(cuMemAllocManaged(&ptr, 8192, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(cuMemAlloc(&plain, 8192));
    sp_test_hold(stream);
    assert_done(cuMemPrefetchAsync(ptr, 8192, device_1, 0, stream));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuMemRangeGetAttributes((void **)values, sizes, attributes, 2, ptr, 8192));
    assert_int_equal(location, 1);
    assert_int_equal(node, 1);
    assert_done(cuMemPrefetchAsync_v1(ptr, 8192, SP_CU_DEVICE_CPU, stream));
    assert_int_equal(range_attribute(SP_CU_RANGE_LAST_PREFETCH_LOCATION, ptr, 1),
                     SP_CU_DEVICE_CPU);
    assert_result(SP_CU_INVALID_DEVICE, cuMemPrefetchAsync_v1(ptr, 8192, 2, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemPrefetchAsync_v1(plain, 8192, 0, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemPrefetchAsync_v1(ptr, 1 << 20, 0, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemPrefetchAsync(ptr, 8192, device_1, 1, stream));
    sp_test_begin(stream);
    assert_result(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
                  cuMemPrefetchAsync_v1(ptr, 8192, 0, stream));
    assert_result(SP_CU_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

/* ---- values ------------------------------------------------------------------------------ */

static void wide_values_are_awaited_and_written(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    uint64_t *cells;

    (void)state;
    assert_done(cuMemHostAlloc((void **)&cells, 4 * sizeof(*cells), 0));
    memset(cells, 0, 4 * sizeof(*cells));
    assert_done(
        cuStreamWaitValue64(stream, (uintptr_t)cells, (uint64_t)1 << 40, SP_CU_WAIT_VALUE_GEQ));
    assert_done(cuStreamWriteValue64(stream, (uintptr_t)(cells + 1), UINT64_MAX, 0));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    assert_done(cuStreamWriteValue64(other, (uintptr_t)cells, (uint64_t)1 << 40, 0));
    assert_done(cuStreamSynchronize(other));
    assert_done(cuStreamSynchronize(stream));
    assert_true(cells[1] == UINT64_MAX);
    assert_result(SP_CU_INVALID_VALUE,
                  cuStreamWriteValue64(stream, (uintptr_t)cells + 4, 1, 0));
    assert_result(SP_CU_INVALID_VALUE, cuStreamWriteValue64(stream, (uintptr_t)cells, 1, 1));
    assert_result(SP_CU_INVALID_VALUE, cuStreamWaitValue64(stream, (uintptr_t)cells, 1, 4));
}

static void lists_of_values_are_done_in_order_or_not_at_all(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    uint64_t *cells;
    union sp_cu_mem_op ops[4] = {
        {.value = {.operation = SP_CU_MEM_OP_WRITE_VALUE_32, .narrow = 5}},
        {.value = {.operation = SP_CU_MEM_OP_WAIT_VALUE_32,
                   .narrow = 5,
                   .flags = SP_CU_WAIT_VALUE_EQ}},
        {.barrier = {.operation = SP_CU_MEM_OP_BARRIER}},
        {.value = {.operation = SP_CU_MEM_OP_WRITE_VALUE_64, .wide = (uint64_t)6 << 40}},
    };

    (void)state;
    assert_done(cuMemHostAlloc((void **)&cells, 2 * sizeof(*cells), 0));
    memset(cells, 0, 2 * sizeof(*cells));
    ops[0].value.address = ops[1].value.address = (uintptr_t)cells;
    ops[3].value.address = (uintptr_t)(cells + 1);
    assert_done(cuStreamBatchMemOp(stream, 4, ops, 0));
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(cells[0], 5);
    assert_true(cells[1] == (uint64_t)6 << 40);
    cells[0] = 0;
    ops[3].value.address++;
    assert_result(SP_CU_INVALID_VALUE, cuStreamBatchMemOp(stream, 4, ops, 0));
    ops[3].value.operation = SP_CU_MEM_OP_FLUSH_REMOTE_WRITES;
    assert_result(SP_CU_NOT_SUPPORTED, cuStreamBatchMemOp(stream, 4, ops, 0));
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(cells[0], 0);
}

static void captured_values_are_wide_too(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph;
    sp_cu_exec exec;
    uint64_t *cells;

    (void)state;
    assert_done(cuMemHostAlloc((void **)&cells, 2 * sizeof(*cells), 0));
    memset(cells, 0, 2 * sizeof(*cells));
    sp_test_begin(stream);
    assert_done(
        cuStreamWaitValue64(stream, (uintptr_t)cells, (uint64_t)3 << 33, SP_CU_WAIT_VALUE_EQ));
    assert_done(cuStreamWriteValue64(stream, (uintptr_t)(cells + 1), (uint64_t)4 << 33, 0));
    graph = sp_test_end(stream);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(cells, (uint64_t)3 << 33, __ATOMIC_RELEASE);
    assert_done(cuStreamSynchronize(stream));
    assert_true(cells[1] == (uint64_t)4 << 33);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(every_attribute_is_answered_and_fits_the_others),
        SP_TEST_BOTH(properties_are_the_attributes),
        SP_TEST_BOTH(devices_are_found_by_where_they_are),
        SP_TEST_BOTH(peers_are_what_the_configuration_says),
        SP_TEST_BOTH(contexts_tell_what_they_are_and_keep_what_they_are_told),
        SP_TEST_BOTH(streams_keep_priorities_and_attributes),
        SP_TEST_BOTH(occupancy_is_that_of_the_device),
        SP_TEST_BOTH(attributes_of_kernels_are_kept),
        SP_TEST_BOTH(pointers_of_devices_can_be_told_to_be_strict),
        SP_TEST_BOTH(advice_about_managed_memory_is_remembered),
        SP_TEST_BOTH(prefetches_are_operations_of_a_stream),
        SP_TEST_BOTH(wide_values_are_awaited_and_written),
        SP_TEST_BOTH(lists_of_values_are_done_in_order_or_not_at_all),
        SP_TEST_BOTH(captured_values_are_wide_too),
    };

    sp_test_kernels();
    return cmocka_run_group_tests_name("model_queries", tests, NULL, NULL);
}
