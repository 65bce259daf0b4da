/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies and memsets of rows and slices, as calls and nodes have them (shapes.c). Nothing here
 * needs the model's lock. */
#ifndef SP_MODEL_SHAPES_H
#define SP_MODEL_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"

/* A range of addresses. */
struct sp_model_extent {
    uintptr_t address;
    size_t size;
};

/* One side of a copy: `x_bytes` into row y of slice z. */
struct sp_model_side {
    int type; /* SP_CU_MEMORY_TYPE_... */
    uintptr_t base;
    size_t x_bytes, y, z;
    size_t pitch;         /* [bytes] from a row to the next */
    size_t height;        /* [rows] from a slice to the next */
    size_t lod;           /* 0: of arrays only */
    const void *reserved; /* NULL */
};
struct sp_model_side sp_model_side_of(const struct sp_cu_memcpy3d *copy, bool is_source);

/* Whether a copy that is not empty can be: INVALID_VALUE; NOT_SUPPORTED of arrays. */
sp_cu_result sp_model_copy_check(const struct sp_cu_memcpy3d *copy);

/* The same of a memset. */
bool sp_model_set_is_valid(const struct sp_cu_memset_params *set);

/* From the first byte to the last, of what is valid. */
struct sp_model_extent sp_model_copy_extent(const struct sp_cu_memcpy3d *copy, bool is_source);
struct sp_model_extent sp_model_set_extent(const struct sp_cu_memset_params *set);

/* Carry it out. */
void sp_model_copy_run(const struct sp_cu_memcpy3d *copy);
void sp_model_set_run(const struct sp_cu_memset_params *set);

/* Put the source's rows one behind another there, from where the copy takes them now. */
void sp_model_copy_stage(struct sp_cu_memcpy3d *copy, char *staged);

#endif /* SP_MODEL_SHAPES_H */
