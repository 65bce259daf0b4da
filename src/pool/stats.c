/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters of a pool: what the pool counts itself under its lock, plus what the threads' caches
 * count without one. */
#include "config.h"

#include <starpool/stats.h>

#include <string.h>

#include "src/pool/captured.h"
#include "src/pool/driver_pool.h"
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

/* Live blocks and those in caches, in bytes: what leaves the store less what is not a user's.
 */
static size_t out_bytes(const struct starpool_pool *pool, const struct sp_reuse_stats *engine)
{
    return pool->store.used_bytes - pool->ordered.chunk_bytes - pool->ordered.parked_bytes +
           engine->used_bytes;
}

/* The number of them; those at the depot are left out. */
static uint64_t n_out(const struct starpool_pool *pool)
{
    uint64_t n = pool->stats.n_allocs - pool->stats.n_frees;

    for (const struct sp_front *front = first_front(pool); front != NULL; front = front->next)
        n -= front->n_moved;
    return n;
}

void sp_pool_note_peaks(struct starpool_pool *pool)
{
    struct sp_reuse_stats engine = {0};

    if (pool->ordered.reuse != NULL)
        sp_reuse_stats(pool->ordered.reuse, &engine);
    pool->used_high_bytes = sp_max(pool->used_high_bytes, out_bytes(pool, &engine));
    pool->n_live_high = sp_max(pool->n_live_high, n_out(pool));
}

void sp_pool_reset_used_high(struct starpool_pool *pool)
{
    pool->used_high_bytes = 0;
    pool->n_live_high = 0;
    sp_pool_note_peaks(pool);
}

static size_t used_bytes(struct starpool_pool *pool, const struct sp_reuse_stats *engine)
{
    size_t cached = sp_pool_cached_bytes(pool), out = out_bytes(pool, engine);

    /* A thread that is inside its cache just now may have been counted half. */
    return cached < out ? out - cached : 0;
}

void sp_ordered_stats(struct starpool_pool *pool, struct sp_reuse_stats *stats_out)
{
    *stats_out = (struct sp_reuse_stats){0};
    if (pool->ordered.reuse == NULL)
        return;
    sp_streams_lock();
    sp_reuse_notice(pool->ordered.reuse);
    sp_reuse_stats(pool->ordered.reuse, stats_out);
    sp_streams_unlock();
}

size_t sp_ordered_largest(struct starpool_pool *pool)
{
    size_t size = 0;

    if (pool->ordered.reuse != NULL) {
        sp_streams_lock();
        size = sp_reuse_largest(pool->ordered.reuse);
        sp_streams_unlock();
    }
    return size;
}

size_t sp_pool_used_bytes(struct starpool_pool *pool)
{
    struct sp_reuse_stats engine;

    sp_ordered_stats(pool, &engine);
    return used_bytes(pool, &engine);
}

static void collect_ordered(const struct starpool_pool *pool,
                            const struct sp_reuse_stats *engine,
                            struct starpool_stats *stats_out)
{
    stats_out->ordered_ready_bytes = engine->ready_bytes;
    stats_out->ordered_pending_bytes = engine->pending_bytes + pool->ordered.parked_bytes;
    stats_out->n_takes_fresh = engine->n_takes[SP_EDGE_FRESH];
    stats_out->n_takes_stream = engine->n_takes[SP_EDGE_STREAM];
    stats_out->n_takes_seen = engine->n_takes[SP_EDGE_SEEN];
    stats_out->n_takes_event = engine->n_takes[SP_EDGE_EVENT];
    stats_out->n_takes_executed = engine->n_takes[SP_EDGE_EXECUTED];
    stats_out->n_takes_internal = engine->n_takes[SP_EDGE_INTERNAL];
}

void sp_pool_collect(struct starpool_pool *pool, struct starpool_stats *stats_out)
{
    struct starpool_stats *stats = stats_out;
    struct sp_reuse_stats engine;

    sp_ordered_stats(pool, &engine);
    *stats = pool->stats;
    for (const struct sp_front *front = first_front(pool); front != NULL; front = front->next) {
        uint64_t n_allocs = atomic_load_explicit(&front->n_allocs, memory_order_relaxed);

        stats->n_allocs += n_allocs;
        stats->n_resident += n_allocs;
        stats->n_frees += sp_front_n_frees(front);
    }
    stats->n_live = stats->n_allocs > stats->n_frees ? stats->n_allocs - stats->n_frees : 0;
    stats->n_live_high = sp_max(pool->n_live_high, stats->n_live);
    stats->cached_bytes = sp_pool_cached_bytes(pool);
    stats->used_bytes = used_bytes(pool, &engine);
    stats->used_high_bytes = pool->used_high_bytes;
    stats->largest_hole_bytes =
        sp_max(sp_heap_largest(&pool->store.large), sp_heap_largest(&pool->store.small));
    stats->largest_hole_bytes = sp_max(stats->largest_hole_bytes, sp_ordered_largest(pool));
    collect_ordered(pool, &engine, stats);
}

enum starpool_status starpool_pool_stats(struct starpool_pool *pool,
                                         struct starpool_stats *stats_out)
{
    if (pool == NULL || stats_out == NULL || stats_out->struct_size < sizeof(*stats_out))
        return STARPOOL_EINVAL;
    sp_held_notice();
    if (pool->driver != NULL) {
        enum starpool_status status = sp_driver_pool_collect(pool, stats_out);

        if (status != STARPOOL_OK)
            return status;
    } else {
        sp_lock_take(&pool->lock);
        sp_pool_collect(pool, stats_out);
        sp_lock_give(&pool->lock);
    }
    stats_out->struct_size = sizeof(*stats_out);
    return STARPOOL_OK;
}

enum starpool_status starpool_pool_reset_peaks(struct starpool_pool *pool)
{
    if (pool == NULL)
        return STARPOOL_EINVAL;
    if (pool->driver != NULL)
        return sp_driver_pool_reset_peaks(pool);
    sp_lock_take(&pool->lock);
    sp_pool_reset_used_high(pool);
    pool->stats.reserved_high_bytes = pool->stats.reserved_bytes;
    sp_lock_give(&pool->lock);
    return STARPOOL_OK;
}
