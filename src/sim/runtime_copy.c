/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies in all forms. The driver is told addresses and shapes; what the runtime's word for the
 * direction says is checked before. */
#include "config.h"

#include "src/sim/runtime.h"

static sp_cu_ptr address(const void *ptr)
{
    return (sp_cu_ptr)(uintptr_t)ptr;
}

/* ---- bytes --------------------------------------------------------------------------- */

static int copy_now(void *target, const void *source, size_t size, int kind)
{
    int result = sp_runtime_check_kind(target, source, kind);

    return result == SP_CU_SUCCESS ? sp_cu()->cuMemcpy(address(target), address(source), size)
                                   : result;
}

int cudaMemcpy(void *target, const void *source, size_t size, int kind)
{
    return SP_RUNTIME(size == 0 ? SP_CU_SUCCESS : copy_now(target, source, size, kind));
}

static int copy_async(void *target, const void *source, size_t size, int kind,
                      sp_cu_stream stream)
{
    int result = sp_runtime_check_kind(target, source, kind);

    return result == SP_CU_SUCCESS
               ? sp_cu()->cuMemcpyAsync(address(target), address(source), size, stream)
               : result;
}

int cudaMemcpyAsync(void *target, const void *source, size_t size, int kind,
                    sp_cu_stream stream)
{
    return SP_RUNTIME(size == 0 ? SP_CU_SUCCESS
                                : copy_async(target, source, size, kind, stream));
}

/* ---- rows ---------------------------------------------------------------------------- */

/* A rectangle; nothing if it is empty. */
static int describe_2d(const struct sp_rt_pitched *target, const struct sp_rt_pitched *source,
                       int kind, struct sp_cu_memcpy2d *out)
{
    size_t width = target->width, height = target->height;

    *out = (struct sp_cu_memcpy2d){
        .source_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .source_device = address(source->ptr),
        .source_pitch = source->pitch,
        .target_type = SP_CU_MEMORY_TYPE_UNIFIED,
        .target_device = address(target->ptr),
        .target_pitch = target->pitch,
        .width_bytes = width,
        .height = height,
    };
    if (width > target->pitch || width > source->pitch)
        return SP_RT_INVALID_PITCH;
    return width == 0 || height == 0 ? SP_CU_SUCCESS
                                     : sp_runtime_check_kind(target->ptr, source->ptr, kind);
}

int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                 size_t width, size_t height, int kind)
{
    struct sp_rt_pitched to = {target, target_pitch, width, height};
    struct sp_rt_pitched from = {(void *)(uintptr_t)source, source_pitch, width, height};
    struct sp_cu_memcpy2d copy;
    int result = sp_runtime_begin() ?: describe_2d(&to, &from, kind, &copy);

    if (result == SP_CU_SUCCESS && width > 0 && height > 0)
        result = sp_cu()->cuMemcpy2DUnaligned(&copy);
    return sp_runtime_end(result);
}

int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source,
                      size_t source_pitch, size_t width, size_t height, int kind,
                      sp_cu_stream stream)
{
    struct sp_rt_pitched to = {target, target_pitch, width, height};
    struct sp_rt_pitched from = {(void *)(uintptr_t)source, source_pitch, width, height};
    struct sp_cu_memcpy2d copy;
    int result = sp_runtime_begin() ?: describe_2d(&to, &from, kind, &copy);

    if (result == SP_CU_SUCCESS && width > 0 && height > 0)
        result = sp_cu()->cuMemcpy2DAsync(&copy, stream);
    return sp_runtime_end(result);
}

/* ---- slices -------------------------------------------------------------------------- */

void sp_runtime_copy1d(void *target, const void *source, size_t size, struct sp_rt_copy3d *out)
{
    *out = (struct sp_rt_copy3d){
        .source = {(void *)(uintptr_t)source, size, size, 1},
        .target = {target, size, size, 1},
        .extent = {size, 1, 1},
        .kind = SP_RT_DEFAULT,
    };
}

int sp_runtime_copy3d(const struct sp_rt_copy3d *copy, struct sp_cu_memcpy3d *out)
{
    bool is_to_host = copy->kind == SP_RT_HOST_TO_HOST || copy->kind == SP_RT_DEVICE_TO_HOST;
    bool is_from_host = copy->kind == SP_RT_HOST_TO_HOST || copy->kind == SP_RT_HOST_TO_DEVICE;
    int device =
        copy->kind == SP_RT_DEFAULT ? SP_CU_MEMORY_TYPE_UNIFIED : SP_CU_MEMORY_TYPE_DEVICE;

    if (copy->source_array != NULL || copy->target_array != NULL)
        return SP_CU_NOT_SUPPORTED; /* There are no arrays in the model. */
    *out = (struct sp_cu_memcpy3d){
        .source_x_bytes = copy->source_at.x,
        .source_y = copy->source_at.y,
        .source_z = copy->source_at.z,
        .source_type = is_from_host ? SP_CU_MEMORY_TYPE_HOST : device,
        .source_host = is_from_host ? copy->source.ptr : NULL,
        .source_device = is_from_host ? 0 : address(copy->source.ptr),
        .source_pitch = copy->source.pitch,
        .source_height = copy->source.height,
        .target_x_bytes = copy->target_at.x,
        .target_y = copy->target_at.y,
        .target_z = copy->target_at.z,
        .target_type = is_to_host ? SP_CU_MEMORY_TYPE_HOST : device,
        .target_host = is_to_host ? copy->target.ptr : NULL,
        .target_device = is_to_host ? 0 : address(copy->target.ptr),
        .target_pitch = copy->target.pitch,
        .target_height = copy->target.height,
        .width_bytes = copy->extent.width,
        .height = copy->extent.height,
        .depth = copy->extent.depth,
    };
    return sp_runtime_check_kind(copy->target.ptr, copy->source.ptr, copy->kind);
}

