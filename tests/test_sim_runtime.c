/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated CUDA runtime where it is more than the driver under other names: structures of
 * each version, the device and the last error of a thread, contexts that nobody has to make,
 * kinds of copies, and twins. Its pools, captures and graphs are in conformance_sim_cudart.c.
 */
#include "config.h"

#include "tests/sim_runtime_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)

/* Call `act` in a thread of its own, and return what it answers. */
static int in_thread(void *(*act)(void *arg), void *arg)
{
    pthread_t thread;
    void *answer;

    assert_int_equal(pthread_create(&thread, NULL, act, arg), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    return (int)(intptr_t)answer;
}

static bool has_context(int device)
{
    unsigned flags;
    int is_active = 0;

    assert_int_equal(sp_model_driver()->cuDevicePrimaryCtxGetState(device, &flags, &is_active),
                     0);
    return is_active;
}

/* ---- errors -------------------------------------------------------------------------- */

static void the_last_error_stays_until_it_is_asked_for(void **state)
{
    void *ptr = &ptr;

    (void)state;
    assert_rt(SP_CU_OUT_OF_MEMORY, rt.cudaMalloc(&ptr, (size_t)1 << 40));
    assert_ptr_equal(ptr, &ptr);
    assert_rt(SP_CU_OUT_OF_MEMORY, rt.cudaPeekAtLastError());
    assert_done(rt.cudaDeviceSynchronize());
    assert_rt(SP_CU_OUT_OF_MEMORY, rt.cudaPeekAtLastError());
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaSetDevice(7));
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaGetLastError());
    assert_done(rt.cudaGetLastError());
    assert_done(rt.cudaPeekAtLastError());
}

static void what_is_not_over_yet_is_no_last_error(void **state)
{
    sp_cu_stream stream;
    sp_cu_event event;
    int by_stream, by_event;

    (void)state;
    assert_done(rt.cudaStreamCreateWithFlags(&stream, SP_CU_STREAM_NON_BLOCKING));
    assert_done(rt.cudaEventCreate(&event));
    sim_close_gate(stream);
    assert_done(rt.cudaEventRecord(event, stream));
    by_stream = rt.cudaStreamQuery(stream);
    by_event = rt.cudaEventQuery(event);
    sim_open_gate();
    assert_rt(SP_CU_NOT_READY, by_stream);
    assert_rt(SP_CU_NOT_READY, by_event);
    assert_done(rt.cudaPeekAtLastError());
    assert_done(rt.cudaStreamSynchronize(stream));
    assert_done(rt.cudaEventQuery(event));
    assert_done(rt.cudaEventDestroy(event));
    assert_done(rt.cudaStreamDestroy(stream));
}

static void *fail_here(void *arg)
{
    (void)arg;
    (void)rt.cudaSetDevice(9);
    return (void *)(intptr_t)rt.cudaPeekAtLastError();
}

static void the_last_error_is_a_threads_own(void **state)
{
    (void)state;
    assert_int_equal(in_thread(fail_here, NULL), SP_CU_INVALID_DEVICE);
    assert_done(rt.cudaPeekAtLastError());
}

static void every_error_has_a_name_and_a_text(void **state)
{
    static const int numbers[] = {
#define X(name, number, text) number,
#include "src/sim/runtime_errors.def"
#undef X
    };
    const char *(*name_of)(int error), *(*text_of)(int error);

    (void)state;
    sim_find(rt.handle, "cudaGetErrorName", &name_of);
    sim_find(rt.handle, "cudaGetErrorString", &text_of);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_int_equal(strncmp(name_of(numbers[i]), "cuda", 4), 0);
        assert_true(strlen(text_of(numbers[i])) > 0);
    }
    assert_string_equal(name_of(0), "cudaSuccess");
    assert_string_equal(name_of(2), "cudaErrorMemoryAllocation");
    assert_string_equal(name_of(901), "cudaErrorStreamCaptureInvalidated");
    assert_string_equal(text_of(0), "no error");
    assert_string_equal(name_of(12345), "unrecognized error code");
}

/* Every result of the driver that the model gives has a name here, too: the numbers are the
 * same. */
