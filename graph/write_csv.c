/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes blocks with times as CSV, one a line. A graph of nodes is written as if they ran one
 * after another. */
#include "config.h"

#include <inttypes.h>

#include "graph/files.h"

/* Columns that are there only if a block needs them. */
struct columns {
    bool has_alignment, has_location, has_name, has_offset;
};

static struct columns columns_of(const struct starpool_graph *graph,
                                 const struct starpool_plan *plan)
{
    struct columns columns = {.has_offset = plan != NULL};

    for (uint32_t i = 0; i < graph->n_blocks; i++) {
        columns.has_alignment |= graph->blocks[i].alignment != SP_CSV_ALIGNMENT;
        columns.has_location |= graph->blocks[i].location.kind != STARPOOL_NONE;
        columns.has_name |= graph->blocks[i].name != NULL;
    }
    return columns;
}

static void write_block(FILE *out, const struct columns *columns,
                        const struct sp_graph_block *block)
{
    char location[32];

    if (columns->has_alignment)
        fprintf(out, ",%" PRIu64, block->alignment);
    if (columns->has_location) {
        sp_location_text(block->location, location);
        fprintf(out, ",%s", location);
    }
    if (columns->has_name) {
        putc(',', out);
        sp_write_csv_field(out, block->name != NULL ? block->name : "");
    }
}

enum starpool_status sp_graph_write_csv(const struct starpool_graph *graph,
                                        const struct starpool_plan *plan, FILE *out)
{
    struct columns columns = columns_of(graph, plan);
    struct sp_spans spans;
    enum starpool_status status = sp_spans_init(&spans, graph, plan);

    if (status == STARPOOL_OK)
        fprintf(out, "id,lower,upper,size%s%s%s%s\n", columns.has_alignment ? ",alignment" : "",
                columns.has_location ? ",location" : "", columns.has_name ? ",name" : "",
                columns.has_offset ? ",offset" : "");
    for (uint32_t i = 0; i < graph->n_blocks && status == STARPOOL_OK; i++) {
        fprintf(out, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, i, spans.lower[i],
                spans.upper[i], graph->blocks[i].size);
        write_block(out, &columns, &graph->blocks[i]);
        if (columns.has_offset)
            fprintf(out, ",%" PRIu64, plan->offsets[i]);
        putc('\n', out);
    }
    sp_spans_fini(&spans);
    return status;
}
