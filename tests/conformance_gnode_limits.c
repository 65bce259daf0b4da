/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GNODE: what may not be done with graphs that have memory nodes, and graphs in graphs. */
#include "config.h"

#include "tests/conformance_graph.h"

#include <string.h>

#define SIZE ((size_t)4096)

/* Graphs with memory nodes: one that allocates, and (index 1) one that frees that. */
struct pair {
    sp_cu_graph graphs[2];
    sp_cu_ptr ptr;
};

static struct pair make_pair(void)
{
    struct pair pair = {{sp_case_graph(), sp_case_graph()}, 0};

    pair.ptr = sp_case_alloc_node(pair.graphs[0], NULL, SIZE, NULL);
    (void)sp_case_free_node(pair.graphs[1], NULL, pair.ptr);
    return pair;
}

static void destroy_pair(const struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        sp_case_destroy_graph(pair->graphs[i]);
}

/* ---- copies ----------------------------------------------------------------------------- */

static void gnode_22_a_graph_with_memory_nodes_has_one_executable(void)
{
    struct pair pair = make_pair();
    sp_cu_exec second = NULL;

    for (int i = 0; i < 2; i++) {
        sp_cu_exec exec = sp_case_instantiate(pair.graphs[i], 0);

        assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphInstantiate(&second, pair.graphs[i], 0));
        sp_case_destroy_exec(exec);
        sp_case_destroy_exec(sp_case_instantiate(pair.graphs[i], 0));
    }
    destroy_pair(&pair);
}

static void gnode_23_a_graph_with_memory_nodes_is_not_cloned(void)
{
    struct pair pair = make_pair();
    sp_cu_graph clone = NULL;

    for (int i = 0; i < 2; i++)
        assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphClone(&clone, pair.graphs[i]));
    assert_null(clone);
    destroy_pair(&pair);
}

static void gnode_24_a_graph_with_memory_nodes_is_not_copied_into_another(void)
{
    struct pair pair = make_pair();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node node = NULL;

    for (int i = 0; i < 2; i++)
        assert_cu(SP_CU_NOT_SUPPORTED,
                  cu->cuGraphAddChildGraphNode(&node, graph, NULL, 0, pair.graphs[i]));
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(graph);
    destroy_pair(&pair);
}

/* ---- graphs that moved ------------------------------------------------------------------ */

/* A graph that has another with memory nodes, which it got whole. */
struct family {
    sp_cu_graph parent, child;
    sp_cu_node node;
    sp_cu_ptr ptr;
};

static struct family make_family(void *copy)
{
    struct family family = {.parent = sp_case_graph(), .child = sp_case_graph()};
    sp_cu_node last;

    sp_case_need(SP_CALL_cuGraphAddNode);
    family.ptr = sp_case_alloc_node(family.child, NULL, SIZE, &last);
    if (copy != NULL) {
        last = sp_case_set_node(family.child, last, family.ptr, 9, SIZE);
        last = sp_case_copy_node(family.child, last, copy, family.ptr, SIZE);
    }
    (void)sp_case_free_node(family.child, last, family.ptr);
    assert_success(sp_case_try_move(family.parent, family.child, &family.node));
    return family;
}

static void gnode_25_a_graph_with_memory_nodes_moves_into_another(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct family family;
    unsigned char *copy;
    sp_cu_graph inner;
    sp_cu_exec exec;

    assert_success(cu->cuMemAllocHost((void **)&copy, SIZE));
    memset(copy, 0, SIZE);
    family = make_family(copy);
    assert_success(cu->cuGraphChildGraphNodeGetGraph(family.node, &inner));
    assert_ptr_equal(inner, family.child);
    exec = sp_case_instantiate(family.parent, 0);
    sp_case_launch(exec, stream);
    sp_case_finish(stream);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(copy[i], 9);
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(family.parent);
    assert_success(cu->cuMemFreeHost(copy));
    sp_case_trim_graphs();
}

