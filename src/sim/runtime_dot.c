/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph as a drawing in the words of DOT. */
#include "config.h"

#include "src/sim/runtime.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/util/util.h"

static const char *name_of(sp_cu_node node)
{
    static const char *const names[] = {
        [SP_CU_NODE_KERNEL] = "kernel",       [SP_CU_NODE_MEMCPY] = "memcpy",
        [SP_CU_NODE_MEMSET] = "memset",       [SP_CU_NODE_HOST] = "host",
        [SP_CU_NODE_GRAPH] = "graph",         [SP_CU_NODE_EMPTY] = "empty",
        [SP_CU_NODE_WAIT_EVENT] = "wait",     [SP_CU_NODE_EVENT_RECORD] = "record",
        [SP_CU_NODE_MEM_ALLOC] = "alloc",     [SP_CU_NODE_MEM_FREE] = "free",
        [SP_CU_NODE_BATCH_MEM_OP] = "values", [SP_CU_NODE_CONDITIONAL] = "conditional",
    };
    int type = -1;

    if (sp_cu()->cuGraphNodeGetType(node, &type) != SP_CU_SUCCESS || type < 0 ||
        (size_t)type >= SP_ARRAY_SIZE(names) || names[type] == NULL)
        return "node";
    return names[type];
}

static int print_nodes(FILE *file, sp_cu_graph graph)
{
    size_t n_nodes = 0;
    sp_cu_node *nodes;
    int result = sp_cu()->cuGraphGetNodes(graph, NULL, &n_nodes);

    if (result != SP_CU_SUCCESS || n_nodes == 0)
        return result;
    nodes = calloc(n_nodes, sizeof(sp_cu_node));
    if (nodes == NULL)
        return SP_CU_OUT_OF_MEMORY;
    result = sp_cu()->cuGraphGetNodes(graph, nodes, &n_nodes);
    for (size_t i = 0; i < n_nodes && result == SP_CU_SUCCESS; i++)
        fprintf(file, "    \"%p\" [label=\"%s\"];\n", (void *)nodes[i], name_of(nodes[i]));
    free(nodes);
    return result;
}

static int print_edges(FILE *file, sp_cu_graph graph)
{
    size_t n_edges = 0;
    struct edge_ends {
        sp_cu_node *from, *to;
        struct sp_cu_edge_data *data;
    } ends;
    int result = sp_cu()->cuGraphGetEdges(graph, NULL, NULL, NULL, &n_edges);

    if (result != SP_CU_SUCCESS || n_edges == 0)
        return result;
    ends.from = calloc(n_edges, sizeof(sp_cu_node));
    ends.to = calloc(n_edges, sizeof(sp_cu_node));
    ends.data = calloc(n_edges, sizeof(*ends.data));
    if (ends.from == NULL || ends.to == NULL || ends.data == NULL)
        result = SP_CU_OUT_OF_MEMORY;
    else
        result = sp_cu()->cuGraphGetEdges(graph, ends.from, ends.to, ends.data, &n_edges);
    for (size_t i = 0; i < n_edges && result == SP_CU_SUCCESS; i++)
        fprintf(file, "    \"%p\" -> \"%p\";\n", (void *)ends.from[i], (void *)ends.to[i]);
    free(ends.from);
    free(ends.to);
    free(ends.data);
    return result;
}

static int print(sp_cu_graph graph, const char *path)
{
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    int result;

    if (file == NULL)
        return path == NULL ? SP_CU_INVALID_VALUE : SP_CU_OPERATING_SYSTEM;
    fprintf(file, "digraph graph_%p {\n", (void *)graph);
    result = print_nodes(file, graph);
    if (result == SP_CU_SUCCESS)
        result = print_edges(file, graph);
    fprintf(file, "}\n");
    return fclose(file) == 0 ? result : SP_CU_OPERATING_SYSTEM;
}

/* What the flags ask for beyond that is not there. */
int cudaGraphDebugDotPrint(sp_cu_graph graph, const char *path, unsigned flags)
{
    (void)flags;
    return SP_RUNTIME(print(graph, path));
}
