/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A world in which random things happen to an order, a stream-ordered heap and a checker, and
 * the same things to the oracle. What is taken must be allowed by the edge that the heap names;
 * what is refused must not have been there. */
#ifndef SP_REUSE_WORLD_H
#define SP_REUSE_WORLD_H

#include "tests/support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/heap/checker.h"
#include "src/heap/order.h"
#include "src/heap/reuse.h"
#include "tests/oracle.h"

/* No memory is behind these addresses. */
#define BASE ((uintptr_t)1 << 40)
#define UNIT ((size_t)256)

/* In place of an operation or a stream: there is none. */
#define NO_OP (-2)

#define N_MARKS 6

/* Operations that one step submits at most. */
#define OPS_A_STEP 4

struct world_chunk {
    struct sp_chunk chunk; /* first */
    int index;             /* the oracle's */
};

struct world_mark {
    bool is_set;
    struct sp_mark mark;
    struct sp_oracle_set set;
};

struct world {
    uint64_t seed, random; /* of the episode */
    size_t n_steps;        /* in all episodes of the test */
    struct sp_order order;
    struct sp_reuse *reuse;
    struct sp_checker *checker;
    struct sp_oracle oracle;
    sp_slot slots[SP_ORACLE_STREAMS];      /* of the oracle's streams */
    struct sp_point points[SP_ORACLE_OPS]; /* of the oracle's operations */
    struct world_mark marks[N_MARKS];
    struct world_chunk chunks[SP_ORACLE_CHUNKS];
    int most_units;   /* reserved at once: there is a shortage */
    int common_units; /* most that most blocks have */
    uint64_t n_takes[SP_EDGE_INTERNAL + 1];
};

extern struct world world;
extern struct sp_oracle *const oracle;

/* A new world; an old one's memory goes with world_end(). */
void world_begin(uint64_t seed);
void world_end(void);

/* Fail unless `is_so`, saying in which episode and when. */
void expect(bool is_so, const char *format, ...) __attribute__((format(printf, 2, 3)));

int below(int bound);
bool is_lucky(int percent);
int unit_of(uintptr_t address);
uintptr_t address_of(int unit);

/* A stream that is open, or the host if there is none. */
int some_stream(void);
sp_slot slot_of(int stream);

/* The operation that a point is; NO_OP if it is none. */
int op_of(struct sp_point point);

/* Is the slot of the operation still its stream's? */
bool is_tellable(int op);

/* The next operation of a stream; of the host it is none. */
int submit(int stream, struct sp_point *at_out);

/* Give the heap the memory that it wants. */
void feed(void);

/* `stream` waits for all of `other`. */
void join(int stream, int other);

/* An operation executes, and so does all before it. News of that comes from every stream, or
 * from some of them later. */
void execute(int op);

/* The host waits for a stream. */
void see_stream(int stream);

/* A chunk of at least `n` units. False if the addresses are short. */
bool grow(int n);

/* One of the things that happen, by weight. */
void world_step(void);

/* Steps of blocks (reuse_blocks.c). */
void step_allocate(void);
void step_give(void);
void step_give_wrong(void);

#endif /* SP_REUSE_WORLD_H */
