/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to numa/: what is left alone on each node and in each control group. */
#ifndef SP_RESERVE_H
#define SP_RESERVE_H

#include <stddef.h>

struct sp_reserve {
    size_t bytes;
    size_t part; /* at most this part (16: a sixteenth) of the memory or limit; 0: no matter */
};

/* What is left alone of `total` bytes. */
static inline size_t sp_reserve_of(const struct sp_reserve *reserve, size_t total)
{
    if (reserve->part == 0 || reserve->bytes < total / reserve->part)
        return reserve->bytes;
    return total / reserve->part;
}

#endif /* SP_RESERVE_H */
