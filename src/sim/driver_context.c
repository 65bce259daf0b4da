/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entry points of libcuda.so.1 about contexts, capture and kernels that are made of the
 * model's: see driver_made.def. */
#include "config.h"

#include "src/sim/driver_made.h"

#include "src/sim/table.h"

/* CU_EXEC_AFFINITY: a context of some multiprocessors only. */
#define UNSUPPORTED_EXEC_AFFINITY 224

/* The unit in which real devices give memory to programs that map it themselves. */
#define GRANULARITY ((size_t)2 << 20)

/* ---- contexts -------------------------------------------------------------------------- */

sp_cu_result sp_made_cuCtxCreate_v3(sp_cu_context *context_out, const void *affinity,
                                    int n_affinity, unsigned flags, sp_cu_device device)
{
    if (n_affinity < 0 || (affinity == NULL) != (n_affinity == 0))
        return SP_CU_INVALID_VALUE;
    if (n_affinity > 0)
        return UNSUPPORTED_EXEC_AFFINITY;
    return sp_sim_driver()->cuCtxCreate(context_out, flags, device);
}

sp_cu_result sp_made_cuCtxCreate_v4(sp_cu_context *context_out,
                                    const struct sp_cu_context_params *params, unsigned flags,
                                    sp_cu_device device)
{
    if (params == NULL)
        return sp_sim_driver()->cuCtxCreate(context_out, flags, device);
    if (params->graphics != NULL)
        return sp_driver_missing("cuCtxCreate_v4");
    return sp_made_cuCtxCreate_v3(context_out, params->affinity, params->n_affinity, flags,
                                  device);
}

/* Do something in another context than the current one; NULL is the current one. */
static sp_cu_result enter(sp_cu_context context)
{
    return context == NULL ? SP_CU_SUCCESS : sp_sim_driver()->cuCtxPushCurrent(context);
}

static sp_cu_result leave(sp_cu_context context, sp_cu_result result)
{
    sp_cu_result popped = SP_CU_SUCCESS;

    if (context != NULL)
        popped = sp_sim_driver()->cuCtxPopCurrent(&context);
    return result != SP_CU_SUCCESS ? result : popped;
}

sp_cu_result sp_made_cuCtxGetDevice_v2(sp_cu_device *device_out, sp_cu_context context)
{
    sp_cu_result result = enter(context);

    if (result != SP_CU_SUCCESS)
        return result;
    return leave(context, sp_sim_driver()->cuCtxGetDevice(device_out));
}

sp_cu_result sp_made_cuCtxSynchronize_v2(sp_cu_context context)
{
    sp_cu_result result = enter(context);

    if (result != SP_CU_SUCCESS)
        return result;
    return leave(context, sp_sim_driver()->cuCtxSynchronize());
}

/* There are no green contexts, so no stream belongs to one. */
sp_cu_result sp_made_cuStreamGetCtx_v2(sp_cu_stream stream, sp_cu_context *context_out,
                                       void **green_out)
{
    sp_cu_result result;

    if (green_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_sim_driver()->cuStreamGetCtx(stream, context_out);
    if (result == SP_CU_SUCCESS)
        *green_out = NULL;
    return result;
}

sp_cu_result sp_made_cuStreamGetGreenCtx(sp_cu_stream stream, void **green_out)
{
    sp_cu_context context;

    return sp_made_cuStreamGetCtx_v2(stream, &context, green_out);
}

sp_cu_result sp_made_cuMemAllocHost(void **ptr_out, unsigned size)
{
    return sp_sim_driver()->cuMemAllocHost(ptr_out, size);
}

/* Programs round with it also what they do not map themselves. */
sp_cu_result sp_made_cuMemGetAllocationGranularity(size_t *bytes_out, const void *props,
                                                   int option)
{
    if (bytes_out == NULL || props == NULL || option < 0 || option > 1)
        return SP_CU_INVALID_VALUE;
    *bytes_out = GRANULARITY;
    return SP_CU_SUCCESS;
}

/* ---- capture ---------------------------------------------------------------------------- */

/* Before there were modes. */
sp_cu_result sp_made_cuStreamBeginCapture(sp_cu_stream stream)
{
    return sp_sim_driver()->cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_GLOBAL);
}

