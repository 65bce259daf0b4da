/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the order of blocks into a flow (flow.c): a block demands its weight where it begins
 * and supplies it where it ends, and the graph's own edges carry it from there, so that there
 * are no more edges than the graph has. What is lacking in the end is the weight of the
 * heaviest set of blocks that are not ordered; the set are those that begin where the flow is
 * dead and end where it is not.
 *
 * Source: Dilworth, A decomposition theorem for partially ordered sets, 1950; with weights and
 * as a flow: Ford and Fulkerson, Flows in networks, 1962, II.9. */
#include "config.h"

#include "graph/antichain.h"

#include <stdlib.h>

#include "graph/flow.h"
#include "src/util/util.h"

#define NONE UINT32_MAX

/* Searches may look at so many points and edges in all, for each point that there is. */
#define WORK_PER_POINT 1024

/* Blocks with several firsts that may follow blocks with several lasts need an edge a pair. */
#define MOST_PAIRS ((uint64_t)1 << 22)

/* The graph as points: a node is one, or two if blocks begin there and blocks end there, for
 * these are not in each other's way. A block with several firsts has a point of its own before
 * them, one with several lasts a point behind them. */
struct points {
    const struct sp_liveness *liveness;
    uint32_t n;
    const uint32_t *blocks;
    const uint64_t *weights;
    uint8_t *roles;               /* [n_nodes] bits: 1 blocks begin here, 2 blocks end here */
    uint32_t *begin, *end;        /* [n_nodes] points; the same if there is only one */
    uint32_t *own_in, *own_out;   /* [n] points of blocks, or NONE */
    uint32_t *in_list, *out_list; /* [n_nodes] the first block whose point is at a node */
    uint32_t *in_next, *out_next; /* [n] the next one */
    uint32_t n_points;
    struct sp_flow flow;
};

/* ---- points -------------------------------------------------------------------------- */

/* Where block `i`, which has several firsts or lasts, is put in: before its earliest first, or
 * behind its latest last. */
static void list_block(struct points *points, uint32_t i, bool is_end)
{
    const struct sp_liveness *liveness = points->liveness;
    uint64_t lower, upper;
    uint32_t *list, *next;

    sp_liveness_span(liveness, points->blocks[i], &lower, &upper);
    list = is_end ? &points->out_list[liveness->order[upper - 1]]
                  : &points->in_list[liveness->order[lower]];
    next = is_end ? points->out_next : points->in_next;
    next[i] = *list;
    *list = i;
}

static void note_roles(struct points *points)
{
    const struct sp_liveness *liveness = points->liveness;

    for (uint32_t v = 0; v < liveness->graph->n_nodes; v++)
        points->in_list[v] = points->out_list[v] = NONE;
    for (uint32_t i = 0; i < points->n; i++) {
        uint32_t block = points->blocks[i];

        points->own_in[i] = points->own_out[i] = NONE;
        if (sp_liveness_begins_inside(liveness, block)) {
            if (sp_liveness_n_firsts(liveness, block) > 1)
                list_block(points, i, false);
            else
                points->roles[liveness->firsts[liveness->first_begin[block]]] |= 1;
        }
        if (sp_liveness_ends_inside(liveness, block)) {
            if (sp_liveness_n_lasts(liveness, block) > 1)
                list_block(points, i, true);
            else
                points->roles[liveness->lasts[liveness->last_begin[block]]] |= 2;
        }
    }
}

/* In the order of the nodes, so that edges lead to higher numbers. */
static void number_points(struct points *points)
{
    const struct sp_liveness *liveness = points->liveness;
    uint32_t n = 0;

    for (uint32_t rank = 0; rank < liveness->graph->n_nodes; rank++) {
        uint32_t node = liveness->order[rank];

        for (uint32_t i = points->in_list[node]; i != NONE; i = points->in_next[i])
            points->own_in[i] = n++;
        points->begin[node] = n++;
        points->end[node] = points->roles[node] == 3 ? n++ : points->begin[node];
        for (uint32_t i = points->out_list[node]; i != NONE; i = points->out_next[i])
            points->own_out[i] = n++;
    }
    points->n_points = n;
}

