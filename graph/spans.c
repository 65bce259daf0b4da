/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph on one line: when each block lives if the nodes run one after another. Blocks that
 * the graph keeps apart are apart here, too; the converse does not hold. */
#include "config.h"

#include <stdlib.h>

#include "graph/files.h"

static void note_user(struct sp_spans *spans, uint32_t block, uint64_t position)
{
    if (position < spans->lower[block])
        spans->lower[block] = position;
    if (position + 1 > spans->upper[block])
        spans->upper[block] = position + 1;
}

/* What is there before the graph begins with it, and what stays ends with it. */
static void find_outer_ends(struct sp_spans *spans, const struct starpool_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        if (graph->blocks[i].is_input)
            spans->lower[i] = spans->begin;
        if (graph->blocks[i].is_output)
            spans->upper[i] = spans->end;
    }
}

/* The ends that nodes make, then those that are said. */
static void find_spans(struct sp_spans *spans, const struct starpool_graph *graph,
                       const uint32_t *position)
{
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        spans->lower[i] = spans->end;
        spans->upper[i] = 0;
    }
    for (uint32_t i = 0; i < graph->n_uses; i++)
        note_user(spans, graph->uses[i].block, position[graph->uses[i].node]);
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        const struct sp_graph_block *block = &graph->blocks[i];

        if (block->alloc != SP_NO_INDEX)
            note_user(spans, i, position[block->alloc]);
        if (block->free != SP_NO_INDEX)
            note_user(spans, i, position[block->free]);
    }
    find_outer_ends(spans, graph);
}

/* sp_graph_sort(), with the edges that a plan adds. */
static enum starpool_status sort(const struct starpool_graph *graph,
                                 const struct starpool_plan *plan, uint32_t *order)
{
    struct starpool_graph both = *graph;
    enum starpool_status status;

    if (plan == NULL || plan->n_edges == 0)
        return sp_graph_sort(graph, order);
    both.edges = malloc(((size_t)graph->n_edges + plan->n_edges) * sizeof(*both.edges));
    if (both.edges == NULL)
        return STARPOOL_ENOMEM;
    for (uint32_t i = 0; i < graph->n_edges; i++)
        both.edges[i] = graph->edges[i];
    for (uint32_t i = 0; i < plan->n_edges; i++)
        both.edges[both.n_edges++] =
            (struct sp_graph_edge){.from = plan->edges[i].from, .to = plan->edges[i].to};
    status = sp_graph_sort(&both, order);
    free(both.edges);
    return status;
}

static enum starpool_status line_up(struct sp_spans *spans, const struct starpool_graph *graph,
                                    const struct starpool_plan *plan)
{
    size_t n = (size_t)graph->n_nodes + 1;
    uint32_t *order = calloc(n, sizeof(*order)), *position = calloc(n, sizeof(*position));
    enum starpool_status status = STARPOOL_ENOMEM;

    spans->end = graph->n_nodes > 0 ? graph->n_nodes : 1;
    if (order != NULL && position != NULL)
        status = sort(graph, plan, order);
    if (status == STARPOOL_OK) {
        for (uint32_t i = 0; i < graph->n_nodes; i++)
            position[order[i]] = i;
        find_spans(spans, graph, position);
    }
    free(order);
    free(position);
    return status;
}

static void copy_times(struct sp_spans *spans, const struct starpool_graph *graph)
{
    spans->begin = graph->n_blocks > 0 ? UINT64_MAX : 0;
    spans->end = 1;
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        spans->lower[i] = graph->blocks[i].lower;
        spans->upper[i] = graph->blocks[i].upper;
        if (spans->lower[i] < spans->begin)
            spans->begin = spans->lower[i];
        if (spans->upper[i] > spans->end)
            spans->end = spans->upper[i];
    }
    find_outer_ends(spans, graph);
}

enum starpool_status sp_spans_init(struct sp_spans *spans, const struct starpool_graph *graph,
                                   const struct starpool_plan *plan)
{
    size_t n = (size_t)graph->n_blocks + 1;

    *spans = (struct sp_spans){
        .lower = calloc(n, sizeof(*spans->lower)),
        .upper = calloc(n, sizeof(*spans->upper)),
    };
    if (spans->lower == NULL || spans->upper == NULL)
        return STARPOOL_ENOMEM;
    if (!graph->is_timed)
        return line_up(spans, graph, plan);
    copy_times(spans, graph);
    return STARPOOL_OK;
}

void sp_spans_fini(struct sp_spans *spans)
{
    free(spans->lower);
    free(spans->upper);
}
