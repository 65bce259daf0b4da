/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Setting memory to a byte: a range, rows, slices. */
#include "config.h"

#include "src/sim/runtime.h"

/* ---- bytes and rows ------------------------------------------------------------------ */

/* No device sets what only the host has. */
static int check(const void *target)
{
    return sp_runtime_check_kind(target, target, SP_RT_DEVICE_TO_DEVICE);
}

/* NULL for the stream: now. */
static int set_bytes(void *target, int value, size_t size, const sp_cu_stream *stream)
{
    sp_cu_ptr ptr = (sp_cu_ptr)(uintptr_t)target;
    int result = size == 0 ? SP_CU_SUCCESS : check(target);

    if (result != SP_CU_SUCCESS)
        return result;
    if (stream == NULL)
        return sp_cu()->cuMemsetD8(ptr, (unsigned char)value, size);
    return sp_cu()->cuMemsetD8Async(ptr, (unsigned char)value, size, *stream);
}

int cudaMemset(void *target, int value, size_t size)
{
    return SP_RUNTIME(set_bytes(target, value, size, NULL));
}

int cudaMemsetAsync(void *target, int value, size_t size, sp_cu_stream stream)
{
    return SP_RUNTIME(set_bytes(target, value, size, &stream));
}

/* NULL for the stream: now. */
static int set_rows(const struct sp_rt_pitched *target, int value, const sp_cu_stream *stream)
{
    sp_cu_ptr ptr = (sp_cu_ptr)(uintptr_t)target->ptr;
    unsigned char byte = (unsigned char)value;
    int result;

    if (target->width == 0 || target->height == 0)
        return SP_CU_SUCCESS;
    if (target->height > 1 && target->width > target->pitch)
        return SP_CU_INVALID_VALUE;
    result = check(target->ptr);
    if (result != SP_CU_SUCCESS)
        return result;
    if (stream == NULL)
        return sp_cu()->cuMemsetD2D8(ptr, target->pitch, byte, target->width, target->height);
    return sp_cu()->cuMemsetD2D8Async(ptr, target->pitch, byte, target->width, target->height,
                                      *stream);
}

int cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height)
{
    struct sp_rt_pitched rows = {target, pitch, width, height};

    return SP_RUNTIME(set_rows(&rows, value, NULL));
}

int cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                      sp_cu_stream stream)
{
    struct sp_rt_pitched rows = {target, pitch, width, height};

    return SP_RUNTIME(set_rows(&rows, value, &stream));
}

/* ---- slices -------------------------------------------------------------------------- */

/* One behind another, `target->height` rows apart. */
static int set_slices(const struct sp_rt_pitched *target, int value, struct sp_rt_extent extent,
                      const sp_cu_stream *stream)
{
    struct sp_rt_pitched rows = {target->ptr, target->pitch, extent.width, extent.height};
    uintptr_t base = (uintptr_t)target->ptr;
    size_t slice, all, end;
    int result = SP_CU_SUCCESS;

    if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
        return SP_CU_SUCCESS;
    if (extent.depth > 1 && (extent.width > target->pitch || extent.height > target->height))
        return SP_CU_INVALID_VALUE;
    if (__builtin_mul_overflow(target->pitch, target->height, &slice) ||
        __builtin_mul_overflow(slice, extent.depth, &all) ||
        __builtin_add_overflow(base, all, &end))
        return SP_CU_INVALID_VALUE;
    for (size_t z = 0; z < extent.depth && result == SP_CU_SUCCESS; z++) {
        rows.ptr = (void *)(base + z * slice);
        result = set_rows(&rows, value, stream);
    }
    return result;
}

int cudaMemset3D(struct sp_rt_pitched target, int value, struct sp_rt_extent extent)
{
    return SP_RUNTIME(set_slices(&target, value, extent, NULL));
}

int cudaMemset3DAsync(struct sp_rt_pitched target, int value, struct sp_rt_extent extent,
                      sp_cu_stream stream)
{
    return SP_RUNTIME(set_slices(&target, value, extent, &stream));
}
