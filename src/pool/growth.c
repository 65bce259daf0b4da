/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens when the store cannot serve: the ladder of attempts (drain the caches, grow,
 * trim other pools of the same memory, the user's callback, a refusal that says who holds the
 * bytes). */
#include "config.h"

#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/why.h"
#include "src/trace/record.h"

/* Growth asks for this share of what is reserved, at most so much, if the request is smaller:
 * few growths, and little memory that nothing needs. */
#define GROWTH_SHARE 16
#define GROWTH_MOST  (64 * SP_MIB)

/* A request on its way up the ladder. */
struct request {
    size_t size, align;
    bool is_paged;    /* a small block that takes a page, because a span is not to be had */
    bool is_at_limit; /* the pool's own maximum is why it was refused */
    struct sp_cached block;
    struct sp_ordered_request
        *ordered; /* not NULL: what a stream asks for, instead of a block */
};

/* Caches that hold what a growth would have had to get are too large. */
static void lower_bound(struct starpool_pool *pool)
{
    size_t bound = atomic_load_explicit(&pool->front_bound, memory_order_relaxed);

    atomic_store_explicit(&pool->front_bound, sp_max(bound / 2, SP_FRONT_BOUND_LOW),
                          memory_order_relaxed);
}

/* ---- growth ---------------------------------------------------------------------------- */

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

/* A size of more than `rounded` bytes that is worth trying; or just that. */
static size_t generous_size(const struct starpool_pool *pool, size_t rounded, uint64_t reserved,
                            uint64_t allowed)
{
    const struct sp_backing_ops *ops = pool->backing->ops;
    size_t granularity = ops->granularity(pool->backing), size;

    if (ops->generous_size == NULL)
        size = sp_min(reserved / GROWTH_SHARE, GROWTH_MOST);
    else
        size = sp_min(ops->generous_size(pool->backing, reserved), allowed);
    return sp_max(sp_round_down(size, granularity), rounded);
}

/* The next smaller size to try. */
static size_t smaller_size(const struct starpool_pool *pool, size_t size, size_t rounded,
                           size_t exact)
{
    const struct sp_backing_ops *ops = pool->backing->ops;

    if (size == rounded)
        return exact;
    if (ops->generous_size == NULL)
        return rounded;
    return sp_max(sp_round_down(size / 2, ops->granularity(pool->backing)), rounded);
}

/* With the growth lock: get a piece of at least `needed` bytes, backing off from a generous
 * size to the exact one. */
static enum starpool_status get_piece(struct starpool_pool *pool, size_t needed,
                                      bool *is_at_limit_out, struct sp_piece **piece_out)
{
    size_t rounded = sp_round_up(needed, pool->backing->ops->granularity(pool->backing));
    size_t exact = sp_round_up(needed, SP_PAGE), size;
    uint64_t reserved_bytes, allowed = allowance(pool, &reserved_bytes);
    enum starpool_status status = STARPOOL_ENOMEM;

    if (rounded == 0)
        return status;
    *is_at_limit_out = exact > allowed;
    size = generous_size(pool, rounded, reserved_bytes, allowed);
    for (;;) {
        if (size <= allowed) {
            status = pool->backing->ops->grow(pool->backing, size, piece_out);
            if (status == STARPOOL_OK)
                return status;
        }
        if (size == exact)
            return status;
        size = smaller_size(pool, size, rounded, exact);
    }
}

enum starpool_status sp_pool_grow_initial(struct starpool_pool *pool, size_t bytes)
{
    struct sp_piece *piece;
    bool is_at_limit;
    enum starpool_status status = STARPOOL_OK;

    /* A limit that is no multiple of a page is as good as the multiple below it. */
    if (pool->maximum != 0)
        bytes = sp_min(bytes, sp_round_down(pool->maximum, SP_PAGE));
    sp_lock_take(&pool->growth);
    if (bytes > 0)
        status = get_piece(pool, bytes, &is_at_limit, &piece);
    if (status == STARPOOL_OK && bytes > 0) {
        status = sp_pool_lock_stocked(pool);
        if (status == STARPOOL_OK) {
            sp_pool_add_piece(pool, piece);
            sp_lock_give(&pool->lock);
        } else {
            sp_pool_put_back(pool, piece);
        }
    }
    sp_lock_give(&pool->growth);
    return status;
}

/* What a request needs in one piece; less than its size if it does not fit at all. */
static size_t piece_size_for(const struct request *request)
{
    if (request->ordered != NULL)
        return sp_ordered_chunk_size(request->ordered);
    if (request->is_paged)
        return sp_round_up(request->size, SP_PAGE);
    if (request->size < SP_SMALL_LIMIT && request->align <= SP_PAGE)
        return SP_SPAN_SIZE;
    return request->size + (request->align > SP_PAGE ? request->align - SP_PAGE : 0);
}

