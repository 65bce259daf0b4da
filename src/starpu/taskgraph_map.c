/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hash table with open addressing. Words stay when their value is taken away. */
#include "config.h"

#include "src/starpu/taskgraph_map.h"

#include <stdlib.h>
#include <string.h>

/* Source: S. Vigna's splitmix64, public domain. */
uint64_t sp_tg_mix(uint64_t word)
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

/* The bucket of a word, or the free one where it would go. */
static uint32_t find(const struct sp_tg_map *map, uint64_t word)
{
    uint32_t mask = map->n_buckets - 1;
    uint32_t i = (uint32_t)sp_tg_mix(word) & mask;

    /* Not what resize() freed. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    while (map->is_used[i] && map->words[i] != word)
        i = (i + 1) & mask;
    return i;
}

static bool resize(struct sp_tg_map *map, uint32_t n_buckets)
{
    struct sp_tg_map larger = {
        .words = malloc(n_buckets * sizeof(*larger.words)),
        .values = malloc(n_buckets * sizeof(*larger.values)),
        .is_used = calloc(n_buckets, sizeof(*larger.is_used)),
        .n = map->n,
        .n_buckets = n_buckets,
    };
    uint32_t i;

    if (larger.words == NULL || larger.values == NULL || larger.is_used == NULL) {
        sp_tg_map_fini(&larger);
        return false;
    }
    for (i = 0; i < map->n_buckets; i++) {
        uint32_t to;

        if (!map->is_used[i])
            continue;
        to = find(&larger, map->words[i]);
        larger.is_used[to] = true;
        larger.words[to] = map->words[i];
        larger.values[to] = map->values[i];
    }
    sp_tg_map_fini(map);
    *map = larger;
    return true;
}

void sp_tg_map_fini(struct sp_tg_map *map)
{
    free(map->words);
    free(map->values);
    free(map->is_used);
    *map = (struct sp_tg_map){0};
}

void sp_tg_map_clear(struct sp_tg_map *map)
{
    if (map->n_buckets > 0)
        memset(map->is_used, 0, map->n_buckets * sizeof(*map->is_used));
    map->n = 0;
}

uint32_t sp_tg_map_get(const struct sp_tg_map *map, uint64_t word)
{
    uint32_t i;

    if (map->n_buckets == 0)
        return UINT32_MAX;
    i = find(map, word);
    return map->is_used[i] ? map->values[i] : UINT32_MAX;
}

bool sp_tg_map_set(struct sp_tg_map *map, uint64_t word, uint32_t value)
{
    uint32_t i;

    if (map->n_buckets <= 2 * (map->n + 1) &&
        !resize(map, map->n_buckets == 0 ? 64 : 2 * map->n_buckets))
        return false;
    i = find(map, word);
    /* Not what resize() freed. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    map->n += !map->is_used[i];
    map->is_used[i] = true;
    map->words[i] = word;
    map->values[i] = value;
    return true;
}
