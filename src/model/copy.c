/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies and memsets: each an operation of a stream, checked against the pools' blocks before
 * it is queued. The calls without a stream are operations of the legacy stream. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/capture.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

struct copy {
    uintptr_t target;
    uintptr_t source; /* 0: `staged` */
    size_t size;
    char staged[];
};

/* What the call says of the ends of a copy. */
enum direction { ANY, TO_DEVICE, FROM_DEVICE, ON_DEVICES };

/* A copy as the program asks for it. */
struct wish {
    uintptr_t target, source;
    size_t size;
    enum direction direction;
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

    memmove(sp_model_alias(copy->target),
            copy->source == 0 ? copy->staged : sp_model_alias(copy->source), copy->size);
    return SP_CU_SUCCESS;
}

static sp_cu_result run_filling(void *arg)
{
    const struct filling *filling = arg;
    char *target = sp_model_alias((uintptr_t)filling->target);

    if (!filling->is_wide) {
        memset(target, (int)filling->value, filling->n);
        return SP_CU_SUCCESS;
    }
    for (size_t i = 0; i < filling->n; i++)
        memcpy(target + 4 * i, &filling->value, 4);
    return SP_CU_SUCCESS;
}

/* ---- queueing ------------------------------------------------------------------------ */

/* Memory that a device has an address of: its own, managed, pinned, or of a pool. */
static bool is_reachable(uintptr_t address)
{
    return sp_model_device_of(address) >= 0 || sp_model_memory_find(address) != NULL;
}

/* Whether the ends are of the kind that the call's name says. Pinned and managed memory is of
 * both kinds. */
static bool has_right_kinds(const struct wish *wish)
{
    switch (wish->direction) {
    case ANY:
        return true;
    case TO_DEVICE:
        return is_reachable(wish->target) && !sp_model_memory_is_device_only(wish->source);
    case FROM_DEVICE:
        return is_reachable(wish->source) && !sp_model_memory_is_device_only(wish->target);
    case ON_DEVICES:
        break;
    }
    return is_reachable(wish->target) && is_reachable(wish->source);
}

/* Both ranges, or the target alone, are used by the stream's next operation; if the one cannot
 * be used, nothing is known of the other. */
