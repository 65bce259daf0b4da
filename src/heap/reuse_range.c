/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where free ranges of a stream-ordered heap are kept, and how they merge, split and move on as
 * the host and the streams get to know of their frees. */
#include "config.h"

#include "src/heap/reuse_impl.h"

#include "src/heap/reuse_free.h"

/* So many streams' news are looked at together. */
#define MAX_BATCH 64U

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
        .is_loose = range->is_loose,
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
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    if (range->size == size) {
        sp_reuse_take_out(reuse, ref);
        return ref;
    }
    sp_reuse_unbin(reuse, ref);
    sp_reuse_uncount(reuse, range, size);
    ref = split(reuse, ref, size);
    sp_reuse_bin(reuse, sp_reuse_at(reuse, ref)->next);
    return ref;
}

/* Whether a range and its neighbour, if it has one, may be one: both ready, or both freed in
 * the same stream. */
static inline bool is_like(const struct sp_reuse *reuse, const struct sp_reuse_range *range,
                           uint32_t ref)
{
    const struct sp_reuse_range *neighbour;

    if (ref == 0)
        return false;
    neighbour = sp_reuse_at(reuse, ref);
    if (neighbour->state < SP_REUSE_READY)
        return false;
    if (range->state == SP_REUSE_READY || neighbour->state == SP_REUSE_READY)
        return range->state == neighbour->state;
    return range->slot == neighbour->slot;
}

/* Merge two ranges of one stream that are in its queues and in no bin. The later free decides
 * when all of it is free: the low one takes its place. */
static void merge_freed(struct sp_reuse *reuse, uint32_t low_ref, uint32_t high_ref)
{
    struct sp_reuse_range *low = sp_reuse_at(reuse, low_ref);
    struct sp_reuse_range *high = sp_reuse_at(reuse, high_ref);
    struct sp_reuse_queue *queue;

    if (low->seq < high->seq) {
        sp_reuse_queue_remove(reuse, sp_reuse_queue_of(reuse, low), low);
        queue = sp_reuse_queue_of(reuse, high);
        low->seq = high->seq;
        low->state = high->state;
        low->older = high->older;
        low->newer = high->newer;
        *(low->older != 0 ? &sp_reuse_at(reuse, low->older)->newer : &queue->oldest) = low_ref;
        *(low->newer != 0 ? &sp_reuse_at(reuse, low->newer)->older : &queue->newest) = low_ref;
    } else {
        sp_reuse_queue_remove(reuse, sp_reuse_queue_of(reuse, high), high);
    }
    sp_reuse_absorb(reuse, low_ref, high_ref);
}

/* Merge two ranges that are in no bin. */
static void merge(struct sp_reuse *reuse, uint32_t low_ref, uint32_t high_ref)
{
    if (sp_reuse_at(reuse, low_ref)->state == SP_REUSE_READY)
        sp_reuse_absorb(reuse, low_ref, high_ref);
    else
        merge_freed(reuse, low_ref, high_ref);
}

/* Merge a loose range with its neighbours: it is loose no more. */
static void mend(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    sp_reuse_unbin(reuse, ref);
    while (is_like(reuse, range, range->next)) {
        sp_reuse_unbin(reuse, range->next);
        merge(reuse, ref, range->next);
    }
    while (is_like(reuse, range, range->prev)) {
        uint32_t prev = range->prev;

        sp_reuse_unbin(reuse, prev);
        merge(reuse, prev, ref);
        ref = prev;
        range = sp_reuse_at(reuse, ref);
    }
    range->is_loose = false;
    sp_reuse_bin(reuse, ref);
}

/* ---- loose ranges -------------------------------------------------------------------- */

void sp_reuse_merge_stream(struct sp_reuse *reuse, struct sp_reuse_stream *stream)
{
    for (unsigned i = 0; i < SP_REUSE_CHAINS; i++) {
        while (stream->loose[i] != 0)
            mend(reuse, stream->loose[i]);
    }
}

static void mend_bins(struct sp_reuse *reuse, const struct sp_reuse_bins *bins)
{
    while (bins->fl_map != 0) {
        unsigned fl = (unsigned)__builtin_ctzll(bins->fl_map);
        unsigned sl = (unsigned)__builtin_ctz(bins->sl_map[fl]);

        mend(reuse, bins->heads[fl][sl]);
    }
}

void sp_reuse_merge_ready(struct sp_reuse *reuse)
{
    mend_bins(reuse, &reuse->ready[true]);
}

void sp_reuse_merge_shared(struct sp_reuse *reuse)
{
    mend_bins(reuse, &reuse->done[true]);
    mend_bins(reuse, &reuse->ready[true]);
    reuse->misses = 0;
}

void sp_reuse_merge(struct sp_reuse *reuse)
{
    for (sp_slot slot = 0; slot < reuse->streams.room; slot++) {
        struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

        if (stream != NULL && stream->n_loose > 0)
            sp_reuse_merge_stream(reuse, stream);
    }
    sp_reuse_merge_shared(reuse);
}

