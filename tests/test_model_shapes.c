/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies and memsets on the model: of rows and slices, in streams and captured, and which of
 * them the host waits for. */
#include "config.h"

#include "tests/exec_fixture.h"
#include "tests/model_capture_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* [bytes] Rows of the arrays that the tests copy between, and how many. */
#define PITCH  ((size_t)64)
#define HEIGHT ((size_t)16)
#define DEPTH  ((size_t)4)
#define BYTES  (PITCH * HEIGHT * DEPTH)

/* What a byte of an array is, by its place. */
static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 7 + i / 251);
}

static sp_cu_ptr patterned(void)
{
    unsigned char bytes[BYTES];
    sp_cu_ptr ptr = 0;

    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = pattern(i);
    assert_done(cuMemAlloc(&ptr, BYTES));
    assert_done(cuMemcpyHtoD(ptr, bytes, BYTES));
    return ptr;
}

static sp_cu_ptr zeroed(void)
{
    sp_cu_ptr ptr = 0;

    assert_done(cuMemAlloc(&ptr, BYTES));
    assert_done(cuMemsetD8(ptr, 0, BYTES));
    assert_done(cuCtxSynchronize());
    return ptr;
}

static void read_all(sp_cu_ptr ptr, unsigned char bytes[BYTES], sp_cu_stream stream)
{
    assert_done(cuMemcpyDtoHAsync(bytes, ptr, BYTES, stream));
    assert_done(cuStreamSynchronize(stream));
}

/* From row 3, byte 5 of slice 1 to row 2, byte 9 of slice 0: 20 bytes of 7 rows of 3 slices. */
static struct sp_cu_memcpy3d box(sp_cu_ptr target, sp_cu_ptr source)
{
    return (struct sp_cu_memcpy3d){
        .source_x_bytes = 5,
        .source_y = 3,
        .source_z = 1,
        .source_type = SP_CU_MEMORY_TYPE_DEVICE,
        .source_device = source,
        .source_pitch = PITCH,
        .source_height = HEIGHT,
        .target_x_bytes = 9,
        .target_y = 2,
        .target_z = 0,
        .target_type = SP_CU_MEMORY_TYPE_DEVICE,
        .target_device = target,
        .target_pitch = PITCH,
        .target_height = HEIGHT,
        .width_bytes = 20,
        .height = 7,
        .depth = 3,
    };
}

/* The box and nothing else has been copied. */
static void assert_box(sp_cu_ptr target, sp_cu_stream stream)
{
    unsigned char found[BYTES], wanted[BYTES] = {0};

    for (size_t z = 0; z < 3; z++) {
        for (size_t y = 0; y < 7; y++) {
            for (size_t x = 0; x < 20; x++)
                wanted[z * PITCH * HEIGHT + (y + 2) * PITCH + x + 9] =
                    pattern((z + 1) * PITCH * HEIGHT + (y + 3) * PITCH + x + 5);
        }
    }
    read_all(target, found, stream);
    assert_memory_equal(found, wanted, BYTES);
}

/* ---- copies ------------------------------------------------------------------------------ */

static void a_box_of_a_box_is_copied_and_nothing_else(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr source = patterned(), targets[2] = {zeroed(), zeroed()};
    struct sp_cu_memcpy3d copy = box(targets[0], source);

    (void)state;
    assert_done(cuMemcpy3D(&copy));
    assert_box(targets[0], NULL);
    sp_test_hold(stream);
    copy = box(targets[1], source);
    assert_done(cuMemcpy3DAsync(&copy, stream));
    memset(&copy, 0, sizeof(copy));
    assert_int_equal(sp_test_bytes(targets[1])[2 * PITCH + 9], 0);
    sp_test_release();
    assert_box(targets[1], stream);
}

