/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launches of kernels in streams: queued, or captured as nodes. What arguments point to counts
 * as used; where the stream's device does not reach it, the launch fails when it is executed.
 */
#include "config.h"

#include "src/model/attributes.h"
#include "src/model/capture.h"
#include "src/model/kernels.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* ---- queueing ------------------------------------------------------------------------ */

static sp_cu_result use_all(struct sp_model_stream *stream,
                            const struct sp_model_kernel *kernel)
{
    struct sp_point at;
    uintptr_t address;
    size_t size;
    sp_cu_result result = sp_model_prepare(stream, &at);

    for (size_t i = 0;
         result == SP_CU_SUCCESS && sp_model_kernel_range(kernel, i, &address, &size); i++) {
        if (size > 0 && sp_model_kernel_reaches(kernel, address, size))
            result = sp_model_use(stream, at, address, size);
    }
    return result;
}

/* All blocks of a cooperative launch run at once. */
static bool fits_at_once(const struct sp_model_kernel *kernel,
                         const struct sp_model_function *function)
{
    const unsigned *grid = kernel->grid, *block = kernel->block;
    int n_processors = sp_model_attribute_constant(SP_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    int n =
        sp_model_blocks_at_once(function, block[0] * block[1] * block[2], kernel->shared_bytes);
    uint64_t n_blocks = (uint64_t)grid[0] * grid[1];

    return n_blocks <= (uint64_t)n * (unsigned)n_processors &&
           n_blocks * grid[2] <= (uint64_t)n * (unsigned)n_processors;
}

static sp_cu_result queue(struct sp_model_stream *stream, struct sp_model_kernel *kernel)
{
    sp_cu_result result = use_all(stream, kernel);

    if (result == SP_CU_SUCCESS)
        result = sp_model_kernel_submit(kernel, stream);
    sp_model_kernel_put(kernel);
    return result;
}

/* A kernel of a module is its context's. */
static sp_cu_result check(const struct sp_model_kernel *kernel,
                          const struct sp_model_stream *stream, bool is_cooperative)
{
    const struct sp_model_function *function = sp_model_function_find(kernel->function);

    SP_ASSERT(function != NULL);
    if (kernel->context != stream->context)
        return SP_CU_INVALID_HANDLE;
    return is_cooperative && !fits_at_once(kernel, function)
               ? SP_CU_COOPERATIVE_LAUNCH_TOO_LARGE
               : SP_CU_SUCCESS;
}

/* What every row that launches a kernel does, between entering and leaving. */
static sp_cu_result launch(sp_cu_stream handle, const struct sp_cu_kernel_params *params,
                           bool is_cooperative)
{
    struct sp_model_work work = {.type = SP_CU_NODE_KERNEL};
    struct sp_cu_kernel_params in_context = *params;
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    in_context.context = (sp_cu_context)stream->context;
    result = sp_model_kernel_new(&in_context, &work.kernel);
    if (result != SP_CU_SUCCESS)
        return result;
    result = check(work.kernel, stream, is_cooperative);
    if (result != SP_CU_SUCCESS) {
        sp_model_kernel_put(work.kernel);
        return result;
    }
    if (sp_model_capture_work(stream, &work, &result))
        return result;
    return queue(stream, work.kernel);
}

/* ---- attributes of launches ---------------------------------------------------------- */

/* What does not change what a kernel computes is let be; clusters and events inside launches
 * are for devices that the model's are not. */
static sp_cu_result check_attribute(const struct sp_cu_launch_attribute *attribute,
                                    bool *is_cooperative)
{
    const unsigned *cluster = attribute->value.cluster;

    switch (attribute->id) {
    case SP_CU_LAUNCH_COOPERATIVE:
        *is_cooperative = attribute->value.number != 0;
        return SP_CU_SUCCESS;
    case SP_CU_LAUNCH_CLUSTER_DIMENSION:
    case SP_CU_LAUNCH_PREFERRED_CLUSTER_DIMENSION:
        return cluster[0] == 1 && cluster[1] == 1 && cluster[2] == 1 ? SP_CU_SUCCESS
                                                                     : SP_CU_NOT_SUPPORTED;
    case SP_CU_LAUNCH_PROGRAMMATIC_EVENT:
    case SP_CU_LAUNCH_COMPLETION_EVENT:
        return SP_CU_NOT_SUPPORTED;
    case SP_CU_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE:
        return attribute->value.number == 0 ? SP_CU_SUCCESS : SP_CU_NOT_SUPPORTED;
    default:
        return attribute->id < SP_CU_LAUNCH_IGNORE ||
                       attribute->id > SP_CU_LAUNCH_PREFERRED_SHARED_MEMORY_CARVEOUT
                   ? SP_CU_INVALID_VALUE
                   : SP_CU_SUCCESS;
    }
}

/* ---- entry points -------------------------------------------------------------------- */

sp_cu_result sp_model_cuLaunchKernel(sp_cu_function function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared_bytes,
                                     sp_cu_stream stream, void **args, void **extra)
{
    struct sp_cu_kernel_params params = {
        .function = function,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared_bytes = shared_bytes,
        .args = args,
        .extra = extra,
    };

    SP_MODEL_ENTER(cuLaunchKernel);
    return sp_model_leave(launch(stream, &params, false));
}

sp_cu_result sp_model_cuLaunchCooperativeKernel(sp_cu_function function, unsigned grid_x,
                                                unsigned grid_y, unsigned grid_z,
                                                unsigned block_x, unsigned block_y,
                                                unsigned block_z, unsigned shared_bytes,
                                                sp_cu_stream stream, void **args)
{
    struct sp_cu_kernel_params params = {
        .function = function,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared_bytes = shared_bytes,
        .args = args,
    };

    SP_MODEL_ENTER(cuLaunchCooperativeKernel);
    return sp_model_leave(launch(stream, &params, true));
}

static sp_cu_result launch_config(const struct sp_cu_launch_config *config,
                                  sp_cu_function function, void **args, void **extra)
{
    struct sp_cu_kernel_params params = {
        .function = function,
        .grid = {config->grid[0], config->grid[1], config->grid[2]},
        .block = {config->block[0], config->block[1], config->block[2]},
        .shared_bytes = config->shared_bytes,
        .args = args,
        .extra = extra,
    };
    bool is_cooperative = false;
    sp_cu_result result = SP_CU_SUCCESS;

    if (config->n_attributes > 0 && config->attributes == NULL)
        return SP_CU_INVALID_VALUE;
    for (unsigned i = 0; result == SP_CU_SUCCESS && i < config->n_attributes; i++)
        result = check_attribute(&config->attributes[i], &is_cooperative);
    return result == SP_CU_SUCCESS ? launch(config->stream, &params, is_cooperative) : result;
}

sp_cu_result sp_model_cuLaunchKernelEx(const struct sp_cu_launch_config *config,
                                       sp_cu_function function, void **args, void **extra)
{
    SP_MODEL_ENTER(cuLaunchKernelEx);
    if (config == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(launch_config(config, function, args, extra));
}