void sp_reuse_settle_ready(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    range->state = SP_REUSE_READY;
    range->is_loose = !range->is_fresh;
    reuse->stats.ready_bytes += range->size;
    sp_reuse_bin(reuse, ref);
}

/* ---- news ---------------------------------------------------------------------------- */

/* The host has seen the free. */
static void make_ready(struct sp_reuse *reuse, uint32_t ref)
{
    sp_reuse_take_out(reuse, ref);
    sp_reuse_settle_ready(reuse, ref);
}

/* The free, the oldest that is pending, has executed. */
static void make_done(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, range->slot);

    sp_reuse_unbin(reuse, ref);
    sp_reuse_queue_remove(reuse, &stream->pending, range);
    range->state = SP_REUSE_DONE;
    sp_reuse_queue_add(reuse, &stream->done, ref);
    sp_reuse_bin(reuse, ref);
}

/* The streams with news since an epoch, in batches. */
struct batch {
    sp_slot next; /* with the latest news of those left */
    uint32_t n;
    sp_slot slots[MAX_BATCH];
    uint32_t refs[MAX_BATCH];
};

/* The next streams that have freed something. */
static bool next_batch(const struct sp_reuse *reuse, uint64_t epoch, struct batch *batch)
{
    const struct sp_order_stream *streams = reuse->order->streams;
    sp_slot slot = batch->next;

    batch->n = 0;
    for (; batch->n < MAX_BATCH && slot != SP_SLOT_HOST && streams[slot].epoch > epoch;
         slot = streams[slot].older) {
        const struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

        batch->slots[batch->n] = slot;
        batch->n += stream != NULL && stream->bytes != 0;
    }
    batch->next = slot;
    return batch->n > 0;
}

/* The oldest free in each of the queues, if it is executed, or seen. Streams that have none
 * leave the batch. Without branches: which have one cannot be foreseen. */
static bool collect_oldest(const struct sp_reuse *reuse, bool is_done, bool is_seen,
                           struct batch *batch)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < batch->n; i++) {
        sp_slot slot = batch->slots[i];
        const struct sp_order_stream *order = &reuse->order->streams[slot];
        const struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);
        uint32_t ref = is_done ? stream->done.oldest : stream->pending.oldest;
        uint64_t seq = is_seen ? order->seen_seq : order->done_seq;

        batch->slots[n] = slot;
        batch->refs[n] = ref;
        n += (unsigned)(ref != 0) & (unsigned)(sp_reuse_at(reuse, ref)->seq <= seq);
    }
    batch->n = n;
    return n > 0;
}

/* Move what the host has seen out of one of the queues of each stream; the batch stays. */
static void drain_seen(struct sp_reuse *reuse, bool is_done, const struct batch *batch)
{
    struct batch left = *batch;

    while (collect_oldest(reuse, is_done, true, &left)) {
        for (uint32_t i = 0; i < left.n; i++)
            make_ready(reuse, left.refs[i]);
    }
}

/* Share what the streams have executed. */
static void drain_done(struct sp_reuse *reuse, struct batch *batch)
{
    while (collect_oldest(reuse, false, false, batch)) {
        for (uint32_t i = 0; i < batch->n; i++)
            make_done(reuse, batch->refs[i]);
    }
}

/* What a stream shares becomes its own again. */
static void unshare(struct sp_reuse *reuse, struct sp_reuse_stream *stream)
{
    uint32_t last = stream->done.newest;

    if (last == 0)
        return;
    for (uint32_t ref = stream->done.oldest; ref != 0; ref = sp_reuse_at(reuse, ref)->newer) {
        sp_reuse_unbin(reuse, ref);
        sp_reuse_at(reuse, ref)->state = SP_REUSE_PENDING;
        sp_reuse_bin(reuse, ref);
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
    struct batch batch;

    if (!reuse->policy.is_opportunistic) {
        for (sp_slot slot = 0; reuse->shares_done && slot < reuse->streams.room; slot++) {
            if (sp_reuse_stream_at(reuse, slot) != NULL)
                unshare(reuse, sp_reuse_stream_at(reuse, slot));
        }
        reuse->shares_done = false;
        reuse->shared_epoch = 0;
        return;
    }
    reuse->shares_done = true;
    batch.next = reuse->order->newest;
    while (next_batch(reuse, reuse->shared_epoch, &batch))
        drain_done(reuse, &batch);
    reuse->shared_epoch = reuse->order->epoch;
}

void sp_reuse_notice(struct sp_reuse *reuse)
{
    struct batch batch;

    if (reuse->shares_done && !reuse->policy.is_opportunistic)
        sp_reuse_share(reuse);
    if (reuse->order->seen_epoch <= reuse->epoch)
        return;
    batch.next = reuse->order->newest;
    while (next_batch(reuse, reuse->epoch, &batch)) {
        drain_seen(reuse, true, &batch);
        drain_seen(reuse, false, &batch);
    }
    reuse->epoch = reuse->order->epoch;
}
