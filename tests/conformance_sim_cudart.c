/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance suite on the simulated libcudart.so.13: wherever the runtime has a function
 * that does what one of the driver's does, the cases call that, through the library that a
 * program would load. What only the driver has is the model's own. */
#include "config.h"

#include "tests/conformance_private.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/model.h"
#include "src/sim/runtime_types.h"

/* The library's functions by name. */
static struct {
#define X(name, parameters)                   int(*name) parameters;
#define Z(name, parameters, arguments)        int(*name) parameters;
#define D(name, parameters, async, arguments) int(*name) parameters;
#include "src/sim/runtime_calls.def"
#undef X
#undef Z
#undef D
} rt;

/* ---- functions that are called alike ------------------------------------------------- */

/* An address is a number to the driver and a pointer to the runtime, which is the same to the
 * machine. */
#define PAIR(driver, runtime)                        \
    {                                                \
        offsetof(struct sp_driver, driver), #runtime \
    }

static const struct {
    size_t offset;
    const char *name;
} pairs[] = {
    PAIR(cuDeviceGetCount, cudaGetDeviceCount),
    PAIR(cuDeviceGetAttribute, cudaDeviceGetAttribute),
    PAIR(cuDeviceGetPCIBusId, cudaDeviceGetPCIBusId),
    PAIR(cuDeviceCanAccessPeer, cudaDeviceCanAccessPeer),
    PAIR(cuCtxSynchronize, cudaDeviceSynchronize),
    PAIR(cuStreamCreate, cudaStreamCreateWithFlags),
    PAIR(cuStreamCreateWithPriority, cudaStreamCreateWithPriority),
    PAIR(cuStreamDestroy, cudaStreamDestroy),
    PAIR(cuStreamSynchronize, cudaStreamSynchronize),
    PAIR(cuStreamQuery, cudaStreamQuery),
    PAIR(cuStreamWaitEvent, cudaStreamWaitEvent),
    PAIR(cuStreamGetId, cudaStreamGetId),
    PAIR(cuStreamGetFlags, cudaStreamGetFlags),
    PAIR(cuStreamAddCallback, cudaStreamAddCallback),
    PAIR(cuLaunchHostFunc, cudaLaunchHostFunc),
    PAIR(cuStreamAttachMemAsync, cudaStreamAttachMemAsync),
    PAIR(cuEventCreate, cudaEventCreateWithFlags),
    PAIR(cuEventDestroy, cudaEventDestroy),
    PAIR(cuEventRecord, cudaEventRecord),
    PAIR(cuEventRecordWithFlags, cudaEventRecordWithFlags),
    PAIR(cuEventQuery, cudaEventQuery),
    PAIR(cuEventSynchronize, cudaEventSynchronize),
    PAIR(cuEventElapsedTime, cudaEventElapsedTime),
    PAIR(cuMemGetInfo, cudaMemGetInfo),
    PAIR(cuMemAlloc, cudaMalloc),
    PAIR(cuMemFree, cudaFree),
    PAIR(cuMemAllocManaged, cudaMallocManaged),
    PAIR(cuMemAllocHost, cudaMallocHost),
    PAIR(cuMemHostAlloc, cudaHostAlloc),
    PAIR(cuMemFreeHost, cudaFreeHost),
    PAIR(cuMemHostRegister, cudaHostRegister),
    PAIR(cuMemHostUnregister, cudaHostUnregister),
    PAIR(cuMemHostGetDevicePointer, cudaHostGetDevicePointer),
    PAIR(cuMemAllocAsync, cudaMallocAsync),
    PAIR(cuMemAllocFromPoolAsync, cudaMallocFromPoolAsync),
    PAIR(cuMemFreeAsync, cudaFreeAsync),
    PAIR(cuMemPoolCreate, cudaMemPoolCreate),
    PAIR(cuMemPoolDestroy, cudaMemPoolDestroy),
    PAIR(cuMemPoolTrimTo, cudaMemPoolTrimTo),
    PAIR(cuMemPoolGetAttribute, cudaMemPoolGetAttribute),
    PAIR(cuMemPoolSetAttribute, cudaMemPoolSetAttribute),
    PAIR(cuMemPoolGetAccess, cudaMemPoolGetAccess),
    PAIR(cuMemPoolSetAccess, cudaMemPoolSetAccess),
    PAIR(cuMemPoolExportToShareableHandle, cudaMemPoolExportToShareableHandle),
    PAIR(cuMemPoolImportFromShareableHandle, cudaMemPoolImportFromShareableHandle),
    PAIR(cuMemPoolExportPointer, cudaMemPoolExportPointer),
    PAIR(cuMemPoolImportPointer, cudaMemPoolImportPointer),
    PAIR(cuDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool),
    PAIR(cuDeviceGetMemPool, cudaDeviceGetMemPool),
    PAIR(cuDeviceSetMemPool, cudaDeviceSetMemPool),
    PAIR(cuMemGetDefaultMemPool, cudaMemGetDefaultMemPool),
    PAIR(cuMemGetMemPool, cudaMemGetMemPool),
    PAIR(cuMemSetMemPool, cudaMemSetMemPool),
    PAIR(cuIpcGetEventHandle, cudaIpcGetEventHandle),
    PAIR(cuIpcOpenEventHandle, cudaIpcOpenEventHandle),
    PAIR(cuIpcGetMemHandle, cudaIpcGetMemHandle),
    PAIR(cuIpcOpenMemHandle, cudaIpcOpenMemHandle),
    PAIR(cuIpcCloseMemHandle, cudaIpcCloseMemHandle),
    PAIR(cuStreamBeginCapture, cudaStreamBeginCapture),
    PAIR(cuStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph),
    PAIR(cuStreamEndCapture, cudaStreamEndCapture),
    PAIR(cuStreamIsCapturing, cudaStreamIsCapturing),
    PAIR(cuStreamGetCaptureInfo, cudaStreamGetCaptureInfo),
    PAIR(cuStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies),
    PAIR(cuThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode),
    PAIR(cuGraphCreate, cudaGraphCreate),
    PAIR(cuGraphDestroy, cudaGraphDestroy),
    PAIR(cuGraphClone, cudaGraphClone),
    PAIR(cuGraphNodeFindInClone, cudaGraphNodeFindInClone),
    PAIR(cuGraphAddEmptyNode, cudaGraphAddEmptyNode),
    PAIR(cuGraphAddHostNode, cudaGraphAddHostNode),
    PAIR(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode),
    PAIR(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode),
    PAIR(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode),
    PAIR(cuGraphAddMemAllocNode, cudaGraphAddMemAllocNode),
    PAIR(cuGraphAddMemFreeNode, cudaGraphAddMemFreeNode),
    PAIR(cuGraphNodeGetType, cudaGraphNodeGetType),
    PAIR(cuGraphMemsetNodeGetParams, cudaGraphMemsetNodeGetParams),
    PAIR(cuGraphHostNodeGetParams, cudaGraphHostNodeGetParams),
    PAIR(cuGraphChildGraphNodeGetGraph, cudaGraphChildGraphNodeGetGraph),
    PAIR(cuGraphEventRecordNodeGetEvent, cudaGraphEventRecordNodeGetEvent),
    PAIR(cuGraphEventWaitNodeGetEvent, cudaGraphEventWaitNodeGetEvent),
    PAIR(cuGraphMemAllocNodeGetParams, cudaGraphMemAllocNodeGetParams),
    PAIR(cuGraphMemFreeNodeGetParams, cudaGraphMemFreeNodeGetParams),
    PAIR(cuGraphGetNodes, cudaGraphGetNodes),
    PAIR(cuGraphGetRootNodes, cudaGraphGetRootNodes),
    PAIR(cuGraphGetEdges, cudaGraphGetEdges),
    PAIR(cuGraphNodeGetDependencies, cudaGraphNodeGetDependencies),
    PAIR(cuGraphNodeGetDependentNodes, cudaGraphNodeGetDependentNodes),
    PAIR(cuGraphAddDependencies, cudaGraphAddDependencies),
    PAIR(cuGraphRemoveDependencies, cudaGraphRemoveDependencies),
    PAIR(cuGraphDestroyNode, cudaGraphDestroyNode),
    PAIR(cuGraphConditionalHandleCreate, cudaGraphConditionalHandleCreate),
    PAIR(cuGraphInstantiate, cudaGraphInstantiate),
    PAIR(cuGraphInstantiateWithParams, cudaGraphInstantiateWithParams),
    PAIR(cuGraphExecDestroy, cudaGraphExecDestroy),
    PAIR(cuGraphExecGetFlags, cudaGraphExecGetFlags),
    PAIR(cuGraphExecUpdate, cudaGraphExecUpdate),
    PAIR(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled),
    PAIR(cuGraphNodeGetEnabled, cudaGraphNodeGetEnabled),
    PAIR(cuGraphUpload, cudaGraphUpload),
    PAIR(cuGraphLaunch, cudaGraphLaunch),
    PAIR(cuDeviceGraphMemTrim, cudaDeviceGraphMemTrim),
    PAIR(cuDeviceGetGraphMemAttribute, cudaDeviceGetGraphMemAttribute),
    PAIR(cuDeviceSetGraphMemAttribute, cudaDeviceSetGraphMemAttribute),
    PAIR(cuUserObjectCreate, cudaUserObjectCreate),
    PAIR(cuUserObjectRetain, cudaUserObjectRetain),
    PAIR(cuUserObjectRelease, cudaUserObjectRelease),
    PAIR(cuGraphRetainUserObject, cudaGraphRetainUserObject),
    PAIR(cuGraphReleaseUserObject, cudaGraphReleaseUserObject),
};

