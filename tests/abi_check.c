/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled, never run: our own words for the driver's ABI say the same as cuda.h. */

/* Makes cuda.h declare every version of an entry point by the symbol that is exported. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stddef.h>

#include "src/driver/abi.h"

#define SAME(ours, theirs)  _Static_assert((int)(ours) == (int)(theirs), #ours)
#define SIZE(ours, theirs)  _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define ALIGN(ours, theirs) _Static_assert(_Alignof(ours) == _Alignof(theirs), #ours)
#define MEMBER(ours, our_member, theirs, their_member)                                         \
    _Static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) &&             \
                       sizeof(((ours *)0)->our_member) == sizeof(((theirs *)0)->their_member), \
                   #ours "." #our_member)

_Static_assert(CUDA_VERSION >= 13000, "the entry points are those of CUDA 13.0");

/* ---- types ----------------------------------------------------------------------------- */

SIZE(sp_cu_result, CUresult);
SIZE(sp_cu_device, CUdevice);
SIZE(sp_cu_ptr, CUdeviceptr);
#define SAME_TYPE(ours, theirs) \
    _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours)
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

/* ---- entry points ---------------------------------------------------------------------- */

/* The compiler warns of a cast between functions whose parameters differ in number, size or
 * class; enumerations are as good as int, and one pointer is as good as another. Structures
 * that pass by value must be the very same: they are, by the tags of cuda.h. */
#pragma GCC diagnostic error "-Wcast-function-type"
#define sp_cu_ipc_event_handle CUipcEventHandle_st
#define sp_cu_ipc_mem_handle   CUipcMemHandle_st

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
