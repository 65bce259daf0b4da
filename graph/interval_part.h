/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pieces that a search is made of: parts of the problem, bounds on them, and the blame when
 * they fail. */
#ifndef SP_INTERVAL_PART_H
#define SP_INTERVAL_PART_H

#include "graph/interval_search.h"

/* A block that was tried in a part in vain, and the sections that are to blame. */
struct sp_failure {
    struct sp_failure *before;
    uint32_t block;
    uint32_t n_passed; /* of the part, when the block was tried */
    uint64_t words[];  /* of the set */
};

/* Blocks that are not placed, each with the lowest offset that what is placed leaves it. */
struct sp_waiting {
    uint32_t n;
    uint32_t n_passed; /* the first so many, in no order, are not placed before they are raised;
                          the others are sorted by `low` */
    uint32_t *block;   /* [n] */
    uint64_t *low;     /* [n] */
};

/*
 * A part of the problem that the rest has no influence on any more: sections [first, last), and
 * the blocks waiting there. All of them lie at `floor` or above in a solution that is looked
 * for.
 *
 * A part fails because of a set of sections if, with the blocks and lows that meet the set,
 * each way to place them at the floor or above leaves free the lowest place of a passed block
 * that meets the set. The set covers the lives of all passed blocks that it meets, so that a
 * place that is free there is free.
 */
struct sp_part {
    struct sp_part *parent; /* where block `at` was placed; NULL: all of the problem */
    struct sp_part *next;   /* to be solved after this one; NULL: nothing else of the parent */
    struct sp_waiting waiting;
    uint32_t first, last;
    uint64_t floor;
    uint32_t heaviest; /* of the sections */
    uint32_t n_given;  /* blocks that had been passed when the part began */
    uint32_t at, end;  /* the block being tried, and where those end that are tried now */
    struct sp_failure *failures; /* the latest first */
    size_t stack_used;           /* with the failures */
    uint32_t n_trail;
};

static inline bool sp_blocks_meet(const struct sp_sections *sections, uint32_t a, uint32_t b)
{
    return sections->first[a] < sections->last[b] && sections->first[b] < sections->last[a];
}

/* Room on the stack; NULL, and has_room is false, if there is none. */
void *sp_search_push(struct sp_interval_search *search, size_t size);

/* Whether a bound forbids what waits at `floor` or above, looking at the sections in [from, to)
 * alone. If it does, the guilt is set. */
bool sp_part_exceeds(struct sp_interval_search *search, const struct sp_waiting *waiting,
                     uint64_t floor, uint32_t from, uint32_t to);

/* Make the guilt a set that the part fails because of. */
void sp_part_close_guilt(const struct sp_interval_search *search, const struct sp_part *part);

/* Whether placing block `at` has changed anything that meets the guilt. */
bool sp_part_is_guilty(const struct sp_interval_search *search, const struct sp_part *part);

/* Choose which blocks of a part are tried now. False, and the guilt is set, if there is no need
 * to try any: the part fails. */
bool sp_part_choose(struct sp_interval_search *search, struct sp_part *part);

/* The part that a part becomes when one of its blocks is placed and the others still hold
 * together. NULL without room. */
struct sp_part *sp_part_shrink(struct sp_interval_search *search, struct sp_part *parent,
                               const struct sp_waiting *waiting, uint64_t floor);

/* Cut what waits into parts; the first of them, the smallest, or NULL if nothing of two blocks
 * or more is left. Blocks that are alone are placed. `parent` is NULL for all of the problem.
 */
struct sp_part *sp_part_split(struct sp_interval_search *search, struct sp_part *parent,
                              const struct sp_waiting *waiting, uint64_t floor);

#endif /* SP_INTERVAL_PART_H */
