/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds edges to a graph where they save memory, greedily. The peak cannot come below the blocks
 * that the bound rests on, so an edge is tried between two of these, from what ends one to what
 * begins the other; it stays if a plan with it has a lower peak there and no higher one
 * elsewhere. The largest blocks are tried first. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/plan_private.h"
#include "src/util/util.h"

/* So many edges at most, and pairs of so many blocks for each. */
#define MOST_EDGES  32
#define MOST_BLOCKS 8

/* Nodes, edges and blocks of all plans that are tried, where no time is given. A block is as
 * dear as a hundred nodes, and a plan counts as some thousands more, for itself. */
#define FAST_WORK      1000000u
#define WORK_PER_BLOCK 100u
#define WORK_PER_PLAN  4000u

struct adding {
    const struct starpool_plan_config *config; /* the caller's */
    struct starpool_graph graph;               /* the caller's with edges of its own */
    struct starpool_plan *plan;                /* the best so far, without its edges */
    struct starpool_plan *trial;               /* with the last edge that was tried, or NULL */
    struct sp_plan_edge added[MOST_EDGES];
    uint32_t n_added;
    uint64_t *first_peaks; /* [n_places] without edges */
    uint64_t end_ns, work;
};

static bool is_over(const struct adding *adding)
{
    if (adding->n_added == MOST_EDGES)
        return true;
    return adding->end_ns == 0 ? adding->work >= FAST_WORK : sp_clock_ns() >= adding->end_ns;
}

static uint64_t peak_of(const struct starpool_plan *plan, uint32_t p)
{
    return plan->places[p].report.peak_bytes;
}

/* Lower at one place, and higher at none. */
static bool is_better(const struct starpool_plan *plan, const struct starpool_plan *than,
                      uint32_t p)
{
    for (uint32_t other = 0; other < plan->n_places; other++) {
        if (peak_of(plan, other) > peak_of(than, other))
            return false;
    }
    return peak_of(plan, p) < peak_of(than, p);
}

/* The largest blocks of the set that the bound of a place rests on, the largest first. */
static uint32_t pick_blocks(const struct adding *adding, uint32_t p,
                            uint32_t blocks[MOST_BLOCKS])
{
    const struct sp_graph_block *all = adding->graph.blocks;
    uint32_t n = 0;

    for (uint32_t k = 0; k < adding->plan->n_antichain[p]; k++) {
        uint32_t block = adding->plan->antichains[p][k], at;

        for (at = n; at > 0 && all[blocks[at - 1]].size < all[block].size; at--) {
            if (at < MOST_BLOCKS)
                blocks[at] = blocks[at - 1];
        }
        if (at < MOST_BLOCKS)
            blocks[at] = block;
        n = n < MOST_BLOCKS ? n + 1 : n;
    }
    return n;
}

/* The edge that puts block `a` before block `b`; false if there is none, or several would be
 * needed, or it would close a cycle. */
static bool find_edge(const struct adding *adding, const struct sp_liveness *liveness,
                      uint32_t a, uint32_t b, struct sp_graph_edge *edge_out)
{
    const struct sp_graph_block *blocks = adding->graph.blocks;
    uint32_t from, to;

    if (a == b || blocks[a].is_output || blocks[b].is_input ||
        sp_liveness_n_lasts(liveness, a) != 1 || sp_liveness_n_firsts(liveness, b) != 1)
        return false;
    from = liveness->lasts[liveness->last_begin[a]];
    to = liveness->firsts[liveness->first_begin[b]];
    *edge_out = (struct sp_graph_edge){.from = from, .to = to};
    /* Where not all of the order is known, a cycle cannot be ruled out. */
    return from != to && liveness->is_exact && !sp_liveness_precedes(liveness, to, from);
}

/* Plan with one edge more, and keep the plan if it is the best of this round. */
static enum starpool_status try_edge(struct adding *adding, uint32_t p,
                                     struct sp_graph_edge edge, struct sp_graph_edge *best)
{
    const struct starpool_plan *rival = adding->trial == NULL ? adding->plan : adding->trial;
    struct starpool_plan *plan;
    enum starpool_status status;

    adding->graph.edges[adding->graph.n_edges++] = edge;
    status = sp_plan_make(&adding->graph, adding->config, true, &plan);
    adding->graph.n_edges--;
    adding->work += (uint64_t)adding->graph.n_nodes + adding->graph.n_edges +
                    (uint64_t)adding->graph.n_blocks * WORK_PER_BLOCK + WORK_PER_PLAN;
    if (status != STARPOOL_OK)
        return status;
    if (is_better(plan, rival, p)) {
        starpool_plan_destroy(adding->trial);
        adding->trial = plan;
        *best = edge;
    } else {
        starpool_plan_destroy(plan);
    }
    return STARPOOL_OK;
}

