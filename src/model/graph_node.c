/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adding nodes: where they belong, and those that own something: allocations, graphs inside
 * graphs, conditions. */
#include "config.h"

#include <stdlib.h>

#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* Flags of cuGraphConditionalHandleCreate(). */
enum { ASSIGN_DEFAULT = 1 };

/* Where a node is to be added. */
struct place {
    struct sp_model_graph *graph;
    struct sp_model_node **dependencies; /* [n] to be freed */
    const struct sp_cu_edge_data *edges; /* [n] or NULL */
    size_t n;
};

/* Behind the model's lock. */
static struct {
    sp_cu_conditional last; /* handle given */
} conditions;

/* ---- graphs inside graphs -------------------------------------------------------------- */

sp_cu_result sp_model_moved_result(void)
{
    return sp_model_switch(SP_SWITCH_moved_child) == 0 ? SP_CU_NOT_SUPPORTED
                                                       : SP_CU_INVALID_VALUE;
}

sp_cu_result sp_model_graph_takes_memory(const struct sp_model_graph *graph)
{
    const struct sp_model_graph *at = graph;

    do {
        if (at->is_conditional_body)
            return sp_model_switch(SP_SWITCH_body_memory) == 0 ? SP_CU_NOT_SUPPORTED
                                                               : SP_CU_INVALID_VALUE;
        at = sp_model_graph_around(at);
    } while (at != NULL);
    if (graph->is_moved)
        return sp_model_moved_result();
    return graph->owner != NULL ? SP_CU_NOT_SUPPORTED : SP_CU_SUCCESS;
}

static bool is_inside(const struct sp_model_graph *graph, const struct sp_model_graph *outer)
{
    while (graph != NULL && graph != outer)
        graph = sp_model_graph_around(graph);
    return graph != NULL;
}

/* Whether a graph may become part of another, whole. It may have an executable of its own, but
 * not one that has its allocations. */
static sp_cu_result check_move(const struct sp_model_graph *graph,
                               const struct sp_model_graph *child)
{
    if (child->owner != NULL || is_inside(graph, child) || sp_model_graph_is_captured(child))
        return SP_CU_INVALID_VALUE;
    if (child->has_condition || (child->has_memory && child->execs != NULL))
        return SP_CU_NOT_SUPPORTED;
    return child->has_memory ? sp_model_graph_takes_memory(graph) : SP_CU_SUCCESS;
}

static sp_cu_result make_child(const struct place *place,
                               const struct sp_cu_child_params *params,
                               struct sp_model_work *work)
{
    struct sp_model_graph *child = sp_model_graph_find(params->graph);
    sp_cu_result result;

    if (child == NULL)
        return SP_CU_INVALID_VALUE;
    if (child->is_moved)
        return sp_model_moved_result();
    switch (params->ownership) {
    case SP_CU_CHILD_CLONE:
        return sp_model_graph_clone(child, &work->child);
    case SP_CU_CHILD_MOVE:
        result = check_move(place->graph, child);
        if (result == SP_CU_SUCCESS)
            work->child = child;
        return result;
    default:
        return SP_CU_INVALID_VALUE;
    }
}

/* ---- allocations ----------------------------------------------------------------------- */

static sp_cu_result make_free(const struct place *place, sp_cu_ptr ptr,
                              struct sp_model_work *work)
{
    sp_cu_result result = sp_model_alloc_to_free(place->graph, ptr, &work->alloc);

    if (result == SP_CU_SUCCESS)
        sp_model_alloc_get(work->alloc);
    return result;
}

/* ---- conditions ------------------------------------------------------------------------ */

/* The handle's record, which is with the node's graph or one around it; NULL if there is none.
 */
static struct sp_model_condition *find_condition(const struct sp_model_graph *graph,
                                                 sp_cu_conditional handle)
{
    for (; graph != NULL; graph = sp_model_graph_around(graph)) {
        for (struct sp_model_condition *condition = graph->conditions; condition != NULL;
             condition = condition->next) {
            if (condition->handle == handle)
                return condition;
        }
    }
    return NULL;
}

static bool is_size_valid(int type, unsigned size)
{
    switch (type) {
    case SP_CU_CONDITION_IF:
        return size == 1 || size == 2;
    case SP_CU_CONDITION_WHILE:
        return size == 1;
    case SP_CU_CONDITION_SWITCH:
        return size > 0;
    default:
        return false;
    }
}

/* `params.size` counts what there is, so that work can be released at any time. */
static bool make_bodies(struct sp_model_work *work, unsigned size)
{
    work->condition.params.size = 0;
    work->condition.bodies = calloc(size, sizeof(struct sp_model_graph *));
    work->condition.params.graphs_out = calloc(size, sizeof(sp_cu_graph));
    if (work->condition.bodies == NULL || work->condition.params.graphs_out == NULL)
        return false;
    for (unsigned i = 0; i < size; i++) {
        struct sp_model_graph *body = sp_model_graph_new();

        if (body == NULL)
            return false;
        body->is_conditional_body = true;
        work->condition.bodies[i] = body;
        work->condition.params.graphs_out[i] = body->handle;
        work->condition.params.size++;
    }
    return true;
}

