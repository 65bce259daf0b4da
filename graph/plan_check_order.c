/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of blocks as the check of plans sees it: plain reachability over all edges. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/plan_check.h"
#include "src/util/util.h"

#define WORD_BITS 64

/* ---- the edges ----------------------------------------------------------------------- */

/* Edge `i` of the graph's and then the plan's. */
static struct sp_graph_edge edge_at(const struct starpool_graph *graph,
                                    const struct starpool_plan *plan, uint32_t i)
{
    if (i < graph->n_edges)
        return graph->edges[i];
    i -= graph->n_edges;
    return (struct sp_graph_edge){.from = plan->edges[i].from, .to = plan->edges[i].to};
}

/* False if the nodes' order cannot be found: there is a cycle. */
static bool sort_nodes(struct sp_check_order *order, uint32_t *n_before)
{
    uint32_t n = order->graph->n_nodes, n_done = 0;

    for (uint32_t i = 0; i < order->out_begin[n]; i++)
        n_before[order->out[i]]++;
    for (uint32_t v = 0; v < n; v++) {
        if (n_before[v] == 0)
            order->order[n_done++] = v;
    }
    for (uint32_t k = 0; k < n_done; k++) {
        uint32_t v = order->order[k];

        order->rank[v] = k;
        for (uint32_t i = order->out_begin[v]; i < order->out_begin[v + 1]; i++) {
            if (--n_before[order->out[i]] == 0)
                order->order[n_done++] = order->out[i];
        }
    }
    return n_done == n;
}

static void list_edges(struct sp_check_order *order, const struct starpool_plan *plan)
{
    const struct starpool_graph *graph = order->graph;
    uint32_t n = graph->n_edges + plan->n_edges;

    for (uint32_t i = 0; i < n; i++)
        order->out_begin[edge_at(graph, plan, i).from + 2]++;
    for (uint32_t v = 2; v <= graph->n_nodes; v++)
        order->out_begin[v] += order->out_begin[v - 1];
    for (uint32_t i = 0; i < n; i++) {
        struct sp_graph_edge edge = edge_at(graph, plan, i);

        order->out[order->out_begin[edge.from + 1]++] = edge.to;
    }
}

/* ---- the blocks' ends ---------------------------------------------------------------------
 */

/* Whether an edge leads from a node to a user of the block; `mark` holds block and 1 for all of
 * its users. */
static bool leads_to_user(const struct sp_check_order *order, const uint32_t *mark,
                          uint32_t node, uint32_t block)
{
    for (uint32_t i = order->out_begin[node]; i < order->out_begin[node + 1]; i++) {
        if (mark[order->out[i]] == block + 1)
            return true;
    }
    return false;
}

/* The users that no other follows at once are enough as lasts, those that follow no other at
 * once as firsts; more than need be do no harm. */
static void list_user(struct sp_check_order *order, const uint32_t *mark, uint32_t *followed,
                      uint32_t block, const uint32_t *users, uint32_t n)
{
    const struct sp_graph_block *it = &order->graph->blocks[block];

    for (uint32_t k = 0; k < n && it->alloc == SP_NO_INDEX; k++) {
        for (uint32_t i = order->out_begin[users[k]]; i < order->out_begin[users[k] + 1]; i++)
            followed[order->out[i]] = block + 1;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (it->alloc == SP_NO_INDEX && followed[users[k]] != block + 1)
            order->firsts[order->first_begin[block + 1]++] = users[k];
        if (it->free == SP_NO_INDEX && !leads_to_user(order, mark, users[k], block))
            order->lasts[order->last_begin[block + 1]++] = users[k];
    }
}

static void list_ends(struct sp_check_order *order, uint32_t block, const uint32_t *users,
                      uint32_t n, uint32_t *mark, uint32_t *followed)
{
    const struct sp_graph_block *it = &order->graph->blocks[block];

    order->first_begin[block + 1] = order->first_begin[block];
    order->last_begin[block + 1] = order->last_begin[block];
    for (uint32_t k = 0; k < n; k++)
        mark[users[k]] = block + 1;
    list_user(order, mark, followed, block, users, n);
    if (it->alloc != SP_NO_INDEX)
        order->firsts[order->first_begin[block + 1]++] = it->alloc;
    else if (it->free != SP_NO_INDEX && n == 0)
        order->firsts[order->first_begin[block + 1]++] = it->free;
    if (it->free != SP_NO_INDEX)
        order->lasts[order->last_begin[block + 1]++] = it->free;
    else if (it->alloc != SP_NO_INDEX && n == 0)
        order->lasts[order->last_begin[block + 1]++] = it->alloc;
}

