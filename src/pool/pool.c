/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool's life: configuration, creation, attributes, destruction (deferred while blocks are
 * live). Which pool is whose is the registry's business; memory is growth.c's. */
#include "config.h"

#include "src/pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/host_pool.h"
#include "numa/topo.h"
#include "src/pool/private.h"

void starpool_pool_config_init(struct starpool_pool_config *config)
{
    *config = (struct starpool_pool_config){
        .struct_size = sizeof(*config),
        .location = {STARPOOL_HOST, 0},
        .memory = STARPOOL_PINNED,
        .release_threshold = STARPOOL_UNLIMITED,
        .placement = STARPOOL_STRICT,
        .huge = STARPOOL_HUGE_TRANSPARENT,
    };
}

/* ---- creation ------------------------------------------------------------------------ */

static bool config_is_valid(const struct starpool_pool_config *config)
{
    return config->struct_size >= sizeof(*config) &&
           (config->maximum == 0 || config->initial <= config->maximum) &&
           (unsigned)config->placement <= STARPOOL_SPILL &&
           (unsigned)config->huge <= STARPOOL_HUGE_EXPLICIT;
}

/* Put the nearest node in the place of STARPOOL_ID_NEAREST, and refuse what there is not. */
enum starpool_status sp_location_resolve(struct starpool_location *location,
                                         enum starpool_memory memory)
{
    const struct sp_topo *topo;
    enum starpool_status status;

    if ((unsigned)memory > STARPOOL_MANAGED)
        return STARPOOL_EINVAL;
    switch (location->kind) {
    case STARPOOL_NONE:
        return memory == STARPOOL_MANAGED ? STARPOOL_ENOTSUP : STARPOOL_EINVAL;
    case STARPOOL_DEVICE:
        return STARPOOL_ENOTSUP;
    case STARPOOL_HOST:
        if (location->id != 0)
            return STARPOOL_EINVAL;
        return memory == STARPOOL_MANAGED ? STARPOOL_ENOTSUP : STARPOOL_OK;
    case STARPOOL_HOST_NUMA:
        break;
    default:
        return STARPOOL_EINVAL;
    }
    if (memory == STARPOOL_MANAGED)
        return STARPOOL_ENOTSUP;
    if (location->id < STARPOOL_ID_NEAREST)
        return STARPOOL_EDEVICE;
    if (location->id != STARPOOL_ID_NEAREST)
        return STARPOOL_OK;
    status = sp_topo_get(&topo);
    if (status != STARPOOL_OK)
        return status;
    return sp_topo_nearest_cpu(topo, &location->id);
}

static void set_name(struct starpool_pool *pool)
{
    const char *name = pool->config.name;

    if (name != NULL)
        snprintf(pool->name, sizeof(pool->name), "%s", name);
    else if (pool->location.kind == STARPOOL_HOST_NUMA)
        snprintf(pool->name, sizeof(pool->name), "HOST_NUMA %d pool", pool->location.id);
    else
        snprintf(pool->name, sizeof(pool->name), "HOST pool");
    pool->config.name = pool->name;
}

enum starpool_status sp_pool_create_on(const struct starpool_pool_config *config,
                                       struct sp_backing *backing,
                                       struct starpool_pool **pool_out)
{
    struct starpool_pool *pool = calloc(1, sizeof(*pool));
    enum starpool_status status = STARPOOL_OK;

    sp_pool_setup();
    if (pool == NULL) {
        backing->ops->destroy(backing);
        return STARPOOL_ENOMEM;
    }
    pool->location = config->location;
    pool->memory = config->memory;
    pool->config = *config;
    pool->backing = backing;
    pool->maximum = config->maximum;
    pool->release_threshold = config->release_threshold;
    set_name(pool);
    atomic_store_explicit(&pool->front_bound, SP_FRONT_BOUND_HIGH, memory_order_relaxed);
    sp_lock_init(&pool->growth, SP_RANK_GROWTH);
    sp_lock_init(&pool->lock, SP_RANK_POOL);
    sp_store_init(&pool->store, pool);
    sp_depot_init(&pool->depot);
    pool->spare_front = config->has_exact_peak ? NULL : sp_front_make();
    sp_registry_add(pool);
    if (config->initial > 0)
        status = sp_pool_grow_initial(pool, config->initial);
    if (status != STARPOOL_OK) {
        starpool_pool_destroy(pool);
        return status;
    }
    *pool_out = pool;
    return STARPOOL_OK;
}

enum starpool_status starpool_pool_create(const struct starpool_pool_config *config,
                                          struct starpool_pool **pool_out)
{
    struct starpool_pool_config resolved;
    struct sp_backing *backing;
    enum starpool_status status;
    int node;

    if (config == NULL || pool_out == NULL || !config_is_valid(config))
        return STARPOOL_EINVAL;
    resolved = *config;
    status = sp_location_resolve(&resolved.location, resolved.memory);
    if (status != STARPOOL_OK)
        return status;
    node = resolved.location.kind == STARPOOL_HOST_NUMA ? resolved.location.id : -1;
    status = sp_host_backing_create(node, &resolved, &backing);
    if (status != STARPOOL_OK)
        return status;
    return sp_pool_create_on(&resolved, backing, pool_out);
}

/* ---- destruction --------------------------------------------------------------------- */

bool sp_pool_claim_release(struct starpool_pool *pool)
{
    if (!pool->is_destroyed || pool->is_released || !sp_store_is_empty(&pool->store))
        return false;
    pool->is_released = true;
    return true;
}

