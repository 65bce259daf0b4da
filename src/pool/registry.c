/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pools there are, and which is the default and the current one of a location. Also what
 * the process sets up once, and what a fork must hold still. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "numa/populate.h"
#include "numa/topo.h"
#include "src/pool/captured.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "src/pool/wrong.h"
#include "src/trace/record.h"
#include "src/util/meta.h"
#include "src/util/options.h"
#include "src/util/poison.h"

static struct {
    pthread_once_t once;
    struct sp_lock lock;
    struct starpool_pool *pools; /* the latest first */
    uint32_t slots;              /* bit s: a pool has slot s */
    bool is_starpu_claimed;
    bool is_traced;   /* pools that come are announced */
    uint32_t last_id; /* of a pool */
} registry = {
    .once = PTHREAD_ONCE_INIT,
    .lock = SP_LOCK_INITIALIZER(SP_RANK_REGISTRY),
};

/* ---- forks --------------------------------------------------------------------------- */

static void give_pool_locks(void)
{
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next)
        sp_lock_give_all(&pool->lock);
}

/* Close every cache and take every pool's lock, under which no cache can join. One that joined
 * in between is open: then all over again. */
static void close_and_lock_pools(void)
{
    bool has_open;

    do {
        has_open = false;
        for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next)
            sp_pool_close_fronts(pool);
        for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next) {
            sp_lock_take_all(&pool->lock);
            has_open |= sp_pool_has_open_front(pool);
        }
        if (has_open)
            give_pool_locks();
    } while (has_open);
}

/* Everything stands still, in rank order, so that the child finds it whole. */
static void before_fork(void)
{
    sp_topo_freeze();
    sp_lock_take(&registry.lock);
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next)
        sp_lock_take_all(&pool->growth);
    close_and_lock_pools();
    sp_driver_pool_freeze();
    sp_owners_freeze();
    sp_late_freeze();
    sp_streams_freeze();
    sp_lost_freeze();
    sp_front_freeze();
    sp_stock_freeze();
    sp_addrmap_freeze();
    sp_meta_freeze();
}

static void thaw(void)
{
    sp_meta_thaw();
    sp_addrmap_thaw();
    sp_stock_thaw();
    sp_front_thaw();
    sp_lost_thaw();
    sp_streams_thaw();
    sp_late_thaw();
    sp_owners_thaw();
    sp_driver_pool_thaw();
    give_pool_locks();
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next)
        sp_pool_open_fronts(pool);
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next)
        sp_lock_give_all(&pool->growth);
    sp_lock_give(&registry.lock);
    sp_topo_thaw();
}

/* The other threads are no more: what their caches held is free. */
static void in_child(void)
{
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next) {
        for (struct sp_front *front = atomic_load(&pool->fronts); front != NULL;
             front = front->next)
            sp_front_empty(front, &pool->store);
    }
    sp_populate_after_fork();
    sp_bias_setup();
    registry.is_traced = false;
    sp_fronts_shut(false);
    sp_alloc_setup();
    thaw();
}

/* ---- traces -------------------------------------------------------------------------- */

/* The trace is told of the pools that there are, and from now on of those that come. */
static void announce_pools(void)
{
    sp_lock_take(&registry.lock);
    registry.is_traced = sp_trace_wants();
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next)
        sp_trace_pool_create(pool->id, pool->location, pool->config.maximum, pool->name, true);
    sp_lock_give(&registry.lock);
}

/* Caches are shut before the first event is recorded, and until after the last. */
static void follow_trace(enum sp_trace_moment moment)
{
    struct starpool_pool *pool = NULL;

    if (moment == SP_TRACE_HAS_BEGUN) {
        announce_pools();
        return;
    }
    sp_lock_take(&registry.lock);
    registry.is_traced = false;
    sp_lock_give(&registry.lock);
    sp_fronts_shut(moment == SP_TRACE_BEGINS);
    while ((pool = sp_registry_next(pool)) != NULL)
        sp_pool_follow_trace(pool);
}

/* A trace that is on before there are pools needs no shut caches: no thread has any. */
static void setup_trace(void)
{
    sp_trace_setup();
    sp_trace_set_watch(follow_trace);
    sp_lock_take(&registry.lock);
    registry.is_traced = sp_trace_wants();
    sp_lock_give(&registry.lock);
}

static void setup(void)
{
    sp_bias_setup();
    sp_poison_setup();
    sp_wrong_setup();
    setup_trace();
    sp_alloc_setup();
    pthread_atfork(before_fork, thaw, in_child);
}

void sp_pool_setup(void)
{
    pthread_once(&registry.once, setup);
}

/* ---- the list ------------------------------------------------------------------------ */

