/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stream-ordered blocks of host memory. The engine decides which freed range a stream may have;
 * here it gets chunks from the pool's store and gives them back. What the engine has not, the
 * ladder of growth.c gets. */
#include "config.h"

#include "src/pool/ordered.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "src/heap/checker.h"
#include "src/pool/pool.h"
#include "src/pool/wrong.h"
#include "src/trace/record.h"
#include "src/util/meta.h"
#include "src/util/options.h"
#include "src/util/poison.h"

/* What the engine's blocks begin at multiples of. */
#define UNIT SP_SMALL_UNIT

/* A chunk has so much unless the pool has not. */
#define CHUNK_SIZE (2 * SP_MIB)

/* Waits that are added for one request at most. */
#define MAX_WAITS 64

/* Records of pools that are no more; guarded by the order's lock. */
static struct {
    struct sp_chunk_record *spare;
} chunks;

static struct sp_chunk_record *record_of(struct sp_chunk *chunk)
{
    return SP_CONTAINER_OF(chunk, struct sp_chunk_record, chunk);
}

/* ---- locks and records ------------------------------------------------------------------- */

static void *map_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_memory(void *memory, size_t size)
{
    munmap(memory, size);
}

static struct sp_chunk_record *make_record(void)
{
    struct sp_chunk_record *record;

    sp_streams_lock();
    record = chunks.spare;
    if (record != NULL)
        chunks.spare = record->next_spare;
    sp_streams_unlock();
    return record != NULL ? record : sp_meta_alloc(sizeof(*record));
}

/* With the pool's lock: what is missing, in bytes for the engine; SIZE_MAX: the engine itself
 * or a record. */
static size_t missing_locked(const struct sp_ordered *ordered)
{
    if (ordered->reuse == NULL || ordered->spare_chunks == NULL)
        return SIZE_MAX;
    return sp_reuse_wants(ordered->reuse);
}

/* With both locks. */
static void open_engine(struct starpool_pool *pool, void *memory)
{
    pool->ordered.reuse = sp_reuse_init(memory, sp_streams_order(), UNIT);
    *sp_reuse_policy(pool->ordered.reuse) = pool->policy;
}

/* Without a lock: make what is missing, then put it where it belongs. */
static bool supply(struct starpool_pool *pool, size_t missing)
{
    struct sp_ordered *ordered = &pool->ordered;
    size_t size = missing == SIZE_MAX ? sp_round_up(sp_reuse_size(), SP_PAGE)
                                      : sp_round_up(missing, SP_PAGE);
    void *memory = map_memory(size);
    struct sp_chunk_record *record = missing == SIZE_MAX ? make_record() : NULL;
    bool is_complete = memory != NULL && (missing != SIZE_MAX || record != NULL);

    sp_lock_take(&pool->lock);
    sp_streams_lock();
    if (record != NULL) {
        record->next_spare = ordered->spare_chunks;
        ordered->spare_chunks = record;
    }
    if (memory != NULL && missing != SIZE_MAX) {
        sp_reuse_feed(ordered->reuse, memory, size);
        memory = NULL;
    } else if (memory != NULL && ordered->reuse == NULL) {
        open_engine(pool, memory);
        memory = NULL;
    }
    sp_streams_unlock();
    sp_lock_give(&pool->lock);
    if (memory != NULL)
        unmap_memory(memory, size);
    return is_complete;
}

enum starpool_status sp_ordered_lock(struct starpool_pool *pool)
{
    for (;;) {
        enum starpool_status status = sp_pool_lock_stocked(pool);
        size_t missing;

        if (status != STARPOOL_OK)
            return status;
        sp_streams_lock();
        missing = missing_locked(&pool->ordered);
        if (missing == 0)
            return STARPOOL_OK;
        sp_ordered_unlock(pool);
        if (!supply(pool, missing))
            return STARPOOL_ENOMEM;
    }
}

void sp_ordered_unlock(struct starpool_pool *pool)
{
    sp_streams_unlock();
    sp_lock_give(&pool->lock);
}

/* With both locks, while that is checked: stop if the engine is broken, and say what the
 * program or the engine has done wrong. */
