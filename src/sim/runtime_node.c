/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes of graphs: adding them, and what they are to do in the graph and in executables of it.
 * The runtime's parameters of kernels and copies differ from the driver's. */
#include "config.h"

#include "src/sim/runtime.h"

#include <string.h>

/* ---- parameters ---------------------------------------------------------------------- */

/* The parameters of a copy in the current context. */
static int copy_params(const struct sp_rt_copy3d *copy, struct sp_cu_node_params *out)
{
    int result;

    if (copy == NULL)
        return SP_CU_INVALID_VALUE;
    *out = (struct sp_cu_node_params){.type = SP_CU_NODE_MEMCPY};
    result = sp_runtime_copy3d(copy, &out->copy.copy);
    return result == SP_CU_SUCCESS ? sp_cu()->cuCtxGetCurrent(&out->copy.context) : result;
}

static int copy1d_params(void *target, const void *source, size_t size, int kind,
                         struct sp_cu_node_params *out)
{
    struct sp_rt_copy3d copy;

    sp_runtime_copy1d(target, source, size, &copy);
    copy.kind = kind;
    return copy_params(&copy, out);
}

static int set_params(const struct sp_cu_memset_params *set, struct sp_cu_node_params *out)
{
    if (set == NULL)
        return SP_CU_INVALID_VALUE;
    *out = (struct sp_cu_node_params){.type = SP_CU_NODE_MEMSET, .set = {.params = *set}};
    return sp_cu()->cuCtxGetCurrent(&out->set.context);
}

static int host_params(const struct sp_cu_host_params *host, struct sp_cu_node_params *out)
{
    if (host == NULL)
        return SP_CU_INVALID_VALUE;
    *out = (struct sp_cu_node_params){.type = SP_CU_NODE_HOST, .host = *host};
    return SP_CU_SUCCESS;
}

static int event_params(int type, sp_cu_event event, struct sp_cu_node_params *out)
{
    *out = (struct sp_cu_node_params){.type = type, .event = event};
    return SP_CU_SUCCESS;
}

int sp_runtime_node_params(const struct sp_rt_node_params *params,
                           struct sp_cu_node_params *out)
{
    if (params == NULL)
        return SP_CU_INVALID_VALUE;
    switch (params->type) {
    case SP_CU_NODE_KERNEL:
        *out = (struct sp_cu_node_params){.type = SP_CU_NODE_KERNEL};
        return sp_runtime_kernel_params(&params->kernel, &out->kernel);
    case SP_CU_NODE_MEMCPY:
        if (params->copy.flags != 0)
            return SP_CU_INVALID_VALUE;
        return copy_params(&params->copy.copy, out);
    case SP_CU_NODE_MEMSET:
        return set_params(&params->set, out);
    case SP_CU_NODE_CONDITIONAL:
        memcpy(out, params, sizeof(*out));
        return sp_cu()->cuCtxGetCurrent(&out->conditional.context);
    default:
        memcpy(out, params, sizeof(*out));
        return SP_CU_SUCCESS;
    }
}

/* ---- adding -------------------------------------------------------------------------- */

static int add(sp_cu_node *node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
               size_t n_dependencies, struct sp_cu_node_params *params)
{
    return sp_cu()->cuGraphAddNode(node_out, graph, dependencies, NULL, n_dependencies, params);
}

int cudaGraphAddEmptyNode(sp_cu_node *node_out, sp_cu_graph graph,
                          const sp_cu_node *dependencies, size_t n_dependencies)
{
    return SP_RUNTIME(
        sp_cu()->cuGraphAddEmptyNode(node_out, graph, dependencies, n_dependencies));
}

int cudaGraphAddMemcpyNode(sp_cu_node *node_out, sp_cu_graph graph,
                           const sp_cu_node *dependencies, size_t n_dependencies,
                           const struct sp_rt_copy3d *params)
{
    struct sp_cu_node_params node;

    return SP_RUNTIME(copy_params(params, &node)
                          ?: add(node_out, graph, dependencies, n_dependencies, &node));
}

int cudaGraphAddMemcpyNode1D(sp_cu_node *node_out, sp_cu_graph graph,
                             const sp_cu_node *dependencies, size_t n_dependencies,
                             void *target, const void *source, size_t size, int kind)
{
    struct sp_cu_node_params node;

    return SP_RUNTIME(copy1d_params(target, source, size, kind, &node)
                          ?: add(node_out, graph, dependencies, n_dependencies, &node));
}

int cudaGraphAddMemsetNode(sp_cu_node *node_out, sp_cu_graph graph,
                           const sp_cu_node *dependencies, size_t n_dependencies,
                           const struct sp_cu_memset_params *params)
{
    struct sp_cu_node_params node;

    return SP_RUNTIME(set_params(params, &node)
                          ?: add(node_out, graph, dependencies, n_dependencies, &node));
}

