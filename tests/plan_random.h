/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random graphs for the tests of what plans them, and what these compare with: the order of
 * their nodes by transitive closure. */
#ifndef SP_PLAN_RANDOM_H
#define SP_PLAN_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

/** Nodes that a closure has room for. */
#define SP_CLOSURE_MOST 64

/** What a random graph should be like. */
struct sp_random_shape {
    uint32_t n_nodes; /**< at most SP_CLOSURE_MOST */
    uint32_t n_blocks;
    uint32_t n_locations; /**< 1 and more: the devices that blocks are on */
    uint64_t most_size;   /**< sizes are 1 to this */
    unsigned edge_chance; /**< [percent] that a pair of nodes has an edge */
    bool has_alignments;  /**< 1 to 8; else 1 */
    bool has_open_ends;   /**< some blocks have no node that allocates, or none that frees, and
                               some are inputs or outputs */
};

/** Which nodes each node precedes, a bit each. */
struct sp_closure {
    uint64_t after[SP_CLOSURE_MOST];
};

/** A valid graph, to be destroyed; nodes are numbered at random, not in their order. */
struct starpool_graph *sp_random_graph(uint64_t *random, const struct sp_random_shape *shape);

/** A valid timed graph of blocks that begin and end below `end`, to be destroyed. */
struct starpool_graph *sp_random_timed_graph(uint64_t *random, uint32_t n_blocks,
                                             uint64_t most_size, uint64_t end);

/** The closure of a graph of at most SP_CLOSURE_MOST nodes. */
void sp_closure_init(struct sp_closure *closure, const struct starpool_graph *graph);

/** Whether block `a` is over before block `b` begins, by the words of graph/graph.h alone. */
bool sp_closure_is_over(const struct sp_closure *closure, const struct starpool_graph *graph,
                        uint32_t a, uint32_t b);

#endif /* SP_PLAN_RANDOM_H */
