/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes two pictures of each location: what is live, block upon block, over time or over the
 * nodes' order; and where each block is. The blocks that take most, in bytes times duration,
 * have colours of their own; in the first picture the others are one band. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/files.h"
#include "graph/svg.h"
#include "src/util/util.h"

#define N_TOP   8           /* blocks with a colour of their own */
#define N_BANDS (N_TOP + 1) /* and the others */

/* [px] */
#define HEAD_HEIGHT  58
#define FRAME_HEIGHT 220
#define PANEL_HEIGHT (FRAME_HEIGHT + 56)
#define TITLE_HEIGHT 30
#define LEGEND_ROW   18

/* [bytes] of a name in the legend. */
#define LABEL_MOST 16

/* More outlined rectangles than that would be all outline. */
#define OUTLINES_MOST 600

static const char *const top_colours[N_TOP] = {
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#edc948", "#76b7b2", "#9c755f",
};
static const char *const pale_colours[] = {
    "#c6dbef", "#fdd9b5", "#c7e9c0", "#f7c6c7", "#dadaeb", "#f6e8b1",
    "#cbe7e4", "#dccfc4", "#d9d9d9", "#e7cbe3", "#d3e2a8",
};
#define OTHER_COLOUR "#c9c9c9"

/* What happens to the live bytes at one moment. */
struct event {
    uint64_t time;
    uint32_t rank; /* of the block */
    bool is_begin;
};

/* What is live from one moment on. */
struct row {
    double x; /* [px] */
    double bands[N_BANDS], total;
};

/* One location. Blocks are named by rank here: the block that takes most has rank 0. */
struct view {
    FILE *out;
    const struct starpool_graph *graph;
    const struct starpool_plan *plan;
    const struct starpool_plan_report *report; /* NULL without a plan */
    const struct sp_spans *spans;
    struct starpool_location location;
    uint32_t *blocks; /* [n] by rank */
    uint32_t n;
    struct row *rows; /* [n_rows] */
    uint32_t n_rows;
    double live_peak; /* [bytes] */
    double total;
    uint64_t lowest; /* address of a block, without a plan */
    bool has_addresses;
};

static const struct sp_graph_block *block_of(const struct view *view, uint32_t rank)
{
    return &view->graph->blocks[view->blocks[rank]];
}

/* ---- what is where ---------------------------------------------------------------------- */

struct ranked {
    uint32_t block;
    double weight;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;

    if (left->weight < right->weight || left->weight > right->weight)
        return left->weight > right->weight ? -1 : 1;
    return left->block < right->block ? -1 : 1;
}

/* The location's blocks by rank. False without memory. */
static bool rank_blocks(struct view *view)
{
    struct ranked *ranked = malloc((view->graph->n_blocks + (size_t)1) * sizeof(*ranked));

    if (ranked == NULL)
        return false;
    for (uint32_t i = 0; i < view->graph->n_blocks; i++) {
        const struct sp_graph_block *block = &view->graph->blocks[i];

        if (!sp_is_same_location(block->location, view->location))
            continue;
        ranked[view->n++] =
            (struct ranked){.block = i,
                            .weight = (double)block->size *
                                      (double)(view->spans->upper[i] - view->spans->lower[i])};
        view->total += (double)block->size;
    }
    qsort(ranked, view->n, sizeof(*ranked), compare_ranked);
    view->blocks = malloc((view->n + (size_t)1) * sizeof(*view->blocks));
    for (uint32_t i = 0; i < view->n && view->blocks != NULL; i++)
        view->blocks[i] = ranked[i].block;
    free(ranked);
    return view->blocks != NULL;
}

static void find_addresses(struct view *view)
{
    view->has_addresses = view->plan != NULL;
    view->lowest = view->plan != NULL ? 0 : UINT64_MAX;
    for (uint32_t i = 0; i < view->n && view->plan == NULL; i++) {
        uint64_t address = block_of(view, i)->address;

        if (address != 0 && address < view->lowest)
            view->lowest = address;
        view->has_addresses |= address != 0;
    }
}

