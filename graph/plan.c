/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans of graphs: splits a graph's blocks by location, has each planned (plan_place.c), and
 * answers what is asked of the result. */
#include "config.h"

#include "graph/plan.h"

#include <stdlib.h>

#include "graph/files.h"
#include "graph/plan_private.h"
#include "src/util/util.h"

#define DEFAULT_TIME_NS 50000000u

/* Sizes and offsets stay below this. */
#define MOST_BYTES ((uint64_t)1 << 62)

void starpool_plan_config_init(struct starpool_plan_config *config)
{
    *config = (struct starpool_plan_config){.struct_size = sizeof(*config),
                                            .time_ns = DEFAULT_TIME_NS};
}

static bool config_is_valid(const struct starpool_plan_config *config)
{
    return config->struct_size >= sizeof(*config) &&
           (config->alignment == 0 || sp_is_power_of_two(config->alignment));
}

/* What sp_graph_check() says of sizes and times; the order of the nodes is liveness's to judge.
 * Even one behind the other the blocks must end below MOST_BYTES. */
static bool blocks_are_valid(const struct starpool_graph *graph, uint64_t alignment)
{
    uint64_t sum = 0;

    if (alignment > MOST_BYTES)
        return false;
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        const struct sp_graph_block *block = &graph->blocks[i];
        uint64_t most;

        if (block->size == 0 || block->size > MOST_BYTES || block->alignment > MOST_BYTES ||
            !sp_is_power_of_two(block->alignment) || block->upper > SP_GRAPH_MOST)
            return false;
        most = block->size + 2 * sp_max(alignment, block->alignment);
        if (most > MOST_BYTES - sum)
            return false;
        sum += most;
    }
    return true;
}

/* ---- making -------------------------------------------------------------------------- */

static uint32_t find_place(const struct starpool_plan *plan, struct starpool_location location)
{
    uint32_t p = 0;

    while (p < plan->n_places && !sp_is_same_location(plan->places[p].location, location))
        p++;
    return p;
}

/* The places, in order of appearance, and which of them each block is at. */
static enum starpool_status find_places(const struct starpool_graph *graph,
                                        struct starpool_plan *plan)
{
    struct starpool_location *locations;
    enum starpool_status status = sp_graph_locations(graph, &locations, &plan->n_places);

    if (status != STARPOOL_OK)
        return status;
    plan->n_blocks = graph->n_blocks;
    plan->offsets = calloc((size_t)plan->n_blocks + 1, sizeof(*plan->offsets));
    plan->place = calloc((size_t)plan->n_blocks + 1, sizeof(*plan->place));
    plan->places = calloc((size_t)plan->n_places + 1, sizeof(*plan->places));
    plan->antichains = calloc((size_t)plan->n_places + 1, sizeof(*plan->antichains));
    plan->n_antichain = calloc((size_t)plan->n_places + 1, sizeof(*plan->n_antichain));
    if (plan->offsets == NULL || plan->place == NULL || plan->places == NULL ||
        plan->antichains == NULL || plan->n_antichain == NULL) {
        free(locations);
        return STARPOOL_ENOMEM;
    }
    for (uint32_t p = 0; p < plan->n_places; p++)
        plan->places[p].location = locations[p];
    free(locations);
    for (uint32_t i = 0; i < graph->n_blocks; i++)
        plan->place[i] = find_place(plan, graph->blocks[i].location);
    return STARPOOL_OK;
}

/* The blocks of one place; `place` has room for all of the graph. */
static void fill_place(const struct starpool_graph *graph, const struct starpool_plan *plan,
                       uint32_t p, struct sp_place *place)
{
    place->n = 0;
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        if (plan->place[i] != p)
            continue;
        place->blocks[place->n] = i;
        place->sizes[place->n] = sp_plan_size(plan, &graph->blocks[i]);
        place->alignments[place->n++] = sp_plan_alignment(plan, &graph->blocks[i]);
    }
}

/* The time is shared out equally to the places that are left. */
static uint64_t end_of_turn(uint64_t end_ns, uint32_t n_left)
{
    uint64_t now = sp_clock_ns();

    if (end_ns == 0)
        return 0;
    return now < end_ns ? now + (end_ns - now) / n_left : now;
}

static enum starpool_status plan_places(const struct starpool_graph *graph,
                                        const struct starpool_plan_config *config,
                                        bool is_trial, struct sp_place *place,
                                        uint64_t *offsets, struct starpool_plan *plan)
{
    uint64_t end_ns = is_trial ? 0 : sp_place_end(config->time_ns);
    struct sp_plan_request request = {
        .capacity = plan->capacity, .seed = config->seed, .is_trial = is_trial};

    for (uint32_t p = 0; p < plan->n_places; p++) {
        struct sp_antichain antichain;
        enum starpool_status status;

        fill_place(graph, plan, p, place);
        request.end_ns = end_of_turn(end_ns, plan->n_places - p);
        status = sp_plan_place(place, &request, offsets, &plan->places[p].report, &antichain);
        if (status != STARPOOL_OK)
            return status;
        plan->antichains[p] = antichain.blocks;
        plan->n_antichain[p] = antichain.n;
        for (uint32_t i = 0; i < place->n; i++)
            plan->offsets[place->blocks[i]] = offsets[i];
    }
    return STARPOOL_OK;
}

