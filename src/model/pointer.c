/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the driver tells of a pointer. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "src/model/graph_memory.h"
#include "src/model/mempool.h"
#include "src/util/util.h"

/* What an address is in. */
struct found {
    uintptr_t address;
    const struct sp_model_memory *memory;
    const struct sp_model_pool *pool;   /* NULL for what is no pool's */
    const struct sp_model_alloc *alloc; /* NULL for what is no graph's */
    uintptr_t start;
    size_t size; /* [bytes] as cuMemGetAddressRange() reports it */
    uint64_t id;
};

/* An attribute's value: the driver writes these bytes and no others. */
struct value {
    union {
        uint64_t number;
        uint32_t word;
        int32_t ordinal;
    };
    size_t size; /* [bytes] */
};

/* ---- finding ------------------------------------------------------------------------- */

static size_t shown_size(size_t rounded, size_t asked)
{
    return sp_model_switch(SP_SWITCH_address_range) == 0 ? rounded : asked;
}

static bool find_in_pool(struct found *found)
{
    const struct sp_model_memory *memory = found->memory;
    const struct sp_model_block *record;
    struct sp_reuse_block block;

    found->pool = memory->pool;
    if (memory->kind == SP_MEMORY_IMPORTED) {
        record = sp_model_import_find(memory->base)->block;
        block.start = memory->base;
        block.size = memory->size;
    } else if (sp_reuse_find(memory->pool->reuse, found->address, &block)) {
        record = block.cookie;
    } else {
        return false;
    }
    found->start = block.start;
    found->size = shown_size(block.size, record->asked);
    found->id = record->id;
    return true;
}

/* Before the first launch, too: the address is there. */
static bool find_in_graph(struct found *found)
{
    found->alloc = sp_model_alloc_around(found->address);
    if (found->alloc == NULL)
        return false;
    found->size = found->alloc->params.size;
    found->id = found->alloc->block->id;
    return true;
}

static bool find(uintptr_t address, struct found *found_out)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address);

    if (memory == NULL)
        return false;
    *found_out = (struct found){
        .address = address,
        .memory = memory,
        .start = memory->base,
        .size = memory->asked,
        .id = memory->id,
    };
    if (memory->kind == SP_MEMORY_GRAPH)
        return find_in_graph(found_out);
    return (memory->kind != SP_MEMORY_CHUNK && memory->kind != SP_MEMORY_IMPORTED) ||
           find_in_pool(found_out);
}

/* The same for who asks for attributes, which must not be done once a free has been called. */
static bool find_live(uintptr_t address, struct found *found_out)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address);

    if (find(address, found_out))
        return true;
    if (memory != NULL)
        sp_model_violation("attributes of 0x%" PRIxPTR
                           " are asked for, but it has been freed or was never allocated",
                           address);
    return false;
}

bool sp_model_pool_range(uintptr_t address, uintptr_t *base_out, size_t *size_out)
{
    struct found found;

    if (!find(address, &found) || found.pool == NULL)
        return false;
    *base_out = found.start;
    *size_out = found.size;
    return true;
}

/* ---- attributes ---------------------------------------------------------------------- */

/* Of the pool, or of the node that a graph's allocation came from; NULL for other memory. */
static const struct sp_cu_pool_props *props_of(const struct found *found)
{
    if (found->alloc != NULL)
        return &found->alloc->params.props;
    return found->pool == NULL ? NULL : &found->pool->props;
}

static bool is_managed(const struct found *found)
{
    const struct sp_cu_pool_props *props = props_of(found);

    return found->memory->kind == SP_MEMORY_MANAGED ||
           (props != NULL && props->alloc_type == SP_CU_ALLOCATION_MANAGED);
}

/* Pinned memory of the host. */
static bool is_host(const struct found *found)
{
    return found->memory->kind == SP_MEMORY_HOST ||
           found->memory->kind == SP_MEMORY_REGISTERED ||
           (found->alloc != NULL && !is_managed(found) && found->memory->device < 0) ||
           (found->pool != NULL && sp_model_pool_is_host(found->pool));
}

static int device_of(const struct found *found)
{
    if (found->pool == NULL)
        return found->memory->device;
    return found->pool->props.location.type == SP_CU_LOCATION_DEVICE
               ? found->pool->props.location.id
               : -1;
}

static int access_of(const struct found *found)
{
    const struct sp_model_context *context = sp_model_current();

    if (found->alloc != NULL && context != NULL)
        return sp_model_alloc_access(found->alloc, context->device);
    if (found->pool == NULL || context == NULL)
        return SP_CU_ACCESS_READWRITE;
    return sp_model_access_of(found->pool, context->device);
}

static struct value number(uint64_t value)
{
    return (struct value){.number = value, .size = sizeof(value)};
}

static struct value word(unsigned value)
{
    return (struct value){.word = value, .size = sizeof(value)};
}

/* The value of an attribute for memory that is none of the driver's; its size is 0 if there is
 * no such attribute. */
