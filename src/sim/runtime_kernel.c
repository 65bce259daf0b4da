/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launches of kernels, in streams and as nodes of graphs, and what is known of a kernel. */
#include "config.h"

#include "src/sim/runtime_register.h"

/* ---- launches that <<< >>> begins ---------------------------------------------------- */

#define MAX_DEPTH 16

/* How the launches are shaped of which the arguments are being made: those of an inner one may
 * be made while an outer one waits for its own. */
static __thread struct {
    struct configuration {
        struct sp_rt_dim3 grid, block;
        size_t shared_bytes;
        sp_cu_stream stream;
    } all[MAX_DEPTH];
    unsigned n;
} configurations;

/* 0 is success. */
unsigned __cudaPushCallConfiguration(struct sp_rt_dim3 grid, struct sp_rt_dim3 block,
                                     size_t shared_bytes, sp_cu_stream stream)
{
    if (configurations.n == MAX_DEPTH)
        return 1;
    configurations.all[configurations.n++] =
        (struct configuration){grid, block, shared_bytes, stream};
    return 0;
}

int __cudaPopCallConfiguration(struct sp_rt_dim3 *grid_out, struct sp_rt_dim3 *block_out,
                               size_t *shared_bytes_out, void *stream_out)
{
    const struct configuration *last;

    if (configurations.n == 0)
        return sp_runtime_end(SP_RT_MISSING_CONFIGURATION);
    last = &configurations.all[--configurations.n];
    *grid_out = last->grid;
    *block_out = last->block;
    *shared_bytes_out = last->shared_bytes;
    *(sp_cu_stream *)stream_out = last->stream;
    return SP_CU_SUCCESS;
}

/* ---- launches ------------------------------------------------------------------------ */

/* The runtime's word for a shape that no kernel can have. */
static int shaped(int result, struct sp_rt_dim3 grid, struct sp_rt_dim3 block)
{
    bool is_empty = grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 ||
                    block.z == 0;
    bool is_large = (uint64_t)block.x * block.y * block.z > 1024;

    return result == SP_CU_INVALID_VALUE && (is_empty || is_large) ? SP_RT_INVALID_CONFIGURATION
                                                                   : result;
}

static int launch(const void *symbol, struct sp_rt_dim3 grid, struct sp_rt_dim3 block,
                  void **args, size_t shared_bytes, sp_cu_stream stream)
{
    sp_cu_function function = NULL;
    int result = sp_runtime_function(symbol, &function);

    if (result != SP_CU_SUCCESS)
        return result;
    if (shared_bytes > UINT32_MAX)
        return SP_CU_INVALID_VALUE;
    result = sp_cu()->cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                                     block.z, (unsigned)shared_bytes, stream, args, NULL);
    return shaped(result, grid, block);
}

int cudaLaunchKernel(const void *function, struct sp_rt_dim3 grid, struct sp_rt_dim3 block,
                     void **args, size_t shared_bytes, sp_cu_stream stream)
{
    return SP_RUNTIME(launch(function, grid, block, args, shared_bytes, stream));
}

static int launch_cooperative(const void *symbol, struct sp_rt_dim3 grid,
                              struct sp_rt_dim3 block, void **args, size_t shared_bytes,
                              sp_cu_stream stream)
{
    sp_cu_function function = NULL;
    int result = sp_runtime_function(symbol, &function);

    if (result != SP_CU_SUCCESS)
        return result;
    if (shared_bytes > UINT32_MAX)
        return SP_CU_INVALID_VALUE;
    result =
        sp_cu()->cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                                           block.z, (unsigned)shared_bytes, stream, args);
    return shaped(result, grid, block);
}

int cudaLaunchCooperativeKernel(const void *function, struct sp_rt_dim3 grid,
                                struct sp_rt_dim3 block, void **args, size_t shared_bytes,
                                sp_cu_stream stream)
{
    return SP_RUNTIME(launch_cooperative(function, grid, block, args, shared_bytes, stream));
}

