/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The structure of the model's graphs under random operations, against lists that are searched
 * from end to end. */
#include "config.h"

#include "tests/model_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/util/util.h"

enum { MAX_GRAPHS = 5, MAX_NODES = 16, MAX_INSIDE = 40, N_ROUNDS = 3000 };

/* ---- the oracle ---------------------------------------------------------------------- */

struct graph;

struct node {
    uint64_t id, original; /* never given twice; of what it was copied from, or 0 */
    sp_cu_node handle;
    int type;
    struct graph *child; /* of a GRAPH node */
    struct node *dependencies[MAX_NODES];
    struct sp_cu_edge_data edges[MAX_NODES];
    size_t n_dependencies;
};

struct graph {
    uint64_t id, original;
    sp_cu_graph handle;
    struct node *nodes[MAX_NODES]; /* in order of creation */
    size_t n_nodes;
};

static struct {
    struct graph *graphs[MAX_GRAPHS];
    size_t n_graphs;
    uint64_t last_id, random;
    sp_cu_event event;
} world;

static size_t below(size_t bound)
{
    return sp_test_random_below(&world.random, bound);
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);

    assert_non_null(memory);
    return memory;
}

static size_t count_inside(const struct graph *graph)
{
    size_t n = graph->n_nodes;

    for (size_t i = 0; i < graph->n_nodes; i++)
        n += graph->nodes[i]->child == NULL ? 0 : count_inside(graph->nodes[i]->child);
    return n;
}

static void free_graph(struct graph *graph);

static void free_node(struct node *node)
{
    if (node->child != NULL)
        free_graph(node->child);
    free(node);
}

static void free_graph(struct graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++)
        free_node(graph->nodes[i]);
    free(graph);
}

static size_t index_of(const struct graph *graph, const struct node *node)
{
    size_t i = 0;

    while (i < graph->n_nodes && graph->nodes[i] != node)
        i++;
    return i;
}

static size_t find_edge(const struct node *node, const struct node *dependency)
{
    size_t i = 0;

    while (i < node->n_dependencies && node->dependencies[i] != dependency)
        i++;
    return i;
}

static void cut(struct node *node, size_t i)
{
    for (node->n_dependencies--; i < node->n_dependencies; i++) {
        node->dependencies[i] = node->dependencies[i + 1];
        node->edges[i] = node->edges[i + 1];
    }
}

static struct graph *copy_graph(const struct graph *graph)
{
    struct graph *copy = allocate(sizeof(*copy));

    copy->id = ++world.last_id;
    copy->original = graph->id;
    copy->n_nodes = graph->n_nodes;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct node *node = copy->nodes[i] = allocate(sizeof(*node));

        *node = *graph->nodes[i];
        node->id = ++world.last_id;
        node->original = graph->nodes[i]->id;
        node->child = node->child == NULL ? NULL : copy_graph(node->child);
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct node *node = copy->nodes[i];

        for (size_t j = 0; j < node->n_dependencies; j++)
            node->dependencies[j] = copy->nodes[index_of(graph, node->dependencies[j])];
    }
    return copy;
}

/* The handles of a copy, which the model has made in the same order. */
static void learn_handles(struct graph *graph, sp_cu_graph handle)
{
    sp_cu_node handles[MAX_NODES];
    size_t n = MAX_NODES;

    graph->handle = handle;
    assert_done(cuGraphGetNodes(handle, handles, &n));
    assert_int_equal(n, graph->n_nodes);
    for (size_t i = 0; i < n; i++) {
        struct node *node = graph->nodes[i];
        sp_cu_graph child;

        node->handle = handles[i];
        if (node->child == NULL)
            continue;
        assert_done(cuGraphChildGraphNodeGetGraph(node->handle, &child));
        learn_handles(node->child, child);
    }
}

/* ---- comparing ----------------------------------------------------------------------- */

static void check_node(const struct graph *graph, const struct node *node)
{
    struct sp_cu_edge_data edges[MAX_NODES];
    sp_cu_node handles[MAX_NODES];
    size_t n = MAX_NODES, n_behind = 0;
    int type;

    assert_done(cuGraphNodeGetType(node->handle, &type));
    assert_int_equal(type, node->type);
    assert_done(cuGraphNodeGetDependencies(node->handle, handles, edges, &n));
    assert_int_equal(n, node->n_dependencies);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(handles[i], node->dependencies[i]->handle);
        assert_memory_equal(&edges[i], &node->edges[i], sizeof(edges[i]));
    }
    n = MAX_NODES;
    assert_done(cuGraphNodeGetDependentNodes(node->handle, handles, edges, &n));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct node *other = graph->nodes[i];
        size_t j = find_edge(other, node);

        if (j == other->n_dependencies)
            continue;
        assert_ptr_equal(handles[n_behind], other->handle);
        assert_memory_equal(&edges[n_behind], &other->edges[j], sizeof(edges[0]));
        n_behind++;
    }
    assert_int_equal(n, n_behind);
}

