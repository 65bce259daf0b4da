/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes what threads have cached of a pool back into its store. */
#include "config.h"

#include "src/pool/pool.h"

static struct sp_front *first_front(struct starpool_pool *pool)
{
    return atomic_load_explicit(&pool->fronts, memory_order_acquire);
}

void sp_pool_close_fronts(struct starpool_pool *pool)
{
    /* A cache that joins meanwhile holds nothing yet, and is met at the next drain. */
    struct sp_front *first = first_front(pool);

    for (struct sp_front *front = first; front != NULL; front = front->next)
        sp_bias_close(&front->bias);
    if (first != NULL)
        sp_bias_barrier();
    for (struct sp_front *front = first; front != NULL; front = front->next)
        sp_bias_wait(&front->bias);
}

void sp_pool_open_fronts(struct starpool_pool *pool)
{
    if (sp_fronts_are_shut())
        return;
    for (struct sp_front *front = first_front(pool); front != NULL; front = front->next)
        sp_bias_open(&front->bias);
}

void sp_pool_drain(struct starpool_pool *pool)
{
    sp_pool_close_fronts(pool);
    sp_lock_take(&pool->lock);
    for (struct sp_front *front = first_front(pool); front != NULL; front = front->next) {
        if (atomic_load_explicit(&front->bias.closed, memory_order_relaxed) != 0)
            sp_front_empty(front, &pool->store);
    }
    sp_depot_empty(&pool->depot, &pool->store);
    sp_lock_give(&pool->lock);
    sp_pool_open_fronts(pool);
}

bool sp_pool_has_open_front(struct starpool_pool *pool)
{
    for (struct sp_front *front = first_front(pool); front != NULL; front = front->next) {
        if (atomic_load_explicit(&front->bias.closed, memory_order_relaxed) == 0)
            return true;
    }
    return false;
}

void sp_pool_follow_trace(struct starpool_pool *pool)
{
    sp_lock_take(&pool->growth);
    /* Under the pool's lock, so that a cache that joins either is seen here or sees. One that
     * joined before the drain came to that is open yet. */
    do
        sp_pool_drain(pool);
    while (sp_fronts_are_shut() && sp_pool_has_open_front(pool));
    sp_lock_give(&pool->growth);
}
