/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that is in no stream's order: the device's, managed, the host's, and other
 * processes'. */
#include "config.h"

#include "src/sim/runtime.h"

int sp_runtime_pass_ptr(int result, const sp_cu_ptr *ptr, void **ptr_out)
{
    if (result == SP_CU_SUCCESS)
        *ptr_out = (void *)(uintptr_t)*ptr;
    return result;
}

/* ---- devices' ------------------------------------------------------------------------ */

/* Nothing of the size 0 is a success, and NULL. */
static int alloc(void **ptr_out, size_t size)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(size == 0 ? SP_CU_SUCCESS : sp_cu()->cuMemAlloc(&ptr, size),
                               &ptr, ptr_out);
}

int cudaMalloc(void **ptr_out, size_t size)
{
    return SP_RUNTIME(alloc(ptr_out, size));
}

static int alloc_pitch(void **ptr_out, size_t *pitch_out, size_t width, size_t height)
{
    sp_cu_ptr ptr = 0;
    size_t pitch = 0;
    int result = SP_CU_SUCCESS;

    if (ptr_out == NULL || pitch_out == NULL)
        return SP_CU_INVALID_VALUE;
    if (width != 0 && height != 0)
        result = sp_cu()->cuMemAllocPitch(&ptr, &pitch, width, height, 4);
    if (result == SP_CU_SUCCESS)
        *pitch_out = pitch;
    return sp_runtime_pass_ptr(result, &ptr, ptr_out);
}

int cudaMallocPitch(void **ptr_out, size_t *pitch_out, size_t width, size_t height)
{
    return SP_RUNTIME(alloc_pitch(ptr_out, pitch_out, width, height));
}

static int alloc_3d(struct sp_rt_pitched *pitched_out, struct sp_rt_extent extent)
{
    struct sp_rt_pitched pitched = {.width = extent.width, .height = extent.height};
    size_t n_rows;
    int result;

    if (pitched_out == NULL || __builtin_mul_overflow(extent.height, extent.depth, &n_rows))
        return SP_CU_INVALID_VALUE;
    result = alloc_pitch(&pitched.ptr, &pitched.pitch, extent.width, n_rows);
    if (result == SP_CU_SUCCESS)
        *pitched_out = pitched;
    return result;
}

int cudaMalloc3D(struct sp_rt_pitched *pitched_out, struct sp_rt_extent extent)
{
    return SP_RUNTIME(alloc_3d(pitched_out, extent));
}

static int alloc_managed(void **ptr_out, size_t size, unsigned flags)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(sp_cu()->cuMemAllocManaged(&ptr, size, flags), &ptr, ptr_out);
}

int cudaMallocManaged(void **ptr_out, size_t size, unsigned flags)
{
    return SP_RUNTIME(alloc_managed(ptr_out, size, flags));
}

/* Of NULL, which is how programs make a context, too. */
int cudaFree(void *ptr)
{
    return SP_RUNTIME(sp_cu()->cuMemFree((sp_cu_ptr)(uintptr_t)ptr));
}

int cudaMemGetInfo(size_t *free_out, size_t *total_out)
{
    return SP_RUNTIME(sp_cu()->cuMemGetInfo(free_out, total_out));
}

/* ---- the host's ---------------------------------------------------------------------- */

static int alloc_host(void **ptr_out, size_t size, unsigned flags)
{
    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    if (size != 0)
        return sp_cu()->cuMemHostAlloc(ptr_out, size, flags);
    *ptr_out = NULL;
    return SP_CU_SUCCESS;
}

int cudaMallocHost(void **ptr_out, size_t size)
{
    return SP_RUNTIME(alloc_host(ptr_out, size, 0));
}

int cudaHostAlloc(void **ptr_out, size_t size, unsigned flags)
{
    return SP_RUNTIME(alloc_host(ptr_out, size, flags));
}

int cudaFreeHost(void *ptr)
{
    return SP_RUNTIME(ptr == NULL ? SP_CU_SUCCESS : sp_cu()->cuMemFreeHost(ptr));
}

int cudaHostRegister(void *ptr, size_t size, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuMemHostRegister(ptr, size, flags));
}

int cudaHostUnregister(void *ptr)
{
    return SP_RUNTIME(sp_cu()->cuMemHostUnregister(ptr));
}

static int host_device_ptr(void **ptr_out, void *host, unsigned flags)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(sp_cu()->cuMemHostGetDevicePointer(&ptr, host, flags), &ptr,
                               ptr_out);
}

int cudaHostGetDevicePointer(void **ptr_out, void *host, unsigned flags)
{
    return SP_RUNTIME(host_device_ptr(ptr_out, host, flags));
}

int cudaHostGetFlags(unsigned *flags_out, void *host)
{
    return SP_RUNTIME(sp_cu()->cuMemHostGetFlags(flags_out, host));
}

/* ---- managed memory ------------------------------------------------------------------ */

int cudaMemRangeGetAttribute(void *value_out, size_t size, int attribute, const void *ptr,
                             size_t length)
{
    return SP_RUNTIME(sp_cu()->cuMemRangeGetAttribute(value_out, size, attribute,
                                                      (sp_cu_ptr)(uintptr_t)ptr, length));
}

int cudaMemRangeGetAttributes(void **values_out, size_t *sizes, int *attributes,
                              size_t n_attributes, const void *ptr, size_t length)
{
    return SP_RUNTIME(sp_cu()->cuMemRangeGetAttributes(
        values_out, sizes, attributes, n_attributes, (sp_cu_ptr)(uintptr_t)ptr, length));
}

/* ---- between processes --------------------------------------------------------------- */

int cudaIpcGetEventHandle(struct sp_cu_ipc_event_handle *handle_out, sp_cu_event event)
{
    return SP_RUNTIME(sp_cu()->cuIpcGetEventHandle(handle_out, event));
}

int cudaIpcOpenEventHandle(sp_cu_event *event_out, struct sp_cu_ipc_event_handle handle)
{
    return SP_RUNTIME(sp_cu()->cuIpcOpenEventHandle(event_out, handle));
}

int cudaIpcGetMemHandle(struct sp_cu_ipc_mem_handle *handle_out, void *ptr)
{
    return SP_RUNTIME(sp_cu()->cuIpcGetMemHandle(handle_out, (sp_cu_ptr)(uintptr_t)ptr));
}

static int open_memory(void **ptr_out, struct sp_cu_ipc_mem_handle handle, unsigned flags)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(sp_cu()->cuIpcOpenMemHandle(&ptr, handle, flags), &ptr, ptr_out);
}

int cudaIpcOpenMemHandle(void **ptr_out, struct sp_cu_ipc_mem_handle handle, unsigned flags)
{
    return SP_RUNTIME(open_memory(ptr_out, handle, flags));
}

int cudaIpcCloseMemHandle(void *ptr)
{
    return SP_RUNTIME(sp_cu()->cuIpcCloseMemHandle((sp_cu_ptr)(uintptr_t)ptr));
}
