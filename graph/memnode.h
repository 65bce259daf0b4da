/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocation and free nodes of a captured graph. */
#ifndef SP_MEMNODE_H
#define SP_MEMNODE_H

#include <stddef.h>

#include <starpool/base.h>

#include "graph/owner.h"

/* An allocation node in what is captured from a stream, with the properties of a pool of the
 * driver. ENOTSUP: the driver has no such nodes for the pool's place. */
STARPOOL_CHECK enum starpool_status sp_memnode_alloc(struct sp_owner *owner, sp_cu_pool pool,
                                                     struct starpool_location location,
                                                     sp_cu_stream stream, size_t size,
                                                     sp_cu_ptr *ptr_out);

/* A free node after what was captured from a stream so far, also of another graph's allocation.
 * The stream does not go on from it, so that it need not be joined if the stream was already;
 * the next allocation at that location that comes after it anyway does. */
STARPOOL_CHECK enum starpool_status sp_memnode_free(struct sp_owner *owner,
                                                    struct starpool_location location,
                                                    sp_cu_stream stream, sp_cu_ptr ptr);

void sp_memnode_fini(struct sp_owner *owner);

#endif /* SP_MEMNODE_H */
