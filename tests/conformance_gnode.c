/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GNODE: nodes that allocate and free: their parameters, and which frees there may be. What may
 * be done with graphs that have such nodes is in conformance_gnode_limits.c. */
#include "config.h"

#include "tests/conformance_graph.h"

#include <string.h>

#define SIZE ((size_t)4096)

/* ---- allocation nodes ------------------------------------------------------------------- */

static sp_cu_ptr ptr_of(sp_cu_node node)
{
    struct sp_cu_alloc_params params = {0};

    assert_success(cu->cuGraphMemAllocNodeGetParams(node, &params));
    return params.ptr;
}

static void gnode_01_an_allocation_nodes_address_is_there_at_once_and_stays(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    unsigned char *copy;
    sp_cu_node node, last;
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &node);

    assert_success(cu->cuMemAllocHost((void **)&copy, SIZE));
    assert_int_equal(ptr_of(node), ptr);
    last =
        sp_case_copy_node(graph, sp_case_set_node(graph, node, ptr, 7, SIZE), copy, ptr, SIZE);
    (void)sp_case_free_node(graph, last, ptr);
    for (int round = 0; round < 4; round++) {
        sp_cu_exec exec = sp_case_instantiate(graph, 0);

        assert_int_equal(ptr_of(node), ptr);
        memset(copy, 0, SIZE);
        sp_case_launch(exec, stream);
        sp_case_launch(exec, stream);
        sp_case_finish(stream);
        for (size_t i = 0; i < SIZE; i++)
            assert_int_equal(copy[i], 7);
        sp_case_destroy_exec(exec);
        assert_int_equal(ptr_of(node), ptr);
    }
    sp_case_destroy_graph(graph);
    assert_success(cu->cuMemFreeHost(copy));
    sp_case_trim_graphs();
}

static void gnode_01_a_node_added_by_its_type_has_its_address_as_well(void)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_MEM_ALLOC};
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node node;
    int type = -1;

    sp_case_need(SP_CALL_cuGraphAddNode);
    params.alloc = sp_case_alloc_params(0, SIZE);
    assert_success(cu->cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    assert_int_not_equal(params.alloc.ptr, 0);
    assert_int_equal(ptr_of(node), params.alloc.ptr);
    assert_success(cu->cuGraphNodeGetType(node, &type));
    assert_int_equal(type, SP_CU_NODE_MEM_ALLOC);
    sp_case_destroy_graph(graph);
}

static void gnode_02_wrong_places_of_an_allocation_node_are_refused(void)
{
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, SIZE);
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node before[2] = {sp_case_empty_node(graph, NULL), NULL};
    sp_cu_node node = sp_case_empty_node(graph, NULL);

    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddMemAllocNode(NULL, graph, NULL, 0, &params));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddMemAllocNode(&node, NULL, NULL, 0, &params));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddMemAllocNode(&node, graph, NULL, 0, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddMemAllocNode(&node, graph, NULL, 1, &params));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuGraphAddMemAllocNode(&node, graph, before, 2, &params));
    before[1] = before[0];
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuGraphAddMemAllocNode(&node, graph, before, 2, &params));
    assert_int_equal(sp_case_count_nodes(graph), 2);
    assert_success(cu->cuGraphAddMemAllocNode(&node, graph, before, 1, &params));
    sp_case_destroy_graph(graph);
}

static void gnode_02_wrong_properties_of_an_allocation_node_are_refused(void)
{
    sp_cu_graph graph = sp_case_graph();
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, SIZE);

    params.props.alloc_type = SP_CU_ALLOCATION_INVALID;
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_alloc(graph, params));
    params = sp_case_alloc_params(0, SIZE);
    params.props.location.type = SP_CU_LOCATION_NONE;
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_alloc(graph, params));
    params = sp_case_alloc_params(sp_case_n_devices(), SIZE);
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_alloc(graph, params));
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(graph);
}

