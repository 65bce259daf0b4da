/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that copy and set rows and slices, queued or captured. Plain ranges are copy.c's, what
 * a shape is and does shapes.c's. */
#include "config.h"

#include <stdlib.h>

#include "src/model/attributes.h"
#include "src/model/capture.h"
#include "src/model/private.h"
#include "src/model/shapes.h"
#include "src/util/util.h"

/* An operation: the copy with its source replaced by `staged`, if the host may change that when
 * the call is over. */
struct shape {
    struct sp_cu_memcpy3d copy;
    char staged[];
};

/* ---- executing ----------------------------------------------------------------------- */

static sp_cu_result run_copy(void *arg)
{
    const struct shape *shape = arg;

    sp_model_copy_run(&shape->copy);
    return SP_CU_SUCCESS;
}

static sp_cu_result run_set(void *arg)
{
    sp_model_set_run(arg);
    return SP_CU_SUCCESS;
}

/* ---- queueing copies ----------------------------------------------------------------- */

static bool is_pageable(struct sp_model_extent extent)
{
    return sp_model_memory_is_pageable(extent.address, extent.size);
}

/* Whether an end is of the kind that the copy says. Pinned and managed memory is of both. */
static bool has_right_kind(int type, struct sp_model_extent extent)
{
    if (type == SP_CU_MEMORY_TYPE_HOST)
        return !sp_model_memory_is_device_only(extent.address);
    return type != SP_CU_MEMORY_TYPE_DEVICE || !is_pageable(extent);
}

static sp_cu_result check_copy(const struct sp_cu_memcpy3d *copy)
{
    size_t most = (size_t)sp_model_attribute_constant(SP_ATTRIBUTE_MAX_PITCH);
    sp_cu_result result = sp_model_copy_check(copy);

    if (result != SP_CU_SUCCESS)
        return result;
    if (copy->source_pitch > most || copy->target_pitch > most ||
        !has_right_kind(copy->source_type, sp_model_copy_extent(copy, true)) ||
        !has_right_kind(copy->target_type, sp_model_copy_extent(copy, false)))
        return SP_CU_INVALID_VALUE;
    return SP_CU_SUCCESS;
}

/* Both ends can be used by the stream. */
static sp_cu_result can_use(const struct sp_model_stream *stream, struct sp_model_extent source,
                            struct sp_model_extent target)
{
    sp_cu_result result = sp_model_can_use(stream, source.address, source.size);

    return result == SP_CU_SUCCESS ? sp_model_can_use(stream, target.address, target.size)
                                   : result;
}

/* True if it is not for the stream to execute, and then the answer. A captured copy reads
 * whatever the source is like at each launch. */
