/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Address -> block, for every pool of the process. Double, interior and foreign frees end
 * here. Looking up takes no lock. */
#ifndef SP_ADDRMAP_H
#define SP_ADDRMAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/heap/heap.h"

#define SP_PAGE_SHIFT 12
#define SP_PAGE       ((size_t)1 << SP_PAGE_SHIFT)

/* A leaf covers 1 GiB. User space has 47 bits of addresses on x86-64 and 48 on 64-bit Arm. */
#define SP_LEAF_SHIFT   30
#define SP_LEAF_PAGES   ((size_t)1 << (SP_LEAF_SHIFT - SP_PAGE_SHIFT))
#define SP_ADDRESS_BITS 48
#define SP_N_LEAVES     ((size_t)1 << (SP_ADDRESS_BITS - SP_LEAF_SHIFT))

/* Small blocks begin at multiples of this. */
#define SP_SMALL_SHIFT 8
#define SP_SMALL_UNIT  ((size_t)1 << SP_SMALL_SHIFT)
#define SP_SPAN_SIZE   ((size_t)256 << 10)
#define SP_SPAN_UNITS  (SP_SPAN_SIZE / SP_SMALL_UNIT)

/* One entry a page: 0 if it is no pool's; SP_ENTRY_OURS if it is, but no block begins there;
 * the record of the block that begins there, with its tag and slot in the highest bits, where a
 * free finds them without waiting for the record; with SP_ENTRY_SPAN set, the span that the
 * page belongs to; or, with both bits set, what sp_addrmap_set_chunk() was given. */
#define SP_ENTRY_SPAN       ((uintptr_t)1)
#define SP_ENTRY_OURS       ((uintptr_t)2)
#define SP_ENTRY_CHUNK      (SP_ENTRY_SPAN | SP_ENTRY_OURS)
#define SP_ENTRY_TAG_SHIFT  56
#define SP_ENTRY_SLOT_SHIFT 48
#define SP_ENTRY_POINTER    ((((uintptr_t)1 << SP_ENTRY_SLOT_SHIFT) - 1) & ~(uintptr_t)3)

/* With a slot: the block may go at any time without its user's doing. Then nothing of its
 * record can be believed without the lock of who holds it. */
#define SP_SLOT_FLEETING 0x80U

/* What is known of a block by its address alone. */
struct sp_found {
    struct sp_range *range; /* NULL if no block begins there */
    unsigned tag, slot;
    bool is_fleeting;
};

/* A piece of memory that small blocks are cut from. One entry a unit: the record of the block
 * that begins there, as for pages, or 0. As many units follow one another as there are entries,
 * so that a unit's number modulo theirs tells them apart, wherever the span begins. */
struct sp_span {
    _Atomic uintptr_t base; /* [address] read without a lock: it may be another's by now */
    _Atomic uintptr_t units[SP_SPAN_UNITS];
};

struct sp_leaf {
    _Atomic uintptr_t pages[SP_LEAF_PAGES];
};

extern struct sp_leaf *_Atomic sp_addrmap_leaves[SP_N_LEAVES];

/* Make the pages of a range ours. Entering blocks can neither fail nor fault from then on.
 * STARPOOL_ENOMEM, and nothing changed, if there is no memory for the entries. */
STARPOOL_CHECK enum starpool_status sp_addrmap_cover(uintptr_t base, size_t size);

/* Make them nobody's again; no block is entered there. */
void sp_addrmap_uncover(uintptr_t base, size_t size);

/* Enter or forget a block that begins at a page. The range is covered. */
void sp_addrmap_set(uintptr_t start, struct sp_range *range);

/* Enter or (with NULL) forget a span. */
void sp_addrmap_set_span(uintptr_t base, struct sp_span *span);

/* Enter or (with NULL) forget a block of a span. */
void sp_span_set(struct sp_span *span, uintptr_t start, struct sp_range *range);

/* Enter or (with NULL) forget memory in which blocks are found by other means: `chunk` is a
 * record of the user's, at a multiple of 4, that stays readable for ever. A block that was
 * entered at `base` is forgotten. */
void sp_addrmap_set_chunk(uintptr_t base, size_t size, void *chunk);

/* The entry of an address's page; 0 if it is no pool's. */
static inline uintptr_t sp_addrmap_entry(uintptr_t address)
{
    struct sp_leaf *leaf;

    if (__builtin_expect(address >> SP_ADDRESS_BITS != 0, 0))
        return 0;
    leaf = atomic_load_explicit(&sp_addrmap_leaves[address >> SP_LEAF_SHIFT],
                                memory_order_acquire);
    if (__builtin_expect(leaf == NULL, 0))
        return 0;
    return atomic_load_explicit(&leaf->pages[(address >> SP_PAGE_SHIFT) & (SP_LEAF_PAGES - 1)],
                                memory_order_acquire);
}

/* True if the address is in some pool's memory. */
static inline bool sp_addrmap_is_ours(uintptr_t address)
{
    return sp_addrmap_entry(address) != 0;
}

/* The chunk that the address is in, or NULL. */
static inline void *sp_addrmap_chunk(uintptr_t address)
{
    uintptr_t entry = sp_addrmap_entry(address);

    return (entry & SP_ENTRY_CHUNK) == SP_ENTRY_CHUNK ? (void *)(entry & SP_ENTRY_POINTER)
                                                      : NULL;
}

/* The entry of the unit at `address`. */
static inline _Atomic uintptr_t *sp_span_unit(struct sp_span *span, uintptr_t address)
{
    return &span->units[(address >> SP_SMALL_SHIFT) % SP_SPAN_UNITS];
}

/* The block that begins at `address`. Its record's state says whether it is live. */
static inline struct sp_found sp_addrmap_find(uintptr_t address)
{
    uintptr_t entry = sp_addrmap_entry(address);
    size_t unit = SP_PAGE;

    if ((entry & (SP_ENTRY_SPAN | SP_ENTRY_OURS)) != 0) {
        if ((entry & SP_ENTRY_OURS) != 0)
            return (struct sp_found){.range = NULL};
        unit = SP_SMALL_UNIT;
        entry = atomic_load_explicit(
            sp_span_unit((struct sp_span *)(entry & SP_ENTRY_POINTER), address),
            memory_order_acquire);
    }
    if (__builtin_expect((address & (unit - 1)) != 0, 0))
        return (struct sp_found){.range = NULL};
    return (struct sp_found){
        .range = (struct sp_range *)(entry & SP_ENTRY_POINTER),
        .tag = (unsigned)(entry >> SP_ENTRY_TAG_SHIFT),
        .slot = (unsigned)(entry >> SP_ENTRY_SLOT_SHIFT) & (SP_SLOT_FLEETING - 1),
        .is_fleeting = (entry >> SP_ENTRY_SLOT_SHIFT & SP_SLOT_FLEETING) != 0,
    };
}

/* The record of the nearest block that begins at or below `address` in memory that is ours
 * without a gap or a chunk between; NULL if there is none. Slow: for reports. */
struct sp_range *sp_addrmap_below(uintptr_t address);

/* Quiesce the table around a fork. */
void sp_addrmap_freeze(void);
void sp_addrmap_thaw(void);

#endif /* SP_ADDRMAP_H */