static void the_drivers_results_are_errors_of_the_same_number(void **state)
{
    static const int numbers[] = {
#define X(name, number) number,
        SP_CU_RESULT_MAP(X)
#undef X
    };
    const char *(*name_of)(int error);

    (void)state;
    sim_find(rt.handle, "cudaGetErrorName", &name_of);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        assert_string_not_equal(name_of(numbers[i]), "unrecognized error code");
}

static void what_nobody_has_written_is_not_supported(void **state)
{
    int (*alloc_array)(void **array_out, const void *format, size_t width, size_t height,
                       unsigned flags);
    void *array = &array;

    (void)state;
    sim_find(rt.handle, "cudaMallocArray", &alloc_array);
    assert_rt(SP_CU_NOT_SUPPORTED, alloc_array(&array, NULL, 16, 16, 0));
    assert_ptr_equal(array, &array);
    assert_rt(SP_CU_NOT_SUPPORTED, rt.cudaGetLastError());
}

/* ---- contexts and devices ------------------------------------------------------------ */

static void a_context_is_made_when_it_is_needed(void **state)
{
    int (*set_device)(int device), (*release)(void *ptr);
    int n_devices = 0;

    (void)state;
    sim_find(sim_runtime_11, "cudaSetDevice", &set_device);
    sim_find(sim_runtime_11, "cudaFree", &release);
    assert_done(rt.cudaGetDeviceCount(&n_devices));
    assert_int_equal(n_devices, 2);
    assert_false(has_context(1));
    /* 11 waits for the first use, 13 does not. */
    assert_done(set_device(1));
    assert_false(has_context(1));
    assert_done(release(NULL));
    assert_true(has_context(1));
    assert_done(sim_setup(NULL));
    assert_done(rt.cudaSetDevice(1));
    assert_true(has_context(1));
}

static void *use_pools_first(void *arg)
{
    struct sp_cu_pool_props props = {
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .location = {SP_CU_LOCATION_DEVICE, 0},
    };
    sp_cu_pool pool;
    void *ptr;

    (void)arg;
    if (rt.cudaMemPoolCreate(&pool, &props) != SP_CU_SUCCESS ||
        rt.cudaMallocFromPoolAsync(&ptr, KIB, pool, NULL) != SP_CU_SUCCESS ||
        rt.cudaFreeAsync(ptr, NULL) != SP_CU_SUCCESS ||
        rt.cudaStreamSynchronize(NULL) != SP_CU_SUCCESS)
        return (void *)1;
    return (void *)(intptr_t)rt.cudaMemPoolDestroy(pool);
}

/* POOL-23 and ORDER-11, which are about the driver, end here. */
static void a_pool_and_its_stream_may_be_the_first_things_used(void **state)
{
    (void)state;
    sp_model_reset();
    assert_int_equal(in_thread(use_pools_first, NULL), 0);
}

static void *device_of_thread(void *arg)
{
    int device = -1;

    (void)arg;
    return (void *)(intptr_t)(rt.cudaGetDevice(&device) == SP_CU_SUCCESS ? device : -1);
}

static void the_device_is_a_threads_own(void **state)
{
    int device = -1;

    (void)state;
    assert_done(rt.cudaSetDevice(1));
    assert_int_equal(in_thread(device_of_thread, NULL), 0);
    assert_done(rt.cudaGetDevice(&device));
    assert_int_equal(device, 1);
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaSetDevice(2));
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaSetDevice(-1));
    assert_done(rt.cudaGetDevice(&device));
    assert_int_equal(device, 1);
}

static void a_context_that_the_program_has_made_current_is_used(void **state)
{
    const struct sp_driver *driver = sp_model_driver();
    sp_cu_context context, current;
    size_t before, after, total;
    int device = -1;
    void *ptr;

    (void)state;
    assert_int_equal(driver->cuCtxCreate(&context, 0, 1), 0);
    assert_done(rt.cudaGetDevice(&device));
    assert_int_equal(device, 1);
    assert_done(rt.cudaMemGetInfo(&before, &total));
    assert_done(rt.cudaMalloc(&ptr, 64 * KIB));
    assert_done(rt.cudaMemGetInfo(&after, &total));
    assert_true(after < before);
    assert_int_equal(driver->cuCtxGetCurrent(&current), 0);
    assert_ptr_equal(current, context);
    assert_int_equal(driver->cuCtxDestroy(context), 0);
    /* What was current before is so again. */
    assert_done(rt.cudaGetDevice(&device));
    assert_int_equal(device, 0);
}

