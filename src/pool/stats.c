/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters of a pool: what the pool counts itself under its lock, plus what the threads' caches
 * count without one. */
#include "config.h"

#include <starpool/stats.h>

#include <string.h>

#include "src/pool/pool.h"

static const struct sp_front *first_front(const struct starpool_pool *pool)
{
    return atomic_load_explicit(&pool->fronts, memory_order_acquire);
}

size_t sp_pool_cached_bytes(const struct starpool_pool *pool)
{
    size_t bytes = pool->depot.cached_bytes;

    for (const struct sp_front *front = first_front(pool); front != NULL; front = front->next)
        bytes += sp_front_cached(front);
    return bytes;
}

size_t sp_pool_used_bytes(const struct starpool_pool *pool)
{
    size_t cached = sp_pool_cached_bytes(pool);

    /* A thread that is inside its cache just now may have been counted half. */
    return cached < pool->store.used_bytes ? pool->store.used_bytes - cached : 0;
}

void sp_pool_collect(struct starpool_pool *pool, struct starpool_stats *stats_out)
{
    struct starpool_stats *stats = stats_out;

    *stats = pool->stats;
    for (const struct sp_front *front = first_front(pool); front != NULL; front = front->next) {
        uint64_t n_allocs = atomic_load_explicit(&front->n_allocs, memory_order_relaxed);

        stats->n_allocs += n_allocs;
        stats->n_resident += n_allocs;
        stats->n_frees += sp_front_n_frees(front);
    }
    stats->n_live = stats->n_allocs > stats->n_frees ? stats->n_allocs - stats->n_frees : 0;
    stats->cached_bytes = sp_pool_cached_bytes(pool);
    stats->used_bytes = sp_pool_used_bytes(pool);
    stats->used_high_bytes = pool->store.used_high_bytes;
    stats->largest_hole_bytes =
        sp_max(sp_heap_largest(&pool->store.large), sp_heap_largest(&pool->store.small));
}

enum starpool_status starpool_pool_stats(struct starpool_pool *pool,
                                         struct starpool_stats *stats_out)
{
    if (pool == NULL || stats_out == NULL || stats_out->struct_size < sizeof(*stats_out))
        return STARPOOL_EINVAL;
    sp_lock_take(&pool->lock);
    sp_pool_collect(pool, stats_out);
    sp_lock_give(&pool->lock);
    stats_out->struct_size = sizeof(*stats_out);
    return STARPOOL_OK;
}

enum starpool_status starpool_pool_reset_peaks(struct starpool_pool *pool)
{
    enum starpool_status status;

    status = starpool_pool_set_attribute(pool, STARPOOL_ATTR_USED_HIGH, 0);
    if (status != STARPOOL_OK)
        return status;
    return starpool_pool_set_attribute(pool, STARPOOL_ATTR_RESERVED_HIGH, 0);
}
