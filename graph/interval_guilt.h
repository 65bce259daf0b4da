/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of sections: those that are to blame where a search fails. */
#ifndef SP_INTERVAL_GUILT_H
#define SP_INTERVAL_GUILT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* [n_words] one bit a section. */
struct sp_guilt {
    uint64_t *words;
    uint32_t n_words;
};

static inline void sp_guilt_clear(const struct sp_guilt *guilt)
{
    memset(guilt->words, 0, guilt->n_words * sizeof(*guilt->words));
}

static inline void sp_guilt_add(const struct sp_guilt *guilt, uint32_t section)
{
    guilt->words[section / 64] |= (uint64_t)1 << (section % 64);
}

/* The bits of word `at` that are in sections [first, last). */
static inline uint64_t sp_guilt_mask(uint32_t at, uint32_t first, uint32_t last)
{
    uint64_t mask = ~(uint64_t)0;

    if (at == first / 64)
        mask &= ~(uint64_t)0 << (first % 64);
    if (at == (last - 1) / 64)
        mask &= ~(uint64_t)0 >> (63 - (last - 1) % 64);
    return mask;
}

/* Whether there is a section of the set in [first, last), which is not empty. */
static inline bool sp_guilt_meets(const struct sp_guilt *guilt, uint32_t first, uint32_t last)
{
    for (uint32_t i = first / 64; i <= (last - 1) / 64; i++) {
        if (guilt->words[i] & sp_guilt_mask(i, first, last))
            return true;
    }
    return false;
}

/* Add sections [first, last); whether any is new. */
static inline bool sp_guilt_add_range(const struct sp_guilt *guilt, uint32_t first,
                                      uint32_t last)
{
    uint64_t news = 0;

    for (uint32_t i = first / 64; i <= (last - 1) / 64; i++) {
        uint64_t mask = sp_guilt_mask(i, first, last);

        news |= mask & ~guilt->words[i];
        guilt->words[i] |= mask;
    }
    return news != 0;
}

/* Add all of another set; whether any is new. */
static inline bool sp_guilt_merge(const struct sp_guilt *guilt, const uint64_t *words)
{
    uint64_t news = 0;

    for (uint32_t i = 0; i < guilt->n_words; i++) {
        news |= words[i] & ~guilt->words[i];
        guilt->words[i] |= words[i];
    }
    return news != 0;
}

#endif /* SP_INTERVAL_GUILT_H */
