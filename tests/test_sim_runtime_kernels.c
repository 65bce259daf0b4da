/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels and variables of the simulated CUDA runtime, registered by hand as programs compiled
 * by nvcc do in their constructors, with functions of the host for the kernels. */
#include "config.h"

#include "tests/sim_runtime_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/kernel.h>

#define N         100
#define SCALE     "_Z5scalePffi"
#define FORGOTTEN "_Z9forgottenv"

static const struct sp_rt_dim3 ONE = {1, 1, 1}, BLOCK = {128, 1, 1};

/* What nvcc's code calls. */
static struct {
    void **(*add_image)(void *binary);
    void (*end_image)(void **image);
    void (*remove_image)(void **image);
    char (*init_module)(void **image);
    void (*add_function)(void **image, const char *host, char *device, const char *name,
                         int thread_limit, void *thread, void *block, void *block_size,
                         void *grid_size, int *warp_size);
    void (*add_variable)(void **image, char *host, char *device, const char *name,
                         int is_external, size_t size, int is_constant, int is_global);
    void (*add_managed)(void **image, void **host, char *device, const char *name,
                        int is_external, size_t size, int is_constant, int is_global);
    unsigned (*push)(struct sp_rt_dim3 grid, struct sp_rt_dim3 block, size_t shared_bytes,
                     sp_cu_stream stream);
} nvcc;

/* The program's image, and the addresses that stand for what is in it. */
static void **image;
static const char scale[1], count_threads[1], forgotten[1], stranger[1];
static char variable[1];
static int *managed;

/* ---- stand-ins ----------------------------------------------------------------------- */

/* scale(float *values, float factor, int n) */
static void run_scale(const struct starpool_kernel_launch *launch)
{
    float *values = *(float **)launch->args[0];
    float factor = *(const float *)launch->args[1];
    int n = *(const int *)launch->args[2];

    for (int i = 0; i < n; i++)
        values[i] *= factor;
}

/* count(unsigned *count): how many threads there have been. */
static void run_count(const struct starpool_kernel_launch *launch)
{
    unsigned *count = *(unsigned **)launch->args[0];

    *count += launch->grid[0] * launch->grid[1] * launch->grid[2] * launch->block[0] *
              launch->block[1] * launch->block[2];
}

static void register_image(void)
{
    static char binary[16];

    image = nvcc.add_image(binary);
    assert_non_null(image);
    nvcc.add_function(image, scale, NULL, SCALE, -1, NULL, NULL, NULL, NULL, NULL);
    nvcc.add_function(image, forgotten, NULL, FORGOTTEN, -1, NULL, NULL, NULL, NULL, NULL);
    nvcc.add_function(image, count_threads, NULL, "_Z5countPj", -1, NULL, NULL, NULL, NULL,
                      NULL);
    nvcc.add_variable(image, variable, NULL, "variable", 0, 4 * sizeof(int), 0, 0);
    nvcc.add_managed(image, (void **)&managed, NULL, "managed", 0, sizeof(int), 0, 0);
    nvcc.end_image(image);
}

static int load(void **state)
{
    static const size_t scale_sizes[] = {sizeof(float *), sizeof(float), sizeof(int)};
    static const size_t count_sizes[] = {sizeof(unsigned *)};
    int result = sim_load(state);

    if (result != 0)
        return result;
    sim_find(rt.handle, "__cudaRegisterFatBinary", &nvcc.add_image);
    sim_find(rt.handle, "__cudaRegisterFatBinaryEnd", &nvcc.end_image);
    sim_find(rt.handle, "__cudaUnregisterFatBinary", &nvcc.remove_image);
    sim_find(rt.handle, "__cudaInitModule", &nvcc.init_module);
    sim_find(rt.handle, "__cudaRegisterFunction", &nvcc.add_function);
    sim_find(rt.handle, "__cudaRegisterVar", &nvcc.add_variable);
    sim_find(rt.handle, "__cudaRegisterManagedVar", &nvcc.add_managed);
    sim_find(rt.handle, "__cudaPushCallConfiguration", &nvcc.push);
    if (starpool_model_add_kernel(SCALE, scale_sizes, 3, run_scale) != STARPOOL_OK ||
        starpool_model_add_kernel("_Z5countPj", count_sizes, 1, run_count) != STARPOOL_OK)
        return -1;
    return 0;
}

