/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a launch needs: a graph's own memory and that of all pools, place by place. */
#include "config.h"

#include <starpool/capture.h>

#include <stdlib.h>

#include <starpool/plan.h>

#include "graph/graph.h"
#include "src/pool/captured.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/util/util.h"

struct footprints {
    struct starpool_footprint *all; /* [room] */
    size_t n, room;
};

/* NULL without memory. */
static struct starpool_footprint *footprint_at(struct footprints *footprints,
                                               struct starpool_location location)
{
    size_t room = footprints->room == 0 ? 8 : 2 * footprints->room;
    struct starpool_footprint *all;

    for (size_t i = 0; i < footprints->n; i++) {
        struct starpool_footprint *footprint = &footprints->all[i];

        if (sp_is_same_location(footprint->location, location))
            return footprint;
    }
    if (footprints->n == footprints->room) {
        all = realloc(footprints->all, room * sizeof(*all));
        if (all == NULL)
            return NULL;
        footprints->all = all;
        footprints->room = room;
    }
    footprints->all[footprints->n] = (struct starpool_footprint){.location = location};
    return &footprints->all[footprints->n++];
}

/* ---- the graph's own --------------------------------------------------------------------- */

/* A block of another than the graph has an address, and no node that allocates it. */
static bool is_own(const struct sp_graph_block *block, struct starpool_location location)
{
    return block->alloc != SP_NO_INDEX && sp_is_same_location(block->location, location);
}

static int compare_blocks(const void *a, const void *b)
{
    const struct sp_graph_block *x = *(const struct sp_graph_block *const *)a;
    const struct sp_graph_block *y = *(const struct sp_graph_block *const *)b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* Addresses that the graph's blocks have, each once. */
static enum starpool_status count_addresses(const struct starpool_graph *graph,
                                            struct starpool_location location,
                                            uint64_t *bytes_out)
{
    const struct sp_graph_block **blocks =
        malloc((graph->n_blocks + (size_t)1) * sizeof(struct sp_graph_block *));
    uint64_t end = 0;
    size_t n = 0;

    if (blocks == NULL)
        return STARPOOL_ENOMEM;
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        if (is_own(&graph->blocks[i], location))
            blocks[n++] = &graph->blocks[i];
    }
    qsort(blocks, n, sizeof(struct sp_graph_block *), compare_blocks);
    *bytes_out = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t start = sp_max(end, blocks[i]->address);

        end = sp_max(end, blocks[i]->address + blocks[i]->size);
        *bytes_out += end - sp_min(start, end);
    }
    free(blocks);
    return STARPOOL_OK;
}

/* True if addresses are to be found yet. */
static bool is_unplaced(const struct starpool_graph *graph)
{
    uint32_t i = 0;

    while (i < graph->n_blocks && graph->blocks[i].address != 0)
        i++;
    return i < graph->n_blocks;
}

static enum starpool_status make_plan(const struct starpool_graph *graph,
                                      struct starpool_plan **plan_out)
{
    struct starpool_plan_config config;

    *plan_out = NULL;
    if (!is_unplaced(graph))
        return STARPOOL_OK;
    starpool_plan_config_init(&config);
    config.capacity = STARPOOL_UNLIMITED;
    config.time_ns = 0;
    return starpool_plan(graph, &config, plan_out);
}

static enum starpool_status add_graph(struct footprints *footprints,
                                      const struct starpool_graph *graph)
{
    struct starpool_location *locations = NULL;
    struct starpool_plan *plan;
    uint32_t n = 0;
    enum starpool_status status = make_plan(graph, &plan);

    if (status == STARPOOL_OK)
        status = sp_graph_locations(graph, &locations, &n);
    for (uint32_t i = 0; i < n && status == STARPOOL_OK; i++) {
        struct starpool_footprint *footprint = footprint_at(footprints, locations[i]);

        if (footprint == NULL)
            status = STARPOOL_ENOMEM;
        else if (plan != NULL)
            status = starpool_plan_footprint(plan, locations[i], &footprint->graph_bytes);
        else
            status = count_addresses(graph, locations[i], &footprint->graph_bytes);
    }
    free(locations);
    starpool_plan_destroy(plan);
    return status;
}

/* ---- pools ------------------------------------------------------------------------------- */

static enum starpool_status add_pools(struct footprints *footprints)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        struct starpool_stats stats = {.struct_size = sizeof(stats)};
        struct starpool_footprint *footprint = footprint_at(footprints, pool->location);
        enum starpool_status status =
            footprint == NULL ? STARPOOL_ENOMEM : starpool_pool_stats(pool, &stats);

        if (status == STARPOOL_EINVAL && sp_pool_is_destroyed(pool))
            continue; /* What its blocks still hold the driver does not say. */
        if (status != STARPOOL_OK) {
            sp_registry_put(pool);
            return status;
        }
        footprint->pool_bytes += stats.reserved_bytes;
        footprint->arena_bytes += stats.graph_arena_bytes;
        footprint->held_bytes += stats.graph_held_bytes;
    }
    return STARPOOL_OK;
}

enum starpool_status starpool_graph_footprint(const struct starpool_graph *graph,
                                              struct starpool_footprint *footprints_out,
                                              size_t *n_footprints)
{
    struct footprints footprints = {.all = NULL};
    enum starpool_status status = STARPOOL_OK;

    if (footprints_out == NULL || n_footprints == NULL)
        return STARPOOL_EINVAL;
    if (graph != NULL)
        status = add_graph(&footprints, graph);
    if (status == STARPOOL_OK)
        status = add_pools(&footprints);
    for (size_t i = 0; i < footprints.n && status == STARPOOL_OK; i++) {
        struct starpool_footprint *footprint = &footprints.all[i];

        footprint->total_bytes = footprint->graph_bytes + footprint->pool_bytes;
        if (i < *n_footprints)
            footprints_out[i] = *footprint;
    }
    free(footprints.all);
    if (status != STARPOOL_OK)
        return status;
    if (footprints.n > *n_footprints)
        status = STARPOOL_EINVAL;
    *n_footprints = footprints.n;
    return status;
}
