/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segments: pieces of reserved address space that hold memory, bound to a node, touched, and
 * locked if wanted. Memory goes back by unmapping whole segments. */
#ifndef SP_SEGMENT_H
#define SP_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/base.h>
#include <starpool/pool.h>

#include "numa/populate.h"
#include "numa/topo.h"

/* Segments of reserved huge pages begin at a multiple of this and are a multiple of it long. */
#define SP_HUGE_PAGE ((size_t)2 << 20)

/* Who is told where memory is, to copy from and to it. `where` is its own word. */
struct sp_pin_ops {
    enum starpool_status (*pin)(void *base, size_t size, int *where_out);
    void (*unpin)(void *base, size_t size, int where);

    /* It has forgotten what it was told at `where`. False if it does not take it again. */
    bool (*renew)(void *base, size_t size, int where);
};

/* What a segment should be like. */
struct sp_placement {
    int node;       /* OS index, or SP_NODE_HOST: all nodes that serve HOST */
    bool is_strict; /* refuse rather than take memory of another node; all of HOST is strict */
    enum starpool_huge huge;
    bool is_locked;               /* mlock: never swapped out */
    const struct sp_pin_ops *pin; /* NULL: nobody is told */
    bool must_be_pinned;          /* refuse what that refuses */
};

/* What it is like. huge_bytes + fallback_bytes <= size. */
struct sp_segment {
    void *base;
    size_t size;
    int node;      /* as in the placement */
    bool is_bound; /* false: the system refused binding, or the topology is not real */
    bool is_locked;
    size_t huge_bytes;     /* on reserved huge pages */
    size_t fallback_bytes; /* wanted on reserved huge pages, on ordinary ones instead */
    size_t spilled_bytes;  /* known to be on another node */
    bool is_pinned;        /* by `pin`, which has said where */
    const struct sp_pin_ops *pin;
    int pinned_where;
};

/*
 * Reserve address space: nothing can be read or written there and no memory is used. `align` is
 * a power of two, of at least a page. EINVAL, ENOMEM. Threads: any, at once.
 */
STARPOOL_CHECK enum starpool_status sp_reserve(size_t size, size_t align, void **base_out);

/* Reserve this range, such as after sp_segment_close(). False if any of it is in use. */
STARPOOL_CHECK bool sp_reserve_at(void *base, size_t size);

void sp_unreserve(void *base, size_t size);

/*
 * Put memory into a reserved range: bind it to the node, touch all of it, lock and pin it if
 * wanted.
 * The range is reserved again if that fails. A node that is short, or a control group, is a
 * status and never the end of the process.
 *
 * EINVAL: the range is no multiple of pages; EDEVICE: no such node, or not allowed; ENODE,
 * ECGROUP, EMEMLOCK, ENOMEM: what is short; what pinning answers. Threads: any, at once, on
 * ranges of their own.
 */
STARPOOL_CHECK enum starpool_status sp_segment_open(void *base, size_t size,
                                                    const struct sp_placement *placement,
                                                    struct sp_segment *segment_out);

/* The same, on another topology and system. */
STARPOOL_CHECK enum starpool_status
sp_segment_open_on(const struct sp_topo *topo, const struct sp_os *os, void *base, size_t size,
                   const struct sp_placement *placement, struct sp_segment *segment_out);

/* Give the memory back. The range is not reserved afterwards. False, and nothing changed, if
 * the system cannot take it (a hole would be one mapping too many). */
STARPOOL_CHECK bool sp_segment_close(struct sp_segment *segment);

/* Pin a segment again that was pinned at `where`, which has forgotten. */
void sp_segment_renew(struct sp_segment *segment, int where);

/* Give the memory of a segment back that was never used, and keep the range reserved. */
void sp_segment_abandon(struct sp_segment *segment);

#endif /* SP_SEGMENT_H */
