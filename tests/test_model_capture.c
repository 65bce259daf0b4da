/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures of the model where the rules of the driver do not reach: what nodes say of captured
 * calls, how streams come together, events that outlive a capture, whole contexts as streams.
 */
#include "config.h"

#include "tests/model_capture_fixture.h"

#include "src/model/graph.h"

/* The node that the stream's next one would depend on, which is the only one. */
static sp_cu_node last_of(sp_cu_stream stream)
{
    const struct sp_cu_edge_data *edges = NULL;
    const sp_cu_node *nodes = NULL;
    int status;
    size_t n = 0;

    assert_done(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &edges, &n));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    assert_int_equal(n, 1);
    return nodes[0];
}

static const struct sp_model_work *work_of(sp_cu_node handle)
{
    const struct sp_model_node *node = sp_model_node_find(handle);

    assert_non_null(node);
    return &node->work;
}

/* ---- what nodes say ------------------------------------------------------------------ */

static void a_captured_copy_says_which_ends_are_the_hosts(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    const struct sp_model_work *copied;
    char bytes[8];
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_begin(stream);
    assert_done(cuMemcpyHtoDAsync(ptr, bytes, 8, stream));
    copied = work_of(last_of(stream));
    assert_int_equal(copied->type, SP_CU_NODE_MEMCPY);
    assert_int_equal(copied->copy.copy.source_type, SP_CU_MEMORY_TYPE_HOST);
    assert_ptr_equal(copied->copy.copy.source_host, bytes);
    assert_int_equal(copied->copy.copy.target_type, SP_CU_MEMORY_TYPE_DEVICE);
    assert_int_equal(copied->copy.copy.target_device, ptr);
    assert_int_equal(copied->copy.copy.width_bytes, 8);
    assert_int_equal(copied->copy.copy.height, 1);
    assert_int_equal(copied->copy.copy.depth, 1);
    assert_ptr_equal(copied->copy.context, sp_model.context);
    assert_done(cuMemcpyDtoHAsync(bytes, ptr + 4, 3, stream));
    copied = work_of(last_of(stream));
    assert_int_equal(copied->copy.copy.source_device, ptr + 4);
    assert_ptr_equal(copied->copy.copy.target_host, bytes);
    assert_int_equal(copied->copy.copy.width_bytes, 3);
    assert_done(cuGraphDestroy(sp_test_end(stream)));
}

static void captured_fillings_functions_and_values_keep_what_they_were_given(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    const struct sp_model_work *captured;
    sp_cu_ptr flag = (uintptr_t)sp_model.flag, ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_begin(stream);
    assert_done(cuMemsetD32Async(ptr, 0x12345678, 5, stream));
    captured = work_of(last_of(stream));
    assert_int_equal(captured->type, SP_CU_NODE_MEMSET);
    assert_int_equal(captured->set.params.target, ptr);
    assert_int_equal(captured->set.params.value, 0x12345678);
    assert_int_equal(captured->set.params.element_size, 4);
    assert_int_equal(captured->set.params.width, 5);
    assert_int_equal(captured->set.params.height, 1);
    assert_done(cuMemsetD8Async(ptr, 7, 9, stream));
    assert_int_equal(work_of(last_of(stream))->set.params.element_size, 1);
    assert_done(cuLaunchHostFunc(stream, sp_test_nothing, &ptr));
    captured = work_of(last_of(stream));
    assert_int_equal(captured->type, SP_CU_NODE_HOST);
    assert_ptr_equal(captured->host.arg, &ptr);
    assert_done(cuStreamWaitValue32(stream, flag, 3, SP_CU_WAIT_VALUE_GEQ));
    captured = work_of(last_of(stream));
    assert_int_equal(captured->type, SP_CU_NODE_BATCH_MEM_OP);
    assert_int_equal(captured->value.address, flag);
    assert_int_equal(captured->value.value, 3);
    assert_int_equal(captured->value.flags, SP_CU_WAIT_VALUE_GEQ);
    assert_false(captured->value.is_write);
    assert_done(cuStreamWriteValue32(stream, flag, 4, 0));
    assert_true(work_of(last_of(stream))->value.is_write);
    assert_done(cuGraphDestroy(sp_test_end(stream)));
    assert_int_equal(*sp_model.flag, 0);
}

