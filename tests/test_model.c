/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's core: streams that execute, events, plain memory and copies, contexts, faults on
 * demand, processes. What holds in both ways of executing is tested in both. */
#include "config.h"

#include "tests/model_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

/* What the model has that nobody configures. */
#define N_DEVICES 3

/* ---- initialisation ------------------------------------------------------------------ */

static void nothing_works_before_init(void **state)
{
    int count = -1;
    const char *name = NULL;

    (void)state;
    sp_test_model_configure(1, STARPOOL_MODEL_THREADS);
    assert_result(SP_CU_NOT_INITIALIZED, cuDeviceGetCount(&count));
    assert_int_equal(count, -1);
    assert_result(SP_CU_NOT_INITIALIZED, cuCtxSynchronize());
    assert_done(cuDriverGetVersion(&count));
    assert_int_equal(count, 13000);
    assert_done(cuGetErrorName(SP_CU_OUT_OF_MEMORY, &name));
    assert_string_equal(name, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_result(SP_CU_INVALID_VALUE, cuGetErrorName(12345, &name));
    assert_null(name);
    assert_result(SP_CU_INVALID_VALUE, cuInit(1));
}

static void without_devices_init_says_so(void **state)
{
    (void)state;
    sp_test_model_configure(0, STARPOOL_MODEL_THREADS);
    assert_result(SP_CU_NO_DEVICE, cuInit(0));
}

static void assert_visible(unsigned expected, const char *text)
{
    struct starpool_model_config config;

    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", text, 1), 0);
    starpool_model_config_init(&config);
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    assert_int_equal(config.n_devices, expected);
    starpool_model_config_init(&config);
    assert_int_equal(config.n_devices, N_DEVICES);
}

/* A list counts up to the first entry that is no device's ordinal. */
static void devices_that_are_not_visible_are_not_there(void **state)
{
    (void)state;
    assert_visible(0, "");
    assert_visible(0, "-1");
    assert_visible(0, "3,0");
    assert_visible(0, "zero");
    assert_visible(1, "1");
    assert_visible(2, "2,0");
    assert_visible(1, "2,-1,1");
    assert_visible(2, "0,1,");
    assert_visible(3, "2,1,0");
    assert_visible(0, "0,1,0");
}

static void configuring_is_refused_once_the_model_is_in_use(void **state)
{
    struct starpool_model_config config;

    (void)state;
    starpool_model_config_init(&config);
    config.n_devices = SP_MODEL_MAX_DEVICES + 1;
    assert_status(STARPOOL_EINVAL, starpool_model_configure(&config));
    assert_status(STARPOOL_EINVAL, starpool_model_configure(NULL));
    config.n_devices = 1;
    assert_status(STARPOOL_EBUSY, starpool_model_configure(&config));
    sp_test_model_configure(1, STARPOOL_MODEL_THREADS);
    assert_true(sp_model_is_chosen());
    sp_model_seal();
    assert_status(STARPOOL_EBUSY, starpool_model_configure(&config));
}

static void devices_are_described(void **state)
{
    char text[32];
    int value;
    size_t bytes;
    struct sp_cu_uuid first, second;

    (void)state;
    assert_done(cuDeviceGetCount(&value));
    assert_int_equal(value, 2);
    assert_done(cuDeviceGetName(text, sizeof(text), 1));
    assert_string_equal(text, "starpool simulated");
    assert_done(cuDeviceGetPCIBusId(text, sizeof(text), 1));
    assert_string_equal(text, "0000:f1:00.0");
    assert_done(cuDeviceTotalMem(&bytes, 0));
    assert_int_equal(bytes, 64 * SP_TEST_SIZE);
    assert_done(cuDeviceGetUuid(&first, 0));
    assert_done(cuDeviceGetUuid(&second, 1));
    assert_memory_not_equal(&first, &second, sizeof(first));
    assert_done(cuDeviceGetAttribute(&value, SP_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR, 0));
    assert_int_equal(value, 8);
    assert_done(cuDeviceGetAttribute(&value, SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    assert_int_equal(value, SP_CU_HANDLE_POSIX_FD);
    assert_ok(starpool_model_set_switch("imex", "channel=3"));
    assert_done(cuDeviceGetAttribute(&value, SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    assert_int_equal(value, SP_CU_HANDLE_POSIX_FD | SP_CU_HANDLE_FABRIC);
    assert_int_equal(sp_model_imex_channel(), 3);
    assert_result(SP_CU_INVALID_VALUE, cuDeviceGetAttribute(&value, 100000, 0));
    assert_result(SP_CU_INVALID_DEVICE, cuDeviceGet(&value, 2));
    assert_done(cuDeviceCanAccessPeer(&value, 0, 1));
    assert_int_equal(value, 1);
    assert_done(cuDeviceCanAccessPeer(&value, 1, 1));
    assert_int_equal(value, 0);
}

/* ---- streams ------------------------------------------------------------------------- */

static void a_held_stream_does_not_hold_the_host(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_hold(stream);
    assert_done(cuMemsetD8Async(ptr, 7, SP_TEST_SIZE, stream));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    assert_int_not_equal(*sp_test_bytes(ptr), 7);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(sp_test_bytes(ptr)[SP_TEST_SIZE - 1], 7);
    assert_done(cuStreamQuery(stream));
}

static void streams_carry_out_their_operations_in_order(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    unsigned char out[64];
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_hold(stream);
    for (unsigned i = 0; i < 64; i++)
        assert_done(cuMemsetD8Async(ptr + i, (unsigned char)i, SP_TEST_SIZE - i, stream));
    sp_test_release();
    assert_done(cuMemcpyDtoHAsync(out, ptr, sizeof(out), stream));
    assert_done(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(out[i], i);
}

static void an_event_orders_two_streams(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuEventQuery(event)); /* Never recorded: over. */
    sp_test_hold(first);
    assert_done(cuMemsetD8Async(ptr, 1, SP_TEST_SIZE, first));
    assert_done(cuEventRecord(event, first));
    assert_done(cuStreamWaitEvent(second, event, 0));
    assert_done(cuMemsetD8Async(ptr, 2, SP_TEST_SIZE, second));
    assert_result(SP_CU_NOT_READY, cuEventQuery(event));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(second));
    sp_test_release();
    assert_done(cuEventSynchronize(event));
    assert_done(cuStreamSynchronize(second));
    assert_int_equal(*sp_test_bytes(ptr), 2);
}

static void a_wait_means_the_event_as_it_was_at_the_call(void **state)
{
    sp_cu_stream held = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream idle = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream waiting = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();

    (void)state;
    sp_test_hold(held);
    assert_done(cuEventRecord(event, held));
    assert_done(cuStreamWaitEvent(waiting, event, 0));
    assert_done(cuEventRecord(event, idle));
    assert_done(cuEventSynchronize(event));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(waiting));
    assert_done(cuEventDestroy(event));
    assert_result(SP_CU_INVALID_HANDLE, cuEventQuery(event));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(waiting));
    sp_test_release();
    assert_done(cuStreamSynchronize(waiting));
}

static void the_legacy_stream_waits_for_blocking_streams_and_they_for_it(void **state)
{
    sp_cu_stream blocking = sp_test_stream(SP_CU_STREAM_DEFAULT);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_DEFAULT);
    sp_cu_stream apart = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_hold(blocking);
    assert_done(cuMemsetD8Async(ptr, 1, SP_TEST_SIZE, NULL));
    assert_done(cuMemsetD8Async(ptr, 2, 1, other));
    assert_done(cuMemsetD8Async(ptr + 1, 3, 1, apart));
    assert_done(cuStreamSynchronize(apart));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(NULL));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(other));
    sp_test_release();
    assert_done(cuStreamSynchronize(other));
    assert_int_equal(*sp_test_bytes(ptr), 2);
    assert_int_equal(sp_test_bytes(ptr)[2], 1);
    assert_done(cuStreamSynchronize(NULL));
}

