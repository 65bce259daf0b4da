/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan that holds in whatever order the tasks run. */
#ifndef SP_TASKGRAPH_SAFE_H
#define SP_TASKGRAPH_SAFE_H

#include <starpool/base.h>
#include <starpool/graph.h>
#include <starpool/plan.h>

#include "src/starpu/taskgraph_plan.h"
#include "src/starpu/taskgraph_tasks.h"

/* What a recording has become in its graph. */
struct sp_tg_tasks_counts {
    uint32_t n_tasks, n_edges;
    uint32_t n_known; /* blocks whose tasks are known */
};

/*
 * The graph of a recording that has ended: its tasks, their order, and the record's blocks in
 * their order. A block that a thread asked for while it prepared a task belongs to the data of
 * that task that is of its size, and is used by all tasks on that data; one that cannot be told
 * so lives from before the graph till after it. Alignments are sp_tg_plan_align()'s. ENOMEM,
 * EINVAL: the recording is not whole.
 */
STARPOOL_CHECK enum starpool_status sp_tg_tasks_graph(const struct sp_tg_tasks *tasks,
                                                      const struct sp_tg_record *record,
                                                      const struct starpool_location *locations,
                                                      uint64_t min_align, const char *name,
                                                      struct starpool_graph **graph_out,
                                                      struct sp_tg_tasks_counts *counts_out);

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
