/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which nodes of a graph under construction come before which. */
#ifndef SP_LINEAGE_H
#define SP_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/capture.h"
#include "src/driver/driver.h"

/* A place in the order: a position, from 1, on one of the chains that the nodes are dealt out
 * to. */
struct sp_place {
    uint32_t chain, position;
};

/* How far one is ahead of each chain: everything up to there comes before, or is where one
 * stands. */
struct sp_horizon {
    uint32_t *positions; /* [n_chains] 0: of that chain nothing comes before */
    uint32_t n_chains;
};

/*
 * Every node has a place such that of two nodes of one chain the one with the lower position
 * comes before the other; and the horizon of what comes before it. A node is asked for once,
 * with its dependencies: nothing may be removed from the graph meanwhile.
 */
struct sp_lineage {
    struct sp_lineage_node *nodes; /* [room] by their handles, a power of two */
    size_t n_nodes, room;
    uint32_t *last; /* [n_chains] the position of the last node of each chain */
    uint32_t n_chains, chains_room;
};

void sp_lineage_fini(struct sp_lineage *lineage);

/* Learn the nodes of a frontier and what comes before them, as far as it is not known; then say
 * where that is: `horizon_out` is to be freed by sp_horizon_fini(), `places_out`, if it is
 * wanted, by free(), one for each node. */
STARPOOL_CHECK enum starpool_status sp_lineage_look(struct sp_lineage *lineage,
                                                    const struct sp_driver *driver,
                                                    const struct sp_frontier *frontier,
                                                    struct sp_horizon *horizon_out,
                                                    struct sp_place **places_out);
void sp_horizon_fini(struct sp_horizon *horizon);

/* Whether all of these places lie within a horizon. */
bool sp_horizon_covers(const struct sp_horizon *horizon, const struct sp_place *places,
                       size_t n_places);

#endif /* SP_LINEAGE_H */
