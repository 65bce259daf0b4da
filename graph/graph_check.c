/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a graph is one: indexes, sizes, an order without a cycle, and for every block an
 * order of its allocation, its uses and its free. Paths are looked for from 64 blocks at once,
 * a bit each, in one pass over the edges in the nodes' order. */
#include "config.h"

#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/files.h"
#include "src/util/util.h"

#define BLOCKS_AT_ONCE 64

/* What a check is made with; the arrays are the check's own. */
struct check {
    const struct starpool_graph *graph;
    struct sp_graph_error *error;
    uint32_t *order;      /* [n_nodes] nodes, each before those that follow it */
    uint32_t *first_edge; /* [n_nodes + 1] where in `followers` a node's begin */
    uint32_t *followers;  /* [n_edges] */
    uint32_t *first_use;  /* [n_blocks + 1] where in `users` a block's begin */
    uint32_t *users;      /* [n_uses] nodes */
    uint64_t *is_reached; /* [n_nodes] a bit for each block of those looked at */
};

static enum starpool_status wrong(const struct check *check, enum sp_graph_part part,
                                  uint32_t index, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum starpool_status wrong(const struct check *check, enum sp_graph_part part,
                                  uint32_t index, const char *format, ...)
{
    va_list arguments;

    *check->error = (struct sp_graph_error){.part = part, .index = index};
    va_start(arguments, format);
    vsnprintf(check->error->text, sizeof(check->error->text), format, arguments);
    va_end(arguments);
    return STARPOOL_EINVAL;
}

/* ---- lists ------------------------------------------------------------------------------ */

/* Lists of what belongs to each of n owners: where each begins, and the members of all. Both
 * are freed by the caller. */
static bool group(uint32_t n_owners, uint32_t n, const uint32_t *owner, const uint32_t *member,
                  size_t stride, uint32_t **first_out, uint32_t **members_out)
{
    uint32_t *first = calloc((size_t)n_owners + 2, sizeof(*first));
    uint32_t *members = calloc((size_t)n + 1, sizeof(*members));

    if (first == NULL || members == NULL) {
        free(first);
        free(members);
        return false;
    }
    /* One further on than it will be, so that filling moves each to its place. */
    for (uint32_t i = 0; i < n; i++)
        first[owner[i * stride] + 2]++;
    for (uint32_t i = 2; i <= n_owners; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < n; i++)
        members[first[owner[i * stride] + 1]++] = member[i * stride];
    *first_out = first;
    *members_out = members;
    return true;
}

static const struct sp_graph_edge no_edge;

bool sp_graph_list_followers(const struct starpool_graph *graph, uint32_t **begin_out,
                             uint32_t **followers_out)
{
    const struct sp_graph_edge *edges = graph->n_edges > 0 ? graph->edges : &no_edge;

    return group(graph->n_nodes, graph->n_edges, &edges->from, &edges->to,
                 sizeof(*edges) / sizeof(uint32_t), begin_out, followers_out);
}

bool sp_graph_list_precursors(const struct starpool_graph *graph, uint32_t **begin_out,
                              uint32_t **precursors_out)
{
    const struct sp_graph_edge *edges = graph->n_edges > 0 ? graph->edges : &no_edge;

    return group(graph->n_nodes, graph->n_edges, &edges->to, &edges->from,
                 sizeof(*edges) / sizeof(uint32_t), begin_out, precursors_out);
}

bool sp_graph_list_users(const struct starpool_graph *graph, uint32_t **begin_out,
                         uint32_t **users_out)
{
    static const struct sp_graph_use no_use;
    const struct sp_graph_use *uses = graph->n_uses > 0 ? graph->uses : &no_use;

    return group(graph->n_blocks, graph->n_uses, &uses->block, &uses->node,
                 sizeof(*uses) / sizeof(uint32_t), begin_out, users_out);
}

/* ---- an order of the nodes -------------------------------------------------------------- */

/* A heap of nodes, the lowest index at its top. */
static void heap_put(uint32_t *heap, uint32_t n, uint32_t node)
{
    uint32_t at = n;

    for (; at > 0 && heap[(at - 1) / 2] > node; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = node;
}

static uint32_t heap_take(uint32_t *heap, uint32_t n)
{
    uint32_t top = heap[0], last = heap[n - 1], at = 0, child;

    while ((child = 2 * at + 1) < n - 1) {
        if (child + 1 < n - 1 && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* How many nodes could be brought into an order; those that could not have `n_before` left. */
static uint32_t sort(uint32_t n_nodes, const uint32_t *first, const uint32_t *followers,
                     uint32_t *n_before, uint32_t *heap, uint32_t *order)
{
    uint32_t n_heap = 0, n_done = 0;

    for (uint32_t i = 0; i < first[n_nodes]; i++)
        n_before[followers[i]]++;
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (n_before[i] == 0)
            heap_put(heap, n_heap++, i);
    }
    while (n_heap > 0) {
        uint32_t node = heap_take(heap, n_heap--);

        order[n_done++] = node;
        for (uint32_t i = first[node]; i < first[node + 1]; i++) {
            if (--n_before[followers[i]] == 0)
                heap_put(heap, n_heap++, followers[i]);
        }
    }
    return n_done;
}

/* A node of a cycle, among those that wait for others: each of them follows another one. */
static uint32_t find_cycle(const struct starpool_graph *graph, const uint32_t *n_before,
                           uint32_t *precursor)
{
    uint32_t node = 0;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        if (n_before[graph->edges[i].from] > 0)
            precursor[graph->edges[i].to] = graph->edges[i].from;
    }
    while (n_before[node] == 0)
        node++;
    /* After so many steps back nothing but a cycle is left. */
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        node = precursor[node];
    return node;
}

/* `cycle_out` is a node of one if there is one. */
static enum starpool_status order_nodes(const struct starpool_graph *graph, uint32_t *order,
                                        const uint32_t *first, const uint32_t *followers,
                                        uint32_t *cycle_out)
{
    size_t n = (size_t)graph->n_nodes + 1;
    uint32_t *n_before = calloc(n, sizeof(*n_before));
    uint32_t *heap = calloc(n, sizeof(*heap));
    enum starpool_status status = STARPOOL_ENOMEM;

    if (n_before == NULL || heap == NULL)
        goto err_free;
    status = STARPOOL_OK;
    if (sort(graph->n_nodes, first, followers, n_before, heap, order) < graph->n_nodes) {
        *cycle_out = find_cycle(graph, n_before, heap);
        status = STARPOOL_EINVAL;
    }
err_free:
    free(n_before);
    free(heap);
    return status;
}

enum starpool_status sp_graph_sort(const struct starpool_graph *graph, uint32_t *order_out)
{
    uint32_t *first, *followers, cycle;
    enum starpool_status status;

    if (!sp_graph_list_followers(graph, &first, &followers))
        return STARPOOL_ENOMEM;
    status = order_nodes(graph, order_out, first, followers, &cycle);
    free(first);
    free(followers);
    return status;
}

/* ---- what each part holds --------------------------------------------------------------- */

static bool is_location(struct starpool_location location)
{
    switch (location.kind) {
    case STARPOOL_DEVICE:
    case STARPOOL_HOST_NUMA:
        return location.id >= 0;
    case STARPOOL_HOST:
    case STARPOOL_NONE:
        return location.id == 0;
    }
    return false;
}

static bool is_node(const struct starpool_graph *graph, uint32_t node)
{
    return node == SP_NO_INDEX || node < graph->n_nodes;
}

static enum starpool_status check_times(const struct check *check, uint32_t i)
{
    const struct sp_graph_block *block = &check->graph->blocks[i];

    if (block->alloc != SP_NO_INDEX || block->free != SP_NO_INDEX)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u names a node of a timed graph",
                     i);
    if (block->lower >= block->upper)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u ends before it has begun", i);
    if (block->upper > SP_GRAPH_MOST)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u ends too late", i);
    return STARPOOL_OK;
}

static enum starpool_status check_ends(const struct check *check, uint32_t i)
{
    const struct sp_graph_block *block = &check->graph->blocks[i];

    if (!is_node(check->graph, block->alloc) || !is_node(check->graph, block->free))
        return wrong(check, SP_GRAPH_PART_BLOCK, i,
                     "block %u is allocated or freed by a node that there is not", i);
    if (block->is_input && block->alloc != SP_NO_INDEX)
        return wrong(check, SP_GRAPH_PART_BLOCK, i,
                     "block %u is an input, and is allocated as well", i);
    if (block->is_output && block->free != SP_NO_INDEX)
        return wrong(check, SP_GRAPH_PART_BLOCK, i,
                     "block %u is an output, and is freed as well", i);
    if (block->lower != 0 || block->upper != 0)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u has times, and its graph has not",
                     i);
    return STARPOOL_OK;
}

static enum starpool_status check_block(const struct check *check, uint32_t i, uint64_t *sum)
{
    const struct sp_graph_block *block = &check->graph->blocks[i];

    if (block->size == 0)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u has no size", i);
    if (!sp_is_power_of_two(block->alignment))
        return wrong(check, SP_GRAPH_PART_BLOCK, i,
                     "the alignment of block %u is no power of two", i);
    if (block->size > SP_GRAPH_MOST - *sum || block->alignment > SP_GRAPH_MOST - *sum ||
        sp_round_up(block->size, block->alignment) > SP_GRAPH_MOST - *sum)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "with block %u it is 2^63 bytes or more",
                     i);
    *sum += sp_round_up(block->size, block->alignment);
    if (block->address > SP_GRAPH_MOST)
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u is at no address", i);
    if (!is_location(block->location))
        return wrong(check, SP_GRAPH_PART_BLOCK, i, "block %u is at no location", i);
    return check->graph->is_timed ? check_times(check, i) : check_ends(check, i);
}

