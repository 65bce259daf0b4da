/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What 11 has, and 12 for programs that are older than 12.3: dependencies without data about
 * their edges, of which the driver says LOSSY_QUERY where there are such data; and names that
 * 13 has given up. */
#include "config.h"

#ifndef SP_CUDART_MAJOR
#define SP_CUDART_MAJOR 12 /* of those that have this file */
#endif
#include "src/sim/runtime.h"

/* ---- threads, which once had the devices --------------------------------------------- */

int cudaThreadExit(void)
{
    return cudaDeviceReset();
}

int cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

int cudaThreadGetLimit(size_t *value_out, int limit)
{
    return cudaDeviceGetLimit(value_out, limit);
}

int cudaThreadSetLimit(int limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}

int cudaThreadGetCacheConfig(int *config_out)
{
    return cudaDeviceGetCacheConfig(config_out);
}

int cudaThreadSetCacheConfig(int config)
{
    return cudaDeviceSetCacheConfig(config);
}

/* ---- capture ------------------------------------------------------------------------- */

int cudaStreamGetCaptureInfo(sp_cu_stream stream, int *status_out, unsigned long long *id_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetCaptureInfo(stream, status_out, (uint64_t *)id_out,
                                                      NULL, NULL, NULL, NULL));
}

int cudaStreamGetCaptureInfo_v2(sp_cu_stream stream, int *status_out,
                                unsigned long long *id_out, sp_cu_graph *graph_out,
                                const sp_cu_node **dependencies_out, size_t *n_dependencies_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetCaptureInfo(stream, status_out, (uint64_t *)id_out,
                                                      graph_out, dependencies_out, NULL,
                                                      n_dependencies_out));
}

int cudaStreamUpdateCaptureDependencies(sp_cu_stream stream, sp_cu_node *dependencies,
                                        size_t n_dependencies, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuStreamUpdateCaptureDependencies(stream, dependencies, NULL,
                                                                 n_dependencies, flags));
}

/* ---- graphs -------------------------------------------------------------------------- */

int cudaGraphGetEdges(sp_cu_graph graph, sp_cu_node *from_out, sp_cu_node *to_out,
                      size_t *n_edges)
{
    return SP_RUNTIME(sp_cu()->cuGraphGetEdges(graph, from_out, to_out, NULL, n_edges));
}

int cudaGraphNodeGetDependencies(sp_cu_node node, sp_cu_node *nodes_out, size_t *n_nodes)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeGetDependencies(node, nodes_out, NULL, n_nodes));
}

int cudaGraphNodeGetDependentNodes(sp_cu_node node, sp_cu_node *nodes_out, size_t *n_nodes)
{
    return SP_RUNTIME(sp_cu()->cuGraphNodeGetDependentNodes(node, nodes_out, NULL, n_nodes));
}

int cudaGraphAddDependencies(sp_cu_graph graph, const sp_cu_node *from, const sp_cu_node *to,
                             size_t n_edges)
{
    return SP_RUNTIME(sp_cu()->cuGraphAddDependencies(graph, from, to, NULL, n_edges));
}

int cudaGraphRemoveDependencies(sp_cu_graph graph, const sp_cu_node *from, const sp_cu_node *to,
                                size_t n_edges)
{
    return SP_RUNTIME(sp_cu()->cuGraphRemoveDependencies(graph, from, to, NULL, n_edges));
}

/* ---- managed memory of a device, or (-1) the host ------------------------------------ */

int cudaMemPrefetchAsync(const void *ptr, size_t length, int device, sp_cu_stream stream)
{
    return SP_RUNTIME(
        sp_cu()->cuMemPrefetchAsync_v1((sp_cu_ptr)(uintptr_t)ptr, length, device, stream));
}

int cudaMemAdvise(const void *ptr, size_t length, int advice, int device)
{
    return SP_RUNTIME(
        sp_cu()->cuMemAdvise_v1((sp_cu_ptr)(uintptr_t)ptr, length, advice, device));
}
