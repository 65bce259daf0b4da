/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs: building, what is checked of them, the order of their nodes. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "src/util/util.h"

static struct starpool_graph *graph;
static struct sp_graph_error error;

static int setup(void **state)
{
    (void)state;
    error = (struct sp_graph_error){.line = 0};
    graph = sp_graph_create("test");
    return graph == NULL;
}

static int teardown(void **state)
{
    (void)state;
    sp_graph_destroy(graph);
    return 0;
}

static void add_nodes(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_not_equal(sp_graph_add_node(graph, STARPOOL_GRAPH_NODE_KERNEL, NULL),
                             SP_NO_INDEX);
}

/* A line of n nodes: 0 -> 1 -> ... */
static void add_line(uint32_t n)
{
    add_nodes(n);
    for (uint32_t i = 1; i < n; i++)
        assert_true(sp_graph_add_edge(graph, i - 1, i));
}

static struct sp_graph_block plain_block(void)
{
    return (struct sp_graph_block){
        .size = 1, .alignment = 1, .alloc = SP_NO_INDEX, .free = SP_NO_INDEX};
}

static uint32_t add_block(const struct sp_graph_block *block)
{
    uint32_t index = sp_graph_add_block(graph, block);

    assert_int_not_equal(index, SP_NO_INDEX);
    return index;
}

static void assert_is_wrong(enum sp_graph_part part, uint32_t index, const char *words)
{
    assert_status(STARPOOL_EINVAL, sp_graph_check(graph, &error));
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_int_equal(error.part, part);
    assert_int_equal(error.index, index);
}

/* The block alone, in a line of three nodes, is refused. */
static void assert_block_is_wrong(const struct sp_graph_block *block, const char *words)
{
    add_line(3);
    add_block(block);
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, words);
}

/* ---- building --------------------------------------------------------------------------- */

static void empty_graph_is_whole(void **state)
{
    struct starpool_location *locations;
    uint32_t n;

    (void)state;
    assert_ok(sp_graph_check(graph, &error));
    assert_ok(sp_graph_locations(graph, &locations, &n));
    assert_int_equal(n, 0);
    free(locations);
}

static void names_are_copied(void **state)
{
    char name[] = "first";
    struct sp_graph_block block = plain_block();

    (void)state;
    block.name = name;
    sp_graph_add_node(graph, STARPOOL_GRAPH_NODE_HOST, name);
    add_block(&block);
    name[0] = 'F';
    assert_string_equal(graph->nodes[0].name, "first");
    assert_string_equal(graph->blocks[0].name, "first");
    assert_string_equal(graph->name, "test");
}

static void indexes_count_up(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(sp_graph_add_node(graph, STARPOOL_GRAPH_NODE_EMPTY, NULL), i);
        block.size = i + 1;
        assert_int_equal(add_block(&block), i);
        assert_true(sp_graph_add_use(graph, i, i));
    }
    assert_ok(sp_graph_check(graph, &error));
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(graph->blocks[i].size, i + 1);
}

static void locations_come_once_in_order_of_appearance(void **state)
{
    static const struct starpool_location places[] = {
        {STARPOOL_DEVICE, 1}, {STARPOOL_HOST, 0},      {STARPOOL_DEVICE, 1},
        {STARPOOL_DEVICE, 0}, {STARPOOL_HOST_NUMA, 1}, {STARPOOL_HOST, 0},
    };
    static const char *const words[] = {"device 1", "host", "device 0", "node 1"};
    struct starpool_location *locations;
    char text[32];
    uint32_t n;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(places); i++) {
        struct sp_graph_block block = plain_block();

        block.location = places[i];
        add_block(&block);
    }
    assert_ok(sp_graph_locations(graph, &locations, &n));
    assert_int_equal(n, SP_ARRAY_SIZE(words));
    for (uint32_t i = 0; i < n; i++) {
        sp_location_text(locations[i], text);
        assert_string_equal(text, words[i]);
    }
    free(locations);
}

/* ---- what is wrong with one block ------------------------------------------------------- */

static void size_0_is_refused(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    block.alloc = 0;
    block.size = 0;
    assert_block_is_wrong(&block, "block 0 has no size");
}

