/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of executables and graph memory build graphs with. */
#include "config.h"

#include "tests/exec_fixture.h"

#include <stdlib.h>

sp_cu_graph sp_test_graph(void)
{
    sp_cu_graph graph = NULL;

    assert_done(cuGraphCreate(&graph, 0));
    return graph;
}

sp_cu_exec sp_test_exec(sp_cu_graph graph, unsigned flags)
{
    sp_cu_exec exec = NULL;

    assert_done(cuGraphInstantiate(&exec, graph, flags));
    return exec;
}

static struct sp_cu_alloc_params alloc_params(size_t size)
{
    return (struct sp_cu_alloc_params){
        .props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                  .location = {.type = SP_CU_LOCATION_DEVICE, .id = 0}},
        .size = size,
    };
}

sp_cu_ptr sp_test_add_alloc(sp_cu_graph graph, size_t size, const sp_cu_node *before, size_t n,
                            sp_cu_node *node_out)
{
    struct sp_cu_alloc_params params = alloc_params(size);

    assert_done(cuGraphAddMemAllocNode(node_out, graph, before, n, &params));
    return params.ptr;
}

sp_cu_node sp_test_add_free(sp_cu_graph graph, sp_cu_ptr ptr, const sp_cu_node *before,
                            size_t n)
{
    sp_cu_node node = NULL;

    assert_done(cuGraphAddMemFreeNode(&node, graph, before, n, ptr));
    return node;
}

struct sp_cu_memset_params sp_test_set_params(sp_cu_ptr target, unsigned char value,
                                              size_t size)
{
    return (struct sp_cu_memset_params){
        .target = target, .value = value, .element_size = 1, .width = size, .height = 1};
}

sp_cu_node sp_test_add_set(sp_cu_graph graph, sp_cu_ptr target, unsigned char value,
                           const sp_cu_node *before, size_t n)
{
    struct sp_cu_memset_params params = sp_test_set_params(target, value, SP_TEST_CELL);
    sp_cu_node node = NULL;

    assert_done(cuGraphAddMemsetNode(&node, graph, before, n, &params, sp_model.context));
    return node;
}

static struct sp_cu_memcpy3d copy_params(sp_cu_ptr target, sp_cu_ptr source)
{
    return (struct sp_cu_memcpy3d){.source_type = SP_CU_MEMORY_TYPE_UNIFIED,
                                   .source_device = source,
                                   .target_type = SP_CU_MEMORY_TYPE_UNIFIED,
                                   .target_device = target,
                                   .width_bytes = SP_TEST_CELL,
                                   .height = 1,
                                   .depth = 1};
}

sp_cu_node sp_test_add_copy(sp_cu_graph graph, sp_cu_ptr target, sp_cu_ptr source,
                            const sp_cu_node *before, size_t n)
{
    struct sp_cu_memcpy3d params = copy_params(target, source);
    sp_cu_node node = NULL;

    assert_done(cuGraphAddMemcpyNode(&node, graph, before, n, &params, sp_model.context));
    return node;
}

sp_cu_node sp_test_add_function(sp_cu_graph graph, sp_cu_host_fn call, void *arg,
                                const sp_cu_node *before, size_t n)
{
    struct sp_cu_host_params params = {call, arg};
    sp_cu_node node = NULL;

    assert_done(cuGraphAddHostNode(&node, graph, before, n, &params));
    return node;
}

uint64_t sp_test_graph_bytes(int attribute)
{
    uint64_t bytes = UINT64_MAX;

    assert_done(cuDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

void sp_test_assert_bytes(sp_cu_ptr ptr, unsigned char value, sp_cu_stream stream)
{
    unsigned char *bytes = malloc(SP_TEST_CELL);
    size_t n_right = 0;

    assert_non_null(bytes);
    assert_done(cuMemcpyDtoHAsync(bytes, ptr, SP_TEST_CELL, stream));
    assert_done(cuStreamSynchronize(stream));
    while (n_right < SP_TEST_CELL && bytes[n_right] == value)
        n_right++;
    free(bytes);
    assert_int_equal(n_right, SP_TEST_CELL);
}

void sp_test_assert_no_violations(void)
{
    const char *first;

    if (starpool_model_violations(&first) != 0)
        fail_msg("%s", first);
}