static enum starpool_status check_parts(const struct check *check)
{
    const struct starpool_graph *graph = check->graph;
    enum starpool_status status = STARPOOL_OK;
    uint64_t sum = 0;

    if (graph->is_timed && (graph->n_nodes > 0 || graph->n_edges > 0 || graph->n_uses > 0))
        return wrong(check, SP_GRAPH_PART_NONE, 0, "a timed graph has nodes, edges or uses");
    if (graph->capacity > SP_GRAPH_MOST)
        return wrong(check, SP_GRAPH_PART_NONE, 0, "the capacity is 2^63 bytes or more");
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if ((unsigned)graph->nodes[i].kind > STARPOOL_GRAPH_NODE_OTHER)
            return wrong(check, SP_GRAPH_PART_NODE, i, "node %u is of no kind", i);
    }
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        if (graph->edges[i].from >= graph->n_nodes || graph->edges[i].to >= graph->n_nodes)
            return wrong(check, SP_GRAPH_PART_EDGE, i,
                         "edge %u begins or ends at a node that there is not", i);
    }
    for (uint32_t i = 0; i < graph->n_uses; i++) {
        if (graph->uses[i].block >= graph->n_blocks || graph->uses[i].node >= graph->n_nodes)
            return wrong(check, SP_GRAPH_PART_USE, i,
                         "use %u is of a block or by a node that there is not", i);
    }
    for (uint32_t i = 0; i < graph->n_blocks && status == STARPOOL_OK; i++)
        status = check_block(check, i, &sum);
    return status;
}