static void a_reset_takes_memory_and_peers_away(void **state)
{
    size_t at_first, left, total;
    void *ptr;

    (void)state;
    assert_done(rt.cudaMemGetInfo(&at_first, &total));
    assert_done(rt.cudaMalloc(&ptr, 64 * KIB));
    assert_done(rt.cudaDeviceEnablePeerAccess(1, 0));
    assert_rt(SP_CU_PEER_ACCESS_ALREADY_ENABLED, rt.cudaDeviceEnablePeerAccess(1, 0));
    assert_done(rt.cudaDeviceReset());
    assert_done(rt.cudaMemGetInfo(&left, &total));
    assert_int_equal(left, at_first);
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaFree(ptr));
    assert_rt(SP_CU_PEER_ACCESS_NOT_ENABLED, rt.cudaDeviceDisablePeerAccess(1));
    assert_done(rt.cudaDeviceEnablePeerAccess(1, 0));
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaDeviceEnablePeerAccess(0, 0));
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaDeviceEnablePeerAccess(2, 0));
}

static void devices_are_found_by_where_they_are(void **state)
{
    char id[16] = "";
    int device = -1, can = -1;

    (void)state;
    assert_done(rt.cudaDeviceGetPCIBusId(id, sizeof(id), 1));
    assert_string_equal(id, "0000:f1:00.0");
    assert_done(rt.cudaDeviceGetByPCIBusId(&device, id));
    assert_int_equal(device, 1);
    assert_done(rt.cudaDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    assert_done(rt.cudaDeviceCanAccessPeer(&can, 1, 1));
    assert_int_equal(can, 0);
    assert_done(rt.cudaSetValidDevices((int[]){1, 0}, 2));
    assert_done(rt.cudaGetDevice(&device));
    assert_int_equal(device, 1);
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaSetValidDevices((int[]){5}, 1));
}

/* ---- memory -------------------------------------------------------------------------- */

/* INTER-05, which is about the driver, ends here. */
static void nothing_is_allocated_and_freed_with_success(void **state)
{
    void *ptr = &ptr, *host = &host;

    (void)state;
    assert_done(rt.cudaMalloc(&ptr, 0));
    assert_null(ptr);
    assert_done(rt.cudaFree(ptr));
    assert_done(rt.cudaMallocHost(&host, 0));
    assert_null(host);
    assert_done(rt.cudaFreeHost(host));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMalloc(NULL, KIB));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMallocManaged(&ptr, 0, SP_CU_MEM_ATTACH_GLOBAL));
}

