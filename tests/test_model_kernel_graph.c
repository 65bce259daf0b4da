/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels as nodes of the model's graphs, captured and added, and what their arguments point to
 * for who checks the order of uses. */
#include "config.h"

#include "tests/kernel_fixture.h"
#include "tests/model_capture_fixture.h"

#define N_CELLS 500

/* A graph with one node that adds. */
static sp_cu_graph graph_that_adds(sp_cu_function add, sp_cu_ptr cells, int value,
                                   sp_cu_node *node_out)
{
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params = sp_test_add_params(&args, add, cells, N_CELLS, value);
    sp_cu_graph graph = sp_test_graph();

    assert_done(cuGraphAddKernelNode(node_out, graph, NULL, 0, &params));
    return graph;
}

/* ---- captured ---------------------------------------------------------------------------- */

static void a_captured_kernel_runs_at_each_launch_of_the_graph(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr first = sp_test_cells(N_CELLS), second = sp_test_cells(N_CELLS);
    sp_cu_event event = sp_test_event();
    sp_cu_graph graph;
    sp_cu_exec exec;
    size_t n_nodes;

    (void)state;
    sp_test_begin(stream);
    sp_test_launch_add(add, first, N_CELLS, 2, stream);
    sp_test_fork(stream, event, other);
    sp_test_launch_add(add, second, N_CELLS, 3, other);
    sp_test_launch_add(add, first, N_CELLS, 5, stream);
    sp_test_fork(other, event, stream);
    graph = sp_test_end(stream);
    assert_done(cuGraphGetNodes(graph, NULL, &n_nodes));
    assert_int_equal(n_nodes, 3);
    assert_done(cuStreamSynchronize(stream));
    sp_test_assert_cells(first, N_CELLS, 0, stream); /* Nothing was executed. */
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphDestroy(graph));
    for (int i = 0; i < 100; i++)
        assert_done(cuGraphLaunch(exec, i % 2 == 0 ? stream : other));
    assert_done(cuStreamSynchronize(stream));
    sp_test_assert_cells(first, N_CELLS, 700, other);
    sp_test_assert_cells(second, N_CELLS, 300, other);
    assert_done(cuGraphExecDestroy(exec));
    sp_test_assert_no_violations();
}

static void a_captured_temporary_is_the_kernels(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_module module = sp_test_module();
    sp_cu_function add = sp_test_function(module, "test_add");
    sp_cu_function move = sp_test_function(module, "test_move");
    sp_cu_ptr cells = sp_test_cells(N_CELLS), temporary;
    int n = N_CELLS;
    void *args[] = {&cells, &temporary, &n};
    sp_cu_graph graph;
    sp_cu_exec exec;

    (void)state;
    sp_test_begin(stream);
    assert_done(cuMemAllocAsync(&temporary, N_CELLS * sizeof(int), stream));
    assert_done(cuMemsetD32Async(temporary, 1, N_CELLS, stream));
    sp_test_launch_add(add, temporary, N_CELLS, 4, stream);
    assert_done(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    assert_done(cuMemFreeAsync(temporary, stream));
    sp_test_launch_add(add, cells, N_CELLS, 10, stream);
    graph = sp_test_end(stream);
    exec = sp_test_exec(graph, 0);
    for (int i = 0; i < 100; i++)
        assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_cells(cells, N_CELLS, 15, stream);
    sp_test_assert_no_violations();
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

static void loading_modules_ends_captures_as_allocating_does(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_module module;
    sp_cu_graph graph;
    sp_cu_ptr ptr;
    size_t pitch;

    (void)state;
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_GLOBAL));
    assert_result(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cuModuleLoadData(&module, "image"));
    sp_test_assert_capturing(SP_CU_CAPTURE_INVALIDATED, stream);
    assert_result(SP_CU_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_GLOBAL));
    assert_result(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cuMemAllocPitch(&ptr, &pitch, 1, 1, 4));
    assert_result(SP_CU_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuModuleLoadData(&module, "image"));
    assert_done(cuStreamEndCapture(stream, &graph));
    assert_done(cuGraphDestroy(graph));
}

