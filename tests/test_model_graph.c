/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's graphs: lists as the driver gives them, changes that are whole or not at all,
 * handles that stand for nothing, graphs in graphs. Random operations are in
 * test_model_graph_random.c, user objects in test_model_objects.c, what happens without memory
 * in test_model_graph_oom.c. */
#include "config.h"

#include "tests/model_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* ---- what the tests are written with ------------------------------------------------- */

static sp_cu_graph new_graph(void)
{
    sp_cu_graph graph = NULL;

    assert_done(cuGraphCreate(&graph, 0));
    assert_non_null(graph);
    return graph;
}

/* An empty node behind at most one other. */
static sp_cu_node new_node(sp_cu_graph graph, sp_cu_node before)
{
    sp_cu_node node = NULL;

    assert_done(cuGraphAddEmptyNode(&node, graph, &before, before != NULL));
    assert_non_null(node);
    return node;
}

static size_t count_nodes(sp_cu_graph graph)
{
    size_t n = 77;

    assert_done(cuGraphGetNodes(graph, NULL, &n));
    return n;
}

static size_t count_edges(sp_cu_graph graph)
{
    size_t n = 77;

    assert_done(cuGraphGetEdges(graph, NULL, NULL, NULL, &n));
    return n;
}

static void nothing(void *arg)
{
    (void)arg;
}

/* ---- lists --------------------------------------------------------------------------- */

static void a_list_without_an_array_is_a_count(void **state)
{
    sp_cu_graph graph = new_graph();
    sp_cu_node first = new_node(graph, NULL), second = new_node(graph, first);
    size_t n;

    (void)state;
    assert_int_equal(count_nodes(graph), 2);
    assert_int_equal(count_edges(graph), 1);
    assert_done(cuGraphGetRootNodes(graph, NULL, &n));
    assert_int_equal(n, 1);
    assert_done(cuGraphNodeGetDependencies(second, NULL, NULL, &n));
    assert_int_equal(n, 1);
    assert_done(cuGraphNodeGetDependentNodes(second, NULL, NULL, &n));
    assert_int_equal(n, 0);
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetNodes(graph, NULL, NULL));
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetRootNodes(graph, NULL, NULL));
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetEdges(graph, NULL, NULL, NULL, NULL));
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeGetDependencies(second, NULL, NULL, NULL));
}

static void a_list_is_cut_to_its_array_and_filled_with_null(void **state)
{
    sp_cu_graph graph = new_graph();
    sp_cu_node first = new_node(graph, NULL), second = new_node(graph, first);
    sp_cu_node from[3] = {first, first, first}, to[3] = {first, first, first};
    size_t n = 1;

    (void)state;
    assert_done(cuGraphGetNodes(graph, from, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(from[0], first);
    assert_ptr_equal(from[1], first);
    n = 3;
    assert_done(cuGraphGetNodes(graph, from, &n));
    assert_int_equal(n, 2);
    assert_ptr_equal(from[1], second);
    assert_null(from[2]);
    n = 3;
    assert_done(cuGraphGetEdges(graph, from, to, NULL, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(from[0], first);
    assert_ptr_equal(to[0], second);
    assert_null(from[1]);
    assert_null(to[2]);
}

static void edges_are_listed_with_both_ends(void **state)
{
    sp_cu_graph graph = new_graph();
    sp_cu_node node = new_node(graph, new_node(graph, NULL)), out = NULL;
    struct sp_cu_edge_data data;
    size_t n = 1;

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetEdges(graph, &out, NULL, NULL, &n));
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetEdges(graph, NULL, &out, NULL, &n));
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetEdges(graph, NULL, NULL, &data, &n));
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeGetDependencies(node, NULL, &data, &n));
    assert_int_equal(n, 1);
    assert_null(out);
}