static void what_cannot_be_used_is_refused_and_leaves_no_node(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr, unmapped;
    size_t n = 0;
    sp_cu_graph graph;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    unmapped = ptr + ((uintptr_t)1 << 30);
    sp_test_begin(stream);
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoDAsync(ptr, unmapped, 8, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoDAsync(unmapped, ptr, 8, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8Async(unmapped, 0, 8, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8Async(0, 0, 8, stream));
    assert_result(SP_CU_INVALID_VALUE, cuStreamWriteValue32(stream, unmapped, 4, 0));
    assert_result(SP_CU_INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
    sp_test_assert_capturing(SP_CU_CAPTURE_ACTIVE, stream);
    graph = sp_test_end(stream);
    assert_done(cuGraphGetNodes(graph, NULL, &n));
    assert_int_equal(n, 0);
    assert_done(cuGraphDestroy(graph));
}

/* ---- many streams -------------------------------------------------------------------- */

static void streams_of_two_devices_are_captured_together(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING), other;
    sp_cu_event event = sp_test_event(), back;
    sp_cu_context second;
    sp_cu_graph graph;
    sp_cu_ptr ptr;
    size_t n = 0;

    (void)state;
    assert_done(cuCtxCreate(&second, 0, 1));
    other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    back = sp_test_event();
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_begin(stream);
    sp_test_fork(stream, event, other);
    assert_done(cuMemsetD8Async(ptr, 1, 8, other));
    assert_ptr_equal(work_of(last_of(other))->set.context, second);
    sp_test_fork(other, back, stream);
    graph = sp_test_end(stream);
    assert_done(cuGraphGetNodes(graph, NULL, &n));
    assert_int_equal(n, 1);
    sp_test_assert_capturing(SP_CU_CAPTURE_NONE, other);
    assert_done(cuGraphDestroy(graph));
}

#define N_BRANCHES 50

static void many_branches_are_one_frontier_when_they_are_joined(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING), others[N_BRANCHES];
    sp_cu_event event = sp_test_event();
    sp_cu_graph graph;
    size_t n = 0, n_edges = 0;
    int status;

    (void)state;
    sp_test_begin(stream);
    assert_done(cuEventRecord(event, stream));
    for (int i = 0; i < N_BRANCHES; i++) {
        others[i] = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
        assert_done(cuStreamWaitEvent(others[i], event, 0));
        sp_test_work(others[i]);
    }
    for (int i = 0; i < N_BRANCHES; i++)
        sp_test_fork(others[i], event, stream);
    /* Waiting a second time for the same changes nothing. */
    assert_done(cuStreamWaitEvent(stream, event, 0));
    assert_done(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, &n));
    assert_int_equal(n, N_BRANCHES);
    sp_test_work(stream);
    graph = sp_test_end(stream);
    assert_done(cuGraphGetNodes(graph, NULL, &n));
    assert_int_equal(n, N_BRANCHES + 1);
    assert_done(cuGraphGetEdges(graph, NULL, NULL, NULL, &n_edges));
    assert_int_equal(n_edges, N_BRANCHES);
    assert_done(cuGraphDestroy(graph));
}

static void work_that_came_by_way_of_a_third_stream_is_joined(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream third = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();

    (void)state;
    sp_test_begin(stream);
    sp_test_fork(stream, event, second);
    sp_test_work(second);
    sp_test_fork(second, event, third);
    sp_test_work(third);
    sp_test_fork(third, event, stream);
    assert_done(cuGraphDestroy(sp_test_end(stream)));
}

static void an_edge_of_the_programs_own_joins_too(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_node node;

    (void)state;
    sp_test_begin(stream);
    sp_test_fork(stream, event, other);
    sp_test_work(other);
    node = last_of(other);
    assert_done(cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                  SP_CU_CAPTURE_ADD_DEPENDENCIES));
    sp_test_work(stream);
    assert_done(cuGraphDestroy(sp_test_end(stream)));
}