void sp_pool_release(struct starpool_pool *pool)
{
    /* Without spare records a piece between others may need a second pass. */
    while (sp_pool_trim(pool, 0) > 0 && pool->pieces != NULL)
        continue;
    if (pool->pieces != NULL)
        sp_log(SP_LOG_WARN, "%s: the system does not take some of its memory back", pool->name);
    sp_registry_put(pool);
}

/* With the growth lock and the caches closed: no cache is this pool's any more. */
static void let_go_of_fronts(struct starpool_pool *pool)
{
    struct sp_front *next;

    for (struct sp_front *front = atomic_load(&pool->fronts); front != NULL; front = next) {
        uint64_t n_allocs = atomic_load_explicit(&front->n_allocs, memory_order_relaxed);

        next = front->next;
        sp_front_empty(front, &pool->store);
        pool->stats.n_allocs += n_allocs;
        pool->stats.n_resident += n_allocs;
        pool->stats.n_frees += sp_front_n_frees(front);
        atomic_store_explicit(&front->pool, NULL, memory_order_relaxed);
        sp_bias_open(&front->bias);
    }
    atomic_store(&pool->fronts, NULL);
    sp_depot_empty(&pool->depot, &pool->store);
}

void starpool_pool_destroy(struct starpool_pool *pool)
{
    bool is_done;

    if (pool == NULL)
        return;
    if (pool->is_default || atomic_load(&pool->is_permanent)) {
        sp_log(SP_LOG_WARN, "%s is %s and cannot be destroyed", pool->name,
               pool->is_default ? "a default pool" : "needed as long as the process runs");
        return;
    }
    sp_registry_forget_current(pool);
    sp_lock_take(&pool->growth);
    sp_lock_take(&pool->lock);
    pool->is_destroyed = true; /* No cache joins from here on. */
    sp_lock_give(&pool->lock);
    sp_pool_close_fronts(pool);
    sp_lock_take(&pool->lock);
    let_go_of_fronts(pool);
    is_done = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    sp_lock_give(&pool->growth);
    if (is_done)
        sp_pool_release(pool);
}

enum starpool_status starpool_pool_trim(struct starpool_pool *pool, uint64_t keep)
{
    if (pool == NULL)
        return STARPOOL_EINVAL;
    sp_pool_trim(pool, keep);
    return STARPOOL_OK;
}

void sp_pool_make_permanent(struct starpool_pool *pool)
{
    atomic_store(&pool->is_permanent, true);
}

/* ---- attributes ---------------------------------------------------------------------- */

enum starpool_status starpool_pool_get_attribute(struct starpool_pool *pool,
                                                 enum starpool_pool_attribute attribute,
                                                 uint64_t *value_out)
{
    enum starpool_status status = STARPOOL_OK;

    if (pool == NULL || value_out == NULL)
        return STARPOOL_EINVAL;
    sp_lock_take(&pool->lock);
    switch (attribute) {
    case STARPOOL_ATTR_RELEASE_THRESHOLD:
        *value_out = pool->release_threshold;
        break;
    case STARPOOL_ATTR_MAXIMUM:
        *value_out = pool->maximum;
        break;
    case STARPOOL_ATTR_RESERVED_CURRENT:
        *value_out = pool->stats.reserved_bytes;
        break;
    case STARPOOL_ATTR_RESERVED_HIGH:
        *value_out = pool->stats.reserved_high_bytes;
        break;
    case STARPOOL_ATTR_USED_CURRENT:
        *value_out = sp_pool_used_bytes(pool);
        break;
    case STARPOOL_ATTR_USED_HIGH:
        *value_out = pool->store.used_high_bytes;
        break;
    default:
        status = STARPOOL_EINVAL;
        break;
    }
    sp_lock_give(&pool->lock);
    return status;
}

enum starpool_status starpool_pool_set_attribute(struct starpool_pool *pool,
                                                 enum starpool_pool_attribute attribute,
                                                 uint64_t value)
{
    enum starpool_status status = STARPOOL_OK;

    if (pool == NULL)
        return STARPOOL_EINVAL;
    sp_lock_take(&pool->lock);
    switch (attribute) {
    case STARPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = value;
        break;
    case STARPOOL_ATTR_MAXIMUM:
        pool->maximum = value;
        break;
    case STARPOOL_ATTR_RESERVED_HIGH:
        if (value != 0)
            status = STARPOOL_EINVAL;
        else
            pool->stats.reserved_high_bytes = pool->stats.reserved_bytes;
        break;
    case STARPOOL_ATTR_USED_HIGH:
        if (value != 0)
            status = STARPOOL_EINVAL;
        else
            pool->store.used_high_bytes = pool->store.used_bytes;
        break;
    case STARPOOL_ATTR_RESERVED_CURRENT:
    case STARPOOL_ATTR_USED_CURRENT:
    default:
        status = STARPOOL_EINVAL;
        break;
    }
    sp_lock_give(&pool->lock);
    return status;
}

enum starpool_status starpool_pool_get_config(struct starpool_pool *pool,
                                              struct starpool_pool_config *config_out)
{
    if (pool == NULL || config_out == NULL || config_out->struct_size < sizeof(*config_out))
        return STARPOOL_EINVAL;
    sp_lock_take(&pool->lock);
    *config_out = pool->config;
    config_out->struct_size = sizeof(*config_out);
    config_out->maximum = pool->maximum;
    config_out->release_threshold = pool->release_threshold;
    sp_lock_give(&pool->lock);
    return STARPOOL_OK;
}
