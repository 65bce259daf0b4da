/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Problems of intervals: random ones, and what is right about offsets. */
#ifndef SP_INTERVAL_CASE_H
#define SP_INTERVAL_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/interval.h"

#define SP_INTERVAL_CASE_MAX 400

/* A problem in arrays of its own, offsets for it, and the random numbers it is made of. */
struct sp_interval_case {
    struct sp_interval_problem problem;
    uint64_t lower[SP_INTERVAL_CASE_MAX], upper[SP_INTERVAL_CASE_MAX],
        size[SP_INTERVAL_CASE_MAX];
    uint64_t offsets[SP_INTERVAL_CASE_MAX];
    uint64_t random;
};

/* No blocks; the run's seed. */
void sp_interval_case_init(struct sp_interval_case *it);

void sp_interval_case_add(struct sp_interval_case *it, uint64_t lower, uint64_t upper,
                          uint64_t size);

size_t sp_interval_case_below(struct sp_interval_case *it, size_t bound);

/* Lives of at most `longest` in [0, end), sizes of 1 to `largest`. */
void sp_interval_case_fill_any(struct sp_interval_case *it, uint32_t n, size_t end,
                               size_t longest, size_t largest);

/* Cut a rectangle in two, again and again: what comes out fits into its height without a gap.
 */
void sp_interval_case_fill_rectangle(struct sp_interval_case *it, uint32_t n, uint64_t width,
                                     uint64_t height);

/* Whether blocks a and b live at once. */
bool sp_interval_case_meet(const struct sp_interval_case *it, size_t a, size_t b);

/* Fail if two blocks overlap, or one lies neither on the ground nor on another one, which would
 * make its offset no sum of sizes. Returns the highest end. */
uint64_t sp_interval_case_assert_right(const struct sp_interval_case *it);

#endif /* SP_INTERVAL_CASE_H */
