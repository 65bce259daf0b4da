/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What starpool_alloc() and starpool_free() do on a stream that is captured: nodes of the
 * driver, or memory of an arena that the graph has; and what happens to addresses that graphs
 * have when they are freed elsewhere. */
#include "config.h"

#include "src/pool/captured.h"

#include <starpool/capture.h>

#include <stdlib.h>

#include "graph/arena.h"
#include "graph/memnode.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/wrong.h"
#include "src/trace/record.h"

/* The capture of a stream, which there must be. */
static enum starpool_status get_capture(starpool_stream stream,
                                        const struct sp_driver **driver_out,
                                        struct sp_capture *capture_out)
{
    enum starpool_status status = sp_driver_get(driver_out);

    if (status == STARPOOL_OK)
        status = sp_capture_query(*driver_out, stream, capture_out);
    if (status == STARPOOL_OK && !capture_out->is_active)
        status = STARPOOL_ECAPTURE_UNSUPPORTED;
    return status;
}

static struct sp_owned owned_by(struct sp_owner *owner, struct starpool_pool *pool,
                                enum sp_owned_kind kind, uintptr_t start, size_t size)
{
    return (struct sp_owned){
        .start = start,
        .size = size,
        .kind = kind,
        .pool = pool,
        .location = pool->location,
        .owner = owner,
        .capture_id = owner->id,
        .graph = owner->graph,
        .after = {SP_SLOT_HOST, 0},
    };
}

/* Of a node that is no more the driver may have given the address to a pool again, before it
 * was noticed that the graph has gone. */
bool sp_captured_owned(const void *ptr, struct sp_owned *owned_out)
{
    struct sp_point alloc;

    return sp_owned_is_any() && sp_owned_find((uintptr_t)ptr, owned_out) &&
           (owned_out->kind != SP_OWNED_NODE || !sp_driver_pool_find_alloc(ptr, &alloc));
}

bool sp_captured_has_left(const void *ptr, const struct sp_owned *owned)
{
    struct sp_owned now;

    return owned->kind == SP_OWNED_HELD && !owned->is_freed && !sp_captured_owned(ptr, &now);
}

/* ---- nodes ------------------------------------------------------------------------------- */

static enum starpool_status alloc_node(struct sp_owner *owner, struct starpool_pool *pool,
                                       size_t size, starpool_stream stream, void **ptr_out)
{
    struct sp_context context;
    struct sp_owned owned;
    sp_cu_ptr ptr = 0;
    enum starpool_status status = sp_driver_pool_enter(pool, &context);

    if (status != STARPOOL_OK)
        return status;
    status = sp_memnode_alloc(owner, pool->driver->handle, pool->location, stream, size, &ptr);
    if (status == STARPOOL_OK) {
        owned = owned_by(owner, pool, SP_OWNED_NODE, (uintptr_t)ptr, size);
        status = sp_owned_add(&owned);
        if (status != STARPOOL_OK)
            (void)!sp_memnode_free(owner, pool->location, stream, ptr);
    }
    sp_context_leave(&context);
    if (status == STARPOOL_ENOMEM)
        sp_pool_note_refusal(pool, size, STARPOOL_TRACE_HOST, status);
    if (status == STARPOOL_OK)
        *ptr_out = (void *)(uintptr_t)ptr;
    return status;
}

static enum starpool_status free_node(struct sp_owner *owner, const struct sp_owned *owned,
                                      starpool_stream stream)
{
    struct sp_context context;
    enum starpool_status status =
        sp_context_enter(owner->driver, sp_owned_device(owned), &context);

    if (status != STARPOOL_OK)
        return status;
    status = sp_memnode_free(owner, owned->location, stream, owned->start);
    sp_context_leave(&context);
    if (status == STARPOOL_OK && owned->capture_id == owner->id)
        (void)sp_owned_free(owned->start, (struct sp_point){SP_SLOT_HOST, 0});
    if (status == STARPOOL_EINVAL)
        sp_wrong_owned(owned, "the driver adds no further node that frees it");
    return status;
}

