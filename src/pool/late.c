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

/* `first` is guarded by `lock`; there are `n` without what stands behind them. */
static struct {
    struct sp_lock lock;
    struct sp_claim *first;
    _Atomic size_t n;
} late = {.lock = SP_LOCK_INITIALIZER(SP_RANK_POOL)};

bool sp_late_is_any(void)
{
    return atomic_load_explicit(&late.n, memory_order_acquire) != 0;
}

static bool waits_for_same(const struct sp_claim *a, const struct sp_claim *b)
{
    return a->is_captured && b->is_captured && a->stream == b->stream &&
           (a->stream != STARPOOL_STREAM_PER_THREAD || pthread_equal(a->thread, b->thread));
}

/* What waits for one capture stands behind one claim, so that it is asked about once. */
void sp_late_add(struct sp_claim *claim)
{
    struct sp_claim *other;

    sp_lock_take(&late.lock);
    other = claim->is_captured && claim->more == NULL ? late.first : NULL;
    while (other != NULL && !waits_for_same(claim, other))
        other = other->next;
    if (other != NULL) {
        claim->more = other->more;
        other->more = claim;
    } else {
        claim->next = late.first;
        late.first = claim;
        atomic_fetch_add(&late.n, 1);
    }
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

void sp_late_add_captured(struct sp_claim *claim, starpool_stream stream, pthread_t thread)
{
    claim->stream = stream;
    claim->thread = thread;
    claim->is_captured = true;
    claim->is_counted = true;
    count(claim, true);
    sp_late_add(claim);
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
    struct sp_claim again = *claim;

    count(claim, false);
    sp_claim_return(claim);
    if (starpool_free(again.ptr, again.stream) == STARPOOL_OK ||
        sp_claim_take(again.ptr, &claim) != STARPOOL_OK)
        return;
    sp_late_add_captured(claim, again.stream, again.thread);
}

/* Whether the capture that a block was freed in has ended. Of a stream of its own only the
 * thread can say. */
static bool has_ended(const struct sp_claim *claim, bool *has_stream_out)
{
    struct sp_stream *stream;
    enum starpool_status status;

    *has_stream_out = false;
    if (claim->stream == STARPOOL_STREAM_PER_THREAD &&
        !pthread_equal(claim->thread, pthread_self()))
        return false;
    status = sp_streams_get(claim->stream, &stream);
    *has_stream_out = status == STARPOOL_OK;
    if (status == STARPOOL_OK)
        sp_streams_put(stream);
    return status != STARPOOL_ECAPTURE_UNSUPPORTED && status != STARPOOL_ECAPTURE_INVALIDATED &&
           status != STARPOOL_ECAPTURE_IMPLICIT && status != STARPOOL_ENOMEM;
}

/* What was freed in a capture that has ended. */
static void settle_captured(struct sp_claim *claim, bool has_stream)
{
    struct sp_owned owned;

    (void)sp_owned_remove((uintptr_t)claim->ptr, SP_OWNED_HELD, &owned);
    claim->is_captured = false;
    claim->more = NULL;
    if (has_stream)
        free_on_stream(claim);
    else if (!free_by_host(claim))
        sp_late_add(claim);
}

/* False if it has to wait further. */
static bool settle(struct sp_claim *claim)
{
    bool has_stream;

    if (!claim->is_captured) {
        if (!sp_streams_has_executed(claim->after))
            return false;
        unhold(claim);
        claim->after.slot = SP_SLOT_HOST;
        return free_by_host(claim);
    }
    if (!has_ended(claim, &has_stream))
        return false;
    for (struct sp_claim *more; claim != NULL; claim = more) {
        more = claim->more;
        settle_captured(claim, has_stream);
    }
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