/* ---- edges --------------------------------------------------------------------------- */

static bool continues_chain(const struct sp_liveness *liveness,
                            const struct sp_graph_edge *edge)
{
    struct sp_spot from = liveness->spots[edge->from], to = liveness->spots[edge->to];

    return from.chain == to.chain && from.index + 1 == to.index;
}

/* The graph's edges, those along chains first: what is left over goes there. */
static bool add_node_edges(struct points *points)
{
    const struct starpool_graph *graph = points->liveness->graph;

    for (uint32_t v = 0; v < graph->n_nodes; v++) {
        if (points->begin[v] != points->end[v] &&
            !sp_flow_add_edge(&points->flow, points->begin[v], points->end[v]))
            return false;
    }
    for (int is_chain = 1; is_chain >= 0; is_chain--) {
        for (uint32_t i = 0; i < graph->n_edges; i++) {
            const struct sp_graph_edge *edge = &graph->edges[i];

            if (continues_chain(points->liveness, edge) == (is_chain == 1) &&
                !sp_flow_add_edge(&points->flow, points->end[edge->from],
                                  points->begin[edge->to]))
                return false;
        }
    }
    return true;
}

/* From the last node of each chain that precedes all firsts; to the first node of each that
 * follows all lasts. */
static bool add_block_edges(struct points *points, uint32_t i)
{
    const struct sp_liveness *liveness = points->liveness;
    uint32_t block = points->blocks[i], at;

    if (points->own_in[i] == NONE && points->own_out[i] == NONE)
        return true;
    for (uint32_t chain = 0; chain < liveness->n_chains; chain++) {
        if (points->own_in[i] != NONE) {
            at = sp_liveness_before(liveness, block, chain);
            if (at > 0 &&
                !sp_flow_add_edge(&points->flow,
                                  points->end[sp_liveness_chain_node(liveness, chain, at - 1)],
                                  points->own_in[i]))
                return false;
        }
        if (points->own_out[i] != NONE) {
            at = sp_liveness_after(liveness, block, chain);
            if (at < sp_liveness_chain_length(liveness, chain) &&
                !sp_flow_add_edge(&points->flow, points->own_out[i],
                                  points->begin[sp_liveness_chain_node(liveness, chain, at)]))
                return false;
        }
    }
    return true;
}

/* No node need lie between a block with several lasts and one with several firsts. */
static bool add_pair_edges(struct points *points, uint32_t a)
{
    for (uint32_t b = 0; b < points->n; b++) {
        if (points->own_in[b] != NONE &&
            sp_liveness_is_over(points->liveness, points->blocks[a], points->blocks[b]) &&
            !sp_flow_add_edge(&points->flow, points->own_out[a], points->own_in[b]))
            return false;
    }
    return true;
}

/* Whether all that the order says of blocks with points of their own can become edges. If not,
 * these blocks are left out, for a set that ignores order would claim too much. */
static bool can_have_own(const struct points *points)
{
    uint64_t n_in = 0, n_out = 0;

    for (uint32_t i = 0; i < points->n; i++) {
        n_in += points->own_in[i] != NONE;
        n_out += points->own_out[i] != NONE;
    }
    if (n_in + n_out > 0 && !points->liveness->is_exact)
        return false;
    return n_in * n_out <= MOST_PAIRS &&
           (n_in + n_out) * points->liveness->n_chains <= 4 * MOST_PAIRS;
}

static bool add_edges(struct points *points)
{
    if (!add_node_edges(points))
        return false;
    for (uint32_t i = 0; i < points->n; i++) {
        if (!add_block_edges(points, i) ||
            (points->own_out[i] != NONE && !add_pair_edges(points, i)))
            return false;
    }
    return true;
}

/* ---- weights ------------------------------------------------------------------------- */

