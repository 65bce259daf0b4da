/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two-level segregated fit over ranges that are described outside of themselves. Sizes are
 * kept exact: what a block does not need goes back to a bin, however small. */
#include "config.h"

#include "src/heap/heap.h"

#include <string.h>

#include "src/util/util.h"

/* How many ranges of the request's own bin are tried when no larger bin has one. All of them
 * could fit, but a bound keeps take() constant. */
#define MAX_TRIES 32

/* By how many bins a range may have outgrown its own: an eighth of its size. */
#define MAX_LAG 4

void sp_heap_init(struct sp_heap *heap, size_t unit)
{
    SP_ASSERT(sp_is_power_of_two(unit));
    memset(heap, 0, sizeof(*heap));
    heap->unit = unit;
    heap->unit_shift = sp_log2(unit);
}

void sp_heap_donate(struct sp_heap *heap, struct sp_range *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        records[i].next = heap->spares;
        heap->spares = &records[i];
    }
    heap->n_spares += n;
}

static struct sp_range *new_record(struct sp_heap *heap)
{
    struct sp_range *range = heap->spares;

    SP_ASSERT(range != NULL);
    heap->spares = range->next;
    heap->n_spares--;
    return range;
}

static void drop_record(struct sp_heap *heap, struct sp_range *range)
{
    sp_range_set_state(range, SP_RANGE_SPARE);
    range->next = heap->spares;
    heap->spares = range;
    heap->n_spares++;
}

/* ---- bins ---------------------------------------------------------------------------- */

/* The bin that a range of `units` belongs in. */
static inline void bin_of(size_t units, unsigned *fl_out, unsigned *sl_out)
{
    unsigned log;

    if (units < SP_HEAP_SL) {
        *fl_out = 0;
        *sl_out = (unsigned)units;
        return;
    }
    log = sp_log2(units);
    *fl_out = log - SP_HEAP_SL_BITS + 1;
    *sl_out = (unsigned)(units >> (log - SP_HEAP_SL_BITS)) & (SP_HEAP_SL - 1);
}

/* The bin with a number, counted over both levels. */
static inline struct sp_range *const *bin_at(const struct sp_heap *heap, unsigned bin)
{
    return &heap->bins[bin / SP_HEAP_SL][bin % SP_HEAP_SL];
}

/* The lock guards it; who has none may read there what was the holder. */
static inline void set_prev_in_bin(struct sp_range *range, struct sp_range *prev)
{
    atomic_store_explicit(&range->prev_in_bin, prev, memory_order_relaxed);
}

static inline void insert(struct sp_heap *heap, struct sp_range *range)
{
    unsigned fl, sl;
    struct sp_range *head;

    bin_of(range->size >> heap->unit_shift, &fl, &sl);
    head = heap->bins[fl][sl];
    range->fl = (uint8_t)fl;
    range->sl = (uint8_t)sl;
    set_prev_in_bin(range, NULL);
    range->next_in_bin = head;
    if (head != NULL)
        set_prev_in_bin(head, range);
    heap->bins[fl][sl] = range;
    heap->sl_map[fl] |= 1U << sl;
    heap->fl_map |= (uint64_t)1 << fl;
    sp_range_set_state(range, SP_RANGE_FREE);
}

static inline void withdraw(struct sp_heap *heap, struct sp_range *range)
{
    struct sp_range *prev = atomic_load_explicit(&range->prev_in_bin, memory_order_relaxed);
    unsigned fl = range->fl, sl = range->sl;

    if (range->next_in_bin != NULL)
        set_prev_in_bin(range->next_in_bin, prev);
    if (prev != NULL) {
        prev->next_in_bin = range->next_in_bin;
        return;
    }
    heap->bins[fl][sl] = range->next_in_bin;
    if (heap->bins[fl][sl] == NULL) {
        heap->sl_map[fl] &= ~(1U << sl);
        if (heap->sl_map[fl] == 0)
            heap->fl_map &= ~((uint64_t)1 << fl);
    }
}

