/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every unit test includes: cmocka with the headers that it wants, checks of a status, and
 * the seed and size of random tests. */
#ifndef SP_SUPPORT_H
#define SP_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <starpool/base.h>

/** Fail the test, naming both statuses, unless `expr` answers `expected`. */
#define assert_status(expected, expr) \
    sp_test_assert_status((expected), (expr), #expr, __FILE__, __LINE__)

/** Fail the test, naming the status, unless `expr` answers STARPOOL_OK. */
#define assert_ok(expr) assert_status(STARPOOL_OK, expr)

void sp_test_assert_status(enum starpool_status expected, enum starpool_status actual,
                           const char *expr, const char *file, int line);

/**
 * The seed of this run's random numbers: STARPOOL_TEST_SEED, or else the time. Printed at the
 * first call, so that a failure can be repeated.
 */
uint64_t sp_test_seed(void);

/** The next number of a sequence; `state` starts as the seed, or the seed plus a thread's
 * number. */
uint64_t sp_test_random(uint64_t *state);

/** The next number of a sequence, below `bound`, which is not 0. */
size_t sp_test_random_below(uint64_t *state, size_t bound);

/**
 * `n` rounds times STARPOOL_TEST_SCALE (a decimal number, 1 unless set), at least 1: how many
 * rounds a random test makes.
 */
size_t sp_test_scaled(size_t n);

#endif /* SP_SUPPORT_H */
