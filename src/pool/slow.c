/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a thread's cache cannot serve or keep by itself: the depot, the store, and the ladder of
 * growth.c for what neither has. */
#include "config.h"

#include "src/pool/captured.h"
#include "src/pool/pool.h"
#include "src/trace/record.h"

/* Inside the thread's cache, with the pool's lock: a magazine from the depot may hold what the
 * cache had not. */
static bool take_from_depot(struct starpool_pool *pool, struct sp_front *front, size_t size,
                            struct sp_cached *block_out)
{
    struct sp_cached block = {0, NULL};

    if (size > SP_CLASS_MAX_SIZE || !sp_bias_enter(&front->bias))
        return false;
    front->missed_class = sp_size_class(size);
    if (sp_front_pool(front) == pool && sp_front_load(front, &pool->depot, sp_size_class(size)))
        block = sp_front_pop(front, size);
    if (block.range != NULL) {
        sp_front_count(front);
        sp_range_set_state(block.range, SP_RANGE_LIVE);
        *block_out = block;
    }
    sp_bias_leave(&front->bias);
    return block.range != NULL;
}

enum starpool_status sp_pool_take(struct starpool_pool *pool, size_t size, size_t align,
                                  struct sp_cached *block_out)
{
    struct sp_front *front = sp_front_get(pool, true);
    bool is_done = false;
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
        is_done = take_from_depot(pool, front, size, block_out);
    if (!is_done) {
        is_done = sp_pool_take_locked(pool, size, align, block_out);
        pool->stats.n_resident += is_done;
    }
    sp_lock_give(&pool->lock);
    return is_done ? STARPOOL_OK : sp_pool_climb(pool, size, align, block_out);
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

/* The calling thread's cache of a pool, entered, or NULL. */
static struct sp_front *enter_front(struct starpool_pool *pool)
{
    struct sp_front *front = sp_front_get(pool, false);

    return front != NULL && sp_bias_enter(&front->bias) ? front : NULL;
}

/* With the pool's lock, inside the thread's cache if there is one. */
static void give_locked(struct starpool_pool *pool, struct sp_front *front,
                        struct sp_range *range)
{
    /* What the cache keeps it counts itself. */
    if (front != NULL && sp_front_pool(front) == pool && keep(pool, front, range))
        return;
    sp_store_give(&pool->store, range);
    pool->stats.n_frees++;
}

static void unlock_and_leave(struct starpool_pool *pool, struct sp_front *front)
{
    bool is_done;

    sp_pool_check(pool);
    is_done = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    if (front != NULL)
        sp_bias_leave(&front->bias);
    if (is_done)
        sp_pool_release(pool);
}

void sp_pool_give(struct starpool_pool *pool, struct sp_range *range, uint64_t n_resets)
{
    struct sp_front *front = enter_front(pool);

    sp_lock_take(&pool->lock);
    if (sp_pool_n_resets(pool) == n_resets) /* What a reset took has been counted. */
        give_locked(pool, front, range);
    unlock_and_leave(pool, front);
}

bool sp_pool_give_fleeting(void *ptr)
{
    struct starpool_pool *pool = sp_pool_get_live(ptr);
    struct sp_front *front;
    struct sp_range *range;

    if (pool == NULL)
        return false;
    sp_pool_withdraw(pool, ptr);
    front = enter_front(pool);
    sp_lock_take(&pool->lock);
    range = sp_pool_take_back_locked(pool, ptr);
    if (range != NULL) {
        sp_trace_free(pool->id, ptr, range->size, STARPOOL_TRACE_HOST, 0);
        give_locked(pool, front, range);
    }
    unlock_and_leave(pool, front);
    sp_registry_put(pool);
    return range != NULL;
}