static struct value nothing(int attribute)
{
    switch (attribute) {
    case SP_CU_POINTER_CONTEXT:
    case SP_CU_POINTER_DEVICE_POINTER:
    case SP_CU_POINTER_HOST_POINTER:
    case SP_CU_POINTER_BUFFER_ID:
    case SP_CU_POINTER_RANGE_START_ADDR:
    case SP_CU_POINTER_RANGE_SIZE:
    case SP_CU_POINTER_MEMPOOL_HANDLE:
        return number(0);
    case SP_CU_POINTER_MEMORY_TYPE:
    case SP_CU_POINTER_SYNC_MEMOPS:
    case SP_CU_POINTER_IS_MANAGED:
    case SP_CU_POINTER_DEVICE_ORDINAL:
    case SP_CU_POINTER_IS_LEGACY_IPC_CAPABLE:
    case SP_CU_POINTER_MAPPED:
    case SP_CU_POINTER_ALLOWED_HANDLE_TYPES:
    case SP_CU_POINTER_ACCESS_FLAGS:
        return word(0);
    default:
        return (struct value){.size = 0};
    }
}

/* The value of an attribute; nothing() where it does not apply. */
static struct value tell(const struct found *found, int attribute)
{
    switch (attribute) {
    case SP_CU_POINTER_CONTEXT:
        return number((uintptr_t)found->memory->context);
    case SP_CU_POINTER_MEMORY_TYPE:
        return word(is_host(found) ? SP_CU_MEMORY_TYPE_HOST : SP_CU_MEMORY_TYPE_DEVICE);
    case SP_CU_POINTER_DEVICE_POINTER:
        return number(found->address);
    case SP_CU_POINTER_HOST_POINTER:
        return number(is_host(found) || is_managed(found) ? found->address : 0);
    case SP_CU_POINTER_BUFFER_ID:
        return number(found->id);
    case SP_CU_POINTER_IS_MANAGED:
        return word(is_managed(found));
    case SP_CU_POINTER_DEVICE_ORDINAL:
        return (struct value){.ordinal = device_of(found), .size = sizeof(int32_t)};
    case SP_CU_POINTER_IS_LEGACY_IPC_CAPABLE:
        return word(found->memory->kind == SP_MEMORY_DEVICE);
    case SP_CU_POINTER_RANGE_START_ADDR:
        return number(found->start);
    case SP_CU_POINTER_RANGE_SIZE:
        return number(found->size);
    case SP_CU_POINTER_MAPPED:
        return word(1);
    case SP_CU_POINTER_ALLOWED_HANDLE_TYPES:
        return word(found->pool == NULL ? 0 : (unsigned)found->pool->props.handle_types);
    case SP_CU_POINTER_ACCESS_FLAGS:
        return word((unsigned)access_of(found));
    case SP_CU_POINTER_MEMPOOL_HANDLE:
        return number(found->pool == NULL ? 0 : (uintptr_t)found->pool->handle);
    default:
        return nothing(attribute);
    }
}

static void write_value(const struct value *value, void *value_out)
{
    memcpy(value_out, &value->number, value->size);
}

static sp_cu_result get_locked(void *value_out, int attribute, uintptr_t address)
{
    struct found found;
    struct value value;

    if (value_out == NULL || nothing(attribute).size == 0 || !find_live(address, &found))
        return SP_CU_INVALID_VALUE;
    value = tell(&found, attribute);
    if (attribute == SP_CU_POINTER_HOST_POINTER && value.number == 0)
        return SP_CU_INVALID_VALUE;
    write_value(&value, value_out);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuPointerGetAttribute(void *value_out, int attribute, sp_cu_ptr ptr)
{
    SP_MODEL_ENTER(cuPointerGetAttribute);
    return sp_model_leave(get_locked(value_out, attribute, (uintptr_t)ptr));
}

/* For a pointer that is none of the driver's, every value is 0. */
static sp_cu_result get_many_locked(unsigned n_attributes, const int *attributes,
                                    void **values_out, uintptr_t address)
{
    struct found found;
    struct value value;
    bool is_known;

    if (attributes == NULL || values_out == NULL)
        return SP_CU_INVALID_VALUE;
    for (unsigned i = 0; i < n_attributes; i++) {
        if (values_out[i] == NULL || nothing(attributes[i]).size == 0)
            return SP_CU_INVALID_VALUE;
    }
    is_known = find_live(address, &found);
    for (unsigned i = 0; i < n_attributes; i++) {
        value = is_known ? tell(&found, attributes[i]) : nothing(attributes[i]);
        write_value(&value, values_out[i]);
    }
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuPointerGetAttributes(unsigned n_attributes, int *attributes,
                                             void **values_out, sp_cu_ptr ptr)
{
    SP_MODEL_ENTER(cuPointerGetAttributes);
    return sp_model_leave(
        get_many_locked(n_attributes, attributes, values_out, (uintptr_t)ptr));
}

/* Copies of the model never come back before they must: there is nothing to be stricter about.
 */
sp_cu_result sp_model_cuPointerSetAttribute(const void *value, int attribute, sp_cu_ptr ptr)
{
    struct found found;

    SP_MODEL_ENTER(cuPointerSetAttribute);
    if (value == NULL || attribute != SP_CU_POINTER_SYNC_MEMOPS ||
        !find_live((uintptr_t)ptr, &found) || is_host(&found))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(SP_CU_SUCCESS);
}
