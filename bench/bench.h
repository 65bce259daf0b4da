/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the benchmarks share: a timer, medians with quartiles, fault counts, goal lines. */
#ifndef SP_BENCH_H
#define SP_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** [bytes] The distance at which a block is touched: the smallest page. */
#define SP_BENCH_PAGE ((size_t)4096)

/** How much a benchmark should do. */
enum sp_bench_effort {
    SP_BENCH_CHECK, /**< just enough to see that it works: a second or so */
    SP_BENCH_QUICK, /**< a rough answer: half a minute */
    SP_BENCH_FULL,  /**< numbers to quote: some minutes */
};

/** The middle half of some values. */
struct sp_quartiles {
    double q1;
    double median;
    double q3;
};

/** Which side of its bound a goal wants to be on. */
enum sp_goal_op {
    SP_GOAL_AT_MOST,
    SP_GOAL_AT_LEAST,
};

/** Room for the texts that sp_bench_time_text() and sp_bench_size_text() write. */
#define SP_BENCH_TEXT 24

/**
 * Measure the clock and its own cost. To be called first, by one thread.
 */
void sp_bench_init(void);

/**
 * Read --check, --quick and --help from a command line that has no other arguments; for a bad
 * one say so and exit with 2.
 */
enum sp_bench_effort sp_bench_effort_of(int argc, char **argv, const char *what);

/** The clock, in ticks of its own; work before the call is done before it is read. */
uint64_t sp_bench_ticks(void);

/** The time between two readings in ns, less what the readings cost; never below 0. */
double sp_bench_ns(uint64_t begin, uint64_t end);

/** Page faults without input or output since the start of this thread. */
long sp_bench_thread_faults(void);

/** The same of the whole process, all its threads together. */
long sp_bench_process_faults(void);

/** Write one byte a page of a block. */
void sp_bench_touch(void *block, size_t size);

/**
 * Sort values and take their quartiles.
 *
 * @param values  [n] left sorted
 * @param n       0: all three are NaN
 */
struct sp_quartiles sp_bench_quartiles(double *values, size_t n);

/** A time with a unit that fits: "39.1 ns", "4.00 ms". @return text */
const char *sp_bench_time_text(double ns, char text[SP_BENCH_TEXT]);

/** A size with a unit that fits: "64 KiB", "1.1 MiB". @return text */
const char *sp_bench_size_text(size_t size, char text[SP_BENCH_TEXT]);

/**
 * Print the line of a goal: `goal NAME VALUE OP BOUND ok`, or `short` where the goal is missed.
 *
 * A word NAME=BOUND in the environment's BENCH_BOUNDS puts another bound in the place of this.
 * A value that is NaN is short.
 */
void sp_bench_goal(const char *name, double value, enum sp_goal_op op, double bound);

/** Print the line of a goal that cannot be measured here, with the reason. */
void sp_bench_goal_missing(const char *name, enum sp_goal_op op, double bound,
                           const char *reason);

#endif /* SP_BENCH_H */