/* The point where a block begins or ends, or NONE. */
static uint32_t point_in(const struct points *points, uint32_t i)
{
    const struct sp_liveness *liveness = points->liveness;
    uint32_t block = points->blocks[i];

    if (!sp_liveness_begins_inside(liveness, block) || points->own_in[i] != NONE)
        return points->own_in[i];
    return points->begin[liveness->firsts[liveness->first_begin[block]]];
}

static uint32_t point_out(const struct points *points, uint32_t i)
{
    const struct sp_liveness *liveness = points->liveness;
    uint32_t block = points->blocks[i];

    if (!sp_liveness_ends_inside(liveness, block) || points->own_out[i] != NONE)
        return points->own_out[i];
    return points->end[liveness->lasts[liveness->last_begin[block]]];
}

static bool is_left_out(const struct points *points, uint32_t i, bool has_own)
{
    return !has_own && (points->own_in[i] != NONE || points->own_out[i] != NONE);
}

static void add_weights(struct points *points, bool has_own)
{
    for (uint32_t i = 0; i < points->n; i++) {
        uint32_t in = point_in(points, i), out = point_out(points, i);

        if (is_left_out(points, i, has_own))
            continue;
        if (in != NONE)
            points->flow.demand[in] += points->weights[i];
        if (out != NONE)
            points->flow.supply[out] += points->weights[i];
    }
}

/* Those that begin where nothing more can come, and end where something can. A block that lives
 * on from before the graph is lacking, too. */
static void collect(const struct points *points, bool has_own, struct sp_antichain *antichain)
{
    uint64_t lacking = points->flow.lacking;

    for (uint32_t i = 0; i < points->n; i++) {
        uint32_t in = point_in(points, i), out = point_out(points, i);

        if (is_left_out(points, i, has_own))
            continue;
        if (in == NONE)
            lacking += points->weights[i];
        if ((in == NONE || points->flow.is_dead[in]) &&
            (out == NONE || !points->flow.is_dead[out])) {
            antichain->blocks[antichain->n++] = points->blocks[i];
            antichain->weight += points->weights[i];
        }
    }
    antichain->is_exact = has_own && antichain->weight == lacking;
}

static enum starpool_status solve(struct points *points, uint64_t work,
                                  struct sp_antichain *antichain)
{
    enum starpool_status status;
    bool has_own;

    note_roles(points);
    number_points(points);
    has_own = can_have_own(points);
    status = sp_flow_init(&points->flow, points->n_points);
    if (status == STARPOOL_OK && !(has_own ? add_edges(points) : add_node_edges(points)))
        status = STARPOOL_ENOMEM;
    if (status == STARPOOL_OK) {
        add_weights(points, has_own);
        if (work == 0)
            work = (uint64_t)WORK_PER_POINT * ((uint64_t)points->n_points + 64);
        status = sp_flow_run(&points->flow, work);
    }
    if (status == STARPOOL_OK)
        collect(points, has_own, antichain);
    sp_flow_fini(&points->flow);
    return status;
}

static bool prepare(struct points *points)
{
    size_t n = (size_t)points->n + 1, n_nodes = (size_t)points->liveness->graph->n_nodes + 1;

    points->roles = calloc(n_nodes, sizeof(*points->roles));
    points->begin = calloc(n_nodes, sizeof(*points->begin));
    points->end = calloc(n_nodes, sizeof(*points->end));
    points->in_list = calloc(n_nodes, sizeof(*points->in_list));
    points->out_list = calloc(n_nodes, sizeof(*points->out_list));
    points->own_in = calloc(n, sizeof(*points->own_in));
    points->own_out = calloc(n, sizeof(*points->own_out));
    points->in_next = calloc(n, sizeof(*points->in_next));
    points->out_next = calloc(n, sizeof(*points->out_next));
    return points->roles != NULL && points->begin != NULL && points->end != NULL &&
           points->in_list != NULL && points->out_list != NULL && points->own_in != NULL &&
           points->own_out != NULL && points->in_next != NULL && points->out_next != NULL;
}

static void release(struct points *points)
{
    free(points->roles);
    free(points->begin);
    free(points->end);
    free(points->in_list);
    free(points->out_list);
    free(points->own_in);
    free(points->own_out);
    free(points->in_next);
    free(points->out_next);
}

