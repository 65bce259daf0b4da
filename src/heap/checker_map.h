/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checker's record of who had which addresses last. */
#ifndef SP_CHECKER_MAP_H
#define SP_CHECKER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In place of the index of a stream: the host, which has seen the operation. */
#define SP_CHECKER_HOST UINT32_MAX

/* What was last at some addresses: a node of a treap. Pieces do not overlap. A live block is
 * one piece, unless a violation has cut it. */
struct sp_checker_piece {
    struct sp_checker_piece *left, *right;
    uint64_t priority;
    uintptr_t start;
    size_t size; /* [bytes] */
    bool is_live;
    uint32_t stream; /* index: of the allocation if it is live, else of the free */
    uint64_t seq;
};

/* Zeroed, it is empty. */
struct sp_checker_map {
    struct sp_checker_piece *root;
    size_t n_freed; /* pieces that are not live */
    uint64_t random;
};

/* The last piece that begins at or below an address, or NULL. */
struct sp_checker_piece *sp_checker_map_find(const struct sp_checker_map *map,
                                             uintptr_t address);

/* Add a piece, copied, where none is. False if there is no memory. */
bool sp_checker_map_add(struct sp_checker_map *map, const struct sp_checker_piece *what);

/* Take out what lies between two addresses, as a treap of its own; pieces that go across them
 * are cut. False if there is no memory. */
bool sp_checker_map_cut(struct sp_checker_map *map, uintptr_t start, uintptr_t end,
                        struct sp_checker_piece **out);

/* Free pieces that were taken out. */
void sp_checker_map_drop(struct sp_checker_piece *root);

/* A live piece becomes a freed one. */
void sp_checker_map_free(struct sp_checker_map *map, struct sp_checker_piece *piece,
                         uint32_t stream, uint64_t seq);

/* Drop the freed pieces of which `is_over` says so; it is asked for live ones, too, and may
 * change the stream of any. */
void sp_checker_map_sweep(struct sp_checker_map *map,
                          bool (*is_over)(void *arg, struct sp_checker_piece *piece),
                          void *arg);

void sp_checker_map_fini(struct sp_checker_map *map);

#endif /* SP_CHECKER_MAP_H */