/* Put a free range whose size has changed into the bin that it belongs in now. One that has
 * grown by a few bins stays: every range of a bin is at least as large as the bin says, and a
 * range that is cut and mended in turn need not move each time. */
static inline void rebin(struct sp_heap *heap, struct sp_range *range)
{
    unsigned fl, sl;

    bin_of(range->size >> heap->unit_shift, &fl, &sl);
    if (fl * SP_HEAP_SL + sl - (range->fl * SP_HEAP_SL + range->sl) <= MAX_LAG)
        return;
    withdraw(heap, range);
    insert(heap, range);
}

/* The first range of the smallest bin that is not empty, from a given bin upwards. */
static struct sp_range *first_from(const struct sp_heap *heap, unsigned fl, unsigned sl)
{
    uint32_t sl_map;
    uint64_t fl_map;

    if (fl >= SP_HEAP_FL)
        return NULL;
    sl_map = heap->sl_map[fl] & (~0U << sl);
    if (sl_map == 0) {
        fl_map = fl + 1 >= 64 ? 0 : heap->fl_map & (~(uint64_t)0 << (fl + 1));
        if (fl_map == 0)
            return NULL;
        fl = (unsigned)__builtin_ctzll(fl_map);
        sl_map = heap->sl_map[fl];
    }
    return heap->bins[fl][__builtin_ctz(sl_map)];
}

/* The first range of a bin that is large enough, among so many as there is time for. */
static struct sp_range *search(const struct sp_heap *heap, struct sp_range *range, size_t size)
{
    for (int i = 0; range != NULL && (i < MAX_TRIES || heap->is_thorough); i++) {
        if (range->size >= size)
            return range;
        range = range->next_in_bin;
    }
    return NULL;
}

/* Ranges of the request's own bin may do, and so may those that have stayed in a bin below. */
static struct sp_range *search_own(const struct sp_heap *heap, unsigned fl, unsigned sl,
                                   size_t size)
{
    unsigned bin = fl * SP_HEAP_SL + sl;
    struct sp_range *range = NULL;

    for (unsigned lag = 0; range == NULL && lag <= MAX_LAG && lag <= bin; lag++)
        range = search(heap, *bin_at(heap, bin - lag), size);
    return range;
}

/* A free range of at least `size` bytes, near the smallest there is. */
static struct sp_range *find(const struct sp_heap *heap, size_t size)
{
    unsigned fl, sl;
    struct sp_range *range, *own;

    /* Ranges of the request's own bin may be a little too small. The latest one is tried first,
     * as it is the very block if one size is given and taken in turn. */
    bin_of(size >> heap->unit_shift, &fl, &sl);
    if (SP_UNLIKELY(fl >= SP_HEAP_FL))
        return NULL;
    own = heap->bins[fl][sl];
    if (own != NULL && own->size >= size)
        return own;
    if (sl + 1 < SP_HEAP_SL)
        range = first_from(heap, fl, sl + 1);
    else
        range = first_from(heap, fl + 1, 0);
    return range != NULL ? range : search_own(heap, fl, sl, size);
}

/* ---- neighbours ---------------------------------------------------------------------- */

static void link_after(struct sp_region *region, struct sp_range *before,
                       struct sp_range *range)
{
    range->region = region;
    range->prev = before;
    range->next = before != NULL ? before->next : region->first;
    if (range->next != NULL)
        range->next->prev = range;
    else
        region->last = range;
    if (before != NULL)
        before->next = range;
    else
        region->first = range;
}

static void unlink_range(struct sp_range *range)
{
    struct sp_region *region = range->region;

    if (range->prev != NULL)
        range->prev->next = range->next;
    else
        region->first = range->next;
    if (range->next != NULL)
        range->next->prev = range->prev;
    else
        region->last = range->prev;
}

/* Make the end of `range`, from `size` bytes on, a range of its own, in no bin. */
static struct sp_range *split(struct sp_heap *heap, struct sp_range *range, size_t size)
{
    struct sp_range *rest = new_record(heap);