static void gnode_03_an_impossible_size_fails_when_the_node_is_added(void)
{
    sp_cu_graph graph = sp_case_graph();

    assert_cu(SP_CU_OUT_OF_MEMORY, sp_case_try_alloc(graph, sp_case_alloc_params(0, SIZE_MAX)));
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(graph);
}

static void gnode_04_graph_memory_has_no_handles(void)
{
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, SIZE);
    sp_cu_graph graph = sp_case_graph();

    params.props.handle_types = SP_CU_HANDLE_POSIX_FD;
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_alloc(graph, params));
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(graph);
}

static void gnode_05_more_access_than_there_are_devices_is_refused(void)
{
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, SIZE);
    struct sp_cu_access_desc access[33];
    sp_cu_graph graph = sp_case_graph();

    assert_in_range(sp_case_n_devices(), 1, 32);
    params.access = access;
    params.n_access = (size_t)sp_case_n_devices() + 1;
    for (size_t i = 0; i < params.n_access; i++)
        access[i] = (struct sp_cu_access_desc){
            {SP_CU_LOCATION_DEVICE, (int)i % sp_case_n_devices()}, SP_CU_ACCESS_READWRITE};
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_alloc(graph, params));
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(graph);
}

static void gnode_05_a_node_keeps_the_access_that_it_was_given(void)
{
    struct sp_cu_access_desc access = {{SP_CU_LOCATION_DEVICE, 1}, SP_CU_ACCESS_READWRITE};
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, SIZE), seen = {0};
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node node;

    params.access = &access;
    params.n_access = 1;
    assert_success(cu->cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    access.location.id = 77;
    assert_success(cu->cuGraphMemAllocNodeGetParams(node, &seen));
    assert_int_equal(seen.n_access, 1);
    assert_ptr_not_equal(seen.access, &access);
    assert_int_equal(seen.access->location.id, 1);
    assert_int_equal(seen.access->flags, SP_CU_ACCESS_READWRITE);
    sp_case_destroy_graph(graph);
}

/* A node of memory of that kind, in a graph of its own. */
static sp_cu_result try_place(void *arg)
{
    const struct sp_cu_pool_props *props = arg;
    struct sp_cu_alloc_params params = {.props = *props, .size = SIZE};
    sp_cu_graph graph = sp_case_graph();
    sp_cu_result result = sp_case_try_alloc(graph, params);

    sp_case_destroy_graph(graph);
    return result;
}

static void gnode_06_memory_that_is_no_devices_may_be_allocated_in_graphs_or_not(void)
{
    static const struct sp_choice choices[] = {{"not-supported", SP_CU_NOT_SUPPORTED},
                                               {"success", SP_CU_SUCCESS}};
    struct sp_cu_pool_props props[] = {
        {.alloc_type = SP_CU_ALLOCATION_PINNED, .location = {SP_CU_LOCATION_HOST, 0}},
        {.alloc_type = SP_CU_ALLOCATION_PINNED,
         .location = {SP_CU_LOCATION_HOST_NUMA, sp_case_numa_node()}},
        {.alloc_type = SP_CU_ALLOCATION_MANAGED, .location = {SP_CU_LOCATION_DEVICE, 0}},
    };

    for (size_t i = 0; i < sizeof(props) / sizeof(props[0]); i++)
        sp_case_choose("GNODE-06", "graph_host_nodes", choices, 2, try_place, &props[i]);
}

static void gnode_07_parameters_are_those_of_the_node_and_of_no_other_type(void)
{
    struct sp_cu_alloc_params params = sp_case_alloc_params(0, SIZE), seen = {0};
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node alloc, release;
    sp_cu_ptr ptr = 77;

    assert_success(cu->cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    release = sp_case_free_node(graph, alloc, params.ptr);
    assert_success(cu->cuGraphMemAllocNodeGetParams(alloc, &seen));
    assert_int_equal(seen.ptr, params.ptr);
    assert_int_equal(seen.size, SIZE);
    assert_int_equal(seen.props.alloc_type, SP_CU_ALLOCATION_PINNED);
    assert_int_equal(seen.props.location.type, SP_CU_LOCATION_DEVICE);
    assert_int_equal(seen.props.location.id, 0);
    assert_int_equal(seen.n_access, 0);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphMemAllocNodeGetParams(release, &seen));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphMemAllocNodeGetParams(alloc, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphMemAllocNodeGetParams(NULL, &seen));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphMemFreeNodeGetParams(alloc, &ptr));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphMemFreeNodeGetParams(release, NULL));
    assert_int_equal(ptr, 77);
    assert_success(cu->cuGraphMemFreeNodeGetParams(release, &ptr));
    assert_int_equal(ptr, params.ptr);
    sp_case_destroy_graph(graph);
}

