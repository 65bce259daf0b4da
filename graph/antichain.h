/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The heaviest set of blocks of which none is over before another begins: no plan can do with
 * less memory than they take together. */
#ifndef SP_ANTICHAIN_H
#define SP_ANTICHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/liveness.h"

struct sp_antichain {
    uint32_t n;
    uint32_t *blocks; /* [n] to be freed by the caller */
    uint64_t weight;  /* their sum */
    bool is_exact;    /* none is heavier */
};

/*
 * Of the blocks `blocks`, [n], that weigh `weights`, [n], whose sum is below 2^63.
 *
 * In a timed graph it is what is live at the fullest moment. Else it is the dual of the least
 * flow that runs through every block with at least its weight, along the order of the graph;
 * `work` bounds the search (0: in proportion to the graph), and if it is used up the best set
 * found is given.
 */
STARPOOL_CHECK enum starpool_status sp_antichain_find(const struct sp_liveness *liveness,
                                                      uint32_t n, const uint32_t *blocks,
                                                      const uint64_t *weights, uint64_t work,
                                                      struct sp_antichain *antichain_out);

/* What is live at the fullest moment if the nodes run one by one in their order: a set as
 * above, found in next to linear time, but seldom the heaviest. */
STARPOOL_CHECK enum starpool_status sp_antichain_find_live(const struct sp_liveness *liveness,
                                                           uint32_t n, const uint32_t *blocks,
                                                           const uint64_t *weights,
                                                           struct sp_antichain *antichain_out);

#endif /* SP_ANTICHAIN_H */
