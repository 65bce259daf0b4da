/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes and gives of a stream-ordered heap: which range serves a request. A range that has been
 * freed waits unmerged for a request of its size, which needs no split then; such ranges are
 * tried first. Of the others those that fit well are tried in the order of the edges; if none
 * does, the smallest that is large enough is cut, whosever it is: a stream that cuts its own
 * first would hoard. What waits merges with its neighbours before a request is refused. */
#include "config.h"

#include "src/heap/reuse_impl.h"

#include "src/heap/reuse_free.h"
#include "src/heap/reuse_hash.h"

/* A range fits well if it is larger than the request by 1/4 at most. */
#define FIT_SHIFT 2

/* After so many requests for which no range waited, those that wait merge: sizes are too
 * various for it to be worth while, and memory would be cut into pieces. A miss is made good by
 * so many hits. */
#define MAX_MISSES 16U
#define MISS       8U

/* So many ranges of another stream are tried before those of the next. */
#define EVENT_TRIES 16U

/* ---- live blocks --------------------------------------------------------------------- */

static void describe(const struct sp_reuse_range *range, struct sp_reuse_block *block_out)
{
    *block_out = (struct sp_reuse_block){
        .start = range->start,
        .size = range->size,
        .chunk = range->chunk,
        .alloc = {range->slot, range->seq},
        .cookie = range->cookie,
    };
}

static SP_ALWAYS_INLINE void enliven(struct sp_reuse *reuse, uint32_t ref, struct sp_point at,
                                     struct sp_reuse_block *block_out)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    struct sp_reuse_stats *stats = &reuse->stats;

    range->state = SP_REUSE_LIVE;
    range->slot = at.slot;
    range->seq = at.seq;
    range->cookie = NULL;
    sp_reuse_hash_add(reuse, ref);
    stats->used_bytes += range->size;
    if (stats->used_high_bytes < stats->used_bytes)
        stats->used_high_bytes = stats->used_bytes;
    if (++stats->n_live > stats->n_live_high)
        stats->n_live_high = stats->n_live;
    describe(range, block_out);
    if (SP_UNLIKELY(reuse->order->checker != NULL))
        sp_checker_alloc(reuse->order->checker, range->start, range->size, at.slot, at.seq);
}

void sp_reuse_enliven(struct sp_reuse *reuse, uint32_t ref, struct sp_point at,
                      struct sp_reuse_block *block_out)
{
    enliven(reuse, ref, at, block_out);
}

/* Move what the host has seen since. What has executed only moves when it is looked for: most
 * of it is seen or taken again by its own stream first. */
static inline void catch_up(struct sp_reuse *reuse)
{
    if (reuse->epoch < reuse->order->seen_epoch ||
        (reuse->shares_done && !reuse->policy.is_opportunistic))
        sp_reuse_notice(reuse);
}

enum starpool_status sp_reuse_give(struct sp_reuse *reuse, uintptr_t start, struct sp_point at)
{
    struct sp_reuse_link *link = sp_reuse_hash_find(reuse, start);
    struct sp_reuse_range *range;
    uint32_t ref;

    if (link == NULL)
        return STARPOOL_EINVAL;
    catch_up(reuse);
    ref = link->ref;
    range = sp_reuse_at(reuse, ref);
    *link = range->next_in_hash;
    reuse->stats.used_bytes -= range->size;
    reuse->stats.n_live--;
    if (SP_UNLIKELY(reuse->order->checker != NULL))
        sp_checker_free(reuse->order->checker, start, at.slot, at.seq);
    range->slot = at.slot;
    range->seq = at.seq;
    if (at.slot == SP_SLOT_HOST || at.seq <= reuse->order->streams[at.slot].seen_seq) {
        range->is_fresh = false;
        sp_reuse_settle_ready(reuse, ref);
        return STARPOOL_OK;
    }
    if (SP_UNLIKELY(sp_reuse_stream_at(reuse, at.slot) == NULL))
        sp_reuse_make_stream(reuse, at.slot);
    sp_reuse_settle_freed(reuse, ref);
    return STARPOOL_OK;
}

