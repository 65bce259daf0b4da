/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What differs between the versions of the CUDA runtime, which are here in one process: layouts
 * of structures; the forms that functions have in 11 and 12 and not in 13 any more, each called
 * as programs of that version call it; and the driver's entry points by way of each version. */
#include "config.h"

#include "tests/sim_runtime_fixture.h"

#include <string.h>

#include "src/sim/runtime_props.h"

#define KIB ((size_t)1 << 10)

/* ---- all ----------------------------------------------------------------------------- */

static void each_version_says_which_it_is(void **state)
{
    static const int expected[] = {11080, 12080, 13000};
    void *handles[] = {sim_runtime_11, sim_runtime_12, rt.handle};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int (*get_version)(int *version_out);
        int version = 0;

        sim_find(handles[i], "cudaRuntimeGetVersion", &get_version);
        assert_done(get_version(&version));
        assert_int_equal(version, expected[i]);
    }
}

/* A cudaDeviceProp of so many bytes, written by a function, and nothing behind it. */
static void check_props(void *handle, const char *name, size_t size, unsigned char *props)
{
    int (*get_props)(void *props_out, int device);

    sim_find(handle, name, &get_props);
    memset(props, 0xa5, 2048);
    assert_done(get_props(props, 1));
    assert_string_equal((char *)props, "starpool simulated");
    for (size_t i = size; i < 2048; i++)
        assert_int_equal(props[i], 0xa5);
    assert_int_not_equal(props[size - 1], 0xa5);
    assert_rt(SP_CU_INVALID_DEVICE, get_props(props, 2));
    assert_rt(SP_CU_INVALID_VALUE, get_props(NULL, 0));
}

static uint64_t number_at(const unsigned char *props, size_t offset, size_t size)
{
    uint64_t number = 0;

    memcpy(&number, props + offset, size);
    return number;
}

static void properties_have_the_layout_of_their_version(void **state)
{
    unsigned char props[2048];
    struct sp_rt_props found;

    (void)state;
    check_props(sim_runtime_12, "cudaGetDeviceProperties", 728, props);
    check_props(sim_runtime_12, "cudaGetDeviceProperties_v2", 1032, props);
    check_props(sim_runtime_11, "cudaGetDeviceProperties", 728, props);
    /* Where Debian's StarPU looks. */
    assert_int_equal(number_at(props, 288, 8), 1 << 30);
    assert_int_equal(number_at(props, 360, 4), 8);
    assert_int_equal(number_at(props, 404, 4), 0);
    assert_int_equal(number_at(props, 576, 4), 1);
    assert_int_equal(number_at(props, 584, 4), 0xf1);
    check_props(rt.handle, "cudaGetDeviceProperties", 1008, props);
    memcpy(&found, props, sizeof(found));
    assert_int_equal(found.total_bytes, 1 << 30);
    assert_int_equal(found.warp, 32);
    assert_int_equal(found.major, 8);
    assert_int_equal(found.block_threads, 1024);
    assert_int_equal(found.pci_bus, 0xf1);
    assert_int_equal(found.pools, 1);
}

static void pointers_are_described_in_the_layout_of_their_version(void **state)
{
    void *handles[] = {sim_runtime_11, sim_runtime_12, rt.handle};
    static const size_t sizes[] = {24, 24, 88};
    void *ptr = sim_device_memory(KIB, 0);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int (*describe)(void *attributes_out, const void *ptr);
        unsigned char bytes[128];

        sim_find(handles[i], "cudaPointerGetAttributes", &describe);
        memset(bytes, 0xa5, sizeof(bytes));
        assert_done(describe(bytes, ptr));
        assert_int_equal(number_at(bytes, 0, 4), SP_RT_MEMORY_DEVICE);
        assert_int_equal(number_at(bytes, 8, 8), (uintptr_t)ptr);
        assert_int_equal(bytes[sizes[i]], 0xa5);
        assert_int_not_equal(bytes[sizes[i] - 1], 0xa5);
    }
}

static void versions_in_one_process_share_the_devices(void **state)
{
    int (*alloc)(void **ptr_out, size_t size), (*get_error)(void), (*release)(void *ptr);
    void *ptr = NULL;
    char text[8] = "";

    (void)state;
    sim_find(sim_runtime_11, "cudaMalloc", &alloc);
    sim_find(sim_runtime_11, "cudaFree", &release);
    sim_find(sim_runtime_11, "cudaGetLastError", &get_error);
    (void)get_error();
    assert_done(alloc(&ptr, KIB));
    assert_done(rt.cudaMemcpy(ptr, "version", 8, SP_RT_HOST_TO_DEVICE));
    assert_done(rt.cudaMemcpy(text, ptr, 8, SP_RT_DEVICE_TO_HOST));
    assert_string_equal(text, "version");
    assert_done(release(ptr));
    /* Each remembers its own errors. */
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaFree(ptr));
    assert_done(get_error());
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaGetLastError());
}

