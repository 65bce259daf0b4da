/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes live blocks out of their users' hands, whoever's pool they are of. */
#include "config.h"

#include "src/pool/claim.h"

#include <stdlib.h>

#include "src/pool/driver_pool.h"
#include "src/pool/ordered.h"
#include "src/pool/pool.h"
#include "src/trace/record.h"

/* The pool stays from now on as long as the claim. */
static void keep_pool(struct sp_claim *claim, struct starpool_pool *pool)
{
    claim->pool = pool;
    claim->n_resets = sp_pool_n_resets(pool);
    atomic_fetch_add(&pool->n_claims, 1);
}

/* Of the store; false if no live block begins there. */
static bool take_range(struct sp_claim *claim)
{
    struct starpool_pool *pool = sp_pool_get_live(claim->ptr);
    struct sp_range *range;

    if (pool == NULL)
        return false;
    sp_lock_take(&pool->lock);
    range = sp_pool_take_back_locked(pool, claim->ptr);
    if (range != NULL) {
        keep_pool(claim, pool);
        claim->size = range->size;
        claim->range = range;
    }
    sp_lock_give(&pool->lock);
    sp_registry_put(pool);
    return range != NULL;
}

/* In the order of streams. */
static bool take_ordered(struct sp_claim *claim)
{
    struct sp_reuse_block block;
    struct starpool_pool *pool;
    bool is_start;

    if (!sp_ordered_find(claim->ptr, &pool, &block))
        return false;
    is_start = block.start == (uintptr_t)claim->ptr;
    if (is_start) {
        keep_pool(claim, pool);
        claim->size = block.size;
    }
    sp_registry_put(pool);
    return is_start;
}

static bool take_drivers(struct sp_claim *claim)
{
    struct starpool_pool *pool;

    claim->block = sp_driver_pool_claim(claim->ptr, &pool, &claim->size);
    if (claim->block != NULL)
        keep_pool(claim, pool);
    return claim->block != NULL;
}

enum starpool_status sp_claim_take(void *ptr, struct sp_claim **claim_out)
{
    struct sp_claim *claim = calloc(1, sizeof(*claim));

    if (claim == NULL)
        return STARPOOL_ENOMEM;
    claim->ptr = ptr;
    claim->after.slot = SP_SLOT_HOST;
    if (!take_range(claim) && !take_ordered(claim) && !take_drivers(claim)) {
        free(claim);
        return STARPOOL_EINVAL;
    }
    *claim_out = claim;
    return STARPOOL_OK;
}

/* Its device was reset, and nothing of it is left but what keeps its pool. */
static bool is_lost(const struct sp_claim *claim)
{
    return claim->block == NULL && sp_pool_n_resets(claim->pool) != claim->n_resets;
}

static void let_go_of_pool(struct starpool_pool *pool)
{
    bool is_done;

    sp_lock_take(&pool->lock);
    is_done = sp_pool_claim_release(pool);
    sp_lock_give(&pool->lock);
    if (is_done)
        sp_pool_release(pool);
}

void sp_claim_return(struct sp_claim *claim)
{
    uint8_t taken = SP_RANGE_TAKEN;

    atomic_fetch_sub(&claim->pool->n_claims, 1);
    /* A reset in the same moment makes it free. */
    if (claim->range != NULL && !is_lost(claim))
        (void)atomic_compare_exchange_strong(&claim->range->state, &taken, SP_RANGE_LIVE);
    else if (claim->block != NULL)
        sp_driver_pool_unclaim(claim->block);
    free(claim);
}

bool sp_claim_free(struct sp_claim *claim)
{
    struct sp_range *range = claim->range;
    bool is_freed = true;

    atomic_fetch_sub(&claim->pool->n_claims, 1);
    if (is_lost(claim)) {
        let_go_of_pool(claim->pool);
    } else if (range != NULL) {
        sp_trace_free(claim->pool->id, claim->ptr, range->size, STARPOOL_TRACE_HOST, 0);
        if (sp_pool_poisons(claim->pool))
            sp_poison_block_freed(claim->ptr, range->size);
        sp_pool_withdraw(claim->pool, claim->ptr);
        sp_pool_give(claim->pool, range, claim->n_resets);
    } else if (claim->block != NULL) {
        is_freed =
            sp_driver_pool_free_claimed(claim->block, STARPOOL_STREAM_HOST) == STARPOOL_OK;
    } else if (!sp_ordered_free_by_host(claim->ptr)) {
        let_go_of_pool(claim->pool);
    }
    if (is_freed)
        free(claim);
    else
        atomic_fetch_add(&claim->pool->n_claims, 1);
    return is_freed;
}
