/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans of few blocks: the lowest peak against brute force, and every state that a graph can
 * run through against overlaps. */
#include "config.h"

#include "tests/support.h"

#include "tests/plan_fixture.h"
#include "tests/plan_random.h"

#define MOST_BLOCKS 8

/* ---- few blocks ---------------------------------------------------------------------- */

/* Every order of the blocks, each put on top of those before it that it conflicts with. */
struct brute {
    const struct starpool_graph *graph;
    bool conflicts[MOST_BLOCKS][MOST_BLOCKS];
    uint32_t order[MOST_BLOCKS];
    uint64_t best;
};

static uint64_t peak_of_order(const struct brute *brute)
{
    uint64_t ends[MOST_BLOCKS], peak = 0;

    for (uint32_t k = 0; k < brute->graph->n_blocks; k++) {
        const struct sp_graph_block *block = &brute->graph->blocks[brute->order[k]];
        uint64_t offset = 0;

        for (uint32_t j = 0; j < k; j++) {
            if (brute->conflicts[brute->order[k]][brute->order[j]] && ends[j] > offset)
                offset = ends[j];
        }
        offset = (offset + block->alignment - 1) / block->alignment * block->alignment;
        ends[k] =
            offset + (block->size + block->alignment - 1) / block->alignment * block->alignment;
        peak = ends[k] > peak ? ends[k] : peak;
    }
    return peak;
}

static void try_orders(struct brute *brute, uint32_t k)
{
    uint64_t peak;

    if (k == brute->graph->n_blocks) {
        peak = peak_of_order(brute);
        brute->best = peak < brute->best ? peak : brute->best;
        return;
    }
    for (uint32_t i = k; i < brute->graph->n_blocks; i++) {
        uint32_t block = brute->order[i];

        brute->order[i] = brute->order[k];
        brute->order[k] = block;
        try_orders(brute, k + 1);
        brute->order[k] = brute->order[i];
        brute->order[i] = block;
    }
}

static uint64_t lowest_peak(const struct starpool_graph *graph)
{
    struct brute brute = {.graph = graph, .best = UINT64_MAX};
    struct sp_closure closure;

    sp_closure_init(&closure, graph);
    for (uint32_t a = 0; a < graph->n_blocks; a++) {
        brute.order[a] = a;
        for (uint32_t b = 0; b < graph->n_blocks; b++)
            brute.conflicts[a][b] = !sp_closure_is_over(&closure, graph, a, b) &&
                                    !sp_closure_is_over(&closure, graph, b, a);
    }
    try_orders(&brute, 0);
    return brute.best;
}

/* Whether blocks from `i` on can have offsets that end at `limit` at most: every offset of
 * every block is tried. */
static bool fits_anyhow(const struct starpool_graph *graph, const struct sp_closure *closure,
                        uint64_t limit, uint32_t i, uint64_t *offsets)
{
    if (i == graph->n_blocks)
        return true;
    for (offsets[i] = 0; offsets[i] + graph->blocks[i].size <= limit; offsets[i]++) {
        bool is_free = true;

        for (uint32_t j = 0; j < i && is_free; j++)
            is_free = offsets[i] + graph->blocks[i].size <= offsets[j] ||
                      offsets[j] + graph->blocks[j].size <= offsets[i] ||
                      sp_closure_is_over(closure, graph, i, j) ||
                      sp_closure_is_over(closure, graph, j, i);
        if (is_free && fits_anyhow(graph, closure, limit, i + 1, offsets))
            return true;
    }
    return false;
}

static struct starpool_graph *make_small(uint64_t *random, uint32_t most_blocks,
                                         bool has_alignments)
{
    const struct sp_random_shape shape = {
        .n_nodes = 4 + (uint32_t)sp_test_random_below(random, 12),
        .n_blocks = 2 + (uint32_t)sp_test_random_below(random, most_blocks - 1),
        .n_locations = 1,
        .most_size = 10,
        .edge_chance = 5 + (unsigned)sp_test_random_below(random, 30),
        .has_alignments = has_alignments,
        .has_open_ends = sp_test_random_below(random, 2) == 0,
    };

    return sp_random_graph(random, &shape);
}

