/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled, never run: our own words for the CUDA runtime's ABI say the same as the headers of
 * CUDA 13. */
#include <cuda_runtime_api.h>

#define SP_CUDART_MAJOR 13
#include "src/sim/runtime_props.h"
#include "src/sim/runtime_types.h"
#include "tests/abi_check.h"

_Static_assert(CUDART_VERSION >= 13000, "the structures are those of CUDA 13.0");

/* ---- handles and small structures ------------------------------------------------------ */

SAME_TYPE(sp_cu_stream, cudaStream_t);
SAME_TYPE(sp_cu_event, cudaEvent_t);
SAME_TYPE(sp_cu_pool, cudaMemPool_t);
SAME_TYPE(sp_cu_graph, cudaGraph_t);
SAME_TYPE(sp_cu_node, cudaGraphNode_t);
SAME_TYPE(sp_cu_exec, cudaGraphExec_t);
SAME_TYPE(sp_cu_object, cudaUserObject_t);
SAME_TYPE(sp_cu_function, cudaFunction_t);
SAME_TYPE(sp_cu_kernel, cudaKernel_t);
SAME_TYPE(sp_cu_library, cudaLibrary_t);
SIZE(int, cudaError_t);
SIZE(struct sp_cu_ipc_event_handle, cudaIpcEventHandle_t);
SIZE(struct sp_cu_ipc_mem_handle, cudaIpcMemHandle_t);
SIZE(struct sp_cu_pointer_export, struct cudaMemPoolPtrExportData);
SIZE(struct sp_cu_edge_data, cudaGraphEdgeData);

SIZE(struct sp_rt_dim3, dim3);
SIZE(struct sp_rt_format, struct cudaChannelFormatDesc);
SIZE(struct sp_rt_position, struct cudaPos);
SIZE(struct sp_rt_extent, struct cudaExtent);
MEMBER(struct sp_rt_extent, depth, struct cudaExtent, depth);
SIZE(struct sp_rt_pitched, struct cudaPitchedPtr);
MEMBER(struct sp_rt_pitched, ptr, struct cudaPitchedPtr, ptr);
MEMBER(struct sp_rt_pitched, pitch, struct cudaPitchedPtr, pitch);
MEMBER(struct sp_rt_pitched, width, struct cudaPitchedPtr, xsize);
MEMBER(struct sp_rt_pitched, height, struct cudaPitchedPtr, ysize);

SIZE(struct sp_cu_location, struct cudaMemLocation);
MEMBER(struct sp_cu_location, id, struct cudaMemLocation, id);
SIZE(struct sp_cu_access_desc, struct cudaMemAccessDesc);
MEMBER(struct sp_cu_access_desc, flags, struct cudaMemAccessDesc, flags);
SIZE(struct sp_cu_pool_props, struct cudaMemPoolProps);
MEMBER(struct sp_cu_pool_props, alloc_type, struct cudaMemPoolProps, allocType);
MEMBER(struct sp_cu_pool_props, handle_types, struct cudaMemPoolProps, handleTypes);
MEMBER(struct sp_cu_pool_props, location, struct cudaMemPoolProps, location);
MEMBER(struct sp_cu_pool_props, max_size, struct cudaMemPoolProps, maxSize);
MEMBER(struct sp_cu_pool_props, usage, struct cudaMemPoolProps, usage);

SIZE(struct sp_rt_pointer, struct cudaPointerAttributes);
MEMBER(struct sp_rt_pointer, device, struct cudaPointerAttributes, device);
MEMBER(struct sp_rt_pointer, device_ptr, struct cudaPointerAttributes, devicePointer);
MEMBER(struct sp_rt_pointer, host_ptr, struct cudaPointerAttributes, hostPointer);

/* ---- copies and nodes ------------------------------------------------------------------ */

