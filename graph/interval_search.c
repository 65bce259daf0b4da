/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Branch and bound. In a lowest solution each block lies on the ground or on another one, and
 * seen from the lowest offset upwards each block is placed as low as what is placed already
 * leaves it. So: take the lowest offset at which a block can be placed, and a section where one
 * can; either one of the blocks of that section is there, or none. All of them are tried; after
 * that they are passed, which means that something else has to raise them first.
 *
 * What fails says because of which sections. If placing a block has changed nothing there, the
 * part fails in which it was placed, and its other blocks need not be tried.
 */
#include "config.h"

#include "graph/interval_search.h"

#include "graph/interval_part.h"
#include "src/util/util.h"

/* [bytes] The largest stack: the searches that would use more do not end in good time. */
#define MAX_STACK (32 * SP_MIB)

/* How many numbers are looked at between two readings of the clock: about 50 us. */
#define WORK 50000

size_t sp_search_stack_size(uint32_t n)
{
    size_t most = MAX_STACK - 64 * SP_KIB;

    if (n >= 1448)
        return MAX_STACK;
    return sp_min(most, 16 * (size_t)n * n) + 64 * SP_KIB;
}

static bool is_over(struct sp_interval_search *search)
{
    if (search->n_nodes >= search->limits.n_nodes)
        return true;
    if (search->work_left > 0)
        return false;
    search->work_left = WORK;
    return sp_clock_ns() >= search->limits.deadline_ns;
}

/* ---- placing a block ----------------------------------------------------------------- */

/* Take back the blocks that were placed after the first `n_trail`. */
static void undo(struct sp_interval_search *search, uint32_t n_trail)
{
    const struct sp_sections *sections = search->sections;

    while (search->n_trail > n_trail) {
        uint32_t block = search->trail[--search->n_trail];

        for (uint32_t i = sections->first[block]; i < sections->last[block]; i++)
            search->weight[i] += sections->size[block];
        for (uint32_t i = sections->first[block] + 1; i < sections->last[block]; i++)
            search->n_across[i]++;
    }
}

/* Whether two neighbouring sections have no block in common any more. */
static bool put(struct sp_interval_search *search, uint32_t block, uint64_t offset)
{
    const struct sp_sections *sections = search->sections;
    uint32_t first = sections->first[block], last = sections->last[block];
    bool is_broken = false;

    search->offsets[block] = offset;
    search->trail[search->n_trail++] = block;
    for (uint32_t i = first; i < last; i++)
        search->weight[i] -= sections->size[block];
    for (uint32_t i = first + 1; i < last; i++)
        is_broken |= --search->n_across[i] == 0;
    return is_broken;
}

static void append(struct sp_waiting *waiting, uint32_t block, uint64_t low)
{
    waiting->block[waiting->n] = block;
    waiting->low[waiting->n++] = low;
}

static void append_raised(const struct sp_interval_search *search, struct sp_waiting *waiting,
                          uint32_t n_raised, uint64_t low)
{
    for (uint32_t i = 0; i < n_raised; i++)
        append(waiting, search->raised[i], low);
}

/* What waits after block `at` of a part is placed: those that it lifts come together on top of
 * it, the others keep their order. Sections [*from_out, *to_out) have changed. */
static void lift(struct sp_interval_search *search, const struct sp_part *part,
                 struct sp_waiting *waiting, uint32_t *from_out, uint32_t *to_out)
{
    const struct sp_sections *sections = search->sections;
    const struct sp_waiting *before = &part->waiting;
    uint32_t placed = before->block[part->at], n_raised = 0;
    uint64_t top = before->low[part->at] + sections->size[placed];
    bool is_appended = false;

