/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the driver's ABI that has to do with modules, kernels and their launches; see
 * src/driver/abi.h. tests/abi_check_kernel.c compares it with cuda.h. */
#ifndef SP_ABI_KERNEL_H
#define SP_ABI_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "src/driver/abi.h"

typedef struct CUmod_st *sp_cu_module;
typedef struct CUfunc_st *sp_cu_function;
typedef struct CUlib_st *sp_cu_library;
typedef struct CUkern_st *sp_cu_kernel;
typedef size_t (*sp_cu_block_size_fn)(int block_size); /* CUoccupancyB2DSize: [bytes] */

/* What the pointers in the array `extra` of a launch say of the next one, as numbers. */
enum {
    SP_CU_LAUNCH_END = 0,
    SP_CU_LAUNCH_BUFFER_POINTER = 1, /* to all arguments, one behind another */
    SP_CU_LAUNCH_BUFFER_SIZE = 2,    /* to a size_t */
};

enum {
    SP_CU_FUNCTION_MAX_THREADS_PER_BLOCK = 0,
    SP_CU_FUNCTION_SHARED_SIZE_BYTES = 1,
    SP_CU_FUNCTION_CONST_SIZE_BYTES = 2,
    SP_CU_FUNCTION_LOCAL_SIZE_BYTES = 3,
    SP_CU_FUNCTION_NUM_REGS = 4,
    SP_CU_FUNCTION_PTX_VERSION = 5,
    SP_CU_FUNCTION_BINARY_VERSION = 6,
    SP_CU_FUNCTION_CACHE_MODE_CA = 7,
    SP_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    SP_CU_FUNCTION_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum {
    SP_CU_CACHE_PREFER_NONE = 0,
    SP_CU_CACHE_PREFER_SHARED = 1,
    SP_CU_CACHE_PREFER_L1 = 2,
    SP_CU_CACHE_PREFER_EQUAL = 3,
};

/* Attributes of launches, and of streams. */
enum {
    SP_CU_LAUNCH_IGNORE = 0,
    SP_CU_LAUNCH_ACCESS_POLICY_WINDOW = 1,
    SP_CU_LAUNCH_COOPERATIVE = 2,
    SP_CU_LAUNCH_SYNCHRONIZATION_POLICY = 3,
    SP_CU_LAUNCH_CLUSTER_DIMENSION = 4,
    SP_CU_LAUNCH_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
    SP_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    SP_CU_LAUNCH_PROGRAMMATIC_EVENT = 7,
    SP_CU_LAUNCH_PRIORITY = 8,
    SP_CU_LAUNCH_MEM_SYNC_DOMAIN_MAP = 9,
    SP_CU_LAUNCH_MEM_SYNC_DOMAIN = 10,
    SP_CU_LAUNCH_PREFERRED_CLUSTER_DIMENSION = 11,
    SP_CU_LAUNCH_COMPLETION_EVENT = 12,
    SP_CU_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE = 13,
    SP_CU_LAUNCH_PREFERRED_SHARED_MEMORY_CARVEOUT = 14,
};

/* CUlaunchAttributeValue: of most attributes only the bytes count. */
union sp_cu_launch_value {
    char bytes[64];
    int number;          /* COOPERATIVE, SYNCHRONIZATION_POLICY, PRIORITY and the like */
    unsigned cluster[3]; /* CLUSTER_DIMENSION: [blocks] x, y, z */
    uint64_t words[8];
};

/* CUlaunchAttribute */
struct sp_cu_launch_attribute {
    int id; /* SP_CU_LAUNCH_... */
    char pad[4];
    union sp_cu_launch_value value;
};

/* CUlaunchConfig */
struct sp_cu_launch_config {
    unsigned grid[3], block[3]; /* [blocks], [threads] x, y, z */
    unsigned shared_bytes;      /* dynamic, of each block */
    sp_cu_stream stream;
    struct sp_cu_launch_attribute *attributes; /* [n_attributes] */
    unsigned n_attributes;
};

/* CUDA_KERNEL_NODE_PARAMS_v2 and _v3 */
struct sp_cu_kernel_params {
    sp_cu_function function;
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    void **args;           /* each the address of an argument */
    void **extra;          /* SP_CU_LAUNCH_BUFFER_... and so on, instead of `args` */
    sp_cu_kernel kernel;   /* instead of `function`, if that is NULL */
    sp_cu_context context; /* of `kernel`; NULL: the current one */
};

#endif /* SP_ABI_KERNEL_H */
