/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells a tool (compute-sanitizer, Nsight) through NVTX's memory extension what of a device's
 * memory is a slab of ours, and which blocks in it are live. Without a tool nothing is told. */
#ifndef SP_NVTX_H
#define SP_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct starpool_pool;

/* A slab, as a tool knows it. It belongs to the slab; the rest is nvtx.c's. */
struct sp_nvtx_heap {
    uintptr_t base;
    size_t size;      /* [bytes] */
    void *handle;     /* the tool's; NULL: it does not know the slab */
    unsigned n_users; /* threads that tell of blocks in it just now */
    struct sp_nvtx_heap *next;
};

/* Start the tool that the environment names, once a process; true if one listens. Nothing below
 * does anything before. Called without a lock. */
bool sp_nvtx_setup(void);

/* A slab has been got, or goes. No pool's lock is held, its growth lock may be. What was
 * declared in the slab is withdrawn with it. */
void sp_nvtx_declare_heap(struct sp_nvtx_heap *heap, uintptr_t base, size_t size);
void sp_nvtx_withdraw_heap(struct sp_nvtx_heap *heap);

/* A block of a pool has been handed out, or is about to go: see sp_pool_declare() in pool.h. */
void sp_nvtx_declare_block(const struct starpool_pool *pool, const void *ptr);
void sp_nvtx_withdraw_block(const struct starpool_pool *pool, const void *ptr);

#endif /* SP_NVTX_H */
