/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocations and frees on streams that are captured, and addresses that graphs have. */
#ifndef SP_CAPTURED_H
#define SP_CAPTURED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <starpool/pool.h>

#include "graph/owner.h"
#include "src/pool/claim.h"

/* A request that was told ECAPTURE_UNSUPPORTED by sp_streams_get(): the stream is captured. */
enum starpool_status sp_captured_alloc(struct starpool_pool *pool, size_t size,
                                       starpool_stream stream, void **ptr_out);
enum starpool_status sp_captured_free(void *ptr, starpool_stream stream);

/* A free, on any stream, of an address that a graph has: false if none has, else the answer. */
bool sp_captured_give(void *ptr, starpool_stream stream, enum starpool_status *status_out);

/* What a graph has that begins at an address; false if none has. */
bool sp_captured_owned(const void *ptr, struct sp_owned *owned_out);

/* Whether a block that was found to be kept is none of a graph's any more: another thread has
 * noticed meanwhile that the graph has gone, and the block is live as any other. */
bool sp_captured_has_left(const void *ptr, const struct sp_owned *owned);

/* The place of a stream that is captured, which may not be asked: that of the context. */
STARPOOL_CHECK enum starpool_status
sp_captured_location(struct starpool_location *location_out);

/* What a graph has at or around an address; false if none has. */
bool sp_captured_find(const void *ptr, struct starpool_block_info *info_out);

/* ---- blocks that graphs hold (held.c) ---------------------------------------------------- */

/* Free a block of a pool that captured work may use: it is held until the graph has gone. Or
 * until the capture has ended. */
enum starpool_status sp_held_free(struct sp_owner *owner, void *ptr);
enum starpool_status sp_held_free_at_end(const struct sp_capture *capture, void *ptr,
                                         starpool_stream stream);

/* What is held already, or kept, is freed in another capture, or outside. EINVAL: it was freed
 * before. */
enum starpool_status sp_held_free_again(struct sp_owner *owner, const struct sp_owned *owned);
enum starpool_status sp_held_free_outside(const struct sp_owned *owned, starpool_stream stream);

/* Clean up after graphs that have gone. No lock is held. */
void sp_held_collect(void);

/* The same where anything has happened: what an allocation and progress begin with. */
static inline void sp_held_notice(void)
{
    if (SP_UNLIKELY(atomic_load_explicit(&sp_owners_gone, memory_order_acquire) != 0) ||
        SP_UNLIKELY(sp_late_is_any()))
        sp_held_collect();
}

#endif /* SP_CAPTURED_H */
