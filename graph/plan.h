/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses for all blocks of a graph, location by location, and what is known of how good they
 * are. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/plan.h>

#include "graph/graph.h"
#include "src/util/util.h"

/* What one location gets. */
struct sp_plan_place {
    struct starpool_location location;
    struct starpool_plan_report report;
};

/* An edge that the planner added to save memory at a place. */
struct sp_plan_edge {
    uint32_t from, to;    /* nodes */
    uint32_t place;       /* whose peak it lowers */
    uint64_t saved_bytes; /* of the peak, by this edge and those before it */
};

/*
 * For each pair of blocks of one place that share addresses, the graph's order (with the edges
 * added here) keeps them apart: that is the certificate, with `order` to check it against. For
 * the lower bound: blocks of which no two are one before the other; their sizes, aligned, sum
 * up to report.lower_bound.
 */
struct starpool_plan {
    uint64_t alignment; /* [bytes] as configured; 0: each block's own */
    uint64_t capacity;  /* [bytes] of each place; STARPOOL_UNLIMITED: none */
    uint32_t n_blocks;
    uint64_t *offsets; /* [n_blocks] [bytes] in its place */
    uint32_t *place;   /* [n_blocks] */
    uint32_t n_places;
    struct sp_plan_place *places; /* [n_places] */
    uint32_t **antichains;        /* [n_places] blocks; NULL: of none, and the bound is 0 */
    uint32_t *n_antichain;        /* [n_places] */
    uint32_t n_edges;
    struct sp_plan_edge *edges; /* [n_edges] */
};

/* What a block takes, rounded up, and what its offset is a multiple of. */
static inline uint64_t sp_plan_size(const struct starpool_plan *plan,
                                    const struct sp_graph_block *block)
{
    uint64_t unit = plan->alignment == 0 ? block->alignment : plan->alignment;

    return sp_round_up(block->size, unit);
}

static inline uint64_t sp_plan_alignment(const struct starpool_plan *plan,
                                         const struct sp_graph_block *block)
{
    return plan->alignment > block->alignment ? plan->alignment : block->alignment;
}

#endif /* SP_PLAN_H */