/* Edge data with a meaning is lost on who does not ask for it. */
static void edge_data_must_be_asked_for(void **state)
{
    struct sp_cu_edge_data edge = {.from_port = 1, .type = 1}, seen = {0};
    sp_cu_graph graph = new_graph();
    sp_cu_node first = new_node(graph, NULL), second = new_node(graph, NULL);
    sp_cu_node from = NULL, to = NULL;
    size_t n = 1;

    (void)state;
    assert_done(cuGraphAddDependencies(graph, &first, &second, &edge, 1));
    assert_result(SP_CU_LOSSY_QUERY, cuGraphGetEdges(graph, &from, &to, NULL, &n));
    assert_result(SP_CU_LOSSY_QUERY, cuGraphNodeGetDependencies(second, &from, NULL, &n));
    assert_result(SP_CU_LOSSY_QUERY, cuGraphNodeGetDependentNodes(first, &from, NULL, &n));
    assert_null(from);
    assert_int_equal(count_edges(graph), 1);
    assert_done(cuGraphGetEdges(graph, &from, &to, &seen, &n));
    assert_ptr_equal(from, first);
    assert_memory_equal(&seen, &edge, sizeof(seen));
    assert_result(SP_CU_INVALID_VALUE,
                  cuGraphRemoveDependencies(graph, &first, &second, NULL, 1));
    assert_done(cuGraphRemoveDependencies(graph, &first, &second, &edge, 1));
    assert_int_equal(count_edges(graph), 0);
}

static void edge_data_without_a_meaning_is_refused(void **state)
{
    static const struct sp_cu_edge_data wrong[] = {
        {3, 0, 1, {0}}, {0, 1, 0, {0}}, {1, 0, 0, {0}},
        {0, 0, 1, {0}}, {2, 0, 2, {0}}, {0, 0, 0, {0, 0, 0, 0, 1}},
    };
    struct sp_cu_node_params params = {.type = SP_CU_NODE_EMPTY};
    sp_cu_graph graph = new_graph();
    sp_cu_node first = new_node(graph, NULL), second = new_node(graph, NULL), third = NULL;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(wrong); i++) {
        assert_result(SP_CU_INVALID_VALUE,
                      cuGraphAddDependencies(graph, &first, &second, &wrong[i], 1));
        assert_result(SP_CU_INVALID_VALUE,
                      cuGraphAddNode(&third, graph, &first, &wrong[i], 1, &params));
    }
    assert_null(third);
    assert_int_equal(count_edges(graph), 0);
}

/* ---- large graphs -------------------------------------------------------------------- */

/* A chain whose edges lead from newer nodes to older ones: the worst for who recurses. */
static void a_long_chain_is_sorted_and_destroyed(void **state)
{
    enum { N = 20000 };
    struct sp_model_node **sorted = NULL;
    sp_cu_graph graph = new_graph();
    sp_cu_node before = new_node(graph, NULL), first = before;
    bool is_first = false, is_forward = false, is_backward = true, is_round = true;
    sp_cu_result result;

    (void)state;
    for (size_t i = 1; i < N; i++) {
        sp_cu_node node = new_node(graph, NULL);

        assert_done(cuGraphAddDependencies(graph, &node, &before, NULL, 1));
        before = node;
    }
    sp_lock_take(sp_model_lock());
    result = sp_model_graph_sort(sp_model_graph_find(graph), &sorted);
    if (result == SP_CU_SUCCESS) {
        is_forward = sp_model_graph_precedes(sorted[0], sorted[N - 1]);
        is_backward = sp_model_graph_precedes(sorted[N - 1], sorted[0]);
        is_round = sp_model_graph_precedes(sorted[0], sorted[0]);
        is_first = sorted[0]->handle == before && sorted[N - 1]->handle == first;
    }
    sp_lock_give(sp_model_lock());
    assert_int_equal(result, SP_CU_SUCCESS);
    assert_true(is_first);
    assert_true(is_forward);
    assert_false(is_backward);
    assert_false(is_round);
    free(sorted);
    assert_done(cuGraphDestroy(graph));
}

/* ---- handles that stand for nothing -------------------------------------------------- */

