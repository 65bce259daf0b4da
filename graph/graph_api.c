/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs as users have them: every argument is checked here, so that what is inside can
 * believe them. */
#include "config.h"

#include <starpool/graph.h>

#include <stdio.h>

#include "graph/files.h"
#include "graph/plan_check.h"

/* ---- building --------------------------------------------------------------------------- */

enum starpool_status starpool_graph_create(const char *name, struct starpool_graph **graph_out)
{
    struct starpool_graph *graph;

    if (graph_out == NULL)
        return STARPOOL_EINVAL;
    graph = sp_graph_create(name);
    if (graph == NULL)
        return STARPOOL_ENOMEM;
    *graph_out = graph;
    return STARPOOL_OK;
}

void starpool_graph_destroy(struct starpool_graph *graph)
{
    sp_graph_destroy(graph);
}

void starpool_graph_block_init(struct starpool_graph_block *block)
{
    *block = (struct starpool_graph_block){
        .struct_size = sizeof(*block),
        .alignment = SP_JSON_ALIGNMENT,
        .alloc = STARPOOL_NO_NODE,
        .free = STARPOOL_NO_NODE,
    };
}

enum starpool_status starpool_graph_add_node(struct starpool_graph *graph,
                                             enum starpool_graph_node_kind kind,
                                             const char *name, uint32_t *node_out)
{
    uint32_t node;

    if (graph == NULL || (unsigned)kind > STARPOOL_GRAPH_NODE_OTHER || graph->is_timed)
        return STARPOOL_EINVAL;
    node = sp_graph_add_node(graph, kind, name);
    if (node == SP_NO_INDEX)
        return STARPOOL_ENOMEM;
    if (node_out != NULL)
        *node_out = node;
    return STARPOOL_OK;
}

enum starpool_status starpool_graph_add_edge(struct starpool_graph *graph, uint32_t from,
                                             uint32_t to)
{
    if (graph == NULL || from >= graph->n_nodes || to >= graph->n_nodes)
        return STARPOOL_EINVAL;
    return sp_graph_add_edge(graph, from, to) ? STARPOOL_OK : STARPOOL_ENOMEM;
}

/* The first block decides whether a graph without nodes is one of times. */
static bool agrees(const struct starpool_graph *graph, const struct starpool_graph_block *block)
{
    if (graph->n_nodes == 0 && graph->n_blocks == 0)
        return true;
    return graph->is_timed == (block->upper != 0);
}

static bool has_nodes(const struct starpool_graph *graph,
                      const struct starpool_graph_block *block)
{
    return (block->alloc == STARPOOL_NO_NODE || block->alloc < graph->n_nodes) &&
           (block->free == STARPOOL_NO_NODE || block->free < graph->n_nodes);
}

enum starpool_status starpool_graph_add_block(struct starpool_graph *graph,
                                              const struct starpool_graph_block *block,
                                              uint32_t *block_out)
{
    struct sp_graph_block added;
    uint32_t index;

    if (graph == NULL || block == NULL || block->struct_size < sizeof(*block) ||
        block->size == 0 || !agrees(graph, block) || !has_nodes(graph, block))
        return STARPOOL_EINVAL;
    added = (struct sp_graph_block){
        .size = block->size,
        .alignment = block->alignment,
        .location = block->location,
        .name = (char *)block->name, /* It is copied. */
        .alloc = block->alloc,
        .free = block->free,
        .lower = block->lower,
        .upper = block->upper,
        .address = block->address,
        .is_input = block->is_input,
        .is_output = block->is_output,
    };
    index = sp_graph_add_block(graph, &added);
    if (index == SP_NO_INDEX)
        return STARPOOL_ENOMEM;
    graph->is_timed = block->upper != 0;
    if (block_out != NULL)
        *block_out = index;
    return STARPOOL_OK;
}

enum starpool_status starpool_graph_add_use(struct starpool_graph *graph, uint32_t block,
                                            uint32_t node)
{
    if (graph == NULL || block >= graph->n_blocks || node >= graph->n_nodes)
        return STARPOOL_EINVAL;
    return sp_graph_add_use(graph, block, node) ? STARPOOL_OK : STARPOOL_ENOMEM;
}

