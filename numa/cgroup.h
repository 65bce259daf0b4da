/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to numa/: what the memory control groups of this process leave. */
#ifndef SP_CGROUP_H
#define SP_CGROUP_H

#include <stddef.h>

#include "numa/reserve.h"

/*
 * The least, over the process's memory control group and each ancestor that can be seen, of
 * its limit less its use and the reserve, with the page cache and slab that the kernel would
 * reclaim first counted as free. Both hierarchies (v1, v2) are asked. SP_UNKNOWN if none of
 * them limits memory. `root` as for sp_lines_open(). Threads: any, at once.
 */
size_t sp_cgroup_room(const char *root, const struct sp_reserve *reserve);

#endif /* SP_CGROUP_H */
