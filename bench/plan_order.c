/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans of partial orders: branches that allocate on their own, and captures of streams that
 * meet now and then. Beside each peak stand the lower bound and what an allocator reaches that
 * sees the operations one by one, as a capture does; beside each time the same graph's at a
 * tenth of the size. The fast mode is timed, for the search takes what time it is given. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpool/plan.h>

#include "bench/bench.h"
#include "bench/plan.h"
#include "bench/plan_capture.h"
#include "graph/place.h"
#include "graph/plan.h"
#include "graph/plan_check.h"

#define N_SEEDS 10

/* What planning a graph gave. */
struct outcome {
    double ns;
    double peak, capture; /* over the lower bound */
    bool is_exact;        /* the bound is */
    bool is_right;        /* the plan passes the check */
};

/* ---- one graph ----------------------------------------------------------------------- */

/* What first fit reaches in the order in which a capture sees allocations and frees. */
static uint64_t capture_peak(const struct starpool_graph *graph,
                             const struct starpool_plan *plan)
{
    size_t n = (size_t)graph->n_blocks + 1;
    struct sp_place place = {.n = graph->n_blocks,
                             .blocks = calloc(n, sizeof(*place.blocks)),
                             .sizes = calloc(n, sizeof(*place.sizes)),
                             .alignments = calloc(n, sizeof(*place.alignments))};
    struct sp_liveness *liveness = NULL;
    uint64_t *offsets = calloc(n, sizeof(*offsets)), peak = 0;

    if (offsets != NULL && place.blocks != NULL && place.sizes != NULL &&
        place.alignments != NULL && sp_liveness_create(graph, 0, &liveness) == STARPOOL_OK) {
        for (uint32_t i = 0; i < graph->n_blocks; i++) {
            place.blocks[i] = i;
            place.sizes[i] = sp_plan_size(plan, &graph->blocks[i]);
            place.alignments[i] = sp_plan_alignment(plan, &graph->blocks[i]);
        }
        place.liveness = liveness;
        if (sp_place_sweep(&place, false, SP_FIT_LOWEST, offsets) == STARPOOL_OK)
            peak = sp_place_peak(&place, offsets);
    }
    sp_liveness_destroy(liveness);
    free(offsets);
    free(place.blocks);
    free(place.sizes);
    free(place.alignments);
    return peak;
}

/* Plan a graph and destroy it; NULL, or one that cannot be planned, gives nothing right. */
static struct outcome plan_graph(struct starpool_graph *graph)
{
    struct outcome outcome = {.is_right = false};
    struct starpool_plan_config config;
    struct starpool_plan *plan;
    const struct starpool_plan_report *report;
    struct sp_graph_error error;
    uint64_t begin, end;

    if (graph == NULL)
        return outcome;
    starpool_plan_config_init(&config);
    config.time_ns = 0;
    begin = sp_bench_ticks();
    if (starpool_plan(graph, &config, &plan) == STARPOOL_OK) {
        end = sp_bench_ticks();
        report = &plan->places[0].report;
        outcome = (struct outcome){
            .ns = sp_bench_ns(begin, end),
            .peak = (double)report->peak_bytes / (double)report->lower_bound,
            .capture = (double)capture_peak(graph, plan) / (double)report->lower_bound,
            .is_exact = report->is_bound_exact,
            .is_right = sp_plan_check(graph, plan, &error) == STARPOOL_OK,
        };
        if (!outcome.is_right)
            printf("a plan is wrong: %s\n", error.text);
        starpool_plan_destroy(plan);
    }
    sp_graph_destroy(graph);
    return outcome;
}

/* ---- ten of a kind ------------------------------------------------------------------- */

/* The same kind of graph from every seed. */
struct series {
    double ns[N_SEEDS], peaks[N_SEEDS], captures[N_SEEDS];
    unsigned n, n_exact, n_right;
};

static void add_outcome(struct series *series, struct outcome outcome)
{
    series->ns[series->n] = outcome.ns;
    series->peaks[series->n] = outcome.peak;
    series->captures[series->n++] = outcome.capture;
    series->n_exact += outcome.is_exact;
    series->n_right += outcome.is_right;
}

static double most_of(const double *values, unsigned n)
{
    double most = values[0];

    for (unsigned i = 1; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* Prints a row; the median time. `series` is left sorted. */
static double print_series(const char *name, struct series *series)
{
    double most = most_of(series->peaks, series->n);
    struct sp_quartiles ns = sp_bench_quartiles(series->ns, series->n);
    struct sp_quartiles peaks = sp_bench_quartiles(series->peaks, series->n);
    struct sp_quartiles captures = sp_bench_quartiles(series->captures, series->n);

    printf("%-28s %9.2f [%.2f %.2f]  %.3f %.3f  %.3f %.3f  %u of %u  %u of %u\n", name,
           ns.median / 1e6, ns.q1 / 1e6, ns.q3 / 1e6, peaks.median, most, captures.median,
           most_of(series->captures, series->n), series->n_exact, series->n, series->n_right,
           series->n);
    return ns.median;
}

static void print_head(const char *what)
{
    printf("\n%s, seeds 1 to %d: time in ms (median, quartiles), peak and capture-order peak\n"
           "over the lower bound (median, most), how many bounds are exact, plans right\n",
           what, N_SEEDS);
}

/* ---- branches ------------------------------------------------------------------------ */

static int bench_branches(void)
{
    static const uint32_t sizes[] = {1000, 10000};
    double ns[2];
    unsigned n_wrong = 0;

    print_head("8 branches");
    for (unsigned k = 0; k < 2; k++) {
        struct series series = {.n = 0};
        char name[32];

        for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
            add_outcome(&series, plan_graph(sp_bench_branches(8, sizes[k], seed)));
        snprintf(name, sizeof(name), "%" PRIu32 " allocations", sizes[k]);
        ns[k] = print_series(name, &series);
        n_wrong += series.n - series.n_right;
    }
    sp_bench_goal("plan_branches_10000_s", ns[1] / 1e9, SP_GOAL_AT_MOST, 1.0);
    sp_bench_goal("plan_branches_growth", ns[1] / ns[0], SP_GOAL_AT_MOST, 15.0);
    return n_wrong > 0;
}

/* ---- captures ------------------------------------------------------------------------ */

static int bench_captures(unsigned n_streams)
{
    static const uint32_t sizes[] = {1000, 10000, 100000};
    double ns[3], most = 0;
    unsigned n_wrong = 0;
    char name[48];

    snprintf(name, sizeof(name), "Captures of %u streams", n_streams);
    print_head(name);
    for (unsigned k = 0; k < 3; k++) {
        struct series series = {.n = 0};

        for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
            add_outcome(&series, plan_graph(sp_bench_capture(n_streams, sizes[k], seed)));
        snprintf(name, sizeof(name), "%" PRIu32 " operations", sizes[k]);
        ns[k] = print_series(name, &series);
        most = series.peaks[N_SEEDS - 1] > most ? series.peaks[N_SEEDS - 1] : most;
        n_wrong += series.n - series.n_right;
    }
    snprintf(name, sizeof(name), "plan_capture_%u_peak", n_streams);
    sp_bench_goal(name, most, SP_GOAL_AT_MOST, 1.2);
    snprintf(name, sizeof(name), "plan_capture_%u_growth", n_streams);
    sp_bench_goal(name, ns[2] / ns[1], SP_GOAL_AT_MOST, 15.0);
    return n_wrong > 0;
}

int bench_plan_orders(void)
{
    int is_wrong = bench_branches();

    is_wrong |= bench_captures(2);
    is_wrong |= bench_captures(8);
    return is_wrong;
}
