/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backing of HOST and HOST_NUMA pools: segments of bound, touched memory. */
#ifndef SP_HOST_POOL_H
#define SP_HOST_POOL_H

#include <starpool/base.h>
#include <starpool/pool.h>

#include "src/pool/pool_ops.h"

/*
 * A backing on a NUMA node, or (node -1) on all nodes that serve HOST pools. With `spill` a
 * full node is no refusal: other nodes give what is missing, and the piece says how much.
 *
 * STARPOOL_EDEVICE: no such node, or not allowed to this process. STARPOOL_ENOMEM.
 */
enum starpool_status sp_host_backing_create(int node, const struct starpool_pool_config *config,
                                            struct sp_backing **backing_out);

#endif /* SP_HOST_POOL_H */
