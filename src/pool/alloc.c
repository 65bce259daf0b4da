/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two hot calls, and the ways in for the plugin. What the thread's cache can serve ends
 * here; growth.c does the rest. A wrong free ends here, too: see wrong.c. */
#include "config.h"

#include <starpool/pool.h>

#include "src/pool/captured.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "src/pool/wrong.h"
#include "src/trace/record.h"

/* True if more must be done than keeping the books: entering a cache in order, telling a
 * sanitizer or a trace, or being proof against two frees at once. Then the fast paths see no
 * caches, and everything takes the slow ones. A trace that begins later shuts the caches
 * instead; see sp_fronts_shut(). */
static struct {
    bool is_watched;
} alloc = {true};

void sp_alloc_setup(void)
{
    alloc.is_watched =
        sp_bias_is_ordered || sp_poison_is_on || sp_wrong_is_race_proof || sp_trace_wants();
    sp_front_watch(alloc.is_watched);
}

/* What every allocation and free of a program goes through begins a line of the processor's
 * cache: else the time of a pair would change by some percent with where the linker puts it. */
#define LINE_ALIGNED __attribute__((aligned(64)))

/* ---- taking ---------------------------------------------------------------------------- */

static SP_ALWAYS_INLINE struct sp_cached take_from_cache(struct sp_front *front,
                                                         struct starpool_pool *pool,
                                                         size_t size, bool is_ordered)
{
    struct sp_cached block = {0, NULL};

    if (SP_UNLIKELY(front == NULL) || SP_UNLIKELY(size > SP_CLASS_MAX_SIZE) ||
        SP_UNLIKELY(!sp_bias_enter_as(&front->bias, is_ordered)))
        return block;
    if (SP_LIKELY(sp_front_pool(front) == pool)) {
        block = sp_front_pop(front, size);
        if (SP_LIKELY(block.range != NULL)) {
            sp_front_count(front);
            sp_range_set_state(block.range, SP_RANGE_LIVE);
        }
    }
    sp_bias_leave(&front->bias);
    return block;
}

static enum starpool_status take_slowly(struct starpool_pool *pool, size_t size, size_t align,
                                        void **ptr_out)
{
    struct sp_cached block = {0, NULL};
    enum starpool_status status = STARPOOL_OK;

    if (SP_UNLIKELY(pool->driver != NULL)) {
        sp_held_notice();
        return align > SP_SMALL_UNIT
                   ? STARPOOL_ENOTSUP
                   : sp_driver_pool_alloc(pool, size, STARPOOL_STREAM_HOST, ptr_out);
    }
    if (alloc.is_watched && align <= SP_SMALL_UNIT)
        block = take_from_cache(sp_owner->fronts[pool->slot], pool, size, sp_bias_is_ordered);
    if (block.range == NULL)
        status = sp_pool_take(pool, size, align, &block);
    if (status != STARPOOL_OK)
        return status;
    if (sp_pool_poisons(pool))
        sp_poison_block_live((void *)block.start, block.range->size);
    sp_pool_declare(pool, (void *)block.start);
    if (sp_trace_wants()) /* The record is looked at only then: a reset may have it by now. */
        sp_trace_alloc(pool->id, (void *)block.start, block.range->size, STARPOOL_TRACE_HOST,
                       STARPOOL_OK);
    *ptr_out = (void *)block.start;
    return STARPOOL_OK;
}

static enum starpool_status take_on_stream(struct starpool_pool *pool, size_t size,
                                           starpool_stream stream, void **ptr_out)
{
    enum starpool_status status;

    sp_held_notice();
    status = pool->driver != NULL ? sp_driver_pool_alloc(pool, size, stream, ptr_out)
                                  : sp_ordered_alloc(pool, size, stream, ptr_out);
    return status == STARPOOL_ECAPTURE_UNSUPPORTED
               ? sp_captured_alloc(pool, size, stream, ptr_out)
               : status;
}

