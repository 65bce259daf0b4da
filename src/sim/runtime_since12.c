/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What 12 and 13 have that 11 has not, or has in another form. */
#include "config.h"

#include "src/sim/runtime_register.h"

#include <string.h>

/* ---- devices and streams ------------------------------------------------------------- */

/* The device's primary context is made, and not made current. */
static int init_device(int device, unsigned device_flags, unsigned flags)
{
    sp_cu_context context;

    if (flags > 1)
        return SP_CU_INVALID_VALUE;
    /* Bit 0 says that the other flags count. */
    if (flags == 1) {
        int result = sp_cu()->cuDevicePrimaryCtxSetFlags(device, device_flags);

        if (result != SP_CU_SUCCESS)
            return result;
    }
    return sp_runtime_context(device, &context);
}

int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    return SP_RUNTIME_START(init_device(device, device_flags, flags));
}

int cudaStreamGetId(sp_cu_stream stream, unsigned long long *id_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetId(stream, id_out));
}

int cudaStreamGetDevice(sp_cu_stream stream, int *device_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetDevice(stream, device_out));
}

int cudaStreamBeginCaptureToGraph(sp_cu_stream stream, sp_cu_graph graph,
                                  const sp_cu_node *dependencies,
                                  const struct sp_cu_edge_data *edges, size_t n_dependencies,
                                  int mode)
{
    return SP_RUNTIME(sp_cu()->cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges,
                                                           n_dependencies, mode));
}

/* ---- nodes --------------------------------------------------------------------------- */

/* What the driver writes into the parameters of a node that it has added. */
static void pass_back(const struct sp_cu_node_params *from, struct sp_rt_node_params *to)
{
    if (from->type == SP_CU_NODE_MEM_ALLOC)
        to->alloc.ptr = from->alloc.ptr;
    if (from->type == SP_CU_NODE_CONDITIONAL)
        to->conditional.graphs_out = from->conditional.graphs_out;
}

int sp_runtime_add_node(sp_cu_node *node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
                        const struct sp_cu_edge_data *edges, size_t n_dependencies,
                        struct sp_rt_node_params *params)
{
    struct sp_cu_node_params wanted;
    int result = sp_runtime_node_params(params, &wanted);

    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuGraphAddNode(node_out, graph, dependencies, edges, n_dependencies,
                                         &wanted);
    if (result == SP_CU_SUCCESS)
        pass_back(&wanted, params);
    return result;
}

int cudaGraphNodeSetParams(sp_cu_node node, struct sp_rt_node_params *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(sp_runtime_node_params(params, &wanted)
                          ?: sp_cu()->cuGraphNodeSetParams(node, &wanted));
}

int cudaGraphExecNodeSetParams(sp_cu_exec exec, sp_cu_node node,
                               struct sp_rt_node_params *params)
{
    struct sp_cu_node_params wanted;

    return SP_RUNTIME(sp_runtime_node_params(params, &wanted)
                          ?: sp_cu()->cuGraphExecNodeSetParams(exec, node, &wanted));
}

static int conditional(sp_cu_conditional *handle_out, sp_cu_graph graph, unsigned default_value,
                       unsigned flags)
{
    sp_cu_context context;
    int result = sp_cu()->cuCtxGetCurrent(&context);

    return result == SP_CU_SUCCESS ? sp_cu()->cuGraphConditionalHandleCreate(
                                         handle_out, graph, context, default_value, flags)
                                   : result;
}

int cudaGraphConditionalHandleCreate(sp_cu_conditional *handle_out, sp_cu_graph graph,
                                     unsigned default_value, unsigned flags)
{
    return SP_RUNTIME(conditional(handle_out, graph, default_value, flags));
}

/* ---- executables --------------------------------------------------------------------- */

int cudaGraphInstantiate(sp_cu_exec *exec_out, sp_cu_graph graph, unsigned long long flags)
{
    return SP_RUNTIME(sp_cu()->cuGraphInstantiate(exec_out, graph, flags));
}

int cudaGraphInstantiateWithParams(sp_cu_exec *exec_out, sp_cu_graph graph,
                                   struct sp_cu_instantiate_params *params)
{
    return SP_RUNTIME(sp_cu()->cuGraphInstantiateWithParams(exec_out, graph, params));
}

int cudaGraphExecGetFlags(sp_cu_exec exec, unsigned long long *flags_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphExecGetFlags(exec, (uint64_t *)flags_out));
}

int cudaGraphExecUpdate(sp_cu_exec exec, sp_cu_graph graph,
                        struct sp_cu_update_result *result_out)
{
    return SP_RUNTIME(sp_cu()->cuGraphExecUpdate(exec, graph, result_out));
}

/* ---- kernels ------------------------------------------------------------------------- */

int cudaFuncGetName(const char **name_out, const void *symbol)
{
    sp_cu_function function = NULL;

    return SP_RUNTIME(sp_runtime_function(symbol, &function)
                          ?: sp_cu()->cuFuncGetName(name_out, function));
}

int cudaFuncGetParamInfo(const void *symbol, size_t index, size_t *offset_out, size_t *size_out)
{
    sp_cu_function function = NULL;

    return SP_RUNTIME(
        sp_runtime_function(symbol, &function)
            ?: sp_cu()->cuFuncGetParamInfo(function, index, offset_out, size_out));
}

static int get_kernel(void **kernel_out, const void *symbol)
{
    sp_cu_kernel kernel = NULL;
    int result = kernel_out == NULL ? SP_CU_INVALID_VALUE : sp_runtime_kernel(symbol, &kernel);

    if (result == SP_CU_SUCCESS)
        *kernel_out = kernel;
    return result;
}

int cudaGetKernel(void **kernel_out, const void *function)
{
    return SP_RUNTIME(get_kernel(kernel_out, function));
}

/* ---- libraries ----------------------------------------------------------------------- */

int cudaLibraryLoadData(sp_cu_library *library_out, const void *image, int *options,
                        void **values, unsigned n_options, int *library_options,
                        void **library_values, unsigned n_library_options)
{
    return SP_RUNTIME(sp_cu()->cuLibraryLoadData(library_out, image, options, values, n_options,
                                                 library_options, library_values,
                                                 n_library_options));
}

int cudaLibraryUnload(sp_cu_library library)
{
    return SP_RUNTIME(sp_cu()->cuLibraryUnload(library));
}

int cudaLibraryGetKernel(sp_cu_kernel *kernel_out, sp_cu_library library, const char *name)
{
    return SP_RUNTIME(sp_cu()->cuLibraryGetKernel(kernel_out, library, name));
}

/* ---- entry points of the driver ------------------------------------------------------ */

int cudaGetDriverEntryPoint(const char *symbol, void **function_out, unsigned long long flags,
                            int *status_out)
{
    return SP_RUNTIME_START(
        sp_runtime_entry_point(symbol, function_out, SP_RUNTIME_VERSION, flags, status_out));
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **function_out, unsigned version,
                                     unsigned long long flags, int *status_out)
{
    return SP_RUNTIME_START(
        sp_runtime_entry_point(symbol, function_out, version, flags, status_out));
}