/* Where a block is, from the lowest on. False if that is not known. */
static bool offset_of(const struct view *view, uint32_t rank, double *offset_out)
{
    const struct sp_graph_block *block = block_of(view, rank);

    if (view->plan == NULL && block->address == 0)
        return false;
    *offset_out = view->plan != NULL ? (double)view->plan->offsets[view->blocks[rank]]
                                     : (double)(block->address - view->lowest);
    return true;
}

/* The plan knows the place of each block, and a location has one at least. */
static void find_report(struct view *view)
{
    SP_ASSERT(view->n > 0);
    if (view->plan != NULL)
        view->report = &view->plan->places[view->plan->place[view->blocks[0]]].report;
}

/* ---- what is live ----------------------------------------------------------------------- */

/* Ends before beginnings. */
static int compare_events(const void *a, const void *b)
{
    const struct event *left = a, *right = b;

    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    if (left->is_begin != right->is_begin)
        return left->is_begin ? 1 : -1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

/* Of rows within one pixel the highest and the last are kept: nobody sees more. */
static void add_row(struct view *view, const struct row *row)
{
    struct row *rows = view->rows;
    uint32_t n = view->n_rows;
    bool is_full = n >= 2 && (int)rows[n - 2].x == (int)row->x;

    if (!is_full) {
        rows[view->n_rows++] = *row;
        return;
    }
    if (rows[n - 1].total > rows[n - 2].total)
        rows[n - 2] = rows[n - 1];
    rows[n - 1] = *row;
}

static void add_rows(struct view *view, const struct sp_svg_chart *chart,
                     const struct event *events, uint32_t n_events)
{
    struct row row = {.x = 0};

    for (uint32_t i = 0; i < n_events; i++) {
        const struct event *event = &events[i];
        double size = (double)block_of(view, event->rank)->size;

        if (!event->is_begin)
            size = -size;
        row.bands[event->rank < N_TOP ? event->rank : N_TOP] += size;
        row.total += size;
        if (i + 1 < n_events && events[i + 1].time == event->time)
            continue;
        row.x = sp_svg_x(chart, event->time);
        add_row(view, &row);
        if (row.total > view->live_peak)
            view->live_peak = row.total;
    }
}

static bool find_rows(struct view *view, const struct sp_svg_chart *chart)
{
    size_t most = 2 * ((size_t)view->n < SP_SVG_PLOT + 2 ? view->n : SP_SVG_PLOT + 2) + 2;
    struct event *events = malloc((2 * (size_t)view->n + 1) * sizeof(*events));

    view->rows = malloc(most * sizeof(*view->rows));
    if (events == NULL || view->rows == NULL) {
        free(events);
        return false;
    }
    for (uint32_t i = 0; i < view->n; i++) {
        uint32_t block = view->blocks[i];

        events[2 * i] = (struct event){view->spans->lower[block], i, true};
        events[2 * i + 1] = (struct event){view->spans->upper[block], i, false};
    }
    qsort(events, 2 * (size_t)view->n, sizeof(*events), compare_events);
    add_rows(view, chart, events, 2 * view->n);
    free(events);
    return true;
}

/* ---- the first picture ------------------------------------------------------------------ */

static double stacked(const struct row *row, unsigned n_bands)
{
    double sum = 0;

    for (unsigned i = 0; i < n_bands; i++)
        sum += row->bands[i];
    return sum;
}

static void draw_point(const struct sp_svg_chart *chart, char command, double x, double y)
{
    putc(command, chart->out);
    sp_svg_number(chart->out, x);
    putc(' ', chart->out);
    sp_svg_number(chart->out, sp_svg_y(chart, y));
}

/* Up the steps of one band's upper side, and down those of its lower one. */
static void draw_band(const struct view *view, const struct sp_svg_chart *chart, unsigned band)
{
    uint32_t n = view->n_rows;

    fprintf(view->out, "<path fill=\"%s\" d=\"",
            band < N_TOP ? top_colours[band] : OTHER_COLOUR);
    for (uint32_t i = 0; i + 1 < n; i++) {
        double y = stacked(&view->rows[i], band + 1);

        draw_point(chart, i == 0 ? 'M' : 'L', view->rows[i].x, y);
        draw_point(chart, 'L', view->rows[i + 1].x, y);
    }
    for (uint32_t i = n - 1; i-- > 0;) {
        double y = stacked(&view->rows[i], band);

        draw_point(chart, 'L', view->rows[i + 1].x, y);
        draw_point(chart, 'L', view->rows[i].x, y);
    }
    fputs("Z\"/>\n", view->out);
}

#define PEAK_STYLE     "stroke=\"#b00020\" stroke-width=\"2\""
#define BOUND_STYLE    "stroke=\"#1b3a8a\" stroke-width=\"2\" stroke-dasharray=\"7 4\""
#define CAPACITY_STYLE "stroke=\"#333\" stroke-width=\"1.5\" stroke-dasharray=\"2 3\""

static void draw_levels(const struct view *view, const struct sp_svg_chart *chart)
{
    if (view->report == NULL)
        return;
    if (view->graph->capacity != 0 && (double)view->graph->capacity <= chart->y_end)
        sp_svg_level(chart, (double)view->graph->capacity, CAPACITY_STYLE);
    sp_svg_level(chart, (double)view->report->peak_bytes, PEAK_STYLE);
    sp_svg_level(chart, (double)view->report->lower_bound, BOUND_STYLE);
}

static void draw_live(const struct view *view, const struct sp_svg_chart *chart)
{
    sp_svg_axes(chart);
    for (unsigned i = 0; i < N_BANDS && view->n_rows > 1 && i < view->n; i++)
        draw_band(view, chart, i);
    draw_levels(view, chart);
}

/* ---- the legend ------------------------------------------------------------------------- */

static void legend_text(const struct view *view, double y, const char *text)
{
    fprintf(view->out, "<text x=\"%d\"", SP_SVG_LEGEND + 26);
    sp_svg_attribute(view->out, "y", y + 4);
    fprintf(view->out, ">%s</text>\n", text);
}

static double legend_line(const struct view *view, double y, const char *what, uint64_t bytes,
                          const char *style)
{
    char text[80], size[32];

    fprintf(view->out, "<line x1=\"%d\" x2=\"%d\"", SP_SVG_LEGEND, SP_SVG_LEGEND + 20);
    sp_svg_attribute(view->out, "y1", y);
    sp_svg_attribute(view->out, "y2", y);
    fprintf(view->out, " %s/>\n", style);
    snprintf(text, sizeof(text), "%s %s", what, sp_bytes_text(size, sizeof(size), bytes));
    legend_text(view, y, text);
    return y + LEGEND_ROW;
}

/* A name, cut where a long one would leave the picture. */
static void write_label(const struct view *view, uint32_t rank)
{
    const char *name = block_of(view, rank)->name;
    size_t length = name != NULL ? strnlen(name, LABEL_MOST) : 0;
    char start[LABEL_MOST + 1];

    if (name == NULL || *name == '\0') {
        fprintf(view->out, "block %" PRIu32, view->blocks[rank]);
        return;
    }
    snprintf(start, sizeof(start), "%s", name);
    /* Not inside a character. */
    while (((unsigned char)name[length] & 0xc0) == 0x80 && length > 0)
        start[--length] = '\0';
    sp_write_xml(view->out, start);
    if (name[length] != '\0')
        fputs("&#8230;", view->out);
}

static double legend_box(const struct view *view, double y, const char *colour)
{
    fprintf(view->out, "<rect x=\"%d\" width=\"20\" height=\"12\" fill=\"%s\"", SP_SVG_LEGEND,
            colour);
    sp_svg_attribute(view->out, "y", y - 6);
    fputs("/>\n", view->out);
    return y + LEGEND_ROW;
}

static void draw_legend(const struct view *view, double y)
{
    char size[32];

    if (view->report != NULL) {
        y = legend_line(view, y, "peak", view->report->peak_bytes, PEAK_STYLE);
        y = legend_line(view, y, "lower bound", view->report->lower_bound, BOUND_STYLE);
        if (view->graph->capacity != 0)
            y = legend_line(view, y, "capacity", view->graph->capacity, CAPACITY_STYLE);
    }
    for (uint32_t i = 0; i < view->n && i < N_TOP; i++) {
        fprintf(view->out, "<text x=\"%d\"", SP_SVG_LEGEND + 26);
        sp_svg_attribute(view->out, "y", y + 4);
        putc('>', view->out);
        write_label(view, i);
        fprintf(view->out, ", %s</text>\n",
                sp_bytes_text(size, sizeof(size), block_of(view, i)->size));
        y = legend_box(view, y, top_colours[i]);
    }
    if (view->n > N_TOP) {
        legend_text(view, y, "all others");
        legend_box(view, y, OTHER_COLOUR);
    }
}

/* ---- the second picture ----------------------------------------------------------------- */

static const char *colour_of(const struct view *view, uint32_t rank)
{
    return rank < N_TOP ? top_colours[rank]
                        : pale_colours[view->blocks[rank] % SP_ARRAY_SIZE(pale_colours)];
}

static void draw_block(const struct view *view, const struct sp_svg_chart *chart, uint32_t rank)
{
    const struct sp_graph_block *block = block_of(view, rank);
    uint64_t lower = view->spans->lower[view->blocks[rank]];
    uint64_t upper = view->spans->upper[view->blocks[rank]];
    double x = sp_svg_x(chart, lower), offset;
    char size[32];

    if (!offset_of(view, rank, &offset))
        return;
    fprintf(view->out, "<rect fill=\"%s\"", colour_of(view, rank));
    sp_svg_attribute(view->out, "x", x);
    sp_svg_attribute(view->out, "y", sp_svg_y(chart, offset + (double)block->size));
    sp_svg_attribute(view->out, "width", sp_svg_x(chart, upper) - x);
    sp_svg_attribute(view->out, "height", chart->height * (double)block->size / chart->y_end);
    fprintf(view->out, "><title>block %" PRIu32, view->blocks[rank]);
    if (block->name != NULL) {
        fputs(" '", view->out);
        sp_write_xml(view->out, block->name);
        putc('\'', view->out);
    }
    fprintf(view->out, ": %s at %.0f, from %" PRIu64 " to %" PRIu64 "</title></rect>\n",
            sp_bytes_text(size, sizeof(size), block->size), offset, lower, upper);
}

static void draw_addresses(const struct view *view, const struct sp_svg_chart *chart)
{
    sp_svg_axes(chart);
    fputs(view->n <= OUTLINES_MOST ? "<g stroke=\"#fff\" stroke-width=\"0.5\">\n" : "<g>\n",
          view->out);
    for (uint32_t i = 0; i < view->n; i++)
        draw_block(view, chart, i);
    fputs("</g>\n", view->out);
    draw_levels(view, chart);
}

/* ---- one location ----------------------------------------------------------------------- */

/* [bytes] that the pictures reach up to. */
static double highest(const struct view *view, bool of_addresses)
{
    double most = of_addresses && view->plan == NULL ? 0 : view->live_peak, offset;

    for (uint32_t i = 0; of_addresses && i < view->n; i++) {
        double end = (double)block_of(view, i)->size;

        if (offset_of(view, i, &offset) && offset + end > most)
            most = offset + end;
    }
    if (view->report != NULL && (double)view->report->lower_bound > most)
        most = (double)view->report->lower_bound;
    if (view->report != NULL && (double)view->report->peak_bytes > most)
        most = (double)view->report->peak_bytes;
    return most * 1.04;
}

static void draw_title(const struct view *view, double top)
{
    char place[32], total[32];

    sp_location_text(view->location, place);
    fprintf(view->out, "<text font-size=\"15\" font-weight=\"bold\" x=\"%d\"", SP_SVG_LEFT);
    sp_svg_attribute(view->out, "y", top + 20);
    fprintf(view->out, ">%s: %" PRIu32 " block%s of %s together</text>\n", place, view->n,
            view->n == 1 ? "" : "s",
            sp_bytes_text(total, sizeof(total), (unsigned long long)view->total));
}

/* The pictures of one location, from `top` down; where they end. */
static enum starpool_status draw_view(struct view *view, double *top)
{
    struct sp_svg_chart chart = {
        .out = view->out,
        .top = *top + TITLE_HEIGHT,
        .height = FRAME_HEIGHT,
        .x_begin = view->spans->begin,
        .x_end = view->spans->end,
        .x_title = view->graph->is_timed ? "time [units of the file]"
                                         : "place in the order of the nodes [nodes]",
        .y_title = "live memory",
    };
    bool is_whole = rank_blocks(view) && find_rows(view, &chart);

    if (is_whole) {
        find_report(view);
        find_addresses(view);
        draw_title(view, *top);
        chart.y_end = highest(view, view->plan != NULL);
        draw_live(view, &chart);
        draw_legend(view, chart.top + 10);
        *top += TITLE_HEIGHT + PANEL_HEIGHT;
    }
    if (is_whole && view->has_addresses) {
        chart.top = *top;
        chart.y_title = view->plan != NULL ? "address" : "address from the lowest";
        chart.y_end = highest(view, true);
        draw_addresses(view, &chart);
        *top += PANEL_HEIGHT;
    }
    free(view->rows);
    free(view->blocks);
    return is_whole ? STARPOOL_OK : STARPOOL_ENOMEM;
}

/* ---- the file --------------------------------------------------------------------------- */

static bool has_addresses(const struct starpool_graph *graph, const struct starpool_plan *plan,
                          struct starpool_location location)
{
    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        if (sp_is_same_location(graph->blocks[i].location, location) &&
            (plan != NULL || graph->blocks[i].address != 0))
            return true;
    }
    return false;
}

