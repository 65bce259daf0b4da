/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled, never run: the words of the simulated libcuda.so.1 say the same as cuda.h. */
#include <cuda.h>

#include "src/sim/driver_made.h"
#include "tests/abi_check.h"

SIZE(struct sp_cu_context_params, CUctxCreateParams);
MEMBER(struct sp_cu_context_params, affinity, CUctxCreateParams, execAffinityParams);
MEMBER(struct sp_cu_context_params, n_affinity, CUctxCreateParams, numExecAffinityParams);
MEMBER(struct sp_cu_context_params, graphics, CUctxCreateParams, cigParams);

SIZE(struct sp_cu_kernel_params_v1, CUDA_KERNEL_NODE_PARAMS_v1);
MEMBER(struct sp_cu_kernel_params_v1, function, CUDA_KERNEL_NODE_PARAMS_v1, func);
_Static_assert(offsetof(struct sp_cu_kernel_params_v1, grid) ==
                   offsetof(CUDA_KERNEL_NODE_PARAMS_v1, gridDimX),
               "grid");
_Static_assert(offsetof(struct sp_cu_kernel_params_v1, block) ==
                   offsetof(CUDA_KERNEL_NODE_PARAMS_v1, blockDimX),
               "block");
MEMBER(struct sp_cu_kernel_params_v1, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes);
MEMBER(struct sp_cu_kernel_params_v1, args, CUDA_KERNEL_NODE_PARAMS_v1, kernelParams);
MEMBER(struct sp_cu_kernel_params_v1, extra, CUDA_KERNEL_NODE_PARAMS_v1, extra);

SAME(SP_CU_LOOK_UP_LEGACY, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME(SP_CU_LOOK_UP_PER_THREAD, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
SAME(SP_CU_FOUND, CU_GET_PROC_ADDRESS_SUCCESS);
SAME(SP_CU_SYMBOL_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
SAME(SP_CU_VERSION_NOT_SUFFICIENT, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