/* ---- what comes before what ------------------------------------------------------------- */

/* Blocks need a beginning and an end. */
static enum starpool_status check_life(const struct check *check, uint32_t i)
{
    const struct sp_graph_block *block = &check->graph->blocks[i];

    if (block->alloc != SP_NO_INDEX || block->free != SP_NO_INDEX ||
        check->first_use[i] < check->first_use[i + 1] || (block->is_input && block->is_output))
        return STARPOOL_OK;
    return wrong(check, SP_GRAPH_PART_BLOCK, i, "no node allocates, uses or frees block %u", i);
}

/* Set in every node the bits of those of the blocks [from, to) whose allocation it follows. */
static void reach_forward(const struct check *check, uint32_t from, uint32_t to)
{
    memset(check->is_reached, 0, check->graph->n_nodes * sizeof(*check->is_reached));
    for (uint32_t i = from; i < to; i++) {
        if (check->graph->blocks[i].alloc != SP_NO_INDEX)
            check->is_reached[check->graph->blocks[i].alloc] |= (uint64_t)1 << (i - from);
    }
    for (uint32_t i = 0; i < check->graph->n_nodes; i++) {
        uint32_t node = check->order[i];

        for (uint32_t j = check->first_edge[node]; j < check->first_edge[node + 1]; j++)
            check->is_reached[check->followers[j]] |= check->is_reached[node];
    }
}

