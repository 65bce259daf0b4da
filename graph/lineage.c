/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of a graph under construction, learned from the driver node by node: each node and
 * each edge is asked for once. A node goes on with a chain whose last node comes before it, so
 * that there are about as many chains as streams, and a question costs a look at each. */
#include "config.h"

#include "graph/lineage.h"

#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

struct sp_lineage_node {
    sp_cu_node node; /* NULL: no entry */
    struct sp_place place;
    struct sp_horizon before; /* its own place included */
};

/* A node that is being learned: its dependencies come first. */
struct step {
    sp_cu_node node;
    sp_cu_node *dependencies; /* [n] */
    size_t n, next;
};

struct steps {
    struct step *all; /* [room] */
    size_t n, room;
};

/* ---- horizons ---------------------------------------------------------------------------- */

void sp_horizon_fini(struct sp_horizon *horizon)
{
    free(horizon->positions);
    *horizon = (struct sp_horizon){NULL, 0};
}

bool sp_horizon_covers(const struct sp_horizon *horizon, const struct sp_place *places,
                       size_t n_places)
{
    for (size_t i = 0; i < n_places; i++) {
        if (places[i].chain >= horizon->n_chains ||
            horizon->positions[places[i].chain] < places[i].position)
            return false;
    }
    return true;
}

/* `horizon` has room for all of `other`. */
static void merge(struct sp_horizon *horizon, const struct sp_horizon *other)
{
    for (uint32_t i = 0; i < other->n_chains; i++) {
        if (horizon->positions[i] < other->positions[i])
            horizon->positions[i] = other->positions[i];
    }
}

static bool make_horizon(struct sp_horizon *horizon, uint32_t n_chains)
{
    horizon->n_chains = n_chains;
    horizon->positions = calloc(n_chains == 0 ? 1 : n_chains, sizeof(*horizon->positions));
    return horizon->positions != NULL;
}

/* ---- the table --------------------------------------------------------------------------- */

static struct sp_lineage_node *entry_of(struct sp_lineage_node *nodes, size_t room,
                                        sp_cu_node node)
{
    size_t i = (((uintptr_t)node >> 4) * 0x9e3779b97f4a7c15u) & (room - 1);

    while (nodes[i].node != NULL && nodes[i].node != node)
        i = (i + 1) & (room - 1);
    return &nodes[i];
}

static const struct sp_lineage_node *find(const struct sp_lineage *lineage, sp_cu_node node)
{
    const struct sp_lineage_node *entry;

    if (lineage->room == 0)
        return NULL;
    entry = entry_of(lineage->nodes, lineage->room, node);
    return entry->node == NULL ? NULL : entry;
}

/* At least a half of the table is empty. */
static bool has_room(struct sp_lineage *lineage)
{
    size_t room = lineage->room == 0 ? 64 : 2 * lineage->room;
    struct sp_lineage_node *nodes;

    if (lineage->n_nodes < lineage->room / 2)
        return true;
    nodes = calloc(room, sizeof(*nodes));
    if (nodes == NULL)
        return false;
    for (size_t i = 0; i < lineage->room; i++) {
        if (lineage->nodes[i].node != NULL)
            *entry_of(nodes, room, lineage->nodes[i].node) = lineage->nodes[i];
    }
    free(lineage->nodes);
    lineage->nodes = nodes;
    lineage->room = room;
    return true;
}

void sp_lineage_fini(struct sp_lineage *lineage)
{
    for (size_t i = 0; i < lineage->room; i++)
        sp_horizon_fini(&lineage->nodes[i].before);
    free(lineage->nodes);
    free(lineage->last);
    *lineage = (struct sp_lineage){.nodes = NULL};
}

/* ---- learning ---------------------------------------------------------------------------- */

/* The chain that a node with this horizon goes on with: its number is n_chains for a new one.
 */
static uint32_t chain_for(const struct sp_lineage *lineage, const struct sp_horizon *before)
{
    uint32_t i = 0;

    while (i < lineage->n_chains && before->positions[i] != lineage->last[i])
        i++;
    return i;
}

static bool has_chain_room(struct sp_lineage *lineage)
{
    uint32_t room = lineage->chains_room == 0 ? 8 : 2 * lineage->chains_room;
    uint32_t *last;

    if (lineage->n_chains < lineage->chains_room)
        return true;
    last = realloc(lineage->last, room * sizeof(*last));
    if (last == NULL)
        return false;
    lineage->last = last;
    lineage->chains_room = room;
    return true;
}