/* ---- free nodes ------------------------------------------------------------------------- */

static void gnode_08_an_allocation_is_freed_once_in_a_graph(void)
{
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node node = NULL;
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &node);

    node = sp_case_free_node(graph, node, ptr);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddMemFreeNode(&node, graph, &node, 1, ptr));
    assert_int_equal(sp_case_count_nodes(graph), 2);
    sp_case_destroy_graph(graph);
}

static void gnode_08_only_what_an_allocation_node_returned_is_freed(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_ptr plain, pool = sp_case_alloc(sp_case_pool(0), SIZE, stream);
    void *host;

    assert_success(cu->cuMemAlloc(&plain, SIZE));
    assert_success(cu->cuMemAllocHost(&host, SIZE));
    sp_case_finish(stream);
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_free(graph, plain));
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_free(graph, pool));
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_free(graph, (sp_cu_ptr)(uintptr_t)host));
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_free(graph, 0));
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(graph);
    sp_case_free(pool, stream);
    sp_case_finish(stream);
    assert_success(cu->cuMemFree(plain));
    assert_success(cu->cuMemFreeHost(host));
}

static void gnode_09_another_graphs_allocation_can_be_freed_before_that_is_instantiated(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph(), other = sp_case_graph();
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, NULL);
    sp_cu_exec allocating, freeing;

    (void)sp_case_free_node(other, NULL, ptr);
    freeing = sp_case_instantiate(other, 0);
    allocating = sp_case_instantiate(graph, 0);
    for (int round = 0; round < 2; round++) {
        sp_case_launch(allocating, stream);
        sp_case_launch(freeing, stream);
    }
    sp_case_finish(stream);
    sp_case_destroy_exec(allocating);
    sp_case_destroy_exec(freeing);
    sp_case_destroy_graph(graph);
    sp_case_destroy_graph(other);
    sp_case_trim_graphs();
}

/* A graph whose free does not come after its allocation, instantiated. */
static sp_cu_result try_unordered(void *arg)
{
    sp_cu_graph graph = sp_case_graph();
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, NULL);
    sp_cu_result result = sp_case_try_free(graph, ptr);

    (void)arg;
    if (result == SP_CU_SUCCESS)
        result = sp_case_try_instantiate(graph);
    sp_case_destroy_graph(graph);
    return result;
}

static void gnode_10_a_free_before_its_allocation_is_diagnosed_or_not(void)
{
    static const struct sp_choice choices[] = {{"diagnosed", SP_CU_SUCCESS},
                                               {"accepted", SP_CU_SUCCESS},
                                               {"invalid-value", SP_CU_INVALID_VALUE}};
    uint64_t before = cu->is_model ? starpool_model_violations(NULL) : 0;

    sp_case_expect_violations(1);
    sp_case_choose("GNODE-10", "graph_unordered", choices, 3, try_unordered, NULL);
    if (cu->is_model)
        assert_int_equal(starpool_model_violations(NULL), before + 1);
}