static void alignment_is_a_power_of_two(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    block.alloc = 0;
    block.alignment = 48;
    assert_block_is_wrong(&block, "the alignment of block 0");
}

static void rounded_sizes_stay_below_2_to_the_63(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    block.is_input = block.is_output = true;
    block.size = (uint64_t)INT64_MAX - 1;
    add_block(&block);
    assert_ok(sp_graph_check(graph, &error));
    block.size = 1;
    add_block(&block);
    assert_ok(sp_graph_check(graph, &error));
    add_block(&block);
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 2, "2^63 bytes or more");
    graph->blocks[0].size = 1;
    graph->blocks[1].alignment = (uint64_t)1 << 63;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 1, "2^63 bytes or more");
    graph->blocks[1].alignment = 1;
    graph->blocks[1].size = UINT64_MAX;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 1, "2^63 bytes or more");
}

static void locations_are_places(void **state)
{
    static const struct starpool_location places[] = {{STARPOOL_DEVICE, -1},
                                                      {STARPOOL_HOST, 1},
                                                      {STARPOOL_NONE, 1},
                                                      {(enum starpool_kind)9, 0}};
    struct sp_graph_block block = plain_block();

    (void)state;
    add_line(1);
    block.alloc = 0;
    add_block(&block);
    assert_ok(sp_graph_check(graph, &error));
    for (size_t i = 0; i < SP_ARRAY_SIZE(places); i++) {
        graph->blocks[0].location = places[i];
        assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "at no location");
    }
}

static void block_needs_a_beginning_and_an_end(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    assert_block_is_wrong(&block, "no node allocates, uses or frees block 0");
    graph->blocks[0].is_input = true;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "no node allocates, uses or frees block 0");
    graph->blocks[0].is_output = true;
    assert_ok(sp_graph_check(graph, &error));
    graph->blocks[0].is_input = graph->blocks[0].is_output = false;
    assert_true(sp_graph_add_use(graph, 0, 1));
    assert_ok(sp_graph_check(graph, &error));
}

static void input_is_not_allocated_and_output_not_freed(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    block.alloc = 0;
    block.is_input = true;
    assert_block_is_wrong(&block, "is an input");
    graph->blocks[0].is_input = false;
    graph->blocks[0].is_output = true;
    assert_ok(sp_graph_check(graph, &error));
    graph->blocks[0].free = 2;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "is an output");
}

static void times_need_a_timed_graph(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    block.alloc = 0;
    block.upper = 3;
    assert_block_is_wrong(&block, "has times");
}

static void timed_graph_has_no_nodes(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    graph->is_timed = true;
    block.lower = 2;
    block.upper = 3;
    add_block(&block);
    assert_ok(sp_graph_check(graph, &error));
    graph->blocks[0].lower = 3;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "ends before it has begun");
    graph->blocks[0].lower = 2;
    graph->blocks[0].free = 0;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "names a node");
    add_nodes(1);
    assert_is_wrong(SP_GRAPH_PART_NONE, 0, "a timed graph has nodes");
}

/* ---- what is wrong with the rest -------------------------------------------------------- */

static void indexes_are_in_range(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    add_nodes(3);
    block.alloc = 0;
    add_block(&block);
    assert_true(sp_graph_add_edge(graph, 0, 1));
    assert_true(sp_graph_add_use(graph, 0, 1));
    assert_ok(sp_graph_check(graph, &error));
    graph->edges[0].to = 3;
    assert_is_wrong(SP_GRAPH_PART_EDGE, 0, "edge 0 begins or ends at a node that there is not");
    graph->edges[0] = (struct sp_graph_edge){.from = SP_NO_INDEX, .to = 1};
    assert_is_wrong(SP_GRAPH_PART_EDGE, 0, "edge 0 begins or ends at a node that there is not");
    graph->edges[0].from = 0;
    graph->uses[0].block = 1;
    assert_is_wrong(SP_GRAPH_PART_USE, 0, "use 0");
    graph->uses[0] = (struct sp_graph_use){.block = 0, .node = 3};
    assert_is_wrong(SP_GRAPH_PART_USE, 0, "use 0");
    graph->uses[0].node = 1;
    graph->blocks[0].free = 3;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "a node that there is not");
    graph->blocks[0].free = SP_NO_INDEX;
    graph->nodes[2].kind = (enum starpool_graph_node_kind)99;
    assert_is_wrong(SP_GRAPH_PART_NODE, 2, "node 2 is of no kind");
}

