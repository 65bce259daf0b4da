/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses for blocks with intervals: against all orders there are, for small problems;
 * against problems that are cut out of a full rectangle, for larger ones. The program is linked
 * with --wrap=malloc. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "graph/interval.h"
#include "src/util/util.h"
#include "tests/interval_case.h"

/* Problems that are compared with all there is: moments, units, units of the largest. */
#define N_MOMENTS     16
#define MAX_ROOM      12
#define LARGEST_SMALL 5

/* Ends no search; only problems that are small or known to fit are given so much. */
#define NO_END UINT64_MAX

static struct sp_interval_case fixture;
static struct sp_interval_result fixture_result;

static struct sp_interval_result *const result = &fixture_result;

/* ---- memory ---------------------------------------------------------------------------- */

/* The linker puts this before the allocator's own. */
static bool has_no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    return has_no_memory ? NULL : __real_malloc(size);
}

/* ---- problems -------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    sp_interval_case_init(&fixture);
    fixture_result = (struct sp_interval_result){0};
    has_no_memory = false;
    return 0;
}

static size_t below(size_t bound)
{
    return sp_interval_case_below(&fixture, bound);
}

static void add(uint64_t lower, uint64_t upper, uint64_t size)
{
    sp_interval_case_add(&fixture, lower, upper, size);
}

static enum starpool_status plan(uint64_t capacity, uint64_t time_ns)
{
    struct sp_interval_options options = {.capacity = capacity, .time_ns = time_ns, .seed = 1};

    return sp_interval_plan(&fixture.problem, &options, fixture.offsets, result);
}

/* ---- what is right --------------------------------------------------------------------- */

static void assert_plan_is_right(void)
{
    assert_int_equal(result->peak, sp_interval_case_assert_right(&fixture));
    assert_true(result->lower_bound <= result->peak);
}

/* Whether blocks `i` and above fit into what is free: bit `unit` of `taken`, one word a moment,
 * is set where a block is. All offsets are tried. */
static bool fits_by_trial(size_t i, unsigned capacity, uint64_t *taken)
{
    if (i == fixture.problem.n)
        return true;
    for (unsigned offset = 0; offset + fixture.size[i] <= capacity; offset++) {
        uint64_t mask = (((uint64_t)1 << fixture.size[i]) - 1) << offset, conflict = 0;

        for (uint64_t moment = fixture.lower[i]; moment < fixture.upper[i]; moment++)
            conflict |= taken[moment] & mask;
        if (conflict != 0)
            continue;
        for (uint64_t moment = fixture.lower[i]; moment < fixture.upper[i]; moment++)
            taken[moment] |= mask;
        if (fits_by_trial(i + 1, capacity, taken))
            return true;
        for (uint64_t moment = fixture.lower[i]; moment < fixture.upper[i]; moment++)
            taken[moment] &= ~mask;
    }
    return false;
}

/* The lowest peak there is, from what is live at once upwards. */
static unsigned optimum(void)
{
    unsigned capacity = 0;

    for (uint64_t moment = 0; moment < N_MOMENTS; moment++) {
        unsigned live = 0;

        for (size_t i = 0; i < fixture.problem.n; i++) {
            if (fixture.lower[i] <= moment && moment < fixture.upper[i])
                live += (unsigned)fixture.size[i];
        }
        capacity = live > capacity ? live : capacity;
    }
    for (;; capacity++) {
        uint64_t taken[N_MOMENTS] = {0};

        if (fits_by_trial(0, capacity, taken))
            return capacity;
    }
}

/* ---- small problems -------------------------------------------------------------------- */

/* At each moment just as much is live as there is room: the hardest there is, and often there
 * is no way. In the order of their lives, so that trials fail soon. */
static void fill_small(void)
{
    size_t n_moments = N_MOMENTS - below(6), room = MAX_ROOM - below(5);
    uint64_t left[N_MOMENTS] = {0};

    fixture.problem.n = 0;
    for (size_t i = 0; i < n_moments; i++)
        left[i] = room;
    for (size_t lower = 0; lower < n_moments; lower++) {
        while (left[lower] > 0) {
            size_t upper = lower + 1 + below(n_moments - lower), end = lower;
            uint64_t size = 1 + below(sp_min(left[lower], LARGEST_SMALL));

            for (; end < upper && left[end] >= size; end++)
                left[end] -= size;
            add(lower, end, size);
        }
    }
}

/* One that a descent does not solve. */
static void fill_hard(void)
{
    do {
        fill_small();
        assert_ok(plan(0, 0));
        assert_int_equal(result->n_nodes, 0);
    } while (result->peak == optimum());
}

