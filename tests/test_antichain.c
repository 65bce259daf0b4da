/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The heaviest set of blocks that are not ordered: against all sets of small random graphs. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>

#include "graph/antichain.h"
#include "graph/flow.h"
#include "tests/plan_random.h"

#define MOST_BLOCKS 14

static struct {
    struct starpool_graph *graph;
    struct sp_liveness *liveness;
    struct sp_closure closure;
    uint32_t blocks[MOST_BLOCKS];
    uint64_t weights[MOST_BLOCKS];
    struct sp_antichain found;
} fixture;

/* All blocks of a graph, with their sizes. */
static void open_graph(struct starpool_graph *graph, size_t room)
{
    fixture.graph = graph;
    assert_true(graph->n_blocks <= MOST_BLOCKS);
    assert_ok(sp_liveness_create(graph, room, &fixture.liveness));
    sp_closure_init(&fixture.closure, graph);
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        fixture.blocks[i] = i;
        fixture.weights[i] = graph->blocks[i].size;
    }
}

static void close_graph(void)
{
    free(fixture.found.blocks);
    fixture.found.blocks = NULL;
    sp_liveness_destroy(fixture.liveness);
    sp_graph_destroy(fixture.graph);
}

static void find(uint64_t work)
{
    assert_ok(sp_antichain_find(fixture.liveness, fixture.graph->n_blocks, fixture.blocks,
                                fixture.weights, work, &fixture.found));
}

static bool are_ordered(uint32_t a, uint32_t b)
{
    return sp_closure_is_over(&fixture.closure, fixture.graph, a, b) ||
           sp_closure_is_over(&fixture.closure, fixture.graph, b, a);
}

/* The heaviest of all sets whose members are not ordered. */
static uint64_t brute_force(uint32_t n)
{
    uint64_t best = 0;

    for (uint32_t set = 0; set < UINT32_C(1) << n; set++) {
        uint64_t weight = 0;
        bool is_antichain = true;

        for (uint32_t a = 0; a < n && is_antichain; a++) {
            if ((set >> a & 1) == 0)
                continue;
            weight += fixture.weights[a];
            for (uint32_t b = a + 1; b < n && is_antichain; b++)
                is_antichain = (set >> b & 1) == 0 || !are_ordered(a, b);
        }
        if (is_antichain && weight > best)
            best = weight;
    }
    return best;
}

/* What was found is a set whose members are not ordered, and weighs what it says. */
static void check_found(void)
{
    uint64_t weight = 0;

    for (uint32_t i = 0; i < fixture.found.n; i++) {
        weight += fixture.weights[fixture.found.blocks[i]];
        for (uint32_t j = 0; j < i; j++) {
            assert_int_not_equal(fixture.found.blocks[i], fixture.found.blocks[j]);
            assert_false(are_ordered(fixture.found.blocks[i], fixture.found.blocks[j]));
        }
    }
    assert_int_equal(fixture.found.weight, weight);
}

static struct starpool_graph *make_random(uint64_t *random, bool has_open_ends)
{
    const struct sp_random_shape shape = {
        .n_nodes = 4 + (uint32_t)sp_test_random_below(random, 30),
        .n_blocks = 1 + (uint32_t)sp_test_random_below(random, 10),
        .n_locations = 1,
        .most_size = 20,
        .edge_chance = 3 + (unsigned)sp_test_random_below(random, 25),
        .has_open_ends = has_open_ends,
    };

    return sp_random_graph(random, &shape);
}

static void set_is_as_heavy_as_the_heaviest_of_all(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(3000); round++) {
        open_graph(make_random(&random, round % 2 == 0), 0);
        find(0);
        check_found();
        assert_true(fixture.found.is_exact);
        assert_int_equal(fixture.found.weight, brute_force(fixture.graph->n_blocks));
        close_graph();
    }
}

static void set_of_a_timed_graph_is_what_is_live_at_the_fullest_moment(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(1000); round++) {
        open_graph(sp_random_timed_graph(&random, 10, 20, 12), 0);
        if (round % 3 == 0) {
            fixture.graph->blocks[0].is_output = true;
            fixture.graph->blocks[1].is_input = true;
        }
        find(0);
        check_found();
        assert_true(fixture.found.is_exact);
        assert_int_equal(fixture.found.weight, brute_force(10));
        close_graph();
    }
}

static void search_cut_short_gives_a_set_and_does_not_call_it_the_heaviest(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_short = 0;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(1000); round++) {
        open_graph(make_random(&random, true), 0);
        find(1);
        check_found();
        if (fixture.found.is_exact)
            assert_int_equal(fixture.found.weight, brute_force(fixture.graph->n_blocks));
        else
            n_short++;
        close_graph();
    }
    assert_true(n_short > 0);
}

static void order_that_is_not_known_claims_nothing(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(1000); round++) {
        open_graph(make_random(&random, true), 4);
        find(0);
        check_found();
        if (fixture.found.is_exact)
            assert_int_equal(fixture.found.weight, brute_force(fixture.graph->n_blocks));
        close_graph();
    }
}

static void set_of_no_blocks_is_empty(void **state)
{
    (void)state;
    open_graph(sp_graph_create(NULL), 0);
    find(0);
    assert_int_equal(fixture.found.n, 0);
    assert_int_equal(fixture.found.weight, 0);
    assert_true(fixture.found.is_exact);
    close_graph();
}

static void flow_is_called_back_where_another_way_is_left(void **state)
{
    struct sp_flow flow;

    (void)state;
    /* What point 0 supplies is carried to 2, where it suffices; 1's could have gone there, too,
     * but only 0's can reach 3. */
    assert_ok(sp_flow_init(&flow, 4));
    flow.supply[0] = flow.supply[1] = 5;
    flow.demand[2] = flow.demand[3] = 5;
    assert_true(sp_flow_add_edge(&flow, 0, 2));
    assert_true(sp_flow_add_edge(&flow, 0, 3));
    assert_true(sp_flow_add_edge(&flow, 1, 2));
    assert_ok(sp_flow_run(&flow, 1000));
    assert_int_equal(flow.lacking, 0);
    assert_false(flow.is_cut_short);
    sp_flow_fini(&flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_is_as_heavy_as_the_heaviest_of_all),
        cmocka_unit_test(set_of_a_timed_graph_is_what_is_live_at_the_fullest_moment),
        cmocka_unit_test(search_cut_short_gives_a_set_and_does_not_call_it_the_heaviest),
        cmocka_unit_test(order_that_is_not_known_claims_nothing),
        cmocka_unit_test(set_of_no_blocks_is_empty),
        cmocka_unit_test(flow_is_called_back_where_another_way_is_left),
    };

    return cmocka_run_group_tests_name("antichain", tests, NULL, NULL);
}
