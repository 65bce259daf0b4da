/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bins of free ranges by size (two levels with a bitmap each), queues of them by stamp, and the
 * hash table of live blocks. Inlined: they are most of what a take and a give do. */
#ifndef SP_REUSE_BINS_H
#define SP_REUSE_BINS_H

#include "src/heap/reuse_impl.h"

/* How many ranges of the request's own bin are tried at once. */
#define SP_REUSE_TRIES 8

/* ---- bins ---------------------------------------------------------------------------- */

static inline void sp_reuse_bin_of(size_t units, unsigned *fl_out, unsigned *sl_out)
{
    unsigned log;

    if (units < SP_REUSE_SL) {
        *fl_out = 0;
        *sl_out = (unsigned)units;
        return;
    }
    log = sp_log2(units);
    *fl_out = log - SP_REUSE_SL_BITS + 1;
    *sl_out = (unsigned)(units >> (log - SP_REUSE_SL_BITS)) & (SP_REUSE_SL - 1);
}

static inline void sp_reuse_bins_add(struct sp_reuse *reuse, struct sp_reuse_bins *bins,
                                     uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    unsigned fl, sl;
    uint32_t head;

    sp_reuse_bin_of(range->size >> reuse->unit_shift, &fl, &sl);
    head = bins->heads[fl][sl];
    range->prev_in_bin = 0;
    range->next_in_bin = head;
    if (head != 0)
        sp_reuse_at(reuse, head)->prev_in_bin = ref;
    bins->heads[fl][sl] = ref;
    bins->sl_map[fl] |= (uint8_t)(1U << sl);
    bins->fl_map |= (uint64_t)1 << fl;
}

static inline void sp_reuse_bins_remove(struct sp_reuse *reuse, struct sp_reuse_bins *bins,
                                        const struct sp_reuse_range *range)
{
    unsigned fl, sl;

    if (range->next_in_bin != 0)
        sp_reuse_at(reuse, range->next_in_bin)->prev_in_bin = range->prev_in_bin;
    if (range->prev_in_bin != 0) {
        sp_reuse_at(reuse, range->prev_in_bin)->next_in_bin = range->next_in_bin;
        return;
    }
    sp_reuse_bin_of(range->size >> reuse->unit_shift, &fl, &sl);
    bins->heads[fl][sl] = range->next_in_bin;
    if (range->next_in_bin != 0)
        return;
    bins->sl_map[fl] &= (uint8_t) ~(1U << sl);
    if (bins->sl_map[fl] == 0)
        bins->fl_map &= ~((uint64_t)1 << fl);
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

    while (older != 0 && SP_UNLIKELY(sp_reuse_at(reuse, older)->seq > range->seq)) {
        newer = older;
        older = sp_reuse_at(reuse, older)->older;
    }
    range->older = older;
    range->newer = newer;
    *(older != 0 ? &sp_reuse_at(reuse, older)->newer : &queue->oldest) = ref;
    *(newer != 0 ? &sp_reuse_at(reuse, newer)->older : &queue->newest) = ref;
}

static inline void sp_reuse_queue_remove(struct sp_reuse *reuse, struct sp_reuse_queue *queue,
                                         const struct sp_reuse_range *range)
{
    if (range->older != 0)
        sp_reuse_at(reuse, range->older)->newer = range->newer;
    else
        queue->oldest = range->newer;
    if (range->newer != 0)
        sp_reuse_at(reuse, range->newer)->older = range->older;
    else
        queue->newest = range->older;
}

/* ---- live blocks --------------------------------------------------------------------- */

static inline void sp_reuse_hash_add(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    uint32_t *heads = reuse->hash.items;
    uint32_t *head = &heads[sp_reuse_hash_index(reuse, range->start)];

    range->next_in_hash = *head;
    *head = ref;
}

/* A block that begins there will be added soon. */
static inline void sp_reuse_hash_prefetch(const struct sp_reuse *reuse, uintptr_t start)
{
    const uint32_t *heads = reuse->hash.items;

    __builtin_prefetch(&heads[sp_reuse_hash_index(reuse, start)], 1);
}

/* Where the live block that begins at `start` is referred to from; NULL if there is none. */
static inline uint32_t *sp_reuse_hash_find(const struct sp_reuse *reuse, uintptr_t start)
{
    uint32_t *heads = reuse->hash.items, *ref;

    if (SP_UNLIKELY(heads == NULL))
        return NULL;
    ref = &heads[sp_reuse_hash_index(reuse, start)];
    while (*ref != 0) {
        struct sp_reuse_range *range = sp_reuse_at(reuse, *ref);

        if (range->start == start)
            return ref;
        ref = &range->next_in_hash;
    }
    return NULL;
}

#endif /* SP_REUSE_BINS_H */