static void check(const struct starpool_pool *pool)
{
    const char *news;

    if (SP_LIKELY(sp_option_number(SP_OPTION_CHECKS) < 2) || pool->ordered.reuse == NULL)
        return;
    SP_ASSERT(sp_reuse_is_valid(pool->ordered.reuse));
    if (sp_streams_order()->checker == NULL) /* There was no memory for it. */
        return;
    news = sp_checker_news(sp_streams_order()->checker);
    if (news != NULL)
        sp_log(SP_LOG_ERROR, "%s: %s", pool->name, news);
}

/* ---- chunks ------------------------------------------------------------------------------ */

size_t sp_ordered_chunk_size(const struct sp_ordered_request *request)
{
    size_t exact = sp_round_up(request->size, SP_PAGE);

    return request->is_exact ? exact : sp_max(exact, CHUNK_SIZE);
}

/* With both locks. */
static bool add_chunk(struct starpool_pool *pool, const struct sp_ordered_request *request)
{
    struct sp_ordered *ordered = &pool->ordered;
    struct sp_chunk_record *record = ordered->spare_chunks;
    struct sp_range *range = sp_store_take_pages(&pool->store, sp_ordered_chunk_size(request));

    if (range == NULL)
        return false;
    ordered->spare_chunks = record->next_spare;
    ordered->chunk_bytes += range->size;
    record->chunk = (struct sp_chunk){.base = range->start, .size = range->size};
    record->range = range;
    atomic_store(&record->pool, pool);
    sp_addrmap_set_chunk(range->start, range->size, record);
    /* Work that a free has not waited for may still use a block that is freed. */
    if (sp_pool_poisons(pool))
        sp_poison_block_live((void *)range->start, range->size);
    sp_reuse_add_chunk(ordered->reuse, &record->chunk);
    return true;
}

/* With both locks: a chunk that the engine has let go is a block of the store as any other. */
static void drop_chunk(struct starpool_pool *pool, struct sp_chunk *chunk)
{
    struct sp_ordered *ordered = &pool->ordered;
    struct sp_chunk_record *record = record_of(chunk);
    struct sp_range *range = record->range;

    if (sp_pool_poisons(pool))
        sp_poison_block_freed((void *)range->start, range->size);
    ordered->chunk_bytes -= range->size;
    sp_addrmap_set_chunk(range->start, range->size, NULL);
    sp_store_give(&pool->store, range);
    atomic_store(&record->pool, NULL);
    record->next_spare = ordered->spare_chunks;
    ordered->spare_chunks = record;
}

/* ---- taking ------------------------------------------------------------------------------ */

/* With both locks: the operation that the request is, the latest of its stream. */
static struct sp_point point_of(struct sp_ordered_request *request)
{
    const struct sp_stream *stream = request->stream;

    if (request->at.seq != sp_streams_order()->streams[stream->slot].last_seq ||
        request->at.seq == 0)
        request->at = sp_order_submit(sp_streams_order(), stream->slot);
    return request->at;
}

/* An operation that came to nothing has executed as soon as what was before it. */
static void forget_point(const struct sp_ordered_request *request)
{
    struct sp_order *order = sp_streams_order();

    sp_streams_lock();
    if (request->at.seq != 0 &&
        order->streams[request->stream->slot].done_seq + 1 == request->at.seq)
        sp_order_executed(order, request->stream->slot, request->at.seq);
    sp_streams_unlock();
}

/* In a trace, edges are the engine's, behind the unknown one. */
_Static_assert((int)SP_EDGE_FRESH + 1 == (int)STARPOOL_TRACE_EDGE_FRESH &&
                   (int)SP_EDGE_INTERNAL + 1 == (int)STARPOOL_TRACE_EDGE_INTERNAL,
               "the edges of a trace are those of the engine");

/* With both locks: a block has been handed out. */
static void count_take(struct starpool_pool *pool, const struct sp_ordered_request *request)
{
    sp_trace_alloc_at(pool->id, (void *)request->block.start, request->block.size,
                      request->stream->number, request->at.seq,
                      (enum starpool_trace_edge)(request->edge.kind + 1));
    pool->stats.n_allocs++;
    sp_pool_note_peaks(pool);
    check(pool);
}

