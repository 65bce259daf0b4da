/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chains, clocks and ends of blocks: on small graphs that say what they are about, then on
 * random ones against their transitive closure. */
#include "config.h"

#include "tests/support.h"

#include "graph/liveness.h"
#include "tests/plan_random.h"

static struct {
    struct starpool_graph *graph;
    struct sp_liveness *liveness;
} fixture;

static int setup(void **state)
{
    (void)state;
    fixture.graph = sp_graph_create(NULL);
    fixture.liveness = NULL;
    return fixture.graph == NULL;
}

static int teardown(void **state)
{
    (void)state;
    sp_liveness_destroy(fixture.liveness);
    sp_graph_destroy(fixture.graph);
    return 0;
}

static void add_nodes(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_not_equal(sp_graph_add_node(fixture.graph, STARPOOL_GRAPH_NODE_KERNEL, NULL),
                             SP_NO_INDEX);
}

static void add_edge(uint32_t from, uint32_t to)
{
    assert_true(sp_graph_add_edge(fixture.graph, from, to));
}

static uint32_t add_block(uint32_t alloc, uint32_t free)
{
    const struct sp_graph_block block = {
        .size = 1, .alignment = 1, .alloc = alloc, .free = free};

    return sp_graph_add_block(fixture.graph, &block);
}

static void find_liveness(void)
{
    assert_ok(sp_liveness_create(fixture.graph, 0, &fixture.liveness));
}

/* Two streams of `n` nodes each, numbered 0, 2, 4, ... and 1, 3, 5, ... */
static void make_streams(uint32_t n)
{
    add_nodes(2 * n);
    for (uint32_t i = 2; i < 2 * n; i++)
        add_edge(i - 2, i);
}

static void stream_is_one_chain(void **state)
{
    (void)state;
    make_streams(100);
    /* Each stream waits for the other now and then. */
    for (uint32_t i = 20; i < 180; i += 20) {
        add_edge(i, i + 3);
        add_edge(i + 9, i + 14);
    }
    find_liveness();
    assert_int_equal(fixture.liveness->n_chains, 2);
    assert_true(fixture.liveness->is_exact);
    assert_true(sp_liveness_precedes(fixture.liveness, 20, 23));
    assert_true(sp_liveness_precedes(fixture.liveness, 18, 23));
    assert_false(sp_liveness_precedes(fixture.liveness, 22, 23));
    assert_false(sp_liveness_precedes(fixture.liveness, 23, 20));
}

static void chain_that_has_ended_is_taken_up_by_who_comes_after_it(void **state)
{
    (void)state;
    /* A fork and a join again and again: the branches need no new chains. */
    add_nodes(1 + 50 * 5);
    for (uint32_t k = 0; k < 50; k++) {
        for (uint32_t i = 1; i <= 4; i++) {
            add_edge(5 * k, 5 * k + i);
            add_edge(5 * k + i, 5 * k + 5);
        }
    }
    find_liveness();
    assert_int_equal(fixture.liveness->n_chains, 4);
}

/* 28 branches, a join, 10 branches that fork in two, and what comes of these. */
static void branches_after_a_wide_join_know_all_that_was_before_it(void **state)
{
    struct sp_closure closure;

    (void)state;
    add_nodes(60);
    for (uint32_t i = 1; i <= 28; i++) {
        add_edge(0, i);
        add_edge(i, 29);
    }
    for (uint32_t i = 30; i < 40; i++) {
        add_edge(29, i);
        add_edge(i, i + 10);
        add_edge(i, i + 20);
    }
    find_liveness();
    assert_int_equal(fixture.liveness->n_chains, 28);
    sp_closure_init(&closure, fixture.graph);
    for (uint32_t a = 0; a < 60; a++) {
        for (uint32_t b = 0; b < 60; b++)
            assert_int_equal(sp_liveness_precedes(fixture.liveness, a, b),
                             closure.after[a] >> b & 1);
    }
}

static void node_does_not_precede_itself(void **state)
{
    (void)state;
    make_streams(2);
    add_block(0, 2);
    add_block(2, 2);
    find_liveness();
    assert_false(sp_liveness_precedes(fixture.liveness, 0, 0));
    /* The node that ends one block and begins the other needs both. */
    assert_false(sp_liveness_is_over(fixture.liveness, 0, 1));
    assert_false(sp_liveness_is_over(fixture.liveness, 1, 1));
}

static void input_lives_from_before_and_output_lives_on(void **state)
{
    (void)state;
    make_streams(4);
    add_block(0, 2);
    add_block(4, 6);
    find_liveness();
    assert_true(sp_liveness_is_over(fixture.liveness, 0, 1));
    fixture.graph->blocks[1].is_input = true;
    assert_false(sp_liveness_is_over(fixture.liveness, 0, 1));
    fixture.graph->blocks[1].is_input = false;
    fixture.graph->blocks[0].is_output = true;
    assert_false(sp_liveness_is_over(fixture.liveness, 0, 1));
}

