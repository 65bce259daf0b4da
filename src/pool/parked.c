/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of the store, which the host allocated, that were freed in a stream: they wait here
 * until its work before the free is over, and only then are the store's again. And what goes
 * back to the system of all pools when such work is over. */
#include "config.h"

#include "src/pool/ordered.h"

#include "src/pool/pool.h"
#include "src/trace/record.h"
#include "src/util/meta.h"
#include "src/util/poison.h"

/* Records that are made at a time. */
#define N_RECORDS 64

/* A block whose free need not be over. */
struct sp_parked {
    struct sp_range *range;
    struct sp_point free;
    struct sp_parked *next;
};

static struct sp_parked *take_record(struct starpool_pool *pool)
{
    struct sp_ordered *ordered = &pool->ordered;
    struct sp_parked *records, *record;

    sp_lock_take(&pool->lock);
    if (ordered->spare_parked == NULL) {
        sp_lock_give(&pool->lock);
        records = sp_meta_alloc(N_RECORDS * sizeof(*records));
        sp_lock_take(&pool->lock);
        for (size_t i = 0; records != NULL && i < N_RECORDS; i++) {
            records[i].next = ordered->spare_parked;
            ordered->spare_parked = &records[i];
        }
    }
    record = ordered->spare_parked;
    if (record != NULL)
        ordered->spare_parked = record->next;
    sp_lock_give(&pool->lock);
    return record;
}

static void drop_record_locked(struct starpool_pool *pool, struct sp_parked *record)
{
    record->next = pool->ordered.spare_parked;
    pool->ordered.spare_parked = record;
}

static void drop_record(struct starpool_pool *pool, struct sp_parked *record)
{
    sp_lock_take(&pool->lock);
    drop_record_locked(pool, record);
    sp_lock_give(&pool->lock);
}

/* A live block of the store waits from now on until the stream is past `at`. EINVAL: it is none
 * any more. */
static enum starpool_status park(struct starpool_pool *pool, struct sp_parked *record,
                                 void *ptr, const struct sp_stream *stream, struct sp_point at)
{
    struct sp_ordered *ordered = &pool->ordered;
    struct sp_range *range;

    sp_lock_take(&pool->lock);
    range = sp_pool_take_back_locked(pool, ptr);
    if (range == NULL) {
        drop_record_locked(pool, record);
        sp_lock_give(&pool->lock);
        return STARPOOL_EINVAL;
    }
    sp_trace_free(pool->id, ptr, range->size, stream->number, at.seq);
    *record = (struct sp_parked){.range = range, .free = at, .next = ordered->parked};
    ordered->parked = record;
    ordered->parked_bytes += range->size;
    sp_streams_lock();
    sp_order_hold(sp_streams_order(), at.slot);
    sp_streams_unlock();
    pool->stats.n_frees++;
    sp_lock_give(&pool->lock);
    return STARPOOL_OK;
}

enum starpool_status sp_parked_free(void *ptr, struct sp_stream *stream)
{
    struct starpool_pool *pool = sp_pool_get_live(ptr);
    struct sp_parked *record = pool == NULL ? NULL : take_record(pool);
    struct sp_point at;
    enum starpool_status status = pool == NULL ? STARPOOL_EINVAL : STARPOOL_ENOMEM;

    if (record != NULL) {
        status = sp_streams_submit(stream, &at);
        if (status == STARPOOL_OK) {
            sp_pool_withdraw(pool, ptr);
            status = park(pool, record, ptr, stream, at);
        } else {
            drop_record(pool, record);
        }
    }
    if (pool != NULL)
        sp_registry_put(pool);
    return status;
}

static bool is_over(const struct sp_order *order, struct sp_point free)
{
    return sp_order_is_before(order, free, SP_SLOT_HOST) ||
           order->streams[free.slot].done_seq >= free.seq;
}

/* With both locks: what has waited long enough, or all of them. */
static void settle(struct starpool_pool *pool, bool takes_all)
{
    struct sp_ordered *ordered = &pool->ordered;
    struct sp_order *order = sp_streams_order();
    struct sp_parked **link = &ordered->parked, *record;

    while ((record = *link) != NULL) {
        if (!takes_all && !is_over(order, record->free)) {
            link = &record->next;
            continue;
        }
        *link = record->next;
        sp_order_release(order, record->free.slot);
        ordered->parked_bytes -= record->range->size;
        if (sp_pool_poisons(pool))
            sp_poison_block_freed((void *)record->range->start, record->range->size);
        sp_store_give(&pool->store, record->range);
        drop_record_locked(pool, record);
    }
}

void sp_parked_settle_locked(struct starpool_pool *pool)
{
    settle(pool, false);
}

void sp_parked_forget_locked(struct starpool_pool *pool)
{
    settle(pool, true);
}

/* ---- all pools --------------------------------------------------------------------------- */

/* What a destroyed pool still holds goes as soon as the frees are over. */
static void settle_destroyed(struct starpool_pool *pool)
{
    bool is_released;

    sp_streams_poll(true);
    sp_lock_take(&pool->lock);
    sp_streams_lock();
    sp_ordered_settle_locked(pool, 0);
    is_released = sp_pool_claim_release(pool);
    sp_ordered_unlock(pool);
    if (is_released)
        sp_pool_release(pool);
}

/* True if the pool has memory beyond its threshold that nothing is in any more. */
static bool has_too_much(struct starpool_pool *pool)
{
    struct sp_reuse_stats engine;
    size_t parked_bytes;
    bool answer;

    sp_lock_take(&pool->lock);
    parked_bytes = pool->ordered.parked_bytes;
    sp_streams_lock();
    sp_parked_settle_locked(pool);
    sp_streams_unlock();
    sp_ordered_stats(pool, &engine);
    answer = pool->stats.reserved_bytes > pool->release_threshold &&
             (engine.ready_bytes > 0 || pool->ordered.parked_bytes < parked_bytes);
    sp_lock_give(&pool->lock);
    return answer;
}

void sp_ordered_settle_all(void)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        uint64_t threshold;
        bool has_any, is_destroyed;

        sp_lock_take(&pool->lock);
        has_any = pool->ordered.reuse != NULL || pool->ordered.parked != NULL;
        is_destroyed = pool->is_destroyed;
        threshold = pool->release_threshold;
        sp_lock_give(&pool->lock);
        if (has_any && is_destroyed)
            settle_destroyed(pool);
        else if (has_any && has_too_much(pool))
            sp_pool_trim(pool, threshold);
    }
}
