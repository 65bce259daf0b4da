/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a thread's cache cannot serve or keep by itself: the depot, the store, and the ladder of
 * growth.c for what neither has. */
#include "config.h"

#include "src/pool/captured.h"
#include "src/pool/pool.h"

/* Inside the thread's cache: a magazine from the depot may hold what the cache had not. */
static struct sp_range *take_from_depot(struct starpool_pool *pool, struct sp_front *front,
                                        size_t size)
{
    struct sp_range *range = NULL;

    if (size > SP_CLASS_MAX_SIZE || !sp_bias_enter(&front->bias))
        return NULL;
    front->missed_class = sp_size_class(size);
    if (sp_front_pool(front) == pool && sp_front_load(front, &pool->depot, sp_size_class(size)))
        range = sp_front_pop(front, size).range;
    if (range != NULL)
        sp_front_count(front);
    sp_bias_leave(&front->bias);
    return range;
}

enum starpool_status sp_pool_take(struct starpool_pool *pool, size_t size, size_t align,
                                  struct sp_range **range_out)
{
    struct sp_front *front = sp_front_get(pool, true);
    struct sp_range *range = NULL;
    enum starpool_status status;

    sp_held_notice();
    status = sp_pool_lock_stocked(pool);
    if (status != STARPOOL_OK)
        return status;
    if (pool->is_destroyed) {
        sp_lock_give(&pool->lock);
        return STARPOOL_EINVAL;
    }
    if (front != NULL && align <= SP_SMALL_UNIT)
        range = take_from_depot(pool, front, size);
    if (range == NULL) {
        range = sp_pool_take_locked(pool, size, align);
        pool->stats.n_resident += range != NULL;
    }
    sp_lock_give(&pool->lock);
    if (range == NULL)
        return sp_pool_climb(pool, size, align, range_out);
    *range_out = range;
    return STARPOOL_OK;
}

/* ---- giving back --------------------------------------------------------------------- */

/* Inside the thread's cache, with the pool's lock: the bytes that it may hold. A block that is
 * too much and of the class that was asked for in vain shows that more would have served. */
static size_t bound_for(struct starpool_pool *pool, const struct sp_front *front,
                        const struct sp_range *range)
{
    size_t bound = atomic_load_explicit(&pool->front_bound, memory_order_relaxed);

    if (sp_front_cached(front) + range->size <= bound || range->tag != front->missed_class ||
        bound >= SP_FRONT_BOUND_HIGH)
        return bound;
    bound *= 2;
    atomic_store_explicit(&pool->front_bound, bound, memory_order_relaxed);
    return bound;
}

/* Inside the thread's cache, with the pool's lock: make room for a block and keep it. */
static bool keep(struct starpool_pool *pool, struct sp_front *front, struct sp_range *range)
{
    struct sp_cached block = {range->start, range};
    size_t bound;

    if (range->tag == SP_NO_CLASS)
        return false;
    bound = bound_for(pool, front, range);
    if (sp_front_push(front, range->tag, block, bound))
        return true;
    /* A full class hands its oldest half on; a cache over its bound starts anew, since what
     * fills it is not what is asked for. */
    if (sp_front_cached(front) + range->size > bound ||
        !sp_front_unload(front, &pool->depot, range->tag))
        sp_front_empty(front, &pool->store);
    return sp_front_push(front, range->tag, block, bound);
}

void sp_pool_give(struct starpool_pool *pool, struct sp_range *range)
{
    struct sp_front *front = sp_front_get(pool, false);
    bool is_inside = front != NULL && sp_bias_enter(&front->bias);
    bool is_done;

    sp_lock_take(&pool->lock);
    /* What the cache keeps it counts itself. */
    if (!is_inside || sp_front_pool(front) != pool || !keep(pool, front, range)) {
        sp_store_give(&pool->store, range);
        pool->stats.n_frees++;
    }
    sp_pool_check(pool);
    is_done = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    if (is_inside)
        sp_bias_leave(&front->bias);
    if (is_done)
        sp_pool_release(pool);
}
