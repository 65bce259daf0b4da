/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to numa/: binding, in OS indexes and errno values. */
#ifndef SP_TOPO_BIND_H
#define SP_TOPO_BIND_H

#include <stddef.h>

#include "numa/topo.h"

/* Where the pages of a range may come from when they are touched. */
enum sp_policy {
    SP_POLICY_ONLY,   /* the node alone: a full node ends in the OOM killer */
    SP_POLICY_PREFER, /* the node, then any other */
    SP_POLICY_SPILL,  /* the node, then those that serve HOST, and none else */
};

/*
 * Set the policy of a range that is mapped and not touched yet. `node` is an OS index or
 * SP_NODE_HOST. Returns 0 or an errno value; ENOSYS if the topology is not this machine's.
 */
int sp_topo_bind(const struct sp_topo *topo, void *base, size_t size, int node,
                 enum sp_policy policy);

/* How many CPUs of this process are near `node`; 0 if that cannot be said. */
unsigned sp_topo_cpus_near(const struct sp_topo *topo, int node);

/* Let the calling thread run on those CPUs. Failing to is no error: it only costs time. */
void sp_topo_move_thread(const struct sp_topo *topo, int node);

/* The memory of `node`, in bytes; of all nodes that serve HOST for SP_NODE_HOST. */
size_t sp_topo_total(const struct sp_topo *topo, int node);

#endif /* SP_TOPO_BIND_H */
