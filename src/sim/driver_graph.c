/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entry points of libcuda.so.1 about graphs that are made of the model's: see driver_made.def.
 * Edges without data are those with all of it 0, and what is asked for one type of node is
 * asked for nodes in general. */
#include "config.h"

#include "src/sim/driver_made.h"

#include "src/sim/table.h"

/* ---- edges without data ---------------------------------------------------------------- */

sp_cu_result sp_made_cuGraphAddNode(sp_cu_node *node_out, sp_cu_graph graph,
                                    const sp_cu_node *dependencies, size_t n_dependencies,
                                    struct sp_cu_node_params *params)
{
    return sp_sim_driver()->cuGraphAddNode(node_out, graph, dependencies, NULL, n_dependencies,
                                           params);
}

sp_cu_result sp_made_cuGraphGetEdges(sp_cu_graph graph, sp_cu_node *from_out,
                                     sp_cu_node *to_out, size_t *n_edges)
{
    return sp_sim_driver()->cuGraphGetEdges(graph, from_out, to_out, NULL, n_edges);
}

sp_cu_result sp_made_cuGraphNodeGetDependencies(sp_cu_node node, sp_cu_node *nodes_out,
                                                size_t *n_nodes)
{
    return sp_sim_driver()->cuGraphNodeGetDependencies(node, nodes_out, NULL, n_nodes);
}

sp_cu_result sp_made_cuGraphNodeGetDependentNodes(sp_cu_node node, sp_cu_node *nodes_out,
                                                  size_t *n_nodes)
{
    return sp_sim_driver()->cuGraphNodeGetDependentNodes(node, nodes_out, NULL, n_nodes);
}

sp_cu_result sp_made_cuGraphAddDependencies(sp_cu_graph graph, const sp_cu_node *from,
                                            const sp_cu_node *to, size_t n_edges)
{
    return sp_sim_driver()->cuGraphAddDependencies(graph, from, to, NULL, n_edges);
}

sp_cu_result sp_made_cuGraphRemoveDependencies(sp_cu_graph graph, const sp_cu_node *from,
                                               const sp_cu_node *to, size_t n_edges)
{
    return sp_sim_driver()->cuGraphRemoveDependencies(graph, from, to, NULL, n_edges);
}

/* ---- one type of node ------------------------------------------------------------------- */

/* The node of a graph, or with `exec` that of the executable. */
static sp_cu_result set_params(sp_cu_exec exec, bool is_exec, sp_cu_node node,
                               struct sp_cu_node_params params)
{
    if (is_exec)
        return sp_sim_driver()->cuGraphExecNodeSetParams(exec, node, &params);
    return sp_sim_driver()->cuGraphNodeSetParams(node, &params);
}

static sp_cu_result set_copy(sp_cu_exec exec, bool is_exec, sp_cu_node node,
                             const struct sp_cu_memcpy3d *copy, sp_cu_context context)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEMCPY};

    if (copy == NULL)
        return SP_CU_INVALID_VALUE;
    params.copy.context = context;
    params.copy.copy = *copy;
    return set_params(exec, is_exec, node, params);
}

static sp_cu_result set_filling(sp_cu_exec exec, bool is_exec, sp_cu_node node,
                                const struct sp_cu_memset_params *filling,
                                sp_cu_context context)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEMSET};

    if (filling == NULL)
        return SP_CU_INVALID_VALUE;
    params.set.params = *filling;
    params.set.context = context;
    return set_params(exec, is_exec, node, params);
}

static sp_cu_result set_host(sp_cu_exec exec, bool is_exec, sp_cu_node node,
                             const struct sp_cu_host_params *host)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_HOST};

    if (host == NULL)
        return SP_CU_INVALID_VALUE;
    params.host = *host;
    return set_params(exec, is_exec, node, params);
}

static sp_cu_result set_event(sp_cu_exec exec, bool is_exec, sp_cu_node node, int type,
                              sp_cu_event event)
{
    struct sp_cu_node_params params = {.type = type};

    params.event = event;
    return set_params(exec, is_exec, node, params);
}

/* The driver leaves a node the context that it has. No call tells which that is; programs of
 * one context a device, as most are, have it current. */
static sp_cu_context current_context(void)
{
    sp_cu_context context = NULL;

    (void)sp_sim_driver()->cuCtxGetCurrent(&context);
    return context;
}