SIZE(struct sp_rt_copy3d, struct cudaMemcpy3DParms);
MEMBER(struct sp_rt_copy3d, source_at, struct cudaMemcpy3DParms, srcPos);
MEMBER(struct sp_rt_copy3d, source, struct cudaMemcpy3DParms, srcPtr);
MEMBER(struct sp_rt_copy3d, target_array, struct cudaMemcpy3DParms, dstArray);
MEMBER(struct sp_rt_copy3d, target_at, struct cudaMemcpy3DParms, dstPos);
MEMBER(struct sp_rt_copy3d, target, struct cudaMemcpy3DParms, dstPtr);
MEMBER(struct sp_rt_copy3d, extent, struct cudaMemcpy3DParms, extent);
MEMBER(struct sp_rt_copy3d, kind, struct cudaMemcpy3DParms, kind);
SIZE(struct sp_rt_peer3d, struct cudaMemcpy3DPeerParms);
MEMBER(struct sp_rt_peer3d, source, struct cudaMemcpy3DPeerParms, srcPtr);
MEMBER(struct sp_rt_peer3d, source_device, struct cudaMemcpy3DPeerParms, srcDevice);
MEMBER(struct sp_rt_peer3d, target, struct cudaMemcpy3DPeerParms, dstPtr);
MEMBER(struct sp_rt_peer3d, target_device, struct cudaMemcpy3DPeerParms, dstDevice);
MEMBER(struct sp_rt_peer3d, extent, struct cudaMemcpy3DPeerParms, extent);
SIZE(struct sp_cu_memset_params, struct cudaMemsetParams);
MEMBER(struct sp_cu_memset_params, element_size, struct cudaMemsetParams, elementSize);
MEMBER(struct sp_cu_memset_params, height, struct cudaMemsetParams, height);
SIZE(struct sp_cu_host_params, struct cudaHostNodeParams);
MEMBER(struct sp_cu_host_params, arg, struct cudaHostNodeParams, userData);
SIZE(struct sp_cu_alloc_params, struct cudaMemAllocNodeParams);
MEMBER(struct sp_cu_alloc_params, access, struct cudaMemAllocNodeParams, accessDescs);
MEMBER(struct sp_cu_alloc_params, size, struct cudaMemAllocNodeParams, bytesize);
MEMBER(struct sp_cu_alloc_params, ptr, struct cudaMemAllocNodeParams, dptr);
SIZE(struct sp_rt_kernel_params, struct cudaKernelNodeParams);
SIZE(struct sp_rt_kernel_params, struct cudaKernelNodeParamsV2);
MEMBER(struct sp_rt_kernel_params, grid, struct cudaKernelNodeParams, gridDim);
MEMBER(struct sp_rt_kernel_params, block, struct cudaKernelNodeParams, blockDim);
MEMBER(struct sp_rt_kernel_params, shared_bytes, struct cudaKernelNodeParams, sharedMemBytes);
MEMBER(struct sp_rt_kernel_params, args, struct cudaKernelNodeParams, kernelParams);
MEMBER(struct sp_rt_kernel_params, extra, struct cudaKernelNodeParams, extra);
SIZE(struct sp_rt_copy_params, struct cudaMemcpyNodeParams);
MEMBER(struct sp_rt_copy_params, copy, struct cudaMemcpyNodeParams, copyParams);
SIZE(struct sp_rt_conditional_params, struct cudaConditionalNodeParams);
MEMBER(struct sp_rt_conditional_params, graphs_out, struct cudaConditionalNodeParams,
       phGraph_out);
SIZE(struct sp_cu_child_params, struct cudaChildGraphNodeParams);
SIZE(struct sp_rt_node_params, struct cudaGraphNodeParams);
MEMBER(struct sp_rt_node_params, kernel, struct cudaGraphNodeParams, kernel);
MEMBER(struct sp_rt_node_params, reserved2, struct cudaGraphNodeParams, reserved2);
SIZE(struct sp_cu_instantiate_params, cudaGraphInstantiateParams);
MEMBER(struct sp_cu_instantiate_params, result, cudaGraphInstantiateParams, result_out);
SIZE(struct sp_cu_update_result, cudaGraphExecUpdateResultInfo);
MEMBER(struct sp_cu_update_result, error_from_node, cudaGraphExecUpdateResultInfo,
       errorFromNode);