static bool take_ready(struct starpool_pool *pool, struct sp_ordered_request *request)
{
    if (!sp_reuse_take(pool->ordered.reuse, request->size, point_of(request), &request->block,
                       &request->edge))
        return false;
    request->has_chunk = false;
    count_take(pool, request);
    return true;
}

bool sp_ordered_take_locked(struct starpool_pool *pool, struct sp_ordered_request *request)
{
    if (take_ready(pool, request))
        return true;
    if (!add_chunk(pool, request))
        return false;
    request->has_chunk = true;
    return sp_reuse_wants(pool->ordered.reuse) == 0 && take_ready(pool, request);
}

/* What a request has made its stream wait for already. */
struct waits {
    struct sp_point points[MAX_WAITS];
    size_t n_points;
};

static bool has_waited(const struct waits *waits, struct sp_point point)
{
    for (size_t i = 0; i < waits->n_points; i++) {
        if (waits->points[i].slot == point.slot && waits->points[i].seq >= point.seq)
            return true;
    }
    return false;
}

/* With both locks: what finished frees give, and then what waiting for the cheapest gives, once
 * the driver's stream does wait for it: till then `missing_out` has what it must wait for. */
static bool take_waiting_locked(struct starpool_pool *pool, struct sp_ordered_request *request,
                                const struct waits *waits, struct waits *missing_out)
{
    struct sp_reuse *reuse = pool->ordered.reuse;
    bool is_ours = request->stream->driver == NULL;
    size_t n_waits = 0;

    missing_out->n_points = 0;
    if (take_ready(pool, request))
        return true;
    if (!is_ours && !sp_reuse_plan_waiting(reuse, request->size, request->stream->slot,
                                           missing_out->points, MAX_WAITS, &n_waits))
        return false;
    for (size_t i = 0; i < n_waits; i++) {
        if (!has_waited(waits, missing_out->points[i]))
            missing_out->points[missing_out->n_points++] = missing_out->points[i];
    }
    if (missing_out->n_points > 0 ||
        !sp_reuse_take_waiting(reuse, request->size, point_of(request), &request->block,
                               &request->edge, missing_out->points, MAX_WAITS, &n_waits))
        return false;
    for (size_t i = 0; i < n_waits; i++)
        sp_trace_wait(request->stream->number, sp_streams_number(missing_out->points[i]),
                      missing_out->points[i].seq);
    count_take(pool, request);
    return true;
}

/* Make the stream wait; where the driver refuses that, the host waits. The order is told later:
 * it must not say what is not so. */
static enum starpool_status add_waits(struct sp_stream *stream, struct waits *waits,
                                      const struct waits *missing)
{
    enum starpool_status status;

    for (size_t i = 0; i < missing->n_points && waits->n_points < MAX_WAITS; i++) {
        status = sp_streams_await(stream, missing->points[i]);
        if (status != STARPOOL_OK)
            status = sp_streams_finish(missing->points[i]);
        if (status != STARPOOL_OK)
            return STARPOOL_EDRIVER;
        waits->points[waits->n_points++] = missing->points[i];
    }
    return STARPOOL_OK;
}

/* Other threads may take meanwhile what was waited for; who has waited often enough grows. */
static enum starpool_status take_waiting(struct starpool_pool *pool,
                                         struct sp_ordered_request *request, bool *is_done_out)
{
    struct waits waits = {.n_points = 0}, missing;
    enum starpool_status status;

    do {
        status = sp_ordered_lock(pool);
        if (status != STARPOOL_OK)
            return status;
        *is_done_out = take_waiting_locked(pool, request, &waits, &missing);
        pool->stats.n_resident += *is_done_out;
        sp_ordered_unlock(pool);
        if (missing.n_points > 0 && !*is_done_out)
            status = add_waits(request->stream, &waits, &missing);
    } while (status == STARPOOL_OK && !*is_done_out && missing.n_points > 0 &&
             waits.n_points < MAX_WAITS);
    return status;
}

