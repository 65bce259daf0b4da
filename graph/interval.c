/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to an answer: a descent; then searches with ever more patience, in ever other orders,
 * for the capacity that is given, or else for capacities between what is known to be too little
 * and what is known to do. */
#include "config.h"

#include "graph/interval.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph/interval_greedy.h"
#include "graph/interval_search.h"
#include "src/util/util.h"

/* More blocks than this are not planned: half of what indices can tell apart, and more than any
 * memory holds. */
#define MAX_BLOCKS ((uint32_t)1 << 30)

/* What all sizes together stay below, so that sums and differences of them have a sign. */
#define MAX_TOTAL ((uint64_t)1 << 62)

/* Nodes of the first searches, or twice the number of blocks if that is more. Where a good
 * order solves a problem, it does so with little more than one node a block; where it does not,
 * another order is worth more than more nodes. */
#define FIRST_NODES 1000

/* How many searches there are before the number of nodes doubles. */
#define N_TRIES 8

/* How many searches without a capacity have a target of their own. */
#define N_AIMED 3

/* All that a plan needs, in one piece of memory. */
struct plan {
    struct sp_sections sections;
    struct sp_interval_event *events;
    struct sp_interval_key *keys;
    uint32_t *rank;
    struct sp_greedy greedy;
    struct sp_interval_search search;
    uint64_t *trial; /* [n] offsets of a descent or search */
    uint64_t *best;  /* [n] offsets, their highest end being `peak` */
    uint64_t peak;
    uint64_t n_nodes;
    uint64_t deadline_ns;
    uint64_t random;
    char *memory;
};

/* ---- memory -------------------------------------------------------------------------- */

/* Hands out pieces of `memory`, or only counts them while that is NULL. */
struct layout {
    char *memory;
    size_t used; /* [bytes] */
};

static void *cut(struct layout *layout, size_t n, size_t size)
{
    void *ptr = layout->memory != NULL ? layout->memory + layout->used : NULL;

    layout->used += sp_round_up(n * size, sizeof(uint64_t));
    return ptr;
}

static void lay_out_sections(struct sp_sections *sections, struct layout *layout, size_t n)
{
    sections->block = cut(layout, n, sizeof(*sections->block));
    sections->first = cut(layout, n, sizeof(*sections->first));
    sections->last = cut(layout, n, sizeof(*sections->last));
    sections->size = cut(layout, n, sizeof(*sections->size));
    sections->width = cut(layout, n, sizeof(*sections->width));
    sections->crowd = cut(layout, n, sizeof(*sections->crowd));
    sections->weight = cut(layout, n, sizeof(*sections->weight));
}

static void lay_out_search(struct sp_interval_search *search, struct layout *layout, size_t n)
{
    search->weight = cut(layout, n, sizeof(*search->weight));
    search->n_across = cut(layout, n, sizeof(*search->n_across));
    search->pile = cut(layout, n, sizeof(*search->pile));
    search->step = cut(layout, n + 1, sizeof(*search->step));
    search->reach = cut(layout, n, sizeof(*search->reach));
    search->n_in_run = cut(layout, n, sizeof(*search->n_in_run));
    search->part_of_run = cut(layout, n, sizeof(void *));
    search->trail = cut(layout, n, sizeof(*search->trail));
    search->raised = cut(layout, n, sizeof(*search->raised));
    search->guilt.n_words = (uint32_t)(n / 64 + 1);
    search->guilt.words = cut(layout, search->guilt.n_words, sizeof(*search->guilt.words));
    search->stack_size = sp_search_stack_size((uint32_t)n);
    search->stack = cut(layout, search->stack_size, 1);
}

static void lay_out_greedy(struct sp_greedy *greedy, struct layout *layout, size_t n)
{
    size_t n_leaves = sp_greedy_leaves((uint32_t)n);
    struct sp_skyline *skyline = &greedy->skyline;

    skyline->end = cut(layout, n, sizeof(*skyline->end));
    skyline->before = cut(layout, n, sizeof(*skyline->before));
    skyline->height = cut(layout, 2 * n_leaves, sizeof(*skyline->height));
    greedy->position = cut(layout, n, sizeof(*greedy->position));
    greedy->begin = cut(layout, n + 1, sizeof(*greedy->begin));
    greedy->of_rank = cut(layout, n, sizeof(*greedy->of_rank));
    greedy->waiting = cut(layout, 2 * n_leaves, sizeof(*greedy->waiting));
}

/* Sections are at most as many as blocks. */
static void lay_out(struct plan *plan, struct layout *layout, size_t n)
{
    lay_out_sections(&plan->sections, layout, n);
    plan->events = cut(layout, 2 * n, sizeof(*plan->events));
    plan->keys = cut(layout, n, sizeof(*plan->keys));
    plan->rank = cut(layout, n, sizeof(*plan->rank));
    plan->trial = cut(layout, n, sizeof(*plan->trial));
    plan->best = cut(layout, n, sizeof(*plan->best));
    lay_out_greedy(&plan->greedy, layout, n);
    lay_out_search(&plan->search, layout, n);
}