    rest->start = range->start + size;
    rest->size = range->size - size;
    range->size = size;
    link_after(range->region, range, rest);
    return rest;
}

/* Cut the first `size` bytes off a free range. What is left keeps the record, and mostly the
 * bin. */
static struct sp_range *cut_front(struct sp_heap *heap, struct sp_range *range, size_t size)
{
    struct sp_range *front = new_record(heap);

    front->start = range->start;
    front->size = size;
    range->start += size;
    range->size -= size;
    link_after(range->region, range->prev, front);
    rebin(heap, range);
    return front;
}

static inline bool can_merge(const struct sp_range *low, const struct sp_range *high)
{
    return low->start + low->size == high->start;
}

static inline bool is_free(const struct sp_range *range)
{
    return range != NULL && sp_range_state(range) == SP_RANGE_FREE;
}

/* Put a range that is in no bin into one, merged with its free neighbours, which keep their
 * records. */
static void settle(struct sp_heap *heap, struct sp_range *range)
{
    struct sp_range *prev = range->prev, *next = range->next;
    bool has_prev = is_free(prev) && can_merge(prev, range);

    if (is_free(next) && can_merge(range, next)) {
        next->start = range->start;
        next->size += range->size;
        unlink_range(range);
        drop_record(heap, range);
        if (!has_prev) {
            rebin(heap, next);
            return;
        }
        withdraw(heap, next);
        range = next;
    }
    if (!has_prev) {
        insert(heap, range);
        return;
    }
    prev->size += range->size;
    unlink_range(range);
    drop_record(heap, range);
    rebin(heap, prev);
}

/* ---- what users call ----------------------------------------------------------------- */

void sp_heap_attach(struct sp_heap *heap, struct sp_region *region)
{
    region->first = region->last = NULL;
    region->heap = heap;
    region->prev = NULL;
    region->next = heap->regions;
    if (heap->regions != NULL)
        heap->regions->prev = region;
    heap->regions = region;
}

void sp_heap_detach(struct sp_heap *heap, struct sp_region *region)
{
    SP_ASSERT(region->first == NULL);
    if (region->prev != NULL)
        region->prev->next = region->next;
    else
        heap->regions = region->next;
    if (region->next != NULL)
        region->next->prev = region->prev;
}

void sp_heap_add(struct sp_heap *heap, struct sp_region *region, uintptr_t base, size_t size)
{
    struct sp_range *range = new_record(heap);
    struct sp_range *before = region->last;

    while (before != NULL && before->start > base)
        before = before->prev;
    range->start = base;
    range->size = size;
    link_after(region, before, range);
    heap->free_bytes += size;
    settle(heap, range);
}

bool sp_heap_cut(struct sp_heap *heap, struct sp_region *region, uintptr_t base, size_t size)
{
    struct sp_range *range = region->last;

    while (range != NULL && range->start > base)
        range = range->prev;
    if (range == NULL || sp_range_state(range) != SP_RANGE_FREE ||
        range->start + range->size - base < size || range->start + range->size <= base)
        return false;
    if (range->start < base && range->start + range->size - base > size && heap->n_spares == 0)
        return false;
    withdraw(heap, range);
    if (range->start + range->size > base + size)
        insert(heap, split(heap, range, base + size - range->start));
    heap->free_bytes -= size;
    if (range->start < base) {
        range->size = base - range->start;
        insert(heap, range);
    } else {
        unlink_range(range);
        drop_record(heap, range);
    }
    return true;
}

struct sp_range *sp_heap_take(struct sp_heap *heap, size_t size, size_t align)
{
    size_t slack = align - heap->unit;
    struct sp_range *range;
    uintptr_t start;