/* The model begins anew, and so do handles of its kernels. */
static int setup(void **state)
{
    int result = sim_setup(state);

    if (result == 0)
        register_image();
    return result;
}

static int teardown(void **state)
{
    (void)state;
    nvcc.remove_image(image);
    return 0;
}

/* ---- launches ------------------------------------------------------------------------ */

/* 0, 1, 2 and so on, N of them. */
static float *device_floats(void)
{
    float values[N];
    void *device;

    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    assert_done(rt.cudaMalloc(&device, sizeof(values)));
    assert_done(rt.cudaMemcpy(device, values, sizeof(values), SP_RT_HOST_TO_DEVICE));
    return device;
}

static void assert_scaled(const float *device, float factor)
{
    float values[N];

    assert_done(rt.cudaMemcpy(values, device, sizeof(values), SP_RT_DEVICE_TO_HOST));
    for (int i = 0; i < N; i++)
        assert_true(values[i] == (float)i * factor);
}

static void a_launch_runs_what_stands_in_for_the_kernel(void **state)
{
    float *values = device_floats(), factor = 2;
    int n = N;
    void *args[] = {&values, &factor, &n};

    (void)state;
    assert_done(rt.cudaLaunchKernel(scale, ONE, BLOCK, args, 0, NULL));
    assert_done(rt.cudaDeviceSynchronize());
    assert_scaled(values, 2);
    assert_done(rt.cudaPeekAtLastError());
}

static void arguments_are_those_of_the_time_of_the_launch(void **state)
{
    float *values = device_floats(), factor = 3;
    int n = N, launched;
    void *args[] = {&values, &factor, &n};

    (void)state;
    sim_close_gate(NULL);
    launched = rt.cudaLaunchKernel(scale, ONE, BLOCK, args, 0, NULL);
    factor = 100;
    sim_open_gate();
    assert_done(launched);
    assert_scaled(values, 3);
}

/* For everybody who asks, whether no program knows it or nothing stands in for it. */
static void a_kernel_that_is_not_there_is_an_invalid_function(void **state)
{
    struct sp_rt_function attributes;

    (void)state;
    assert_rt(98, rt.cudaLaunchKernel(forgotten, ONE, BLOCK, NULL, 0, NULL));
    assert_rt(98, rt.cudaGetLastError());
    assert_rt(98, rt.cudaLaunchKernel(stranger, ONE, BLOCK, NULL, 0, NULL));
    assert_rt(98, rt.cudaLaunchKernel(NULL, ONE, BLOCK, NULL, 0, NULL));
    assert_rt(98, rt.cudaFuncGetAttributes(&attributes, forgotten));
    assert_rt(98, rt.cudaFuncSetAttribute(stranger, 8, 0));
}

static void a_shape_that_no_kernel_has_is_an_invalid_configuration(void **state)
{
    static const struct sp_rt_dim3 none = {0, 1, 1}, large = {1024, 2, 1};
    float *values = device_floats(), factor = 2;
    int n = N;
    void *args[] = {&values, &factor, &n};

    (void)state;
    assert_rt(9, rt.cudaLaunchKernel(scale, none, BLOCK, args, 0, NULL));
    assert_rt(9, rt.cudaLaunchKernel(scale, ONE, none, args, 0, NULL));
    assert_rt(9, rt.cudaLaunchKernel(scale, ONE, large, args, 0, NULL));
    assert_scaled(values, 1);
}

