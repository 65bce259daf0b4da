/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's memory nodes and the pools that serve them. */
#ifndef SP_NODE_H
#define SP_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/pool.h>
#include <starpool/starpu.h>

/* By which door a request came. */
enum sp_door {
    SP_DOOR_INTERPOSER, /* StarPU copes with a refusal here */
    SP_DOOR_HOOK,       /* a refusal loses budget and is retried for ever: never refuse */
};

/* What is known of a node when reports are written, after StarPU has been shut down. */
struct sp_node_record {
    const char *kind;           /* "cpu", "cuda", ...; NULL: nothing was asked of this node */
    int numa;                   /* OS index of its NUMA node; -1: whatever node */
    int device;                 /* ordinal of its CUDA device; -1: it is none */
    struct starpool_pool *pool; /* NULL: not served by a pool */
    struct starpool_pool *earlier; /* of a time when nothing was to be pinned; NULL: none */
    const char *why;               /* no pool serves it; "" if it is not known */
};

/* How the pools will be made; no effect on those that exist. */
void sp_node_configure(const struct starpool_starpu_config *config);

/* StarPU is about to start: what it pins may be otherwise than before. */
void sp_node_note_init(void);

/* True if `node` is host memory of StarPU's at this moment. */
bool sp_node_is_host(unsigned node);

/* Note a request for the CUDA node of a device. */
void sp_node_note_cuda(unsigned node, int device);

/* Count a request for a node that is left to StarPU. */
void sp_node_note_passed(unsigned node);

/* Remember an alignment that StarPU's application asked for; it only rises. */
void sp_node_set_align(size_t align);

/* Put a new pool where it belongs, or take the one that another thread has put there. Programs
 * can ask for the pool, and StarPU's blocks must outlive what they do with it: it cannot be
 * destroyed. */
struct starpool_pool *sp_node_publish_pool(struct starpool_pool *_Atomic *where,
                                           struct starpool_pool *pool);

/* True if a pool has been made. */
bool sp_node_has_pools(void);

/*
 * A block of `size` bytes (0: a unique address) for a host node. The status of the pool that
 * was asked last if neither the node's nor, where that is right, the overflow pool can serve.
 * Threads: any, at once.
 */
STARPOOL_CHECK enum starpool_status sp_node_alloc(unsigned node, size_t size, enum sp_door door,
                                                  void **ptr_out);

/* The pool of a host node, made if need be; it cannot be destroyed. Threads: any, at once. */
STARPOOL_CHECK enum starpool_status sp_node_pool(unsigned node,
                                                 struct starpool_pool **pool_out);

/* Where a node's memory is, and true if pools of ours serve it. */
bool sp_node_location(unsigned node, struct starpool_location *location_out);

/* What blocks for StarPU are aligned to; 0: as pools do by themselves. */
size_t sp_node_align(void);

/* What is known of node number `node`, below SP_MAX_STARPU_NODES. */
struct sp_node_record sp_node_record(unsigned node);

/* The overflow pool, or NULL if it was never needed. */
struct starpool_pool *sp_node_overflow_pool(void);

#endif /* SP_NODE_H */