static void the_legacy_stream_is_idle_only_when_blocking_streams_are(void **state)
{
    sp_cu_stream blocking = sp_test_stream(SP_CU_STREAM_DEFAULT);

    (void)state;
    assert_done(cuStreamQuery(SP_CU_STREAM_LEGACY));
    sp_test_hold(blocking);
    assert_result(SP_CU_NOT_READY, cuStreamQuery(SP_CU_STREAM_LEGACY));
    sp_test_release();
    assert_done(cuStreamSynchronize(SP_CU_STREAM_LEGACY));
    assert_done(cuStreamQuery(blocking));
}

static void a_destroyed_stream_finishes_its_work(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_DEFAULT), again;
    unsigned long long id, new_id;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuStreamGetId(stream, &id));
    sp_test_hold(stream);
    assert_done(cuMemsetD8Async(ptr, 9, SP_TEST_SIZE, stream));
    assert_done(cuStreamDestroy(stream));
    assert_result(SP_CU_INVALID_HANDLE, cuStreamQuery(stream));
    assert_result(SP_CU_INVALID_HANDLE, cuStreamDestroy(stream));
    again = sp_test_stream(SP_CU_STREAM_DEFAULT);
    assert_ptr_equal(again, stream); /* The handle comes back, and is another stream. */
    assert_done(cuStreamGetId(again, &new_id));
    assert_int_not_equal(id, new_id);
    assert_done(cuStreamQuery(again));
    sp_test_release();
    assert_done(cuCtxSynchronize());
    assert_int_equal(*sp_test_bytes(ptr), 9);
}

