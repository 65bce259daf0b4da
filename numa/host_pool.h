/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backing of HOST and HOST_NUMA pools: segments of bound, touched memory. */
#ifndef SP_HOST_POOL_H
#define SP_HOST_POOL_H

#include <starpool/base.h>
#include <starpool/pool.h>

#include "src/pool/pool_ops.h"

struct sp_pin_ops;

/*
 * A backing on a NUMA node, or (node -1) on all nodes that serve HOST pools. With `spill` a
 * full node is no refusal: other nodes give what is missing, and the piece says how much.
 *
 * STARPOOL_EDEVICE: no such node, or not allowed to this process. STARPOOL_ENOMEM.
 */
enum starpool_status sp_host_backing_create(int node, const struct starpool_pool_config *config,
                                            struct sp_backing **backing_out);

/* Before the first growth: every segment is to be pinned. What is refused there is refused, or
 * with `spill` served all the same. */
void sp_host_backing_pin(struct sp_backing *backing, const struct sp_pin_ops *pin);

#endif /* SP_HOST_POOL_H */
