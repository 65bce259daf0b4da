/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The shape of graphs, asked and changed. Cycles can be made here: instantiating the graph
 * finds them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/graph.h"
#include "src/util/util.h"

/* ---- lists ----------------------------------------------------------------------------- */

/* Where a list goes. The driver's way with each: without arrays only the count is told;
 * entries behind the last are NULL, and the count is lowered to what there is. */
struct list {
    sp_cu_node *from, *to; /* of edges; of nodes only `from` */
    struct sp_cu_edge_data *edges;
    size_t room; /* of the caller's arrays */
    size_t n;    /* there are */
    bool is_lossy;
};

static void put(struct list *list, const struct sp_model_node *from,
                const struct sp_model_node *to, const struct sp_cu_edge_data *edge)
{
    size_t i = list->n++;

    list->is_lossy = list->is_lossy || (edge != NULL && !sp_model_edge_is_default(edge));
    if (i >= list->room)
        return;
    if (list->from != NULL)
        list->from[i] = from->handle;
    if (list->to != NULL)
        list->to[i] = to->handle;
    if (list->edges != NULL)
        list->edges[i] = edge == NULL ? (struct sp_cu_edge_data){0} : *edge;
}

static void end_list(struct list *list, size_t *n_out)
{
    for (size_t i = list->n; list->from != NULL && i < list->room; i++) {
        list->from[i] = NULL;
        if (list->to != NULL)
            list->to[i] = NULL;
    }
    *n_out = list->from == NULL ? list->n : sp_min(list->n, list->room);
}

