/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last resort of a stream-ordered heap: neighbouring ranges of any streams, put together
 * once the stream waits for the frees that it does not come after. Looks at all ranges. */
#include "config.h"

#include "src/heap/reuse_impl.h"

#include "src/heap/reuse_bins.h"

/* Neighbours, none of them live, of `size` bytes together. */
struct window {
    uint32_t first; /* 0: none */
    size_t size;
    uint32_t n_unordered; /* how many of them must be waited for */
};

static bool must_wait(const struct sp_reuse *reuse, const struct sp_reuse_range *range,
                      sp_slot slot)
{
    if (range->state == SP_REUSE_READY || range->slot == slot)
        return false;
    if (reuse->policy.is_opportunistic &&
        range->seq <= reuse->order->streams[range->slot].done_seq)
        return false;
    return !reuse->policy.follows_events ||
           sp_order_known(reuse->order, slot, range->slot) < range->seq;
}

/* Whether `a` should be taken rather than `b`, both being large enough. */
static bool is_better(const struct window *a, const struct window *b)
{
    if (b->first == 0)
        return true;
    if (a->n_unordered != b->n_unordered)
        return a->n_unordered < b->n_unordered;
    return a->size < b->size;
}

/* The best window of a chunk, if it is better than the best up to now. */
static void search_chunk(const struct sp_reuse *reuse, const struct sp_chunk *chunk,
                         size_t size, sp_slot slot, struct window *best)
{
    struct window window = {0, 0, 0};

    for (uint32_t ref = chunk->first; ref != 0; ref = sp_reuse_at(reuse, ref)->next) {
        const struct sp_reuse_range *range = sp_reuse_at(reuse, ref), *first;

        if (range->state == SP_REUSE_LIVE) {
            window = (struct window){0, 0, 0};
            continue;
        }
        if (window.first == 0)
            window.first = ref;
        window.size += range->size;
        window.n_unordered += must_wait(reuse, range, slot);
        first = sp_reuse_at(reuse, window.first);
        while (window.size - first->size >= size) {
            window.size -= first->size;
            window.n_unordered -= must_wait(reuse, first, slot);
            window.first = first->next;
            first = sp_reuse_at(reuse, window.first);
        }
        if (window.size >= size && is_better(&window, best))
            *best = window;
    }
}

/* The latest free of each stream that must be waited for; false if there is no room. */
static bool collect_waits(const struct sp_reuse *reuse, uint32_t ref, size_t size, sp_slot slot,
                          struct sp_point *waits_out, size_t room, size_t *n_waits_out)
{
    size_t n = 0;

    for (size_t got = 0; got < size; ref = sp_reuse_at(reuse, ref)->next) {
        const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
        size_t i = 0;

        got += range->size;
        if (!must_wait(reuse, range, slot))
            continue;
        while (i < n && waits_out[i].slot != range->slot)
            i++;
        if (i == room)
            return false;
        if (i == n)
            waits_out[n++] = (struct sp_point){range->slot, range->seq};
        else if (waits_out[i].seq < range->seq)
            waits_out[i].seq = range->seq;
    }
    *n_waits_out = n;
    return true;
}

/* One carved range of the first `size` bytes from a range on. */
static uint32_t put_together(struct sp_reuse *reuse, uint32_t ref, size_t size)
{
    uint32_t whole = 0;

    while (size > 0) {
        uint32_t next = sp_reuse_at(reuse, ref)->next;
        size_t part_size = sp_min(size, sp_reuse_at(reuse, ref)->size);
        uint32_t part = sp_reuse_carve(reuse, ref, part_size);

        if (whole == 0)
            whole = part;
        else
            sp_reuse_absorb(reuse, whole, part);
        size -= part_size;
        ref = next;
    }
    return whole;
}

/* Where the first range of the best window is, of a rounded size; 0: none. */
static uint32_t plan(struct sp_reuse *reuse, size_t size, sp_slot slot,
                     struct sp_point *waits_out, size_t room, size_t *n_waits_out)
{
    struct window best = {0, 0, 0};

    if (size == 0 || slot == SP_SLOT_HOST || !reuse->policy.allows_internal_wait)
        return 0;
    sp_reuse_notice(reuse);
    sp_reuse_merge(reuse);
    for (const struct sp_chunk *chunk = reuse->first_chunk; chunk != NULL;
         chunk = chunk->next) {
        if (chunk->size >= size)
            search_chunk(reuse, chunk, size, slot, &best);
    }
    if (best.first == 0 ||
        !collect_waits(reuse, best.first, size, slot, waits_out, room, n_waits_out))
        return 0;
    return best.first;
}

bool sp_reuse_plan_waiting(struct sp_reuse *reuse, size_t size, sp_slot slot,
                           struct sp_point *waits_out, size_t room, size_t *n_waits_out)
{
    size_t n_waits;

    size = sp_round_up(size, reuse->unit);
    if (plan(reuse, size, slot, waits_out, room, &n_waits) == 0)
        return false;
    *n_waits_out = n_waits;
    return true;
}

bool sp_reuse_take_waiting(struct sp_reuse *reuse, size_t size, struct sp_point at,
                           struct sp_reuse_block *block_out, struct sp_edge *edge_out,
                           struct sp_point *waits_out, size_t room, size_t *n_waits_out)
{
    uint32_t first;
    size_t n_waits;

    size = sp_round_up(size, reuse->unit);
    first = plan(reuse, size, at.slot, waits_out, room, &n_waits);
    if (first == 0)
        return false;
    if (sp_order_wait_points(reuse->order, at.slot, waits_out, n_waits) != STARPOOL_OK)
        return false;
    sp_reuse_grow_hash(reuse);
    edge_out->kind = SP_EDGE_INTERNAL;
    edge_out->free = n_waits > 0 ? waits_out[n_waits - 1] : (struct sp_point){SP_SLOT_HOST, 0};
    reuse->stats.n_takes[SP_EDGE_INTERNAL]++;
    *n_waits_out = n_waits;
    sp_reuse_enliven(reuse, put_together(reuse, first, size), at, block_out);
    return true;
}