static int launch_as(const struct sp_rt_launch_config *config, const void *symbol, void **args)
{
    struct sp_cu_launch_config wanted;
    sp_cu_function function = NULL;
    int result = config == NULL ? SP_CU_INVALID_VALUE : sp_runtime_function(symbol, &function);

    if (result != SP_CU_SUCCESS)
        return result;
    if (config->shared_bytes > UINT32_MAX)
        return SP_CU_INVALID_VALUE;
    wanted = (struct sp_cu_launch_config){
        .grid = {config->grid.x, config->grid.y, config->grid.z},
        .block = {config->block.x, config->block.y, config->block.z},
        .shared_bytes = (unsigned)config->shared_bytes,
        .stream = config->stream,
        .attributes = config->attributes,
        .n_attributes = config->n_attributes,
    };
    return sp_cu()->cuLaunchKernelEx(&wanted, function, args, NULL);
}

int cudaLaunchKernelExC(const struct sp_rt_launch_config *config, const void *function,
                        void **args)
{
    return SP_RUNTIME(launch_as(config, function, args));
}

/* ---- launches as nodes --------------------------------------------------------------- */

int sp_runtime_kernel_params(const struct sp_rt_kernel_params *params,
                             struct sp_cu_kernel_params *out)
{
    if (params == NULL)
        return SP_CU_INVALID_VALUE;
    *out = (struct sp_cu_kernel_params){
        .grid = {params->grid.x, params->grid.y, params->grid.z},
        .block = {params->block.x, params->block.y, params->block.z},
        .shared_bytes = params->shared_bytes,
        .args = params->args,
        .extra = params->extra,
    };
    return sp_runtime_function(params->function, &out->function);
}

int cudaGraphAddKernelNode(sp_cu_node *node_out, sp_cu_graph graph,
                           const sp_cu_node *dependencies, size_t n_dependencies,
                           const struct sp_rt_kernel_params *params)
{
    struct sp_cu_kernel_params kernel;

    return SP_RUNTIME(sp_runtime_kernel_params(params, &kernel)
                          ?: sp_cu()->cuGraphAddKernelNode(node_out, graph, dependencies,
                                                           n_dependencies, &kernel));
}

int cudaGraphKernelNodeSetParams(sp_cu_node node, const struct sp_rt_kernel_params *params)
{
    struct sp_cu_kernel_params kernel;

    return SP_RUNTIME(sp_runtime_kernel_params(params, &kernel)
                          ?: sp_cu()->cuGraphKernelNodeSetParams(node, &kernel));
}

int cudaGraphExecKernelNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                     const struct sp_rt_kernel_params *params)
{
    struct sp_cu_kernel_params kernel;

    return SP_RUNTIME(sp_runtime_kernel_params(params, &kernel)
                          ?: sp_cu()->cuGraphExecKernelNodeSetParams(exec, node, &kernel));
}

