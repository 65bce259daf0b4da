/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans of graphs: what a configuration asks for, edges that are added, refusals, and no
 * memory. The program is linked with --wrap=calloc and --wrap=realloc. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool/plan.h>

#include "tests/plan_fixture.h"
#include "tests/plan_random.h"

/* ---- allocations that fail -----------------------------------------------------------------
 */

/* The linker puts these before the allocator's own (--wrap). So many of the next allocations
 * succeed, and then one does not; below 0: all do. */
static long n_until_failure = -1;

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails_now(void)
{
    return n_until_failure >= 0 && n_until_failure-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

/* ---- more blocks ---------------------------------------------------------------------- */

static void plans_of_random_graphs_pass_the_check(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(150); round++) {
        const struct sp_random_shape shape = {
            .n_nodes = 64,
            .n_blocks = 9 + (uint32_t)sp_test_random_below(&random, 150),
            .n_locations = 1 + (uint32_t)sp_test_random_below(&random, 3),
            .most_size = 1000,
            .edge_chance = 1 + (unsigned)sp_test_random_below(&random, 8),
            .has_alignments = round % 2 == 0,
            .has_open_ends = round % 3 == 0,
        };

        sp_plan_take_graph(sp_random_graph(&random, &shape));
        sp_plan_fixture.config.time_ns = round % 10 == 0 ? 2000000 : 0;
        sp_plan_fixture.config.alignment = round % 4 == 0 ? 64 : 0;
        sp_plan_make_checked();
        assert_true(sp_plan_fixture.report.is_bound_exact);
    }
}

static void plans_of_timed_graphs_pass_the_check(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(60); round++) {
        sp_plan_take_graph(sp_random_timed_graph(&random, 60, 100, 50));
        sp_plan_fixture.graph->blocks[0].is_output = sp_plan_fixture.graph->blocks[1].is_input =
            true;
        /* An alignment that not all sizes are multiples of is not for intervals. */
        sp_plan_fixture.graph->blocks[2].alignment = round % 2 == 0 ? 32 : 1;
        sp_plan_make_checked();
        assert_true(sp_plan_fixture.report.is_timed);
        assert_true(sp_plan_fixture.report.is_bound_exact);
    }
}

static void one_stream_is_planned_by_intervals(void **state)
{
    (void)state;
    sp_plan_add_stream(40);
    for (uint32_t i = 0; i < 20; i++)
        sp_plan_add_block(100, i, i + 10);
    sp_plan_make_checked();
    assert_true(sp_plan_fixture.report.is_timed);
    assert_int_equal(sp_plan_fixture.report.lower_bound, 1100);
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 1100);
    assert_true(sp_plan_fixture.report.is_proved);
}

static void branches_share_nothing_and_what_comes_after_them_does(void **state)
{
    (void)state;
    /* Two streams, then one that has waited for both. */
    sp_plan_add_stream(4);
    sp_plan_add_stream(4);
    sp_plan_add_stream(2);
    assert_true(sp_graph_add_edge(sp_plan_fixture.graph, 3, 8));
    assert_true(sp_graph_add_edge(sp_plan_fixture.graph, 7, 8));
    sp_plan_add_block(10, 0, 1);
    sp_plan_add_block(7, 2, 3);
    sp_plan_add_block(10, 4, 5);
    sp_plan_add_block(7, 6, 7);
    sp_plan_add_block(20, 8, 9);
    sp_plan_make_checked();
    assert_int_equal(sp_plan_fixture.report.total_bytes, 54);
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 20);
    assert_true(sp_plan_fixture.report.is_proved);
}

