/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where free ranges of a stream-ordered heap are kept, and how they merge, split and move on as
 * the host and the streams get to know of their frees. */
#include "config.h"

#include "src/heap/reuse_impl.h"

#include "src/heap/reuse_bins.h"

/* ---- bins and counters --------------------------------------------------------------- */

static inline void ready_add(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    reuse->n_idle += range->prev == 0 && range->next == 0;
    sp_reuse_bins_add(reuse, &reuse->ready, ref);
}

static inline void ready_remove(struct sp_reuse *reuse, const struct sp_reuse_range *range)
{
    reuse->n_idle -= range->prev == 0 && range->next == 0;
    sp_reuse_bins_remove(reuse, &reuse->ready, range);
}

static inline void quick_remove(struct sp_reuse_stream *stream, uint32_t ref)
{
    uint32_t i = 0;

    while (stream->quick[i] != ref)
        i++;
    stream->n_quick--;
    SP_ASSERT(i <= stream->n_quick);
    for (; i < stream->n_quick; i++) {
        stream->quick[i] = stream->quick[i + 1];
        stream->quick_size[i] = stream->quick_size[i + 1];
    }
}

uint32_t sp_reuse_quick_find(const struct sp_reuse_stream *stream, size_t size)
{
    for (uint32_t i = stream->n_quick; i > 0; i--) {
        if (stream->quick_size[i - 1] == size)
            return stream->quick[i - 1];
    }
    return 0;
}

/* Put a range into a bin, by its state and size, and out of it. */
static inline void bin(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    if (range->state == SP_REUSE_READY)
        ready_add(reuse, ref);
    else if (range->state == SP_REUSE_DONE)
        sp_reuse_bins_add(reuse, &reuse->done, ref);
    else
        sp_reuse_bins_add(reuse, &sp_reuse_stream_at(reuse, range->slot)->bins, ref);
}

static inline void unbin(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    if (range->state == SP_REUSE_READY)
        ready_remove(reuse, range);
    else if (range->state == SP_REUSE_DONE)
        sp_reuse_bins_remove(reuse, &reuse->done, range);
    else if (range->state == SP_REUSE_PENDING)
        sp_reuse_bins_remove(reuse, &sp_reuse_stream_at(reuse, range->slot)->bins, range);
    else
        quick_remove(sp_reuse_stream_at(reuse, range->slot), ref);
}

/* The queue of a range that is not ready. */
static struct sp_reuse_queue *queue_of(const struct sp_reuse *reuse,
                                       const struct sp_reuse_range *range)
{
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, range->slot);

    return range->state == SP_REUSE_DONE ? &stream->done : &stream->pending;
}

static inline void count_freed(struct sp_reuse *reuse, sp_slot slot, size_t size)
{
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

    if (stream->bytes == 0)
        sp_order_hold(reuse->order, slot);
    stream->bytes += size;
    reuse->stats.pending_bytes += size;
}

static inline void uncount(struct sp_reuse *reuse, const struct sp_reuse_range *range,
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

/* ---- neighbours ---------------------------------------------------------------------- */

void sp_reuse_absorb(struct sp_reuse *reuse, uint32_t low_ref, uint32_t high_ref)
{
    struct sp_reuse_range *low = sp_reuse_at(reuse, low_ref);
    const struct sp_reuse_range *high = sp_reuse_at(reuse, high_ref);

    low->size += high->size;
    low->is_fresh = low->is_fresh && high->is_fresh;
    low->next = high->next;
    if (low->next != 0)
        sp_reuse_at(reuse, low->next)->prev = low_ref;
    sp_reuse_drop_record(reuse, high_ref);
    reuse->stats.n_merges++;
}

/* Cut the first `size` bytes off a range, as one that is nowhere but in the chunk. */
static uint32_t split(struct sp_reuse *reuse, uint32_t ref, size_t size)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref), *front;
    uint32_t front_ref = sp_reuse_new_record(reuse);

    front = sp_reuse_at(reuse, front_ref);
    *front = (struct sp_reuse_range){
        .start = range->start,
        .size = size,
        .seq = range->seq,
        .chunk = range->chunk,
        .slot = range->slot,
        .state = range->state,
        .is_fresh = range->is_fresh,
        .prev = range->prev,
        .next = ref,
    };
    if (range->prev != 0)
        sp_reuse_at(reuse, range->prev)->next = front_ref;
    else
        range->chunk->first = front_ref;
    range->prev = front_ref;
    range->start += size;
    range->size -= size;
    reuse->stats.n_splits++;
    return front_ref;
}

