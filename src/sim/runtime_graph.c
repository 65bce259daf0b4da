/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs as a whole: making, looking at, instantiating and launching them, the objects that
 * they hold, and the memory that they use. */
#include "config.h"

#include "src/sim/runtime.h"

/* ---- graphs -------------------------------------------------------------------------- */

int cudaGraphCreate(sp_cu_graph *graph_out, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuGraphCreate(graph_out, flags));
}

int cudaGraphDestroy(sp_cu_graph graph)
{
    return SP_RUNTIME(sp_cu()->cuGraphDestroy(graph));
}

int cudaGraphClone(sp_cu_graph *clone_out, sp_cu_graph graph)
{
    return SP_RUNTIME(sp_cu()->cuGraphClone(clone_out, graph));
}

int cudaGraphNodeFindInClone(sp_cu_node *node_out, sp_cu_node original, sp_cu_graph clone)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeFindInClone(node_out, original, clone));
}

int cudaGraphNodeGetType(sp_cu_node node, int *type_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeGetType(node, type_out));
}

int cudaGraphGetNodes(sp_cu_graph graph, sp_cu_node *nodes_out, size_t *n_nodes)
{
    return SP_RUNTIME(sp_cu()->cuGraphGetNodes(graph, nodes_out, n_nodes));
}

int cudaGraphGetRootNodes(sp_cu_graph graph, sp_cu_node *nodes_out, size_t *n_nodes)
{
    return SP_RUNTIME(sp_cu()->cuGraphGetRootNodes(graph, nodes_out, n_nodes));
}

int cudaGraphDestroyNode(sp_cu_node node)
{
    return SP_RUNTIME(sp_cu()->cuGraphDestroyNode(node));
}

/* ---- executables --------------------------------------------------------------------- */

int cudaGraphInstantiateWithFlags(sp_cu_exec *exec_out, sp_cu_graph graph,
                                  unsigned long long flags)
{
    return SP_RUNTIME(sp_cu()->cuGraphInstantiate(exec_out, graph, flags));
}

int cudaGraphExecDestroy(sp_cu_exec exec)
{
    return SP_RUNTIME(sp_cu()->cuGraphExecDestroy(exec));
}

int cudaGraphNodeSetEnabled(sp_cu_exec exec, sp_cu_node node, unsigned is_enabled)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeSetEnabled(exec, node, is_enabled));
}

int cudaGraphNodeGetEnabled(sp_cu_exec exec, sp_cu_node node, unsigned *is_enabled_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeGetEnabled(exec, node, is_enabled_out));
}

int cudaGraphUpload(sp_cu_exec exec, sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuGraphUpload(exec, stream));
}

int cudaGraphLaunch(sp_cu_exec exec, sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuGraphLaunch(exec, stream));
}

/* ---- memory of graphs ---------------------------------------------------------------- */

int cudaDeviceGraphMemTrim(int device)
{
    return SP_RUNTIME(sp_cu()->cuDeviceGraphMemTrim(device));
}

int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value_out)
{
    return SP_RUNTIME(sp_cu()->cuDeviceGetGraphMemAttribute(device, attribute, value_out));
}

int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    return SP_RUNTIME(sp_cu()->cuDeviceSetGraphMemAttribute(device, attribute, value));
}

/* ---- user objects -------------------------------------------------------------------- */

int cudaUserObjectCreate(sp_cu_object *object_out, void *ptr, sp_cu_host_fn destroy,
                         unsigned initial, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuUserObjectCreate(object_out, ptr, destroy, initial, flags));
}

int cudaUserObjectRetain(sp_cu_object object, unsigned count)
{
    return SP_RUNTIME(sp_cu()->cuUserObjectRetain(object, count));
}

int cudaUserObjectRelease(sp_cu_object object, unsigned count)
{
    return SP_RUNTIME(sp_cu()->cuUserObjectRelease(object, count));
}

int cudaGraphRetainUserObject(sp_cu_graph graph, sp_cu_object object, unsigned count,
                              unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuGraphRetainUserObject(graph, object, count, flags));
}

int cudaGraphReleaseUserObject(sp_cu_graph graph, sp_cu_object object, unsigned count)
{
    return SP_RUNTIME(sp_cu()->cuGraphReleaseUserObject(graph, object, count));
}
