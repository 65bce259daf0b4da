/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies and memsets: each an operation of a stream, checked against the pools' blocks before
 * it is queued. The calls without a stream are operations of the legacy stream. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/capture.h"
#include "src/model/private.h"
#include "src/util/util.h"

struct copy {
    void *target;
    const void *source; /* `staged`, or the program's */
    size_t size;
    char staged[];
};

struct filling {
    void *target;
    unsigned value;
    size_t n;     /* elements */
    bool is_wide; /* of 4 bytes */
};

static sp_cu_result run_copy(void *arg)
{
    const struct copy *copy = arg;

    memmove(copy->target, copy->source, copy->size);
    return SP_CU_SUCCESS;
}

static sp_cu_result run_filling(void *arg)
{
    const struct filling *filling = arg;

    if (!filling->is_wide) {
        memset(filling->target, (int)filling->value, filling->n);
        return SP_CU_SUCCESS;
    }
    for (size_t i = 0; i < filling->n; i++)
        memcpy((char *)filling->target + 4 * i, &filling->value, 4);
    return SP_CU_SUCCESS;
}

/* ---- queueing ------------------------------------------------------------------------ */

/* The host's own memory, which the driver does not know: it may change when the call is over.
 */
static bool is_pageable(uintptr_t address, size_t size)
{
    return sp_model_device_of(address) < 0 && !sp_model_memory_is_known(address, size);
}

/* Both ranges, or the target alone, are used by the stream's next operation; if the one cannot
 * be used, nothing is known of the other. */
static sp_cu_result check(struct sp_model_stream *stream, uintptr_t target, uintptr_t source,
                          size_t size)
{
    struct sp_point at;
    sp_cu_result result = sp_model_prepare(stream, &at);

    if (result == SP_CU_SUCCESS && source != 0)
        result = sp_model_can_use(stream, source, size);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use(stream, at, target, size);
    if (result == SP_CU_SUCCESS && source != 0)
        result = sp_model_use(stream, at, source, size);
    return result;
}

static void describe_end(uintptr_t address, int *type_out, sp_cu_ptr *device_out,
                         const void **host_out)
{
    if (sp_model_device_of(address) >= 0) {
        *type_out = SP_CU_MEMORY_TYPE_DEVICE;
        *device_out = address;
    } else {
        *type_out = SP_CU_MEMORY_TYPE_HOST;
        *host_out = (const void *)address;
    }
}

/* True if it is not for the stream to execute, and then the answer. A captured copy reads
 * whatever the source is like at each launch. */
static bool capture_copy(struct sp_model_stream *stream, uintptr_t target, uintptr_t source,
                         size_t size, sp_cu_result *result_out)
{
    struct sp_model_work work = {.type = SP_CU_NODE_MEMCPY};
    struct sp_cu_memcpy3d *copy = &work.copy.copy;
    const void *host = NULL;

    if (stream->member != NULL) {
        *result_out = sp_model_can_use(stream, target, size);
        if (*result_out == SP_CU_SUCCESS)
            *result_out = sp_model_can_use(stream, source, size);
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    work.copy.context = (sp_cu_context)stream->context;
    describe_end(source, &copy->source_type, &copy->source_device, &copy->source_host);
    describe_end(target, &copy->target_type, &copy->target_device, &host);
    copy->target_host = (void *)(uintptr_t)host;
    copy->width_bytes = size;
    copy->height = copy->depth = 1;
    return sp_model_capture_work(stream, &work, result_out);
}

static sp_cu_result queue_copy(struct sp_model_stream *stream, uintptr_t target,
                               uintptr_t source, size_t size, struct sp_point *at_out)
{
    bool is_staged = is_pageable(source, size);
    struct copy *copy;
    sp_cu_result result;

    if (target == 0 || source == 0)
        return SP_CU_INVALID_VALUE;
    if (sp_model_capture_takes(stream) && capture_copy(stream, target, source, size, &result))
        return result;
    result = check(stream, target, source, size);
    if (result != SP_CU_SUCCESS)
        return result;
    copy = is_staged && size > SIZE_MAX - sizeof(*copy)
               ? NULL
               : malloc(sizeof(*copy) + (is_staged ? size : 0));
    if (copy == NULL)
        return SP_CU_OUT_OF_MEMORY;
    copy->target = (void *)target;
    copy->source = is_staged ? copy->staged : (const char *)source;
    copy->size = size;
    if (is_staged)
        memcpy(copy->staged, (const void *)source, size);
    return sp_model_submit(stream, SP_OP_COPY, size, run_copy, copy, at_out);
}

static bool capture_filling(struct sp_model_stream *stream, const struct filling *filling,
                            size_t size, sp_cu_result *result_out)
{
    uintptr_t target = (uintptr_t)filling->target;
    struct sp_model_work work = {
        .type = SP_CU_NODE_MEMSET,
        .set = {.params = {.target = target,
                           .value = filling->value,
                           .element_size = filling->is_wide ? 4 : 1,
                           .width = filling->n,
                           .height = 1},
                .context = (sp_cu_context)stream->context},
    };

    if (stream->member != NULL) {
        *result_out = sp_model_can_use(stream, target, size);
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    return sp_model_capture_work(stream, &work, result_out);
}

static sp_cu_result queue_filling(struct sp_model_stream *stream, const struct filling *wanted,
                                  struct sp_point *at_out)
{
    size_t size = wanted->is_wide ? 4 * wanted->n : wanted->n;
    uintptr_t target = (uintptr_t)wanted->target;
    struct filling *filling;
    sp_cu_result result;

    if (target == 0 || (wanted->is_wide && (wanted->n > SIZE_MAX / 4 || target % 4 != 0)))
        return SP_CU_INVALID_VALUE;
    if (sp_model_capture_takes(stream) && capture_filling(stream, wanted, size, &result))
        return result;
    result = check(stream, target, 0, size);
    if (result != SP_CU_SUCCESS)
        return result;
    filling = malloc(sizeof(*filling));
    if (filling == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *filling = *wanted;
    return sp_model_submit(stream, SP_OP_SET, size, run_filling, filling, at_out);
}

/* Wait until an operation has executed, as a call without a stream does. Pools release nothing:
 * that is for the calls that synchronise in so many words. */
static sp_cu_result finish(struct sp_model_stream *stream)
{
    struct sp_model_context *context = stream->context;
    struct sp_mark mark;

    if (sp_order_record(sp_model_order(), stream->slot, &mark) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    sp_model_finish_mark(&mark, stream->clock_ns);
    return context->fault;
}

/* Memory that only devices use: the host need not wait for what is done there. */
static bool is_device_only(uintptr_t address)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address);

    return memory != NULL && sp_model_device_of(address) >= 0 &&
           memory->kind != SP_MEMORY_MANAGED;
}

static sp_cu_result copy_async(int call, uintptr_t target, uintptr_t source, size_t size,
                               sp_cu_stream handle)
{
    sp_cu_result result = sp_model_enter(call, true);
    struct sp_model_stream *stream;

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && size > 0)
        result = queue_copy(stream, target, source, size, NULL);
    return sp_model_leave(result);
}

static sp_cu_result copy_now(int call, uintptr_t target, uintptr_t source, size_t size)
{
    sp_cu_result result = sp_model_enter(call, true);
    struct sp_model_stream *stream;

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_get(SP_CU_STREAM_LEGACY, &stream);
    if (result == SP_CU_SUCCESS && size > 0) {
        result = queue_copy(stream, target, source, size, NULL);
        if (result == SP_CU_SUCCESS && !(is_device_only(target) && is_device_only(source)))
            result = finish(stream);
    }
    return sp_model_leave(result);
}

static sp_cu_result set_async(int call, const struct filling *filling, sp_cu_stream handle)
{
    sp_cu_result result = sp_model_enter(call, true);
    struct sp_model_stream *stream;

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && filling->n > 0)
        result = queue_filling(stream, filling, NULL);
    return sp_model_leave(result);
}

