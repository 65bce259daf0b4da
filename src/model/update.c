/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing executables: all of one from a graph of the same shape, a node's parameters, whether
 * a node does anything. Launches that have been called are not changed. */
#include "config.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/exec.h"
#include "src/util/util.h"

/* ---- the same shape? ----------------------------------------------------------------- */

/* The update stops at a node. */
static sp_cu_result refuse(struct sp_cu_update_result *info, int why,
                           const struct sp_model_step *old, const struct sp_model_step *new)
{
    info->result = why;
    info->error_node = new == NULL ? NULL : new->origin;
    info->error_from_node = old == NULL ? NULL : old->origin;
    return SP_CU_GRAPH_EXEC_UPDATE_FAILURE;
}

static bool is_same_order(const struct sp_model_step *old, const struct sp_model_step *new)
{
    if (old->n_dependencies != new->n_dependencies)
        return false;
    for (size_t i = 0; i < old->n_dependencies; i++) {
        if (old->dependencies[i] != new->dependencies[i])
            return false;
    }
    return true;
}

/* Allocations that may take the place of others: of the same size and kind, or the same. */
static bool is_same_memory(const struct sp_model_alloc *old, const struct sp_model_alloc *new)
{
    return old == new || (old->params.size == new->params.size &&sp_model_is_same_place(
                                                  &old->params, &new->params));
}

/* Those of other graphs have other addresses; whether they are taken is open (GNODE-32). */
static sp_cu_result check_memory(const struct sp_model_step *old,
                                 const struct sp_model_step *new,
                                 struct sp_cu_update_result *info)
{
    if (old->work.alloc == new->work.alloc)
        return SP_CU_SUCCESS;
    if (sp_model_switch(SP_SWITCH_graph_update_memory) == 0)
        return refuse(info, SP_CU_UPDATE_NOT_SUPPORTED, old, new);
    return is_same_memory(old->work.alloc, new->work.alloc)
               ? SP_CU_SUCCESS
               : refuse(info, SP_CU_UPDATE_PARAMETERS_CHANGED, old, new);
}

static sp_cu_result compare(const struct sp_model_steps *old, const struct sp_model_steps *new,
                            struct sp_cu_update_result *info);

static sp_cu_result compare_step(const struct sp_model_step *old,
                                 const struct sp_model_step *new,
                                 struct sp_cu_update_result *info)
{
    sp_cu_result result = SP_CU_SUCCESS;

    if (old->work.type != new->work.type)
        return refuse(info, SP_CU_UPDATE_NODE_TYPE_CHANGED, old, new);
    if (!is_same_order(old, new))
        return refuse(info, SP_CU_UPDATE_TOPOLOGY_CHANGED, old, new);
    if (old->n_parts != new->n_parts)
        return refuse(info, SP_CU_UPDATE_PARAMETERS_CHANGED, old, new);
    if (sp_model_work_is_memory(&old->work))
        return check_memory(old, new, info);
    for (size_t i = 0; result == SP_CU_SUCCESS && i < old->n_parts; i++)
        result = compare(&old->parts[i], &new->parts[i], info);
    return result;
}

/* Steps are in an order that graphs of the same making share. */
static sp_cu_result compare(const struct sp_model_steps *old, const struct sp_model_steps *new,
                            struct sp_cu_update_result *info)
{
    sp_cu_result result = SP_CU_SUCCESS;

    if (old->n != new->n)
        return refuse(info, SP_CU_UPDATE_TOPOLOGY_CHANGED, NULL, NULL);
    for (size_t i = 0; result == SP_CU_SUCCESS && i < old->n; i++)
        result = compare_step(&old->all[i], &new->all[i], info);
    return result;
}

/* ---- all of it ----------------------------------------------------------------------- */

/* A node can be named by its handle in the graph that the executable was made from. */
static void keep_names(struct sp_model_steps *new, const struct sp_model_steps *old)
{
    for (size_t i = 0; i < new->n; i++) {
        new->all[i].origin = old->all[i].origin;
        new->all[i].is_disabled = old->all[i].is_disabled;
        for (size_t j = 0; j < new->all[i].n_parts; j++)
            keep_names(&new->all[i].parts[j], &old->all[i].parts[j]);
    }
}

