/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Serves the points' demands in their order. What is left over is carried along from point to
 * point, all of it in one step; only a point where it does not suffice searches, backwards
 * through edges and forwards to where flow has gone that can be called back. A search that
 * finds nothing has shown that nothing will ever come to all that it has seen, so that no later
 * search goes there. With streams that meet often the whole is next to linear. */
#include "config.h"

#include "graph/flow.h"

#include <stdlib.h>

#include "src/util/util.h"

#define NONE UINT32_MAX

/* An edge that a search has used, and in which direction: the lowest bit is set if flow is
 * called back. */
#define USED(edge, is_back) (2 * (uint64_t)(edge) + (is_back))

struct run {
    struct sp_flow *flow;
    uint32_t *in_begin, *in;   /* [n_points + 2], [n_edges] edges into a point */
    uint32_t *out_begin, *out; /* [n_points + 2], [n_edges] edges out of a point */
    uint32_t *heir;            /* [n_points] which edge what is left over takes, or NONE */
    uint64_t *amount;          /* [n_edges] what flows there */
    uint64_t *excess;          /* [n_points] what lies there, left over */
    uint64_t *used;            /* [n_points] how the search came to a point */
    uint32_t *seen;            /* [n_points] in which search */
    uint32_t *queue;           /* [n_points] all that the search has come to */
    uint32_t *stack;           /* [n_points] of these, whose flow has not been followed */
    uint32_t n_queue, n_stack, search;
    uint64_t n_looked; /* points and edges in the search */
    uint64_t work;     /* left */
};

enum starpool_status sp_flow_init(struct sp_flow *flow, uint32_t n_points)
{
    size_t n = (size_t)n_points + 1;

    *flow = (struct sp_flow){.n_points = n_points};
    flow->demand = calloc(n, sizeof(*flow->demand));
    flow->supply = calloc(n, sizeof(*flow->supply));
    flow->is_dead = calloc(n, sizeof(*flow->is_dead));
    return flow->demand != NULL && flow->supply != NULL && flow->is_dead != NULL
               ? STARPOOL_OK
               : STARPOOL_ENOMEM;
}

void sp_flow_fini(struct sp_flow *flow)
{
    free(flow->from);
    free(flow->to);
    free(flow->demand);
    free(flow->supply);
    free(flow->is_dead);
    *flow = (struct sp_flow){.n_points = 0};
}

static bool enlarge(uint32_t **array, uint32_t room)
{
    uint32_t *larger = realloc(*array, room * sizeof(*larger));

    if (larger != NULL)
        *array = larger;
    return larger != NULL;
}

bool sp_flow_add_edge(struct sp_flow *flow, uint32_t from, uint32_t to)
{
    uint32_t room = flow->edges_room == 0 ? 64 : 2 * flow->edges_room;

    if (flow->n_edges == flow->edges_room) {
        if (room > NONE / 4 || !enlarge(&flow->from, room) || !enlarge(&flow->to, room))
            return false;
        flow->edges_room = room;
    }
    flow->from[flow->n_edges] = from;
    flow->to[flow->n_edges++] = to;
    return true;
}

/* ---- searches ------------------------------------------------------------------------ */

/* Come to a point by an edge. True if there is something to be had there. */
static inline bool come(struct run *run, uint32_t point, uint64_t used)
{
    if (run->seen[point] == run->search || run->flow->is_dead[point])
        return false;
    run->seen[point] = run->search;
    run->used[point] = used;
    run->queue[run->n_queue++] = point;
    run->stack[run->n_stack++] = point;
    return run->excess[point] > 0;
}

/* Come to where flow has gone from a point. */
static bool come_forward(struct run *run, uint32_t point, uint32_t *found_out)
{
    run->n_looked += run->out_begin[point + 1] - run->out_begin[point] + 1;
    for (uint32_t i = run->out_begin[point]; i < run->out_begin[point + 1]; i++) {
        *found_out = run->flow->to[run->out[i]];
        if (run->amount[run->out[i]] > 0 && come(run, *found_out, USED(run->out[i], 1)))
            return true;
    }
    return false;
}

static bool come_backward(struct run *run, uint32_t point, uint32_t *found_out)
{
    run->n_looked += run->in_begin[point + 1] - run->in_begin[point] + 1;
    for (uint32_t i = run->in_begin[point]; i < run->in_begin[point + 1]; i++) {
        *found_out = run->flow->from[run->in[i]];
        if (come(run, *found_out, USED(run->in[i], 0)))
            return true;
    }
    return false;
}

/* A point with something left from which a way leads to `target`, or NONE. All that was left
 * over has been carried forwards, so that flow is followed to its end before the next step
 * back. */
static uint32_t find_excess(struct run *run, uint32_t target)
{
    uint32_t found, at = 0;

    run->search++;
    run->n_queue = run->n_stack = 0;
    run->n_looked = 0;
    come(run, target, 0);
    for (;;) {
        if (run->n_stack > 0) {
            if (come_forward(run, run->stack[--run->n_stack], &found))
                return found;
        } else if (at < run->n_queue) {
            if (come_backward(run, run->queue[at++], &found))
                return found;
        } else {
            return NONE;
        }
    }
}