static void without_a_capacity_small_problems_get_the_lowest_peak(void **state)
{
    size_t n_above = 0, n_rounds = sp_test_scaled(3000);

    (void)state;
    for (size_t round = 0; round < n_rounds; round++) {
        fill_small();
        assert_ok(plan(0, NO_END));
        assert_int_equal(result->answer, SP_INTERVAL_FOUND);
        assert_plan_is_right();
        assert_int_equal(result->peak, optimum());
        n_above += result->peak > result->lower_bound;
    }
    assert_true(n_above > 0 || n_rounds < 1000);
}

static void what_fits_is_found_and_what_does_not_is_refused_for_certain(void **state)
{
    size_t n_proved = 0, n_rounds = sp_test_scaled(3000);

    (void)state;
    for (size_t round = 0; round < n_rounds; round++) {
        unsigned lowest;

        fill_small();
        lowest = optimum();
        assert_ok(plan(lowest, NO_END));
        assert_int_equal(result->answer, SP_INTERVAL_FOUND);
        assert_int_equal(result->peak, lowest);
        assert_plan_is_right();
        if (lowest == 1)
            continue;
        assert_ok(plan(lowest - 1, NO_END));
        assert_int_equal(result->answer, SP_INTERVAL_DOES_NOT_FIT);
        assert_true(result->peak >= lowest);
        assert_plan_is_right();
        n_proved += result->lower_bound < lowest;
    }
    assert_true(n_proved > 0 || n_rounds < 1000);
}

/* ---- larger problems ------------------------------------------------------------------- */

static void what_is_cut_out_of_a_rectangle_never_fails_to_fit(void **state)
{
    size_t n_found = 0, n_rounds = sp_test_scaled(400);

    (void)state;
    for (size_t round = 0; round < n_rounds; round++) {
        sp_interval_case_fill_rectangle(&fixture, 20 + (uint32_t)below(40), 20 + below(30),
                                        40 + below(60));
        assert_ok(plan(fixture.size[0], 0));
        assert_plan_is_right();
        assert_ok(plan(result->lower_bound, NO_END));
        assert_int_equal(result->answer, SP_INTERVAL_FOUND);
        assert_int_equal(result->peak, result->lower_bound);
        assert_plan_is_right();
        n_found += result->n_nodes > 0;
    }
    assert_true(n_found > n_rounds / 8 || n_rounds < 100);
}

static void blocks_never_overlap_whatever_their_lives_are_like(void **state)
{
    static const size_t longest[] = {1, 3, 30, 300, 1000000};

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(60); round++) {
        uint32_t n = 1 + (uint32_t)below(SP_INTERVAL_CASE_MAX);

        sp_interval_case_fill_any(&fixture, n, 1 + below(1000),
                                  longest[round % SP_ARRAY_SIZE(longest)],
                                  (size_t)1 << below(40));
        assert_ok(plan(0, 0));
        assert_int_equal(result->answer, SP_INTERVAL_FOUND);
        assert_plan_is_right();
        assert_ok(plan(0, 1000000));
        assert_plan_is_right();
    }
}

static void nested_lives_need_no_more_than_is_live_at_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        add(i, 400 - i, 1 + below(1000));
    for (uint32_t i = 0; i < 100; i++)
        add(1000 + 10 * i, 1000 + 10 * i + 10, 1 + below(1000));
    assert_ok(plan(0, 0));
    assert_int_equal(result->peak, result->lower_bound);
    assert_plan_is_right();
}

static void equal_intervals_are_piled_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; i++)
        add(7, 9, 3);
    assert_ok(plan(149, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_DOES_NOT_FIT);
    assert_ok(plan(151, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_FOUND);
    assert_int_equal(result->peak, 150);
    assert_plan_is_right();
}

/* Blocks of a problem that a descent does not solve, over and over at later times. */
static void more_blocks_than_16_bits_can_number_are_searched(void **state)
{
    enum { N = 70000 };
    uint64_t *lower = test_calloc(N, sizeof(*lower)), *upper = test_calloc(N, sizeof(*upper));
    uint64_t *size = test_calloc(N, sizeof(*size)), *offsets = test_calloc(N, sizeof(*offsets));
    struct sp_interval_problem problem = {.lower = lower, .upper = upper, .size = size};
    struct sp_interval_options options = {.time_ns = NO_END};
    struct sp_interval_result many;

    (void)state;
    fill_hard();
    options.capacity = optimum();
    for (uint32_t i = 0; i + fixture.problem.n <= N; i++) {
        uint64_t begin = i / fixture.problem.n * N_MOMENTS;

        lower[i] = fixture.lower[i % fixture.problem.n] + begin;
        upper[i] = fixture.upper[i % fixture.problem.n] + begin;
        size[i] = fixture.size[i % fixture.problem.n];
        problem.n = (i + 1) / fixture.problem.n * fixture.problem.n;
    }
    assert_true(problem.n > UINT16_MAX);
    assert_ok(sp_interval_plan(&problem, &options, offsets, &many));
    assert_int_equal(many.answer, SP_INTERVAL_FOUND);
    assert_int_equal(many.peak, options.capacity);
    for (uint32_t i = 0; i < problem.n; i += fixture.problem.n) {
        memcpy(fixture.offsets, offsets + i, fixture.problem.n * sizeof(*offsets));
        sp_interval_case_assert_right(&fixture);
    }
    test_free(lower);
    test_free(upper);
    test_free(size);
    test_free(offsets);
}

static void seed_says_what_the_answer_is(void **state)
{
    uint64_t offsets[SP_INTERVAL_CASE_MAX];
    uint64_t n_nodes;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(20); round++) {
        sp_interval_case_fill_rectangle(&fixture, 40, 30, 50);
        assert_ok(plan(50, NO_END));
        memcpy(offsets, fixture.offsets, sizeof(offsets));
        n_nodes = result->n_nodes;
        assert_ok(plan(50, NO_END));
        assert_memory_equal(offsets, fixture.offsets, fixture.problem.n * sizeof(*offsets));
        assert_int_equal(result->n_nodes, n_nodes);
    }
}

