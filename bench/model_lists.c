/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Free lists that check handles and stamps: one that never splits, with a queue a size, as fast
 * as can be; and one that walks over all free blocks to the first that fits. */
#include "config.h"

#include "bench/model_lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NONE UINT32_MAX

/* So many of the oldest frees of a size are looked at. */
#define N_TRIES 4

/* [bytes] */
#define HUGE_PAGE ((size_t)2 << 20)

void sp_list_init(struct sp_list *list, bool is_first_fit, uint32_t n_streams, uint32_t room)
{
    size_t size = (room * sizeof(*list->blocks) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

    memset(list, 0, sizeof(*list));
    list->blocks = aligned_alloc(HUGE_PAGE, size);
    if (list->blocks == NULL) {
        fprintf(stderr, "bench/model: no memory for a list of %u blocks\n", room);
        exit(1);
    }
    /* As the records of the heap. */
    if (madvise(list->blocks, size, MADV_HUGEPAGE) != 0)
        perror("bench/model: madvise");
    list->room = room;
    list->n_streams = n_streams;
    list->is_first_fit = is_first_fit;
    memset(list->heads, 0xff, sizeof(list->heads));
    memset(list->tails, 0xff, sizeof(list->tails));
}

void sp_list_fini(struct sp_list *list)
{
    free(list->blocks);
}

static uint32_t new_block(struct sp_list *list, size_t size)
{
    uint32_t index = list->n_blocks;

    if (index == list->room) {
        fprintf(stderr, "bench/model: a list has more than %u blocks\n", list->room);
        exit(1);
    }
    list->n_blocks++;
    list->blocks[index] = (struct sp_list_block){.size = size};
    list->reserved_bytes += size;
    return index;
}

/* The same stream, seen, or executed. */
static inline bool may_have(const struct sp_list *list, const struct sp_list_block *block,
                            uint32_t stream)
{
    return block->stream == stream || block->seq <= list->seen[block->stream] ||
           block->seq <= list->done[block->stream];
}

/* Take the first block that fits out of a list; NONE if there is none among so many. */
static inline uint32_t unlink_first(struct sp_list *list, unsigned q, size_t size,
                                    uint32_t stream, uint32_t n_tries)
{
    uint32_t prev = NONE, index = list->heads[q];

    for (; index != NONE && n_tries > 0; n_tries--) {
        struct sp_list_block *block = &list->blocks[index];

        if (block->size >= size && may_have(list, block, stream)) {
            *(prev == NONE ? &list->heads[q] : &list->blocks[prev].next) = block->next;
            if (list->tails[q] == index)
                list->tails[q] = prev;
            return index;
        }
        prev = index;
        index = block->next;
    }
    return NONE;
}

static void append(struct sp_list *list, unsigned q, uint32_t index)
{
    list->blocks[index].next = NONE;
    *(list->tails[q] == NONE ? &list->heads[q] : &list->blocks[list->tails[q]].next) = index;
    list->tails[q] = index;
}

/* What a block has too much goes back as a block of the same free. */
static void cut(struct sp_list *list, uint32_t index, size_t size)
{
    struct sp_list_block *block = &list->blocks[index];
    uint32_t rest;

    if (block->size == size)
        return;
    rest = new_block(list, block->size - size);
    list->reserved_bytes -= block->size - size;
    list->blocks[rest].seq = block->seq;
    list->blocks[rest].stream = block->stream;
    block->size = size;
    append(list, 0, rest);
}

struct sp_list_handle sp_list_take(struct sp_list *list, unsigned size_index, size_t size,
                                   uint32_t stream)
{
    struct sp_list_block *block;
    uint32_t index;

    if (list->is_first_fit)
        index = unlink_first(list, 0, size, stream, UINT32_MAX);
    else
        index = unlink_first(list, size_index, size, stream, N_TRIES);
    if (index == NONE)
        index = new_block(list, size);
    else if (list->is_first_fit)
        cut(list, index, size);
    block = &list->blocks[index];
    block->is_live = true;
    block->stream = stream;
    block->seq = ++list->last[stream];
    list->used_bytes += block->size;
    if (list->used_high_bytes < list->used_bytes)
        list->used_high_bytes = list->used_bytes;
    return (struct sp_list_handle){index, ++block->generation};
}

bool sp_list_give(struct sp_list *list, struct sp_list_handle handle, unsigned size_index,
                  uint32_t stream)
{
    struct sp_list_block *block;

    if (handle.index >= list->n_blocks)
        return false;
    block = &list->blocks[handle.index];
    if (block->generation != handle.generation || !block->is_live)
        return false;
    block->is_live = false;
    block->stream = stream;
    block->seq = ++list->last[stream];
    list->used_bytes -= block->size;
    append(list, list->is_first_fit ? 0 : size_index, handle.index);
    return true;
}

void sp_list_see_all(struct sp_list *list)
{
    for (uint32_t stream = 0; stream < list->n_streams; stream++)
        list->seen[stream] = list->done[stream] = list->last[stream];
}