bool sp_reuse_set_cookie(struct sp_reuse *reuse, uintptr_t start, void *cookie)
{
    const struct sp_reuse_link *link = sp_reuse_hash_find(reuse, start);

    if (link == NULL)
        return false;
    sp_reuse_at(reuse, link->ref)->cookie = cookie;
    return true;
}

bool sp_reuse_find(const struct sp_reuse *reuse, uintptr_t address,
                   struct sp_reuse_block *block_out)
{
    const struct sp_reuse_link *link = sp_reuse_hash_find(reuse, address);
    const struct sp_reuse_range *range;
    const struct sp_chunk *chunk;

    if (link != NULL) {
        describe(sp_reuse_at(reuse, link->ref), block_out);
        return true;
    }
    chunk = sp_reuse_chunk_of(reuse, address);
    if (chunk == NULL)
        return false;
    range = sp_reuse_at(reuse, chunk->first);
    while (address - range->start >= range->size)
        range = sp_reuse_at(reuse, range->next);
    if (range->state != SP_REUSE_LIVE)
        return false;
    describe(range, block_out);
    return true;
}

void sp_reuse_each_live(const struct sp_reuse *reuse, const struct sp_chunk *chunk,
                        void (*see)(const struct sp_reuse_block *block, void *arg), void *arg)
{
    for (uint32_t ref = chunk->first; ref != 0; ref = sp_reuse_at(reuse, ref)->next) {
        struct sp_reuse_block block;

        if (sp_reuse_at(reuse, ref)->state != SP_REUSE_LIVE)
            continue;
        describe(sp_reuse_at(reuse, ref), &block);
        see(&block, arg);
    }
}

/* ---- which range --------------------------------------------------------------------- */

/* The best range up to now. */
struct pick {
    uint32_t ref; /* 0: none */
    size_t size;
};

/* Take a range as the best if it is smaller. True if it fits so well that no other is wanted.
 */
static inline bool consider(const struct sp_reuse *reuse, struct pick *pick, uint32_t ref,
                            size_t size)
{
    size_t found;

    if (ref == 0)
        return false;
    found = sp_reuse_at(reuse, ref)->size;
    if (pick->ref != 0 && pick->size <= found)
        return false;
    *pick = (struct pick){ref, found};
    return found - size <= size >> FIT_SHIFT;
}

/* A range whose stamp is at most `seq`, among so many. */
static uint32_t find_before(const struct sp_reuse *reuse, const struct sp_reuse_bins *bins,
                            size_t size, uint64_t seq, unsigned n_tries)
{
    unsigned fl, sl;

    sp_reuse_bin_of(size >> reuse->unit_shift, &fl, &sl);
    for (; sp_reuse_bins_next(bins, &fl, &sl); sl++) {
        uint32_t ref = bins->heads[fl][sl];

        while (ref != 0) {
            const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

            if (n_tries-- == 0)
                return 0;
            if (range->size >= size && range->seq <= seq)
                return ref;
            ref = range->next_in_bin;
        }
    }
    return 0;
}

/* A range that a stream has freed at `seq` or before: of this very size, or a larger one. */
static uint32_t find_known(const struct sp_reuse *reuse, struct sp_reuse_stream *stream,
                           size_t size, uint64_t seq, bool is_thorough)
{
    unsigned fl, sl;
    uint32_t ref;

    sp_reuse_bin_of(size >> reuse->unit_shift, &fl, &sl);
    ref = sp_reuse_chain_find_exact(reuse, *sp_reuse_loose_chain(stream, fl, sl), size, seq);
    if (ref != 0)
        return ref;
    return find_before(reuse, &stream->bins, size, seq, is_thorough ? UINT32_MAX : EVENT_TRIES);
}

