/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the nodes and edges of a graph for Graphviz: what each node allocates and frees stands
 * in it, and edges that a plan added are dashed. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/files.h"
#include "src/util/util.h"

static const char *colour_of(enum starpool_graph_node_kind kind)
{
    switch (kind) {
    case STARPOOL_GRAPH_NODE_ALLOC:
        return "#d9ead3";
    case STARPOOL_GRAPH_NODE_FREE:
        return "#f4cccc";
    case STARPOOL_GRAPH_NODE_KERNEL:
    case STARPOOL_GRAPH_NODE_TASK:
        return "#cfe2f3";
    case STARPOOL_GRAPH_NODE_MEMCPY:
    case STARPOOL_GRAPH_NODE_MEMSET:
        return "#fff2cc";
    case STARPOOL_GRAPH_NODE_HOST:
    case STARPOOL_GRAPH_NODE_CHILD:
        return "#d9d2e9";
    case STARPOOL_GRAPH_NODE_EMPTY:
    case STARPOOL_GRAPH_NODE_EVENT_RECORD:
    case STARPOOL_GRAPH_NODE_EVENT_WAIT:
    case STARPOOL_GRAPH_NODE_OTHER:
        break;
    }
    return "#eeeeee";
}

/* A line in a node: "+ block 3 'x', 4 KiB at 0x1000". */
static void write_block_line(FILE *out, const struct starpool_graph *graph,
                             const struct starpool_plan *plan, char sign, uint32_t block)
{
    char size[32];

    fprintf(out, "\\n%c block %" PRIu32, sign, block);
    if (graph->blocks[block].name != NULL) {
        fputs(" '", out);
        sp_write_dot_text(out, graph->blocks[block].name);
        putc('\'', out);
    }
    fprintf(out, ", %s", sp_bytes_text(size, sizeof(size), graph->blocks[block].size));
    if (plan != NULL)
        fprintf(out, " at 0x%" PRIx64, plan->offsets[block]);
}

/* The blocks that each node begins or ends with, as lists: heads a node, then one a block. */
struct lists {
    uint32_t *allocs, *frees;         /* [n_nodes] */
    uint32_t *next_alloc, *next_free; /* [n_blocks] */
};

static bool lists_init(struct lists *lists, const struct starpool_graph *graph)
{
    size_t n_nodes = (size_t)graph->n_nodes + 1, n_blocks = (size_t)graph->n_blocks + 1;

    lists->allocs = malloc(n_nodes * sizeof(*lists->allocs));
    lists->frees = malloc(n_nodes * sizeof(*lists->frees));
    lists->next_alloc = malloc(n_blocks * sizeof(*lists->next_alloc));
    lists->next_free = malloc(n_blocks * sizeof(*lists->next_free));
    if (lists->allocs == NULL || lists->frees == NULL || lists->next_alloc == NULL ||
        lists->next_free == NULL)
        return false;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        lists->allocs[i] = lists->frees[i] = SP_NO_INDEX;
    for (uint32_t i = graph->n_blocks; i-- > 0;) {
        const struct sp_graph_block *block = &graph->blocks[i];

        if (block->alloc != SP_NO_INDEX) {
            lists->next_alloc[i] = lists->allocs[block->alloc];
            lists->allocs[block->alloc] = i;
        }
        if (block->free != SP_NO_INDEX) {
            lists->next_free[i] = lists->frees[block->free];
            lists->frees[block->free] = i;
        }
    }
    return true;
}

static void lists_fini(struct lists *lists)
{
    free(lists->allocs);
    free(lists->frees);
    free(lists->next_alloc);
    free(lists->next_free);
}

static void write_node(FILE *out, const struct starpool_graph *graph,
                       const struct starpool_plan *plan, const struct lists *lists,
                       uint32_t node)
{
    fprintf(out, "    n%" PRIu32 " [fillcolor=\"%s\", label=\"%" PRIu32 " %s", node,
            colour_of(graph->nodes[node].kind), node,
            sp_node_kind_word(graph->nodes[node].kind));
    if (graph->nodes[node].name != NULL) {
        fputs("\\n", out);
        sp_write_dot_text(out, graph->nodes[node].name);
    }
    for (uint32_t i = lists->allocs[node]; i != SP_NO_INDEX; i = lists->next_alloc[i])
        write_block_line(out, graph, plan, '+', i);
    for (uint32_t i = lists->frees[node]; i != SP_NO_INDEX; i = lists->next_free[i])
        write_block_line(out, graph, plan, '-', i);
    fputs("\"];\n", out);
}

static void write_added(FILE *out, const struct starpool_plan *plan)
{
    char saved[32];

    for (uint32_t i = 0; i < plan->n_edges; i++)
        fprintf(out,
                "    n%" PRIu32 " -> n%" PRIu32
                " [style=dashed, color=\"#cc0000\", label=\"saves %s in all\"];\n",
                plan->edges[i].from, plan->edges[i].to,
                sp_bytes_text(saved, sizeof(saved), plan->edges[i].saved_bytes));
}

enum starpool_status sp_graph_write_dot(const struct starpool_graph *graph,
                                        const struct starpool_plan *plan, FILE *out)
{
    enum starpool_status status = STARPOOL_ENOMEM;
    struct lists lists;

    if (graph->is_timed)
        return STARPOOL_ENOTSUP;
    if (lists_init(&lists, graph)) {
        fputs("digraph \"", out);
        sp_write_dot_text(out, graph->name != NULL ? graph->name : "graph");
        fputs(
            "\" {\n    node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n"
            "    edge [fontname=\"sans-serif\", fontsize=9];\n",
            out);
        for (uint32_t i = 0; i < graph->n_nodes; i++)
            write_node(out, graph, plan, &lists, i);
        for (uint32_t i = 0; i < graph->n_edges; i++)
            fprintf(out, "    n%" PRIu32 " -> n%" PRIu32 ";\n", graph->edges[i].from,
                    graph->edges[i].to);
        if (plan != NULL)
            write_added(out, plan);
        fputs("}\n", out);
        status = STARPOOL_OK;
    }
    lists_fini(&lists);
    return status;
}
