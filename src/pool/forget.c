/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A device was reset (cudaDeviceReset): what pools had on it is gone, and nobody gives it back.
 * Such a pool starts anew; who frees a block of before is told once that it is well. */
#include "config.h"

#include <sched.h>
#include <stdlib.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "src/trace/record.h"
#include "src/util/util.h"

/* Addresses of the live blocks that one reset of one pool's device took, sorted; 0: freed. */
struct lost {
    struct lost *next;
    struct starpool_pool *pool; /* named only to be found in the registry */
    size_t n_blocks, room, n_left;
    struct lost_block {
        uintptr_t start;
        bool is_freed;
    } blocks[];
};

/* `first` is guarded by `lock`; `n` blocks are lost and not freed yet. While any pool forgets,
 * some are lost that are not here yet. */
static struct {
    struct sp_lock lock;
    struct lost *first;
    _Atomic size_t n;
    _Atomic unsigned n_forgetting;
} forgotten = {.lock = SP_LOCK_INITIALIZER(SP_RANK_META)};

/* ---- lost blocks ------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uintptr_t x = ((const struct lost_block *)a)->start;
    uintptr_t y = ((const struct lost_block *)b)->start;

    return x < y ? -1 : x > y;
}

static struct lost *make_lost(struct starpool_pool *pool, size_t room)
{
    struct lost *lost = calloc(1, sizeof(*lost) + room * sizeof(lost->blocks[0]));

    if (lost != NULL) {
        lost->pool = pool;
        lost->room = room;
    }
    return lost;
}

/* Without memory, or beyond what was counted a moment ago, a block is lost without a trace. */
static void add_lost(struct lost *lost, uintptr_t start)
{
    if (lost != NULL && lost->n_blocks < lost->room)
        lost->blocks[lost->n_blocks++].start = start;
}

/* With the lock: the pool whose block it was, or NULL; once for each. A list that is used up
 * goes to `unused`. */
static struct starpool_pool *take_lost(uintptr_t start, struct lost **unused)
{
    struct lost_block key = {.start = start}, *block;

    for (struct lost **link = &forgotten.first; *link != NULL; link = &(*link)->next) {
        struct lost *lost = *link;

        block = bsearch(&key, lost->blocks, lost->n_blocks, sizeof(key), compare);
        if (block == NULL || block->is_freed)
            continue;
        block->is_freed = true;
        atomic_fetch_sub(&forgotten.n, 1);
        if (--lost->n_left == 0) {
            *link = lost->next;
            lost->next = *unused;
            *unused = lost;
        }
        return lost->pool;
    }
    return NULL;
}

static void free_lists(struct lost *lost)
{
    while (lost != NULL) {
        struct lost *next = lost->next;

        free(lost);
        lost = next;
    }
}

/* An address means the latest block that was lost there. */
static void keep_lost(struct lost *lost)
{
    struct lost *unused = NULL;

    if (lost == NULL || lost->n_blocks == 0) {
        free(lost);
        return;
    }
    lost->n_left = lost->n_blocks;
    qsort(lost->blocks, lost->n_blocks, sizeof(lost->blocks[0]), compare);
    sp_lock_take(&forgotten.lock);
    for (size_t i = 0; i < lost->n_blocks; i++)
        (void)take_lost(lost->blocks[i].start, &unused);
    lost->next = forgotten.first;
    forgotten.first = lost;
    atomic_fetch_add(&forgotten.n, lost->n_blocks);
    sp_lock_give(&forgotten.lock);
    free_lists(unused);
}

static void count_lost_free(const struct starpool_pool *owner)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        if (pool != owner)
            continue;
        sp_lock_take(&pool->lock);
        pool->stats.n_lost_frees++;
        sp_lock_give(&pool->lock);
    }
}

bool sp_pool_free_lost(const void *ptr)
{
    struct starpool_pool *pool;
    struct lost *unused = NULL;

    while (atomic_load_explicit(&forgotten.n_forgetting, memory_order_acquire) != 0)
        sched_yield();
    if (SP_LIKELY(atomic_load_explicit(&forgotten.n, memory_order_acquire) == 0) || ptr == NULL)
        return false;
    sp_lock_take(&forgotten.lock);
    pool = take_lost((uintptr_t)ptr, &unused);
    sp_lock_give(&forgotten.lock);
    free_lists(unused);
    if (pool != NULL)
        count_lost_free(pool);
    return pool != NULL;
}

