/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers which node that serves HOST is nearest to a thread or a PCI device, from hwloc's
 * objects and, where a copied topology has no PCI devices, from sysfs. */
#include "config.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/procfile.h"
#include "numa/topo_hwloc.h"

/* Of the nodes that serve HOST, the one nearest to any node of `from`. */
static enum starpool_status nearest_to(const struct sp_topo *topo, hwloc_const_nodeset_t from,
                                       int *os_index_out)
{
    unsigned best = 0;
    int best_index = -1;

    for (int i = 0; i < topo->view.n_nodes; i++) {
        if (from != NULL && !hwloc_bitmap_isset(from, (unsigned)topo->nodes[i].os_index))
            continue;
        for (int j = 0; j < topo->view.n_nodes; j++) {
            unsigned distance = sp_topo_distance(topo, i, j);

            if (!topo->nodes[j].serves_host || (best_index >= 0 && distance >= best))
                continue;
            best = distance;
            best_index = j;
        }
    }
    if (best_index < 0)
        return from != NULL ? nearest_to(topo, NULL, os_index_out) : STARPOOL_EDEVICE;
    *os_index_out = topo->nodes[best_index].os_index;
    return STARPOOL_OK;
}

enum starpool_status sp_topo_nearest_cpu(const struct sp_topo *topo, int *os_index_out)
{
    int cpu = topo->view.is_real ? sched_getcpu() : -1;

    for (int i = 0; cpu >= 0 && i < topo->view.n_nodes; i++) {
        if (hwloc_bitmap_isset(topo->links[i].cpus, (unsigned)cpu))
            return nearest_to(topo, topo->links[i].object->nodeset, os_index_out);
    }
    return nearest_to(topo, NULL, os_index_out);
}

struct pci_address {
    unsigned domain, bus, device, function;
};

/* Take up to `n_digits` hexadecimal digits and the character that must follow them. */
static bool take_hex(const char **text, size_t n_digits, char follower, unsigned *value_out)
{
    size_t length = strspn(*text, "0123456789abcdefABCDEF");

    if (length == 0 || length > n_digits || (*text)[length] != follower)
        return false;
    *value_out = (unsigned)strtoul(*text, NULL, 16);
    *text += length + 1;
    return true;
}

/* Both "0000:3b:00.0" and, as some tools write, "3b:00.0" or a domain of eight digits. */
static bool parse_pci(const char *text, struct pci_address *address_out)
{
    struct pci_address address = {0};
    const char *colon = strchr(text, ':');

    if (colon != NULL && strchr(colon + 1, ':') != NULL &&
        !take_hex(&text, 8, ':', &address.domain))
        return false;
    if (!take_hex(&text, 2, ':', &address.bus) || !take_hex(&text, 2, '.', &address.device) ||
        !take_hex(&text, 1, '\0', &address.function))
        return false;
    *address_out = address;
    return true;
}

/* The node of a PCI device by sysfs: an OS index, -1 if the device has none, -2 without it. */
static int sysfs_node(const struct pci_address *address)
{
    char path[96];
    struct sp_lines lines;
    const char *line;
    uint64_t number;
    int node = -1;

    (void)snprintf(path, sizeof(path), "sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node",
                   address->domain, address->bus, address->device, address->function);
    if (!sp_lines_open(&lines, "", path))
        return -2;
    line = sp_lines_next(&lines);
    if (line != NULL && sp_line_number(line, "", &number) && number <= INT_MAX)
        node = (int)number;
    sp_lines_close(&lines);
    return node;
}

static enum starpool_status nearest_by_sysfs(const struct sp_topo *topo,
                                             const struct pci_address *address,
                                             int *os_index_out)
{
    int node = topo->view.is_real ? sysfs_node(address) : -2;

    if (node == -2)
        return STARPOOL_EDEVICE;
    for (int i = 0; i < topo->view.n_nodes; i++) {
        if (topo->nodes[i].os_index == node)
            return nearest_to(topo, topo->links[i].object->nodeset, os_index_out);
    }
    return nearest_to(topo, NULL, os_index_out);
}

enum starpool_status sp_topo_nearest_pci(const struct sp_topo *topo, const char *bus_id,
                                         int *os_index_out)
{
    struct pci_address address;
    hwloc_obj_t device, ancestor;

    if (!parse_pci(bus_id, &address))
        return STARPOOL_EINVAL;
    device = hwloc_get_pcidev_by_busid(topo->hwloc, address.domain, address.bus, address.device,
                                       address.function);
    if (device == NULL)
        return nearest_by_sysfs(topo, &address, os_index_out);
    ancestor = hwloc_get_non_io_ancestor_obj(topo->hwloc, device);
    return nearest_to(topo, ancestor != NULL ? ancestor->nodeset : NULL, os_index_out);
}
