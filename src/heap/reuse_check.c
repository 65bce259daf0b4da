/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a stream-ordered heap says of itself: counters, who has freed what, invariants. */
#include "config.h"

#include "src/heap/reuse_impl.h"

#include "src/heap/reuse_bins.h"
#include "src/heap/reuse_hash.h"

struct sp_reuse_policy *sp_reuse_policy(struct sp_reuse *reuse)
{
    return &reuse->policy;
}

void sp_reuse_stats(const struct sp_reuse *reuse, struct sp_reuse_stats *stats_out)
{
    *stats_out = reuse->stats;
}

void sp_reuse_reset_used_high(struct sp_reuse *reuse)
{
    reuse->stats.used_high_bytes = reuse->stats.used_bytes;
    reuse->stats.n_live_high = reuse->stats.n_live;
}

void sp_reuse_reset_reserved_high(struct sp_reuse *reuse)
{
    reuse->stats.reserved_high_bytes = reuse->stats.reserved_bytes;
}

size_t sp_reuse_pending(const struct sp_reuse *reuse, sp_slot *slots_out, uint64_t *bytes_out,
                        size_t room)
{
    size_t n = 0;

    for (sp_slot slot = 0; slot < reuse->streams.room; slot++) {
        const struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

        if (stream == NULL || stream->bytes == 0)
            continue;
        if (n < room) {
            slots_out[n] = slot;
            bytes_out[n] = stream->bytes;
        }
        n++;
    }
    return n;
}

size_t sp_reuse_largest(struct sp_reuse *reuse)
{
    const struct sp_reuse_bins *bins = &reuse->ready[false];
    size_t largest = 0;
    unsigned fl;
    uint32_t ref;

    sp_reuse_merge_ready(reuse);
    if (bins->fl_map == 0)
        return 0;
    fl = sp_log2(bins->fl_map);
    ref = bins->heads[fl][sp_log2(bins->sl_map[fl])];
    for (; ref != 0; ref = sp_reuse_at(reuse, ref)->next_in_bin)
        largest = sp_max(largest, sp_reuse_at(reuse, ref)->size);
    return largest;
}

/* ---- invariants ---------------------------------------------------------------------- */

/* What was found, by state. */
struct tally {
    uint64_t n[SP_REUSE_DONE + 1];
    uint64_t n_loose[SP_REUSE_DONE + 1];
    uint64_t bytes[SP_REUSE_DONE + 1];
};

static void count(struct tally *tally, const struct sp_reuse_range *range)
{
    tally->n[range->state]++;
    tally->n_loose[range->state] += range->state >= SP_REUSE_READY && range->is_loose;
    tally->bytes[range->state] += range->size;
}

/* Two that should have merged. */
static bool touches_its_like(const struct sp_reuse_range *a, const struct sp_reuse_range *b)
{
    bool is_freed_a = a->state == SP_REUSE_PENDING || a->state == SP_REUSE_DONE;
    bool is_freed_b = b->state == SP_REUSE_PENDING || b->state == SP_REUSE_DONE;

    if (a->is_loose || b->is_loose)
        return false;
    if (a->state == SP_REUSE_READY)
        return b->state == SP_REUSE_READY;
    return is_freed_a && is_freed_b && a->slot == b->slot;
}

static bool range_is_valid(const struct sp_reuse *reuse, uint32_t ref)
{
    const struct sp_reuse_range *range = sp_reuse_at(reuse, ref), *next;
    const struct sp_reuse_link *link;

    if (range->size == 0 || ((range->start | range->size) & (reuse->unit - 1)) != 0 ||
        range->state == SP_REUSE_SPARE || range->state > SP_REUSE_DONE)
        return false;
    if (range->state == SP_REUSE_LIVE) {
        link = sp_reuse_hash_find(reuse, range->start);
        if (link == NULL || link->ref != ref)
            return false;
    }
    if (range->next == 0)
        return true;
    next = sp_reuse_at(reuse, range->next);
    return next->prev == ref && next->start == range->start + range->size &&
           !touches_its_like(range, next);
}

