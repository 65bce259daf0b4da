/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The search for addresses by itself, with orders that are as bad as any: what there is it
 * finds, and it keeps to its limits. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "graph/interval_search.h"
#include "src/util/util.h"
#include "tests/interval_case.h"

#define N         SP_INTERVAL_CASE_MAX
#define MAX_STACK ((size_t)4 << 20)

/* Everything that a search of N blocks needs. */
static struct {
    struct sp_interval_case it;
    struct sp_sections sections;
    struct sp_interval_event events[2 * N];
    struct sp_interval_search search;
    uint32_t block[N], first[N], last[N], rank[N], n_across[N], reach[N], n_in_run[N];
    uint32_t trail[N], raised[N];
    uint64_t size[N], width[N], crowd[N], weight[N], left[N], pile[N], words[N];
    int64_t step[N + 1];
    struct sp_part *part_of_run[N];
    uint64_t stack[MAX_STACK / sizeof(uint64_t)];
} fixture;

static struct sp_interval_search *const search = &fixture.search;
static struct sp_interval_case *const it = &fixture.it;

static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    sp_interval_case_init(it);
    fixture.sections = (struct sp_sections){.block = fixture.block,
                                            .first = fixture.first,
                                            .last = fixture.last,
                                            .size = fixture.size,
                                            .width = fixture.width,
                                            .crowd = fixture.crowd,
                                            .weight = fixture.weight};
    *search = (struct sp_interval_search){.sections = &fixture.sections,
                                          .rank = fixture.rank,
                                          .offsets = it->offsets,
                                          .weight = fixture.left,
                                          .n_across = fixture.n_across,
                                          .pile = fixture.pile,
                                          .step = fixture.step,
                                          .reach = fixture.reach,
                                          .n_in_run = fixture.n_in_run,
                                          .part_of_run = fixture.part_of_run,
                                          .trail = fixture.trail,
                                          .raised = fixture.raised,
                                          .guilt = {.words = fixture.words},
                                          .stack = (char *)fixture.stack,
                                          .stack_size = sizeof(fixture.stack)};
    return 0;
}

/* Take the problem as it is now, blocks in their own order. */
static void take_problem(void)
{
    sp_sections_init(&fixture.sections, &it->problem, fixture.events);
    search->guilt.n_words = fixture.sections.n_sections / 64 + 1;
    for (uint32_t i = 0; i < it->problem.n; i++)
        fixture.rank[i] = i;
}

static void shuffle_ranks(void)
{
    for (uint32_t i = it->problem.n; i > 1; i--) {
        size_t j = sp_interval_case_below(it, i);
        uint32_t rank = fixture.rank[i - 1];

        fixture.rank[i - 1] = fixture.rank[j];
        fixture.rank[j] = rank;
    }
}

static enum sp_search_answer run(uint64_t capacity, uint64_t n_nodes, unsigned slack_worth)
{
    struct sp_search_limits limits = {.capacity = capacity,
                                      .n_nodes = n_nodes,
                                      .deadline_ns = UINT64_MAX,
                                      .slack_worth = slack_worth};

    return sp_interval_search(search, &limits);
}

/* ---- answers --------------------------------------------------------------------------- */

static void no_order_makes_it_miss_what_fits(void **state)
{
    static const unsigned worths[] = {0, 1, 10, 30, 100};
    size_t n_limits = 0, n_rounds = sp_test_scaled(3000);

    (void)state;
    for (size_t round = 0; round < n_rounds; round++) {
        uint64_t height = 6 + sp_interval_case_below(it, 30);
        enum sp_search_answer answer;

        sp_interval_case_fill_rectangle(it, 12 + (uint32_t)sp_interval_case_below(it, 30),
                                        10 + sp_interval_case_below(it, 60), height);
        take_problem();
        shuffle_ranks();
        answer = run(height, 20000, worths[round % SP_ARRAY_SIZE(worths)]);
        n_limits += answer == SP_SEARCH_LIMIT;
        if (answer == SP_SEARCH_LIMIT)
            continue;
        assert_int_equal(answer, SP_SEARCH_FITS);
        assert_int_equal(sp_interval_case_assert_right(it), height);
    }
    assert_true(n_limits <= 1 + n_rounds / 100);
}

/* Lower, upper, size. */
struct block {
    uint64_t lower, upper, size;
};

static void assert_fits(const struct block *blocks, size_t n, uint64_t capacity,
                        unsigned slack_worth)
{
    it->problem.n = 0;
    for (size_t i = 0; i < n; i++)
        sp_interval_case_add(it, blocks[i].lower, blocks[i].upper, blocks[i].size);
    take_problem();
    assert_int_equal(run(capacity, 100000, slack_worth), SP_SEARCH_FITS);
    assert_true(sp_interval_case_assert_right(it) <= capacity);
}