static void what_is_no_stream_is_refused(void **state)
{
    unsigned long long id;
    sp_cu_stream stream;
    int local;

    (void)state;
    assert_result(SP_CU_INVALID_HANDLE, cuStreamQuery((sp_cu_stream)&local));
    assert_result(SP_CU_INVALID_HANDLE, cuStreamDestroy(NULL));
    assert_result(SP_CU_INVALID_VALUE, cuStreamCreate(&stream, 2));
    assert_result(SP_CU_INVALID_VALUE, cuStreamCreate(NULL, 0));
    assert_done(cuCtxSetCurrent(NULL));
    assert_result(SP_CU_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
    assert_result(SP_CU_INVALID_CONTEXT, cuStreamGetId(NULL, &id));
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxSynchronize());
}

static void *get_own_id(void *arg)
{
    unsigned long long *id = arg;

    if (sp_model.driver->cuCtxSetCurrent(sp_model.context) != SP_CU_SUCCESS ||
        sp_model.driver->cuStreamGetId(SP_CU_STREAM_PER_THREAD, id) != SP_CU_SUCCESS)
        *id = 0;
    return NULL;
}

static void each_thread_has_a_default_stream_of_its_own(void **state)
{
    unsigned long long mine, again, others[2];
    pthread_t thread;

    (void)state;
    assert_done(cuStreamGetId(SP_CU_STREAM_PER_THREAD, &mine));
    assert_done(cuStreamGetId(SP_CU_STREAM_PER_THREAD, &again));
    assert_int_equal(mine, again);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, get_own_id, &others[i]);
        pthread_join(thread, NULL);
        assert_int_not_equal(others[i], 0);
    }
    assert_int_not_equal(mine, others[0]);
    assert_int_not_equal(others[0], others[1]);
}

