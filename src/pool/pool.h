/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool from the inside. */
#ifndef SP_POOL_H
#define SP_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/pool.h>
#include <starpool/stats.h>

#include "src/heap/store.h"
#include "src/pool/front.h"
#include "src/pool/growth.h"
#include "src/pool/nvtx.h"
#include "src/pool/ordered.h"
#include "src/pool/pool_ops.h"
#include "src/pool/registry.h"
#include "src/util/lock.h"
#include "src/util/poison.h"
#include "src/util/util.h"

#define SP_POOL_NAME_SIZE 64

struct sp_driver_pool;

/* What the caches of a pool may hold each: at first and at most, and at least. It is lowered
 * where draining them serves a request, because what they hold cannot merge, and raised again
 * where more would have served. */
#define SP_FRONT_BOUND_HIGH SP_CLASS_MAX_SIZE
#define SP_FRONT_BOUND_LOW  (256 * SP_KIB)

/*
 * Reserved and used bytes, with `lock` held and no thread inside its cache:
 *
 *   reserved_bytes == the sum of the pieces' sizes == store free + store used
 *   used bytes     == store.used_bytes - depot.cached_bytes - the sum of fronts' cached_bytes
 *                     - ordered.chunk_bytes - ordered.parked_bytes + the engine's used bytes
 *
 * `growth` guards the backing, the pieces' list and closing of caches; it is held across system
 * calls. `lock` guards the rest and is not. Members that never change come first.
 */
struct starpool_pool {
    unsigned slot; /* of its caches; SP_FRONT_SLOTS if it has none */
    uint32_t id;   /* in traces: from 1, in the order of creation */
    struct starpool_location location;
    enum starpool_memory memory;
    struct starpool_pool_config config; /* as given; what can be set later stands below */
    char name[SP_POOL_NAME_SIZE];
    struct sp_backing *backing;
    bool is_on_device; /* pieces of a device's memory, which nothing of the host may touch */
    bool is_declared;  /* a tool is told of its blocks: it has no caches then */
    bool is_default;   /* set before others see the pool, but for the registry's lock */
    bool is_current, is_given_up; /* guarded by the registry's lock */
    _Atomic bool is_permanent;    /* cannot be destroyed; see sp_pool_make_permanent() */

    _Atomic size_t front_bound; /* [bytes] what each cache may hold */

    struct sp_lock growth;
    struct sp_piece *pieces;

    struct sp_lock lock;
    struct sp_store store;
    struct sp_depot depot;
    struct sp_ordered ordered;
    struct sp_reuse_policy policy;
    struct sp_driver_pool
        *driver;              /* not NULL: the driver's pool; nothing above is in use then */
    uint64_t used_high_bytes; /* caches included */
    uint64_t n_live_high;     /* likewise */
    struct sp_front *_Atomic fronts; /* only ever prepended to */
    struct sp_front *spare_front;    /* for a thread that frees before it allocates */
    bool is_destroyed;               /* by the user: no further allocations */
    bool is_released;                /* its memory is going back */
    uint64_t maximum;                /* [bytes] 0: none */
    uint64_t release_threshold;
    _Atomic uint64_t n_resets; /* of the device; blocks of before the last one are no more */
    _Atomic unsigned n_claims; /* blocks that are in nobody's hands, in a destroyed pool, too */
    struct starpool_stats stats; /* counts that no cache makes, and bytes of pieces */

    _Atomic unsigned n_references;     /* the registry's and those of whoever looks at it now */
    struct starpool_pool *prev, *next; /* in the registry's list */
};

/* ---- counting (stats.c) -------------------------------------------------------------- */

/* With the lock: bytes in caches; bytes in live blocks. */
size_t sp_pool_cached_bytes(const struct starpool_pool *pool);
size_t sp_pool_used_bytes(struct starpool_pool *pool);

/* With the lock: take the high-water marks up to what is out now, caches included. */
void sp_pool_note_peaks(struct starpool_pool *pool);

/* With the lock: start them again. */
void sp_pool_reset_used_high(struct starpool_pool *pool);

/* With the lock: fill every member. */
void sp_pool_collect(struct starpool_pool *pool, struct starpool_stats *stats_out);

/* ---- life (pool.c) ------------------------------------------------------- */

/* A pool without memory, and in no list: ENOMEM. */
enum starpool_status sp_pool_make(const struct starpool_pool_config *config,
                                  struct starpool_pool **pool_out);

/* Make a pool on a backing, which it owns from then on, also on failure. */
enum starpool_status sp_pool_create_on(const struct starpool_pool_config *config,
                                       struct sp_backing *backing,
                                       struct starpool_pool **pool_out);

/* With the lock: true, once, when the pool is destroyed and no block is out; whoever is told so
 * calls sp_pool_release() after giving the lock. */
bool sp_pool_claim_release(struct starpool_pool *pool);
void sp_pool_release(struct starpool_pool *pool);

/* Whether its user has destroyed it: it makes no further allocations. */
bool sp_pool_is_destroyed(struct starpool_pool *pool);

/* A block of the store from LIVE to TAKEN; false if it is not LIVE (alloc.c). */
bool sp_pool_take_back(struct sp_range *range);

/* A block of the store, or what a cache has of it. */
struct sp_pool_place {
    uintptr_t start;
    size_t size;
    bool is_live;
};

/* The block around an address, if it is one of the pool's store. Takes the pool's lock
 * (alloc.c). */
bool sp_pool_find_place(struct starpool_pool *pool, uintptr_t address,
                        struct sp_pool_place *place_out);

/* Fill what is known of a live block that no graph has to do with (alloc.c). */
void sp_pool_fill_info(struct starpool_block_info *info, struct starpool_pool *pool,
                       uintptr_t start, size_t size);

/* A trace has begun or ended: keep caches that were in use before it shut, so that nothing
 * passes it by. */
void sp_pool_follow_trace(struct starpool_pool *pool);

/* Decide whether the fast paths may leave out what nobody watches for. */
void sp_alloc_setup(void);

/* Start what the process needs once: caches, poisoning, fork handlers. */
void sp_pool_setup(void);

/* Whether sanitizers are told of its memory. */
static inline bool sp_pool_poisons(const struct starpool_pool *pool)
{
    return SP_UNLIKELY(sp_poison_is_on) && !pool->is_on_device;
}

/* A block of the pool has been handed out; it is live, and goes before anybody else can have
 * it: a tool is told, if there is one. It judges work by what is declared when the work is
 * submitted (nvtxMemPermissionsBind() in nvToolsExtMem.h), so a block that is freed in a stream
 * goes at once. No lock is held. */
static inline void sp_pool_declare(const struct starpool_pool *pool, const void *ptr)
{
    if (SP_UNLIKELY(pool->is_declared))
        sp_nvtx_declare_block(pool, ptr);
}

static inline void sp_pool_withdraw(const struct starpool_pool *pool, const void *ptr)
{
    if (SP_UNLIKELY(pool->is_declared))
        sp_nvtx_withdraw_block(pool, ptr);
}

/* How often the device was reset: what was taken before the number rose is no block any more.
 */
static inline uint64_t sp_pool_n_resets(const struct starpool_pool *pool)
{
    return atomic_load_explicit(&pool->n_resets, memory_order_acquire);
}

static inline struct starpool_pool *sp_range_pool(const struct sp_range *range)
{
    return sp_range_holder(range);
}

#endif /* SP_POOL_H */