/* A fork finds no pool that forgets: it has all their growth locks. */
void sp_lost_freeze(void)
{
    sp_lock_take_all(&forgotten.lock);
}

void sp_lost_thaw(void)
{
    sp_lock_give_all(&forgotten.lock);
}

/* ---- live blocks ------------------------------------------------------------------------- */

struct starpool_pool *sp_pool_get_live(const void *ptr)
{
    struct sp_found found = sp_addrmap_find((uintptr_t)ptr);

    if (found.range == NULL || sp_range_state(found.range) != SP_RANGE_LIVE)
        return NULL;
    return sp_registry_get(sp_range_pool(found.range)); /* It may be anything by now. */
}

struct sp_range *sp_pool_take_back_locked(struct starpool_pool *pool, const void *ptr)
{
    struct sp_range *range = sp_addrmap_find((uintptr_t)ptr).range;

    return range != NULL && sp_range_pool(range) == pool && sp_pool_take_back(range) ? range
                                                                                     : NULL;
}

/* ---- forgetting -------------------------------------------------------------------------- */

/* What one pool forgets. */
struct forgetting {
    struct starpool_pool *pool;
    struct lost *lost;
    struct sp_piece *pieces; /* out of the store, to be dropped */
};

/* With the growth lock: close every cache and take the lock, under which none can join. */
static void close_and_lock(struct starpool_pool *pool)
{
    for (;;) {
        sp_pool_close_fronts(pool);
        sp_lock_take(&pool->lock);
        if (!sp_pool_has_open_front(pool))
            return;
        sp_lock_give(&pool->lock);
    }
}

static void note_block(struct forgetting *forgetting, uintptr_t start, size_t size,
                       bool is_live)
{
    struct starpool_pool *pool = forgetting->pool;

    pool->stats.n_frees++;
    if (!is_live)
        return;
    pool->stats.n_lost_blocks++;
    add_lost(forgetting->lost, start);
    sp_trace_free(pool->id, (void *)start, size, STARPOOL_TRACE_HOST, 0);
}

/* With both locks. */
static void note_ordered(const struct sp_reuse_block *block, void *arg)
{
    note_block(arg, block->start, block->size, true);
}

/* With both locks: streams' blocks and frees. Returns the engine, to be closed without the
 * pool's lock. */
static struct sp_reuse *forget_ordered(struct forgetting *forgetting)
{
    struct sp_ordered *ordered = &forgetting->pool->ordered;
    struct sp_reuse *reuse = ordered->reuse;
    struct sp_chunk *chunk = NULL;

    sp_parked_forget_locked(forgetting->pool);
    while (reuse != NULL && (chunk = sp_reuse_next_chunk(reuse, chunk)) != NULL) {
        struct sp_chunk_record *record = SP_CONTAINER_OF(chunk, struct sp_chunk_record, chunk);
        struct sp_range *range = record->range;

        sp_reuse_each_live(reuse, chunk, note_ordered, forgetting);
        ordered->chunk_bytes -= range->size;
        sp_addrmap_set_chunk(range->start, range->size, NULL);
        sp_store_give(&forgetting->pool->store, range);
        atomic_store(&record->pool, NULL);
    }
    ordered->reuse = NULL;
    return reuse;
}

/* The records of an engine's chunks are spare when the engine has let go of them. */
static void close_engine(struct starpool_pool *pool, struct sp_reuse *reuse)
{
    struct sp_chunk_record *records = NULL, *next;
    struct sp_chunk *chunk = NULL;

    if (reuse == NULL)
        return;
    sp_streams_lock();
    while ((chunk = sp_reuse_next_chunk(reuse, chunk)) != NULL) {
        struct sp_chunk_record *record = SP_CONTAINER_OF(chunk, struct sp_chunk_record, chunk);

        record->next_spare = records;
        records = record;
    }
    sp_ordered_close(reuse);
    sp_streams_unlock();
    sp_lock_take(&pool->lock);
    for (; records != NULL; records = next) {
        next = records->next_spare;
        records->next_spare = pool->ordered.spare_chunks;
        pool->ordered.spare_chunks = records;
    }
    sp_lock_give(&pool->lock);
}

