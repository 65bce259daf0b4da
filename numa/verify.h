/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* On which NUMA nodes the pages of a range are, and moving them. */
#ifndef SP_VERIFY_H
#define SP_VERIFY_H

#include <stddef.h>

#include <starpool/numa.h>

#include "numa/topo.h"

/*
 * Count the pages that the range meets: on which node, absent, unknown. Everything is unknown
 * if the topology is not this machine's or the system refuses the question. The range does not
 * wrap around. Threads: any, at once; makes a system call for every 2 MiB.
 */
void sp_verify_range(const struct sp_topo *topo, const void *ptr, size_t size,
                     struct starpool_pages *pages_out);

/*
 * Move the resident pages of a range to a node; statuses as starpool_repair(). Which node later
 * pages of the range come from does not change. Threads: any, at once.
 */
STARPOOL_CHECK enum starpool_status sp_repair_range(const struct sp_topo *topo, void *ptr,
                                                    size_t size, int node);

#endif /* SP_VERIFY_H */