static enum starpool_status plan_init(struct plan *plan,
                                      const struct sp_interval_problem *problem,
                                      const struct sp_interval_options *options)
{
    uint64_t now_ns = sp_clock_ns();
    struct layout layout = {0};

    *plan = (struct plan){.random = options->seed, .peak = UINT64_MAX};
    plan->deadline_ns =
        options->time_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + options->time_ns;
    lay_out(plan, &layout, problem->n);
    plan->memory = malloc(layout.used);
    if (plan->memory == NULL)
        return STARPOOL_ENOMEM;
    layout = (struct layout){.memory = plan->memory};
    lay_out(plan, &layout, problem->n);
    sp_sections_init(&plan->sections, problem, plan->events);
    plan->search.sections = &plan->sections;
    plan->search.rank = plan->rank;
    plan->search.offsets = plan->trial;
    plan->search.guilt.n_words = plan->sections.n_sections / 64 + 1;
    memset(plan->search.step, 0, (problem->n + (size_t)1) * sizeof(*plan->search.step));
    return STARPOOL_OK;
}

/* ---- descents and searches ----------------------------------------------------------- */

static void rank(struct plan *plan, enum sp_interval_order order)
{
    sp_sections_rank(&plan->sections, order, &plan->random, plan->keys, plan->rank);
}

/* Keep the offsets just found if nothing better is known. */
static void keep(struct plan *plan)
{
    const struct sp_sections *sections = &plan->sections;
    uint64_t peak = 0, *offsets = plan->trial;

    for (uint32_t i = 0; i < sections->n; i++)
        peak = sp_max(peak, offsets[i] + sections->size[i]);
    if (peak >= plan->peak)
        return;
    plan->trial = plan->best;
    plan->search.offsets = plan->trial;
    plan->best = offsets;
    plan->peak = peak;
}

static void descend(struct plan *plan, enum sp_interval_order order)
{
    rank(plan, order);
    sp_interval_greedy(&plan->greedy, &plan->sections, plan->rank, plan->trial);
    keep(plan);
}

static bool is_late(const struct plan *plan)
{
    return sp_clock_ns() >= plan->deadline_ns;
}

/* Descents with noise until one fits, or time is over. */
static void descend_on(struct plan *plan, uint64_t capacity)
{
    static const enum sp_interval_order orders[] = {
        SP_INTERVAL_NOISY_AREA, SP_INTERVAL_NOISY_CROWD_AREA, SP_INTERVAL_NOISY_CROWD_WIDTH};

    for (unsigned i = 0; plan->peak > capacity && !is_late(plan); i++)
        descend(plan, orders[i % SP_ARRAY_SIZE(orders)]);
}

/* Search once, in another order for each number: the two best first, then with noise. */
static enum sp_search_answer search(struct plan *plan, unsigned number, uint64_t capacity,
                                    uint64_t n_nodes)
{
    static const unsigned worths[] = {100, 30, 10};
    struct sp_search_limits limits = {
        .capacity = capacity, .n_nodes = n_nodes, .deadline_ns = plan->deadline_ns};
    enum sp_search_answer answer;

    if (number < 2) {
        rank(plan, number == 0 ? SP_INTERVAL_CROWD_WIDTH : SP_INTERVAL_CROWD_AREA);
        limits.slack_worth = worths[number];
    } else {
        uint64_t random = sp_random(&plan->random);

        rank(plan, SP_INTERVAL_NOISY_AREA + random % 3);
        limits.slack_worth = worths[random / 3 % SP_ARRAY_SIZE(worths)];
    }
    answer = sp_interval_search(&plan->search, &limits);
    plan->n_nodes += plan->search.n_nodes;
    if (answer == SP_SEARCH_FITS)
        keep(plan);
    return answer;
}

/* ---- with and without a capacity ----------------------------------------------------- */

static uint64_t first_patience(const struct plan *plan)
{
    return sp_max(FIRST_NODES, 2 * (size_t)plan->sections.n);
}

/* How many nodes search `number` of a row is worth. */
static uint64_t patience(const struct plan *plan, unsigned number)
{
    unsigned n_doublings = number / N_TRIES + (number < 2);

    return first_patience(plan) << (n_doublings < 30 ? n_doublings : 30);
}

static enum sp_interval_answer fit(struct plan *plan, uint64_t capacity)
{
    for (unsigned i = 0; plan->peak > capacity && !is_late(plan); i++) {
        switch (search(plan, i, capacity, patience(plan, i))) {
        case SP_SEARCH_FITS:
        case SP_SEARCH_LIMIT:
            break;
        case SP_SEARCH_FAILS:
            return SP_INTERVAL_DOES_NOT_FIT;
        case SP_SEARCH_NO_ROOM:
            descend_on(plan, capacity);
            break;
        }
    }
    return plan->peak <= capacity ? SP_INTERVAL_FOUND : SP_INTERVAL_UNKNOWN;
}