static void pointers_tell_what_they_point_to(void **state)
{
    struct sp_rt_pointer found;
    void *host, *managed;
    char own;

    (void)state;
    assert_done(rt.cudaMallocHost(&host, KIB));
    assert_done(rt.cudaMallocManaged(&managed, KIB, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(rt.cudaPointerGetAttributes(&found, host));
    assert_int_equal(found.type, SP_RT_MEMORY_HOST);
    assert_ptr_equal(found.host_ptr, host);
    assert_done(rt.cudaPointerGetAttributes(&found, managed));
    assert_int_equal(found.type, SP_RT_MEMORY_MANAGED);
    assert_ptr_equal(found.device_ptr, managed);
    assert_done(rt.cudaPointerGetAttributes(&found, &own));
    assert_int_equal(found.type, SP_RT_MEMORY_UNREGISTERED);
    assert_ptr_equal(found.host_ptr, &own);
    assert_null(found.device_ptr);
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaPointerGetAttributes(NULL, host));
    assert_done(rt.cudaFreeHost(host));
    assert_done(rt.cudaFree(managed));
}

static void a_copy_of_the_wrong_kind_is_refused(void **state)
{
    void *device = sim_device_memory(KIB, 1), *other = sim_device_memory(KIB, 2);
    char host[KIB], more[KIB];

    (void)state;
    memset(host, 3, sizeof(host));
    memset(more, 4, sizeof(more));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemcpy(device, host, KIB, SP_RT_DEVICE_TO_HOST));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemcpy(host, device, KIB, SP_RT_HOST_TO_DEVICE));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemcpy(device, host, KIB, SP_RT_DEVICE_TO_DEVICE));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemcpy(device, other, KIB, SP_RT_HOST_TO_DEVICE));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemcpy(host, device, KIB, SP_RT_HOST_TO_HOST));
    assert_rt(SP_CU_INVALID_VALUE,
              rt.cudaMemcpyAsync(more, host, KIB, SP_RT_DEVICE_TO_DEVICE, NULL));
    assert_rt(SP_CU_INVALID_VALUE,
              rt.cudaMemcpy2D(host, 32, device, 32, 32, 32, SP_RT_HOST_TO_DEVICE));
    assert_rt(21, rt.cudaMemcpy(device, host, KIB, 5));
    assert_rt(21, rt.cudaMemcpy(device, host, KIB, -1));
    sim_assert_bytes(device, 1, KIB);
    sim_assert_bytes(other, 2, KIB);
    assert_int_equal(host[0], 3);
    assert_int_equal(more[KIB - 1], 4);
}

static void memory_that_both_sides_see_is_of_either_kind(void **state)
{
    void *device = sim_device_memory(KIB, 0), *host, *managed;

    (void)state;
    assert_done(rt.cudaMallocHost(&host, KIB));
    assert_done(rt.cudaMallocManaged(&managed, KIB, SP_CU_MEM_ATTACH_GLOBAL));
    memset(host, 5, KIB);
    assert_done(rt.cudaMemcpy(device, host, KIB, SP_RT_DEVICE_TO_DEVICE));
    assert_done(rt.cudaMemcpy(managed, device, KIB, SP_RT_DEVICE_TO_DEVICE));
    assert_done(rt.cudaMemcpy(managed, host, KIB, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaMemcpy(device, managed, KIB, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaMemcpy(managed, device, KIB, SP_RT_DEFAULT));
    sim_assert_bytes(device, 5, KIB);
    assert_done(rt.cudaFreeHost(host));
    assert_done(rt.cudaFree(managed));
}

/* ---- shapes -------------------------------------------------------------------------- */

static void rows_are_copied_between_pitches(void **state)
{
    char from[4][16], to[4][8];
    size_t pitch = 0;
    void *device;

    (void)state;
    for (int row = 0; row < 4; row++)
        memset(from[row], 'a' + row, sizeof(from[row]));
    memset(to, 0, sizeof(to));
    assert_done(rt.cudaMallocPitch(&device, &pitch, 6, 4));
    assert_true(pitch >= 6);
    assert_done(rt.cudaMemset2D(device, pitch, 0, 6, 4));
    assert_done(rt.cudaMemcpy2D(device, pitch, from, 16, 6, 4, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaMemcpy2DAsync(to, 8, device, pitch, 6, 4, SP_RT_DEVICE_TO_HOST, NULL));
    assert_done(rt.cudaStreamSynchronize(NULL));
    for (int row = 0; row < 4; row++) {
        assert_memory_equal(to[row], from[row], 6);
        assert_int_equal(to[row][6], 0);
    }
    assert_rt(12, rt.cudaMemcpy2D(to, 5, device, pitch, 6, 4, SP_RT_DEVICE_TO_HOST));
    assert_done(rt.cudaMemcpy2D(to, 8, device, pitch, 0, 4, SP_RT_DEVICE_TO_HOST));
}

static void slices_are_set_and_copied(void **state)
{
    struct sp_rt_extent extent = {8, 3, 2}, inner = {4, 2, 2};
    struct sp_rt_copy3d copy;
    struct sp_rt_pitched device;
    char bytes[2][3][8];

    (void)state;
    memset(bytes, 0, sizeof(bytes));
    assert_done(rt.cudaMalloc3D(&device, extent));
    assert_done(rt.cudaMemset3D(device, 1, extent));
    assert_done(rt.cudaMemset3D(device, 2, inner));
    copy = (struct sp_rt_copy3d){
        .source = device,
        .target = {bytes, 8, 8, 3},
        .extent = extent,
        .kind = SP_RT_DEVICE_TO_HOST,
    };
    assert_done(rt.cudaMemcpy3D(&copy));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 8; x++)
                assert_int_equal(bytes[z][y][x], x < 4 && y < 2 ? 2 : 1);
    copy.kind = SP_RT_HOST_TO_DEVICE;
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemcpy3D(&copy));
    copy.source_array = (struct CUarray_st *)bytes;
    assert_rt(SP_CU_NOT_SUPPORTED, rt.cudaMemcpy3D(&copy));
}

/* However many slices of nothing, and wherever their end would be. */
static void slices_that_cannot_be_are_refused_at_once(void **state)
{
    struct sp_rt_extent extent = {8, 3, SIZE_MAX};
    struct sp_rt_pitched device;

    (void)state;
    assert_done(rt.cudaMalloc3D(&device, (struct sp_rt_extent){8, 3, 2}));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemset3D(device, 1, extent));
    device.pitch = 0;
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemset3D(device, 1, extent));
    extent.width = 0;
    assert_done(rt.cudaMemset3D(device, 1, extent));
    assert_done(rt.cudaFree(device.ptr));
}

