/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The blocks of one location, and ways to give them addresses. Blocks are numbered from 0 here,
 * in the order of the graph; `offsets` have room for all of them. */
#ifndef SP_PLACE_H
#define SP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/liveness.h"

struct sp_place {
    const struct sp_liveness *liveness;
    uint32_t n;
    uint32_t *blocks;     /* [n] their numbers in the graph */
    uint64_t *sizes;      /* [n] [bytes] rounded up */
    uint64_t *alignments; /* [n] [bytes] powers of two; what offsets are multiples of */
};

/*
 * Which blocks must not share addresses. Those of block i are list[begin[i]] up to
 * list[begin[i + 1]], in no order, and all blocks of the groups groups[group_begin[i]] up to
 * groups[group_begin[i + 1]]: branches that are not ordered at all would else have too many.
 * Block i is itself in the groups own[own_begin[i]] up to own[own_begin[i + 1]].
 */
struct sp_conflicts {
    uint64_t *begin; /* [n + 1] */
    uint32_t *list;
    uint64_t *group_begin; /* [n + 1] */
    uint32_t *groups;
    uint32_t *own_begin, *own; /* [n + 1] */
    uint32_t n_groups;
    uint32_t *group_first; /* [n_groups + 1] sums of the groups' sizes */
    uint32_t *degree;      /* [n] how many blocks conflict with a block; at least so many */
};

/* Where in the free ranges a block goes. */
enum sp_fit {
    SP_FIT_LOWEST, /* the lowest that holds it */
    SP_FIT_BEST,   /* the smallest that holds it */
};

/* Whether two blocks of a place may not share addresses. */
static inline bool sp_place_conflicts(const struct sp_place *place, uint32_t i, uint32_t j)
{
    uint32_t a = place->blocks[i], b = place->blocks[j];

    return !sp_liveness_is_over(place->liveness, a, b) &&
           !sp_liveness_is_over(place->liveness, b, a);
}

/* The highest end of a block. */
uint64_t sp_place_peak(const struct sp_place *place, const uint64_t *offsets);

/* ---- conflicts.c ------------------------------------------------------------------------ */

/* All conflicts, in time in proportion to the lists. If these have more than `most` entries,
 * `conflicts_out->list` is NULL. */
STARPOOL_CHECK enum starpool_status sp_conflicts_init(struct sp_conflicts *conflicts_out,
                                                      const struct sp_place *place,
                                                      uint64_t most);
void sp_conflicts_fini(struct sp_conflicts *conflicts);

/* ---- sweep.c ---------------------------------------------------------------------------- */

/* Give addresses block by block in the order in which they begin, or, backwards, from the last
 * to end to the first; each range of addresses knows only who had it last. */
STARPOOL_CHECK enum starpool_status sp_place_sweep(const struct sp_place *place,
                                                   bool is_backward, enum sp_fit fit,
                                                   uint64_t *offsets);

/* ---- order.c ---------------------------------------------------------------------------- */

/* Room that sp_place_in_order() works in. */
struct sp_order_room {
    struct sp_range_taken *taken, *spare; /* what is in the way of a block, and for sorting */
    struct sp_range_taken *unions; /* what each group has taken, from its group_first on */
    uint32_t *n_unions;            /* [n_groups] */
    bool *is_placed;               /* [n] */
    uint64_t n_looked;             /* conflicts and ranges that have been looked at */
};

STARPOOL_CHECK enum starpool_status sp_order_room_init(struct sp_order_room *room, uint32_t n,
                                                       const struct sp_conflicts *conflicts);
void sp_order_room_fini(struct sp_order_room *room);

/* Give addresses block by block in any order, [n]; each goes where none that conflicts with it
 * is yet. Ends early, with UINT64_MAX, once the peak is `limit` or more; else the peak. */
uint64_t sp_place_in_order(const struct sp_place *place, const struct sp_conflicts *conflicts,
                           const uint32_t *order, enum sp_fit fit, uint64_t limit,
                           struct sp_order_room *room, uint64_t *offsets);

/* ---- exact.c ---------------------------------------------------------------------------- */

/* Places up to this size are searched to the end. */
#define SP_EXACT_MOST 8

/* The lowest peak of all, for at most SP_EXACT_MOST blocks; none is below `bound`. `offsets`
 * hold a plan already and are changed if a better one is found. */
void sp_place_exactly(const struct sp_place *place, uint64_t bound, uint64_t *offsets,
                      uint64_t *n_nodes);

/* ---- improve.c -------------------------------------------------------------------------- */

/* What is known of a search. */
struct sp_search {
    uint64_t bound;  /* [bytes] no plan is better */
    uint64_t work;   /* conflicts and ranges looked at in any case */
    uint64_t end_ns; /* until when the search goes on after that; 0: not at all */
    uint64_t seed;
    uint64_t n_nodes; /* counted: blocks placed */
};

/* Several orderings, then changes to the best one until the work is done and the time is over.
 * `offsets` hold a plan already and are changed if a better one is found. */
STARPOOL_CHECK enum starpool_status sp_place_improve(const struct sp_place *place,
                                                     const struct sp_conflicts *conflicts,
                                                     struct sp_search *search,
                                                     uint64_t *offsets);

/* [ns] What sp_clock_ns() shows when a time from now on is over; 0 if there is no time. */
uint64_t sp_place_end(uint64_t time_ns);

#endif /* SP_PLACE_H */
