/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only 13 has: pools by location, and how its nvcc launches kernels. */
#include "config.h"

#include "src/sim/runtime_register.h"

/* ---- pools --------------------------------------------------------------------------- */

int cudaMemGetDefaultMemPool(sp_cu_pool *pool_out, struct sp_cu_location *location,
                             int alloc_type)
{
    return SP_RUNTIME(sp_cu()->cuMemGetDefaultMemPool(pool_out, location, alloc_type));
}

int cudaMemGetMemPool(sp_cu_pool *pool_out, struct sp_cu_location *location, int alloc_type)
{
    return SP_RUNTIME(sp_cu()->cuMemGetMemPool(pool_out, location, alloc_type));
}

int cudaMemSetMemPool(struct sp_cu_location *location, int alloc_type, sp_cu_pool pool)
{
    return SP_RUNTIME(sp_cu()->cuMemSetMemPool(location, alloc_type, pool));
}

/* ---- kernels ------------------------------------------------------------------------- */

int __cudaGetKernel(void **kernel_out, const void *function)
{
    return cudaGetKernel(kernel_out, function);
}

int __cudaLaunchKernel(void *kernel, struct sp_rt_dim3 grid, struct sp_rt_dim3 block,
                       void **args, size_t shared_bytes, sp_cu_stream stream)
{
    return cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream);
}
