/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's CUDA nodes: the pools of their devices, and those of codelets' temporaries. */
#ifndef SP_CUDA_H
#define SP_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/pool.h>

#include "src/pool/private.h"

/* Devices that are told apart; no StarPU has as many. */
#define SP_MAX_DEVICES 64

/* What is known of a device when reports are written. */
struct sp_cuda_record {
    struct starpool_pool *pool;     /* that serves StarPU's node; NULL: none */
    struct starpool_pool *codelets; /* that serves codelets' own requests; NULL: none yet */
    const char *why;                /* StarPU serves the node itself; "" if it does not */
};

/* Read the options. Once, before any door opens. */
void sp_cuda_start(void);

/* True if `node` is the memory of a CUDA device at this moment. */
bool sp_cuda_is_node(unsigned node);

/* The ordinal of a CUDA node's device; -1 if it cannot be told. */
int sp_cuda_device_of(unsigned node);

/* The pool that serves the CUDA node of a device (-1: NULL), made at the first question: by
 * then StarPU has measured its bus, which resets the devices. NULL, and said once, if it is
 * left to StarPU. Threads: any, at once. */
struct starpool_pool *sp_cuda_pool(unsigned node, int device);

/* A block for a CUDA node that `pool` serves; size 0 gives a unique address. */
STARPOOL_CHECK enum starpool_status sp_cuda_alloc(unsigned node, struct starpool_pool *pool,
                                                  size_t size, void **ptr_out);

/* Free a block that the address map does not know: one of a driver's pool. */
enum sp_free_result sp_cuda_free(void *ptr);

/* The pool for what codelets on a device ask for themselves: in stream order, of the driver
 * where it has pools. Threads: any, at once. */
STARPOOL_CHECK enum starpool_status sp_cuda_codelet_pool(int device,
                                                         struct starpool_pool **pool_out);

struct sp_cuda_record sp_cuda_record(int device);

#endif /* SP_CUDA_H */