sp_cu_result sp_made_cuGraphMemcpyNodeSetParams(sp_cu_node node,
                                                const struct sp_cu_memcpy3d *params)
{
    return set_copy(NULL, false, node, params, current_context());
}

sp_cu_result sp_made_cuGraphMemsetNodeSetParams(sp_cu_node node,
                                                const struct sp_cu_memset_params *params)
{
    return set_filling(NULL, false, node, params, current_context());
}

sp_cu_result sp_made_cuGraphHostNodeSetParams(sp_cu_node node,
                                              const struct sp_cu_host_params *params)
{
    return set_host(NULL, false, node, params);
}

sp_cu_result sp_made_cuGraphEventRecordNodeSetEvent(sp_cu_node node, sp_cu_event event)
{
    return set_event(NULL, false, node, SP_CU_NODE_EVENT_RECORD, event);
}

sp_cu_result sp_made_cuGraphEventWaitNodeSetEvent(sp_cu_node node, sp_cu_event event)
{
    return set_event(NULL, false, node, SP_CU_NODE_WAIT_EVENT, event);
}

sp_cu_result sp_made_cuGraphExecMemcpyNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                                    const struct sp_cu_memcpy3d *params,
                                                    sp_cu_context context)
{
    return set_copy(exec, true, node, params, context);
}

sp_cu_result sp_made_cuGraphExecMemsetNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                                    const struct sp_cu_memset_params *params,
                                                    sp_cu_context context)
{
    return set_filling(exec, true, node, params, context);
}

sp_cu_result sp_made_cuGraphExecHostNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                                  const struct sp_cu_host_params *params)
{
    return set_host(exec, true, node, params);
}

sp_cu_result sp_made_cuGraphExecChildGraphNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                                                        sp_cu_graph child)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH};

    params.child.graph = child;
    return set_params(exec, true, node, params);
}

sp_cu_result sp_made_cuGraphExecEventRecordNodeSetEvent(sp_cu_exec exec, sp_cu_node node,
                                                        sp_cu_event event)
{
    return set_event(exec, true, node, SP_CU_NODE_EVENT_RECORD, event);
}

sp_cu_result sp_made_cuGraphExecEventWaitNodeSetEvent(sp_cu_exec exec, sp_cu_node node,
                                                      sp_cu_event event)
{
    return set_event(exec, true, node, SP_CU_NODE_WAIT_EVENT, event);
}

/* ---- executables ------------------------------------------------------------------------ */

/* The log of what is wrong with a graph is empty, as the driver's mostly is. */
sp_cu_result sp_made_cuGraphInstantiate(sp_cu_exec *exec_out, sp_cu_graph graph,
                                        sp_cu_node *error_node_out, char *log_out,
                                        size_t log_size)
{
    struct sp_cu_instantiate_params params = {.flags = 0};
    sp_cu_result result =
        sp_sim_driver()->cuGraphInstantiateWithParams(exec_out, graph, &params);

    if (log_out != NULL && log_size > 0)
        *log_out = '\0';
    if (error_node_out != NULL && result != SP_CU_SUCCESS)
        *error_node_out = params.error_node;
    return result;
}

sp_cu_result sp_made_cuGraphInstantiate_v2(sp_cu_exec *exec_out, sp_cu_graph graph,
                                           sp_cu_node *error_node_out, char *log_out,
                                           size_t log_size)
{
    return sp_made_cuGraphInstantiate(exec_out, graph, error_node_out, log_out, log_size);
}

sp_cu_result sp_made_cuGraphInstantiateWithParams_ptsz(sp_cu_exec *exec_out, sp_cu_graph graph,
                                                       struct sp_cu_instantiate_params *params)
{
    sp_cu_stream given;
    sp_cu_result result;

    if (params == NULL)
        return SP_CU_INVALID_VALUE;
    given = params->upload_stream;
    params->upload_stream = sp_driver_own_stream(given);
    result = sp_sim_driver()->cuGraphInstantiateWithParams(exec_out, graph, params);
    params->upload_stream = given;
    return result;
}

sp_cu_result sp_made_cuGraphExecUpdate(sp_cu_exec exec, sp_cu_graph graph,
                                       sp_cu_node *error_node_out, int *result_out)
{
    struct sp_cu_update_result updated = {.result = SP_CU_UPDATE_ERROR};
    sp_cu_result result;

    if (result_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_sim_driver()->cuGraphExecUpdate(exec, graph, &updated);
    *result_out = updated.result;
    if (error_node_out != NULL)
        *error_node_out = updated.error_node;
    return result;
}