static void copies_between_contexts_are_the_same(void **state)
{
    sp_cu_ptr source = patterned(), target;
    struct sp_cu_memcpy3d_peer peer;
    struct sp_cu_memcpy3d copy;
    sp_cu_context other;

    (void)state;
    assert_done(cuCtxCreate(&other, 0, 1));
    target = zeroed();
    copy = box(target, source);
    peer = (struct sp_cu_memcpy3d_peer){
        .source_x_bytes = copy.source_x_bytes,
        .source_y = copy.source_y,
        .source_z = copy.source_z,
        .source_type = copy.source_type,
        .source_device = source,
        .source_context = sp_model.context,
        .source_pitch = PITCH,
        .source_height = HEIGHT,
        .target_x_bytes = copy.target_x_bytes,
        .target_y = copy.target_y,
        .target_type = copy.target_type,
        .target_device = target,
        .target_context = other,
        .target_pitch = PITCH,
        .target_height = HEIGHT,
        .width_bytes = copy.width_bytes,
        .height = copy.height,
        .depth = copy.depth,
    };
    assert_done(cuMemcpy3DPeer(&peer));
    assert_box(target, NULL);
    assert_done(cuMemsetD8(target, 0, BYTES));
    assert_done(cuMemcpy3DPeerAsync(&peer, NULL));
    assert_box(target, NULL);
    peer.source_context = NULL;
    assert_result(SP_CU_INVALID_CONTEXT, cuMemcpy3DPeer(&peer));
    assert_done(cuMemcpyPeer(target, other, source, sp_model.context, BYTES));
    assert_result(SP_CU_INVALID_CONTEXT,
                  cuMemcpyPeer(target, NULL, source, sp_model.context, BYTES));
    assert_done(cuCtxSynchronize());
    assert_int_equal((unsigned char)sp_test_bytes(target)[BYTES - 1], pattern(BYTES - 1));
}

/* Columns 2 and 3 of a matrix of the host's with rows of 6 bytes, to rows of PITCH bytes. */
static struct sp_cu_memcpy2d columns(sp_cu_ptr target, const char *source)
{
    return (struct sp_cu_memcpy2d){
        .source_x_bytes = 2,
        .source_type = SP_CU_MEMORY_TYPE_HOST,
        .source_host = source,
        .source_pitch = 6,
        .target_y = 1,
        .target_type = SP_CU_MEMORY_TYPE_DEVICE,
        .target_device = target,
        .target_pitch = PITCH,
        .width_bytes = 2,
        .height = 3,
    };
}

static void rows_of_the_host_may_change_after_the_call(void **state)
{
    char matrix[] = "..ab....cd....ef..", back[] = "------";
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr target = zeroed();
    struct sp_cu_memcpy2d copy = columns(target, matrix);

    (void)state;
    sp_test_hold(stream);
    assert_done(cuMemcpy2DAsync(&copy, stream));
    memset(matrix, 'x', sizeof(matrix));
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    copy = (struct sp_cu_memcpy2d){
        .source_y = 1,
        .source_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .source_device = target,
        .source_pitch = PITCH,
        .target_type = SP_CU_MEMORY_TYPE_HOST,
        .target_host = back,
        .target_pitch = 2,
        .width_bytes = 2,
        .height = 3,
    };
    assert_done(cuMemcpy2D(&copy));
    assert_string_equal(back, "abcdef");
    memset(back, '-', 6);
    assert_done(cuMemcpy2DUnaligned(&copy));
    assert_string_equal(back, "abcdef");
}