static void a_frontier_that_is_replaced_in_part_must_still_be_joined(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_graph graph = NULL;
    sp_cu_node nodes[2];

    (void)state;
    sp_test_begin(stream);
    sp_test_work(stream);
    nodes[0] = last_of(stream);
    sp_test_fork(stream, event, other);
    sp_test_work(other);
    nodes[1] = last_of(other);
    assert_done(cuStreamUpdateCaptureDependencies(other, nodes, NULL, 2,
                                                  SP_CU_CAPTURE_SET_DEPENDENCIES));
    assert_result(SP_CU_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
    assert_null(graph);
}

/* ---- events -------------------------------------------------------------------------- */

static void an_event_means_where_it_was_last_recorded(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    int mode = SP_CU_CAPTURE_MODE_RELAXED;
    float ms;

    (void)state;
    assert_done(cuEventRecord(event, other));
    sp_test_begin(stream);
    assert_done(cuEventRecord(event, stream));
    assert_result(SP_CU_CAPTURED_EVENT, cuEventElapsedTime(&ms, event, event));
    /* Elsewhere it is an ordinary event again, while the capture lasts. */
    assert_done(cuEventRecord(event, other));
    assert_done(cuThreadExchangeStreamCaptureMode(&mode));
    assert_done(cuEventSynchronize(event));
    assert_done(cuThreadExchangeStreamCaptureMode(&mode));
    assert_done(cuEventRecord(event, stream));
    assert_done(cuGraphDestroy(sp_test_end(stream)));
    assert_result(SP_CU_CAPTURED_EVENT, cuEventQuery(event));
    assert_result(SP_CU_CAPTURED_EVENT, cuStreamWaitEvent(other, event, 0));
    assert_result(SP_CU_CAPTURED_EVENT, cuCtxWaitEvent(sp_model.context, event));
    sp_test_begin(other);
    assert_result(SP_CU_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(other, event, 0));
    sp_test_assert_capturing(SP_CU_CAPTURE_INVALIDATED, other);
}

static void the_legacy_stream_cannot_become_part_of_a_capture(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();

    (void)state;
    sp_test_begin(stream);
    assert_done(cuEventRecord(event, stream));
    assert_result(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cuStreamWaitEvent(NULL, event, 0));
    sp_test_assert_capturing(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_test_assert_capturing(SP_CU_CAPTURE_NONE, NULL);
}

/* ---- whole contexts ------------------------------------------------------------------ */

static void an_event_of_a_context_comes_after_all_of_its_streams(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event(), foreign;
    sp_cu_context second;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    sp_test_hold(stream);
    assert_done(cuMemsetD8Async(ptr, 1, SP_TEST_SIZE, stream));
    assert_done(cuCtxRecordEvent(sp_model.context, event));
    assert_result(SP_CU_NOT_READY, cuEventQuery(event));
    assert_done(cuStreamWaitEvent(other, event, 0));
    assert_done(cuMemsetD8Async(ptr, 2, SP_TEST_SIZE, other));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(other));
    sp_test_release();
    assert_done(cuEventSynchronize(event));
    assert_done(cuStreamSynchronize(other));
    assert_int_equal(*sp_test_bytes(ptr), 2);
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxRecordEvent(NULL, event));
    assert_done(cuCtxCreate(&second, 0, 1));
    foreign = sp_test_event();
    assert_result(SP_CU_INVALID_HANDLE, cuCtxRecordEvent(sp_model.context, foreign));
    assert_done(cuCtxRecordEvent(second, foreign));
    assert_done(cuEventSynchronize(foreign));
}

static void a_context_that_waits_holds_later_streams_as_well(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING), before, after;
    sp_cu_event event = sp_test_event();
    sp_cu_context second;

    (void)state;
    assert_done(cuCtxCreate(&second, 0, 1));
    before = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    assert_done(cuCtxWaitEvent(second, event)); /* Never recorded: nothing to wait for. */
    assert_done(cuStreamQuery(before));
    sp_test_hold(stream);
    assert_done(cuEventRecord(event, stream));
    assert_done(cuCtxWaitEvent(second, event));
    after = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_test_work(before);
    sp_test_work(after);
    assert_result(SP_CU_NOT_READY, cuStreamQuery(before));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(after));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(NULL));
    sp_test_release();
    assert_done(cuCtxSynchronize());
    assert_done(cuStreamQuery(after));
    assert_result(SP_CU_INVALID_CONTEXT, cuCtxWaitEvent(NULL, event));
    assert_result(SP_CU_INVALID_HANDLE, cuCtxWaitEvent(second, NULL));
}

static void only_managed_memory_is_attached(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr managed, ptr;

    (void)state;
    assert_done(cuMemAllocManaged(&managed, 4096, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(cuMemAlloc(&ptr, 4096));
    assert_done(cuStreamAttachMemAsync(stream, managed, 0, SP_CU_MEM_ATTACH_SINGLE));
    assert_done(cuStreamAttachMemAsync(stream, managed, 4096, SP_CU_MEM_ATTACH_HOST));
    assert_result(SP_CU_INVALID_VALUE, cuStreamAttachMemAsync(stream, managed, 1, 1));
    assert_result(SP_CU_INVALID_VALUE, cuStreamAttachMemAsync(stream, managed, 0, 3));
    assert_result(SP_CU_INVALID_VALUE, cuStreamAttachMemAsync(stream, ptr, 0, 1));
}

/* ---- the list ------------------------------------------------------------------------ */

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_captured_copy_says_which_ends_are_the_hosts),
        SP_TEST_BOTH(captured_fillings_functions_and_values_keep_what_they_were_given),
        SP_TEST_BOTH(what_cannot_be_used_is_refused_and_leaves_no_node),
        SP_TEST_BOTH(streams_of_two_devices_are_captured_together),
        SP_TEST_BOTH(many_branches_are_one_frontier_when_they_are_joined),
        SP_TEST_BOTH(work_that_came_by_way_of_a_third_stream_is_joined),
        SP_TEST_BOTH(an_edge_of_the_programs_own_joins_too),
        SP_TEST_BOTH(a_frontier_that_is_replaced_in_part_must_still_be_joined),
        SP_TEST_BOTH(an_event_means_where_it_was_last_recorded),
        SP_TEST_BOTH(the_legacy_stream_cannot_become_part_of_a_capture),
        SP_TEST_BOTH(an_event_of_a_context_comes_after_all_of_its_streams),
        SP_TEST_BOTH(a_context_that_waits_holds_later_streams_as_well),
        SP_TEST_BOTH(only_managed_memory_is_attached),
    };

    return cmocka_run_group_tests_name("model_capture", tests, NULL, NULL);
}
