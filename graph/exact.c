/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lowest peak of a few blocks, by trying every order from the bottom up. In such an order a
 * block stands on the highest of those that conflict with it and are below. Taking the blocks
 * of any plan by their addresses and letting each sink so far never raises one, and when none
 * sinks any more the order is that of the addresses: one order of this kind gives the best
 * plan, and blocks at one address need not change places. */
#include "config.h"

#include <string.h>

#include "graph/place.h"
#include "src/util/util.h"

#define NOBODY UINT32_MAX

struct exact {
    const struct sp_place *place;
    uint32_t conflicts[SP_EXACT_MOST]; /* bits */
    uint64_t offsets[SP_EXACT_MOST], ends[SP_EXACT_MOST];
    uint64_t *best;
    uint64_t best_peak, bound;
    uint64_t n_nodes;
};

static uint64_t offset_on(const struct exact *exact, uint32_t placed, uint32_t i)
{
    uint64_t offset = 0;

    for (uint32_t j = 0; j < exact->place->n; j++) {
        if ((placed & exact->conflicts[i]) >> j & 1)
            offset = sp_max(offset, exact->ends[j]);
    }
    return sp_round_up(offset, exact->place->alignments[i]);
}

/* Whether block `i` may come after block `last`: not below it, and beside it by number. */
static bool is_next(const struct exact *exact, uint32_t last, uint32_t i)
{
    if (last == NOBODY)
        return true;
    return exact->offsets[i] > exact->offsets[last] ||
           (exact->offsets[i] == exact->offsets[last] && i > last);
}

/* `placed` blocks, as bits, end below the best peak; `last` was the last of them. */
static void search(struct exact *exact, uint32_t placed, uint32_t last, uint64_t peak)
{
    uint32_t n = exact->place->n;

    exact->n_nodes++;
    if (placed == (UINT32_C(1) << n) - 1) {
        memcpy(exact->best, exact->offsets, n * sizeof(*exact->best));
        exact->best_peak = peak;
        return;
    }
    for (uint32_t i = 0; i < n && exact->best_peak > exact->bound; i++) {
        if (placed >> i & 1)
            continue;
        exact->offsets[i] = offset_on(exact, placed, i);
        exact->ends[i] = exact->offsets[i] + exact->place->sizes[i];
        if (exact->ends[i] < exact->best_peak && is_next(exact, last, i))
            search(exact, placed | UINT32_C(1) << i, i, sp_max(peak, exact->ends[i]));
    }
}

void sp_place_exactly(const struct sp_place *place, uint64_t bound, uint64_t *offsets,
                      uint64_t *n_nodes)
{
    struct exact exact = {.place = place, .best = offsets, .bound = bound};

    SP_ASSERT(place->n <= SP_EXACT_MOST);
    exact.best_peak = sp_place_peak(place, offsets);
    for (uint32_t i = 0; i < place->n; i++) {
        for (uint32_t j = 0; j < place->n; j++) {
            if (i != j && sp_place_conflicts(place, i, j))
                exact.conflicts[i] |= UINT32_C(1) << j;
        }
    }
    search(&exact, 0, NOBODY, 0);
    *n_nodes += exact.n_nodes;
}
