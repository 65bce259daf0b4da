/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A treap by address: split and merge are all that a block, which replaces whatever was at its
 * addresses, needs. */
#include "config.h"

#include "src/heap/checker_map.h"

#include <stdlib.h>

static struct sp_checker_piece *merge(struct sp_checker_piece *low,
                                      struct sp_checker_piece *high)
{
    if (low == NULL || high == NULL)
        return low == NULL ? high : low;
    if (low->priority > high->priority) {
        low->right = merge(low->right, high);
        return low;
    }
    high->left = merge(low, high->left);
    return high;
}

/* Pieces that begin below `address` go to `low_out`. */
static void split(struct sp_checker_piece *root, uintptr_t address,
                  struct sp_checker_piece **low_out, struct sp_checker_piece **high_out)
{
    if (root == NULL) {
        *low_out = *high_out = NULL;
    } else if (root->start < address) {
        *low_out = root;
        split(root->right, address, &root->right, high_out);
    } else {
        *high_out = root;
        split(root->left, address, low_out, &root->left);
    }
}

struct sp_checker_piece *sp_checker_map_find(const struct sp_checker_map *map,
                                             uintptr_t address)
{
    struct sp_checker_piece *found = NULL;

    for (struct sp_checker_piece *piece = map->root; piece != NULL;) {
        if (piece->start > address) {
            piece = piece->left;
        } else {
            found = piece;
            piece = piece->right;
        }
    }
    return found;
}

bool sp_checker_map_add(struct sp_checker_map *map, const struct sp_checker_piece *what)
{
    struct sp_checker_piece *piece = malloc(sizeof(*piece));
    struct sp_checker_piece *low, *high;

    if (piece == NULL)
        return false;
    *piece = *what;
    piece->left = piece->right = NULL;
    /* The high half of Knuth's MMIX generator. */
    map->random = map->random * 6364136223846793005u + 1442695040888963407u;
    piece->priority = map->random >> 32;
    split(map->root, piece->start, &low, &high);
    map->root = merge(merge(low, piece), high);
    map->n_freed += !piece->is_live;
    return true;
}

/* See to it that no piece goes across an address. */
static bool cut_at(struct sp_checker_map *map, uintptr_t address)
{
    struct sp_checker_piece *piece = sp_checker_map_find(map, address);
    struct sp_checker_piece rest;

    if (piece == NULL || piece->start == address || address - piece->start >= piece->size)
        return true;
    rest = *piece;
    rest.start = address;
    rest.size -= address - piece->start;
    piece->size = address - piece->start;
    return sp_checker_map_add(map, &rest);
}

static size_t count_freed(const struct sp_checker_piece *root)
{
    if (root == NULL)
        return 0;
    return count_freed(root->left) + !root->is_live + count_freed(root->right);
}

bool sp_checker_map_cut(struct sp_checker_map *map, uintptr_t start, uintptr_t end,
                        struct sp_checker_piece **out)
{
    struct sp_checker_piece *low, *middle, *high;

    if (!cut_at(map, start) || !cut_at(map, end))
        return false;
    split(map->root, start, &low, &middle);
    split(middle, end, &middle, &high);
    map->root = merge(low, high);
    map->n_freed -= count_freed(middle);
    *out = middle;
    return true;
}

void sp_checker_map_drop(struct sp_checker_piece *root)
{
    if (root == NULL)
        return;
    sp_checker_map_drop(root->left);
    sp_checker_map_drop(root->right);
    free(root);
}

void sp_checker_map_free(struct sp_checker_map *map, struct sp_checker_piece *piece,
                         uint32_t stream, uint64_t seq)
{
    piece->is_live = false;
    piece->stream = stream;
    piece->seq = seq;
    map->n_freed++;
}

static struct sp_checker_piece *
sweep(struct sp_checker_map *map, struct sp_checker_piece *root,
      bool (*is_over)(void *arg, struct sp_checker_piece *piece), void *arg)
{
    struct sp_checker_piece *left, *right;

    if (root == NULL)
        return NULL;
    left = sweep(map, root->left, is_over, arg);
    right = sweep(map, root->right, is_over, arg);
    if (is_over(arg, root) && !root->is_live) {
        map->n_freed--;
        free(root);
        return merge(left, right);
    }
    root->left = left;
    root->right = right;
    return root;
}

void sp_checker_map_sweep(struct sp_checker_map *map,
                          bool (*is_over)(void *arg, struct sp_checker_piece *piece), void *arg)
{
    map->root = sweep(map, map->root, is_over, arg);
}

void sp_checker_map_fini(struct sp_checker_map *map)
{
    sp_checker_map_drop(map->root);
    map->root = NULL;
    map->n_freed = 0;
}