static void shapes_that_make_no_sense_are_refused(void **state)
{
    char matrix[] = "..ab....cd....ef..";
    sp_cu_ptr source = patterned(), target = zeroed();
    unsigned char found[BYTES];
    struct sp_cu_memcpy3d copies[9];
    struct sp_cu_memcpy2d flat = columns(target, matrix);

    (void)state;
    for (size_t i = 0; i < 9; i++)
        copies[i] = box(target, source);
    copies[0].source_pitch = 24; /* less than x and width */
    copies[1].target_pitch = (size_t)1 << 31;
    copies[2].target_height = 8; /* less than y and height */
    copies[3].source_type = 0;
    copies[4].source_lod = 1;
    copies[5].target_device = 0;
    copies[6].height = SIZE_MAX / 32;
    copies[7].target_type = SP_CU_MEMORY_TYPE_HOST;
    copies[7].target_host = (void *)(uintptr_t)target; /* the device's */
    copies[8].source_device = (uintptr_t)matrix;       /* the host's */
    for (size_t i = 0; i < 9; i++)
        assert_result(SP_CU_INVALID_VALUE, cuMemcpy3D(&copies[i]));
    copies[0] = box(target, source);
    copies[0].source_type = SP_CU_MEMORY_TYPE_ARRAY;
    assert_result(SP_CU_NOT_SUPPORTED, cuMemcpy3D(&copies[0]));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpy2D(NULL));
    flat.target_device = target + BYTES * 1000000;
    assert_result(SP_CU_INVALID_VALUE, cuMemcpy2D(&flat));
    flat.width_bytes = 0;
    assert_done(cuMemcpy2D(&flat));
    read_all(target, found, NULL);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(found[i], 0);
}

/* ---- what is over when ------------------------------------------------------------------- */

static void pageable_memory_is_read_at_the_call(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    char in[32] = "before", out[32] = "";
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_hold(stream);
    assert_done(cuMemcpyHtoDAsync(ptr, in, sizeof(in), stream));
    strcpy(in, "after");
    sp_test_release();
    assert_done(cuMemcpyDtoHAsync(out, ptr, sizeof(out), stream));
    assert_done(cuStreamSynchronize(stream));
    assert_string_equal(out, "before");
    assert_done(cuMemHostRegister(in, sizeof(in), 0));
    sp_test_hold_again();
    sp_test_hold(stream);
    assert_done(cuMemcpyHtoDAsync(ptr, in, sizeof(in), stream));
    strcpy(in, "pinned");
    sp_test_release();
    assert_done(cuMemcpyDtoHAsync(out, ptr, sizeof(out), stream));
    assert_done(cuStreamSynchronize(stream));
    assert_string_equal(out, "pinned");
    assert_result(SP_CU_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(in + 8, 8, 0));
    assert_done(cuMemHostUnregister(in));
    assert_result(SP_CU_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(in));
}

static void copies_and_sets_without_a_stream_are_over_when_they_return(void **state)
{
    unsigned words[4] = {1, 2, 3, 4}, out[4];
    sp_cu_ptr a, b;

    (void)state;
    assert_done(cuMemAlloc(&a, SP_TEST_SIZE));
    assert_done(cuMemAlloc(&b, SP_TEST_SIZE));
    assert_done(cuMemcpyHtoD(a, words, sizeof(words)));
    assert_done(cuMemcpyDtoD(b, a, sizeof(words)));
    assert_done(cuMemsetD32(b, 7, 1));
    assert_done(cuMemcpyDtoH(out, b, sizeof(out)));
    assert_int_equal(out[0], 7);
    assert_int_equal(out[3], 4);
    assert_done(cuMemcpy((uintptr_t)out, a, sizeof(out)));
    assert_int_equal(out[0], 1);
    assert_done(cuMemcpyPeerAsync(b, sp_model.context, a, sp_model.context, sizeof(out), NULL));
    assert_done(cuMemcpyDtoH(out, b, sizeof(out)));
    assert_int_equal(out[0], 1);
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyHtoD(0, words, 4));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD32(a + 1, 0, 1));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoH(out, b + 2 * SP_TEST_SIZE, 4));
}

static void *release(void *unused)
{
    (void)unused;
    sp_test_release();
    return NULL;
}

