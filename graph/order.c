/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses block by block in an order that the caller chooses: the blocks placed before that
 * conflict with the one at hand are sorted by address, and it goes into a gap between them. Of
 * a group that conflicts with it as a whole, what it has taken is kept as a union. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/place.h"
#include "src/util/util.h"

/* Up to so many are sorted by insertion. */
#define FEW 12

/* Addresses that are taken. */
struct sp_range_taken {
    uint64_t offset, end;
};

enum starpool_status sp_order_room_init(struct sp_order_room *room, uint32_t n,
                                        const struct sp_conflicts *conflicts)
{
    size_t n_unions = conflicts->group_first[conflicts->n_groups];
    size_t n_room = (size_t)n + n_unions + 1;

    *room = (struct sp_order_room){
        .taken = calloc(n_room, sizeof(*room->taken)),
        .spare = calloc(n_room, sizeof(*room->spare)),
        .unions = calloc(n_unions + 1, sizeof(*room->unions)),
        .n_unions = calloc((size_t)conflicts->n_groups + 1, sizeof(*room->n_unions)),
        .is_placed = calloc(n_room, sizeof(*room->is_placed)),
    };
    return room->taken != NULL && room->spare != NULL && room->unions != NULL &&
                   room->n_unions != NULL && room->is_placed != NULL
               ? STARPOOL_OK
               : STARPOOL_ENOMEM;
}

void sp_order_room_fini(struct sp_order_room *room)
{
    free(room->taken);
    free(room->spare);
    free(room->unions);
    free(room->n_unions);
    free(room->is_placed);
}

uint64_t sp_place_peak(const struct sp_place *place, const uint64_t *offsets)
{
    uint64_t peak = 0;

    for (uint32_t i = 0; i < place->n; i++)
        peak = sp_max(peak, offsets[i] + place->sizes[i]);
    return peak;
}

/* ---- sorting by address ------------------------------------------------------------------ */

static void sort_few(struct sp_range_taken *taken, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct sp_range_taken one = taken[i];
        uint32_t at = i;

        for (; at > 0 && taken[at - 1].offset > one.offset; at--)
            taken[at] = taken[at - 1];
        taken[at] = one;
    }
}

static void merge(const struct sp_range_taken *a, uint32_t n_a, const struct sp_range_taken *b,
                  uint32_t n_b, struct sp_range_taken *to)
{
    uint32_t i = 0, j = 0;

    while (i < n_a && j < n_b)
        *to++ = a[i].offset <= b[j].offset ? a[i++] : b[j++];
    while (i < n_a)
        *to++ = a[i++];
    while (j < n_b)
        *to++ = b[j++];
}

/* Runs of FEW, merged two by two; qsort() takes three times as long. Returns which of the two
 * arrays has the result. */
static struct sp_range_taken *sort_taken(struct sp_range_taken *taken,
                                         struct sp_range_taken *spare, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += FEW)
        sort_few(&taken[i], (uint32_t)sp_min(FEW, n - i));
    for (uint32_t run = FEW; run < n; run *= 2) {
        struct sp_range_taken *sorted = spare;

        for (uint32_t i = 0; i < n; i += 2 * run) {
            uint32_t n_a = (uint32_t)sp_min(run, n - i),
                     n_b = (uint32_t)sp_min(run, n - i - n_a);

            merge(&taken[i], n_a, &taken[i + n_a], n_b, &spare[i]);
        }
        spare = taken;
        taken = sorted;
    }
    return taken;
}

/* ---- gaps ---------------------------------------------------------------------------- */

static uint64_t find_gap(const struct sp_range_taken *taken, uint32_t n, uint64_t size,
                         uint64_t alignment, enum sp_fit fit)
{
    uint64_t top = 0, best = UINT64_MAX, best_size = UINT64_MAX;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t offset = sp_round_up(top, alignment);

        if (taken[i].offset >= offset + size && taken[i].offset - top < best_size) {
            best = offset;
            best_size = taken[i].offset - top;
            if (fit == SP_FIT_LOWEST)
                return best;
        }
        top = sp_max(top, taken[i].end);
    }
    return best == UINT64_MAX ? sp_round_up(top, alignment) : best;
}

/* Add what a block takes to what its group has taken: ranges in order that do not touch. */
static void unite(struct sp_range_taken *ranges, uint32_t *n, struct sp_range_taken added)
{
    uint32_t first = 0, last = *n, end;

    while (first < last) {
        uint32_t middle = first + (last - first) / 2;

        if (ranges[middle].end < added.offset)
            first = middle + 1;
        else
            last = middle;
    }
    for (end = first; end < *n && ranges[end].offset <= added.end; end++) {
        added.offset = sp_min(added.offset, ranges[end].offset);
        added.end = sp_max(added.end, ranges[end].end);
    }
    memmove(&ranges[first + 1], &ranges[end], (*n - end) * sizeof(*ranges));
    ranges[first] = added;
    *n = *n - (end - first) + 1;
}

static uint32_t collect(const struct sp_place *place, const struct sp_conflicts *conflicts,
                        uint32_t i, struct sp_order_room *room, const uint64_t *offsets)
{
    uint32_t n = 0;

    for (uint64_t k = conflicts->group_begin[i]; k < conflicts->group_begin[i + 1]; k++) {
        uint32_t group = conflicts->groups[k];

        memcpy(&room->taken[n], &room->unions[conflicts->group_first[group]],
               room->n_unions[group] * sizeof(*room->taken));
        n += room->n_unions[group];
    }
    for (uint64_t k = conflicts->begin[i]; k < conflicts->begin[i + 1]; k++) {
        uint32_t j = conflicts->list[k];

        if (room->is_placed[j])
            room->taken[n++] = (struct sp_range_taken){.offset = offsets[j],
                                                       .end = offsets[j] + place->sizes[j]};
    }
    return n;
}

static uint64_t place_block(const struct sp_place *place, const struct sp_conflicts *conflicts,
                            uint32_t i, enum sp_fit fit, struct sp_order_room *room,
                            const uint64_t *offsets)
{
    uint32_t n = collect(place, conflicts, i, room, offsets);
    uint64_t offset = find_gap(sort_taken(room->taken, room->spare, n), n, place->sizes[i],
                               place->alignments[i], fit);

    room->n_looked += conflicts->begin[i + 1] - conflicts->begin[i] + n + 1;
    room->is_placed[i] = true;
    for (uint32_t k = conflicts->own_begin[i]; k < conflicts->own_begin[i + 1]; k++) {
        uint32_t group = conflicts->own[k];

        unite(&room->unions[conflicts->group_first[group]], &room->n_unions[group],
              (struct sp_range_taken){.offset = offset, .end = offset + place->sizes[i]});
    }
    return offset;
}

uint64_t sp_place_in_order(const struct sp_place *place, const struct sp_conflicts *conflicts,
                           const uint32_t *order, enum sp_fit fit, uint64_t limit,
                           struct sp_order_room *room, uint64_t *offsets)
{
    uint64_t peak = 0;

    memset(room->is_placed, 0, place->n * sizeof(*room->is_placed));
    memset(room->n_unions, 0, conflicts->n_groups * sizeof(*room->n_unions));
    for (uint32_t k = 0; k < place->n; k++) {
        uint32_t i = order[k];

        offsets[i] = place_block(place, conflicts, i, fit, room, offsets);
        peak = sp_max(peak, offsets[i] + place->sizes[i]);
        if (peak >= limit)
            return UINT64_MAX;
    }
    return peak;
}