static void gnode_25_a_graph_has_the_memory_nodes_of_those_inside_it(void)
{
    struct family family = make_family(NULL);
    sp_cu_graph around = sp_case_graph(), clone = NULL;
    sp_cu_node node;

    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphClone(&clone, family.parent));
    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphDestroyNode(family.node));
    assert_success(sp_case_try_move(around, family.parent, &node));
    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphClone(&clone, around));
    assert_null(clone);
    sp_case_destroy_graph(around);
}

static sp_cu_result instantiate_moved(void *arg)
{
    const struct family *family = arg;

    return sp_case_try_instantiate(family->child);
}

static sp_cu_result move_again(void *arg)
{
    const struct family *family = arg;
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node node;
    sp_cu_result result = sp_case_try_move(graph, family->child, &node);

    sp_case_destroy_graph(graph);
    return result;
}

static sp_cu_result allocate_in_moved(void *arg)
{
    const struct family *family = arg;

    return sp_case_try_alloc(family->child, sp_case_alloc_params(0, SIZE));
}

static sp_cu_result update_from_moved(void *arg)
{
    const struct family *family = arg;
    struct sp_cu_update_result update = {0};
    sp_cu_graph graph = sp_case_graph();
    sp_cu_exec exec = sp_case_instantiate(graph, 0);
    sp_cu_result result = cu->cuGraphExecUpdate(exec, family->child, &update);

    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
    return result;
}

/* On a real driver only what leaves the graphs as they are if it is taken after all. */
static void gnode_25_a_moved_graph_is_no_graph_of_its_own(void)
{
    static const struct sp_choice choices[] = {{"not-supported", SP_CU_NOT_SUPPORTED},
                                               {"invalid-value", SP_CU_INVALID_VALUE}};
    sp_cu_result (*const acts[])(void *) = {instantiate_moved, update_from_moved,
                                            allocate_in_moved, move_again};
    size_t n_acts = cu->is_model ? 4 : 2;
    struct family family = make_family(NULL);

    for (size_t i = 0; i < n_acts; i++)
        sp_case_choose("GNODE-25", "moved_child", choices, 2, acts[i], &family);
    assert_int_equal(sp_case_count_nodes(family.child), 2);
    sp_case_destroy_graph(family.parent);
}

static void gnode_25_a_moved_graph_goes_with_its_parent_and_not_before(void)
{
    struct family family = make_family(NULL);

    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphDestroy(family.child));
    assert_int_equal(sp_case_count_nodes(family.child), 2);
    sp_case_destroy_graph(family.parent);
    sp_case_expect_violations(1);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphDestroy(family.child));
}

/* What adding a conditional node of one body answers; `body_out` may be NULL. */
static sp_cu_result add_condition(sp_cu_graph graph, sp_cu_graph *body_out)
{
    struct sp_cu_node_params params = {
        .type = SP_CU_NODE_CONDITIONAL,
        .conditional = {.type = SP_CU_CONDITION_IF, .size = 1, .context = sp_case_device(0)}};
    sp_cu_node node;
    sp_cu_result result;

    sp_case_need(SP_CALL_cuGraphConditionalHandleCreate);
    assert_success(cu->cuGraphConditionalHandleCreate(&params.conditional.handle, graph,
                                                      sp_case_device(0), 0, 0));
    result = cu->cuGraphAddNode(&node, graph, NULL, NULL, 0, &params);
    if (result == SP_CU_SUCCESS && body_out != NULL)
        *body_out = params.conditional.graphs_out[0];
    return result;
}

static void gnode_25_a_graph_with_conditions_moves_nowhere(void)
{
    sp_cu_graph graph = sp_case_graph(), child = sp_case_graph();
    sp_cu_node node = NULL;
    sp_cu_result result;

    assert_success(add_condition(child, NULL));
    result = sp_case_try_move(graph, child, &node);
    sp_case_observe("GNODE-25", "moving conditions %d", result);
    assert_int_not_equal(result, SP_CU_SUCCESS);
    if (cu->is_model)
        assert_cu(SP_CU_NOT_SUPPORTED, result);
    assert_int_equal(sp_case_count_nodes(graph), 0);
    sp_case_destroy_graph(child);
    sp_case_destroy_graph(graph);
}

