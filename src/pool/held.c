/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of pools that captured work may use: freed, they are held until every graph that may
 * name them has gone; and what is done when graphs have gone. */
#include "config.h"

#include <starpool/capture.h>

#include <stdlib.h>

#include "graph/arena.h"
#include "src/pool/captured.h"
#include "src/pool/pool.h"
#include "src/pool/wrong.h"

static const struct sp_point nothing = {SP_SLOT_HOST, 0};

static void count_held(struct starpool_pool *pool, uint64_t bytes)
{
    sp_lock_take(&pool->lock);
    pool->stats.graph_held_bytes += bytes;
    sp_lock_give(&pool->lock);
}

/* ---- freeing ----------------------------------------------------------------------------- */

static struct sp_owned held(const struct sp_claim *claim)
{
    return (struct sp_owned){
        .start = (uintptr_t)claim->ptr,
        .size = claim->size,
        .kind = SP_OWNED_HELD,
        .pool = claim->pool,
        .location = claim->pool->location,
        .is_freed = true,
        .after = nothing,
    };
}

/* What is not held yet is held by a graph. */
static enum starpool_status enter(struct sp_owner *owner, const struct sp_owned *owned)
{
    struct sp_owned removed;
    enum starpool_status status = sp_owned_add(owned);

    if (status != STARPOOL_OK)
        return status;
    status = sp_owned_hold(owner, owned->start);
    if (status != STARPOOL_OK)
        (void)sp_owned_remove(owned->start, SP_OWNED_HELD, &removed);
    return status;
}

enum starpool_status sp_held_free(struct sp_owner *owner, void *ptr)
{
    struct sp_claim *claim;
    struct sp_owned owned;
    enum starpool_status status = sp_claim_take(ptr, &claim);

    if (status != STARPOOL_OK)
        return status;
    owned = held(claim);
    owned.what = claim;
    status = enter(owner, &owned);
    if (status == STARPOOL_OK)
        count_held(claim->pool, claim->size);
    else
        sp_claim_return(claim);
    return status;
}

enum starpool_status sp_held_free_at_end(const struct sp_capture *capture, void *ptr,
                                         starpool_stream stream)
{
    struct sp_claim *claim;
    struct sp_owned owned;
    enum starpool_status status = sp_claim_take(ptr, &claim);

    if (status != STARPOOL_OK)
        return status;
    owned = held(claim);
    owned.capture_id = capture->id;
    owned.graph = capture->graph;
    status = sp_owned_add(&owned);
    if (status != STARPOOL_OK) {
        sp_claim_return(claim);
        return status;
    }
    sp_late_add_captured(claim, stream, pthread_self());
    return STARPOOL_OK;
}

/* The first free of a block that is kept. No mistake is one that is kept no more: its caller
 * frees it as any other. */
static enum starpool_status free_kept(const struct sp_owned *owned, struct sp_point after)
{
    if (!sp_owned_free(owned->start, after)) {
        if (!sp_captured_has_left((const void *)owned->start, owned))
            sp_wrong_owned(owned, "it has been freed before");
        return STARPOOL_EINVAL;
    }
    count_held(owned->pool, owned->size);
    return STARPOOL_OK;
}

enum starpool_status sp_held_free_again(struct sp_owner *owner, const struct sp_owned *owned)
{
    enum starpool_status status = STARPOOL_OK;

    if (!owned->is_freed)
        status = sp_owned_hold(owner, owned->start);
    return status == STARPOOL_OK ? free_kept(owned, nothing) : status;
}

enum starpool_status sp_held_free_outside(const struct sp_owned *owned, starpool_stream handle)
{
    struct sp_stream *stream;
    struct sp_point after;
    enum starpool_status status;

    if (owned->is_freed || handle == STARPOOL_STREAM_HOST)
        return free_kept(owned, nothing);
    status = sp_streams_get(handle, &stream);
    if (status != STARPOOL_OK)
        return status;
    status = sp_streams_submit(stream, &after);
    if (status == STARPOOL_OK) {
        sp_streams_lock();
        sp_order_hold(sp_streams_order(), after.slot);
        sp_streams_unlock();
        status = free_kept(owned, after);
        if (status != STARPOOL_OK) {
            sp_streams_lock();
            sp_order_release(sp_streams_order(), after.slot);
            sp_streams_unlock();
        }
    }
    sp_streams_put(stream);
    return status;
}

/* ---- keeping ----------------------------------------------------------------------------- */

/* A block that is live and stays so: only one of the store has to be taken out of the way of
 * the threads' caches, which ask nobody. */
