/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of planning share. */
#ifndef SP_PLAN_PRIVATE_H
#define SP_PLAN_PRIVATE_H

#include <stdint.h>

#include <starpool/plan.h>

#include "graph/antichain.h"
#include "graph/place.h"
#include "graph/plan.h"

/* What is asked of one place. */
struct sp_plan_request {
    uint64_t capacity; /* [bytes] STARPOOL_UNLIMITED: none */
    uint64_t end_ns;   /* until when to search, by sp_clock_ns(); 0: the fast mode */
    uint64_t seed;
    bool is_trial; /* as fast as can be: one of many plans, of which one will be made better */
};

/* Plan one place: its offsets, its report (all but the edges), and the set of blocks, numbered
 * as in the graph, that the bound is of. */
STARPOOL_CHECK enum starpool_status sp_plan_place(const struct sp_place *place,
                                                  const struct sp_plan_request *request,
                                                  uint64_t *offsets,
                                                  struct starpool_plan_report *report_out,
                                                  struct sp_antichain *antichain_out);

/* Plan a graph as it is, without new edges; a trial takes no time to search. EINVAL: it is no
 * graph. */
STARPOOL_CHECK enum starpool_status sp_plan_make(const struct starpool_graph *graph,
                                                 const struct starpool_plan_config *config,
                                                 bool is_trial,
                                                 struct starpool_plan **plan_out);

/* Add edges to a graph's plan that lower its peaks, one by one; *plan is replaced by better
 * ones. */
STARPOOL_CHECK enum starpool_status sp_plan_add_edges(const struct starpool_graph *graph,
                                                      const struct starpool_plan_config *config,
                                                      struct starpool_plan **plan);

#endif /* SP_PLAN_PRIVATE_H */
