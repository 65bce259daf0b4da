/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a planner of intervals works on: blocks that live in sections of time, and orders of
 * them. */
#ifndef SP_INTERVAL_SECTIONS_H
#define SP_INTERVAL_SECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "graph/interval.h"

/*
 * A section is a moment at which no block can be added to those that live: the others' lives
 * are parts of one of these. Two blocks meet in time if, and only if, they meet in a section.
 * A block lives in sections [first, last), of which there is one at least.
 */
struct sp_sections {
    uint32_t n;          /* blocks */
    uint32_t n_sections; /* at most n */
    uint32_t *block;     /* [n] number in the problem: those of size 0 are left out */
    uint32_t *first, *last;
    uint64_t *size;
    uint64_t *width;  /* [n] [time] */
    uint64_t *crowd;  /* [n] the largest weight of a block's sections */
    uint64_t *weight; /* [n_sections] of all blocks that live there */
    uint64_t unit;    /* all sizes are multiples of it */
    uint64_t total;   /* of all sizes */
    uint64_t lower_bound;
};

/* An end of a block's life. */
struct sp_interval_event {
    uint64_t time;
    uint32_t block;
    uint32_t is_begin;
};

/* A block and by what it is compared. */
struct sp_interval_key {
    double keys[3];
    uint32_t block;
};

/* How blocks are ordered where a choice is free. */
enum sp_interval_order {
    SP_INTERVAL_CROWD_WIDTH, /* by crowd, width, area */
    SP_INTERVAL_CROWD_AREA,  /* by crowd, area, width */
    SP_INTERVAL_NOISY_AREA,
    SP_INTERVAL_NOISY_CROWD_AREA,
    SP_INTERVAL_NOISY_CROWD_WIDTH,
};

/* Sort the ends of lives, and fill everything but `crowd`; all arrays have room for n of the
 * problem, `events` for 2 n. The sizes sum up to less than 2^62. */
void sp_sections_init(struct sp_sections *sections, const struct sp_interval_problem *problem,
                      struct sp_interval_event *events);

/* Number the blocks in an order. `keys` has room for n. */
void sp_sections_rank(const struct sp_sections *sections, enum sp_interval_order order,
                      uint64_t *random, struct sp_interval_key *keys, uint32_t *rank_out);

#endif /* SP_INTERVAL_SECTIONS_H */