/* What was attached is attached anew by the next launch, if it is other memory. The steps are
 * taken, or gone. */
static sp_cu_result exchange(struct sp_model_exec *exec, struct sp_model_steps *steps)
{
    struct sp_model_steps old = exec->steps;

    keep_names(steps, &old);
    if (exec->has_memory)
        sp_model_exec_detach(exec);
    exec->steps = *steps;
    if (exec->has_memory && !sp_model_exec_place_all(exec)) {
        exec->steps = old;
        sp_model_steps_fini(steps);
        return SP_CU_OUT_OF_MEMORY;
    }
    sp_model_exec_retire(exec, &old);
    return SP_CU_SUCCESS;
}

/* One with memory nodes that another executable was made from is refused (GNODE-32). */
static sp_cu_result check_graph(const struct sp_model_exec *exec,
                                const struct sp_model_graph *graph,
                                struct sp_cu_update_result *info)
{
    for (const struct sp_model_exec *other = graph->execs; other != NULL;
         other = other->next_of_graph) {
        if (graph->has_memory && other != exec)
            return refuse(info, SP_CU_UPDATE_NOT_SUPPORTED, NULL, NULL);
    }
    return SP_CU_SUCCESS;
}

static sp_cu_result update_from(struct sp_model_exec *exec, const struct sp_model_graph *graph,
                                struct sp_cu_update_result *info)
{
    struct sp_model_steps steps;
    sp_cu_result result = check_graph(exec, graph, info);

    if (result == SP_CU_SUCCESS)
        result = sp_model_steps_copy(graph, &steps);
    if (result != SP_CU_SUCCESS)
        return result;
    result = compare(&exec->steps, &steps, info);
    if (result == SP_CU_SUCCESS)
        return exchange(exec, &steps);
    sp_model_steps_fini(&steps);
    return result;
}

static sp_cu_result update_locked(sp_cu_exec handle, sp_cu_graph graph_handle,
                                  struct sp_cu_update_result *info)
{
    struct sp_model_exec *exec = sp_model_exec_find(handle);
    struct sp_model_graph *graph = sp_model_graph_find(graph_handle);
    sp_cu_result result;

    if (info == NULL)
        return SP_CU_INVALID_VALUE;
    *info = (struct sp_cu_update_result){.result = SP_CU_UPDATE_ERROR};
    if (exec == NULL || graph == NULL)
        return SP_CU_INVALID_VALUE;
    if (graph->is_moved)
        return sp_model_moved_result();
    result = sp_model_capture_instantiate(graph);
    if (result == SP_CU_SUCCESS)
        result = update_from(exec, graph, info);
    if (result == SP_CU_SUCCESS)
        *info = (struct sp_cu_update_result){.result = SP_CU_UPDATED};
    return result;
}

sp_cu_result sp_model_cuGraphExecUpdate(sp_cu_exec exec, sp_cu_graph graph,
                                        struct sp_cu_update_result *result_out)
{
    SP_MODEL_ENTER(cuGraphExecUpdate);
    return sp_model_leave(update_locked(exec, graph, result_out));
}

/* ---- one node ------------------------------------------------------------------------ */

static struct sp_model_step *find_in(const struct sp_model_steps *steps, sp_cu_node origin)
{
    struct sp_model_step *found = NULL;

    for (size_t i = 0; found == NULL && i < steps->n; i++) {
        struct sp_model_step *step = &steps->all[i];

        if (step->origin == origin)
            return step;
        for (size_t j = 0; found == NULL && j < step->n_parts; j++)
            found = find_in(&step->parts[j], origin);
    }
    return found;
}

/* The executable's copy of a node; NULL if it has none. */
static struct sp_model_step *find_step(const struct sp_model_exec *exec, sp_cu_node node)
{
    return exec == NULL || sp_model_node_find(node) == NULL ? NULL
                                                            : find_in(&exec->steps, node);
}