static void cycle_is_found_with_a_node_of_it(void **state)
{
    (void)state;
    add_line(5);
    assert_ok(sp_graph_check(graph, &error));
    assert_true(sp_graph_add_edge(graph, 3, 2));
    assert_status(STARPOOL_EINVAL, sp_graph_check(graph, &error));
    assert_int_equal(error.part, SP_GRAPH_PART_NODE);
    /* Node 4 waits for the cycle and is not of it. */
    assert_in_range(error.index, 2, 3);
    assert_non_null(strstr(error.text, "cycle"));
}

static void edge_to_itself_is_a_cycle(void **state)
{
    uint32_t order[2];

    (void)state;
    add_nodes(2);
    assert_true(sp_graph_add_edge(graph, 1, 1));
    assert_is_wrong(SP_GRAPH_PART_NODE, 1, "cycle, through node 1");
    assert_status(STARPOOL_EINVAL, sp_graph_sort(graph, order));
}

static void uses_follow_the_allocation(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    add_line(3);
    add_nodes(1); /* node 3 is beside the line */
    block.alloc = 1;
    add_block(&block);
    assert_true(sp_graph_add_use(graph, 0, 2));
    assert_ok(sp_graph_check(graph, &error));
    graph->uses[0].node = 0;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "node 0 has block 0");
    graph->uses[0].node = 3;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "node 3 has block 0");
    graph->uses[0].node = 1;
    assert_ok(sp_graph_check(graph, &error));
    graph->blocks[0].free = 3;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "node 3 has block 0");
}

static void uses_come_before_the_free(void **state)
{
    struct sp_graph_block block = plain_block();

    (void)state;
    add_line(3);
    add_nodes(1);
    block.free = 1;
    block.is_input = true;
    add_block(&block);
    assert_true(sp_graph_add_use(graph, 0, 0));
    assert_ok(sp_graph_check(graph, &error));
    graph->uses[0].node = 2;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "node 2 uses block 0");
    graph->uses[0].node = 3;
    assert_is_wrong(SP_GRAPH_PART_BLOCK, 0, "node 3 uses block 0");
}

/* More than are looked at together, each with a path that is right but for one. */
static void each_of_many_blocks_is_looked_at(void **state)
{
    enum { N = 200 };
    struct sp_graph_block block = plain_block();

    (void)state;
    add_line(N + 1);
    for (uint32_t i = 0; i < N; i++) {
        block.alloc = i;
        block.free = i + 1;
        add_block(&block);
    }
    assert_ok(sp_graph_check(graph, &error));
    for (uint32_t i = 0; i < N; i++) {
        graph->blocks[i].alloc = i + 1;
        graph->blocks[i].free = i;
        assert_is_wrong(SP_GRAPH_PART_BLOCK, i, "after its allocation");
        graph->blocks[i].alloc = i;
        graph->blocks[i].free = i + 1;
    }
}

/* ---- the order -------------------------------------------------------------------------- */

static void order_is_by_index_where_edges_allow_it(void **state)
{
    static const uint32_t expected[] = {1, 3, 0, 2, 4, 5};
    uint32_t order[6];

    (void)state;
    add_nodes(6);
    assert_true(sp_graph_add_edge(graph, 3, 0));
    assert_true(sp_graph_add_edge(graph, 3, 2));
    assert_true(sp_graph_add_edge(graph, 0, 2));
    assert_ok(sp_graph_sort(graph, order));
    assert_memory_equal(order, expected, sizeof(expected));
}

