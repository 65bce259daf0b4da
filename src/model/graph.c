/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs of the model and their nodes as objects: what their handles mean, how they come and
 * go. What nodes do is checked by those who add them. */
#include "config.h"

#include "src/model/graph.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/kernels.h"
#include "src/model/tickets.h"
#include "src/util/util.h"

/* Behind the model's lock. */
static struct {
    struct sp_tickets handles, nodes;
    struct sp_model_graph *all;
} graphs = {.handles = {.kind = SP_TICKET_GRAPH}, .nodes = {.kind = SP_TICKET_NODE}};

/* ---- what a handle means --------------------------------------------------------------- */

struct sp_model_graph *sp_model_graph_find(sp_cu_graph handle)
{
    struct sp_model_graph *graph = sp_tickets_find(&graphs.handles, handle);

    if (graph == NULL && sp_tickets_is_stale(&graphs.handles, handle))
        sp_model_violation("the handle %p is of a graph that has been destroyed",
                           (void *)handle);
    return graph;
}

struct sp_model_node *sp_model_node_find(sp_cu_node handle)
{
    struct sp_model_node *node = sp_tickets_find(&graphs.nodes, handle);

    if (node == NULL && sp_tickets_is_stale(&graphs.nodes, handle))
        sp_model_violation("the handle %p is of a node that has been destroyed",
                           (void *)handle);
    return node;
}

/* ---- a graph's life -------------------------------------------------------------------- */

struct sp_model_graph *sp_model_graph_new(void)
{
    struct sp_model_graph *graph = calloc(1, sizeof(*graph));

    if (graph == NULL)
        return NULL;
    graph->handle = sp_tickets_add(&graphs.handles, graph);
    if (graph->handle == NULL) {
        free(graph);
        return NULL;
    }
    graph->next = graphs.all;
    graph->link = &graphs.all;
    if (graph->next != NULL)
        graph->next->link = &graph->next;
    graphs.all = graph;
    return graph;
}

bool sp_model_work_is_memory(const struct sp_model_work *work)
{
    return work->type == SP_CU_NODE_MEM_ALLOC || work->type == SP_CU_NODE_MEM_FREE;
}

void sp_model_work_release(struct sp_model_work *work)
{
    if (work->type == SP_CU_NODE_GRAPH)
        sp_model_graph_delete(work->child);
    if (work->type == SP_CU_NODE_KERNEL)
        sp_model_kernel_put(work->kernel);
    if (sp_model_work_is_memory(work))
        sp_model_alloc_put(work->alloc);
    if (work->type != SP_CU_NODE_CONDITIONAL)
        return;
    for (unsigned i = 0; i < work->condition.params.size; i++)
        sp_model_graph_delete(work->condition.bodies[i]);
    free(work->condition.params.graphs_out);
    free(work->condition.bodies);
}

/* It is in no list, and no edge leads to it. */
static void delete_node(struct sp_model_node *node)
{
    if (sp_model_work_is_memory(&node->work))
        sp_model_alloc_unbind(node);
    sp_model_work_release(&node->work);
    sp_tickets_remove(&graphs.nodes, node->handle);
    free(node->dependencies);
    free(node->edges);
    free(node);
}

static void delete_conditions(struct sp_model_graph *graph)
{
    while (graph->conditions != NULL) {
        struct sp_model_condition *condition = graph->conditions;

        graph->conditions = condition->next;
        free(condition);
    }
}

void sp_model_graph_delete(struct sp_model_graph *graph)
{
    if (graph->execs != NULL)
        sp_model_execs_orphan(graph);
    while (graph->first != NULL) {
        struct sp_model_node *node = graph->first;

        graph->first = node->next;
        delete_node(node);
    }
    delete_conditions(graph);
    sp_model_held_put(&graph->held);
    *graph->link = graph->next;
    if (graph->next != NULL)
        graph->next->link = graph->link;
    sp_tickets_remove(&graphs.handles, graph->handle);
    free(graph);
}

/* The newest first, so that one that belongs to a node may be, too: its node's graph goes with
 * it then. */
void sp_model_graphs_reset(void)
{
    struct sp_model_graph *graph;

    while ((graph = graphs.all) != NULL) {
        while (graph->owner != NULL)
            graph = graph->owner->graph;
        sp_model_graph_delete(graph);
    }
    sp_tickets_fini(&graphs.handles);
    sp_tickets_fini(&graphs.nodes);
}

/* ---- a node's life --------------------------------------------------------------------- */

static struct sp_model_node *new_node(size_t n_dependencies)
{
    struct sp_model_node *node = calloc(1, sizeof(*node));
    size_t room = sp_max(n_dependencies, 1);

