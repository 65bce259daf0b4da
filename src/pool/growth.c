/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens when a cache cannot serve: the store, then the ladder of attempts (drain the
 * caches, grow, trim other pools of the same memory, the user's callback, a refusal that says
 * who holds the bytes). Growth and trims are the only callers of the backing. */
#include "config.h"

#include <string.h>

#include "src/pool/pool.h"
#include "src/pool/why.h"
#include "src/util/options.h"
#include "src/util/poison.h"

/* Growth asks for this share of what is reserved, at most so much, if the request is smaller:
 * few growths, and little memory that nothing needs. */
#define GROWTH_SHARE 16
#define GROWTH_MOST  (64 * SP_MIB)

/* So many allocations in a row from a cache earn it a larger bound. */
#define HITS_TO_RAISE 64

/* ---- caches -------------------------------------------------------------------------- */

static struct sp_front *first_front(struct starpool_pool *pool)
{
    return atomic_load_explicit(&pool->fronts, memory_order_acquire);
}

void sp_pool_close_fronts(struct starpool_pool *pool)
{
    /* A cache that joins meanwhile holds nothing yet, and is met at the next drain. */
    struct sp_front *first = first_front(pool);

    for (struct sp_front *front = first; front != NULL; front = front->next)
        sp_bias_close(&front->bias);
    if (first != NULL)
        sp_bias_barrier();
    for (struct sp_front *front = first; front != NULL; front = front->next)
        sp_bias_wait(&front->bias);
}

void sp_pool_open_fronts(struct starpool_pool *pool)
{
    for (struct sp_front *front = first_front(pool); front != NULL; front = front->next)
        sp_bias_open(&front->bias);
}

void sp_pool_drain(struct starpool_pool *pool)
{
    sp_pool_close_fronts(pool);
    sp_lock_take(&pool->lock);
    for (struct sp_front *front = first_front(pool); front != NULL; front = front->next) {
        if (atomic_load_explicit(&front->bias.closed, memory_order_relaxed) != 0)
            sp_front_empty(front, &pool->store);
    }
    sp_depot_empty(&pool->depot, &pool->store);
    sp_lock_give(&pool->lock);
    sp_pool_open_fronts(pool);
}

/* Caches that hold what a growth would have to get are too large; caches that serve long runs
 * are worth their memory. */
static void lower_bound(struct starpool_pool *pool)
{
    size_t bound = atomic_load_explicit(&pool->front_bound, memory_order_relaxed);

    atomic_store_explicit(&pool->front_bound, sp_max(bound / 2, SP_FRONT_BOUND_LOW),
                          memory_order_relaxed);
}

static void note_miss(struct starpool_pool *pool, struct sp_front *front)
{
    uint64_t n_allocs = atomic_load_explicit(&front->n_allocs, memory_order_relaxed);

    if (n_allocs - front->n_allocs_at_miss >= HITS_TO_RAISE) {
        size_t bound = atomic_load_explicit(&pool->front_bound, memory_order_relaxed);

        atomic_store_explicit(&pool->front_bound, sp_min(bound * 2, SP_FRONT_BOUND_HIGH),
                              memory_order_relaxed);
    }
    front->n_allocs_at_miss = n_allocs;
}

/* ---- pieces -------------------------------------------------------------------------- */

static void count_piece(struct starpool_pool *pool, const struct sp_piece *piece, bool is_added)
{
    struct starpool_stats *stats = &pool->stats;
    uint64_t sign = is_added ? 1 : (uint64_t)-1;

    stats->reserved_bytes += sign * piece->size;
    stats->locked_bytes += sign * piece->locked_bytes;
    stats->huge_bytes += sign * piece->huge_bytes;
    stats->huge_fallback_bytes += sign * piece->fallback_bytes;
    stats->spilled_bytes += sign * piece->spilled_bytes;
    stats->unbound_bytes += sign * (piece->is_bound ? 0 : piece->size);
    stats->n_segments += sign;
    if (!is_added) {
        stats->n_releases++;
        return;
    }
    stats->n_grows++;
    stats->n_spills += piece->spilled_bytes > 0;
    stats->reserved_high_bytes = sp_max(stats->reserved_high_bytes, stats->reserved_bytes);
    stats->spilled_high_bytes = sp_max(stats->spilled_high_bytes, stats->spilled_bytes);
}

/* Lock the pool with a store that cannot run out of records. */
static enum starpool_status lock_stocked(struct starpool_pool *pool)
{
    sp_lock_take(&pool->lock);
    while (!sp_store_is_stocked(&pool->store)) {
        struct sp_stock *stock;

        sp_lock_give(&pool->lock);
        stock = sp_stock_make();
        if (stock == NULL)
            return STARPOOL_ENOMEM;
        sp_lock_take(&pool->lock);
        sp_store_put_stock(&pool->store, stock);
    }
    return STARPOOL_OK;
}

