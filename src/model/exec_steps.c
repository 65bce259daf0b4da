/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executables' own copies of the nodes of graphs. Children and bodies are copied with the step
 * that they belong to. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/exec.h"
#include "src/model/kernels.h"
#include "src/util/util.h"

/* ---- copying ----------------------------------------------------------------------------- */

static sp_cu_result copy_parts(const struct sp_model_work *work, struct sp_model_step *step)
{
    bool is_child = work->type == SP_CU_NODE_GRAPH;
    size_t n = is_child ? 1 : 0;
    sp_cu_result result = SP_CU_SUCCESS;

    if (work->type == SP_CU_NODE_CONDITIONAL)
        n = work->condition.params.size;
    if (n == 0)
        return SP_CU_SUCCESS;
    step->parts = calloc(n, sizeof(*step->parts));
    if (step->parts == NULL)
        return SP_CU_OUT_OF_MEMORY;
    step->n_parts = n;
    for (size_t i = 0; i < n && result == SP_CU_SUCCESS; i++)
        result = sp_model_steps_copy(is_child ? work->child : work->condition.bodies[i],
                                     &step->parts[i]);
    return result;
}

/* The nodes that it depends on have their step's index in `n_walked`. */
static bool copy_edges(const struct sp_model_node *node, struct sp_model_step *step)
{
    size_t n = node->n_dependencies;

    step->dependencies = calloc(n + 1, sizeof(step->dependencies[0]));
    step->edges = calloc(n + 1, sizeof(step->edges[0]));
    if (step->dependencies == NULL || step->edges == NULL)
        return false;
    step->n_dependencies = n;
    for (size_t i = 0; i < n; i++)
        step->dependencies[i] = node->dependencies[i]->n_walked;
    memcpy(step->edges, node->edges, n * sizeof(step->edges[0]));
    return true;
}

/* Whatever it answers, the step can be let go. */
static sp_cu_result copy_node(const struct sp_model_node *node, struct sp_model_step *step)
{
    step->work = node->work;
    step->origin = node->handle;
    if (sp_model_work_is_memory(&step->work))
        sp_model_alloc_get(step->work.alloc);
    if (step->work.type == SP_CU_NODE_KERNEL)
        sp_model_kernel_get(step->work.kernel);
    return copy_edges(node, step) ? copy_parts(&node->work, step) : SP_CU_OUT_OF_MEMORY;
}

sp_cu_result sp_model_steps_copy(const struct sp_model_graph *graph,
                                 struct sp_model_steps *steps_out)
{
    struct sp_model_steps steps = {.n = 0};
    struct sp_model_node **nodes;
    sp_cu_result result = sp_model_graph_sort(graph, &nodes);

    if (result != SP_CU_SUCCESS)
        return result;
    steps.all = calloc(graph->n_nodes + 1, sizeof(steps.all[0]));
    if (steps.all == NULL || !sp_model_held_copy(&steps.held, graph->held))
        result = SP_CU_OUT_OF_MEMORY;
    for (size_t i = 0; result == SP_CU_SUCCESS && i < graph->n_nodes; i++)
        nodes[i]->n_walked = i;
    while (result == SP_CU_SUCCESS && steps.n < graph->n_nodes) {
        result = copy_node(nodes[steps.n], &steps.all[steps.n]);
        steps.n++;
    }
    free(nodes);
    if (result == SP_CU_SUCCESS)
        *steps_out = steps;
    else
        sp_model_steps_fini(&steps);
    return result;
}

static void fini_step(struct sp_model_step *step)
{
    if (sp_model_work_is_memory(&step->work))
        sp_model_alloc_put(step->work.alloc);
    if (step->work.type == SP_CU_NODE_KERNEL)
        sp_model_kernel_put(step->work.kernel);
    for (size_t i = 0; i < step->n_parts; i++)
        sp_model_steps_fini(&step->parts[i]);
    free(step->parts);
    free(step->dependencies);
    free(step->edges);
}

void sp_model_steps_fini(struct sp_model_steps *steps)
{
    for (size_t i = 0; i < steps->n; i++)
        fini_step(&steps->all[i]);
    free(steps->all);
    sp_model_held_put(&steps->held);
    *steps = (struct sp_model_steps){.n = 0};
}

/* ---- graphs again -------------------------------------------------------------------- */