    *from_out = sections->first[placed];
    *to_out = sections->last[placed];
    for (uint32_t i = 0; i < before->n; i++) {
        uint32_t block = before->block[i];

        if (!is_appended && i >= before->n_passed && before->low[i] >= top) {
            append_raised(search, waiting, n_raised, top);
            is_appended = true;
        }
        if (i == part->at)
            continue;
        if (before->low[i] >= top || !sp_blocks_meet(sections, placed, block)) {
            append(waiting, block, before->low[i]);
            waiting->n_passed += i < before->n_passed;
            continue;
        }
        search->raised[n_raised++] = block;
        *from_out = sections->first[block] < *from_out ? sections->first[block] : *from_out;
        *to_out = sections->last[block] > *to_out ? sections->last[block] : *to_out;
    }
    if (!is_appended)
        append_raised(search, waiting, n_raised, top);
}

/* Place block `at` of a part. False if it fails, and the guilt is set, or if there is no room;
 * else *parts_out is what is left, or NULL. */
static bool place(struct sp_interval_search *search, struct sp_part *part,
                  struct sp_part **parts_out)
{
    uint64_t offset = part->waiting.low[part->at];
    size_t n = part->waiting.n - 1;
    struct sp_waiting waiting = {0};
    uint32_t from, to;
    bool is_broken;

    search->n_nodes++;
    search->work_left -= sp_min(search->work_left, n + part->last - part->first);
    waiting.block = sp_search_push(search, n * sizeof(*waiting.block));
    waiting.low = sp_search_push(search, n * sizeof(*waiting.low));
    if (waiting.block == NULL || waiting.low == NULL)
        return false;
    lift(search, part, &waiting, &from, &to);
    is_broken = put(search, part->waiting.block[part->at], offset);
    if (sp_part_exceeds(search, &waiting, offset, from, to))
        return false;
    if (is_broken || n < 2)
        *parts_out = sp_part_split(search, part, &waiting, offset);
    else
        *parts_out = sp_part_shrink(search, part, &waiting, offset);
    return search->has_room;
}

/* ---- the way through the parts ------------------------------------------------------- */

/* Take the stack back to what a part itself needs. */
static void rewind_to(struct sp_interval_search *search, const struct sp_part *part)
{
    search->stack_used = part->stack_used;
    undo(search, part->n_trail);
}

/* Begin a part. */
static void enter(struct sp_interval_search *search, struct sp_part *part)
{
    search->stack_used = part->stack_used;
    part->n_trail = search->n_trail;
}

/* Note that block `at` has failed, and go to the next one. */
static void note_failure(struct sp_interval_search *search, struct sp_part *part)
{
    size_t size = search->guilt.n_words * sizeof(*search->guilt.words);
    struct sp_failure *failure;

    rewind_to(search, part);
    failure = sp_search_push(search, sizeof(*failure) + size);
    if (failure == NULL)
        return;
    failure->before = part->failures;
    failure->block = part->waiting.block[part->at];
    failure->n_passed = part->waiting.n_passed;
    memcpy(failure->words, search->guilt.words, size);
    part->failures = failure;
    part->stack_used = search->stack_used;
    part->at++;
}

/* A block was tried, or a part is lost, and the guilt says why: the innermost part where
 * something else can be tried, or NULL if all has failed. */
static struct sp_part *retreat(struct sp_interval_search *search, struct sp_part *part)
{
    while (part != NULL && !sp_part_is_guilty(search, part)) {
        sp_part_close_guilt(search, part);
        part = part->parent;
    }
    if (part != NULL)
        note_failure(search, part);
    return part;
}

/* After all blocks of the chosen section have failed they are passed; what this means for the
 * sections that they live in. */
static bool pass(struct sp_interval_search *search, struct sp_part *part)
{
    const struct sp_sections *sections = search->sections;
    struct sp_waiting *waiting = &part->waiting;
    uint32_t from = part->last, to = part->first;

    for (uint32_t i = waiting->n_passed; i < part->end; i++) {
        uint32_t block = waiting->block[i];

        from = sections->first[block] < from ? sections->first[block] : from;
        to = sections->last[block] > to ? sections->last[block] : to;
    }
    waiting->n_passed = part->end;
    return !sp_part_exceeds(search, waiting, waiting->low[part->end - 1], from, to);
}

