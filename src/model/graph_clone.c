/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of graphs, and which node of a copy is which of the original. */
#include "config.h"

#include "src/model/graph.h"

#include "src/model/kernels.h"
#include "src/util/util.h"

static sp_cu_result copy_work(const struct sp_model_work *work, struct sp_model_work *copy_out)
{
    *copy_out = *work;
    if (work->type == SP_CU_NODE_KERNEL)
        sp_model_kernel_get(work->kernel);
    if (work->type != SP_CU_NODE_GRAPH)
        return SP_CU_SUCCESS;
    return sp_model_graph_clone(work->child, &copy_out->child);
}

/* The nodes without their edges; where each one's copy is stays in `todo`. */
static sp_cu_result copy_nodes(struct sp_model_graph *clone, const struct sp_model_graph *graph)
{
    for (struct sp_model_node *node = graph->first; node != NULL; node = node->next) {
        struct sp_model_work work;
        sp_cu_result result = copy_work(&node->work, &work);

        if (result != SP_CU_SUCCESS)
            return result;
        node->todo = sp_model_graph_add(clone, &work, NULL, NULL, 0);
        if (node->todo == NULL) {
            sp_model_work_release(&work);
            return SP_CU_OUT_OF_MEMORY;
        }
        node->todo->number = node->number;
    }
    return SP_CU_SUCCESS;
}

static sp_cu_result copy_edges(const struct sp_model_graph *graph)
{
    for (const struct sp_model_node *node = graph->first; node != NULL; node = node->next) {
        for (size_t i = 0; i < node->n_dependencies; i++) {
            if (!sp_model_node_depend(node->todo, node->dependencies[i]->todo, &node->edges[i]))
                return SP_CU_OUT_OF_MEMORY;
        }
    }
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_graph_clone(struct sp_model_graph *graph,
                                  struct sp_model_graph **clone_out)
{
    struct sp_model_graph *clone;
    sp_cu_result result;

    if (graph->has_memory || graph->has_condition)
        return SP_CU_NOT_SUPPORTED;
    clone = sp_model_graph_new();
    if (clone == NULL)
        return SP_CU_OUT_OF_MEMORY;
    result = copy_nodes(clone, graph);
    if (result == SP_CU_SUCCESS)
        result = copy_edges(graph);
    if (result == SP_CU_SUCCESS && !sp_model_held_copy(&clone->held, graph->held))
        result = SP_CU_OUT_OF_MEMORY;
    if (result != SP_CU_SUCCESS) {
        sp_model_graph_delete(clone);
        return result;
    }
    clone->n_created = graph->n_created;
    clone->original = graph->handle;
    clone->n_original = graph->n_created;
    *clone_out = clone;
    return SP_CU_SUCCESS;
}

/* ---- entry points ---------------------------------------------------------------------- */

sp_cu_result sp_model_cuGraphClone(sp_cu_graph *clone_out, sp_cu_graph handle)
{
    struct sp_model_graph *graph, *clone;
    sp_cu_result result;

    SP_MODEL_ENTER(cuGraphClone);
    graph = sp_model_graph_find(handle);
    if (clone_out == NULL || graph == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = sp_model_graph_clone(graph, &clone);
    if (result == SP_CU_SUCCESS)
        *clone_out = clone->handle;
    return sp_model_leave(result);
}

static struct sp_model_node *find_copy(const struct sp_model_graph *clone,
                                       const struct sp_model_node *node)
{
    struct sp_model_node *copy = clone->first;

    if (node->graph->handle != clone->original || node->number >= clone->n_original)
        return NULL;
    while (copy != NULL && copy->number != node->number)
        copy = copy->next;
    return copy;
}

sp_cu_result sp_model_cuGraphNodeFindInClone(sp_cu_node *node_out, sp_cu_node original,
                                             sp_cu_graph handle)
{
    const struct sp_model_graph *clone;
    const struct sp_model_node *node;

    SP_MODEL_ENTER(cuGraphNodeFindInClone);
    node = sp_model_node_find(original);
    clone = sp_model_graph_find(handle);
    if (node_out == NULL || node == NULL || clone == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    node = find_copy(clone, node);
    if (node == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *node_out = node->handle;
    return sp_model_leave(SP_CU_SUCCESS);
}
