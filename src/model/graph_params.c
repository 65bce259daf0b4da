/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nodes are and do, asked and changed. */
#include "config.h"

#include "src/model/graph.h"

#include "src/model/kernels.h"
#include "src/util/util.h"

/* The node, if there is somewhere to write to and it has that type; else NULL. */
static const struct sp_model_node *node_of(sp_cu_node handle, int type, const void *out)
{
    const struct sp_model_node *node = sp_model_node_find(handle);

    return node != NULL && out != NULL && node->work.type == type ? node : NULL;
}

sp_cu_result sp_model_cuGraphNodeGetType(sp_cu_node handle, int *type_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphNodeGetType);
    node = sp_model_node_find(handle);
    if (node == NULL || type_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *type_out = node->work.type;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* The arguments stay the node's. */
sp_cu_result sp_model_cuGraphKernelNodeGetParams(sp_cu_node handle,
                                                 struct sp_cu_kernel_params *params_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphKernelNodeGetParams);
    node = node_of(handle, SP_CU_NODE_KERNEL, params_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    sp_model_kernel_params(node->work.kernel, params_out);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuGraphMemcpyNodeGetParams(sp_cu_node handle,
                                                 struct sp_cu_memcpy3d *params_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphMemcpyNodeGetParams);
    node = node_of(handle, SP_CU_NODE_MEMCPY, params_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *params_out = node->work.copy.copy;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuGraphMemsetNodeGetParams(sp_cu_node handle,
                                                 struct sp_cu_memset_params *params_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphMemsetNodeGetParams);
    node = node_of(handle, SP_CU_NODE_MEMSET, params_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *params_out = node->work.set.params;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuGraphHostNodeGetParams(sp_cu_node handle,
                                               struct sp_cu_host_params *params_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphHostNodeGetParams);
    node = node_of(handle, SP_CU_NODE_HOST, params_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *params_out = node->work.host;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* The graph stays the node's. */
sp_cu_result sp_model_cuGraphChildGraphNodeGetGraph(sp_cu_node handle, sp_cu_graph *graph_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphChildGraphNodeGetGraph);
    node = node_of(handle, SP_CU_NODE_GRAPH, graph_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *graph_out = node->work.child->handle;
    return sp_model_leave(SP_CU_SUCCESS);
}

static sp_cu_result get_event(sp_cu_node handle, int type, sp_cu_event *event_out)
{
    const struct sp_model_node *node = node_of(handle, type, event_out);

    if (node == NULL)
        return SP_CU_INVALID_VALUE;
    *event_out = node->work.event;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphEventRecordNodeGetEvent(sp_cu_node node, sp_cu_event *event_out)
{
    SP_MODEL_ENTER(cuGraphEventRecordNodeGetEvent);
    return sp_model_leave(get_event(node, SP_CU_NODE_EVENT_RECORD, event_out));
}

sp_cu_result sp_model_cuGraphEventWaitNodeGetEvent(sp_cu_node node, sp_cu_event *event_out)
{
    SP_MODEL_ENTER(cuGraphEventWaitNodeGetEvent);
    return sp_model_leave(get_event(node, SP_CU_NODE_WAIT_EVENT, event_out));
}

/* The access descriptors stay the node's. */
sp_cu_result sp_model_cuGraphMemAllocNodeGetParams(sp_cu_node handle,
                                                   struct sp_cu_alloc_params *params_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphMemAllocNodeGetParams);
    node = node_of(handle, SP_CU_NODE_MEM_ALLOC, params_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    sp_model_alloc_params(node->work.alloc, params_out);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuGraphMemFreeNodeGetParams(sp_cu_node handle, sp_cu_ptr *ptr_out)
{
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphMemFreeNodeGetParams);
    node = node_of(handle, SP_CU_NODE_MEM_FREE, ptr_out);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *ptr_out = sp_model_alloc_ptr(node->work.alloc);
    return sp_model_leave(SP_CU_SUCCESS);
}

/* Nodes that own something keep it (GNODE-28). */
static sp_cu_result set_params(struct sp_model_node *node,
                               const struct sp_cu_node_params *params)
{
    struct sp_model_work work;
    sp_cu_result result;

    if (params->type != node->work.type || !sp_model_params_are_clean(params))
        return SP_CU_INVALID_VALUE;
    result = sp_model_work_of(params, &work);
    if (result != SP_CU_SUCCESS)
        return result;
    sp_model_work_release(&node->work);
    node->work = work;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphNodeSetParams(sp_cu_node handle, struct sp_cu_node_params *params)
{
    struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphNodeSetParams);
    node = sp_model_node_find(handle);
    if (node == NULL || params == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(set_params(node, params));
}

sp_cu_result sp_model_cuGraphKernelNodeSetParams(sp_cu_node handle,
                                                 const struct sp_cu_kernel_params *kernel)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_KERNEL};
    struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphKernelNodeSetParams);
    node = sp_model_node_find(handle);
    if (node == NULL || kernel == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.kernel = *kernel;
    return sp_model_leave(set_params(node, &params));
}