/* ---- asking ----------------------------------------------------------------------------- */

/* "line 3: what is wrong", as far as there is room. */
static void tell(const struct sp_graph_error *error, char *text, size_t size)
{
    if (text == NULL || size == 0)
        return;
    if (error->line > 0)
        snprintf(text, size, "line %u: %s", error->line, error->text);
    else
        snprintf(text, size, "%s", error->text);
}

enum starpool_status starpool_graph_check(const struct starpool_graph *graph, char *error,
                                          size_t error_size)
{
    struct sp_graph_error reason = {.text = "there is no graph"};
    enum starpool_status status = STARPOOL_EINVAL;

    if (graph != NULL)
        status = sp_graph_check(graph, &reason);
    if (status == STARPOOL_EINVAL)
        tell(&reason, error, error_size);
    return status;
}

enum starpool_status starpool_graph_get_info(const struct starpool_graph *graph,
                                             struct starpool_graph_info *info_out)
{
    if (graph == NULL || info_out == NULL || info_out->struct_size < sizeof(*info_out))
        return STARPOOL_EINVAL;
    *info_out = (struct starpool_graph_info){
        .struct_size = sizeof(*info_out),
        .name = graph->name,
        .n_nodes = graph->n_nodes,
        .n_edges = graph->n_edges,
        .n_uses = graph->n_uses,
        .n_blocks = graph->n_blocks,
        .capacity = graph->capacity,
        .is_timed = graph->is_timed,
    };
    return STARPOOL_OK;
}

enum starpool_status starpool_graph_get_block(const struct starpool_graph *graph,
                                              uint32_t block,
                                              struct starpool_graph_block *block_out)
{
    const struct sp_graph_block *found;

    if (graph == NULL || block_out == NULL || block_out->struct_size < sizeof(*block_out) ||
        block >= graph->n_blocks)
        return STARPOOL_EINVAL;
    found = &graph->blocks[block];
    *block_out = (struct starpool_graph_block){
        .struct_size = sizeof(*block_out),
        .size = found->size,
        .alignment = found->alignment,
        .location = found->location,
        .name = found->name,
        .alloc = found->alloc,
        .free = found->free,
        .lower = found->lower,
        .upper = found->upper,
        .address = found->address,
        .is_input = found->is_input,
        .is_output = found->is_output,
    };
    return STARPOOL_OK;
}

enum starpool_status starpool_graph_get_node(const struct starpool_graph *graph, uint32_t node,
                                             enum starpool_graph_node_kind *kind_out,
                                             const char **name_out)
{
    if (graph == NULL || node >= graph->n_nodes)
        return STARPOOL_EINVAL;
    if (kind_out != NULL)
        *kind_out = graph->nodes[node].kind;
    if (name_out != NULL)
        *name_out = graph->nodes[node].name;
    return STARPOOL_OK;
}

/* ---- files ------------------------------------------------------------------------------ */

enum starpool_status starpool_graph_read(const char *path, enum starpool_graph_format format,
                                         struct starpool_graph **graph_out, char *error,
                                         size_t error_size)
{
    struct sp_graph_error reason = {.text = "an argument is not valid"};
    enum starpool_status status = STARPOOL_EINVAL;

    if (path != NULL && graph_out != NULL && (unsigned)format <= STARPOOL_GRAPH_SVG)
        status = sp_graph_read_file(path, format, graph_out, &reason);
    if (status != STARPOOL_OK)
        tell(&reason, error, error_size);
    return status;
}

enum starpool_status starpool_graph_write(const struct starpool_graph *graph,
                                          const struct starpool_plan *plan, const char *path,
                                          enum starpool_graph_format format)
{
    struct sp_graph_error reason;
    enum starpool_status status;

    if (graph == NULL || path == NULL || (unsigned)format > STARPOOL_GRAPH_SVG)
        return STARPOOL_EINVAL;
    status = sp_graph_check(graph, &reason);
    /* Writers follow the plan's numbers into the graph. */
    if (status == STARPOOL_OK && plan != NULL)
        status = sp_plan_check_parts(graph, plan, &reason);
    return status == STARPOOL_OK ? sp_graph_write_file(graph, plan, path, format) : status;
}
