/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of pools that the driver serves: which pool an address is of, where it was allocated,
 * and that it is freed once. */
#include "config.h"

#include <starpool/access.h>

#include <stdlib.h>
#include <string.h>

#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/streams.h"
#include "src/trace/record.h"
#include "src/util/util.h"

#define N_BUCKETS 4096
#define N_FREED   256U

struct sp_driver_block {
    struct sp_driver_block *next; /* in its bucket */
    uintptr_t start;
    size_t size;
    struct starpool_pool *pool;
    struct sp_point alloc;
    uint64_t stream; /* of `alloc`, as it is numbered in traces */
    uintptr_t place; /* in the pool's shadow; 0: it is not there */
};

/* Every live block of every such pool, by its address, and the latest that were freed. */
static struct {
    struct sp_lock lock;
    struct sp_driver_block *buckets[N_BUCKETS];
    struct sp_driver_place freed[N_FREED];
    unsigned n_freed;
} blocks = {.lock = SP_LOCK_INITIALIZER(SP_RANK_POOL)};

/* ---- the table --------------------------------------------------------------------------- */

static struct sp_driver_block **bucket_of(uintptr_t start)
{
    return &blocks.buckets[((start >> 8) * 0x9e3779b97f4a7c15u) >> 52];
}

static void enter_block(struct sp_driver_block *block)
{
    struct sp_driver_block **bucket = bucket_of(block->start);

    sp_lock_take(&blocks.lock);
    block->next = *bucket;
    *bucket = block;
    sp_lock_give(&blocks.lock);
}

/* Taken out of the table, so that one of two frees at once has it. */
static struct sp_driver_block *claim(uintptr_t start)
{
    struct sp_driver_block **link = bucket_of(start), *block;

    sp_lock_take(&blocks.lock);
    while ((block = *link) != NULL && block->start != start)
        link = &block->next;
    if (block != NULL)
        *link = block->next;
    sp_lock_give(&blocks.lock);
    return block;
}

static bool find(uintptr_t start, struct sp_driver_block *block_out)
{
    const struct sp_driver_block *block;

    sp_lock_take(&blocks.lock);
    block = *bucket_of(start);
    while (block != NULL && block->start != start)
        block = block->next;
    if (block != NULL)
        *block_out = *block;
    sp_lock_give(&blocks.lock);
    return block != NULL;
}

/* ---- taking ------------------------------------------------------------------------------ */

/* The stream for what the host orders: nothing else is ever in it. It lives in the device's
 * primary context, which stays, and not in the program's own, which may go before the pool.
 * Where that context was reset, another one is made. */
static enum starpool_status host_stream(struct starpool_pool *pool, sp_cu_stream *stream_out)
{
    struct sp_driver_pool *own = pool->driver;
    struct sp_hidden_stream last, stream;
    struct sp_context context;
    enum starpool_status status;
    bool is_first;

