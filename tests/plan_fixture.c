/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph with its plan, and all ways to run it: a state is which nodes have begun and which
 * have ended, and each state that can be reached is looked at once. */
#include "config.h"

#include "tests/plan_fixture.h"

#include "tests/support.h"

#include <stdlib.h>

#include "graph/plan_check.h"

/* Graphs that are run have no more nodes and blocks than so many. */
#define MOST_RUN 16

const struct starpool_location sp_plan_device = {STARPOOL_DEVICE, 0};

struct sp_plan_fixture sp_plan_fixture;

int sp_plan_setup(void **state)
{
    (void)state;
    sp_plan_fixture.graph = sp_graph_create(NULL);
    sp_plan_fixture.plan = NULL;
    starpool_plan_config_init(&sp_plan_fixture.config);
    sp_plan_fixture.config.time_ns = 0;
    return sp_plan_fixture.graph == NULL;
}

int sp_plan_teardown(void **state)
{
    (void)state;
    starpool_plan_destroy(sp_plan_fixture.plan);
    sp_graph_destroy(sp_plan_fixture.graph);
    return 0;
}

void sp_plan_take_graph(struct starpool_graph *graph)
{
    starpool_plan_destroy(sp_plan_fixture.plan);
    sp_graph_destroy(sp_plan_fixture.graph);
    sp_plan_fixture.plan = NULL;
    sp_plan_fixture.graph = graph;
}

void sp_plan_make_checked(void)
{
    struct sp_graph_error error;

    starpool_plan_destroy(sp_plan_fixture.plan);
    sp_plan_fixture.plan = NULL;
    assert_ok(
        starpool_plan(sp_plan_fixture.graph, &sp_plan_fixture.config, &sp_plan_fixture.plan));
    if (sp_plan_check(sp_plan_fixture.graph, sp_plan_fixture.plan, &error) != STARPOOL_OK)
        fail_msg("%s", error.text);
    sp_plan_fixture.report.struct_size = sizeof(sp_plan_fixture.report);
    assert_ok(starpool_plan_get_report(sp_plan_fixture.plan, sp_plan_device,
                                       &sp_plan_fixture.report));
}

void sp_plan_add_stream(uint32_t n)
{
    uint32_t last = SP_NO_INDEX;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t node =
            sp_graph_add_node(sp_plan_fixture.graph, STARPOOL_GRAPH_NODE_KERNEL, NULL);

        assert_int_not_equal(node, SP_NO_INDEX);
        if (last != SP_NO_INDEX)
            assert_true(sp_graph_add_edge(sp_plan_fixture.graph, last, node));
        last = node;
    }
}

uint32_t sp_plan_add_block(uint64_t size, uint32_t alloc, uint32_t free)
{
    const struct sp_graph_block block = {
        .size = size, .alignment = 1, .location = sp_plan_device, .alloc = alloc, .free = free};

    return sp_graph_add_block(sp_plan_fixture.graph, &block);
}

/* ---- whatever runs when ----------------------------------------------------------------- */

/* A graph as it runs: which nodes have begun, and which have ended. */
struct run {
    const struct starpool_graph *graph;
    const struct starpool_plan *plan;
    uint64_t before[MOST_RUN]; /* nodes that must have ended before a node begins */
    uint64_t users[MOST_RUN];  /* a block lives from when one of these nodes has begun until
                                  all of them have ended */
    bool *is_seen;             /* [3^n_nodes] */
    size_t n_states;
};

static void find_lives(struct run *run)
{
    const struct starpool_graph *graph = run->graph;

    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        const struct sp_graph_block *block = &graph->blocks[i];

        for (uint32_t u = 0; u < graph->n_uses; u++) {
            if (graph->uses[u].block == i)
                run->users[i] |= UINT64_C(1) << graph->uses[u].node;
        }
        if (block->alloc != SP_NO_INDEX)
            run->users[i] |= UINT64_C(1) << block->alloc;
        if (block->free != SP_NO_INDEX)
            run->users[i] |= UINT64_C(1) << block->free;
    }
}

static bool is_live(const struct run *run, uint32_t i, uint64_t begun, uint64_t ended)
{
    return (run->graph->blocks[i].is_input || (begun & run->users[i]) != 0) &&
           (run->graph->blocks[i].is_output || (ended & run->users[i]) != run->users[i]);
}

static void check_state(const struct run *run, uint64_t begun, uint64_t ended)
{
    const struct starpool_graph *graph = run->graph;
    const uint64_t *offsets = run->plan->offsets;

    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        if (!is_live(run, i, begun, ended))
            continue;
        for (uint32_t j = 0; j < i; j++) {
            if (is_live(run, j, begun, ended))
                assert_true(offsets[i] + graph->blocks[i].size <= offsets[j] ||
                            offsets[j] + graph->blocks[j].size <= offsets[i]);
        }
    }
}

/* Every state that can be reached from this one, once each; `key` tells it from others. */
static void go_on(struct run *run, uint64_t begun, uint64_t ended, size_t key)
{
    size_t power = 1;

    if (run->is_seen[key])
        return;
    run->is_seen[key] = true;
    run->n_states++;
    check_state(run, begun, ended);
    for (uint32_t v = 0; v < run->graph->n_nodes; v++, power *= 3) {
        uint64_t bit = UINT64_C(1) << v;

        if ((begun & bit) == 0 && (run->before[v] & ~ended) == 0)
            go_on(run, begun | bit, ended, key + power);
        else if ((begun & bit) != 0 && (ended & bit) == 0)
            go_on(run, begun, ended | bit, key + power);
    }
}

size_t sp_plan_run_all_ways(const struct starpool_graph *graph,
                            const struct starpool_plan *plan)
{
    struct run run = {.graph = graph, .plan = plan};
    size_t n = 1;

    assert_true(graph->n_nodes <= MOST_RUN && graph->n_blocks <= MOST_RUN);
    for (uint32_t v = 0; v < graph->n_nodes; v++)
        n *= 3;
    run.is_seen = calloc(n, sizeof(*run.is_seen));
    assert_non_null(run.is_seen);
    for (uint32_t i = 0; i < graph->n_edges; i++)
        run.before[graph->edges[i].to] |= UINT64_C(1) << graph->edges[i].from;
    for (uint32_t i = 0; i < plan->n_edges; i++)
        run.before[plan->edges[i].to] |= UINT64_C(1) << plan->edges[i].from;
    find_lives(&run);
    go_on(&run, 0, 0, 0);
    free(run.is_seen);
    return run.n_states;
}
