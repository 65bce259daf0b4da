/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists who must not share addresses with whom, without looking at all pairs. A block that
 * begins on one chain and ends on another is an interval of these two: it conflicts with block
 * b if it begins there before the point from which b is over, and ends there behind the point
 * up to which b has not begun. The intervals of each pair of chains are sorted by their
 * beginning, and the furthest end of every few is kept, so that what is over long ago is passed
 * by quickly. Times are one pair of chains. */
#include "config.h"

#include <stdlib.h>

#include "graph/place.h"
#include "src/util/util.h"

/* Intervals that share a furthest end. */
#define RUN 16
#define FAR (RUN * 64)

/* Pairs of chains with fewer intervals are never a group. */
#define LEAST_GROUP 8

/* More pairs of chains, for all blocks together: too wide, no lists. */
#define MOST_VISITS ((uint64_t)1 << 27)

/* One first and one last of block `i`. `begin` and `end` count nodes of their chains up to the
 * node itself; 0 and UINT64_MAX if the block is not bounded there. */
struct interval {
    uint32_t begin_chain, end_chain;
    uint64_t begin, end;
    uint32_t i;
};

/* The intervals of one pair of chains. */
struct pair {
    uint32_t begin_chain, end_chain;
    uint32_t first, n; /* of the intervals */
    uint64_t nearest;  /* the least end */
};

/* An array of numbers that grows. */
struct numbers {
    uint32_t *at;
    uint64_t n, room;
};

struct listing {
    const struct sp_place *place;
    uint32_t n_chains; /* 1 in a timed graph */
    struct interval *intervals;
    uint64_t *begins, *ends; /* [n_intervals] of the sorted intervals: all that is looked at */
    uint32_t *whose;         /* [n_intervals] */
    uint64_t *furthest;      /* [n_intervals / RUN + 1] the furthest end of each run */
    uint64_t *furthest_far;  /* [n_intervals / FAR + 1] likewise of each FAR intervals */
    struct pair *pairs;
    uint32_t n_intervals, n_pairs;
    uint64_t *over, *begun; /* [n_chains] of the block at hand: conflicts begin before, and end
                               behind */
    uint32_t *seen;         /* [n] the last block that has listed a block, and 1 */
    struct numbers list, groups;
    uint64_t most;
};

/* ---- intervals ----------------------------------------------------------------------- */

static uint64_t n_intervals_of(const struct sp_place *place, uint32_t i)
{
    const struct sp_liveness *liveness = place->liveness;

    if (liveness->graph->is_timed)
        return 1;
    return sp_max(1, sp_liveness_n_firsts(liveness, place->blocks[i])) *
           sp_max(1, sp_liveness_n_lasts(liveness, place->blocks[i]));
}

static struct interval interval_of(const struct sp_place *place, uint32_t i, uint32_t first,
                                   uint32_t last)
{
    const struct sp_liveness *liveness = place->liveness;
    uint32_t block = place->blocks[i];
    struct interval interval = {.begin = 0, .end = UINT64_MAX, .i = i};
    struct sp_spot spot;

    if (sp_liveness_begins_inside(liveness, block)) {
        spot = liveness->spots[liveness->firsts[liveness->first_begin[block] + first]];
        interval.begin_chain = spot.chain;
        interval.begin = (uint64_t)spot.index + 1;
    }
    if (sp_liveness_ends_inside(liveness, block)) {
        spot = liveness->spots[liveness->lasts[liveness->last_begin[block] + last]];
        interval.end_chain = spot.chain;
        interval.end = (uint64_t)spot.index + 1;
    }
    return interval;
}