/* Problems that fit, but are refused if a block that has failed and been passed does not bring
 * along the sections that it failed because of. */
static void failures_of_earlier_blocks_are_to_blame_too(void **state)
{
    static const struct block first[] = {
        {42, 53, 1}, {56, 58, 4}, {23, 30, 6}, {48, 52, 1}, {1, 42, 1}, {38, 49, 1},
        {38, 41, 1}, {38, 49, 3}, {49, 60, 1}, {42, 53, 1}, {0, 42, 1}, {49, 60, 1},
        {49, 60, 4}, {42, 51, 1}, {24, 42, 1}, {38, 49, 2},
    };
    static const struct block second[] = {
        {0, 3, 4},  {11, 14, 5},  {31, 40, 6}, {29, 40, 9}, {0, 4, 11},  {11, 14, 3},
        {9, 11, 4}, {2, 10, 4},   {11, 14, 2}, {9, 10, 7},  {4, 13, 15}, {13, 40, 15},
        {0, 1, 15}, {14, 29, 10}, {11, 14, 1}, {11, 14, 1},
    };
    static const struct block third[] = {
        {8, 17, 5},  {17, 25, 6},  {37, 38, 16}, {8, 17, 9},  {25, 33, 1}, {25, 33, 9},
        {25, 40, 1}, {31, 37, 16}, {17, 24, 7},  {19, 30, 2}, {25, 27, 9}, {9, 19, 12},
        {19, 25, 9}, {14, 19, 4},  {19, 31, 5},  {17, 25, 1},
    };

    (void)state;
    assert_fits(first, SP_ARRAY_SIZE(first), 10, 30);
    assert_fits(second, SP_ARRAY_SIZE(second), 30, 100);
    assert_fits(third, SP_ARRAY_SIZE(third), 30, 1);
}

static void less_than_what_is_live_at_once_fails_without_a_search(void **state)
{
    (void)state;
    sp_interval_case_fill_rectangle(it, 20, 20, 50);
    take_problem();
    assert_int_equal(fixture.sections.lower_bound, 50);
    assert_int_equal(run(49, UINT64_MAX, 10), SP_SEARCH_FAILS);
    assert_int_equal(search->n_nodes, 0);
}

static void search_leaves_no_trace_for_the_next_one(void **state)
{
    uint64_t n_nodes;

    (void)state;
    sp_interval_case_fill_rectangle(it, 60, 40, 60);
    take_problem();
    run(60, 500, 10);
    n_nodes = search->n_nodes;
    run(61, 100, 30);
    run(60, 500, 10);
    assert_int_equal(search->n_nodes, n_nodes);
}

/* ---- limits ---------------------------------------------------------------------------- */

static void search_ends_at_its_number_of_nodes(void **state)
{
    (void)state;
    sp_interval_case_fill_rectangle(it, 100, 60, 100);
    take_problem();
    for (uint64_t n_nodes = 0; n_nodes < 60; n_nodes++) {
        assert_int_equal(run(100, n_nodes, 10), SP_SEARCH_LIMIT);
        assert_int_equal(search->n_nodes, n_nodes);
    }
}

/* The clock is read again after some 50,000 numbers, of which each node looks at one a block at
 * least. */
static void search_that_is_late_ends_soon(void **state)
{
    struct sp_search_limits limits = {.n_nodes = UINT64_MAX, .slack_worth = 10};

    (void)state;
    sp_interval_case_fill_any(it, N, 1000, 300, 1000);
    take_problem();
    limits.capacity = fixture.sections.lower_bound;
    assert_int_not_equal(sp_interval_search(search, &limits), SP_SEARCH_NO_ROOM);
    assert_true(search->n_nodes < 1000);
}

static void small_stack_is_an_answer_wherever_it_ends(void **state)
{
    size_t n_ends = 0;

    (void)state;
    sp_interval_case_fill_rectangle(it, 40, 30, 50);
    take_problem();
    for (size_t size = 0; size < 20000; size += 40) {
        enum sp_search_answer answer;

        search->stack_size = size;
        answer = run(50, 2000, 10);
        assert_true(search->stack_used <= size);
        n_ends += answer == SP_SEARCH_NO_ROOM;
        assert_true(answer != SP_SEARCH_FAILS);
    }
    assert_true(n_ends > 10);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_order_makes_it_miss_what_fits),
        CASE(failures_of_earlier_blocks_are_to_blame_too),
        CASE(less_than_what_is_live_at_once_fails_without_a_search),
        CASE(search_leaves_no_trace_for_the_next_one),
        CASE(search_ends_at_its_number_of_nodes),
        CASE(search_that_is_late_ends_soon),
        CASE(small_stack_is_an_answer_wherever_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
