/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chains and clocks of a graph's nodes: what is needed to say whether one precedes another. The
 * chains are found greedily in one pass over the nodes' order, and a clock is kept only where
 * paths meet, so that a graph of a few streams takes a few bytes a node. The blocks are in
 * liveness_blocks.c.
 *
 * Source: Jagadish, A compression technique to materialize transitive closure, ACM TODS 1990
 * (chains); Mattern, Virtual time and global states of distributed systems, 1989 (clocks). */
#include "config.h"

#include "graph/liveness.h"

#include <stdlib.h>
#include <string.h>

#include "graph/liveness_private.h"
#include "src/util/util.h"

/* Up to so many chains of a row are sorted by insertion. */
#define FEW 24

/* What only the pass needs. `seen` is all 0 between nodes. */
struct builder {
    struct sp_liveness *liveness;
    uint32_t *in_begin, *in; /* [n_nodes + 1], [n_edges] who comes right before a node */
    uint32_t *n_left;        /* [n_nodes] edges to nodes that have no chain yet */
    uint32_t *tail;          /* [n_nodes] the last node of each chain */
    uint32_t *length;        /* [n_nodes] of each chain */
    uint32_t *seen;          /* [n_nodes] how many of each chain precede the node at hand */
    uint32_t *touched;       /* [n_nodes] the chains whose `seen` is not 0 */
    uint32_t n_touched;
    uint32_t n_rows;
    size_t n_entries, entries_room, room;
};

/* ---- rows ---------------------------------------------------------------------------- */

static void see(struct builder *builder, uint32_t chain, uint32_t n)
{
    if (builder->seen[chain] == 0)
        builder->touched[builder->n_touched++] = chain;
    if (builder->seen[chain] < n)
        builder->seen[chain] = n;
}

static void see_row(struct builder *builder, uint32_t row)
{
    const struct sp_liveness *liveness = builder->liveness;

    for (size_t i = liveness->row_begin[row]; i < liveness->row_begin[row + 1]; i++)
        see(builder, liveness->entries[i].chain, liveness->entries[i].index);
}

/* All that precedes `node`, and the node itself. */
static void see_node(struct builder *builder, uint32_t node)
{
    const struct sp_liveness *liveness = builder->liveness;

    see(builder, liveness->spots[node].chain, liveness->spots[node].index + 1);
    see_row(builder, liveness->rows[node]);
    see_row(builder, liveness->row_base[liveness->rows[node]]);
}

static int compare_indexes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void sort_touched(struct builder *builder)
{
    uint32_t *touched = builder->touched;

    if (builder->n_touched > FEW) {
        qsort(touched, builder->n_touched, sizeof(*touched), compare_indexes);
        return;
    }
    for (uint32_t i = 1; i < builder->n_touched; i++) {
        uint32_t chain = touched[i], at = i;

        for (; at > 0 && touched[at - 1] > chain; at--)
            touched[at] = touched[at - 1];
        touched[at] = chain;
    }
}

/* Room for `n` more entries. */
static bool make_room(struct builder *builder, size_t n)
{
    struct sp_liveness *liveness = builder->liveness;
    size_t larger = sp_max(builder->n_entries + n, 2 * builder->entries_room);
    struct sp_spot *entries;

    if (builder->n_entries + n <= builder->entries_room)
        return true;
    entries = realloc(liveness->entries, larger * sizeof(*entries));
    if (entries == NULL)
        return false;
    liveness->entries = entries;
    builder->entries_room = larger;
    return true;
}

/* Give `node` a row of its own from what has been seen, without its own chain. Where the room
 * for clocks is at its end, the row stays empty: what precedes the node is then unknown. */
static bool add_row(struct builder *builder, uint32_t node)
{
    struct sp_liveness *liveness = builder->liveness;
    uint32_t own = liveness->spots[node].chain;

    if (builder->n_entries + builder->n_touched > builder->room) {
        liveness->is_exact = false;
        builder->n_touched = 0;
    }
    if (!make_room(builder, builder->n_touched))
        return false;
    sort_touched(builder);
    for (uint32_t i = 0; i < builder->n_touched; i++) {
        uint32_t chain = builder->touched[i];

        if (chain != own)
            liveness->entries[builder->n_entries++] =
                (struct sp_spot){.chain = chain, .index = builder->seen[chain]};
    }
    liveness->rows[node] = builder->n_rows++;
    liveness->row_begin[builder->n_rows] = builder->n_entries;
    return true;
}

