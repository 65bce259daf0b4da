/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks that their users have freed and that cannot be free yet: a stream has not come to the
 * free, or is still captured. They are looked at by whoever allocates next or makes progress.
 */
#include "config.h"

#include "src/pool/claim.h"

#include <stdatomic.h>

#include "graph/owner.h"
#include "src/pool/ordered.h"
#include "src/pool/pool.h"

/* `first` is guarded by `lock`. */
static struct {
    struct sp_lock lock;
    struct sp_claim *first;
    _Atomic size_t n;
} late = {.lock = SP_LOCK_INITIALIZER(SP_RANK_POOL)};

bool sp_late_is_any(void)
{
    return atomic_load_explicit(&late.n, memory_order_acquire) != 0;
}

void sp_late_add(struct sp_claim *claim)
{
    sp_lock_take(&late.lock);
    claim->next = late.first;
    late.first = claim;
    atomic_fetch_add(&late.n, 1);
    sp_lock_give(&late.lock);
}

static void unhold(const struct sp_claim *claim)
{
    if (claim->after.slot == SP_SLOT_HOST)
        return;
    sp_streams_lock();
    sp_order_release(sp_streams_order(), claim->after.slot);
    sp_streams_unlock();
}

static void count(const struct sp_claim *claim, bool is_held)
{
    if (!claim->is_counted)
        return;
    sp_lock_take(&claim->pool->lock);
    claim->pool->stats.graph_held_bytes += is_held ? claim->size : -(uint64_t)claim->size;
    sp_lock_give(&claim->pool->lock);
}

/* Nobody uses it: the pool may go with it. */
static bool free_by_host(struct sp_claim *claim)
{
    count(claim, false);
    if (sp_claim_free(claim))
        return true;
    count(claim, true);
    return false;
}

/* In the order of the stream, which may have work of before the capture. */
static void free_on_stream(struct sp_claim *claim)
{
    void *ptr = claim->ptr;
    starpool_stream stream = claim->stream;

    count(claim, false);
    sp_claim_return(claim);
    if (starpool_free(ptr, stream) != STARPOOL_OK && sp_claim_take(ptr, &claim) == STARPOOL_OK)
        sp_late_add(claim);
}

/* Whether the capture that a block was freed in has ended. */
static bool has_ended(const struct sp_claim *claim, bool *has_stream_out)
{
    struct sp_stream *stream;
    enum starpool_status status = sp_streams_get(claim->stream, &stream);

    *has_stream_out = status == STARPOOL_OK;
    if (status == STARPOOL_OK)
        sp_streams_put(stream);
    return status != STARPOOL_ECAPTURE_UNSUPPORTED && status != STARPOOL_ECAPTURE_INVALIDATED &&
           status != STARPOOL_ECAPTURE_IMPLICIT;
}

/* False if it has to wait further. */
static bool settle(struct sp_claim *claim)
{
    bool has_stream = false;
    struct sp_owned owned;

    if ((claim->is_captured && !has_ended(claim, &has_stream)) ||
        !sp_streams_has_executed(claim->after))
        return false;
    if (claim->is_captured)
        (void)sp_owned_remove((uintptr_t)claim->ptr, SP_OWNED_HELD, &owned);
    claim->is_captured = false;
    unhold(claim);
    claim->after.slot = SP_SLOT_HOST;
    if (!has_stream)
        return free_by_host(claim);
    free_on_stream(claim);
    return true;
}

void sp_late_settle(void)
{
    struct sp_claim *claim, *next;

    sp_lock_take(&late.lock);
    claim = late.first;
    late.first = NULL;
    atomic_store(&late.n, 0);
    sp_lock_give(&late.lock);
    for (; claim != NULL; claim = next) {
        next = claim->next;
        if (!settle(claim))
            sp_late_add(claim);
    }
}

void sp_late_freeze(void)
{
    sp_lock_take_all(&late.lock);
}

void sp_late_thaw(void)
{
    sp_lock_give_all(&late.lock);
}