/* After a launch: the driver knows whether the memory is there now. */
static enum starpool_status free_launched(const struct sp_owned *owned, starpool_stream stream)
{
    const struct sp_driver *driver;
    struct sp_context context;
    struct sp_owned removed;
    enum starpool_status status = sp_driver_get(&driver);

    if (status == STARPOOL_OK)
        status = sp_context_enter(driver, sp_owned_device(owned), &context);
    if (status != STARPOOL_OK)
        return status;
    if (stream == STARPOOL_STREAM_HOST)
        status = sp_driver_status(driver->cuMemFree(owned->start), "cuMemFree");
    else
        status =
            sp_driver_status(driver->cuMemFreeAsync(owned->start, stream), "cuMemFreeAsync");
    sp_context_leave(&context);
    if (status == STARPOOL_EINVAL)
        sp_wrong_owned(owned, "the graph has not allocated it, or frees it itself");
    if (owned->owner == NULL && (status == STARPOOL_OK || status == STARPOOL_EINVAL))
        (void)sp_owned_remove(owned->start, SP_OWNED_NODE, &removed);
    return status;
}

/* ---- arenas ------------------------------------------------------------------------------ */

static void count_arena(struct starpool_pool *pool, uint64_t bytes)
{
    sp_lock_take(&pool->lock);
    pool->stats.graph_arena_bytes += bytes;
    sp_lock_give(&pool->lock);
}

/* Memory that the graph has already; false if there is none that may be used here. */
static enum starpool_status take_freed(struct sp_owner *owner, struct starpool_pool *pool,
                                       size_t size, starpool_stream stream,
                                       struct sp_owned *owned, bool *is_found_out)
{
    struct sp_frontier frontier;
    struct sp_horizon horizon;
    struct sp_arena_chunk *chunk;
    struct sp_arena *arena;
    enum starpool_status status =
        sp_capture_frontier(owner->driver, stream, owner->id, &frontier);

    *is_found_out = false;
    if (status != STARPOOL_OK)
        return status;
    sp_lock_take(&owner->lock);
    arena = sp_arena_of(owner, pool);
    status = arena == NULL
                 ? STARPOOL_ENOMEM
                 : sp_lineage_look(&owner->lineage, owner->driver, &frontier, &horizon, NULL);
    if (status == STARPOOL_OK) {
        *is_found_out = sp_arena_take(arena, size, &horizon, &owned->start, &chunk);
        sp_horizon_fini(&horizon);
    }
    sp_lock_give(&owner->lock);
    sp_frontier_fini(&frontier);
    if (*is_found_out)
        owned->what = chunk;
    return status;
}

/* A block of the pool, which becomes the graph's. */
static enum starpool_status take_chunk(struct sp_owner *owner, struct starpool_pool *pool,
                                       size_t size, struct sp_owned *owned)
{
    struct sp_arena_chunk *chunk;
    struct sp_claim *claim;
    struct sp_arena *arena;
    void *ptr;
    enum starpool_status status = starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &ptr);

    if (status != STARPOOL_OK)
        return status;
    status = sp_claim_take(ptr, &claim);
    if (status != STARPOOL_OK) {
        (void)starpool_free(ptr, STARPOOL_STREAM_HOST);
        return status;
    }
    sp_lock_take(&owner->lock);
    arena = sp_arena_of(owner, pool);
    status = arena == NULL
                 ? STARPOOL_ENOMEM
                 : sp_arena_add_chunk(arena, (uintptr_t)ptr, claim->size, claim, &chunk);
    sp_lock_give(&owner->lock);
    if (status != STARPOOL_OK) {
        sp_late_add(claim);
        return status;
    }
    count_arena(pool, claim->size);
    owned->start = (uintptr_t)ptr;
    owned->size = claim->size;
    owned->what = chunk;
    return STARPOOL_OK;
}