static void a_copy_that_pinned_memory_has_no_part_in_is_over_when_it_returns(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    char in[32] = "not pinned", out[32] = "", *pinned;
    pthread_t thread;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuMemAllocHost((void **)&pinned, 2 * sizeof(out)));
    sp_test_hold(stream);
    assert_done(cuMemcpyHtoDAsync(ptr, in, sizeof(in), stream));
    assert_done(cuMemcpyDtoHAsync(pinned, ptr, sizeof(out), stream));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    assert_int_equal(pthread_create(&thread, NULL, release, NULL), 0);
    assert_done(cuMemcpyDtoHAsync(out, ptr, sizeof(out), stream));
    assert_string_equal(out, in);
    assert_done(cuStreamQuery(stream));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(pinned, in);
    /* The host's own copies, even between what is pinned. */
    assert_done(cuMemcpyAsync((uintptr_t)pinned + sizeof(out), (uintptr_t)pinned, 4, stream));
    assert_done(cuStreamQuery(stream));
    assert_memory_equal(pinned + sizeof(out), in, 4);
    assert_done(cuMemFreeHost(pinned));
}

static void rows_for_memory_that_is_not_pinned_are_there_after_the_call(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr source = patterned();
    unsigned char found[2 * PITCH];
    struct sp_cu_memcpy2d copy = {
        .source_type = SP_CU_MEMORY_TYPE_DEVICE,
        .source_device = source,
        .source_pitch = PITCH,
        .target_type = SP_CU_MEMORY_TYPE_HOST,
        .target_host = found,
        .target_pitch = PITCH,
        .width_bytes = 0,
        .height = 2,
    };
    pthread_t thread;
    sp_cu_graph graph;

    (void)state;
    memset(found, 0, sizeof(found));
    sp_test_hold(stream);
    assert_done(cuMemcpy2DAsync(&copy, stream)); /* Nothing to wait for. */
    copy.width_bytes = PITCH;
    assert_int_equal(pthread_create(&thread, NULL, release, NULL), 0);
    assert_done(cuMemcpy2DAsync(&copy, stream));
    for (size_t i = 0; i < sizeof(found); i++)
        assert_int_equal(found[i], pattern(i));
    assert_done(cuStreamQuery(stream));
    assert_int_equal(pthread_join(thread, NULL), 0);
    memset(found, 0, sizeof(found));
    sp_test_begin(stream);
    assert_done(cuMemcpy2DAsync(&copy, stream)); /* A node, for later. */
    graph = sp_test_end(stream);
    assert_int_equal(found[1], 0);
    assert_done(cuGraphDestroy(graph));
}

/* ---- memsets ----------------------------------------------------------------------------- */

/* Elements of some size in rows 0 and 1, and nothing behind them. */
static void assert_rows(sp_cu_ptr target, unsigned value, size_t size, size_t width)
{
    unsigned char found[BYTES], wanted[BYTES] = {0};

    for (size_t y = 0; y < 2; y++) {
        for (size_t x = 0; x < width; x++)
            memcpy(wanted + y * PITCH + x * size, &value, size);
    }
    read_all(target, found, NULL);
    assert_memory_equal(found, wanted, BYTES);
}

static void rows_are_set_to_elements_of_each_size(void **state)
{
    sp_cu_ptr target = zeroed();

    (void)state;
    assert_done(cuMemsetD2D8(target, PITCH, 0xab, 10, 2));
    assert_rows(target, 0xab, 1, 10);
    assert_done(cuMemsetD2D16(target, PITCH, 0x1234, 9, 2));
    assert_rows(target, 0x1234, 2, 9);
    assert_done(cuMemsetD2D32(target, PITCH, 0x12345678, 8, 2));
    assert_rows(target, 0x12345678, 4, 8);
    assert_done(cuMemsetD8(target, 0, BYTES));
    assert_done(cuMemsetD16(target, 0x4321, 8));
    assert_done(cuMemsetD16Async(target + PITCH, 0x4321, 8, NULL));
    assert_rows(target, 0x4321, 2, 8);
    assert_done(cuMemsetD2D8Async(target, PITCH, 0, PITCH, 2, NULL));
    assert_done(cuMemsetD2D16Async(target, PITCH, 0x5566, 3, 2, NULL));
    assert_rows(target, 0x5566, 2, 3);
    assert_done(cuMemsetD2D32Async(target, PITCH, 7, 2, 2, NULL));
    assert_rows(target, 7, 4, 2);
}