    if (node == NULL)
        return NULL;
    node->dependencies = calloc(room, sizeof(struct sp_model_node *));
    node->edges = calloc(room, sizeof(*node->edges));
    node->room = room;
    if (node->dependencies != NULL && node->edges != NULL)
        node->handle = sp_tickets_add(&graphs.nodes, node);
    if (node->handle != NULL)
        return node;
    free(node->dependencies);
    free(node->edges);
    free(node);
    return NULL;
}

/* What a node says of its graph, and of all that the graph is in. */
static void tell_graphs(struct sp_model_graph *graph, const struct sp_model_work *work)
{
    bool is_child = work->type == SP_CU_NODE_GRAPH;
    bool has_memory = (is_child && work->child->has_memory) || sp_model_work_is_memory(work);
    bool has_condition =
        (is_child && work->child->has_condition) || work->type == SP_CU_NODE_CONDITIONAL;

    for (; graph != NULL; graph = sp_model_graph_around(graph)) {
        graph->has_memory = graph->has_memory || has_memory;
        graph->has_condition = graph->has_condition || has_condition;
    }
}

static void adopt(struct sp_model_node *node)
{
    if (node->work.type == SP_CU_NODE_GRAPH)
        node->work.child->owner = node;
    for (unsigned i = 0;
         node->work.type == SP_CU_NODE_CONDITIONAL && i < node->work.condition.params.size; i++)
        node->work.condition.bodies[i]->owner = node;
}

struct sp_model_node *sp_model_graph_add(struct sp_model_graph *graph,
                                         const struct sp_model_work *work,
                                         struct sp_model_node *const *dependencies,
                                         const struct sp_cu_edge_data *edges,
                                         size_t n_dependencies)
{
    struct sp_model_node *node = new_node(n_dependencies);

    if (node == NULL)
        return NULL;
    node->graph = graph;
    node->work = *work;
    node->number = graph->n_created++;
    node->n_dependencies = n_dependencies;
    for (size_t i = 0; i < n_dependencies; i++) {
        node->dependencies[i] = dependencies[i];
        dependencies[i]->n_dependents++;
    }
    if (n_dependencies > 0 && edges != NULL)
        memcpy(node->edges, edges, n_dependencies * sizeof(*edges));
    if (graph->last != NULL)
        graph->last->next = node;
    else
        graph->first = node;
    graph->last = node;
    graph->n_nodes++;
    adopt(node);
    tell_graphs(graph, work);
    return node;
}

static void unlink_node(struct sp_model_node *node)
{
    struct sp_model_graph *graph = node->graph;
    struct sp_model_node *before = NULL;

    for (struct sp_model_node *at = graph->first; at != node; at = at->next)
        before = at;
    if (before == NULL)
        graph->first = node->next;
    else
        before->next = node->next;
    if (graph->last == node)
        graph->last = before;
    graph->n_nodes--;
}

/* Whether a node of a graph has conditional ones: known anew when one went. */
static bool has_conditions(const struct sp_model_graph *graph)
{
    for (const struct sp_model_node *node = graph->first; node != NULL; node = node->next) {
        if (node->work.type == SP_CU_NODE_CONDITIONAL ||
            (node->work.type == SP_CU_NODE_GRAPH && node->work.child->has_condition))
            return true;
    }
    return false;
}

void sp_model_graph_remove(struct sp_model_node *node)
{
    struct sp_model_graph *graph = node->graph;

    for (size_t i = 0; i < node->n_dependencies; i++)
        node->dependencies[i]->n_dependents--;
    for (struct sp_model_node *other = graph->first; node->n_dependents > 0;
         other = other->next) {
        size_t i = sp_model_node_find_edge(other, node);

        if (i < other->n_dependencies)
            sp_model_node_cut(other, i);
    }
    unlink_node(node);
    delete_node(node);
    for (; graph != NULL; graph = sp_model_graph_around(graph))
        graph->has_condition = has_conditions(graph);
}

/* ---- entry points ---------------------------------------------------------------------- */

sp_cu_result sp_model_cuGraphCreate(sp_cu_graph *graph_out, unsigned flags)
{
    struct sp_model_graph *graph;

    SP_MODEL_ENTER(cuGraphCreate);
    if (graph_out == NULL || flags != 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    graph = sp_model_graph_new();
    if (graph == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    *graph_out = graph->handle;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* One that belongs to a node or to a capture is theirs to destroy. */
sp_cu_result sp_model_cuGraphDestroy(sp_cu_graph handle)
{
    struct sp_model_graph *graph;

    SP_MODEL_ENTER(cuGraphDestroy);
    graph = sp_model_graph_find(handle);
    if (graph == NULL || graph->owner != NULL || sp_model_graph_is_captured(graph))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    sp_model_graph_delete(graph);
    return sp_model_leave(SP_CU_SUCCESS);
}