static void check_lists(const struct graph *graph)
{
    sp_cu_node handles[MAX_NODES];
    size_t n = MAX_NODES, n_roots = 0, n_edges = 0, expected = 0;

    assert_done(cuGraphGetNodes(graph->handle, handles, &n));
    assert_int_equal(n, graph->n_nodes);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(handles[i], graph->nodes[i]->handle);
    n = MAX_NODES;
    assert_done(cuGraphGetRootNodes(graph->handle, handles, &n));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        expected += graph->nodes[i]->n_dependencies;
        if (graph->nodes[i]->n_dependencies == 0)
            assert_ptr_equal(handles[n_roots++], graph->nodes[i]->handle);
    }
    assert_int_equal(n, n_roots);
    assert_done(cuGraphGetEdges(graph->handle, NULL, NULL, NULL, &n_edges));
    assert_int_equal(n_edges, expected);
}

/* By trying all nodes in between, until nothing new is found. */
static void find_paths(const struct graph *graph, bool paths[MAX_NODES][MAX_NODES])
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t j = 0; j < graph->n_nodes; j++)
            paths[i][j] =
                find_edge(graph->nodes[j], graph->nodes[i]) < graph->nodes[j]->n_dependencies;
    }
    for (size_t k = 0; k < graph->n_nodes; k++) {
        for (size_t i = 0; i < graph->n_nodes; i++) {
            for (size_t j = 0; j < graph->n_nodes; j++)
                paths[i][j] = paths[i][j] || (paths[i][k] && paths[k][j]);
        }
    }
}

/* Whether each node is in the list once, and behind none that it comes before. */
static bool is_sorted(const struct graph *graph, struct sp_model_node **sorted)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        size_t n_found = 0;

        for (size_t j = 0; j < graph->n_nodes; j++) {
            n_found += sorted[j]->handle == graph->nodes[i]->handle;
            if (j < i && sp_model_graph_precedes(sorted[i], sorted[j]))
                return false;
        }
        if (n_found != 1)
            return false;
    }
    return true;
}

static bool is_order_right(const struct graph *graph, bool paths[MAX_NODES][MAX_NODES])
{
    struct sp_model_node **sorted = NULL;
    bool has_cycle = false, is_right;
    sp_cu_result result;

    for (size_t i = 0; i < graph->n_nodes; i++)
        has_cycle = has_cycle || paths[i][i];
    result = sp_model_graph_sort(sp_model_graph_find(graph->handle), &sorted);
    is_right = result == (has_cycle ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS) &&
               (has_cycle || is_sorted(graph, sorted));
    free(sorted);
    return is_right;
}

static bool are_paths_right(const struct graph *graph, bool paths[MAX_NODES][MAX_NODES])
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct sp_model_node *from = sp_model_node_find(graph->nodes[i]->handle);

        for (size_t j = 0; j < graph->n_nodes; j++) {
            if (sp_model_graph_precedes(from, sp_model_node_find(graph->nodes[j]->handle)) !=
                paths[i][j])
                return false;
        }
    }
    return true;
}

/* Nothing is asserted with the model's lock, which the teardown takes. */
static void check_paths(const struct graph *graph)
{
    bool paths[MAX_NODES][MAX_NODES];
    bool is_order, are_paths;

    find_paths(graph, paths);
    sp_lock_take(sp_model_lock());
    are_paths = are_paths_right(graph, paths);
    is_order = is_order_right(graph, paths);
    sp_lock_give(sp_model_lock());
    assert_true(are_paths);
    assert_true(is_order);
}

/* Each node of one graph, looked for in another. */
static void check_copies(const struct graph *graph, const struct graph *clone)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        sp_cu_node expected = NULL, found = NULL;

        for (size_t j = 0; clone->original == graph->id && j < clone->n_nodes; j++) {
            if (clone->nodes[j]->original == graph->nodes[i]->id)
                expected = clone->nodes[j]->handle;
        }
        assert_result(expected == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS,
                      cuGraphNodeFindInClone(&found, graph->nodes[i]->handle, clone->handle));
        assert_ptr_equal(found, expected);
    }
}