static void few_blocks_have_the_lowest_peak_of_all_orders(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(150); round++) {
        sp_plan_take_graph(make_small(&random, MOST_BLOCKS, round % 2 == 0));
        sp_plan_make_checked();
        assert_int_equal(sp_plan_fixture.report.peak_bytes, lowest_peak(sp_plan_fixture.graph));
    }
}

static void fewer_blocks_have_the_lowest_peak_of_all_offsets(void **state)
{
    uint64_t random = sp_test_seed(), offsets[MOST_BLOCKS];
    struct sp_closure closure;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(300); round++) {
        sp_plan_take_graph(make_small(&random, 5, false));
        sp_closure_init(&closure, sp_plan_fixture.graph);
        sp_plan_make_checked();
        assert_true(fits_anyhow(sp_plan_fixture.graph, &closure,
                                sp_plan_fixture.report.peak_bytes, 0, offsets));
        assert_false(fits_anyhow(sp_plan_fixture.graph, &closure,
                                 sp_plan_fixture.report.peak_bytes - 1, 0, offsets));
    }
}

static void few_blocks_of_a_timed_graph_have_the_lowest_peak(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(100); round++) {
        sp_plan_take_graph(sp_random_timed_graph(&random, MOST_BLOCKS, 10, 10));
        sp_plan_make_checked();
        assert_true(sp_plan_fixture.report.is_timed);
        assert_int_equal(sp_plan_fixture.report.peak_bytes, lowest_peak(sp_plan_fixture.graph));
    }
}

static void beyond_a_capacity_is_proved_exactly_if_the_lowest_peak_is(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_beyond = 0;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(100); round++) {
        uint64_t lowest;

        sp_plan_take_graph(make_small(&random, MOST_BLOCKS, false));
        lowest = lowest_peak(sp_plan_fixture.graph);
        sp_plan_fixture.config.capacity = lowest - (round % 2 == 0 && lowest > 1);
        sp_plan_make_checked();
        assert_int_equal(sp_plan_fixture.report.fits,
                         sp_plan_fixture.config.capacity >= lowest);
        if (!sp_plan_fixture.report.fits)
            assert_true(sp_plan_fixture.report.is_proved);
        n_beyond += !sp_plan_fixture.report.fits;
    }
    assert_true(n_beyond > 0);
}

static void no_way_to_run_makes_two_live_blocks_overlap(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_states = 0;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(200); round++) {
        const struct sp_random_shape shape = {
            .n_nodes = 9,
            .n_blocks = 4 + (uint32_t)sp_test_random_below(&random, 12),
            .n_locations = 1,
            .most_size = 20,
            .edge_chance = 10 + (unsigned)sp_test_random_below(&random, 30),
            .has_open_ends = round % 2 == 0,
        };

        sp_plan_take_graph(sp_random_graph(&random, &shape));
        sp_plan_fixture.config.adds_edges = round % 3 == 0;
        sp_plan_make_checked();
        n_states += sp_plan_run_all_ways(sp_plan_fixture.graph, sp_plan_fixture.plan);
    }
    assert_true(n_states > 200 * 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sp_plan_setup, sp_plan_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(few_blocks_have_the_lowest_peak_of_all_orders),
        TEST(fewer_blocks_have_the_lowest_peak_of_all_offsets),
        TEST(few_blocks_of_a_timed_graph_have_the_lowest_peak),
        TEST(beyond_a_capacity_is_proved_exactly_if_the_lowest_peak_is),
        TEST(no_way_to_run_makes_two_live_blocks_overlap),
    };

    return cmocka_run_group_tests_name("plan_exact", tests, NULL, NULL);
}