/* All of its dependencies are known. */
static bool add_node(struct sp_lineage *lineage, const struct step *step)
{
    struct sp_lineage_node added = {.node = step->node};

    if (!has_room(lineage) || !has_chain_room(lineage) ||
        !make_horizon(&added.before, lineage->n_chains + 1))
        return false;
    for (size_t i = 0; i < step->n; i++)
        merge(&added.before, &find(lineage, step->dependencies[i])->before);
    added.place.chain = chain_for(lineage, &added.before);
    if (added.place.chain == lineage->n_chains)
        lineage->last[lineage->n_chains++] = 0;
    added.before.n_chains = lineage->n_chains;
    added.place.position = ++lineage->last[added.place.chain];
    added.before.positions[added.place.chain] = added.place.position;
    *entry_of(lineage->nodes, lineage->room, step->node) = added;
    lineage->n_nodes++;
    return true;
}

/* The driver says how many there are, then which. */
static enum starpool_status ask(const struct sp_driver *driver, struct step *step)
{
    struct sp_cu_edge_data *edges;
    enum starpool_status status =
        sp_driver_status(driver->cuGraphNodeGetDependencies(step->node, NULL, NULL, &step->n),
                         "cuGraphNodeGetDependencies");

    if (status != STARPOOL_OK || step->n == 0)
        return status;
    step->dependencies = calloc(step->n, sizeof(sp_cu_node));
    edges = calloc(step->n, sizeof(*edges));
    if (step->dependencies == NULL || edges == NULL)
        status = STARPOOL_ENOMEM;
    else
        status = sp_driver_status(
            driver->cuGraphNodeGetDependencies(step->node, step->dependencies, edges, &step->n),
            "cuGraphNodeGetDependencies");
    free(edges);
    return status;
}

static enum starpool_status push(struct steps *steps, const struct sp_driver *driver,
                                 sp_cu_node node)
{
    size_t room = steps->room == 0 ? 64 : 2 * steps->room;
    struct step *all;

    if (steps->n == steps->room) {
        all = realloc(steps->all, room * sizeof(*all));
        if (all == NULL)
            return STARPOOL_ENOMEM;
        steps->all = all;
        steps->room = room;
    }
    steps->all[steps->n] = (struct step){.node = node};
    return ask(driver, &steps->all[steps->n++]);
}

/* The first of a step's dependencies that is not known; NULL if all are. */
static sp_cu_node next_unknown(const struct sp_lineage *lineage, struct step *step)
{
    while (step->next < step->n && find(lineage, step->dependencies[step->next]) != NULL)
        step->next++;
    return step->next < step->n ? step->dependencies[step->next] : NULL;
}

static enum starpool_status learn(struct sp_lineage *lineage, const struct sp_driver *driver,
                                  sp_cu_node node)
{
    struct steps steps = {.all = NULL};
    enum starpool_status status = push(&steps, driver, node);

    while (status == STARPOOL_OK && steps.n > 0) {
        struct step *step = &steps.all[steps.n - 1];
        sp_cu_node unknown = next_unknown(lineage, step);

        if (unknown != NULL) {
            status = push(&steps, driver, unknown);
            continue;
        }
        if (!add_node(lineage, step))
            status = STARPOOL_ENOMEM;
        free(step->dependencies);
        steps.n--;
    }
    while (steps.n > 0)
        free(steps.all[--steps.n].dependencies);
    free(steps.all);
    return status;
}

enum starpool_status sp_lineage_look(struct sp_lineage *lineage, const struct sp_driver *driver,
                                     const struct sp_frontier *frontier,
                                     struct sp_horizon *horizon_out,
                                     struct sp_place **places_out)
{
    struct sp_horizon horizon;
    struct sp_place *places = NULL;

    for (size_t i = 0; i < frontier->n_nodes; i++) {
        enum starpool_status status = STARPOOL_OK;

        if (find(lineage, frontier->nodes[i]) == NULL)
            status = learn(lineage, driver, frontier->nodes[i]);
        if (status != STARPOOL_OK)
            return status;
    }
    if (!make_horizon(&horizon, lineage->n_chains))
        return STARPOOL_ENOMEM;
    if (places_out != NULL && frontier->n_nodes > 0) {
        places = malloc(frontier->n_nodes * sizeof(*places));
        if (places == NULL) {
            sp_horizon_fini(&horizon);
            return STARPOOL_ENOMEM;
        }
    }
    for (size_t i = 0; i < frontier->n_nodes; i++) {
        const struct sp_lineage_node *node = find(lineage, frontier->nodes[i]);

        merge(&horizon, &node->before);
        if (places != NULL)
            places[i] = node->place;
    }
    *horizon_out = horizon;
    if (places_out != NULL)
        *places_out = places;
    return STARPOOL_OK;
}