/* A device cannot set what the driver does not know, in whatever shape. */
static void memsets_of_pageable_memory_are_refused(void **state)
{
    unsigned char host[BYTES] = {0};
    sp_cu_ptr target = (sp_cu_ptr)(uintptr_t)host;

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8(target, 1, 4));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8Async(target, 1, 4, NULL));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD16(target, 1, 4));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD2D8(target, 4, 1, 4, 2));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD2D8Async(target, 4, 1, 4, 2, NULL));
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(host[i], 0);
}

static void memsets_that_make_no_sense_are_refused(void **state)
{
    sp_cu_ptr target = zeroed();
    unsigned char found[BYTES];

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD16(target + 1, 1, 1));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD16(0, 1, 1));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD2D32(target, 7, 1, 1, 2));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD2D32(target, 4, 1, 2, 2));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD2D8(target, 4, 1, 4, SIZE_MAX / 2));
    assert_done(cuMemsetD2D32(target, 0, 1, 0, 2));
    read_all(target, found, NULL);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(found[i], 0);
}

static void ranges_that_leave_pinned_memory_are_refused(void **state)
{
    char plain[64];
    void *pinned = NULL;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAllocHost(&pinned, 4096));
    ptr = (sp_cu_ptr)(uintptr_t)pinned;
    assert_done(cuMemsetD8(ptr, 1, 4096));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8(ptr, 1, (size_t)1 << 40));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD2D8(ptr, 1 << 16, 1, 8, 1 << 16));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoH(plain, ptr, (size_t)1 << 40));
    assert_done(cuMemFreeHost(pinned));
}

static void offsets_that_leave_a_device_are_refused(void **state)
{
    sp_cu_ptr source = 0, target = 0;
    struct sp_cu_memcpy3d copy;

    (void)state;
    assert_done(cuMemAlloc(&source, 4096));
    assert_done(cuMemAlloc(&target, 4096));
    copy = (struct sp_cu_memcpy3d){
        .source_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .source_device = source,
        .target_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .target_device = target,
        .width_bytes = 16,
        .height = 1,
        .depth = 1,
    };
    assert_done(cuMemcpy3D(&copy));
    /* Whatever is there, if anything, is the host's. */
    copy.source_x_bytes = (size_t)1 << 42;
    assert_result(SP_CU_INVALID_VALUE, cuMemcpy3D(&copy));
    copy.source_x_bytes = 0;
    copy.target_x_bytes = (size_t)1 << 42;
    assert_result(SP_CU_INVALID_VALUE, cuMemcpy3D(&copy));
    assert_done(cuMemFree(source));
    assert_done(cuMemFree(target));
}

static void pitched_memory_has_rows_for_every_copy(void **state)
{
    sp_cu_ptr ptr = 0;
    size_t pitch = 0, free_bytes = sp_test_free_bytes();

    (void)state;
    assert_done(cuMemAllocPitch(&ptr, &pitch, 700, 30, 4));
    assert_int_equal(pitch, 1024);
    assert_true(free_bytes - sp_test_free_bytes() >= 30 * 1024);
    assert_done(cuMemsetD2D8(ptr, pitch, 1, 700, 30));
    assert_done(cuMemFree(ptr));
    assert_int_equal(sp_test_free_bytes(), free_bytes);
    ptr = 0;
    pitch = 0;
    assert_result(SP_CU_INVALID_VALUE, cuMemAllocPitch(&ptr, &pitch, 700, 30, 5));
    assert_result(SP_CU_INVALID_VALUE, cuMemAllocPitch(&ptr, &pitch, 0, 30, 4));
    assert_result(SP_CU_OUT_OF_MEMORY, cuMemAllocPitch(&ptr, &pitch, SIZE_MAX, 30, 4));
    assert_int_equal(ptr, 0);
    assert_int_equal(pitch, 0);
}

/* ---- captured and checked ---------------------------------------------------------------- */