static void each_location_has_addresses_of_its_own(void **state)
{
    const struct starpool_location other = {STARPOOL_HOST_NUMA, 1}, none = {STARPOOL_HOST, 0};
    uint64_t bytes, offset;

    (void)state;
    sp_plan_add_stream(2);
    sp_plan_add_block(10, 0, 1);
    sp_plan_add_block(30, 0, 1);
    sp_plan_fixture.graph->blocks[1].location = other;
    sp_plan_make_checked();
    assert_ok(starpool_plan_footprint(sp_plan_fixture.plan, sp_plan_device, &bytes));
    assert_int_equal(bytes, 10);
    assert_ok(starpool_plan_footprint(sp_plan_fixture.plan, other, &bytes));
    assert_int_equal(bytes, 30);
    assert_ok(starpool_plan_footprint(sp_plan_fixture.plan, none, &bytes));
    assert_int_equal(bytes, 0);
    assert_ok(starpool_plan_get_report(sp_plan_fixture.plan, none, &sp_plan_fixture.report));
    assert_int_equal(sp_plan_fixture.report.n_blocks, 0);
    assert_true(sp_plan_fixture.report.fits);
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(starpool_plan_offset(sp_plan_fixture.plan, i, &offset));
        assert_int_equal(offset, 0);
    }
    assert_status(STARPOOL_EINVAL, starpool_plan_offset(sp_plan_fixture.plan, 2, &offset));
}

static void sizes_are_rounded_as_configured(void **state)
{
    static const struct {
        uint64_t alignment, peak;
    } cases[] = {{0, 512 + 256}, {1, 256 + 300}, {4096, 8192}};
    uint64_t offset;

    (void)state;
    sp_plan_add_stream(2);
    sp_plan_add_block(300, 0, 1);
    sp_plan_add_block(100, 0, 1);
    sp_plan_fixture.graph->blocks[0].alignment = sp_plan_fixture.graph->blocks[1].alignment =
        256;
    for (size_t i = 0; i < 3; i++) {
        sp_plan_fixture.config.alignment = cases[i].alignment;
        sp_plan_make_checked();
        assert_int_equal(sp_plan_fixture.report.peak_bytes, cases[i].peak);
        for (uint32_t block = 0; block < 2; block++) {
            assert_ok(starpool_plan_offset(sp_plan_fixture.plan, block, &offset));
            assert_int_equal(offset % 256, 0);
        }
    }
    assert_int_equal(sp_plan_fixture.report.total_bytes, 8192);
}

static void capacity_is_the_graphs_unless_another_is_asked_for(void **state)
{
    (void)state;
    sp_plan_add_stream(2);
    sp_plan_add_block(100, 0, 1);
    sp_plan_fixture.graph->capacity = 50;
    sp_plan_make_checked();
    assert_false(sp_plan_fixture.report.fits);
    assert_true(sp_plan_fixture.report.is_proved);
    sp_plan_fixture.config.capacity = 100;
    sp_plan_make_checked();
    assert_true(sp_plan_fixture.report.fits);
    sp_plan_fixture.config.capacity = STARPOOL_UNLIMITED;
    sp_plan_make_checked();
    assert_true(sp_plan_fixture.report.fits);
}

static void graph_of_no_blocks_needs_nothing(void **state)
{
    (void)state;
    sp_plan_make_checked();
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 0);
    sp_plan_add_stream(3);
    sp_plan_make_checked();
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 0);
    assert_int_equal(sp_plan_fixture.plan->n_places, 0);
}

static void same_seed_gives_the_same_plan(void **state)
{
    uint64_t random = sp_test_seed(), offset;
    const struct sp_random_shape shape = {
        .n_nodes = 60, .n_blocks = 100, .n_locations = 1, .most_size = 99, .edge_chance = 4};
    struct starpool_plan *other;

    (void)state;
    sp_plan_take_graph(sp_random_graph(&random, &shape));
    sp_plan_make_checked();
    assert_ok(starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &other));
    for (uint32_t i = 0; i < 100; i++) {
        assert_ok(starpool_plan_offset(other, i, &offset));
        assert_int_equal(offset, sp_plan_fixture.plan->offsets[i]);
    }
    starpool_plan_destroy(other);
}

/* ---- edges --------------------------------------------------------------------------- */