static unsigned take_slot(const struct starpool_pool *pool)
{
    unsigned slot;

    if (pool->config.has_exact_peak || pool->is_declared || pool->driver != NULL ||
        registry.slots == UINT32_MAX)
        return SP_FRONT_SLOTS;
    slot = (unsigned)__builtin_ctz(~registry.slots);
    registry.slots |= (uint32_t)1 << slot;
    return slot;
}

void sp_registry_add(struct starpool_pool *pool)
{
    sp_lock_take(&registry.lock);
    pool->id = ++registry.last_id;
    if (registry.is_traced)
        sp_trace_pool_create(pool->id, pool->location, pool->config.maximum, pool->name, false);
    pool->slot = pool->store.slot = take_slot(pool);
    if (pool->is_on_device)
        pool->store.slot |= SP_SLOT_FLEETING;
    atomic_store(&pool->n_references, 1);
    pool->prev = NULL;
    pool->next = registry.pools;
    if (registry.pools != NULL)
        registry.pools->prev = pool;
    registry.pools = pool;
    sp_lock_give(&registry.lock);
}

/* With the lock. */
static void unlink_pool(struct starpool_pool *pool)
{
    if (pool->prev != NULL)
        pool->prev->next = pool->next;
    else
        registry.pools = pool->next;
    if (pool->next != NULL)
        pool->next->prev = pool->prev;
    if (pool->slot != SP_FRONT_SLOTS)
        registry.slots &= ~((uint32_t)1 << pool->slot);
}

/* One that is not the last; false if it could be. */
static bool drop_reference(struct starpool_pool *pool)
{
    unsigned n = atomic_load(&pool->n_references);

    while (n > 1) {
        if (atomic_compare_exchange_weak(&pool->n_references, &n, n - 1))
            return true;
    }
    return false;
}

void sp_registry_put(struct starpool_pool *pool)
{
    bool is_last;

    if (drop_reference(pool))
        return;
    sp_lock_take(&registry.lock);
    is_last = atomic_fetch_sub(&pool->n_references, 1) == 1;
    if (is_last)
        unlink_pool(pool);
    sp_lock_give(&registry.lock);
    if (!is_last)
        return;
    if (pool->backing != NULL)
        pool->backing->ops->destroy(pool->backing);
    sp_driver_pool_drop(pool);
    sp_ordered_fini(pool);
    sp_store_fini(&pool->store);
    sp_front_drop(pool->spare_front);
    sp_lock_fini(&pool->lock);
    sp_lock_fini(&pool->growth);
    free(pool);
}

struct starpool_pool *sp_registry_next(struct starpool_pool *pool)
{
    struct starpool_pool *next;

    sp_lock_take(&registry.lock);
    next = pool == NULL ? registry.pools : pool->next;
    if (next != NULL)
        atomic_fetch_add(&next->n_references, 1);
    sp_lock_give(&registry.lock);
    if (pool != NULL)
        sp_registry_put(pool);
    return next;
}

struct starpool_pool *sp_registry_get(const struct starpool_pool *wanted)
{
    struct starpool_pool *pool;

    sp_lock_take(&registry.lock);
    pool = registry.pools;
    while (pool != NULL && pool != wanted)
        pool = pool->next;
    if (pool != NULL)
        atomic_fetch_add(&pool->n_references, 1);
    sp_lock_give(&registry.lock);
    return pool;
}

struct starpool_pool *sp_registry_find_driver(sp_cu_pool handle)
{
    struct starpool_pool *found = NULL;

    sp_lock_take(&registry.lock);
    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next) {
        if (pool->driver != NULL && !pool->is_given_up && pool->driver->handle == handle)
            found = pool;
    }
    if (found != NULL)
        atomic_fetch_add(&found->n_references, 1);
    sp_lock_give(&registry.lock);
    return found;
}

/* ---- default and current ------------------------------------------------------------- */

static bool is_at(const struct starpool_pool *pool, struct starpool_location location,
                  enum starpool_memory memory)
{
    return pool->location.kind == location.kind && pool->location.id == location.id &&
           pool->memory == memory;
}

/* With the lock: the current pool of a location if one is set, or the default one. */
static struct starpool_pool *find_locked(struct starpool_location location,
                                         enum starpool_memory memory, bool wants_current)
{
    struct starpool_pool *found = NULL;

    for (struct starpool_pool *pool = registry.pools; pool != NULL; pool = pool->next) {
        if (!is_at(pool, location, memory))
            continue;
        if (wants_current && pool->is_current)
            return pool;
        if (pool->is_default)
            found = pool;
    }
    return found;
}

/* The same, with a reference. */
static struct starpool_pool *find(struct starpool_location location,
                                  enum starpool_memory memory, bool wants_current)
{
    struct starpool_pool *pool;