static int get_params(sp_cu_node node, struct sp_rt_kernel_params *params_out)
{
    struct sp_cu_kernel_params kernel;
    int result;

    if (params_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_cu()->cuGraphKernelNodeGetParams(node, &kernel);
    if (result != SP_CU_SUCCESS)
        return result;
    *params_out = (struct sp_rt_kernel_params){
        .function = sp_runtime_host_of(kernel.function),
        .grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
        .block = {kernel.block[0], kernel.block[1], kernel.block[2]},
        .shared_bytes = kernel.shared_bytes,
        .args = kernel.args,
        .extra = kernel.extra,
    };
    return SP_CU_SUCCESS;
}

int cudaGraphKernelNodeGetParams(sp_cu_node node, struct sp_rt_kernel_params *params_out)
{
    return SP_RUNTIME(get_params(node, params_out));
}

/* ---- what is known of a kernel ------------------------------------------------------- */

static int number(sp_cu_function function, int attribute)
{
    int value = 0;

    return sp_cu()->cuFuncGetAttribute(&value, attribute, function) == SP_CU_SUCCESS ? value
                                                                                     : 0;
}

static int get_attributes(struct sp_rt_function *attributes_out, const void *symbol)
{
    sp_cu_function function = NULL;
    int result =
        attributes_out == NULL ? SP_CU_INVALID_VALUE : sp_runtime_function(symbol, &function);

    if (result != SP_CU_SUCCESS)
        return result;
    *attributes_out = (struct sp_rt_function){
        .shared_bytes = (size_t)number(function, SP_CU_FUNCTION_SHARED_SIZE_BYTES),
        .const_bytes = (size_t)number(function, SP_CU_FUNCTION_CONST_SIZE_BYTES),
        .local_bytes = (size_t)number(function, SP_CU_FUNCTION_LOCAL_SIZE_BYTES),
        .max_threads = number(function, SP_CU_FUNCTION_MAX_THREADS_PER_BLOCK),
        .n_registers = number(function, SP_CU_FUNCTION_NUM_REGS),
        .ptx_version = number(function, SP_CU_FUNCTION_PTX_VERSION),
        .binary_version = number(function, SP_CU_FUNCTION_BINARY_VERSION),
        .cache_mode = number(function, SP_CU_FUNCTION_CACHE_MODE_CA),
        .max_dynamic_shared_bytes =
            number(function, SP_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        .preferred_carveout = number(function, SP_CU_FUNCTION_PREFERRED_SHARED_MEMORY_CARVEOUT),
    };
    return SP_CU_SUCCESS;
}

int cudaFuncGetAttributes(struct sp_rt_function *attributes_out, const void *function)
{
    return SP_RUNTIME(get_attributes(attributes_out, function));
}

int cudaFuncSetAttribute(const void *symbol, int attribute, int value)
{
    sp_cu_function function = NULL;

    return SP_RUNTIME(sp_runtime_function(symbol, &function)
                          ?: sp_cu()->cuFuncSetAttribute(function, attribute, value));
}

int cudaFuncSetCacheConfig(const void *symbol, int config)
{
    sp_cu_function function = NULL;

    return SP_RUNTIME(sp_runtime_function(symbol, &function)
                          ?: sp_cu()->cuFuncSetCacheConfig(function, config));
}

/* Of no effect on devices of today. */
int cudaFuncSetSharedMemConfig(const void *symbol, int config)
{
    sp_cu_function function = NULL;

    (void)config;
    return SP_RUNTIME(sp_runtime_function(symbol, &function));
}

int cudaGetFuncBySymbol(void **function_out, const void *symbol)
{
    sp_cu_function function = NULL;
    int result = sp_runtime_begin();

    if (result == SP_CU_SUCCESS)
        result =
            function_out == NULL ? SP_CU_INVALID_VALUE : sp_runtime_function(symbol, &function);
    if (result == SP_CU_SUCCESS)
        *function_out = function;
    return sp_runtime_end(result);
}

/* ---- occupancy ----------------------------------------------------------------------- */

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks_out, const void *symbol,
                                                  int block_size, size_t shared_bytes)
{
    sp_cu_function function = NULL;

    return SP_RUNTIME(sp_runtime_function(symbol, &function)
                          ?: sp_cu()->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                 n_blocks_out, function, block_size, shared_bytes));
}

/* The one flag, about a cache, makes no difference to the answer. */
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n_blocks_out,
                                                           const void *symbol, int block_size,
                                                           size_t shared_bytes, unsigned flags)
{
    if (flags > 1)
        return SP_RUNTIME(SP_CU_INVALID_VALUE);
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n_blocks_out, symbol, block_size,
                                                         shared_bytes);
}

/* An equal share of a multiprocessor's shared memory for every block. */
static int available_shared(size_t *bytes_out, const void *symbol, int n_blocks)
{
    sp_cu_function function = NULL;
    int device, total = 0;
    int result = sp_runtime_function(symbol, &function);

    if (result == SP_CU_SUCCESS && (bytes_out == NULL || n_blocks <= 0))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuCtxGetDevice(&device);
    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuDeviceGetAttribute(&total, 81, device);
    if (result == SP_CU_SUCCESS)
        *bytes_out = (size_t)(total / n_blocks);
    return result;
}

int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared_bytes_out, const void *function,
                                              int n_blocks, int block_size)
{
    (void)block_size;
    return SP_RUNTIME(available_shared(shared_bytes_out, function, n_blocks));
}