static sp_cu_result check(struct sp_model_stream *stream, uintptr_t target, uintptr_t source,
                          size_t size)
{
    enum sp_model_use_kind kind = source == 0 ? SP_USE_SET : SP_USE_COPY_WRITE;
    struct sp_point at;
    sp_cu_result result = sp_model_prepare(stream, &at);

    if (result == SP_CU_SUCCESS && source != 0)
        result = sp_model_can_use(stream, source, size);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use_as(stream, at, target, size, kind);
    if (result == SP_CU_SUCCESS && source != 0)
        result = sp_model_use_as(stream, at, source, size, SP_USE_COPY_READ);
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
static bool capture_copy(struct sp_model_stream *stream, const struct wish *wish,
                         sp_cu_result *result_out)
{
    struct sp_model_work work = {.type = SP_CU_NODE_MEMCPY};
    struct sp_cu_memcpy3d *copy = &work.copy.copy;
    const void *host = NULL;

    if (stream->member != NULL) {
        *result_out = sp_model_can_use(stream, wish->target, wish->size);
        if (*result_out == SP_CU_SUCCESS)
            *result_out = sp_model_can_use(stream, wish->source, wish->size);
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    work.copy.context = (sp_cu_context)stream->context;
    describe_end(wish->source, &copy->source_type, &copy->source_device, &copy->source_host);
    describe_end(wish->target, &copy->target_type, &copy->target_device, &host);
    copy->target_host = (void *)(uintptr_t)host;
    copy->width_bytes = wish->size;
    copy->height = copy->depth = 1;
    return sp_model_capture_work(stream, &work, result_out);
}

static sp_cu_result queue_copy(struct sp_model_stream *stream, const struct wish *wish)
{
    size_t size = wish->size;
    bool is_staged = sp_model_memory_is_pageable(wish->source, size);
    struct copy *copy;
    sp_cu_result result;

    if (wish->target == 0 || wish->source == 0 || !has_right_kinds(wish))
        return SP_CU_INVALID_VALUE;
    if (sp_model_capture_takes(stream) && capture_copy(stream, wish, &result))
        return result;
    result = check(stream, wish->target, wish->source, size);
    if (result != SP_CU_SUCCESS)
        return result;
    copy = is_staged && size > SIZE_MAX - sizeof(*copy)
               ? NULL
               : malloc(sizeof(*copy) + (is_staged ? size : 0));
    if (copy == NULL)
        return SP_CU_OUT_OF_MEMORY;
    copy->target = wish->target;
    copy->source = is_staged ? 0 : wish->source;
    copy->size = size;
    if (is_staged)
        memcpy(copy->staged, (const void *)wish->source, size);
    return sp_model_submit(stream, SP_OP_COPY, size, run_copy, copy, NULL);
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

static sp_cu_result queue_filling(struct sp_model_stream *stream, const struct filling *wanted)
{
    size_t size = wanted->is_wide ? 4 * wanted->n : wanted->n;
    uintptr_t target = (uintptr_t)wanted->target;
    struct filling *filling;
    sp_cu_result result;

    if (target == 0 || !is_reachable(target) ||
        (wanted->is_wide && (wanted->n > SIZE_MAX / 4 || target % 4 != 0)))
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
    return sp_model_submit(stream, SP_OP_SET, size, run_filling, filling, NULL);
}

static sp_cu_result copy_async(int call, const struct wish *wish, sp_cu_stream handle)
{
    sp_cu_result result = sp_model_enter(call, true);
    struct sp_model_stream *stream;

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && wish->size > 0) {
        result = queue_copy(stream, wish);
        if (result == SP_CU_SUCCESS && stream->member == NULL &&
            sp_model_memory_is_awaited(wish->target, wish->size, wish->source))
            result = sp_model_stream_await(stream);
    }
    return sp_model_leave(result);
}

static sp_cu_result copy_now(int call, const struct wish *wish)
{
    sp_cu_result result = sp_model_enter(call, true);
    struct sp_model_stream *stream;

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_get(SP_CU_STREAM_LEGACY, &stream);
    if (result == SP_CU_SUCCESS && wish->size > 0) {
        result = queue_copy(stream, wish);
        if (result == SP_CU_SUCCESS && !(sp_model_memory_is_device_only(wish->target) &&
                                         sp_model_memory_is_device_only(wish->source)))
            result = sp_model_stream_await(stream);
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
        result = queue_filling(stream, filling);
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
        result = queue_filling(stream, filling);
        if (result == SP_CU_SUCCESS &&
            !sp_model_memory_is_device_only((uintptr_t)filling->target))
            result = sp_model_stream_await(stream);
    }
    return sp_model_leave(result);
}

/* ---- entry points -------------------------------------------------------------------- */

sp_cu_result sp_model_cuMemcpy(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpy, &(struct wish){target, source, size, ANY});
}

sp_cu_result sp_model_cuMemcpyAsync(sp_cu_ptr target, sp_cu_ptr source, size_t size,
                                    sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyAsync, &(struct wish){target, source, size, ANY}, stream);
}

sp_cu_result sp_model_cuMemcpyHtoD(sp_cu_ptr target, const void *source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpyHtoD,
                    &(struct wish){target, (uintptr_t)source, size, TO_DEVICE});
}

sp_cu_result sp_model_cuMemcpyHtoDAsync(sp_cu_ptr target, const void *source, size_t size,
                                        sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyHtoDAsync,
                      &(struct wish){target, (uintptr_t)source, size, TO_DEVICE}, stream);
}

sp_cu_result sp_model_cuMemcpyDtoH(void *target, sp_cu_ptr source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpyDtoH,
                    &(struct wish){(uintptr_t)target, source, size, FROM_DEVICE});
}

sp_cu_result sp_model_cuMemcpyDtoHAsync(void *target, sp_cu_ptr source, size_t size,
                                        sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyDtoHAsync,
                      &(struct wish){(uintptr_t)target, source, size, FROM_DEVICE}, stream);
}

sp_cu_result sp_model_cuMemcpyDtoD(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    return copy_now(SP_CALL_cuMemcpyDtoD, &(struct wish){target, source, size, ON_DEVICES});
}

sp_cu_result sp_model_cuMemcpyDtoDAsync(sp_cu_ptr target, sp_cu_ptr source, size_t size,
                                        sp_cu_stream stream)
{
    return copy_async(SP_CALL_cuMemcpyDtoDAsync,
                      &(struct wish){target, source, size, ON_DEVICES}, stream);
}

/* Works without access between the devices, too: the driver copies by way of the host then. */
sp_cu_result sp_model_cuMemcpyPeerAsync(sp_cu_ptr target, sp_cu_context target_context,
                                        sp_cu_ptr source, sp_cu_context source_context,
                                        size_t size, sp_cu_stream handle)
{
    struct wish wish = {target, source, size, ON_DEVICES};
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemcpyPeerAsync);
    if (sp_model_context_find(target_context) == NULL ||
        sp_model_context_find(source_context) == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && size > 0)
        result = queue_copy(stream, &wish);
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
