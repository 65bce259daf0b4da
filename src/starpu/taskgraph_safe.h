/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan that holds in whatever order the tasks run. */
#ifndef SP_TASKGRAPH_SAFE_H
#define SP_TASKGRAPH_SAFE_H

#include <starpool/base.h>
#include <starpool/graph.h>
#include <starpool/plan.h>

#include "src/starpu/taskgraph_plan.h"
#include "src/starpu/taskgraph_tasks.h"

struct sp_tg_safe {
    struct starpool_graph *graph;
    struct starpool_plan *plan;
    struct sp_tg_tasks_counts counts;
    uint64_t peak_bytes; /* sums over the places that are served */
    uint64_t lower_bound;
};

/* Make graph and plan, and have the plan checked. What graph, planner and checker answer. */
STARPOOL_CHECK enum starpool_status sp_tg_safe_plan(struct sp_tg_safe *safe,
                                                    const struct sp_tg_tasks *tasks,
                                                    const struct sp_tg_record *record,
                                                    const struct sp_tg_nodes *nodes,
                                                    const char *name);
void sp_tg_safe_fini(struct sp_tg_safe *safe);

/* Write graph and plan to a file, by the name's ending; "": to none. */
void sp_tg_safe_write(const struct sp_tg_safe *safe, const char *path);

#endif /* SP_TASKGRAPH_SAFE_H */