/* ---- older forms --------------------------------------------------------------------- */

/* What a version has in a form of its own; the names are those that programs import. */
static struct {
    int (*cudaStreamGetCaptureInfo)(sp_cu_stream stream, int *status_out,
                                    unsigned long long *id_out);
    int (*cudaStreamGetCaptureInfo_v2)(sp_cu_stream stream, int *status_out,
                                       unsigned long long *id_out, sp_cu_graph *graph_out,
                                       const sp_cu_node **dependencies_out,
                                       size_t *n_dependencies_out);
    int (*cudaStreamUpdateCaptureDependencies)(sp_cu_stream stream, sp_cu_node *dependencies,
                                               size_t n_dependencies, unsigned flags);
    int (*cudaGraphGetEdges)(sp_cu_graph graph, sp_cu_node *from_out, sp_cu_node *to_out,
                             size_t *n_edges);
    int (*cudaGraphNodeGetDependencies)(sp_cu_node node, sp_cu_node *nodes_out,
                                        size_t *n_nodes);
    int (*cudaGraphNodeGetDependentNodes)(sp_cu_node node, sp_cu_node *nodes_out,
                                          size_t *n_nodes);
    int (*cudaGraphAddDependencies)(sp_cu_graph graph, const sp_cu_node *from,
                                    const sp_cu_node *to, size_t n_edges);
    int (*cudaGraphRemoveDependencies)(sp_cu_graph graph, const sp_cu_node *from,
                                       const sp_cu_node *to, size_t n_edges);
    int (*cudaMemPrefetchAsync)(const void *ptr, size_t length, int device,
                                sp_cu_stream stream);
    int (*cudaMemAdvise)(const void *ptr, size_t length, int advice, int device);
    int (*cudaThreadSynchronize)(void);
} old;

/* Both 11 and 12 have them. */
static void *const *const handles[] = {&sim_runtime_11, &sim_runtime_12};
static const size_t N_HANDLES = sizeof(handles) / sizeof(handles[0]);

static void use(void *handle)
{
#define FIND(name) sim_find(handle, #name, &old.name)
    FIND(cudaStreamGetCaptureInfo);
    FIND(cudaStreamGetCaptureInfo_v2);
    FIND(cudaStreamUpdateCaptureDependencies);
    FIND(cudaGraphGetEdges);
    FIND(cudaGraphNodeGetDependencies);
    FIND(cudaGraphNodeGetDependentNodes);
    FIND(cudaGraphAddDependencies);
    FIND(cudaGraphRemoveDependencies);
    FIND(cudaMemPrefetchAsync);
    FIND(cudaMemAdvise);
    FIND(cudaThreadSynchronize);
#undef FIND
}

/* A graph of two empty nodes, the second after the first. */
static sp_cu_graph pair_of_nodes(sp_cu_node *first_out, sp_cu_node *second_out)
{
    sp_cu_graph graph;

    assert_done(rt.cudaGraphCreate(&graph, 0));
    assert_done(rt.cudaGraphAddEmptyNode(first_out, graph, NULL, 0));
    assert_done(rt.cudaGraphAddEmptyNode(second_out, graph, first_out, 1));
    return graph;
}

/* ---- 11 and 12 ----------------------------------------------------------------------- */

static void check_captures(void)
{
    unsigned long long id = 0, same_id = 0;
    const sp_cu_node *dependencies = NULL;
    sp_cu_graph graph = NULL, captured = NULL;
    size_t n_dependencies = 9;
    sp_cu_stream stream;
    int status = -1;
    void *ptr;

    assert_done(rt.cudaStreamCreate(&stream));
    assert_done(old.cudaStreamGetCaptureInfo(stream, &status, &id));
    assert_int_equal(status, SP_CU_CAPTURE_NONE);
    assert_done(rt.cudaStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(rt.cudaMallocAsync(&ptr, KIB, stream));
    assert_done(old.cudaStreamGetCaptureInfo(stream, &status, &id));
    assert_done(old.cudaStreamGetCaptureInfo_v2(stream, &status, &same_id, &graph,
                                                &dependencies, &n_dependencies));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    assert_true(id == same_id && id != 0);
    assert_int_equal(n_dependencies, 1);
    assert_done(old.cudaStreamUpdateCaptureDependencies(stream, NULL, 0,
                                                        SP_CU_CAPTURE_SET_DEPENDENCIES));
    assert_done(
        old.cudaStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, NULL, &n_dependencies));
    assert_int_equal(n_dependencies, 0);
    assert_done(rt.cudaStreamEndCapture(stream, &captured));
    assert_ptr_equal(captured, graph);
    assert_done(rt.cudaGraphDestroy(graph));
    assert_done(rt.cudaStreamDestroy(stream));
}

