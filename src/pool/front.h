/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The per-thread front cache: blocks that a thread freed and takes again without a lock. Only
 * blocks ordered by the host pass through it. */
#ifndef SP_FRONT_H
#define SP_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/heap/heap.h"
#include "src/heap/store.h"
#include "src/util/lock.h"
#include "src/util/util.h"

/* Pools that can have a cache at one time; further ones go without. */
#define SP_FRONT_SLOTS 32

/* Blocks of one class that a thread keeps, and how many change hands at a time. The first makes
 * a magazine 512 bytes, so that finding one takes a shift. */
#define SP_MAGAZINE_SIZE  31
#define SP_MAGAZINE_BATCH 16

struct starpool_pool;

/* A block that is TAKEN. Its address stands beside its record, so that a taker need not wait
 * for the record. */
struct sp_cached {
    uintptr_t start;
    struct sp_range *range;
};

/* `top` is kept rather than a number: a free stores where it points and the next allocation
 * loads from there, and what lies between the two is what the pair of them waits for. */
struct sp_magazine {
    struct sp_cached *_Atomic top; /* behind the latest block; one writer */
    struct sp_cached blocks[SP_MAGAZINE_SIZE];
} __attribute__((aligned(64)));

/*
 * What one thread caches of one pool. The owner uses it inside `bias`; another thread only
 * while it holds `bias` closed, and then with the pool's lock. Lives as long as the process;
 * `pool` is NULL when no pool has it.
 *
 *   cached_bytes == the sum of the sizes of the blocks in the magazines
 *   n_allocs + n_moved + the number of blocks in the magazines == the number of frees kept here
 */
struct sp_front {
    struct sp_bias bias;
    struct starpool_pool *_Atomic pool;
    _Atomic size_t cached_bytes;
    _Atomic uint64_t n_allocs; /* served from here; one writer */
    uint64_t n_moved;          /* blocks that left otherwise, less those that came otherwise;
                                  guarded by the pool's lock */
    unsigned missed_class;     /* of the latest size that was not to be had here */
    struct sp_front *next;     /* in the pool's list */
    struct sp_magazine magazines[SP_N_CLASSES];
};

/* A thread's caches by slot of the pool; never freed, handed from thread to thread. */
struct sp_thread {
    struct sp_front *fronts[SP_FRONT_SLOTS + 1]; /* the last, of pools without a slot: NULL */
    struct sp_thread *next;                      /* spare ones */
};

/* A magazine at a pool's depot. */
struct sp_depot_entry {
    struct sp_depot_entry *next;
    uint32_t n;
    struct sp_cached blocks[SP_MAGAZINE_BATCH];
};

#define SP_DEPOT_ENTRIES 64

/* Full magazines of a pool, by class; guarded by the pool's lock. */
struct sp_depot {
    struct sp_depot_entry *full[SP_N_CLASSES];
    struct sp_depot_entry *spare;
    size_t cached_bytes;
    struct sp_depot_entry entries[SP_DEPOT_ENTRIES];
};

/* The calling thread's caches, and the same as the fast paths see it. While somebody watches
 * (see sp_front_watch()) the fast paths see a thread without caches, and so need no test. */
extern __thread struct sp_thread *sp_owner __attribute__((tls_model("initial-exec")));
extern __thread struct sp_thread *sp_self __attribute__((tls_model("initial-exec")));

/* Decide what the fast paths see of the calling thread's caches and those to come; before other
 * threads have any. */
void sp_front_watch(bool is_watched);

/* A cache that joins from now on is closed, or not; others are the caller's to shut or open. */
void sp_fronts_shut(bool are_shut);
bool sp_fronts_are_shut(void);

static inline struct sp_cached *sp_magazine_top(const struct sp_magazine *magazine)
{
    return atomic_load_explicit(&magazine->top, memory_order_relaxed);
}

