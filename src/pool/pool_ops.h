/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a kind of pool must do: get memory from the system, and give it back. */
#ifndef SP_POOL_OPS_H
#define SP_POOL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/pool.h>

#include "src/heap/heap.h"

struct sp_backing;

/* A piece of memory that a backing got: the unit in which memory goes back. */
struct sp_piece {
    uintptr_t base;           /* [address] */
    size_t size;              /* [bytes] */
    struct sp_region *region; /* pieces of one region may touch, and their free ranges merge */
    size_t locked_bytes;
    size_t huge_bytes;            /* on reserved huge pages */
    size_t fallback_bytes;        /* wanted those, got transparent ones */
    size_t spilled_bytes;         /* on another node than the pool's */
    size_t registered_bytes;      /* with the driver */
    size_t unregistered_bytes;    /* wanted so, and refused */
    bool is_bound;                /* the system agreed to bind it */
    struct sp_piece *prev, *next; /* the pool's */
};

/*
 * None of these is called with a pool's lock held, all with its growth lock. A backing is the
 * first member of what a kind of pool needs.
 */
struct sp_backing_ops {
    /* The smallest piece, and what sizes are multiples of when there is no reason against. */
    size_t (*granularity)(const struct sp_backing *backing);

    /* The address at which the next piece of `size` bytes would begin and the region it would
     * be in, so that the pool can count on what is free before it; false if it would be a
     * region of its own. */
    bool (*next_piece)(struct sp_backing *backing, size_t size, struct sp_region **region_out,
                       uintptr_t *base_out);

    /* Get `size` bytes, ready to be used, of which the address map knows. A region that is new
     * has `heap` NULL. */
    enum starpool_status (*grow)(struct sp_backing *backing, size_t size,
                                 struct sp_piece **piece_out);

    /* Give a piece back; false, and the piece as it was, if the system does not take it. The
     * region, if nothing of it is left, or NULL: the pool forgets it, then calls
     * drop_region(). */
    bool (*shrink)(struct sp_backing *backing, struct sp_piece *piece,
                   struct sp_region **region_out);
    void (*drop_region)(struct sp_backing *backing, struct sp_region *region);

    void (*destroy)(struct sp_backing *backing);

    /* ---- NULL where there is no such thing ---- */

    /* The size that growth tries first, halves of it next: the larger, the fewer pieces. NULL:
     * a share of what is reserved. */
    size_t (*generous_size)(const struct sp_backing *backing, uint64_t reserved);

    /* Whether the device was reset since it gave the pieces; they are gone, and shrink() is not
     * to give them back. */
    bool (*has_reset)(const struct sp_backing *backing);
    void (*forget)(struct sp_backing *backing);

    /* The device was reset: register what was registered there, if anything. */
    void (*renew)(struct sp_backing *backing, struct sp_piece *piece, int device);
};

struct sp_backing {
    const struct sp_backing_ops *ops;
};

#endif /* SP_POOL_OPS_H */