/* With memory that nobody else has: where the stream stands, it may be used again. */
static enum starpool_status give_back(struct sp_owner *owner, const struct sp_owned *owned,
                                      starpool_stream stream)
{
    struct sp_frontier frontier;
    struct sp_horizon horizon;
    struct sp_place *places;
    enum starpool_status status =
        sp_capture_frontier(owner->driver, stream, owner->id, &frontier);

    if (status != STARPOOL_OK)
        return status;
    sp_lock_take(&owner->lock);
    status = sp_lineage_look(&owner->lineage, owner->driver, &frontier, &horizon, &places);
    if (status == STARPOOL_OK) {
        status = sp_arena_give(sp_arena_of(owner, owned->pool), owned->what, owned->start,
                               owned->size, places, frontier.n_nodes, &horizon);
        if (status != STARPOOL_OK)
            free(places);
        sp_horizon_fini(&horizon);
    }
    sp_lock_give(&owner->lock);
    sp_frontier_fini(&frontier);
    return status;
}

static enum starpool_status alloc_in_arena(struct sp_owner *owner, struct starpool_pool *pool,
                                           size_t size, starpool_stream stream, void **ptr_out)
{
    struct sp_owned owned =
        owned_by(owner, pool, SP_OWNED_ARENA, 0, sp_round_up(size, SP_ARENA_UNIT));
    enum starpool_status status = STARPOOL_ENOMEM;
    bool is_found = false;

    if (owned.size == 0) {
        sp_pool_note_refusal(pool, SIZE_MAX, STARPOOL_TRACE_HOST, status);
        return status;
    }
    status = take_freed(owner, pool, owned.size, stream, &owned, &is_found);
    if (status == STARPOOL_OK && !is_found)
        status = take_chunk(owner, pool, owned.size, &owned);
    if (status != STARPOOL_OK)
        return status;
    status = sp_owned_add(&owned);
    if (status != STARPOOL_OK) {
        (void)!give_back(owner, &owned, stream);
        return status;
    }
    *ptr_out = (void *)owned.start;
    return STARPOOL_OK;
}

/* Of two frees at once one finds it. */
static enum starpool_status free_in_arena(struct sp_owner *owner, const struct sp_owned *owned,
                                          starpool_stream stream)
{
    struct sp_owned removed;
    enum starpool_status status;

    if (owned->capture_id != owner->id) {
        sp_wrong_owned(owned, "another capture cannot free it");
        return STARPOOL_EINVAL;
    }
    if (!sp_owned_remove(owned->start, SP_OWNED_ARENA, &removed))
        return STARPOOL_EINVAL;
    status = give_back(owner, &removed, stream);
    if (status != STARPOOL_OK && sp_owned_add(&removed) != STARPOOL_OK)
        return STARPOOL_OK; /* It is the graph's in any case. */
    return status;
}

/* ---- allocations ------------------------------------------------------------------------- */

static void count_capture(struct starpool_pool *pool, bool is_alloc)
{
    sp_lock_take(&pool->lock);
    if (is_alloc)
        pool->stats.n_captured_allocs++;
    else
        pool->stats.n_captured_frees++;
    sp_lock_give(&pool->lock);
}

/* Nodes where the driver has them, which it is known to for a device's own memory. */
static enum starpool_status alloc_for(struct sp_owner *owner, struct starpool_pool *pool,
                                      size_t size, starpool_stream stream, void **ptr_out)
{
    enum starpool_status status = STARPOOL_ENOTSUP;

    if (pool->driver != NULL && pool->config.capture == STARPOOL_CAPTURE_NODES)
        status = alloc_node(owner, pool, size, stream, ptr_out);
    return status == STARPOOL_ENOTSUP ? alloc_in_arena(owner, pool, size, stream, ptr_out)
                                      : status;
}

enum starpool_status sp_captured_alloc(struct starpool_pool *pool, size_t size,
                                       starpool_stream stream, void **ptr_out)
{
    const struct sp_driver *driver;
    struct sp_capture capture;
    struct sp_owner *owner;
    enum starpool_status status = get_capture(stream, &driver, &capture);

    if (status != STARPOOL_OK)
        return status;
    if (sp_pool_is_destroyed(pool) || (pool->driver != NULL && pool->driver->is_imported))
        return STARPOOL_EINVAL;
    status = sp_owner_get(driver, &capture, &owner);
    if (status != STARPOOL_OK)
        return status;
    status = alloc_for(owner, pool, size, stream, ptr_out);
    sp_owner_put(owner);
    if (status == STARPOOL_OK)
        count_capture(pool, true);
    return status;
}