static uint32_t next_point(const struct run *run, uint32_t point)
{
    uint64_t used = run->used[point];

    return used & 1 ? run->flow->from[used >> 1] : run->flow->to[used >> 1];
}

/* Bring up to `wanted` from a point to the target of the last search. */
static uint64_t bring(struct run *run, uint32_t source, uint32_t target, uint64_t wanted)
{
    uint64_t amount = sp_min(wanted, run->excess[source]);

    for (uint32_t point = source; point != target; point = next_point(run, point)) {
        if (run->used[point] & 1)
            amount = sp_min(amount, run->amount[run->used[point] >> 1]);
    }
    for (uint32_t point = source; point != target; point = next_point(run, point)) {
        if (run->used[point] & 1)
            run->amount[run->used[point] >> 1] -= amount;
        else
            run->amount[run->used[point] >> 1] += amount;
    }
    run->excess[source] -= amount;
    return amount;
}

/* Search for what a point lacks. */
static void serve(struct run *run, uint32_t target, uint64_t lacking)
{
    while (lacking > 0 && run->work > 0) {
        uint32_t source = find_excess(run, target);

        run->work -= sp_min(run->work, run->n_looked + 1);
        if (source == NONE) {
            for (uint32_t i = 0; i < run->n_queue; i++)
                run->flow->is_dead[run->queue[i]] = true;
            break;
        }
        lacking -= bring(run, source, target, lacking);
    }
    run->flow->lacking += lacking;
    if (lacking > 0 && !run->flow->is_dead[target])
        run->flow->is_cut_short = true;
}

/* ---- the pass ------------------------------------------------------------------------ */

static void pass_point(struct run *run, uint32_t point)
{
    const struct sp_flow *flow = run->flow;
    uint64_t arrived = 0, taken;

    for (uint32_t i = run->in_begin[point]; i < run->in_begin[point + 1]; i++) {
        uint32_t edge = run->in[i], before = flow->from[edge];

        if (run->heir[before] == edge) {
            run->amount[edge] += run->excess[before];
            arrived += run->excess[before];
            run->excess[before] = 0;
        }
    }
    taken = sp_min(arrived, flow->demand[point]);
    run->excess[point] = arrived - taken;
    if (taken < flow->demand[point])
        serve(run, point, flow->demand[point] - taken);
    run->excess[point] += flow->supply[point];
}

/* Lists of edges by the point at one of their ends. */
static void list_edges(const struct sp_flow *flow, const uint32_t *end, uint32_t *begin,
                       uint32_t *list)
{
    for (uint32_t i = 0; i < flow->n_edges; i++)
        begin[end[i] + 2]++;
    for (uint32_t i = 2; i <= flow->n_points; i++)
        begin[i] += begin[i - 1];
    for (uint32_t i = 0; i < flow->n_edges; i++)
        list[begin[end[i] + 1]++] = i;
}

static bool prepare(struct run *run)
{
    size_t n = (size_t)run->flow->n_points + 2, n_edges = (size_t)run->flow->n_edges + 1;

    run->in_begin = calloc(n, sizeof(*run->in_begin));
    run->in = calloc(n_edges, sizeof(*run->in));
    run->out_begin = calloc(n, sizeof(*run->out_begin));
    run->out = calloc(n_edges, sizeof(*run->out));
    run->heir = calloc(n, sizeof(*run->heir));
    run->amount = calloc(n_edges, sizeof(*run->amount));
    run->excess = calloc(n, sizeof(*run->excess));
    run->used = calloc(n, sizeof(*run->used));
    run->seen = calloc(n, sizeof(*run->seen));
    run->queue = calloc(n, sizeof(*run->queue));
    run->stack = calloc(n, sizeof(*run->stack));
    return run->in_begin != NULL && run->in != NULL && run->out_begin != NULL &&
           run->out != NULL && run->heir != NULL && run->amount != NULL &&
           run->excess != NULL && run->used != NULL && run->seen != NULL &&
           run->queue != NULL && run->stack != NULL;
}

static void release(struct run *run)
{
    free(run->in_begin);
    free(run->in);
    free(run->out_begin);
    free(run->out);
    free(run->heir);
    free(run->amount);
    free(run->excess);
    free(run->used);
    free(run->seen);
    free(run->queue);
    free(run->stack);
}

enum starpool_status sp_flow_run(struct sp_flow *flow, uint64_t work)
{
    struct run run = {.flow = flow, .work = work};
    enum starpool_status status = STARPOOL_ENOMEM;

    if (prepare(&run)) {
        status = STARPOOL_OK;
        list_edges(flow, flow->to, run.in_begin, run.in);
        list_edges(flow, flow->from, run.out_begin, run.out);
        for (uint32_t i = 0; i < flow->n_points; i++) {
            run.heir[i] =
                run.out_begin[i] < run.out_begin[i + 1] ? run.out[run.out_begin[i]] : NONE;
        }
        for (uint32_t i = 0; i < flow->n_points; i++)
            pass_point(&run, i);
    }
    release(&run);
    return status;
}