static bool capture_copy(struct sp_model_stream *stream, const struct sp_cu_memcpy3d *copy,
                         sp_cu_result *result_out)
{
    struct sp_model_work work = {
        .type = SP_CU_NODE_MEMCPY,
        .copy = {.context = (sp_cu_context)stream->context, .copy = *copy},
    };

    if (stream->member != NULL) {
        *result_out = can_use(stream, sp_model_copy_extent(copy, true),
                              sp_model_copy_extent(copy, false));
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    return sp_model_capture_work(stream, &work, result_out);
}

static sp_cu_result submit_copy(struct sp_model_stream *stream,
                                const struct sp_cu_memcpy3d *copy)
{
    bool is_staged = is_pageable(sp_model_copy_extent(copy, true));
    size_t bytes = copy->width_bytes * copy->height * copy->depth;
    struct shape *shape = is_staged && bytes > SIZE_MAX - sizeof(*shape)
                              ? NULL
                              : malloc(sizeof(*shape) + (is_staged ? bytes : 0));

    if (shape == NULL)
        return SP_CU_OUT_OF_MEMORY;
    shape->copy = *copy;
    if (is_staged)
        sp_model_copy_stage(&shape->copy, shape->staged);
    return sp_model_submit(stream, SP_OP_COPY, bytes, run_copy, shape, NULL);
}

static bool is_empty(const struct sp_cu_memcpy3d *copy)
{
    return copy->width_bytes == 0 || copy->height == 0 || copy->depth == 0;
}

static sp_cu_result queue_copy(struct sp_model_stream *stream,
                               const struct sp_cu_memcpy3d *copy)
{
    struct sp_model_extent source, target;
    struct sp_point at;
    sp_cu_result result;

    if (is_empty(copy))
        return SP_CU_SUCCESS;
    result = check_copy(copy);
    if (result != SP_CU_SUCCESS || capture_copy(stream, copy, &result))
        return result;
    source = sp_model_copy_extent(copy, true);
    target = sp_model_copy_extent(copy, false);
    result = sp_model_prepare(stream, &at);
    if (result == SP_CU_SUCCESS)
        result = can_use(stream, source, target);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use_as(stream, at, target.address, target.size, SP_USE_COPY_WRITE);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use_as(stream, at, source.address, source.size, SP_USE_COPY_READ);
    return result == SP_CU_SUCCESS ? submit_copy(stream, copy) : result;
}

/* ---- queueing memsets ---------------------------------------------------------------- */

static bool capture_set(struct sp_model_stream *stream, const struct sp_cu_memset_params *set,
                        sp_cu_result *result_out)
{
    struct sp_model_extent target = sp_model_set_extent(set);
    struct sp_model_work work = {
        .type = SP_CU_NODE_MEMSET,
        .set = {.params = *set, .context = (sp_cu_context)stream->context},
    };

    if (stream->member != NULL) {
        *result_out = sp_model_can_use(stream, target.address, target.size);
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    return sp_model_capture_work(stream, &work, result_out);
}

static sp_cu_result queue_set(struct sp_model_stream *stream,
                              const struct sp_cu_memset_params *set)
{
    struct sp_model_extent target;
    struct sp_cu_memset_params *copy;
    struct sp_point at;
    sp_cu_result result;

    if (set->width == 0 || set->height == 0)
        return SP_CU_SUCCESS;
    if (!sp_model_set_is_valid(set))
        return SP_CU_INVALID_VALUE;
    target = sp_model_set_extent(set);
    if (is_pageable(target))
        return SP_CU_INVALID_VALUE;
    if (capture_set(stream, set, &result))
        return result;
    result = sp_model_prepare(stream, &at);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use_as(stream, at, target.address, target.size, SP_USE_SET);
    if (result != SP_CU_SUCCESS)
        return result;
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *copy = *set;
    return sp_model_submit(stream, SP_OP_SET, set->width * set->element_size * set->height,
                           run_set, copy, NULL);
}

/* ---- calls --------------------------------------------------------------------------- */

static sp_cu_result copy_async(const struct sp_cu_memcpy3d *copy, sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);
    struct sp_model_extent target;

    if (result == SP_CU_SUCCESS)
        result = queue_copy(stream, copy);
    if (result != SP_CU_SUCCESS || stream->member != NULL || is_empty(copy))
        return result;
    target = sp_model_copy_extent(copy, false);
    return sp_model_memory_is_awaited(target.address, target.size,
                                      sp_model_side_of(copy, true).base)
               ? sp_model_stream_await(stream)
               : SP_CU_SUCCESS;
}

static sp_cu_result copy_now(const struct sp_cu_memcpy3d *copy)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(SP_CU_STREAM_LEGACY, &stream);

    if (result == SP_CU_SUCCESS)
        result = queue_copy(stream, copy);
    if (result == SP_CU_SUCCESS &&
        !(sp_model_memory_is_device_only(sp_model_side_of(copy, true).base) &&
          sp_model_memory_is_device_only(sp_model_side_of(copy, false).base)))
        result = sp_model_stream_await(stream);
    return result;
}

static sp_cu_result set_async(const struct sp_cu_memset_params *set, sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    return result == SP_CU_SUCCESS ? queue_set(stream, set) : result;
}

static sp_cu_result set_now(const struct sp_cu_memset_params *set)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(SP_CU_STREAM_LEGACY, &stream);

    if (result == SP_CU_SUCCESS)
        result = queue_set(stream, set);
    if (result == SP_CU_SUCCESS && !sp_model_memory_is_device_only((uintptr_t)set->target))
        result = sp_model_stream_await(stream);
    return result;
}

