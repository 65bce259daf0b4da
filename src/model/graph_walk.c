/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Going through graphs: sets of nodes, edges, paths, orders, graphs inside graphs. A walk
 * leaves its number where it has been, so that it needs no memory and no recursion over nodes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/graph.h"
#include "src/util/util.h"

/* Behind the model's lock. */
static struct {
    uint64_t n; /* numbers given, ever */
} walks;

/* A number that no node has been marked with; the next one is the walk's, too. */
static uint64_t begin_walk(void)
{
    walks.n += 2;
    return walks.n;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static bool are_nodes_of(struct sp_model_graph *graph, const sp_cu_node *handles, size_t n,
                         struct sp_model_node **nodes)
{
    uint64_t walk = begin_walk();

    for (size_t i = 0; i < n; i++) {
        nodes[i] = sp_model_node_find(handles[i]);
        if (nodes[i] == NULL || nodes[i]->graph != graph || nodes[i]->mark == walk)
            return false;
        nodes[i]->mark = walk;
    }
    return true;
}

sp_cu_result sp_model_nodes_of(struct sp_model_graph *graph, const sp_cu_node *handles,
                               size_t n, struct sp_model_node ***nodes_out)
{
    struct sp_model_node **nodes;

    if (n > 0 && handles == NULL)
        return SP_CU_INVALID_VALUE;
    if (n > graph->n_nodes) /* One is given twice, or is none. */
        return SP_CU_INVALID_VALUE;
    nodes = calloc(sp_max(n, 1), sizeof(struct sp_model_node *));
    if (nodes == NULL)
        return SP_CU_OUT_OF_MEMORY;
    if (!are_nodes_of(graph, handles, n, nodes)) {
        free(nodes);
        return SP_CU_INVALID_VALUE;
    }
    *nodes_out = nodes;
    return SP_CU_SUCCESS;
}

/* ---- edges ----------------------------------------------------------------------------- */

size_t sp_model_node_find_edge(const struct sp_model_node *node,
                               const struct sp_model_node *dependency)
{
    size_t i = 0;

    while (i < node->n_dependencies && node->dependencies[i] != dependency)
        i++;
    return i;
}

void sp_model_node_cut(struct sp_model_node *node, size_t i)
{
    size_t n_behind = --node->n_dependencies - i;

    node->dependencies[i]->n_dependents--;
    memmove(node->dependencies + i, node->dependencies + i + 1,
            n_behind * sizeof(struct sp_model_node *));
    memmove(node->edges + i, node->edges + i + 1, n_behind * sizeof(node->edges[0]));
}

bool sp_model_node_depend(struct sp_model_node *node, struct sp_model_node *dependency,
                          const struct sp_cu_edge_data *edge)
{
    size_t room = 2 * node->room;
    struct sp_model_node **dependencies;
    struct sp_cu_edge_data *edges;

    if (node->n_dependencies == node->room) {
        dependencies = realloc(node->dependencies, room * sizeof(struct sp_model_node *));
        if (dependencies == NULL)
            return false;
        node->dependencies = dependencies;
        edges = realloc(node->edges, room * sizeof(*edges));
        if (edges == NULL)
            return false;
        node->edges = edges;
        node->room = room;
    }
    node->dependencies[node->n_dependencies] = dependency;
    node->edges[node->n_dependencies++] = *edge;
    dependency->n_dependents++;
    return true;
}

bool sp_model_edge_is_default(const struct sp_cu_edge_data *edge)
{
    return edge->from_port == 0 && edge->to_port == 0 && edge->type == 0;
}

/* Ports of a kernel: its end, where it says so itself, its beginning. The second goes with a
 * programmatic edge only, and such an edge not with the first. */
static bool is_valid(const struct sp_cu_edge_data *edge)
{
    static const unsigned char zero[sizeof(edge->reserved)];

    return edge->from_port <= 2 && edge->to_port == 0 && edge->type <= 1 &&
           !(edge->from_port == 0 && edge->type == 1) &&
           !(edge->from_port == 1 && edge->type == 0) &&
           memcmp(edge->reserved, zero, sizeof(zero)) == 0;
}

bool sp_model_edges_are_valid(const struct sp_cu_edge_data *edges, size_t n)
{
    for (size_t i = 0; edges != NULL && i < n; i++) {
        if (!is_valid(&edges[i]))
            return false;
    }
    return true;
}

/* ---- paths ----------------------------------------------------------------------------- */

/* The nodes that a walk backwards still has to look at are a list, each in it once. */
static struct sp_model_node *put_dependencies(struct sp_model_node *list,
                                              const struct sp_model_node *of, uint64_t walk)
{
    for (size_t i = 0; i < of->n_dependencies; i++) {
        struct sp_model_node *node = of->dependencies[i];

        if (node->mark == walk)
            continue;
        node->mark = walk;
        node->todo = list;
        list = node;
    }
    return list;
}

bool sp_model_graph_precedes(const struct sp_model_node *from, const struct sp_model_node *to)
{
    uint64_t walk = begin_walk();
    struct sp_model_node *list = put_dependencies(NULL, to, walk);

    while (list != NULL && list != from) {
        const struct sp_model_node *node = list;

        list = put_dependencies(list->todo, node, walk);
    }
    return list != NULL;
}

/* ---- orders ---------------------------------------------------------------------------- */

/*
 * Everything that `node` depends on, and itself, each behind its own dependencies; false if a
 * cycle is met. Nodes that the walk is still in are marked with its number and are a stack;
 * those that it is done with have the next number.
 */
static bool append(struct sp_model_node *node, uint64_t walk, struct sp_model_node **nodes,
                   size_t *n_nodes)
{
    struct sp_model_node *stack = node;

    node->mark = walk;
    node->todo = NULL;
    node->n_walked = 0;
    while (stack != NULL) {
        struct sp_model_node *next;

        if (stack->n_walked == stack->n_dependencies) {
            stack->mark = walk + 1;
            nodes[(*n_nodes)++] = stack;
            stack = stack->todo;
            continue;
        }
        next = stack->dependencies[stack->n_walked++];
        if (next->mark == walk)
            return false;
        if (next->mark == walk + 1)
            continue;
        next->mark = walk;
        next->n_walked = 0;
        next->todo = stack;
        stack = next;
    }
    return true;
}

sp_cu_result sp_model_graph_sort(const struct sp_model_graph *graph,
                                 struct sp_model_node ***nodes_out)
{
    uint64_t walk = begin_walk();
    struct sp_model_node **nodes =
        calloc(sp_max(graph->n_nodes, 1), sizeof(struct sp_model_node *));
    size_t n_nodes = 0;

    if (nodes == NULL)
        return SP_CU_OUT_OF_MEMORY;
    for (struct sp_model_node *node = graph->first; node != NULL; node = node->next) {
        if (node->mark != walk + 1 && !append(node, walk, nodes, &n_nodes)) {
            free(nodes);
            return SP_CU_INVALID_VALUE;
        }
    }
    *nodes_out = nodes;
    return SP_CU_SUCCESS;
}

/* ---- graphs inside graphs -------------------------------------------------------------- */

struct sp_model_graph *sp_model_graph_around(const struct sp_model_graph *graph)
{
    return graph->owner == NULL ? NULL : graph->owner->graph;
}

static bool is_work_captured(const struct sp_model_work *work)
{
    if (work->type == SP_CU_NODE_GRAPH)
        return sp_model_graph_is_captured(work->child);
    if (work->type != SP_CU_NODE_CONDITIONAL)
        return false;
    for (unsigned i = 0; i < work->condition.params.size; i++) {
        if (sp_model_graph_is_captured(work->condition.bodies[i]))
            return true;
    }
    return false;
}

bool sp_model_graph_is_captured(const struct sp_model_graph *graph)
{
    if (graph->capture != NULL)
        return true;
    for (const struct sp_model_node *node = graph->first; node != NULL; node = node->next) {
        if (is_work_captured(&node->work))
            return true;
    }
    return false;
}
