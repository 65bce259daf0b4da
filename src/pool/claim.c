/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes live blocks out of their users' hands, whoever's pool they are of. */
#include "config.h"

#include "src/pool/claim.h"

#include <stdlib.h>

#include "src/pool/driver_pool.h"
#include "src/pool/ordered.h"
#include "src/pool/pool.h"
#include "src/trace/record.h"
#include "src/util/poison.h"

/* Of the store; false if no live block begins there. */
static bool take_range(struct sp_claim *claim)
{
    struct sp_range *range = sp_addrmap_find((uintptr_t)claim->ptr).range;

    if (range == NULL || !sp_pool_take_back(range))
        return false;
    claim->pool = sp_range_pool(range);
    claim->size = range->size;
    claim->range = range;
    return true;
}

/* In the order of streams. Its pool stays, because the block is live. */
static bool take_ordered(struct sp_claim *claim)
{
    struct sp_reuse_block block;

    if (!sp_ordered_find(claim->ptr, &claim->pool, &block))
        return false;
    sp_registry_put(claim->pool);
    claim->size = block.size;
    return block.start == (uintptr_t)claim->ptr;
}

enum starpool_status sp_claim_take(void *ptr, struct sp_claim **claim_out)
{
    struct sp_claim *claim = calloc(1, sizeof(*claim));

    if (claim == NULL)
        return STARPOOL_ENOMEM;
    claim->ptr = ptr;
    claim->after.slot = SP_SLOT_HOST;
    if (!take_range(claim) && !take_ordered(claim)) {
        claim->block = sp_driver_pool_claim(ptr, &claim->pool, &claim->size);
        if (claim->block == NULL) {
            free(claim);
            return STARPOOL_EINVAL;
        }
    }
    *claim_out = claim;
    return STARPOOL_OK;
}

void sp_claim_return(struct sp_claim *claim)
{
    if (claim->range != NULL)
        sp_range_set_state(claim->range, SP_RANGE_LIVE);
    else if (claim->block != NULL)
        sp_driver_pool_unclaim(claim->block);
    free(claim);
}

bool sp_claim_free(struct sp_claim *claim)
{
    struct sp_range *range = claim->range;
    bool is_freed = true;

    if (range != NULL) {
        sp_trace_free(claim->pool->id, claim->ptr, range->size, STARPOOL_TRACE_HOST, 0);
        if (sp_poison_is_on)
            sp_poison_block_freed(claim->ptr, range->size);
        sp_pool_give(claim->pool, range);
    } else if (claim->block != NULL) {
        is_freed =
            sp_driver_pool_free_claimed(claim->block, STARPOOL_STREAM_HOST) == STARPOOL_OK;
    } else {
        (void)sp_ordered_free_by_host(claim->ptr);
    }
    if (is_freed)
        free(claim);
    return is_freed;
}