static void launches_are_configured_one_inside_another(void **state)
{
    struct sp_rt_dim3 grid, block;
    sp_cu_stream stream;
    size_t shared_bytes;

    (void)state;
    assert_int_equal(nvcc.push(ONE, BLOCK, 16, NULL), 0);
    assert_int_equal(nvcc.push(BLOCK, ONE, 32, SP_CU_STREAM_PER_THREAD), 0);
    assert_done(rt.__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
    assert_int_equal(grid.x, 128);
    assert_int_equal(shared_bytes, 32);
    assert_ptr_equal(stream, SP_CU_STREAM_PER_THREAD);
    assert_done(rt.__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
    assert_int_equal(grid.x, 1);
    assert_int_equal(block.x, 128);
    assert_int_equal(shared_bytes, 16);
    assert_null(stream);
    assert_rt(52, rt.__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
}

/* nvcc 13 asks for a handle once, and launches by it ever after. */
static void handles_of_kernels_do_in_their_place(void **state)
{
    float *values = device_floats(), factor = 2;
    struct sp_rt_launch_config config = {.grid = ONE, .block = BLOCK};
    const char *name = NULL;
    int n = N;
    void *args[] = {&values, &factor, &n};
    void *kernel = NULL, *other = NULL;

    (void)state;
    assert_done(rt.__cudaGetKernel(&kernel, scale));
    assert_done(rt.__cudaLaunchKernel(kernel, ONE, BLOCK, args, 0, NULL));
    assert_done(rt.cudaLaunchKernelExC(&config, scale, args));
    assert_done(rt.cudaLaunchKernelExC_ptsz(&config, kernel, args));
    assert_done(rt.cudaDeviceSynchronize());
    assert_scaled(values, 8);
    assert_done(rt.cudaFuncGetName(&name, scale));
    assert_string_equal(name, SCALE);
    assert_rt(98, rt.__cudaGetKernel(&other, forgotten));
    assert_null(other);
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaLaunchKernelExC(NULL, scale, args));
}

static void a_kernel_runs_on_every_device(void **state)
{
    float factor = 2, *nothing = NULL;
    int n = N;
    void *no_args[] = {&nothing, &factor, &n};

    (void)state;
    for (int device = 0; device < 2; device++) {
        float *values;
        void *args[] = {&values, &factor, &n};

        assert_done(rt.cudaSetDevice(device));
        values = device_floats();
        assert_done(rt.cudaLaunchKernel(scale, ONE, BLOCK, args, 0, NULL));
        assert_done(rt.cudaDeviceSynchronize());
        assert_scaled(values, 2);
    }
    /* Nor does a reset of the device take it away. */
    assert_done(rt.cudaDeviceReset());
    n = 0;
    assert_done(rt.cudaLaunchKernel(scale, ONE, BLOCK, no_args, 0, NULL));
    assert_done(rt.cudaDeviceSynchronize());
}

static void kernels_tell_what_they_take(void **state)
{
    struct sp_rt_function attributes;
    size_t offset = 99, size = 99;
    int n_blocks = 0;

    (void)state;
    assert_done(rt.cudaFuncGetAttributes(&attributes, scale));
    assert_int_equal(attributes.max_threads, 1024);
    assert_true(attributes.n_registers > 0);
    assert_done(rt.cudaFuncGetParamInfo(scale, 1, &offset, &size));
    assert_int_equal(offset, 8);
    assert_int_equal(size, sizeof(float));
    assert_done(rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_blocks, scale, 128, 0));
    assert_true(n_blocks > 0);
    assert_done(rt.cudaFuncSetCacheConfig(scale, 1));
    assert_done(rt.cudaOccupancyAvailableDynamicSMemPerBlock(&size, scale, 2, 128));
    assert_true(size > 0);
}

static void what_is_unregistered_is_gone(void **state)
{
    size_t size = 0;

    (void)state;
    nvcc.remove_image(image);
    assert_rt(98, rt.cudaLaunchKernel(scale, ONE, BLOCK, NULL, 0, NULL));
    assert_rt(13, rt.cudaGetSymbolSize(&size, variable));
    register_image();
    assert_done(rt.cudaGetSymbolSize(&size, variable));
    assert_int_equal(size, 4 * sizeof(int));
}

/* ---- nodes --------------------------------------------------------------------------- */

static void captured_launches_are_nodes_that_name_the_host_function(void **state)
{
    float *values = device_floats(), factor = 2;
    struct sp_rt_kernel_params params;
    int n = N;
    void *args[] = {&values, &factor, &n};
    sp_cu_stream stream;
    sp_cu_graph graph;
    sp_cu_node node;
    sp_cu_exec exec;
    size_t n_nodes = 1;

    (void)state;
    assert_done(rt.cudaStreamCreate(&stream));
    assert_done(rt.cudaStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_GLOBAL));
    assert_done(rt.cudaLaunchKernel(scale, ONE, BLOCK, args, 0, stream));
    assert_done(rt.cudaStreamEndCapture(stream, &graph));
    assert_done(rt.cudaGraphGetNodes(graph, &node, &n_nodes));
    assert_int_equal(n_nodes, 1);
    assert_done(rt.cudaGraphKernelNodeGetParams(node, &params));
    assert_ptr_equal(params.function, scale);
    assert_int_equal(params.block.x, 128);
    assert_scaled(values, 1);
    assert_done(rt.cudaGraphInstantiate(&exec, graph, 0));
    assert_done(rt.cudaGraphLaunch(exec, stream));
    factor = 5;
    params.args = args;
    assert_done(rt.cudaGraphExecKernelNodeSetParams(exec, node, &params));
    assert_done(rt.cudaGraphLaunch(exec, stream));
    assert_done(rt.cudaStreamSynchronize(stream));
    assert_scaled(values, 10);
    assert_done(rt.cudaGraphExecDestroy(exec));
    assert_done(rt.cudaGraphDestroy(graph));
    assert_done(rt.cudaStreamDestroy(stream));
}

