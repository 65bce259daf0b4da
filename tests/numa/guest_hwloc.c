/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What starpool is compared with: hwloc's allocator on a node that is too small. The kernel is
 * expected to kill this program, which is why it says nothing of its end. */
#include "config.h"

#include "guest.h"

#include <hwloc.h>

int main(void)
{
    size_t size = guest_meminfo(1, "MemTotal") + MIB;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_topology_t topology;
    char *block;

    if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0)
        return 2;
    (void)hwloc_bitmap_set(set, 1);
    block = hwloc_alloc_membind(topology, size, set, HWLOC_MEMBIND_BIND,
                                HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT);
    if (block == NULL)
        return 3;
    /* Volatile: the compiler knows that nobody reads it. */
    for (size_t i = 0; i < size; i += 4096)
        *(volatile char *)(block + i) = 1;
    return 0;
}