static void check(const struct starpool_pool *pool)
{
    if (SP_UNLIKELY(sp_option_number(SP_OPTION_CHECKS) >= 2))
        SP_ASSERT(sp_store_is_valid(&pool->store));
}

static void add_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    if (sp_poison_is_on)
        sp_poison_piece_added(piece->base, piece->size);
    piece->prev = NULL;
    piece->next = pool->pieces;
    if (pool->pieces != NULL)
        pool->pieces->prev = piece;
    pool->pieces = piece;
    if (piece->region->heap == NULL)
        sp_heap_attach(&pool->store.large, piece->region);
    sp_store_add(&pool->store, piece->region, piece->base, piece->size);
    count_piece(pool, piece, true);
}

static void unlink_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    if (piece->prev != NULL)
        piece->prev->next = piece->next;
    else
        pool->pieces = piece->next;
    if (piece->next != NULL)
        piece->next->prev = piece->prev;
}

/* Give a piece back that has been taken from the store, or never was in it. */
static void shrink(struct starpool_pool *pool, struct sp_piece *piece)
{
    struct sp_region *region = pool->backing->ops->shrink(pool->backing, piece);

    if (region == NULL)
        return;
    if (region->heap != NULL) {
        sp_lock_take(&pool->lock);
        sp_heap_detach(&pool->store.large, region);
        sp_lock_give(&pool->lock);
    }
    pool->backing->ops->drop_region(pool->backing, region);
}

/* With the growth lock: give a piece back if nothing of it is in use. */
static bool release_piece(struct starpool_pool *pool, struct sp_piece *piece)
{
    bool is_free;

    if (lock_stocked(pool) != STARPOOL_OK)
        return false;
    is_free = sp_store_cut(&pool->store, piece->region, piece->base, piece->size);
    if (is_free) {
        unlink_piece(pool, piece);
        count_piece(pool, piece, false);
    }
    sp_lock_give(&pool->lock);
    if (!is_free)
        return false;
    if (sp_poison_is_on)
        sp_poison_piece_removed(piece->base, piece->size);
    shrink(pool, piece);
    return true;
}

static uint64_t reserved(struct starpool_pool *pool)
{
    uint64_t bytes;

    sp_lock_take(&pool->lock);
    bytes = pool->stats.reserved_bytes;
    sp_lock_give(&pool->lock);
    return bytes;
}

/* With the growth lock. */
static uint64_t trim_locked(struct starpool_pool *pool, uint64_t keep)
{
    uint64_t released = 0;
    struct sp_piece *next;

    sp_pool_drain(pool);
    sp_lock_take(&pool->lock);
    sp_store_drop_idle_spans(&pool->store);
    sp_lock_give(&pool->lock);
    for (struct sp_piece *piece = pool->pieces; piece != NULL; piece = next) {
        size_t size = piece->size;

        next = piece->next;
        if (reserved(pool) - size < keep) /* Never negative: the piece is part of it. */
            continue;
        if (release_piece(pool, piece))
            released += size;
    }
    if (released > 0)
        sp_log(SP_LOG_DEBUG, "%s: released %llu bytes", pool->name,
               (unsigned long long)released);
    return released;
}

uint64_t sp_pool_trim(struct starpool_pool *pool, uint64_t keep)
{
    uint64_t released;

    sp_lock_take(&pool->growth);
    released = trim_locked(pool, keep);
    sp_lock_give(&pool->growth);
    return released;
}

/* ---- growth -------------------------------------------------------------------------- */

/* Bytes that may still be reserved under the pool's limit. */
static uint64_t allowance(struct starpool_pool *pool, uint64_t *reserved_out)
{
    uint64_t allowed;

    sp_lock_take(&pool->lock);
    *reserved_out = pool->stats.reserved_bytes;
    if (pool->maximum == 0)
        allowed = UINT64_MAX;
    else
        allowed = pool->maximum > *reserved_out ? pool->maximum - *reserved_out : 0;
    sp_lock_give(&pool->lock);
    return allowed;
}

/* Free bytes just before where the next piece would begin: growth can do with that much less.
 */
static size_t free_before_next(struct starpool_pool *pool, size_t size)
{
    struct sp_region *region;
    uintptr_t base;
    size_t tail;

    if (!pool->backing->ops->next_piece(pool->backing, size, &region, &base))
        return 0;
    sp_lock_take(&pool->lock);
    tail = sp_store_tail(region, base);
    sp_lock_give(&pool->lock);
    return tail;
}

/* With the growth lock: get a piece of at least `needed` bytes, backing off from a generous
 * size to the exact one. */
