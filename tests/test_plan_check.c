/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The check of plans: good ones pass, and a hundred that were spoilt, each in one way, are each
 * refused for that. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool/plan.h>

#include "graph/plan.h"
#include "graph/plan_check.h"
#include "tests/plan_random.h"

static struct {
    uint64_t random;
    struct starpool_graph *graph;
    struct starpool_plan *plan;
    struct sp_closure closure;
} fixture;

/* A plan of two locations, with edges added. */
static int setup(void **state)
{
    struct starpool_plan_config config;

    (void)state;
    if (fixture.random == 0)
        fixture.random = sp_test_seed();
    starpool_plan_config_init(&config);
    config.time_ns = 0;
    config.adds_edges = true;
    do {
        const struct sp_random_shape shape = {.n_nodes = 24,
                                              .n_blocks = 18,
                                              .n_locations = 2,
                                              .most_size = 100,
                                              .edge_chance = 8,
                                              .has_alignments = true};

        starpool_plan_destroy(fixture.plan);
        sp_graph_destroy(fixture.graph);
        fixture.plan = NULL;
        fixture.graph = sp_random_graph(&fixture.random, &shape);
        if (starpool_plan(fixture.graph, &config, &fixture.plan) != STARPOOL_OK)
            return 1;
    } while (fixture.plan->n_edges == 0 || fixture.plan->n_places < 2 ||
             fixture.plan->n_antichain[0] < 2);
    sp_closure_init(&fixture.closure, fixture.graph);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    starpool_plan_destroy(fixture.plan);
    sp_graph_destroy(fixture.graph);
    fixture.plan = NULL;
    fixture.graph = NULL;
    return 0;
}

/* ---- ways to spoil a plan -----------------------------------------------------------------
 */

static uint32_t any_block(void)
{
    return (uint32_t)sp_test_random_below(&fixture.random, fixture.plan->n_blocks);
}

static uint32_t any_place(void)
{
    return (uint32_t)sp_test_random_below(&fixture.random, fixture.plan->n_places);
}

static uint32_t any_edge(void)
{
    return (uint32_t)sp_test_random_below(&fixture.random, fixture.plan->n_edges);
}

static struct starpool_plan_report *any_report(void)
{
    return &fixture.plan->places[any_place()].report;
}

static bool share_addresses(uint32_t a, uint32_t b)
{
    const struct starpool_plan *plan = fixture.plan;
    const struct sp_graph_block *blocks = fixture.graph->blocks;

    return plan->place[a] == plan->place[b] &&
           plan->offsets[a] < plan->offsets[b] + sp_plan_size(plan, &blocks[b]) &&
           plan->offsets[b] < plan->offsets[a] + sp_plan_size(plan, &blocks[a]);
}

/* Whether the graph itself, without the plan's edges, leaves two blocks unordered. */
static bool are_free(uint32_t a, uint32_t b)
{
    return a != b && !sp_closure_is_over(&fixture.closure, fixture.graph, a, b) &&
           !sp_closure_is_over(&fixture.closure, fixture.graph, b, a);
}

/* A block goes to where one lies that it must not share with, without raising the peak. */
static bool move_onto_another(void)
{
    struct starpool_plan *plan = fixture.plan;
    uint32_t a = any_block(), b = any_block();
    const struct sp_graph_block *blocks = fixture.graph->blocks;
    uint64_t peak = plan->places[plan->place[a]].report.peak_bytes, offset = plan->offsets[b];

    /* The two are in the set that the bound rests on, so that no added edge orders them. */
    if (plan->place[a] != plan->place[b] || a == b || share_addresses(a, b) ||
        offset % blocks[a].alignment != 0 || offset + sp_plan_size(plan, &blocks[a]) > peak ||
        plan->offsets[a] + sp_plan_size(plan, &blocks[a]) == peak)
        return false;
    for (uint32_t k = 0, n = 0; k < plan->n_antichain[plan->place[a]]; k++) {
        n += plan->antichains[plan->place[a]][k] == a ||
             plan->antichains[plan->place[a]][k] == b;
        if (n == 2) {
            plan->offsets[a] = offset;
            return true;
        }
    }
    return false;
}

