/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shapes: what copies and memsets of rows and slices may be like, where they are, and carrying
 * them out. Calls and nodes have them alike. */
#include "config.h"

#include "src/model/shapes.h"

#include <string.h>

#include "src/model/memory.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* ---- copies -------------------------------------------------------------------------- */

static struct sp_model_side source_of(const struct sp_cu_memcpy3d *copy)
{
    return (struct sp_model_side){
        .type = copy->source_type,
        .base = copy->source_type == SP_CU_MEMORY_TYPE_HOST ? (uintptr_t)copy->source_host
                                                            : (uintptr_t)copy->source_device,
        .x_bytes = copy->source_x_bytes,
        .y = copy->source_y,
        .z = copy->source_z,
        .lod = copy->source_lod,
        .pitch = copy->source_pitch,
        .height = copy->source_height,
        .reserved = copy->reserved0,
    };
}

static struct sp_model_side target_of(const struct sp_cu_memcpy3d *copy)
{
    return (struct sp_model_side){
        .type = copy->target_type,
        .base = copy->target_type == SP_CU_MEMORY_TYPE_HOST ? (uintptr_t)copy->target_host
                                                            : (uintptr_t)copy->target_device,
        .x_bytes = copy->target_x_bytes,
        .y = copy->target_y,
        .z = copy->target_z,
        .lod = copy->target_lod,
        .pitch = copy->target_pitch,
        .height = copy->target_height,
        .reserved = copy->reserved1,
    };
}

struct sp_model_side sp_model_side_of(const struct sp_cu_memcpy3d *copy, bool is_source)
{
    return is_source ? source_of(copy) : target_of(copy);
}

/* Where row y of slice z of a copy begins there. */
static uintptr_t row_of(const struct sp_model_side *side, size_t y, size_t z)
{
    size_t slice = side->pitch * side->height;

    return side->base + (side->z + z) * slice + (side->y + y) * side->pitch + side->x_bytes;
}

/* All of it has addresses: no size below is cut off. */
static bool is_side_bounded(const struct sp_model_side *side, const struct sp_cu_memcpy3d *copy)
{
    size_t y, z, slice = 0, end = side->base;

    return !__builtin_add_overflow(side->y, copy->height - 1, &y) &&
           !__builtin_add_overflow(side->z, copy->depth - 1, &z) &&
           (z == 0 || !__builtin_mul_overflow(side->pitch, side->height, &slice)) &&
           !__builtin_mul_overflow(slice, z, &z) && !__builtin_add_overflow(end, z, &end) &&
           !__builtin_mul_overflow(side->pitch, y, &y) &&
           !__builtin_add_overflow(end, y, &end) &&
           !__builtin_add_overflow(end, side->x_bytes, &end) &&
           !__builtin_add_overflow(end, copy->width_bytes, &end);
}

static bool is_side_valid(const struct sp_model_side *side, const struct sp_cu_memcpy3d *copy)
{
    bool has_rows = copy->height > 1 || copy->depth > 1;

    if (side->lod != 0 || side->reserved != NULL || side->base == 0 ||
        !is_side_bounded(side, copy))
        return false;
    /* An offset may not lead from a device's addresses to somebody else's. */
    if (side->type != SP_CU_MEMORY_TYPE_HOST &&
        sp_model_device_of(side->base) != sp_model_device_of(row_of(side, 0, 0)))
        return false;
    if (has_rows && side->pitch < side->x_bytes + copy->width_bytes)
        return false;
    return copy->depth <= 1 || side->height >= side->y + copy->height;
}

static sp_cu_result check_side(const struct sp_model_side *side,
                               const struct sp_cu_memcpy3d *copy)
{
    if (side->type == SP_CU_MEMORY_TYPE_ARRAY)
        return SP_CU_NOT_SUPPORTED; /* The model has no arrays. */
    if (side->type != SP_CU_MEMORY_TYPE_HOST && side->type != SP_CU_MEMORY_TYPE_DEVICE &&
        side->type != SP_CU_MEMORY_TYPE_UNIFIED)
        return SP_CU_INVALID_VALUE;
    return is_side_valid(side, copy) ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE;
}