static void gnode_26_a_graph_inside_another_gets_no_memory_nodes(void)
{
    struct pair pair = make_pair();
    sp_cu_graph graph = sp_case_graph(), child = sp_case_graph(), inner;
    sp_cu_node node;

    assert_success(cu->cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    assert_success(cu->cuGraphChildGraphNodeGetGraph(node, &inner));
    assert_ptr_not_equal(inner, child);
    assert_cu(SP_CU_NOT_SUPPORTED, sp_case_try_alloc(inner, sp_case_alloc_params(0, SIZE)));
    assert_cu(SP_CU_NOT_SUPPORTED, sp_case_try_free(inner, pair.ptr));
    assert_int_equal(sp_case_count_nodes(inner), 0);
    (void)sp_case_empty_node(inner, NULL);
    assert_int_equal(sp_case_count_nodes(child), 0);
    sp_case_destroy_graph(child);
    sp_case_destroy_graph(graph);
    destroy_pair(&pair);
}

/* ---- changes ---------------------------------------------------------------------------- */

static void gnode_27_nothing_is_deleted_from_a_graph_with_memory_nodes(void)
{
    struct pair pair = make_pair();

    for (int i = 0; i < 2; i++) {
        sp_cu_graph graph = pair.graphs[i];
        sp_cu_node first = sp_case_empty_node(graph, NULL);
        sp_cu_node second = sp_case_empty_node(graph, first);
        sp_cu_node third = sp_case_empty_node(graph, NULL);

        assert_cu(SP_CU_NOT_SUPPORTED,
                  cu->cuGraphRemoveDependencies(graph, &first, &second, NULL, 1));
        assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphDestroyNode(third));
        assert_success(cu->cuGraphAddDependencies(graph, &second, &third, NULL, 1));
        assert_int_equal(sp_case_count_nodes(graph), 4);
        assert_int_equal(sp_case_count_edges(graph), 2);
    }
    destroy_pair(&pair);
}

static void gnode_28_memory_nodes_keep_their_parameters(void)
{
    struct sp_cu_node_params alloc = {.type = SP_CU_NODE_MEM_ALLOC};
    struct sp_cu_node_params release = {.type = SP_CU_NODE_MEM_FREE};
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node nodes[2];
    sp_cu_exec exec;

    sp_case_need(SP_CALL_cuGraphNodeSetParams);
    alloc.alloc = sp_case_alloc_params(0, SIZE);
    release.free = sp_case_alloc_node(graph, NULL, SIZE, &nodes[0]);
    nodes[1] = sp_case_free_node(graph, nodes[0], release.free);
    exec = sp_case_instantiate(graph, 0);
    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphNodeSetParams(nodes[0], &alloc));
    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphNodeSetParams(nodes[1], &release));
    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphExecNodeSetParams(exec, nodes[0], &alloc));
    assert_cu(SP_CU_NOT_SUPPORTED, cu->cuGraphExecNodeSetParams(exec, nodes[1], &release));
    for (int i = 0; i < 2; i++)
        assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphNodeSetEnabled(exec, nodes[i], 0));
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
}

/* ---- executables ------------------------------------------------------------------------ */

static void gnode_29_device_launch_takes_no_memory_nodes(void)
{
    struct sp_cu_instantiate_params params = {.flags = SP_CU_INSTANTIATE_DEVICE_LAUNCH};
    struct pair pair = make_pair();
    sp_cu_exec exec = NULL;
    sp_cu_result result;

    sp_case_need(SP_CALL_cuGraphInstantiateWithParams);
    for (int i = 0; i < 2; i++) {
        params.result = -1;
        result = cu->cuGraphInstantiateWithParams(&exec, pair.graphs[i], &params);
        assert_int_not_equal(result, SP_CU_SUCCESS);
        assert_int_equal(params.result, SP_CU_INSTANTIATE_OPERATION_NOT_SUPPORTED);
    }
    destroy_pair(&pair);
}