int cudaGraphAddHostNode(sp_cu_node *node_out, sp_cu_graph graph,
                         const sp_cu_node *dependencies, size_t n_dependencies,
                         const struct sp_cu_host_params *params)
{
    return SP_RUNTIME(
        sp_cu()->cuGraphAddHostNode(node_out, graph, dependencies, n_dependencies, params));
}

int cudaGraphAddChildGraphNode(sp_cu_node *node_out, sp_cu_graph graph,
                               const sp_cu_node *dependencies, size_t n_dependencies,
                               sp_cu_graph child)
{
    return SP_RUNTIME(sp_cu()->cuGraphAddChildGraphNode(node_out, graph, dependencies,
                                                        n_dependencies, child));
}

int cudaGraphAddEventRecordNode(sp_cu_node *node_out, sp_cu_graph graph,
                                const sp_cu_node *dependencies, size_t n_dependencies,
                                sp_cu_event event)
{
    return SP_RUNTIME(sp_cu()->cuGraphAddEventRecordNode(node_out, graph, dependencies,
                                                         n_dependencies, event));
}

int cudaGraphAddEventWaitNode(sp_cu_node *node_out, sp_cu_graph graph,
                              const sp_cu_node *dependencies, size_t n_dependencies,
                              sp_cu_event event)
{
    return SP_RUNTIME(
        sp_cu()->cuGraphAddEventWaitNode(node_out, graph, dependencies, n_dependencies, event));
}

int cudaGraphAddMemAllocNode(sp_cu_node *node_out, sp_cu_graph graph,
                             const sp_cu_node *dependencies, size_t n_dependencies,
                             struct sp_cu_alloc_params *params)
{
    return SP_RUNTIME(
        sp_cu()->cuGraphAddMemAllocNode(node_out, graph, dependencies, n_dependencies, params));
}

int cudaGraphAddMemFreeNode(sp_cu_node *node_out, sp_cu_graph graph,
                            const sp_cu_node *dependencies, size_t n_dependencies, void *ptr)
{
    return SP_RUNTIME(sp_cu()->cuGraphAddMemFreeNode(
        node_out, graph, dependencies, n_dependencies, (sp_cu_ptr)(uintptr_t)ptr));
}

/* ---- what nodes do ------------------------------------------------------------------- */

static struct sp_rt_pitched pitched(bool is_host, const void *host, sp_cu_ptr device,
                                    size_t pitch, size_t height)
{
    return (struct sp_rt_pitched){
        .ptr = is_host ? (void *)(uintptr_t)host : (void *)(uintptr_t)device,
        .pitch = pitch,
        .width = pitch,
        .height = height,
    };
}

/* A cudaMemcpyKind. */
static int kind_of(int target, int source)
{
    if (target == SP_CU_MEMORY_TYPE_UNIFIED || source == SP_CU_MEMORY_TYPE_UNIFIED)
        return SP_RT_DEFAULT;
    if (target == SP_CU_MEMORY_TYPE_HOST)
        return source == SP_CU_MEMORY_TYPE_HOST ? SP_RT_HOST_TO_HOST : SP_RT_DEVICE_TO_HOST;
    return source == SP_CU_MEMORY_TYPE_HOST ? SP_RT_HOST_TO_DEVICE : SP_RT_DEVICE_TO_DEVICE;
}

static int get_copy(sp_cu_node node, struct sp_rt_copy3d *params_out)
{
    struct sp_cu_memcpy3d copy;
    int result;

    if (params_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_cu()->cuGraphMemcpyNodeGetParams(node, &copy);
    if (result != SP_CU_SUCCESS)
        return result;
    *params_out = (struct sp_rt_copy3d){
        .source_at = {copy.source_x_bytes, copy.source_y, copy.source_z},
        .source = pitched(copy.source_type == SP_CU_MEMORY_TYPE_HOST, copy.source_host,
                          copy.source_device, copy.source_pitch, copy.source_height),
        .target_at = {copy.target_x_bytes, copy.target_y, copy.target_z},
        .target = pitched(copy.target_type == SP_CU_MEMORY_TYPE_HOST, copy.target_host,
                          copy.target_device, copy.target_pitch, copy.target_height),
        .extent = {copy.width_bytes, copy.height, copy.depth},
        .kind = kind_of(copy.target_type, copy.source_type),
    };
    return SP_CU_SUCCESS;
}

int cudaGraphMemcpyNodeGetParams(sp_cu_node node, struct sp_rt_copy3d *params_out)
{
    return SP_RUNTIME(get_copy(node, params_out));
}

int cudaGraphMemsetNodeGetParams(sp_cu_node node, struct sp_cu_memset_params *params_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphMemsetNodeGetParams(node, params_out));
}