static void nodes_of_kernels_are_added_in_two_ways(void **state)
{
    void *count = sim_device_memory(sizeof(unsigned), 0);
    void *args[] = {&count};
    struct sp_rt_kernel_params params = {
        .function = count_threads, .grid = {2, 1, 1}, .block = {8, 1, 1}, .args = args};
    struct sp_rt_node_params generic = {.type = SP_CU_NODE_KERNEL, .kernel = params};
    sp_cu_graph graph;
    sp_cu_node first, second;
    sp_cu_exec exec;
    unsigned found = 0;

    (void)state;
    assert_done(rt.cudaGraphCreate(&graph, 0));
    assert_done(rt.cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    assert_done(rt.cudaGraphAddNode(&second, graph, &first, NULL, 1, &generic));
    params.function = forgotten;
    assert_rt(98, rt.cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    assert_done(rt.cudaGraphInstantiate(&exec, graph, 0));
    assert_done(rt.cudaGraphLaunch(exec, NULL));
    assert_done(rt.cudaMemcpy(&found, count, sizeof(found), SP_RT_DEVICE_TO_HOST));
    assert_int_equal(found, 32);
    assert_done(rt.cudaGraphExecDestroy(exec));
    assert_done(rt.cudaGraphDestroy(graph));
}

static void a_graph_is_drawn(void **state)
{
    char path[] = "sim-dot-XXXXXX", text[1024];
    int file = mkstemp(path);
    sp_cu_graph graph;
    sp_cu_node first, second;
    size_t size;
    FILE *drawn;

    (void)state;
    assert_true(file >= 0);
    assert_done(rt.cudaGraphCreate(&graph, 0));
    assert_done(rt.cudaGraphAddEmptyNode(&first, graph, NULL, 0));
    assert_done(rt.cudaGraphAddEmptyNode(&second, graph, &first, 1));
    assert_done(rt.cudaGraphDebugDotPrint(graph, path, 0));
    drawn = fdopen(file, "r");
    assert_non_null(drawn);
    size = fread(text, 1, sizeof(text) - 1, drawn);
    text[size] = '\0';
    assert_int_equal(fclose(drawn), 0);
    assert_int_equal(remove(path), 0);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "[label=\"empty\"]"));
    assert_non_null(strstr(text, " -> "));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaGraphDebugDotPrint(graph, NULL, 0));
    assert_done(rt.cudaGraphDestroy(graph));
}