static bool chunk_is_valid(const struct sp_reuse *reuse, const struct sp_chunk *chunk,
                           struct tally *tally)
{
    uintptr_t end = chunk->base;

    for (uint32_t ref = chunk->first; ref != 0; ref = sp_reuse_at(reuse, ref)->next) {
        const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

        if (range->chunk != chunk || range->start != end || !range_is_valid(reuse, ref))
            return false;
        end += range->size;
        count(tally, range);
    }
    return end == chunk->base + chunk->size;
}

/* What bins hold. */
struct contents {
    enum sp_reuse_state state;
    sp_slot slot; /* SP_SLOT_HOST: of any stream */
    bool is_loose;
};

static bool bins_are_valid(const struct sp_reuse *reuse, const struct sp_reuse_bins *bins,
                           struct contents contents, struct tally *tally)
{
    for (unsigned bin = 0; bin < SP_REUSE_FL * SP_REUSE_SL; bin++) {
        unsigned fl = bin / SP_REUSE_SL, sl = bin % SP_REUSE_SL, right_fl, right_sl;
        uint32_t prev = 0, ref = bins->heads[fl][sl];

        if (((bins->fl_map >> fl) & 1) != (bins->sl_map[fl] != 0) ||
            ((bins->sl_map[fl] >> sl) & 1) != (ref != 0))
            return false;
        for (; ref != 0; ref = sp_reuse_at(reuse, ref)->next_in_bin) {
            const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

            sp_reuse_bin_of(range->size >> reuse->unit_shift, &right_fl, &right_sl);
            if (range->state != contents.state || range->prev_in_bin != prev ||
                right_fl != fl || right_sl != sl ||
                (contents.slot != SP_SLOT_HOST && range->slot != contents.slot) ||
                range->is_loose != contents.is_loose)
                return false;
            count(tally, range);
            prev = ref;
        }
    }
    return true;
}

static bool chains_are_valid(const struct sp_reuse *reuse, struct sp_reuse_stream *stream,
                             sp_slot slot, struct tally *tally)
{
    for (unsigned i = 0; i < SP_REUSE_CHAINS; i++) {
        uint32_t prev = 0, ref = stream->loose[i];

        for (; ref != 0; ref = sp_reuse_at(reuse, ref)->next_in_bin) {
            const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
            unsigned fl, sl;

            sp_reuse_bin_of(range->size >> reuse->unit_shift, &fl, &sl);
            if (range->state != SP_REUSE_PENDING || !range->is_loose || range->slot != slot ||
                range->prev_in_bin != prev ||
                sp_reuse_loose_chain(stream, fl, sl) != &stream->loose[i])
                return false;
            count(tally, range);
            prev = ref;
        }
    }
    return true;
}

static bool queue_is_valid(const struct sp_reuse *reuse, const struct sp_reuse_queue *queue,
                           sp_slot slot, bool is_done, struct tally *tally)
{
    uint64_t seq = 0;
    uint32_t older = 0;

    for (uint32_t ref = queue->oldest; ref != 0; ref = sp_reuse_at(reuse, ref)->newer) {
        const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

        if (range->older != older || range->seq < seq || range->slot != slot ||
            (range->state == SP_REUSE_DONE) != is_done || range->state < SP_REUSE_PENDING)
            return false;
        seq = range->seq;
        older = ref;
        count(tally, range);
    }
    return queue->newest == older;
}

/* Nothing waits that the host has seen, or that all streams may have. */
static bool queues_are_drained(const struct sp_reuse *reuse,
                               const struct sp_reuse_stream *stream, sp_slot slot)
{
    const struct sp_order_stream *order = &reuse->order->streams[slot];
    uint32_t done = stream->done.oldest, pending = stream->pending.oldest;
    uint64_t seen_seq = order->seen_seq;

    if (done != 0 &&
        (sp_reuse_at(reuse, stream->done.newest)->seq > order->done_seq || !reuse->shares_done))
        return false;
    if (pending != 0 && reuse->shares_done && order->epoch <= reuse->shared_epoch &&
        sp_reuse_at(reuse, pending)->seq <= order->done_seq)
        return false;
    if (reuse->epoch < reuse->order->seen_epoch)
        return true;
    return (done == 0 || sp_reuse_at(reuse, done)->seq > seen_seq) &&
           (pending == 0 || sp_reuse_at(reuse, pending)->seq > seen_seq);
}

