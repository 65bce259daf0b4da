/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the driver's ABI that has to do with copies and memsets of rows and slices; see
 * src/driver/abi.h. tests/abi_check_kernel.c compares it with cuda.h. */
#ifndef SP_ABI_SHAPE_H
#define SP_ABI_SHAPE_H

#include <stddef.h>

#include "src/driver/abi.h"

struct CUarray_st;

enum { SP_CU_MEMORY_TYPE_ARRAY = 3 };

/* CUDA_MEMCPY2D */
struct sp_cu_memcpy2d {
    size_t source_x_bytes, source_y;
    int source_type; /* SP_CU_MEMORY_TYPE_... */
    const void *source_host;
    sp_cu_ptr source_device;
    struct CUarray_st *source_array;
    size_t source_pitch;
    size_t target_x_bytes, target_y;
    int target_type;
    void *target_host;
    sp_cu_ptr target_device;
    struct CUarray_st *target_array;
    size_t target_pitch;
    size_t width_bytes, height;
};

/* CUDA_MEMCPY3D */
struct sp_cu_memcpy3d {
    size_t source_x_bytes, source_y, source_z, source_lod;
    int source_type; /* SP_CU_MEMORY_TYPE_... */
    const void *source_host;
    sp_cu_ptr source_device;
    struct CUarray_st *source_array;
    void *reserved0;
    size_t source_pitch, source_height;
    size_t target_x_bytes, target_y, target_z, target_lod;
    int target_type;
    void *target_host;
    sp_cu_ptr target_device;
    struct CUarray_st *target_array;
    void *reserved1;
    size_t target_pitch, target_height;
    size_t width_bytes, height, depth;
};

/* CUDA_MEMCPY3D_PEER */
struct sp_cu_memcpy3d_peer {
    size_t source_x_bytes, source_y, source_z, source_lod;
    int source_type; /* SP_CU_MEMORY_TYPE_... */
    const void *source_host;
    sp_cu_ptr source_device;
    struct CUarray_st *source_array;
    sp_cu_context source_context;
    size_t source_pitch, source_height;
    size_t target_x_bytes, target_y, target_z, target_lod;
    int target_type;
    void *target_host;
    sp_cu_ptr target_device;
    struct CUarray_st *target_array;
    sp_cu_context target_context;
    size_t target_pitch, target_height;
    size_t width_bytes, height, depth;
};

/* CUDA_MEMSET_NODE_PARAMS_v1 */
struct sp_cu_memset_params {
    sp_cu_ptr target;
    size_t pitch; /* [bytes] not looked at if height is 1 */
    unsigned value, element_size;
    size_t width; /* [elements] */
    size_t height;
};

#endif /* SP_ABI_SHAPE_H */