static sp_cu_result make_condition(const struct place *place,
                                   struct sp_cu_conditional_params *params,
                                   struct sp_model_work *work)
{
    struct sp_model_condition *condition = find_condition(place->graph, params->handle);
    struct sp_model_context *context =
        params->context == NULL ? sp_model_current() : sp_model_context_find(params->context);

    if (condition == NULL || condition->is_used || !is_size_valid(params->type, params->size))
        return SP_CU_INVALID_VALUE;
    if (context == NULL || context != condition->context)
        return SP_CU_INVALID_CONTEXT;
    work->condition.params = *params;
    work->condition.value = condition->value;
    if (!make_bodies(work, params->size)) {
        sp_model_work_release(work);
        return SP_CU_OUT_OF_MEMORY;
    }
    condition->is_used = true;
    params->graphs_out = work->condition.params.graphs_out;
    return SP_CU_SUCCESS;
}

/* ---- adding ---------------------------------------------------------------------------- */

static sp_cu_result find_place(sp_cu_graph handle, const sp_cu_node *dependencies,
                               struct place *place)
{
    place->graph = sp_model_graph_find(handle);
    if (place->graph == NULL || !sp_model_edges_are_valid(place->edges, place->n))
        return SP_CU_INVALID_VALUE;
    return sp_model_nodes_of(place->graph, dependencies, place->n, &place->dependencies);
}

static sp_cu_result make_work(const struct place *place, struct sp_cu_node_params *params,
                              struct sp_model_work *work)
{
    work->type = params->type;
    switch (params->type) {
    case SP_CU_NODE_GRAPH:
        return make_child(place, &params->child, work);
    case SP_CU_NODE_MEM_ALLOC:
        return sp_model_alloc_new(place->graph, &params->alloc, place->dependencies, place->n,
                                  &work->alloc);
    case SP_CU_NODE_MEM_FREE:
        return make_free(place, params->free, work);
    case SP_CU_NODE_CONDITIONAL:
        return make_condition(place, &params->conditional, work);
    default:
        return params->type < 0 || params->type > SP_CU_NODE_CONDITIONAL
                   ? SP_CU_INVALID_VALUE
                   : sp_model_work_of(params, work);
    }
}

/* The node is there; what it owns is told so. */
static void settle(struct sp_model_node *node, bool is_move)
{
    if (node->work.type == SP_CU_NODE_MEM_ALLOC)
        sp_model_alloc_bind(node->work.alloc, node);
    else if (node->work.type == SP_CU_NODE_MEM_FREE)
        sp_model_free_bind(node->work.alloc, node);
    else if (node->work.type == SP_CU_NODE_GRAPH)
        node->work.child->is_moved = is_move;
}

/* A condition's handle can be used again, and a graph that was to be moved stays where it was.
 */
static void undo(const struct place *place, struct sp_model_work *work, bool is_move)
{
    if (work->type == SP_CU_NODE_CONDITIONAL)
        find_condition(place->graph, work->condition.params.handle)->is_used = false;
    if (!is_move)
        sp_model_work_release(work);
}

static sp_cu_result add_to(const struct place *place, struct sp_cu_node_params *params,
                           sp_cu_node *node_out)
{
    bool is_move =
        params->type == SP_CU_NODE_GRAPH && params->child.ownership == SP_CU_CHILD_MOVE;
    struct sp_model_work work = {0};
    struct sp_model_node *node;
    sp_cu_result result = make_work(place, params, &work);

    if (result != SP_CU_SUCCESS)
        return result;
    node = sp_model_graph_add(place->graph, &work, place->dependencies, place->edges, place->n);
    if (node == NULL) {
        undo(place, &work, is_move);
        return SP_CU_OUT_OF_MEMORY;
    }
    settle(node, is_move);
    *node_out = node->handle;
    return SP_CU_SUCCESS;
}

/* What every row that adds a node does, between entering and leaving. */
static sp_cu_result add(sp_cu_node *node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
                        size_t n, const struct sp_cu_edge_data *edges,
                        struct sp_cu_node_params *params)
{
    struct place place = {.edges = edges, .n = n};
    sp_cu_result result;

    if (node_out == NULL || !sp_model_params_are_clean(params))
        return SP_CU_INVALID_VALUE;
    result = find_place(graph, dependencies, &place);
    if (result != SP_CU_SUCCESS)
        return result;
    result = add_to(&place, params, node_out);
    free(place.dependencies);
    return result;
}

/* ---- entry points ---------------------------------------------------------------------- */