/* Likewise those whose free follows it. */
static void reach_backward(const struct check *check, uint32_t from, uint32_t to)
{
    memset(check->is_reached, 0, check->graph->n_nodes * sizeof(*check->is_reached));
    for (uint32_t i = from; i < to; i++) {
        if (check->graph->blocks[i].free != SP_NO_INDEX)
            check->is_reached[check->graph->blocks[i].free] |= (uint64_t)1 << (i - from);
    }
    for (uint32_t i = check->graph->n_nodes; i-- > 0;) {
        uint32_t node = check->order[i];

        for (uint32_t j = check->first_edge[node]; j < check->first_edge[node + 1]; j++)
            check->is_reached[node] |= check->is_reached[check->followers[j]];
    }
}

static bool is_reached(const struct check *check, uint32_t node, uint32_t bit)
{
    return (check->is_reached[node] >> bit & 1) != 0;
}

/* The user of a block that its allocation or its free does not reach, or SP_NO_INDEX. */
static uint32_t find_stray(const struct check *check, uint32_t block, uint32_t bit)
{
    for (uint32_t i = check->first_use[block]; i < check->first_use[block + 1]; i++) {
        if (!is_reached(check, check->users[i], bit))
            return check->users[i];
    }
    return SP_NO_INDEX;
}

static enum starpool_status check_order(const struct check *check, uint32_t from, uint32_t to)
{
    const struct sp_graph_block *blocks = check->graph->blocks;
    uint32_t user;

    reach_forward(check, from, to);
    for (uint32_t i = from; i < to; i++) {
        if (blocks[i].alloc == SP_NO_INDEX)
            continue;
        user = find_stray(check, i, i - from);
        if (user == SP_NO_INDEX && blocks[i].free != SP_NO_INDEX &&
            !is_reached(check, blocks[i].free, i - from))
            user = blocks[i].free;
        if (user != SP_NO_INDEX)
            return wrong(check, SP_GRAPH_PART_BLOCK, i,
                         "node %u has block %u, and need not come after its allocation in node "
                         "%u",
                         user, i, blocks[i].alloc);
    }
    reach_backward(check, from, to);
    for (uint32_t i = from; i < to; i++) {
        user = blocks[i].free == SP_NO_INDEX ? SP_NO_INDEX : find_stray(check, i, i - from);
        if (user != SP_NO_INDEX)
            return wrong(check, SP_GRAPH_PART_BLOCK, i,
                         "node %u uses block %u, and need not come before its free in node %u",
                         user, i, blocks[i].free);
    }
    return STARPOOL_OK;
}

static enum starpool_status check_blocks(const struct check *check)
{
    uint32_t n = check->graph->n_blocks;
    enum starpool_status status = STARPOOL_OK;

    for (uint32_t i = 0; i < n && status == STARPOOL_OK; i++)
        status = check_life(check, i);
    for (uint32_t i = 0; i < n && status == STARPOOL_OK; i += BLOCKS_AT_ONCE)
        status = check_order(check, i, n - i < BLOCKS_AT_ONCE ? n : i + BLOCKS_AT_ONCE);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

static bool prepare(struct check *check)
{
    const struct starpool_graph *graph = check->graph;
    size_t n = (size_t)graph->n_nodes + 1;

    check->order = calloc(n, sizeof(*check->order));
    check->is_reached = calloc(n, sizeof(*check->is_reached));
    return check->order != NULL && check->is_reached != NULL &&
           sp_graph_list_followers(graph, &check->first_edge, &check->followers) &&
           sp_graph_list_users(graph, &check->first_use, &check->users);
}

enum starpool_status sp_graph_check(const struct starpool_graph *graph,
                                    struct sp_graph_error *error)
{
    struct check check = {.graph = graph, .error = error};
    enum starpool_status status = check_parts(&check);
    uint32_t cycle = 0;

    if (status != STARPOOL_OK || graph->is_timed)
        return status;
    status = STARPOOL_ENOMEM;
    if (prepare(&check))
        status = order_nodes(graph, check.order, check.first_edge, check.followers, &cycle);
    if (status == STARPOOL_EINVAL)
        wrong(&check, SP_GRAPH_PART_NODE, cycle, "there is a cycle, through node %u", cycle);
    if (status == STARPOOL_OK)
        status = check_blocks(&check);
    free(check.order);
    free(check.is_reached);
    free(check.first_edge);
    free(check.followers);
    free(check.first_use);
    free(check.users);
    return status;
}