static bool take_locked(struct starpool_pool *pool, struct request *request)
{
    struct sp_range *range;

    if (request->ordered != NULL)
        return sp_ordered_take_locked(pool, request->ordered);
    if (request->is_paged)
        range = sp_store_take_pages(&pool->store, request->size);
    else
        range = sp_store_take(&pool->store, request->size, request->align);
    sp_pool_check(pool);
    if (range == NULL)
        return false;
    sp_range_set_state(range, SP_RANGE_LIVE);
    request->block = (struct sp_cached){range->start, range};
    pool->stats.n_allocs++;
    sp_pool_note_peaks(pool);
    return true;
}

bool sp_pool_take_locked(struct starpool_pool *pool, size_t size, size_t align,
                         struct sp_cached *block_out)
{
    struct request request = {.size = size, .align = align};
    bool is_done = take_locked(pool, &request);

    if (is_done)
        *block_out = request.block;
    return is_done;
}

/* The locks that a request needs, with enough records for it. */
static enum starpool_status lock_for(struct starpool_pool *pool, const struct request *request)
{
    return request->ordered != NULL ? sp_ordered_lock(pool) : sp_pool_lock_stocked(pool);
}

static void unlock_for(struct starpool_pool *pool, const struct request *request)
{
    if (request->ordered != NULL)
        sp_ordered_unlock(pool);
    else
        sp_lock_give(&pool->lock);
}

/* Take the block and give the locks. A stream's request that got a chunk, but found the engine
 * short of records then, only needs to come again. */
static bool take_and_unlock(struct starpool_pool *pool, struct request *request)
{
    bool is_done = take_locked(pool, request);

    unlock_for(pool, request);
    if (is_done || request->ordered == NULL || !request->ordered->has_chunk ||
        lock_for(pool, request) != STARPOOL_OK)
        return is_done;
    is_done = take_locked(pool, request);
    unlock_for(pool, request);
    return is_done;
}

/* With the growth lock: grow, and take the block before another thread does. */
static enum starpool_status grow_and_take(struct starpool_pool *pool, struct request *request)
{
    size_t needed = piece_size_for(request);
    size_t tail = needed < request->size ? 0 : free_before_next(pool, needed);
    struct sp_piece *piece;
    enum starpool_status status;

    if (needed < request->size)
        return STARPOOL_ENOMEM;
    /* A tail of the whole size would have served, but for alignment. */
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t missing = attempt == 0 && tail < needed ? needed - tail : needed;
        bool is_done;

        status = get_piece(pool, missing, &request->is_at_limit, &piece);
        if (status != STARPOOL_OK)
            return status;
        status = lock_for(pool, request);
        if (status != STARPOOL_OK) {
            sp_pool_put_back(pool, piece);
            return status;
        }
        sp_pool_add_piece(pool, piece);
        is_done = take_and_unlock(pool, request);
        if (is_done)
            return STARPOOL_OK;
        /* The piece came elsewhere than foreseen. */
    }
    return STARPOOL_ENOMEM;
}

/* Caches and idle chunks first, then what the release threshold says is too much, then growth.
 */
static enum starpool_status drain_or_grow(struct starpool_pool *pool, struct request *request)
{
    enum starpool_status status;
    uint64_t threshold;
    bool is_done;

    sp_lock_take(&pool->growth);
    sp_pool_drain(pool);
    sp_ordered_settle(pool, 0);
    status = lock_for(pool, request);
    if (status != STARPOOL_OK) {
        sp_lock_give(&pool->growth);
        return status;
    }
    threshold = pool->release_threshold;
    /* Time is no object any more: every range that might do is looked at. */
    sp_store_be_thorough(&pool->store, true);
    is_done = take_and_unlock(pool, request);
    sp_lock_take(&pool->lock);
    sp_store_be_thorough(&pool->store, false);
    pool->stats.n_resident += is_done;
    sp_lock_give(&pool->lock);
    if (is_done) {
        lower_bound(pool);
    } else {
        if (threshold < sp_pool_reserved(pool))
            sp_pool_trim_locked(pool, threshold);
        status = grow_and_take(pool, request);
    }
    sp_lock_give(&pool->growth);
    return status;
}

/* ---- the ladder ------------------------------------------------------------------------ */

/* The device whose memory a pool is of; -1: it is of the host's, or managed. */
static int device_of(const struct starpool_pool *pool)
{
    bool is_on_device =
        pool->is_on_device || (pool->driver != NULL && pool->location.kind == STARPOOL_DEVICE &&
                               pool->memory == STARPOOL_PINNED);

    return is_on_device ? pool->location.id : -1;
}

/* True if `other` lives on memory that is what `pool` is short of. Only a node's room is a
 * node's. */
static bool would_help(const struct starpool_pool *pool, const struct starpool_pool *other,
                       enum starpool_status status)
{
    if (pool->driver != NULL || other->driver != NULL || device_of(pool) != device_of(other))
        return device_of(pool) == device_of(other) &&
               pool->location.kind == other->location.kind &&
               pool->location.id == other->location.id;
    return status != STARPOOL_ENODE || pool->location.kind != STARPOOL_HOST_NUMA ||
           other->location.kind != STARPOOL_HOST_NUMA ||
           pool->location.id == other->location.id;
}

