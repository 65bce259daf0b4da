/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the conformance cases about graphs are written with. */
#include "config.h"

#include "tests/conformance_graph.h"

sp_cu_graph sp_case_graph(void)
{
    sp_cu_graph graph = NULL;

    assert_success(cu->cuGraphCreate(&graph, 0));
    assert_non_null(graph);
    return graph;
}

sp_cu_exec sp_case_instantiate(sp_cu_graph graph, unsigned long long flags)
{
    sp_cu_exec exec = NULL;

    assert_success(cu->cuGraphInstantiate(&exec, graph, flags));
    assert_non_null(exec);
    return exec;
}

sp_cu_result sp_case_try_instantiate(sp_cu_graph graph)
{
    sp_cu_exec exec = NULL;
    sp_cu_result result = cu->cuGraphInstantiate(&exec, graph, 0);

    if (result == SP_CU_SUCCESS)
        sp_case_destroy_exec(exec);
    return result;
}

void sp_case_launch(sp_cu_exec exec, sp_cu_stream stream)
{
    assert_success(cu->cuGraphLaunch(exec, stream));
}

void sp_case_destroy_graph(sp_cu_graph graph)
{
    assert_success(cu->cuGraphDestroy(graph));
}

void sp_case_destroy_exec(sp_cu_exec exec)
{
    assert_success(cu->cuGraphExecDestroy(exec));
}

void sp_case_trim_graphs(void)
{
    assert_success(cu->cuCtxSynchronize());
    for (int device = 0; device < sp_case_n_devices(); device++)
        assert_success(cu->cuDeviceGraphMemTrim(device));
}

/* ---- nodes ----------------------------------------------------------------------------- */

size_t sp_case_count_nodes(sp_cu_graph graph)
{
    size_t n = 0;

    assert_success(cu->cuGraphGetNodes(graph, NULL, &n));
    return n;
}

size_t sp_case_count_edges(sp_cu_graph graph)
{
    size_t n = 0;

    assert_success(cu->cuGraphGetEdges(graph, NULL, NULL, NULL, &n));
    return n;
}

sp_cu_node sp_case_empty_node(sp_cu_graph graph, sp_cu_node before)
{
    sp_cu_node node = NULL;

    assert_success(cu->cuGraphAddEmptyNode(&node, graph, &before, before != NULL));
    assert_non_null(node);
    return node;
}

sp_cu_node sp_case_set_node(sp_cu_graph graph, sp_cu_node before, sp_cu_ptr ptr,
                            unsigned char value, size_t size)
{
    struct sp_cu_memset_params params = {
        .target = ptr, .value = value, .element_size = 1, .width = size, .height = 1};
    sp_cu_context context;
    sp_cu_node node = NULL;

    assert_success(cu->cuCtxGetCurrent(&context));
    assert_success(
        cu->cuGraphAddMemsetNode(&node, graph, &before, before != NULL, &params, context));
    return node;
}

sp_cu_node sp_case_copy_node(sp_cu_graph graph, sp_cu_node before, void *target,
                             sp_cu_ptr source, size_t size)
{
    struct sp_cu_memcpy3d copy = {.source_type = SP_CU_MEMORY_TYPE_DEVICE,
                                  .source_device = source,
                                  .target_type = SP_CU_MEMORY_TYPE_HOST,
                                  .target_host = target,
                                  .width_bytes = size,
                                  .height = 1,
                                  .depth = 1};
    sp_cu_context context;
    sp_cu_node node = NULL;

    assert_success(cu->cuCtxGetCurrent(&context));
    assert_success(
        cu->cuGraphAddMemcpyNode(&node, graph, &before, before != NULL, &copy, context));
    return node;
}

sp_cu_node sp_case_free_node(sp_cu_graph graph, sp_cu_node before, sp_cu_ptr ptr)
{
    sp_cu_node node = NULL;

    assert_success(cu->cuGraphAddMemFreeNode(&node, graph, &before, before != NULL, ptr));
    assert_non_null(node);
    return node;
}

struct sp_cu_alloc_params sp_case_alloc_params(int device, size_t size)
{
    return (struct sp_cu_alloc_params){.props = sp_case_props(device), .size = size};
}

sp_cu_ptr sp_case_alloc_node(sp_cu_graph graph, sp_cu_node before, size_t size,
                             sp_cu_node *node_out)
{
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, size);
    sp_cu_node node = NULL;

    assert_success(cu->cuGraphAddMemAllocNode(&node, graph, &before, before != NULL, &params));
    assert_non_null(node);
    assert_int_not_equal(params.ptr, 0);
    if (node_out != NULL)
        *node_out = node;
    return params.ptr;
}

sp_cu_result sp_case_try_alloc(sp_cu_graph graph, struct sp_cu_alloc_params params)
{
    sp_cu_node node;

    return cu->cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
}

sp_cu_result sp_case_try_free(sp_cu_graph graph, sp_cu_ptr ptr)
{
    sp_cu_node node;

    return cu->cuGraphAddMemFreeNode(&node, graph, NULL, 0, ptr);
}

sp_cu_result sp_case_try_move(sp_cu_graph graph, sp_cu_graph child, sp_cu_node *node_out)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH,
                                       .child = {child, SP_CU_CHILD_MOVE}};

    return cu->cuGraphAddNode(node_out, graph, NULL, NULL, 0, &params);
}
