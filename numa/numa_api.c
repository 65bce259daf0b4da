/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions of starpool/numa.h: checks arguments, then asks numa/. */
#include "config.h"

#include <starpool/numa.h>

#include "numa/room.h"
#include "numa/topo.h"
#include "numa/verify.h"

/* An index that the caller gave, STARPOOL_ID_NEAREST resolved. */
static enum starpool_status resolve(const struct sp_topo *topo, int os_index, int *os_index_out)
{
    if (os_index == STARPOOL_ID_NEAREST)
        return sp_topo_nearest_cpu(topo, os_index_out);
    if (sp_topo_find(topo, os_index) == NULL)
        return STARPOOL_EDEVICE;
    *os_index_out = os_index;
    return STARPOOL_OK;
}

static bool is_range(const void *ptr, size_t size)
{
    return ptr != NULL && size > 0 && (uintptr_t)ptr <= UINTPTR_MAX - (size - 1);
}

enum starpool_status starpool_topology_get(const struct starpool_topology **topology_out)
{
    const struct sp_topo *topo;
    enum starpool_status status;

    if (topology_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_topo_get(&topo);
    if (status == STARPOOL_OK)
        *topology_out = sp_topo_view(topo);
    return status;
}

enum starpool_status starpool_numa_room(int os_index, uint64_t *bytes_out)
{
    const struct sp_topo *topo;
    struct sp_room room;
    enum starpool_status status;
    int node;

    if (bytes_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_topo_get(&topo);
    if (status == STARPOOL_OK)
        status = resolve(topo, os_index, &node);
    if (status != STARPOOL_OK)
        return status;
    sp_room_query(node, false, &room);
    *bytes_out = room.bytes;
    return STARPOOL_OK;
}

enum starpool_status starpool_numa_nearest(const char *bus_id, int *os_index_out)
{
    const struct sp_topo *topo;
    enum starpool_status status;

    if (bus_id == NULL || os_index_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_topo_get(&topo);
    return status == STARPOOL_OK ? sp_topo_nearest_pci(topo, bus_id, os_index_out) : status;
}

enum starpool_status starpool_verify(const void *ptr, size_t size,
                                     struct starpool_pages *pages_out)
{
    const struct sp_topo *topo;
    enum starpool_status status;

    if (!is_range(ptr, size) || pages_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_topo_get(&topo);
    if (status == STARPOOL_OK)
        sp_verify_range(topo, ptr, size, pages_out);
    return status;
}

enum starpool_status starpool_repair(void *ptr, size_t size, struct starpool_location location)
{
    const struct sp_topo *topo;
    enum starpool_status status;
    int node;

    if (!is_range(ptr, size) || location.kind != STARPOOL_HOST_NUMA)
        return STARPOOL_EINVAL;
    status = sp_topo_get(&topo);
    if (status == STARPOOL_OK)
        status = resolve(topo, location.id, &node);
    return status == STARPOOL_OK ? sp_repair_range(topo, ptr, size, node) : status;
}
