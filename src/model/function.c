/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a kernel is like: its name, its parameters, what it takes of a multiprocessor. Functions
 * that stand in for kernels take nothing, so that every kernel counts as one that the compiler
 * gave 32 registers and no static shared memory. */
#include "config.h"

#include "src/model/attributes.h"
#include "src/model/kernels.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* Of each kernel. */
#define N_REGISTERS  32
#define CODE_VERSION 80 /* compute capability 8.0 */

#define CONSTANT(name) sp_model_attribute_constant(SP_ATTRIBUTE_##name)

static sp_cu_result check(const void *out, sp_cu_function handle,
                          struct sp_model_function **function_out)
{
    if (out == NULL)
        return SP_CU_INVALID_VALUE;
    *function_out = sp_model_function_find(handle);
    return *function_out == NULL ? SP_CU_INVALID_HANDLE : SP_CU_SUCCESS;
}

/* ---- names and parameters ------------------------------------------------------------ */

/* A CUkernel is the same handle as its CUfunction, in every context. */
sp_cu_result sp_model_cuKernelGetFunction(sp_cu_function *function_out, sp_cu_kernel kernel)
{
    struct sp_model_function *function;
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuKernelGetFunction);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS)
        result = check(function_out, (sp_cu_function)kernel, &function);
    if (result == SP_CU_SUCCESS)
        *function_out = function->handle;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuKernelGetName(const char **name_out, sp_cu_kernel kernel)
{
    struct sp_model_function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuKernelGetName);
    result = check(name_out, (sp_cu_function)kernel, &function);
    if (result == SP_CU_SUCCESS)
        *name_out = function->stand_in->name;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuFuncGetName(const char **name_out, sp_cu_function handle)
{
    struct sp_model_function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuFuncGetName);
    result = check(name_out, handle, &function);
    if (result == SP_CU_SUCCESS)
        *name_out = function->stand_in->name;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuFuncGetModule(sp_cu_module *module_out, sp_cu_function handle)
{
    struct sp_model_function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuFuncGetModule);
    result = check(module_out, handle, &function);
    if (result == SP_CU_SUCCESS)
        *module_out = function->module->handle;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuFuncGetParamInfo(sp_cu_function handle, size_t index,
                                         size_t *offset_out, size_t *size_out)
{
    const struct sp_model_stand_in *stand_in;
    struct sp_model_function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuFuncGetParamInfo);
    result = check(offset_out, handle, &function);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    stand_in = function->stand_in;
    if (index >= stand_in->n_args)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *offset_out = sp_model_arg_offset(stand_in, index, SP_MODEL_ARG_ALIGNMENT);
    if (size_out != NULL)
        *size_out = stand_in->sizes[index];
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- attributes ---------------------------------------------------------------------- */

static bool tell(const struct sp_model_function *function, int attribute, int *value_out)
{
    switch (attribute) {
    case SP_CU_FUNCTION_MAX_THREADS_PER_BLOCK:
        *value_out = CONSTANT(MAX_THREADS_PER_BLOCK);
        return true;
    case SP_CU_FUNCTION_SHARED_SIZE_BYTES:
    case SP_CU_FUNCTION_CONST_SIZE_BYTES:
    case SP_CU_FUNCTION_LOCAL_SIZE_BYTES:
    case SP_CU_FUNCTION_CACHE_MODE_CA:
        *value_out = 0;
        return true;
    case SP_CU_FUNCTION_NUM_REGS:
        *value_out = N_REGISTERS;
        return true;
    case SP_CU_FUNCTION_PTX_VERSION:
    case SP_CU_FUNCTION_BINARY_VERSION:
        *value_out = CODE_VERSION;
        return true;
    case SP_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value_out = function->max_shared_bytes;
        return true;
    case SP_CU_FUNCTION_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value_out = function->carveout;
        return true;
    default:
        return false;
    }
}

