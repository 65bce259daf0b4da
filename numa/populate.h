/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Touching memory without meeting the OOM killer: room is asked for before every step, and near
 * the end of a node what is touched may spill and is looked for afterwards. */
#ifndef SP_POPULATE_H
#define SP_POPULATE_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/numa.h>

#include "numa/room.h"
#include "numa/topo.h"
#include "numa/topo_bind.h"

/* What the system does, so that refusals can be scripted. Those that return int return 0 or an
 * errno value. */
struct sp_os {
    /* As sp_room_query_sources(). */
    void (*room)(int node, bool is_locking, bool is_mapped,
                 struct sp_room_sources *sources_out);
    /* As sp_topo_bind(). */
    int (*bind)(const struct sp_topo *topo, void *base, size_t size, int node,
                enum sp_policy policy);
    /* Make the pages of a range present and writable; `may_touch`: by hand if need be. */
    int (*populate)(void *base, size_t size, bool may_touch);
    int (*lock)(void *base, size_t size);
    /* As sp_verify_range(). */
    void (*verify)(const struct sp_topo *topo, const void *base, size_t size,
                   struct starpool_pages *pages_out);
    /* Reserved huge pages of `size` bytes that the node (or SP_NODE_HOST) has free, in bytes.
     */
    size_t (*free_huge)(int node, size_t size);
};

extern const struct sp_os sp_os_linux;

/* What is to be touched: fresh pages only, bound under SP_POLICY_ONLY if `is_bound`. */
struct sp_populate {
    const struct sp_os *os;
    const struct sp_topo *topo;
    char *base;
    size_t size;
    int node;        /* OS index or SP_NODE_HOST */
    bool is_strict;  /* refuse rather than take memory of another node */
    bool is_bound;   /* false: the system refused binding, so pages may be anywhere */
    bool is_huge;    /* reserved huge pages: they need no room, and are never touched by hand */
    bool is_locking; /* the limit of locked memory counts as well */
};

/* Bytes of one step; room is asked for before each. */
#define SP_POPULATE_STEP ((size_t)64 << 20)

/*
 * Whether all of it would fit by what is known now: STARPOOL_OK, or the status of the cause
 * that is too small. Touches nothing.
 */
STARPOOL_CHECK enum starpool_status sp_populate_check(const struct sp_populate *what);

/*
 * Touch all of it. On failure some pages are present and the caller unmaps the range. ENODE,
 * ECGROUP, EMEMLOCK as sp_room_status() says; ENODE also if reserved huge pages ran out; ENOMEM
 * if the system refuses. `*spilled_out`: bytes that are on another node.
 * Threads: any, at once; starts helper threads for large ranges.
 */
STARPOOL_CHECK enum starpool_status sp_populate_range(const struct sp_populate *what,
                                                      size_t *spilled_out);

/* In a child after fork: forget what other threads of the parent were touching. */
void sp_populate_after_fork(void);

#endif /* SP_POPULATE_H */