/* The node of a step, which has no memory and no condition. `nodes` are those before it. */
static sp_cu_result rebuild_step(const struct sp_model_step *step, struct sp_model_graph *graph,
                                 struct sp_model_node **nodes, size_t index)
{
    struct sp_model_work work = step->work;
    struct sp_model_node **dependencies =
        calloc(step->n_dependencies + 1, sizeof(struct sp_model_node *));
    sp_cu_result result = dependencies == NULL ? SP_CU_OUT_OF_MEMORY : SP_CU_SUCCESS;

    for (size_t i = 0; result == SP_CU_SUCCESS && i < step->n_dependencies; i++)
        dependencies[i] = nodes[step->dependencies[i]];
    if (result == SP_CU_SUCCESS && step->is_disabled)
        work = (struct sp_model_work){.type = SP_CU_NODE_EMPTY};
    if (result == SP_CU_SUCCESS && work.type == SP_CU_NODE_KERNEL)
        sp_model_kernel_get(work.kernel);
    if (result == SP_CU_SUCCESS && work.type == SP_CU_NODE_GRAPH)
        result = sp_model_steps_rebuild(&step->parts[0], &work.child);
    if (result == SP_CU_SUCCESS) {
        nodes[index] =
            sp_model_graph_add(graph, &work, dependencies, step->edges, step->n_dependencies);
        if (nodes[index] == NULL) {
            sp_model_work_release(&work);
            result = SP_CU_OUT_OF_MEMORY;
        }
    }
    free(dependencies);
    return result;
}

sp_cu_result sp_model_steps_rebuild(const struct sp_model_steps *steps,
                                    struct sp_model_graph **graph_out)
{
    struct sp_model_graph *graph = sp_model_graph_new();
    struct sp_model_node **nodes = calloc(steps->n + 1, sizeof(struct sp_model_node *));
    sp_cu_result result = SP_CU_SUCCESS;

    if (graph == NULL || nodes == NULL || !sp_model_held_copy(&graph->held, steps->held))
        result = SP_CU_OUT_OF_MEMORY;
    for (size_t i = 0; result == SP_CU_SUCCESS && i < steps->n; i++)
        result = rebuild_step(&steps->all[i], graph, nodes, i);
    free(nodes);
    if (result == SP_CU_SUCCESS)
        *graph_out = graph;
    else if (graph != NULL)
        sp_model_graph_delete(graph);
    return result;
}

/* ---- visiting ------------------------------------------------------------------------ */

sp_cu_result sp_model_steps_visit(const struct sp_model_steps *steps, sp_model_step_fn visit,
                                  void *arg)
{
    sp_cu_result result = SP_CU_SUCCESS;

    for (size_t i = 0; i < steps->n && result == SP_CU_SUCCESS; i++) {
        struct sp_model_step *step = &steps->all[i];

        for (size_t j = 0; j < step->n_parts && result == SP_CU_SUCCESS; j++)
            result = sp_model_steps_visit(&step->parts[j], visit, arg);
        if (result == SP_CU_SUCCESS)
            result = visit(step, arg);
    }
    return result;
}

/* The body that a condition chooses, as an index; n_parts or more if none. Nothing changes its
 * value, so that a loop that is entered would never end: the model goes round once. */
static size_t chosen_part(const struct sp_model_step *step)
{
    unsigned value = step->work.condition.value;

    switch (step->work.condition.params.type) {
    case SP_CU_CONDITION_IF:
    case SP_CU_CONDITION_WHILE:
        return value != 0 ? 0 : 1;
    default:
        return value;
    }
}

sp_cu_result sp_model_steps_execute(const struct sp_model_steps *steps, sp_model_step_fn visit,
                                    void *arg)
{
    sp_cu_result result = SP_CU_SUCCESS;

    for (size_t i = 0; i < steps->n && result == SP_CU_SUCCESS; i++) {
        struct sp_model_step *step = &steps->all[i];
        size_t part = 0;

        if (step->work.type == SP_CU_NODE_CONDITIONAL)
            part = chosen_part(step);
        if (step->n_parts == 0 && !step->is_disabled)
            result = visit(step, arg);
        else if (part < step->n_parts)
            result = sp_model_steps_execute(&step->parts[part], visit, arg);
    }
    return result;
}
