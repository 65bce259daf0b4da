/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory of one pool as blocks: two heaps and their entries in the address map. Blocks of
 * less than SP_SMALL_LIMIT bytes are cut from spans, which are blocks of the large heap. No
 * lock: its user holds one. */
#ifndef SP_STORE_H
#define SP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/heap/addrmap.h"
#include "src/heap/heap.h"

/* Rounding to pages would cost a block below this more than an eighth of its size. */
#define SP_SMALL_LIMIT ((size_t)32 << 10)

/* Four classes an octave, of what is rounded to 256 bytes, up to SP_CLASS_MAX_SIZE. A class
 * says where to look for a block of a size, and nothing is rounded to it. */
#define SP_CLASS_MAX_SIZE ((size_t)64 << 20)
#define SP_N_CLASSES      69
#define SP_NO_CLASS       255

/* The class of a rounded size, not above SP_CLASS_MAX_SIZE. */
static inline unsigned sp_size_class(size_t size)
{
    size_t units = size >> SP_SMALL_SHIFT;
    unsigned log;

    if (units < 4)
        return (unsigned)units;
    log = 63U ^ (unsigned)__builtin_clzll(units);
    /* The two bits behind the highest, which is the 4 in what is shifted. */
    return (log - 1) * 4 + (unsigned)(units >> (log - 2)) - 4;
}

struct sp_store_span; /* a span and its region */
struct sp_stock;      /* records for a store to go on with */

/*
 *   used_bytes == large.used_bytes - span_bytes + small.used_bytes <= used_high_bytes
 *   span_bytes == the number of spans * SP_SPAN_SIZE
 */
struct sp_store {
    struct sp_heap large;    /* unit SP_PAGE */
    struct sp_heap small;    /* unit SP_SMALL_UNIT; one region a span */
    struct sp_stock *stocks; /* all that were put */
    struct sp_store_span *spare_spans;
    size_t n_spare_spans;
    size_t n_idle_spans; /* spans of which everything is free */
    size_t span_bytes;
    size_t used_bytes;
    size_t used_high_bytes;
    void *holder;  /* put into every block's record, as are its class (tag) and this: */
    unsigned slot; /* set before the first take; with SP_SLOT_FLEETING or without */
};

void sp_store_init(struct sp_store *store, void *holder);

/* Give the records of a store without memory to those to come. */
void sp_store_fini(struct sp_store *store);

/* The size that a request is rounded up to; 0 if it is too large for any address space. */
static inline size_t sp_store_round(size_t size)
{
    size_t unit = size < SP_SMALL_LIMIT ? SP_SMALL_UNIT : SP_PAGE;

    return (size + unit - 1) & ~(unit - 1);
}

/* True if the next take cannot run out of records. If not, make a stock (without the lock: it
 * may make a system call; NULL if there is no memory) and put it. */
bool sp_store_is_stocked(const struct sp_store *store);
struct sp_stock *sp_stock_make(void);
void sp_store_put_stock(struct sp_store *store, struct sp_stock *stock);

/* Hold the list of used stocks still around a fork. */
void sp_stock_freeze(void);
void sp_stock_thaw(void);

/* Add memory that the address map covers; `region` is attached to `store->large`. */
void sp_store_add(struct sp_store *store, struct sp_region *region, uintptr_t base,
                  size_t size);

/* Take memory away again if all of it is free; false, and nothing changed, if not. */
bool sp_store_cut(struct sp_store *store, struct sp_region *region, uintptr_t base,
                  size_t size);

/* Free bytes of the region that end exactly at `address`: what is missing to a request there is
 * that much less. */
size_t sp_store_tail(const struct sp_region *region, uintptr_t address);

/*
 * A block of `size` bytes (from sp_store_round()) at a multiple of `align`, TAKEN and in the
 * address map; NULL if no free range is large enough. `align` is a power of two up to SP_PAGE,
 * or more for blocks that are not small. The store is stocked.
 */
struct sp_range *sp_store_take(struct sp_store *store, size_t size, size_t align);

/* The same for a small block that takes whole pages, because there is no room for a span. */
struct sp_range *sp_store_take_pages(struct sp_store *store, size_t size);

/* Whether a take looks at every range that might do, or only at so many that it takes constant
 * time. */
void sp_store_be_thorough(struct sp_store *store, bool is_thorough);

/* Give a block back. Makes no system call. */
void sp_store_give(struct sp_store *store, struct sp_range *range);

/* Give back every block of a region of the large heap, whatever its state; `see` is told of
 * each before. */
void sp_store_clear(struct sp_store *store, struct sp_region *region,
                    void (*see)(const struct sp_range *range, void *arg), void *arg);

/* Turn idle spans back into free memory of the large heap. */
void sp_store_drop_idle_spans(struct sp_store *store);

/* Live or cached blocks of at least one byte exist. */
static inline bool sp_store_is_empty(const struct sp_store *store)
{
    return store->used_bytes == 0;
}

bool sp_store_is_valid(const struct sp_store *store);

#endif /* SP_STORE_H */