/* ---- chains -------------------------------------------------------------------------- */

/* Whether a chain has only so many nodes, and nothing follows the last one directly. */
static bool has_ended(const struct builder *builder, uint32_t chain, uint32_t n)
{
    return builder->length[chain] == n && builder->n_left[builder->tail[chain]] == 0;
}

/* The chain of a node right before this one that ends there: of several the one whose end has
 * the fewest followers left, for the others will be continued by those. Else a chain whose end
 * precedes the node by some path and has no followers left. Else a new one. */
static uint32_t choose_chain(const struct builder *builder, uint32_t node)
{
    const struct sp_liveness *liveness = builder->liveness;
    uint32_t best = SP_NO_INDEX;

    for (uint32_t i = builder->in_begin[node]; i < builder->in_begin[node + 1]; i++) {
        uint32_t before = builder->in[i];

        if (builder->tail[liveness->spots[before].chain] == before &&
            (best == SP_NO_INDEX || builder->n_left[before] < builder->n_left[best]))
            best = before;
    }
    if (best != SP_NO_INDEX)
        return liveness->spots[best].chain;
    for (uint32_t i = 0; i < builder->n_touched; i++) {
        if (has_ended(builder, builder->touched[i], builder->seen[builder->touched[i]]))
            return builder->touched[i];
    }
    return liveness->n_chains;
}

static void append(struct builder *builder, uint32_t node, uint32_t chain)
{
    struct sp_liveness *liveness = builder->liveness;

    if (chain == liveness->n_chains)
        liveness->n_chains++;
    liveness->spots[node] = (struct sp_spot){.chain = chain, .index = builder->length[chain]++};
    builder->tail[chain] = node;
}

/* A node where paths meet, or where none leads to. */
static bool add_meeting(struct builder *builder, uint32_t node)
{
    uint32_t n_touched;
    bool is_added = true;

    for (uint32_t i = builder->in_begin[node]; i < builder->in_begin[node + 1]; i++)
        see_node(builder, builder->in[i]);
    append(builder, node, choose_chain(builder, node));
    n_touched = builder->n_touched;
    if (n_touched > 0)
        is_added = add_row(builder, node);
    for (uint32_t i = 0; i < n_touched; i++)
        builder->seen[builder->touched[i]] = 0;
    builder->n_touched = 0;
    return is_added;
}

/* A chain in a row that has ended, or a new one. */
static uint32_t find_ended(const struct builder *builder, uint32_t row)
{
    const struct sp_liveness *liveness = builder->liveness;

    for (size_t i = liveness->row_begin[row]; i < liveness->row_begin[row + 1]; i++) {
        if (has_ended(builder, liveness->entries[i].chain, liveness->entries[i].index))
            return liveness->entries[i].chain;
    }
    return liveness->n_chains;
}

/* The beginning of a branch: what follows one node, whose chain goes on elsewhere. Its row
 * rests on that node's, or on what this rests on, so that many branches need not repeat it. */
static bool add_branch(struct builder *builder, uint32_t node, uint32_t before)
{
    struct sp_liveness *liveness = builder->liveness;
    uint32_t row = liveness->rows[before], base = liveness->row_base[row], chain;
    size_t n = liveness->row_begin[row + 1] - liveness->row_begin[row];

    if (base != 0 && n > FEW)
        return add_meeting(builder, node);
    chain = find_ended(builder, row);
    if (chain == liveness->n_chains)
        chain = find_ended(builder, base);
    append(builder, node, chain);
    if (n > FEW)
        base = row;
    else
        see_row(builder, row);
    see(builder, liveness->spots[before].chain, liveness->spots[before].index + 1);
    n = builder->n_touched;
    liveness->row_base[builder->n_rows] = base;
    if (!add_row(builder, node))
        return false;
    for (size_t i = 0; i < n; i++)
        builder->seen[builder->touched[i]] = 0;
    builder->n_touched = 0;
    return true;
}

