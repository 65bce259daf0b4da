/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of a status, and the seed and size of random tests. A bad value in the environment
 * ends the program: a test must not pass by having done something else than was asked. */
#include "config.h"

#include "tests/support.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void sp_test_assert_status(enum starpool_status expected, enum starpool_status actual,
                           const char *expr, const char *file, int line)
{
    if (actual == expected)
        return;
    print_error("%s\n    is %s (%d), not %s (%d)\n", expr, starpool_status_name(actual),
                (int)actual, starpool_status_name(expected), (int)expected);
    _fail(file, line);
}

static void refuse(const char *name, const char *value, const char *wanted)
{
    fprintf(stderr, "%s=%s is not %s\n", name, value, wanted);
    exit(99);
}

uint64_t sp_test_seed(void)
{
    static uint64_t seed;
    static bool is_known;
    const char *text = getenv("STARPOOL_TEST_SEED");
    struct timespec now;
    char *end;

    if (is_known)
        return seed;
    if (text != NULL && *text != '\0') {
        errno = 0;
        seed = strtoull(text, &end, 0);
        if (errno != 0 || *end != '\0')
            refuse("STARPOOL_TEST_SEED", text, "a whole number");
    } else {
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    is_known = true;
    fprintf(stderr, "STARPOOL_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

/* splitmix64: any seed will do, 0 too, and neighbouring seeds give unrelated sequences.
 * Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014. */
uint64_t sp_test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t sp_test_random_below(uint64_t *state, size_t bound)
{
    return (size_t)(sp_test_random(state) % bound);
}

size_t sp_test_scaled(size_t n)
{
    const char *text = getenv("STARPOOL_TEST_SCALE");
    double scale = 1;
    double scaled;
    char *end;

    if (text != NULL && *text != '\0') {
        scale = strtod(text, &end);
        if (*end != '\0' || !(scale > 0 && scale <= 1e6))
            refuse("STARPOOL_TEST_SCALE", text, "a number above 0 and up to 1000000");
    }
    scaled = (double)n * scale;
    return scaled < 1 ? 1 : (size_t)scaled;
}