/* Whether block `at` differs from the one tried before it in name only. */
static bool is_a_twin(const struct sp_interval_search *search, const struct sp_part *part)
{
    const struct sp_sections *sections = search->sections;
    uint32_t block = part->waiting.block[part->at], before;

    if (part->at == part->waiting.n_passed)
        return false;
    before = part->waiting.block[part->at - 1];
    return sections->size[block] == sections->size[before] &&
           sections->first[block] == sections->first[before] &&
           sections->last[block] == sections->last[before];
}

/* The next part to be solved after one is; NULL: all are. */
static struct sp_part *next_of(struct sp_part *part)
{
    while (part != NULL && part->next == NULL)
        part = part->parent;
    return part != NULL ? part->next : NULL;
}

/* One block more, or one less: the part to go on with, or NULL with the answer. */
static struct sp_part *step(struct sp_interval_search *search, struct sp_part *part,
                            enum sp_search_answer *answer)
{
    struct sp_part *parts = NULL;

    *answer = SP_SEARCH_FAILS;
    while (part->at < part->end && is_a_twin(search, part))
        part->at++;
    if (part->at == part->end) {
        if ((part->end == 0 || pass(search, part)) && sp_part_choose(search, part))
            return part;
        sp_part_close_guilt(search, part);
        return part->parent != NULL ? retreat(search, part->parent) : NULL;
    }
    if (!place(search, part, &parts))
        return search->has_room ? retreat(search, part) : NULL;
    *answer = SP_SEARCH_FITS;
    part = parts != NULL ? parts : next_of(part);
    if (part != NULL)
        enter(search, part);
    return part;
}

/* Differences first, then their sums. */
static void count_across(struct sp_interval_search *search)
{
    const struct sp_sections *sections = search->sections;

    memset(search->n_across, 0, sections->n_sections * sizeof(*search->n_across));
    for (uint32_t i = 0; i < sections->n; i++) {
        if (sections->first[i] + 1 < sections->n_sections)
            search->n_across[sections->first[i] + 1]++;
        if (sections->last[i] < sections->n_sections)
            search->n_across[sections->last[i]]--;
    }
    for (uint32_t i = 1; i < sections->n_sections; i++)
        search->n_across[i] += search->n_across[i - 1];
}

/* All blocks, none of them placed. */
static struct sp_part *begin(struct sp_interval_search *search)
{
    const struct sp_sections *sections = search->sections;
    struct sp_waiting waiting = {.n = sections->n};

    search->stack_used = 0;
    search->n_trail = 0;
    search->n_nodes = 0;
    search->work_left = WORK;
    search->has_room = true;
    memcpy(search->weight, sections->weight, sections->n_sections * sizeof(*search->weight));
    count_across(search);
    waiting.block = sp_search_push(search, waiting.n * sizeof(*waiting.block));
    waiting.low = sp_search_push(search, waiting.n * sizeof(*waiting.low));
    if (waiting.block == NULL || waiting.low == NULL)
        return NULL;
    for (uint32_t i = 0; i < waiting.n; i++) {
        waiting.block[search->rank[i]] = i;
        waiting.low[i] = 0;
    }
    return sp_part_split(search, NULL, &waiting, 0);
}

enum sp_search_answer sp_interval_search(struct sp_interval_search *search,
                                         const struct sp_search_limits *limits)
{
    enum sp_search_answer answer = SP_SEARCH_FITS;
    struct sp_part *part;

    if (limits->capacity < search->sections->lower_bound)
        return SP_SEARCH_FAILS;
    search->limits = *limits;
    /* Above the sum of all sizes nothing changes, and differences stay small. */
    search->limits.capacity = sp_min(limits->capacity, search->sections->total);
    part = begin(search);
    if (part != NULL)
        enter(search, part);
    while (part != NULL && search->has_room) {
        if (is_over(search))
            return SP_SEARCH_LIMIT;
        part = step(search, part, &answer);
    }
    return search->has_room ? answer : SP_SEARCH_NO_ROOM;
}
