/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A check of plans that shares nothing with what makes them but the data. */
#ifndef SP_PLAN_CHECK_H
#define SP_PLAN_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/graph.h"
#include "graph/plan.h"

/* Whether a plan is one of this graph, and true in all that it says but these: that nothing
 * fits, where the bound does not show it, and that no set is heavier than the one it names.
 * EINVAL with what is wrong; ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_plan_check(const struct starpool_graph *graph,
                                                  const struct starpool_plan *plan,
                                                  struct sp_graph_error *error);

/* Likewise, but for what order says: places, offsets, added edges and reports, in linear time.
 * Whoever reads the plan beside the graph needs no more to stay within both. */
STARPOOL_CHECK enum starpool_status sp_plan_check_parts(const struct starpool_graph *graph,
                                                        const struct starpool_plan *plan,
                                                        struct sp_graph_error *error);

/* ---- plan_check_order.c ----------------------------------------------------------------- */

/*
 * The order of a graph with a plan's edges: which nodes can be reached from what ends some
 * blocks, found by passing bits along all edges in the nodes' order. As many blocks are loaded
 * at once as have their bits in one word, or one block.
 */
struct sp_check_order {
    const struct starpool_graph *graph;
    uint32_t *order, *rank;         /* [n_nodes] */
    uint32_t *out_begin, *out;      /* [n_nodes + 2] who follows a node */
    uint32_t *first_begin, *firsts; /* [n_blocks + 2] nodes that may begin a block */
    uint32_t *last_begin, *lasts;   /* [n_blocks + 2] */
    uint64_t *own, *reached;        /* [n_nodes * n_words] */
    size_t n_words, words_room;
    uint32_t bit_begin[65]; /* where a loaded block's bits begin */
    uint32_t loaded[64], n_loaded;
};

/* EINVAL: there is a cycle. The graph and the edges' indexes must be valid otherwise. To be
 * given to sp_check_order_fini() also if it fails. */
STARPOOL_CHECK enum starpool_status sp_check_order_init(struct sp_check_order *order,
                                                        const struct starpool_graph *graph,
                                                        const struct starpool_plan *plan);
void sp_check_order_fini(struct sp_check_order *order);

/* When a block begins at the earliest, in an order that follows that of the blocks. */
uint64_t sp_check_order_begin(const struct sp_check_order *order, uint32_t block);

/* Load as many of `n` blocks as go together, at least one. */
STARPOOL_CHECK enum starpool_status sp_check_order_load(struct sp_check_order *order,
                                                        const uint32_t *blocks, uint32_t n,
                                                        uint32_t *n_loaded_out);

/* Whether the loaded block `slot`, counted from 0, is over before a block begins. */
bool sp_check_order_is_over(const struct sp_check_order *order, uint32_t slot, uint32_t block);

#endif /* SP_PLAN_CHECK_H */
