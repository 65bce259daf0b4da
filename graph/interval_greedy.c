/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lowest piece of the skyline is a valley: blocks that live within it, and no others, can
 * be placed on its ground. If there is none, the valley is filled up to the lower of its
 * walls. */
#include "config.h"

#include "graph/interval_greedy.h"

#include <stdbool.h>
#include <string.h>

#include "src/util/util.h"

uint32_t sp_greedy_leaves(uint32_t n)
{
    uint32_t n_leaves = 1;

    while (n_leaves < n)
        n_leaves *= 2;
    return n_leaves;
}

/* ---- crowds -------------------------------------------------------------------------- */

static uint64_t most_of(const uint64_t *tree, uint32_t n_leaves, uint32_t first, uint32_t last)
{
    uint64_t most = 0;

    for (first += n_leaves, last += n_leaves; first < last; first /= 2, last /= 2) {
        if (first & 1)
            most = sp_max(most, tree[first++]);
        if (last & 1)
            most = sp_max(most, tree[--last]);
    }
    return most;
}

void sp_greedy_crowds(struct sp_sections *sections, uint64_t *tree)
{
    uint32_t n_leaves = sp_greedy_leaves(sections->n_sections);

    memset(tree, 0, 2 * (size_t)n_leaves * sizeof(*tree));
    memcpy(tree + n_leaves, sections->weight, sections->n_sections * sizeof(*tree));
    for (uint32_t node = n_leaves; node-- > 1;)
        tree[node] = sp_max(tree[2 * node], tree[2 * node + 1]);
    for (uint32_t i = 0; i < sections->n; i++)
        sections->crowd[i] = most_of(tree, n_leaves, sections->first[i], sections->last[i]);
}

/* ---- the skyline --------------------------------------------------------------------- */

static uint64_t height_of(const struct sp_skyline *skyline, uint32_t piece)
{
    return skyline->height[skyline->n_leaves + piece];
}

static void set_height(struct sp_skyline *skyline, uint32_t piece, uint64_t height)
{
    uint32_t node = skyline->n_leaves + piece;

    skyline->height[node] = height;
    for (node /= 2; node > 0; node /= 2)
        skyline->height[node] =
            sp_min(skyline->height[2 * node], skyline->height[2 * node + 1]);
}

static void skyline_init(struct sp_skyline *skyline, uint32_t n_sections)
{
    skyline->n_sections = n_sections;
    skyline->n_leaves = sp_greedy_leaves(n_sections);
    memset(skyline->height, 0xff, 2 * (size_t)skyline->n_leaves * sizeof(*skyline->height));
    skyline->end[0] = n_sections;
    set_height(skyline, 0, 0);
}

static uint32_t lowest(const struct sp_skyline *skyline)
{
    uint32_t node = 1;

    while (node < skyline->n_leaves)
        node = skyline->height[2 * node] == skyline->height[node] ? 2 * node : 2 * node + 1;
    return node - skyline->n_leaves;
}

/* Let a piece begin at a section of another one. */
static void split(struct sp_skyline *skyline, uint32_t piece, uint32_t section)
{
    skyline->end[section] = skyline->end[piece];
    skyline->end[piece] = section;
    skyline->before[section] = piece;
    if (skyline->end[section] < skyline->n_sections)
        skyline->before[skyline->end[section]] = section;
    set_height(skyline, section, height_of(skyline, piece));
}

/* Make one of a piece and the next, if they are equally high. */
static void join(struct sp_skyline *skyline, uint32_t piece)
{
    uint32_t next = skyline->end[piece];

    if (next == skyline->n_sections || height_of(skyline, next) != height_of(skyline, piece))
        return;
    skyline->end[piece] = skyline->end[next];
    if (skyline->end[piece] < skyline->n_sections)
        skyline->before[skyline->end[piece]] = piece;
    set_height(skyline, next, UINT64_MAX);
}

static void raise(struct sp_skyline *skyline, uint32_t piece, uint64_t height)
{
    set_height(skyline, piece, height);
    join(skyline, piece);
    if (piece > 0)
        join(skyline, skyline->before[piece]);
}

static void fill(struct sp_skyline *skyline, uint32_t piece)
{
    uint64_t left = piece > 0 ? height_of(skyline, skyline->before[piece]) : UINT64_MAX;
    uint64_t right = skyline->end[piece] < skyline->n_sections
                         ? height_of(skyline, skyline->end[piece])
                         : UINT64_MAX;

    raise(skyline, piece, sp_min(left, right));
}

/* ---- what waits ---------------------------------------------------------------------- */

static const struct sp_greedy_node nothing = {.min_rank = UINT32_MAX, .min_last = UINT32_MAX};

