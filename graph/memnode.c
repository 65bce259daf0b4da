/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graph memory by captured calls. A free captured into a side stream that has been joined would
 * be a node that nobody joins, and the capture would end in an error: so free nodes are added
 * beside the streams, and allocations are put behind them, without which the driver would not
 * use their memory again. */
#include "config.h"

#include "graph/memnode.h"

#include <stdlib.h>

/* A free node that no allocation has been put behind. */
struct sp_loose_free {
    sp_cu_node node;
    struct starpool_location location;
    struct sp_place *places; /* [n_places] it comes after these */
    size_t n_places;
    struct sp_loose_free *next;
};

static void drop_loose(struct sp_loose_free **link)
{
    struct sp_loose_free *loose = *link;

    *link = loose->next;
    free(loose->places);
    free(loose);
}

void sp_memnode_fini(struct sp_owner *owner)
{
    while (owner->loose_frees != NULL)
        drop_loose(&owner->loose_frees);
}

static bool would_serve(const struct sp_loose_free *loose, struct starpool_location location,
                        const struct sp_horizon *horizon)
{
    return sp_is_same_location(loose->location, location) &&
           sp_horizon_covers(horizon, loose->places, loose->n_places);
}

/* With the owner's lock: the free nodes that what is captured next from a stream may come after
 * without waiting for anything new: an array to be freed, which stays loose until the driver
 * has agreed. */
static size_t collect(const struct sp_owner *owner, struct starpool_location location,
                      const struct sp_horizon *horizon, sp_cu_node **nodes_out)
{
    const struct sp_loose_free *loose;
    size_t n = 0, n_loose = 0;

    for (loose = owner->loose_frees; loose != NULL; loose = loose->next)
        n_loose++;
    *nodes_out = n_loose == 0 ? NULL : malloc(n_loose * sizeof(sp_cu_node));
    if (*nodes_out == NULL)
        return 0;
    for (loose = owner->loose_frees; loose != NULL; loose = loose->next) {
        if (would_serve(loose, location, horizon))
            (*nodes_out)[n++] = loose->node;
    }
    return n;
}

/* With the owner's lock: put the stream behind the frees that come before it anyway; false if
 * there are none. Without memory or such a call of the driver only memory is not shared. */
static bool follow_frees(const struct sp_owner *owner, struct starpool_location location,
                         sp_cu_stream stream, const struct sp_horizon *horizon)
{
    sp_cu_node *nodes;
    size_t n = collect(owner, location, horizon, &nodes);
    bool is_behind =
        n > 0 && owner->driver->cuStreamUpdateCaptureDependencies(
                     stream, nodes, NULL, n, SP_CU_CAPTURE_ADD_DEPENDENCIES) == SP_CU_SUCCESS;

    free(nodes);
    return is_behind;
}

/* With the owner's lock: an allocation has been put behind them. */
static void forget_frees(struct sp_owner *owner, struct starpool_location location,
                         const struct sp_horizon *horizon)
{
    struct sp_loose_free **link = &owner->loose_frees;

    while (*link != NULL) {
        if (would_serve(*link, location, horizon))
            drop_loose(link);
        else
            link = &(*link)->next;
    }
}

/* With the owner's lock. A refused allocation leaves the stream where it was. */
static enum starpool_status alloc_behind_frees(struct sp_owner *owner, sp_cu_pool pool,
                                               struct starpool_location location,
                                               sp_cu_stream stream, size_t size,
                                               const struct sp_frontier *frontier,
                                               sp_cu_ptr *ptr_out)
{
    const struct sp_driver *driver = owner->driver;
    struct sp_horizon horizon = {NULL, 0};
    enum starpool_status status;
    bool is_behind =
        owner->loose_frees != NULL &&
        sp_lineage_look(&owner->lineage, driver, frontier, &horizon, NULL) == STARPOOL_OK &&
        follow_frees(owner, location, stream, &horizon);

    status = sp_driver_status(driver->cuMemAllocFromPoolAsync(ptr_out, size, pool, stream),
                              "cuMemAllocFromPoolAsync");
    if (is_behind && status == STARPOOL_OK)
        forget_frees(owner, location, &horizon);
    else if (is_behind)
        (void)driver->cuStreamUpdateCaptureDependencies(
            stream, frontier->nodes, NULL, frontier->n_nodes, SP_CU_CAPTURE_SET_DEPENDENCIES);
    sp_horizon_fini(&horizon);
    return status;
}

enum starpool_status sp_memnode_alloc(struct sp_owner *owner, sp_cu_pool pool,
                                      struct starpool_location location, sp_cu_stream stream,
                                      size_t size, sp_cu_ptr *ptr_out)
{
    struct sp_frontier frontier;
    enum starpool_status status =
        sp_capture_frontier(owner->driver, stream, owner->id, &frontier);

    if (status != STARPOOL_OK)
        return status;
    sp_lock_take(&owner->lock);
    status = alloc_behind_frees(owner, pool, location, stream, size, &frontier, ptr_out);
    sp_lock_give(&owner->lock);
    sp_frontier_fini(&frontier);
    return status;
}

/* With the owner's lock: where the node stands is as far as the frontier reaches. */
static void add_loose(struct sp_owner *owner, sp_cu_node node,
                      struct starpool_location location, const struct sp_frontier *frontier)
{
    struct sp_loose_free *loose = malloc(sizeof(*loose));
    struct sp_horizon horizon;
    struct sp_place *places;

    if (loose == NULL || sp_lineage_look(&owner->lineage, owner->driver, frontier, &horizon,
                                         &places) != STARPOOL_OK) {
        free(loose); /* Its memory will not be shared. */
        return;
    }
    sp_horizon_fini(&horizon);
    *loose =
        (struct sp_loose_free){node, location, places, frontier->n_nodes, owner->loose_frees};
    owner->loose_frees = loose;
}

enum starpool_status sp_memnode_free(struct sp_owner *owner, struct starpool_location location,
                                     sp_cu_stream stream, sp_cu_ptr ptr)
{
    const struct sp_driver *driver = owner->driver;
    struct sp_frontier frontier;
    sp_cu_node node;
    enum starpool_status status = sp_capture_frontier(driver, stream, owner->id, &frontier);

    if (status != STARPOOL_OK)
        return status;
    sp_lock_take(&owner->lock);
    status = sp_driver_status(driver->cuGraphAddMemFreeNode(
                                  &node, frontier.graph, frontier.nodes, frontier.n_nodes, ptr),
                              "cuGraphAddMemFreeNode");
    if (status == STARPOOL_OK)
        add_loose(owner, node, location, &frontier);
    sp_lock_give(&owner->lock);
    sp_frontier_fini(&frontier);
    return status;
}
