/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows a plan: a row a location, then what was added and what was checked. Sizes are whole
 * bytes, because the last ones tell whether a plan is as good as can be. */
#include "config.h"

#include "src/tools/plan_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "src/tools/tools.h"
#include "src/util/json.h"
#include "src/util/util.h"

/* ---- what there is ---------------------------------------------------------------------- */

static bool has_row(const struct sp_plan_view *view, struct starpool_location location)
{
    for (uint32_t i = 0; i < view->n_rows; i++) {
        if (sp_is_same_location(view->rows[i].location, location))
            return true;
    }
    return false;
}

/* False without memory. */
static bool add_row(struct sp_plan_view *view, struct starpool_location location)
{
    struct sp_plan_row *rows = realloc(view->rows, (view->n_rows + 1) * sizeof(*rows));
    struct sp_plan_row row = {.location = location};

    if (rows == NULL)
        return false;
    view->rows = rows;
    row.report.struct_size = sizeof(row.report);
    if (starpool_plan_get_report(view->plan, location, &row.report) == STARPOOL_OK)
        rows[view->n_rows++] = row;
    return true;
}

bool sp_plan_view_init(struct sp_plan_view *view, const struct starpool_graph *graph,
                       const struct starpool_plan *plan)
{
    struct starpool_graph_block block = {.struct_size = sizeof(block)};

    *view = (struct sp_plan_view){.graph = graph, .plan = plan};
    for (uint32_t i = 0; starpool_graph_get_block(graph, i, &block) == STARPOOL_OK; i++) {
        if (!has_row(view, block.location) && !add_row(view, block.location))
            return false;
    }
    return true;
}

void sp_plan_view_fini(struct sp_plan_view *view)
{
    free(view->rows);
}

/* The edges that the plan added, one after the other; false behind the last. */
static bool edge_at(const struct sp_plan_view *view, uint32_t index,
                    struct starpool_plan_edge *edge_out)
{
    edge_out->struct_size = sizeof(*edge_out);
    return starpool_plan_get_edge(view->plan, index, edge_out) == STARPOOL_OK;
}

/* How far the peak is above what no plan can do without, in millionths of that. */
static uint64_t gap_ppm(const struct starpool_plan_report *report)
{
    double above = (double)report->peak_bytes - (double)report->lower_bound;

    return report->lower_bound == 0 || above <= 0
               ? 0
               : (uint64_t)(above * 1e6 / (double)report->lower_bound);
}

bool sp_plan_fits(const struct sp_plan_view *view)
{
    for (uint32_t i = 0; i < view->n_rows; i++) {
        if (!view->rows[i].report.fits)
            return false;
    }
    return true;
}

/* ---- text ------------------------------------------------------------------------------- */

/* A name from a file, without what a terminal could take for a command. */
static void put_plain(const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned n_control = sp_tools_control_length(name);

        putchar(n_control > 0 ? '?' : *name);
        name += n_control > 1;
    }
}

static void show_graph(const struct starpool_graph *graph)
{
    struct starpool_graph_info info = {.struct_size = sizeof(info)};

    if (starpool_graph_get_info(graph, &info) != STARPOOL_OK)
        return;
    fputs("Graph ", stdout);
    if (info.name != NULL) {
        putchar('"');
        put_plain(info.name);
        fputs("\" ", stdout);
    }
    if (info.is_timed)
        printf("of %" PRIu32 " blocks with times\n", info.n_blocks);
    else
        printf("of %" PRIu32 " nodes, %" PRIu32 " edges and %" PRIu32 " blocks\n", info.n_nodes,
               info.n_edges, info.n_blocks);
}

static const char *fits_word(const struct starpool_plan_report *report)
{
    if (report->fits)
        return "yes";
    return report->is_proved ? "never" : "no";
}

static void show_row(const struct sp_plan_row *row)
{
    const struct starpool_plan_report *report = &row->report;
    uint64_t ppm = gap_ppm(report);
    char text[32];

    sp_location_text(row->location, text);
    printf("%-10s %7" PRIu64 " %16" PRIu64 " %16" PRIu64 " %16" PRIu64 "%c %4" PRIu64
           ".%03" PRIu64 "  %-5s %12" PRIu64 "\n",
           text, report->n_blocks, report->total_bytes, report->peak_bytes, report->lower_bound,
           report->is_bound_exact ? ' ' : '*', ppm / 10000, ppm / 10 % 1000, fits_word(report),
           report->n_search_nodes);
}

