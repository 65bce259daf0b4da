/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many bytes may still be touched before the kernel would refuse or kill: the least of what
 * the NUMA nodes, the memory control groups and the process's own limits leave. */
#ifndef SP_ROOM_H
#define SP_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/base.h>

#include "numa/reserve.h"

/* What can run out. */
enum sp_room_cause {
    SP_ROOM_NODE,    /* free memory, clean page cache and reclaimable slab of the nodes */
    SP_ROOM_CGROUP,  /* a memory control group, the process's or an ancestor's */
    SP_ROOM_ADDRESS, /* RLIMIT_AS */
    SP_ROOM_MEMLOCK, /* RLIMIT_MEMLOCK, if locking is wanted and the limit holds */
    SP_ROOM_COMMIT,  /* the commit limit, if vm.overcommit_memory is 2 */
    SP_ROOM_N_CAUSES,
    SP_ROOM_NONE = SP_ROOM_N_CAUSES, /* nothing is known that could run out */
};

/* The least of them. `bytes` is SIZE_MAX if and only if `cause` is SP_ROOM_NONE. */
struct sp_room {
    size_t bytes;
    enum sp_room_cause cause;
};

/* What each of them leaves; SIZE_MAX where it is no limit, or not known. */
struct sp_room_sources {
    size_t bytes[SP_ROOM_N_CAUSES];
};

/* What is asked. */
struct sp_room_question {
    const char *root; /* "" for the machine; a folder with proc/ and sys/ for a test */
    const int *nodes; /* [n_nodes] OS indexes; their room is added up */
    int n_nodes;      /* 0: the machine as a whole */
    struct sp_reserve reserve;
    bool is_locking; /* RLIMIT_MEMLOCK matters */
    bool is_mapped;  /* address space and commit charge have been taken already */
};

/* Read all sources. Allocates nothing, takes no lock. Threads: any, at once. */
void sp_room_read(const struct sp_room_question *question, struct sp_room_sources *sources_out);

/* The least of the sources. */
struct sp_room sp_room_least(const struct sp_room_sources *sources);

/*
 * The room on a node of the process's topology (an OS index), or on all that serve HOST
 * (SP_NODE_HOST), less the option HOST_RESERVE. A topology that is not this machine's is asked
 * as the machine as a whole.
 */
void sp_room_query_sources(int node, bool is_locking, bool is_mapped,
                           struct sp_room_sources *sources_out);
void sp_room_query(int node, bool is_locking, struct sp_room *room_out);

/* The status for a request that a cause refuses: ENODE, ECGROUP, EMEMLOCK, else ENOMEM. */
enum starpool_status sp_room_status(enum sp_room_cause cause);

/* In words, for messages. */
const char *sp_room_cause_text(enum sp_room_cause cause);

#endif /* SP_ROOM_H */
