/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dependencies with data about their edges, in the form of 13. 12 has the same functions under
 * the names that its header gives them behind the program's back; 11 has none. */
#include "config.h"

#include "src/sim/runtime.h"

#if SP_CUDART_MAJOR == 12
#define cudaStreamGetCaptureInfo            cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaGraphAddNode                    cudaGraphAddNode_v2
#define cudaGraphGetEdges                   cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies        cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes      cudaGraphNodeGetDependentNodes_v2
#define cudaGraphAddDependencies            cudaGraphAddDependencies_v2
#define cudaGraphRemoveDependencies         cudaGraphRemoveDependencies_v2
#define cudaMemPrefetchAsync                cudaMemPrefetchAsync_v2
#define cudaMemAdvise                       cudaMemAdvise_v2
#endif

/* ---- capture ------------------------------------------------------------------------- */

int cudaStreamGetCaptureInfo(sp_cu_stream stream, int *status_out, unsigned long long *id_out,
                             sp_cu_graph *graph_out, const sp_cu_node **dependencies_out,
                             const struct sp_cu_edge_data **edges_out,
                             size_t *n_dependencies_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetCaptureInfo(stream, status_out, (uint64_t *)id_out,
                                                      graph_out, dependencies_out, edges_out,
                                                      n_dependencies_out));
}

int cudaStreamUpdateCaptureDependencies(sp_cu_stream stream, sp_cu_node *dependencies,
                                        const struct sp_cu_edge_data *edges,
                                        size_t n_dependencies, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuStreamUpdateCaptureDependencies(stream, dependencies, edges,
                                                                 n_dependencies, flags));
}

/* ---- graphs -------------------------------------------------------------------------- */

int cudaGraphAddNode(sp_cu_node *node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
                     const struct sp_cu_edge_data *edges, size_t n_dependencies,
                     struct sp_rt_node_params *params)
{
    return SP_RUNTIME(
        sp_runtime_add_node(node_out, graph, dependencies, edges, n_dependencies, params));
}

int cudaGraphGetEdges(sp_cu_graph graph, sp_cu_node *from_out, sp_cu_node *to_out,
                      struct sp_cu_edge_data *edges_out, size_t *n_edges)
{
    return SP_RUNTIME(sp_cu()->cuGraphGetEdges(graph, from_out, to_out, edges_out, n_edges));
}

int cudaGraphNodeGetDependencies(sp_cu_node node, sp_cu_node *nodes_out,
                                 struct sp_cu_edge_data *edges_out, size_t *n_nodes)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeGetDependencies(node, nodes_out, edges_out, n_nodes));
}

int cudaGraphNodeGetDependentNodes(sp_cu_node node, sp_cu_node *nodes_out,
                                   struct sp_cu_edge_data *edges_out, size_t *n_nodes)
{
    return SP_RUNTIME(
        sp_cu()->cuGraphNodeGetDependentNodes(node, nodes_out, edges_out, n_nodes));
}

int cudaGraphAddDependencies(sp_cu_graph graph, const sp_cu_node *from, const sp_cu_node *to,
                             const struct sp_cu_edge_data *edges, size_t n_edges)
{
    return SP_RUNTIME(sp_cu()->cuGraphAddDependencies(graph, from, to, edges, n_edges));
}

int cudaGraphRemoveDependencies(sp_cu_graph graph, const sp_cu_node *from, const sp_cu_node *to,
                                const struct sp_cu_edge_data *edges, size_t n_edges)
{
    return SP_RUNTIME(sp_cu()->cuGraphRemoveDependencies(graph, from, to, edges, n_edges));
}

/* ---- managed memory at a location ---------------------------------------------------- */

int cudaMemPrefetchAsync(const void *ptr, size_t length, struct sp_cu_location location,
                         unsigned flags, sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuMemPrefetchAsync((sp_cu_ptr)(uintptr_t)ptr, length, location,
                                                  flags, stream));
}

int cudaMemAdvise(const void *ptr, size_t length, int advice, struct sp_cu_location location)
{
    return SP_RUNTIME(
        sp_cu()->cuMemAdvise((sp_cu_ptr)(uintptr_t)ptr, length, advice, location));
}
