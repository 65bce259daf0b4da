/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses in one pass over the blocks as they begin. Who has had a range of addresses before
 * the last one need not be known: it was over before the last one began. Hence a pass takes
 * time in proportion to the ranges, and no conflicts. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/place.h"
#include "src/util/util.h"

/* From `start` to the next segment's start, or, of the last one, for ever. */
struct segment {
    uint64_t start;
    uint32_t owner; /* who had it last, or NOBODY */
};

#define NOBODY UINT32_MAX

struct sweep {
    const struct sp_place *place;
    bool is_backward;
    struct segment *segments; /* the last one is NOBODY's */
    uint32_t n, room;
};

/* Segments in a row that are a block's for the asking, from `first` up to `end`. */
struct hole {
    uint32_t first, end;
    uint64_t offset; /* where the block would begin */
    uint64_t waste;  /* [bytes] of the hole that would be left; of that at the top: what the
                        peak would grow by */
    bool is_found;
};

static inline bool is_free_for(const struct sweep *sweep, uint32_t owner, uint32_t i)
{
    const struct sp_place *place = sweep->place;

    if (owner == NOBODY)
        return true;
    if (sweep->is_backward)
        return sp_liveness_is_over(place->liveness, place->blocks[i], place->blocks[owner]);
    return sp_liveness_is_over(place->liveness, place->blocks[owner], place->blocks[i]);
}

/* Take a hole into account that ends where segment `end` begins, or never. */
static void try_hole(const struct sweep *sweep, uint32_t i, struct hole hole, struct hole *best)
{
    const struct segment *segments = sweep->segments;
    bool is_top = hole.end == sweep->n;
    uint64_t end;

    hole.offset = sp_round_up(segments[hole.first].start, sweep->place->alignments[i]);
    end = hole.offset + sweep->place->sizes[i];
    if (!is_top && end > segments[hole.end].start)
        return;
    hole.is_found = true;
    hole.waste =
        is_top ? end - sp_min(end, segments[sweep->n - 1].start)
               : segments[hole.end].start - segments[hole.first].start - sweep->place->sizes[i];
    /* Any hole below is better than to grow; the top without growth is as good as one. */
    if (!best->is_found || (is_top && hole.waste == 0) || (!is_top && hole.waste < best->waste))
        *best = hole;
}

static struct hole find_hole(const struct sweep *sweep, uint32_t i, enum sp_fit fit)
{
    struct hole best = {.is_found = false}, hole = {.first = NOBODY};

    for (uint32_t k = 0; k < sweep->n; k++) {
        bool is_free = is_free_for(sweep, sweep->segments[k].owner, i);

        if (is_free && hole.first == NOBODY)
            hole.first = k;
        if (hole.first == NOBODY || (is_free && k + 1 < sweep->n && fit == SP_FIT_BEST))
            continue;
        /* What is lowest is known as soon as it is large enough. */
        hole.end = is_free ? k + 1 : k;
        try_hole(sweep, i, hole, &best);
        if (best.is_found && fit == SP_FIT_LOWEST)
            break;
        if (!is_free)
            hole.first = NOBODY;
    }
    return best;
}

/* What a block leaves of the segments that it covers, from hole->first up to hole->end: what is
 * before it, its own, what is behind it. */
static uint32_t cut(const struct sweep *sweep, uint32_t i, const struct hole *hole,
                    struct segment *pieces)
{
    const struct segment *segments = sweep->segments;
    uint64_t end = hole->offset + sweep->place->sizes[i];
    uint32_t n = 0;

    if (segments[hole->first].start < hole->offset)
        pieces[n++] = segments[hole->first];
    pieces[n++] = (struct segment){.start = hole->offset, .owner = i};
    if (hole->end == sweep->n || end < segments[hole->end].start)
        pieces[n++] = (struct segment){.start = end, .owner = segments[hole->end - 1].owner};
    return n;
}

static bool make_room(struct sweep *sweep, uint32_t n)
{
    struct segment *segments;
    uint32_t room = 2 * sweep->room;

    if (n <= sweep->room)
        return true;
    segments = realloc(sweep->segments, room * sizeof(*segments));
    if (segments == NULL)
        return false;
    sweep->segments = segments;
    sweep->room = room;
    return true;
}

static bool put(struct sweep *sweep, uint32_t i, struct hole hole)
{
    uint64_t end = hole.offset + sweep->place->sizes[i];
    struct segment pieces[3];
    uint32_t n;

    if (!make_room(sweep, sweep->n + SP_ARRAY_SIZE(pieces)))
        return false;
    while (hole.first + 1 < hole.end && sweep->segments[hole.first + 1].start <= hole.offset)
        hole.first++;
    for (uint32_t k = hole.first + 1; k < hole.end; k++) {
        if (sweep->segments[k].start >= end)
            hole.end = k;
    }
    n = cut(sweep, i, &hole, pieces);
    memmove(&sweep->segments[hole.first + n], &sweep->segments[hole.end],
            (sweep->n - hole.end) * sizeof(*pieces));
    memcpy(&sweep->segments[hole.first], pieces, n * sizeof(*pieces));
    sweep->n = sweep->n - (hole.end - hole.first) + n;
    return true;
}

/* ---- the order ----------------------------------------------------------------------- */

struct turn {
    uint64_t time;
    uint64_t size;
    uint32_t i;
};

/* By time, of those that come together the larger first. */
static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static void list_turns(const struct sp_place *place, bool is_backward, struct turn *turns)
{
    uint64_t lower, upper;

    for (uint32_t i = 0; i < place->n; i++) {
        sp_liveness_span(place->liveness, place->blocks[i], &lower, &upper);
        turns[i] = (struct turn){
            .time = is_backward ? UINT64_MAX - upper : lower, .size = place->sizes[i], .i = i};
    }
    qsort(turns, place->n, sizeof(*turns), compare_turns);
}

enum starpool_status sp_place_sweep(const struct sp_place *place, bool is_backward,
                                    enum sp_fit fit, uint64_t *offsets)
{
    struct sweep sweep = {.place = place, .is_backward = is_backward, .n = 1, .room = 64};
    struct turn *turns = calloc((size_t)place->n + 1, sizeof(*turns));
    enum starpool_status status = STARPOOL_ENOMEM;

    sweep.segments = calloc(sweep.room, sizeof(*sweep.segments));
    if (turns == NULL || sweep.segments == NULL)
        goto err_free;
    sweep.segments[0] = (struct segment){.start = 0, .owner = NOBODY};
    list_turns(place, is_backward, turns);
    for (uint32_t k = 0; k < place->n; k++) {
        struct hole hole = find_hole(&sweep, turns[k].i, fit);

        if (!put(&sweep, turns[k].i, hole))
            goto err_free;
        offsets[turns[k].i] = hole.offset;
    }
    status = STARPOOL_OK;
err_free:
    free(turns);
    free(sweep.segments);
    return status;
}
