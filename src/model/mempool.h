/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's pools from the inside: what their files share. Everything here is called with the
 * model's lock. */
#ifndef SP_MEMPOOL_H
#define SP_MEMPOOL_H

#include "src/model/blocks.h"
#include "src/model/model.h"
#include "src/model/shared.h"

#define SP_MODEL_PAGE 4096

/* A stretch of memory that a pool hands blocks out of. */
struct sp_model_chunk {
    struct sp_model_memory memory; /* offset: in the pool's file, if it has one */
    struct sp_model_chunk *next;   /* of the pool */
    struct sp_clock strays;        /* uses that no free is ordered after */
    struct sp_model_late_free late;
    int node; /* where it is bound, or -1 */
};

/* A free that has been called, for the switch under which used bytes fall when it executes. */
struct sp_model_free_note {
    struct sp_point at;
    size_t size;
    struct sp_model_free_note *next;
};

/* A pool's statistics, whichever kind it is. */
struct sp_model_pool_stats {
    uint64_t reserved, reserved_high, used, used_high; /* [bytes] */
};

/*
 * A pool. Its handle is stale from the moment it is destroyed; the pool itself goes with its
 * last block, seen free by the host.
 *
 *   reserved + growing_bytes <= max_bytes
 */
struct sp_model_pool {
    struct sp_model_pool *next, **link; /* in the list of all */
    sp_cu_pool handle;
    struct sp_cu_pool_props props; /* HOST's and NONE's id is 0 */
    int device;                    /* whose memory is counted, or -1 */
    int node;                      /* where the memory is bound, or -1 */
    bool is_default, is_destroyed, is_imported;
    unsigned n_pins; /* calls that use it with the lock given */
    struct sp_reuse *reuse;
    struct sp_model_chunk *chunks;
    struct sp_model_block *blocks;
    size_t granule; /* [bytes] */
    uint64_t max_bytes, growing_bytes;
    uint64_t threshold;                    /* [bytes] */
    uint8_t access[SP_MODEL_MAX_DEVICES];  /* SP_CU_ACCESS_... */
    uint32_t unreachable;                  /* bit d: granted to device d, which is no peer */
    struct sp_model_free_note *free_notes; /* not executed yet */
    uint64_t noted_high;                   /* [bytes] used, counting those */
    struct sp_shared shared;         /* its file, or -1, if it can be shared or is imported */
    struct sp_model_import *imports; /* of an imported pool, and their statistics */
    struct sp_model_pool_stats imported;
};

/* ---- pools and their handles (mempool_list.c) ---------------------------------------- */

/* The pool of a handle; NULL if it has none. A stale handle is a violation. */
struct sp_model_pool *sp_model_pool_get(sp_cu_pool handle);

/* A pool with these properties, which have been checked, with a handle. NULL without memory. */
struct sp_model_pool *sp_model_pool_new(const struct sp_cu_pool_props *props);

/* Its handle is of no use from now on. It goes once it can. */
void sp_model_pool_retire(struct sp_model_pool *pool);

/* While a call has given the lock. */
void sp_model_pool_pin(struct sp_model_pool *pool);
void sp_model_pool_unpin(struct sp_model_pool *pool);

/* A retired pool whose blocks have all gone is released. */
void sp_model_pool_settle(struct sp_model_pool *pool);

bool sp_model_pool_is_host(const struct sp_model_pool *pool); /* HOST or HOST_NUMA, pinned */

/* Is the operation over? The host need not know. */
bool sp_model_point_has_run(struct sp_point point);

/* ---- properties and places (mempool_props.c, mempool_place.c) ------------------------ */

/* Can such a pool be had? The location's id becomes 0 where it has no meaning. */
sp_cu_result sp_model_pool_check(struct sp_cu_pool_props *props);

/* The handle types that the platform knows, as the switch imex says. Whoever has no channel of
 * the fabric is refused its type all the same. */
int sp_model_pool_handle_types(void);

/* What a location that is asked for is; `id` becomes 0 where it has no meaning. */
sp_cu_result sp_model_location_check(struct sp_cu_location *location, int alloc_type,
                                     sp_cu_result bad_device);

/* The pool that is current for a device; NULL without memory. */
struct sp_model_pool *sp_model_pool_current(int device);

/* It is current nowhere from now on. */
void sp_model_pool_uncurrent(struct sp_model_pool *pool);

void sp_model_places_reset(void);

/* ---- memory (mempool_grow.c) --------------------------------------------------------- */

/* A block in stream order, by whatever the pool may do for it: at operation `at` of the stream.
 */
sp_cu_result sp_model_pool_take(struct sp_model_pool *pool, size_t size,
                                struct sp_model_stream *stream, struct sp_point at,
                                uintptr_t *start_out);

/* Release chunks that the host has seen free: while at least `keep` bytes stay reserved, until
 * `enough` have been released. Returns the bytes released. */
uint64_t sp_model_pool_release(struct sp_model_pool *pool, uint64_t keep, uint64_t enough);

/* Release every chunk, whatever lives there: the heap is no more. */
void sp_model_pool_drop_chunks(struct sp_model_pool *pool);

/* Memory for a heap, zeroed; free() takes it. NULL if there is none. */
void *sp_model_pool_memory(size_t size);

/* The heap's records get memory. */
bool sp_model_pool_feed(struct sp_model_pool *pool);

/* ---- statistics (mempool_attr.c) ----------------------------------------------------- */

void sp_model_pool_stats(struct sp_model_pool *pool, struct sp_model_pool_stats *stats_out);

/* A free is called: under the switch, the block counts as used until it executes. */
void sp_model_pool_note_free(struct sp_model_pool *pool, struct sp_point at, size_t size);
void sp_model_pool_note_alloc(struct sp_model_pool *pool);
void sp_model_pool_forget_notes(struct sp_model_pool *pool);

/* ---- access (access.c) --------------------------------------------------------------- */

/* What a new pool's memory can be reached from. */
void sp_model_access_init(struct sp_model_pool *pool);
int sp_model_access_of(const struct sp_model_pool *pool, int device);

/* ---- sharing (ipc.c) ----------------------------------------------------------------- */

/* Make the file of a pool that can be shared. False without memory or descriptors. */
bool sp_model_pool_open_file(struct sp_model_pool *pool);

/* Where a chunk of this size fits into the file; false if nowhere. */
bool sp_model_pool_place_chunk(const struct sp_model_pool *pool, size_t size,
                               uint64_t *offset_out);

#endif /* SP_MEMPOOL_H */