/* ---- frees ------------------------------------------------------------------------------- */

/* The pool that an address is of, referenced, if it is still there: nothing keeps that of an
 * allocation node. */
static struct starpool_pool *get_pool(const struct sp_owned *owned)
{
    struct starpool_pool *pool = NULL;

    do
        pool = sp_registry_next(pool);
    while (pool != NULL && pool != owned->pool);
    return pool;
}

static enum starpool_status free_in_graph(struct sp_owner *owner, const struct sp_owned *owned,
                                          starpool_stream stream)
{
    switch (owned->kind) {
    case SP_OWNED_NODE:
        return free_node(owner, owned, stream);
    case SP_OWNED_ARENA:
        return free_in_arena(owner, owned, stream);
    case SP_OWNED_HELD:
        break;
    }
    return sp_held_free_again(owner, owned);
}

/* A block of a pool, as the pool is configured. */
static enum starpool_status free_of_pool(const struct sp_driver *driver,
                                         const struct sp_capture *capture,
                                         struct starpool_pool *pool, void *ptr,
                                         starpool_stream stream)
{
    struct sp_owner *owner;
    enum starpool_status status = STARPOOL_EINVAL;

    switch (pool->config.captured_free) {
    case STARPOOL_FREE_WITH_GRAPH:
        status = sp_owner_get(driver, capture, &owner);
        if (status != STARPOOL_OK)
            return status;
        status = sp_held_free(owner, ptr);
        sp_owner_put(owner);
        return status;
    case STARPOOL_FREE_REFUSE:
        sp_wrong_captured(ptr, pool, capture);
        break;
    case STARPOOL_FREE_AT_CAPTURE_END:
        return sp_held_free_at_end(capture, ptr, stream);
    }
    return status;
}

/* What a graph has. */
static enum starpool_status free_owned(const struct sp_driver *driver,
                                       const struct sp_capture *capture,
                                       const struct sp_owned *owned, starpool_stream stream)
{
    struct starpool_pool *pool;
    struct sp_owner *owner;
    enum starpool_status status = sp_owner_get(driver, capture, &owner);

    if (status != STARPOOL_OK)
        return status;
    status = free_in_graph(owner, owned, stream);
    sp_owner_put(owner);
    pool = status == STARPOOL_OK ? get_pool(owned) : NULL;
    if (pool != NULL) {
        count_capture(pool, false);
        sp_registry_put(pool);
    }
    return status;
}

enum starpool_status sp_captured_free(void *ptr, starpool_stream stream)
{
    const struct sp_driver *driver;
    struct starpool_pool *pool;
    struct sp_capture capture;
    struct sp_owned owned;
    enum starpool_status status = get_capture(stream, &driver, &capture);

    if (status != STARPOOL_OK)
        return status;
    if (sp_captured_owned(ptr, &owned)) {
        status = free_owned(driver, &capture, &owned, stream);
        if (status != STARPOOL_EINVAL || !sp_captured_has_left(ptr, &owned))
            return status;
    }
    status = starpool_pool_of(ptr, &pool);
    if (status == STARPOOL_OK)
        status = free_of_pool(driver, &capture, pool, ptr, stream);
    else
        sp_wrong_free(ptr, true);
    if (status == STARPOOL_OK)
        count_capture(pool, false);
    return status;
}

/* On a stream that is not captured. */
static enum starpool_status free_outside(const struct sp_owned *owned, starpool_stream stream)
{
    switch (owned->kind) {
    case SP_OWNED_NODE:
        return free_launched(owned, stream);
    case SP_OWNED_ARENA:
        sp_wrong_owned(owned, "its memory goes with the graph");
        return STARPOOL_EINVAL;
    case SP_OWNED_HELD:
        break;
    }
    return sp_held_free_outside(owned, stream);
}

