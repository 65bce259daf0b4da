/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a free of a wrong address is told: freed before, inside a block, or not ours. */
#include "config.h"

#include "src/pool/wrong.h"

#include <inttypes.h>

#include "graph/owner.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/util/options.h"

/* A program that frees wrongly in a loop is told so often. */
#define MAX_MESSAGES 20

bool sp_wrong_is_race_proof;

static struct {
    _Atomic unsigned n_messages;
} wrong;

void sp_wrong_setup(void)
{
    sp_wrong_is_race_proof = sp_option_number(SP_OPTION_CHECKS) >= 1;
}

static bool may_say(void)
{
    return atomic_fetch_add_explicit(&wrong.n_messages, 1, memory_order_relaxed) < MAX_MESSAGES;
}

/* The pool that has a piece around the address, referenced, or NULL. */
static struct starpool_pool *pool_around(uintptr_t address)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        bool is_inside = false;

        sp_lock_take(&pool->growth);
        for (struct sp_piece *piece = pool->pieces; piece != NULL; piece = piece->next)
            is_inside |= address - piece->base < piece->size;
        sp_lock_give(&pool->growth);
        if (is_inside)
            return pool;
    }
    return NULL;
}

/* In memory that serves streams; false if it is not there. */
static bool describe_ordered(const struct starpool_pool *pool, void *ptr)
{
    struct sp_reuse_block block;

    if (sp_addrmap_chunk((uintptr_t)ptr) == NULL)
        return false;
    if (sp_ordered_find(ptr, NULL, &block))
        sp_log(SP_LOG_ERROR,
               "free of %p: %" PRIuPTR " bytes inside the live block of %zu bytes at %p of %s",
               ptr, (uintptr_t)ptr - block.start, block.size, (void *)block.start, pool->name);
    else
        sp_log(SP_LOG_ERROR,
               "free of %p: freed before in a stream, or never allocated: no block of %s is "
               "there",
               ptr, pool->name);
    return true;
}

static void describe(struct starpool_pool *pool, void *ptr)
{
    uintptr_t address = (uintptr_t)ptr;
    struct sp_pool_place place;

    if (describe_ordered(pool, ptr))
        return;
    if (sp_pool_find_place(pool, address, &place)) {
        if (address == place.start)
            sp_log(SP_LOG_ERROR,
                   "free of %p: freed before: the block of %zu bytes lies in a cache of %s",
                   ptr, place.size, pool->name);
        else
            sp_log(SP_LOG_ERROR,
                   "free of %p: %" PRIuPTR
                   " bytes inside the %s block of %zu bytes at %p of %s",
                   ptr, address - place.start, place.is_live ? "live" : "freed", place.size,
                   (void *)place.start, pool->name);
        return;
    }
    sp_log(SP_LOG_ERROR,
           "free of %p: freed before, or never allocated: no block of %s is there", ptr,
           pool->name);
}

static void count(struct starpool_pool *pool)
{
    sp_lock_take(&pool->lock);
    pool->stats.n_wrong_frees++;
    sp_lock_give(&pool->lock);
}

static void describe_drivers(const struct starpool_pool *pool, const void *ptr,
                             const struct sp_driver_place *place)
{
    if (!place->is_live && place->start == (uintptr_t)ptr)
        sp_log(SP_LOG_ERROR, "free of %p: freed before: a block of %zu bytes of %s was there",
               ptr, place->size, pool->name);
    else
        sp_log(SP_LOG_ERROR,
               "free of %p: %" PRIuPTR " bytes inside the %s block of %zu bytes at %p of %s",
               ptr, (uintptr_t)ptr - place->start, place->is_live ? "live" : "freed",
               place->size, (void *)place->start, pool->name);
}

/* In memory of the driver; false if it is not there, or its pool has gone. */
static bool tell_of_drivers(const void *ptr)
{
    struct starpool_pool *pool = NULL;
    struct sp_driver_place place;

    if (!sp_driver_pool_locate(ptr, &place))
        return false;
    do
        pool = sp_registry_next(pool);
    while (pool != NULL && pool->id != place.pool_id);
    if (pool == NULL)
        return false;
    if (may_say())
        describe_drivers(pool, ptr, &place);
    count(pool);
    sp_registry_put(pool);
    return true;
}

/* ---- captures ---------------------------------------------------------------------------- */

static const char *whose(const struct sp_owned *owned)
{
    switch (owned->kind) {
    case SP_OWNED_NODE:
        return "allocated by";
    case SP_OWNED_ARENA:
        return "in the arena of";
    case SP_OWNED_HELD:
        break;
    }
    return "held for";
}

void sp_wrong_owned(const struct sp_owned *owned, const char *why)
{
    if (may_say())
        sp_log(SP_LOG_ERROR,
               "free of %p: its %zu bytes are %s the graph %p, captured as number %" PRIu64
               ": %s",
               (void *)owned->start, owned->size, whose(owned), (void *)owned->graph,
               owned->capture_id, why);
}

/* In memory that a graph has: inside a block, or of an arena; false if it is not there. */
static bool tell_of_graphs(const void *ptr)
{
    struct starpool_block_info info;
    uintptr_t address = (uintptr_t)ptr;
    struct sp_owned owned;
    bool is_block = sp_owned_is_any() && sp_owned_around(address, &owned) &&
                    (owned.kind != SP_OWNED_NODE || !sp_driver_pool_find(ptr, &info));

    if (!is_block && !sp_owner_find_chunk(address, &owned))
        return false;
    if (may_say())
        sp_log(SP_LOG_ERROR,
               "free of %p: %s: %zu bytes at %p are %s the graph %p, captured as number "
               "%" PRIu64,
               ptr, is_block ? "inside a block" : "freed before", owned.size,
               (void *)owned.start, whose(&owned), (void *)owned.graph, owned.capture_id);
    if (owned.kind != SP_OWNED_NODE)
        count(owned.pool);
    return true;
}

void sp_wrong_captured(const void *ptr, const struct starpool_pool *pool,
                       const struct sp_capture *capture)
{
    if (may_say())
        sp_log(SP_LOG_ERROR,
               "free of %p: %s does not take frees in a capture (captured_free), as here in "
               "number %" PRIu64 " of the graph %p",
               ptr, pool->name, capture->id, (void *)capture->graph);
}

/* ---- any address ------------------------------------------------------------------------- */

bool sp_wrong_free(void *ptr, bool must_be_ours)
{
    bool is_ours = sp_addrmap_is_ours((uintptr_t)ptr);
    struct starpool_pool *pool;

    if ((is_ours || must_be_ours) && tell_of_graphs(ptr))
        return true;
    if (!is_ours) {
        if (must_be_ours && tell_of_drivers(ptr))
            return true;
        if (must_be_ours && may_say())
            sp_log(SP_LOG_ERROR, "free of %p: not the address of a block of any pool", ptr);
        return false;
    }
    pool = pool_around((uintptr_t)ptr);
    if (pool == NULL)
        return false; /* The piece has gone meanwhile. */
    if (may_say())
        describe(pool, ptr);
    count(pool);
    sp_registry_put(pool);
    return true;
}