static void check_graph(const struct graph *graph)
{
    check_lists(graph);
    check_paths(graph);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        check_node(graph, graph->nodes[i]);
        if (graph->nodes[i]->child != NULL)
            check_graph(graph->nodes[i]->child);
    }
}

static void check_world(void)
{
    for (size_t i = 0; i < world.n_graphs; i++) {
        check_graph(world.graphs[i]);
        for (size_t j = 0; j < world.n_graphs; j++)
            check_copies(world.graphs[i], world.graphs[j]);
    }
    assert_int_equal(starpool_model_violations(NULL), 0);
}

/* ---- operations ---------------------------------------------------------------------- */

static void nothing(void *arg)
{
    (void)arg;
}

static struct sp_cu_edge_data random_edge(void)
{
    static const struct sp_cu_edge_data edges[] = {
        {0, 0, 0, {0}}, {0, 0, 0, {0}}, {1, 0, 1, {0}}, {2, 0, 1, {0}}, {2, 0, 0, {0}}};

    return edges[below(SP_ARRAY_SIZE(edges))];
}

static void create_graph(void)
{
    struct graph *graph;

    if (world.n_graphs == MAX_GRAPHS)
        return;
    graph = allocate(sizeof(*graph));
    graph->id = ++world.last_id;
    assert_done(cuGraphCreate(&graph->handle, 0));
    world.graphs[world.n_graphs++] = graph;
}

static void clone_graph(const struct graph *graph)
{
    struct graph *copy;
    sp_cu_graph handle;

    if (world.n_graphs == MAX_GRAPHS)
        return;
    assert_done(cuGraphClone(&handle, graph->handle));
    copy = copy_graph(graph);
    learn_handles(copy, handle);
    world.graphs[world.n_graphs++] = copy;
}

static void destroy_graph(size_t i)
{
    assert_done(cuGraphDestroy(world.graphs[i]->handle));
    free_graph(world.graphs[i]);
    world.graphs[i] = world.graphs[--world.n_graphs];
}

/* One of the types without memory, its parameters, and the graph that it copies. */
static void choose_params(struct node *node, struct sp_cu_node_params *params)
{
    static const int types[] = {SP_CU_NODE_EMPTY, SP_CU_NODE_HOST, SP_CU_NODE_EVENT_RECORD,
                                SP_CU_NODE_WAIT_EVENT, SP_CU_NODE_GRAPH};
    const struct graph *child = world.graphs[below(world.n_graphs)];

    node->type = types[below(SP_ARRAY_SIZE(types))];
    if (node->type == SP_CU_NODE_GRAPH && count_inside(child) > MAX_INSIDE / 4)
        node->type = SP_CU_NODE_EMPTY;
    params->type = node->type;
    if (node->type == SP_CU_NODE_HOST)
        params->host.call = nothing;
    if (node->type == SP_CU_NODE_EVENT_RECORD || node->type == SP_CU_NODE_WAIT_EVENT)
        params->event = world.event;
    if (node->type == SP_CU_NODE_GRAPH) {
        params->child.graph = child->handle;
        node->child = copy_graph(child);
    }
}

static void add_node(struct graph *graph)
{
    struct sp_cu_node_params params = {0};
    sp_cu_node handles[MAX_NODES];
    sp_cu_graph child;
    struct node *node;

    if (graph->n_nodes == MAX_NODES || count_inside(graph) > MAX_INSIDE)
        return;
    node = allocate(sizeof(*node));
    node->id = ++world.last_id;
    choose_params(node, &params);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (below(4) != 0)
            continue;
        handles[node->n_dependencies] = graph->nodes[i]->handle;
        node->edges[node->n_dependencies] = random_edge();
        node->dependencies[node->n_dependencies++] = graph->nodes[i];
    }
    assert_done(cuGraphAddNode(&node->handle, graph->handle, handles, node->edges,
                               node->n_dependencies, &params));
    graph->nodes[graph->n_nodes++] = node;
    if (node->child == NULL)
        return;
    assert_done(cuGraphChildGraphNodeGetGraph(node->handle, &child));
    learn_handles(node->child, child);
}

static void destroy_node(struct graph *graph)
{
    size_t i = graph->n_nodes == 0 ? 0 : below(graph->n_nodes);
    struct node *node = graph->nodes[i];

    if (graph->n_nodes == 0)
        return;
    assert_done(cuGraphDestroyNode(node->handle));
    for (size_t j = 0; j < graph->n_nodes; j++) {
        size_t edge = find_edge(graph->nodes[j], node);

        if (edge < graph->nodes[j]->n_dependencies)
            cut(graph->nodes[j], edge);
    }
    for (graph->n_nodes--; i < graph->n_nodes; i++)
        graph->nodes[i] = graph->nodes[i + 1];
    free_node(node);
}

