/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools, and memory in a stream's order. */
#include "config.h"

#include "src/sim/runtime.h"

/* ---- allocations --------------------------------------------------------------------- */

static int alloc(void **ptr_out, size_t size, sp_cu_stream stream)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(sp_cu()->cuMemAllocAsync(&ptr, size, stream), &ptr, ptr_out);
}

int cudaMallocAsync(void **ptr_out, size_t size, sp_cu_stream stream)
{
    return SP_RUNTIME(alloc(ptr_out, size, stream));
}

static int alloc_from(void **ptr_out, size_t size, sp_cu_pool pool, sp_cu_stream stream)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(sp_cu()->cuMemAllocFromPoolAsync(&ptr, size, pool, stream), &ptr,
                               ptr_out);
}

int cudaMallocFromPoolAsync(void **ptr_out, size_t size, sp_cu_pool pool, sp_cu_stream stream)
{
    return SP_RUNTIME(alloc_from(ptr_out, size, pool, stream));
}

int cudaFreeAsync(void *ptr, sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuMemFreeAsync((sp_cu_ptr)(uintptr_t)ptr, stream));
}

/* ---- pools --------------------------------------------------------------------------- */

int cudaMemPoolCreate(sp_cu_pool *pool_out, const struct sp_cu_pool_props *props)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolCreate(pool_out, props));
}

int cudaMemPoolDestroy(sp_cu_pool pool)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolDestroy(pool));
}

int cudaMemPoolTrimTo(sp_cu_pool pool, size_t keep)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolTrimTo(pool, keep));
}

int cudaMemPoolGetAttribute(sp_cu_pool pool, int attribute, void *value_out)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolGetAttribute(pool, attribute, value_out));
}

int cudaMemPoolSetAttribute(sp_cu_pool pool, int attribute, void *value)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolSetAttribute(pool, attribute, value));
}

int cudaMemPoolGetAccess(int *flags_out, sp_cu_pool pool, struct sp_cu_location *location)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolGetAccess(flags_out, pool, location));
}

int cudaMemPoolSetAccess(sp_cu_pool pool, const struct sp_cu_access_desc *descs, size_t n_descs)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolSetAccess(pool, descs, n_descs));
}

int cudaMemPoolExportToShareableHandle(void *handle_out, sp_cu_pool pool, int handle_type,
                                       unsigned flags)
{
    return SP_RUNTIME(
        sp_cu()->cuMemPoolExportToShareableHandle(handle_out, pool, handle_type, flags));
}

int cudaMemPoolImportFromShareableHandle(sp_cu_pool *pool_out, void *handle, int handle_type,
                                         unsigned flags)
{
    return SP_RUNTIME(
        sp_cu()->cuMemPoolImportFromShareableHandle(pool_out, handle, handle_type, flags));
}

int cudaMemPoolExportPointer(struct sp_cu_pointer_export *data_out, void *ptr)
{
    return SP_RUNTIME(sp_cu()->cuMemPoolExportPointer(data_out, (sp_cu_ptr)(uintptr_t)ptr));
}

static int import_ptr(void **ptr_out, sp_cu_pool pool, struct sp_cu_pointer_export *data)
{
    sp_cu_ptr ptr = 0;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_runtime_pass_ptr(sp_cu()->cuMemPoolImportPointer(&ptr, pool, data), &ptr,
                               ptr_out);
}

int cudaMemPoolImportPointer(void **ptr_out, sp_cu_pool pool, struct sp_cu_pointer_export *data)
{
    return SP_RUNTIME(import_ptr(ptr_out, pool, data));
}

/* ---- devices' pools ------------------------------------------------------------------ */

int cudaDeviceGetDefaultMemPool(sp_cu_pool *pool_out, int device)
{
    return SP_RUNTIME(sp_cu()->cuDeviceGetDefaultMemPool(pool_out, device));
}

int cudaDeviceGetMemPool(sp_cu_pool *pool_out, int device)
{
    return SP_RUNTIME(sp_cu()->cuDeviceGetMemPool(pool_out, device));
}

int cudaDeviceSetMemPool(int device, sp_cu_pool pool)
{
    return SP_RUNTIME(sp_cu()->cuDeviceSetMemPool(device, pool));
}