static enum starpool_status keep_of_pool(struct sp_owner *owner, void *ptr)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct sp_owned owned = {.start = (uintptr_t)ptr, .kind = SP_OWNED_HELD, .after = nothing};
    struct sp_claim *claim = NULL;
    enum starpool_status status = starpool_block_info(ptr, &info);

    if (status == STARPOOL_OK && info.base != ptr)
        status = STARPOOL_EINVAL;
    if (status == STARPOOL_OK && sp_addrmap_find((uintptr_t)ptr).range != NULL)
        status = sp_claim_take(ptr, &claim);
    if (status != STARPOOL_OK)
        return status;
    owned.size = info.size;
    owned.pool = info.pool;
    owned.location = info.pool->location;
    owned.what = claim;
    status = enter(owner, &owned);
    if (status != STARPOOL_OK && claim != NULL)
        sp_claim_return(claim);
    return status;
}

static enum starpool_status keep(struct sp_owner *owner, void *ptr)
{
    enum starpool_status status;
    struct sp_owned owned;

    if (!sp_captured_owned(ptr, &owned))
        return keep_of_pool(owner, ptr);
    if (owned.kind != SP_OWNED_HELD)
        return owned.capture_id == owner->id ? STARPOOL_OK : STARPOOL_EINVAL;
    status = owned.is_freed ? STARPOOL_EINVAL : sp_owned_hold(owner, owned.start);
    return status == STARPOOL_EINVAL && sp_captured_has_left(ptr, &owned)
               ? keep_of_pool(owner, ptr)
               : status;
}

enum starpool_status starpool_graph_keep(starpool_stream stream, void *ptr)
{
    const struct sp_driver *driver;
    struct sp_capture capture;
    struct sp_owner *owner;
    enum starpool_status status;

    if (ptr == NULL || stream == STARPOOL_STREAM_HOST || sp_streams_is_own(stream))
        return STARPOOL_EINVAL;
    status = sp_driver_get(&driver);
    if (status == STARPOOL_OK)
        status = sp_capture_query(driver, stream, &capture);
    if (status != STARPOOL_OK)
        return status;
    if (!capture.is_active)
        return STARPOOL_EINVAL;
    status = sp_owner_get(driver, &capture, &owner);
    if (status != STARPOOL_OK)
        return status;
    status = keep(owner, ptr);
    sp_owner_put(owner);
    return status;
}

/* ---- cleaning up ------------------------------------------------------------------------- */

/* Whether the driver says that nothing is there: that it has no answer says nothing. */
static bool is_missing(const struct sp_owner *owner, const struct sp_owned *owned)
{
    struct sp_context context;
    sp_cu_result result;
    sp_cu_ptr base;
    size_t size;

    if (sp_context_enter(owner->driver, sp_owned_device(owned), &context) != STARPOOL_OK)
        return false;
    result = owner->driver->cuMemGetAddressRange(&base, &size, owned->start);
    sp_context_leave(&context);
    return result == SP_CU_INVALID_VALUE || result == SP_CU_NOT_FOUND;
}

/* An allocation that no node of the graph frees may live on; what the driver does not know any
 * more does not. */
static void collect_nodes(struct sp_owner *owner)
{
    struct sp_owned owned;

    while (sp_owner_drop_owned(owner, &owned)) {
        if (owned.kind == SP_OWNED_NODE && !owned.is_freed && is_missing(owner, &owned))
            (void)sp_owned_remove(owned.start, SP_OWNED_NODE, &owned);
    }
}

/* No graph holds it any more, and its user has freed it. */
static void let_go(const struct sp_owned *owned)
{
    struct sp_claim *claim = owned->what;

    if (claim == NULL && sp_claim_take((void *)owned->start, &claim) != STARPOOL_OK)
        return;
    claim->after = owned->after;
    claim->is_counted = true;
    sp_late_add(claim);
}

/* Its user has not freed it: it is live as any other. With the table's lock; only a block of
 * the store has been claimed, which takes none to return. */
static void give_up(const struct sp_owned *owned)
{
    if (owned->what != NULL)
        sp_claim_return(owned->what);
}

static void collect_holds(struct sp_owner *owner)
{
    struct sp_owned owned;
    bool is_last;

    while (sp_owner_drop_hold(owner, &owned, &is_last, give_up)) {
        if (is_last && owned.is_freed)
            let_go(&owned);
    }
}

static void collect_arenas(struct sp_owner *owner)
{
    for (struct sp_arena *arena = owner->arenas; arena != NULL; arena = arena->next) {
        struct starpool_pool *pool = arena->pool;

        if (arena->chunks == NULL)
            continue; /* Nothing kept the pool. */
        sp_lock_take(&pool->lock);
        pool->stats.graph_arena_bytes -= arena->size;
        sp_lock_give(&pool->lock);
        /* The last of them may be the pool's last block. */
        for (struct sp_arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->next)
            sp_late_add(chunk->what);
    }
}

void sp_held_collect(void)
{
    struct sp_owner *owner;

    while ((owner = sp_owner_take_gone()) != NULL) {
        collect_nodes(owner);
        collect_holds(owner);
        collect_arenas(owner);
        sp_owner_destroy(owner);
    }
    if (sp_late_is_any())
        sp_late_settle();
}
