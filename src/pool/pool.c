/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool's life: configuration, creation, destruction (deferred while blocks are
 * live). Which pool is whose is the registry's business; memory is growth.c's. */
#include "config.h"

#include "src/pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/host_pool.h"
#include "numa/topo.h"
#include "src/driver/features.h"
#include "src/pool/captured.h"
#include "src/pool/device_pool.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pinning.h"
#include "src/pool/private.h"
#include "src/trace/record.h"
#include "src/util/options.h"

void starpool_pool_config_init(struct starpool_pool_config *config)
{
    *config = (struct starpool_pool_config){
        .struct_size = sizeof(*config),
        .location = {STARPOOL_HOST, 0},
        .memory = STARPOOL_PINNED,
        .release_threshold = STARPOOL_UNLIMITED,
        .placement = STARPOOL_STRICT,
        .huge = STARPOOL_HUGE_TRANSPARENT,
        .follows_events = true,
        .is_opportunistic = true,
        .allows_internal_waits = true,
        .has_shadow = sp_option_number(SP_OPTION_SHADOW) != 0,
    };
}

/* ---- creation ------------------------------------------------------------------------ */

static bool threshold_is_valid(const struct starpool_pool_config *config)
{
    return config->location.kind != STARPOOL_DEVICE || config->maximum == 0 ||
           config->release_threshold == STARPOOL_UNLIMITED ||
           config->release_threshold <= config->maximum;
}

/* Only the host's memory is registered, and the driver's own is already. */
static bool registration_is_valid(const struct starpool_pool_config *config)
{
    return !config->is_registered ||
           ((config->location.kind == STARPOOL_HOST ||
             config->location.kind == STARPOOL_HOST_NUMA) &&
            config->memory == STARPOOL_PINNED && config->backend != STARPOOL_BACKEND_DRIVER);
}

static bool config_is_valid(const struct starpool_pool_config *config)
{
    const unsigned handle_types = STARPOOL_HANDLE_FD | STARPOOL_HANDLE_FABRIC;

    return config->struct_size >= sizeof(*config) &&
           (config->maximum == 0 || config->initial <= config->maximum) &&
           threshold_is_valid(config) && (unsigned)config->placement <= STARPOOL_SPILL &&
           (unsigned)config->huge <= STARPOOL_HUGE_EXPLICIT &&
           (unsigned)config->backend <= STARPOOL_BACKEND_CPU &&
           (unsigned)config->capture <= STARPOOL_CAPTURE_ARENA &&
           (unsigned)config->captured_free <= STARPOOL_FREE_AT_CAPTURE_END &&
           (config->handle_types & ~handle_types) == 0 && registration_is_valid(config);
}

bool sp_location_needs_driver(struct starpool_location location, enum starpool_memory memory)
{
    return location.kind == STARPOOL_DEVICE || memory == STARPOOL_MANAGED;
}

/* Put the nearest node in the place of STARPOOL_ID_NEAREST, and refuse what there cannot be. */
enum starpool_status sp_location_resolve(struct starpool_location *location,
                                         enum starpool_memory memory)
{
    const struct sp_topo *topo;
    enum starpool_status status;

    if ((unsigned)memory > STARPOOL_MANAGED)
        return STARPOOL_EINVAL;
    switch (location->kind) {
    case STARPOOL_NONE:
        return memory == STARPOOL_MANAGED && location->id == 0 ? STARPOOL_OK : STARPOOL_EINVAL;
    case STARPOOL_DEVICE:
        return location->id < 0 ? STARPOOL_EINVAL : STARPOOL_OK;
    case STARPOOL_HOST:
        return location->id != 0 ? STARPOOL_EINVAL : STARPOOL_OK;
    case STARPOOL_HOST_NUMA:
        break;
    default:
        return STARPOOL_EINVAL;
    }
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
    else if (pool->memory == STARPOOL_MANAGED)
        snprintf(pool->name, sizeof(pool->name), "managed pool");
    else if (pool->location.kind == STARPOOL_DEVICE)
        snprintf(pool->name, sizeof(pool->name), "DEVICE %d pool", pool->location.id);
    else if (pool->location.kind == STARPOOL_HOST_NUMA)
        snprintf(pool->name, sizeof(pool->name), "HOST_NUMA %d pool", pool->location.id);
    else
        snprintf(pool->name, sizeof(pool->name), "HOST pool");
    pool->config.name = pool->name;
}