/* An edge is forgotten that keeps two blocks apart which share addresses. */
static bool forget_edges(void)
{
    struct starpool_plan *plan = fixture.plan;

    for (uint32_t a = 0; a < plan->n_blocks; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (share_addresses(a, b) && are_free(a, b)) {
                plan->n_edges = 0;
                for (uint32_t p = 0; p < plan->n_places; p++)
                    plan->places[p].report.n_added_edges = plan->places[p].report.saved_bytes =
                        0;
                return true;
            }
        }
    }
    return false;
}

static bool misalign(void)
{
    uint32_t block = any_block();

    if (fixture.graph->blocks[block].alignment == 1)
        return false;
    fixture.plan->offsets[block]++;
    return true;
}

static bool move_to_the_sky(void)
{
    fixture.plan->offsets[any_block()] = (uint64_t)1 << 63;
    return true;
}

static bool change_place(void)
{
    fixture.plan->place[any_block()] ^= 1;
    return true;
}

static bool invent_place(void)
{
    fixture.plan->place[any_block()] = fixture.plan->n_places;
    return true;
}

static bool repeat_place(void)
{
    fixture.plan->places[1].location = fixture.plan->places[0].location;
    return true;
}

static bool lose_block(void)
{
    fixture.plan->n_blocks--;
    return true;
}

static bool understate_peak(void)
{
    any_report()->peak_bytes--;
    return true;
}

static bool overstate_peak(void)
{
    any_report()->peak_bytes++;
    return true;
}

static bool misstate_total(void)
{
    any_report()->total_bytes ^= 1;
    return true;
}

static bool misstate_count(void)
{
    any_report()->n_blocks++;
    return true;
}

static bool misstate_fit(void)
{
    struct starpool_plan_report *report = any_report();

    report->fits = !report->fits;
    return true;
}

static bool shrink_capacity(void)
{
    fixture.plan->capacity = any_report()->peak_bytes - 1;
    return true;
}

static bool claim_proof(void)
{
    struct starpool_plan_report *report = any_report();

    if (report->is_proved)
        return false;
    report->is_proved = true;
    return true;
}

static bool raise_bound_above_peak(void)
{
    struct starpool_plan_report *report = any_report();

    report->lower_bound = report->peak_bytes + 1;
    return true;
}

static bool lower_bound_a_little(void)
{
    struct starpool_plan_report *report = any_report();

    if (report->is_proved)
        return false;
    report->lower_bound--;
    return true;
}

static bool drop_member(void)
{
    fixture.plan->n_antichain[any_place()]--;
    return true;
}

/* What a bound without blocks says is no bound at all. */
static bool drop_all_members(void)
{
    uint32_t p = any_place();

    free(fixture.plan->antichains[p]);
    fixture.plan->antichains[p] = NULL;
    fixture.plan->n_antichain[p] = 0;
    fixture.plan->places[p].report.lower_bound = fixture.plan->places[p].report.peak_bytes;
    fixture.plan->places[p].report.is_proved = true;
    return true;
}

static bool repeat_member(void)
{
    uint32_t p = any_place();

    if (fixture.plan->n_antichain[p] < 2)
        return false;
    fixture.plan->antichains[p][0] = fixture.plan->antichains[p][1];
    return true;
}

static bool take_member_from_elsewhere(void)
{
    uint32_t block = any_block(), p = any_place();

    if (fixture.plan->place[block] == p)
        return false;
    fixture.plan->antichains[p][0] = block;
    return true;
}

/* Another block in the place of a member, with the sum that this makes, but ordered with
 * another member. */
static bool put_ordered_member(void)
{
    struct starpool_plan *plan = fixture.plan;
    uint32_t p = any_place(), block = any_block(), *members = plan->antichains[p];
    uint64_t bound;

    if (plan->place[block] != p || plan->n_antichain[p] < 2)
        return false;
    for (uint32_t k = 0; k < plan->n_antichain[p]; k++) {
        if (members[k] == block)
            return false;
    }
    bound = plan->places[p].report.lower_bound -
            sp_plan_size(plan, &fixture.graph->blocks[members[0]]) +
            sp_plan_size(plan, &fixture.graph->blocks[block]);
    if (bound > plan->places[p].report.peak_bytes || plan->places[p].report.is_proved)
        return false;
    for (uint32_t k = 1; k < plan->n_antichain[p]; k++) {
        if (!are_free(block, members[k])) {
            plan->places[p].report.lower_bound = bound;
            members[0] = block;
            return true;
        }
    }
    return false;
}

