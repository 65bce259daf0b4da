/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of numa/topo*.c on machines without hwloc: one node that nothing is bound to. What
 * tests/gpu_check.sh runs needs no more. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "numa/topo.h"
#include "numa/topo_bind.h"

struct sp_topo {
    struct starpool_topology view;
};

static struct starpool_node node = {.is_allowed = true, .serves_host = true};
static const unsigned distance = 10;
static const struct sp_topo whole = {{1, &node, &distance, false}};

enum starpool_status sp_topo_get(const struct sp_topo **topo_out)
{
    *topo_out = &whole;
    return STARPOOL_OK;
}

enum starpool_status sp_topo_open(const char *description, struct sp_topo **topo_out)
{
    (void)description, (void)topo_out;
    return STARPOOL_ENOTSUP;
}

void sp_topo_close(struct sp_topo *topo)
{
    (void)topo;
}

enum starpool_status sp_topo_serve(struct sp_topo *topo, const char *nodes)
{
    (void)topo, (void)nodes;
    return STARPOOL_ENOTSUP;
}

void sp_topo_offer(void *hwloc_topology)
{
    (void)hwloc_topology;
}

void sp_topo_freeze(void)
{
}

void sp_topo_thaw(void)
{
}

const struct starpool_topology *sp_topo_view(const struct sp_topo *topo)
{
    return &topo->view;
}

int sp_topo_n_nodes(const struct sp_topo *topo)
{
    return topo->view.n_nodes;
}

const struct starpool_node *sp_topo_node(const struct sp_topo *topo, int index)
{
    return &topo->view.nodes[index];
}

const struct starpool_node *sp_topo_find(const struct sp_topo *topo, int os_index)
{
    return os_index == 0 ? &topo->view.nodes[0] : NULL;
}

unsigned sp_topo_distance(const struct sp_topo *topo, int from, int to)
{
    (void)from, (void)to;
    return topo->view.distances[0];
}

bool sp_topo_is_real(const struct sp_topo *topo)
{
    return topo->view.is_real;
}

enum starpool_status sp_topo_nearest_cpu(const struct sp_topo *topo, int *os_index_out)
{
    (void)topo;
    *os_index_out = 0;
    return STARPOOL_OK;
}

enum starpool_status sp_topo_nearest_pci(const struct sp_topo *topo, const char *bus_id,
                                         int *os_index_out)
{
    (void)bus_id;
    return sp_topo_nearest_cpu(topo, os_index_out);
}

int sp_topo_bind(const struct sp_topo *topo, void *base, size_t size, int os_index,
                 enum sp_policy policy)
{
    (void)topo, (void)base, (void)size, (void)os_index, (void)policy;
    return 0;
}

unsigned sp_topo_cpus_near(const struct sp_topo *topo, int os_index)
{
    (void)topo, (void)os_index;
    return 0;
}

void sp_topo_move_thread(const struct sp_topo *topo, int os_index)
{
    (void)topo, (void)os_index;
}

size_t sp_topo_total(const struct sp_topo *topo, int os_index)
{
    (void)topo, (void)os_index;
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}
