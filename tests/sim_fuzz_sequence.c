/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sequence of random calls: what it is about, what keeps it alive, and its end, at which
 * everything can be destroyed and no memory of a device is left. */
#include "config.h"

#include "tests/sim_fuzz.h"

#include <stdint.h>
#include <string.h>

#include <starpool/kernel.h>

#include "src/model/model.h"

/* What a sequence is about: every second call has one of these in its name. */
struct theme {
    const char *name;
    const char *parts[6]; /* up to the first NULL */
};
static const struct theme themes[] = {
    {"anything", {"cu"}},
    {"graphs", {"Graph"}},
    {"captures",
     {"Capture", "Event", "Stream", "LaunchHost", "GraphLaunch", "cudaMemcpyAsync"}},
    {"pools", {"Pool", "AllocAsync", "FreeAsync", "mAsync", "TrimTo", "StreamWaitEvent"}},
    {"memory", {"Mem", "Malloc", "Free", "Pointer", "Host", "Ipc"}},
    {"kernels", {"Launch", "Func", "Module", "Library", "Kernel", "Occupancy"}},
    {"contexts", {"Ctx", "Device", "Peer", "Stream"}},
};
enum { N_THEMES = sizeof(themes) / sizeof(themes[0]) };

/* Functions of the runtime that sequences need to begin, and to go on. */
static struct {
    int (*cudaSetDevice)(int device);
    int (*cudaGetLastError)(void);
    int (*cudaMalloc)(void **ptr_out, size_t size);
    int (*cudaMallocHost)(void **ptr_out, size_t size);
    void **(*__cudaRegisterFatBinary)(void *binary);
    void (*__cudaRegisterFunction)(void **image, const char *host, char *device,
                                   const char *name, int thread_limit, void *thread,
                                   void *block, void *block_size, void *grid_size,
                                   int *warp_size);
    void (*__cudaRegisterVar)(void **image, char *host, char *device, const char *name,
                              int is_external, size_t size, int is_constant, int is_global);
} fn;
static const struct sp_driver *cu;

static void find_functions(void)
{
    cu = sp_model_driver();
#define FIND(name) sp_fuzz_find(#name, &fn.name);
    FIND(cudaSetDevice)
    FIND(cudaGetLastError)
    FIND(cudaMalloc)
    FIND(cudaMallocHost)
    FIND(__cudaRegisterFatBinary)
    FIND(__cudaRegisterFunction)
    FIND(__cudaRegisterVar)
#undef FIND
}

/* ---- beginning ----------------------------------------------------------------------- */

enum { N_DEVICES = 2 };

static void do_nothing(const struct starpool_kernel_launch *launch)
{
    (void)launch;
}

/* Linked programs have what their devices know registered before main(). */
static bool add_names(void)
{
    static const size_t sizes[] = {sizeof(sp_cu_ptr), sizeof(sp_cu_ptr)};
    static char image[16] = "image", device_name[] = "fuzz_two";
    void (*symbol)(void) = sp_fuzz_kernel;
    void **handle = fn.__cudaRegisterFatBinary(image);
    const char *host;

    memcpy(&host, &symbol, sizeof(host));
    fn.__cudaRegisterFunction(handle, host, device_name, "fuzz_two", -1, NULL, NULL, NULL, NULL,
                              NULL);
    fn.__cudaRegisterVar(handle, sp_fuzz_variable, device_name, "variable", 0,
                         sizeof(sp_fuzz_variable), 0, 0);
    return starpool_model_add_kernel("fuzz_nothing", NULL, 0, do_nothing) == STARPOOL_OK &&
           starpool_model_add_kernel("fuzz_two", sizes, 2, do_nothing) == STARPOOL_OK;
}

static bool begin(const struct sp_fuzz_job *job)
{
    struct starpool_model_config config = {.struct_size = sizeof(config)};

    starpool_model_config_init(&config);
    config.n_devices = N_DEVICES;
    config.device_memory = (uint64_t)8 << 20;
    config.peers = UINT64_MAX;
    config.exec = job->exec;
    sp_fuzz.random = job->seed;
    find_functions();
    return starpool_model_configure(&config) == STARPOOL_OK && add_names();
}