/* ---- copies and memsets -------------------------------------------------------------- */

static void *pointer(sp_cu_ptr ptr)
{
    return (void *)(uintptr_t)ptr;
}

static sp_cu_result copy(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    return rt.cudaMemcpy(pointer(target), pointer(source), size, SP_RT_DEFAULT);
}

static sp_cu_result copy_async(sp_cu_ptr target, sp_cu_ptr source, size_t size,
                               sp_cu_stream stream)
{
    return rt.cudaMemcpyAsync(pointer(target), pointer(source), size, SP_RT_DEFAULT, stream);
}

static sp_cu_result copy_in(sp_cu_ptr target, const void *source, size_t size)
{
    return rt.cudaMemcpy(pointer(target), source, size, SP_RT_HOST_TO_DEVICE);
}

static sp_cu_result copy_in_async(sp_cu_ptr target, const void *source, size_t size,
                                  sp_cu_stream stream)
{
    return rt.cudaMemcpyAsync(pointer(target), source, size, SP_RT_HOST_TO_DEVICE, stream);
}

static sp_cu_result copy_out(void *target, sp_cu_ptr source, size_t size)
{
    return rt.cudaMemcpy(target, pointer(source), size, SP_RT_DEVICE_TO_HOST);
}

static sp_cu_result copy_out_async(void *target, sp_cu_ptr source, size_t size,
                                   sp_cu_stream stream)
{
    return rt.cudaMemcpyAsync(target, pointer(source), size, SP_RT_DEVICE_TO_HOST, stream);
}