uint32_t sp_reuse_carve(struct sp_reuse *reuse, uint32_t ref, size_t size)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    unbin(reuse, ref);
    uncount(reuse, range, size);
    if (range->size == size) {
        if (range->state != SP_REUSE_READY)
            sp_reuse_queue_remove(reuse, queue_of(reuse, range), range);
        return ref;
    }
    ref = split(reuse, ref, size);
    bin(reuse, sp_reuse_at(reuse, ref)->next);
    return ref;
}

static inline bool is_ready(const struct sp_reuse *reuse, uint32_t ref)
{
    return ref != 0 && sp_reuse_at(reuse, ref)->state == SP_REUSE_READY;
}

void sp_reuse_settle_ready(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    uint32_t prev = range->prev, next = range->next;

    range->state = SP_REUSE_READY;
    reuse->stats.ready_bytes += range->size;
    if (is_ready(reuse, next)) {
        unbin(reuse, next);
        sp_reuse_absorb(reuse, ref, next);
    }
    if (is_ready(reuse, prev)) {
        unbin(reuse, prev);
        sp_reuse_absorb(reuse, prev, ref);
        ref = prev;
    }
    bin(reuse, ref);
}

/* Whether a neighbour was freed in the same stream and is in a bin. */
static inline bool is_freed_in(const struct sp_reuse *reuse, uint32_t ref, sp_slot slot)
{
    const struct sp_reuse_range *range;

    if (ref == 0)
        return false;
    range = sp_reuse_at(reuse, ref);
    return (range->state == SP_REUSE_PENDING || range->state == SP_REUSE_DONE) &&
           range->slot == slot;
}

/* Merge two ranges of one stream that are in its queues and in no bin. The later free decides
 * when all of it is free: the low one takes its place. */
static void merge_freed(struct sp_reuse *reuse, uint32_t low_ref, uint32_t high_ref)
{
    struct sp_reuse_range *low = sp_reuse_at(reuse, low_ref);
    struct sp_reuse_range *high = sp_reuse_at(reuse, high_ref);
    struct sp_reuse_queue *queue;

    if (low->seq < high->seq) {
        sp_reuse_queue_remove(reuse, queue_of(reuse, low), low);
        queue = queue_of(reuse, high);
        low->seq = high->seq;
        low->state = high->state;
        low->older = high->older;
        low->newer = high->newer;
        *(low->older != 0 ? &sp_reuse_at(reuse, low->older)->newer : &queue->oldest) = low_ref;
        *(low->newer != 0 ? &sp_reuse_at(reuse, low->newer)->older : &queue->newest) = low_ref;
    } else {
        sp_reuse_queue_remove(reuse, queue_of(reuse, high), high);
    }
    sp_reuse_absorb(reuse, low_ref, high_ref);
}

/* Merge a range that is in a queue, but in no bin, with neighbours of its stream; then put it
 * into a bin. */
static void mend(struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    uint32_t prev = range->prev, next = range->next;
    sp_slot slot = range->slot;

    if (is_freed_in(reuse, next, slot)) {
        unbin(reuse, next);
        merge_freed(reuse, ref, next);
    }
    if (is_freed_in(reuse, prev, slot)) {
        unbin(reuse, prev);
        merge_freed(reuse, prev, ref);
        ref = prev;
    }
    bin(reuse, ref);
}

/* ---- the quick lists ----------------------------------------------------------------- */

/* The oldest range of a quick list leaves it. */
static void unquick(struct sp_reuse *reuse, struct sp_reuse_stream *stream)
{
    uint32_t ref = stream->quick[0];

    quick_remove(stream, ref);
    sp_reuse_at(reuse, ref)->state = SP_REUSE_PENDING;
    mend(reuse, ref);
}

void sp_reuse_flush(struct sp_reuse *reuse)
{
    for (sp_slot slot = 0; slot < reuse->streams.room; slot++) {
        struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

        while (stream != NULL && stream->n_quick > 0)
            unquick(reuse, stream);
    }
}