/* ---- kernels --------------------------------------------------------------------------- */

SIZE(struct sp_cu_launch_attribute, cudaLaunchAttribute);
MEMBER(struct sp_cu_launch_attribute, value, cudaLaunchAttribute, val);
SIZE(struct sp_rt_launch_config, cudaLaunchConfig_t);
MEMBER(struct sp_rt_launch_config, shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
MEMBER(struct sp_rt_launch_config, stream, cudaLaunchConfig_t, stream);
MEMBER(struct sp_rt_launch_config, attributes, cudaLaunchConfig_t, attrs);
MEMBER(struct sp_rt_launch_config, n_attributes, cudaLaunchConfig_t, numAttrs);
SIZE(struct sp_rt_function, struct cudaFuncAttributes);
MEMBER(struct sp_rt_function, max_threads, struct cudaFuncAttributes, maxThreadsPerBlock);
MEMBER(struct sp_rt_function, cache_mode, struct cudaFuncAttributes, cacheModeCA);
MEMBER(struct sp_rt_function, preferred_carveout, struct cudaFuncAttributes,
       preferredShmemCarveout);
MEMBER(struct sp_rt_function, cluster_policy, struct cudaFuncAttributes,
       clusterSchedulingPolicyPreference);
MEMBER(struct sp_rt_function, reserved, struct cudaFuncAttributes, reserved);

/* ---- properties ------------------------------------------------------------------------ */

#define PROPERTY(mine, theirs) MEMBER(struct sp_rt_props, mine, struct cudaDeviceProp, theirs)

SIZE(struct sp_rt_props, struct cudaDeviceProp);
PROPERTY(uuid, uuid);
PROPERTY(luid_mask, luidDeviceNodeMask);
PROPERTY(total_bytes, totalGlobalMem);
PROPERTY(shared_bytes, sharedMemPerBlock);
PROPERTY(registers, regsPerBlock);
PROPERTY(warp, warpSize);
PROPERTY(pitch, memPitch);
PROPERTY(block_threads, maxThreadsPerBlock);
PROPERTY(grid, maxGridSize);
PROPERTY(constant_bytes, totalConstMem);
PROPERTY(major, major);
PROPERTY(texture_alignment, textureAlignment);
PROPERTY(multiprocessors, multiProcessorCount);
PROPERTY(maps_host, canMapHostMemory);
PROPERTY(texture_1d, maxTexture1D);
PROPERTY(texture_2d_linear, maxTexture2DLinear);
PROPERTY(texture_2d_gather, maxTexture2DGather);
PROPERTY(texture_3d_alternate, maxTexture3DAlt);
PROPERTY(texture_cube, maxTextureCubemap);
PROPERTY(texture_2d_layered, maxTexture2DLayered);
PROPERTY(texture_cube_layered, maxTextureCubemapLayered);
PROPERTY(surface_1d, maxSurface1D);
PROPERTY(surface_3d, maxSurface3D);
PROPERTY(surface_2d_layered, maxSurface2DLayered);
PROPERTY(surface_cube_layered, maxSurfaceCubemapLayered);
PROPERTY(surface_alignment, surfaceAlignment);
PROPERTY(concurrent_kernels, concurrentKernels);
PROPERTY(pci_bus, pciBusID);
PROPERTY(pci_domain, pciDomainID);
PROPERTY(n_engines, asyncEngineCount);
PROPERTY(bus_bits, memoryBusWidth);
PROPERTY(l2_persisting_bytes, persistingL2CacheMaxSize);
PROPERTY(threads, maxThreadsPerMultiProcessor);
PROPERTY(priorities, streamPrioritiesSupported);
PROPERTY(multiprocessor_shared_bytes, sharedMemPerMultiprocessor);
PROPERTY(multiprocessor_registers, regsPerMultiprocessor);
PROPERTY(managed, managedMemory);
PROPERTY(host_atomics, hostNativeAtomicSupported);
PROPERTY(pageable, pageableMemoryAccess);
PROPERTY(concurrent_managed, concurrentManagedAccess);
PROPERTY(preemption, computePreemptionSupported);
PROPERTY(registered_pointers, canUseHostPointerForRegisteredMem);
PROPERTY(cooperative, cooperativeLaunch);
PROPERTY(optin_bytes, sharedMemPerBlockOptin);
PROPERTY(direct_managed, directManagedMemAccessFromHost);
PROPERTY(blocks, maxBlocksPerMultiProcessor);
PROPERTY(window, accessPolicyMaxWindowSize);
PROPERTY(reserved_bytes, reservedSharedMemPerBlock);
PROPERTY(registers_host, hostRegisterSupported);
PROPERTY(timeline, timelineSemaphoreInteropSupported);
PROPERTY(pools, memoryPoolsSupported);
PROPERTY(rdma, gpuDirectRDMASupported);
PROPERTY(rdma_order, gpuDirectRDMAWritesOrdering);
PROPERTY(pool_handles, memoryPoolSupportedHandleTypes);
PROPERTY(ipc_events, ipcEventSupported);
PROPERTY(clusters, clusterLaunch);
PROPERTY(unified_functions, unifiedFunctionPointers);
PROPERTY(numa_config, deviceNumaConfig);
PROPERTY(host_numa_id, hostNumaId);
PROPERTY(pci_id, gpuPciDeviceID);
PROPERTY(multinode_ipc, hostNumaMultinodeIpcSupported);

/* ---- constants ------------------------------------------------------------------------- */

#define cudaErrorSuccess      cudaSuccess
#define X(name, number, text) SAME(number, cudaError##name);
#include "src/sim/runtime_errors.def"
#undef X

SAME(SP_RT_HOST_TO_HOST, cudaMemcpyHostToHost);
SAME(SP_RT_HOST_TO_DEVICE, cudaMemcpyHostToDevice);
SAME(SP_RT_DEVICE_TO_HOST, cudaMemcpyDeviceToHost);
SAME(SP_RT_DEVICE_TO_DEVICE, cudaMemcpyDeviceToDevice);
SAME(SP_RT_DEFAULT, cudaMemcpyDefault);
SAME(SP_RT_MEMORY_UNREGISTERED, cudaMemoryTypeUnregistered);
SAME(SP_RT_MEMORY_HOST, cudaMemoryTypeHost);
SAME(SP_RT_MEMORY_DEVICE, cudaMemoryTypeDevice);
SAME(SP_RT_MEMORY_MANAGED, cudaMemoryTypeManaged);
SAME(SP_CU_NODE_KERNEL, cudaGraphNodeTypeKernel);
SAME(SP_CU_NODE_GRAPH, cudaGraphNodeTypeGraph);
SAME(SP_CU_NODE_WAIT_EVENT, cudaGraphNodeTypeWaitEvent);
SAME(SP_CU_NODE_EVENT_RECORD, cudaGraphNodeTypeEventRecord);
SAME(SP_CU_NODE_MEM_ALLOC, cudaGraphNodeTypeMemAlloc);
SAME(SP_CU_NODE_MEM_FREE, cudaGraphNodeTypeMemFree);
SAME(SP_CU_NODE_CONDITIONAL, cudaGraphNodeTypeConditional);
SAME(SP_CU_POOL_RELEASE_THRESHOLD, cudaMemPoolAttrReleaseThreshold);
SAME(SP_CU_POOL_USED_MEM_HIGH, cudaMemPoolAttrUsedMemHigh);
SAME(SP_CU_LOCATION_HOST_NUMA, cudaMemLocationTypeHostNuma);
SAME(SP_CU_CAPTURE_MODE_RELAXED, cudaStreamCaptureModeRelaxed);
SAME(SP_CU_CAPTURE_INVALIDATED, cudaStreamCaptureStatusInvalidated);
SAME(SP_CU_UPDATE_PARAMETERS_CHANGED, cudaGraphExecUpdateErrorParametersChanged);
SAME(SP_CU_GRAPH_MEM_RESERVED_HIGH, cudaGraphMemAttrReservedMemHigh);
SAME(SP_CU_HOST_REGISTER_READ_ONLY, cudaHostRegisterReadOnly);
