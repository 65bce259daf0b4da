/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sorted array: there are as many ranges as a program has freed blocks that nobody has taken
 * since, and it is a debugging aid that keeps them. */
#include "config.h"

#include "src/starpu/codelet_ranges.h"

#include <stdlib.h>
#include <string.h>

/* The first range that ends behind an address. */
static size_t find(const struct sp_freed_ranges *list, uintptr_t address)
{
    size_t low = 0;
    size_t high = list->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(struct sp_freed_ranges *list)
{
    size_t n_room = list->n_room == 0 ? 64 : 2 * list->n_room;
    struct sp_freed_range *ranges;

    if (list->n < list->n_room)
        return true;
    ranges = realloc(list->ranges, n_room * sizeof(struct sp_freed_range));
    if (ranges == NULL)
        return false;
    list->ranges = ranges;
    list->n_room = n_room;
    return true;
}

static bool insert(struct sp_freed_ranges *list, size_t at, const struct sp_freed_range *range)
{
    if (!make_room(list))
        return false;
    memmove(&list->ranges[at + 1], &list->ranges[at],
            (list->n - at) * sizeof(struct sp_freed_range));
    list->ranges[at] = *range;
    list->n++;
    return true;
}

static void drop(struct sp_freed_ranges *list, size_t at)
{
    list->n--;
    memmove(&list->ranges[at], &list->ranges[at + 1],
            (list->n - at) * sizeof(struct sp_freed_range));
}

bool sp_freed_ranges_add(struct sp_freed_ranges *list, const struct sp_block_past *past)
{
    struct sp_freed_range range = {past->start, past->start + past->size, *past};

    return insert(list, find(list, past->start), &range);
}

bool sp_freed_ranges_take(struct sp_freed_ranges *list, uintptr_t start, uintptr_t end,
                          struct sp_freed_range *range_out)
{
    size_t at = find(list, start);
    struct sp_freed_range *range;
    struct sp_freed_range rest;

    if (at == list->n || list->ranges[at].start >= end)
        return false;
    range = &list->ranges[at];
    *range_out = rest = *range;
    if (range->start < start) {
        /* What lies before stays in its place; what lies behind follows it. */
        range_out->start = range->end = start;
        at++;
    } else {
        drop(list, at);
    }
    if (rest.end > end) {
        range_out->end = rest.start = end;
        /* Without memory the rest is forgotten, and not looked at. */
        (void)insert(list, at, &rest);
    }
    return true;
}

void sp_freed_ranges_forget(struct sp_freed_ranges *list, int device)
{
    size_t i;
    size_t n = 0;

    for (i = 0; i < list->n; i++) {
        if (list->ranges[i].past.device != device)
            list->ranges[n++] = list->ranges[i];
    }
    list->n = n;
}

void sp_freed_ranges_fini(struct sp_freed_ranges *list)
{
    free(list->ranges);
    *list = (struct sp_freed_ranges){0};
}