/* ---- going on ------------------------------------------------------------------------ */

static bool is_about(const struct theme *theme, const char *symbol)
{
    for (unsigned i = 0; i < 6 && theme->parts[i] != NULL; i++) {
        if (strstr(symbol, theme->parts[i]) != NULL)
            return true;
    }
    return false;
}

/* What ends much at once comes seldom, so that there is something to end. */
static bool is_postponed(const char *symbol)
{
    if (strstr(symbol, "Reset") != NULL || strstr(symbol, "CtxRelease") != NULL)
        return sp_fuzz_below(20) != 0;
    if (strstr(symbol, "CtxDestroy") != NULL)
        return sp_fuzz_below(8) != 0;
    return strstr(symbol, "BeginCapture") != NULL && sp_fuzz_below(3) != 0;
}

static const struct sp_fuzz_call *next_call(const struct theme *theme)
{
    const struct sp_fuzz_call *call;
    size_t n;
    bool is_themes = sp_fuzz_below(2) == 0;

    do {
        const struct sp_fuzz_call *calls = sp_fuzz_calls(&n);

        call = &calls[sp_fuzz_below(n)];
    } while (is_postponed(call->symbol) || (is_themes && !is_about(theme, call->symbol)));
    return call;
}

/* Of the memory that there was, much is free already. */
static void make_room(void)
{
    const struct sp_fuzz_handles *ptrs = &sp_fuzz.handles[SP_FUZZ_PTR];

    for (unsigned i = 0; i < 16 && ptrs->n_made > 0; i++)
        (void)cu->cuMemFree(ptrs->made[sp_fuzz_below(ptrs->n_made)]);
}

/* One node behind another of the most usual types, and an executable: their memory is freed by
 * the graph or by nobody. */
static void grow_graph(void)
{
    struct sp_cu_alloc_params alloc = {.props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                                 .location = {SP_CU_LOCATION_DEVICE, 0}},
                                       .size = 4096};
    struct sp_cu_memset_params set = {.element_size = 1, .width = 64, .height = 1};
    struct sp_cu_host_params host = {.call = sp_fuzz_host_call};
    sp_cu_context context = NULL;
    sp_cu_node nodes[4];
    sp_cu_graph graph;
    sp_cu_exec exec;
    unsigned n = 3;

    if (cu->cuGraphCreate(&graph, 0) != SP_CU_SUCCESS)
        return;
    sp_fuzz_made(SP_FUZZ_GRAPH, (uintptr_t)graph);
    if (cu->cuCtxGetCurrent(&context) != SP_CU_SUCCESS ||
        cu->cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &alloc) != SP_CU_SUCCESS)
        return;
    set.target = alloc.ptr;
    sp_fuzz_made(SP_FUZZ_PTR, alloc.ptr);
    if (cu->cuGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &set, context) !=
            SP_CU_SUCCESS ||
        cu->cuGraphAddHostNode(&nodes[2], graph, &nodes[1], 1, &host) != SP_CU_SUCCESS)
        return;
    if (sp_fuzz_below(2) == 0 &&
        cu->cuGraphAddMemFreeNode(&nodes[3], graph, &nodes[2], 1, alloc.ptr) == SP_CU_SUCCESS)
        n++;
    for (unsigned i = 0; i < n; i++)
        sp_fuzz_made(SP_FUZZ_NODE, (uintptr_t)nodes[i]);
    if (cu->cuGraphInstantiate(&exec, graph, 0) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_EXEC, (uintptr_t)exec);
}

static void load_module(void)
{
    static const char image[16] = "image";
    sp_cu_function function;
    sp_cu_module module;

    if (cu->cuModuleLoadData(&module, image) != SP_CU_SUCCESS)
        return;
    sp_fuzz_made(SP_FUZZ_MODULE, (uintptr_t)module);
    if (cu->cuModuleGetFunction(&function, module, "fuzz_two") == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_FUNCTION, (uintptr_t)function);
}