/* ---- entry points: copies ------------------------------------------------------------ */

/* One slice. */
static struct sp_cu_memcpy3d from_2d(const struct sp_cu_memcpy2d *copy)
{
    return (struct sp_cu_memcpy3d){
        .source_x_bytes = copy->source_x_bytes,
        .source_y = copy->source_y,
        .source_type = copy->source_type,
        .source_host = copy->source_host,
        .source_device = copy->source_device,
        .source_array = copy->source_array,
        .source_pitch = copy->source_pitch,
        .target_x_bytes = copy->target_x_bytes,
        .target_y = copy->target_y,
        .target_type = copy->target_type,
        .target_host = copy->target_host,
        .target_device = copy->target_device,
        .target_array = copy->target_array,
        .target_pitch = copy->target_pitch,
        .width_bytes = copy->width_bytes,
        .height = copy->height,
        .depth = 1,
    };
}

/* False if a context is none. Works without access between the devices, too: the driver copies
 * by way of the host then. */
static bool from_peer(const struct sp_cu_memcpy3d_peer *peer, struct sp_cu_memcpy3d *copy_out)
{
    *copy_out = (struct sp_cu_memcpy3d){
        .source_x_bytes = peer->source_x_bytes,
        .source_y = peer->source_y,
        .source_z = peer->source_z,
        .source_lod = peer->source_lod,
        .source_type = peer->source_type,
        .source_host = peer->source_host,
        .source_device = peer->source_device,
        .source_array = peer->source_array,
        .source_pitch = peer->source_pitch,
        .source_height = peer->source_height,
        .target_x_bytes = peer->target_x_bytes,
        .target_y = peer->target_y,
        .target_z = peer->target_z,
        .target_lod = peer->target_lod,
        .target_type = peer->target_type,
        .target_host = peer->target_host,
        .target_device = peer->target_device,
        .target_array = peer->target_array,
        .target_pitch = peer->target_pitch,
        .target_height = peer->target_height,
        .width_bytes = peer->width_bytes,
        .height = peer->height,
        .depth = peer->depth,
    };
    return sp_model_context_find(peer->source_context) != NULL &&
           sp_model_context_find(peer->target_context) != NULL;
}