static bool find_ends(struct sp_check_order *order)
{
    const struct starpool_graph *graph = order->graph;
    uint32_t *begin = calloc((size_t)graph->n_blocks + 2, sizeof(*begin));
    uint32_t *users = calloc((size_t)graph->n_uses + 1, sizeof(*users));
    uint32_t *mark = calloc((size_t)graph->n_nodes + 1, sizeof(*mark));
    uint32_t *followed = calloc((size_t)graph->n_nodes + 1, sizeof(*followed));
    bool is_ok = begin != NULL && users != NULL && mark != NULL && followed != NULL;

    if (is_ok) {
        for (uint32_t i = 0; i < graph->n_uses; i++)
            begin[graph->uses[i].block + 2]++;
        for (uint32_t i = 2; i <= graph->n_blocks; i++)
            begin[i] += begin[i - 1];
        for (uint32_t i = 0; i < graph->n_uses; i++)
            users[begin[graph->uses[i].block + 1]++] = graph->uses[i].node;
        for (uint32_t i = 0; i < graph->n_blocks; i++)
            list_ends(order, i, &users[begin[i]], begin[i + 1] - begin[i], mark, followed);
    }
    free(begin);
    free(users);
    free(mark);
    free(followed);
    return is_ok;
}

/* ---- the whole ----------------------------------------------------------------------- */

static bool prepare(struct sp_check_order *order, const struct starpool_plan *plan)
{
    const struct starpool_graph *graph = order->graph;
    size_t n_nodes = (size_t)graph->n_nodes + 2, n_blocks = (size_t)graph->n_blocks + 2;
    size_t n_edges = (size_t)graph->n_edges + plan->n_edges + 1;
    size_t n_ends = (size_t)graph->n_uses + n_blocks;

    order->order = calloc(n_nodes, sizeof(*order->order));
    order->rank = calloc(n_nodes, sizeof(*order->rank));
    order->out_begin = calloc(n_nodes, sizeof(*order->out_begin));
    order->out = calloc(n_edges, sizeof(*order->out));
    order->first_begin = calloc(n_blocks, sizeof(*order->first_begin));
    order->firsts = calloc(n_ends, sizeof(*order->firsts));
    order->last_begin = calloc(n_blocks, sizeof(*order->last_begin));
    order->lasts = calloc(n_ends, sizeof(*order->lasts));
    return order->order != NULL && order->rank != NULL && order->out_begin != NULL &&
           order->out != NULL && order->first_begin != NULL && order->firsts != NULL &&
           order->last_begin != NULL && order->lasts != NULL;
}

enum starpool_status sp_check_order_init(struct sp_check_order *order,
                                         const struct starpool_graph *graph,
                                         const struct starpool_plan *plan)
{
    uint32_t *n_before = calloc((size_t)graph->n_nodes + 1, sizeof(*n_before));
    enum starpool_status status = STARPOOL_ENOMEM;

    *order = (struct sp_check_order){.graph = graph};
    if (n_before != NULL && prepare(order, plan)) {
        list_edges(order, plan);
        status = sort_nodes(order, n_before) ? STARPOOL_OK : STARPOOL_EINVAL;
        if (status == STARPOOL_OK && !find_ends(order))
            status = STARPOOL_ENOMEM;
    }
    free(n_before);
    return status;
}

void sp_check_order_fini(struct sp_check_order *order)
{
    free(order->order);
    free(order->rank);
    free(order->out_begin);
    free(order->out);
    free(order->first_begin);
    free(order->firsts);
    free(order->last_begin);
    free(order->lasts);
    free(order->own);
    free(order->reached);
}

uint64_t sp_check_order_begin(const struct sp_check_order *order, uint32_t block)
{
    const struct sp_graph_block *it = &order->graph->blocks[block];
    uint64_t begin = UINT64_MAX;

    if (it->is_input)
        return 0;
    if (order->graph->is_timed)
        return it->lower;
    for (uint32_t i = order->first_begin[block]; i < order->first_begin[block + 1]; i++)
        begin = sp_min(begin, order->rank[order->firsts[i]]);
    return begin;
}