static void block_of_users_waits_for_all_of_them(void **state)
{
    uint32_t block;

    (void)state;
    make_streams(4);
    add_edge(2, 5);
    block = add_block(SP_NO_INDEX, SP_NO_INDEX);
    assert_true(sp_graph_add_use(fixture.graph, block, 0));
    assert_true(sp_graph_add_use(fixture.graph, block, 2));
    assert_true(sp_graph_add_use(fixture.graph, block, 3));
    add_block(5, 7);
    add_block(4, 6);
    find_liveness();
    assert_int_equal(sp_liveness_n_firsts(fixture.liveness, block), 2);
    assert_int_equal(sp_liveness_n_lasts(fixture.liveness, block), 2);
    assert_true(sp_liveness_is_over(fixture.liveness, block, 1));
    assert_false(sp_liveness_is_over(fixture.liveness, block, 2));
}

static void block_that_no_node_touches_is_never_over(void **state)
{
    (void)state;
    make_streams(2);
    add_block(SP_NO_INDEX, SP_NO_INDEX);
    add_block(0, 2);
    find_liveness();
    assert_false(sp_liveness_is_over(fixture.liveness, 0, 1));
    assert_false(sp_liveness_is_over(fixture.liveness, 1, 0));
}

static void times_are_half_open(void **state)
{
    struct sp_graph_block block = {.size = 1,
                                   .alignment = 1,
                                   .alloc = SP_NO_INDEX,
                                   .free = SP_NO_INDEX,
                                   .lower = 1,
                                   .upper = 5};

    (void)state;
    fixture.graph->is_timed = true;
    sp_graph_add_block(fixture.graph, &block);
    block.lower = 5;
    block.upper = 6;
    sp_graph_add_block(fixture.graph, &block);
    find_liveness();
    assert_true(sp_liveness_is_over(fixture.liveness, 0, 1));
    assert_false(sp_liveness_is_over(fixture.liveness, 1, 0));
    fixture.graph->blocks[1].lower = 4;
    assert_false(sp_liveness_is_over(fixture.liveness, 0, 1));
}

static void what_is_no_graph_is_refused(void **state)
{
    (void)state;
    make_streams(3);
    add_block(0, 4);
    add_edge(4, 0);
    assert_status(STARPOOL_EINVAL, sp_liveness_create(fixture.graph, 0, &fixture.liveness));
    fixture.graph->n_edges--;
    add_edge(0, 6);
    assert_status(STARPOOL_EINVAL, sp_liveness_create(fixture.graph, 0, &fixture.liveness));
    fixture.graph->n_edges--;
    fixture.graph->blocks[0].free = 6;
    assert_status(STARPOOL_EINVAL, sp_liveness_create(fixture.graph, 0, &fixture.liveness));
    fixture.graph->blocks[0].free = 1;
    assert_status(STARPOOL_EINVAL, sp_liveness_create(fixture.graph, 0, &fixture.liveness));
    fixture.graph->blocks[0].free = 4;
    assert_true(sp_graph_add_use(fixture.graph, 0, 3));
    assert_status(STARPOOL_EINVAL, sp_liveness_create(fixture.graph, 0, &fixture.liveness));
    fixture.graph->uses[0].node = 6;
    assert_status(STARPOOL_EINVAL, sp_liveness_create(fixture.graph, 0, &fixture.liveness));
    assert_null(fixture.liveness);
}

/* ---- random graphs against their closure --------------------------------------------------
 */

static const struct sp_random_shape shapes[] = {
    {.n_nodes = 8, .n_blocks = 8, .edge_chance = 20},
    {.n_nodes = 20, .n_blocks = 12, .edge_chance = 8},
    {.n_nodes = 40, .n_blocks = 12, .edge_chance = 3},
    {.n_nodes = 64, .n_blocks = 16, .edge_chance = 1},
    {.n_nodes = 64, .n_blocks = 16, .edge_chance = 10},
};

static struct starpool_graph *make_random(uint64_t *random)
{
    struct sp_random_shape shape = shapes[sp_test_random_below(random, 5)];

    shape.n_locations = 1;
    shape.most_size = 10;
    shape.has_open_ends = true;
    return sp_random_graph(random, &shape);
}

/* Every node of a chain precedes the next, and every node is in one. */
static void check_chains(const struct sp_liveness *liveness, const struct sp_closure *closure)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < liveness->n_chains; c++) {
        uint32_t length = sp_liveness_chain_length(liveness, c);

        n += length;
        for (uint32_t i = 1; i < length; i++) {
            uint32_t a = sp_liveness_chain_node(liveness, c, i - 1);
            uint32_t b = sp_liveness_chain_node(liveness, c, i);

            assert_true(closure->after[a] >> b & 1);
        }
    }
    assert_int_equal(n, liveness->graph->n_nodes);
}

