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
#include "src/pool/ordered.h"
#include "src/pool/pool_ops.h"
#include "src/pool/registry.h"
#include "src/util/lock.h"

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
    bool is_default; /* set before others see the pool, but for the registry's lock */
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
    struct starpool_stats stats; /* counts that no cache makes, and bytes of pieces */

    _Atomic unsigned n_references;     /* the registry's and those of whoever looks at it now */
    struct starpool_pool *prev, *next; /* in the registry's list */
};

/* ---- slow paths (slow.c) ---------------------------------------------------------------- */

/* Take a block from the depot or the store, growing if need be. */
enum starpool_status sp_pool_take(struct starpool_pool *pool, size_t size, size_t align,
                                  struct sp_range **range_out);

/* Give a block back past a cache that would not keep it. Makes no system call. */
void sp_pool_give(struct starpool_pool *pool, struct sp_range *range);

/* ---- growth (growth.c) ------------------------------------------------------------------ */

/* Everything that can be done for a block that the store has not; the ladder of the failure
 * rule ends here, with a refusal that is counted and said. */
enum starpool_status sp_pool_climb(struct starpool_pool *pool, size_t size, size_t align,
                                   struct sp_range **range_out);

/* The same for a stream, from what the engine cannot serve on. */
enum starpool_status sp_pool_climb_ordered(struct starpool_pool *pool,
                                           struct sp_ordered_request *ordered);

/* With the lock and a stocked store: a block from the store, counted, or NULL. */
struct sp_range *sp_pool_take_locked(struct starpool_pool *pool, size_t size, size_t align);

/* Reserve at least `bytes` more. */
enum starpool_status sp_pool_grow_initial(struct starpool_pool *pool, size_t bytes);

/* Count a refusal, and now and then say why. `stream` is the number of the one that asked. */
void sp_pool_note_refusal(struct starpool_pool *pool, size_t size, uint64_t stream,
                          enum starpool_status status);

/* ---- pieces (pieces.c) ------------------------------------------------------------------ */

/* Lock the pool with a store that cannot run out of records; ENOMEM, and not locked, if there
 * is no memory for them. */
enum starpool_status sp_pool_lock_stocked(struct starpool_pool *pool);

/* With the lock: add a piece to the store. */
void sp_pool_add_piece(struct starpool_pool *pool, struct sp_piece *piece);

/* With the growth lock: give a piece back that is not in the store. False if it stays. */
bool sp_pool_put_back(struct starpool_pool *pool, struct sp_piece *piece);

/* Bytes reserved now. */
uint64_t sp_pool_reserved(struct starpool_pool *pool);

/* Release whole pieces until no more than `keep` bytes are reserved. Returns what went. The
 * second is for who has the growth lock. */
uint64_t sp_pool_trim(struct starpool_pool *pool, uint64_t keep);
uint64_t sp_pool_trim_locked(struct starpool_pool *pool, uint64_t keep);

/* With the lock: stop if the store is broken, while that is checked (STARPOOL_CHECKS). */
void sp_pool_check(const struct starpool_pool *pool);

/* ---- caches (drain.c) ------------------------------------------------------------------- */

/* With the growth lock: empty every cache and the depot into the store. */
void sp_pool_drain(struct starpool_pool *pool);

/* With the growth lock: close every cache and wait until its owner is out; open them again,
 * unless they are shut. One that joins meanwhile stays open. */
void sp_pool_close_fronts(struct starpool_pool *pool);
void sp_pool_open_fronts(struct starpool_pool *pool);
bool sp_pool_has_open_front(struct starpool_pool *pool);

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

static inline struct starpool_pool *sp_range_pool(const struct sp_range *range)
{
    return range->holder;
}

#endif /* SP_POOL_H */
