/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds graphs: arrays that grow by halves, and names that are copied. What they hold is
 * believed here and checked in graph_check.c. */
#include "config.h"

#include "graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

#define FIRST_ROOM 16

struct starpool_graph *sp_graph_create(const char *name)
{
    struct starpool_graph *graph = calloc(1, sizeof(*graph));

    if (graph == NULL || name == NULL)
        return graph;
    graph->name = strdup(name);
    if (graph->name != NULL)
        return graph;
    free(graph);
    return NULL;
}

void sp_graph_destroy(struct starpool_graph *graph)
{
    if (graph == NULL)
        return;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        free(graph->nodes[i].name);
    for (uint32_t i = 0; i < graph->n_blocks; i++)
        free(graph->blocks[i].name);
    free(graph->nodes);
    free(graph->edges);
    free(graph->uses);
    free(graph->blocks);
    free(graph->name);
    free(graph);
}

/* Make room for one more element. False without memory, or if indexes would end. */
static bool enlarge(void **array, uint32_t n, uint32_t *room, size_t element_size)
{
    uint32_t larger = *room == 0 ? FIRST_ROOM : *room + *room / 2;
    void *moved;

    if (n < *room)
        return true;
    if (larger <= *room || larger >= SP_NO_INDEX || (size_t)larger > SIZE_MAX / element_size)
        return false;
    moved = realloc(*array, larger * element_size);
    if (moved == NULL)
        return false;
    *array = moved;
    *room = larger;
    return true;
}

/* False without memory; a NULL stays one. */
static bool copy_name(const char *name, char **copy_out)
{
    *copy_out = name == NULL ? NULL : strdup(name);
    return name == NULL || *copy_out != NULL;
}

uint32_t sp_graph_add_node(struct starpool_graph *graph, enum starpool_graph_node_kind kind,
                           const char *name)
{
    void *nodes = graph->nodes;
    char *copy;

    if (!enlarge(&nodes, graph->n_nodes, &graph->nodes_room, sizeof(*graph->nodes)))
        return SP_NO_INDEX;
    graph->nodes = nodes;
    if (!copy_name(name, &copy))
        return SP_NO_INDEX;
    graph->nodes[graph->n_nodes] = (struct sp_graph_node){.kind = kind, .name = copy};
    return graph->n_nodes++;
}

uint32_t sp_graph_add_block(struct starpool_graph *graph, const struct sp_graph_block *block)
{
    void *blocks = graph->blocks;
    char *copy;

    if (!enlarge(&blocks, graph->n_blocks, &graph->blocks_room, sizeof(*graph->blocks)))
        return SP_NO_INDEX;
    graph->blocks = blocks;
    if (!copy_name(block->name, &copy))
        return SP_NO_INDEX;
    graph->blocks[graph->n_blocks] = *block;
    graph->blocks[graph->n_blocks].name = copy;
    return graph->n_blocks++;
}

bool sp_graph_add_edge(struct starpool_graph *graph, uint32_t from, uint32_t to)
{
    void *edges = graph->edges;

    if (!enlarge(&edges, graph->n_edges, &graph->edges_room, sizeof(*graph->edges)))
        return false;
    graph->edges = edges;
    graph->edges[graph->n_edges++] = (struct sp_graph_edge){.from = from, .to = to};
    return true;
}

bool sp_graph_add_use(struct starpool_graph *graph, uint32_t block, uint32_t node)
{
    void *uses = graph->uses;

    if (!enlarge(&uses, graph->n_uses, &graph->uses_room, sizeof(*graph->uses)))
        return false;
    graph->uses = uses;
    graph->uses[graph->n_uses++] = (struct sp_graph_use){.block = block, .node = node};
    return true;
}

/* ---- locations -------------------------------------------------------------------------- */

static uint32_t find_location(const struct starpool_location *locations, uint32_t n,
                              struct starpool_location location)
{
    uint32_t i = 0;

    while (i < n && !sp_is_same_location(locations[i], location))
        i++;
    return i;
}

enum starpool_status sp_graph_locations(const struct starpool_graph *graph,
                                        struct starpool_location **locations_out,
                                        uint32_t *n_out)
{
    struct starpool_location *locations = NULL;
    void *array = NULL;
    uint32_t n = 0, room = 0;

    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        struct starpool_location location = graph->blocks[i].location;

        if (find_location(locations, n, location) < n)
            continue;
        if (!enlarge(&array, n, &room, sizeof(*locations))) {
            free(array);
            return STARPOOL_ENOMEM;
        }
        locations = array;
        locations[n++] = location;
    }
    *locations_out = locations;
    *n_out = n;
    return STARPOOL_OK;
}

void sp_location_text(struct starpool_location location, char text[32])
{
    switch (location.kind) {
    case STARPOOL_DEVICE:
        snprintf(text, 32, "device %d", location.id);
        return;
    case STARPOOL_HOST:
        snprintf(text, 32, "host");
        return;
    case STARPOOL_HOST_NUMA:
        snprintf(text, 32, "node %d", location.id);
        return;
    case STARPOOL_NONE:
        break;
    }
    snprintf(text, 32, "anywhere");
}