static void check_block(const struct sp_liveness *liveness, const struct sp_closure *closure,
                        uint32_t a)
{
    const struct starpool_graph *graph = liveness->graph;
    uint64_t lower, upper, other_lower, other_upper;

    sp_liveness_span(liveness, a, &lower, &upper);
    assert_true(lower < upper);
    for (uint32_t b = 0; b < graph->n_blocks; b++) {
        bool is_over = sp_closure_is_over(closure, graph, a, b);

        assert_int_equal(sp_liveness_is_over(liveness, a, b), is_over);
        sp_liveness_span(liveness, b, &other_lower, &other_upper);
        if (is_over)
            assert_true(upper <= other_lower);
    }
    for (uint32_t c = 0; c < liveness->n_chains; c++) {
        uint32_t length = sp_liveness_chain_length(liveness, c);
        uint32_t before = sp_liveness_before(liveness, a, c);
        uint32_t after = sp_liveness_after(liveness, a, c);

        assert_true(before <= after && after <= length);
        for (uint32_t i = liveness->first_begin[a]; i < liveness->first_begin[a + 1]; i++) {
            if (before > 0)
                assert_true(closure->after[sp_liveness_chain_node(liveness, c, before - 1)] >>
                                liveness->firsts[i] &
                            1);
        }
        for (uint32_t i = liveness->last_begin[a]; i < liveness->last_begin[a + 1]; i++) {
            if (after < length)
                assert_true(closure->after[liveness->lasts[i]] >>
                                sp_liveness_chain_node(liveness, c, after) &
                            1);
        }
    }
}

static void order_of_random_graphs_is_that_of_their_closure(void **state)
{
    uint64_t random = sp_test_seed();
    struct sp_closure closure;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(3000); round++) {
        struct starpool_graph *graph = make_random(&random);
        struct sp_graph_error error = {.text = ""};
        struct sp_liveness *liveness;

        if (sp_graph_check(graph, &error) != STARPOOL_OK)
            fail_msg("the random graph is none: %s", error.text);
        assert_ok(sp_liveness_create(graph, 0, &liveness));
        assert_true(liveness->is_exact);
        sp_closure_init(&closure, graph);
        check_chains(liveness, &closure);
        for (uint32_t a = 0; a < graph->n_nodes; a++) {
            for (uint32_t b = 0; b < graph->n_nodes; b++)
                assert_int_equal(sp_liveness_precedes(liveness, a, b),
                                 closure.after[a] >> b & 1);
        }
        for (uint32_t a = 0; a < graph->n_blocks; a++)
            check_block(liveness, &closure, a);
        sp_liveness_destroy(liveness);
        sp_graph_destroy(graph);
    }
}

static void order_beyond_the_room_is_forgotten_and_never_invented(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_cut = 0, n_known = 0;
    struct sp_closure closure;

    (void)state;
    /* Few rounds may show neither: then some more. */
    for (size_t round = 0;
         round < sp_test_scaled(500) || ((n_cut == 0 || n_known == 0) && round < 100000);
         round++) {
        struct starpool_graph *graph = make_random(&random);
        struct sp_liveness *liveness;

        assert_ok(sp_liveness_create(graph, 20, &liveness));
        n_cut += !liveness->is_exact;
        sp_closure_init(&closure, graph);
        for (uint32_t a = 0; a < graph->n_blocks; a++) {
            for (uint32_t b = 0; b < graph->n_blocks; b++) {
                if (!sp_liveness_is_over(liveness, a, b))
                    continue;
                assert_true(sp_closure_is_over(&closure, graph, a, b));
                n_known += !liveness->is_exact;
            }
        }
        sp_liveness_destroy(liveness);
        sp_graph_destroy(graph);
    }
    assert_true(n_cut > 0 && n_known > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stream_is_one_chain, setup, teardown),
        cmocka_unit_test_setup_teardown(chain_that_has_ended_is_taken_up_by_who_comes_after_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(branches_after_a_wide_join_know_all_that_was_before_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(node_does_not_precede_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(input_lives_from_before_and_output_lives_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(block_of_users_waits_for_all_of_them, setup, teardown),
        cmocka_unit_test_setup_teardown(block_that_no_node_touches_is_never_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(times_are_half_open, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_graph_is_refused, setup, teardown),
        cmocka_unit_test(order_of_random_graphs_is_that_of_their_closure),
        cmocka_unit_test(order_beyond_the_room_is_forgotten_and_never_invented),
    };

    return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
