/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Branch and bound over addresses of blocks that live in sections of time. */
#ifndef SP_INTERVAL_SEARCH_H
#define SP_INTERVAL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/interval_guilt.h"
#include "graph/interval_sections.h"

enum sp_search_answer {
    SP_SEARCH_FITS,    /* offsets are set */
    SP_SEARCH_FAILS,   /* proved: nothing fits */
    SP_SEARCH_LIMIT,   /* of nodes or time */
    SP_SEARCH_NO_ROOM, /* the stack is used up */
};

struct sp_part;

/* How far a search goes, and what it prefers. */
struct sp_search_limits {
    uint64_t capacity;
    uint64_t n_nodes;
    uint64_t deadline_ns; /* by sp_clock_ns() */
    unsigned slack_worth; /* how many blocks to choose among the capacity as slack is worth */
};

/* Room that a search works in, and where it stands. */
struct sp_interval_search {
    const struct sp_sections *sections;
    const uint32_t *rank; /* [n] which of several blocks is tried first */
    uint64_t *offsets;    /* [n] */
    uint64_t *weight;     /* [n_sections] of all blocks that are not placed */
    uint32_t *n_across;   /* [n_sections] of those, how many live there and in the one before */
    uint64_t *pile;       /* [n_sections] of the blocks looked at by a bound */
    int64_t *step;        /* [n_sections + 1] differences; 0 between uses */
    uint32_t *reach;      /* [n_sections] for interval_split.c, as are the next two */
    uint32_t *n_in_run;   /* [n_sections] */
    struct sp_part **part_of_run; /* [n_sections] */
    uint32_t *trail;              /* [n] placed blocks, in order */
    uint32_t *raised;             /* [n] blocks that the block being placed lifts */
    struct sp_guilt guilt;
    char *stack;
    size_t stack_size; /* [bytes] */

    struct sp_search_limits limits;
    size_t stack_used; /* [bytes] */
    uint32_t n_trail;
    uint64_t n_nodes;   /* of this search */
    uint64_t work_left; /* before the clock is read again */
    bool has_room;      /* false from when the stack was too small */
};

/* Bytes of stack that no search of n blocks is likely to exceed, or the most that is taken. */
size_t sp_search_stack_size(uint32_t n);

enum sp_search_answer sp_interval_search(struct sp_interval_search *search,
                                         const struct sp_search_limits *limits);

#endif /* SP_INTERVAL_SEARCH_H */
