/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program says of its iterations: by StarPU's marks, with STARPOOL_CAPTURE_ITERATIONS,
 * or by calls. Either way no task may be in flight where an iteration begins and ends; the
 * calls wait, the marks only look. */
#include "config.h"

#include "src/starpu/taskgraph_markers.h"

#include <stdio.h>

#include <starpool/starpu.h>

#include "src/starpu/plugin.h"
#include "src/starpu/real.h"
#include "src/starpu/taskgraph.h"
#include "src/starpu/taskgraph_iteration.h"
#include "src/util/diag.h"
#include "src/util/options.h"

/* Iterations nest; the outermost ones count. Calls may end what a mark has begun. */
static struct {
    _Atomic int depth;
    _Atomic bool is_mine;  /* the iteration that is on was begun by a mark */
    _Atomic bool has_told; /* why nothing is captured */
} markers;

/* StarPU's functions that tell of tasks are there; of those that are only passed on, each is
 * looked at where that is done. */
static bool can_capture(void)
{
    return sp_real.task_wait_for_all != NULL && sp_real.task_nsubmitted != NULL &&
           sp_real.task_get_name != NULL && sp_real.data_get_size != NULL &&
           sp_real.data_get_interface_ops != NULL &&
           sp_real.data_get_sequential_consistency_flag != NULL;
}

/* Whatever else changes between a push and its pop, this does not. */
static bool is_asked_for(void)
{
    return sp_option_number(SP_OPTION_CAPTURE_ITERATIONS) != 0;
}

/* Said once, because the next iterations will be no better. */
static void tell_in_flight(const char *where, int n_tasks)
{
    if (!atomic_exchange(&markers.has_told, true))
        sp_log(SP_LOG_WARN,
               "no iteration is captured: %d tasks are in flight at %s; the program has to "
               "wait for them (starpu_task_wait_for_all) before it",
               n_tasks, where);
}

static void begin_iteration(unsigned long number)
{
    enum starpool_status status = sp_tg_replay_begin(NULL);
    char name[64];

    if (status == STARPOOL_ENOTREADY) {
        snprintf(name, sizeof(name), "iteration %lu", number);
        status = sp_tg_capture_begin(name);
    }
    if (status == STARPOOL_OK)
        atomic_store(&markers.is_mine, true);
    else
        sp_log(SP_LOG_INFO, "iteration %lu is left alone: %s", number,
               starpool_status_text(status));
}

void sp_tg_marker_push(unsigned long number)
{
    int n_tasks;

    if (!is_asked_for() || atomic_fetch_add(&markers.depth, 1) > 0)
        return;
    if (!sp_plugin_is_serving() || !can_capture() || sp_taskgraph_is_on() ||
        sp_real.is_initialized() == 0)
        return;
    n_tasks = sp_real.task_nsubmitted();
    if (n_tasks > 0)
        tell_in_flight("starpu_iteration_push()", n_tasks);
    else
        begin_iteration(number);
}

static void end_capture(int n_tasks)
{
    enum starpool_status status;

    if (n_tasks > 0) {
        sp_tg_capture_cancel();
        tell_in_flight("starpu_iteration_pop()", n_tasks);
        return;
    }
    status = sp_tg_capture_end(NULL);
    if (status != STARPOOL_OK && !atomic_exchange(&markers.has_told, true))
        sp_log(SP_LOG_WARN, "no iteration is replayed: the captured one has no plan: %s",
               starpool_status_text(status));
}

void sp_tg_marker_pop(void)
{
    struct starpool_starpu_replay_summary summary;
    int n_tasks;

    if (!is_asked_for() || atomic_load(&markers.depth) == 0)
        return;
    if (atomic_fetch_sub(&markers.depth, 1) > 1 || !atomic_exchange(&markers.is_mine, false))
        return;
    n_tasks = sp_real.task_nsubmitted();
    /* With tasks in flight a replay ends as well: their blocks keep their ranges. */
    if (sp_tg_replay_end(n_tasks == 0, &summary) != STARPOOL_OK)
        end_capture(n_tasks);
}

void sp_tg_marker_note_init(void)
{
    atomic_store(&markers.depth, 0);
    atomic_store(&markers.is_mine, false);
    sp_tg_iteration_abandon();
}

/* ---- what programs call --------------------------------------------------------------- */

/* What has begun can be ended after starpool_starpu_detach(), too. */
static enum starpool_status wait_for_tasks(bool is_beginning)
{
    if (!sp_plugin_is_active() || (is_beginning && !sp_plugin_is_serving()) ||
        sp_real.is_initialized() == 0)
        return STARPOOL_ENOTINIT;
    if (!can_capture())
        return STARPOOL_ENOTSUP;
    /* Refused to tasks, which cannot wait for themselves. */
    return sp_real.task_wait_for_all() == 0 ? STARPOOL_OK : STARPOOL_ENOTPERM;
}

enum starpool_status starpool_starpu_capture_begin(const char *name)
{
    enum starpool_status status = wait_for_tasks(true);

    return status != STARPOOL_OK ? status
                                 : sp_tg_capture_begin(name == NULL ? "iteration" : name);
}

/* A call has ended the iteration, unless there was none: the next pop has nothing to end. */
static void note_ended(enum starpool_status status)
{
    if (status != STARPOOL_ENOTREADY)
        atomic_store(&markers.is_mine, false);
}

enum starpool_status starpool_starpu_capture_end(struct starpool_graph **graph_out)
{
    enum starpool_status status = wait_for_tasks(false);
    struct starpool_graph *graph = NULL;

    if (status != STARPOOL_OK)
        return status;
    status = sp_tg_capture_end(graph_out == NULL ? NULL : &graph);
    note_ended(status);
    if (status == STARPOOL_OK && graph_out != NULL) {
        if (graph == NULL)
            return STARPOOL_ENOMEM;
        *graph_out = graph;
    } else {
        starpool_graph_destroy(graph);
    }
    return status;
}

enum starpool_status starpool_starpu_replay_begin(const struct starpool_plan *plan)
{
    enum starpool_status status = wait_for_tasks(true);

    return status != STARPOOL_OK ? status : sp_tg_replay_begin(plan);
}

enum starpool_status
starpool_starpu_replay_end(struct starpool_starpu_replay_summary *summary_out)
{
    enum starpool_status status;
    struct starpool_starpu_replay_summary summary;

    if (summary_out != NULL && summary_out->struct_size != sizeof(summary))
        return STARPOOL_EINVAL;
    status = wait_for_tasks(false);
    if (status != STARPOOL_OK)
        return status;
    status = sp_tg_replay_end(true, &summary);
    note_ended(status);
    if (status == STARPOOL_OK && summary_out != NULL)
        *summary_out = summary;
    return status;
}