sp_cu_result sp_made_cuStreamGetCaptureInfo(sp_cu_stream stream, int *status_out,
                                            uint64_t *id_out)
{
    return sp_sim_driver()->cuStreamGetCaptureInfo(stream, status_out, id_out, NULL, NULL, NULL,
                                                   NULL);
}

sp_cu_result sp_made_cuStreamGetCaptureInfo_v2(sp_cu_stream stream, int *status_out,
                                               uint64_t *id_out, sp_cu_graph *graph_out,
                                               const sp_cu_node **dependencies_out,
                                               size_t *n_dependencies_out)
{
    return sp_sim_driver()->cuStreamGetCaptureInfo(stream, status_out, id_out, graph_out,
                                                   dependencies_out, NULL, n_dependencies_out);
}

sp_cu_result sp_made_cuStreamUpdateCaptureDependencies(sp_cu_stream stream,
                                                       sp_cu_node *dependencies,
                                                       size_t n_dependencies, unsigned flags)
{
    return sp_sim_driver()->cuStreamUpdateCaptureDependencies(stream, dependencies, NULL,
                                                              n_dependencies, flags);
}

/* ---- kernels ------------------------------------------------------------------------------
 */

sp_cu_result sp_made_cuLaunchKernelEx_ptsz(const struct sp_cu_launch_config *config,
                                           sp_cu_function function, void **args, void **extra)
{
    struct sp_cu_launch_config own;

    if (config == NULL)
        return sp_sim_driver()->cuLaunchKernelEx(config, function, args, extra);
    own = *config;
    own.stream = sp_driver_own_stream(own.stream);
    return sp_sim_driver()->cuLaunchKernelEx(&own, function, args, extra);
}

static struct sp_cu_kernel_params newer(const struct sp_cu_kernel_params_v1 *old)
{
    return (struct sp_cu_kernel_params){
        .function = old->function,
        .grid = {old->grid[0], old->grid[1], old->grid[2]},
        .block = {old->block[0], old->block[1], old->block[2]},
        .shared_bytes = old->shared_bytes,
        .args = old->args,
        .extra = old->extra,
    };
}

sp_cu_result sp_made_cuGraphAddKernelNode(sp_cu_node *node_out, sp_cu_graph graph,
                                          const sp_cu_node *dependencies, size_t n_dependencies,
                                          const struct sp_cu_kernel_params_v1 *params)
{
    struct sp_cu_kernel_params now;

    if (params == NULL)
        return SP_CU_INVALID_VALUE;
    now = newer(params);
    return sp_sim_driver()->cuGraphAddKernelNode(node_out, graph, dependencies, n_dependencies,
                                                 &now);
}

sp_cu_result sp_made_cuGraphKernelNodeGetParams(sp_cu_node node,
                                                struct sp_cu_kernel_params_v1 *params_out)
{
    struct sp_cu_kernel_params now;
    sp_cu_result result;

    if (params_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_sim_driver()->cuGraphKernelNodeGetParams(node, &now);
    if (result != SP_CU_SUCCESS)
        return result;
    *params_out = (struct sp_cu_kernel_params_v1){
        .function = now.function,
        .grid = {now.grid[0], now.grid[1], now.grid[2]},
        .block = {now.block[0], now.block[1], now.block[2]},
        .shared_bytes = now.shared_bytes,
        .args = now.args,
        .extra = now.extra,
    };
    return SP_CU_SUCCESS;
}

sp_cu_result sp_made_cuGraphKernelNodeSetParams(sp_cu_node node,
                                                const struct sp_cu_kernel_params_v1 *params)
{
    struct sp_cu_kernel_params now;

    if (params == NULL)
        return SP_CU_INVALID_VALUE;
    now = newer(params);
    return sp_sim_driver()->cuGraphKernelNodeSetParams(node, &now);
}

sp_cu_result sp_made_cuGraphExecKernelNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                                    const struct sp_cu_kernel_params_v1 *params)
{
    struct sp_cu_kernel_params now;

    if (params == NULL)
        return SP_CU_INVALID_VALUE;
    now = newer(params);
    return sp_sim_driver()->cuGraphExecKernelNodeSetParams(exec, node, &now);
}
