/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which blocks of a graph are over before which others begin, answered in constant time for
 * few chains. */
#ifndef SP_LIVENESS_H
#define SP_LIVENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/graph.h"

/* What sp_liveness_create() keeps of clocks unless told otherwise: 256 MiB. */
#define SP_LIVENESS_ROOM ((size_t)1 << 25)

/* A chain and a number: of a node in its chain, or of nodes from the chain's beginning on. */
struct sp_spot {
    uint32_t chain, index;
};

/*
 * The nodes are cut into chains, in each of which every node precedes the next by some path:
 * a stream is one. A node's row says for each chain how many of its nodes precede the node; a
 * node that only follows the one before it in its chain shares that one's row. A row may rest
 * on another one, and hold only what is more than there: that of a node with one precursor in
 * another chain, as the beginnings of branches are.
 *
 * precedes(a, b) = spots[a].index < (the entry for spots[a].chain of b's row, or else of what
 * it rests on; or b's own index if that is b's chain).
 *
 * Of a block's nodes, the firsts are those that none of the others precedes, the lasts those
 * that precede none of the others. A timed graph has none of all this.
 */
struct sp_liveness {
    const struct starpool_graph *graph; /* the caller's; must stay as it is */
    bool is_exact;                      /* false: too wide; some order is not known */
    uint32_t n_chains;
    uint32_t *order, *rank; /* [n_nodes] of sp_graph_sort(), and where each node is in it */
    struct sp_spot *spots;  /* [n_nodes] */
    uint32_t *chain_begin;  /* [n_chains + 1] where in chain_nodes a chain begins */
    uint32_t *chain_nodes;  /* [n_nodes] */
    uint32_t *rows;         /* [n_nodes] */
    size_t *row_begin;      /* [rows + 1] where in `entries` a row begins */
    uint32_t *row_base; /* [rows] the row that a row rests on, which rests on none; 0: none */
    struct sp_spot *entries;  /* a row's are sorted by chain */
    uint32_t *first_begin;    /* [n_blocks + 1] where in `firsts` a block's begin */
    uint32_t *last_begin;     /* [n_blocks + 1] */
    uint32_t *firsts, *lasts; /* nodes */
};

/*
 * `room` bounds the entries of clocks; 0 is the default. Beyond it order is forgotten, never
 * invented: is_exact says so.
 *
 * EINVAL: an index out of range, a cycle, or a block's nodes in a wrong order. ENOMEM.
 */
STARPOOL_CHECK enum starpool_status sp_liveness_create(const struct starpool_graph *graph,
                                                       size_t room,
                                                       struct sp_liveness **liveness_out);
void sp_liveness_destroy(struct sp_liveness *liveness);

/* Whether a path of one edge or more leads from a node to another. */
bool sp_liveness_precedes(const struct sp_liveness *liveness, uint32_t from, uint32_t to);

/* Whether block `a` is over before block `b` begins: see struct sp_graph_block. A block that no
 * node touches is over before none, and begins after none. */
bool sp_liveness_is_over(const struct sp_liveness *liveness, uint32_t a, uint32_t b);

static inline uint32_t sp_liveness_chain_length(const struct sp_liveness *liveness,
                                                uint32_t chain)
{
    return liveness->chain_begin[chain + 1] - liveness->chain_begin[chain];
}

static inline uint32_t sp_liveness_chain_node(const struct sp_liveness *liveness,
                                              uint32_t chain, uint32_t index)
{
    return liveness->chain_nodes[liveness->chain_begin[chain] + index];
}

/* How many nodes of a chain, from its beginning on, precede all that may begin a block; 0 for
 * an input. */
uint32_t sp_liveness_before(const struct sp_liveness *liveness, uint32_t block, uint32_t chain);

/* The first node of a chain that all that may end a block precede, by its index; the chain's
 * length if there is none, and for an output. */
uint32_t sp_liveness_after(const struct sp_liveness *liveness, uint32_t block, uint32_t chain);

/* When a block lives if the nodes run one by one in `order`, as [*lower_out, *upper_out): with
 * blocks that are not ordered at all from 0 to UINT64_MAX. In a timed graph these are its
 * times. */
void sp_liveness_span(const struct sp_liveness *liveness, uint32_t block, uint64_t *lower_out,
                      uint64_t *upper_out);

static inline uint32_t sp_liveness_n_firsts(const struct sp_liveness *liveness, uint32_t block)
{
    return liveness->first_begin[block + 1] - liveness->first_begin[block];
}

static inline uint32_t sp_liveness_n_lasts(const struct sp_liveness *liveness, uint32_t block)
{
    return liveness->last_begin[block + 1] - liveness->last_begin[block];
}

/* Whether a node of the graph begins a block, or ends it: else it is there before, or stays. */
static inline bool sp_liveness_begins_inside(const struct sp_liveness *liveness, uint32_t block)
{
    return !liveness->graph->blocks[block].is_input &&
           sp_liveness_n_firsts(liveness, block) > 0;
}

static inline bool sp_liveness_ends_inside(const struct sp_liveness *liveness, uint32_t block)
{
    return !liveness->graph->blocks[block].is_output &&
           sp_liveness_n_lasts(liveness, block) > 0;
}

#endif /* SP_LIVENESS_H */