void sp_reuse_settle_freed(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, range->slot);

    range->is_fresh = false;
    count_freed(reuse, range->slot, range->size);
    /* Only if older frees that have executed are there already: stamps rise along a queue. */
    if (reuse->shares_done && reuse->shared_epoch == reuse->order->epoch &&
        range->seq <= reuse->order->streams[range->slot].done_seq) {
        range->state = SP_REUSE_DONE;
        sp_reuse_queue_add(reuse, &stream->done, ref);
        mend(reuse, ref);
        return;
    }
    if (stream->n_quick == SP_REUSE_MAX_QUICK)
        unquick(reuse, stream);
    range->state = SP_REUSE_QUICK;
    sp_reuse_queue_add(reuse, &stream->pending, ref);
    stream->quick[stream->n_quick] = ref;
    stream->quick_size[stream->n_quick++] = range->size;
}

/* ---- news ---------------------------------------------------------------------------- */

/* The host has seen the free. */
static void make_ready(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    unbin(reuse, ref);
    uncount(reuse, range, range->size);
    sp_reuse_queue_remove(reuse, queue_of(reuse, range), range);
    sp_reuse_settle_ready(reuse, ref);
}

/* The free, the oldest that is pending, has executed. */
static void make_done(struct sp_reuse *reuse, struct sp_reuse_stream *stream, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    unbin(reuse, ref);
    sp_reuse_queue_remove(reuse, &stream->pending, range);
    range->state = SP_REUSE_DONE;
    sp_reuse_queue_add(reuse, &stream->done, ref);
    mend(reuse, ref);
}

static void drain_seen(struct sp_reuse *reuse, const struct sp_reuse_queue *queue, uint64_t seq)
{
    uint32_t ref;

    while ((ref = queue->oldest) != 0 && sp_reuse_at(reuse, ref)->seq <= seq)
        make_ready(reuse, ref);
}

/* Share what a stream has executed. */
static void drain_done(struct sp_reuse *reuse, sp_slot slot)
{
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);
    uint64_t done_seq = reuse->order->streams[slot].done_seq;
    uint32_t ref;

    if (stream == NULL)
        return;
    while ((ref = stream->pending.oldest) != 0 && sp_reuse_at(reuse, ref)->seq <= done_seq)
        make_done(reuse, stream, ref);
}

/* What a stream shares becomes its own again. */
static void unshare(struct sp_reuse *reuse, struct sp_reuse_stream *stream)
{
    uint32_t last = stream->done.newest;

    if (last == 0)
        return;
    for (uint32_t ref = stream->done.oldest; ref != 0; ref = sp_reuse_at(reuse, ref)->newer) {
        unbin(reuse, ref);
        sp_reuse_at(reuse, ref)->state = SP_REUSE_PENDING;
        bin(reuse, ref);
    }
    sp_reuse_at(reuse, last)->newer = stream->pending.oldest;
    if (stream->pending.oldest != 0)
        sp_reuse_at(reuse, stream->pending.oldest)->older = last;
    else
        stream->pending.newest = last;
    stream->pending.oldest = stream->done.oldest;
    stream->done = (struct sp_reuse_queue){0, 0};
}

void sp_reuse_share(struct sp_reuse *reuse)
{
    const struct sp_order_stream *streams = reuse->order->streams;
    sp_slot slot = reuse->order->newest;

    if (!reuse->policy.is_opportunistic) {
        for (slot = 0; reuse->shares_done && slot < reuse->streams.room; slot++) {
            if (sp_reuse_stream_at(reuse, slot) != NULL)
                unshare(reuse, sp_reuse_stream_at(reuse, slot));
        }
        reuse->shares_done = false;
        reuse->shared_epoch = 0;
        return;
    }
    reuse->shares_done = true;
    for (; slot != SP_SLOT_HOST && streams[slot].epoch > reuse->shared_epoch;
         slot = streams[slot].older)
        drain_done(reuse, slot);
    reuse->shared_epoch = reuse->order->epoch;
}

void sp_reuse_notice(struct sp_reuse *reuse)
{
    const struct sp_order_stream *streams = reuse->order->streams;
    sp_slot slot = reuse->order->newest;

    if (reuse->shares_done && !reuse->policy.is_opportunistic)
        sp_reuse_share(reuse);
    if (reuse->order->seen_epoch <= reuse->epoch)
        return;
    for (; slot != SP_SLOT_HOST && streams[slot].epoch > reuse->epoch;
         slot = streams[slot].older) {
        struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

        if (stream == NULL || stream->bytes == 0)
            continue;
        drain_seen(reuse, &stream->done, streams[slot].seen_seq);
        drain_seen(reuse, &stream->pending, streams[slot].seen_seq);
    }
    reuse->epoch = reuse->order->epoch;
}