static void edge_between_branches_saves_the_smaller_of_two_blocks(void **state)
{
    struct starpool_plan_edge edge = {.struct_size = sizeof(edge)};

    (void)state;
    sp_plan_add_stream(2);
    sp_plan_add_stream(2);
    sp_plan_add_block(100, 0, 1);
    sp_plan_add_block(60, 2, 3);
    sp_plan_make_checked();
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 160);
    assert_int_equal(sp_plan_fixture.report.n_added_edges, 0);
    assert_status(STARPOOL_EINVAL, starpool_plan_get_edge(sp_plan_fixture.plan, 0, &edge));
    sp_plan_fixture.config.adds_edges = true;
    sp_plan_make_checked();
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 100);
    assert_int_equal(sp_plan_fixture.report.n_added_edges, 1);
    assert_int_equal(sp_plan_fixture.report.saved_bytes, 60);
    assert_ok(starpool_plan_get_edge(sp_plan_fixture.plan, 0, &edge));
    assert_int_equal(edge.saved_bytes, 60);
    assert_true((edge.from == 1 && edge.to == 2) || (edge.from == 3 && edge.to == 0));
    assert_int_equal(edge.location.kind, STARPOOL_DEVICE);
    assert_int_equal(sp_plan_run_all_ways(sp_plan_fixture.graph, sp_plan_fixture.plan), 9);
}

static void no_edge_is_added_that_closes_a_cycle(void **state)
{
    (void)state;
    /* Each block is needed while the other lives. */
    sp_plan_add_stream(3);
    sp_plan_add_stream(3);
    assert_true(sp_graph_add_edge(sp_plan_fixture.graph, 0, 4));
    assert_true(sp_graph_add_edge(sp_plan_fixture.graph, 3, 1));
    sp_plan_add_block(100, 0, 2);
    sp_plan_add_block(60, 3, 5);
    sp_plan_fixture.config.adds_edges = true;
    sp_plan_make_checked();
    assert_int_equal(sp_plan_fixture.report.n_added_edges, 0);
    assert_int_equal(sp_plan_fixture.report.peak_bytes, 160);
}

static void edges_lower_peaks_and_say_by_how_much(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_edges = 0;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(60); round++) {
        const struct sp_random_shape shape = {.n_nodes = 30,
                                              .n_blocks = 20,
                                              .n_locations = 2,
                                              .most_size = 50,
                                              .edge_chance = 6,
                                              .has_open_ends = round % 2 == 0};
        uint64_t before;

        sp_plan_take_graph(sp_random_graph(&random, &shape));
        sp_plan_fixture.config.adds_edges = false;
        sp_plan_make_checked();
        before = sp_plan_fixture.report.peak_bytes;
        sp_plan_fixture.config.adds_edges = true;
        sp_plan_make_checked();
        /* Edges for the other location may have helped here, too. */
        assert_true(sp_plan_fixture.report.peak_bytes + sp_plan_fixture.report.saved_bytes <=
                    before);
        assert_int_equal(sp_plan_fixture.report.n_added_edges > 0,
                         sp_plan_fixture.report.saved_bytes > 0);
        n_edges += sp_plan_fixture.report.n_added_edges;
    }
    assert_true(n_edges > 0);
}

/* ---- refusals ------------------------------------------------------------------------ */

static void what_cannot_be_planned_is_refused_and_outputs_are_left_alone(void **state)
{
    struct starpool_plan *const untouched = (struct starpool_plan *)&sp_plan_fixture;
    struct starpool_plan *plan = untouched;

    (void)state;
    sp_plan_add_stream(3);
    sp_plan_add_block(100, 0, 2);
    assert_status(STARPOOL_EINVAL, starpool_plan(NULL, &sp_plan_fixture.config, &plan));
    assert_status(STARPOOL_EINVAL, starpool_plan(sp_plan_fixture.graph, NULL, &plan));
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, NULL));
    sp_plan_fixture.config.alignment = 3;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
    sp_plan_fixture.config.alignment = 0;
    sp_plan_fixture.config.struct_size--;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
    sp_plan_fixture.config.struct_size++;
    sp_plan_fixture.graph->blocks[0].size = 0;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
    sp_plan_fixture.graph->blocks[0].size = UINT64_MAX;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
    sp_plan_fixture.graph->blocks[0].size = 1;
    sp_plan_fixture.graph->blocks[0].alignment = 6;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
    sp_plan_fixture.graph->blocks[0].alignment = 1;
    assert_true(sp_graph_add_edge(sp_plan_fixture.graph, 2, 0));
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
    assert_ptr_equal(plan, untouched);
}

