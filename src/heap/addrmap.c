/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A two-level table indexed by page. Leaves are mapped as ranges are covered, and stay: a
 * reader may be looking at one at any time. */
#include "config.h"

#include "src/heap/addrmap.h"

#include <pthread.h>
#include <sys/mman.h>

#include "src/util/util.h"

struct sp_leaf *_Atomic sp_addrmap_leaves[SP_N_LEAVES];

static struct {
    pthread_mutex_t mutex; /* guards making leaves */
} addrmap = {PTHREAD_MUTEX_INITIALIZER};

static struct sp_leaf *leaf_of(uintptr_t address)
{
    return atomic_load_explicit(&sp_addrmap_leaves[address >> SP_LEAF_SHIFT],
                                memory_order_acquire);
}

static _Atomic uintptr_t *entry_of(uintptr_t address)
{
    return &leaf_of(address)->pages[(address >> SP_PAGE_SHIFT) & (SP_LEAF_PAGES - 1)];
}

static struct sp_leaf *make_leaf(uintptr_t address)
{
    struct sp_leaf *leaf;

    pthread_mutex_lock(&addrmap.mutex);
    leaf = leaf_of(address);
    if (leaf == NULL) {
        leaf = mmap(NULL, sizeof(*leaf), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (leaf == MAP_FAILED)
            leaf = NULL;
        atomic_store_explicit(&sp_addrmap_leaves[address >> SP_LEAF_SHIFT], leaf,
                              memory_order_release);
    }
    pthread_mutex_unlock(&addrmap.mutex);
    return leaf;
}

static void set_all(uintptr_t base, size_t size, uintptr_t entry)
{
    for (uintptr_t page = base; page < base + size; page += SP_PAGE)
        atomic_store_explicit(entry_of(page), entry, memory_order_release);
}

enum starpool_status sp_addrmap_cover(uintptr_t base, size_t size)
{
    uintptr_t end = base + size;

    if (end < base || (end - 1) >> SP_ADDRESS_BITS != 0)
        return STARPOOL_ENOMEM;
    for (uintptr_t leaf = base >> SP_LEAF_SHIFT; leaf <= (end - 1) >> SP_LEAF_SHIFT; leaf++) {
        uintptr_t address = leaf << SP_LEAF_SHIFT;

        if (leaf_of(address) == NULL && make_leaf(address) == NULL)
            return STARPOOL_ENOMEM;
    }
    set_all(base, size, SP_ENTRY_OURS);
    return STARPOOL_OK;
}

void sp_addrmap_uncover(uintptr_t base, size_t size)
{
    set_all(base, size, 0);
}

static uintptr_t entry_for(const struct sp_range *range)
{
    return (uintptr_t)range | (uintptr_t)range->tag << SP_ENTRY_TAG_SHIFT |
           (uintptr_t)range->slot << SP_ENTRY_SLOT_SHIFT;
}

void sp_addrmap_set(uintptr_t start, struct sp_range *range)
{
    atomic_store_explicit(entry_of(start), range == NULL ? SP_ENTRY_OURS : entry_for(range),
                          memory_order_release);
}

void sp_span_set(struct sp_span *span, uintptr_t start, struct sp_range *range)
{
    atomic_store_explicit(sp_span_unit(span, start), range == NULL ? 0 : entry_for(range),
                          memory_order_release);
}

void sp_addrmap_set_span(uintptr_t base, struct sp_span *span)
{
    set_all(base, SP_SPAN_SIZE, span == NULL ? SP_ENTRY_OURS : (uintptr_t)span | SP_ENTRY_SPAN);
}

void sp_addrmap_set_chunk(uintptr_t base, size_t size, void *chunk)
{
    set_all(base, size, chunk == NULL ? SP_ENTRY_OURS : (uintptr_t)chunk | SP_ENTRY_CHUNK);
}

static struct sp_range *below_in_span(struct sp_span *span, uintptr_t address)
{
    /* By number and not by address: the span may be on its way elsewhere. */
    for (size_t i = 0; i < SP_SPAN_UNITS && address >= span->base;
         i++, address -= SP_SMALL_UNIT) {
        uintptr_t entry =
            atomic_load_explicit(sp_span_unit(span, address), memory_order_acquire);

        if (entry != 0)
            return (struct sp_range *)(entry & SP_ENTRY_POINTER);
    }
    return NULL;
}

struct sp_range *sp_addrmap_below(uintptr_t address)
{
    uintptr_t entry;

    for (; (entry = sp_addrmap_entry(address)) != 0;
         address = sp_round_down(address, SP_PAGE) - 1) {
        struct sp_range *range = NULL;

        if ((entry & SP_ENTRY_CHUNK) == SP_ENTRY_CHUNK)
            return NULL;
        if ((entry & SP_ENTRY_SPAN) != 0)
            range = below_in_span((struct sp_span *)(entry & SP_ENTRY_POINTER), address);
        else if ((entry & SP_ENTRY_OURS) == 0)
            range = (struct sp_range *)(entry & SP_ENTRY_POINTER);
        if (range != NULL)
            return range;
    }
    return NULL;
}

void sp_addrmap_freeze(void)
{
    pthread_mutex_lock(&addrmap.mutex);
}

void sp_addrmap_thaw(void)
{
    pthread_mutex_unlock(&addrmap.mutex);
}