static sp_cu_result copy_on(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    return rt.cudaMemcpy(pointer(target), pointer(source), size, SP_RT_DEVICE_TO_DEVICE);
}

static sp_cu_result copy_on_async(sp_cu_ptr target, sp_cu_ptr source, size_t size,
                                  sp_cu_stream stream)
{
    return rt.cudaMemcpyAsync(pointer(target), pointer(source), size, SP_RT_DEVICE_TO_DEVICE,
                              stream);
}

static sp_cu_result set(sp_cu_ptr target, unsigned char value, size_t n)
{
    return rt.cudaMemset(pointer(target), value, n);
}

static sp_cu_result set_async(sp_cu_ptr target, unsigned char value, size_t n,
                              sp_cu_stream stream)
{
    return rt.cudaMemsetAsync(pointer(target), value, n, stream);
}

/* ---- nodes --------------------------------------------------------------------------- */

static int kind_of(const struct sp_cu_memcpy3d *copied)
{
    bool is_from_host = copied->source_type == SP_CU_MEMORY_TYPE_HOST;
    bool is_to_host = copied->target_type == SP_CU_MEMORY_TYPE_HOST;

    if (copied->source_type == SP_CU_MEMORY_TYPE_UNIFIED ||
        copied->target_type == SP_CU_MEMORY_TYPE_UNIFIED)
        return SP_RT_DEFAULT;
    if (is_from_host)
        return is_to_host ? SP_RT_HOST_TO_HOST : SP_RT_HOST_TO_DEVICE;
    return is_to_host ? SP_RT_DEVICE_TO_HOST : SP_RT_DEVICE_TO_DEVICE;
}

static struct sp_rt_copy3d to_runtime(const struct sp_cu_memcpy3d *copied)
{
    bool is_from_host = copied->source_type == SP_CU_MEMORY_TYPE_HOST;
    bool is_to_host = copied->target_type == SP_CU_MEMORY_TYPE_HOST;

    return (struct sp_rt_copy3d){
        .source_at = {copied->source_x_bytes, copied->source_y, copied->source_z},
        .source = {is_from_host ? (void *)(uintptr_t)copied->source_host
                                : pointer(copied->source_device),
                   copied->source_pitch, copied->source_pitch, copied->source_height},
        .target_at = {copied->target_x_bytes, copied->target_y, copied->target_z},
        .target = {is_to_host ? copied->target_host : pointer(copied->target_device),
                   copied->target_pitch, copied->target_pitch, copied->target_height},
        .extent = {copied->width_bytes, copied->height, copied->depth},
        .kind = kind_of(copied),
    };
}

static sp_cu_result add_copy(sp_cu_node *node_out, sp_cu_graph graph,
                             const sp_cu_node *dependencies, size_t n_dependencies,
                             const struct sp_cu_memcpy3d *params, sp_cu_context context)
{
    struct sp_rt_copy3d copied = to_runtime(params);

    (void)context;
    return rt.cudaGraphAddMemcpyNode(node_out, graph, dependencies, n_dependencies, &copied);
}