static enum starpool_status fill_plan(const struct starpool_graph *graph,
                                      const struct starpool_plan_config *config, bool is_trial,
                                      struct starpool_plan *plan)
{
    size_t n = (size_t)graph->n_blocks + 1;
    struct sp_place place = {.n = 0};
    struct sp_liveness *liveness = NULL;
    uint64_t *offsets = calloc(n, sizeof(*offsets));
    enum starpool_status status = find_places(graph, plan);

    place.blocks = calloc(n, sizeof(*place.blocks));
    place.sizes = calloc(n, sizeof(*place.sizes));
    place.alignments = calloc(n, sizeof(*place.alignments));
    if (offsets == NULL || place.blocks == NULL || place.sizes == NULL ||
        place.alignments == NULL)
        status = STARPOOL_ENOMEM;
    if (status == STARPOOL_OK)
        status = sp_liveness_create(graph, 0, &liveness);
    if (status == STARPOOL_OK) {
        place.liveness = liveness;
        status = plan_places(graph, config, is_trial, &place, offsets, plan);
    }
    sp_liveness_destroy(liveness);
    free(offsets);
    free(place.blocks);
    free(place.sizes);
    free(place.alignments);
    return status;
}

enum starpool_status sp_plan_make(const struct starpool_graph *graph,
                                  const struct starpool_plan_config *config, bool is_trial,
                                  struct starpool_plan **plan_out)
{
    struct starpool_plan *plan;
    enum starpool_status status;

    if (!blocks_are_valid(graph, config->alignment))
        return STARPOOL_EINVAL;
    plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return STARPOOL_ENOMEM;
    plan->alignment = config->alignment;
    plan->capacity = config->capacity == 0 ? graph->capacity : config->capacity;
    if (plan->capacity == 0)
        plan->capacity = STARPOOL_UNLIMITED;
    status = fill_plan(graph, config, is_trial, plan);
    if (status != STARPOOL_OK) {
        starpool_plan_destroy(plan);
        return status;
    }
    *plan_out = plan;
    return STARPOOL_OK;
}

enum starpool_status starpool_plan(const struct starpool_graph *graph,
                                   const struct starpool_plan_config *config,
                                   struct starpool_plan **plan_out)
{
    struct starpool_plan *plan;
    enum starpool_status status;

    if (graph == NULL || config == NULL || plan_out == NULL || !config_is_valid(config))
        return STARPOOL_EINVAL;
    status = sp_plan_make(graph, config, false, &plan);
    if (status == STARPOOL_OK && config->adds_edges && !graph->is_timed) {
        status = sp_plan_add_edges(graph, config, &plan);
        if (status != STARPOOL_OK)
            starpool_plan_destroy(plan);
    }
    if (status == STARPOOL_OK)
        *plan_out = plan;
    return status;
}

void starpool_plan_destroy(struct starpool_plan *plan)
{
    if (plan == NULL)
        return;
    for (uint32_t p = 0; p < plan->n_places && plan->antichains != NULL; p++)
        free(plan->antichains[p]);
    free(plan->offsets);
    free(plan->place);
    free(plan->places);
    free(plan->antichains);
    free(plan->n_antichain);
    free(plan->edges);
    free(plan);
}

/* ---- questions ----------------------------------------------------------------------- */

enum starpool_status starpool_plan_get_report(const struct starpool_plan *plan,
                                              struct starpool_location location,
                                              struct starpool_plan_report *report_out)
{
    uint32_t p;

    if (plan == NULL || report_out == NULL || report_out->struct_size < sizeof(*report_out))
        return STARPOOL_EINVAL;
    p = find_place(plan, location);
    if (p < plan->n_places)
        *report_out = plan->places[p].report;
    else
        *report_out = (struct starpool_plan_report){
            .is_bound_exact = true, .fits = true, .is_proved = true};
    report_out->struct_size = sizeof(*report_out);
    return STARPOOL_OK;
}

enum starpool_status starpool_plan_footprint(const struct starpool_plan *plan,
                                             struct starpool_location location,
                                             uint64_t *bytes_out)
{
    uint32_t p;

    if (plan == NULL || bytes_out == NULL)
        return STARPOOL_EINVAL;
    p = find_place(plan, location);
    *bytes_out = p < plan->n_places ? plan->places[p].report.peak_bytes : 0;
    return STARPOOL_OK;
}

enum starpool_status starpool_plan_offset(const struct starpool_plan *plan, uint32_t block,
                                          uint64_t *offset_out)
{
    if (plan == NULL || offset_out == NULL || block >= plan->n_blocks)
        return STARPOOL_EINVAL;
    *offset_out = plan->offsets[block];
    return STARPOOL_OK;
}

enum starpool_status starpool_plan_get_edge(const struct starpool_plan *plan, uint32_t index,
                                            struct starpool_plan_edge *edge_out)
{
    const struct sp_plan_edge *edge;

    if (plan == NULL || edge_out == NULL || edge_out->struct_size < sizeof(*edge_out) ||
        index >= plan->n_edges)
        return STARPOOL_EINVAL;
    edge = &plan->edges[index];
    *edge_out = (struct starpool_plan_edge){
        .struct_size = sizeof(*edge_out),
        .from = edge->from,
        .to = edge->to,
        .location = plan->places[edge->place].location,
        .saved_bytes = edge->saved_bytes,
    };
    return STARPOOL_OK;
}
