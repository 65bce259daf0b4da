/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph of the driver as data. Which free belongs to which allocation, and what a copy uses,
 * is told by addresses: in an order that follows the edges, an address is that of the latest
 * allocation there, because what runs at once has no addresses in common. */
#include "config.h"

#include <starpool/capture.h>

#include <stdlib.h>

#include "graph/graph.h"
#include "src/driver/driver.h"
#include "src/pool/captured.h"
#include "src/pool/pool.h"
#include "src/util/util.h"

/* What blocks of the driver begin at multiples of, at least. */
#define ALIGNMENT 256

/* A block that is there at a point of the walk. */
struct present {
    uint32_t block;
    uintptr_t start;
    size_t size;
};

/* A node of the driver, sorted by handles to be found. */
struct numbered {
    sp_cu_node node;
    uint32_t index;
};

struct import {
    const struct sp_driver *driver;
    sp_cu_graph from;
    struct starpool_graph *graph;
    sp_cu_node *nodes;        /* [n_nodes] by their numbers in the graph */
    struct numbered *numbers; /* [n_nodes] */
    size_t n_nodes;
    struct present *present; /* [n_present], room for n_nodes and two for each */
    size_t n_present;
};

/* ---- nodes and edges --------------------------------------------------------------------- */

static enum starpool_graph_node_kind kind_of(int type)
{
    switch (type) {
    case SP_CU_NODE_KERNEL:
        return STARPOOL_GRAPH_NODE_KERNEL;
    case SP_CU_NODE_MEMCPY:
        return STARPOOL_GRAPH_NODE_MEMCPY;
    case SP_CU_NODE_MEMSET:
        return STARPOOL_GRAPH_NODE_MEMSET;
    case SP_CU_NODE_HOST:
        return STARPOOL_GRAPH_NODE_HOST;
    case SP_CU_NODE_GRAPH:
        return STARPOOL_GRAPH_NODE_CHILD;
    case SP_CU_NODE_EMPTY:
        return STARPOOL_GRAPH_NODE_EMPTY;
    case SP_CU_NODE_WAIT_EVENT:
        return STARPOOL_GRAPH_NODE_EVENT_WAIT;
    case SP_CU_NODE_EVENT_RECORD:
        return STARPOOL_GRAPH_NODE_EVENT_RECORD;
    case SP_CU_NODE_MEM_ALLOC:
        return STARPOOL_GRAPH_NODE_ALLOC;
    case SP_CU_NODE_MEM_FREE:
        return STARPOOL_GRAPH_NODE_FREE;
    default:
        return STARPOOL_GRAPH_NODE_OTHER;
    }
}

static int compare_nodes(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct numbered *)a)->node;
    uintptr_t y = (uintptr_t)((const struct numbered *)b)->node;

    return x < y ? -1 : x > y;
}

static uint32_t number_of(const struct import *import, sp_cu_node node)
{
    struct numbered key = {.node = node};
    const struct numbered *found =
        bsearch(&key, import->numbers, import->n_nodes, sizeof(key), compare_nodes);

    return found == NULL ? SP_NO_INDEX : found->index;
}

static enum starpool_status list_nodes(struct import *import)
{
    size_t room;
    enum starpool_status status =
        sp_driver_status(import->driver->cuGraphGetNodes(import->from, NULL, &import->n_nodes),
                         "cuGraphGetNodes");

    if (status != STARPOOL_OK)
        return status;
    room = import->n_nodes + 1;
    import->nodes = calloc(room, sizeof(sp_cu_node));
    import->numbers = calloc(room, sizeof(*import->numbers));
    import->present = calloc(3 * room, sizeof(*import->present));
    if (import->nodes == NULL || import->numbers == NULL || import->present == NULL)
        return STARPOOL_ENOMEM;
    if (import->n_nodes == 0)
        return STARPOOL_OK;
    return sp_driver_status(
        import->driver->cuGraphGetNodes(import->from, import->nodes, &import->n_nodes),
        "cuGraphGetNodes");
}

static enum starpool_status add_nodes(struct import *import)
{
    enum starpool_status status = list_nodes(import);

    for (size_t i = 0; i < import->n_nodes && status == STARPOOL_OK; i++) {
        int type = 0;

        import->numbers[i] = (struct numbered){import->nodes[i], (uint32_t)i};
        status = sp_driver_status(import->driver->cuGraphNodeGetType(import->nodes[i], &type),
                                  "cuGraphNodeGetType");
        if (status == STARPOOL_OK &&
            sp_graph_add_node(import->graph, kind_of(type), NULL) == SP_NO_INDEX)
            status = STARPOOL_ENOMEM;
    }
    if (status == STARPOOL_OK && import->n_nodes > 0)
        qsort(import->numbers, import->n_nodes, sizeof(*import->numbers), compare_nodes);
    return status;
}

