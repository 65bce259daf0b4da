/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random graphs and their closures. Nothing here is fast, so that it is easily seen to be
 * right. */
#include "config.h"

#include "tests/plan_random.h"

#include "tests/support.h"

#include <stdlib.h>

static bool is_true(uint64_t *random, unsigned percent)
{
    return sp_test_random_below(random, 100) < percent;
}

void sp_closure_init(struct sp_closure *closure, const struct starpool_graph *graph)
{
    assert_true(graph->n_nodes <= SP_CLOSURE_MOST);
    for (uint32_t v = 0; v < SP_CLOSURE_MOST; v++)
        closure->after[v] = 0;
    for (uint32_t i = 0; i < graph->n_edges; i++)
        closure->after[graph->edges[i].from] |= UINT64_C(1) << graph->edges[i].to;
    for (uint32_t middle = 0; middle < graph->n_nodes; middle++) {
        for (uint32_t v = 0; v < graph->n_nodes; v++) {
            if (closure->after[v] >> middle & 1)
                closure->after[v] |= closure->after[middle];
        }
    }
}

/* The nodes that may begin or end a block, a bit each. */
static uint64_t ends_of(const struct starpool_graph *graph, uint32_t block, bool is_end)
{
    const struct sp_graph_block *it = &graph->blocks[block];
    uint32_t decides = is_end ? it->free : it->alloc, other = is_end ? it->alloc : it->free;
    uint64_t ends = other == SP_NO_INDEX ? 0 : UINT64_C(1) << other;

    if (decides != SP_NO_INDEX)
        return UINT64_C(1) << decides;
    for (uint32_t i = 0; i < graph->n_uses; i++) {
        if (graph->uses[i].block == block)
            ends |= UINT64_C(1) << graph->uses[i].node;
    }
    return ends;
}

bool sp_closure_is_over(const struct sp_closure *closure, const struct starpool_graph *graph,
                        uint32_t a, uint32_t b)
{
    uint64_t lasts, firsts;

    if (graph->blocks[a].is_output || graph->blocks[b].is_input)
        return false;
    if (graph->is_timed)
        return graph->blocks[a].upper <= graph->blocks[b].lower;
    lasts = ends_of(graph, a, true);
    firsts = ends_of(graph, b, false);
    if (lasts == 0 || firsts == 0)
        return false;
    for (uint32_t v = 0; v < graph->n_nodes; v++) {
        if ((lasts >> v & 1) != 0 && (closure->after[v] & firsts) != firsts)
            return false;
    }
    return true;
}

/* ---- random graphs ------------------------------------------------------------------- */

static void shuffle(uint64_t *random, uint32_t *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        values[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t other = (uint32_t)sp_test_random_below(random, i), value = values[i - 1];

        values[i - 1] = values[other];
        values[other] = value;
    }
}

static void add_nodes(uint64_t *random, const struct sp_random_shape *shape,
                      struct starpool_graph *graph)
{
    uint32_t numbers[SP_CLOSURE_MOST];

    shuffle(random, numbers, shape->n_nodes);
    for (uint32_t v = 0; v < shape->n_nodes; v++)
        assert_int_equal(sp_graph_add_node(graph, STARPOOL_GRAPH_NODE_KERNEL, NULL), v);
    for (uint32_t a = 0; a < shape->n_nodes; a++) {
        for (uint32_t b = a + 1; b < shape->n_nodes; b++) {
            if (is_true(random, shape->edge_chance))
                assert_true(sp_graph_add_edge(graph, numbers[a], numbers[b]));
        }
    }
}

/* A node among those that are set, or SP_NO_INDEX if there are none. */
static uint32_t pick(uint64_t *random, uint64_t nodes)
{
    size_t n = (size_t)__builtin_popcountll(nodes), k;

    if (n == 0)
        return SP_NO_INDEX;
    k = sp_test_random_below(random, n);
    for (uint32_t v = 0;; v++) {
        if ((nodes >> v & 1) != 0 && k-- == 0)
            return v;
    }
}