LINE_ALIGNED enum starpool_status starpool_alloc(struct starpool_pool *pool, size_t size,
                                                 starpool_stream stream, void **ptr_out)
{
    struct sp_cached block;

    if (SP_UNLIKELY(pool == NULL || ptr_out == NULL || size == 0))
        return STARPOOL_EINVAL;
    if (SP_UNLIKELY(stream != STARPOOL_STREAM_HOST))
        return take_on_stream(pool, size, stream, ptr_out);
    size = sp_store_round(size);
    if (SP_UNLIKELY(size == 0)) {
        sp_pool_note_refusal(pool, SIZE_MAX, STARPOOL_TRACE_HOST, STARPOOL_ENOMEM);
        return STARPOOL_ENOMEM;
    }
    block = take_from_cache(sp_self->fronts[pool->slot], pool, size, false);
    if (SP_UNLIKELY(block.range == NULL))
        return take_slowly(pool, size, SP_SMALL_UNIT, ptr_out);
    *ptr_out = (void *)block.start;
    return STARPOOL_OK;
}

static enum starpool_status location_of(starpool_stream handle,
                                        struct starpool_location *location_out)
{
    struct sp_stream *stream;
    enum starpool_status status = sp_streams_get(handle, &stream);

    if (status == STARPOOL_ECAPTURE_UNSUPPORTED)
        return sp_captured_location(location_out);
    if (status != STARPOOL_OK)
        return status;
    status = sp_streams_location(stream, location_out);
    sp_streams_put(stream);
    return status;
}

enum starpool_status starpool_alloc_current(size_t size, starpool_stream stream, void **ptr_out)
{
    struct starpool_location location = {STARPOOL_HOST, 0};
    struct starpool_pool *pool;
    enum starpool_status status = STARPOOL_OK;

    if (ptr_out == NULL || size == 0)
        return STARPOOL_EINVAL;
    if (stream != STARPOOL_STREAM_HOST)
        status = location_of(stream, &location);
    if (status == STARPOOL_OK)
        status = sp_registry_get_current(location, STARPOOL_PINNED, &pool);
    if (status != STARPOOL_OK)
        return status;
    status = starpool_alloc(pool, size, stream, ptr_out);
    sp_registry_put(pool);
    return status;
}

enum starpool_status sp_alloc_aligned(struct starpool_pool *pool, size_t size, size_t align,
                                      void **ptr_out)
{
    if (align != 0 && !sp_is_power_of_two(align))
        return STARPOOL_EINVAL;
    if (size == 0)
        size = 1;
    if (align <= SP_SMALL_UNIT || (align <= SP_PAGE && size >= SP_SMALL_LIMIT))
        return starpool_alloc(pool, size, STARPOOL_STREAM_HOST, ptr_out);
    if (pool == NULL || ptr_out == NULL)
        return STARPOOL_EINVAL;
    size = align > SP_PAGE ? sp_round_up(size, SP_PAGE) : sp_store_round(size);
    return size == 0 ? STARPOOL_ENOMEM : take_slowly(pool, size, align, ptr_out);
}

/* ---- giving back --------------------------------------------------------------------- */

/* Inside the cache: keep a block that the caller of free() gives. With `is_live` it is only
 * believed to be live, and is not kept if it is not. */
static SP_ALWAYS_INLINE bool give_to_cache(struct sp_front *front, const struct sp_found *found,
                                           uintptr_t start, bool is_live, bool is_ordered)
{
    struct starpool_pool *pool = sp_range_pool(found->range);
    bool is_kept = false;
    size_t bound;

    if (SP_UNLIKELY(front == NULL) || SP_UNLIKELY(!sp_bias_enter_as(&front->bias, is_ordered)))
        return false;
    /* A record that a reset has had since is another block's. */
    if (SP_LIKELY(sp_front_pool(front) == pool) &&
        SP_LIKELY(!is_live || (sp_range_state(found->range) == SP_RANGE_LIVE &&
                               found->range->start == start))) {
        bound = atomic_load_explicit(&pool->front_bound, memory_order_relaxed);
        is_kept =
            sp_front_push(front, found->tag, (struct sp_cached){start, found->range}, bound);
        if (SP_LIKELY(is_kept))
            sp_range_set_state(found->range, SP_RANGE_TAKEN);
    }
    sp_bias_leave(&front->bias);
    return is_kept;
}