static void random_orders_follow_every_edge(void **state)
{
    enum { N = 60 };
    uint64_t random = sp_test_seed();
    uint32_t order[N], position[N];

    (void)state;
    add_nodes(N);
    for (size_t round = 0; round < sp_test_scaled(200); round++) {
        uint32_t shuffled[N];

        /* Edges only go forward along some order of the nodes. */
        for (uint32_t i = 0; i < N; i++) {
            uint32_t j = (uint32_t)sp_test_random_below(&random, i + 1);

            shuffled[i] = shuffled[j];
            shuffled[j] = i;
        }
        graph->n_edges = 0;
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t from = (uint32_t)sp_test_random_below(&random, N - 1);
            uint32_t to = from + 1 + (uint32_t)sp_test_random_below(&random, N - 1 - from);

            assert_true(sp_graph_add_edge(graph, shuffled[from], shuffled[to]));
        }
        memset(position, 0xff, sizeof(position));
        assert_ok(sp_graph_check(graph, &error));
        assert_ok(sp_graph_sort(graph, order));
        for (uint32_t i = 0; i < N; i++)
            position[order[i]] = i;
        for (uint32_t i = 0; i < N; i++)
            assert_in_range(position[i], 0, N - 1);
        for (uint32_t i = 0; i < graph->n_edges; i++)
            assert_true(position[graph->edges[i].from] < position[graph->edges[i].to]);
    }
}

/* ---- the public functions --------------------------------------------------------------- */

static void public_builders_refuse_what_is_not_there(void **state)
{
    struct starpool_graph_block block;
    uint32_t index = 77;

    (void)state;
    starpool_graph_block_init(&block);
    assert_status(STARPOOL_EINVAL, starpool_graph_create(NULL, NULL));
    assert_status(STARPOOL_EINVAL,
                  starpool_graph_add_node(NULL, STARPOOL_GRAPH_NODE_HOST, NULL, NULL));
    assert_status(STARPOOL_EINVAL, starpool_graph_add_node(
                                       graph, (enum starpool_graph_node_kind)12, NULL, &index));
    assert_status(STARPOOL_EINVAL, starpool_graph_add_edge(graph, 0, 0));
    assert_status(STARPOOL_EINVAL, starpool_graph_add_use(graph, 0, 0));
    assert_status(STARPOOL_EINVAL, starpool_graph_add_block(graph, &block, &index));
    block.size = 1;
    block.free = 0;
    assert_status(STARPOOL_EINVAL, starpool_graph_add_block(graph, &block, &index));
    block.free = STARPOOL_NO_NODE;
    block.struct_size--;
    assert_status(STARPOOL_EINVAL, starpool_graph_add_block(graph, &block, &index));
    assert_int_equal(index, 77);
    assert_int_equal(graph->n_blocks, 0);
    starpool_graph_destroy(NULL);
}

static void nodes_and_times_do_not_mix(void **state)
{
    struct starpool_graph_block block;

    (void)state;
    starpool_graph_block_init(&block);
    block.size = 10;
    block.upper = 4;
    assert_ok(starpool_graph_add_block(graph, &block, NULL));
    assert_true(graph->is_timed);
    assert_status(STARPOOL_EINVAL,
                  starpool_graph_add_node(graph, STARPOOL_GRAPH_NODE_HOST, NULL, NULL));
    block.upper = 0;
    assert_status(STARPOOL_EINVAL, starpool_graph_add_block(graph, &block, NULL));
    sp_graph_destroy(graph);
    assert_ok(starpool_graph_create(NULL, &graph));
    assert_ok(starpool_graph_add_node(graph, STARPOOL_GRAPH_NODE_HOST, NULL, NULL));
    block.upper = 4;
    assert_status(STARPOOL_EINVAL, starpool_graph_add_block(graph, &block, NULL));
}