/* The child's nodes get the parameters of another graph's of the same shape. */
static sp_cu_result exchange_child(struct sp_model_exec *exec, struct sp_model_step *step,
                                   const struct sp_model_graph *graph)
{
    struct sp_cu_update_result info;
    struct sp_model_steps steps, old = step->parts[0];
    sp_cu_result result = sp_model_steps_copy(graph, &steps);

    if (result != SP_CU_SUCCESS)
        return result;
    if (compare(&old, &steps, &info) != SP_CU_SUCCESS) {
        sp_model_steps_fini(&steps);
        return SP_CU_INVALID_VALUE;
    }
    keep_names(&steps, &old);
    step->parts[0] = steps;
    sp_model_exec_retire(exec, &old);
    return SP_CU_SUCCESS;
}

static sp_cu_result set_child(struct sp_model_exec *exec, struct sp_model_step *step,
                              sp_cu_graph handle)
{
    const struct sp_model_graph *graph = sp_model_graph_find(handle);
    sp_cu_result result;

    if (graph == NULL)
        return SP_CU_INVALID_VALUE;
    if (graph->is_moved)
        return sp_model_moved_result();
    if (graph->has_memory || graph->has_condition)
        return SP_CU_NOT_SUPPORTED;
    result = sp_model_capture_instantiate(graph);
    return result == SP_CU_SUCCESS ? exchange_child(exec, step, graph) : result;
}

/* Nodes that allocate, free or choose keep what they have (GNODE-28). */
static sp_cu_result set_locked(sp_cu_exec handle, sp_cu_node node,
                               const struct sp_cu_node_params *params)
{
    struct sp_model_exec *exec = sp_model_exec_find(handle);
    struct sp_model_step *step = find_step(exec, node);
    struct sp_model_work work;
    sp_cu_result result;

    if (step == NULL || params == NULL || params->type != step->work.type ||
        !sp_model_params_are_clean(params))
        return SP_CU_INVALID_VALUE;
    if (params->type == SP_CU_NODE_GRAPH)
        return set_child(exec, step, params->child.graph);
    result = sp_model_work_of(params, &work);
    if (result != SP_CU_SUCCESS)
        return result;
    sp_model_work_release(&step->work);
    step->work = work;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphExecNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                               struct sp_cu_node_params *params)
{
    SP_MODEL_ENTER(cuGraphExecNodeSetParams);
    return sp_model_leave(set_locked(exec, node, params));
}

sp_cu_result sp_model_cuGraphExecKernelNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                                     const struct sp_cu_kernel_params *kernel)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_KERNEL};

    SP_MODEL_ENTER(cuGraphExecKernelNodeSetParams);
    if (kernel == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    params.kernel = *kernel;
    return sp_model_leave(set_locked(exec, node, &params));
}

/* The copy of a node that can be switched off: only kernels, copies and memsets can. */
static struct sp_model_step *find_switched(sp_cu_exec exec, sp_cu_node node)
{
    struct sp_model_step *step = find_step(sp_model_exec_find(exec), node);

    return step != NULL && (step->work.type == SP_CU_NODE_KERNEL ||
                            step->work.type == SP_CU_NODE_MEMCPY ||
                            step->work.type == SP_CU_NODE_MEMSET)
               ? step
               : NULL;
}

sp_cu_result sp_model_cuGraphNodeSetEnabled(sp_cu_exec exec, sp_cu_node node,
                                            unsigned is_enabled)
{
    struct sp_model_step *step;

    SP_MODEL_ENTER(cuGraphNodeSetEnabled);
    step = find_switched(exec, node);
    if (step == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    step->is_disabled = is_enabled == 0;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuGraphNodeGetEnabled(sp_cu_exec exec, sp_cu_node node,
                                            unsigned *is_enabled_out)
{
    const struct sp_model_step *step;

    SP_MODEL_ENTER(cuGraphNodeGetEnabled);
    step = find_switched(exec, node);
    if (step == NULL || is_enabled_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *is_enabled_out = !step->is_disabled;
    return sp_model_leave(SP_CU_SUCCESS);
}
