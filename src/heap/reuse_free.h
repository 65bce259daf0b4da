/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a free range is by its state: in a bin or a chain, in a queue, and in the counters.
 * Inlined, as the bins are. */
#ifndef SP_REUSE_FREE_H
#define SP_REUSE_FREE_H

#include "src/heap/reuse_bins.h"
#include "src/heap/reuse_impl.h"

/* The bins of a range by its state, unless it is pending and loose. */
static inline struct sp_reuse_bins *sp_reuse_bins_of(struct sp_reuse *reuse,
                                                     const struct sp_reuse_range *range)
{
    if (range->state == SP_REUSE_READY)
        return &reuse->ready[range->is_loose];
    if (range->state == SP_REUSE_DONE)
        return &reuse->done[range->is_loose];
    return &sp_reuse_stream_at(reuse, range->slot)->bins;
}

static inline bool sp_reuse_is_in_chain(const struct sp_reuse_range *range)
{
    return range->state == SP_REUSE_PENDING && range->is_loose;
}

static inline uint32_t *sp_reuse_chain_of(struct sp_reuse *reuse,
                                          const struct sp_reuse_range *range)
{
    unsigned fl, sl;

    sp_reuse_bin_of(range->size >> reuse->unit_shift, &fl, &sl);
    return sp_reuse_loose_chain(sp_reuse_stream_at(reuse, range->slot), fl, sl);
}

/* Put a range into a bin, or a chain, and out of it. */
static inline void sp_reuse_bin(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    if (sp_reuse_is_in_chain(range)) {
        sp_reuse_stream_at(reuse, range->slot)->n_loose++;
        sp_reuse_chain_add(reuse, sp_reuse_chain_of(reuse, range), ref);
        return;
    }
    if (range->state == SP_REUSE_READY)
        reuse->n_idle += (range->prev | range->next) == 0;
    sp_reuse_bins_add(reuse, sp_reuse_bins_of(reuse, range), ref);
}

static inline void sp_reuse_unbin(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    if (sp_reuse_is_in_chain(range)) {
        sp_reuse_stream_at(reuse, range->slot)->n_loose--;
        sp_reuse_chain_remove(reuse, sp_reuse_chain_of(reuse, range), range);
        return;
    }
    if (range->state == SP_REUSE_READY)
        reuse->n_idle -= (range->prev | range->next) == 0;
    sp_reuse_bins_remove(reuse, sp_reuse_bins_of(reuse, range), range);
}

/* The queue of a range that is not ready. */
static inline struct sp_reuse_queue *sp_reuse_queue_of(const struct sp_reuse *reuse,
                                                       const struct sp_reuse_range *range)
{
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, range->slot);

    return range->state == SP_REUSE_DONE ? &stream->done : &stream->pending;
}

static inline void sp_reuse_count_freed(struct sp_reuse *reuse, sp_slot slot, size_t size)
{
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

    if (stream->bytes == 0)
        sp_order_hold(reuse->order, slot);
    stream->bytes += size;
    reuse->stats.pending_bytes += size;
}

static inline void sp_reuse_uncount(struct sp_reuse *reuse, const struct sp_reuse_range *range,
                                    size_t size)
{
    struct sp_reuse_stream *stream;

    if (range->state == SP_REUSE_READY) {
        reuse->stats.ready_bytes -= size;
        return;
    }
    stream = sp_reuse_stream_at(reuse, range->slot);
    stream->bytes -= size;
    reuse->stats.pending_bytes -= size;
    if (stream->bytes == 0)
        sp_order_release(reuse->order, range->slot);
}

/* A whole range leaves where it is. */
static inline void sp_reuse_take_out(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    sp_reuse_unbin(reuse, ref);
    sp_reuse_uncount(reuse, range, range->size);
    if (range->state != SP_REUSE_READY)
        sp_reuse_queue_remove(reuse, sp_reuse_queue_of(reuse, range), range);
}

/* A range that is in no bin and no queue is free since the point that it is stamped with. */
static inline void sp_reuse_settle_freed(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, range->slot);
    const struct sp_order_stream *order = &reuse->order->streams[range->slot];
    bool is_done;

    sp_reuse_count_freed(reuse, range->slot, range->size);
    /* Only if older frees that have executed are there already: stamps rise along a queue. And
     * always then: until the stream has news again, sharing passes it by. */
    is_done = reuse->shares_done && order->epoch <= reuse->shared_epoch &&
              range->seq <= order->done_seq;
    range->is_fresh = false;
    range->is_loose = true;
    range->state = is_done ? SP_REUSE_DONE : SP_REUSE_PENDING;
    sp_reuse_queue_add(reuse, is_done ? &stream->done : &stream->pending, ref);
    sp_reuse_bin(reuse, ref);
    if (SP_UNLIKELY(stream->n_loose > SP_REUSE_MAX_LOOSE))
        sp_reuse_merge_stream(reuse, stream);
}

#endif /* SP_REUSE_FREE_H */