enum starpool_status sp_pool_make(const struct starpool_pool_config *config,
                                  struct starpool_pool **pool_out)
{
    struct starpool_pool *pool = calloc(1, sizeof(*pool));

    sp_pool_setup();
    if (pool == NULL)
        return STARPOOL_ENOMEM;
    pool->location = config->location;
    pool->memory = config->memory;
    pool->config = *config;
    pool->maximum = config->maximum;
    pool->release_threshold = config->release_threshold;
    pool->policy = (struct sp_reuse_policy){
        .follows_events = config->follows_events,
        .is_opportunistic = config->is_opportunistic,
        .allows_internal_wait = config->allows_internal_waits,
    };
    set_name(pool);
    atomic_store_explicit(&pool->front_bound, SP_FRONT_BOUND_HIGH, memory_order_relaxed);
    sp_lock_init(&pool->growth, SP_RANK_GROWTH);
    sp_lock_init(&pool->lock, SP_RANK_POOL);
    sp_store_init(&pool->store, pool);
    sp_depot_init(&pool->depot);
    *pool_out = pool;
    return STARPOOL_OK;
}

enum starpool_status sp_pool_create_on(const struct starpool_pool_config *config,
                                       struct sp_backing *backing,
                                       struct starpool_pool **pool_out)
{
    struct starpool_pool *pool;
    enum starpool_status status = sp_pool_make(config, &pool);

    if (status != STARPOOL_OK) {
        backing->ops->destroy(backing);
        return status;
    }
    pool->backing = backing;
    pool->is_on_device = backing->ops->forget != NULL;
    pool->is_declared = pool->is_on_device && sp_nvtx_setup();
    pool->config.has_shadow = false;
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

/* Put a backend in the place of STARPOOL_BACKEND_AUTO: a device that has no pools of the
 * driver's is served by slabs. */
static enum starpool_status choose_backend(struct starpool_pool_config *config)
{
    const struct sp_driver *driver;
    struct sp_choice choice;
    enum starpool_status status;

    if (config->backend != STARPOOL_BACKEND_AUTO)
        return STARPOOL_OK;
    config->backend = sp_location_needs_driver(config->location, config->memory)
                          ? STARPOOL_BACKEND_DRIVER
                          : STARPOOL_BACKEND_CPU;
    if (config->location.kind != STARPOOL_DEVICE || config->memory != STARPOOL_PINNED)
        return STARPOOL_OK;
    status = sp_driver_pool_start(config->location, &driver);
    if (status != STARPOOL_OK)
        return status;
    sp_features_pools(driver, config->location.id, &choice);
    if (choice.mechanism == SP_MECHANISM_SLAB) {
        config->backend = STARPOOL_BACKEND_SLAB;
        sp_log(SP_LOG_INFO, "device %d is served by slabs: %s", config->location.id,
               choice.why);
    }
    return STARPOOL_OK;
}

static enum starpool_status create_slab(const struct starpool_pool_config *config,
                                        struct starpool_pool **pool_out)
{
    const struct sp_driver *driver;
    struct sp_backing *backing;
    enum starpool_status status;

    if (config->location.kind != STARPOOL_DEVICE || config->memory == STARPOOL_MANAGED)
        return STARPOOL_ENOTSUP;
    status = sp_driver_pool_start(config->location, &driver);
    if (status == STARPOOL_OK)
        status = sp_device_backing_create(driver, config->location.id, &backing);
    return status == STARPOOL_OK ? sp_pool_create_on(config, backing, pool_out) : status;
}

/* Memory of the host. */
static enum starpool_status create_host(const struct starpool_pool_config *config,
                                        struct starpool_pool **pool_out)
{
    int node = config->location.kind == STARPOOL_HOST_NUMA ? config->location.id : -1;
    const struct sp_driver *driver;
    struct sp_backing *backing;
    enum starpool_status status = STARPOOL_OK;

