/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated libcuda.so.1 as programs see it: every symbol is there, cuGetProcAddress()
 * finds the function of a program's version of CUDA, twins mean the thread's own stream, older
 * ABIs do what newer ones do. Linked with libstarpool.so, whose model the library works on. */
#include "config.h"

#include "tests/support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/model.h"
#include "src/sim/driver_made.h"

/* The library: its table, and pointers to what is made of it. */
static struct {
    struct sp_driver_library library;
#define X(name, symbol, version, parameters) sp_cu_result(*symbol) parameters;
#include "src/sim/driver_made.def"
#undef X
    sp_cu_context context;
} sim;

#define assert_cu(expected, call) assert_int_equal((expected), (call))
#define assert_done(call)         assert_cu(SP_CU_SUCCESS, call)

/* A function of the library by its symbol, into a pointer of its type. */
static void find(const char *symbol, void *function_out)
{
    void *found = dlsym(sim.library.handle, symbol);

    if (found == NULL)
        fail_msg("there is no %s", symbol);
    memcpy(function_out, &found, sizeof(found));
}

static int load(void **state)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/sim/cuda-13/libcuda.so.1",
                   builddir != NULL ? builddir : ".");
    if (sp_driver_load(path, &sim.library) != STARPOOL_OK) {
        print_error("%s\n", sim.library.error);
        return -1;
    }
#define X(name, symbol, version, parameters) find(#symbol, &sim.symbol);
#include "src/sim/driver_made.def"
#undef X
    return 0;
}

static int setup(void **state)
{
    (void)state;
    sp_model_reset();
    assert_done(sim.library.table.cuInit(0));
    assert_done(sim.library.table.cuDevicePrimaryCtxRetain(&sim.context, 0));
    assert_done(sim.library.table.cuCtxSetCurrent(sim.context));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sp_model_reset();
    return 0;
}

/* ---- looking functions up -------------------------------------------------------------- */

static const struct {
    const char *name, *symbol;
    int version;
} rows[] = {
#define X(name, symbol, version, same_as) {#name, #symbol, version},
#include "src/sim/driver_exports.def"
#undef X
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* What a program of that version gets for a name. */
static void *looked_up(const char *name, int version, uint64_t flags)
{
    void *function = &sim;
    int status = -1;

    assert_done(sim.cuGetProcAddress_v2(name, &function, version, flags, &status));
    assert_int_equal(status == SP_CU_FOUND, function != NULL);
    return function;
}

static void assert_found(const char *name, int version, uint64_t flags, const char *symbol)
{
    void *expected;

    find(symbol, &expected);
    if (looked_up(name, version, flags) != expected)
        fail_msg("%s of version %d is not %s", name, version, symbol);
}

static bool is_twin(const char *symbol)
{
    size_t length = strlen(symbol);

    return length > 5 && (strcmp(symbol + length - 5, "_ptsz") == 0 ||
                          strcmp(symbol + length - 5, "_ptds") == 0);
}

static void every_symbol_of_the_list_is_exported(void **state)
{
    void *function;

    (void)state;
    for (size_t i = 0; i < N_ROWS; i++)
        find(rows[i].symbol, &function);
}

static void every_function_is_found_by_the_version_that_brought_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].version > 0)
            assert_found(rows[i].name, rows[i].version,
                         is_twin(rows[i].symbol) ? SP_CU_LOOK_UP_PER_THREAD : 0,
                         rows[i].symbol);
    }
}

