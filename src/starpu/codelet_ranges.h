/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ranges of freed memory, each with what is known of the block that it was. */
#ifndef SP_CODELET_RANGES_H
#define SP_CODELET_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Codelets that are named in a block's history. */
#define SP_N_RECENT 4

/* What a block was. Codelets are numbers from 1; 0: unknown. */
struct sp_block_past {
    uintptr_t start;
    size_t size;   /* [bytes] */
    unsigned node; /* StarPU's number */
    int device;
    uint64_t n_releases;          /* pieces that its pool had given back by then */
    uint32_t codelet;             /* for which it was handed out */
    uint32_t recent[SP_N_RECENT]; /* that the device had last when it was freed, newest first */
};

/* [start, end) of what the block was. */
struct sp_freed_range {
    uintptr_t start, end;
    struct sp_block_past past;
};

/* In rising order, without overlaps. */
struct sp_freed_ranges {
    struct sp_freed_range *ranges;
    size_t n, n_room;
};

/* Add the whole of a block that lies in none of the ranges; false if there is no memory. */
bool sp_freed_ranges_add(struct sp_freed_ranges *list, const struct sp_block_past *past);

/* Take out what lies in [start, end), the first part of it: `*range_out` is cut to that. False
 * if nothing is left there. What it loses at its ends stays. */
bool sp_freed_ranges_take(struct sp_freed_ranges *list, uintptr_t start, uintptr_t end,
                          struct sp_freed_range *range_out);

/* Drop all ranges on a device. */
void sp_freed_ranges_forget(struct sp_freed_ranges *list, int device);

void sp_freed_ranges_fini(struct sp_freed_ranges *list);

#endif /* SP_CODELET_RANGES_H */
