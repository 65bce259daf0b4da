/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time becomes sections, of which there are few; and blocks get an order, with noise or
 * without. */
#include "config.h"

#include "graph/interval_sections.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

/* What ends at a moment ends before anything begins. */
static int compare_events(const void *a, const void *b)
{
    const struct sp_interval_event *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->is_begin != y->is_begin)
        return x->is_begin < y->is_begin ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static uint64_t common_unit(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* A section is over when a block ends that shares it with one that has begun since the last
 * end. */
static void find_sections(struct sp_sections *sections, const struct sp_interval_event *events)
{
    uint32_t section = 0;
    bool has_begun = false;

    for (size_t i = 0; i < 2 * (size_t)sections->n; i++) {
        uint32_t block = events[i].block;

        if (events[i].is_begin) {
            sections->first[block] = section;
            has_begun = true;
            continue;
        }
        section += has_begun;
        has_begun = false;
        sections->last[block] = section;
    }
    sections->n_sections = section;
}

/* Sums of differences: what begins in a section less what has ended before it. Unsigned
 * numbers wrap around, and back again. */
static void weigh(struct sp_sections *sections)
{
    uint64_t weight = 0;

    memset(sections->weight, 0, sections->n_sections * sizeof(*sections->weight));
    for (uint32_t i = 0; i < sections->n; i++) {
        sections->weight[sections->first[i]] += sections->size[i];
        if (sections->last[i] < sections->n_sections)
            sections->weight[sections->last[i]] -= sections->size[i];
    }
    sections->lower_bound = 0;
    for (uint32_t i = 0; i < sections->n_sections; i++) {
        weight += sections->weight[i];
        sections->weight[i] = weight;
        if (weight > sections->lower_bound)
            sections->lower_bound = weight;
    }
}

void sp_sections_init(struct sp_sections *sections, const struct sp_interval_problem *problem,
                      struct sp_interval_event *events)
{
    uint32_t n = 0;

    sections->unit = 0;
    sections->total = 0;
    for (uint32_t i = 0; i < problem->n; i++) {
        if (problem->size[i] == 0)
            continue;
        sections->block[n] = i;
        sections->size[n] = problem->size[i];
        sections->width[n] = problem->upper[i] - problem->lower[i];
        sections->unit = common_unit(problem->size[i], sections->unit);
        sections->total += problem->size[i];
        events[2 * (size_t)n] = (struct sp_interval_event){problem->lower[i], n, 1};
        events[2 * (size_t)n + 1] = (struct sp_interval_event){problem->upper[i], n, 0};
        n++;
    }
    sections->n = n;
    if (n > 0)
        qsort(events, 2 * (size_t)n, sizeof(*events), compare_events);
    find_sections(sections, events);
    weigh(sections);
}

/* ---- orders -------------------------------------------------------------------------- */

/* Between 0.5 and 1.5. */
static double noise(uint64_t *random)
{
    return 0.5 + (double)(sp_random(random) >> 11) * 0x1p-53;
}

static int compare_keys(const void *a, const void *b)
{
    const struct sp_interval_key *x = a, *y = b;

    for (size_t i = 0; i < SP_ARRAY_SIZE(x->keys); i++) {
        if (x->keys[i] != y->keys[i])
            return x->keys[i] > y->keys[i] ? -1 : 1;
    }
    return x->block < y->block ? -1 : x->block > y->block;
}

static struct sp_interval_key key_of(const struct sp_sections *sections, uint32_t block,
                                     enum sp_interval_order order, uint64_t *random)
{
    double crowd = (double)sections->crowd[block];
    double width = (double)sections->width[block];
    double area = width * (double)sections->size[block];

    switch (order) {
    case SP_INTERVAL_CROWD_WIDTH:
        return (struct sp_interval_key){{crowd, width, area}, block};
    case SP_INTERVAL_CROWD_AREA:
        return (struct sp_interval_key){{crowd, area, width}, block};
    case SP_INTERVAL_NOISY_AREA:
        return (struct sp_interval_key){{area * noise(random), 0, 0}, block};
    case SP_INTERVAL_NOISY_CROWD_AREA:
        return (struct sp_interval_key){{crowd, area * noise(random), 0}, block};
    case SP_INTERVAL_NOISY_CROWD_WIDTH:
        return (struct sp_interval_key){{crowd, width * noise(random), 0}, block};
    }
    return (struct sp_interval_key){{0, 0, 0}, block};
}

void sp_sections_rank(const struct sp_sections *sections, enum sp_interval_order order,
                      uint64_t *random, struct sp_interval_key *keys, uint32_t *rank_out)
{
    for (uint32_t i = 0; i < sections->n; i++)
        keys[i] = key_of(sections, i, order, random);
    if (sections->n > 0)
        qsort(keys, sections->n, sizeof(*keys), compare_keys);
    for (uint32_t i = 0; i < sections->n; i++)
        rank_out[keys[i].block] = i;
}