static sp_cu_result add_set(sp_cu_node *node_out, sp_cu_graph graph,
                            const sp_cu_node *dependencies, size_t n_dependencies,
                            const struct sp_cu_memset_params *params, sp_cu_context context)
{
    (void)context;
    return rt.cudaGraphAddMemsetNode(node_out, graph, dependencies, n_dependencies, params);
}

/* What both say alike, and copies. */
static struct sp_rt_node_params params_of(const struct sp_cu_node_params *params)
{
    struct sp_rt_node_params wanted;

    memcpy(&wanted, params, sizeof(wanted));
    if (params->type == SP_CU_NODE_MEMCPY) {
        memset(&wanted.reserved1, 0, sizeof(wanted.reserved1));
        wanted.copy.flags = params->copy.flags;
        wanted.copy.copy = to_runtime(&params->copy.copy);
    }
    return wanted;
}

static sp_cu_result add_node(sp_cu_node *node_out, sp_cu_graph graph,
                             const sp_cu_node *dependencies,
                             const struct sp_cu_edge_data *edges, size_t n_dependencies,
                             struct sp_cu_node_params *params)
{
    struct sp_rt_node_params wanted = params_of(params);
    int result =
        rt.cudaGraphAddNode(node_out, graph, dependencies, edges, n_dependencies, &wanted);

    if (result == SP_CU_SUCCESS && params->type == SP_CU_NODE_MEM_ALLOC)
        params->alloc.ptr = wanted.alloc.ptr;
    if (result == SP_CU_SUCCESS && params->type == SP_CU_NODE_CONDITIONAL)
        params->conditional.graphs_out = wanted.conditional.graphs_out;
    return result;
}

static sp_cu_result set_node(sp_cu_node node, struct sp_cu_node_params *params)
{
    struct sp_rt_node_params wanted = params_of(params);

    return rt.cudaGraphNodeSetParams(node, &wanted);
}

static sp_cu_result set_exec_node(sp_cu_exec exec, sp_cu_node node,
                                  struct sp_cu_node_params *params)
{
    struct sp_rt_node_params wanted = params_of(params);

    return rt.cudaGraphExecNodeSetParams(exec, node, &wanted);
}

/* ---- the table ----------------------------------------------------------------------- */

static void fill_copies(struct sp_driver *table)
{
    table->cuMemcpy = copy;
    table->cuMemcpyAsync = copy_async;
    table->cuMemcpyHtoD = copy_in;
    table->cuMemcpyHtoDAsync = copy_in_async;
    table->cuMemcpyDtoH = copy_out;
    table->cuMemcpyDtoHAsync = copy_out_async;
    table->cuMemcpyDtoD = copy_on;
    table->cuMemcpyDtoDAsync = copy_on_async;
    table->cuMemsetD8 = set;
    table->cuMemsetD8Async = set_async;
    table->cuGraphAddMemcpyNode = add_copy;
    table->cuGraphAddMemsetNode = add_set;
    table->cuGraphAddNode = add_node;
    table->cuGraphNodeSetParams = set_node;
    table->cuGraphExecNodeSetParams = set_exec_node;
}

static void find(void *handle, const char *name, void *function_out)
{
    void *found = dlsym(handle, name);

    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    memcpy(function_out, &found, sizeof(found));
}

static bool load(struct sp_driver_library *library, const char **reason_out)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/sim/cuda-13/libcudart.so.13",
                   builddir != NULL ? builddir : ".");
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        *reason_out = dlerror();
        return false;
    }
    library->table = *sp_model_driver();
#define X(name, parameters)                   find(library->handle, #name, &rt.name);
#define Z(name, parameters, arguments)        find(library->handle, #name, &rt.name);
#define D(name, parameters, async, arguments) find(library->handle, #name, &rt.name);
#include "src/sim/runtime_calls.def"
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        find(library->handle, pairs[i].name, (char *)&library->table + pairs[i].offset);
    fill_copies(&library->table);
    return true;
}

/* Where the runtime differs on purpose: it starts the driver, makes a context, and answers with
 * success when nothing is allocated. tests/test_sim_runtime.c has these. */
static bool is_omitted(const char *name)
{
    static const char *const omitted[] = {
        "pool_23_a_pool_needs_cuInit_but_no_context",
        "order_11_the_default_stream_needs_a_context",
        "inter_05_no_bytes_are_refused_and_null_is_freed",
    };

    for (size_t i = 0; i < sizeof(omitted) / sizeof(omitted[0]); i++) {
        if (strcmp(name, omitted[i]) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    sp_harness.is_omitted = is_omitted;
    sp_harness.load = load;
    return sp_conformance_main(SP_CONFORM_SIM_CUDA, argc, argv);
}
