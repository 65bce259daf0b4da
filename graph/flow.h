/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A least flow through points that are passed in order: what points supply serves what later
 * points demand, as far as edges lead from one to the other. */
#ifndef SP_FLOW_H
#define SP_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

/*
 * Edges lead from a point to one with a higher index and carry any amount. A point takes its
 * demand from what arrives, and what it supplies goes on from it.
 *
 * served = the most that can be served; the sum of the demands less this is `lacking`.
 *
 * A point is dead if nothing can be brought to it any more: no edge leads into the dead points
 * from others, none of them has anything left, and what is lacking is lacking there.
 */
struct sp_flow {
    uint32_t n_points, n_edges, edges_room;
    uint32_t *from, *to; /* [n_edges] */
    uint64_t *demand;    /* [n_points] */
    uint64_t *supply;    /* [n_points] */
    bool *is_dead;       /* [n_points] set by sp_flow_run() */
    uint64_t lacking;    /* set by sp_flow_run() */
    bool is_cut_short;   /* the work was used up: `lacking` may be too much */
};

/* A flow without edges, to be given to sp_flow_fini() also if this fails. */
STARPOOL_CHECK enum starpool_status sp_flow_init(struct sp_flow *flow, uint32_t n_points);
void sp_flow_fini(struct sp_flow *flow);

/* False without memory. */
bool sp_flow_add_edge(struct sp_flow *flow, uint32_t from, uint32_t to);

/* At most `work` points and edges are looked at in searches. */
STARPOOL_CHECK enum starpool_status sp_flow_run(struct sp_flow *flow, uint64_t work);

#endif /* SP_FLOW_H */
