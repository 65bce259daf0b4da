/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What bench/model is measured against: two lists of free blocks in stream order. */
#ifndef SP_MODEL_LISTS_H
#define SP_MODEL_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_LISTS_MAX_STREAMS 64
#define SP_LISTS_N_SIZES     16

/** A block of a list, named by index and generation. */
struct sp_list_handle {
    uint32_t index, generation;
};

struct sp_list_block {
    uint64_t seq; /**< free: when it was freed */
    size_t size;
    uint32_t stream, generation;
    uint32_t next;
    bool is_live;
};

/** Blocks that are never split, one queue a size; or (`is_first_fit`) one list of all. */
struct sp_list {
    struct sp_list_block *blocks; /**< [room] */
    uint32_t n_blocks, room;
    uint32_t heads[SP_LISTS_N_SIZES], tails[SP_LISTS_N_SIZES];
    uint64_t last[SP_LISTS_MAX_STREAMS], done[SP_LISTS_MAX_STREAMS];
    uint64_t seen[SP_LISTS_MAX_STREAMS];
    uint64_t used_bytes, used_high_bytes, reserved_bytes;
    uint32_t n_streams;
    bool is_first_fit;
};

/** `room`: how many blocks there can be at most. Ends the program if there is no memory. */
void sp_list_init(struct sp_list *list, bool is_first_fit, uint32_t n_streams, uint32_t room);
void sp_list_fini(struct sp_list *list);

/** `size_index` names the size; the list makes a block if none may be had. */
struct sp_list_handle sp_list_take(struct sp_list *list, unsigned size_index, size_t size,
                                   uint32_t stream);

/** False if the handle names no live block. */
bool sp_list_give(struct sp_list *list, struct sp_list_handle handle, unsigned size_index,
                  uint32_t stream);

/** The host has seen everything. */
void sp_list_see_all(struct sp_list *list);

#endif /* SP_MODEL_LISTS_H */