static enum starpool_status take(struct starpool_pool *pool, struct sp_ordered_request *request)
{
    bool is_done = false;
    enum starpool_status status = sp_ordered_lock(pool);

    if (status != STARPOOL_OK)
        return status;
    if (pool->is_destroyed)
        status = STARPOOL_EINVAL;
    else
        is_done = take_ready(pool, request);
    pool->stats.n_resident += is_done;
    sp_ordered_unlock(pool);
    if (status != STARPOOL_OK || is_done)
        return status;
    if (pool->policy.is_opportunistic)
        sp_streams_poll(false);
    status = take_waiting(pool, request, &is_done);
    return status != STARPOOL_OK || is_done ? status : sp_pool_climb_ordered(pool, request);
}

enum starpool_status sp_ordered_alloc(struct starpool_pool *pool, size_t size,
                                      starpool_stream handle, void **ptr_out)
{
    struct sp_ordered_request request = {.size = sp_store_round(size)};
    enum starpool_status status = sp_streams_get(handle, &request.stream);

    if (status != STARPOOL_OK)
        return status;
    if (request.size == 0) {
        sp_pool_note_refusal(pool, SIZE_MAX, request.stream->number, STARPOOL_ENOMEM);
        status = STARPOOL_ENOMEM;
    } else {
        status = take(pool, &request);
    }
    if (status != STARPOOL_OK)
        forget_point(&request);
    else
        sp_streams_mark_alloc(request.stream);
    sp_streams_put(request.stream);
    if (status != STARPOOL_OK)
        return status;
    *ptr_out = (void *)request.block.start;
    sp_pool_declare(pool, *ptr_out);
    return status;
}

/* ---- giving back ------------------------------------------------------------------------- */

/* The pool of the live block that begins at an address, referenced, or NULL. */
static struct starpool_pool *get_pool(const void *ptr)
{
    struct starpool_pool *pool;
    struct sp_reuse_block block;

    if (!sp_ordered_find(ptr, &pool, &block))
        return NULL;
    if (block.start == (uintptr_t)ptr)
        return pool;
    sp_registry_put(pool);
    return NULL;
}

/* With both locks: the engine's part of a free, in the trace before anybody can take it. */
static enum starpool_status give_locked(struct starpool_pool *pool, void *ptr,
                                        struct sp_point at)
{
    struct sp_reuse *reuse = pool->ordered.reuse;
    struct sp_reuse_block block;
    bool is_traced;
    enum starpool_status status;

    if (reuse == NULL) /* The device was reset meanwhile. */
        return STARPOOL_EINVAL;
    is_traced = sp_trace_wants() && sp_reuse_find(reuse, (uintptr_t)ptr, &block);
    status = sp_reuse_give(reuse, (uintptr_t)ptr, at);
    if (status == STARPOOL_OK && is_traced)
        sp_trace_free(pool->id, ptr, block.size, sp_streams_number(at), at.seq);
    pool->stats.n_frees += status == STARPOOL_OK;
    return status;
}

/* Both locks. What the host frees needs no record, and so no system call. */
static enum starpool_status lock_to_give(struct starpool_pool *pool, struct sp_point at)
{
    if (at.slot != SP_SLOT_HOST)
        return sp_ordered_lock(pool);
    sp_lock_take(&pool->lock);
    sp_streams_lock();
    return STARPOOL_OK;
}

/* Free a block of the engine, which is live, at a point that has been submitted, or by the
 * host. */
static enum starpool_status give(struct starpool_pool *pool, void *ptr, struct sp_point at)
{
    enum starpool_status status;
    bool is_released = false;

    sp_pool_withdraw(pool, ptr);
    status = lock_to_give(pool, at);
    if (status != STARPOOL_OK) {
        sp_pool_declare(pool, ptr); /* It is live as before. */
        return status;
    }
    status = give_locked(pool, ptr, at);
    check(pool);
    if (pool->is_destroyed) {
        sp_ordered_settle_locked(pool, 0);
        is_released = sp_pool_claim_release(pool);
    }
    sp_ordered_unlock(pool);
    if (is_released)
        sp_pool_release(pool);
    return status;
}