static void add_intervals(struct listing *listing, uint32_t i)
{
    const struct sp_place *place = listing->place;
    const struct sp_liveness *liveness = place->liveness;
    struct interval interval = {.i = i};
    uint32_t n_firsts, n_lasts;

    if (liveness->graph->is_timed) {
        sp_liveness_span(liveness, place->blocks[i], &interval.begin, &interval.end);
        listing->intervals[listing->n_intervals++] = interval;
        return;
    }
    n_firsts = (uint32_t)sp_max(1, sp_liveness_n_firsts(liveness, place->blocks[i]));
    n_lasts = (uint32_t)sp_max(1, sp_liveness_n_lasts(liveness, place->blocks[i]));
    for (uint32_t f = 0; f < n_firsts; f++) {
        for (uint32_t l = 0; l < n_lasts; l++)
            listing->intervals[listing->n_intervals++] = interval_of(place, i, f, l);
    }
}

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    if (x->begin_chain != y->begin_chain)
        return x->begin_chain < y->begin_chain ? -1 : 1;
    if (x->end_chain != y->end_chain)
        return x->end_chain < y->end_chain ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static void sort_intervals(struct listing *listing)
{
    struct pair *pair = NULL;

    qsort(listing->intervals, listing->n_intervals, sizeof(*listing->intervals),
          compare_intervals);
    for (uint32_t k = 0; k < listing->n_intervals; k++) {
        const struct interval *interval = &listing->intervals[k];

        if (pair == NULL || pair->begin_chain != interval->begin_chain ||
            pair->end_chain != interval->end_chain) {
            pair = &listing->pairs[listing->n_pairs++];
            *pair = (struct pair){.begin_chain = interval->begin_chain,
                                  .end_chain = interval->end_chain,
                                  .first = k,
                                  .nearest = interval->end};
        }
        pair->n++;
        pair->nearest = sp_min(pair->nearest, interval->end);
        listing->begins[k] = interval->begin;
        listing->ends[k] = interval->end;
        listing->whose[k] = interval->i;
        listing->furthest[k / RUN] = sp_max(listing->furthest[k / RUN], interval->end);
        listing->furthest_far[k / FAR] = sp_max(listing->furthest_far[k / FAR], interval->end);
    }
}

/* ---- conflicts of one block -------------------------------------------------------------- */