static bool add_node(struct builder *builder, uint32_t node)
{
    struct sp_liveness *liveness = builder->liveness;
    const uint32_t *in = &builder->in[builder->in_begin[node]];
    uint32_t n_in = builder->in_begin[node + 1] - builder->in_begin[node];

    for (uint32_t i = 0; i < n_in; i++)
        builder->n_left[in[i]]--;
    if (n_in != 1)
        return add_meeting(builder, node);
    if (builder->tail[liveness->spots[in[0]].chain] != in[0])
        return add_branch(builder, node, in[0]);
    append(builder, node, liveness->spots[in[0]].chain);
    liveness->rows[node] = liveness->rows[in[0]];
    return true;
}

static bool list_chains(struct sp_liveness *liveness, const uint32_t *length)
{
    liveness->chain_begin =
        calloc((size_t)liveness->n_chains + 1, sizeof(*liveness->chain_begin));
    if (liveness->chain_begin == NULL)
        return false;
    for (uint32_t c = 0; c < liveness->n_chains; c++)
        liveness->chain_begin[c + 1] = liveness->chain_begin[c] + length[c];
    for (uint32_t node = 0; node < liveness->graph->n_nodes; node++) {
        struct sp_spot spot = liveness->spots[node];

        liveness->chain_nodes[liveness->chain_begin[spot.chain] + spot.index] = node;
    }
    return true;
}

/* ---- the whole ----------------------------------------------------------------------- */

static bool prepare(struct builder *builder)
{
    struct sp_liveness *liveness = builder->liveness;
    const struct starpool_graph *graph = liveness->graph;
    size_t n = (size_t)graph->n_nodes + 1;

    liveness->order = calloc(n, sizeof(*liveness->order));
    liveness->rank = calloc(n, sizeof(*liveness->rank));
    liveness->spots = calloc(n, sizeof(*liveness->spots));
    liveness->chain_nodes = calloc(n, sizeof(*liveness->chain_nodes));
    liveness->rows = calloc(n, sizeof(*liveness->rows));
    liveness->row_begin = calloc(n + 1, sizeof(*liveness->row_begin));
    liveness->row_base = calloc(n + 1, sizeof(*liveness->row_base));
    builder->n_left = calloc(n, sizeof(*builder->n_left));
    builder->tail = calloc(n, sizeof(*builder->tail));
    builder->length = calloc(n, sizeof(*builder->length));
    builder->seen = calloc(n, sizeof(*builder->seen));
    builder->touched = calloc(n, sizeof(*builder->touched));
    return liveness->order != NULL && liveness->rank != NULL && liveness->spots != NULL &&
           liveness->chain_nodes != NULL && liveness->rows != NULL &&
           liveness->row_begin != NULL && liveness->row_base != NULL &&
           builder->n_left != NULL && builder->tail != NULL && builder->length != NULL &&
           builder->seen != NULL && builder->touched != NULL &&
           sp_graph_list_precursors(graph, &builder->in_begin, &builder->in);
}

static void release(struct builder *builder)
{
    free(builder->in_begin);
    free(builder->in);
    free(builder->n_left);
    free(builder->tail);
    free(builder->length);
    free(builder->seen);
    free(builder->touched);
}

static bool add_nodes(struct builder *builder)
{
    struct sp_liveness *liveness = builder->liveness;
    const struct starpool_graph *graph = liveness->graph;

    for (uint32_t i = 0; i < graph->n_edges; i++)
        builder->n_left[graph->edges[i].from]++;
    builder->n_rows = 1; /* Row 0 is empty. */
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        liveness->rank[liveness->order[i]] = i;
        if (!add_node(builder, liveness->order[i]))
            return false;
    }
    return list_chains(liveness, builder->length);
}