/* ---- reachability -------------------------------------------------------------------- */

/* Room for `n_words` words a node, all 0. */
static bool clear_bits(struct sp_check_order *order, size_t n_words)
{
    size_t n = (size_t)order->graph->n_nodes + 1;

    if (n_words > order->words_room) {
        free(order->own);
        free(order->reached);
        order->words_room = 0;
        order->own = calloc(n * n_words, sizeof(*order->own));
        order->reached = calloc(n * n_words, sizeof(*order->reached));
        if (order->own == NULL || order->reached == NULL)
            return false;
        order->words_room = n_words;
    } else {
        memset(order->own, 0, n * n_words * sizeof(*order->own));
        memset(order->reached, 0, n * n_words * sizeof(*order->reached));
    }
    order->n_words = n_words;
    return true;
}

static void pass_bits(struct sp_check_order *order)
{
    size_t n_words = order->n_words;

    for (uint32_t k = 0; k < order->graph->n_nodes; k++) {
        uint32_t v = order->order[k];

        for (uint32_t i = order->out_begin[v]; i < order->out_begin[v + 1]; i++) {
            uint64_t *to = &order->reached[order->out[i] * n_words];

            for (size_t w = 0; w < n_words; w++)
                to[w] |= order->reached[v * n_words + w] | order->own[v * n_words + w];
        }
    }
}

static uint32_t n_lasts(const struct sp_check_order *order, uint32_t block)
{
    return order->last_begin[block + 1] - order->last_begin[block];
}

static void set_bits(struct sp_check_order *order)
{
    for (uint32_t slot = 0; slot < order->n_loaded; slot++) {
        uint32_t block = order->loaded[slot], bit = order->bit_begin[slot];

        for (uint32_t i = order->last_begin[block]; i < order->last_begin[block + 1]; i++) {
            order->own[order->lasts[i] * order->n_words + bit / WORD_BITS] |=
                UINT64_C(1) << bit % WORD_BITS;
            bit++;
        }
    }
}

enum starpool_status sp_check_order_load(struct sp_check_order *order, const uint32_t *blocks,
                                         uint32_t n, uint32_t *n_loaded_out)
{
    uint32_t n_loaded = 0, n_bits = 0;

    while (n_loaded < n && n_loaded < SP_ARRAY_SIZE(order->loaded) &&
           (n_loaded == 0 || order->graph->is_timed ||
            n_bits + n_lasts(order, blocks[n_loaded]) <= WORD_BITS)) {
        order->bit_begin[n_loaded] = n_bits;
        n_bits += order->graph->is_timed ? 0 : n_lasts(order, blocks[n_loaded]);
        order->loaded[n_loaded] = blocks[n_loaded];
        n_loaded++;
    }
    order->bit_begin[n_loaded] = n_bits;
    order->n_loaded = n_loaded;
    *n_loaded_out = n_loaded;
    if (order->graph->is_timed)
        return STARPOOL_OK;
    if (!clear_bits(order, sp_max(1, (n_bits + WORD_BITS - 1) / WORD_BITS)))
        return STARPOOL_ENOMEM;
    set_bits(order);
    pass_bits(order);
    return STARPOOL_OK;
}

bool sp_check_order_is_over(const struct sp_check_order *order, uint32_t slot, uint32_t block)
{
    const struct sp_graph_block *a = &order->graph->blocks[order->loaded[slot]];
    const struct sp_graph_block *b = &order->graph->blocks[block];

    if (a->is_output || b->is_input)
        return false;
    if (order->graph->is_timed)
        return a->upper <= b->lower;
    for (uint32_t i = order->first_begin[block]; i < order->first_begin[block + 1]; i++) {
        const uint64_t *reached = &order->reached[order->firsts[i] * order->n_words];

        for (uint32_t bit = order->bit_begin[slot]; bit < order->bit_begin[slot + 1]; bit++) {
            if ((reached[bit / WORD_BITS] >> bit % WORD_BITS & 1) == 0)
                return false;
        }
    }
    /* A block that nothing begins or ends is over before none. */
    return order->bit_begin[slot] < order->bit_begin[slot + 1] &&
           order->first_begin[block] < order->first_begin[block + 1];
}