    if (config->memory == STARPOOL_MANAGED)
        return STARPOOL_ENOTSUP;
    if (config->is_registered)
        status = sp_driver_get(&driver);
    if (status == STARPOOL_OK)
        status = sp_host_backing_create(node, config, &backing);
    if (status != STARPOOL_OK)
        return status;
    if (config->is_registered)
        sp_host_backing_pin(backing, &sp_pin_by_driver);
    return sp_pool_create_on(config, backing, pool_out);
}

enum starpool_status starpool_pool_create(const struct starpool_pool_config *config,
                                          struct starpool_pool **pool_out)
{
    struct starpool_pool_config resolved, chosen;
    enum starpool_status status;

    if (config == NULL || pool_out == NULL || !config_is_valid(config))
        return STARPOOL_EINVAL;
    resolved = *config;
    status = sp_location_resolve(&resolved.location, resolved.memory);
    chosen = resolved;
    if (status == STARPOOL_OK)
        status = choose_backend(&chosen);
    if (status != STARPOOL_OK)
        return status;
    if (chosen.backend == STARPOOL_BACKEND_DRIVER)
        return sp_driver_pool_create(&resolved, pool_out);
    if (resolved.handle_types != 0)
        return STARPOOL_ENOTSUP;
    return chosen.backend == STARPOOL_BACKEND_SLAB ? create_slab(&resolved, pool_out)
                                                   : create_host(&resolved, pool_out);
}

/* ---- destruction --------------------------------------------------------------------- */

bool sp_pool_is_destroyed(struct starpool_pool *pool)
{
    bool answer;

    sp_lock_take(&pool->lock);
    answer = pool->is_destroyed;
    sp_lock_give(&pool->lock);
    return answer;
}

bool sp_pool_claim_release(struct starpool_pool *pool)
{
    if (!pool->is_destroyed || pool->is_released || !sp_store_is_empty(&pool->store) ||
        atomic_load(&pool->n_claims) != 0 ||
        (pool->driver != NULL && pool->stats.n_allocs != pool->stats.n_frees))
        return false;
    pool->is_released = true;
    return true;
}

void sp_pool_release(struct starpool_pool *pool)
{
    /* Without spare records a piece between others may need a second pass. */
    while (sp_pool_trim(pool, 0) > 0 && pool->pieces != NULL)
        continue;
    if (pool->pieces == NULL)
        sp_registry_put(pool);
    else /* It stays with what it has, which the next shortage may give back. */
        sp_log(SP_LOG_WARN, "%s: %s does not take some of its memory back", pool->name,
               pool->is_on_device ? "the driver" : "the system");
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
    sp_held_notice();
    sp_trace_pool_destroy(pool->id);
    sp_registry_forget(pool);
    sp_driver_pool_close(pool);
    /* Frees that have executed are over. */
    sp_streams_poll(true);
    sp_lock_take(&pool->growth);
    sp_lock_take(&pool->lock);
    pool->is_destroyed = true; /* No cache joins from here on. */
    sp_lock_give(&pool->lock);
    sp_pool_close_fronts(pool);
    sp_lock_take(&pool->lock);
    let_go_of_fronts(pool);
    sp_streams_lock();
    sp_ordered_settle_locked(pool, 0);
    sp_streams_unlock();
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
    sp_trace_trim(pool->id, keep);
    sp_held_notice();
    if (pool->driver != NULL)
        return sp_driver_pool_trim(pool, keep);
    sp_pool_trim(pool, keep);
    return STARPOOL_OK;
}

enum starpool_status starpool_pool_trim_driver(struct starpool_pool *pool, uint64_t keep)
{
    if (pool == NULL)
        return STARPOOL_EINVAL;
    return pool->driver == NULL ? STARPOOL_ENOTSUP : starpool_pool_trim(pool, keep);
}

void sp_pool_make_permanent(struct starpool_pool *pool)
{
    atomic_store(&pool->is_permanent, true);
}
