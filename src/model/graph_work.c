/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parameters of nodes may say. Addresses are looked at as far as the driver does when
 * it is given them; whether they can be used is for each launch to find. */
#include "config.h"

#include <string.h>

#include "src/model/event.h"
#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* ---- copies ---------------------------------------------------------------------------- */

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

static sp_cu_result check_copy(const struct sp_cu_memcpy_params *params)
{
    const struct sp_cu_memcpy3d *copy = &params->copy;
    struct sp_model_side source = source_of(copy), target = target_of(copy);
    sp_cu_result result;

    if (params->flags != 0 || params->reserved != 0 || copy->width_bytes == 0 ||
        copy->height == 0 || copy->depth == 0)
        return SP_CU_INVALID_VALUE;
    if (sp_model_context_find(params->context) == NULL)
        return SP_CU_INVALID_CONTEXT;
    result = check_side(&source, copy);
    return result == SP_CU_SUCCESS ? check_side(&target, copy) : result;
}

/* ---- memsets, functions, events -------------------------------------------------------- */

/* All of it has addresses: no size below is cut off. */
static bool is_set_bounded(const struct sp_cu_memset_params *set)
{
    size_t width, rows = 0, end = set->target;

    return !__builtin_mul_overflow(set->width, set->element_size, &width) &&
           (set->height == 1 || !__builtin_mul_overflow(set->height - 1, set->pitch, &rows)) &&
           !__builtin_add_overflow(end, rows, &end) &&
           !__builtin_add_overflow(end, width, &end);
}

/* Memory of pools belongs to no context, and a node sets memory of its own context's
 * (INTER-08). */
static sp_cu_result check_set(const struct sp_cu_memset_params_v2 *params)
{
    const struct sp_cu_memset_params *set = &params->params;
    const struct sp_model_memory *memory = sp_model_memory_find((uintptr_t)set->target);
    unsigned size = set->element_size;

    if ((size != 1 && size != 2 && size != 4) || set->width == 0 || set->height == 0 ||
        !is_set_bounded(set))
        return SP_CU_INVALID_VALUE;
    if (set->height > 1 && (set->pitch < set->width * size || set->pitch % size != 0))
        return SP_CU_INVALID_VALUE;
    if (set->target == 0 || set->target % size != 0)
        return SP_CU_INVALID_VALUE;
    if (sp_model_context_find(params->context) == NULL)
        return SP_CU_INVALID_CONTEXT;
    return memory != NULL && memory->pool != NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
}

static sp_cu_result check(const struct sp_cu_node_params *params)
{
    switch (params->type) {
    case SP_CU_NODE_EMPTY:
        return SP_CU_SUCCESS;
    case SP_CU_NODE_MEMCPY:
        return check_copy(&params->copy);
    case SP_CU_NODE_MEMSET:
        return check_set(&params->set);
    case SP_CU_NODE_HOST:
        return params->host.call == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        return sp_model_event_find(params->event) == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
    default:
        return SP_CU_NOT_SUPPORTED;
    }
}

sp_cu_result sp_model_work_of(const struct sp_cu_node_params *params,
                              struct sp_model_work *work_out)
{
    sp_cu_result result = check(params);
    struct sp_model_work work = {.type = params->type};

    if (result != SP_CU_SUCCESS)
        return result;
    if (params->type == SP_CU_NODE_MEMCPY)
        work.copy = params->copy;
    else if (params->type == SP_CU_NODE_MEMSET)
        work.set = params->set;
    else if (params->type == SP_CU_NODE_HOST)
        work.host = params->host;
    else if (params->type != SP_CU_NODE_EMPTY)
        work.event = params->event;
    *work_out = work;
    return SP_CU_SUCCESS;
}

/* ---- bytes that mean nothing ----------------------------------------------------------- */

/* The bytes of the union that a type of node uses. */
static size_t used_bytes(int type)
{
    switch (type) {
    case SP_CU_NODE_EMPTY:
        return 0;
    case SP_CU_NODE_MEMCPY:
        return sizeof(struct sp_cu_memcpy_params);
    case SP_CU_NODE_MEMSET:
        return sizeof(struct sp_cu_memset_params_v2);
    case SP_CU_NODE_HOST:
        return sizeof(struct sp_cu_host_params);
    case SP_CU_NODE_GRAPH:
        return sizeof(struct sp_cu_child_params);
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        return sizeof(sp_cu_event);
    case SP_CU_NODE_MEM_ALLOC:
        return sizeof(struct sp_cu_alloc_params);
    case SP_CU_NODE_MEM_FREE:
        return sizeof(sp_cu_ptr);
    case SP_CU_NODE_CONDITIONAL:
        return sizeof(struct sp_cu_conditional_params);
    default:
        return sizeof(((struct sp_cu_node_params *)NULL)->reserved1);
    }
}

bool sp_model_params_are_clean(const struct sp_cu_node_params *params)
{
    static const char zero[sizeof(params->reserved1)];
    size_t used = used_bytes(params->type);

    return memcmp(params->reserved0, zero, sizeof(params->reserved0)) == 0 &&
           memcmp((const char *)params->reserved1 + used, zero, sizeof(zero) - used) == 0 &&
           params->reserved2 == 0;
}
