/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Free ranges of addresses: take, give, split, merge, each in constant time (two-level
 * segregated fit). The heap never touches the memory it hands out, and has no lock: its user
 * holds one. */
#ifndef SP_HEAP_H
#define SP_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bins of one size class of the first level; sizes in a bin differ by at most 1/32, but for
 * those that have grown since and may belong a few bins higher. */
#define SP_HEAP_SL_BITS 5
#define SP_HEAP_SL      (1 << SP_HEAP_SL_BITS)
#define SP_HEAP_FL      40

/* take() may need so many spare records: the piece before an aligned block, and the one after.
 */
#define SP_HEAP_TAKE_RECORDS 2

enum sp_range_state {
    SP_RANGE_SPARE, /* a record without a range */
    SP_RANGE_FREE,  /* in a bin */
    SP_RANGE_TAKEN, /* outside the heap, in the hands of its user (a thread's cache) */
    SP_RANGE_LIVE,  /* handed on by the user */
};

struct sp_heap;
struct sp_region;

/*
 * A range of addresses, described outside of it. One cache line.
 *
 *   prev != NULL => prev->start + prev->size <= start      (next likewise)
 *   two FREE neighbours never touch
 *
 * Everything but `state` between TAKEN and LIVE, and what is the user's, is guarded by the
 * heap's lock.
 */
struct sp_range {
    uintptr_t start;       /* [address] a multiple of the heap's unit */
    size_t size;           /* [bytes] a multiple of the heap's unit, not 0 */
    struct sp_range *prev; /* neighbour in the region, NULL at its ends */
    struct sp_range *next; /* SPARE: the next spare record */
    struct sp_region *region;
    union {
        struct {
            struct sp_range *_Atomic prev_in_bin;
            struct sp_range *next_in_bin;
        };                    /* FREE */
        void *_Atomic holder; /* TAKEN, LIVE: the user's; anything to who has no lock */
    };
    _Atomic uint8_t state; /* an enum sp_range_state */
    uint8_t tag, slot;     /* TAKEN, LIVE: the user's */
    uint8_t fl, sl;        /* FREE: which bin */
} __attribute__((aligned(64)));

/* An area of addresses that a heap manages, with holes perhaps; neighbouring ranges merge only
 * within a region. Embedded in a struct of the user's. */
struct sp_region {
    struct sp_range *first, *last;
    struct sp_region *prev, *next; /* in the heap's list */
    struct sp_heap *heap;
};

/*
 *   free_bytes + used_bytes == the sum of all sizes added and not cut
 *   used_bytes <= used_high_bytes
 *   bit f of fl_map <=> sl_map[f] != 0;  bit s of sl_map[f] <=> bins[f][s] != NULL
 */
struct sp_heap {
    size_t unit; /* [bytes] a power of two; every start and size is a multiple */
    unsigned unit_shift;
    uint64_t fl_map;
    uint32_t sl_map[SP_HEAP_FL];
    struct sp_range *bins[SP_HEAP_FL][SP_HEAP_SL];
    struct sp_region *regions;
    struct sp_range *spares;
    size_t n_spares;
    bool is_thorough; /* take() looks at every range of the request's own bin */
    size_t free_bytes;
    size_t used_bytes;
    size_t used_high_bytes;
};

void sp_heap_init(struct sp_heap *heap, size_t unit);

/* Give the heap `n` zeroed records for later ranges. They stay the heap's. */
void sp_heap_donate(struct sp_heap *heap, struct sp_range *records, size_t n);

/* Make an empty region known to the heap, or take it away again when it is empty. */
void sp_heap_attach(struct sp_heap *heap, struct sp_region *region);
void sp_heap_detach(struct sp_heap *heap, struct sp_region *region);

/* Add the addresses [base, base + size), none of which the region has, as a free range; needs a
 * spare record. */
void sp_heap_add(struct sp_heap *heap, struct sp_region *region, uintptr_t base, size_t size);

/* Take the addresses [base, base + size) away again if all of them are free. False, and nothing
 * changed, if not, or if free memory on both sides needs a record and none is spare. */
bool sp_heap_cut(struct sp_heap *heap, struct sp_region *region, uintptr_t base, size_t size);

/*
 * A range of exactly `size` bytes that begins at a multiple of `align`, or NULL; its state is
 * TAKEN. `size` is a multiple of the unit, `align` a power of two and at least the unit. Needs
 * SP_HEAP_TAKE_RECORDS spare records.
 */
struct sp_range *sp_heap_take(struct sp_heap *heap, size_t size, size_t align);

/* Give a range back, whatever its state; it merges with free neighbours. */
void sp_heap_give(struct sp_heap *heap, struct sp_range *range);

/* The size of the largest free range, 0 if there is none. */
size_t sp_heap_largest(const struct sp_heap *heap);

/* True if every invariant above holds. Takes time in proportion to the number of ranges. */
bool sp_heap_is_valid(const struct sp_heap *heap);

static inline enum sp_range_state sp_range_state(const struct sp_range *range)
{
    return (enum sp_range_state)atomic_load_explicit(&range->state, memory_order_relaxed);
}

/* Who has found a block without a lock reads the holder of what may be free again by now: a
 * value, to be checked before it is used. */
static inline void *sp_range_holder(const struct sp_range *range)
{
    return atomic_load_explicit(&range->holder, memory_order_relaxed);
}

static inline void sp_range_set_holder(struct sp_range *range, void *holder)
{
    atomic_store_explicit(&range->holder, holder, memory_order_relaxed);
}

static inline void sp_range_set_state(struct sp_range *range, enum sp_range_state state)
{
    atomic_store_explicit(&range->state, (uint8_t)state, memory_order_relaxed);
}

#endif /* SP_HEAP_H */