static enum starpool_status add_edges(struct import *import)
{
    sp_cu_node *from, *to;
    struct sp_cu_edge_data *data;
    size_t n = 0;
    enum starpool_status status = sp_driver_status(
        import->driver->cuGraphGetEdges(import->from, NULL, NULL, NULL, &n), "cuGraphGetEdges");

    if (status != STARPOOL_OK || n == 0)
        return status;
    from = calloc(n, sizeof(sp_cu_node));
    to = calloc(n, sizeof(sp_cu_node));
    data = calloc(n, sizeof(*data));
    if (from == NULL || to == NULL || data == NULL)
        status = STARPOOL_ENOMEM;
    else
        status =
            sp_driver_status(import->driver->cuGraphGetEdges(import->from, from, to, data, &n),
                             "cuGraphGetEdges");
    for (size_t i = 0; i < n && status == STARPOOL_OK; i++) {
        if (!sp_graph_add_edge(import->graph, number_of(import, from[i]),
                               number_of(import, to[i])))
            status = STARPOOL_ENOMEM;
    }
    free(from);
    free(to);
    free(data);
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static struct present *find_present(struct import *import, uintptr_t address)
{
    for (size_t i = import->n_present; i > 0; i--) {
        struct present *present = &import->present[i - 1];

        if (address - present->start < present->size)
            return present;
    }
    return NULL;
}

static bool add_block(struct import *import, const struct sp_graph_block *block)
{
    uint32_t index = sp_graph_add_block(import->graph, block);

    if (index == SP_NO_INDEX)
        return false;
    import->present[import->n_present++] =
        (struct present){index, (uintptr_t)block->address, block->size};
    return true;
}

static struct starpool_location location_of(struct sp_cu_location location)
{
    switch (location.type) {
    case SP_CU_LOCATION_DEVICE:
        return (struct starpool_location){STARPOOL_DEVICE, location.id};
    case SP_CU_LOCATION_HOST_NUMA:
        return (struct starpool_location){STARPOOL_HOST_NUMA, location.id};
    case SP_CU_LOCATION_HOST:
        return (struct starpool_location){STARPOOL_HOST, 0};
    default:
        return (struct starpool_location){STARPOOL_NONE, 0};
    }
}

static enum starpool_status see_alloc(struct import *import, uint32_t node)
{
    struct sp_cu_alloc_params params;
    enum starpool_status status = sp_driver_status(
        import->driver->cuGraphMemAllocNodeGetParams(import->nodes[node], &params),
        "cuGraphMemAllocNodeGetParams");
    struct sp_graph_block block = {
        .alignment = ALIGNMENT, .alloc = node, .free = SP_NO_INDEX, .is_output = true};

    if (status != STARPOOL_OK)
        return status;
    block.size = params.size;
    block.location = location_of(params.props.location);
    block.address = params.ptr;
    return add_block(import, &block) ? STARPOOL_OK : STARPOOL_ENOMEM;
}

/* What another graph has allocated, if that is known here. */
static enum starpool_status see_foreign_free(struct import *import, uint32_t node,
                                             uintptr_t address)
{
    struct sp_graph_block block = {
        .alignment = ALIGNMENT, .alloc = SP_NO_INDEX, .free = node, .is_input = true};
    struct sp_owned owned;

    if (!sp_owned_find(address, &owned))
        return STARPOOL_OK;
    block.size = owned.size;
    block.location = owned.location;
    block.address = address;
    return sp_graph_add_block(import->graph, &block) == SP_NO_INDEX ? STARPOOL_ENOMEM
                                                                    : STARPOOL_OK;
}

static enum starpool_status see_free(struct import *import, uint32_t node)
{
    struct present *present;
    struct sp_graph_block *block;
    sp_cu_ptr ptr = 0;
    enum starpool_status status =
        sp_driver_status(import->driver->cuGraphMemFreeNodeGetParams(import->nodes[node], &ptr),
                         "cuGraphMemFreeNodeGetParams");

    if (status != STARPOOL_OK)
        return status;
    present = find_present(import, (uintptr_t)ptr);
    if (present == NULL)
        return see_foreign_free(import, node, (uintptr_t)ptr);
    block = &import->graph->blocks[present->block];
    block->free = node;
    block->is_output = false;
    *present = import->present[--import->n_present];
    return STARPOOL_OK;
}

/* ---- uses -------------------------------------------------------------------------------- */

/* A block of a pool, which is there before the graph and after. */
static bool add_foreign(struct import *import, uintptr_t address)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct sp_graph_block block = {.alignment = ALIGNMENT,
                                   .alloc = SP_NO_INDEX,
                                   .free = SP_NO_INDEX,
                                   .is_input = true,
                                   .is_output = true};