static void begin_file(FILE *out, const struct starpool_graph *graph, unsigned height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
            "viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"13\" "
            "fill=\"#222\">\n<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n",
            SP_SVG_WIDTH, height, SP_SVG_WIDTH, height, SP_SVG_WIDTH, height);
    fprintf(out, "<text x=\"%d\" y=\"34\" font-size=\"19\" font-weight=\"bold\">Memory of ",
            SP_SVG_LEFT);
    if (graph->name != NULL && *graph->name != '\0')
        sp_write_xml(out, graph->name);
    else
        fputs("a graph", out);
    fputs("</text>\n", out);
}

static enum starpool_status draw_locations(const struct starpool_graph *graph,
                                           const struct starpool_plan *plan,
                                           const struct sp_spans *spans, FILE *out)
{
    struct starpool_location *locations;
    unsigned height = HEAD_HEIGHT;
    double top = HEAD_HEIGHT;
    uint32_t n;
    enum starpool_status status = sp_graph_locations(graph, &locations, &n);

    if (status != STARPOOL_OK)
        return status;
    for (uint32_t i = 0; i < n; i++)
        height += TITLE_HEIGHT + PANEL_HEIGHT +
                  (has_addresses(graph, plan, locations[i]) ? PANEL_HEIGHT : 0);
    begin_file(out, graph, height);
    for (uint32_t i = 0; i < n && status == STARPOOL_OK; i++) {
        struct view view = {
            .out = out,
            .graph = graph,
            .plan = plan,
            .spans = spans,
            .location = locations[i],
        };

        status = draw_view(&view, &top);
    }
    fputs("</svg>\n", out);
    free(locations);
    return status;
}

enum starpool_status sp_graph_write_svg(const struct starpool_graph *graph,
                                        const struct starpool_plan *plan, FILE *out)
{
    struct sp_spans spans;
    enum starpool_status status = sp_spans_init(&spans, graph, plan);

    if (status == STARPOOL_OK)
        status = draw_locations(graph, plan, &spans, out);
    sp_spans_fini(&spans);
    return status;
}