static void memory_that_only_the_host_has_is_not_set(void **state)
{
    char plain[64] = {0};

    (void)state;
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemset(plain, 1, sizeof(plain)));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemsetAsync(plain, 1, sizeof(plain), NULL));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaMemset2D(plain, 16, 1, 8, 4));
    for (size_t i = 0; i < sizeof(plain); i++)
        assert_int_equal(plain[i], 0);
    assert_done(rt.cudaMemset(plain, 1, 0));
}

static void devices_copy_to_each_other(void **state)
{
    void *first = sim_device_memory(KIB, 1), *second;
    struct sp_rt_peer3d slices;

    (void)state;
    assert_done(rt.cudaSetDevice(1));
    second = sim_device_memory(KIB, 2);
    assert_done(rt.cudaMemcpyPeer(first, 0, second, 1, KIB / 2));
    sim_assert_bytes(first, 2, KIB / 2);
    slices = (struct sp_rt_peer3d){
        .source = {second, 64, 64, 4},
        .source_device = 1,
        .target = {first, 64, 64, 4},
        .target_device = 0,
        .extent = {64, 4, 4},
    };
    assert_done(rt.cudaMemcpy3DPeerAsync(&slices, NULL));
    assert_done(rt.cudaStreamSynchronize(NULL));
    sim_assert_bytes(first, 2, KIB);
    assert_rt(SP_CU_INVALID_DEVICE, rt.cudaMemcpyPeer(first, 0, second, 2, KIB));
    assert_done(rt.cudaMemcpyPeerAsync(second, 1, first, 0, KIB, NULL));
    assert_done(rt.cudaStreamSynchronize(NULL));
}

/* ---- twins --------------------------------------------------------------------------- */

static void twins_mean_the_threads_own_stream(void **state)
{
    unsigned long long of_twin = 0, own = 0, legacy = 0;

    (void)state;
    assert_done(rt.cudaStreamGetId_ptsz(NULL, &of_twin));
    assert_done(rt.cudaStreamGetId(SP_CU_STREAM_PER_THREAD, &own));
    assert_done(rt.cudaStreamGetId(NULL, &legacy));
    assert_true(of_twin == own && own != legacy);
    assert_done(rt.cudaStreamGetId_ptsz(SP_CU_STREAM_LEGACY, &of_twin));
    assert_true(of_twin == legacy);
}