/* The last call has done what is undefined, or (n == 0) has not. */
static void assert_said(uint64_t *n_before, uint64_t n)
{
    uint64_t now = starpool_model_violations(NULL);

    assert_int_equal(now - *n_before, n);
    *n_before = now;
}

static void a_destroyed_node_is_told_from_all_others(void **state)
{
    sp_cu_graph graph = new_graph();
    sp_cu_node node = new_node(graph, NULL), other;
    uint64_t said = 0;
    int type = 77;

    (void)state;
    assert_done(cuGraphDestroyNode(node));
    other = new_node(graph, NULL);
    assert_ptr_not_equal(other, node);
    assert_said(&said, 0);
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeGetType(node, &type));
    assert_said(&said, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroyNode(node));
    assert_said(&said, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphAddEmptyNode(&other, graph, &node, 1));
    assert_said(&said, 1);
    assert_int_equal(type, 77);
    assert_int_equal(count_nodes(graph), 1);
}

static void a_destroyed_graph_takes_its_nodes_and_children_along(void **state)
{
    sp_cu_graph graph = new_graph(), child = new_graph(), inner = NULL;
    sp_cu_node node, inner_node = new_node(child, NULL), out = NULL;
    uint64_t said = 0;
    size_t n = 1;

    (void)state;
    assert_done(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    assert_done(cuGraphChildGraphNodeGetGraph(node, &inner));
    assert_ptr_not_equal(inner, child);
    assert_done(cuGraphGetNodes(inner, &inner_node, &n));
    assert_done(cuGraphDestroy(graph));
    assert_said(&said, 0);
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy(graph));
    assert_said(&said, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetNodes(inner, NULL, &n));
    assert_said(&said, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphChildGraphNodeGetGraph(node, &inner));
    assert_said(&said, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroyNode(inner_node));
    assert_said(&said, 1);
    assert_result(SP_CU_INVALID_VALUE, cuGraphAddEmptyNode(&out, graph, NULL, 0));
    assert_said(&said, 1);
    assert_int_equal(count_nodes(child), 1);
}

static void what_never_was_a_handle_is_refused_without_a_word(void **state)
{
    sp_cu_graph graph = new_graph();
    sp_cu_node node = new_node(graph, NULL);
    uintptr_t values[] = {0,
                          1,
                          3,
                          5,
                          (uintptr_t)&graph,
                          UINTPTR_MAX,
                          (uintptr_t)graph,
                          (uintptr_t)node + 2048,
                          (uintptr_t)node + ((uintptr_t)1 << 40)};
    uint64_t said = 0;
    int type;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(values); i++)
        assert_result(SP_CU_INVALID_VALUE, cuGraphNodeGetType((sp_cu_node)values[i], &type));
    values[6] = (uintptr_t)node;
    for (size_t i = 0; i < SP_ARRAY_SIZE(values); i++)
        assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy((sp_cu_graph)values[i]));
    assert_said(&said, 0);
}

static void a_reset_forgets_every_graph(void **state)
{
    sp_cu_graph graph = new_graph(), child = new_graph();
    sp_cu_node node;
    size_t n;

    assert_done(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    sp_test_model_end(state);
    assert_int_equal(sp_test_model_inline(state), 0);
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetNodes(graph, NULL, &n));
    assert_ptr_equal(new_graph(), graph);
}

/* ---- clones, graphs in graphs -------------------------------------------------------- */

static void a_clone_knows_what_was_there_when_it_was_made(void **state)
{
    sp_cu_graph graph = new_graph(), clone = NULL;
    sp_cu_node old = new_node(graph, NULL), gone = new_node(graph, old), later, found = NULL;
    sp_cu_node others;
    size_t n = 1;

    (void)state;
    assert_done(cuGraphClone(&clone, graph));
    later = new_node(graph, NULL);
    others = new_node(clone, NULL);
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeFindInClone(&found, later, clone));
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeFindInClone(&found, others, graph));
    assert_done(cuGraphNodeFindInClone(&found, gone, clone));
    assert_done(cuGraphDestroyNode(found));
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeFindInClone(&found, gone, clone));
    assert_done(cuGraphNodeFindInClone(&found, old, clone));
    assert_done(cuGraphGetRootNodes(clone, &old, &n));
    assert_ptr_equal(found, old);
    assert_result(SP_CU_INVALID_VALUE, cuGraphClone(NULL, graph));
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeFindInClone(NULL, gone, clone));
    assert_int_equal(count_nodes(graph), 3);
}

