/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Binds ranges and threads through hwloc. Which policy is due, and what a refusal means, is
 * decided in populate.c. */
#include "config.h"

#include "numa/topo_bind.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "numa/topo_hwloc.h"
#include "src/util/util.h"

/* set_mempolicy_home_node(2), Linux 5.17: the same number on every architecture. */
#define SYSCALL_HOME_NODE 450

/* Into `set`: `node`, or with SP_NODE_HOST or `has_hosts` all nodes that serve HOST. */
static void collect(const struct sp_topo *topo, int node, bool has_hosts, hwloc_nodeset_t set)
{
    for (int i = 0; i < topo->view.n_nodes; i++) {
        const struct starpool_node *candidate = &topo->nodes[i];

        if (candidate->os_index == node ||
            ((has_hosts || node == SP_NODE_HOST) && candidate->serves_host))
            (void)hwloc_bitmap_set(set, (unsigned)candidate->os_index);
    }
}

/* True if `set` has every node that the process could get memory from. */
static bool is_everything(const struct sp_topo *topo, hwloc_const_nodeset_t set)
{
    for (int i = 0; i < topo->view.n_nodes; i++) {
        const struct starpool_node *node = &topo->nodes[i];

        if (node->is_allowed && node->total_bytes > 0 &&
            !hwloc_bitmap_isset(set, (unsigned)node->os_index))
            return false;
    }
    return true;
}

int sp_topo_bind(const struct sp_topo *topo, void *base, size_t size, int node,
                 enum sp_policy policy)
{
    int flags = HWLOC_MEMBIND_BYNODESET;
    hwloc_nodeset_t set;
    int error = 0;

    if (!topo->view.is_real)
        return ENOSYS;
    set = hwloc_bitmap_alloc();
    if (set == NULL)
        return ENOMEM;
    collect(topo, node, policy == SP_POLICY_SPILL, set);
    /* Without STRICT hwloc chooses the preferred policy of Linux. */
    if (policy != SP_POLICY_PREFER)
        flags |= HWLOC_MEMBIND_STRICT;
    /* All nodes: the system's own policy, which is to take the toucher's, is as good. */
    if (node == SP_NODE_HOST && is_everything(topo, set))
        goto out;
    if (hwloc_set_area_membind(topo->hwloc, base, size, set, HWLOC_MEMBIND_BIND, flags) != 0)
        error = errno != 0 ? errno : EINVAL;
    /* A set alone would take the toucher's node first. Older kernels do just that. */
    else if (policy == SP_POLICY_SPILL && node >= 0)
        (void)syscall(SYSCALL_HOME_NODE, base, size, (unsigned long)node, 0UL);
out:
    hwloc_bitmap_free(set);
    return error;
}

/* Into `set`: CPUs near `node` that some thread of the process may use. */
static void near_cpus(const struct sp_topo *topo, int node, hwloc_cpuset_t set)
{
    hwloc_cpuset_t ours = hwloc_bitmap_alloc();

    for (int i = 0; i < topo->view.n_nodes; i++) {
        const struct starpool_node *candidate = &topo->nodes[i];

        if (candidate->os_index == node || (node == SP_NODE_HOST && candidate->serves_host))
            (void)hwloc_bitmap_or(set, set, topo->links[i].cpus);
    }
    (void)hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(topo->hwloc));
    /* The union over the threads: StarPU's workers are each bound to one CPU, the main thread
     * still has what the process was given. */
    if (ours != NULL && hwloc_get_cpubind(topo->hwloc, ours, HWLOC_CPUBIND_PROCESS) == 0)
        (void)hwloc_bitmap_and(set, set, ours);
    hwloc_bitmap_free(ours);
}

unsigned sp_topo_cpus_near(const struct sp_topo *topo, int node)
{
    hwloc_cpuset_t set;
    int weight = 0;

    if (!topo->view.is_real)
        return 0;
    set = hwloc_bitmap_alloc();
    if (set == NULL)
        return 0;
    near_cpus(topo, node, set);
    weight = hwloc_bitmap_weight(set);
    hwloc_bitmap_free(set);
    return weight > 0 ? (unsigned)weight : 0;
}

void sp_topo_move_thread(const struct sp_topo *topo, int node)
{
    hwloc_cpuset_t set;

    if (!topo->view.is_real)
        return;
    set = hwloc_bitmap_alloc();
    if (set == NULL)
        return;
    near_cpus(topo, node, set);
    if (!hwloc_bitmap_iszero(set))
        (void)hwloc_set_cpubind(topo->hwloc, set, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(set);
}

size_t sp_topo_total(const struct sp_topo *topo, int node)
{
    size_t total = 0;

    for (int i = 0; i < topo->view.n_nodes; i++) {
        const struct starpool_node *candidate = &topo->nodes[i];

        if (candidate->os_index == node || (node == SP_NODE_HOST && candidate->serves_host))
            total += candidate->total_bytes;
    }
    return total;
}
