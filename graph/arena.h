/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of a captured graph that is no graph memory: addresses in blocks of a pool which the
 * graph has as long as it or an executable of it lives. */
#ifndef SP_ARENA_H
#define SP_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/lineage.h"

struct sp_owner;
struct sp_arena_hole;

/* What addresses of an arena are multiples of. */
#define SP_ARENA_UNIT 256

/* A block of the pool. */
struct sp_arena_chunk {
    uintptr_t start; /* [address] */
    size_t size;     /* [bytes] */
    void *what;      /* how it is given back */
    struct sp_arena_chunk *next;
};

/*
 * What a graph has of one pool. Guarded by the owner's lock.
 *
 *   size == the sum of the chunks' sizes == the holes' sizes and those of blocks in use
 *
 * Holes are sorted by address. A hole says after which places of the graph it may be used: what
 * was captured before its free.
 */
struct sp_arena {
    void *pool; /* opaque here */
    struct sp_arena_chunk *chunks;
    struct sp_arena_hole *holes;
    size_t size;
    struct sp_arena *next; /* of the graph's */
};

/* The graph's arena of a pool, made if need be; NULL without memory. */
struct sp_arena *sp_arena_of(struct sp_owner *owner, void *pool);

/* A block at a multiple of the unit whose memory was freed within a horizon; false if there is
 * none, and a chunk is needed. */
bool sp_arena_take(struct sp_arena *arena, size_t size, const struct sp_horizon *horizon,
                   uintptr_t *start_out, struct sp_arena_chunk **chunk_out);

/* A chunk, all of which is a block in use. ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_arena_add_chunk(struct sp_arena *arena, uintptr_t start,
                                                       size_t size, void *what,
                                                       struct sp_arena_chunk **chunk_out);

/* Give a block back that was freed where `places` are, which is the arena's from then on, and
 * `horizon` reaches to. ENOMEM: the block stays in use. */
STARPOOL_CHECK enum starpool_status sp_arena_give(struct sp_arena *arena,
                                                  struct sp_arena_chunk *chunk, uintptr_t start,
                                                  size_t size, struct sp_place *places,
                                                  size_t n_places,
                                                  const struct sp_horizon *horizon);

/* Everything but the chunks' memory, which has been given back. */
void sp_arenas_fini(struct sp_owner *owner);

#endif /* SP_ARENA_H */
