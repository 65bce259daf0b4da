/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled, never run: our own words for the driver's ABI say the same as cuda.h. */

/* Makes cuda.h declare every version of an entry point by the symbol that is exported. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include "src/driver/abi.h"
#include "src/driver/abi_graph.h"
#include "src/driver/abi_kernel.h"
#include "src/driver/abi_query.h"
#include "src/driver/abi_shape.h"
#include "tests/abi_check.h"

_Static_assert(CUDA_VERSION >= 13000, "the entry points are those of CUDA 13.0");

/* ---- types ----------------------------------------------------------------------------- */

SIZE(sp_cu_result, CUresult);
SIZE(sp_cu_device, CUdevice);
SIZE(sp_cu_ptr, CUdeviceptr);
SAME_TYPE(sp_cu_ptr, CUdeviceptr);
SAME_TYPE(sp_cu_context, CUcontext);
SAME_TYPE(sp_cu_stream, CUstream);
SAME_TYPE(sp_cu_event, CUevent);
SAME_TYPE(sp_cu_pool, CUmemoryPool);
SAME_TYPE(sp_cu_host_fn, CUhostFn);

SIZE(struct sp_cu_location, CUmemLocation);
ALIGN(struct sp_cu_location, CUmemLocation);
MEMBER(struct sp_cu_location, type, CUmemLocation, type);
MEMBER(struct sp_cu_location, id, CUmemLocation, id);

SIZE(struct sp_cu_pool_props, CUmemPoolProps);
ALIGN(struct sp_cu_pool_props, CUmemPoolProps);
MEMBER(struct sp_cu_pool_props, alloc_type, CUmemPoolProps, allocType);
MEMBER(struct sp_cu_pool_props, handle_types, CUmemPoolProps, handleTypes);
MEMBER(struct sp_cu_pool_props, location, CUmemPoolProps, location);
MEMBER(struct sp_cu_pool_props, win32_security_attributes, CUmemPoolProps,
       win32SecurityAttributes);
MEMBER(struct sp_cu_pool_props, max_size, CUmemPoolProps, maxSize);
MEMBER(struct sp_cu_pool_props, usage, CUmemPoolProps, usage);
MEMBER(struct sp_cu_pool_props, reserved, CUmemPoolProps, reserved);

SIZE(struct sp_cu_access_desc, CUmemAccessDesc);
ALIGN(struct sp_cu_access_desc, CUmemAccessDesc);
MEMBER(struct sp_cu_access_desc, location, CUmemAccessDesc, location);
MEMBER(struct sp_cu_access_desc, flags, CUmemAccessDesc, flags);

SIZE(struct sp_cu_pointer_export, CUmemPoolPtrExportData);
SIZE(struct sp_cu_fabric_handle, CUmemFabricHandle);
SIZE(struct sp_cu_ipc_event_handle, CUipcEventHandle);
ALIGN(struct sp_cu_ipc_event_handle, CUipcEventHandle);
SIZE(struct sp_cu_ipc_mem_handle, CUipcMemHandle);
ALIGN(struct sp_cu_ipc_mem_handle, CUipcMemHandle);
SIZE(struct sp_cu_uuid, CUuuid);

/* ---- constants ------------------------------------------------------------------------- */

#define CUDA_ERROR_SUCCESS        CUDA_SUCCESS
#define SAME_RESULT(name, number) SAME(SP_CU_##name, CUDA_ERROR_##name);
SP_CU_RESULT_MAP(SAME_RESULT)

/* A pointer made of a number is no constant expression, so its text is compared. */
#define TEXT_OF(expression) #expression
#define TEXT(expression)    TEXT_OF(expression)
_Static_assert(__builtin_strcmp(TEXT(CU_STREAM_LEGACY), "((CUstream)0x1)") == 0,
               "SP_CU_STREAM_LEGACY");
_Static_assert(__builtin_strcmp(TEXT(CU_STREAM_PER_THREAD), "((CUstream)0x2)") == 0,
               "SP_CU_STREAM_PER_THREAD");
SAME(SP_CU_STREAM_DEFAULT, CU_STREAM_DEFAULT);
SAME(SP_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);