/* ---- variables ----------------------------------------------------------------------- */

static void a_variable_has_memory_on_every_device(void **state)
{
    int values[4] = {1, 2, 3, 4}, found[4] = {9, 9, 9, 9};
    void *first, *second, *again;

    (void)state;
    assert_done(rt.cudaGetSymbolAddress(&first, variable));
    assert_done(
        rt.cudaMemcpyFromSymbol(found, variable, sizeof(found), 0, SP_RT_DEVICE_TO_HOST));
    assert_int_equal(found[3], 0);
    assert_done(
        rt.cudaMemcpyToSymbol(variable, values, sizeof(values), 0, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaSetDevice(1));
    assert_done(rt.cudaGetSymbolAddress(&second, variable));
    assert_ptr_not_equal(first, second);
    assert_done(rt.cudaSetDevice(0));
    assert_done(rt.cudaGetSymbolAddress(&again, variable));
    assert_ptr_equal(first, again);
    assert_done(rt.cudaMemcpyFromSymbol(found, variable, 2 * sizeof(int), 2 * sizeof(int),
                                        SP_RT_DEVICE_TO_HOST));
    assert_int_equal(found[0], 3);
    assert_int_equal(found[1], 4);
}

static void what_is_not_of_a_variable_is_refused(void **state)
{
    int values[4] = {0};
    size_t size = 7;

    (void)state;
    assert_rt(13, rt.cudaGetSymbolSize(&size, stranger));
    assert_int_equal(size, 7);
    assert_rt(13, rt.cudaMemcpyToSymbol(stranger, values, 4, 0, SP_RT_HOST_TO_DEVICE));
    assert_rt(SP_CU_INVALID_VALUE,
              rt.cudaMemcpyToSymbol(variable, values, 16, 4, SP_RT_HOST_TO_DEVICE));
    assert_rt(SP_CU_INVALID_VALUE,
              rt.cudaMemcpyFromSymbol(values, variable, 16, 0, SP_RT_HOST_TO_DEVICE));
}

static void a_variable_is_made_anew_after_a_reset(void **state)
{
    int values[4] = {1, 2, 3, 4};

    (void)state;
    assert_done(
        rt.cudaMemcpyToSymbol(variable, values, sizeof(values), 0, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaDeviceReset());
    assert_done(
        rt.cudaMemcpyFromSymbol(values, variable, sizeof(values), 0, SP_RT_DEVICE_TO_HOST));
    assert_int_equal(values[0], 0);
}

static void the_first_use_of_a_variable_ends_no_capture(void **state)
{
    int status = -1;
    sp_cu_stream stream;
    sp_cu_graph graph;
    void *ptr;

    (void)state;
    assert_done(rt.cudaStreamCreate(&stream));
    assert_done(rt.cudaStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_GLOBAL));
    assert_done(rt.cudaGetSymbolAddress(&ptr, variable));
    assert_done(rt.cudaMemcpyToSymbolAsync(variable, &status, sizeof(status), 0,
                                           SP_RT_HOST_TO_DEVICE, stream));
    assert_done(rt.cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    assert_done(rt.cudaStreamEndCapture(stream, &graph));
    assert_done(rt.cudaGraphDestroy(graph));
    assert_done(rt.cudaStreamDestroy(stream));
}

static void nodes_copy_to_and_from_variables(void **state)
{
    int values[4] = {5, 6, 7, 8}, found[4] = {0};
    sp_cu_graph graph;
    sp_cu_node first, second;
    sp_cu_exec exec;

    (void)state;
    assert_done(rt.cudaGraphCreate(&graph, 0));
    assert_done(rt.cudaGraphAddMemcpyNodeToSymbol(&first, graph, NULL, 0, variable, values, 16,
                                                  0, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaGraphAddMemcpyNodeFromSymbol(&second, graph, &first, 1, found, variable,
                                                    8, 8, SP_RT_DEVICE_TO_HOST));
    assert_done(rt.cudaGraphInstantiate(&exec, graph, 0));
    assert_done(rt.cudaGraphLaunch(exec, NULL));
    assert_done(rt.cudaStreamSynchronize(NULL));
    assert_int_equal(found[0], 7);
    assert_int_equal(found[1], 8);
    assert_done(rt.cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, second, found, variable, 8,
                                                              0, SP_RT_DEVICE_TO_HOST));
    assert_done(rt.cudaGraphLaunch(exec, NULL));
    assert_done(rt.cudaStreamSynchronize(NULL));
    assert_int_equal(found[0], 5);
    assert_done(rt.cudaGraphExecDestroy(exec));
    assert_done(rt.cudaGraphDestroy(graph));
}

static void managed_variables_are_seen_from_the_host(void **state)
{
    size_t size = 0;
    int value = 42;

    (void)state;
    managed = NULL;
    assert_int_equal(nvcc.init_module(image), 1);
    assert_non_null(managed);
    assert_int_equal(*managed, 0);
    assert_done(rt.cudaMemcpyToSymbol(managed, &value, sizeof(value), 0, SP_RT_HOST_TO_DEVICE));
    assert_int_equal(*managed, 42);
    assert_done(rt.cudaGetSymbolSize(&size, managed));
    assert_int_equal(size, sizeof(int));
}

/* ---- threads ------------------------------------------------------------------------- */

#define N_THREADS 4
#define N_ROUNDS  50

/* An image comes and goes, and another's kernel and variable are used; the first error. */
static void *register_and_launch(void *arg)
{
    const char *host = arg;
    int error = rt.cudaSetDevice(*host % 2);

    for (int i = 0; i < N_ROUNDS && error == 0; i++) {
        void **own = nvcc.add_image(arg);
        float *values = NULL, factor = 1;
        int n = 0;
        void *args[] = {&values, &factor, &n};
        void *ptr;

        nvcc.add_function(own, host, NULL, SCALE, -1, NULL, NULL, NULL, NULL, NULL);
        error = rt.cudaLaunchKernel(host, ONE, BLOCK, args, 0, NULL);
        if (error == 0)
            error = rt.cudaLaunchKernel(scale, ONE, BLOCK, args, 0, NULL);
        if (error == 0)
            error = rt.cudaGetSymbolAddress(&ptr, variable);
        nvcc.remove_image(own);
    }
    return (void *)(intptr_t)(error != 0 ? error : rt.cudaDeviceSynchronize());
}

static void threads_register_and_launch_at_once(void **state)
{
    static const char hosts[N_THREADS][1] = {{0}, {1}, {2}, {3}};
    pthread_t threads[N_THREADS];
    void *errors[N_THREADS];

    (void)state;
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, register_and_launch, (void *)(uintptr_t)hosts[i]),
            0);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], &errors[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_done((int)(intptr_t)errors[i]);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_launch_runs_what_stands_in_for_the_kernel),
        CASE(arguments_are_those_of_the_time_of_the_launch),
        CASE(a_kernel_that_is_not_there_is_an_invalid_function),
        CASE(a_shape_that_no_kernel_has_is_an_invalid_configuration),
        CASE(launches_are_configured_one_inside_another),
        CASE(handles_of_kernels_do_in_their_place),
        CASE(a_kernel_runs_on_every_device),
        CASE(kernels_tell_what_they_take),
        CASE(what_is_unregistered_is_gone),
        CASE(captured_launches_are_nodes_that_name_the_host_function),
        CASE(nodes_of_kernels_are_added_in_two_ways),
        CASE(a_graph_is_drawn),
        CASE(a_variable_has_memory_on_every_device),
        CASE(what_is_not_of_a_variable_is_refused),
        CASE(a_variable_is_made_anew_after_a_reset),
        CASE(the_first_use_of_a_variable_ends_no_capture),
        CASE(nodes_copy_to_and_from_variables),
        CASE(managed_variables_are_seen_from_the_host),
        CASE(threads_register_and_launch_at_once),
    };

    return cmocka_run_group_tests_name("sim_runtime_kernels", tests, load, NULL);
}