/* Managed memory, and a block of a pool that other processes may have. */
static void allocate_rare(void)
{
    const struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                           .handle_types = SP_CU_HANDLE_POSIX_FD,
                                           .location = {SP_CU_LOCATION_DEVICE, 0}};
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    if (cu->cuMemAllocManaged(&ptr, 8192, SP_CU_MEM_ATTACH_GLOBAL) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_PTR, ptr);
    if (cu->cuMemPoolCreate(&pool, &props) != SP_CU_SUCCESS)
        return;
    sp_fuzz_made(SP_FUZZ_POOL, (uintptr_t)pool);
    if (cu->cuMemAllocFromPoolAsync(&ptr, 4096, pool, NULL) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_PTR, ptr);
}

/* Without valid handles every call would be refused. */
static void keep_alive(void)
{
    sp_cu_stream stream;
    sp_cu_event event;
    sp_cu_graph graph;
    void *ptr;

    if (fn.cudaSetDevice((int)sp_fuzz_below(N_DEVICES)) != SP_CU_SUCCESS)
        return;
    if (fn.cudaMalloc(&ptr, 8192) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_PTR, (uintptr_t)ptr);
    else
        make_room();
    if (sp_fuzz_below(4) == 0 && fn.cudaMallocHost(&ptr, 8192) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_PINNED, (uintptr_t)ptr);
    if (sp_fuzz_below(4) == 0 &&
        cu->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_STREAM, (uintptr_t)stream);
    if (sp_fuzz_below(4) == 0 && cu->cuEventCreate(&event, 0) == SP_CU_SUCCESS)
        sp_fuzz_made(SP_FUZZ_EVENT, (uintptr_t)event);
    if (sp_fuzz_below(4) == 0)
        grow_graph();
    if (sp_fuzz_below(8) == 0)
        load_module();
    if (sp_fuzz_below(8) == 0)
        allocate_rare();
    for (unsigned i = 0; i < 4; i++) {
        stream = (sp_cu_stream)(uintptr_t)sp_fuzz_handle(SP_FUZZ_STREAM);
        if (cu->cuStreamEndCapture(stream, &graph) == SP_CU_SUCCESS)
            sp_fuzz_made(SP_FUZZ_GRAPH, (uintptr_t)graph);
    }
    (void)fn.cudaGetLastError();
}

/* ---- ending -------------------------------------------------------------------------- */

static void for_all(enum sp_fuzz_kind kind, const char *symbol)
{
    const struct sp_fuzz_handles *handles = &sp_fuzz.handles[kind];
    int (*destroy)(uint64_t handle, uint64_t count);

    sp_fuzz_find(symbol, &destroy);
    for (unsigned i = 0; i < handles->n_made; i++)
        (void)destroy(handles->made[i], 1);
}

static void end_captures(void)
{
    const struct sp_fuzz_handles *streams = &sp_fuzz.handles[SP_FUZZ_STREAM];
    const struct sp_fuzz_handles *contexts = &sp_fuzz.handles[SP_FUZZ_CONTEXT];
    sp_cu_graph graph;

    for (unsigned i = 0; i < streams->n_made; i++) {
        if (cu->cuStreamEndCapture((sp_cu_stream)(uintptr_t)streams->made[i], &graph) ==
            SP_CU_SUCCESS)
            sp_fuzz_made(SP_FUZZ_GRAPH, (uintptr_t)graph);
    }
    for (unsigned i = 0; i < contexts->n_made; i++) {
        if (cu->cuCtxSetCurrent((sp_cu_context)(uintptr_t)contexts->made[i]) == SP_CU_SUCCESS &&
            cu->cuStreamEndCapture(SP_CU_STREAM_PER_THREAD, &graph) == SP_CU_SUCCESS)
            sp_fuzz_made(SP_FUZZ_GRAPH, (uintptr_t)graph);
    }
}

static void synchronize_all(void)
{
    const struct sp_fuzz_handles *contexts = &sp_fuzz.handles[SP_FUZZ_CONTEXT];

    for (unsigned i = 0; i < contexts->n_made; i++) {
        if (cu->cuCtxSetCurrent((sp_cu_context)(uintptr_t)contexts->made[i]) == SP_CU_SUCCESS)
            (void)cu->cuCtxSynchronize();
    }
}

