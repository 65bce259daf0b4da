/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bound by sections. Of a section's blocks, those that cannot be lower than some offset lie
 * all above it, one on the other: that offset and the sum of their sizes are within the
 * capacity, for each offset, or nothing fits. */
#include "config.h"

#include "graph/interval_part.h"

#include "src/util/util.h"

/* Blocks [begin, end) of what waits: not lower than `offset`. */
struct level {
    const struct sp_waiting *waiting;
    uint32_t begin, end;
    uint64_t offset;
    uint32_t from, to; /* sections looked at */
};

/* The sections of a block that are looked at; *from_out < *to_out, or there are none. */
static inline void clip(const struct sp_sections *sections, const struct level *level,
                        uint32_t block, uint32_t *from_out, uint32_t *to_out)
{
    *from_out = sections->first[block] > level->from ? sections->first[block] : level->from;
    *to_out = sections->last[block] < level->to ? sections->last[block] : level->to;
}

/* Pile blocks up one by one. Negative if the capacity is exceeded somewhere: sizes are below
 * 2^62, so that signs can be collected without a branch. */
static int64_t pile_blocks(struct sp_interval_search *search, const struct level *level)
{
    int64_t room = (int64_t)(search->limits.capacity - level->offset);
    int64_t signs = room;

    for (uint32_t i = level->begin; i < level->end; i++) {
        uint32_t block = level->waiting->block[i], from, to;
        uint64_t size = search->sections->size[block];

        clip(search->sections, level, block, &from, &to);
        for (uint32_t section = from; section < to; section++) {
            search->pile[section] += size;
            signs |= room - (int64_t)search->pile[section];
        }
    }
    return signs;
}

/* The same for many blocks: their begins and ends first, then one walk over the sections. */
static int64_t pile_steps(struct sp_interval_search *search, const struct level *level)
{
    int64_t room = (int64_t)(search->limits.capacity - level->offset);
    int64_t signs = room, height = 0;

    for (uint32_t i = level->begin; i < level->end; i++) {
        uint32_t block = level->waiting->block[i], from, to;
        int64_t size = (int64_t)search->sections->size[block];

        clip(search->sections, level, block, &from, &to);
        if (from >= to)
            continue;
        search->step[from] += size;
        search->step[to] -= size;
    }
    for (uint32_t section = level->from; section < level->to; section++) {
        height += search->step[section];
        search->step[section] = 0;
        search->pile[section] += (uint64_t)height;
        /* Where none of these blocks is, another level has said what there is to say. */
        if (height != 0)
            signs |= room - (int64_t)search->pile[section];
    }
    search->step[level->to] = 0;
    return signs;
}

static bool is_exceeded(struct sp_interval_search *search, const struct level *level)
{
    const struct sp_sections *sections = search->sections;
    uint64_t n_cells = 0;

    for (uint32_t i = level->begin; i < level->end; i++) {
        uint32_t block = level->waiting->block[i];

        n_cells += sections->last[block] - sections->first[block];
    }
    search->work_left -= sp_min(n_cells, search->work_left);
    if (level->end - level->begin > 1 && n_cells > 2 * (uint64_t)(level->to - level->from))
        return pile_steps(search, level) < 0;
    return pile_blocks(search, level) < 0;
}

/* A section in which a level exceeds the capacity is to blame. */
static void blame(struct sp_interval_search *search, const struct level *level)
{
    for (uint32_t i = level->begin; i < level->end; i++) {
        uint32_t from, to;

        clip(search->sections, level, level->waiting->block[i], &from, &to);
        for (uint32_t section = from; section < to; section++) {
            if (level->offset + search->pile[section] > search->limits.capacity) {
                sp_guilt_add(&search->guilt, section);
                return;
            }
        }
    }
    /* The offset alone exceeds the capacity: whichever block, its first section. */
    sp_guilt_add(&search->guilt, search->sections->first[level->waiting->block[level->begin]]);
}

/* Passed blocks are raised by others, at least to the lowest end that one of these can have. */
static uint64_t lowest_end(const struct sp_sections *sections, const struct sp_waiting *waiting)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t i = waiting->n_passed; i < waiting->n && waiting->low[i] < lowest; i++)
        lowest = sp_min(lowest, waiting->low[i] + sections->size[waiting->block[i]]);
    return lowest;
}

/* Passed blocks have played a part: the set covers the lives of those that it meets. */
static void close_over_passed(struct sp_interval_search *search,
                              const struct sp_waiting *waiting)
{
    const struct sp_sections *sections = search->sections;
    bool has_grown = true;

    while (has_grown) {
        has_grown = false;
        for (uint32_t i = 0; i < waiting->n_passed; i++) {
            uint32_t block = waiting->block[i];
            uint32_t first = sections->first[block], last = sections->last[block];

            if (sp_guilt_meets(&search->guilt, first, last))
                has_grown |= sp_guilt_add_range(&search->guilt, first, last);
        }
    }
}

/* The next level below: the passed blocks in their turn, else blocks that are equally low. */
static struct level next_level(const struct sp_waiting *waiting, uint32_t end,
                               uint64_t passed_offset, bool *has_passed)
{
    uint32_t begin = end;

    if (!*has_passed && (end == waiting->n_passed || waiting->low[end - 1] <= passed_offset)) {
        *has_passed = true;
        return (struct level){
            .waiting = waiting, .end = waiting->n_passed, .offset = passed_offset};
    }
    while (begin > waiting->n_passed && waiting->low[begin - 1] == waiting->low[end - 1])
        begin--;
    return (struct level){
        .waiting = waiting, .begin = begin, .end = end, .offset = waiting->low[end - 1]};
}

bool sp_part_exceeds(struct sp_interval_search *search, const struct sp_waiting *waiting,
                     uint64_t floor, uint32_t from, uint32_t to)
{
    bool has_passed = waiting->n_passed == 0;
    uint64_t passed_offset = has_passed ? 0 : lowest_end(search->sections, waiting);
    uint32_t end = waiting->n;

    sp_guilt_clear(&search->guilt);
    if (passed_offset > search->limits.capacity) {
        uint32_t block = waiting->block[0];

        sp_guilt_add_range(&search->guilt, search->sections->first[block],
                           search->sections->last[block]);
        close_over_passed(search, waiting);
        return true;
    }
    memset(search->pile + from, 0, (to - from) * sizeof(*search->pile));
    while (!has_passed || (end > waiting->n_passed && waiting->low[end - 1] > floor)) {
        struct level level = next_level(waiting, end, passed_offset, &has_passed);

        level.from = from;
        level.to = to;
        if (is_exceeded(search, &level)) {
            blame(search, &level);
            if (has_passed)
                close_over_passed(search, waiting);
            return true;
        }
        if (level.begin >= waiting->n_passed && level.end > waiting->n_passed)
            end = level.begin;
    }
    return false;
}
