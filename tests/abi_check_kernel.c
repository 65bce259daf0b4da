/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled, never run: our own words for the driver's shapes, kernels and questions say the
 * same as cuda.h. */
#include <cuda.h>

#include "src/driver/abi_kernel.h"
#include "src/driver/abi_query.h"
#include "src/driver/abi_shape.h"
#include "tests/abi_check.h"

/* ---- shapes ---------------------------------------------------------------------------- */

SAME(SP_CU_MEMORY_TYPE_ARRAY, CU_MEMORYTYPE_ARRAY);

SIZE(struct sp_cu_memcpy2d, CUDA_MEMCPY2D);
ALIGN(struct sp_cu_memcpy2d, CUDA_MEMCPY2D);
MEMBER(struct sp_cu_memcpy2d, source_x_bytes, CUDA_MEMCPY2D, srcXInBytes);
MEMBER(struct sp_cu_memcpy2d, source_y, CUDA_MEMCPY2D, srcY);
MEMBER(struct sp_cu_memcpy2d, source_type, CUDA_MEMCPY2D, srcMemoryType);
MEMBER(struct sp_cu_memcpy2d, source_host, CUDA_MEMCPY2D, srcHost);
MEMBER(struct sp_cu_memcpy2d, source_device, CUDA_MEMCPY2D, srcDevice);
MEMBER(struct sp_cu_memcpy2d, source_array, CUDA_MEMCPY2D, srcArray);
MEMBER(struct sp_cu_memcpy2d, source_pitch, CUDA_MEMCPY2D, srcPitch);
MEMBER(struct sp_cu_memcpy2d, target_x_bytes, CUDA_MEMCPY2D, dstXInBytes);
MEMBER(struct sp_cu_memcpy2d, target_y, CUDA_MEMCPY2D, dstY);
MEMBER(struct sp_cu_memcpy2d, target_type, CUDA_MEMCPY2D, dstMemoryType);
MEMBER(struct sp_cu_memcpy2d, target_host, CUDA_MEMCPY2D, dstHost);
MEMBER(struct sp_cu_memcpy2d, target_device, CUDA_MEMCPY2D, dstDevice);
MEMBER(struct sp_cu_memcpy2d, target_array, CUDA_MEMCPY2D, dstArray);
MEMBER(struct sp_cu_memcpy2d, target_pitch, CUDA_MEMCPY2D, dstPitch);
MEMBER(struct sp_cu_memcpy2d, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
MEMBER(struct sp_cu_memcpy2d, height, CUDA_MEMCPY2D, Height);

SIZE(struct sp_cu_memcpy3d, CUDA_MEMCPY3D);
ALIGN(struct sp_cu_memcpy3d, CUDA_MEMCPY3D);
MEMBER(struct sp_cu_memcpy3d, source_x_bytes, CUDA_MEMCPY3D, srcXInBytes);
MEMBER(struct sp_cu_memcpy3d, source_y, CUDA_MEMCPY3D, srcY);
MEMBER(struct sp_cu_memcpy3d, source_z, CUDA_MEMCPY3D, srcZ);
MEMBER(struct sp_cu_memcpy3d, source_lod, CUDA_MEMCPY3D, srcLOD);
MEMBER(struct sp_cu_memcpy3d, source_type, CUDA_MEMCPY3D, srcMemoryType);
MEMBER(struct sp_cu_memcpy3d, source_host, CUDA_MEMCPY3D, srcHost);
MEMBER(struct sp_cu_memcpy3d, source_device, CUDA_MEMCPY3D, srcDevice);
MEMBER(struct sp_cu_memcpy3d, source_array, CUDA_MEMCPY3D, srcArray);
MEMBER(struct sp_cu_memcpy3d, source_pitch, CUDA_MEMCPY3D, srcPitch);
MEMBER(struct sp_cu_memcpy3d, source_height, CUDA_MEMCPY3D, srcHeight);
MEMBER(struct sp_cu_memcpy3d, target_x_bytes, CUDA_MEMCPY3D, dstXInBytes);
MEMBER(struct sp_cu_memcpy3d, target_y, CUDA_MEMCPY3D, dstY);
MEMBER(struct sp_cu_memcpy3d, target_z, CUDA_MEMCPY3D, dstZ);
MEMBER(struct sp_cu_memcpy3d, target_lod, CUDA_MEMCPY3D, dstLOD);
MEMBER(struct sp_cu_memcpy3d, target_type, CUDA_MEMCPY3D, dstMemoryType);
MEMBER(struct sp_cu_memcpy3d, target_host, CUDA_MEMCPY3D, dstHost);
MEMBER(struct sp_cu_memcpy3d, target_device, CUDA_MEMCPY3D, dstDevice);
MEMBER(struct sp_cu_memcpy3d, target_array, CUDA_MEMCPY3D, dstArray);
MEMBER(struct sp_cu_memcpy3d, target_pitch, CUDA_MEMCPY3D, dstPitch);
MEMBER(struct sp_cu_memcpy3d, target_height, CUDA_MEMCPY3D, dstHeight);
MEMBER(struct sp_cu_memcpy3d, width_bytes, CUDA_MEMCPY3D, WidthInBytes);
MEMBER(struct sp_cu_memcpy3d, height, CUDA_MEMCPY3D, Height);
MEMBER(struct sp_cu_memcpy3d, depth, CUDA_MEMCPY3D, Depth);
MEMBER(struct sp_cu_memcpy3d, reserved0, CUDA_MEMCPY3D, reserved0);
MEMBER(struct sp_cu_memcpy3d, reserved1, CUDA_MEMCPY3D, reserved1);

SIZE(struct sp_cu_memcpy3d_peer, CUDA_MEMCPY3D_PEER);
ALIGN(struct sp_cu_memcpy3d_peer, CUDA_MEMCPY3D_PEER);
MEMBER(struct sp_cu_memcpy3d_peer, source_x_bytes, CUDA_MEMCPY3D_PEER, srcXInBytes);
MEMBER(struct sp_cu_memcpy3d_peer, source_y, CUDA_MEMCPY3D_PEER, srcY);
MEMBER(struct sp_cu_memcpy3d_peer, source_z, CUDA_MEMCPY3D_PEER, srcZ);
MEMBER(struct sp_cu_memcpy3d_peer, source_lod, CUDA_MEMCPY3D_PEER, srcLOD);
MEMBER(struct sp_cu_memcpy3d_peer, source_type, CUDA_MEMCPY3D_PEER, srcMemoryType);
MEMBER(struct sp_cu_memcpy3d_peer, source_host, CUDA_MEMCPY3D_PEER, srcHost);
MEMBER(struct sp_cu_memcpy3d_peer, source_device, CUDA_MEMCPY3D_PEER, srcDevice);
MEMBER(struct sp_cu_memcpy3d_peer, source_array, CUDA_MEMCPY3D_PEER, srcArray);
MEMBER(struct sp_cu_memcpy3d_peer, source_context, CUDA_MEMCPY3D_PEER, srcContext);
MEMBER(struct sp_cu_memcpy3d_peer, source_pitch, CUDA_MEMCPY3D_PEER, srcPitch);
MEMBER(struct sp_cu_memcpy3d_peer, source_height, CUDA_MEMCPY3D_PEER, srcHeight);
MEMBER(struct sp_cu_memcpy3d_peer, target_x_bytes, CUDA_MEMCPY3D_PEER, dstXInBytes);
MEMBER(struct sp_cu_memcpy3d_peer, target_y, CUDA_MEMCPY3D_PEER, dstY);
MEMBER(struct sp_cu_memcpy3d_peer, target_z, CUDA_MEMCPY3D_PEER, dstZ);
MEMBER(struct sp_cu_memcpy3d_peer, target_lod, CUDA_MEMCPY3D_PEER, dstLOD);
MEMBER(struct sp_cu_memcpy3d_peer, target_type, CUDA_MEMCPY3D_PEER, dstMemoryType);
MEMBER(struct sp_cu_memcpy3d_peer, target_host, CUDA_MEMCPY3D_PEER, dstHost);
MEMBER(struct sp_cu_memcpy3d_peer, target_device, CUDA_MEMCPY3D_PEER, dstDevice);
MEMBER(struct sp_cu_memcpy3d_peer, target_array, CUDA_MEMCPY3D_PEER, dstArray);
MEMBER(struct sp_cu_memcpy3d_peer, target_context, CUDA_MEMCPY3D_PEER, dstContext);
MEMBER(struct sp_cu_memcpy3d_peer, target_pitch, CUDA_MEMCPY3D_PEER, dstPitch);
MEMBER(struct sp_cu_memcpy3d_peer, target_height, CUDA_MEMCPY3D_PEER, dstHeight);
MEMBER(struct sp_cu_memcpy3d_peer, width_bytes, CUDA_MEMCPY3D_PEER, WidthInBytes);
MEMBER(struct sp_cu_memcpy3d_peer, height, CUDA_MEMCPY3D_PEER, Height);
MEMBER(struct sp_cu_memcpy3d_peer, depth, CUDA_MEMCPY3D_PEER, Depth);

SIZE(struct sp_cu_memset_params, CUDA_MEMSET_NODE_PARAMS);
MEMBER(struct sp_cu_memset_params, target, CUDA_MEMSET_NODE_PARAMS, dst);
MEMBER(struct sp_cu_memset_params, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
MEMBER(struct sp_cu_memset_params, value, CUDA_MEMSET_NODE_PARAMS, value);
MEMBER(struct sp_cu_memset_params, element_size, CUDA_MEMSET_NODE_PARAMS, elementSize);
MEMBER(struct sp_cu_memset_params, width, CUDA_MEMSET_NODE_PARAMS, width);
MEMBER(struct sp_cu_memset_params, height, CUDA_MEMSET_NODE_PARAMS, height);

/* ---- kernels --------------------------------------------------------------------------- */

SAME_TYPE(sp_cu_module, CUmodule);
SAME_TYPE(sp_cu_function, CUfunction);
SAME_TYPE(sp_cu_library, CUlibrary);
SAME_TYPE(sp_cu_kernel, CUkernel);
SAME_TYPE(sp_cu_block_size_fn, CUoccupancyB2DSize);

/* Ours are arrays of three where cuda.h has three members. */
#define THREE(ours, our_member, theirs, their_x, their_z)                                     \
    _Static_assert(offsetof(ours, our_member[0]) == offsetof(theirs, their_x) &&              \
                       offsetof(ours, our_member[2]) == offsetof(theirs, their_z) &&          \
                       sizeof(((ours *)0)->our_member) == 3 * sizeof(((theirs *)0)->their_x), \
                   #ours "." #our_member)

SIZE(struct sp_cu_kernel_params, CUDA_KERNEL_NODE_PARAMS_v2);
ALIGN(struct sp_cu_kernel_params, CUDA_KERNEL_NODE_PARAMS_v2);
MEMBER(struct sp_cu_kernel_params, function, CUDA_KERNEL_NODE_PARAMS_v2, func);
MEMBER(struct sp_cu_kernel_params, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
MEMBER(struct sp_cu_kernel_params, args, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
MEMBER(struct sp_cu_kernel_params, extra, CUDA_KERNEL_NODE_PARAMS_v2, extra);
MEMBER(struct sp_cu_kernel_params, kernel, CUDA_KERNEL_NODE_PARAMS_v2, kern);
MEMBER(struct sp_cu_kernel_params, context, CUDA_KERNEL_NODE_PARAMS_v2, ctx);
THREE(struct sp_cu_kernel_params, grid, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX, gridDimZ);
THREE(struct sp_cu_kernel_params, block, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX, blockDimZ);
SIZE(struct sp_cu_kernel_params, CUDA_KERNEL_NODE_PARAMS_v3);
MEMBER(struct sp_cu_kernel_params, context, CUDA_KERNEL_NODE_PARAMS_v3, ctx);

SIZE(struct sp_cu_launch_config, CUlaunchConfig);
ALIGN(struct sp_cu_launch_config, CUlaunchConfig);
MEMBER(struct sp_cu_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
MEMBER(struct sp_cu_launch_config, stream, CUlaunchConfig, hStream);
MEMBER(struct sp_cu_launch_config, attributes, CUlaunchConfig, attrs);
MEMBER(struct sp_cu_launch_config, n_attributes, CUlaunchConfig, numAttrs);
THREE(struct sp_cu_launch_config, grid, CUlaunchConfig, gridDimX, gridDimZ);
THREE(struct sp_cu_launch_config, block, CUlaunchConfig, blockDimX, blockDimZ);

SIZE(union sp_cu_launch_value, CUlaunchAttributeValue);
ALIGN(union sp_cu_launch_value, CUlaunchAttributeValue);
MEMBER(union sp_cu_launch_value, number, CUlaunchAttributeValue, cooperative);
THREE(union sp_cu_launch_value, cluster, CUlaunchAttributeValue, clusterDim.x, clusterDim.z);
SIZE(struct sp_cu_launch_attribute, CUlaunchAttribute);
ALIGN(struct sp_cu_launch_attribute, CUlaunchAttribute);
MEMBER(struct sp_cu_launch_attribute, id, CUlaunchAttribute, id);
MEMBER(struct sp_cu_launch_attribute, value, CUlaunchAttribute, value);

SAME(SP_CU_LAUNCH_END, CU_LAUNCH_PARAM_END_AS_INT);
SAME(SP_CU_LAUNCH_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
SAME(SP_CU_LAUNCH_BUFFER_SIZE, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

#define SAME_FUNCTION(name) SAME(SP_CU_FUNCTION_##name, CU_FUNC_ATTRIBUTE_##name)
SAME_FUNCTION(MAX_THREADS_PER_BLOCK);
SAME_FUNCTION(SHARED_SIZE_BYTES);
SAME_FUNCTION(CONST_SIZE_BYTES);
SAME_FUNCTION(LOCAL_SIZE_BYTES);
SAME_FUNCTION(NUM_REGS);
SAME_FUNCTION(PTX_VERSION);
SAME_FUNCTION(BINARY_VERSION);
SAME_FUNCTION(CACHE_MODE_CA);
SAME_FUNCTION(MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_FUNCTION(PREFERRED_SHARED_MEMORY_CARVEOUT);

#define SAME_CACHE(name) SAME(SP_CU_CACHE_PREFER_##name, CU_FUNC_CACHE_PREFER_##name)
SAME_CACHE(NONE);
SAME_CACHE(SHARED);
SAME_CACHE(L1);
SAME_CACHE(EQUAL);

#define SAME_LAUNCH(name) SAME(SP_CU_LAUNCH_##name, CU_LAUNCH_ATTRIBUTE_##name)
SAME_LAUNCH(IGNORE);
SAME_LAUNCH(ACCESS_POLICY_WINDOW);
SAME_LAUNCH(COOPERATIVE);
SAME_LAUNCH(SYNCHRONIZATION_POLICY);
SAME_LAUNCH(CLUSTER_DIMENSION);
SAME_LAUNCH(CLUSTER_SCHEDULING_POLICY_PREFERENCE);
SAME_LAUNCH(PROGRAMMATIC_STREAM_SERIALIZATION);
SAME_LAUNCH(PROGRAMMATIC_EVENT);
SAME_LAUNCH(PRIORITY);
SAME_LAUNCH(MEM_SYNC_DOMAIN_MAP);
SAME_LAUNCH(MEM_SYNC_DOMAIN);
SAME_LAUNCH(PREFERRED_CLUSTER_DIMENSION);
SAME_LAUNCH(DEVICE_UPDATABLE_KERNEL_NODE);
SAME_LAUNCH(PREFERRED_SHARED_MEMORY_CARVEOUT);
SAME(SP_CU_LAUNCH_COMPLETION_EVENT, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);

/* ---- questions ------------------------------------------------------------------------- */

#define X(name, number, value) SAME(number, CU_DEVICE_ATTRIBUTE_##name);
#include "src/model/attributes.def"
#undef X
enum {
#define X(name, number, value) ATTRIBUTE_##number,
#include "src/model/attributes.def"
#undef X
    N_ATTRIBUTES
};
SAME(N_ATTRIBUTES + 1, CU_DEVICE_ATTRIBUTE_MAX);

SIZE(struct sp_cu_device_properties, CUdevprop);
ALIGN(struct sp_cu_device_properties, CUdevprop);
MEMBER(struct sp_cu_device_properties, max_threads_per_block, CUdevprop, maxThreadsPerBlock);
MEMBER(struct sp_cu_device_properties, max_threads_dim, CUdevprop, maxThreadsDim);
MEMBER(struct sp_cu_device_properties, max_grid_size, CUdevprop, maxGridSize);
MEMBER(struct sp_cu_device_properties, shared_bytes_per_block, CUdevprop, sharedMemPerBlock);
MEMBER(struct sp_cu_device_properties, constant_bytes, CUdevprop, totalConstantMemory);
MEMBER(struct sp_cu_device_properties, warp_size, CUdevprop, SIMDWidth);
MEMBER(struct sp_cu_device_properties, max_pitch_bytes, CUdevprop, memPitch);
MEMBER(struct sp_cu_device_properties, registers_per_block, CUdevprop, regsPerBlock);
MEMBER(struct sp_cu_device_properties, clock_khz, CUdevprop, clockRate);
MEMBER(struct sp_cu_device_properties, texture_alignment, CUdevprop, textureAlign);

SAME(SP_CU_DEVICE_CPU, CU_DEVICE_CPU);
SAME(SP_CU_DEVICE_INVALID, CU_DEVICE_INVALID);

#define SAME_P2P(name) SAME(SP_CU_P2P_##name, CU_DEVICE_P2P_ATTRIBUTE_##name)
SAME_P2P(PERFORMANCE_RANK);
SAME_P2P(ACCESS_SUPPORTED);
SAME_P2P(NATIVE_ATOMIC_SUPPORTED);
SAME_P2P(ACCESS_ACCESS_SUPPORTED);
SAME_P2P(ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED);

#define SAME_CONTEXT(name) SAME(SP_CU_CONTEXT_##name, CU_CTX_##name)
SAME_CONTEXT(SCHED_SPIN);
SAME_CONTEXT(SCHED_YIELD);
SAME_CONTEXT(SCHED_BLOCKING_SYNC);
SAME_CONTEXT(SCHED_MASK);
SAME_CONTEXT(FLAGS_MASK);

#define SAME_LIMIT(name) SAME(SP_CU_LIMIT_##name, CU_LIMIT_##name)
SAME_LIMIT(STACK_SIZE);
SAME_LIMIT(PRINTF_FIFO_SIZE);
SAME_LIMIT(MALLOC_HEAP_SIZE);
SAME_LIMIT(DEV_RUNTIME_SYNC_DEPTH);
SAME_LIMIT(DEV_RUNTIME_PENDING_LAUNCH_COUNT);
SAME_LIMIT(MAX_L2_FETCH_GRANULARITY);
SAME_LIMIT(PERSISTING_L2_CACHE_SIZE);
SAME_LIMIT(SHMEM_SIZE);
SAME_LIMIT(CIG_ENABLED);
SAME_LIMIT(CIG_SHMEM_FALLBACK_ENABLED);
SAME(SP_CU_N_LIMITS, CU_LIMIT_MAX);

#define SAME_ADVISE(name) SAME(SP_CU_ADVISE_##name, CU_MEM_ADVISE_##name)
SAME_ADVISE(SET_READ_MOSTLY);
SAME_ADVISE(UNSET_READ_MOSTLY);
SAME_ADVISE(SET_PREFERRED_LOCATION);
SAME_ADVISE(UNSET_PREFERRED_LOCATION);
SAME_ADVISE(SET_ACCESSED_BY);
SAME_ADVISE(UNSET_ACCESSED_BY);

#define SAME_RANGE(name) SAME(SP_CU_RANGE_##name, CU_MEM_RANGE_ATTRIBUTE_##name)
SAME_RANGE(READ_MOSTLY);
SAME_RANGE(PREFERRED_LOCATION);
SAME_RANGE(ACCESSED_BY);
SAME_RANGE(LAST_PREFETCH_LOCATION);
SAME_RANGE(PREFERRED_LOCATION_TYPE);
SAME_RANGE(PREFERRED_LOCATION_ID);
SAME_RANGE(LAST_PREFETCH_LOCATION_TYPE);
SAME_RANGE(LAST_PREFETCH_LOCATION_ID);

#define SAME_MEM_OP(name) SAME(SP_CU_MEM_OP_##name, CU_STREAM_MEM_OP_##name)
SAME_MEM_OP(WAIT_VALUE_32);
SAME_MEM_OP(WRITE_VALUE_32);
SAME_MEM_OP(FLUSH_REMOTE_WRITES);
SAME_MEM_OP(WAIT_VALUE_64);
SAME_MEM_OP(WRITE_VALUE_64);
SAME_MEM_OP(BARRIER);

SIZE(union sp_cu_mem_op, CUstreamBatchMemOpParams);
ALIGN(union sp_cu_mem_op, CUstreamBatchMemOpParams);
#define VALUE(ours, theirs)                                                             \
    MEMBER(union sp_cu_mem_op, value.ours, CUstreamBatchMemOpParams, waitValue.theirs); \
    MEMBER(union sp_cu_mem_op, value.ours, CUstreamBatchMemOpParams, writeValue.theirs)
VALUE(operation, operation);
VALUE(address, address);
VALUE(narrow, value);
VALUE(wide, value64);
VALUE(flags, flags);
MEMBER(union sp_cu_mem_op, barrier.flags, CUstreamBatchMemOpParams, memoryBarrier.flags);
MEMBER(union sp_cu_mem_op, barrier.flags, CUstreamBatchMemOpParams, flushRemoteWrites.flags);