static void values_in_memory_are_waited_for_and_written(void **state)
{
    static const struct {
        unsigned flags;
        uint32_t wanted, no, yes;
    } cases[] = {
        {SP_CU_WAIT_VALUE_GEQ, 5, 4, 6},
        {SP_CU_WAIT_VALUE_GEQ, 0, UINT32_MAX, 1},
        {SP_CU_WAIT_VALUE_EQ, 5, 6, 5},
        {SP_CU_WAIT_VALUE_AND, 6, 8, 4},
        {SP_CU_WAIT_VALUE_NOR, 1, UINT32_MAX - 1, 0},
    };
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream writer = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr address = (uintptr_t)sp_model.flag;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++) {
        assert_done(cuStreamWriteValue32(writer, address, cases[i].no, 0));
        assert_done(cuStreamSynchronize(writer));
        assert_done(cuStreamWaitValue32(stream, address, cases[i].wanted, cases[i].flags));
        assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
        assert_done(cuStreamWriteValue32(writer, address, cases[i].yes, 0));
        assert_done(cuStreamSynchronize(stream));
    }
    assert_result(SP_CU_INVALID_VALUE, cuStreamWaitValue32(stream, address + 1, 0, 0));
    assert_result(SP_CU_INVALID_VALUE, cuStreamWaitValue32(stream, address, 0, 4));
    assert_result(SP_CU_INVALID_VALUE, cuStreamWriteValue32(stream, 0, 0, 0));
}

/* ---- host functions ------------------------------------------------------------------ */

struct seen {
    sp_cu_result inner; /* of a call from within */
    sp_cu_result status;
    const char *name;
    unsigned n_calls;
};

static void call_the_model(void *arg)
{
    struct seen *seen = arg;

    seen->inner = sp_model.driver->cuCtxSynchronize();
    seen->n_calls++;
}

static void note_status(sp_cu_stream stream, sp_cu_result status, void *arg)
{
    struct seen *seen = arg;

    (void)stream;
    seen->status = status;
    /* A callback prints its status: names may be asked for. */
    if (sp_model.driver->cuGetErrorName(status, &seen->name) != SP_CU_SUCCESS)
        seen->name = "";
    seen->n_calls++;
}

static void host_functions_run_in_order_and_may_not_call_the_driver(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct seen seen = {.status = -1};

    (void)state;
    sp_test_hold(stream);
    assert_done(cuLaunchHostFunc(stream, call_the_model, &seen));
    assert_done(cuStreamAddCallback(stream, note_status, &seen, 0));
    assert_int_equal(seen.n_calls, 0);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(seen.n_calls, 2);
    assert_int_equal(seen.inner, SP_CU_NOT_PERMITTED);
    assert_int_equal(seen.status, SP_CU_SUCCESS);
    assert_string_equal(seen.name, "CUDA_SUCCESS");
    assert_result(SP_CU_INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
}

/* ---- memory -------------------------------------------------------------------------- */

static void memory_is_counted_and_given_back(void **state)
{
    sp_cu_ptr first, second = 0;
    size_t before = sp_test_free_bytes();

    (void)state;
    assert_done(cuMemAlloc(&first, 40 * SP_TEST_SIZE));
    assert_int_equal(sp_test_free_bytes(), before - 40 * SP_TEST_SIZE);
    assert_result(SP_CU_OUT_OF_MEMORY, cuMemAlloc(&second, 40 * SP_TEST_SIZE));
    assert_result(SP_CU_OUT_OF_MEMORY, cuMemAlloc(&second, SIZE_MAX));
    assert_result(SP_CU_INVALID_VALUE, cuMemAlloc(&second, 0));
    assert_int_equal(second, 0);
    assert_result(SP_CU_INVALID_VALUE, cuMemFree(first + 4096));
    assert_done(cuMemFree(first));
    assert_result(SP_CU_INVALID_VALUE, cuMemFree(first));
    assert_done(cuMemFree(0));
    assert_int_equal(sp_test_free_bytes(), before);
    assert_done(cuMemAlloc(&second, 40 * SP_TEST_SIZE));
    assert_int_equal(second, first); /* Addresses are used again from the lowest. */
}

static void a_free_waits_for_the_context(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    char *pinned;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuMemAllocHost((void **)&pinned, SP_TEST_SIZE));
    assert_done(cuMemsetD8Async(ptr, 3, SP_TEST_SIZE, stream));
    assert_done(cuMemcpyDtoHAsync(pinned, ptr, SP_TEST_SIZE, stream));
    assert_done(cuMemFree(ptr));
    assert_done(cuStreamQuery(stream));
    assert_int_equal(pinned[SP_TEST_SIZE - 1], 3);
    assert_done(cuMemFreeHost(pinned));
    assert_result(SP_CU_INVALID_VALUE, cuMemFreeHost(pinned));
}

