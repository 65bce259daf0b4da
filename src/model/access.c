/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which devices reach a pool's memory. The host always reaches the host's, and the owner its
 * own. */
#include "config.h"

#include "src/model/mempool.h"

/* How a location's access can be changed. */
enum reach {
    REACH_OWNER,   /* always has it */
    REACH_PEER,    /* can be given it */
    REACH_NOT,     /* cannot */
    REACH_UNKNOWN, /* no such location for a pool */
};

static bool is_managed(const struct sp_model_pool *pool)
{
    return pool->props.alloc_type == SP_CU_ALLOCATION_MANAGED;
}

void sp_model_access_init(struct sp_model_pool *pool)
{
    for (int device = 0; device < SP_MODEL_MAX_DEVICES; device++)
        pool->access[device] = is_managed(pool) || device == pool->device
                                   ? SP_CU_ACCESS_READWRITE
                                   : SP_CU_ACCESS_NONE;
}

int sp_model_access_of(const struct sp_model_pool *pool, int device)
{
    return pool->access[device];
}

/* ---- setting ------------------------------------------------------------------------- */

static enum reach reach_of(const struct sp_model_pool *pool,
                           const struct sp_cu_location *location)
{
    bool is_host = sp_model_pool_is_host(pool);

    if (location->type == SP_CU_LOCATION_HOST || location->type == SP_CU_LOCATION_HOST_NUMA)
        return is_host || is_managed(pool) ? REACH_OWNER : REACH_UNKNOWN;
    if (location->type != SP_CU_LOCATION_DEVICE)
        return REACH_UNKNOWN;
    if (location->id == pool->device || is_managed(pool))
        return REACH_OWNER;
    return is_host || sp_model_can_access_peer(location->id, pool->device) ? REACH_PEER
                                                                           : REACH_NOT;
}

static sp_cu_result check_flags(int flags)
{
    if (flags == SP_CU_ACCESS_NONE || flags == SP_CU_ACCESS_READWRITE)
        return SP_CU_SUCCESS;
    if (flags == SP_CU_ACCESS_READ && sp_model_switch(SP_SWITCH_access_read_only) != 0)
        return SP_CU_SUCCESS;
    return SP_CU_INVALID_VALUE;
}

/* A grant to a device that is no peer fails at once, or with the pool's next allocation. */
static sp_cu_result check_not_peer(const struct sp_model_pool *pool)
{
    bool is_deferred = sp_model_switch(SP_SWITCH_access_not_peer) == 0;

    return is_deferred && pool->blocks == NULL ? SP_CU_SUCCESS : SP_CU_INVALID_DEVICE;
}

static sp_cu_result check_desc(const struct sp_model_pool *pool,
                               const struct sp_cu_access_desc *desc)
{
    sp_cu_result result = check_flags(desc->flags);

    if (result != SP_CU_SUCCESS)
        return result;
    if (desc->location.type == SP_CU_LOCATION_DEVICE && !sp_model_is_device(desc->location.id))
        return SP_CU_INVALID_DEVICE;
    switch (reach_of(pool, &desc->location)) {
    case REACH_OWNER:
        if (desc->flags != SP_CU_ACCESS_NONE)
            return SP_CU_SUCCESS;
        return sp_model_switch(SP_SWITCH_revoke_owner) == 0 ? SP_CU_INVALID_DEVICE
                                                            : SP_CU_INVALID_VALUE;
    case REACH_PEER:
        return SP_CU_SUCCESS;
    case REACH_NOT:
        return desc->flags == SP_CU_ACCESS_NONE ? SP_CU_SUCCESS : check_not_peer(pool);
    case REACH_UNKNOWN:
        break;
    }
    return SP_CU_INVALID_VALUE;
}

static void apply_desc(struct sp_model_pool *pool, const struct sp_cu_access_desc *desc)
{
    int device = desc->location.id;
    bool is_ignored = desc->flags == SP_CU_ACCESS_NONE &&
                      pool->props.location.type == SP_CU_LOCATION_HOST_NUMA &&
                      sp_model_switch(SP_SWITCH_revoke_host_numa) != 0;

    switch (reach_of(pool, &desc->location)) {
    case REACH_PEER:
        if (!is_ignored)
            pool->access[device] = (uint8_t)desc->flags;
        break;
    case REACH_NOT:
        if (desc->flags == SP_CU_ACCESS_NONE)
            pool->unreachable &= ~(1U << device);
        else
            pool->unreachable |= 1U << device;
        break;
    case REACH_OWNER:
    case REACH_UNKNOWN:
        break;
    }
}

/* All of the descriptors or none. */
static sp_cu_result set_locked(sp_cu_pool handle, const struct sp_cu_access_desc *descs,
                               size_t n_descs)
{
    struct sp_model_pool *pool = sp_model_pool_get(handle);
    sp_cu_result result;

    if (pool == NULL || (descs == NULL && n_descs > 0))
        return SP_CU_INVALID_VALUE;
    if (n_descs > (size_t)sp_model_n_devices() && sp_model_switch(SP_SWITCH_access_many) == 0)
        return SP_CU_INVALID_DEVICE;
    for (size_t i = 0; i < n_descs; i++) {
        result = check_desc(pool, &descs[i]);
        if (result != SP_CU_SUCCESS)
            return result;
    }
    for (size_t i = 0; i < n_descs; i++)
        apply_desc(pool, &descs[i]);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemPoolSetAccess(sp_cu_pool pool, const struct sp_cu_access_desc *descs,
                                         size_t n_descs)
{
    SP_MODEL_ENTER(cuMemPoolSetAccess);
    return sp_model_leave(set_locked(pool, descs, n_descs));
}

/* ---- getting ------------------------------------------------------------------------- */

static sp_cu_result get_locked(int *flags_out, sp_cu_pool handle,
                               const struct sp_cu_location *location)
{
    const struct sp_model_pool *pool = sp_model_pool_get(handle);

    if (pool == NULL || flags_out == NULL || location == NULL)
        return SP_CU_INVALID_VALUE;
    switch (location->type) {
    case SP_CU_LOCATION_DEVICE:
        if (!sp_model_is_device(location->id))
            return SP_CU_INVALID_VALUE;
        *flags_out = pool->access[location->id];
        return SP_CU_SUCCESS;
    case SP_CU_LOCATION_HOST:
    case SP_CU_LOCATION_HOST_NUMA:
        *flags_out = sp_model_pool_is_host(pool) || is_managed(pool) ? SP_CU_ACCESS_READWRITE
                                                                     : SP_CU_ACCESS_NONE;
        return SP_CU_SUCCESS;
    default:
        return SP_CU_INVALID_VALUE;
    }
}

sp_cu_result sp_model_cuMemPoolGetAccess(int *flags_out, sp_cu_pool pool,
                                         struct sp_cu_location *location)
{
    SP_MODEL_ENTER(cuMemPoolGetAccess);
    return sp_model_leave(get_locked(flags_out, pool, location));
}