/* Of a pool that the driver serves. */
static uint64_t trim_drivers(struct starpool_pool *pool)
{
    uint64_t before = 0, after = 0;

    if (sp_driver_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_CURRENT, &before) !=
            STARPOOL_OK ||
        sp_driver_pool_trim(pool, 0) != STARPOOL_OK ||
        sp_driver_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_CURRENT, &after) !=
            STARPOOL_OK)
        return 0;
    return before > after ? before - after : 0;
}

uint64_t sp_pool_trim_others(struct starpool_pool *pool, enum starpool_status status)
{
    uint64_t released = 0;
    struct starpool_pool *other = NULL;

    while ((other = sp_registry_next(other)) != NULL) {
        if (other != pool && would_help(pool, other, status))
            released += other->driver != NULL ? trim_drivers(other) : sp_pool_trim(other, 0);
    }
    return released;
}

void sp_pool_note_refusal(struct starpool_pool *pool, size_t size, uint64_t stream,
                          enum starpool_status status)
{
    char why[SP_WHY_SIZE];
    uint64_t n;

    sp_trace_alloc(pool->id, NULL, size, stream, status);
    sp_lock_take(&pool->lock);
    n = ++pool->stats.n_refused;
    sp_lock_give(&pool->lock);
    /* The first, the second, the fourth, ...: a program may go on asking for ever. */
    if (!sp_is_power_of_two(n))
        return;
    sp_pool_why(pool, size, status, why, sizeof(why));
    sp_log(atomic_load(&pool->is_permanent) ? SP_LOG_INFO : SP_LOG_WARN, "%s", why);
}

static bool is_shortage(enum starpool_status status)
{
    return status == STARPOOL_ENOMEM || status == STARPOOL_ENODE ||
           status == STARPOOL_ECGROUP || status == STARPOOL_EMEMLOCK;
}

/* The rungs that need nobody else. A small block that could not have a span may have a page,
 * and a stream a chunk that is just enough. */
static enum starpool_status try(struct starpool_pool *pool, struct request *request)
{
    enum starpool_status status = drain_or_grow(pool, request);

    if (!is_shortage(status))
        return status;
    if (request->ordered != NULL) {
        request->ordered->is_exact = true;
        status = drain_or_grow(pool, request);
        request->ordered->is_exact = false;
    } else if (request->size < SP_SMALL_LIMIT && request->align <= SP_PAGE) {
        request->is_paged = true;
        status = drain_or_grow(pool, request);
        request->is_paged = false;
    }
    return status;
}

/* Whether the pool's own maximum leaves room for it if all else is released. */
static bool is_possible(struct starpool_pool *pool, const struct request *request)
{
    uint64_t maximum;

    sp_lock_take(&pool->lock);
    maximum = pool->maximum;
    sp_lock_give(&pool->lock);
    return maximum == 0 || request->size <= maximum;
}

/* Who asks, in a trace. */
static uint64_t stream_of(const struct request *request)
{
    return request->ordered != NULL ? request->ordered->stream->number : STARPOOL_TRACE_HOST;
}

static enum starpool_status climb(struct starpool_pool *pool, struct request *request)
{
    enum starpool_status status = try(pool, request);

    /* Slabs do not join, so that an empty one is in the way of a larger block. */
    if (is_shortage(status) && pool->is_on_device && is_possible(pool, request) &&
        sp_pool_trim(pool, 0) > 0)
        status = try(pool, request);
    /* What others hold is no help against the pool's own maximum. */
    if (is_shortage(status) && !request->is_at_limit && sp_pool_trim_others(pool, status) > 0)
        status = try(pool, request);
    for (unsigned attempt = 0; is_shortage(status) && pool->config.on_oom != NULL; attempt++) {
        if (!pool->config.on_oom(pool, request->size, attempt, pool->config.on_oom_arg))
            break;
        status = try(pool, request);
    }
    if (status != STARPOOL_OK)
        sp_pool_note_refusal(pool, request->size, stream_of(request), status);
    return status;
}

enum starpool_status sp_pool_climb(struct starpool_pool *pool, size_t size, size_t align,
                                   struct sp_cached *block_out)
{
    struct request request = {.size = size, .align = align};
    enum starpool_status status;

    sp_pool_notice_reset(pool);
    /* Frees that have executed meanwhile are the host's. */
    sp_streams_poll(true);
    status = climb(pool, &request);
    if (status == STARPOOL_OK)
        *block_out = request.block;
    return status;
}

enum starpool_status sp_pool_climb_ordered(struct starpool_pool *pool,
                                           struct sp_ordered_request *ordered)
{
    struct request request = {.size = ordered->size, .align = SP_PAGE, .ordered = ordered};

    sp_pool_notice_reset(pool);
    return climb(pool, &request);
}