/* A use that does not come after the allocation, or not before the free. */
static void gnode_10_a_use_outside_of_its_allocations_life_is_diagnosed(void)
{
    uint64_t start = starpool_model_violations(NULL);

    for (int behind = 0; behind < 2; behind++) {
        uint64_t before = starpool_model_violations(NULL);
        sp_cu_graph graph = sp_case_graph();
        sp_cu_node alloc;
        sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &alloc);

        (void)sp_case_free_node(graph, alloc, ptr);
        (void)sp_case_set_node(graph, behind ? alloc : NULL, ptr, 1, SIZE);
        sp_case_destroy_exec(sp_case_instantiate(graph, 0));
        assert_true(starpool_model_violations(NULL) > before);
        sp_case_destroy_graph(graph);
    }
    sp_case_expect_violations(starpool_model_violations(NULL) - start);
}

static void gnode_11_what_its_own_graph_frees_no_other_graph_may(void)
{
    sp_cu_graph graph = sp_case_graph(), other = sp_case_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &node);

    (void)sp_case_free_node(graph, node, ptr);
    assert_cu(SP_CU_INVALID_VALUE, sp_case_try_free(other, ptr));
    assert_int_equal(sp_case_count_nodes(other), 0);
    sp_case_destroy_graph(graph);
    sp_case_destroy_graph(other);
}

static void gnode_11_what_another_graph_frees_its_own_graph_may_not(void)
{
    sp_cu_graph graph = sp_case_graph(), other = sp_case_graph();
    sp_cu_node node, out = NULL;
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &node);

    (void)sp_case_free_node(other, NULL, ptr);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddMemFreeNode(&out, graph, &node, 1, ptr));
    assert_null(out);
    assert_int_equal(sp_case_count_nodes(graph), 1);
    sp_case_destroy_graph(other);
    sp_case_destroy_graph(graph);
}

static void gnode_12_what_is_freed_inside_its_graph_is_not_freed_outside(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &node);
    sp_cu_exec exec;

    (void)sp_case_free_node(graph, node, ptr);
    exec = sp_case_instantiate(graph, 0);
    sp_case_launch(exec, stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(ptr, stream));
    sp_case_finish(stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFree(ptr));
    sp_case_launch(exec, stream);
    sp_case_finish(stream);
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
    sp_case_trim_graphs();
}

static const struct sp_case cases[] = {
    SP_CASE(gnode_01_an_allocation_nodes_address_is_there_at_once_and_stays, 0),
    SP_CASE(gnode_01_a_node_added_by_its_type_has_its_address_as_well, 0),
    SP_CASE(gnode_02_wrong_places_of_an_allocation_node_are_refused, 0),
    SP_CASE(gnode_02_wrong_properties_of_an_allocation_node_are_refused, 0),
    SP_CASE(gnode_03_an_impossible_size_fails_when_the_node_is_added, 0),
    SP_CASE(gnode_04_graph_memory_has_no_handles, 0),
    SP_CASE(gnode_05_more_access_than_there_are_devices_is_refused, 0),
    SP_CASE(gnode_05_a_node_keeps_the_access_that_it_was_given, SP_TAG_P2P),
    SP_CASE(gnode_06_memory_that_is_no_devices_may_be_allocated_in_graphs_or_not, SP_TAG_HOST),
    SP_CASE(gnode_07_parameters_are_those_of_the_node_and_of_no_other_type, 0),
    SP_CASE(gnode_08_an_allocation_is_freed_once_in_a_graph, 0),
    SP_CASE(gnode_08_only_what_an_allocation_node_returned_is_freed, 0),
    SP_CASE(gnode_09_another_graphs_allocation_can_be_freed_before_that_is_instantiated, 0),
    SP_CASE(gnode_10_a_free_before_its_allocation_is_diagnosed_or_not, 0),
    SP_CASE(gnode_10_a_use_outside_of_its_allocations_life_is_diagnosed, SP_TAG_MODEL),
    SP_CASE(gnode_11_what_its_own_graph_frees_no_other_graph_may, 0),
    SP_CASE(gnode_11_what_another_graph_frees_its_own_graph_may_not, 0),
    SP_CASE(gnode_12_what_is_freed_inside_its_graph_is_not_freed_outside, 0),
};

const struct sp_case_group sp_cases_gnode = SP_CASE_GROUP("GNODE", cases);
