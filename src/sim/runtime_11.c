/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What 11 has in another form than its successors. */
#include "config.h"

#ifndef SP_CUDART_MAJOR
#define SP_CUDART_MAJOR 11 /* of those that have this file */
#endif
#include "src/sim/runtime.h"

#include <string.h>

/* ---- graphs -------------------------------------------------------------------------- */

/* The log stays empty: the node says it all. */
static int instantiate(sp_cu_exec *exec_out, sp_cu_graph graph, sp_cu_node *error_node_out,
                       char *log, size_t log_size)
{
    struct sp_cu_instantiate_params params;
    int result;

    memset(&params, 0, sizeof(params));
    result = sp_cu()->cuGraphInstantiateWithParams(exec_out, graph, &params);
    if (error_node_out != NULL)
        *error_node_out = params.error_node;
    if (log != NULL && log_size > 0)
        log[0] = '\0';
    return result;
}

int cudaGraphInstantiate(sp_cu_exec *exec_out, sp_cu_graph graph, sp_cu_node *error_node_out,
                         char *log, size_t log_size)
{
    return SP_RUNTIME(instantiate(exec_out, graph, error_node_out, log, log_size));
}

static int update(sp_cu_exec exec, sp_cu_graph graph, sp_cu_node *error_node_out,
                  int *result_out)
{
    struct sp_cu_update_result info;
    int result;

    memset(&info, 0, sizeof(info));
    result = sp_cu()->cuGraphExecUpdate(exec, graph, &info);
    if (error_node_out != NULL)
        *error_node_out = info.error_node;
    if (result_out != NULL)
        *result_out = info.result;
    return result;
}

int cudaGraphExecUpdate(sp_cu_exec exec, sp_cu_graph graph, sp_cu_node *error_node_out,
                        int *result_out)
{
    return SP_RUNTIME(update(exec, graph, error_node_out, result_out));
}

/* ---- entry points of the driver ------------------------------------------------------ */

int cudaGetDriverEntryPoint(const char *symbol, void **function_out, unsigned long long flags)
{
    return SP_RUNTIME_START(
        sp_runtime_entry_point(symbol, function_out, SP_RUNTIME_VERSION, flags, NULL));
}