int cudaGraphHostNodeGetParams(sp_cu_node node, struct sp_cu_host_params *params_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphHostNodeGetParams(node, params_out));
}

int cudaGraphChildGraphNodeGetGraph(sp_cu_node node, sp_cu_graph *graph_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphChildGraphNodeGetGraph(node, graph_out));
}

int cudaGraphEventRecordNodeGetEvent(sp_cu_node node, sp_cu_event *event_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphEventRecordNodeGetEvent(node, event_out));
}

int cudaGraphEventWaitNodeGetEvent(sp_cu_node node, sp_cu_event *event_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphEventWaitNodeGetEvent(node, event_out));
}

int cudaGraphMemAllocNodeGetParams(sp_cu_node node, struct sp_cu_alloc_params *params_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphMemAllocNodeGetParams(node, params_out));
}

/* `ptr_out` is the address of a pointer. */
int cudaGraphMemFreeNodeGetParams(sp_cu_node node, void *ptr_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphMemFreeNodeGetParams(node, ptr_out));
}

/* ---- other things to do -------------------------------------------------------------- */

static int set_node(sp_cu_node node, struct sp_cu_node_params *params)
{
    return sp_cu()->cuGraphNodeSetParams(node, params);
}

int cudaGraphMemcpyNodeSetParams(sp_cu_node node, const struct sp_rt_copy3d *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(copy_params(params, &wanted) ?: set_node(node, &wanted));
}

int cudaGraphMemcpyNodeSetParams1D(sp_cu_node node, void *target, const void *source,
                                   size_t size, int kind)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(copy1d_params(target, source, size, kind, &wanted)
                          ?: set_node(node, &wanted));
}

int cudaGraphMemsetNodeSetParams(sp_cu_node node, const struct sp_cu_memset_params *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(set_params(params, &wanted) ?: set_node(node, &wanted));
}

int cudaGraphHostNodeSetParams(sp_cu_node node, const struct sp_cu_host_params *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(host_params(params, &wanted) ?: set_node(node, &wanted));
}

int cudaGraphEventRecordNodeSetEvent(sp_cu_node node, sp_cu_event event)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(event_params(SP_CU_NODE_EVENT_RECORD, event, &wanted)
                          ?: set_node(node, &wanted));
}

int cudaGraphEventWaitNodeSetEvent(sp_cu_node node, sp_cu_event event)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(event_params(SP_CU_NODE_WAIT_EVENT, event, &wanted)
                          ?: set_node(node, &wanted));
}

/* ---- other things to do in an executable --------------------------------------------- */

static int set_exec(sp_cu_exec exec, sp_cu_node node, struct sp_cu_node_params *params)
{
    return sp_cu()->cuGraphExecNodeSetParams(exec, node, params);
}

int cudaGraphExecMemcpyNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                     const struct sp_rt_copy3d *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(copy_params(params, &wanted) ?: set_exec(exec, node, &wanted));
}

int cudaGraphExecMemcpyNodeSetParams1D(sp_cu_exec exec, sp_cu_node node, void *target,
                                       const void *source, size_t size, int kind)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(copy1d_params(target, source, size, kind, &wanted)
                          ?: set_exec(exec, node, &wanted));
}

int cudaGraphExecMemsetNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                     const struct sp_cu_memset_params *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(set_params(params, &wanted) ?: set_exec(exec, node, &wanted));
}

int cudaGraphExecHostNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                   const struct sp_cu_host_params *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(host_params(params, &wanted) ?: set_exec(exec, node, &wanted));
}

int cudaGraphExecChildGraphNodeSetParams(sp_cu_exec exec, sp_cu_node node, sp_cu_graph child)
{
    struct sp_cu_node_params wanted = {.type = SP_CU_NODE_GRAPH, .child = {.graph = child}};

    return SP_RUNTIME(set_exec(exec, node, &wanted));
}

int cudaGraphExecEventRecordNodeSetEvent(sp_cu_exec exec, sp_cu_node node, sp_cu_event event)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(event_params(SP_CU_NODE_EVENT_RECORD, event, &wanted)
                          ?: set_exec(exec, node, &wanted));
}

int cudaGraphExecEventWaitNodeSetEvent(sp_cu_exec exec, sp_cu_node node, sp_cu_event event)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(event_params(SP_CU_NODE_WAIT_EVENT, event, &wanted)
                          ?: set_exec(exec, node, &wanted));
}
