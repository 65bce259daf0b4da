/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes all that a graph has as JSON, and what a plan has beside it. Members that have their
 * defaults are left out, but for those that tell what a file is. */
#include "config.h"

#include "graph/files.h"
#include "src/util/json.h"
#include "src/util/util.h"

static void write_location(struct sp_json *json, struct starpool_location location)
{
    char text[32];

    sp_location_text(location, text);
    sp_json_string(json, "location", text);
}

static void write_nonzero(struct sp_json *json, const char *key, uint64_t value)
{
    if (value != 0)
        sp_json_number(json, key, value);
}

static void write_nodes(struct sp_json *json, const struct starpool_graph *graph)
{
    sp_json_array_begin(json, "nodes");
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        sp_json_object_begin(json, NULL);
        sp_json_string(json, "kind", sp_node_kind_word(graph->nodes[i].kind));
        if (graph->nodes[i].name != NULL)
            sp_json_string(json, "name", graph->nodes[i].name);
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_edges(struct sp_json *json, const struct starpool_graph *graph)
{
    sp_json_array_begin(json, "edges");
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        sp_json_object_begin(json, NULL);
        sp_json_number(json, "from", graph->edges[i].from);
        sp_json_number(json, "to", graph->edges[i].to);
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_block(struct sp_json *json, const struct sp_graph_block *block)
{
    sp_json_object_begin(json, NULL);
    sp_json_number(json, "size", block->size);
    sp_json_number(json, "alignment", block->alignment);
    write_location(json, block->location);
    if (block->name != NULL)
        sp_json_string(json, "name", block->name);
    if (block->alloc != SP_NO_INDEX)
        sp_json_number(json, "alloc", block->alloc);
    if (block->free != SP_NO_INDEX)
        sp_json_number(json, "free", block->free);
    write_nonzero(json, "lower", block->lower);
    write_nonzero(json, "upper", block->upper);
    write_nonzero(json, "address", block->address);
    if (block->is_input)
        sp_json_flag(json, "is_input", true);
    if (block->is_output)
        sp_json_flag(json, "is_output", true);
    sp_json_end(json);
}

static void write_blocks(struct sp_json *json, const struct starpool_graph *graph)
{
    sp_json_array_begin(json, "blocks");
    for (uint32_t i = 0; i < graph->n_blocks; i++)
        write_block(json, &graph->blocks[i]);
    sp_json_end(json);
}

static void write_uses(struct sp_json *json, const struct starpool_graph *graph)
{
    sp_json_array_begin(json, "uses");
    for (uint32_t i = 0; i < graph->n_uses; i++) {
        sp_json_object_begin(json, NULL);
        sp_json_number(json, "block", graph->uses[i].block);
        sp_json_number(json, "node", graph->uses[i].node);
        sp_json_end(json);
    }
    sp_json_end(json);
}

/* ---- the plan --------------------------------------------------------------------------- */

static void write_report(struct sp_json *json, const struct starpool_plan_report *report)
{
    sp_json_number(json, "n_blocks", report->n_blocks);
    sp_json_number(json, "total_bytes", report->total_bytes);
    sp_json_number(json, "peak_bytes", report->peak_bytes);
    sp_json_number(json, "lower_bound", report->lower_bound);
    sp_json_flag(json, "is_bound_exact", report->is_bound_exact);
    sp_json_flag(json, "is_timed", report->is_timed);
    sp_json_flag(json, "fits", report->fits);
    sp_json_flag(json, "is_proved", report->is_proved);
    sp_json_number(json, "n_search_nodes", report->n_search_nodes);
    sp_json_number(json, "n_added_edges", report->n_added_edges);
    sp_json_number(json, "saved_bytes", report->saved_bytes);
}

static void write_places(struct sp_json *json, const struct starpool_plan *plan)
{
    sp_json_array_begin(json, "places");
    for (uint32_t i = 0; i < plan->n_places; i++) {
        sp_json_object_begin(json, NULL);
        write_location(json, plan->places[i].location);
        write_report(json, &plan->places[i].report);
        if (plan->antichains != NULL && plan->antichains[i] != NULL) {
            sp_json_array_begin(json, "antichain");
            for (uint32_t j = 0; j < plan->n_antichain[i]; j++)
                sp_json_number(json, NULL, plan->antichains[i][j]);
            sp_json_end(json);
        }
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_plan(struct sp_json *json, const struct starpool_plan *plan)
{
    sp_json_object_begin(json, "plan");
    sp_json_array_begin(json, "offsets");
    for (uint32_t i = 0; i < plan->n_blocks; i++)
        sp_json_number(json, NULL, plan->offsets[i]);
    sp_json_end(json);
    write_places(json, plan);
    sp_json_array_begin(json, "added_edges");
    for (uint32_t i = 0; i < plan->n_edges; i++) {
        sp_json_object_begin(json, NULL);
        sp_json_number(json, "from", plan->edges[i].from);
        sp_json_number(json, "to", plan->edges[i].to);
        sp_json_number(json, "place", plan->edges[i].place);
        sp_json_number(json, "saved_bytes", plan->edges[i].saved_bytes);
        sp_json_end(json);
    }
    sp_json_end(json);
    sp_json_end(json);
}

enum starpool_status sp_graph_write_json(const struct starpool_graph *graph,
                                         const struct starpool_plan *plan, FILE *out)
{
    struct sp_json json;

    sp_json_begin(&json, out);
    sp_json_number(&json, "starpool_graph", SP_JSON_VERSION);
    if (graph->name != NULL)
        sp_json_string(&json, "name", graph->name);
    sp_json_flag(&json, "is_timed", graph->is_timed);
    write_nonzero(&json, "capacity", graph->capacity);
    if (!graph->is_timed) {
        write_nodes(&json, graph);
        write_edges(&json, graph);
    }
    write_blocks(&json, graph);
    if (!graph->is_timed)
        write_uses(&json, graph);
    if (plan != NULL)
        write_plan(&json, plan);
    sp_json_finish(&json);
    return STARPOOL_OK;
}
