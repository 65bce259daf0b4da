/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the driver's ABI that asks about devices, contexts and memory, and advises it;
 * see src/driver/abi.h. tests/abi_check_kernel.c compares it with cuda.h. */
#ifndef SP_ABI_QUERY_H
#define SP_ABI_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "src/driver/abi.h"

#define SP_CU_DEVICE_CPU (-1) /* where an ordinal may also mean the host */

/* CUdevprop */
struct sp_cu_device_properties {
    int max_threads_per_block;
    int max_threads_dim[3];
    int max_grid_size[3];
    int shared_bytes_per_block;
    int constant_bytes;
    int warp_size;
    int max_pitch_bytes;
    int registers_per_block;
    int clock_khz;
    int texture_alignment;
};

enum {
    SP_CU_P2P_PERFORMANCE_RANK = 1,
    SP_CU_P2P_ACCESS_SUPPORTED = 2,
    SP_CU_P2P_NATIVE_ATOMIC_SUPPORTED = 3,
    SP_CU_P2P_ACCESS_ACCESS_SUPPORTED = 4,
    SP_CU_P2P_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = 5,
};

/* Flags of contexts. */
enum {
    SP_CU_CONTEXT_SCHED_SPIN = 1,
    SP_CU_CONTEXT_SCHED_YIELD = 2,
    SP_CU_CONTEXT_SCHED_BLOCKING_SYNC = 4,
    SP_CU_CONTEXT_SCHED_MASK = 7,
    SP_CU_CONTEXT_FLAGS_MASK = 0xff,
};

enum {
    SP_CU_LIMIT_STACK_SIZE = 0,
    SP_CU_LIMIT_PRINTF_FIFO_SIZE = 1,
    SP_CU_LIMIT_MALLOC_HEAP_SIZE = 2,
    SP_CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3,
    SP_CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
    SP_CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5,
    SP_CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6,
    SP_CU_LIMIT_SHMEM_SIZE = 7,
    SP_CU_LIMIT_CIG_ENABLED = 8,
    SP_CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9,
    SP_CU_N_LIMITS = 10,
};

enum {
    SP_CU_ADVISE_SET_READ_MOSTLY = 1,
    SP_CU_ADVISE_UNSET_READ_MOSTLY = 2,
    SP_CU_ADVISE_SET_PREFERRED_LOCATION = 3,
    SP_CU_ADVISE_UNSET_PREFERRED_LOCATION = 4,
    SP_CU_ADVISE_SET_ACCESSED_BY = 5,
    SP_CU_ADVISE_UNSET_ACCESSED_BY = 6,
};

enum {
    SP_CU_RANGE_READ_MOSTLY = 1,
    SP_CU_RANGE_PREFERRED_LOCATION = 2,
    SP_CU_RANGE_ACCESSED_BY = 3,
    SP_CU_RANGE_LAST_PREFETCH_LOCATION = 4,
    SP_CU_RANGE_PREFERRED_LOCATION_TYPE = 5,
    SP_CU_RANGE_PREFERRED_LOCATION_ID = 6,
    SP_CU_RANGE_LAST_PREFETCH_LOCATION_TYPE = 7,
    SP_CU_RANGE_LAST_PREFETCH_LOCATION_ID = 8,
};

/* What cuMemRangeGetAttribute() answers for no device at all. */
#define SP_CU_DEVICE_INVALID (-2)

enum {
    SP_CU_MEM_OP_WAIT_VALUE_32 = 1,
    SP_CU_MEM_OP_WRITE_VALUE_32 = 2,
    SP_CU_MEM_OP_FLUSH_REMOTE_WRITES = 3,
    SP_CU_MEM_OP_WAIT_VALUE_64 = 4,
    SP_CU_MEM_OP_WRITE_VALUE_64 = 5,
    SP_CU_MEM_OP_BARRIER = 6,
};

/* CUstreamBatchMemOpParams: its waitValue and writeValue are alike. */
union sp_cu_mem_op {
    int operation; /* SP_CU_MEM_OP_... */
    struct {
        int operation;
        sp_cu_ptr address;
        union {
            uint32_t narrow;
            uint64_t wide;
        };
        unsigned flags;  /* SP_CU_WAIT_VALUE_... */
        sp_cu_ptr alias; /* not looked at */
    } value;
    struct {
        int operation;
        unsigned flags;
    } barrier;
    uint64_t pad[6];
};

#endif /* SP_ABI_QUERY_H */
