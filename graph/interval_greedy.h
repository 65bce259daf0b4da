/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses in one descent without a way back: the lowest place that is free comes first. */
#ifndef SP_INTERVAL_GREEDY_H
#define SP_INTERVAL_GREEDY_H

#include <stdint.h>

#include "graph/interval_sections.h"

/*
 * What is placed, seen from above: pieces of equal height, that lie side by side and cover all
 * sections. A piece is known by the section that it begins at. Trees have their leaves from
 * n_leaves on; node i has the children 2 i and 2 i + 1.
 */
struct sp_skyline {
    uint32_t n_sections, n_leaves;
    uint32_t *end;    /* [n_sections] of the piece */
    uint32_t *before; /* [n_sections] the piece before it, unless it is the first */
    uint64_t *height; /* [2 n_leaves] the lowest of those below a node; no piece: UINT64_MAX */
};

/* Among blocks in the order of their first sections: what waits below a node. */
struct sp_greedy_node {
    uint32_t min_rank; /* UINT32_MAX: nothing */
    uint32_t min_last, max_last;
};

struct sp_greedy {
    struct sp_skyline skyline;
    uint32_t n_leaves;
    uint32_t *position; /* [n] of a block in that order */
    uint32_t *begin;    /* [n_sections + 1] how many blocks begin before a section */
    uint32_t *of_rank;  /* [n] blocks */
    struct sp_greedy_node *waiting; /* [2 n_leaves] */
};

/* How many leaves a tree over n things has. */
uint32_t sp_greedy_leaves(uint32_t n);

/* Find the crowds of all blocks; `tree` has room for twice as many numbers as leaves over the
 * sections. */
void sp_greedy_crowds(struct sp_sections *sections, uint64_t *tree);

/* Set all offsets; of the blocks that fit into the lowest place, the one of the lowest rank is
 * put there. O(n log n), as long as few blocks fit into a place at once. */
void sp_interval_greedy(struct sp_greedy *greedy, const struct sp_sections *sections,
                        const uint32_t *rank, uint64_t *offsets);

#endif /* SP_INTERVAL_GREEDY_H */