/* From LIVE to TAKEN; false if it is not LIVE. Two frees of one block at the same moment are
 * told apart only with checks on: the exchange would cost every free its price again. */
bool sp_pool_take_back(struct sp_range *range)
{
    if (sp_wrong_is_race_proof)
        return atomic_exchange_explicit(&range->state, SP_RANGE_TAKEN, memory_order_acq_rel) ==
               SP_RANGE_LIVE;
    if (sp_range_state(range) != SP_RANGE_LIVE)
        return false;
    sp_range_set_state(range, SP_RANGE_TAKEN);
    return true;
}

/* False if no live block begins there. */
static bool give_slowly(const struct sp_found *found, void *ptr)
{
    struct sp_range *range = found->range;
    struct starpool_pool *pool;

    if (range == NULL || sp_range_state(range) != SP_RANGE_LIVE)
        return false;
    if (found->is_fleeting)
        return sp_pool_give_fleeting(ptr);
    if (!sp_pool_take_back(range))
        return false;
    pool = sp_range_pool(range);
    if (sp_trace_wants())
        sp_trace_free(pool->id, ptr, range->size, STARPOOL_TRACE_HOST, 0);
    if (sp_pool_poisons(pool))
        sp_poison_block_freed(ptr, range->size);
    if (!alloc.is_watched || !give_to_cache(sp_owner->fronts[found->slot], found,
                                            (uintptr_t)ptr, false, sp_bias_is_ordered))
        sp_pool_give(pool, range, 0); /* Nothing of the host's is ever reset. */
    return true;
}

static SP_ALWAYS_INLINE bool give(const struct sp_found *found, void *ptr)
{
    if (SP_LIKELY(found->range != NULL) &&
        SP_LIKELY(
            give_to_cache(sp_self->fronts[found->slot], found, (uintptr_t)ptr, true, false)))
        return true;
    return give_slowly(found, ptr);
}

/* A block that a graph kept is live again as soon as that is noticed to be gone, which may have
 * been since the first attempt. */
static bool give_again(void *ptr)
{
    struct sp_found found = sp_addrmap_find((uintptr_t)ptr);

    return give_slowly(&found, ptr);
}

/* What is in the order of streams, before or from now on. */
static enum starpool_status give_to_stream(void *ptr, starpool_stream stream)
{
    enum starpool_status status;

    if (!sp_addrmap_is_ours((uintptr_t)ptr) && sp_driver_pool_free(ptr, stream, &status))
        return status;
    return sp_ordered_free(ptr, stream);
}

/* What graphs have, and what is in the order of streams; then what is wrong. */
static enum starpool_status give_on_stream(void *ptr, starpool_stream stream)
{
    enum starpool_status status;

    if (ptr == NULL)
        return STARPOOL_EINVAL;
    if (sp_captured_give(ptr, stream, &status))
        return status;
    if (stream != STARPOOL_STREAM_HOST) {
        status = give_to_stream(ptr, stream);
        return status == STARPOOL_ECAPTURE_UNSUPPORTED ? sp_captured_free(ptr, stream) : status;
    }
    if (!sp_addrmap_is_ours((uintptr_t)ptr) && sp_driver_pool_free(ptr, stream, &status))
        return status;
    if (sp_ordered_free_by_host(ptr) || give_again(ptr) || sp_pool_free_lost(ptr))
        return STARPOOL_OK;
    sp_wrong_free(ptr, true);
    return STARPOOL_EINVAL;
}

LINE_ALIGNED enum starpool_status starpool_free(void *ptr, starpool_stream stream)
{
    struct sp_found found;

    if (SP_UNLIKELY(stream != STARPOOL_STREAM_HOST))
        return give_on_stream(ptr, stream);
    found = sp_addrmap_find((uintptr_t)ptr);
    if (SP_LIKELY(give(&found, ptr)))
        return STARPOOL_OK;
    return give_on_stream(ptr, stream);
}

enum sp_free_result sp_free_if_ours(void *ptr)
{
    struct sp_found found = sp_addrmap_find((uintptr_t)ptr);
    enum starpool_status status;

