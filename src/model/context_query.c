/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What contexts are asked and told that has no effect on what the model does: flags, limits,
 * preferences. They are kept, so that programs read what they wrote. */
#include "config.h"

#include <string.h>

#include "src/model/private.h"
#include "src/util/util.h"

#define API_VERSION 3020 /* of contexts that cuCtxCreate_v2() and its successors make */

/* Flags of cuCtxSetFlags() beside the scheduling: coredumps and synchronous memory operations.
 */
#define SETTABLE_FLAGS 0xe7U

static const size_t default_limits[SP_CU_N_LIMITS] = {
    [SP_CU_LIMIT_STACK_SIZE] = 1024,
    [SP_CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
    [SP_CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
    [SP_CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
    [SP_CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
    [SP_CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
    [SP_CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0,
};

void sp_model_context_settle(struct sp_model_context *context)
{
    memcpy(context->limits, default_limits, sizeof(default_limits));
    context->cache_config = SP_CU_CACHE_PREFER_NONE;
}

/* ---- what it is ---------------------------------------------------------------------- */

/* NULL is the current context. */
static sp_cu_result find(sp_cu_context handle, struct sp_model_context **context_out)
{
    if (handle == NULL)
        return sp_model_context_get(context_out);
    *context_out = sp_model_context_find(handle);
    return *context_out == NULL ? SP_CU_INVALID_CONTEXT : SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuCtxGetApiVersion(sp_cu_context handle, unsigned *version_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetApiVersion);
    result = find(handle, &context);
    if (result == SP_CU_SUCCESS && version_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *version_out = API_VERSION;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuCtxGetId(sp_cu_context handle, unsigned long long *id_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetId);
    result = find(handle, &context);
    if (result == SP_CU_SUCCESS && id_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *id_out = context->id;
    return sp_model_leave(result);
}

/* A usage count of its own is long gone from the driver: attaching is asking. */
sp_cu_result sp_model_cuCtxAttach(sp_cu_context *context_out, unsigned flags)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxAttach);
    if (context_out == NULL || flags != 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS)
        *context_out = (sp_cu_context)context;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuCtxDetach(sp_cu_context handle)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxDetach);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && context != sp_model_context_find(handle))
        result = SP_CU_INVALID_CONTEXT;
    return sp_model_leave(result);
}

/* ---- what it is told ----------------------------------------------------------------- */

/* The current context, and somewhere to write to. */
static sp_cu_result get(const void *out, struct sp_model_context **context_out)
{
    sp_cu_result result = sp_model_context_get(context_out);

    return result == SP_CU_SUCCESS && out == NULL ? SP_CU_INVALID_VALUE : result;
}

sp_cu_result sp_model_cuCtxGetFlags(unsigned *flags_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetFlags);
    result = get(flags_out, &context);
    if (result == SP_CU_SUCCESS)
        *flags_out = context->flags;
    return sp_model_leave(result);
}

/* At most one way of waiting. */
static bool are_flags_valid(unsigned flags)
{
    unsigned way = flags & SP_CU_CONTEXT_SCHED_MASK;

    return (flags & ~SETTABLE_FLAGS) == 0 && (way & (way - 1)) == 0;
}

sp_cu_result sp_model_cuCtxSetFlags(unsigned flags)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxSetFlags);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && !are_flags_valid(flags))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        context->flags = flags;
    return sp_model_leave(result);
}

/* Sharing with graphics does not concern the model's devices. */
static bool has_limit(int limit)
{
    return limit >= 0 && limit < SP_CU_LIMIT_SHMEM_SIZE;
}

sp_cu_result sp_model_cuCtxGetLimit(size_t *value_out, int limit)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetLimit);
    result = get(value_out, &context);
    if (result == SP_CU_SUCCESS && !has_limit(limit))
        result = SP_CU_UNSUPPORTED_LIMIT;
    if (result == SP_CU_SUCCESS)
        *value_out = context->limits[limit];
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuCtxSetLimit(int limit, size_t value)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxSetLimit);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && !has_limit(limit))
        result = SP_CU_UNSUPPORTED_LIMIT;
    if (result == SP_CU_SUCCESS)
        context->limits[limit] = value;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuCtxGetCacheConfig(int *config_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetCacheConfig);
    result = get(config_out, &context);
    if (result == SP_CU_SUCCESS)
        *config_out = context->cache_config;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuCtxSetCacheConfig(int config)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxSetCacheConfig);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS &&
        (config < SP_CU_CACHE_PREFER_NONE || config > SP_CU_CACHE_PREFER_EQUAL))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        context->cache_config = config;
    return sp_model_leave(result);
}

/* Either may be left out. */
sp_cu_result sp_model_cuCtxGetStreamPriorityRange(int *least_out, int *greatest_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetStreamPriorityRange);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && least_out != NULL)
        *least_out = 0;
    if (result == SP_CU_SUCCESS && greatest_out != NULL)
        *greatest_out = SP_MODEL_GREATEST_PRIORITY;
    return sp_model_leave(result);
}

/* ---- others -------------------------------------------------------------------------- */

/* No network card reaches the model's devices, as their attributes say. */
sp_cu_result sp_model_cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    SP_MODEL_ENTER(cuFlushGPUDirectRDMAWrites);
    (void)scope;
    return sp_model_leave(target != 0 ? SP_CU_INVALID_VALUE : SP_CU_NOT_SUPPORTED);
}

/* There is no profiler to be told. */
static sp_cu_result profile(void)
{
    struct sp_model_context *context;

    return sp_model_context_get(&context);
}

sp_cu_result sp_model_cuProfilerStart(void)
{
    SP_MODEL_ENTER(cuProfilerStart);
    return sp_model_leave(profile());
}

sp_cu_result sp_model_cuProfilerStop(void)
{
    SP_MODEL_ENTER(cuProfilerStop);
    return sp_model_leave(profile());
}