static bool is_empty(struct sp_rt_extent extent)
{
    return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

/* NULL for the stream: now. */
static int copy_3d(const struct sp_rt_copy3d *copy, const sp_cu_stream *stream)
{
    struct sp_cu_memcpy3d described;
    int result;

    if (copy == NULL)
        return SP_CU_INVALID_VALUE;
    if (is_empty(copy->extent))
        return SP_CU_SUCCESS;
    result = sp_runtime_copy3d(copy, &described);
    if (result != SP_CU_SUCCESS)
        return result;
    return stream == NULL ? sp_cu()->cuMemcpy3D(&described)
                          : sp_cu()->cuMemcpy3DAsync(&described, *stream);
}

int cudaMemcpy3D(const struct sp_rt_copy3d *copy)
{
    return SP_RUNTIME(copy_3d(copy, NULL));
}

int cudaMemcpy3DAsync(const struct sp_rt_copy3d *copy, sp_cu_stream stream)
{
    return SP_RUNTIME(copy_3d(copy, &stream));
}

/* ---- between devices ----------------------------------------------------------------- */

static int contexts(int target, int source, sp_cu_context *target_out,
                    sp_cu_context *source_out)
{
    int result = sp_runtime_context(target, target_out);

    return result == SP_CU_SUCCESS ? sp_runtime_context(source, source_out) : result;
}

int cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device,
                   size_t size)
{
    sp_cu_context to = NULL, from = NULL;
    int result = sp_runtime_begin() ?: contexts(target_device, source_device, &to, &from);

    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuMemcpyPeer(address(target), to, address(source), from, size);
    return sp_runtime_end(result);
}

int cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device,
                        size_t size, sp_cu_stream stream)
{
    sp_cu_context to = NULL, from = NULL;
    int result = sp_runtime_begin() ?: contexts(target_device, source_device, &to, &from);

    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuMemcpyPeerAsync(address(target), to, address(source), from, size,
                                            stream);
    return sp_runtime_end(result);
}

static int describe_peer(const struct sp_rt_peer3d *copy, struct sp_cu_memcpy3d_peer *out)
{
    if (copy == NULL)
        return SP_CU_INVALID_VALUE;
    if (copy->source_array != NULL || copy->target_array != NULL)
        return SP_CU_NOT_SUPPORTED;
    *out = (struct sp_cu_memcpy3d_peer){
        .source_x_bytes = copy->source_at.x,
        .source_y = copy->source_at.y,
        .source_z = copy->source_at.z,
        .source_type = SP_CU_MEMORY_TYPE_DEVICE,
        .source_device = address(copy->source.ptr),
        .source_pitch = copy->source.pitch,
        .source_height = copy->source.height,
        .target_x_bytes = copy->target_at.x,
        .target_y = copy->target_at.y,
        .target_z = copy->target_at.z,
        .target_type = SP_CU_MEMORY_TYPE_DEVICE,
        .target_device = address(copy->target.ptr),
        .target_pitch = copy->target.pitch,
        .target_height = copy->target.height,
        .width_bytes = copy->extent.width,
        .height = copy->extent.height,
        .depth = copy->extent.depth,
    };
    return contexts(copy->target_device, copy->source_device, &out->target_context,
                    &out->source_context);
}

int cudaMemcpy3DPeer(const struct sp_rt_peer3d *copy)
{
    struct sp_cu_memcpy3d_peer described;
    int result = sp_runtime_begin() ?: describe_peer(copy, &described);

    if (result == SP_CU_SUCCESS && !is_empty(copy->extent))
        result = sp_cu()->cuMemcpy3DPeer(&described);
    return sp_runtime_end(result);
}

int cudaMemcpy3DPeerAsync(const struct sp_rt_peer3d *copy, sp_cu_stream stream)
{
    struct sp_cu_memcpy3d_peer described;
    int result = sp_runtime_begin() ?: describe_peer(copy, &described);

    if (result == SP_CU_SUCCESS && !is_empty(copy->extent))
        result = sp_cu()->cuMemcpy3DPeerAsync(&described, stream);
    return sp_runtime_end(result);
}