static void gnode_29_flags_that_go_with_nothing_are_refused(void)
{
    sp_cu_graph graph = sp_case_graph();
    sp_cu_exec exec = NULL;

    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuGraphInstantiate(&exec, graph,
                                     SP_CU_INSTANTIATE_DEVICE_LAUNCH |
                                         SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphInstantiate(&exec, graph, 1U << 10));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuGraphInstantiate(&exec, graph, SP_CU_INSTANTIATE_UPLOAD));
    assert_null(exec);
    sp_case_destroy_graph(graph);
}

static void gnode_31_an_executable_outlives_its_graph(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node last;
    sp_cu_ptr ptr = sp_case_alloc_node(graph, NULL, SIZE, &last);
    sp_cu_exec exec;

    (void)sp_case_set_node(graph, last, ptr, 5, SIZE);
    exec = sp_case_instantiate(graph, 0);
    sp_case_destroy_graph(graph);
    for (int round = 0; round < 2; round++) {
        sp_case_launch(exec, stream);
        sp_case_assert_bytes(ptr, 5, SIZE, stream);
        assert_success(cu->cuMemFreeAsync(ptr, stream));
    }
    sp_case_finish(stream);
    sp_case_destroy_exec(exec);
    sp_case_trim_graphs();
}

static void gnode_32_no_update_from_a_graph_that_has_an_executable(void)
{
    struct sp_cu_update_result update = {.result = -1};
    sp_cu_graph graph = sp_case_graph(), other = sp_case_graph();
    sp_cu_exec exec, others;

    (void)sp_case_alloc_node(graph, NULL, SIZE, NULL);
    (void)sp_case_alloc_node(other, NULL, SIZE, NULL);
    exec = sp_case_instantiate(graph, 0);
    others = sp_case_instantiate(other, 0);
    assert_cu(SP_CU_GRAPH_EXEC_UPDATE_FAILURE, cu->cuGraphExecUpdate(exec, other, &update));
    assert_int_equal(update.result, SP_CU_UPDATE_NOT_SUPPORTED);
    /* Where memory nodes can be updated at all, too. */
    if (sp_case_switch("graph_update_memory", "success")) {
        update.result = -1;
        assert_cu(SP_CU_GRAPH_EXEC_UPDATE_FAILURE, cu->cuGraphExecUpdate(exec, other, &update));
        assert_int_equal(update.result, SP_CU_UPDATE_NOT_SUPPORTED);
    }
    sp_case_destroy_exec(exec);
    sp_case_destroy_exec(others);
    sp_case_destroy_graph(graph);
    sp_case_destroy_graph(other);
}

/* The same nodes in another graph, which has no executable. */
static sp_cu_result update_memory(void *arg)
{
    struct sp_cu_update_result update = {.result = -1};
    sp_cu_graph graph = sp_case_graph(), other = sp_case_graph();
    sp_cu_result result;
    sp_cu_exec exec;

    (void)arg;
    (void)sp_case_alloc_node(graph, NULL, SIZE, NULL);
    (void)sp_case_alloc_node(other, NULL, SIZE, NULL);
    exec = sp_case_instantiate(graph, 0);
    result = cu->cuGraphExecUpdate(exec, other, &update);
    if (cu->is_model)
        assert_int_equal(update.result,
                         result == SP_CU_SUCCESS ? SP_CU_UPDATED : SP_CU_UPDATE_NOT_SUPPORTED);
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
    sp_case_destroy_graph(other);
    return result;
}

static void gnode_32_memory_nodes_are_updated_from_another_graph_or_not(void)
{
    static const struct sp_choice choices[] = {
        {"not-supported", SP_CU_GRAPH_EXEC_UPDATE_FAILURE}, {"success", SP_CU_SUCCESS}};

    sp_case_choose("GNODE-32", "graph_update_memory", choices, 2, update_memory, NULL);
}

