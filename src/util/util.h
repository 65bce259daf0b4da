/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small things that every floor uses. */
#ifndef SP_UTIL_H
#define SP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <starpool/base.h>

#include "src/util/diag.h"

#define SP_KIB ((size_t)1 << 10)
#define SP_MIB ((size_t)1 << 20)
#define SP_GIB ((size_t)1 << 30)

#define SP_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define SP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SP_ALWAYS_INLINE       inline __attribute__((always_inline))
#define SP_ARRAY_SIZE(array)   (sizeof(array) / sizeof((array)[0]))

/* The struct that `member`, at `ptr`, is embedded in. */
#define SP_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* A broken invariant: say where, then abort. Kept in every build. */
#define SP_ASSERT(condition)                                  \
    do {                                                      \
        if (SP_UNLIKELY(!(condition)))                        \
            sp_assert_failed(#condition, __FILE__, __LINE__); \
    } while (0)

/* `value` rounded up to a multiple of `unit`, a power of two; 0 if that does not fit. */
static inline size_t sp_round_up(size_t value, size_t unit)
{
    size_t rounded = (value + unit - 1) & ~(unit - 1);

    return rounded < value ? 0 : rounded;
}

static inline size_t sp_round_down(size_t value, size_t unit)
{
    return value & ~(unit - 1);
}

static inline size_t sp_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t sp_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* For qsort() and bsearch(), of uint64_t. */
static inline int sp_compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static inline bool sp_is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* The index of the highest bit that is set; `value` is not 0. */
static inline unsigned sp_log2(size_t value)
{
    /* The exclusive or is one instruction less than the difference. */
    return 63U ^ (unsigned)__builtin_clzll(value);
}

/* [ns] CLOCK_MONOTONIC. */
static inline uint64_t sp_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The next of a sequence of random numbers; any state is good to begin with.
 *
 * splitmix64. Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators,
 * OOPSLA 2014. */
static inline uint64_t sp_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline bool sp_is_same_location(struct starpool_location a, struct starpool_location b)
{
    return a.kind == b.kind && a.id == b.id;
}

#endif /* SP_UTIL_H */