static enum starpool_status get_piece(struct starpool_pool *pool, size_t needed,
                                      struct sp_piece **piece_out)
{
    size_t granularity = pool->backing->ops->granularity(pool->backing);
    size_t sizes[3], previous = 0;
    uint64_t reserved_bytes, allowed = allowance(pool, &reserved_bytes);
    enum starpool_status status = STARPOOL_ENOMEM;

    sizes[1] = sp_round_up(needed, granularity);
    sizes[2] = sp_round_up(needed, SP_PAGE);
    if (sizes[1] == 0)
        return STARPOOL_ENOMEM;
    sizes[0] = sp_min(reserved_bytes / GROWTH_SHARE, GROWTH_MOST);
    sizes[0] = sp_max(sp_round_down(sizes[0], granularity), sizes[1]);
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        if (sizes[i] > allowed || sizes[i] == previous)
            continue;
        previous = sizes[i];
        status = pool->backing->ops->grow(pool->backing, sizes[i], piece_out);
        if (status == STARPOOL_OK)
            return status;
    }
    return status;
}

/* What a block of this size needs in one piece. */
static size_t piece_size_for(size_t size, size_t align)
{
    if (size < SP_SMALL_LIMIT && align <= SP_PAGE)
        return SP_SPAN_SIZE;
    return size + (align > SP_PAGE ? align - SP_PAGE : 0);
}

static struct sp_range *take_locked(struct starpool_pool *pool, size_t size, size_t align)
{
    struct sp_range *range = sp_store_take(&pool->store, size, align);

    check(pool);
    if (range != NULL)
        pool->stats.n_allocs++;
    return range;
}

/* With the growth lock: grow, and take the block before another thread does. */
static enum starpool_status grow_and_take(struct starpool_pool *pool, size_t size, size_t align,
                                          struct sp_range **range_out)
{
    size_t needed = piece_size_for(size, align);
    size_t tail = needed < size ? 0 : free_before_next(pool, needed);
    struct sp_piece *piece;
    enum starpool_status status;

    if (needed < size)
        return STARPOOL_ENOMEM;
    /* A tail of the whole size would have served, but for alignment. */
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t missing = attempt == 0 && tail < needed ? needed - tail : needed;

        status = get_piece(pool, missing, &piece);
        if (status != STARPOOL_OK)
            return status;
        status = lock_stocked(pool);
        if (status != STARPOOL_OK) {
            shrink(pool, piece);
            return status;
        }
        add_piece(pool, piece);
        *range_out = take_locked(pool, size, align);
        sp_lock_give(&pool->lock);
        if (*range_out != NULL)
            return STARPOOL_OK;
        /* The piece came elsewhere than foreseen. */
    }
    return STARPOOL_ENOMEM;
}

/* Caches first, then what the release threshold says is too much, then growth. */
static enum starpool_status drain_or_grow(struct starpool_pool *pool, size_t size, size_t align,
                                          struct sp_range **range_out)
{
    enum starpool_status status;
    uint64_t threshold;

    sp_lock_take(&pool->growth);
    sp_pool_drain(pool);
    status = lock_stocked(pool);
    if (status != STARPOOL_OK) {
        sp_lock_give(&pool->growth);
        return status;
    }
    threshold = pool->release_threshold;
    *range_out = take_locked(pool, size, align);
    if (*range_out != NULL)
        pool->stats.n_resident++;
    sp_lock_give(&pool->lock);
    if (*range_out != NULL) {
        lower_bound(pool);
    } else {
        if (threshold < reserved(pool))
            trim_locked(pool, threshold);
        status = grow_and_take(pool, size, align, range_out);
    }
    sp_lock_give(&pool->growth);
    return status;
}

enum starpool_status sp_pool_grow_initial(struct starpool_pool *pool, size_t bytes)
{
    struct sp_piece *piece;
    enum starpool_status status = STARPOOL_OK;

    /* A limit that is no multiple of a page is as good as the multiple below it. */
    if (pool->maximum != 0)
        bytes = sp_min(bytes, sp_round_down(pool->maximum, SP_PAGE));
    sp_lock_take(&pool->growth);
    if (bytes > 0)
        status = get_piece(pool, bytes, &piece);
    if (status == STARPOOL_OK && bytes > 0) {
        status = lock_stocked(pool);
        if (status == STARPOOL_OK) {
            add_piece(pool, piece);
            sp_lock_give(&pool->lock);
        } else {
            shrink(pool, piece);
        }
    }
    sp_lock_give(&pool->growth);
    return status;
}

/* ---- the ladder ---------------------------------------------------------------------- */

/* True if both pools live on memory that the other could give back to it. */
static bool share_memory(const struct starpool_pool *a, const struct starpool_pool *b)
{
    return a->location.kind != STARPOOL_HOST_NUMA || b->location.kind != STARPOOL_HOST_NUMA ||
           a->location.id == b->location.id;
}

