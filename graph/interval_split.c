/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where no block lives on from one section to the next, a problem falls apart into parts that
 * know nothing of each other. */
#include "config.h"

#include "graph/interval_part.h"

/* Find runs of sections that blocks hold together: `reach` becomes the first section of the
 * run that a section is in, and `n_in_run` of that section how many blocks live there. */
static void find_runs(struct sp_interval_search *search, const struct sp_waiting *waiting,
                      uint32_t first, uint32_t last)
{
    const struct sp_sections *sections = search->sections;
    uint32_t *reach = search->reach;
    uint32_t begin = first, end = first;

    for (uint32_t i = first; i < last; i++) {
        reach[i] = i;
        search->n_in_run[i] = 0;
    }
    for (uint32_t i = 0; i < waiting->n; i++) {
        uint32_t block = waiting->block[i];

        if (reach[sections->first[block]] < sections->last[block])
            reach[sections->first[block]] = sections->last[block];
    }
    for (uint32_t i = first; i < last; i++) {
        if (i >= end)
            begin = i;
        end = reach[i] > end ? reach[i] : end;
        reach[i] = begin;
    }
    for (uint32_t i = 0; i < waiting->n; i++)
        search->n_in_run[reach[sections->first[waiting->block[i]]]]++;
}

/* A part of sections [first, last), still without blocks. */
static struct sp_part *push_part(struct sp_interval_search *search, struct sp_part *parent,
                                 uint32_t first, uint32_t last, uint64_t floor)
{
    struct sp_part *part = sp_search_push(search, sizeof(*part));

    if (part == NULL)
        return NULL;
    *part = (struct sp_part){
        .parent = parent, .first = first, .last = last, .floor = floor, .heaviest = first};
    for (uint32_t i = first; i < last; i++) {
        if (search->weight[i] > search->weight[part->heaviest])
            part->heaviest = i;
    }
    return part;
}

static uint32_t end_of_run(const struct sp_interval_search *search, uint32_t first,
                           uint32_t last)
{
    uint32_t end = first;

    while (end < last && search->reach[end] == first)
        end++;
    return end;
}

/* Room for the blocks of a part. */
static bool push_waiting(struct sp_interval_search *search, struct sp_waiting *waiting,
                         uint32_t n)
{
    waiting->block = sp_search_push(search, n * sizeof(*waiting->block));
    if (waiting->block == NULL)
        return false;
    waiting->low = sp_search_push(search, n * sizeof(*waiting->low));
    return waiting->low != NULL;
}

/* Give each block to its part, in order; those without a part are alone. */
static void deal(struct sp_interval_search *search, const struct sp_waiting *waiting)
{
    for (uint32_t i = 0; i < waiting->n; i++) {
        uint32_t block = waiting->block[i];
        uint32_t run = search->reach[search->sections->first[block]];
        struct sp_part *part = search->part_of_run[run];

        if (search->n_in_run[run] == 1) {
            search->offsets[block] = waiting->low[i];
            continue;
        }
        part->waiting.block[part->waiting.n] = block;
        part->waiting.low[part->waiting.n++] = waiting->low[i];
        part->waiting.n_passed += i < waiting->n_passed;
    }
}

/* Two lists, each by size, become one. */
static struct sp_part *merge(struct sp_part *a, struct sp_part *b)
{
    struct sp_part *first = NULL, **end = &first;

    while (a != NULL && b != NULL) {
        struct sp_part **smaller = b->waiting.n < a->waiting.n ? &b : &a;

        *end = *smaller;
        end = &(*smaller)->next;
        *smaller = *end;
    }
    *end = a != NULL ? a : b;
    return first;
}

/* Smallest first: what fails soon costs little. List i of `sorted` has 2^i parts or none. */
static struct sp_part *sort_by_size(struct sp_part *parts)
{
    struct sp_part *sorted[32] = {NULL}, *rest = NULL;

    while (parts != NULL) {
        struct sp_part *run = parts;
        unsigned i = 0;

        parts = parts->next;
        run->next = NULL;
        for (; sorted[i] != NULL; i++) {
            run = merge(sorted[i], run);
            sorted[i] = NULL;
        }
        sorted[i] = run;
    }
    for (unsigned i = 0; i < 32; i++)
        rest = merge(sorted[i], rest);
    return rest;
}

/* One part for each run of two blocks or more; false without room. */
static bool push_parts(struct sp_interval_search *search, struct sp_part *parent,
                       const struct sp_waiting *waiting, uint32_t first, uint32_t last,
                       uint64_t floor, struct sp_part **parts_out)
{
    struct sp_part **end = parts_out;

    for (uint32_t i = first; i < last; i++) {
        uint32_t n = search->n_in_run[i];
        struct sp_part *part;

        if (n < 2)
            continue;
        part = push_part(search, parent, i, end_of_run(search, i, last), floor);
        if (part == NULL)
            return false;
        /* What holds together has its list already. */
        if (n == waiting->n)
            part->waiting = (struct sp_waiting){.block = waiting->block, .low = waiting->low};
        else if (!push_waiting(search, &part->waiting, n))
            return false;
        search->part_of_run[i] = part;
        *end = part;
        end = &part->next;
    }
    return true;
}

struct sp_part *sp_part_shrink(struct sp_interval_search *search, struct sp_part *parent,
                               const struct sp_waiting *waiting, uint64_t floor)
{
    struct sp_part *part = push_part(search, parent, parent->first, parent->last, floor);

    if (part == NULL)
        return NULL;
    part->waiting = *waiting;
    part->n_given = waiting->n_passed;
    part->stack_used = search->stack_used;
    return part;
}

struct sp_part *sp_part_split(struct sp_interval_search *search, struct sp_part *parent,
                              const struct sp_waiting *waiting, uint64_t floor)
{
    uint32_t first = parent != NULL ? parent->first : 0;
    uint32_t last = parent != NULL ? parent->last : search->sections->n_sections;
    struct sp_part *parts = NULL;

    find_runs(search, waiting, first, last);
    if (!push_parts(search, parent, waiting, first, last, floor, &parts))
        return NULL;
    deal(search, waiting);
    parts = sort_by_size(parts);
    for (struct sp_part *part = parts; part != NULL; part = part->next) {
        part->n_given = part->waiting.n_passed;
        part->stack_used = search->stack_used;
    }
    return parts;
}