/* ---- limits ---------------------------------------------------------------------------- */

static void nothing_is_planned_at_once(void **state)
{
    (void)state;
    assert_ok(plan(0, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_FOUND);
    assert_int_equal(result->peak, 0);
    assert_int_equal(result->lower_bound, 0);
    add(3, 4, 0);
    fixture.offsets[0] = 5;
    assert_ok(plan(1, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_FOUND);
    assert_int_equal(fixture.offsets[0], 0);
}

static void one_block_lies_at_0(void **state)
{
    (void)state;
    add(0, UINT64_MAX, 77);
    assert_ok(plan(77, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_FOUND);
    assert_int_equal(result->peak, 77);
    assert_int_equal(fixture.offsets[0], 0);
    assert_ok(plan(76, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_DOES_NOT_FIT);
    assert_int_equal(result->peak, 77);
}

static void huge_sizes_are_planned_or_refused_but_never_wrap_around(void **state)
{
    uint64_t half = (uint64_t)1 << 61;

    (void)state;
    add(0, 2, half);
    add(1, 3, half - 1);
    assert_ok(plan(UINT64_MAX, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_FOUND);
    assert_int_equal(result->peak, 2 * half - 1);
    assert_ok(plan(2 * half - 2, NO_END));
    assert_int_equal(result->answer, SP_INTERVAL_DOES_NOT_FIT);
    fixture.size[1]++;
    assert_status(STARPOOL_EINVAL, plan(0, NO_END));
    fixture.size[0] = fixture.size[1] = UINT64_MAX;
    assert_status(STARPOOL_EINVAL, plan(0, NO_END));
}

static void a_life_without_time_is_refused(void **state)
{
    (void)state;
    add(0, 5, 1);
    add(5, 5, 1);
    assert_status(STARPOOL_EINVAL, plan(0, 0));
    fixture.upper[1] = 4;
    assert_status(STARPOOL_EINVAL, plan(0, 0));
}

static void lack_of_memory_is_a_status_and_changes_nothing(void **state)
{
    (void)state;
    add(0, 2, 5);
    add(1, 3, 5);
    fixture.offsets[1] = 99;
    result->peak = 98;
    has_no_memory = true;
    assert_status(STARPOOL_ENOMEM, plan(0, NO_END));
    has_no_memory = false;
    assert_int_equal(fixture.offsets[1], 99);
    assert_int_equal(result->peak, 98);
}

/* Without time nothing is searched, and nothing is claimed. */
static void without_time_only_a_descent_is_made(void **state)
{
    (void)state;
    fill_hard();
    assert_ok(plan(optimum(), 0));
    assert_int_equal(result->answer, SP_INTERVAL_UNKNOWN);
    assert_int_equal(result->n_nodes, 0);
    assert_true(result->peak > optimum());
    assert_plan_is_right();
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_a_capacity_small_problems_get_the_lowest_peak),
        CASE(what_fits_is_found_and_what_does_not_is_refused_for_certain),
        CASE(what_is_cut_out_of_a_rectangle_never_fails_to_fit),
        CASE(blocks_never_overlap_whatever_their_lives_are_like),
        CASE(nested_lives_need_no_more_than_is_live_at_once),
        CASE(equal_intervals_are_piled_up),
        CASE(more_blocks_than_16_bits_can_number_are_searched),
        CASE(seed_says_what_the_answer_is),
        CASE(nothing_is_planned_at_once),
        CASE(one_block_lies_at_0),
        CASE(huge_sizes_are_planned_or_refused_but_never_wrap_around),
        CASE(a_life_without_time_is_refused),
        CASE(lack_of_memory_is_a_status_and_changes_nothing),
        CASE(without_time_only_a_descent_is_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
