/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Iterations in the exit report: what was planned, what became of it, and how good the plans
 * are. */
#include "config.h"

#include "src/starpu/taskgraph_report.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "src/starpu/taskgraph.h"
#include "src/starpu/taskgraph_iteration.h"
#include "src/util/diag.h"
#include "src/util/util.h"

static const struct {
    const char *key;
    const char *text;
} causes[SP_TG_N_CAUSES] = {
#define SP_TG_CAUSE_WORDS(name, key, text) [SP_TG_##name] = {key, text},
    SP_TG_CAUSE_MAP(SP_TG_CAUSE_WORDS)
#undef SP_TG_CAUSE_WORDS
};

static bool was_used(const struct sp_tg_totals *totals)
{
    return totals->n_captured > 0 || totals->n_rejected > 0;
}

static void json_plans(struct sp_json *json, const struct sp_tg_totals *totals)
{
    sp_json_object_begin(json, "observed_plan");
    sp_json_number(json, "blocks", totals->n_blocks);
    sp_json_number(json, "lower_bound_bytes", totals->lower_bound);
    sp_json_number(json, "tight_bytes", totals->tight_bytes);
    sp_json_number(json, "predicted_bytes", totals->predicted_bytes);
    sp_json_number(json, "spread", totals->spread);
    sp_json_number(json, "high_bytes", totals->high_bytes);
    sp_json_number(json, "arena_bytes", totals->arena_bytes);
    sp_json_end(json);
    sp_json_object_begin(json, "safe_plan");
    sp_json_number(json, "tasks", totals->n_tasks);
    sp_json_number(json, "dependencies", totals->n_edges);
    sp_json_number(json, "blocks_of_known_tasks", totals->n_known);
    sp_json_number(json, "safe_bytes", totals->safe_bytes);
    sp_json_number(json, "safe_bound_bytes", totals->safe_bound);
    sp_json_end(json);
}

void sp_taskgraph_report_json(struct sp_json *json)
{
    struct sp_tg_totals totals = sp_tg_iteration_totals();
    unsigned i;

    if (!was_used(&totals))
        return;
    sp_json_object_begin(json, "iterations");
    sp_json_number(json, "captured", totals.n_captured);
    sp_json_number(json, "rejected", totals.n_rejected);
    sp_json_number(json, "replayed", totals.n_replayed);
    sp_json_number(json, "planned", totals.n_plans);
    sp_json_number(json, "planned_again", totals.n_planned_again);
    sp_json_number(json, "planned_requests", totals.n_requests);
    sp_json_number(json, "planned_served", totals.n_served);
    sp_json_number(json, "planned_moved", totals.n_moved);
    sp_json_number(json, "least_served_permille", totals.least_served_permille);
    sp_json_number(json, "pool_requests", atomic_load(&sp_taskgraph.n_pool_requests));
    sp_json_number(json, "wrong_planned_frees", atomic_load(&sp_taskgraph.n_wrong_frees));
    sp_json_object_begin(json, "deviations");
    for (i = 0; i < SP_TG_N_CAUSES; i++)
        sp_json_number(json, causes[i].key, totals.n_deviations[i]);
    sp_json_end(json);
    json_plans(json, &totals);
    sp_json_end(json);
}

static void text_plans(FILE *out, const struct sp_tg_totals *totals)
{
    char sizes[4][32];

    fprintf(out,
            "    observed plan: %" PRIu64 " blocks in %s (live at once %s, tight %s), highest "
            "end %s\n",
            totals->n_blocks,
            sp_bytes_text(sizes[0], sizeof(sizes[0]), totals->predicted_bytes),
            sp_bytes_text(sizes[1], sizeof(sizes[1]), totals->lower_bound),
            sp_bytes_text(sizes[2], sizeof(sizes[2]), totals->tight_bytes),
            sp_bytes_text(sizes[3], sizeof(sizes[3]), totals->high_bytes));
    if (totals->safe_bytes > 0)
        fprintf(out,
                "    safe plan: %s (at least %s) for %" PRIu64 " tasks with %" PRIu64
                " dependencies; the tasks of %" PRIu64 " blocks are known\n",
                sp_bytes_text(sizes[0], sizeof(sizes[0]), totals->safe_bytes),
                sp_bytes_text(sizes[1], sizeof(sizes[1]), totals->safe_bound), totals->n_tasks,
                totals->n_edges, totals->n_known);
}

void sp_taskgraph_report_text(FILE *out)
{
    struct sp_tg_totals totals = sp_tg_iteration_totals();
    uint64_t n_wrong = atomic_load(&sp_taskgraph.n_wrong_frees);
    unsigned i;

    if (!was_used(&totals))
        return;
    fprintf(out,
            "  iterations: %" PRIu64 " captured, %" PRIu64 " not whole, %" PRIu64
            " replayed, planned again %" PRIu64 " times\n",
            totals.n_captured, totals.n_rejected, totals.n_replayed, totals.n_planned_again);
    if (totals.n_plans > 0)
        text_plans(out, &totals);
    if (totals.n_replayed > 0)
        fprintf(out,
                "    requests: %" PRIu64 ", %" PRIu64 " of them planned (%" PRIu64
                " at another place); the pools were asked %" PRIu64 " times\n",
                totals.n_requests, totals.n_served, totals.n_moved,
                (uint64_t)atomic_load(&sp_taskgraph.n_pool_requests));
    for (i = 0; i < SP_TG_N_CAUSES; i++) {
        if (totals.n_deviations[i] > 0)
            fprintf(out, "    not by the plan, %s: %" PRIu64 "\n", causes[i].text,
                    totals.n_deviations[i]);
    }
    if (n_wrong > 0)
        fprintf(out, "    wrong frees in planned ranges: %" PRIu64 "\n", n_wrong);
}