/* ---- nodes ------------------------------------------------------------------------------- */

static void a_nodes_parameters_are_its_own(void **state)
{
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params = sp_test_add_params(&args, add, cells, N_CELLS, 6),
                               found;
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_exec exec;
    int type;

    (void)state;
    params.shared_bytes = 12;
    params.grid[1] = 7;
    assert_done(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    args = (struct sp_test_add_args){.n = -1};
    assert_done(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, SP_CU_NODE_KERNEL);
    assert_done(cuGraphKernelNodeGetParams(node, &found));
    assert_ptr_equal(found.function, add);
    assert_int_equal(found.shared_bytes, 12);
    assert_int_equal(found.grid[1], 7);
    assert_int_equal(*(sp_cu_ptr *)found.args[0], cells);
    assert_int_equal(*(int *)found.args[2], 6);
    assert_null(found.extra);

    params = sp_test_add_params(&args, add, cells, N_CELLS, 9);
    assert_done(cuGraphKernelNodeSetParams(node, &params));
    exec = sp_test_exec(graph, 0);
    params = sp_test_add_params(&args, add, cells, N_CELLS, 1000);
    assert_done(cuGraphKernelNodeSetParams(node, &params)); /* Not the executable's. */
    assert_done(cuGraphLaunch(exec, NULL));
    sp_test_assert_cells(cells, N_CELLS, 9, NULL);
    params.grid[0] = 0;
    assert_result(SP_CU_INVALID_VALUE, cuGraphKernelNodeSetParams(node, &params));
    assert_result(SP_CU_INVALID_VALUE, cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    assert_result(SP_CU_INVALID_VALUE, cuGraphAddKernelNode(&node, graph, NULL, 0, NULL));
}

static void the_generic_calls_take_kernels(void **state)
{
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    sp_cu_graph graph = sp_test_graph();
    struct sp_test_add_args args;
    struct sp_cu_node_params params = {.type = SP_CU_NODE_KERNEL};
    sp_cu_node node;
    sp_cu_exec exec;

    (void)state;
    params.kernel = sp_test_add_params(&args, NULL, cells, N_CELLS, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.kernel.kernel = (sp_cu_kernel)add;
    assert_done(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, NULL));
    args.value = 10;
    assert_done(cuGraphNodeSetParams(node, &params));
    assert_done(cuGraphLaunch(exec, NULL));
    args.value = 100;
    assert_done(cuGraphExecNodeSetParams(exec, node, &params));
    assert_done(cuGraphLaunch(exec, NULL));
    sp_test_assert_cells(cells, N_CELLS, 102, NULL);
}

static void an_executables_kernel_can_be_changed_and_switched_off(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params = sp_test_add_params(&args, add, cells, N_CELLS, 50);
    sp_cu_node node;
    sp_cu_graph graph = graph_that_adds(add, cells, 1, &node);
    sp_cu_exec exec = sp_test_exec(graph, 0);
    unsigned is_enabled = 2;

    (void)state;
    sp_test_hold(stream);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuGraphExecKernelNodeSetParams(exec, node, &params));
    sp_test_release(); /* A launch that has been called is not changed. */
    sp_test_assert_cells(cells, N_CELLS, 1, stream);
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_cells(cells, N_CELLS, 51, stream);
    assert_done(cuGraphNodeSetEnabled(exec, node, 0));
    assert_done(cuGraphNodeGetEnabled(exec, node, &is_enabled));
    assert_int_equal(is_enabled, 0);
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_cells(cells, N_CELLS, 51, stream);
}

static void an_update_takes_another_graphs_kernels(void **state)
{
    sp_cu_module module = sp_test_module();
    sp_cu_function add = sp_test_function(module, "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    struct sp_cu_update_result info;
    sp_cu_node node, copy;
    sp_cu_graph first = graph_that_adds(add, cells, 1, &node), second, clone;
    sp_cu_exec exec = sp_test_exec(first, 0), other;
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params = sp_test_add_params(&args, add, cells, N_CELLS, 7);

    (void)state;
    second = graph_that_adds(add, cells, 20, &node);
    assert_done(cuGraphClone(&clone, second));
    assert_done(cuGraphNodeFindInClone(&copy, node, clone));
    assert_done(cuGraphKernelNodeSetParams(copy, &params)); /* Of the clone alone. */
    assert_done(cuGraphExecUpdate(exec, second, &info));
    assert_int_equal(info.result, SP_CU_UPDATED);
    other = sp_test_exec(clone, 0);
    assert_done(cuGraphDestroy(first));
    assert_done(cuGraphDestroy(second));
    assert_done(cuGraphDestroy(clone));
    assert_done(cuGraphLaunch(exec, NULL));
    sp_test_assert_cells(cells, N_CELLS, 20, NULL);
    assert_done(cuGraphLaunch(other, NULL));
    sp_test_assert_cells(cells, N_CELLS, 27, NULL);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphExecDestroy(other));
}

static void a_child_graphs_kernels_run_and_are_captured_along(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    sp_cu_node node;
    sp_cu_graph child = graph_that_adds(add, cells, 3, &node), graph = sp_test_graph(),
                captured;
    sp_cu_exec exec;

    (void)state;
    assert_done(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphDestroy(child));
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_cells(cells, N_CELLS, 3, stream);
    sp_test_begin(stream);
    assert_done(cuGraphLaunch(exec, stream));
    captured = sp_test_end(stream);
    assert_done(cuGraphExecDestroy(exec));
    exec = sp_test_exec(captured, 0);
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_cells(cells, N_CELLS, 6, stream);
    assert_done(cuGraphExecDestroy(exec));
}

static void a_launch_after_the_module_has_gone_is_refused(void **state)
{
    sp_cu_module module = sp_test_module();
    sp_cu_function add = sp_test_function(module, "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    sp_cu_node node;
    sp_cu_graph graph = graph_that_adds(add, cells, 1, &node);
    sp_cu_exec exec = sp_test_exec(graph, 0);

    (void)state;
    assert_done(cuGraphLaunch(exec, NULL));
    assert_done(cuModuleUnload(module));
    assert_result(SP_CU_INVALID_HANDLE, cuGraphLaunch(exec, NULL));
    sp_test_assert_cells(cells, N_CELLS, 1, NULL);
}

/* ---- uses -------------------------------------------------------------------------------- */

static void a_use_that_is_not_ordered_after_the_allocation_is_said(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells;

    (void)state;
    sp_test_hold(stream);
    assert_done(cuMemAllocAsync(&cells, N_CELLS * sizeof(int), stream));
    sp_test_launch_add(add, cells, N_CELLS, 1, stream);
    sp_test_assert_no_violations();
    /* It gets the address, and does nothing there: both kernels may run at the same time. */
    sp_test_launch_add(add, cells, 0, 1, other);
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_done(cuMemFreeAsync(cells, stream)); /* Not after the other stream's use. */
    assert_int_equal(starpool_model_violations(NULL), 2);
    sp_test_release();
    assert_done(cuCtxSynchronize());
}

static void a_use_after_the_free_is_said_and_an_end_is_no_use(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function move = sp_test_function(sp_test_module(), "test_move");
    size_t size = (size_t)1 << 21; /* a whole number of the pool's granules */
    sp_cu_ptr cells, end;
    int n = 0;
    void *args[] = {&cells, &end, &n}, *ends[] = {&end, &end, &n};

    (void)state;
    assert_done(cuMemAllocAsync(&cells, size, stream));
    end = cells + size;
    assert_done(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    sp_test_assert_no_violations();
    assert_done(cuMemFreeAsync(cells, stream));
    assert_done(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, stream, ends, NULL));
    assert_done(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    assert_true(starpool_model_violations(NULL) > 0);
    assert_done(cuStreamSynchronize(stream));
}

static void a_graphs_kernel_outside_the_life_of_its_memory_is_said(void **state)
{
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_graph graph = sp_test_graph();
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params;
    sp_cu_node alloc, node;
    sp_cu_ptr cells = sp_test_add_alloc(graph, N_CELLS * sizeof(int), NULL, 0, &alloc);

    (void)state;
    params = sp_test_add_params(&args, add, cells, N_CELLS, 1);
    assert_done(cuGraphAddKernelNode(&node, graph, &alloc, 1, &params));
    (void)sp_test_add_free(graph, cells, &node, 1);
    assert_done(cuGraphExecDestroy(sp_test_exec(graph, 0)));
    sp_test_assert_no_violations();
    assert_done(cuGraphAddKernelNode(&node, graph, &alloc, 1, &params)); /* beside the free */
    assert_done(cuGraphExecDestroy(sp_test_exec(graph, 0)));
    assert_int_equal(starpool_model_violations(NULL), 1);
}

/* A pool of device 1 that device 0 has no access to. */
static void a_kernel_that_does_not_reach_its_arguments_fails_when_it_runs(void **state)
{
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .location = {.type = SP_CU_LOCATION_DEVICE, .id = 1}};
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_context other;
    sp_cu_pool pool;
    sp_cu_ptr cells;

    (void)state;
    assert_done(cuMemPoolCreate(&pool, &props));
    assert_done(cuCtxCreate(&other, 0, 1));
    assert_done(cuMemAllocFromPoolAsync(&cells, 4096, pool, NULL));
    assert_done(cuCtxSynchronize());
    assert_done(cuCtxSetCurrent(sp_model.context));
    sp_test_hold(stream);
    sp_test_launch_add(add, cells, 1, 1, stream);
    sp_test_release();
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

/* The graph is launched in a stream of device 0, which does not reach the memory. */
static void a_graphs_kernels_run_on_their_own_devices(void **state)
{
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .location = {.type = SP_CU_LOCATION_DEVICE, .id = 1}};
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING), other;
    sp_cu_event event = sp_test_event(), back;
    sp_cu_function add;
    sp_cu_context context;
    sp_cu_graph graph;
    sp_cu_exec exec;
    sp_cu_pool pool;
    sp_cu_ptr cells;

    (void)state;
    assert_done(cuMemPoolCreate(&pool, &props));
    assert_done(cuCtxCreate(&context, 0, 1));
    other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    back = sp_test_event();
    add = sp_test_function(sp_test_module(), "test_add");
    assert_done(cuMemAllocFromPoolAsync(&cells, N_CELLS * sizeof(int), pool, other));
    assert_done(cuMemsetD32Async(cells, 0, N_CELLS, other));
    assert_done(cuStreamSynchronize(other));
    sp_test_begin(stream);
    sp_test_fork(stream, event, other);
    sp_test_launch_add(add, cells, N_CELLS, 4, other);
    sp_test_fork(other, back, stream);
    graph = sp_test_end(stream);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    sp_test_assert_cells(cells, N_CELLS, 4, other);
    sp_test_assert_no_violations();
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_captured_kernel_runs_at_each_launch_of_the_graph),
        SP_TEST_BOTH(a_captured_temporary_is_the_kernels),
        SP_TEST_BOTH(loading_modules_ends_captures_as_allocating_does),
        SP_TEST_BOTH(a_nodes_parameters_are_its_own),
        SP_TEST_BOTH(the_generic_calls_take_kernels),
        SP_TEST_BOTH(an_executables_kernel_can_be_changed_and_switched_off),
        SP_TEST_BOTH(an_update_takes_another_graphs_kernels),
        SP_TEST_BOTH(a_child_graphs_kernels_run_and_are_captured_along),
        SP_TEST_BOTH(a_launch_after_the_module_has_gone_is_refused),
        SP_TEST_BOTH(a_use_that_is_not_ordered_after_the_allocation_is_said),
        SP_TEST_BOTH(a_use_after_the_free_is_said_and_an_end_is_no_use),
        SP_TEST_BOTH(a_graphs_kernel_outside_the_life_of_its_memory_is_said),
        SP_TEST_BOTH(a_graphs_kernels_run_on_their_own_devices),
        SP_TEST_BOTH(a_kernel_that_does_not_reach_its_arguments_fails_when_it_runs),
    };

    sp_test_kernels();
    return cmocka_run_group_tests_name("model_kernel_graph", tests, NULL, NULL);
}
