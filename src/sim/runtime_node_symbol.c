/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes that copy to and from variables of devices: the variable's memory on the current one.
 */
#include "config.h"

#include "src/sim/runtime.h"

/* ---- adding -------------------------------------------------------------------------- */

int cudaGraphAddMemcpyNodeToSymbol(sp_cu_node *node_out, sp_cu_graph graph,
                                   const sp_cu_node *dependencies, size_t n_dependencies,
                                   const void *symbol, const void *source, size_t size,
                                   size_t offset, int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    if (result != SP_CU_SUCCESS)
        return sp_runtime_end(result);
    return cudaGraphAddMemcpyNode1D(node_out, graph, dependencies, n_dependencies,
                                    (void *)(uintptr_t)ptr, source, size, kind);
}

int cudaGraphAddMemcpyNodeFromSymbol(sp_cu_node *node_out, sp_cu_graph graph,
                                     const sp_cu_node *dependencies, size_t n_dependencies,
                                     void *target, const void *symbol, size_t size,
                                     size_t offset, int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    if (result != SP_CU_SUCCESS)
        return sp_runtime_end(result);
    return cudaGraphAddMemcpyNode1D(node_out, graph, dependencies, n_dependencies, target,
                                    (const void *)(uintptr_t)ptr, size, kind);
}

/* ---- other things to do -------------------------------------------------------------- */

int cudaGraphMemcpyNodeSetParamsToSymbol(sp_cu_node node, const void *symbol,
                                         const void *source, size_t size, size_t offset,
                                         int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS ? cudaGraphMemcpyNodeSetParams1D(
                                         node, (void *)(uintptr_t)ptr, source, size, kind)
                                   : sp_runtime_end(result);
}

int cudaGraphMemcpyNodeSetParamsFromSymbol(sp_cu_node node, void *target, const void *symbol,
                                           size_t size, size_t offset, int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS ? cudaGraphMemcpyNodeSetParams1D(
                                         node, target, (const void *)(uintptr_t)ptr, size, kind)
                                   : sp_runtime_end(result);
}

int cudaGraphExecMemcpyNodeSetParamsToSymbol(sp_cu_exec exec, sp_cu_node node,
                                             const void *symbol, const void *source,
                                             size_t size, size_t offset, int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS ? cudaGraphExecMemcpyNodeSetParams1D(
                                         exec, node, (void *)(uintptr_t)ptr, source, size, kind)
                                   : sp_runtime_end(result);
}

int cudaGraphExecMemcpyNodeSetParamsFromSymbol(sp_cu_exec exec, sp_cu_node node, void *target,
                                               const void *symbol, size_t size, size_t offset,
                                               int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS
               ? cudaGraphExecMemcpyNodeSetParams1D(exec, node, target,
                                                    (const void *)(uintptr_t)ptr, size, kind)
               : sp_runtime_end(result);
}