static uint64_t trim_others(struct starpool_pool *pool)
{
    uint64_t released = 0;
    struct starpool_pool *other = NULL;

    while ((other = sp_registry_next(other)) != NULL) {
        if (other != pool && share_memory(pool, other))
            released += sp_pool_trim(other, 0);
    }
    return released;
}

static void note_refusal(struct starpool_pool *pool, size_t size, enum starpool_status status)
{
    char why[SP_WHY_SIZE];
    uint64_t n;

    sp_lock_take(&pool->lock);
    n = ++pool->stats.n_refused;
    sp_lock_give(&pool->lock);
    /* The first, the second, the fourth, ...: a program may go on asking for ever. */
    if (!sp_is_power_of_two(n))
        return;
    sp_pool_why(pool, size, status, why, sizeof(why));
    sp_log(pool->config.placement == STARPOOL_SPILL ? SP_LOG_INFO : SP_LOG_WARN, "%s", why);
}

static bool is_shortage(enum starpool_status status)
{
    return status == STARPOOL_ENOMEM || status == STARPOOL_ENODE ||
           status == STARPOOL_ECGROUP || status == STARPOOL_EMEMLOCK;
}

static enum starpool_status climb(struct starpool_pool *pool, size_t size, size_t align,
                                  struct sp_range **range_out)
{
    enum starpool_status status = drain_or_grow(pool, size, align, range_out);

    if (is_shortage(status) && trim_others(pool) > 0)
        status = drain_or_grow(pool, size, align, range_out);
    for (unsigned attempt = 0; is_shortage(status) && pool->config.on_oom != NULL; attempt++) {
        if (!pool->config.on_oom(pool, size, attempt, pool->config.on_oom_arg))
            break;
        status = drain_or_grow(pool, size, align, range_out);
    }
    if (status != STARPOOL_OK)
        note_refusal(pool, size, status);
    return status;
}

/* Inside the thread's cache: a magazine from the depot may hold what the cache had not. */
static struct sp_range *take_from_depot(struct starpool_pool *pool, struct sp_front *front,
                                        size_t size)
{
    struct sp_range *range = NULL;

    note_miss(pool, front);
    if (size > SP_CLASS_MAX_SIZE || !sp_bias_enter(&front->bias))
        return NULL;
    if (sp_front_pool(front) == pool && sp_front_load(front, &pool->depot, sp_size_class(size)))
        range = sp_front_pop(front, size).range;
    if (range != NULL)
        sp_front_count(front);
    sp_bias_leave(&front->bias);
    return range;
}

enum starpool_status sp_pool_take(struct starpool_pool *pool, size_t size, size_t align,
                                  struct sp_range **range_out)
{
    struct sp_front *front = sp_front_get(pool, true);
    enum starpool_status status = lock_stocked(pool);
    struct sp_range *range = NULL;

    if (status != STARPOOL_OK)
        return status;
    if (pool->is_destroyed) {
        sp_lock_give(&pool->lock);
        return STARPOOL_EINVAL;
    }
    if (front != NULL && align <= SP_SMALL_UNIT)
        range = take_from_depot(pool, front, size);
    if (range == NULL) {
        range = take_locked(pool, size, align);
        pool->stats.n_resident += range != NULL;
    }
    sp_lock_give(&pool->lock);
    if (range == NULL)
        return climb(pool, size, align, range_out);
    *range_out = range;
    return STARPOOL_OK;
}

/* ---- giving back --------------------------------------------------------------------- */

/* Inside the thread's cache, with the pool's lock: make room for a block and keep it. */
static bool keep(struct starpool_pool *pool, struct sp_front *front, struct sp_range *range)
{
    size_t bound = atomic_load_explicit(&pool->front_bound, memory_order_relaxed);

    if (range->tag == SP_NO_CLASS)
        return false;
    /* A full class hands its oldest half on; a cache over its bound starts anew, since what
     * fills it is not what is asked for. */
    if (sp_front_cached(front) + range->size > bound ||
        !sp_front_unload(front, &pool->depot, range->tag))
        sp_front_empty(front, &pool->store);
    return sp_front_push(front, range->tag, (struct sp_cached){range->start, range}, bound);
}

void sp_pool_give(struct starpool_pool *pool, struct sp_range *range)
{
    struct sp_front *front = sp_front_get(pool, false);
    bool is_inside = front != NULL && sp_bias_enter(&front->bias);
    bool is_done;

    sp_lock_take(&pool->lock);
    /* What the cache keeps it counts itself. */
    if (!is_inside || sp_front_pool(front) != pool || !keep(pool, front, range)) {
        sp_store_give(&pool->store, range);
        pool->stats.n_frees++;
    }
    check(pool);
    is_done = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    if (is_inside)
        sp_bias_leave(&front->bias);
    if (is_done)
        sp_pool_release(pool);
}