static void a_graph_inside_another_is_not_destroyed_alone(void **state)
{
    sp_cu_graph graph = new_graph(), child = new_graph(), inner = NULL;
    sp_cu_node node;

    (void)state;
    assert_done(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    assert_done(cuGraphChildGraphNodeGetGraph(node, &inner));
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy(inner));
    (void)new_node(inner, NULL);
    assert_int_equal(count_nodes(inner), 1);
    assert_int_equal(count_nodes(child), 0);
    assert_done(cuGraphDestroyNode(node));
    assert_done(cuGraphDestroy(child));
    assert_done(cuGraphDestroy(graph));
}

static sp_cu_result move(sp_cu_node *node, sp_cu_graph graph, sp_cu_graph child)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH,
                                       .child = {child, SP_CU_CHILD_MOVE}};

    return sp_model.driver->cuGraphAddNode(node, graph, NULL, NULL, 0, &params);
}

static void a_graph_moves_once_and_never_into_itself(void **state)
{
    sp_cu_graph graph = new_graph(), child = new_graph(), inner = NULL, other = new_graph();
    sp_cu_node node = NULL;

    (void)state;
    assert_int_equal(move(&node, child, child), SP_CU_INVALID_VALUE);
    assert_int_equal(move(&node, graph, child), SP_CU_SUCCESS);
    assert_done(cuGraphChildGraphNodeGetGraph(node, &inner));
    assert_ptr_equal(inner, child);
    assert_int_equal(move(&node, other, child), SP_CU_NOT_SUPPORTED);
    assert_result(SP_CU_NOT_SUPPORTED, cuGraphAddChildGraphNode(&node, other, NULL, 0, child));
    assert_int_equal(move(&node, child, graph), SP_CU_INVALID_VALUE);
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy(child));
    assert_int_equal(count_nodes(other), 0);
    assert_done(cuGraphDestroy(graph));
    assert_result(SP_CU_INVALID_VALUE, cuGraphGetNodes(child, NULL, &(size_t){0}));
}

/* A capture may be given nodes by the way, and loses none; edges may go. */
static void a_graph_that_is_being_captured_keeps_its_nodes(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = new_graph(), child = new_graph(), captured = NULL, inner;
    sp_cu_node node, before, behind, parent;
    int status;

    (void)state;
    assert_done(cuGraphAddChildGraphNode(&parent, graph, NULL, 0, child));
    assert_done(cuGraphChildGraphNodeGetGraph(parent, &inner));
    assert_done(
        cuStreamBeginCaptureToGraph(stream, inner, NULL, NULL, 0, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuStreamGetCaptureInfo(stream, &status, NULL, &captured, NULL, NULL, NULL));
    assert_ptr_equal(captured, inner);
    before = new_node(inner, NULL);
    behind = new_node(inner, before);
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroyNode(behind));
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroyNode(parent));
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy(graph));
    assert_int_equal(move(&node, child, graph), SP_CU_INVALID_VALUE);
    assert_done(cuGraphRemoveDependencies(inner, &before, &behind, NULL, 1));
    assert_done(cuStreamEndCapture(stream, &captured));
    assert_int_equal(count_nodes(inner), 2);
    assert_done(cuGraphDestroyNode(behind));
    assert_done(cuGraphDestroy(graph));
}

/* ---- conditions ---------------------------------------------------------------------- */