static void check_empty(int device, struct sp_fuzz_log *log)
{
    size_t free = 0, total = 0;
    sp_cu_context context;
    sp_cu_pool pool;

    if (cu->cuDevicePrimaryCtxRetain(&context, device) != SP_CU_SUCCESS ||
        cu->cuCtxSetCurrent(context) != SP_CU_SUCCESS ||
        cu->cuDeviceGetDefaultMemPool(&pool, device) != SP_CU_SUCCESS ||
        cu->cuMemPoolTrimTo(pool, 0) != SP_CU_SUCCESS ||
        cu->cuDeviceGraphMemTrim(device) != SP_CU_SUCCESS ||
        cu->cuMemGetInfo(&free, &total) != SP_CU_SUCCESS)
        sp_fuzz_wrong(log, "device %d cannot be used in the end", device);
    else if (free != total)
        sp_fuzz_wrong(log, "%zu bytes of device %d are in use in the end", total - free,
                      device);
}

/* A context has a name for the fuzzer although calls never told it. */
static void know_primary_contexts(void)
{
    sp_cu_context context;

    for (int device = 0; device < N_DEVICES; device++) {
        if (cu->cuDevicePrimaryCtxRetain(&context, device) == SP_CU_SUCCESS)
            sp_fuzz_made(SP_FUZZ_CONTEXT, (uintptr_t)context);
    }
}

/* What a context has goes with it, if it has failed, too. Pools are no context's. */
static void destroy_all(struct sp_fuzz_log *log)
{
    know_primary_contexts();
    end_captures();
    synchronize_all();
    for_all(SP_FUZZ_CONTEXT, "cuCtxDestroy_v2");
    for (int device = 0; device < N_DEVICES; device++)
        (void)cu->cuDevicePrimaryCtxReset(device);
    know_primary_contexts();
    (void)fn.cudaSetDevice(0);
    for_all(SP_FUZZ_EXEC, "cuGraphExecDestroy");
    for_all(SP_FUZZ_GRAPH, "cuGraphDestroy");
    for_all(SP_FUZZ_EVENT, "cuEventDestroy_v2");
    for_all(SP_FUZZ_STREAM, "cuStreamDestroy_v2");
    for_all(SP_FUZZ_PTR, "cuMemFree_v2");
    for_all(SP_FUZZ_PINNED, "cuMemFree_v2"); /* of pools; the rest has gone */
    for_all(SP_FUZZ_POOL, "cuMemPoolDestroy");
    for_all(SP_FUZZ_MODULE, "cuModuleUnload");
    for_all(SP_FUZZ_LIBRARY, "cuLibraryUnload");
    for_all(SP_FUZZ_OBJECT, "cuUserObjectRelease");
    for (int device = 0; device < N_DEVICES; device++)
        check_empty(device, log);
}

/* ---- all of it ----------------------------------------------------------------------- */

const char *sp_fuzz_theme(unsigned theme)
{
    return themes[theme % N_THEMES].name;
}

/* A context that has failed refuses everything, for long enough. */
static void recover(int result)
{
    if ((result != SP_CU_ILLEGAL_ADDRESS && result != SP_CU_LAUNCH_FAILED) ||
        sp_fuzz_below(20) != 0)
        return;
    for (int device = 0; device < N_DEVICES; device++)
        (void)cu->cuDevicePrimaryCtxReset(device);
    sp_fuzz_forget_freed();
}

void sp_fuzz_sequence(const struct sp_fuzz_job *job, struct sp_fuzz_log *log)
{
    const struct theme *theme = &themes[job->theme % N_THEMES];

    if (!begin(job)) {
        sp_fuzz_wrong(log, "the model cannot be configured");
        return;
    }
    for (size_t i = 0; i < job->n_calls && log->wrong[0] == '\0'; i++) {
        recover(sp_fuzz_call(next_call(theme), log));
        if (i % 40 == 39)
            keep_alive();
    }
    if (job->destroys)
        destroy_all(log);
}
