/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What 12 has twice: once for programs made with an early header of it, once for later ones. */
#include "config.h"

#ifndef SP_CUDART_MAJOR
#define SP_CUDART_MAJOR 12 /* of those that have this file */
#endif
#include "src/sim/runtime.h"

/* The structure of 11, which is the beginning of that of 12. */
#define OLD_PROPS_BYTES 728

int cudaGetDeviceProperties(void *props_out, int device)
{
    return SP_RUNTIME_START(sp_runtime_props(props_out, OLD_PROPS_BYTES, device));
}

int cudaGetDeviceProperties_v2(void *props_out, int device)
{
    return SP_RUNTIME_START(sp_runtime_props(props_out, SIZE_MAX, device));
}

int cudaEventElapsedTime_v2(float *milliseconds_out, sp_cu_event start, sp_cu_event end)
{
    return cudaEventElapsedTime(milliseconds_out, start, end);
}

int cudaGraphAddNode(sp_cu_node *node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
                     size_t n_dependencies, struct sp_rt_node_params *params)
{
    return SP_RUNTIME(
        sp_runtime_add_node(node_out, graph, dependencies, NULL, n_dependencies, params));
}
