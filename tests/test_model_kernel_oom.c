/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modules and kernels of the model without memory: each allocation of a call fails in turn, and
 * then nothing has changed. The program is linked with --wrap=calloc, --wrap=malloc and
 * --wrap=realloc. */
#include "config.h"

#include "tests/kernel_fixture.h"
#include "tests/model_capture_fixture.h"

#include <stdlib.h>

#define N_CELLS 10

/* ---- allocations that fail --------------------------------------------------------------- */

/* The linker puts these before the allocator's own (--wrap). Of the next allocations of this
 * thread so many succeed, and then one does not; below 0: all do. */
static __thread long n_until_failure = -1;

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails_now(void)
{
    return n_until_failure >= 0 && n_until_failure-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

/* ---- the calls --------------------------------------------------------------------------- */

/* What a call is about, and where it writes. */
static struct {
    sp_cu_module module, module_out;
    sp_cu_function add, function_out;
    sp_cu_graph graph, graph_out;
    sp_cu_node node, node_out;
    sp_cu_exec exec, exec_out;
    sp_cu_stream stream, capturing;
    sp_cu_ptr cells;
} it;

static sp_cu_result try_load(void)
{
    return sp_model.driver->cuModuleLoadData(&it.module_out, "image");
}

static sp_cu_result try_look_up(void)
{
    return sp_model.driver->cuModuleGetFunction(&it.function_out, it.module, "test_move");
}

static sp_cu_result launch(sp_cu_stream stream)
{
    int n = N_CELLS, value = 1;
    void *args[] = {&it.cells, &n, &value};

    return sp_model.driver->cuLaunchKernel(it.add, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

static sp_cu_result try_launch(void)
{
    return launch(it.stream);
}

static sp_cu_result try_capture(void)
{
    return launch(it.capturing);
}

static sp_cu_result try_add(void)
{
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params =
        sp_test_add_params(&args, it.add, it.cells, N_CELLS, 100);

    return sp_model.driver->cuGraphAddKernelNode(&it.node_out, it.graph, &it.node, 1, &params);
}

static sp_cu_result try_set(void)
{
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params =
        sp_test_add_params(&args, it.add, it.cells, N_CELLS, 1000);

    return sp_model.driver->cuGraphKernelNodeSetParams(it.node, &params);
}

static sp_cu_result try_clone(void)
{
    return sp_model.driver->cuGraphClone(&it.graph_out, it.graph);
}

static sp_cu_result try_instantiate(void)
{
    return sp_model.driver->cuGraphInstantiate(&it.exec_out, it.graph, 0);
}

static sp_cu_result try_captured_launch(void)
{
    return sp_model.driver->cuGraphLaunch(it.exec, it.capturing);
}

/* How many allocations the call makes until it succeeds. */
static long fail_in_turn(sp_cu_result (*call)(void))
{
    sp_cu_result result = SP_CU_OUT_OF_MEMORY;
    long n = 0;

    for (; result != SP_CU_SUCCESS; n++) {
        n_until_failure = n;
        result = call();
        n_until_failure = -1;
        if (result == SP_CU_SUCCESS)
            break;
        assert_int_equal(result, SP_CU_OUT_OF_MEMORY);
        assert_null(it.module_out);
        assert_null(it.function_out);
        assert_null(it.node_out);
        assert_null(it.graph_out);
        assert_null(it.exec_out);
    }
    return n;
}

static void prepare(void)
{
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params;

    it.module = sp_test_module();
    it.add = sp_test_function(it.module, "test_add");
    it.cells = sp_test_cells(N_CELLS);
    it.stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    it.capturing = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    it.graph = sp_test_graph();
    params = sp_test_add_params(&args, it.add, it.cells, N_CELLS, 10);
    assert_done(cuGraphAddKernelNode(&it.node, it.graph, NULL, 0, &params));
    it.exec = sp_test_exec(it.graph, 0);
    it.module_out = NULL;
    it.function_out = NULL;
    it.node_out = NULL;
    it.graph_out = NULL;
    it.exec_out = NULL;
}

/* All that succeeded in the end was done once. */
static void check_sums(void)
{
    sp_cu_graph captured;

    sp_test_assert_cells(it.cells, N_CELLS, 1, it.stream);
    assert_done(cuGraphLaunch(it.exec_out, it.stream));
    sp_test_assert_cells(it.cells, N_CELLS, 1101, it.stream);
    captured = sp_test_end(it.capturing);
    assert_done(cuGraphLaunch(sp_test_exec(captured, 0), it.stream));
    sp_test_assert_cells(it.cells, N_CELLS, 1112, it.stream);
    assert_done(cuGraphDestroy(captured));
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    prepare();
    assert_true(fail_in_turn(try_load) > 0);
    it.module_out = NULL;
    sp_test_begin(it.capturing);
    assert_true(fail_in_turn(try_look_up) > 0);
    it.function_out = NULL;
    assert_true(fail_in_turn(try_launch) > 0);
    assert_true(fail_in_turn(try_capture) > 0);
    assert_true(fail_in_turn(try_add) > 0);
    it.node_out = NULL;
    assert_true(fail_in_turn(try_set) > 0);
    assert_true(fail_in_turn(try_clone) > 0);
    assert_done(cuGraphDestroy(it.graph_out));
    it.graph_out = NULL;
    assert_true(fail_in_turn(try_captured_launch) > 0);
    assert_true(fail_in_turn(try_instantiate) > 0);
    check_sums();
    assert_done(cuGraphDestroy(it.graph));
    sp_test_assert_no_violations();
}

int main(void)
{
    const struct CMUnitTest tests[] = {SP_TEST_BOTH(without_memory_nothing_changes)};

    sp_test_kernels();
    return cmocka_run_group_tests_name("model_kernel_oom", tests, NULL, NULL);
}