/* Look for a range among those that the stream waits for. */
static bool consider_events(const struct sp_reuse *reuse, struct pick *pick, size_t size,
                            sp_slot slot, bool is_thorough)
{
    const struct sp_clock *known = &reuse->order->streams[slot].known;

    for (uint32_t i = 0; i < known->n_points; i++) {
        const struct sp_point *point = &known->points[i];
        struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, point->slot);

        if (point->slot == slot || stream == NULL || stream->bytes == 0)
            continue;
        if (consider(reuse, pick, find_known(reuse, stream, size, point->seq, is_thorough),
                     size))
            return true;
    }
    return false;
}

/* Look among what is merged and what is loose. */
static inline bool consider_both(const struct sp_reuse *reuse, struct pick *pick,
                                 const struct sp_reuse_bins bins[2], size_t size,
                                 bool is_thorough)
{
    return consider(reuse, pick, sp_reuse_bins_find(reuse, &bins[false], size, is_thorough),
                    size) ||
           consider(reuse, pick, sp_reuse_bins_find(reuse, &bins[true], size, is_thorough),
                    size);
}

static uint32_t choose(const struct sp_reuse *reuse, size_t size, sp_slot slot,
                       bool is_thorough)
{
    const struct sp_reuse_stream *own = sp_reuse_stream_at(reuse, slot);
    struct pick pick = {0, 0};

    if (own != NULL &&
        consider(reuse, &pick, sp_reuse_bins_find(reuse, &own->bins, size, is_thorough), size))
        return pick.ref;
    if (consider_both(reuse, &pick, reuse->ready, size, is_thorough) || slot == SP_SLOT_HOST)
        return pick.ref;
    if (reuse->policy.follows_events && consider_events(reuse, &pick, size, slot, is_thorough))
        return pick.ref;
    if (reuse->policy.is_opportunistic)
        consider_both(reuse, &pick, reuse->done, size, is_thorough);
    return pick.ref;
}

/* A loose range of this very size that the stream may have: its own, or that of another. */
static uint32_t choose_exact(struct sp_reuse *reuse, size_t size, sp_slot slot)
{
    struct sp_reuse_stream *own = sp_reuse_stream_at(reuse, slot);
    uint32_t ref = 0;
    unsigned fl, sl;

    sp_reuse_bin_of(size >> reuse->unit_shift, &fl, &sl);
    if (SP_UNLIKELY(fl >= SP_REUSE_FL))
        return 0;
    if (own != NULL)
        ref = sp_reuse_chain_find_exact(reuse, *sp_reuse_loose_chain(own, fl, sl), size,
                                        UINT64_MAX);
    if (ref == 0)
        ref = sp_reuse_chain_find_exact(reuse, reuse->ready[true].heads[fl][sl], size,
                                        UINT64_MAX);
    if (ref != 0 || !reuse->policy.is_opportunistic || slot == SP_SLOT_HOST)
        return ref;
    if (reuse->shared_epoch != reuse->order->epoch)
        sp_reuse_share(reuse);
    return sp_reuse_chain_find_exact(reuse, reuse->done[true].heads[fl][sl], size, UINT64_MAX);
}

/* Why a stream may have a range. */
static struct sp_edge edge_to(const struct sp_reuse *reuse, const struct sp_reuse_range *range,
                              sp_slot slot)
{
    struct sp_edge edge = {SP_EDGE_EXECUTED, {range->slot, range->seq}};

    if (range->state == SP_REUSE_READY) {
        edge.kind = range->is_fresh ? SP_EDGE_FRESH : SP_EDGE_SEEN;
        edge.free = (struct sp_point){SP_SLOT_HOST, 0};
    } else if (range->slot == slot) {
        edge.kind = SP_EDGE_STREAM;
    } else if (reuse->policy.follows_events &&
               reuse->order->streams[slot].known.n_points != 0 &&
               sp_order_known(reuse->order, slot, range->slot) >= range->seq) {
        edge.kind = SP_EDGE_EVENT;
    }
    return edge;
}