static void captures_are_told_of_without_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_HANDLES; i++) {
        use(*handles[i]);
        check_captures();
    }
}

static void check_edges(void)
{
    sp_cu_node first, second, from = NULL, to = NULL;
    sp_cu_graph graph = pair_of_nodes(&first, &second);
    size_t n = 1;

    assert_done(old.cudaGraphGetEdges(graph, &from, &to, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(from, first);
    assert_ptr_equal(to, second);
    assert_done(old.cudaGraphNodeGetDependencies(second, &from, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(from, first);
    assert_done(old.cudaGraphNodeGetDependentNodes(second, NULL, &n));
    assert_int_equal(n, 0);
    assert_done(old.cudaGraphRemoveDependencies(graph, &first, &second, 1));
    assert_done(old.cudaGraphGetEdges(graph, NULL, NULL, &n));
    assert_int_equal(n, 0);
    assert_done(old.cudaGraphAddDependencies(graph, &second, &first, 1));
    n = 1;
    assert_done(old.cudaGraphNodeGetDependentNodes(second, &to, &n));
    assert_ptr_equal(to, first);
    assert_done(rt.cudaGraphDestroy(graph));
}

static void edges_are_told_of_without_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_HANDLES; i++) {
        use(*handles[i]);
        check_edges();
    }
}

static void managed_memory_goes_to_devices_by_number(void **state)
{
    void *ptr;

    (void)state;
    assert_done(rt.cudaMallocManaged(&ptr, KIB, SP_CU_MEM_ATTACH_GLOBAL));
    for (size_t i = 0; i < N_HANDLES; i++) {
        use(*handles[i]);
        assert_done(old.cudaMemPrefetchAsync(ptr, KIB, 1, NULL));
        assert_done(old.cudaMemPrefetchAsync(ptr, KIB, -1, NULL));
        assert_rt(SP_CU_INVALID_DEVICE, old.cudaMemPrefetchAsync(ptr, KIB, 7, NULL));
        assert_done(old.cudaMemAdvise(ptr, KIB, SP_CU_ADVISE_SET_READ_MOSTLY, 0));
        assert_done(old.cudaThreadSynchronize());
    }
    assert_done(rt.cudaFree(ptr));
}

/* ---- 11 ------------------------------------------------------------------------------ */

static void graphs_of_11_are_instantiated_with_a_log(void **state)
{
    int (*instantiate)(sp_cu_exec * exec_out, sp_cu_graph graph, sp_cu_node * error_node_out,
                       char *log, size_t log_size);
    int (*update)(sp_cu_exec exec, sp_cu_graph graph, sp_cu_node * error_node_out,
                  int *result_out);
    sp_cu_node first, second, third, error_node = NULL;
    sp_cu_graph graph = pair_of_nodes(&first, &second), other;
    char log[16] = "untouched";
    int result = -1;
    sp_cu_exec exec;

    (void)state;
    sim_find(sim_runtime_11, "cudaGraphInstantiate", &instantiate);
    sim_find(sim_runtime_11, "cudaGraphExecUpdate", &update);
    assert_done(instantiate(&exec, graph, &error_node, log, sizeof(log)));
    assert_null(error_node);
    assert_string_equal(log, "");
    assert_done(update(exec, graph, &error_node, &result));
    assert_int_equal(result, SP_CU_UPDATED);
    other = pair_of_nodes(&first, &second);
    assert_done(rt.cudaGraphAddEmptyNode(&third, other, NULL, 0));
    assert_rt(SP_CU_GRAPH_EXEC_UPDATE_FAILURE, update(exec, other, &error_node, &result));
    assert_int_equal(result, SP_CU_UPDATE_TOPOLOGY_CHANGED);
    assert_done(rt.cudaGraphExecDestroy(exec));
    assert_done(rt.cudaGraphDestroy(graph));
    assert_done(rt.cudaGraphDestroy(other));
}

/* ---- 12 ------------------------------------------------------------------------------ */

static void new_forms_of_12_have_names_of_their_own(void **state)
{
    int (*add)(sp_cu_node * node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
               size_t n_dependencies, struct sp_rt_node_params *params);
    int (*add_v2)(sp_cu_node * node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
                  const struct sp_cu_edge_data *edges, size_t n_dependencies,
                  struct sp_rt_node_params *params);
    int (*get_edges)(sp_cu_graph graph, sp_cu_node * from_out, sp_cu_node * to_out,
                     struct sp_cu_edge_data * edges_out, size_t * n_edges);
    struct sp_rt_node_params params = {.type = SP_CU_NODE_EMPTY};
    struct sp_cu_edge_data edges[2];
    sp_cu_node first, second, from[2], to[2];
    sp_cu_graph graph;
    size_t n = 2;

    (void)state;
    sim_find(sim_runtime_12, "cudaGraphAddNode", &add);
    sim_find(sim_runtime_12, "cudaGraphAddNode_v2", &add_v2);
    sim_find(sim_runtime_12, "cudaGraphGetEdges_v2", &get_edges);
    assert_done(rt.cudaGraphCreate(&graph, 0));
    assert_done(add(&first, graph, NULL, 0, &params));
    assert_done(add_v2(&second, graph, &first, NULL, 1, &params));
    assert_done(get_edges(graph, from, to, edges, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(from[0], first);
    assert_ptr_equal(to[0], second);
    assert_int_equal(edges[0].type, 0);
    assert_done(rt.cudaGraphDestroy(graph));
}

static void managed_memory_of_12_also_goes_to_locations(void **state)
{
    int (*prefetch)(const void *ptr, size_t length, struct sp_cu_location location,
                    unsigned flags, sp_cu_stream stream);
    struct sp_cu_location location = {SP_CU_LOCATION_DEVICE, 1};
    void *ptr;

    (void)state;
    sim_find(sim_runtime_12, "cudaMemPrefetchAsync_v2", &prefetch);
    assert_done(rt.cudaMallocManaged(&ptr, KIB, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(prefetch(ptr, KIB, location, 0, NULL));
    assert_done(rt.cudaMemPrefetchAsync(ptr, KIB, location, 0, NULL));
    assert_done(rt.cudaMemAdvise(ptr, KIB, SP_CU_ADVISE_SET_PREFERRED_LOCATION, location));
    assert_done(rt.cudaFree(ptr));
}

/* ---- entry points of the driver ------------------------------------------------------ */

static void the_drivers_functions_come_from_its_library(void **state)
{
    int (*get_count)(int *count_out),
        (*of_11)(const char *symbol, void **function_out, unsigned long long flags);
    int status = -1, n_devices = 0;
    void *function = NULL;

    (void)state;
    assert_done(rt.cudaGetDriverEntryPoint("cuDeviceGetCount", &function, 0, &status));
    assert_int_equal(status, 0);
    assert_non_null(function);
    memcpy(&get_count, &function, sizeof(function));
    assert_done(get_count(&n_devices));
    assert_int_equal(n_devices, 2);
    assert_done(
        rt.cudaGetDriverEntryPointByVersion("cuNobodyKnows", &function, 13000, 0, &status));
    assert_int_equal(status, 1);
    assert_null(function);
    sim_find(sim_runtime_11, "cudaGetDriverEntryPoint", &of_11);
    assert_done(of_11("cuMemAllocAsync", &function, 0));
    assert_non_null(function);
    assert_rt(SP_CU_NOT_FOUND, of_11("cuNobodyKnows", &function, 0));
    assert_rt(SP_CU_INVALID_VALUE, rt.cudaGetDriverEntryPoint(NULL, &function, 0, &status));
}

/* What is new in 12 is not there for a program of 11. */
static void the_drivers_functions_are_those_of_the_version(void **state)
{
    int status = -1;
    void *function = NULL;

    (void)state;
    assert_done(
        rt.cudaGetDriverEntryPointByVersion("cuStreamGetId", &function, 12000, 0, &status));
    assert_int_equal(status, 0);
    assert_done(
        rt.cudaGetDriverEntryPointByVersion("cuStreamGetId", &function, 11080, 0, &status));
    assert_int_not_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_version_says_which_it_is, sim_setup),
        cmocka_unit_test_setup(properties_have_the_layout_of_their_version, sim_setup),
        cmocka_unit_test_setup(pointers_are_described_in_the_layout_of_their_version,
                               sim_setup),
        cmocka_unit_test_setup(versions_in_one_process_share_the_devices, sim_setup),
        cmocka_unit_test_setup(captures_are_told_of_without_edges, sim_setup),
        cmocka_unit_test_setup(edges_are_told_of_without_data, sim_setup),
        cmocka_unit_test_setup(managed_memory_goes_to_devices_by_number, sim_setup),
        cmocka_unit_test_setup(graphs_of_11_are_instantiated_with_a_log, sim_setup),
        cmocka_unit_test_setup(new_forms_of_12_have_names_of_their_own, sim_setup),
        cmocka_unit_test_setup(managed_memory_of_12_also_goes_to_locations, sim_setup),
        cmocka_unit_test_setup(the_drivers_functions_come_from_its_library, sim_setup),
        cmocka_unit_test_setup(the_drivers_functions_are_those_of_the_version, sim_setup),
    };

    return cmocka_run_group_tests_name("sim_runtime_versions", tests, sim_load, NULL);
}