static bool invent_node(void)
{
    fixture.plan->edges[any_edge()].to = fixture.graph->n_nodes;
    return true;
}

static bool turn_edge_to_itself(void)
{
    struct sp_plan_edge *edge = &fixture.plan->edges[any_edge()];

    edge->to = edge->from;
    return true;
}

static bool close_cycle(void)
{
    struct sp_plan_edge *edge = &fixture.plan->edges[any_edge()];
    uint32_t v = edge->from;

    for (uint32_t u = 0; u < fixture.graph->n_nodes; u++) {
        if (fixture.closure.after[u] >> v & 1) {
            edge->to = u;
            return true;
        }
    }
    return false;
}

static bool overstate_saving(void)
{
    fixture.plan->edges[any_edge()].saved_bytes += 1000000;
    return true;
}

static bool deny_edges(void)
{
    fixture.plan->places[fixture.plan->edges[any_edge()].place].report.n_added_edges = 0;
    return true;
}

/* Each with what the check must say of it. */
static const struct {
    const char *name;
    bool (*spoil)(void); /* false: not this time, and nothing is changed */
    const char *reason;
} ways[] = {
    {"a block lies on another", move_onto_another, "share addresses"},
    {"added edges are forgotten", forget_edges, "share addresses"},
    {"an offset is not aligned", misalign, "begins at no multiple"},
    {"an offset is too high", move_to_the_sky, "ends beyond"},
    {"a block is at another place", change_place, "another location"},
    {"a block is at no place", invent_place, "another location"},
    {"two places are one", repeat_place, "one location"},
    {"a block is missing", lose_block, "blocks, and the graph"},
    {"the peak is lower than told", overstate_peak, "the peak of place"},
    {"the peak is higher than told", understate_peak, "the peak of place"},
    {"the total is another", misstate_total, "bytes, and its report says"},
    {"the count is another", misstate_count, "blocks, and its report says"},
    {"fits is not true", misstate_fit, "the capacity"},
    {"the capacity is lower", shrink_capacity, "the capacity"},
    {"nothing proves the peak", claim_proof, "not proved"},
    {"the bound is above the peak", raise_bound_above_peak, "above its peak"},
    {"the bound is not the sum", lower_bound_a_little, "rests on have"},
    {"a member is missing", drop_member, "rests on have"},
    {"all members are missing", drop_all_members, "rests on have"},
    {"a member is there twice", repeat_member, "twice on one"},
    {"a member is of another place", take_member_from_elsewhere, "not there"},
    {"two members are ordered", put_ordered_member, "is over before"},
    {"an edge leads to no node", invent_node, "that there is not"},
    {"an edge leads to its beginning", turn_edge_to_itself, "close a cycle"},
    {"an edge closes a cycle", close_cycle, "close a cycle"},
    {"an edge saves less than told", overstate_saving, "what edges save|saves no more"},
    {"edges are not reported", deny_edges, "what edges save"},
};

#define N_WAYS     (sizeof(ways) / sizeof(ways[0]))
#define N_EACH_WAY 4 /* 108 in all */