static void what_was_added_can_be_asked_for(void **state)
{
    struct starpool_graph_info info = {.struct_size = sizeof(info)};
    struct starpool_graph_block block, found = {.struct_size = sizeof(found)};
    enum starpool_graph_node_kind kind;
    const char *name;
    uint32_t index;

    (void)state;
    assert_ok(starpool_graph_add_node(graph, STARPOOL_GRAPH_NODE_ALLOC, "a", &index));
    assert_int_equal(index, 0);
    assert_ok(starpool_graph_add_node(graph, STARPOOL_GRAPH_NODE_FREE, NULL, &index));
    assert_int_equal(index, 1);
    assert_ok(starpool_graph_add_edge(graph, 0, 1));
    starpool_graph_block_init(&block);
    block.size = 5;
    block.name = "b";
    block.alloc = 0;
    block.address = 0x1000;
    block.location.kind = STARPOOL_HOST;
    block.is_output = true;
    assert_ok(starpool_graph_add_block(graph, &block, &index));
    assert_int_equal(index, 0);
    assert_ok(starpool_graph_add_use(graph, 0, 1));
    assert_ok(starpool_graph_check(graph, NULL, 0));
    assert_ok(starpool_graph_get_info(graph, &info));
    assert_string_equal(info.name, "test");
    assert_int_equal(info.n_nodes, 2);
    assert_int_equal(info.n_edges, 1);
    assert_int_equal(info.n_uses, 1);
    assert_int_equal(info.n_blocks, 1);
    assert_false(info.is_timed);
    assert_ok(starpool_graph_get_block(graph, 0, &found));
    assert_string_equal(found.name, "b");
    assert_int_equal(found.size, 5);
    assert_int_equal(found.alignment, block.alignment);
    assert_int_equal(found.location.kind, STARPOOL_HOST);
    assert_int_equal(found.alloc, 0);
    assert_int_equal(found.free, STARPOOL_NO_NODE);
    assert_int_equal(found.address, 0x1000);
    assert_true(found.is_output && !found.is_input);
    assert_ok(starpool_graph_get_node(graph, 0, &kind, &name));
    assert_int_equal(kind, STARPOOL_GRAPH_NODE_ALLOC);
    assert_string_equal(name, "a");
    assert_ok(starpool_graph_get_node(graph, 1, NULL, &name));
    assert_null(name);
    assert_status(STARPOOL_EINVAL, starpool_graph_get_node(graph, 2, &kind, &name));
    assert_status(STARPOOL_EINVAL, starpool_graph_get_block(graph, 1, &found));
    info.struct_size = 8;
    assert_status(STARPOOL_EINVAL, starpool_graph_get_info(graph, &info));
}

static void reason_is_cut_to_its_room(void **state)
{
    char text[64] = "untouched", small[8];

    (void)state;
    assert_ok(starpool_graph_check(graph, text, sizeof(text)));
    assert_string_equal(text, "untouched");
    add_nodes(1);
    assert_true(sp_graph_add_edge(graph, 0, 0));
    assert_status(STARPOOL_EINVAL, starpool_graph_check(graph, text, sizeof(text)));
    assert_string_equal(text, "there is a cycle, through node 0");
    assert_status(STARPOOL_EINVAL, starpool_graph_check(graph, small, sizeof(small)));
    assert_string_equal(small, "there i");
    assert_status(STARPOOL_EINVAL, starpool_graph_check(graph, NULL, 0));
    assert_status(STARPOOL_EINVAL, starpool_graph_check(NULL, text, sizeof(text)));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(empty_graph_is_whole),
        CASE(names_are_copied),
        CASE(indexes_count_up),
        CASE(locations_come_once_in_order_of_appearance),
        CASE(size_0_is_refused),
        CASE(alignment_is_a_power_of_two),
        CASE(rounded_sizes_stay_below_2_to_the_63),
        CASE(locations_are_places),
        CASE(block_needs_a_beginning_and_an_end),
        CASE(input_is_not_allocated_and_output_not_freed),
        CASE(times_need_a_timed_graph),
        CASE(timed_graph_has_no_nodes),
        CASE(indexes_are_in_range),
        CASE(cycle_is_found_with_a_node_of_it),
        CASE(edge_to_itself_is_a_cycle),
        CASE(uses_follow_the_allocation),
        CASE(uses_come_before_the_free),
        CASE(each_of_many_blocks_is_looked_at),
        CASE(order_is_by_index_where_edges_allow_it),
        CASE(random_orders_follow_every_edge),
        CASE(public_builders_refuse_what_is_not_there),
        CASE(nodes_and_times_do_not_mix),
        CASE(what_was_added_can_be_asked_for),
        CASE(reason_is_cut_to_its_room),
    };

    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
