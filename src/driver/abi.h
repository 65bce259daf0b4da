/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA driver's ABI in words of our own, so that nothing needs cuda.h: handles, structures,
 * constants, as of CUDA 13.0. tests/abi_check.c compares every one of them with cuda.h. */
#ifndef SP_ABI_H
#define SP_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "src/driver/abi_result.h"

/* The tags are those of cuda.h: a CUstream passes without a cast. */
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;

typedef int
    sp_cu_result; /* a CUresult: 0, or one of the codes below, or one of a newer driver */
typedef int sp_cu_device; /* an ordinal */
typedef unsigned long long sp_cu_ptr;
typedef struct CUctx_st *sp_cu_context;
typedef struct CUstream_st *sp_cu_stream;
typedef struct CUevent_st *sp_cu_event;
typedef struct CUmemPoolHandle_st *sp_cu_pool;
typedef void (*sp_cu_host_fn)(void *arg);
typedef void (*sp_cu_stream_callback)(sp_cu_stream stream, sp_cu_result status, void *arg);

/* Special streams; 0 is the default one, which in the driver is the legacy one. */
#define SP_CU_STREAM_LEGACY     ((sp_cu_stream)(uintptr_t)1)
#define SP_CU_STREAM_PER_THREAD ((sp_cu_stream)(uintptr_t)2)

enum { SP_CU_STREAM_DEFAULT = 0, SP_CU_STREAM_NON_BLOCKING = 1 };

enum {
    SP_CU_EVENT_DEFAULT = 0,
    SP_CU_EVENT_BLOCKING_SYNC = 1,
    SP_CU_EVENT_DISABLE_TIMING = 2,
    SP_CU_EVENT_INTERPROCESS = 4,
};

enum {
    SP_CU_WAIT_VALUE_GEQ = 0,
    SP_CU_WAIT_VALUE_EQ = 1,
    SP_CU_WAIT_VALUE_AND = 2,
    SP_CU_WAIT_VALUE_NOR = 3,
};

enum {
    SP_CU_HOST_ALLOC_PORTABLE = 1,
    SP_CU_HOST_ALLOC_DEVICEMAP = 2,
    SP_CU_HOST_ALLOC_WRITECOMBINED = 4,
    SP_CU_HOST_REGISTER_PORTABLE = 1,
    SP_CU_HOST_REGISTER_DEVICEMAP = 2,
    SP_CU_HOST_REGISTER_IOMEMORY = 4,
    SP_CU_HOST_REGISTER_READ_ONLY = 8,
};

enum { SP_CU_MEM_ATTACH_GLOBAL = 1, SP_CU_MEM_ATTACH_HOST = 2, SP_CU_MEM_ATTACH_SINGLE = 4 };

enum {
    SP_CU_MEMORY_TYPE_HOST = 1,
    SP_CU_MEMORY_TYPE_DEVICE = 2,
    SP_CU_MEMORY_TYPE_UNIFIED = 4,
};

/* Device attributes that are asked for. */
enum {
    SP_CU_DEVICE_PCI_BUS_ID = 33,
    SP_CU_DEVICE_PCI_DEVICE_ID = 34,
    SP_CU_DEVICE_UNIFIED_ADDRESSING = 41,
    SP_CU_DEVICE_PCI_DOMAIN_ID = 50,
    SP_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
    SP_CU_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
    SP_CU_DEVICE_MANAGED_MEMORY = 83,
    SP_CU_DEVICE_CONCURRENT_MANAGED_ACCESS = 89,
    SP_CU_DEVICE_MEMORY_POOLS_SUPPORTED = 115,
    SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
    SP_CU_DEVICE_HOST_NUMA_ID = 134,
    SP_CU_DEVICE_HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
    SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED = 144,
};

enum {
    SP_CU_POINTER_CONTEXT = 1,
    SP_CU_POINTER_MEMORY_TYPE = 2,
    SP_CU_POINTER_DEVICE_POINTER = 3,
    SP_CU_POINTER_HOST_POINTER = 4,
    SP_CU_POINTER_SYNC_MEMOPS = 6,
    SP_CU_POINTER_BUFFER_ID = 7,
    SP_CU_POINTER_IS_MANAGED = 8,
    SP_CU_POINTER_DEVICE_ORDINAL = 9,
    SP_CU_POINTER_IS_LEGACY_IPC_CAPABLE = 10,
    SP_CU_POINTER_RANGE_START_ADDR = 11,
    SP_CU_POINTER_RANGE_SIZE = 12,
    SP_CU_POINTER_MAPPED = 13,
    SP_CU_POINTER_ALLOWED_HANDLE_TYPES = 14,
    SP_CU_POINTER_ACCESS_FLAGS = 16,
    SP_CU_POINTER_MEMPOOL_HANDLE = 17,
};

/* ---- pools ----------------------------------------------------------------------------- */

enum {
    SP_CU_ALLOCATION_INVALID = 0,
    SP_CU_ALLOCATION_PINNED = 1,
    SP_CU_ALLOCATION_MANAGED = 2
};

enum {
    SP_CU_HANDLE_NONE = 0,
    SP_CU_HANDLE_POSIX_FD = 1,
    SP_CU_HANDLE_WIN32 = 2,
    SP_CU_HANDLE_WIN32_KMT = 4,
    SP_CU_HANDLE_FABRIC = 8,
};

enum {
    SP_CU_LOCATION_NONE = 0, /* also INVALID */
    SP_CU_LOCATION_DEVICE = 1,
    SP_CU_LOCATION_HOST = 2,
    SP_CU_LOCATION_HOST_NUMA = 3,
    SP_CU_LOCATION_HOST_NUMA_CURRENT = 4,
};

enum { SP_CU_ACCESS_NONE = 0, SP_CU_ACCESS_READ = 1, SP_CU_ACCESS_READWRITE = 3 };

enum { SP_CU_POOL_USAGE_HW_DECOMPRESS = 2 };

enum {
    SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
    SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    SP_CU_POOL_RELEASE_THRESHOLD = 4,
    SP_CU_POOL_RESERVED_MEM_CURRENT = 5,
    SP_CU_POOL_RESERVED_MEM_HIGH = 6,
    SP_CU_POOL_USED_MEM_CURRENT = 7,
    SP_CU_POOL_USED_MEM_HIGH = 8,
};

/* CUmemLocation */
struct sp_cu_location {
    int type; /* SP_CU_LOCATION_... */
    int id;   /* device ordinal or NUMA node */
};

/* CUmemPoolProps */
struct sp_cu_pool_props {
    int alloc_type;   /* SP_CU_ALLOCATION_... */
    int handle_types; /* bits SP_CU_HANDLE_... */
    struct sp_cu_location location;
    void *win32_security_attributes; /* NULL */
    size_t max_size;                 /* [bytes] 0: the system's */
    unsigned short usage;
    unsigned char reserved[54]; /* 0 */
};

/* CUmemAccessDesc */
struct sp_cu_access_desc {
    struct sp_cu_location location;
    int flags; /* SP_CU_ACCESS_... */
};

/* CUmemPoolPtrExportData, CUmemFabricHandle, CUipcEventHandle, CUipcMemHandle, CUuuid: bytes
 * that only their maker reads. */
struct sp_cu_pointer_export {
    unsigned char reserved[64];
};
struct sp_cu_fabric_handle {
    unsigned char data[64];
};
struct sp_cu_ipc_event_handle {
    char reserved[64];
};
struct sp_cu_ipc_mem_handle {
    char reserved[64];
};
struct sp_cu_uuid {
    char bytes[16];
};

#endif /* SP_ABI_H */