/* Numbers in [0, 1) that fill it ever more evenly: 1/2, 1/4, 3/4, 1/8, 5/8 (van der Corput). */
static double spread(unsigned number)
{
    double value = 0, digit = 0.5;

    for (number++; number > 0; number /= 2) {
        value += number % 2 * digit;
        digit /= 2;
    }
    return value;
}

/* Where between what is too little and what is known to do search `number` aims: two targets
 * that are mostly reached, then the lower bound itself, which often is; then everywhere, for
 * what is reached in so many nodes is a matter of luck as much as of the target. */
static double aim(unsigned number)
{
    static const double firsts[N_AIMED] = {0.75, 0.5, 0};

    return number < N_AIMED ? firsts[number] : spread(number - N_AIMED);
}

/* Search between `proved`, which is too little for certain, and the peak of the best that is
 * known, until nothing lies between them. */
static void improve(struct plan *plan)
{
    uint64_t lower_bound = plan->sections.lower_bound, unit = plan->sections.unit;
    uint64_t proved = lower_bound - unit;

    for (unsigned i = 0; plan->peak - proved > unit && !is_late(plan); i++) {
        unsigned number = i < N_AIMED ? 0 : i - N_AIMED + 1;
        uint64_t n_steps = (plan->peak - proved) / unit;
        uint64_t target = proved + sp_max(1, (size_t)(aim(i) * (double)n_steps)) * unit;
        uint64_t n_nodes =
            target > lower_bound && i < N_AIMED ? first_patience(plan) : patience(plan, number);

        switch (search(plan, number, target, n_nodes)) {
        case SP_SEARCH_FITS:
        case SP_SEARCH_LIMIT:
            break;
        case SP_SEARCH_FAILS:
            proved = sp_max(proved, target);
            break;
        case SP_SEARCH_NO_ROOM:
            descend_on(plan, lower_bound);
            return;
        }
    }
}

static enum sp_interval_answer solve(struct plan *plan,
                                     const struct sp_interval_options *options)
{
    uint64_t lower_bound = plan->sections.lower_bound, capacity = options->capacity;

    /* The skyline's tree is free until the first descent. */
    sp_greedy_crowds(&plan->sections, plan->greedy.skyline.height);
    descend(plan, SP_INTERVAL_CROWD_WIDTH);
    if (capacity == 0) {
        if (options->time_ns > 0)
            improve(plan);
        return SP_INTERVAL_FOUND;
    }
    /* Every offset is a multiple of the unit. */
    capacity -= capacity % plan->sections.unit;
    if (plan->peak <= capacity)
        return SP_INTERVAL_FOUND;
    if (lower_bound > capacity)
        return SP_INTERVAL_DOES_NOT_FIT;
    return options->time_ns > 0 ? fit(plan, capacity) : SP_INTERVAL_UNKNOWN;
}

static void report(const struct plan *plan, enum sp_interval_answer answer, uint64_t *offsets,
                   struct sp_interval_result *result_out)
{
    const struct sp_sections *sections = &plan->sections;

    for (uint32_t i = 0; i < sections->n; i++)
        offsets[sections->block[i]] = plan->best[i];
    *result_out = (struct sp_interval_result){.answer = answer,
                                              .peak = plan->peak,
                                              .lower_bound = sections->lower_bound,
                                              .n_nodes = plan->n_nodes};
}

static bool is_sound(const struct sp_interval_problem *problem)
{
    uint64_t total = 0;

    if (problem->n > MAX_BLOCKS)
        return false;
    for (uint32_t i = 0; i < problem->n; i++) {
        if (problem->lower[i] >= problem->upper[i] || problem->size[i] >= MAX_TOTAL - total)
            return false;
        total += problem->size[i];
    }
    return true;
}

enum starpool_status sp_interval_plan(const struct sp_interval_problem *problem,
                                      const struct sp_interval_options *options,
                                      uint64_t *offsets, struct sp_interval_result *result_out)
{
    enum starpool_status status;
    struct plan plan;

    if (!is_sound(problem))
        return STARPOOL_EINVAL;
    status = plan_init(&plan, problem, options);
    if (status != STARPOOL_OK)
        return status;
    for (uint32_t i = 0; i < problem->n; i++)
        offsets[i] = 0;
    if (plan.sections.n == 0) {
        *result_out = (struct sp_interval_result){.answer = SP_INTERVAL_FOUND};
    } else {
        enum sp_interval_answer answer = solve(&plan, options);

        report(&plan, answer, offsets, result_out);
    }
    free(plan.memory);
    return STARPOOL_OK;
}
