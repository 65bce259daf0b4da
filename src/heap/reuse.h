/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream-ordered heap: which freed range may serve which stream now. It knows addresses only
 * and never touches the memory behind them. No lock, no system call: its user holds one and
 * feeds it memory for its records. */
#ifndef SP_REUSE_H
#define SP_REUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/heap/order.h"

/* What makes a range free for a stream. The order is that of the attempts. */
enum sp_edge_kind {
    SP_EDGE_FRESH,    /* nothing has been there since the chunk came */
    SP_EDGE_STREAM,   /* freed in the same stream */
    SP_EDGE_SEEN,     /* the host has seen the free executed */
    SP_EDGE_EVENT,    /* the stream waits for the free, directly or not */
    SP_EDGE_EXECUTED, /* the free has executed, though nobody has waited for it */
    SP_EDGE_INTERNAL, /* a wait for the free was added */
};

struct sp_edge {
    enum sp_edge_kind kind;
    struct sp_point free; /* STREAM, EVENT, EXECUTED, INTERNAL: the (latest) free it rests on */
};

/* Which edges may be used beside SP_EDGE_STREAM and SP_EDGE_SEEN; may change at any time. */
struct sp_reuse_policy {
    bool follows_events;       /* SP_EDGE_EVENT */
    bool is_opportunistic;     /* SP_EDGE_EXECUTED */
    bool allows_internal_wait; /* SP_EDGE_INTERNAL, by sp_reuse_take_waiting() only */
};

/* Memory that a heap hands out: embedded in a struct of the user's. Neighbouring ranges merge
 * only within a chunk. */
struct sp_chunk {
    uintptr_t base;               /* [address] a multiple of the heap's unit */
    size_t size;                  /* [bytes] likewise */
    struct sp_chunk *prev, *next; /* the heap's list */
    uint32_t first;               /* the heap's: the record of its first range */
};

/* A block as its user sees it. */
struct sp_reuse_block {
    uintptr_t start;
    size_t size; /* [bytes] rounded to the unit */
    struct sp_chunk *chunk;
    struct sp_point alloc; /* where it was allocated; slot SP_SLOT_HOST: by the host */
    void *cookie;          /* the user's; NULL at first */
};

struct sp_reuse;

/*
 *   used + ready + pending == reserved == the sum of the chunks' sizes
 *   used: live blocks; ready: fresh, or seen free by the host; pending: freed, not seen yet
 */
struct sp_reuse_stats {
    uint64_t reserved_bytes, reserved_high_bytes;
    uint64_t used_bytes, used_high_bytes;
    uint64_t ready_bytes, pending_bytes;
    uint64_t n_live, n_live_high;
    uint64_t n_takes[SP_EDGE_INTERNAL + 1]; /* by edge */
    uint64_t n_splits, n_merges;
    uint64_t metadata_bytes;
};

/* `unit`: [bytes] a power of two, of at least 256; sizes are rounded up to it and blocks begin
 * at multiples of it. The order outlives the heap. `memory` is zeroed, sp_reuse_size() bytes.
 */
size_t sp_reuse_size(void);
struct sp_reuse *sp_reuse_init(void *memory, struct sp_order *order, size_t unit);

/* The heap forgets its chunks and blocks. `release` is called for every piece of memory it has
 * been fed. */
void sp_reuse_fini(struct sp_reuse *reuse, void (*release)(void *memory, size_t size));

struct sp_reuse_policy *sp_reuse_policy(struct sp_reuse *reuse);

/* [bytes] of zeroed memory that must be fed before the next call that takes, adds, or gives in
 * a stream; 0 if none is wanted. */
size_t sp_reuse_wants(const struct sp_reuse *reuse);
void sp_reuse_feed(struct sp_reuse *reuse, void *memory, size_t size);

/* Add a chunk, all of it fresh; `chunk->base` and `size` are set. */
void sp_reuse_add_chunk(struct sp_reuse *reuse, struct sp_chunk *chunk);