static enum starpool_status find_by_flow(const struct sp_liveness *liveness, uint32_t n,
                                         const uint32_t *blocks, const uint64_t *weights,
                                         uint64_t work, struct sp_antichain *antichain_out)
{
    struct points points = {.liveness = liveness, .n = n, .blocks = blocks, .weights = weights};
    struct sp_antichain antichain = {.n = 0};
    enum starpool_status status = STARPOOL_ENOMEM;

    antichain.blocks = calloc((size_t)n + 1, sizeof(*antichain.blocks));
    if (antichain.blocks != NULL && prepare(&points))
        status = solve(&points, work, &antichain);
    release(&points);
    if (status == STARPOOL_OK)
        *antichain_out = antichain;
    else
        free(antichain.blocks);
    return status;
}

/* ---- one moment ---------------------------------------------------------------------- */

struct moment {
    uint64_t time;
    uint32_t i;
    bool is_begin;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (int)x->is_begin - (int)y->is_begin; /* What ends makes room for what begins. */
}

/* The time at which most is live: that of the event after which it is. */
static uint64_t find_fullest(const struct moment *moments, uint32_t n, const uint64_t *weights,
                             uint64_t *most_out)
{
    uint64_t live = 0, most = 0, time = 0;

    for (uint32_t k = 0; k < n; k++) {
        if (!moments[k].is_begin) {
            live -= weights[moments[k].i];
            continue;
        }
        live += weights[moments[k].i];
        if (live > most) {
            most = live;
            time = moments[k].time;
        }
    }
    *most_out = most;
    return time;
}

enum starpool_status sp_antichain_find_live(const struct sp_liveness *liveness, uint32_t n,
                                            const uint32_t *blocks, const uint64_t *weights,
                                            struct sp_antichain *antichain_out)
{
    struct moment *moments = calloc(2 * (size_t)n + 1, sizeof(*moments));
    struct sp_antichain antichain = {.is_exact = liveness->graph->is_timed};
    uint64_t time, lower, upper;

    antichain.blocks = calloc((size_t)n + 1, sizeof(*antichain.blocks));
    if (moments == NULL || antichain.blocks == NULL) {
        free(moments);
        free(antichain.blocks);
        return STARPOOL_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        sp_liveness_span(liveness, blocks[i], &lower, &upper);
        moments[2 * i] = (struct moment){.time = lower, .i = i, .is_begin = true};
        moments[2 * i + 1] = (struct moment){.time = upper, .i = i, .is_begin = false};
    }
    qsort(moments, 2 * (size_t)n, sizeof(*moments), compare_moments);
    time = find_fullest(moments, 2 * n, weights, &antichain.weight);
    for (uint32_t i = 0; i < n; i++) {
        sp_liveness_span(liveness, blocks[i], &lower, &upper);
        if (lower <= time && time < upper)
            antichain.blocks[antichain.n++] = blocks[i];
    }
    free(moments);
    *antichain_out = antichain;
    return STARPOOL_OK;
}

enum starpool_status sp_antichain_find(const struct sp_liveness *liveness, uint32_t n,
                                       const uint32_t *blocks, const uint64_t *weights,
                                       uint64_t work, struct sp_antichain *antichain_out)
{
    struct sp_antichain live, flow;
    enum starpool_status status = sp_antichain_find_live(liveness, n, blocks, weights, &live);

    if (status != STARPOOL_OK || liveness->graph->is_timed) {
        if (status == STARPOOL_OK)
            *antichain_out = live;
        return status;
    }
    status = find_by_flow(liveness, n, blocks, weights, work, &flow);
    if (status != STARPOOL_OK) {
        free(live.blocks);
        return status;
    }
    /* A search that was cut short may know less than the mere order does. */
    *antichain_out = live.weight > flow.weight ? live : flow;
    free(live.weight > flow.weight ? flow.blocks : live.blocks);
    return STARPOOL_OK;
}