static inline void sp_magazine_set_top(struct sp_magazine *magazine, struct sp_cached *top)
{
    atomic_store_explicit(&magazine->top, top, memory_order_relaxed);
}

static inline size_t sp_magazine_n(const struct sp_magazine *magazine)
{
    return (size_t)(sp_magazine_top(magazine) - magazine->blocks);
}

/* Count an allocation; the owner only. */
static inline void sp_front_count(struct sp_front *front)
{
    uint64_t n = atomic_load_explicit(&front->n_allocs, memory_order_relaxed);

    atomic_store_explicit(&front->n_allocs, n + 1, memory_order_relaxed);
}

/* With the pool's lock: frees that were kept here, by the equation above. */
uint64_t sp_front_n_frees(const struct sp_front *front);

static inline struct starpool_pool *sp_front_pool(const struct sp_front *front)
{
    return atomic_load_explicit(&front->pool, memory_order_relaxed);
}

static inline size_t sp_front_cached(const struct sp_front *front)
{
    return atomic_load_explicit(&front->cached_bytes, memory_order_relaxed);
}

static inline void sp_front_set_cached(struct sp_front *front, size_t bytes)
{
    atomic_store_explicit(&front->cached_bytes, bytes, memory_order_relaxed);
}

/* Inside the section: the latest block of the class of `size` if it is large enough; if not,
 * its `range` is NULL. */
static inline struct sp_cached sp_front_pop(struct sp_front *front, size_t size)
{
    struct sp_magazine *magazine = &front->magazines[sp_size_class(size)];
    struct sp_cached *top = sp_magazine_top(magazine);
    struct sp_cached block = {0, NULL};

    if (SP_UNLIKELY(top == magazine->blocks))
        return block;
    block = top[-1];
    if (SP_UNLIKELY(block.range->size < size))
        return (struct sp_cached){0, NULL};
    sp_magazine_set_top(magazine, top - 1);
    sp_front_set_cached(front, sp_front_cached(front) - block.range->size);
    return block;
}

/* Inside the section: keep a block of a class if that has room and the bytes stay within
 * `bound`, which is never above SP_CLASS_MAX_SIZE: larger blocks have no class. */
static inline bool sp_front_push(struct sp_front *front, unsigned class, struct sp_cached block,
                                 size_t bound)
{
    size_t total = sp_front_cached(front) + block.range->size;
    struct sp_magazine *magazine = &front->magazines[class];
    struct sp_cached *top;

    if (SP_UNLIKELY(total > bound))
        return false;
    top = sp_magazine_top(magazine);
    if (SP_UNLIKELY(top == magazine->blocks + SP_MAGAZINE_SIZE))
        return false;
    *top = block;
    sp_magazine_set_top(magazine, top + 1);
    sp_front_set_cached(front, total);
    return true;
}

/* A cache without blocks and without a pool, or NULL if there is no memory for it. */
struct sp_front *sp_front_make(void);

/* Give back a cache that no thread ever had; NULL is nothing. */
void sp_front_drop(struct sp_front *front);

/* The calling thread's cache of a pool, made if need be; NULL if there is none to be had. With
 * `may_make` false nothing is allocated. Takes the pool's lock. */
struct sp_front *sp_front_get(struct starpool_pool *pool, bool may_make);

/* With the pool's lock and inside the section or with it closed: all blocks to the store. */
void sp_front_empty(struct sp_front *front, struct sp_store *store);

/* With the pool's lock, inside the section: exchange magazines of a class with the depot. */
bool sp_front_load(struct sp_front *front, struct sp_depot *depot, unsigned class);
bool sp_front_unload(struct sp_front *front, struct sp_depot *depot, unsigned class);

void sp_depot_init(struct sp_depot *depot);
void sp_depot_empty(struct sp_depot *depot, struct sp_store *store);

/* Hold the list of spare threads still around a fork. */
void sp_front_freeze(void);
void sp_front_thaw(void);

#endif /* SP_FRONT_H */
