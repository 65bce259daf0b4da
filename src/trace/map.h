/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to src/trace: a table from numbers to numbers, for those who read traces. Not for
 * allocation paths: it uses malloc(). */
#ifndef SP_TRACE_MAP_H
#define SP_TRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_map_slot {
    uint64_t key, value;
    bool is_used;
};

/* All zero is an empty one. The number of slots is a power of two, and a quarter of them at
 * least is free. */
struct sp_map {
    struct sp_map_slot *slots;
    size_t n_slots, n_used;
};

/* The value of a key, to be read or changed until the next put or remove; NULL if there is
 * none.
 */
uint64_t *sp_map_find(const struct sp_map *map, uint64_t key);

/* Set the value of a key; false, and nothing changed, if there is no memory. */
bool sp_map_put(struct sp_map *map, uint64_t key, uint64_t value);

/* Remove a key; false if it is not there. `value_out` may be NULL. */
bool sp_map_remove(struct sp_map *map, uint64_t key, uint64_t *value_out);

/* A slot in use: the first at or behind `*index`, which is moved behind it; NULL at the end. */
const struct sp_map_slot *sp_map_next(const struct sp_map *map, size_t *index);

void sp_map_fini(struct sp_map *map);

#endif /* SP_TRACE_MAP_H */
