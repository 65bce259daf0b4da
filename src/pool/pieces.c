/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pieces of memory that a pool has: into its store, and back to the system when nothing of
 * them is in use. */
#include "config.h"

#include "src/pool/pool.h"
#include "src/trace/record.h"
#include "src/util/options.h"

static void count_piece(struct starpool_pool *pool, const struct sp_piece *piece, bool is_added)
{
    struct starpool_stats *stats = &pool->stats;
    uint64_t sign = is_added ? 1 : (uint64_t)-1;

    stats->reserved_bytes += sign * piece->size;
    stats->locked_bytes += sign * piece->locked_bytes;
    stats->huge_bytes += sign * piece->huge_bytes;
    stats->huge_fallback_bytes += sign * piece->fallback_bytes;
    stats->spilled_bytes += sign * piece->spilled_bytes;
    stats->registered_bytes += sign * piece->registered_bytes;
    stats->unregistered_bytes += sign * piece->unregistered_bytes;
    stats->unbound_bytes += sign * (piece->is_bound ? 0 : piece->size);
    stats->n_segments += sign;
    if (!is_added) {
        stats->n_releases++;
        return;
    }
    stats->n_grows++;
    stats->n_spills += piece->spilled_bytes > 0;
    stats->reserved_high_bytes = sp_max(stats->reserved_high_bytes, stats->reserved_bytes);
    stats->spilled_high_bytes = sp_max(stats->spilled_high_bytes, stats->spilled_bytes);
}

enum starpool_status sp_pool_lock_stocked(struct starpool_pool *pool)
{
    sp_lock_take(&pool->lock);
    while (!sp_store_is_stocked(&pool->store)) {
        struct sp_stock *stock;

        sp_lock_give(&pool->lock);
        stock = sp_stock_make();
        if (stock == NULL)
            return STARPOOL_ENOMEM;
        sp_lock_take(&pool->lock);
        sp_store_put_stock(&pool->store, stock);
    }
    return STARPOOL_OK;
}

void sp_pool_check(const struct starpool_pool *pool)
{
    if (SP_UNLIKELY(sp_option_number(SP_OPTION_CHECKS) >= 2))
        SP_ASSERT(sp_store_is_valid(&pool->store));
}

void sp_pool_add_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    if (sp_pool_poisons(pool))
        sp_poison_piece_added(piece->base, piece->size);
    piece->prev = NULL;
    piece->next = pool->pieces;
    if (pool->pieces != NULL)
        pool->pieces->prev = piece;
    pool->pieces = piece;
    if (piece->region->heap == NULL)
        sp_heap_attach(&pool->store.large, piece->region);
    sp_store_add(&pool->store, piece->region, piece->base, piece->size);
    count_piece(pool, piece, true);
    sp_trace_grow(pool->id, piece->base, piece->size);
}

static void unlink_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    if (piece->prev != NULL)
        piece->prev->next = piece->next;
    else
        pool->pieces = piece->next;
    if (piece->next != NULL)
        piece->next->prev = piece->prev;
}

/* Put a piece into the store again that the system did not take back: no growth, no release. */
static void keep_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    if (sp_pool_lock_stocked(pool) != STARPOOL_OK)
        return; /* It stays mapped, and nobody's. */
    sp_pool_add_piece(pool, piece);
    pool->stats.n_grows--;
    pool->stats.n_releases--;
    pool->stats.n_spills -= piece->spilled_bytes > 0;
    sp_lock_give(&pool->lock);
}

bool sp_pool_put_back(struct starpool_pool *pool, struct sp_piece *piece)
{
    struct sp_region *region;

    if (!pool->backing->ops->shrink(pool->backing, piece, &region))
        return false;
    if (region == NULL)
        return true;
    if (region->heap != NULL) {
        sp_lock_take(&pool->lock);
        sp_heap_detach(&pool->store.large, region);
        sp_lock_give(&pool->lock);
    }
    pool->backing->ops->drop_region(pool->backing, region);
    return true;
}

bool sp_pool_cut_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    if (!sp_store_cut(&pool->store, piece->region, piece->base, piece->size))
        return false;
    unlink_piece(pool, piece);
    count_piece(pool, piece, false);
    sp_trace_release(pool->id, piece->base, piece->size);
    return true;
}

/* With the growth lock: give a piece back if nothing of it is in use. Needs no record but where
 * free memory lies on both sides of the piece; without one it stays. */
static bool release_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    bool is_free;

    sp_lock_take(&pool->lock);
    is_free = sp_pool_cut_piece(pool, piece);
    sp_lock_give(&pool->lock);
    if (!is_free)
        return false;
    if (sp_pool_poisons(pool))
        sp_poison_piece_removed(piece->base, piece->size);
    if (sp_pool_put_back(pool, piece))
        return true;
    keep_piece(pool, piece);
    return false;
}

uint64_t sp_pool_reserved(struct starpool_pool *pool)
{
    uint64_t bytes;

    sp_lock_take(&pool->lock);
    bytes = pool->stats.reserved_bytes;
    sp_lock_give(&pool->lock);
    return bytes;
}

uint64_t sp_pool_trim_locked(struct starpool_pool *pool, uint64_t keep)
{
    uint64_t released = 0;
    struct sp_piece *next;

    sp_pool_drain(pool);
    if (sp_pool_reserved(pool) > keep)
        sp_ordered_settle(pool, 0);
    sp_lock_take(&pool->lock);
    sp_store_drop_idle_spans(&pool->store);
    sp_lock_give(&pool->lock);
    for (struct sp_piece *piece = pool->pieces; piece != NULL; piece = next) {
        size_t size = piece->size;

        next = piece->next;
        if (sp_pool_reserved(pool) - size < keep) /* Never negative: the piece is part of it. */
            continue;
        if (release_piece(pool, piece))
            released += size;
    }
    if (released > 0)
        sp_log(SP_LOG_DEBUG, "%s: released %llu bytes", pool->name,
               (unsigned long long)released);
    return released;
}

uint64_t sp_pool_trim(struct starpool_pool *pool, uint64_t keep)
{
    uint64_t released;

    sp_pool_notice_reset(pool);
    /* Frees that have executed meanwhile are seen now. */
    sp_streams_poll(true);
    sp_lock_take(&pool->growth);
    released = sp_pool_trim_locked(pool, keep);
    sp_lock_give(&pool->growth);
    return released;
}