sp_cu_result sp_model_cuMemcpy2D(const struct sp_cu_memcpy2d *copy)
{
    struct sp_cu_memcpy3d whole;

    SP_MODEL_ENTER(cuMemcpy2D);
    if (copy == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    whole = from_2d(copy);
    return sp_model_leave(copy_now(&whole));
}

sp_cu_result sp_model_cuMemcpy2DUnaligned(const struct sp_cu_memcpy2d *copy)
{
    struct sp_cu_memcpy3d whole;

    SP_MODEL_ENTER(cuMemcpy2DUnaligned);
    if (copy == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    whole = from_2d(copy);
    return sp_model_leave(copy_now(&whole));
}

sp_cu_result sp_model_cuMemcpy2DAsync(const struct sp_cu_memcpy2d *copy, sp_cu_stream stream)
{
    struct sp_cu_memcpy3d whole;

    SP_MODEL_ENTER(cuMemcpy2DAsync);
    if (copy == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    whole = from_2d(copy);
    return sp_model_leave(copy_async(&whole, stream));
}

sp_cu_result sp_model_cuMemcpy3D(const struct sp_cu_memcpy3d *copy)
{
    SP_MODEL_ENTER(cuMemcpy3D);
    if (copy == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(copy_now(copy));
}

sp_cu_result sp_model_cuMemcpy3DAsync(const struct sp_cu_memcpy3d *copy, sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemcpy3DAsync);
    if (copy == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(copy_async(copy, stream));
}

sp_cu_result sp_model_cuMemcpy3DPeer(const struct sp_cu_memcpy3d_peer *peer)
{
    struct sp_cu_memcpy3d copy;

    SP_MODEL_ENTER(cuMemcpy3DPeer);
    if (peer == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(from_peer(peer, &copy) ? copy_now(&copy) : SP_CU_INVALID_CONTEXT);
}

sp_cu_result sp_model_cuMemcpy3DPeerAsync(const struct sp_cu_memcpy3d_peer *peer,
                                          sp_cu_stream stream)
{
    struct sp_cu_memcpy3d copy;

    SP_MODEL_ENTER(cuMemcpy3DPeerAsync);
    if (peer == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(from_peer(peer, &copy) ? copy_async(&copy, stream)
                                                 : SP_CU_INVALID_CONTEXT);
}

sp_cu_result sp_model_cuMemcpyPeer(sp_cu_ptr target, sp_cu_context target_context,
                                   sp_cu_ptr source, sp_cu_context source_context, size_t size)
{
    struct sp_cu_memcpy3d copy = {
        .source_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .source_device = source,
        .target_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .target_device = target,
        .width_bytes = size,
        .height = 1,
        .depth = 1,
    };

    SP_MODEL_ENTER(cuMemcpyPeer);
    if (sp_model_context_find(target_context) == NULL ||
        sp_model_context_find(source_context) == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    return sp_model_leave(copy_now(&copy));
}

/* ---- entry points: memsets ----------------------------------------------------------- */

sp_cu_result sp_model_cuMemsetD16(sp_cu_ptr target, unsigned short value, size_t n)
{
    SP_MODEL_ENTER(cuMemsetD16);
    return sp_model_leave(set_now(&(struct sp_cu_memset_params){target, 0, value, 2, n, 1}));
}

sp_cu_result sp_model_cuMemsetD16Async(sp_cu_ptr target, unsigned short value, size_t n,
                                       sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemsetD16Async);
    return sp_model_leave(
        set_async(&(struct sp_cu_memset_params){target, 0, value, 2, n, 1}, stream));
}

sp_cu_result sp_model_cuMemsetD2D8(sp_cu_ptr target, size_t pitch, unsigned char value,
                                   size_t width, size_t height)
{
    struct sp_cu_memset_params set = {target, pitch, value, 1, width, height};

    SP_MODEL_ENTER(cuMemsetD2D8);
    return sp_model_leave(set_now(&set));
}

sp_cu_result sp_model_cuMemsetD2D8Async(sp_cu_ptr target, size_t pitch, unsigned char value,
                                        size_t width, size_t height, sp_cu_stream stream)
{
    struct sp_cu_memset_params set = {target, pitch, value, 1, width, height};

    SP_MODEL_ENTER(cuMemsetD2D8Async);
    return sp_model_leave(set_async(&set, stream));
}

sp_cu_result sp_model_cuMemsetD2D16(sp_cu_ptr target, size_t pitch, unsigned short value,
                                    size_t width, size_t height)
{
    struct sp_cu_memset_params set = {target, pitch, value, 2, width, height};

    SP_MODEL_ENTER(cuMemsetD2D16);
    return sp_model_leave(set_now(&set));
}

sp_cu_result sp_model_cuMemsetD2D16Async(sp_cu_ptr target, size_t pitch, unsigned short value,
                                         size_t width, size_t height, sp_cu_stream stream)
{
    struct sp_cu_memset_params set = {target, pitch, value, 2, width, height};

    SP_MODEL_ENTER(cuMemsetD2D16Async);
    return sp_model_leave(set_async(&set, stream));
}

sp_cu_result sp_model_cuMemsetD2D32(sp_cu_ptr target, size_t pitch, unsigned value,
                                    size_t width, size_t height)
{
    struct sp_cu_memset_params set = {target, pitch, value, 4, width, height};

    SP_MODEL_ENTER(cuMemsetD2D32);
    return sp_model_leave(set_now(&set));
}

sp_cu_result sp_model_cuMemsetD2D32Async(sp_cu_ptr target, size_t pitch, unsigned value,
                                         size_t width, size_t height, sp_cu_stream stream)
{
    struct sp_cu_memset_params set = {target, pitch, value, 4, width, height};

    SP_MODEL_ENTER(cuMemsetD2D32Async);
    return sp_model_leave(set_async(&set, stream));
}