static sp_cu_result add_condition(sp_cu_graph graph, sp_cu_conditional handle, int type,
                                  unsigned size, sp_cu_graph **bodies_out)
{
    struct sp_cu_node_params params = {
        .type = SP_CU_NODE_CONDITIONAL,
        .conditional = {.handle = handle, .type = type, .size = size}};
    sp_cu_node node;
    sp_cu_result result = sp_model.driver->cuGraphAddNode(&node, graph, NULL, NULL, 0, &params);

    *bodies_out = params.conditional.graphs_out;
    return result;
}

static void a_condition_has_graphs_of_its_own(void **state)
{
    sp_cu_graph graph = new_graph(), clone;
    sp_cu_graph *bodies = NULL;
    sp_cu_conditional handle = 0, second = 0;

    (void)state;
    assert_done(cuGraphConditionalHandleCreate(&handle, graph, sp_model.context, 1, 1));
    assert_done(cuGraphConditionalHandleCreate(&second, graph, NULL, 0, 0));
    assert_int_not_equal(handle, second);
    assert_int_equal(add_condition(graph, handle, SP_CU_CONDITION_IF, 3, &bodies),
                     SP_CU_INVALID_VALUE);
    assert_int_equal(add_condition(graph, handle, SP_CU_CONDITION_WHILE, 2, &bodies),
                     SP_CU_INVALID_VALUE);
    assert_int_equal(add_condition(graph, handle, 3, 1, &bodies), SP_CU_INVALID_VALUE);
    assert_null(bodies);
    assert_int_equal(add_condition(graph, handle, SP_CU_CONDITION_SWITCH, 3, &bodies),
                     SP_CU_SUCCESS);
    for (size_t i = 0; i < 3; i++) {
        (void)new_node(bodies[i], NULL);
        assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy(bodies[i]));
    }
    assert_int_equal(add_condition(graph, handle, SP_CU_CONDITION_IF, 1, &bodies),
                     SP_CU_INVALID_VALUE); /* The handle has its node. */
    assert_result(SP_CU_NOT_SUPPORTED, cuGraphClone(&clone, graph));
    assert_int_equal(add_condition(new_graph(), second, SP_CU_CONDITION_IF, 1, &bodies),
                     SP_CU_INVALID_VALUE); /* The handle is another graph's. */
    assert_done(cuGraphDestroy(graph));
}

/* ---- parameters ---------------------------------------------------------------------- */

static void bytes_that_mean_nothing_must_be_zero(void **state)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_HOST, .host = {nothing, NULL}};
    sp_cu_graph graph = new_graph();
    sp_cu_node node = NULL;
    char *bytes = (char *)&params;

    (void)state;
    for (size_t i = sizeof(params.type); i < sizeof(params); i += 4) {
        size_t used = offsetof(struct sp_cu_node_params, host);

        if (i >= used && i < used + sizeof(params.host))
            continue;
        bytes[i] = 1;
        assert_result(SP_CU_INVALID_VALUE,
                      cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
        bytes[i] = 0;
    }
    assert_null(node);
    assert_done(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
}

static void a_node_takes_parameters_of_its_own_type(void **state)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_HOST, .host = {nothing, NULL}};
    struct sp_cu_host_params seen;
    sp_cu_graph graph = new_graph();
    sp_cu_node node;
    int arg;

    (void)state;
    assert_done(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.host.arg = &arg;
    assert_done(cuGraphNodeSetParams(node, &params));
    assert_done(cuGraphHostNodeGetParams(node, &seen));
    assert_ptr_equal(seen.arg, &arg);
    params.host.call = NULL;
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeSetParams(node, &params));
    params = (struct sp_cu_node_params){.type = SP_CU_NODE_EMPTY};
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeSetParams(node, &params));
    assert_result(SP_CU_INVALID_VALUE, cuGraphNodeSetParams(node, NULL));
    assert_done(cuGraphHostNodeGetParams(node, &seen));
    assert_ptr_equal(seen.arg, &arg);
}