    sp_lock_take(&pool->lock);
    last = own->stream;
    sp_lock_give(&pool->lock);
    *stream_out = last.handle;
    if (last.handle != NULL && sp_hidden_stream_lives(own->driver, &last))
        return STARPOOL_OK;
    status = sp_context_enter_primary(own->driver, own->device, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_hidden_stream_make(own->driver, &stream);
    sp_context_leave(&context);
    if (status != STARPOOL_OK)
        return status;
    sp_lock_take(&pool->lock);
    is_first = own->stream.id == last.id;
    if (is_first)
        own->stream = stream;
    *stream_out = own->stream.handle;
    sp_lock_give(&pool->lock);
    if (!is_first)
        (void)own->driver->cuStreamDestroy(stream.handle);
    return STARPOOL_OK;
}

static enum starpool_status call_alloc(const struct sp_driver_pool *own, size_t size,
                                       sp_cu_stream stream, sp_cu_ptr *ptr_out)
{
    return sp_driver_status(
        own->driver->cuMemAllocFromPoolAsync(ptr_out, size, own->handle, stream),
        "cuMemAllocFromPoolAsync");
}

static enum starpool_status alloc_by_host(struct starpool_pool *pool, size_t size,
                                          sp_cu_ptr *ptr_out, struct sp_driver_block *block)
{
    const struct sp_driver_pool *own = pool->driver;
    sp_cu_stream stream;
    enum starpool_status status = host_stream(pool, &stream);

    if (status == STARPOOL_OK)
        status = call_alloc(own, size, stream, ptr_out);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(own->driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
    if (status != STARPOOL_OK)
        (void)own->driver->cuMemFreeAsync(*ptr_out, stream);
    block->alloc = (struct sp_point){SP_SLOT_HOST, 0};
    block->stream = STARPOOL_TRACE_HOST;
    return status;
}

/* A stream that the driver knows. */
static enum starpool_status get_stream(starpool_stream handle, struct sp_stream **stream_out)
{
    struct sp_stream *stream;
    enum starpool_status status = sp_streams_get(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    if (stream->driver == NULL) {
        sp_streams_put(stream);
        return STARPOOL_EINVAL;
    }
    *stream_out = stream;
    return STARPOOL_OK;
}

static enum starpool_status alloc_on(struct starpool_pool *pool, size_t size,
                                     starpool_stream handle, sp_cu_ptr *ptr_out,
                                     struct sp_driver_block *block)
{
    struct sp_stream *stream;
    enum starpool_status status = get_stream(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    block->stream = stream->number;
    status = call_alloc(pool->driver, size, stream->handle, ptr_out);
    if (status == STARPOOL_OK) {
        sp_streams_lock();
        block->alloc = sp_order_submit(sp_streams_order(), stream->slot);
        sp_streams_unlock();
        sp_streams_mark_alloc(stream);
    }
    sp_streams_put(stream);
    return status;
}

static void trace_alloc(const struct sp_driver_block *block)
{
    sp_trace_alloc_at(block->pool->id, (void *)block->start, block->size, block->stream,
                      block->alloc.seq, STARPOOL_TRACE_EDGE_NONE);
}

/* ---- the shadow -------------------------------------------------------------------------- */

/* With the pool's lock: without memory for its records the shadow is given up, and the pool
 * does without. */
static struct sp_shadow *give_up_shadow(struct starpool_pool *pool)
{
    struct sp_shadow *shadow = pool->driver->shadow;

    pool->driver->shadow = NULL;
    pool->driver->has_lost_shadow |= shadow != NULL;
    return shadow;
}

/* With the pool's lock, which is given meanwhile. */
static void feed_shadow(struct starpool_pool *pool, size_t size)
{
    struct sp_shadow *hungry = NULL;
    struct sp_shadow_food *food;

    sp_lock_give(&pool->lock);
    food = sp_shadow_make_food(size);
    sp_lock_take(&pool->lock);
    if (food != NULL && pool->driver->shadow != NULL) {
        sp_shadow_feed(pool->driver->shadow, food);
        return;
    }
    if (food == NULL)
        hungry = give_up_shadow(pool);
    sp_lock_give(&pool->lock);
    sp_shadow_discard(food);
    sp_shadow_destroy(hungry);
    if (hungry != NULL)
        sp_log(SP_LOG_INFO, "%s: no memory to count it beside the driver", pool->name);
    sp_lock_take(&pool->lock);
}

/* With the pool's lock. */
static void mirror_alloc(struct starpool_pool *pool, struct sp_driver_block *block)
{
    size_t wanted;

    while (pool->driver->shadow != NULL &&
           !sp_shadow_take(pool->driver->shadow, block->size, &block->place)) {
        (void)sp_shadow_is_hungry(pool->driver->shadow, &wanted);
        feed_shadow(pool, wanted);
    }
}

/* With the pool's lock. */
static void mirror_free(const struct starpool_pool *pool, uintptr_t place)
{
    if (place != 0 && pool->driver->shadow != NULL)
        sp_shadow_give(pool->driver->shadow, place);
}

/* The block is counted before anybody can free it. */
static void count_alloc(struct starpool_pool *pool, struct sp_driver_block *block)
{
    sp_lock_take(&pool->lock);
    mirror_alloc(pool, block);
    pool->stats.n_allocs++;
    sp_pool_note_peaks(pool);
    sp_lock_give(&pool->lock);
}

static enum starpool_status alloc_block(struct starpool_pool *pool, size_t size,
                                        starpool_stream stream, struct sp_driver_block *block)
{
    struct sp_context context;
    sp_cu_ptr ptr = 0;
    enum starpool_status status = sp_driver_pool_enter(pool, &context);

    if (status != STARPOOL_OK)
        return status;
    status = stream == STARPOOL_STREAM_HOST ? alloc_by_host(pool, size, &ptr, block)
                                            : alloc_on(pool, size, stream, &ptr, block);
    sp_context_leave(&context);
    block->start = (uintptr_t)ptr;
    block->size = size;
    block->pool = pool;
    return status;
}

/* Reuse, waiting and growing are the driver's; the rest of the ladder is as for host memory. */
static enum starpool_status climb(struct starpool_pool *pool, size_t size,
                                  starpool_stream stream, struct sp_driver_block *block)
{
    enum starpool_status status = alloc_block(pool, size, stream, block);

    if (status == STARPOOL_ENOMEM) {
        (void)sp_pool_trim_others(pool, status);
        status = alloc_block(pool, size, stream, block);
    }
    for (unsigned attempt = 0; status == STARPOOL_ENOMEM && pool->config.on_oom != NULL;
         attempt++) {
        if (!pool->config.on_oom(pool, size, attempt, pool->config.on_oom_arg))
            break;
        status = alloc_block(pool, size, stream, block);
    }
    return status;
}

enum starpool_status sp_driver_pool_alloc(struct starpool_pool *pool, size_t size,
                                          starpool_stream stream, void **ptr_out)
{
    struct sp_driver_block *block;
    enum starpool_status status;

    if (sp_pool_is_destroyed(pool))
        return STARPOOL_EINVAL;
    block = calloc(1, sizeof(*block));
    if (block == NULL)
        return STARPOOL_ENOMEM;
    status = climb(pool, size, stream, block);
    if (status != STARPOOL_OK) {
        if (status == STARPOOL_ENOMEM)
            sp_pool_note_refusal(pool, size, block->stream, status);
        free(block);
        return status;
    }
    trace_alloc(block);
    count_alloc(pool, block);
    enter_block(block);
    *ptr_out = (void *)block->start;
    return STARPOOL_OK;
}

enum starpool_status sp_driver_pool_add_block(struct starpool_pool *pool, void *ptr,
                                              size_t size)
{
    struct sp_driver_block *block = calloc(1, sizeof(*block));

    if (block == NULL)
        return STARPOOL_ENOMEM;
    *block = (struct sp_driver_block){
        .start = (uintptr_t)ptr, .size = size, .pool = pool, .alloc = {SP_SLOT_HOST, 0}};
    trace_alloc(block);
    count_alloc(pool, block);
    enter_block(block);
    return STARPOOL_OK;
}

/* ---- giving back ------------------------------------------------------------------------- */

/* In the trace first: its memory may be another's as soon as the driver has it. */
static enum starpool_status call_free(const struct sp_driver_block *block, sp_cu_stream on,
                                      uint64_t stream)
{
    enum starpool_status status;

    sp_trace_free(block->pool->id, (void *)block->start, block->size, stream, 0);
    status = sp_driver_status(block->pool->driver->driver->cuMemFreeAsync(block->start, on),
                              "cuMemFreeAsync");
    if (status != STARPOOL_OK)
        trace_alloc(block);
    return status;
}

static enum starpool_status free_on(const struct sp_driver_block *block, starpool_stream handle)
{
    struct sp_stream *stream;
    enum starpool_status status = get_stream(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    status = call_free(block, stream->handle, stream->number);
    sp_streams_put(stream);
    return status;
}

static enum starpool_status free_by_host(const struct sp_driver_block *block)
{
    sp_cu_stream on;
    enum starpool_status status = host_stream(block->pool, &on);

    if (status == STARPOOL_OK)
        status = call_free(block, on, STARPOOL_TRACE_HOST);
    if (status == STARPOOL_OK) /* Nothing else is in it: it is idle at once. */
        (void)sp_driver_status(block->pool->driver->driver->cuStreamSynchronize(on),
                               "cuStreamSynchronize");
    return status;
}

/* The host may not free what is not allocated yet: the stream of the allocation does. Where it
 * cannot be named, the host waits. */
static enum starpool_status free_early(const struct sp_driver_block *block)
{
    struct sp_stream *stream = sp_streams_get_at(block->alloc);
    struct sp_context context;
    enum starpool_status status;

    if (stream == NULL) {
        status = sp_streams_finish(block->alloc);
        return status == STARPOOL_OK ? free_by_host(block) : status;
    }
    status = sp_context_enter_as(stream->driver, stream->context, &context);
    if (status == STARPOOL_OK) {
        status = call_free(block, stream->handle, stream->number);
        sp_context_leave(&context);
    }
    sp_streams_put(stream);
    return status;
}

static enum starpool_status free_block(const struct sp_driver_block *block,
                                       starpool_stream handle)
{
    struct sp_context context;
    enum starpool_status status = sp_driver_pool_enter(block->pool, &context);

    if (status != STARPOOL_OK)
        return status;
    if (handle != STARPOOL_STREAM_HOST)
        status = free_on(block, handle);
    else
        status =
            sp_streams_has_executed(block->alloc) ? free_by_host(block) : free_early(block);
    sp_context_leave(&context);
    return status;
}

/* So that a second free is told what there was. */
static void remember(const struct sp_driver_block *block)
{
    sp_lock_take(&blocks.lock);
    blocks.freed[blocks.n_freed++ % N_FREED] = (struct sp_driver_place){
        .pool_id = block->pool->id, .start = block->start, .size = block->size};
    sp_lock_give(&blocks.lock);
}

struct sp_driver_block *sp_driver_pool_claim(const void *ptr, struct starpool_pool **pool_out,
                                             size_t *size_out)
{
    struct sp_driver_block *block = claim((uintptr_t)ptr);

    if (block != NULL) {
        *pool_out = block->pool;
        *size_out = block->size;
    }
    return block;
}

void sp_driver_pool_unclaim(struct sp_driver_block *block)
{
    enter_block(block);
}

enum starpool_status sp_driver_pool_free_claimed(struct sp_driver_block *block,
                                                 starpool_stream stream)
{
    struct starpool_pool *pool = block->pool;
    enum starpool_status status = free_block(block, stream);
    uintptr_t place = block->place;
    bool is_released;

    if (status != STARPOOL_OK)
        return status;
    remember(block);
    free(block);
    sp_lock_take(&pool->lock);
    mirror_free(pool, place);
    pool->stats.n_frees++;
    is_released = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    if (is_released)
        sp_pool_release(pool);
    return STARPOOL_OK;
}

bool sp_driver_pool_free(void *ptr, starpool_stream stream, enum starpool_status *status_out)
{
    struct sp_driver_block *block = claim((uintptr_t)ptr);

    if (block == NULL)
        return false;
    *status_out = sp_driver_pool_free_claimed(block, stream);
    if (*status_out != STARPOOL_OK)
        enter_block(block); /* It stays live, and counted. */
    return true;
}

/* ---- questions --------------------------------------------------------------------------- */

bool sp_driver_pool_find_alloc(const void *ptr, struct sp_point *alloc_out)
{
    struct sp_driver_block block;

    if (!find((uintptr_t)ptr, &block))
        return false;
    *alloc_out = block.alloc;
    return true;
}

/* Where the driver's allocation around an address begins; 0 if there is none. */
static uintptr_t base_of(uintptr_t address)
{
    const struct sp_driver *driver;
    struct sp_capture_guard guard;
    sp_cu_ptr base = 0;
    size_t size = 0;
    sp_cu_result result;

    if (sp_driver_get(&driver) != STARPOOL_OK)
        return 0;
    sp_capture_guard_begin(driver, &guard);
    result = driver->cuMemGetAddressRange(&base, &size, address);
    sp_capture_guard_end(&guard);
    return result == SP_CU_SUCCESS ? (uintptr_t)base : 0;
}

bool sp_driver_pool_find(const void *ptr, struct starpool_block_info *info_out)
{
    struct sp_driver_block block;

    if (!sp_driver_is_chosen())
        return false;
    if (!find((uintptr_t)ptr, &block)) {
        uintptr_t base = base_of((uintptr_t)ptr);

        if (base == 0 || !find(base, &block))
            return false;
    }
    sp_pool_fill_info(info_out, block.pool, block.start, block.size);
    return true;
}

/* The latest free around an address. */
static bool find_freed(uintptr_t address, struct sp_driver_place *place_out)
{
    bool is_found = false;

    sp_lock_take(&blocks.lock);
    for (unsigned i = 1; i <= N_FREED && i <= blocks.n_freed && !is_found; i++) {
        *place_out = blocks.freed[(blocks.n_freed - i) % N_FREED];
        is_found = address - place_out->start < place_out->size;
    }
    sp_lock_give(&blocks.lock);
    return is_found;
}

bool sp_driver_pool_locate(const void *ptr, struct sp_driver_place *place_out)
{
    struct starpool_block_info info;

    if (!sp_driver_pool_find(ptr, &info))
        return find_freed((uintptr_t)ptr, place_out);
    *place_out = (struct sp_driver_place){
        .pool_id = info.pool->id,
        .is_live = true,
        .start = (uintptr_t)info.base,
        .size = info.size,
    };
    return true;
}

/* ---- forks ------------------------------------------------------------------------------- */

void sp_driver_pool_freeze(void)
{
    sp_lock_take_all(&blocks.lock);
}

void sp_driver_pool_thaw(void)
{
    sp_lock_give_all(&blocks.lock);
}
