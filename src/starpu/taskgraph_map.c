/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hash table with open addressing. Words stay when their value is taken away. */
#include "config.h"

#include "src/starpu/taskgraph_map.h"

#include <stdlib.h>
#include <string.h>

/* The bucket of a word, or the free one where it would go. */
static uint32_t find(const struct sp_tg_map *map, uint64_t word)
{
    uint32_t mask = map->n_buckets - 1;
    uint32_t i = (uint32_t)sp_tg_mix(word) & mask;

    while (map->is_used[i] && map->words[i] != word)
        i = (i + 1) & mask;
    return i;
}

static bool resize(struct sp_tg_map *map, uint32_t n_buckets)
{
    struct sp_tg_map old = *map;
    struct sp_tg_map larger = {
        .words = malloc(n_buckets * sizeof(*larger.words)),
        .values = malloc(n_buckets * sizeof(*larger.values)),
        .is_used = calloc(n_buckets, sizeof(*larger.is_used)),
        .n = old.n,
        .n_buckets = n_buckets,
    };
    uint32_t i;

    if (larger.words == NULL || larger.values == NULL || larger.is_used == NULL) {
        sp_tg_map_fini(&larger);
        return false;
    }
    for (i = 0; i < old.n_buckets; i++) {
        uint32_t to;

        if (!old.is_used[i])
            continue;
        to = find(&larger, old.words[i]);
        larger.is_used[to] = true;
        larger.words[to] = old.words[i];
        larger.values[to] = old.values[i];
    }
    *map = larger;
    sp_tg_map_fini(&old);
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
    map->n += !map->is_used[i];
    map->is_used[i] = true;
    map->words[i] = word;
    map->values[i] = value;
    return true;
}