    if (SP_UNLIKELY(size + slack < size))
        return NULL;
    range = find(heap, size + slack);
    if (range == NULL)
        return NULL;
    start = (range->start + align - 1) & ~(uintptr_t)(align - 1);
    if (SP_UNLIKELY(start != range->start))
        insert(heap, cut_front(heap, range, start - range->start));
    if (range->size != size)
        range = cut_front(heap, range, size);
    else
        withdraw(heap, range);
    sp_range_set_state(range, SP_RANGE_TAKEN);
    heap->free_bytes -= size;
    heap->used_bytes += size;
    if (heap->used_bytes > heap->used_high_bytes)
        heap->used_high_bytes = heap->used_bytes;
    return range;
}

void sp_heap_give(struct sp_heap *heap, struct sp_range *range)
{
    heap->free_bytes += range->size;
    heap->used_bytes -= range->size;
    settle(heap, range);
}

size_t sp_heap_largest(const struct sp_heap *heap)
{
    size_t largest = 0;
    unsigned fl, bin;

    if (heap->fl_map == 0)
        return 0;
    fl = sp_log2(heap->fl_map);
    bin = fl * SP_HEAP_SL + sp_log2(heap->sl_map[fl]);
    /* One that has grown may have stayed in a bin below. */
    for (unsigned lag = 0; lag <= MAX_LAG && lag <= bin; lag++) {
        for (const struct sp_range *r = *bin_at(heap, bin - lag); r != NULL; r = r->next_in_bin)
            largest = sp_max(largest, r->size);
    }
    return largest;
}

/* ---- invariants ---------------------------------------------------------------------- */

static bool bins_are_valid(const struct sp_heap *heap, size_t *n_free_out)
{
    size_t n_free = 0;

    for (unsigned fl = 0; fl < SP_HEAP_FL; fl++) {
        if (((heap->fl_map >> fl) & 1) != (heap->sl_map[fl] != 0))
            return false;
        for (unsigned sl = 0; sl < SP_HEAP_SL; sl++) {
            if (((heap->sl_map[fl] >> sl) & 1) != (heap->bins[fl][sl] != NULL))
                return false;
            for (const struct sp_range *r = heap->bins[fl][sl]; r != NULL; r = r->next_in_bin) {
                unsigned right_fl, right_sl;

                bin_of(r->size >> heap->unit_shift, &right_fl, &right_sl);
                /* A range may have grown by a few bins. */
                if (sp_range_state(r) != SP_RANGE_FREE ||
                    right_fl * SP_HEAP_SL + right_sl - (fl * SP_HEAP_SL + sl) > MAX_LAG)
                    return false;
                n_free++;
            }
        }
    }
    *n_free_out = n_free;
    return true;
}

static bool range_is_valid(const struct sp_heap *heap, const struct sp_range *r)
{
    const struct sp_range *next = r->next;

    if (r->size == 0 || ((r->start | r->size) & (heap->unit - 1)) != 0)
        return false;
    if (sp_range_state(r) == SP_RANGE_SPARE)
        return false;
    if (next == NULL)
        return true;
    if (next->prev != r || next->start < r->start + r->size)
        return false;
    return !(can_merge(r, next) && sp_range_state(r) == SP_RANGE_FREE &&
             sp_range_state(next) == SP_RANGE_FREE);
}

bool sp_heap_is_valid(const struct sp_heap *heap)
{
    size_t n_in_bins, n_free = 0, free_bytes = 0, used_bytes = 0;

    if (!bins_are_valid(heap, &n_in_bins))
        return false;
    for (const struct sp_region *g = heap->regions; g != NULL; g = g->next) {
        for (const struct sp_range *r = g->first; r != NULL; r = r->next) {
            if (r->region != g || !range_is_valid(heap, r) || (r->next == NULL && g->last != r))
                return false;
            if (sp_range_state(r) == SP_RANGE_FREE) {
                n_free++;
                free_bytes += r->size;
            } else {
                used_bytes += r->size;
            }
        }
    }
    return n_free == n_in_bins && free_bytes == heap->free_bytes &&
           used_bytes == heap->used_bytes && used_bytes <= heap->used_high_bytes;
}
