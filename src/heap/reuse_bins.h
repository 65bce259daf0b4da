/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bins of free ranges by size (two levels with a bitmap each), and queues of them by stamp.
 * Inlined: they are most of what a take and a give do. */
#ifndef SP_REUSE_BINS_H
#define SP_REUSE_BINS_H

#include "src/heap/reuse_impl.h"

/* How many ranges of the request's own bin or chain are tried at once. */
#define SP_REUSE_TRIES 8

/* ---- bins ---------------------------------------------------------------------------- */

static inline void sp_reuse_bin_of(size_t units, unsigned *fl_out, unsigned *sl_out)
{
    unsigned shift = sp_log2(units | SP_REUSE_SL) - SP_REUSE_SL_BITS;

    *fl_out = shift + (units >= SP_REUSE_SL);
    *sl_out = (unsigned)(units >> shift) & (SP_REUSE_SL - 1);
}

/* Without branches, here and below: whether there are neighbours cannot be foreseen, and what
 * is written to the links of line 0 does no harm. */
static inline void sp_reuse_chain_add(struct sp_reuse *reuse, uint32_t *head, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

    range->prev_in_bin = 0;
    range->next_in_bin = *head;
    sp_reuse_at(reuse, *head)->prev_in_bin = ref;
    *head = ref;
}

static inline void sp_reuse_chain_remove(struct sp_reuse *reuse, uint32_t *head,
                                         const struct sp_reuse_range *range)
{
    uint32_t prev = range->prev_in_bin, next = range->next_in_bin;

    sp_reuse_at(reuse, next)->prev_in_bin = prev;
    sp_reuse_at(reuse, prev)->next_in_bin = next;
    *head = prev == 0 ? next : *head;
}

static inline void sp_reuse_bins_add(struct sp_reuse *reuse, struct sp_reuse_bins *bins,
                                     uint32_t ref)
{
    unsigned fl, sl;

    sp_reuse_bin_of(sp_reuse_at(reuse, ref)->size >> reuse->unit_shift, &fl, &sl);
    sp_reuse_chain_add(reuse, &bins->heads[fl][sl], ref);
    bins->sl_map[fl] |= (uint8_t)(1U << sl);
    bins->fl_map |= (uint64_t)1 << fl;
}

static inline void sp_reuse_bins_remove(struct sp_reuse *reuse, struct sp_reuse_bins *bins,
                                        const struct sp_reuse_range *range)
{
    unsigned fl, sl;

    sp_reuse_bin_of(range->size >> reuse->unit_shift, &fl, &sl);
    sp_reuse_chain_remove(reuse, &bins->heads[fl][sl], range);
    bins->sl_map[fl] &= (uint8_t) ~((unsigned)(bins->heads[fl][sl] == 0) << sl);
    bins->fl_map &= ~((uint64_t)(bins->sl_map[fl] == 0) << fl);
}

/* The chain of a stream's loose ranges for the sizes of a bin. */
static inline uint32_t *sp_reuse_loose_chain(struct sp_reuse_stream *stream, unsigned fl,
                                             unsigned sl)
{
    return &stream->loose[(fl + sl) % SP_REUSE_CHAINS];
}

/* The next bin that is not empty, from a given one upwards; false if there is none. */
static inline bool sp_reuse_bins_next(const struct sp_reuse_bins *bins, unsigned *fl,
                                      unsigned *sl)
{
    unsigned sl_map;
    uint64_t fl_map;

    if (*fl >= SP_REUSE_FL)
        return false;
    sl_map = *sl < SP_REUSE_SL ? bins->sl_map[*fl] & (0xffU << *sl) : 0;
    if (sl_map == 0) {
        fl_map = bins->fl_map & (~(uint64_t)1 << *fl);
        if (fl_map == 0)
            return false;
        *fl = (unsigned)__builtin_ctzll(fl_map);
        sl_map = bins->sl_map[*fl];
    }
    *sl = (unsigned)__builtin_ctz(sl_map);
    return true;
}

/* The first range of a chain of at least `size` bytes, among so many. */
static inline uint32_t sp_reuse_chain_find(const struct sp_reuse *reuse, uint32_t ref,
                                           size_t size, unsigned n_tries)
{
    for (; ref != 0 && n_tries > 0; n_tries--) {
        const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

        if (range->size >= size)
            return ref;
        ref = range->next_in_bin;
    }
    return 0;
}

/* A range of exactly `size` bytes with a stamp of `seq` at most, among the first of a chain; 0
 * if there is none. */
static inline uint32_t sp_reuse_chain_find_exact(const struct sp_reuse *reuse, uint32_t ref,
                                                 size_t size, uint64_t seq)
{
    for (unsigned n_tries = SP_REUSE_TRIES; ref != 0 && n_tries > 0; n_tries--) {
        const struct sp_reuse_range *range = sp_reuse_at(reuse, ref);

        if (range->size == size && range->seq <= seq)
            return ref;
        ref = range->next_in_bin;
    }
    return 0;
}

/* A range of at least `size` bytes, near the smallest; 0 if there is none, or if none is found
 * soon and `is_thorough` is not set. */
static inline uint32_t sp_reuse_bins_find(const struct sp_reuse *reuse,
                                          const struct sp_reuse_bins *bins, size_t size,
                                          bool is_thorough)
{
    unsigned fl, sl, above_sl;
    uint32_t own, ref;

    if (bins->fl_map == 0)
        return 0;
    sp_reuse_bin_of(size >> reuse->unit_shift, &fl, &sl);
    if (SP_UNLIKELY(fl >= SP_REUSE_FL))
        return 0;
    own = bins->heads[fl][sl];
    ref = sp_reuse_chain_find(reuse, own, size, SP_REUSE_TRIES);
    if (ref != 0)
        return ref;
    /* All that is in a bin above is large enough. */
    above_sl = sl + 1;
    if (sp_reuse_bins_next(bins, &fl, &above_sl))
        return bins->heads[fl][above_sl];
    return is_thorough ? sp_reuse_chain_find(reuse, own, size, UINT32_MAX) : 0;
}

/* ---- queues -------------------------------------------------------------------------- */

/* Put a range to its place by its stamp, which mostly is the end. */
static inline void sp_reuse_queue_add(struct sp_reuse *reuse, struct sp_reuse_queue *queue,
                                      uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    uint32_t older = queue->newest, newer = 0;

    /* Line 0 has the stamp 0. */
    while (SP_UNLIKELY(sp_reuse_at(reuse, older)->seq > range->seq)) {
        newer = older;
        older = sp_reuse_at(reuse, older)->older;
    }
    range->older = older;
    range->newer = newer;
    sp_reuse_at(reuse, older)->newer = ref;
    sp_reuse_at(reuse, newer)->older = ref;
    queue->oldest = older == 0 ? ref : queue->oldest;
    queue->newest = newer == 0 ? ref : queue->newest;
}

static inline void sp_reuse_queue_remove(struct sp_reuse *reuse, struct sp_reuse_queue *queue,
                                         const struct sp_reuse_range *range)
{
    uint32_t older = range->older, newer = range->newer;

    sp_reuse_at(reuse, older)->newer = newer;
    sp_reuse_at(reuse, newer)->older = older;
    queue->oldest = older == 0 ? newer : queue->oldest;
    queue->newest = newer == 0 ? older : queue->newest;
}

#endif /* SP_REUSE_BINS_H */
