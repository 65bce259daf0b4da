/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open addressing with linear probing; a removal closes the gap, so that no slot is ever only
 * marked. */
#include "config.h"

#include "src/trace/map.h"

#include <stdlib.h>

#define FIRST_SLOTS 64

/* The finaliser of splitmix64: neighbouring addresses end up far apart. */
static size_t home(const struct sp_map *map, uint64_t key)
{
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return (size_t)(key ^ (key >> 31)) & (map->n_slots - 1);
}

/* The slot of a key, or the free one where it would go. */
static struct sp_map_slot *probe(const struct sp_map *map, uint64_t key)
{
    size_t at = home(map, key);

    while (map->slots[at].is_used && map->slots[at].key != key)
        at = (at + 1) & (map->n_slots - 1);
    return &map->slots[at];
}

uint64_t *sp_map_find(const struct sp_map *map, uint64_t key)
{
    struct sp_map_slot *slot = map->n_slots > 0 ? probe(map, key) : NULL;

    return slot != NULL && slot->is_used ? &slot->value : NULL;
}

static bool enlarge(struct sp_map *map)
{
    struct sp_map larger = {.n_slots = map->n_slots > 0 ? 2 * map->n_slots : FIRST_SLOTS,
                            .n_used = map->n_used};

    larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < map->n_slots; i++) {
        if (map->slots[i].is_used)
            *probe(&larger, map->slots[i].key) = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return true;
}

bool sp_map_put(struct sp_map *map, uint64_t key, uint64_t value)
{
    struct sp_map_slot *slot;

    if (4 * (map->n_used + 1) > 3 * map->n_slots && !enlarge(map))
        return false;
    slot = probe(map, key);
    map->n_used += !slot->is_used;
    *slot = (struct sp_map_slot){.key = key, .value = value, .is_used = true};
    return true;
}

/* Move what comes behind a gap into it, if that is nearer to its home. */
static void close_gap(struct sp_map *map, size_t gap)
{
    size_t mask = map->n_slots - 1;

    for (size_t at = (gap + 1) & mask; map->slots[at].is_used; at = (at + 1) & mask) {
        size_t distance = (at - home(map, map->slots[at].key)) & mask;

        if (distance >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap].is_used = false;
}

bool sp_map_remove(struct sp_map *map, uint64_t key, uint64_t *value_out)
{
    struct sp_map_slot *slot = map->n_slots > 0 ? probe(map, key) : NULL;

    if (slot == NULL || !slot->is_used)
        return false;
    if (value_out != NULL)
        *value_out = slot->value;
    close_gap(map, (size_t)(slot - map->slots));
    map->n_used--;
    return true;
}

const struct sp_map_slot *sp_map_next(const struct sp_map *map, size_t *index)
{
    while (*index < map->n_slots) {
        const struct sp_map_slot *slot = &map->slots[(*index)++];

        if (slot->is_used)
            return slot;
    }
    return NULL;
}

void sp_map_fini(struct sp_map *map)
{
    free(map->slots);
    *map = (struct sp_map){NULL, 0, 0};
}