/* Of a graph of times, whose fixture's nodes are gone. */
static void add_timed(uint64_t size, uint64_t alignment, uint64_t lower, uint64_t upper)
{
    struct sp_graph_block block = {.size = size,
                                   .alignment = alignment,
                                   .alloc = SP_NO_INDEX,
                                   .free = SP_NO_INDEX,
                                   .lower = lower,
                                   .upper = upper};

    sp_plan_fixture.graph->is_timed = true;
    assert_int_not_equal(sp_graph_add_block(sp_plan_fixture.graph, &block), SP_NO_INDEX);
}

static void sizes_that_overflow_their_sum_are_refused(void **state)
{
    struct starpool_plan *plan;

    (void)state;
    /* What the first leaves of 2^62 is nothing, and with the second the sum is 2^64. */
    for (unsigned i = 0; i < 4; i++) {
        add_timed(((uint64_t)1 << 62) - 2, 1, 0, 1);
        add_timed((uint64_t)1 << 62, (uint64_t)1 << 62, 0, 1);
    }
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
}

static void what_is_planned_has_times_that_the_check_takes(void **state)
{
    struct starpool_plan *plan;

    (void)state;
    add_timed(1, 1, 0, (uint64_t)INT64_MAX);
    sp_plan_make_checked();
    sp_plan_fixture.graph->blocks[0].upper++;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan));
}

static void time_without_end_is_searched_like_any_other(void **state)
{
    struct starpool_plan_report report = {.struct_size = sizeof(report)};

    (void)state;
    /* The descent needs 48 bytes for these, and 47 do. */
    for (uint32_t i = 0; i < 12; i++)
        add_timed(1 + i * 7 % 13, 1, i, i + 5);
    sp_plan_fixture.config.time_ns = UINT64_MAX;
    sp_plan_make_checked();
    assert_ok(starpool_plan_get_report(sp_plan_fixture.plan,
                                       (struct starpool_location){STARPOOL_NONE, 0}, &report));
    assert_int_equal(report.peak_bytes, 47);
    assert_true(report.n_search_nodes > 0);
}

static void thousands_of_blocks_of_mixed_alignments_pass_the_check(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (uint32_t i = 0; i < 5000; i++) {
        uint64_t lower = sp_test_random_below(&random, 5000);
        /* A few live long, so that not all that is early is over. */
        uint64_t length = 1 + sp_test_random_below(&random, i % 100 == 0 ? 5000 : 20);

        add_timed(1 + sp_test_random_below(&random, 100),
                  (uint64_t)1 << sp_test_random_below(&random, 6), lower, lower + length);
    }
    sp_plan_make_checked();
}

static void reports_need_a_struct_size(void **state)
{
    struct starpool_plan_report report = {.struct_size = sizeof(report) - 1};
    struct starpool_plan_edge edge = {.struct_size = 0};
    uint64_t value;

    (void)state;
    sp_plan_make_checked();
    assert_status(STARPOOL_EINVAL,
                  starpool_plan_get_report(sp_plan_fixture.plan, sp_plan_device, &report));
    report.struct_size = sizeof(report);
    assert_status(STARPOOL_EINVAL, starpool_plan_get_report(NULL, sp_plan_device, &report));
    assert_status(STARPOOL_EINVAL,
                  starpool_plan_get_report(sp_plan_fixture.plan, sp_plan_device, NULL));
    assert_status(STARPOOL_EINVAL, starpool_plan_get_edge(sp_plan_fixture.plan, 0, &edge));
    assert_status(STARPOOL_EINVAL, starpool_plan_footprint(NULL, sp_plan_device, &value));
    assert_status(STARPOOL_EINVAL,
                  starpool_plan_footprint(sp_plan_fixture.plan, sp_plan_device, NULL));
    assert_status(STARPOOL_EINVAL, starpool_plan_offset(NULL, 0, &value));
    starpool_plan_destroy(NULL);
}

