/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What begins and what ends each block of a graph, and which blocks are over before which
 * others begin. Of nodes that may begin or end a block only those are kept that decide. */
#include "config.h"

#include <stdlib.h>

#include "graph/liveness.h"
#include "graph/liveness_private.h"
#include "src/util/util.h"

/* More than so many are left as they are but for one a chain: comparing each with each takes
 * too long, and nothing is wrong with too many. */
#define MOST_COMPARED 64

/* ---- what begins and what ends a block -------------------------------------------------- */

/* What only the search needs. */
struct ends {
    struct sp_liveness *liveness;
    uint32_t *user_begin, *users; /* [n_blocks + 1], [n_uses] */
    uint32_t *best;               /* [n_chains] the node kept of a chain, or SP_NO_INDEX */
    uint32_t *chains;             /* [n_nodes] those with a node kept */
    uint32_t n_chains;
};

/* Of each chain one node is enough: the first of those that begin, the last of those that end.
 */
static void keep(struct ends *ends, uint32_t node, bool is_end)
{
    struct sp_spot spot = ends->liveness->spots[node];
    uint32_t *best = &ends->best[spot.chain];

    if (*best == SP_NO_INDEX) {
        ends->chains[ends->n_chains++] = spot.chain;
        *best = node;
    } else if ((spot.index > ends->liveness->spots[*best].index) == is_end) {
        *best = node;
    }
}

/* Move the nodes kept to `nodes`, without those that others stand for. Returns their number. */
static uint32_t take_kept(struct ends *ends, uint32_t *nodes, bool is_end)
{
    uint32_t n = ends->n_chains, n_left = 0;

    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = ends->best[ends->chains[i]];
        ends->best[ends->chains[i]] = SP_NO_INDEX;
    }
    ends->n_chains = 0;
    if (n > MOST_COMPARED)
        return n;
    for (uint32_t i = 0; i < n; i++) {
        bool is_needed = true;

        for (uint32_t j = 0; j < n && is_needed; j++)
            is_needed = is_end ? !sp_liveness_precedes(ends->liveness, nodes[i], nodes[j])
                               : !sp_liveness_precedes(ends->liveness, nodes[j], nodes[i]);
        /* What is passed over precedes, or follows, one that stays. */
        if (is_needed)
            ends->chains[n_left++] = nodes[i];
    }
    for (uint32_t i = 0; i < n_left; i++)
        nodes[i] = ends->chains[i];
    return n_left;
}

static uint32_t find_firsts(struct ends *ends, uint32_t i, uint32_t *nodes)
{
    const struct sp_graph_block *block = &ends->liveness->graph->blocks[i];

    if (block->alloc != SP_NO_INDEX) {
        nodes[0] = block->alloc;
        return 1;
    }
    if (block->free != SP_NO_INDEX)
        keep(ends, block->free, false);
    for (uint32_t u = ends->user_begin[i]; u < ends->user_begin[i + 1]; u++)
        keep(ends, ends->users[u], false);
    return take_kept(ends, nodes, false);
}

static uint32_t find_lasts(struct ends *ends, uint32_t i, uint32_t *nodes)
{
    const struct sp_graph_block *block = &ends->liveness->graph->blocks[i];

    if (block->free != SP_NO_INDEX) {
        nodes[0] = block->free;
        return 1;
    }
    if (block->alloc != SP_NO_INDEX)
        keep(ends, block->alloc, true);
    for (uint32_t u = ends->user_begin[i]; u < ends->user_begin[i + 1]; u++)
        keep(ends, ends->users[u], true);
    return take_kept(ends, nodes, true);
}

/* `from` is no node, is `to`, or precedes it. Where order has been forgotten nobody can tell.
 */
static bool may_precede(const struct sp_liveness *liveness, uint32_t from, uint32_t to)
{
    return from == SP_NO_INDEX || to == SP_NO_INDEX || from == to || !liveness->is_exact ||
           sp_liveness_precedes(liveness, from, to);
}

static bool order_is_valid(const struct ends *ends, uint32_t i)
{
    const struct sp_graph_block *block = &ends->liveness->graph->blocks[i];

    if (!may_precede(ends->liveness, block->alloc, block->free))
        return false;
    for (uint32_t u = ends->user_begin[i]; u < ends->user_begin[i + 1]; u++) {
        if (!may_precede(ends->liveness, block->alloc, ends->users[u]) ||
            !may_precede(ends->liveness, ends->users[u], block->free))
            return false;
    }
    return true;
}

static enum starpool_status find_ends(struct ends *ends)
{
    struct sp_liveness *liveness = ends->liveness;