/* One of the reasons, which | parts, is in a text. */
static bool says(const char *text, const char *reasons)
{
    char copy[100];

    strncpy(copy, reasons, sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = '\0';
    for (char *rest = copy, *reason; (reason = strsep(&rest, "|")) != NULL;) {
        if (strstr(text, reason) != NULL)
            return true;
    }
    return false;
}

/* A new plan, spoilt in one way: where chance does not find how, in another plan. */
static void spoil(bool (*spoil_it)(void))
{
    struct sp_graph_error error;

    for (unsigned n_tried = 0;; n_tried++) {
        assert_true(n_tried < 100000);
        if (n_tried % 200 == 0) {
            assert_int_equal(setup(NULL), 0);
            assert_ok(sp_plan_check(fixture.graph, fixture.plan, &error));
        }
        if (spoil_it())
            return;
    }
}

static void hundred_spoilt_plans_are_refused_each_for_its_reason(void **state)
{
    struct sp_graph_error error;

    (void)state;
    assert_true(N_WAYS * N_EACH_WAY >= 100);
    for (size_t w = 0; w < N_WAYS; w++) {
        for (unsigned n = 0; n < N_EACH_WAY; n++) {
            spoil(ways[w].spoil);
            assert_status(STARPOOL_EINVAL, sp_plan_check(fixture.graph, fixture.plan, &error));
            if (!says(error.text, ways[w].reason))
                fail_msg("%s, but the check says: %s", ways[w].name, error.text);
        }
    }
}

static void overlap_in_a_timed_graph_is_found(void **state)
{
    struct starpool_plan_config config;
    struct sp_graph_error error;

    teardown(state);
    starpool_plan_config_init(&config);
    config.time_ns = 0;
    fixture.graph = sp_random_timed_graph(&fixture.random, 30, 50, 20);
    assert_ok(starpool_plan(fixture.graph, &config, &fixture.plan));
    assert_ok(sp_plan_check(fixture.graph, fixture.plan, &error));
    /* What is live at once cannot all begin at the bottom. */
    for (uint32_t k = 0; k < fixture.plan->n_antichain[0]; k++)
        fixture.plan->offsets[fixture.plan->antichains[0][k]] = 0;
    fixture.plan->places[0].report.peak_bytes = 0;
    for (uint32_t i = 0; i < 30; i++) {
        uint64_t end = fixture.plan->offsets[i] + fixture.graph->blocks[i].size;

        if (end > fixture.plan->places[0].report.peak_bytes)
            fixture.plan->places[0].report.peak_bytes = end;
    }
    fixture.plan->places[0].report.is_proved = false;
    fixture.plan->places[0].report.lower_bound = 0;
    assert_status(STARPOOL_EINVAL, sp_plan_check(fixture.graph, fixture.plan, &error));
    assert_true(says(error.text, "share addresses"));
}

static void graph_that_is_none_is_refused_for_that(void **state)
{
    char text[200] = "";

    (void)state;
    assert_ok(starpool_plan_check(fixture.graph, fixture.plan, text, sizeof(text)));
    assert_string_equal(text, "");
    fixture.graph->blocks[0].size = 0;
    assert_status(STARPOOL_EINVAL,
                  starpool_plan_check(fixture.graph, fixture.plan, text, sizeof(text)));
    assert_non_null(strstr(text, "size"));
    assert_status(STARPOOL_EINVAL, starpool_plan_check(NULL, fixture.plan, text, sizeof(text)));
    assert_status(STARPOOL_EINVAL, starpool_plan_check(fixture.graph, NULL, NULL, 0));
}

/* More ends than the bits of a word: four streams of users each, and a block of all of them. */
static void block_with_many_lasts_is_checked_against_each(void **state)
{
    struct starpool_plan_config config;
    struct sp_graph_error error;
    struct sp_graph_block block = {.size = 10,
                                   .alignment = 1,
                                   .location = {STARPOOL_DEVICE, 0},
                                   .alloc = SP_NO_INDEX,
                                   .free = SP_NO_INDEX};
    uint32_t join;

    teardown(state);
    fixture.graph = sp_graph_create(NULL);
    sp_graph_add_block(fixture.graph, &block);
    for (uint32_t v = 0; v < 100; v++) {
        sp_graph_add_node(fixture.graph, STARPOOL_GRAPH_NODE_TASK, NULL);
        assert_true(sp_graph_add_use(fixture.graph, 0, v));
    }
    join = sp_graph_add_node(fixture.graph, STARPOOL_GRAPH_NODE_TASK, NULL);
    for (uint32_t v = 0; v < 100; v++)
        assert_true(sp_graph_add_edge(fixture.graph, v, join));
    block.alloc = block.free = join;
    sp_graph_add_block(fixture.graph, &block);
    starpool_plan_config_init(&config);
    assert_ok(starpool_plan(fixture.graph, &config, &fixture.plan));
    assert_int_equal(fixture.plan->offsets[1], fixture.plan->offsets[0]);
    assert_ok(sp_plan_check(fixture.graph, fixture.plan, &error));
    fixture.graph->edges[99].from = 98;
    assert_status(STARPOOL_EINVAL, sp_plan_check(fixture.graph, fixture.plan, &error));
    assert_true(says(error.text, "share addresses"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hundred_spoilt_plans_are_refused_each_for_its_reason),
        TEST(overlap_in_a_timed_graph_is_found),
        TEST(graph_that_is_none_is_refused_for_that),
        TEST(block_with_many_lasts_is_checked_against_each),
    };

    return cmocka_run_group_tests_name("plan_check", tests, NULL, NULL);
}