    if (starpool_block_info((const void *)address, &info) != STARPOOL_OK || info.pool == NULL)
        return true;
    block.size = info.size;
    block.location = info.pool->location;
    block.address = (uintptr_t)info.base;
    return add_block(import, &block);
}

static enum starpool_status see_use(struct import *import, uint32_t node, uintptr_t address)
{
    const struct present *present;

    if (address == 0)
        return STARPOOL_OK;
    present = find_present(import, address);
    if (present == NULL) {
        if (!add_foreign(import, address))
            return STARPOOL_ENOMEM;
        present = find_present(import, address);
    }
    if (present == NULL)
        return STARPOOL_OK; /* It is no pool's. */
    return sp_graph_add_use(import->graph, present->block, node) ? STARPOOL_OK
                                                                 : STARPOOL_ENOMEM;
}

static uintptr_t address_of(int type, const void *host, sp_cu_ptr device, size_t offset)
{
    if (type == SP_CU_MEMORY_TYPE_ARRAY)
        return 0;
    return (type == SP_CU_MEMORY_TYPE_HOST ? (uintptr_t)host : (uintptr_t)device) + offset;
}

static enum starpool_status see_copy(struct import *import, uint32_t node)
{
    struct sp_cu_memcpy3d copy;
    uintptr_t source, target;
    enum starpool_status status =
        sp_driver_status(import->driver->cuGraphMemcpyNodeGetParams(import->nodes[node], &copy),
                         "cuGraphMemcpyNodeGetParams");

    if (status != STARPOOL_OK)
        return status;
    source =
        address_of(copy.source_type, copy.source_host, copy.source_device, copy.source_x_bytes);
    target =
        address_of(copy.target_type, copy.target_host, copy.target_device, copy.target_x_bytes);
    status = see_use(import, node, source);
    if (status != STARPOOL_OK || find_present(import, source) == NULL ||
        find_present(import, source) != find_present(import, target))
        return status == STARPOOL_OK ? see_use(import, node, target) : status;
    return STARPOOL_OK; /* Within one block. */
}

static enum starpool_status see_set(struct import *import, uint32_t node)
{
    struct sp_cu_memset_params params;
    enum starpool_status status = sp_driver_status(
        import->driver->cuGraphMemsetNodeGetParams(import->nodes[node], &params),
        "cuGraphMemsetNodeGetParams");

    return status == STARPOOL_OK ? see_use(import, node, (uintptr_t)params.target) : status;
}

static enum starpool_status see(struct import *import, uint32_t node)
{
    switch (import->graph->nodes[node].kind) {
    case STARPOOL_GRAPH_NODE_ALLOC:
        return see_alloc(import, node);
    case STARPOOL_GRAPH_NODE_FREE:
        return see_free(import, node);
    case STARPOOL_GRAPH_NODE_MEMCPY:
        return see_copy(import, node);
    case STARPOOL_GRAPH_NODE_MEMSET:
        return see_set(import, node);
    case STARPOOL_GRAPH_NODE_EMPTY:
    case STARPOOL_GRAPH_NODE_KERNEL:
    case STARPOOL_GRAPH_NODE_HOST:
    case STARPOOL_GRAPH_NODE_CHILD:
    case STARPOOL_GRAPH_NODE_EVENT_RECORD:
    case STARPOOL_GRAPH_NODE_EVENT_WAIT:
    case STARPOOL_GRAPH_NODE_TASK:
    case STARPOOL_GRAPH_NODE_OTHER:
        break;
    }
    return STARPOOL_OK;
}

static enum starpool_status walk(struct import *import)
{
    uint32_t *order = malloc((import->n_nodes + 1) * sizeof(*order));
    enum starpool_status status =
        order == NULL ? STARPOOL_ENOMEM : sp_graph_sort(import->graph, order);

    for (size_t i = 0; i < import->n_nodes && status == STARPOOL_OK; i++)
        status = see(import, order[i]);
    free(order);
    return status;
}

enum starpool_status starpool_graph_from_capture(starpool_cuda_graph from,
                                                 struct starpool_graph **graph_out)
{
    struct import import = {.from = from};
    enum starpool_status status;

    if (from == NULL || graph_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_driver_get(&import.driver);
    if (status != STARPOOL_OK)
        return status;
    import.graph = sp_graph_create(NULL);
    if (import.graph == NULL)
        return STARPOOL_ENOMEM;
    status = add_nodes(&import);
    if (status == STARPOOL_OK)
        status = add_edges(&import);
    if (status == STARPOOL_OK)
        status = walk(&import);
    free(import.nodes);
    free(import.numbers);
    free(import.present);
    if (status == STARPOOL_OK)
        *graph_out = import.graph;
    else
        sp_graph_destroy(import.graph);
    return status;
}