static bool has_inexact_bound(const struct sp_plan_view *view)
{
    for (uint32_t i = 0; i < view->n_rows; i++) {
        if (!view->rows[i].report.is_bound_exact)
            return true;
    }
    return false;
}

static void show_node(const struct starpool_graph *graph, uint32_t node)
{
    const char *name = NULL;

    printf("%" PRIu32, node);
    if (starpool_graph_get_node(graph, node, NULL, &name) != STARPOOL_OK || name == NULL)
        return;
    fputs(" \"", stdout);
    put_plain(name);
    putchar('"');
}

static void show_edges(const struct sp_plan_view *view)
{
    struct starpool_plan_edge edge;
    char place[32], saved[32];

    for (uint32_t i = 0; edge_at(view, i, &edge); i++) {
        if (i == 0)
            puts("\nEdges added, and what the peak is lower by with each and those before it:");
        fputs("  node ", stdout);
        show_node(view->graph, edge.from);
        fputs(" before node ", stdout);
        show_node(view->graph, edge.to);
        sp_location_text(edge.location, place);
        printf(": %s of %s\n", sp_bytes_text(saved, sizeof(saved), edge.saved_bytes), place);
    }
}

void sp_plan_show(const struct sp_plan_view *view)
{
    show_graph(view->graph);
    printf("\n%-10s %7s %16s %16s %16s  %8s  %-5s %12s\n", "location", "blocks",
           "total [bytes]", "peak [bytes]", "lower bound", "gap [%]", "fits", "search nodes");
    for (uint32_t i = 0; i < view->n_rows; i++)
        show_row(&view->rows[i]);
    if (has_inexact_bound(view))
        puts("* a higher lower bound may exist");
    show_edges(view);
    if (view->is_checked)
        puts(view->is_valid ? "\nThe check found nothing wrong." : "\nThe check failed.");
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void write_row(struct sp_json *json, const struct sp_plan_row *row)
{
    const struct starpool_plan_report *report = &row->report;
    char text[32];

    sp_location_text(row->location, text);
    sp_json_object_begin(json, NULL);
    sp_json_string(json, "location", text);
    sp_json_number(json, "n_blocks", report->n_blocks);
    sp_json_number(json, "total_bytes", report->total_bytes);
    sp_json_number(json, "peak_bytes", report->peak_bytes);
    sp_json_number(json, "lower_bound_bytes", report->lower_bound);
    sp_json_flag(json, "is_bound_exact", report->is_bound_exact);
    sp_json_number(json, "gap_ppm", gap_ppm(report));
    sp_json_flag(json, "is_timed", report->is_timed);
    sp_json_flag(json, "fits", report->fits);
    sp_json_flag(json, "is_proved", report->is_proved);
    sp_json_number(json, "n_search_nodes", report->n_search_nodes);
    sp_json_number(json, "n_added_edges", report->n_added_edges);
    sp_json_number(json, "saved_bytes", report->saved_bytes);
    sp_json_end(json);
}

static void write_edges(struct sp_json *json, const struct sp_plan_view *view)
{
    struct starpool_plan_edge edge;
    char text[32];

    sp_json_array_begin(json, "added_edges");
    for (uint32_t i = 0; edge_at(view, i, &edge); i++) {
        sp_location_text(edge.location, text);
        sp_json_object_begin(json, NULL);
        sp_json_number(json, "from", edge.from);
        sp_json_number(json, "to", edge.to);
        sp_json_string(json, "location", text);
        sp_json_number(json, "saved_bytes", edge.saved_bytes);
        sp_json_end(json);
    }
    sp_json_end(json);
}

void sp_plan_write_json(const struct sp_plan_view *view)
{
    struct starpool_graph_info info = {.struct_size = sizeof(info)};
    struct sp_json json;

    sp_json_begin(&json, stdout);
    if (starpool_graph_get_info(view->graph, &info) == STARPOOL_OK) {
        if (info.name != NULL)
            sp_json_string(&json, "name", info.name);
        sp_json_number(&json, "n_nodes", info.n_nodes);
        sp_json_number(&json, "n_edges", info.n_edges);
        sp_json_number(&json, "n_blocks", info.n_blocks);
    }
    sp_json_flag(&json, "fits", sp_plan_fits(view));
    if (view->is_checked)
        sp_json_flag(&json, "is_valid", view->is_valid);
    sp_json_array_begin(&json, "places");
    for (uint32_t i = 0; i < view->n_rows; i++)
        write_row(&json, &view->rows[i]);
    sp_json_end(&json);
    write_edges(&json, view);
    sp_json_finish(&json);
}