static void address_ranges_and_host_addresses_are_found(void **state)
{
    sp_cu_ptr ptr, base, device;
    size_t size;

    (void)state;
    assert_done(cuMemAlloc(&ptr, 1000));
    assert_done(cuMemGetAddressRange(&base, &size, ptr + 999));
    assert_int_equal(base, ptr);
    assert_int_equal(size, 1000);
    assert_result(SP_CU_NOT_FOUND, cuMemGetAddressRange(&base, &size, ptr - 1));
    assert_done(cuMemHostGetDevicePointer(&device, sp_model.flag, 0));
    assert_int_equal(device, (uintptr_t)sp_model.flag);
    assert_result(SP_CU_INVALID_VALUE, cuMemHostGetDevicePointer(&device, &size, 0));
    assert_done(cuMemAllocManaged(&ptr, 1000, SP_CU_MEM_ATTACH_GLOBAL));
    *(char *)ptr = 1;
    assert_done(cuMemFree(ptr));
}

/* ---- contexts ------------------------------------------------------------------------ */

static void contexts_are_a_stack_in_each_thread(void **state)
{
    sp_cu_context second, found;
    int device = -1;

    (void)state;
    assert_done(cuCtxCreate(&second, 0, 1));
    assert_done(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    assert_done(cuCtxPopCurrent(&found));
    assert_ptr_equal(found, second);
    assert_done(cuCtxGetCurrent(&found));
    assert_ptr_equal(found, sp_model.context);
    assert_done(cuCtxPushCurrent(second));
    assert_done(cuCtxDestroy(second));
    assert_done(cuCtxGetCurrent(&found));
    assert_ptr_equal(found, sp_model.context);
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxDestroy(second));
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxSetCurrent(second));
    assert_done(cuCtxPopCurrent(NULL));
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxPopCurrent(NULL));
}

static void a_context_takes_its_streams_events_and_memory_along(void **state)
{
    sp_cu_context second;
    sp_cu_stream stream;
    sp_cu_event event;
    sp_cu_ptr ptr;
    size_t before = sp_test_free_bytes();

    (void)state;
    assert_done(cuCtxCreate(&second, 0, 0));
    stream = sp_test_stream(SP_CU_STREAM_DEFAULT);
    event = sp_test_event();
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuMemsetD8Async(ptr, 1, SP_TEST_SIZE, stream));
    assert_done(cuEventRecord(event, stream));
    assert_done(cuCtxDestroy(second));
    assert_result(SP_CU_INVALID_HANDLE, cuStreamQuery(stream));
    assert_result(SP_CU_INVALID_HANDLE, cuEventQuery(event));
    assert_result(SP_CU_INVALID_VALUE, cuMemFree(ptr));
    assert_int_equal(sp_test_free_bytes(), before);
}

