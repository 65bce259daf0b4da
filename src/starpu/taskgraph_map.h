/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers by address or any other word. */
#ifndef SP_TASKGRAPH_MAP_H
#define SP_TASKGRAPH_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "src/util/util.h"

/* A word that is not there has the value UINT32_MAX. One zeroed is an empty map. */
struct sp_tg_map {
    uint64_t *words;  /* [n_buckets] */
    uint32_t *values; /* [n_buckets] */
    bool *is_used;    /* [n_buckets] */
    uint32_t n;
    uint32_t n_buckets; /* 0, or a power of two above 2 * n */
};

void sp_tg_map_fini(struct sp_tg_map *map);

/* Forget all words; the memory stays. */
void sp_tg_map_clear(struct sp_tg_map *map);

/* The value of a word. */
uint32_t sp_tg_map_get(const struct sp_tg_map *map, uint64_t word);

/* Give a word a value; false without memory. */
bool sp_tg_map_set(struct sp_tg_map *map, uint64_t word, uint32_t value);

/* Spread the bits of a word. */
static inline uint64_t sp_tg_mix(uint64_t word)
{
    return sp_random(&word);
}

#endif /* SP_TASKGRAPH_MAP_H */