sp_cu_result sp_model_cuFuncGetAttribute(int *value_out, int attribute, sp_cu_function handle)
{
    struct sp_model_function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuFuncGetAttribute);
    result = check(value_out, handle, &function);
    if (result == SP_CU_SUCCESS && !tell(function, attribute, value_out))
        result = SP_CU_INVALID_VALUE;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuFuncSetAttribute(sp_cu_function handle, int attribute, int value)
{
    struct sp_model_function *function;

    SP_MODEL_ENTER(cuFuncSetAttribute);
    function = sp_model_function_find(handle);
    if (function == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    if (attribute == SP_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
        value <= CONSTANT(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
        function->max_shared_bytes = value;
    else if (attribute == SP_CU_FUNCTION_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
             value <= 100)
        function->carveout = value;
    else
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuFuncSetCacheConfig(sp_cu_function handle, int config)
{
    struct sp_model_function *function;

    SP_MODEL_ENTER(cuFuncSetCacheConfig);
    function = sp_model_function_find(handle);
    if (function == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    if (config < SP_CU_CACHE_PREFER_NONE || config > SP_CU_CACHE_PREFER_EQUAL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    function->cache_config = config;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- occupancy ----------------------------------------------------------------------- */

int sp_model_blocks_at_once(const struct sp_model_function *function, unsigned n_threads,
                            size_t shared_bytes)
{
    size_t threads = sp_round_up(n_threads, (size_t)CONSTANT(WARP_SIZE));
    size_t shared = shared_bytes + (size_t)CONSTANT(RESERVED_SHARED_MEMORY_PER_BLOCK);
    size_t n = (size_t)CONSTANT(MAX_BLOCKS_PER_MULTIPROCESSOR);

    if (shared_bytes > (size_t)function->max_shared_bytes)
        return 0;
    SP_ASSERT(threads > 0 && shared > 0);
    n = sp_min(n, (size_t)CONSTANT(MAX_THREADS_PER_MULTIPROCESSOR) / threads);
    n = sp_min(n, (size_t)CONSTANT(MAX_REGISTERS_PER_MULTIPROCESSOR) / (threads * N_REGISTERS));
    return (int)sp_min(n, (size_t)CONSTANT(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
}

static bool is_block_size(int size)
{
    return size > 0 && size <= CONSTANT(MAX_THREADS_PER_BLOCK);
}

sp_cu_result sp_model_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks_out,
                                                                  sp_cu_function handle,
                                                                  int block_size,
                                                                  size_t shared_bytes)
{
    struct sp_model_function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    result = check(n_blocks_out, handle, &function);
    if (result == SP_CU_SUCCESS && !is_block_size(block_size))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *n_blocks_out = sp_model_blocks_at_once(function, (unsigned)block_size, shared_bytes);
    return sp_model_leave(result);
}

/* The block that keeps the most threads in a multiprocessor, and of those the largest; 0 if
 * none fits. */
static int best_block(const struct sp_model_function *function,
                      sp_cu_block_size_fn shared_bytes_of, size_t shared_bytes, int limit,
                      int *n_blocks_out)
{
    int warp = CONSTANT(WARP_SIZE), best = 0, most = 0;

    for (int size = limit; size > 0; size = (size - 1) / warp * warp) {
        size_t shared = shared_bytes_of == NULL ? shared_bytes : shared_bytes_of(size);
        int n = sp_model_blocks_at_once(function, (unsigned)size, shared);

        if (n * size > most) {
            most = n * size;
            best = size;
            *n_blocks_out = n;
        }
    }
    return best;
}

/* The program's own function is called without the lock. */
sp_cu_result sp_model_cuOccupancyMaxPotentialBlockSize(int *min_grid_size_out,
                                                       int *block_size_out,
                                                       sp_cu_function handle,
                                                       sp_cu_block_size_fn shared_bytes_of,
                                                       size_t shared_bytes, int limit)
{
    struct sp_model_function *found, function = {.max_shared_bytes = 0};
    sp_cu_result result;
    int size, n_blocks = 0;

    SP_MODEL_ENTER(cuOccupancyMaxPotentialBlockSize);
    result = check(block_size_out, handle, &found);
    if (result == SP_CU_SUCCESS && (min_grid_size_out == NULL || limit < 0))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        function = *found;
    (void)sp_model_leave(result);
    if (result != SP_CU_SUCCESS)
        return result;
    if (!is_block_size(limit))
        limit = CONSTANT(MAX_THREADS_PER_BLOCK);
    size = best_block(&function, shared_bytes_of, shared_bytes, limit, &n_blocks);
    if (size == 0)
        return SP_CU_INVALID_VALUE;
    *min_grid_size_out = n_blocks * CONSTANT(MULTIPROCESSOR_COUNT);
    *block_size_out = size;
    return SP_CU_SUCCESS;
}
