/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small things that every floor uses. */
#ifndef SP_UTIL_H
#define SP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* SP_UTIL_H */