sp_cu_result sp_model_cuGraphAddNode(sp_cu_node *node_out, sp_cu_graph graph,
                                     const sp_cu_node *dependencies,
                                     const struct sp_cu_edge_data *edges, size_t n,
                                     struct sp_cu_node_params *params)
{
    SP_MODEL_ENTER(cuGraphAddNode);
    if (params == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(add(node_out, graph, dependencies, n, edges, params));
}

sp_cu_result sp_model_cuGraphAddEmptyNode(sp_cu_node *node_out, sp_cu_graph graph,
                                          const sp_cu_node *dependencies, size_t n)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_EMPTY};

    SP_MODEL_ENTER(cuGraphAddEmptyNode);
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddKernelNode(sp_cu_node *node_out, sp_cu_graph graph,
                                           const sp_cu_node *dependencies, size_t n,
                                           const struct sp_cu_kernel_params *kernel)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_KERNEL};

    SP_MODEL_ENTER(cuGraphAddKernelNode);
    if (kernel == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.kernel = *kernel;
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddMemcpyNode(sp_cu_node *node_out, sp_cu_graph graph,
                                           const sp_cu_node *dependencies, size_t n,
                                           const struct sp_cu_memcpy3d *copy,
                                           sp_cu_context context)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEMCPY};

    SP_MODEL_ENTER(cuGraphAddMemcpyNode);
    if (copy == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.copy.copy = *copy;
    params.copy.context = context;
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddMemsetNode(sp_cu_node *node_out, sp_cu_graph graph,
                                           const sp_cu_node *dependencies, size_t n,
                                           const struct sp_cu_memset_params *set,
                                           sp_cu_context context)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEMSET};

    SP_MODEL_ENTER(cuGraphAddMemsetNode);
    if (set == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.set.params = *set;
    params.set.context = context;
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddHostNode(sp_cu_node *node_out, sp_cu_graph graph,
                                         const sp_cu_node *dependencies, size_t n,
                                         const struct sp_cu_host_params *host)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_HOST};

    SP_MODEL_ENTER(cuGraphAddHostNode);
    if (host == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.host = *host;
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddChildGraphNode(sp_cu_node *node_out, sp_cu_graph graph,
                                               const sp_cu_node *dependencies, size_t n,
                                               sp_cu_graph child)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH, .child = {child, 0}};

    SP_MODEL_ENTER(cuGraphAddChildGraphNode);
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddEventRecordNode(sp_cu_node *node_out, sp_cu_graph graph,
                                                const sp_cu_node *dependencies, size_t n,
                                                sp_cu_event event)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_EVENT_RECORD, .event = event};

    SP_MODEL_ENTER(cuGraphAddEventRecordNode);
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddEventWaitNode(sp_cu_node *node_out, sp_cu_graph graph,
                                              const sp_cu_node *dependencies, size_t n,
                                              sp_cu_event event)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_WAIT_EVENT, .event = event};

    SP_MODEL_ENTER(cuGraphAddEventWaitNode);
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

sp_cu_result sp_model_cuGraphAddMemAllocNode(sp_cu_node *node_out, sp_cu_graph graph,
                                             const sp_cu_node *dependencies, size_t n,
                                             struct sp_cu_alloc_params *alloc)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEM_ALLOC};
    sp_cu_result result;

    SP_MODEL_ENTER(cuGraphAddMemAllocNode);
    if (alloc == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.alloc = *alloc;
    result = add(node_out, graph, dependencies, n, NULL, &params);
    if (result == SP_CU_SUCCESS)
        alloc->ptr = params.alloc.ptr;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuGraphAddMemFreeNode(sp_cu_node *node_out, sp_cu_graph graph,
                                            const sp_cu_node *dependencies, size_t n,
                                            sp_cu_ptr ptr)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEM_FREE, .free = ptr};

    SP_MODEL_ENTER(cuGraphAddMemFreeNode);
    return sp_model_leave(add(node_out, graph, dependencies, n, NULL, &params));
}

static sp_cu_result make_handle(struct sp_model_graph *graph, struct sp_model_context *context,
                                unsigned value, sp_cu_conditional *handle_out)
{
    struct sp_model_condition *condition = calloc(1, sizeof(*condition));

    if (condition == NULL)
        return SP_CU_OUT_OF_MEMORY;
    condition->handle = ++conditions.last;
    condition->context = context;
    condition->value = value;
    condition->next = graph->conditions;
    graph->conditions = condition;
    *handle_out = condition->handle;
    return SP_CU_SUCCESS;
}

/* Only kernels set the value, so that it is always the default. */
sp_cu_result sp_model_cuGraphConditionalHandleCreate(sp_cu_conditional *handle_out,
                                                     sp_cu_graph handle,
                                                     sp_cu_context context_handle,
                                                     unsigned value, unsigned flags)
{
    struct sp_model_context *context;
    struct sp_model_graph *graph;

    SP_MODEL_ENTER(cuGraphConditionalHandleCreate);
    graph = sp_model_graph_find(handle);
    if (handle_out == NULL || graph == NULL || (flags != 0 && flags != ASSIGN_DEFAULT))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    context =
        context_handle == NULL ? sp_model_current() : sp_model_context_find(context_handle);
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    value = flags == ASSIGN_DEFAULT ? value : 0;
    return sp_model_leave(make_handle(graph, context, value, handle_out));
}