bool sp_captured_give(void *ptr, starpool_stream handle, enum starpool_status *status_out)
{
    struct sp_owned owned;
    struct sp_stream *stream;
    enum starpool_status status = STARPOOL_OK;

    if (!sp_captured_owned(ptr, &owned))
        return false;
    if (handle != STARPOOL_STREAM_HOST) {
        status = sp_streams_get(handle, &stream);
        if (status == STARPOOL_OK)
            sp_streams_put(stream);
    }
    if (status == STARPOOL_ECAPTURE_UNSUPPORTED)
        *status_out = sp_captured_free(ptr, handle);
    else
        *status_out = status == STARPOOL_OK ? free_outside(&owned, handle) : status;
    return *status_out != STARPOOL_EINVAL || !sp_captured_has_left(ptr, &owned);
}

/* ---- questions --------------------------------------------------------------------------- */

enum starpool_status sp_captured_location(struct starpool_location *location_out)
{
    const struct sp_driver *driver;
    sp_cu_device device = 0;
    enum starpool_status status = sp_driver_get(&driver);

    if (status == STARPOOL_OK)
        status = sp_driver_status(driver->cuCtxGetDevice(&device), "cuCtxGetDevice");
    if (status == STARPOOL_OK)
        *location_out = (struct starpool_location){STARPOOL_DEVICE, device};
    return status;
}

/* No reference is kept. */
static struct starpool_pool *pool_of(const struct sp_owned *owned)
{
    struct starpool_pool *pool;

    if (owned->kind != SP_OWNED_NODE)
        return owned->pool;
    pool = get_pool(owned);
    if (pool != NULL)
        sp_registry_put(pool);
    return pool;
}

static enum starpool_block_state state_of(const struct sp_owned *owned)
{
    if (owned->kind == SP_OWNED_HELD)
        return owned->is_freed ? STARPOOL_BLOCK_HELD : STARPOOL_BLOCK_KEPT;
    return owned->is_freed ? STARPOOL_BLOCK_GRAPH_FREES : STARPOOL_BLOCK_CAPTURED;
}

bool sp_captured_find(const void *ptr, struct starpool_block_info *info_out)
{
    struct sp_owned owned;

    if (!sp_owned_is_any() || !sp_owned_around((uintptr_t)ptr, &owned) ||
        (owned.kind == SP_OWNED_NODE && sp_driver_pool_find(ptr, info_out)))
        return false;
    sp_pool_fill_info(info_out, pool_of(&owned), owned.start, owned.size);
    info_out->owner = owned.kind == SP_OWNED_HELD ? STARPOOL_OWNER_POOL : STARPOOL_OWNER_GRAPH;
    info_out->state = state_of(&owned);
    info_out->graph = owned.graph;
    info_out->capture_id = owned.capture_id;
    return true;
}

enum starpool_status starpool_capture_status(starpool_stream stream,
                                             enum starpool_capture_state *state_out,
                                             starpool_cuda_graph *graph_out)
{
    struct sp_capture capture = {.is_active = false};
    const struct sp_driver *driver;
    enum starpool_status status = STARPOOL_OK;

    if (state_out == NULL)
        return STARPOOL_EINVAL;
    if (stream != STARPOOL_STREAM_HOST && !sp_streams_is_own(stream)) {
        if (sp_driver_get(&driver) != STARPOOL_OK)
            return STARPOOL_EINVAL;
        status = sp_capture_query(driver, stream, &capture);
    }
    if (status != STARPOOL_OK && status != STARPOOL_ECAPTURE_INVALIDATED)
        return status;
    if (status == STARPOOL_ECAPTURE_INVALIDATED)
        *state_out = STARPOOL_CAPTURE_INVALIDATED;
    else
        *state_out = capture.is_active ? STARPOOL_CAPTURED : STARPOOL_NOT_CAPTURED;
    if (graph_out != NULL)
        *graph_out = capture.graph;
    return STARPOOL_OK;
}
