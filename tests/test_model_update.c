/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing executables of the model: all of one from a graph of the same shape, single nodes.
 */
#include "config.h"

#include "tests/exec_fixture.h"

static void do_nothing(void *arg)
{
    (void)arg;
}

static void an_update_takes_the_parameters_of_a_graph_of_the_same_shape(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph first = sp_test_graph(), second = sp_test_graph();
    struct sp_cu_update_result info;
    sp_cu_node node;
    sp_cu_exec exec;
    sp_cu_ptr cell;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_CELL));
    node = sp_test_add_set(first, cell, 1, NULL, 0);
    (void)sp_test_add_copy(first, cell, cell, &node, 1);
    node = sp_test_add_set(second, cell, 2, NULL, 0);
    (void)sp_test_add_copy(second, cell, cell, &node, 1);
    exec = sp_test_exec(first, 0);
    sp_test_hold(stream);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuGraphExecUpdate(exec, second, &info));
    assert_int_equal(info.result, SP_CU_UPDATED);
    sp_test_release();
    sp_test_assert_bytes(cell, 1, stream); /* A launch that has been called is not changed. */
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 2, stream);

    (void)sp_test_add_set(second, cell, 3, NULL, 0);
    assert_result(SP_CU_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, second, &info));
    assert_int_equal(info.result, SP_CU_UPDATE_TOPOLOGY_CHANGED);
    assert_done(cuGraphDestroy(second));
    second = sp_test_graph();
    node = sp_test_add_copy(second, cell, cell, NULL, 0);
    (void)sp_test_add_set(second, cell, 2, &node, 1);
    assert_result(SP_CU_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, second, &info));
    assert_int_equal(info.result, SP_CU_UPDATE_NODE_TYPE_CHANGED);
    assert_ptr_equal(info.error_node, node);
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 2, stream);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(first));
    assert_done(cuGraphDestroy(second));
}

/* Where the driver may do so, the executable has the other graph's allocations afterwards. */
static void an_update_may_exchange_allocations(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graphs[2];
    struct sp_cu_update_result info;
    sp_cu_ptr ptrs[2];
    sp_cu_exec exec;

    (void)state;
    for (int i = 0; i < 2; i++) {
        sp_cu_node last;

        graphs[i] = sp_test_graph();
        ptrs[i] = sp_test_add_alloc(graphs[i], SP_TEST_CELL, NULL, 0, &last);
        (void)sp_test_add_set(graphs[i], ptrs[i], (unsigned char)(i + 1), &last, 1);
    }
    exec = sp_test_exec(graphs[0], 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_result(SP_CU_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graphs[1], &info));
    assert_int_equal(info.result, SP_CU_UPDATE_NOT_SUPPORTED);
    assert_ok(starpool_model_set_switch("graph_update_memory", "success"));
    assert_done(cuGraphExecUpdate(exec, graphs[1], &info));
    sp_test_assert_bytes(ptrs[0], 1, stream);
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(ptrs[1], 2, stream);
    sp_test_assert_bytes(ptrs[0], 1, stream);
    for (int i = 0; i < 2; i++)
        assert_done(cuMemFreeAsync(ptrs[i], stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graphs[0]));
    assert_done(cuGraphDestroy(graphs[1]));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_CURRENT), 0);
    sp_test_assert_no_violations();
}

/* What is inside another graph, or being made, is none to take parameters from. */
static void a_child_is_exchanged_for_a_whole_graph(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH};
    sp_cu_graph graph = sp_test_graph(), around = sp_test_graph(), child = sp_test_graph();
    sp_cu_node node, moved;
    sp_cu_exec exec;

    (void)state;
    (void)sp_test_add_function(child, do_nothing, NULL, NULL, 0);
    assert_done(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    exec = sp_test_exec(graph, 0);
    params.child.graph = child;
    assert_done(
        cuStreamBeginCaptureToGraph(stream, child, NULL, NULL, 0, SP_CU_CAPTURE_MODE_RELAXED));
    assert_result(SP_CU_INVALID_VALUE, cuGraphExecNodeSetParams(exec, node, &params));
    assert_done(cuStreamEndCapture(stream, &child));
    assert_done(cuGraphExecNodeSetParams(exec, node, &params));
    params.child.ownership = SP_CU_CHILD_MOVE;
    assert_done(cuGraphAddNode(&moved, around, NULL, NULL, 0, &params));
    params.child.ownership = SP_CU_CHILD_CLONE;
    assert_result(SP_CU_NOT_SUPPORTED, cuGraphExecNodeSetParams(exec, node, &params));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuGraphDestroy(around));
}

/* Only with memory nodes the other graph must not have an executable of its own. */
static void an_update_comes_from_a_graph_that_has_an_executable(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graphs[] = {sp_test_graph(), sp_test_graph()};
    struct sp_cu_update_result info;
    sp_cu_exec execs[2];
    sp_cu_ptr cell;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_CELL));
    for (int i = 0; i < 2; i++) {
        (void)sp_test_add_set(graphs[i], cell, (unsigned char)(i + 1), NULL, 0);
        execs[i] = sp_test_exec(graphs[i], 0);
    }
    assert_done(cuGraphExecUpdate(execs[0], graphs[1], &info));
    assert_int_equal(info.result, SP_CU_UPDATED);
    assert_done(cuGraphLaunch(execs[0], stream));
    sp_test_assert_bytes(cell, 2, stream);
    for (int i = 0; i < 2; i++) {
        assert_done(cuGraphExecDestroy(execs[i]));
        assert_done(cuGraphDestroy(graphs[i]));
    }
}

static void a_node_of_an_executable_is_changed_and_switched_off(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEMSET};
    sp_cu_graph graph = sp_test_graph();
    unsigned is_enabled = 7;
    sp_cu_node set, function;
    sp_cu_exec exec;
    sp_cu_ptr cell;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_CELL));
    set = sp_test_add_set(graph, cell, 1, NULL, 0);
    function = sp_test_add_function(graph, do_nothing, NULL, NULL, 0);
    exec = sp_test_exec(graph, 0);
    params.set.params = sp_test_set_params(cell, 2, SP_TEST_CELL);
    params.set.context = sp_model.context;
    assert_done(cuGraphExecNodeSetParams(exec, set, &params));
    assert_result(SP_CU_INVALID_VALUE, cuGraphExecNodeSetParams(exec, function, &params));
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 2, stream);
    assert_done(cuGraphNodeGetEnabled(exec, set, &is_enabled));
    assert_int_equal(is_enabled, 1);
    assert_done(cuGraphNodeSetEnabled(exec, set, 0));
    assert_done(cuGraphNodeGetEnabled(exec, set, &is_enabled));
    assert_int_equal(is_enabled, 0);
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeSetEnabled(exec, function, 0));
    assert_done(cuMemsetD8Async(cell, 3, SP_TEST_CELL, stream));
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 3, stream);
    assert_done(cuGraphNodeSetEnabled(exec, set, 1));
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 2, stream);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(an_update_takes_the_parameters_of_a_graph_of_the_same_shape),
        SP_TEST_BOTH(an_update_may_exchange_allocations),
        SP_TEST_BOTH(a_child_is_exchanged_for_a_whole_graph),
        SP_TEST_BOTH(an_update_comes_from_a_graph_that_has_an_executable),
        SP_TEST_BOTH(a_node_of_an_executable_is_changed_and_switched_off),
    };

    return cmocka_run_group_tests_name("model_update", tests, NULL, NULL);
}