static void update(struct sp_greedy_node *nodes, uint32_t at)
{
    const struct sp_greedy_node *a = &nodes[2 * at], *b = &nodes[2 * at + 1];

    nodes[at] = (struct sp_greedy_node){
        .min_rank = a->min_rank < b->min_rank ? a->min_rank : b->min_rank,
        .min_last = a->min_last < b->min_last ? a->min_last : b->min_last,
        .max_last = a->max_last > b->max_last ? a->max_last : b->max_last};
}

/* Sorted by the sections that they begin in: by counting. */
static void find_positions(struct sp_greedy *greedy, const struct sp_sections *sections)
{
    uint32_t n_before = 0;

    memset(greedy->begin, 0, ((size_t)sections->n_sections + 1) * sizeof(*greedy->begin));
    for (uint32_t i = 0; i < sections->n; i++)
        greedy->begin[sections->first[i]]++;
    for (uint32_t i = 0; i <= sections->n_sections; i++) {
        uint32_t n = greedy->begin[i];

        greedy->begin[i] = n_before;
        n_before += n;
    }
    for (uint32_t i = 0; i < sections->n; i++)
        greedy->position[i] = greedy->begin[sections->first[i]]++;
    /* Each has moved to where the next one's was. */
    memmove(greedy->begin + 1, greedy->begin, sections->n_sections * sizeof(*greedy->begin));
    greedy->begin[0] = 0;
}

static void waiting_init(struct sp_greedy *greedy, const struct sp_sections *sections,
                         const uint32_t *rank)
{
    greedy->n_leaves = sp_greedy_leaves(sections->n);
    find_positions(greedy, sections);
    for (uint32_t i = sections->n; i < greedy->n_leaves; i++)
        greedy->waiting[greedy->n_leaves + i] = nothing;
    for (uint32_t i = 0; i < sections->n; i++) {
        greedy->of_rank[rank[i]] = i;
        greedy->waiting[greedy->n_leaves + greedy->position[i]] = (struct sp_greedy_node){
            .min_rank = rank[i], .min_last = sections->last[i], .max_last = sections->last[i]};
    }
    for (uint32_t node = greedy->n_leaves; node-- > 1;)
        update(greedy->waiting, node);
}

static void take(struct sp_greedy *greedy, uint32_t block)
{
    uint32_t node = greedy->n_leaves + greedy->position[block];

    greedy->waiting[node] = nothing;
    for (node /= 2; node > 0; node /= 2)
        update(greedy->waiting, node);
}

/* The lowest rank below a node that is below `best` too, of a block that ends at `last` or
 * before; else `best`. As deep as the tree. */
static uint32_t best_below(const struct sp_greedy *greedy, uint32_t node, uint32_t last,
                           uint32_t best)
{
    const struct sp_greedy_node *it = &greedy->waiting[node];

    if (it->min_rank >= best || it->min_last > last)
        return best;
    if (it->max_last <= last)
        return it->min_rank;
    best = best_below(greedy, 2 * node, last, best);
    return best_below(greedy, 2 * node + 1, last, best);
}

/* The lowest rank of a block that lives within sections [first, last); UINT32_MAX: none does.
 */
static uint32_t best_within(const struct sp_greedy *greedy, uint32_t first, uint32_t last)
{
    uint32_t low = greedy->n_leaves + greedy->begin[first];
    uint32_t high = greedy->n_leaves + greedy->begin[last];
    uint32_t best = UINT32_MAX;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            best = best_below(greedy, low++, last, best);
        if (high & 1)
            best = best_below(greedy, --high, last, best);
    }
    return best;
}

void sp_interval_greedy(struct sp_greedy *greedy, const struct sp_sections *sections,
                        const uint32_t *rank, uint64_t *offsets)
{
    struct sp_skyline *skyline = &greedy->skyline;

    skyline_init(skyline, sections->n_sections);
    waiting_init(greedy, sections, rank);
    for (uint32_t n_left = sections->n; n_left > 0;) {
        uint32_t valley = lowest(skyline);
        uint32_t best = best_within(greedy, valley, skyline->end[valley]);
        uint32_t block;

        if (best == UINT32_MAX) {
            fill(skyline, valley);
            continue;
        }
        block = greedy->of_rank[best];
        offsets[block] = height_of(skyline, valley);
        take(greedy, block);
        n_left--;
        if (sections->last[block] < skyline->end[valley])
            split(skyline, valley, sections->last[block]);
        if (sections->first[block] > valley)
            split(skyline, valley, sections->first[block]);
        raise(skyline, sections->first[block], offsets[block] + sections->size[block]);
    }
}