static void a_primary_context_lives_as_long_as_it_is_retained(void **state)
{
    sp_cu_context first, second;
    unsigned flags;
    int is_active;

    (void)state;
    assert_done(cuDevicePrimaryCtxGetState(1, &flags, &is_active));
    assert_int_equal(is_active, 0);
    assert_result(SP_CU_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));
    assert_done(cuDevicePrimaryCtxRetain(&first, 1));
    assert_done(cuDevicePrimaryCtxRetain(&second, 1));
    assert_ptr_equal(first, second);
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxDestroy(first));
    assert_done(cuDevicePrimaryCtxRelease(1));
    assert_done(cuCtxSetCurrent(first));
    assert_done(cuDevicePrimaryCtxRelease(1));
    assert_result(SP_CU_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    assert_result(SP_CU_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&first, 2));
}

static void a_reset_drops_memory_streams_and_peers(void **state)
{
    sp_cu_context primary, peer;
    unsigned long long id, new_id;
    sp_cu_stream stream;
    size_t before;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuDevicePrimaryCtxRetain(&primary, 0));
    assert_done(cuDevicePrimaryCtxRetain(&peer, 1));
    assert_done(cuCtxSetCurrent(primary));
    before = sp_test_free_bytes();
    stream = sp_test_stream(SP_CU_STREAM_DEFAULT);
    assert_done(cuMemsetD8Async((uintptr_t)sp_model.flag, 0, 4, SP_CU_STREAM_PER_THREAD));
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuCtxEnablePeerAccess(peer, 0));
    assert_result(SP_CU_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(peer, 0));
    assert_done(cuStreamGetId(SP_CU_STREAM_PER_THREAD, &id));
    assert_done(cuDevicePrimaryCtxReset(0));
    assert_int_equal(sp_test_free_bytes(), before);
    assert_result(SP_CU_INVALID_HANDLE, cuStreamQuery(stream));
    assert_done(cuStreamGetId(SP_CU_STREAM_PER_THREAD, &new_id));
    assert_int_not_equal(id, new_id);
    assert_result(SP_CU_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(peer));
    assert_done(cuCtxEnablePeerAccess(peer, 0));
}

/* ---- the list ------------------------------------------------------------------------ */

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(nothing_works_before_init),
        SP_TEST_BOTH(without_devices_init_says_so),
        SP_TEST_BOTH(devices_that_are_not_visible_are_not_there),
        SP_TEST_BOTH(configuring_is_refused_once_the_model_is_in_use),
        SP_TEST_BOTH(devices_are_described),
        SP_TEST_BOTH(a_held_stream_does_not_hold_the_host),
        SP_TEST_BOTH(streams_carry_out_their_operations_in_order),
        SP_TEST_BOTH(an_event_orders_two_streams),
        SP_TEST_BOTH(a_wait_means_the_event_as_it_was_at_the_call),
        SP_TEST_BOTH(the_legacy_stream_waits_for_blocking_streams_and_they_for_it),
        SP_TEST_BOTH(the_legacy_stream_is_idle_only_when_blocking_streams_are),
        SP_TEST_BOTH(a_destroyed_stream_finishes_its_work),
        SP_TEST_BOTH(what_is_no_stream_is_refused),
        SP_TEST_BOTH(each_thread_has_a_default_stream_of_its_own),
        SP_TEST_BOTH(values_in_memory_are_waited_for_and_written),
        SP_TEST_BOTH(host_functions_run_in_order_and_may_not_call_the_driver),
        SP_TEST_BOTH(memory_is_counted_and_given_back),
        SP_TEST_BOTH(a_free_waits_for_the_context),
        SP_TEST_BOTH(address_ranges_and_host_addresses_are_found),
        SP_TEST_BOTH(contexts_are_a_stack_in_each_thread),
        SP_TEST_BOTH(a_context_takes_its_streams_events_and_memory_along),
        SP_TEST_BOTH(a_primary_context_lives_as_long_as_it_is_retained),
        SP_TEST_BOTH(a_reset_drops_memory_streams_and_peers),
    };

    if (unsetenv("CUDA_VISIBLE_DEVICES") != 0 || setenv("STARPOOL_MODEL_DEVICES", "3", 1) != 0)
        return 1;
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