static bool stream_is_valid(const struct sp_reuse *reuse, sp_slot slot, struct tally *tally)
{
    struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);
    struct tally queued = {.n = {0}}, binned = {.n = {0}};

    if (stream == NULL)
        return true;
    if (!queue_is_valid(reuse, &stream->pending, slot, false, &queued) ||
        !queue_is_valid(reuse, &stream->done, slot, true, &queued) ||
        !bins_are_valid(reuse, &stream->bins, (struct contents){SP_REUSE_PENDING, slot, false},
                        &binned) ||
        !chains_are_valid(reuse, stream, slot, &binned) ||
        !queues_are_drained(reuse, stream, slot))
        return false;
    if (binned.n[SP_REUSE_PENDING] != queued.n[SP_REUSE_PENDING] ||
        binned.n_loose[SP_REUSE_PENDING] != stream->n_loose)
        return false;
    for (int state = SP_REUSE_PENDING; state <= SP_REUSE_DONE; state++) {
        tally->n[state] += queued.n[state];
        tally->bytes[state] += queued.bytes[state];
        queued.bytes[0] += queued.bytes[state];
    }
    return stream->bytes == queued.bytes[0] &&
           (stream->bytes == 0 || reuse->order->streams[slot].n_holds > 0);
}

/* The bins of all streams. */
static bool shared_bins_are_valid(const struct sp_reuse *reuse, struct tally *tally)
{
    for (int is_loose = 0; is_loose < 2; is_loose++) {
        struct contents ready = {SP_REUSE_READY, SP_SLOT_HOST, is_loose};
        struct contents done = {SP_REUSE_DONE, SP_SLOT_HOST, is_loose};

        if (!bins_are_valid(reuse, &reuse->ready[is_loose], ready, tally) ||
            !bins_are_valid(reuse, &reuse->done[is_loose], done, tally))
            return false;
    }
    return true;
}

bool sp_reuse_is_valid(const struct sp_reuse *reuse)
{
    const struct sp_reuse_stats *stats = &reuse->stats;
    struct tally all = {.n = {0}}, found = {.n = {0}};
    uint32_t n_chunks = 0, n_idle = 0;

    for (const struct sp_chunk *chunk = reuse->first_chunk; chunk != NULL;
         chunk = chunk->next) {
        const struct sp_reuse_range *first = sp_reuse_at(reuse, chunk->first);

        if (!chunk_is_valid(reuse, chunk, &all) ||
            sp_reuse_chunk_of(reuse, chunk->base) != chunk)
            return false;
        n_chunks++;
        n_idle += first->state == SP_REUSE_READY && first->size == chunk->size;
    }
    for (sp_slot slot = 0; slot < reuse->streams.room; slot++) {
        if (!stream_is_valid(reuse, slot, &found))
            return false;
    }
    if (found.n[SP_REUSE_DONE] != all.n[SP_REUSE_DONE] ||
        found.n[SP_REUSE_PENDING] != all.n[SP_REUSE_PENDING])
        return false;
    found = (struct tally){.n = {0}};
    if (!shared_bins_are_valid(reuse, &found) ||
        found.n[SP_REUSE_READY] != all.n[SP_REUSE_READY] ||
        found.n[SP_REUSE_DONE] != all.n[SP_REUSE_DONE])
        return false;
    return n_chunks == reuse->chunks.n && n_idle == reuse->n_idle &&
           all.n[SP_REUSE_LIVE] == stats->n_live &&
           all.bytes[SP_REUSE_LIVE] == stats->used_bytes &&
           all.bytes[SP_REUSE_READY] == stats->ready_bytes &&
           all.bytes[SP_REUSE_PENDING] + all.bytes[SP_REUSE_DONE] == stats->pending_bytes &&
           stats->used_bytes + stats->ready_bytes + stats->pending_bytes ==
               stats->reserved_bytes &&
           stats->used_bytes <= stats->used_high_bytes;
}