static void newest_function_is_found_that_the_program_knows(void **state)
{
    (void)state;
    assert_found("cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo");
    assert_found("cuStreamGetCaptureInfo", 11020, 0, "cuStreamGetCaptureInfo");
    assert_found("cuStreamGetCaptureInfo", 11080, 0, "cuStreamGetCaptureInfo_v2");
    assert_found("cuStreamGetCaptureInfo", 12020, 0, "cuStreamGetCaptureInfo_v2");
    assert_found("cuStreamGetCaptureInfo", 13000, 0, "cuStreamGetCaptureInfo_v3");
    assert_found("cuCtxCreate", 3020, 0, "cuCtxCreate_v2");
    assert_found("cuCtxCreate", 11080, 0, "cuCtxCreate_v3");
    assert_found("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
    assert_found("cuGetProcAddress", 11080, 0, "cuGetProcAddress");
    assert_found("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
    assert_found("cuGraphInstantiate", 11080, 0, "cuGraphInstantiate_v2");
    assert_found("cuGraphInstantiate", 12000, 0, "cuGraphInstantiateWithFlags");
    assert_found("cuMemAlloc", 11080, SP_CU_LOOK_UP_LEGACY, "cuMemAlloc_v2");
}

static void thread_s_own_stream_is_meant_where_the_program_says_so(void **state)
{
    (void)state;
    assert_found("cuMemcpyHtoD", 12000, SP_CU_LOOK_UP_PER_THREAD, "cuMemcpyHtoD_v2_ptds");
    assert_found("cuStreamGetCaptureInfo", 11030, SP_CU_LOOK_UP_PER_THREAD,
                 "cuStreamGetCaptureInfo_v2_ptsz");
    assert_found("cuMemAlloc", 12000, SP_CU_LOOK_UP_PER_THREAD, "cuMemAlloc_v2");
    /* Twins came with CUDA 7. */
    assert_found("cuMemcpyHtoD", 6050, SP_CU_LOOK_UP_PER_THREAD, "cuMemcpyHtoD_v2");
    assert_found("cuMemcpyHtoD", 12000, 0, "cuMemcpyHtoD_v2");
}

static void what_is_not_found_is_told_apart(void **state)
{
    void *function = &sim;
    int status = -1;

    (void)state;
    assert_done(sim.cuGetProcAddress_v2("cuMemAllocAsync", &function, 11010, 0, &status));
    assert_null(function);
    assert_int_equal(status, SP_CU_VERSION_NOT_SUFFICIENT);
    function = &sim;
    assert_done(sim.cuGetProcAddress_v2("cuMemAllocSomehow", &function, 13000, 0, &status));
    assert_null(function);
    assert_int_equal(status, SP_CU_SYMBOL_NOT_FOUND);
    assert_done(sim.cuGetProcAddress_v2("cuMemAlloc_v2", &function, 13000, 0, &status));
    assert_int_equal(status, SP_CU_SYMBOL_NOT_FOUND);
    assert_done(sim.cuGetProcAddress_v2("cuInit", &function, 0, 0, &status));
    assert_int_equal(status, SP_CU_VERSION_NOT_SUFFICIENT);
    assert_done(sim.cuGetProcAddress_v2("cuInit", &function, 2000, 0, NULL));
    assert_non_null(function);
}

/* Before CUDA 12 there was no status, and the result told. */
static void first_look_up_answers_with_an_error(void **state)
{
    void *function = &sim;

    (void)state;
    assert_cu(SP_CU_NOT_FOUND, sim.cuGetProcAddress("cuNobody", &function, 11080, 0));
    assert_null(function);
    assert_cu(SP_CU_NOT_FOUND, sim.cuGetProcAddress("cuMemAllocAsync", &function, 11010, 0));
    assert_done(sim.cuGetProcAddress("cuMemAllocAsync", &function, 11020, 0));
    assert_non_null(function);
}

static void wrong_questions_are_refused(void **state)
{
    const struct sp_cu_uuid uuid = {.bytes = "some table"};
    const void *table = &sim;
    void *function = &sim;
    int status = -1;

    (void)state;
    assert_cu(SP_CU_INVALID_VALUE, sim.cuGetProcAddress_v2(NULL, &function, 12000, 0, &status));
    assert_cu(SP_CU_INVALID_VALUE, sim.cuGetProcAddress_v2("cuInit", NULL, 12000, 0, &status));
    assert_cu(SP_CU_INVALID_VALUE,
              sim.cuGetProcAddress_v2("cuInit", &function, 12000, 4, NULL));
    assert_cu(SP_CU_INVALID_VALUE,
              sim.cuGetProcAddress_v2("cuInit", &function, 13010, 0, NULL));
    assert_ptr_equal(function, &sim);
    assert_int_equal(status, -1);
    assert_cu(SP_CU_NOT_FOUND, sim.cuGetExportTable(&table, &uuid));
    assert_null(table);
    assert_cu(SP_CU_INVALID_VALUE, sim.cuGetExportTable(NULL, &uuid));
}

static void functions_are_looked_up_before_anything_is_started(void **state)
{
    sp_cu_result (*init)(unsigned flags);
    void *function;

    (void)state;
    sp_model_reset();
    assert_cu(SP_CU_NOT_INITIALIZED, sim.library.table.cuCtxSynchronize());
    function = looked_up("cuInit", 12000, 0);
    memcpy(&init, &function, sizeof(init));
    assert_done(init(0));
}

static void what_is_not_there_says_that_it_is_not_supported(void **state)
{
    sp_cu_result (*stub)(void *out);
    void *out = &sim;

    (void)state;
    find("cuTexRefCreate", &stub);
    assert_cu(SP_CU_NOT_SUPPORTED, stub(&out));
    assert_ptr_equal(out, &sim);
}

/* The library is found as libcuda.so.1, which is its soname, though it was loaded by its path.
 */
static void starpool_takes_the_model_that_the_program_sees(void **state)
{
    const struct sp_driver *driver = NULL;
    sp_cu_ptr ptr, base = 0;
    size_t size = 0;

    (void)state;
    sp_driver_reset();
    assert_ok(sp_driver_get(&driver));
    assert_ptr_equal(driver, sp_model_driver());
    assert_string_equal(sp_driver_why_none(), "");
    assert_done(sim.library.table.cuMemAlloc(&ptr, 1000));
    assert_done(driver->cuMemGetAddressRange(&base, &size, ptr + 10));
    assert_int_equal(base, ptr);
    assert_done(driver->cuMemFree(ptr));
    assert_status(STARPOOL_ENOTINIT, sp_driver_cuda(&driver));
    sp_driver_reset();
}

/* ---- twins ----------------------------------------------------------------------------- */

static unsigned long long id_of(const char *symbol, sp_cu_stream stream)
{
    sp_cu_result (*get_id)(sp_cu_stream stream, unsigned long long *id_out);
    unsigned long long id = 0;

    find(symbol, &get_id);
    assert_done(get_id(stream, &id));
    return id;
}

static void *note_own_id(void *id_out)
{
    (void)sim.library.table.cuCtxSetCurrent(sim.context);
    (void)sim.library.table.cuStreamGetId(SP_CU_STREAM_PER_THREAD, id_out);
    return NULL;
}

static void default_stream_of_a_twin_is_the_thread_s(void **state)
{
    unsigned long long own = id_of("cuStreamGetId", SP_CU_STREAM_PER_THREAD), other = own;
    sp_cu_stream stream;
    pthread_t thread;

    (void)state;
    assert_int_equal(id_of("cuStreamGetId_ptsz", NULL), own);
    assert_int_equal(id_of("cuStreamGetId_ptsz", SP_CU_STREAM_LEGACY),
                     id_of("cuStreamGetId", NULL));
    assert_int_not_equal(id_of("cuStreamGetId", NULL), own);
    assert_done(sim.library.table.cuStreamCreate(&stream, 0));
    assert_int_equal(id_of("cuStreamGetId_ptsz", stream), id_of("cuStreamGetId", stream));
    assert_int_equal(pthread_create(&thread, NULL, note_own_id, &other), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_not_equal(other, own);
}

/* The legacy stream cannot be captured; the thread's own can, by its twins. */
static void thread_s_own_stream_can_be_captured_by_its_twins(void **state)
{
    sp_cu_result (*begin)(sp_cu_stream stream, int mode);
    sp_cu_result (*alloc)(sp_cu_ptr * ptr_out, size_t size, sp_cu_stream stream);
    sp_cu_result (*release)(sp_cu_ptr ptr, sp_cu_stream stream);
    sp_cu_result (*end)(sp_cu_stream stream, sp_cu_graph * graph_out);
    size_t n_nodes = 0;
    sp_cu_graph graph;
    sp_cu_ptr ptr;

    (void)state;
    find("cuStreamBeginCapture_v2_ptsz", &begin);
    find("cuMemAllocAsync_ptsz", &alloc);
    find("cuMemFreeAsync_ptsz", &release);
    find("cuStreamEndCapture_ptsz", &end);
    assert_done(begin(NULL, SP_CU_CAPTURE_MODE_THREAD_LOCAL));
    assert_done(alloc(&ptr, 1000, NULL));
    assert_done(release(ptr, NULL));
    assert_done(end(NULL, &graph));
    assert_done(sim.library.table.cuGraphGetNodes(graph, NULL, &n_nodes));
    assert_int_equal(n_nodes, 2);
    assert_done(sim.library.table.cuGraphDestroy(graph));
}

static void copy_of_the_thread_s_own_stream_does_not_wait_for_others(void **state)
{
    const struct sp_driver *driver = &sim.library.table;
    sp_cu_result (*copy_in)(sp_cu_ptr target, const void *source, size_t size);
    sp_cu_result (*copy_out)(void *target, sp_cu_ptr source, size_t size);
    char bytes[] = "in order", back[sizeof(bytes)] = "";
    uint32_t *flag;
    sp_cu_stream other;
    sp_cu_ptr ptr;

    (void)state;
    find("cuMemcpyHtoD_v2_ptds", &copy_in);
    find("cuMemcpyDtoH_v2_ptds", &copy_out);
    assert_done(driver->cuMemAlloc(&ptr, sizeof(bytes)));
    assert_done(driver->cuMemHostAlloc((void **)&flag, sizeof(*flag), 0));
    *flag = 0;
    /* The legacy stream would wait for this one. */
    assert_done(driver->cuStreamCreate(&other, SP_CU_STREAM_DEFAULT));
    assert_done(driver->cuStreamWaitValue32(other, (uintptr_t)flag, 1, SP_CU_WAIT_VALUE_EQ));
    assert_done(copy_in(ptr, bytes, sizeof(bytes)));
    assert_done(copy_out(back, ptr, sizeof(back)));
    assert_cu(SP_CU_NOT_READY, driver->cuStreamQuery(other));
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    assert_done(driver->cuStreamSynchronize(other));
    assert_string_equal(back, bytes);
}

static void calls_without_a_stream_are_no_part_of_a_capture(void **state)
{
    const struct sp_driver *driver = &sim.library.table;
    sp_cu_result (*copy_in)(sp_cu_ptr target, const void *source, size_t size);
    sp_cu_result (*set)(sp_cu_ptr target, unsigned char value, size_t n);
    sp_cu_graph graph = NULL;
    sp_cu_ptr ptr;

    (void)state;
    find("cuMemcpyHtoD_v2_ptds", &copy_in);
    find("cuMemsetD8_v2_ptds", &set);
    assert_done(driver->cuMemAlloc(&ptr, 16));
    for (int i = 0; i < 2; i++) {
        assert_done(driver->cuStreamBeginCapture(SP_CU_STREAM_PER_THREAD,
                                                 SP_CU_CAPTURE_MODE_THREAD_LOCAL));
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
                  i == 0 ? copy_in(ptr, "sixteen bytes...", 16) : set(ptr, 7, 16));
        assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED,
                  driver->cuStreamEndCapture(SP_CU_STREAM_PER_THREAD, &graph));
    }
}

/* ---- older ABIs ------------------------------------------------------------------------ */

/* Two nodes that do nothing. */
static sp_cu_graph graph_of_two(sp_cu_node nodes[2])
{
    sp_cu_graph graph;

    assert_done(sim.library.table.cuGraphCreate(&graph, 0));
    for (int i = 0; i < 2; i++)
        assert_done(sim.library.table.cuGraphAddEmptyNode(&nodes[i], graph, NULL, 0));
    return graph;
}

static void edges_of_older_programs_have_no_data(void **state)
{
    sp_cu_node nodes[2], from[2], to[2], found[2];
    sp_cu_graph graph = graph_of_two(nodes);
    size_t n = 2;

    (void)state;
    assert_done(sim.cuGraphAddDependencies(graph, &nodes[0], &nodes[1], 1));
    assert_done(sim.cuGraphGetEdges(graph, from, to, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(from[0], nodes[0]);
    assert_ptr_equal(to[0], nodes[1]);
    n = 2;
    assert_done(sim.cuGraphNodeGetDependencies(nodes[1], found, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(found[0], nodes[0]);
    n = 2;
    assert_done(sim.cuGraphNodeGetDependentNodes(nodes[0], found, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(found[0], nodes[1]);
    assert_done(sim.cuGraphRemoveDependencies(graph, &nodes[0], &nodes[1], 1));
    n = 0;
    assert_done(sim.cuGraphGetEdges(graph, NULL, NULL, &n));
    assert_int_equal(n, 0);
    assert_done(sim.library.table.cuGraphDestroy(graph));
}

static void older_programs_instantiate_and_update(void **state)
{
    const struct sp_driver *driver = &sim.library.table;
    char log[8] = "unread";
    sp_cu_node nodes[2], error = (sp_cu_node)&sim;
    sp_cu_graph graph = graph_of_two(nodes), wider = graph_of_two(nodes);
    int why = -1;
    sp_cu_exec exec;

    (void)state;
    assert_done(sim.cuGraphInstantiate(&exec, graph, &error, log, sizeof(log)));
    assert_string_equal(log, "");
    assert_done(driver->cuGraphLaunch(exec, NULL));
    assert_done(sim.cuGraphExecUpdate(exec, wider, &error, &why));
    assert_int_equal(why, SP_CU_UPDATED);
    assert_done(driver->cuGraphAddEmptyNode(&nodes[0], wider, NULL, 0));
    assert_cu(SP_CU_GRAPH_EXEC_UPDATE_FAILURE,
              sim.cuGraphExecUpdate(exec, wider, &error, &why));
    assert_int_equal(why, SP_CU_UPDATE_TOPOLOGY_CHANGED);
    assert_done(driver->cuGraphExecDestroy(exec));
    assert_done(sim.cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0));
    assert_done(driver->cuGraphExecDestroy(exec));
    assert_done(driver->cuGraphDestroy(graph));
    assert_done(driver->cuGraphDestroy(wider));
}

static void older_programs_see_and_steer_their_captures(void **state)
{
    const struct sp_driver *driver = &sim.library.table;
    const sp_cu_node *dependencies;
    sp_cu_graph graph, seen = NULL;
    sp_cu_stream stream;
    uint64_t id = 0, id_again = 0;
    size_t n = 7;
    int status = -1;

    (void)state;
    assert_done(driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    assert_done(sim.cuStreamBeginCapture(stream));
    assert_done(sim.cuStreamGetCaptureInfo(stream, &status, &id));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    assert_done(
        sim.cuStreamGetCaptureInfo_v2(stream, &status, &id_again, &seen, &dependencies, &n));
    assert_int_equal(id_again, id);
    assert_non_null(seen);
    assert_int_equal(n, 0);
    assert_done(
        sim.cuStreamUpdateCaptureDependencies(stream, NULL, 0, SP_CU_CAPTURE_SET_DEPENDENCIES));
    assert_done(driver->cuStreamEndCapture(stream, &graph));
    assert_ptr_equal(graph, seen);
    assert_done(driver->cuGraphDestroy(graph));
}

static void set_7(void *arg)
{
    *(int *)arg = 7;
}

static void set_8(void *arg)
{
    *(int *)arg = 8;
}

static void one_type_of_node_is_changed_as_nodes_in_general(void **state)
{
    const struct sp_driver *driver = &sim.library.table;
    int value = 0;
    struct sp_cu_host_params seven = {set_7, &value}, eight = {set_8, &value};
    struct sp_cu_host_params is = {NULL, NULL};
    sp_cu_graph graph;
    sp_cu_node node;
    sp_cu_exec exec;

    (void)state;
    assert_done(driver->cuGraphCreate(&graph, 0));
    assert_done(driver->cuGraphAddHostNode(&node, graph, NULL, 0, &eight));
    assert_done(sim.cuGraphHostNodeSetParams(node, &seven));
    assert_done(driver->cuGraphHostNodeGetParams(node, &is));
    assert_true(is.call == set_7);
    assert_done(sim.cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0));
    assert_done(driver->cuGraphLaunch(exec, NULL));
    assert_done(driver->cuCtxSynchronize());
    assert_int_equal(value, 7);
    assert_done(sim.cuGraphExecHostNodeSetParams(exec, node, &eight));
    assert_done(driver->cuGraphLaunch(exec, NULL));
    assert_done(driver->cuCtxSynchronize());
    assert_int_equal(value, 8);
    assert_cu(SP_CU_INVALID_VALUE, sim.cuGraphHostNodeSetParams(node, NULL));
    assert_done(driver->cuGraphExecDestroy(exec));
    assert_done(driver->cuGraphDestroy(graph));
}

static void memory_that_a_node_sets_is_changed_by_its_own_call(void **state)
{
    const struct sp_driver *driver = &sim.library.table;
    struct sp_cu_memset_params set = {.value = 1, .element_size = 1, .width = 4, .height = 1};
    struct sp_cu_memset_params is;
    unsigned char bytes[4];
    sp_cu_graph graph;
    sp_cu_node node;
    sp_cu_exec exec;

    (void)state;
    assert_done(driver->cuMemAlloc(&set.target, sizeof(bytes)));
    assert_done(driver->cuGraphCreate(&graph, 0));
    assert_done(driver->cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, sim.context));
    set.value = 2;
    assert_done(sim.cuGraphMemsetNodeSetParams(node, &set));
    assert_done(driver->cuGraphMemsetNodeGetParams(node, &is));
    assert_int_equal(is.value, 2);
    assert_done(sim.cuGraphInstantiate(&exec, graph, NULL, NULL, 0));
    set.value = 3;
    assert_done(sim.cuGraphExecMemsetNodeSetParams(exec, node, &set, sim.context));
    assert_done(driver->cuGraphLaunch(exec, NULL));
    assert_done(driver->cuMemcpyDtoH(bytes, set.target, sizeof(bytes)));
    assert_int_equal(bytes[3], 3);
    assert_done(driver->cuGraphExecDestroy(exec));
    assert_done(driver->cuGraphDestroy(graph));
}

static void contexts_are_made_and_asked_in_every_way(void **state)
{
    const struct sp_cu_context_params plain = {NULL, 0, NULL};
    const struct sp_driver *driver = &sim.library.table;
    sp_cu_context contexts[3], current, owner = NULL;
    void *green = &sim;
    sp_cu_device device = -1;
    size_t bytes = 0;

    (void)state;
    assert_done(sim.cuCtxCreate_v3(&contexts[0], NULL, 0, 0, 0));
    assert_done(sim.cuCtxCreate_v4(&contexts[1], NULL, 0, 0));
    assert_done(sim.cuCtxCreate_v4(&contexts[2], &plain, 0, 0));
    assert_cu(224, sim.cuCtxCreate_v3(&current, &plain, 1, 0, 0));
    assert_done(sim.cuCtxGetDevice_v2(&device, contexts[0]));
    assert_int_equal(device, 0);
    assert_done(sim.cuCtxSynchronize_v2(contexts[1]));
    assert_done(sim.cuCtxSynchronize_v2(NULL));
    assert_done(driver->cuCtxGetCurrent(&current));
    assert_ptr_equal(current, contexts[2]);
    assert_done(sim.cuStreamGetCtx_v2(NULL, &owner, &green));
    assert_ptr_equal(owner, contexts[2]);
    assert_null(green);
    assert_done(sim.cuMemGetAllocationGranularity(&bytes, &plain, 0));
    assert_int_equal(bytes, 2 << 20);
    for (int i = 2; i >= 0; i--)
        assert_done(driver->cuCtxDestroy(contexts[i]));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_symbol_of_the_list_is_exported),
        TEST(every_function_is_found_by_the_version_that_brought_it),
        TEST(newest_function_is_found_that_the_program_knows),
        TEST(thread_s_own_stream_is_meant_where_the_program_says_so),
        TEST(what_is_not_found_is_told_apart),
        TEST(first_look_up_answers_with_an_error),
        TEST(wrong_questions_are_refused),
        TEST(functions_are_looked_up_before_anything_is_started),
        TEST(what_is_not_there_says_that_it_is_not_supported),
        TEST(starpool_takes_the_model_that_the_program_sees),
        TEST(default_stream_of_a_twin_is_the_thread_s),
        TEST(thread_s_own_stream_can_be_captured_by_its_twins),
        TEST(copy_of_the_thread_s_own_stream_does_not_wait_for_others),
        TEST(calls_without_a_stream_are_no_part_of_a_capture),
        TEST(edges_of_older_programs_have_no_data),
        TEST(older_programs_instantiate_and_update),
        TEST(older_programs_see_and_steer_their_captures),
        TEST(one_type_of_node_is_changed_as_nodes_in_general),
        TEST(memory_that_a_node_sets_is_changed_by_its_own_call),
        TEST(contexts_are_made_and_asked_in_every_way),
    };

    return cmocka_run_group_tests_name("sim_driver", tests, load, NULL);
}