    sp_lock_take(&registry.lock);
    pool = find_locked(location, memory, wants_current);
    if (pool != NULL)
        atomic_fetch_add(&pool->n_references, 1);
    sp_lock_give(&registry.lock);
    return pool;
}

/* Make the default pool unless another thread is quicker. */
static enum starpool_status make_default(struct starpool_location location,
                                         enum starpool_memory memory)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool, *first;
    enum starpool_status status;

    starpool_pool_config_init(&config);
    config.location = location;
    config.memory = memory;
    status = starpool_pool_create(&config, &pool);
    if (status != STARPOOL_OK)
        return status;
    sp_lock_take(&registry.lock);
    first = find_locked(location, memory, false);
    if (first == NULL)
        pool->is_default = true;
    sp_lock_give(&registry.lock);
    if (first != NULL)
        starpool_pool_destroy(pool);
    return STARPOOL_OK;
}

/* The pool of a location, with a reference. */
static enum starpool_status get(struct starpool_location location, enum starpool_memory memory,
                                bool wants_current, struct starpool_pool **pool_out)
{
    enum starpool_status status;
    struct starpool_pool *pool;

    if (pool_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_location_resolve(&location, memory);
    if (status != STARPOOL_OK)
        return status;
    pool = find(location, memory, wants_current);
    if (pool != NULL && !pool->is_on_device && !pool->is_current &&
        sp_location_needs_driver(location, memory)) {
        sp_registry_put(pool);
        pool = NULL;
    }
    if (pool == NULL && sp_location_needs_driver(location, memory)) {
        status = sp_driver_pool_get(location, memory, wants_current, pool_out);
        /* A device that has none: the default is one of slabs. */
        if (status != STARPOOL_ENOTSUP || location.kind != STARPOOL_DEVICE ||
            memory != STARPOOL_PINNED)
            return status;
    }
    if (pool == NULL) {
        status = make_default(location, memory);
        if (status != STARPOOL_OK)
            return status;
        pool = find(location, memory, wants_current);
    }
    SP_ASSERT(pool != NULL); /* A default pool stays. */
    *pool_out = pool;
    return STARPOOL_OK;
}

enum starpool_status sp_registry_get_current(struct starpool_location location,
                                             enum starpool_memory memory,
                                             struct starpool_pool **pool_out)
{
    return get(location, memory, true, pool_out);
}

/* For callers that hold no reference: whoever destroys the pool sees to it that they are gone.
 */
static enum starpool_status get_bare(struct starpool_location location,
                                     enum starpool_memory memory, bool wants_current,
                                     struct starpool_pool **pool_out)
{
    enum starpool_status status = get(location, memory, wants_current, pool_out);

    if (status == STARPOOL_OK)
        sp_registry_put(*pool_out);
    return status;
}

enum starpool_status starpool_pool_default(struct starpool_location location,
                                           enum starpool_memory memory,
                                           struct starpool_pool **pool_out)
{
    return get_bare(location, memory, false, pool_out);
}

enum starpool_status starpool_pool_current(struct starpool_location location,
                                           enum starpool_memory memory,
                                           struct starpool_pool **pool_out)
{
    return get_bare(location, memory, true, pool_out);
}

enum starpool_status starpool_pool_set_current(struct starpool_location location,
                                               enum starpool_memory memory,
                                               struct starpool_pool *pool)
{
    enum starpool_status status;
    bool is_drivers = false; /* it is the driver that knows which one is current */

    if (pool == NULL)
        return STARPOOL_EINVAL;
    status = sp_location_resolve(&location, memory);
    if (status != STARPOOL_OK)
        return status;
    if (!is_at(pool, location, memory))
        return STARPOOL_EINVAL;
    if (pool->driver != NULL) {
        status = sp_driver_pool_set_current(pool, &is_drivers);
        if (status != STARPOOL_OK)
            return status;
    }
    sp_lock_take(&registry.lock);
    for (struct starpool_pool *other = registry.pools; other != NULL; other = other->next) {
        if (is_at(other, location, memory))
            other->is_current = false;
    }
    pool->is_current = !is_drivers;
    sp_lock_give(&registry.lock);
    return STARPOOL_OK;
}

void sp_registry_forget(struct starpool_pool *pool)
{
    sp_lock_take(&registry.lock);
    pool->is_current = false;
    pool->is_given_up = true;
    sp_lock_give(&registry.lock);
}

bool sp_claim_starpu(void)
{
    bool is_first;

    sp_lock_take(&registry.lock);
    is_first = !registry.is_starpu_claimed;
    registry.is_starpu_claimed = true;
    sp_lock_give(&registry.lock);
    return is_first;
}

const char *sp_build_version(void)
{
    return PACKAGE_VERSION;
}