    for (uint32_t c = 0; c < liveness->n_chains; c++)
        ends->best[c] = SP_NO_INDEX;
    for (uint32_t i = 0; i < liveness->graph->n_blocks; i++) {
        uint32_t first = liveness->first_begin[i], last = liveness->last_begin[i];

        if (!order_is_valid(ends, i))
            return STARPOOL_EINVAL;
        liveness->first_begin[i + 1] = first + find_firsts(ends, i, &liveness->firsts[first]);
        liveness->last_begin[i + 1] = last + find_lasts(ends, i, &liveness->lasts[last]);
    }
    return STARPOOL_OK;
}

enum starpool_status sp_liveness_find_ends(struct sp_liveness *liveness)
{
    const struct starpool_graph *graph = liveness->graph;
    size_t n = (size_t)graph->n_blocks + 2, n_ends = (size_t)graph->n_uses + 2 * n;
    struct ends ends = {.liveness = liveness};
    enum starpool_status status = STARPOOL_ENOMEM;

    liveness->first_begin = calloc(n, sizeof(*liveness->first_begin));
    liveness->last_begin = calloc(n, sizeof(*liveness->last_begin));
    liveness->firsts = calloc(n_ends, sizeof(*liveness->firsts));
    liveness->lasts = calloc(n_ends, sizeof(*liveness->lasts));
    ends.best = calloc((size_t)liveness->n_chains + 1, sizeof(*ends.best));
    ends.chains = calloc((size_t)graph->n_nodes + 1, sizeof(*ends.chains));
    if (liveness->first_begin != NULL && liveness->last_begin != NULL &&
        liveness->firsts != NULL && liveness->lasts != NULL && ends.best != NULL &&
        ends.chains != NULL && sp_graph_list_users(graph, &ends.user_begin, &ends.users))
        status = find_ends(&ends);
    free(ends.user_begin);
    free(ends.users);
    free(ends.best);
    free(ends.chains);
    return status;
}

/* ---- questions about blocks -------------------------------------------------------------- */

/* Whether all that may end a block precede a node. */
static bool is_over_at(const struct sp_liveness *liveness, uint32_t block, uint32_t node)
{
    for (uint32_t i = liveness->last_begin[block]; i < liveness->last_begin[block + 1]; i++) {
        if (!sp_liveness_precedes(liveness, liveness->lasts[i], node))
            return false;
    }
    return true;
}

bool sp_liveness_is_over(const struct sp_liveness *liveness, uint32_t a, uint32_t b)
{
    const struct sp_graph_block *blocks = liveness->graph->blocks;

    if (liveness->graph->is_timed)
        return !blocks[a].is_output && !blocks[b].is_input &&
               blocks[a].upper <= blocks[b].lower;
    if (!sp_liveness_ends_inside(liveness, a) || !sp_liveness_begins_inside(liveness, b))
        return false;
    for (uint32_t i = liveness->first_begin[b]; i < liveness->first_begin[b + 1]; i++) {
        if (!is_over_at(liveness, a, liveness->firsts[i]))
            return false;
    }
    return true;
}

uint32_t sp_liveness_before(const struct sp_liveness *liveness, uint32_t block, uint32_t chain)
{
    uint32_t least = UINT32_MAX;

    if (!sp_liveness_begins_inside(liveness, block) || chain >= liveness->n_chains)
        return 0;
    for (uint32_t i = liveness->first_begin[block]; i < liveness->first_begin[block + 1]; i++) {
        uint32_t n = sp_liveness_count(liveness, liveness->firsts[i], chain);

        least = n < least ? n : least;
    }
    return least;
}

uint32_t sp_liveness_after(const struct sp_liveness *liveness, uint32_t block, uint32_t chain)
{
    uint32_t low = 0, high;

    if (chain >= liveness->n_chains)
        return 0;
    high = sp_liveness_chain_length(liveness, chain);
    if (!sp_liveness_ends_inside(liveness, block))
        return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (is_over_at(liveness, block, sp_liveness_chain_node(liveness, chain, middle)))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void sp_liveness_span(const struct sp_liveness *liveness, uint32_t block, uint64_t *lower_out,
                      uint64_t *upper_out)
{
    const struct sp_graph_block *it = &liveness->graph->blocks[block];
    uint64_t lower = 0, upper = UINT64_MAX;

    if (liveness->graph->is_timed) {
        *lower_out = it->is_input ? 0 : it->lower;
        *upper_out = it->is_output ? UINT64_MAX : it->upper;
        return;
    }
    if (sp_liveness_begins_inside(liveness, block)) {
        lower = UINT64_MAX;
        for (uint32_t i = liveness->first_begin[block]; i < liveness->first_begin[block + 1];
             i++)
            lower = sp_min(lower, liveness->rank[liveness->firsts[i]]);
    }
    if (sp_liveness_ends_inside(liveness, block)) {
        upper = 0;
        for (uint32_t i = liveness->last_begin[block]; i < liveness->last_begin[block + 1]; i++)
            upper = sp_max(upper, (uint64_t)liveness->rank[liveness->lasts[i]] + 1);
    }
    *lower_out = lower;
    *upper_out = upper;
}