/* An allocation in a conditional node's body, or, if that is taken, instantiating it. */
static sp_cu_result allocate_in_body(void *arg)
{
    sp_cu_graph graph = sp_case_graph(), body = NULL;
    sp_cu_result result;

    (void)arg;
    assert_success(add_condition(graph, &body));
    result = sp_case_try_alloc(body, sp_case_alloc_params(0, SIZE));
    sp_case_observe("GNODE-33", "adding %d", result);
    if (result == SP_CU_SUCCESS)
        result = sp_case_try_instantiate(graph);
    sp_case_destroy_graph(graph);
    return result;
}

static void gnode_33_conditional_bodies_have_no_memory_nodes(void)
{
    static const struct sp_choice choices[] = {{"not-supported", SP_CU_NOT_SUPPORTED},
                                               {"invalid-value", SP_CU_INVALID_VALUE}};

    sp_case_choose("GNODE-33", "body_memory", choices, 2, allocate_in_body, NULL);
}

/* Neither by way of a graph that has some, nor in a graph inside the body. */
static void gnode_33_memory_nodes_enter_a_body_in_no_way(void)
{
    struct pair pair = make_pair();
    sp_cu_graph graph = sp_case_graph(), empty = sp_case_graph(), body = NULL, inner;
    sp_cu_node node;

    assert_success(add_condition(graph, &body));
    assert_cu(SP_CU_NOT_SUPPORTED, sp_case_try_free(body, pair.ptr));
    assert_cu(SP_CU_NOT_SUPPORTED, sp_case_try_move(body, pair.graphs[0], &node));
    assert_success(sp_case_try_move(body, empty, &node));
    assert_success(cu->cuGraphChildGraphNodeGetGraph(node, &inner));
    assert_cu(SP_CU_NOT_SUPPORTED, sp_case_try_alloc(inner, sp_case_alloc_params(0, SIZE)));
    assert_int_equal(sp_case_count_nodes(body), 1);
    sp_case_destroy_graph(graph);
    destroy_pair(&pair);
}

static const struct sp_case cases[] = {
    SP_CASE(gnode_22_a_graph_with_memory_nodes_has_one_executable, 0),
    SP_CASE(gnode_23_a_graph_with_memory_nodes_is_not_cloned, 0),
    SP_CASE(gnode_24_a_graph_with_memory_nodes_is_not_copied_into_another, 0),
    SP_CASE(gnode_25_a_graph_with_memory_nodes_moves_into_another, 0),
    SP_CASE(gnode_25_a_graph_has_the_memory_nodes_of_those_inside_it, 0),
    SP_CASE(gnode_25_a_moved_graph_is_no_graph_of_its_own, 0),
    SP_CASE(gnode_25_a_moved_graph_goes_with_its_parent_and_not_before, SP_TAG_MODEL),
    SP_CASE(gnode_25_a_graph_with_conditions_moves_nowhere, 0),
    SP_CASE(gnode_26_a_graph_inside_another_gets_no_memory_nodes, 0),
    SP_CASE(gnode_27_nothing_is_deleted_from_a_graph_with_memory_nodes, 0),
    SP_CASE(gnode_28_memory_nodes_keep_their_parameters, 0),
    SP_CASE(gnode_29_device_launch_takes_no_memory_nodes, 0),
    SP_CASE(gnode_29_flags_that_go_with_nothing_are_refused, 0),
    SP_CASE(gnode_31_an_executable_outlives_its_graph, 0),
    SP_CASE(gnode_32_no_update_from_a_graph_that_has_an_executable, 0),
    SP_CASE(gnode_32_memory_nodes_are_updated_from_another_graph_or_not, 0),
    SP_CASE(gnode_33_conditional_bodies_have_no_memory_nodes, 0),
    SP_CASE(gnode_33_memory_nodes_enter_a_body_in_no_way, SP_TAG_MODEL),
};

const struct sp_case_group sp_cases_gnode_limits = SP_CASE_GROUP("GNODE", cases);