/* How many intervals of a pair begin before a point. */
static uint32_t n_begun(const struct listing *listing, const struct pair *pair, uint64_t point)
{
    const uint64_t *begins = &listing->begins[pair->first];
    uint32_t low = 0, high = pair->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (begins[middle] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool append(struct numbers *numbers, uint32_t number)
{
    uint64_t room = numbers->room == 0 ? 1024 : 2 * numbers->room;
    uint32_t *at;

    if (numbers->n == numbers->room) {
        at = realloc(numbers->at, room * sizeof(*at));
        if (at == NULL)
            return false;
        numbers->at = at;
        numbers->room = room;
    }
    numbers->at[numbers->n++] = number;
    return true;
}

static inline bool add(struct listing *listing, uint32_t i, uint32_t j)
{
    if (i == j || listing->seen[j] == i + 1)
        return true;
    listing->seen[j] = i + 1;
    return append(&listing->list, j);
}

/* The intervals of a pair that conflict with block `i`. */
static bool add_conflicts(struct listing *listing, uint32_t i, const struct pair *pair)
{
    uint32_t end = pair->first + n_begun(listing, pair, listing->over[pair->begin_chain]);
    uint64_t begun = listing->begun[pair->end_chain];
    uint32_t next;

    if (end - pair->first == pair->n && pair->nearest > begun && pair->n >= LEAST_GROUP)
        return append(&listing->groups, (uint32_t)(pair - listing->pairs));
    for (uint32_t k = pair->first; k < end && listing->list.n <= listing->most; k = next) {
        if (listing->furthest_far[k / FAR] <= begun) {
            next = (uint32_t)sp_min(end, (k / FAR + 1) * FAR);
            continue;
        }
        next = (uint32_t)sp_min(end, (k / RUN + 1) * RUN);
        if (listing->furthest[k / RUN] <= begun)
            continue;
        for (; k < next; k++) {
            if (listing->ends[k] > begun && !add(listing, i, listing->whose[k]))
                return false;
        }
    }
    return true;
}

static void find_points(struct listing *listing, uint32_t i)
{
    const struct sp_liveness *liveness = listing->place->liveness;
    uint32_t block = listing->place->blocks[i];

    if (liveness->graph->is_timed) {
        sp_liveness_span(liveness, block, &listing->begun[0], &listing->over[0]);
        return;
    }
    for (uint32_t c = 0; c < listing->n_chains; c++) {
        listing->over[c] = (uint64_t)sp_liveness_after(liveness, block, c) + 1;
        listing->begun[c] = sp_liveness_before(liveness, block, c);
    }
}

static enum starpool_status list_all(struct listing *listing, struct sp_conflicts *conflicts)
{
    uint32_t n = listing->place->n;

    for (uint32_t i = 0; i < n; i++) {
        conflicts->begin[i] = listing->list.n;
        conflicts->group_begin[i] = listing->groups.n;
        find_points(listing, i);
        for (uint32_t p = 0; p < listing->n_pairs; p++) {
            if (!add_conflicts(listing, i, &listing->pairs[p]))
                return STARPOOL_ENOMEM;
        }
        if (listing->list.n > listing->most || listing->groups.n > listing->most)
            return STARPOOL_ENOTSUP;
        conflicts->degree[i] = (uint32_t)(listing->list.n - conflicts->begin[i]);
        for (uint64_t k = conflicts->group_begin[i]; k < listing->groups.n; k++)
            conflicts->degree[i] += listing->pairs[listing->groups.at[k]].n;
    }
    conflicts->begin[n] = listing->list.n;
    conflicts->group_begin[n] = listing->groups.n;
    return STARPOOL_OK;
}

/* The pairs of chains as groups, and who is in which. */
static void list_groups(const struct listing *listing, struct sp_conflicts *conflicts)
{
    conflicts->n_groups = listing->n_pairs;
    for (uint32_t p = 0; p < listing->n_pairs; p++) {
        conflicts->group_first[p] = listing->pairs[p].first;
        conflicts->group_first[p + 1] = listing->pairs[p].first + listing->pairs[p].n;
    }
    for (uint32_t k = 0; k < listing->n_intervals; k++)
        conflicts->own_begin[listing->whose[k] + 2]++;
    for (uint32_t i = 2; i <= listing->place->n; i++)
        conflicts->own_begin[i] += conflicts->own_begin[i - 1];
    for (uint32_t p = 0; p < listing->n_pairs; p++) {
        const struct pair *pair = &listing->pairs[p];

        for (uint32_t k = pair->first; k < pair->first + pair->n; k++)
            conflicts->own[conflicts->own_begin[listing->whose[k] + 1]++] = p;
    }
}

/* ---- the whole ----------------------------------------------------------------------- */

static bool prepare(struct listing *listing, uint64_t n_intervals)
{
    size_t n = (size_t)listing->place->n + 1, n_chains = (size_t)listing->n_chains + 1;

    listing->intervals = calloc(n_intervals + 1, sizeof(*listing->intervals));
    listing->begins = calloc(n_intervals + 1, sizeof(*listing->begins));
    listing->ends = calloc(n_intervals + 1, sizeof(*listing->ends));
    listing->whose = calloc(n_intervals + 1, sizeof(*listing->whose));
    listing->furthest = calloc(n_intervals / RUN + 1, sizeof(*listing->furthest));
    listing->furthest_far = calloc(n_intervals / FAR + 1, sizeof(*listing->furthest_far));
    listing->pairs = calloc(n_intervals + 1, sizeof(*listing->pairs));
    listing->over = calloc(n_chains, sizeof(*listing->over));
    listing->begun = calloc(n_chains, sizeof(*listing->begun));
    listing->seen = calloc(n, sizeof(*listing->seen));
    return listing->intervals != NULL && listing->begins != NULL && listing->ends != NULL &&
           listing->whose != NULL && listing->furthest != NULL &&
           listing->furthest_far != NULL && listing->pairs != NULL && listing->over != NULL &&
           listing->begun != NULL && listing->seen != NULL;
}

static void release(struct listing *listing)
{
    free(listing->intervals);
    free(listing->begins);
    free(listing->ends);
    free(listing->whose);
    free(listing->furthest);
    free(listing->furthest_far);
    free(listing->pairs);
    free(listing->over);
    free(listing->begun);
    free(listing->seen);
}

static bool prepare_result(struct sp_conflicts *conflicts, uint32_t n, uint64_t n_intervals)
{
    size_t n_room = (size_t)n + 2;

    *conflicts = (struct sp_conflicts){
        .begin = calloc(n_room, sizeof(*conflicts->begin)),
        .group_begin = calloc(n_room, sizeof(*conflicts->group_begin)),
        .own_begin = calloc(n_room, sizeof(*conflicts->own_begin)),
        .own = calloc(n_intervals + 1, sizeof(*conflicts->own)),
        .group_first = calloc(n_intervals + 2, sizeof(*conflicts->group_first)),
        .degree = calloc(n_room, sizeof(*conflicts->degree)),
    };
    return conflicts->begin != NULL && conflicts->group_begin != NULL &&
           conflicts->own_begin != NULL && conflicts->own != NULL &&
           conflicts->group_first != NULL && conflicts->degree != NULL;
}

static enum starpool_status make_lists(struct listing *listing, uint64_t n_intervals,
                                       struct sp_conflicts *conflicts)
{
    enum starpool_status status;

    if (!prepare(listing, n_intervals) ||
        !prepare_result(conflicts, listing->place->n, n_intervals))
        return STARPOOL_ENOMEM;
    for (uint32_t i = 0; i < listing->place->n; i++)
        add_intervals(listing, i);
    sort_intervals(listing);
    if (((uint64_t)listing->n_pairs + listing->n_chains) * listing->place->n > MOST_VISITS)
        return STARPOOL_ENOTSUP;
    list_groups(listing, conflicts);
    status = list_all(listing, conflicts);
    /* A list of nothing is one, too. */
    if (status == STARPOOL_OK && (!append(&listing->list, 0) || !append(&listing->groups, 0)))
        status = STARPOOL_ENOMEM;
    return status;
}

enum starpool_status sp_conflicts_init(struct sp_conflicts *conflicts_out,
                                       const struct sp_place *place, uint64_t most)
{
    const struct sp_liveness *liveness = place->liveness;
    struct listing listing = {.place = place, .most = most, .n_chains = 1};
    struct sp_conflicts conflicts = {.list = NULL};
    enum starpool_status status = STARPOOL_ENOTSUP;
    uint64_t n_intervals = 0;

    if (!liveness->graph->is_timed)
        listing.n_chains = (uint32_t)sp_max(1, liveness->n_chains);
    for (uint32_t i = 0; i < place->n; i++)
        n_intervals += n_intervals_of(place, i);
    if (n_intervals <= MOST_VISITS / 4)
        status = make_lists(&listing, n_intervals, &conflicts);
    release(&listing);
    conflicts.list = listing.list.at;
    conflicts.groups = listing.groups.at;
    if (status != STARPOOL_OK) {
        sp_conflicts_fini(&conflicts);
        conflicts = (struct sp_conflicts){.list = NULL};
    }
    if (status == STARPOOL_OK || status == STARPOOL_ENOTSUP)
        *conflicts_out = conflicts;
    return status == STARPOOL_ENOTSUP ? STARPOOL_OK : status;
}

void sp_conflicts_fini(struct sp_conflicts *conflicts)
{
    free(conflicts->begin);
    free(conflicts->list);
    free(conflicts->group_begin);
    free(conflicts->groups);
    free(conflicts->own_begin);
    free(conflicts->own);
    free(conflicts->group_first);
    free(conflicts->degree);
}