static sp_cu_result set_now(int call, const struct filling *filling)
{
    sp_cu_result result = sp_model_enter(call, true);
    struct sp_model_stream *stream;

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_get(SP_CU_STREAM_LEGACY, &stream);
    if (result == SP_CU_SUCCESS && filling->n > 0) {
        result = queue_filling(stream, filling, NULL);
        if (result == SP_CU_SUCCESS && !is_device_only((uintptr_t)filling->target))
            result = finish(stream);
    }
    return sp_model_leave(result);
}

/* ---- entry points -------------------------------------------------------------------- */

sp_cu_result sp_model_cuMemcpy(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpy, target, source, size);
}

sp_cu_result sp_model_cuMemcpyAsync(sp_cu_ptr target, sp_cu_ptr source, size_t size,
                                    sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyAsync, target, source, size, stream);
}

sp_cu_result sp_model_cuMemcpyHtoD(sp_cu_ptr target, const void *source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpyHtoD, target, (uintptr_t)source, size);
}

sp_cu_result sp_model_cuMemcpyHtoDAsync(sp_cu_ptr target, const void *source, size_t size,
                                        sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyHtoDAsync, target, (uintptr_t)source, size, stream);
}

sp_cu_result sp_model_cuMemcpyDtoH(void *target, sp_cu_ptr source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpyDtoH, (uintptr_t)target, source, size);
}

sp_cu_result sp_model_cuMemcpyDtoHAsync(void *target, sp_cu_ptr source, size_t size,
                                        sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyDtoHAsync, (uintptr_t)target, source, size, stream);
}

sp_cu_result sp_model_cuMemcpyDtoD(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpyDtoD, target, source, size);
}

sp_cu_result sp_model_cuMemcpyDtoDAsync(sp_cu_ptr target, sp_cu_ptr source, size_t size,
                                        sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyDtoDAsync, target, source, size, stream);
}

/* Works without access between the devices, too: the driver copies by way of the host then. */
sp_cu_result sp_model_cuMemcpyPeerAsync(sp_cu_ptr target, sp_cu_context target_context,
                                        sp_cu_ptr source, sp_cu_context source_context,
                                        size_t size, sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemcpyPeerAsync);
    if (sp_model_context_find(target_context) == NULL ||
        sp_model_context_find(source_context) == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && size > 0)
        result = queue_copy(stream, target, source, size, NULL);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuMemsetD8(sp_cu_ptr target, unsigned char value, size_t n)
{
    return set_now(
        SP_CALL_cuMemsetD8,
        &(struct filling){.target = (void *)(uintptr_t)target, .value = value, .n = n});
}

sp_cu_result sp_model_cuMemsetD8Async(sp_cu_ptr target, unsigned char value, size_t n,
                                      sp_cu_stream stream)
{
    return set_async(
        SP_CALL_cuMemsetD8Async,
        &(struct filling){.target = (void *)(uintptr_t)target, .value = value, .n = n}, stream);
}

sp_cu_result sp_model_cuMemsetD32(sp_cu_ptr target, unsigned value, size_t n)
{
    return set_now(SP_CALL_cuMemsetD32,
                   &(struct filling){(void *)(uintptr_t)target, value, n, true});
}

sp_cu_result sp_model_cuMemsetD32Async(sp_cu_ptr target, unsigned value, size_t n,
                                       sp_cu_stream stream)
{
    return set_async(SP_CALL_cuMemsetD32Async,
                     &(struct filling){(void *)(uintptr_t)target, value, n, true}, stream);
}