/* The nodes of a graph, or those without dependencies. */
static sp_cu_result list_nodes(sp_cu_graph handle, bool only_roots, sp_cu_node *nodes_out,
                               size_t *n_nodes)
{
    const struct sp_model_graph *graph = sp_model_graph_find(handle);
    struct list list = {.from = nodes_out};

    if (graph == NULL || n_nodes == NULL)
        return SP_CU_INVALID_VALUE;
    list.room = nodes_out == NULL ? 0 : *n_nodes;
    for (const struct sp_model_node *node = graph->first; node != NULL; node = node->next) {
        if (!only_roots || node->n_dependencies == 0)
            put(&list, node, NULL, NULL);
    }
    end_list(&list, n_nodes);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphGetNodes(sp_cu_graph graph, sp_cu_node *nodes_out, size_t *n_nodes)
{
    SP_MODEL_ENTER(cuGraphGetNodes);
    return sp_model_leave(list_nodes(graph, false, nodes_out, n_nodes));
}

sp_cu_result sp_model_cuGraphGetRootNodes(sp_cu_graph graph, sp_cu_node *nodes_out,
                                          size_t *n_nodes)
{
    SP_MODEL_ENTER(cuGraphGetRootNodes);
    return sp_model_leave(list_nodes(graph, true, nodes_out, n_nodes));
}

/* ---- lists with edge data -------------------------------------------------------------- */

static void put_dependencies(struct list *list, const struct sp_model_node *node)
{
    for (size_t i = 0; i < node->n_dependencies; i++)
        put(list, node->dependencies[i], node, &node->edges[i]);
}

static void put_dependents(struct list *list, const struct sp_model_node *node)
{
    size_t n = node->n_dependents;

    for (const struct sp_model_node *other = node->graph->first; n > 0; other = other->next) {
        size_t i = sp_model_node_find_edge(other, node);

        if (i == other->n_dependencies)
            continue;
        put(list, other, NULL, &other->edges[i]);
        n--;
    }
}

/* What a list is of: all edges of a graph, or what is before or behind a node. */
struct subject {
    const struct sp_model_graph *graph;
    const struct sp_model_node *before, *behind;
};

static void put_all(struct list *list, const struct subject *subject)
{
    list->n = 0;
    list->is_lossy = false;
    if (subject->before != NULL)
        put_dependencies(list, subject->before);
    if (subject->behind != NULL)
        put_dependents(list, subject->behind);
    for (const struct sp_model_node *node = subject->graph == NULL ? NULL
                                                                   : subject->graph->first;
         node != NULL; node = node->next)
        put_dependencies(list, node);
}

/* Edge data that means something must be asked for by who asks for nodes; nothing is written
 * then. */
static sp_cu_result list_edges(const struct subject *subject, struct list *list, size_t *n)
{
    struct list counted = {0};

    if (n == NULL || (list->edges != NULL && list->from == NULL))
        return SP_CU_INVALID_VALUE;
    put_all(&counted, subject);
    if (counted.is_lossy && list->from != NULL && list->edges == NULL)
        return SP_CU_LOSSY_QUERY;
    list->room = list->from == NULL ? 0 : *n;
    put_all(list, subject);
    end_list(list, n);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphGetEdges(sp_cu_graph handle, sp_cu_node *from_out,
                                      sp_cu_node *to_out, struct sp_cu_edge_data *edges_out,
                                      size_t *n_edges)
{
    struct list list = {.from = from_out, .to = to_out, .edges = edges_out};
    struct subject subject = {0};

    SP_MODEL_ENTER(cuGraphGetEdges);
    subject.graph = sp_model_graph_find(handle);
    if (subject.graph == NULL || (from_out == NULL) != (to_out == NULL))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(list_edges(&subject, &list, n_edges));
}

/* The nodes before or behind one. */
static sp_cu_result list_around(sp_cu_node handle, bool is_before, struct list *list,
                                size_t *n_nodes)
{
    const struct sp_model_node *node = sp_model_node_find(handle);
    struct subject subject = {0};

    if (node == NULL)
        return SP_CU_INVALID_VALUE;
    if (is_before)
        subject.before = node;
    else
        subject.behind = node;
    return list_edges(&subject, list, n_nodes);
}

sp_cu_result sp_model_cuGraphNodeGetDependencies(sp_cu_node node, sp_cu_node *nodes_out,
                                                 struct sp_cu_edge_data *edges_out,
                                                 size_t *n_nodes)
{
    struct list list = {.from = nodes_out, .edges = edges_out};

    SP_MODEL_ENTER(cuGraphNodeGetDependencies);
    return sp_model_leave(list_around(node, true, &list, n_nodes));
}

sp_cu_result sp_model_cuGraphNodeGetDependentNodes(sp_cu_node node, sp_cu_node *nodes_out,
                                                   struct sp_cu_edge_data *edges_out,
                                                   size_t *n_nodes)
{
    struct list list = {.from = nodes_out, .edges = edges_out};

    SP_MODEL_ENTER(cuGraphNodeGetDependentNodes);
    return sp_model_leave(list_around(node, false, &list, n_nodes));
}

/* ---- adding edges ---------------------------------------------------------------------- */

/* Edges that a call is about, of which it does all or none. */
struct change {
    struct sp_model_graph *graph;
    const sp_cu_node *from, *to;         /* [n] */
    const struct sp_cu_edge_data *edges; /* [n] or NULL */
    size_t n;
};

static bool is_change_valid(const struct change *change)
{
    return change->graph != NULL &&
           (change->n == 0 || (change->from != NULL && change->to != NULL)) &&
           sp_model_edges_are_valid(change->edges, change->n);
}

/* The ends of one edge; false if they are not two nodes of the graph. */
static bool find_ends(const struct change *change, size_t i, struct sp_model_node **from_out,
                      struct sp_model_node **to_out)
{
    struct sp_model_node *from = sp_model_node_find(change->from[i]);
    struct sp_model_node *to = sp_model_node_find(change->to[i]);

    if (from == NULL || to == NULL || from == to || from->graph != change->graph ||
        to->graph != change->graph)
        return false;
    *from_out = from;
    *to_out = to;
    return true;
}

static const struct sp_cu_edge_data *edge_of(const struct change *change, size_t i)
{
    static const struct sp_cu_edge_data none;

    return change->edges == NULL ? &none : &change->edges[i];
}

/* An edge that is there already, whatever its data, is an error. */
static sp_cu_result add_edge(const struct change *change, size_t i)
{
    struct sp_model_node *from, *to;

    if (!find_ends(change, i, &from, &to) ||
        sp_model_node_find_edge(to, from) < to->n_dependencies)
        return SP_CU_INVALID_VALUE;
    return sp_model_node_depend(to, from, edge_of(change, i)) ? SP_CU_SUCCESS
                                                              : SP_CU_OUT_OF_MEMORY;
}

static sp_cu_result add_edges(const struct change *change)
{
    struct sp_model_node *from, *to;
    sp_cu_result result = SP_CU_SUCCESS;
    size_t n_added = 0;

    if (!is_change_valid(change))
        return SP_CU_INVALID_VALUE;
    while (n_added < change->n && (result = add_edge(change, n_added)) == SP_CU_SUCCESS)
        n_added++;
    while (result != SP_CU_SUCCESS && n_added-- > 0) {
        if (find_ends(change, n_added, &from, &to))
            sp_model_node_cut(to, to->n_dependencies - 1);
    }
    return result;
}

sp_cu_result sp_model_cuGraphAddDependencies(sp_cu_graph handle, const sp_cu_node *from,
                                             const sp_cu_node *to,
                                             const struct sp_cu_edge_data *edges, size_t n)
{
    struct change change = {.from = from, .to = to, .edges = edges, .n = n};

    SP_MODEL_ENTER(cuGraphAddDependencies);
    change.graph = sp_model_graph_find(handle);
    return sp_model_leave(add_edges(&change));
}

/* ---- removing -------------------------------------------------------------------------- */

/* `place_out` is where the edge was among the dependencies. */
static bool remove_edge(const struct change *change, size_t i, size_t *place_out)
{
    struct sp_model_node *from, *to;
    size_t place;

    if (!find_ends(change, i, &from, &to))
        return false;
    place = sp_model_node_find_edge(to, from);
    if (place == to->n_dependencies ||
        memcmp(&to->edges[place], edge_of(change, i), sizeof(to->edges[place])) != 0)
        return false;
    sp_model_node_cut(to, place);
    *place_out = place;
    return true;
}

/* As it was, for which there is room. */
static void restore_edge(const struct change *change, size_t i, size_t place)
{
    struct sp_model_node *from, *to;

    if (!find_ends(change, i, &from, &to))
        return;
    (void)!sp_model_node_depend(to, from, edge_of(change, i));
    for (size_t at = to->n_dependencies - 1; at > place; at--) {
        to->dependencies[at] = to->dependencies[at - 1];
        to->edges[at] = to->edges[at - 1];
    }
    to->dependencies[place] = from;
    to->edges[place] = *edge_of(change, i);
}

/* Nothing goes from a graph with memory nodes (GNODE-27). */
static sp_cu_result remove_edges(const struct change *change)
{
    size_t n_removed = 0;
    bool is_done;
    size_t *places;

    if (!is_change_valid(change))
        return SP_CU_INVALID_VALUE;
    if (change->graph->has_memory)
        return SP_CU_NOT_SUPPORTED;
    places = calloc(sp_max(change->n, 1), sizeof(*places));
    if (places == NULL)
        return SP_CU_OUT_OF_MEMORY;
    while (n_removed < change->n && remove_edge(change, n_removed, &places[n_removed]))
        n_removed++;
    is_done = n_removed == change->n;
    while (!is_done && n_removed-- > 0)
        restore_edge(change, n_removed, places[n_removed]);
    free(places);
    return is_done ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE;
}

sp_cu_result sp_model_cuGraphRemoveDependencies(sp_cu_graph handle, const sp_cu_node *from,
                                                const sp_cu_node *to,
                                                const struct sp_cu_edge_data *edges, size_t n)
{
    struct change change = {.from = from, .to = to, .edges = edges, .n = n};

    SP_MODEL_ENTER(cuGraphRemoveDependencies);
    change.graph = sp_model_graph_find(handle);
    return sp_model_leave(remove_edges(&change));
}

/* A node of a graph that is being captured into stays, too (CAP-17). */
static sp_cu_result destroy_node(struct sp_model_node *node)
{
    if (node == NULL)
        return SP_CU_INVALID_VALUE;
    if (node->graph->has_memory)
        return SP_CU_NOT_SUPPORTED;
    if (sp_model_graph_is_captured(node->graph))
        return SP_CU_INVALID_VALUE;
    sp_model_graph_remove(node);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphDestroyNode(sp_cu_node handle)
{
    SP_MODEL_ENTER(cuGraphDestroyNode);
    return sp_model_leave(destroy_node(sp_model_node_find(handle)));
}