    if (SP_LIKELY(give(&found, ptr)))
        return SP_FREED;
    if (sp_captured_give(ptr, STARPOOL_STREAM_HOST, &status))
        return status == STARPOOL_OK ? SP_FREED : SP_FREE_WRONG;
    if (sp_ordered_free_by_host(ptr) || give_again(ptr) || sp_pool_free_lost(ptr))
        return SP_FREED;
    return sp_wrong_free(ptr, false) ? SP_FREE_WRONG : SP_FREE_FOREIGN;
}

/* ---- questions ----------------------------------------------------------------------- */

void sp_pool_fill_info(struct starpool_block_info *info, struct starpool_pool *pool,
                       uintptr_t start, size_t size)
{
    *info = (struct starpool_block_info){
        .struct_size = sizeof(*info),
        .pool = pool,
        .base = (const void *)start,
        .size = size,
        .owner = STARPOOL_OWNER_POOL,
        .state = STARPOOL_BLOCK_LIVE,
    };
}

bool sp_pool_find_place(struct starpool_pool *pool, uintptr_t address,
                        struct sp_pool_place *place_out)
{
    const struct sp_range *range;
    bool is_found;

    sp_lock_take(&pool->lock); /* Under which no block of the store comes or goes. */
    range = sp_addrmap_below(address);
    is_found =
        range != NULL && sp_range_pool(range) == pool && address - range->start < range->size;
    if (is_found)
        *place_out = (struct sp_pool_place){
            .start = range->start,
            .size = range->size,
            .is_live = sp_range_state(range) == SP_RANGE_LIVE,
        };
    sp_lock_give(&pool->lock);
    return is_found;
}

/* The live block of a store around an address. */
static bool find_in_store(const void *ptr, struct starpool_block_info *info_out)
{
    const struct sp_range *range = sp_addrmap_below((uintptr_t)ptr);
    struct starpool_pool *pool;
    struct sp_pool_place place;
    bool is_around;

    if (range == NULL || sp_range_state(range) != SP_RANGE_LIVE)
        return false;
    pool = sp_registry_get(sp_range_pool(range)); /* It may be anything by now. */
    if (pool == NULL)
        return false;
    is_around = sp_pool_find_place(pool, (uintptr_t)ptr, &place) && place.is_live;
    if (is_around)
        sp_pool_fill_info(info_out, pool, place.start, place.size);
    sp_registry_put(pool); /* It has a live block, and stays. */
    return is_around;
}

/* A block that a graph has, or that is in the order of streams. */
static bool find_ordered(const void *ptr, struct starpool_block_info *info_out)
{
    struct sp_reuse_block block;
    struct starpool_pool *pool;

    if (sp_captured_find(ptr, info_out))
        return true;
    if (!sp_ordered_find(ptr, &pool, &block))
        return sp_driver_pool_find(ptr, info_out);
    sp_pool_fill_info(info_out, pool, block.start, block.size);
    sp_registry_put(pool); /* It has a live block, and stays. */
    return true;
}

enum starpool_status starpool_pool_of(const void *ptr, struct starpool_pool **pool_out)
{
    struct starpool_block_info info;
    struct starpool_pool *pool;

    if (pool_out == NULL)
        return STARPOOL_EINVAL;
    pool = sp_pool_get_live(ptr);
    if (pool != NULL) {
        *pool_out = pool;
        sp_registry_put(pool); /* It has a live block, and stays. */
        return STARPOOL_OK;
    }
    if (!find_ordered(ptr, &info) || info.base != ptr || info.pool == NULL ||
        info.state == STARPOOL_BLOCK_HELD)
        return STARPOOL_EINVAL;
    *pool_out = info.pool;
    return STARPOOL_OK;
}

enum starpool_status starpool_block_info(const void *ptr, struct starpool_block_info *info_out)
{
    if (info_out == NULL || info_out->struct_size < sizeof(*info_out))
        return STARPOOL_EINVAL;
    return find_in_store(ptr, info_out) || find_ordered(ptr, info_out) ? STARPOOL_OK
                                                                       : STARPOOL_EINVAL;
}