/* Some edges at random, of which one or the other may be none that can be changed so. */
enum { MAX_EDGES = 3 };
struct edges {
    struct node *from[MAX_EDGES], *to[MAX_EDGES];
    sp_cu_node from_handles[MAX_EDGES], to_handles[MAX_EDGES];
    struct sp_cu_edge_data data[MAX_EDGES];
    size_t n;
};

static void choose_edges(const struct graph *graph, struct edges *edges)
{
    edges->n = graph->n_nodes == 0 ? 0 : below(MAX_EDGES + 1);
    for (size_t i = 0; i < edges->n; i++) {
        struct node *to = graph->nodes[below(graph->n_nodes)];
        size_t edge = to->n_dependencies == 0 ? 0 : below(to->n_dependencies);

        edges->to[i] = to;
        edges->from[i] = to->n_dependencies > 0 && below(2) == 0
                             ? to->dependencies[edge]
                             : graph->nodes[below(graph->n_nodes)];
        edges->data[i] = edge < to->n_dependencies ? to->edges[edge] : random_edge();
        edges->from_handles[i] = edges->from[i]->handle;
        edges->to_handles[i] = edges->to[i]->handle;
    }
}

static void add_edges(struct graph *graph)
{
    size_t n_added = 0;
    struct edges edges;

    choose_edges(graph, &edges);
    for (; n_added < edges.n; n_added++) {
        struct node *to = edges.to[n_added];

        if (to == edges.from[n_added] ||
            find_edge(to, edges.from[n_added]) < to->n_dependencies)
            break;
        to->edges[to->n_dependencies] = edges.data[n_added];
        to->dependencies[to->n_dependencies++] = edges.from[n_added];
    }
    assert_result(n_added == edges.n ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE,
                  cuGraphAddDependencies(graph->handle, edges.from_handles, edges.to_handles,
                                         edges.data, edges.n));
    while (n_added < edges.n && n_added > 0)
        edges.to[--n_added]->n_dependencies--;
}

/* Whether all of them are there, with that data, and each is named once. */
static bool can_be_removed(const struct edges *edges)
{
    for (size_t i = 0; i < edges->n; i++) {
        const struct node *to = edges->to[i];
        size_t edge = find_edge(to, edges->from[i]);

        if (edge == to->n_dependencies ||
            memcmp(&to->edges[edge], &edges->data[i], sizeof(edges->data[i])) != 0)
            return false;
        for (size_t j = 0; j < i; j++) {
            if (edges->from[j] == edges->from[i] && edges->to[j] == to)
                return false;
        }
    }
    return true;
}

static void remove_edges(struct graph *graph)
{
    struct edges edges;
    bool can_be;

    choose_edges(graph, &edges);
    can_be = can_be_removed(&edges);
    assert_result(can_be ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE,
                  cuGraphRemoveDependencies(graph->handle, edges.from_handles, edges.to_handles,
                                            edges.data, edges.n));
    for (size_t i = 0; can_be && i < edges.n; i++)
        cut(edges.to[i], find_edge(edges.to[i], edges.from[i]));
}

/* ---- the tests ----------------------------------------------------------------------- */

static void act(void)
{
    size_t choice = below(20);
    size_t i = world.n_graphs == 0 ? 0 : below(world.n_graphs);

    if (world.n_graphs == 0 || choice == 0)
        create_graph();
    else if (choice == 1)
        destroy_graph(i);
    else if (choice == 2)
        clone_graph(world.graphs[i]);
    else if (choice < 5)
        destroy_node(world.graphs[i]);
    else if (choice < 8)
        remove_edges(world.graphs[i]);
    else if (choice < 12)
        add_edges(world.graphs[i]);
    else
        add_node(world.graphs[i]);
}

static void graphs_are_what_naive_lists_say(void **state)
{
    size_t n = sp_test_scaled(N_ROUNDS);

    (void)state;
    memset(&world, 0, sizeof(world));
    world.random = sp_test_seed();
    world.event = sp_test_event();
    for (size_t i = 0; i < n; i++) {
        act();
        check_world();
    }
    while (world.n_graphs > 0)
        destroy_graph(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"graphs_are_what_naive_lists_say", graphs_are_what_naive_lists_say,
         sp_test_model_inline, sp_test_model_end, NULL},
    };

    return cmocka_run_group_tests_name("model_graph_random", tests, NULL, NULL);
}