sp_cu_result sp_model_copy_check(const struct sp_cu_memcpy3d *copy)
{
    struct sp_model_side source = source_of(copy), target = target_of(copy);
    sp_cu_result result = check_side(&source, copy);

    return result == SP_CU_SUCCESS ? check_side(&target, copy) : result;
}

/* ---- memsets ------------------------------------------------------------------------- */

/* All of it has addresses: no size below is cut off. */
static bool is_set_bounded(const struct sp_cu_memset_params *set)
{
    size_t width, rows = 0, end = set->target;

    return !__builtin_mul_overflow(set->width, set->element_size, &width) &&
           (set->height == 1 || !__builtin_mul_overflow(set->height - 1, set->pitch, &rows)) &&
           !__builtin_add_overflow(end, rows, &end) &&
           !__builtin_add_overflow(end, width, &end);
}

bool sp_model_set_is_valid(const struct sp_cu_memset_params *set)
{
    unsigned size = set->element_size;

    if ((size != 1 && size != 2 && size != 4) || !is_set_bounded(set))
        return false;
    if (set->height > 1 && (set->pitch < set->width * size || set->pitch % size != 0))
        return false;
    return set->target != 0 && set->target % size == 0;
}

/* ---- places -------------------------------------------------------------------------- */

struct sp_model_extent sp_model_copy_extent(const struct sp_cu_memcpy3d *copy, bool is_source)
{
    struct sp_model_side side = sp_model_side_of(copy, is_source);
    uintptr_t first = row_of(&side, 0, 0);

    return (struct sp_model_extent){
        .address = first,
        .size = row_of(&side, copy->height - 1, copy->depth - 1) - first + copy->width_bytes,
    };
}

struct sp_model_extent sp_model_set_extent(const struct sp_cu_memset_params *set)
{
    return (struct sp_model_extent){
        .address = (uintptr_t)set->target,
        .size = (set->height - 1) * set->pitch + set->width * set->element_size,
    };
}

/* ---- executing ----------------------------------------------------------------------- */

static void copy_rows(const struct sp_cu_memcpy3d *copy, const struct sp_model_side *target,
                      const struct sp_model_side *source)
{
    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++)
            memmove(sp_model_alias(row_of(target, y, z)), sp_model_alias(row_of(source, y, z)),
                    copy->width_bytes);
    }
}

void sp_model_copy_stage(struct sp_cu_memcpy3d *copy, char *staged)
{
    struct sp_model_side source = source_of(copy);
    struct sp_model_side packed = {
        .base = (uintptr_t)staged,
        .pitch = copy->width_bytes,
        .height = copy->height,
    };

    copy_rows(copy, &packed, &source);
    copy->source_type = SP_CU_MEMORY_TYPE_HOST;
    copy->source_host = staged;
    copy->source_x_bytes = copy->source_y = copy->source_z = 0;
    copy->source_pitch = packed.pitch;
    copy->source_height = packed.height;
}

void sp_model_copy_run(const struct sp_cu_memcpy3d *copy)
{
    struct sp_model_side source = sp_model_side_of(copy, true),
                         target = sp_model_side_of(copy, false);

    copy_rows(copy, &target, &source);
}

static void fill_row(char *row, const struct sp_cu_memset_params *set)
{
    uint16_t half = (uint16_t)set->value;

    if (set->element_size == 1)
        memset(row, (int)set->value, set->width);
    for (size_t i = 0; set->element_size == 2 && i < set->width; i++)
        memcpy(row + 2 * i, &half, 2);
    for (size_t i = 0; set->element_size == 4 && i < set->width; i++)
        memcpy(row + 4 * i, &set->value, 4);
}

void sp_model_set_run(const struct sp_cu_memset_params *set)
{
    for (size_t i = 0; i < set->height; i++)
        fill_row(sp_model_alias((uintptr_t)set->target + i * set->pitch), set);
}