SAME(SP_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(SP_CU_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC);
SAME(SP_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(SP_CU_EVENT_INTERPROCESS, CU_EVENT_INTERPROCESS);

SAME(SP_CU_WAIT_VALUE_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
SAME(SP_CU_WAIT_VALUE_EQ, CU_STREAM_WAIT_VALUE_EQ);
SAME(SP_CU_WAIT_VALUE_AND, CU_STREAM_WAIT_VALUE_AND);
SAME(SP_CU_WAIT_VALUE_NOR, CU_STREAM_WAIT_VALUE_NOR);

SAME(SP_CU_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(SP_CU_HOST_ALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(SP_CU_HOST_ALLOC_WRITECOMBINED, CU_MEMHOSTALLOC_WRITECOMBINED);
SAME(SP_CU_HOST_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME(SP_CU_HOST_REGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(SP_CU_HOST_REGISTER_IOMEMORY, CU_MEMHOSTREGISTER_IOMEMORY);
SAME(SP_CU_HOST_REGISTER_READ_ONLY, CU_MEMHOSTREGISTER_READ_ONLY);

SAME(SP_CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_GLOBAL);
SAME(SP_CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_HOST);
SAME(SP_CU_MEM_ATTACH_SINGLE, CU_MEM_ATTACH_SINGLE);

SAME(SP_CU_MEMORY_TYPE_HOST, CU_MEMORYTYPE_HOST);
SAME(SP_CU_MEMORY_TYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME(SP_CU_MEMORY_TYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);

#define SAME_DEVICE(name) SAME(SP_CU_DEVICE_##name, CU_DEVICE_ATTRIBUTE_##name)
SAME_DEVICE(PCI_BUS_ID);
SAME_DEVICE(PCI_DEVICE_ID);
SAME_DEVICE(UNIFIED_ADDRESSING);
SAME_DEVICE(PCI_DOMAIN_ID);
SAME_DEVICE(COMPUTE_CAPABILITY_MAJOR);
SAME_DEVICE(COMPUTE_CAPABILITY_MINOR);
SAME_DEVICE(MANAGED_MEMORY);
SAME_DEVICE(CONCURRENT_MANAGED_ACCESS);
SAME_DEVICE(MEMORY_POOLS_SUPPORTED);
SAME_DEVICE(MEMPOOL_SUPPORTED_HANDLE_TYPES);
SAME_DEVICE(HOST_NUMA_ID);
SAME_DEVICE(HOST_NUMA_MEMORY_POOLS_SUPPORTED);
SAME_DEVICE(HOST_MEMORY_POOLS_SUPPORTED);

#define SAME_POINTER(name) SAME(SP_CU_POINTER_##name, CU_POINTER_ATTRIBUTE_##name)
SAME_POINTER(CONTEXT);
SAME_POINTER(MEMORY_TYPE);
SAME_POINTER(DEVICE_POINTER);
SAME_POINTER(HOST_POINTER);
SAME_POINTER(SYNC_MEMOPS);
SAME_POINTER(BUFFER_ID);
SAME_POINTER(IS_MANAGED);
SAME_POINTER(DEVICE_ORDINAL);
SAME(SP_CU_POINTER_IS_LEGACY_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME_POINTER(RANGE_START_ADDR);
SAME_POINTER(RANGE_SIZE);
SAME_POINTER(MAPPED);
SAME_POINTER(ALLOWED_HANDLE_TYPES);
SAME_POINTER(ACCESS_FLAGS);
SAME_POINTER(MEMPOOL_HANDLE);

SAME(SP_CU_ALLOCATION_INVALID, CU_MEM_ALLOCATION_TYPE_INVALID);
SAME(SP_CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(SP_CU_ALLOCATION_MANAGED, CU_MEM_ALLOCATION_TYPE_MANAGED);

SAME(SP_CU_HANDLE_NONE, CU_MEM_HANDLE_TYPE_NONE);
SAME(SP_CU_HANDLE_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME(SP_CU_HANDLE_WIN32, CU_MEM_HANDLE_TYPE_WIN32);
SAME(SP_CU_HANDLE_WIN32_KMT, CU_MEM_HANDLE_TYPE_WIN32_KMT);
SAME(SP_CU_HANDLE_FABRIC, CU_MEM_HANDLE_TYPE_FABRIC);

SAME(SP_CU_LOCATION_NONE, CU_MEM_LOCATION_TYPE_NONE);
SAME(SP_CU_LOCATION_NONE, CU_MEM_LOCATION_TYPE_INVALID);
SAME(SP_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(SP_CU_LOCATION_HOST, CU_MEM_LOCATION_TYPE_HOST);
SAME(SP_CU_LOCATION_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA);
SAME(SP_CU_LOCATION_HOST_NUMA_CURRENT, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);

SAME(SP_CU_ACCESS_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME(SP_CU_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME(SP_CU_ACCESS_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

SAME(SP_CU_POOL_USAGE_HW_DECOMPRESS, CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS);

#define SAME_POOL(name) SAME(SP_CU_POOL_##name, CU_MEMPOOL_ATTR_##name)
SAME_POOL(REUSE_FOLLOW_EVENT_DEPENDENCIES);
SAME_POOL(REUSE_ALLOW_OPPORTUNISTIC);
SAME_POOL(REUSE_ALLOW_INTERNAL_DEPENDENCIES);
SAME_POOL(RELEASE_THRESHOLD);
SAME_POOL(RESERVED_MEM_CURRENT);
SAME_POOL(RESERVED_MEM_HIGH);
SAME_POOL(USED_MEM_CURRENT);
SAME_POOL(USED_MEM_HIGH);

/* ---- capture and graphs ---------------------------------------------------------------- */

SAME_TYPE(sp_cu_graph, CUgraph);
SAME_TYPE(sp_cu_node, CUgraphNode);
SAME_TYPE(sp_cu_exec, CUgraphExec);
SAME_TYPE(sp_cu_object, CUuserObject);
SIZE(sp_cu_conditional, CUgraphConditionalHandle);

SIZE(struct sp_cu_edge_data, CUgraphEdgeData);
MEMBER(struct sp_cu_edge_data, type, CUgraphEdgeData, type);

SIZE(struct sp_cu_memcpy_params, CUDA_MEMCPY_NODE_PARAMS);
MEMBER(struct sp_cu_memcpy_params, context, CUDA_MEMCPY_NODE_PARAMS, copyCtx);
MEMBER(struct sp_cu_memcpy_params, copy, CUDA_MEMCPY_NODE_PARAMS, copyParams);

SIZE(struct sp_cu_memset_params_v2, CUDA_MEMSET_NODE_PARAMS_v2);
MEMBER(struct sp_cu_memset_params_v2, context, CUDA_MEMSET_NODE_PARAMS_v2, ctx);

SIZE(struct sp_cu_host_params, CUDA_HOST_NODE_PARAMS);
MEMBER(struct sp_cu_host_params, call, CUDA_HOST_NODE_PARAMS, fn);
MEMBER(struct sp_cu_host_params, arg, CUDA_HOST_NODE_PARAMS, userData);

SIZE(struct sp_cu_alloc_params, CUDA_MEM_ALLOC_NODE_PARAMS);
MEMBER(struct sp_cu_alloc_params, props, CUDA_MEM_ALLOC_NODE_PARAMS, poolProps);
MEMBER(struct sp_cu_alloc_params, access, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs);
MEMBER(struct sp_cu_alloc_params, n_access, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount);
MEMBER(struct sp_cu_alloc_params, size, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
MEMBER(struct sp_cu_alloc_params, ptr, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);

SIZE(struct sp_cu_child_params, CUDA_CHILD_GRAPH_NODE_PARAMS);
MEMBER(struct sp_cu_child_params, ownership, CUDA_CHILD_GRAPH_NODE_PARAMS, ownership);
SIZE(struct sp_cu_conditional_params, CUDA_CONDITIONAL_NODE_PARAMS);
MEMBER(struct sp_cu_conditional_params, type, CUDA_CONDITIONAL_NODE_PARAMS, type);
MEMBER(struct sp_cu_conditional_params, graphs_out, CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out);
MEMBER(struct sp_cu_conditional_params, context, CUDA_CONDITIONAL_NODE_PARAMS, ctx);

SIZE(struct sp_cu_node_params, CUgraphNodeParams);
ALIGN(struct sp_cu_node_params, CUgraphNodeParams);
MEMBER(struct sp_cu_node_params, type, CUgraphNodeParams, type);
MEMBER(struct sp_cu_node_params, kernel, CUgraphNodeParams, kernel);
MEMBER(struct sp_cu_node_params, alloc, CUgraphNodeParams, alloc);
MEMBER(struct sp_cu_node_params, conditional, CUgraphNodeParams, conditional);
MEMBER(struct sp_cu_node_params, reserved2, CUgraphNodeParams, reserved2);

SIZE(struct sp_cu_instantiate_params, CUDA_GRAPH_INSTANTIATE_PARAMS);
MEMBER(struct sp_cu_instantiate_params, upload_stream, CUDA_GRAPH_INSTANTIATE_PARAMS,
       hUploadStream);
MEMBER(struct sp_cu_instantiate_params, error_node, CUDA_GRAPH_INSTANTIATE_PARAMS,
       hErrNode_out);
MEMBER(struct sp_cu_instantiate_params, result, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SIZE(struct sp_cu_update_result, CUgraphExecUpdateResultInfo);
MEMBER(struct sp_cu_update_result, error_node, CUgraphExecUpdateResultInfo, errorNode);
MEMBER(struct sp_cu_update_result, error_from_node, CUgraphExecUpdateResultInfo, errorFromNode);

SAME(SP_CU_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(SP_CU_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(SP_CU_CAPTURE_INVALIDATED, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(SP_CU_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(SP_CU_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(SP_CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(SP_CU_CAPTURE_ADD_DEPENDENCIES, CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
SAME(SP_CU_CAPTURE_SET_DEPENDENCIES, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
SAME(SP_CU_EVENT_RECORD_DEFAULT, CU_EVENT_RECORD_DEFAULT);
SAME(SP_CU_EVENT_RECORD_EXTERNAL, CU_EVENT_RECORD_EXTERNAL);
SAME(SP_CU_EVENT_WAIT_DEFAULT, CU_EVENT_WAIT_DEFAULT);
SAME(SP_CU_EVENT_WAIT_EXTERNAL, CU_EVENT_WAIT_EXTERNAL);

#define SAME_NODE(name) SAME(SP_CU_NODE_##name, CU_GRAPH_NODE_TYPE_##name)
SAME_NODE(KERNEL);
SAME_NODE(MEMCPY);
SAME_NODE(MEMSET);
SAME_NODE(HOST);
SAME_NODE(GRAPH);
SAME_NODE(EMPTY);
SAME_NODE(WAIT_EVENT);
SAME_NODE(EVENT_RECORD);
SAME_NODE(MEM_ALLOC);
SAME_NODE(MEM_FREE);
SAME_NODE(BATCH_MEM_OP);
SAME_NODE(CONDITIONAL);
SAME(SP_CU_CHILD_CLONE, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
SAME(SP_CU_CHILD_MOVE, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
SAME(SP_CU_CONDITION_IF, CU_GRAPH_COND_TYPE_IF);
SAME(SP_CU_CONDITION_WHILE, CU_GRAPH_COND_TYPE_WHILE);
SAME(SP_CU_CONDITION_SWITCH, CU_GRAPH_COND_TYPE_SWITCH);

#define SAME_FLAG(name) SAME(SP_CU_INSTANTIATE_##name, CUDA_GRAPH_INSTANTIATE_FLAG_##name)
SAME_FLAG(AUTO_FREE_ON_LAUNCH);
SAME_FLAG(UPLOAD);
SAME_FLAG(DEVICE_LAUNCH);
SAME_FLAG(USE_NODE_PRIORITY);
SAME(SP_CU_INSTANTIATED, CUDA_GRAPH_INSTANTIATE_SUCCESS);
SAME(SP_CU_INSTANTIATE_ERROR, CUDA_GRAPH_INSTANTIATE_ERROR);
SAME(SP_CU_INSTANTIATE_INVALID_STRUCTURE, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
SAME(SP_CU_INSTANTIATE_OPERATION_NOT_SUPPORTED,
     CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
SAME(SP_CU_INSTANTIATE_MULTIPLE_CONTEXTS, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
SAME(SP_CU_INSTANTIATE_CONDITIONAL_UNUSED, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
SAME(SP_CU_UPDATED, CU_GRAPH_EXEC_UPDATE_SUCCESS);
SAME(SP_CU_UPDATE_ERROR, CU_GRAPH_EXEC_UPDATE_ERROR);
SAME(SP_CU_UPDATE_TOPOLOGY_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
SAME(SP_CU_UPDATE_NODE_TYPE_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
SAME(SP_CU_UPDATE_PARAMETERS_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
SAME(SP_CU_UPDATE_NOT_SUPPORTED, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);

#define SAME_GRAPH_MEM(name, theirs) SAME(SP_CU_GRAPH_MEM_##name, CU_GRAPH_MEM_ATTR_##theirs)
SAME_GRAPH_MEM(USED_CURRENT, USED_MEM_CURRENT);
SAME_GRAPH_MEM(USED_HIGH, USED_MEM_HIGH);
SAME_GRAPH_MEM(RESERVED_CURRENT, RESERVED_MEM_CURRENT);
SAME_GRAPH_MEM(RESERVED_HIGH, RESERVED_MEM_HIGH);
SAME(SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
SAME(SP_CU_GRAPH_USER_OBJECT_MOVE, CU_GRAPH_USER_OBJECT_MOVE);

/* ---- entry points ---------------------------------------------------------------------- */

/* The compiler warns of a cast between functions whose parameters differ in number, size or
 * class; enumerations are as good as int, and one pointer is as good as another. Structures
 * that pass by value must be the very same: they are, by the tags of cuda.h. */
#pragma GCC diagnostic error "-Wcast-function-type"
#define sp_cu_ipc_event_handle CUipcEventHandle_st
#define sp_cu_ipc_mem_handle   CUipcMemHandle_st
#define sp_cu_location         CUmemLocation_st

#define X(name, symbol, version, parameters) typedef sp_cu_result(*name##_fn) parameters;
#include "src/driver/calls.def"
#undef X

struct entry_points {
#define X(name, symbol, version, parameters) name##_fn name##_member;
#include "src/driver/calls.def"
#undef X
};

/* What would hold them; extern so that nothing says that it is unused. */
extern const struct entry_points sp_abi_check_entry_points;
const struct entry_points sp_abi_check_entry_points = {
#define X(name, symbol, version, parameters) .name##_member = (name##_fn)symbol,
#include "src/driver/calls.def"
#undef X
};