/* A block that begins at a random node and ends at one that this precedes, or, rarely, at the
 * same. */
static void add_closed_block(uint64_t *random, const struct sp_closure *closure,
                             struct starpool_graph *graph, struct sp_graph_block block)
{
    block.alloc = (uint32_t)sp_test_random_below(random, graph->n_nodes);
    block.free = pick(random, closure->after[block.alloc]);
    if (block.free == SP_NO_INDEX)
        block.free = block.alloc;
    assert_int_not_equal(sp_graph_add_block(graph, &block), SP_NO_INDEX);
}

/* A block with users, whose end or beginning, or both, are left to these. */
static void add_open_block(uint64_t *random, const struct sp_closure *closure,
                           struct starpool_graph *graph, struct sp_graph_block block)
{
    uint64_t users = sp_test_random(random), before = ~UINT64_C(0);
    uint32_t index = graph->n_blocks;

    users &= sp_test_random(random);
    if (graph->n_nodes < 64)
        users &= (UINT64_C(1) << graph->n_nodes) - 1;
    if (is_true(random, 40)) {
        block.alloc = (uint32_t)sp_test_random_below(random, graph->n_nodes);
        users &= closure->after[block.alloc];
    }
    for (uint32_t v = 0; v < graph->n_nodes; v++) {
        if (users >> v & 1)
            before &= closure->after[v];
    }
    if (users != 0 && is_true(random, 40))
        block.free = pick(random, before);
    block.is_input = block.alloc == SP_NO_INDEX && is_true(random, 20);
    block.is_output = block.free == SP_NO_INDEX && is_true(random, 20);
    if (users == 0 && block.alloc == SP_NO_INDEX)
        users = UINT64_C(1) << sp_test_random_below(random, graph->n_nodes);
    assert_int_equal(sp_graph_add_block(graph, &block), index);
    for (uint32_t v = 0; v < graph->n_nodes; v++) {
        if (users >> v & 1)
            assert_true(sp_graph_add_use(graph, index, v));
    }
}

struct starpool_graph *sp_random_graph(uint64_t *random, const struct sp_random_shape *shape)
{
    struct starpool_graph *graph = sp_graph_create("random");
    struct sp_closure closure;

    assert_non_null(graph);
    add_nodes(random, shape, graph);
    sp_closure_init(&closure, graph);
    for (uint32_t i = 0; i < shape->n_blocks; i++) {
        struct sp_graph_block block = {
            .size = 1 + sp_test_random_below(random, shape->most_size),
            .alignment =
                shape->has_alignments ? (size_t)1 << sp_test_random_below(random, 4) : 1,
            .location = {STARPOOL_DEVICE,
                         (int)sp_test_random_below(random, shape->n_locations)},
            .alloc = SP_NO_INDEX,
            .free = SP_NO_INDEX,
        };

        if (shape->has_open_ends && is_true(random, 60))
            add_open_block(random, &closure, graph, block);
        else
            add_closed_block(random, &closure, graph, block);
    }
    return graph;
}

struct starpool_graph *sp_random_timed_graph(uint64_t *random, uint32_t n_blocks,
                                             uint64_t most_size, uint64_t end)
{
    struct starpool_graph *graph = sp_graph_create("timed");

    assert_non_null(graph);
    graph->is_timed = true;
    for (uint32_t i = 0; i < n_blocks; i++) {
        uint64_t lower = sp_test_random_below(random, end);
        struct sp_graph_block block = {
            .size = 1 + sp_test_random_below(random, most_size),
            .alignment = 1,
            .location = {STARPOOL_DEVICE, 0},
            .alloc = SP_NO_INDEX,
            .free = SP_NO_INDEX,
            .lower = lower,
            .upper = lower + 1 + sp_test_random_below(random, end - lower),
        };

        assert_int_equal(sp_graph_add_block(graph, &block), i);
    }
    return graph;
}