/* The stream that such a copy is in is not the legacy one, which waits behind a closed gate. */
static void twins_without_a_stream_wait_for_their_own(void **state)
{
    void *device = sim_device_memory(KIB, 0);
    unsigned char host[KIB];
    sp_cu_stream other;
    int set, copied;

    (void)state;
    memset(host, 9, sizeof(host));
    assert_done(rt.cudaStreamCreateWithFlags(&other, SP_CU_STREAM_NON_BLOCKING));
    sim_close_gate(other);
    set = rt.cudaMemset_ptds(device, 7, KIB);
    copied = rt.cudaMemcpy_ptds(host, device, KIB, SP_RT_DEVICE_TO_HOST);
    sim_open_gate();
    assert_done(set);
    assert_done(copied);
    assert_int_equal(host[0], 7);
    assert_int_equal(host[KIB - 1], 7);
    assert_done(rt.cudaStreamSynchronize(other));
    assert_done(rt.cudaStreamDestroy(other));
}

static void captures_of_twins_are_of_the_threads_own_stream(void **state)
{
    sp_cu_graph graph = NULL;
    size_t n_nodes = 0;
    int status = -1;
    void *ptr;

    (void)state;
    assert_rt(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
              rt.cudaStreamBeginCapture(NULL, SP_CU_CAPTURE_MODE_GLOBAL));
    assert_done(rt.cudaStreamBeginCapture_ptsz(NULL, SP_CU_CAPTURE_MODE_GLOBAL));
    assert_done(rt.cudaStreamIsCapturing_ptsz(NULL, &status));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    assert_done(rt.cudaMallocAsync_ptsz(&ptr, KIB, NULL));
    assert_done(rt.cudaFreeAsync_ptsz(ptr, NULL));
    assert_done(rt.cudaStreamEndCapture_ptsz(NULL, &graph));
    assert_done(rt.cudaGraphGetNodes(graph, NULL, &n_nodes));
    assert_int_equal(n_nodes, 2);
    assert_done(rt.cudaGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_last_error_stays_until_it_is_asked_for, sim_setup),
        cmocka_unit_test_setup(what_is_not_over_yet_is_no_last_error, sim_setup),
        cmocka_unit_test_setup(the_last_error_is_a_threads_own, sim_setup),
        cmocka_unit_test_setup(every_error_has_a_name_and_a_text, sim_setup),
        cmocka_unit_test_setup(the_drivers_results_are_errors_of_the_same_number, sim_setup),
        cmocka_unit_test_setup(what_nobody_has_written_is_not_supported, sim_setup),
        cmocka_unit_test_setup(a_context_is_made_when_it_is_needed, sim_setup),
        cmocka_unit_test_setup(a_pool_and_its_stream_may_be_the_first_things_used, sim_setup),
        cmocka_unit_test_setup(the_device_is_a_threads_own, sim_setup),
        cmocka_unit_test_setup(a_context_that_the_program_has_made_current_is_used, sim_setup),
        cmocka_unit_test_setup(a_reset_takes_memory_and_peers_away, sim_setup),
        cmocka_unit_test_setup(devices_are_found_by_where_they_are, sim_setup),
        cmocka_unit_test_setup(nothing_is_allocated_and_freed_with_success, sim_setup),
        cmocka_unit_test_setup(pointers_tell_what_they_point_to, sim_setup),
        cmocka_unit_test_setup(a_copy_of_the_wrong_kind_is_refused, sim_setup),
        cmocka_unit_test_setup(memory_that_both_sides_see_is_of_either_kind, sim_setup),
        cmocka_unit_test_setup(rows_are_copied_between_pitches, sim_setup),
        cmocka_unit_test_setup(slices_are_set_and_copied, sim_setup),
        cmocka_unit_test_setup(slices_that_cannot_be_are_refused_at_once, sim_setup),
        cmocka_unit_test_setup(memory_that_only_the_host_has_is_not_set, sim_setup),
        cmocka_unit_test_setup(devices_copy_to_each_other, sim_setup),
        cmocka_unit_test_setup(twins_mean_the_threads_own_stream, sim_setup),
        cmocka_unit_test_setup(twins_without_a_stream_wait_for_their_own, sim_setup),
        cmocka_unit_test_setup(captures_of_twins_are_of_the_threads_own_stream, sim_setup),
    };

    return cmocka_run_group_tests_name("sim_runtime", tests, sim_load, NULL);
}
