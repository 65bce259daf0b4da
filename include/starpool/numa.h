/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The machine's NUMA nodes, and on which of them the pages of a range are. */
#ifndef STARPOOL_NUMA_H
#define STARPOOL_NUMA_H

#include <starpool/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Nodes that a starpool_pages can tell apart; a page of a node beyond is counted as unknown.
 */
#define STARPOOL_MAX_NODES 64

/** What a NUMA node is made of. */
enum starpool_node_kind {
    STARPOOL_NODE_DRAM,  /**< ordinary memory */
    STARPOOL_NODE_GPU,   /**< memory of a GPU that the system shows as a node (GH200, POWER9) */
    STARPOOL_NODE_EMPTY, /**< a placeholder without memory (such as those made for MIG) */
    STARPOOL_NODE_SLOW,  /**< a slower tier (CXL, persistent memory) */
};

/** One NUMA node. */
struct starpool_node {
    int os_index; /**< the number the system gives it */
    enum starpool_node_kind kind;
    bool is_allowed;      /**< this process may use it (cpusets) */
    bool serves_host;     /**< pools of kind STARPOOL_HOST use it */
    uint64_t total_bytes; /**< [bytes] its memory */
    int n_cpus;           /**< CPUs that are local to it */
    char cpus[256];       /**< which, as a list such as "0-3,8"; cut with "..." if too long */
};

/**
 * The machine's nodes, in hwloc's logical order. Never changes; owned by starpool.
 */
struct starpool_topology {
    int n_nodes;
    const struct starpool_node *nodes; /**< [n_nodes] */
    const unsigned *distances; /**< [n_nodes][n_nodes] relative latency, 10 for a node to
                                    itself; row: from, column: to */
    bool is_real;              /**< it describes this machine, so that binding has an effect */
};

/**
 * The topology of this machine, or the one that HWLOC_SYNTHETIC or HWLOC_XMLFILE describes.
 * Loaded at the first call.
 *
 * @param topology_out  written only on STARPOOL_OK; valid until the process ends
 *
 * @retval STARPOOL_OK       `*topology_out` is set
 * @retval STARPOOL_EINVAL   `topology_out` is NULL
 * @retval STARPOOL_ENOTSUP  hwloc cannot load it
 * @retval STARPOOL_ENOMEM   no memory
 *
 * Threads: any, at once.
 * Source:  hwloc, hwloc_topology_load, hwloc_distances_get.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_topology_get(const struct starpool_topology **topology_out);

/**
 * How many bytes may still be touched on a node without the kernel's OOM killer: the least of
 * what the node, the memory control groups and the process's limits leave.
 *
 * @param os_index   a node's OS index, or STARPOOL_ID_NEAREST
 * @param bytes_out  [bytes] written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*bytes_out` is set
 * @retval STARPOOL_EINVAL   `bytes_out` is NULL
 * @retval STARPOOL_EDEVICE  there is no such node
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_numa_room(int os_index,
                                                                    uint64_t *bytes_out);

/**
 * The node nearest to a PCI device. No CUDA call is made.
 *
 * @param bus_id        such as "0000:3b:00.0"
 * @param os_index_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*os_index_out` is a node that serves HOST pools
 * @retval STARPOOL_EINVAL   a pointer is NULL, or `bus_id` is no PCI bus id
 * @retval STARPOOL_EDEVICE  there is no such device
 *
 * Threads: any, at once.
 * Source:  hwloc, hwloc_get_pcidev_by_busid.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_numa_nearest(const char *bus_id,
                                                                       int *os_index_out);

/** Where the pages of a range are. n_resident + n_absent + n_unknown == n_pages. */
struct starpool_pages {
    size_t page_size;    /**< [bytes] */
    uint64_t n_pages;    /**< pages that the range meets */
    uint64_t n_resident; /**< on a node that is known: the sum of `n_on_node` */
    uint64_t n_absent;   /**< not touched yet */
    uint64_t n_unknown;  /**< the system does not say, or the topology is not this machine's */
    uint64_t n_on_node[STARPOOL_MAX_NODES]; /**< [OS index] */
};

/**
 * Count on which nodes the pages of a range are.
 *
 * @param ptr        where the range begins
 * @param size       [bytes] not 0
 * @param pages_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*pages_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, `size` is 0, or the range wraps around
 *
 * Threads: any, at once.
 * Source:  Linux, move_pages(2).
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_verify(const void *ptr, size_t size, struct starpool_pages *pages_out);

/**
 * Move the pages of a range to a node.
 *
 * @param ptr       where the range begins
 * @param size      [bytes] not 0
 * @param location  {STARPOOL_HOST_NUMA, OS index}
 *
 * @retval STARPOOL_OK        every resident page is on that node now
 * @retval STARPOOL_EINVAL    `ptr` is NULL, `size` is 0, the range wraps around, or another
 * kind of location
 * @retval STARPOOL_EDEVICE   there is no such node
 * @retval STARPOOL_ENODE     the node has no room for all of them; some may have moved
 * @retval STARPOOL_EBUSY     some pages could not be moved
 * @retval STARPOOL_ENOTPERM  the system refuses it to this process
 * @retval STARPOOL_ENOTSUP   the topology is not this machine's
 *
 * Threads: any, at once.
 * Source:  Linux, move_pages(2).
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_repair(void *ptr, size_t size, struct starpool_location location);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_NUMA_H */
