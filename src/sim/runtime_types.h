/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA runtime's structures and constants in words of our own, as of the major version that
 * SP_CUDART_MAJOR names. Handles, and what has the same layout, are the driver's
 * (src/driver/abi.h). tests/abi_check_runtime.c compares those of 13 with cuda_runtime_api.h.
 */
#ifndef SP_RUNTIME_TYPES_H
#define SP_RUNTIME_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "src/driver/abi.h"
#include "src/driver/abi_graph.h"

#ifndef SP_CUDART_MAJOR
#define SP_CUDART_MAJOR 13
#endif

/* cudaMemcpyKind */
enum {
    SP_RT_HOST_TO_HOST = 0,
    SP_RT_HOST_TO_DEVICE = 1,
    SP_RT_DEVICE_TO_HOST = 2,
    SP_RT_DEVICE_TO_DEVICE = 3,
    SP_RT_DEFAULT = 4,
};

/* cudaMemoryType */
enum {
    SP_RT_MEMORY_UNREGISTERED = 0,
    SP_RT_MEMORY_HOST = 1,
    SP_RT_MEMORY_DEVICE = 2,
    SP_RT_MEMORY_MANAGED = 3,
};

/* dim3, which is passed by value */
struct sp_rt_dim3 {
    unsigned x, y, z;
};

/* cudaPitchedPtr, cudaExtent, cudaPos */
struct sp_rt_pitched {
    void *ptr;
    size_t pitch, width, height; /* [bytes], [bytes], [rows] */
};
struct sp_rt_extent {
    size_t width, height, depth;
};
struct sp_rt_position {
    size_t x, y, z;
};

/* cudaChannelFormatDesc */
struct sp_rt_format {
    int bits[4];
    int kind; /* signed, unsigned, float */
};

/* cudaMemcpy3DParms */
struct sp_rt_copy3d {
    struct CUarray_st *source_array;
    struct sp_rt_position source_at;
    struct sp_rt_pitched source;
    struct CUarray_st *target_array;
    struct sp_rt_position target_at;
    struct sp_rt_pitched target;
    struct sp_rt_extent extent;
    int kind;
};
_Static_assert(sizeof(struct sp_rt_copy3d) == 160, "as in every major version");

/* cudaMemcpy3DPeerParms */
struct sp_rt_peer3d {
    struct CUarray_st *source_array;
    struct sp_rt_position source_at;
    struct sp_rt_pitched source;
    int source_device;
    struct CUarray_st *target_array;
    struct sp_rt_position target_at;
    struct sp_rt_pitched target;
    int target_device;
    struct sp_rt_extent extent;
};
_Static_assert(sizeof(struct sp_rt_peer3d) == 168, "as in every major version");

/* cudaPointerAttributes */
struct sp_rt_pointer {
    int type; /* SP_RT_MEMORY_... */
    int device;
    void *device_ptr, *host_ptr;
#if SP_CUDART_MAJOR >= 13
    long reserved[8];
#endif
};

/* cudaKernelNodeParams and its V2 */
struct sp_rt_kernel_params {
    const void *function;
    struct sp_rt_dim3 grid, block;
    unsigned shared_bytes;
    void **args;
    void **extra;
};

/* cudaMemcpyNodeParams */
struct sp_rt_copy_params {
    int flags, reserved[3]; /* 0 */
    struct sp_rt_copy3d copy;
};

/* cudaConditionalNodeParams */
struct sp_rt_conditional_params {
    sp_cu_conditional handle;
    int type; /* SP_CU_CONDITION_... */
    unsigned size;
    sp_cu_graph *graphs_out; /* [size] */
};

/* cudaGraphNodeParams: the driver's but for what is named here. */
struct sp_rt_node_params {
    int type; /* SP_CU_NODE_... */
    int reserved0[3];
    union {
        long long reserved1[29];
        struct sp_rt_kernel_params kernel;
        struct sp_rt_copy_params copy;
        struct sp_cu_memset_params set;
        struct sp_cu_host_params host;
        struct sp_cu_child_params child;
        sp_cu_event event;
        struct sp_cu_alloc_params alloc;
        sp_cu_ptr free;
        struct sp_rt_conditional_params conditional;
    };
    long long reserved2;
};
_Static_assert(sizeof(struct sp_rt_node_params) == sizeof(struct sp_cu_node_params),
               "both are 256 bytes");

/* cudaLaunchConfig_t; cudaLaunchAttribute is the driver's. */
struct sp_rt_launch_config {
    struct sp_rt_dim3 grid, block;
    size_t shared_bytes;
    sp_cu_stream stream;
    struct sp_cu_launch_attribute *attributes; /* [n_attributes] */
    unsigned n_attributes;
};

/* cudaFuncAttributes */
struct sp_rt_function {
    size_t shared_bytes, const_bytes, local_bytes;
    int max_threads, n_registers, ptx_version, binary_version, cache_mode;
    int max_dynamic_shared_bytes, preferred_carveout;
#if SP_CUDART_MAJOR >= 12
    int cluster[4], cluster_policy, non_portable_cluster;
    int reserved[16];
#endif
};

#endif /* SP_RUNTIME_TYPES_H */