bool sp_reuse_take(struct sp_reuse *reuse, size_t size, struct sp_point at,
                   struct sp_reuse_block *block_out, struct sp_edge *edge_out)
{
    uint32_t ref;

    size = sp_round_up(size, reuse->unit);
    if (size == 0)
        return false;
    catch_up(reuse);
    ref = choose_exact(reuse, size, at.slot);
    reuse->misses -= reuse->misses != 0;
    if (ref == 0) {
        reuse->misses += MISS;
        if (reuse->misses >= MAX_MISSES * MISS)
            sp_reuse_merge_shared(reuse);
        ref = choose(reuse, size, at.slot, false);
    }
    if (ref == 0) {
        sp_reuse_merge(reuse);
        ref = choose(reuse, size, at.slot, true);
    }
    if (ref == 0)
        return false;
    if (SP_UNLIKELY(reuse->stats.n_live >= reuse->hash_limit))
        sp_reuse_grow_hash(reuse);
    sp_reuse_hash_prefetch(reuse, sp_reuse_at(reuse, ref)->start);
    *edge_out = edge_to(reuse, sp_reuse_at(reuse, ref), at.slot);
    reuse->stats.n_takes[edge_out->kind]++;
    if (SP_LIKELY(sp_reuse_at(reuse, ref)->size == size))
        sp_reuse_take_out(reuse, ref);
    else
        ref = sp_reuse_carve(reuse, ref, size);
    enliven(reuse, ref, at, block_out);
    return true;
}

/* ---- chunks -------------------------------------------------------------------------- */

void sp_reuse_add_chunk(struct sp_reuse *reuse, struct sp_chunk *chunk)
{
    uint32_t ref = sp_reuse_new_record(reuse);

    SP_ASSERT(chunk->size != 0 && ((chunk->base | chunk->size) & (reuse->unit - 1)) == 0);
    chunk->first = ref;
    *sp_reuse_at(reuse, ref) = (struct sp_reuse_range){
        .start = chunk->base,
        .size = chunk->size,
        .chunk = chunk,
        .is_fresh = true,
    };
    sp_reuse_list_chunk(reuse, chunk);
    sp_reuse_settle_ready(reuse, ref);
    reuse->stats.reserved_bytes += chunk->size;
    if (reuse->stats.reserved_high_bytes < reuse->stats.reserved_bytes)
        reuse->stats.reserved_high_bytes = reuse->stats.reserved_bytes;
}

struct sp_chunk *sp_reuse_remove_chunk(struct sp_reuse *reuse, uint64_t keep)
{
    struct sp_chunk *found = NULL, *chunk;
    uint64_t surplus = reuse->stats.reserved_bytes - keep;
    uint32_t ref, n_idle;

    catch_up(reuse);
    if (reuse->stats.reserved_bytes <= keep)
        return NULL;
    sp_reuse_merge_ready(reuse);
    n_idle = reuse->n_idle;
    for (chunk = reuse->first_chunk; chunk != NULL && n_idle > 0; chunk = chunk->next) {
        const struct sp_reuse_range *first = sp_reuse_at(reuse, chunk->first);

        if (first->state != SP_REUSE_READY || first->size != chunk->size)
            continue;
        n_idle--;
        if (chunk->size <= surplus && (found == NULL || chunk->size > found->size))
            found = chunk;
    }
    if (found == NULL)
        return NULL;
    ref = sp_reuse_carve(reuse, found->first, found->size);
    sp_reuse_drop_record(reuse, ref);
    sp_reuse_unlist_chunk(reuse, found);
    found->first = 0;
    reuse->stats.reserved_bytes -= found->size;
    if (reuse->order->checker != NULL)
        sp_checker_forget(reuse->order->checker, found->base, found->size);
    return found;
}

struct sp_chunk *sp_reuse_next_chunk(const struct sp_reuse *reuse, struct sp_chunk *chunk)
{
    return chunk == NULL ? reuse->first_chunk : chunk->next;
}
