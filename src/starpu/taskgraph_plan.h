/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses for a recorded iteration. */
#ifndef SP_TASKGRAPH_PLAN_H
#define SP_TASKGRAPH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/graph.h>
#include <starpool/plan.h>

#include "src/starpu/taskgraph_record.h"
#include "src/starpu/taskgraph_table.h"

/* What is known of StarPU's nodes: [n_nodes] each. */
struct sp_tg_nodes {
    const struct starpool_location *locations;
    const bool *is_served; /* a pool of ours has the node's memory */
    uint32_t n;
    uint64_t min_align; /* at least so all addresses are to be aligned */
};

/* A layout, and how good it is; sums over the places that are served. */
struct sp_tg_plan {
    uint64_t *offsets; /* [n_blocks] */
    uint32_t *arenas;  /* [n_blocks] */
    uint16_t *nodes;   /* [n_arenas] whose pool an arena is to be taken from */
    uint32_t n_arenas;
    uint64_t align;
    uint64_t tight_bytes; /* the peak of the lifetimes as they were recorded */
    uint64_t lower_bound; /* no plan of these can do with less */
    uint64_t peak_bytes;  /* what the arenas take */
    uint32_t spread;      /* by so many times a block's life was made longer at both ends */
};

/* How a block of a size is aligned: as pools do, and at least to `min_align`. */
uint64_t sp_tg_plan_align(uint64_t size, uint64_t min_align);

/* True for the first of the served nodes whose memory is in one place. */
bool sp_tg_nodes_is_first(const struct sp_tg_nodes *nodes, uint32_t node);

/*
 * Plan by the lifetimes that were observed. Where several threads work, the next iteration's
 * will differ a little, so lives are made longer as long as all fits into `room` bytes, which
 * is what the pools needed for the same, or into a little more than the least. Whatever the
 * planner or memory refuses is handed on.
 */
STARPOOL_CHECK enum starpool_status sp_tg_plan_init(struct sp_tg_plan *plan,
                                                    const struct sp_tg_record *record,
                                                    const struct sp_tg_nodes *nodes,
                                                    uint64_t room);

/* Take the addresses of a plan of sp_tg_tasks_graph()'s graph. EINVAL: it is another's, or not
 * aligned. */
STARPOOL_CHECK enum starpool_status sp_tg_plan_init_from(struct sp_tg_plan *plan,
                                                         const struct sp_tg_record *record,
                                                         const struct sp_tg_nodes *nodes,
                                                         const struct starpool_plan *given);

void sp_tg_plan_fini(struct sp_tg_plan *plan);

#endif /* SP_TASKGRAPH_PLAN_H */