/* Every allocation of a plan fails in turn, until none does. */
static void fail_each_in_turn(void)
{
    struct starpool_plan *plan = NULL;
    enum starpool_status status = STARPOOL_ENOMEM;
    long n = 0;

    for (; status != STARPOOL_OK; n++) {
        n_until_failure = n;
        status = starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &plan);
        n_until_failure = -1;
        if (status != STARPOOL_OK) {
            assert_int_equal(status, STARPOOL_ENOMEM);
            assert_null(plan);
        }
        assert_true(n < 100000);
    }
    assert_true(n > 10);
    starpool_plan_destroy(plan);
}

static void without_memory_nothing_is_left_behind(void **state)
{
    uint64_t random = 1;
    const struct sp_random_shape shape = {.n_nodes = 40,
                                          .n_blocks = 20,
                                          .n_locations = 2,
                                          .most_size = 50,
                                          .edge_chance = 6,
                                          .has_open_ends = true};

    (void)state;
    sp_plan_take_graph(sp_random_graph(&random, &shape));
    fail_each_in_turn();
    sp_plan_take_graph(sp_random_timed_graph(&random, 20, 100, 50));
    fail_each_in_turn();
    sp_plan_teardown(NULL);
    sp_plan_setup(NULL);
    sp_plan_add_stream(2);
    sp_plan_add_stream(2);
    sp_plan_add_block(100, 0, 1);
    sp_plan_add_block(60, 2, 3);
    sp_plan_fixture.config.adds_edges = true;
    fail_each_in_turn();
}

static void check_without_memory_says_so(void **state)
{
    uint64_t random = 1;
    const struct sp_random_shape shape = {
        .n_nodes = 20, .n_blocks = 12, .n_locations = 1, .most_size = 50, .edge_chance = 6};
    enum starpool_status status = STARPOOL_ENOMEM;

    (void)state;
    sp_plan_take_graph(sp_random_graph(&random, &shape));
    sp_plan_make_checked();
    for (long n = 0; status != STARPOOL_OK; n++) {
        n_until_failure = n;
        status = starpool_plan_check(sp_plan_fixture.graph, sp_plan_fixture.plan, NULL, 0);
        n_until_failure = -1;
        assert_true(status == STARPOOL_OK || status == STARPOOL_ENOMEM);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sp_plan_setup, sp_plan_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plans_of_random_graphs_pass_the_check),
        TEST(plans_of_timed_graphs_pass_the_check),
        TEST(one_stream_is_planned_by_intervals),
        TEST(branches_share_nothing_and_what_comes_after_them_does),
        TEST(each_location_has_addresses_of_its_own),
        TEST(sizes_are_rounded_as_configured),
        TEST(capacity_is_the_graphs_unless_another_is_asked_for),
        TEST(graph_of_no_blocks_needs_nothing),
        TEST(same_seed_gives_the_same_plan),
        TEST(edge_between_branches_saves_the_smaller_of_two_blocks),
        TEST(no_edge_is_added_that_closes_a_cycle),
        TEST(edges_lower_peaks_and_say_by_how_much),
        TEST(what_cannot_be_planned_is_refused_and_outputs_are_left_alone),
        TEST(sizes_that_overflow_their_sum_are_refused),
        TEST(what_is_planned_has_times_that_the_check_takes),
        TEST(time_without_end_is_searched_like_any_other),
        TEST(thousands_of_blocks_of_mixed_alignments_pass_the_check),
        TEST(reports_need_a_struct_size),
        TEST(without_memory_nothing_is_left_behind),
        TEST(check_without_memory_says_so),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