/* Sizes whose product or sum is cut off would look small. */
static void what_goes_beyond_all_addresses_is_refused(void **state)
{
    const size_t half = SIZE_MAX / 2 + 1;
    struct sp_cu_memset_params sets[] = {
        {.width = 1, .height = 3, .pitch = half},
        {.width = SIZE_MAX, .height = 1},
        {.width = 8, .height = half, .pitch = 16},
        {.width = 8, .height = SIZE_MAX / 8 + 2, .pitch = 8},
    };
    struct sp_cu_memcpy3d copies[] = {
        {.width_bytes = 8, .height = 3, .depth = 1, .source_pitch = half},
        {.width_bytes = SIZE_MAX, .height = 1, .depth = 1},
        {.width_bytes = 8, .height = 1, .depth = 1, .source_x_bytes = SIZE_MAX},
        {.width_bytes = 8, .height = 1, .depth = 1, .source_y = half, .source_pitch = 4},
        {.width_bytes = 8, .height = 1, .depth = 3, .source_pitch = 16, .source_height = half},
        {.width_bytes = 8, .height = 2, .depth = 1, .source_y = SIZE_MAX, .source_pitch = 8},
    };
    sp_cu_graph graph = new_graph();
    sp_cu_node node = NULL;
    sp_cu_ptr cell;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_SIZE));
    for (size_t i = 0; i < SP_ARRAY_SIZE(sets); i++) {
        sets[i].target = cell;
        sets[i].element_size = 1;
        assert_result(SP_CU_INVALID_VALUE,
                      cuGraphAddMemsetNode(&node, graph, NULL, 0, &sets[i], sp_model.context));
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(copies); i++) {
        copies[i].source_type = copies[i].target_type = SP_CU_MEMORY_TYPE_DEVICE;
        copies[i].source_device = copies[i].target_device = cell;
        copies[i].target_pitch = 1024;
        copies[i].target_height = 16;
        assert_result(SP_CU_INVALID_VALUE, cuGraphAddMemcpyNode(&node, graph, NULL, 0,
                                                                &copies[i], sp_model.context));
    }
    assert_null(node);
    assert_done(cuGraphDestroy(graph));
    assert_done(cuMemFree(cell));
}

static void types_that_the_model_has_not_are_refused(void **state)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_BATCH_MEM_OP};
    sp_cu_graph graph = new_graph();
    sp_cu_node node = NULL;

    (void)state;
    assert_result(SP_CU_NOT_SUPPORTED, cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.type = 99;
    assert_result(SP_CU_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    assert_null(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_list_without_an_array_is_a_count),
        SP_TEST_BOTH(a_list_is_cut_to_its_array_and_filled_with_null),
        SP_TEST_BOTH(edges_are_listed_with_both_ends),
        SP_TEST_BOTH(edge_data_must_be_asked_for),
        SP_TEST_BOTH(edge_data_without_a_meaning_is_refused),
        SP_TEST_BOTH(a_long_chain_is_sorted_and_destroyed),
        SP_TEST_BOTH(a_destroyed_node_is_told_from_all_others),
        SP_TEST_BOTH(a_destroyed_graph_takes_its_nodes_and_children_along),
        SP_TEST_BOTH(what_never_was_a_handle_is_refused_without_a_word),
        SP_TEST_BOTH(a_reset_forgets_every_graph),
        SP_TEST_BOTH(a_clone_knows_what_was_there_when_it_was_made),
        SP_TEST_BOTH(a_graph_inside_another_is_not_destroyed_alone),
        SP_TEST_BOTH(a_graph_moves_once_and_never_into_itself),
        SP_TEST_BOTH(a_graph_that_is_being_captured_keeps_its_nodes),
        SP_TEST_BOTH(a_condition_has_graphs_of_its_own),
        SP_TEST_BOTH(bytes_that_mean_nothing_must_be_zero),
        SP_TEST_BOTH(a_node_takes_parameters_of_its_own_type),
        SP_TEST_BOTH(what_goes_beyond_all_addresses_is_refused),
        SP_TEST_BOTH(types_that_the_model_has_not_are_refused),
    };

    return cmocka_run_group_tests_name("model_graph", tests, NULL, NULL);
}
