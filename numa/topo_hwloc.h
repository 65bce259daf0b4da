/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to numa/: the topology with its hwloc side. */
#ifndef SP_TOPO_HWLOC_H
#define SP_TOPO_HWLOC_H

#include <hwloc.h>

#include "numa/topo.h"

/* hwloc's side of a node. */
struct sp_topo_link {
    hwloc_obj_t object;  /* owned by the topology */
    hwloc_bitmap_t cpus; /* the CPUs that are local to the node */
};

/*
 * A loaded topology. `links` and `nodes` run in the same order, view.n_nodes long. The `cpus`
 * of two nodes never meet: a CPU belongs to the node of ordinary memory beside it, whatever
 * else hwloc attaches there.
 */
struct sp_topo {
    hwloc_topology_t hwloc;
    struct sp_topo_link *links; /* [n_nodes] */
    struct starpool_node *nodes;
    unsigned *distances; /* [n_nodes][n_nodes] */
    struct starpool_topology view;
};

/* topo_kinds.c: fill `nodes`, `distances` and the links' `cpus` from their objects. */
STARPOOL_CHECK enum starpool_status sp_topo_describe(struct sp_topo *topo);

#endif /* SP_TOPO_HWLOC_H */
