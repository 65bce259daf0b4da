/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of an iteration: captured once, planned, replayed, and planned again if it has
 * changed for good. One thread at a time, when no task runs. */
#ifndef SP_TASKGRAPH_ITERATION_H
#define SP_TASKGRAPH_ITERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/graph.h>
#include <starpool/plan.h>
#include <starpool/starpu.h>

#include "src/starpu/taskgraph_table.h"

/* Of the whole process; in bytes unless said otherwise. */
struct sp_tg_totals {
    uint64_t n_captured, n_replayed, n_plans, n_planned_again, n_rejected; /* iterations */
    uint64_t n_requests, n_served;
    uint64_t n_moved; /* of those that were served, to another place than their own */
    uint64_t n_deviations[SP_TG_N_CAUSES];
    uint64_t least_served_permille; /* of an iteration's requests; 1000 if none was replayed */
    uint64_t n_blocks;              /* planned, by the latest plan, as the next */
    uint64_t lower_bound, tight_bytes, predicted_bytes, spread;
    uint64_t high_bytes;                /* the highest end in an iteration, of all */
    uint64_t arena_bytes;               /* most that was held */
    uint64_t safe_bytes, safe_bound;    /* 0: there is no such plan */
    uint64_t n_tasks, n_edges, n_known; /* of its graph */
};

/* EBUSY: another is on. `name` is copied. */
STARPOOL_CHECK enum starpool_status sp_tg_capture_begin(const char *name);

/* Make the plans. ENOTREADY: nothing is being captured; EINVAL: too much was asked for; ENOMEM,
 * and what the planner says. `graph_out`: the tasks and blocks; may be NULL. */
STARPOOL_CHECK enum starpool_status sp_tg_capture_end(struct starpool_graph **graph_out);

/* Forget what is being captured. */
void sp_tg_capture_cancel(void);

/* By `plan`, of the graph that was captured last, or by what was observed, if NULL. ENOTREADY:
 * nothing was captured, or StarPU's nodes are others now; EINVAL: it is another graph's plan;
 * EBUSY; ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_tg_replay_begin(const struct starpool_plan *plan);

/* `may_plan_again`: follow a sequence that has changed. ENOTREADY: nothing is being replayed.
 */
STARPOOL_CHECK enum starpool_status
sp_tg_replay_end(bool may_plan_again, struct starpool_starpu_replay_summary *summary_out);

/* End whatever is on, with tasks in flight or not. */
void sp_tg_iteration_abandon(void);

struct sp_tg_totals sp_tg_iteration_totals(void);

#endif /* SP_TASKGRAPH_ITERATION_H */