static void shapes_are_captured_as_nodes(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr source = patterned(), target = zeroed();
    struct sp_cu_memcpy3d copy = box(target, source), found;
    struct sp_cu_memset_params set;
    sp_cu_node nodes[3];
    size_t n_nodes = 3;
    sp_cu_graph graph;
    sp_cu_exec exec;

    (void)state;
    sp_test_begin(stream);
    assert_done(cuMemsetD2D16Async(target, PITCH, 0x7777, PITCH / 2, HEIGHT * DEPTH, stream));
    assert_done(cuMemsetD2D32Async(target, PITCH, 0, PITCH / 4, HEIGHT * DEPTH, stream));
    assert_done(cuMemcpy3DAsync(&copy, stream));
    graph = sp_test_end(stream);
    assert_done(cuGraphGetNodes(graph, nodes, &n_nodes));
    assert_int_equal(n_nodes, 3);
    assert_done(cuGraphMemsetNodeGetParams(nodes[0], &set));
    assert_int_equal(set.element_size, 2);
    assert_int_equal(set.height, HEIGHT * DEPTH);
    assert_done(cuGraphMemcpyNodeGetParams(nodes[2], &found));
    assert_memory_equal(&found, &copy, sizeof(copy));
    exec = sp_test_exec(graph, 0);
    for (int i = 0; i < 3; i++)
        assert_done(cuGraphLaunch(exec, stream));
    assert_box(target, stream);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

static void a_shape_beyond_its_block_is_said(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAllocAsync(&ptr, PITCH * 8, stream));
    assert_done(cuMemsetD2D8Async(ptr, PITCH, 1, 10, 8, stream));
    sp_test_assert_no_violations();
    assert_done(cuMemsetD2D8Async(ptr, PITCH, 1, 10, 9, stream));
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuStreamSynchronize(stream));
}

static void a_capturing_stream_of_its_context_stops_the_calls_without_a_stream(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_DEFAULT);
    sp_cu_ptr source = patterned(), target = zeroed();
    struct sp_cu_memcpy3d copy = box(target, source);
    sp_cu_graph graph;

    (void)state;
    sp_test_begin(stream);
    assert_result(SP_CU_STREAM_CAPTURE_IMPLICIT, cuMemcpy3D(&copy));
    sp_test_assert_capturing(SP_CU_CAPTURE_INVALIDATED, stream);
    assert_result(SP_CU_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    sp_test_begin(stream);
    assert_result(SP_CU_STREAM_CAPTURE_IMPLICIT, cuMemsetD16(target, 1, 1));
    assert_result(SP_CU_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_box_of_a_box_is_copied_and_nothing_else),
        SP_TEST_BOTH(copies_between_contexts_are_the_same),
        SP_TEST_BOTH(rows_of_the_host_may_change_after_the_call),
        SP_TEST_BOTH(pageable_memory_is_read_at_the_call),
        SP_TEST_BOTH(copies_and_sets_without_a_stream_are_over_when_they_return),
        SP_TEST_BOTH(a_copy_that_pinned_memory_has_no_part_in_is_over_when_it_returns),
        SP_TEST_BOTH(rows_for_memory_that_is_not_pinned_are_there_after_the_call),
        SP_TEST_BOTH(shapes_that_make_no_sense_are_refused),
        SP_TEST_BOTH(rows_are_set_to_elements_of_each_size),
        SP_TEST_BOTH(memsets_of_pageable_memory_are_refused),
        SP_TEST_BOTH(memsets_that_make_no_sense_are_refused),
        SP_TEST_BOTH(ranges_that_leave_pinned_memory_are_refused),
        SP_TEST_BOTH(offsets_that_leave_a_device_are_refused),
        SP_TEST_BOTH(pitched_memory_has_rows_for_every_copy),
        SP_TEST_BOTH(shapes_are_captured_as_nodes),
        SP_TEST_BOTH(a_shape_beyond_its_block_is_said),
        SP_TEST_BOTH(a_capturing_stream_of_its_context_stops_the_calls_without_a_stream),
    };

    return cmocka_run_group_tests_name("model_shapes", tests, NULL, NULL);
}
