/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The machine's NUMA nodes as hwloc sees them: what each is made of, how far they are from each
 * other, and which is nearest to a thread or a PCI device. No hwloc type is needed to use it.
 */
#ifndef SP_TOPO_H
#define SP_TOPO_H

#include <stdbool.h>

#include <starpool/base.h>
#include <starpool/numa.h>

/* In place of an OS index: every node that serves HOST pools. */
#define SP_NODE_HOST (-1)

struct sp_topo; /* never changes once it is open */

/*
 * The process's topology. Loaded at the first call: a copy of the one that was offered, or else
 * what hwloc finds (HWLOC_SYNTHETIC and HWLOC_XMLFILE are hwloc's own affair). The nodes that
 * serve HOST are those of the option NODES, if it names any. Valid until the process ends.
 * ENOTSUP if hwloc cannot load it, ENOMEM. Threads: any, at once.
 */
STARPOOL_CHECK enum starpool_status sp_topo_get(const struct sp_topo **topo_out);

/*
 * Offer a loaded hwloc_topology_t, to be copied if ours is needed; NULL takes the offer back,
 * which is due before the owner destroys it. Nothing happens once ours is loaded.
 * Threads: any, at once.
 */
STARPOOL_API void sp_topo_offer(void *hwloc_topology);

/* Hold the loading of the process's topology still around a fork. */
void sp_topo_freeze(void);
void sp_topo_thaw(void);

/*
 * Open another topology: "synthetic:DESCRIPTION", "xml:FILE", or NULL for what sp_topo_get()
 * would load without an offer and without options. EINVAL for another word before the colon,
 * ENOTSUP if hwloc cannot load it, ENOMEM. Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status sp_topo_open(const char *description,
                                                              struct sp_topo **topo_out);
STARPOOL_API void sp_topo_close(struct sp_topo *topo);

/*
 * Let HOST pools use these nodes and no others: OS indexes such as "0,2-3". EINVAL, and nothing
 * changes, if the list does not parse or is empty, or if a node of it does not exist, is not
 * allowed or has no memory. Threads: one, before others see the topology.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status sp_topo_serve(struct sp_topo *topo,
                                                               const char *nodes);

/* What starpool_topology_get() shows of it. */
const struct starpool_topology *sp_topo_view(const struct sp_topo *topo);

/* Nodes in hwloc's logical order: `index` runs from 0 and is not an OS index. */
int sp_topo_n_nodes(const struct sp_topo *topo);
const struct starpool_node *sp_topo_node(const struct sp_topo *topo, int index);

/* The node with this OS index, or NULL. */
const struct starpool_node *sp_topo_find(const struct sp_topo *topo, int os_index);

/* Relative latency from one node to another, by index: never 0; 10 to itself and 20 to any
 * other if the machine does not say. */
unsigned sp_topo_distance(const struct sp_topo *topo, int from, int to);

/* True if it describes this machine, so that binding has an effect. */
bool sp_topo_is_real(const struct sp_topo *topo);

/*
 * The node nearest to the calling thread, of those that serve HOST; the first of them if the
 * topology is not this machine's. EDEVICE if no node serves HOST.
 */
STARPOOL_CHECK enum starpool_status sp_topo_nearest_cpu(const struct sp_topo *topo,
                                                        int *os_index_out);

/*
 * The node nearest to a PCI device such as "0000:3b:00.0", of those that serve HOST. EINVAL if
 * `bus_id` is no PCI bus id, EDEVICE if there is no such device or no node serves HOST.
 */
STARPOOL_CHECK enum starpool_status sp_topo_nearest_pci(const struct sp_topo *topo,
                                                        const char *bus_id, int *os_index_out);

#endif /* SP_TOPO_H */