/* A chunk that is wholly ready, taken out of the heap, whose loss leaves at least `keep` bytes
 * reserved; NULL if there is none. The largest that fits `keep` first. */
struct sp_chunk *sp_reuse_remove_chunk(struct sp_reuse *reuse, uint64_t keep);

/* A chunk of the heap, for who walks over them: NULL gives the first. */
struct sp_chunk *sp_reuse_next_chunk(const struct sp_reuse *reuse, struct sp_chunk *chunk);

/*
 * A block for `slot` (SP_SLOT_HOST: ready at once, so only FRESH and SEEN do), at its operation
 * `at` (from sp_order_submit(); {SP_SLOT_HOST, 0} for the host). False, and nothing changed, if
 * no range that may be used is large enough: the user grows, or fails.
 */
bool sp_reuse_take(struct sp_reuse *reuse, size_t size, struct sp_point at,
                   struct sp_reuse_block *block_out, struct sp_edge *edge_out);

/*
 * The last resort: a range of which every part is free for the stream, or was freed by streams
 * that it could wait for. False if there is none or internal waits are not allowed; else
 * `edge_out` is INTERNAL and up to `n_waits` points (as many as there are streams at most) are
 * written, which the user must make the stream wait for before the block is used; the order has
 * been told already. Ranges of several streams may be put together.
 */
bool sp_reuse_take_waiting(struct sp_reuse *reuse, size_t size, struct sp_point at,
                           struct sp_reuse_block *block_out, struct sp_edge *edge_out,
                           struct sp_point *waits_out, size_t room, size_t *n_waits_out);

/* What that would have to wait for, looked up only: nothing is taken, and nobody told. For who
 * makes a stream wait before the order is told. */
bool sp_reuse_plan_waiting(struct sp_reuse *reuse, size_t size, sp_slot slot,
                           struct sp_point *waits_out, size_t room, size_t *n_waits_out);

/*
 * Free the block that begins at `start`, at operation `at` of a stream ({SP_SLOT_HOST, 0}: the
 * caller vouches that every use is over, and the block is ready at once). EINVAL, and nothing
 * changed, if no live block begins there.
 */
STARPOOL_CHECK enum starpool_status sp_reuse_give(struct sp_reuse *reuse, uintptr_t start,
                                                  struct sp_point at);

/* The live block around an address; false if there is none. */
bool sp_reuse_find(const struct sp_reuse *reuse, uintptr_t address,
                   struct sp_reuse_block *block_out);

/* Show every live block of a chunk, by address; `see` changes nothing of the heap. */
void sp_reuse_each_live(const struct sp_reuse *reuse, const struct sp_chunk *chunk,
                        void (*see)(const struct sp_reuse_block *block, void *arg), void *arg);

/* Put something of the user's to a live block. False if none begins there. */
bool sp_reuse_set_cookie(struct sp_reuse *reuse, uintptr_t start, void *cookie);

/* Take notice of what the host has seen since: pending ranges become ready. takes, gives and
 * removals do so by themselves; who reads counters calls it. */
void sp_reuse_notice(struct sp_reuse *reuse);

void sp_reuse_stats(const struct sp_reuse *reuse, struct sp_reuse_stats *stats_out);
void sp_reuse_reset_used_high(struct sp_reuse *reuse);
void sp_reuse_reset_reserved_high(struct sp_reuse *reuse);

/* The streams whose frees are pending: how many bytes of each; [room] are written at most.
 * Returns how many there are. */
size_t sp_reuse_pending(const struct sp_reuse *reuse, sp_slot *slots_out, uint64_t *bytes_out,
                        size_t room);

/* The largest range that the host could have now. Merges what is ready, as removals do. */
size_t sp_reuse_largest(struct sp_reuse *reuse);

bool sp_reuse_is_valid(const struct sp_reuse *reuse);

#endif /* SP_REUSE_H */