static enum starpool_status build(struct sp_liveness *liveness, size_t room)
{
    struct builder builder = {.liveness = liveness,
                              .room = room == 0 ? SP_LIVENESS_ROOM : room};
    enum starpool_status status = STARPOOL_ENOMEM;

    if (prepare(&builder))
        status = sp_graph_sort(liveness->graph, liveness->order);
    if (status == STARPOOL_OK && !add_nodes(&builder))
        status = STARPOOL_ENOMEM;
    release(&builder);
    return status == STARPOOL_OK ? sp_liveness_find_ends(liveness) : status;
}

/* sp_graph_sort() and all that follows believe the indexes. */
static bool indexes_are_valid(const struct starpool_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        if (graph->edges[i].from >= graph->n_nodes || graph->edges[i].to >= graph->n_nodes)
            return false;
    }
    for (uint32_t i = 0; i < graph->n_uses; i++) {
        if (graph->uses[i].block >= graph->n_blocks || graph->uses[i].node >= graph->n_nodes)
            return false;
    }
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        const struct sp_graph_block *block = &graph->blocks[i];

        if ((block->alloc != SP_NO_INDEX && block->alloc >= graph->n_nodes) ||
            (block->free != SP_NO_INDEX && block->free >= graph->n_nodes))
            return false;
    }
    return true;
}

static bool times_are_valid(const struct starpool_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        if (graph->blocks[i].lower >= graph->blocks[i].upper)
            return false;
    }
    return true;
}

enum starpool_status sp_liveness_create(const struct starpool_graph *graph, size_t room,
                                        struct sp_liveness **liveness_out)
{
    struct sp_liveness *liveness;
    enum starpool_status status = STARPOOL_OK;

    if (!indexes_are_valid(graph) || (graph->is_timed && !times_are_valid(graph)))
        return STARPOOL_EINVAL;
    liveness = calloc(1, sizeof(*liveness));
    if (liveness == NULL)
        return STARPOOL_ENOMEM;
    liveness->graph = graph;
    liveness->is_exact = true;
    if (!graph->is_timed)
        status = build(liveness, room);
    if (status != STARPOOL_OK) {
        sp_liveness_destroy(liveness);
        return status;
    }
    *liveness_out = liveness;
    return STARPOOL_OK;
}

void sp_liveness_destroy(struct sp_liveness *liveness)
{
    if (liveness == NULL)
        return;
    free(liveness->order);
    free(liveness->rank);
    free(liveness->spots);
    free(liveness->chain_begin);
    free(liveness->chain_nodes);
    free(liveness->rows);
    free(liveness->row_begin);
    free(liveness->row_base);
    free(liveness->entries);
    free(liveness->first_begin);
    free(liveness->last_begin);
    free(liveness->firsts);
    free(liveness->lasts);
    free(liveness);
}

/* ---- questions about nodes ----------------------------------------------------------- */

/* The entry of a row for a chain, or 0. */
static uint32_t find_entry(const struct sp_liveness *liveness, uint32_t row, uint32_t chain)
{
    const struct sp_spot *entry = &liveness->entries[liveness->row_begin[row]];
    size_t n = liveness->row_begin[row + 1] - liveness->row_begin[row];

    while (n > 0) {
        size_t half = n / 2;

        if (entry[half].chain < chain) {
            entry += half + 1;
            n -= half + 1;
        } else if (entry[half].chain == chain) {
            return entry[half].index;
        } else {
            n = half;
        }
    }
    return 0;
}

uint32_t sp_liveness_count(const struct sp_liveness *liveness, uint32_t node, uint32_t chain)
{
    uint32_t row = liveness->rows[node], n;

    if (liveness->spots[node].chain == chain)
        return liveness->spots[node].index;
    n = find_entry(liveness, row, chain);
    if (n == 0 && liveness->row_base[row] != 0)
        n = find_entry(liveness, liveness->row_base[row], chain);
    return n;
}

bool sp_liveness_precedes(const struct sp_liveness *liveness, uint32_t from, uint32_t to)
{
    struct sp_spot spot = liveness->spots[from];

    return spot.index < sp_liveness_count(liveness, to, spot.chain);
}