static enum starpool_status try_pairs(struct adding *adding, uint32_t p,
                                      const struct sp_liveness *liveness,
                                      struct sp_graph_edge *best)
{
    uint32_t blocks[MOST_BLOCKS], n = pick_blocks(adding, p, blocks);
    enum starpool_status status = STARPOOL_OK;
    struct sp_graph_edge edge;

    for (uint32_t k = 0; k < n * n && status == STARPOOL_OK && !is_over(adding); k++) {
        if (find_edge(adding, liveness, blocks[k / n], blocks[k % n], &edge))
            status = try_edge(adding, p, edge, best);
    }
    return status;
}

static void keep_trial(struct adding *adding, uint32_t p, struct sp_graph_edge edge)
{
    adding->graph.edges[adding->graph.n_edges++] = edge;
    starpool_plan_destroy(adding->plan);
    adding->plan = adding->trial;
    adding->trial = NULL;
    adding->added[adding->n_added++] = (struct sp_plan_edge){
        .from = edge.from,
        .to = edge.to,
        .place = p,
        .saved_bytes = adding->first_peaks[p] - peak_of(adding->plan, p),
    };
}

/* The best edge for a place, if there is one. */
static enum starpool_status add_edge(struct adding *adding, uint32_t p, bool *is_added_out)
{
    struct sp_liveness *liveness;
    struct sp_graph_edge edge = {.from = 0};
    enum starpool_status status = sp_liveness_create(&adding->graph, 0, &liveness);

    *is_added_out = false;
    if (status != STARPOOL_OK)
        return status;
    status = try_pairs(adding, p, liveness, &edge);
    sp_liveness_destroy(liveness);
    if (status == STARPOOL_OK && adding->trial != NULL) {
        keep_trial(adding, p, edge);
        *is_added_out = true;
    }
    return status;
}

/* With the edges found, search as the caller wants it; what is worse is not taken. */
static enum starpool_status plan_again(struct adding *adding)
{
    uint32_t last = adding->n_added - 1, p = adding->added[last].place;
    struct starpool_plan *plan;
    enum starpool_status status = sp_plan_make(&adding->graph, adding->config, false, &plan);

    if (status != STARPOOL_OK)
        return status;
    if (is_better(plan, adding->plan, p)) {
        starpool_plan_destroy(adding->plan);
        adding->plan = plan;
        adding->added[last].saved_bytes = adding->first_peaks[p] - peak_of(plan, p);
    } else {
        starpool_plan_destroy(plan);
    }
    return STARPOOL_OK;
}

/* The edges, to the plan and its reports. */
static enum starpool_status note_edges(struct adding *adding)
{
    struct starpool_plan *plan = adding->plan;

    plan->edges = calloc((size_t)adding->n_added + 1, sizeof(*plan->edges));
    if (plan->edges == NULL)
        return STARPOOL_ENOMEM;
    for (uint32_t i = 0; i < adding->n_added; i++) {
        struct starpool_plan_report *report = &plan->places[adding->added[i].place].report;

        plan->edges[i] = adding->added[i];
        report->n_added_edges++;
        report->saved_bytes = adding->added[i].saved_bytes;
    }
    plan->n_edges = adding->n_added;
    return STARPOOL_OK;
}

static enum starpool_status add_edges(struct adding *adding)
{
    enum starpool_status status = STARPOOL_OK;

    for (uint32_t p = 0; p < adding->plan->n_places; p++)
        adding->first_peaks[p] = peak_of(adding->plan, p);
    for (uint32_t p = 0; p < adding->plan->n_places && status == STARPOOL_OK; p++) {
        bool is_added = true;

        while (is_added && status == STARPOOL_OK && !is_over(adding))
            status = add_edge(adding, p, &is_added);
    }
    if (status == STARPOOL_OK && adding->n_added > 0)
        status = plan_again(adding);
    return status == STARPOOL_OK ? note_edges(adding) : status;
}

enum starpool_status sp_plan_add_edges(const struct starpool_graph *graph,
                                       const struct starpool_plan_config *config,
                                       struct starpool_plan **plan)
{
    struct adding adding = {
        .config = config,
        .graph = *graph,
        .plan = *plan,
        .end_ns = sp_place_end(config->time_ns),
    };
    enum starpool_status status = STARPOOL_ENOMEM;

    adding.graph.edges =
        calloc((size_t)graph->n_edges + MOST_EDGES + 1, sizeof(*adding.graph.edges));
    adding.first_peaks = calloc((size_t)adding.plan->n_places + 1, sizeof(*adding.first_peaks));
    if (adding.graph.edges != NULL && adding.first_peaks != NULL) {
        if (graph->n_edges > 0)
            memcpy(adding.graph.edges, graph->edges, graph->n_edges * sizeof(*graph->edges));
        status = add_edges(&adding);
    }
    starpool_plan_destroy(adding.trial);
    free(adding.graph.edges);
    free(adding.first_peaks);
    *plan = adding.plan;
    return status;
}