static enum starpool_status free_on(void *ptr, struct sp_stream *stream)
{
    struct sp_range *range = sp_addrmap_find((uintptr_t)ptr).range;
    struct starpool_pool *pool;
    struct sp_point at;
    enum starpool_status status;

    if (range != NULL && sp_range_state(range) == SP_RANGE_LIVE)
        return sp_parked_free(ptr, stream);
    pool = get_pool(ptr);
    if (pool == NULL)
        return STARPOOL_EINVAL;
    status = sp_streams_submit(stream, &at);
    if (status == STARPOOL_OK)
        status = give(pool, ptr, at);
    sp_registry_put(pool);
    return status;
}

enum starpool_status sp_ordered_free(void *ptr, starpool_stream handle)
{
    struct sp_stream *stream;
    enum starpool_status status = sp_streams_get(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    status = free_on(ptr, stream);
    sp_streams_put(stream);
    if (status == STARPOOL_EINVAL && sp_pool_free_lost(ptr))
        return STARPOOL_OK;
    if (status == STARPOOL_EINVAL && ptr != NULL)
        sp_wrong_free(ptr, true);
    return status;
}

bool sp_ordered_free_by_host(void *ptr)
{
    struct starpool_pool *pool = get_pool(ptr);
    bool is_freed;

    if (pool == NULL)
        return false;
    is_freed = give(pool, ptr, (struct sp_point){SP_SLOT_HOST, 0}) == STARPOOL_OK;
    sp_registry_put(pool);
    return is_freed;
}

/* ---- settling ---------------------------------------------------------------------------- */

void sp_ordered_settle_locked(struct starpool_pool *pool, uint64_t keep)
{
    struct sp_chunk *chunk;

    sp_parked_settle_locked(pool);
    if (pool->ordered.reuse == NULL)
        return;
    sp_reuse_notice(pool->ordered.reuse);
    while ((chunk = sp_reuse_remove_chunk(pool->ordered.reuse, keep)) != NULL)
        drop_chunk(pool, chunk);
}

void sp_ordered_settle(struct starpool_pool *pool, uint64_t keep)
{
    sp_lock_take(&pool->lock);
    sp_streams_lock();
    sp_ordered_settle_locked(pool, keep);
    sp_ordered_unlock(pool);
}

/* ---- questions --------------------------------------------------------------------------- */

bool sp_ordered_find(const void *ptr, struct starpool_pool **pool_out,
                     struct sp_reuse_block *block_out)
{
    struct sp_chunk_record *record = sp_addrmap_chunk((uintptr_t)ptr);
    struct starpool_pool *pool;
    bool is_found;

    if (record == NULL)
        return false;
    /* A pool drops its chunks under this lock before it goes: it stays as long as we look. */
    sp_streams_lock();
    pool = record->pool;
    is_found = pool != NULL && sp_reuse_find(pool->ordered.reuse, (uintptr_t)ptr, block_out);
    if (is_found && pool_out != NULL) {
        atomic_fetch_add(&pool->n_references, 1);
        *pool_out = pool;
    }
    sp_streams_unlock();
    return is_found;
}

void sp_ordered_follow_policy(struct starpool_pool *pool)
{
    if (pool->ordered.reuse == NULL)
        return;
    sp_streams_lock();
    *sp_reuse_policy(pool->ordered.reuse) = pool->policy;
    sp_streams_unlock();
}

void sp_ordered_close(struct sp_reuse *reuse)
{
    if (reuse == NULL)
        return;
    sp_reuse_fini(reuse, unmap_memory);
    unmap_memory(reuse, sp_round_up(sp_reuse_size(), SP_PAGE));
}

void sp_ordered_fini(struct starpool_pool *pool)
{
    struct sp_ordered *ordered = &pool->ordered;
    struct sp_chunk_record *record, *next;

    sp_streams_lock();
    sp_ordered_close(ordered->reuse);
    for (record = ordered->spare_chunks; record != NULL; record = next) {
        next = record->next_spare;
        record->next_spare = chunks.spare;
        chunks.spare = record;
    }
    sp_streams_unlock();
}