static void note_range(const struct sp_range *range, void *arg)
{
    note_block(arg, range->start, range->size, sp_range_state(range) == SP_RANGE_LIVE);
}

/* With the pool's lock, and nothing in caches and engines: the store's blocks and pieces. */
static void forget_pieces(struct forgetting *forgetting)
{
    struct starpool_pool *pool = forgetting->pool;
    struct sp_piece *piece;

    while ((piece = pool->pieces) != NULL) {
        sp_store_clear(&pool->store, piece->region, note_range, forgetting);
        SP_ASSERT(sp_pool_cut_piece(pool, piece));
        piece->next = forgetting->pieces;
        forgetting->pieces = piece;
    }
}

static void empty_caches(struct starpool_pool *pool)
{
    for (struct sp_front *front = atomic_load(&pool->fronts); front != NULL;
         front = front->next)
        sp_front_empty(front, &pool->store);
    sp_depot_empty(&pool->depot, &pool->store);
}

/* With the growth lock. */
static void drop_pieces(struct forgetting *forgetting)
{
    struct sp_piece *piece;

    while ((piece = forgetting->pieces) != NULL) {
        forgetting->pieces = piece->next;
        (void)sp_pool_put_back(forgetting->pool, piece);
    }
}

/* Everything at once: what a thread takes later is of a new piece. Unless the reset is certain,
 * another thread may have been quicker. */
static void forget(struct starpool_pool *pool, bool is_certain)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    struct forgetting forgetting = {.pool = pool};
    struct sp_reuse *reuse;
    bool is_released;

    (void)!starpool_pool_stats(pool, &stats);
    forgetting.lost = make_lost(pool, stats.n_live + 256);
    sp_lock_take(&pool->growth);
    if (!is_certain && !pool->backing->ops->has_reset(pool->backing)) {
        sp_lock_give(&pool->growth);
        free(forgetting.lost);
        return;
    }
    atomic_fetch_add(&forgotten.n_forgetting, 1);
    pool->backing->ops->forget(pool->backing);
    close_and_lock(pool);
    sp_streams_lock();
    empty_caches(pool);
    reuse = forget_ordered(&forgetting);
    sp_streams_unlock();
    forget_pieces(&forgetting);
    atomic_fetch_add_explicit(&pool->n_resets, 1, memory_order_release);
    is_released = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    keep_lost(forgetting.lost);
    drop_pieces(&forgetting);
    sp_pool_open_fronts(pool);
    atomic_fetch_sub(&forgotten.n_forgetting, 1);
    sp_lock_give(&pool->growth);
    close_engine(pool, reuse);
    sp_log(SP_LOG_INFO, "%s: device %d was reset, which took its memory", pool->name,
           pool->location.id);
    if (is_released)
        sp_pool_release(pool);
}

/* ---- registrations ----------------------------------------------------------------------- */

static void renew(struct starpool_pool *pool, int device)
{
    uint64_t registered_bytes = 0, unregistered_bytes = 0;

    sp_lock_take(&pool->growth);
    for (struct sp_piece *piece = pool->pieces; piece != NULL; piece = piece->next) {
        pool->backing->ops->renew(pool->backing, piece, device);
        registered_bytes += piece->registered_bytes;
        unregistered_bytes += piece->unregistered_bytes;
    }
    sp_lock_take(&pool->lock);
    pool->stats.registered_bytes = registered_bytes;
    pool->stats.unregistered_bytes = unregistered_bytes;
    sp_lock_give(&pool->lock);
    sp_lock_give(&pool->growth);
}

static void renew_all(int device)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        if (pool->backing != NULL && pool->config.is_registered)
            renew(pool, device);
    }
}

/* ---- resets ------------------------------------------------------------------------------ */

void sp_pool_forget_device(int device)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        if (pool->is_on_device && pool->location.id == device)
            forget(pool, true);
    }
    renew_all(device);
}

void sp_pool_notice_reset(struct starpool_pool *pool)
{
    bool has_reset;

    if (SP_LIKELY(!pool->is_on_device))
        return;
    sp_lock_take(&pool->growth);
    has_reset = pool->backing->ops->has_reset(pool->backing);
    sp_lock_give(&pool->growth);
    if (!has_reset)
        return;
    forget(pool, false);
    renew_all(pool->location.id);
}
