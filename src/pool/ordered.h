/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of a pool of host memory that are in the order of streams. */
#ifndef SP_ORDERED_H
#define SP_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/heap/heap.h"
#include "src/heap/reuse.h"
#include "src/pool/streams.h"

struct starpool_pool;
struct sp_parked;

/* A chunk and the block of the store that it is. The address map knows the record, which hence
 * lives for ever and serves other pools later. */
struct sp_chunk_record {
    struct sp_chunk chunk; /* first */
    struct sp_range *range;
    struct starpool_pool *_Atomic pool; /* NULL while it is spare */
    struct sp_chunk_record *next_spare;
};

/*
 * The engine of one pool, over chunks that are blocks of the pool's own store, and blocks of
 * the store that were freed in a stream. Guarded by the pool's lock and, the engine itself, by
 * the order's, too.
 *
 *   chunk_bytes == the sum of the chunks' sizes == the engine's reserved bytes
 *   parked_bytes == the sum of the parked blocks' sizes
 */
struct sp_ordered {
    struct sp_reuse *reuse; /* NULL until a stream first asks */
    struct sp_chunk_record *spare_chunks;
    struct sp_parked *parked, *spare_parked;
    size_t chunk_bytes;
    size_t parked_bytes;
};

/* What a stream asks for. */
struct sp_ordered_request {
    size_t size; /* [bytes] rounded */
    struct sp_stream *stream;
    struct sp_point at; /* the operation that it is; {0, 0} before the first attempt */
    bool is_exact;      /* a chunk of the size that is needed, and not a generous one */
    bool has_chunk;     /* a chunk was added that the request has not been served from yet */
    struct sp_reuse_block block;
    struct sp_edge edge;
};

/* starpool_alloc() and starpool_free() for what is not ordered by the host, and a free by the
 * host of a block that is not in the store: false if there is none. */
enum starpool_status sp_ordered_alloc(struct starpool_pool *pool, size_t size,
                                      starpool_stream stream, void **ptr_out);
enum starpool_status sp_ordered_free(void *ptr, starpool_stream stream);
bool sp_ordered_free_by_host(void *ptr);

/* Both locks, with a store and an engine that cannot run out of records; neither if ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_ordered_lock(struct starpool_pool *pool);
void sp_ordered_unlock(struct starpool_pool *pool);

/* With both locks: serve a request from the engine, or from a new chunk of the store. */
bool sp_ordered_take_locked(struct starpool_pool *pool, struct sp_ordered_request *request);

/* Bytes of the store that a chunk for a request takes. */
size_t sp_ordered_chunk_size(const struct sp_ordered_request *request);

/* With both locks, or without: give back to the store what nothing is in any more: parked
 * blocks whose frees are over, and chunks that are wholly ready, until no more than `keep`
 * bytes of chunks are left. */
void sp_ordered_settle_locked(struct starpool_pool *pool, uint64_t keep);
void sp_ordered_settle(struct starpool_pool *pool, uint64_t keep);

/* The same for every pool, and with it what a release threshold or a destruction has left
 * (parked.c). */
void sp_ordered_settle_all(void);

/* The live block around an address, and its pool, referenced, if that is wanted; false if there
 * is none. */
bool sp_ordered_find(const void *ptr, struct starpool_pool **pool_out,
                     struct sp_reuse_block *block_out);

/* With the pool's lock: what the engine counts; all 0 if there is none (stats.c). */
void sp_ordered_stats(struct starpool_pool *pool, struct sp_reuse_stats *stats_out);

/* With the pool's lock: the largest range that the host could have (stats.c). */
size_t sp_ordered_largest(struct starpool_pool *pool);

/* With the pool's lock: the policy of the pool has changed. */
void sp_ordered_follow_policy(struct starpool_pool *pool);

/* Free a block of the store in a stream: EINVAL if it is not live any more. With both locks:
 * give back to the store what has waited long enough (parked.c). */
STARPOOL_CHECK enum starpool_status sp_parked_free(void *ptr, struct sp_stream *stream);
void sp_parked_settle_locked(struct starpool_pool *pool);

/* With both locks: all of them are the store's again, whatever they wait for. */
void sp_parked_forget_locked(struct starpool_pool *pool);

/* What an engine was fed goes back to the system. With the order's lock. */
void sp_ordered_close(struct sp_reuse *reuse);

/* The pool goes: nothing of it is in use. */
void sp_ordered_fini(struct starpool_pool *pool);

#endif /* SP_ORDERED_H */
