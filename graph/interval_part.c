/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of a problem: how they come to be, what is tried in them, who is to blame. */
#include "config.h"

#include "graph/interval_part.h"

#include "src/util/util.h"

void *sp_search_push(struct sp_interval_search *search, size_t size)
{
    void *ptr = search->stack + search->stack_used;

    size = sp_round_up(size, sizeof(uint64_t));
    if (size > search->stack_size - search->stack_used) {
        search->has_room = false;
        return NULL;
    }
    search->stack_used += size;
    return ptr;
}

/* ---- blame --------------------------------------------------------------------------- */

static bool meets_guilt(const struct sp_interval_search *search, uint32_t block)
{
    return sp_guilt_meets(&search->guilt, search->sections->first[block],
                          search->sections->last[block]);
}

static bool add_life(const struct sp_interval_search *search, uint32_t block)
{
    return sp_guilt_add_range(&search->guilt, search->sections->first[block],
                              search->sections->last[block]);
}

/* Blocks that are passed because they have failed bring along what they failed because of:
 * where they could be in their lowest place, that is what forbids it. Those that were given as
 * passed are accounted for where they have failed. */
void sp_part_close_guilt(const struct sp_interval_search *search, const struct sp_part *part)
{
    bool has_grown = true;

    while (has_grown) {
        has_grown = false;
        for (const struct sp_failure *it = part->failures; it != NULL; it = it->before) {
            if (it->n_passed >= part->waiting.n_passed || !meets_guilt(search, it->block))
                continue;
            has_grown |= add_life(search, it->block);
            has_grown |= sp_guilt_merge(&search->guilt, it->words);
        }
        for (uint32_t i = 0; i < part->n_given; i++) {
            if (meets_guilt(search, part->waiting.block[i]))
                has_grown |= add_life(search, part->waiting.block[i]);
        }
    }
}

bool sp_part_is_guilty(const struct sp_interval_search *search, const struct sp_part *part)
{
    const struct sp_waiting *waiting = &part->waiting;
    uint32_t placed = waiting->block[part->at];
    uint64_t top = waiting->low[part->at] + search->sections->size[placed];

    if (meets_guilt(search, placed))
        return true;
    for (uint32_t i = 0; i < waiting->n; i++) {
        if (i >= waiting->n_passed && waiting->low[i] >= top)
            break;
        if (waiting->low[i] < top &&
            sp_blocks_meet(search->sections, placed, waiting->block[i]) &&
            meets_guilt(search, waiting->block[i]))
            return true;
    }
    return false;
}

/* ---- choice -------------------------------------------------------------------------- */

/* Whether there is nothing to try: all are passed, the heaviest section does not fit above
 * `offset`, or a passed block fits below everything that could raise it. */
static bool is_lost(const struct sp_interval_search *search, const struct sp_part *part,
                    uint64_t offset)
{
    const struct sp_waiting *waiting = &part->waiting;

    sp_guilt_clear(&search->guilt);
    if (waiting->n_passed == waiting->n) {
        add_life(search, waiting->block[0]);
        return true;
    }
    if (offset + search->weight[part->heaviest] > search->limits.capacity) {
        sp_guilt_add(&search->guilt, part->heaviest);
        return true;
    }
    for (uint32_t i = 0; i < waiting->n_passed; i++) {
        if (waiting->low[i] + search->sections->size[waiting->block[i]] <= offset) {
            add_life(search, waiting->block[i]);
            return true;
        }
    }
    return false;
}

/* Of the sections where blocks [begin, end), all equally low, could be next: one with little
 * slack and few of them. */
static uint32_t choose_section(struct sp_interval_search *search, const struct sp_part *part,
                               uint32_t begin, uint32_t end)
{
    const struct sp_sections *sections = search->sections;
    const struct sp_waiting *waiting = &part->waiting;
    double worth = search->limits.slack_worth / (double)search->limits.capacity;
    double best_cost = 0;
    uint32_t from = part->last, to = part->first, best = part->last;
    int64_t n_blocks = 0;

    for (uint32_t i = begin; i < end; i++) {
        uint32_t first = sections->first[waiting->block[i]];
        uint32_t last = sections->last[waiting->block[i]];

        search->step[first]++;
        search->step[last]--;
        from = first < from ? first : from;
        to = last > to ? last : to;
    }
    for (uint32_t section = from; section < to; section++) {
        uint64_t slack =
            search->limits.capacity - waiting->low[begin] - search->weight[section];
        double cost;

        n_blocks += search->step[section];
        search->step[section] = 0;
        cost = (double)slack * worth + (double)n_blocks;
        if (n_blocks > 0 && (best == part->last || cost < best_cost)) {
            best = section;
            best_cost = cost;
        }
    }
    search->step[to] = 0;
    return best;
}

/* Shell's sort, with the gaps of Knuth. */
static void sort_by_rank(const uint32_t *rank, uint32_t *blocks, uint32_t n)
{
    uint32_t gap = 1;

    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (uint32_t i = gap; i < n; i++) {
            uint32_t block = blocks[i], at = i;

            for (; at >= gap && rank[block] < rank[blocks[at - gap]]; at -= gap)
                blocks[at] = blocks[at - gap];
            blocks[at] = block;
        }
    }
}

bool sp_part_choose(struct sp_interval_search *search, struct sp_part *part)
{
    const struct sp_sections *sections = search->sections;
    struct sp_waiting *waiting = &part->waiting;
    uint32_t begin = waiting->n_passed, end = begin, last, section;

    if (is_lost(search, part, begin < waiting->n ? waiting->low[begin] : 0))
        return false;
    for (last = begin; last < waiting->n && waiting->low[last] == waiting->low[begin];)
        last++;
    section = choose_section(search, part, begin, last);
    for (uint32_t i = begin; i < last; i++) {
        uint32_t block = waiting->block[i];

        if (sections->first[block] > section || sections->last[block] <= section)
            continue;
        waiting->block[i] = waiting->block[end];
        waiting->block[end++] = block;
    }
    sort_by_rank(search->rank, waiting->block + begin, end - begin);
    part->at = begin;
    part->end = end;
    return true;
}
