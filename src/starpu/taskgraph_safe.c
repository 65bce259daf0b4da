/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The graph of recorded tasks and blocks, for a plan that holds in whatever order the tasks
 * run. What is not known of a block makes it larger: it then lives through the whole graph. */
#include "config.h"

#include "src/starpu/taskgraph_safe.h"

#include <stdlib.h>

#include "src/util/util.h"

/* How long is searched for a better plan. */
#define SEARCH_NS 50000000

struct build {
    struct starpool_graph *graph;
    const struct sp_tg_tasks *tasks;
    const struct sp_tg_record *record;
    uint64_t min_align;
    uint32_t *first;    /* [n_data + 1] of data's uses in `by_data` */
    uint32_t *by_data;  /* [n_uses] */
    uint32_t *n_blocks; /* [n_uses] blocks that belong to it already */
    struct sp_tg_tasks_counts counts;
    enum starpool_status status;
};

static bool add_edge(void *arg, uint32_t from, uint32_t to)
{
    struct build *build = arg;

    build->status = starpool_graph_add_edge(build->graph, from, to);
    build->counts.n_edges++;
    return build->status == STARPOOL_OK;
}

static enum starpool_status add_nodes(struct build *build)
{
    uint32_t i;

    for (i = 0; i < build->tasks->n_tasks; i++) {
        const struct sp_tg_task_entry *entry = &build->tasks->tasks[i];
        enum starpool_status status = starpool_graph_add_node(
            build->graph,
            entry->is_cancelled ? STARPOOL_GRAPH_NODE_EMPTY : STARPOOL_GRAPH_NODE_TASK,
            entry->name, NULL);

        if (status != STARPOOL_OK)
            return status;
    }
    build->counts.n_tasks = build->tasks->n_tasks;
    build->status = STARPOOL_ENOMEM;
    return sp_tg_tasks_edges(build->tasks, add_edge, build) ? STARPOOL_OK : build->status;
}

/* The uses of each data together. */
static bool sort_uses(struct build *build)
{
    const struct sp_tg_tasks *tasks = build->tasks;
    uint32_t i;

    build->first = calloc((size_t)tasks->n_data + 2, sizeof(*build->first));
    build->by_data = malloc(sp_max(tasks->n_uses, 1) * sizeof(*build->by_data));
    build->n_blocks = calloc(sp_max(tasks->n_uses, 1), sizeof(*build->n_blocks));
    if (build->first == NULL || build->by_data == NULL || build->n_blocks == NULL)
        return false;
    /* Counted two places further on, and moved down by filling. */
    for (i = 0; i < tasks->n_uses; i++)
        build->first[tasks->uses[i].data + 2]++;
    for (i = 1; i <= tasks->n_data; i++)
        build->first[i + 1] += build->first[i];
    for (i = 0; i < tasks->n_uses; i++)
        build->by_data[build->first[tasks->uses[i].data + 1]++] = i;
    return true;
}

/* The data that a block was taken for, or SP_TG_NONE: of the task's, the one of its size that
 * has the fewest blocks yet. */
static uint32_t data_of(struct build *build, const struct sp_tg_block *block)
{
    const struct sp_tg_tasks *tasks = build->tasks;
    const struct sp_tg_task_entry *entry;
    uint32_t best = SP_TG_NONE;
    uint32_t i;

    if (block->task >= tasks->n_tasks)
        return SP_TG_NONE;
    entry = &tasks->tasks[block->task];
    for (i = entry->first_use; i < entry->first_use + entry->n_uses; i++) {
        if (tasks->uses[i].size == block->size &&
            (best == SP_TG_NONE || build->n_blocks[i] < build->n_blocks[best]))
            best = i;
    }
    if (best == SP_TG_NONE)
        return SP_TG_NONE;
    build->n_blocks[best]++;
    return tasks->uses[best].data;
}

static enum starpool_status add_block(struct build *build, uint32_t index,
                                      struct starpool_location location)
{
    const struct sp_tg_block *block = &build->record->blocks[index];
    struct starpool_graph_block shown;
    uint32_t data = data_of(build, block);
    enum starpool_status status;
    uint32_t i;

    starpool_graph_block_init(&shown);
    shown.size = block->size;
    shown.alignment = sp_tg_plan_align(block->size, build->min_align);
    shown.location = location;
    shown.is_input = data == SP_TG_NONE;
    shown.is_output = data == SP_TG_NONE || block->is_output;
    status = starpool_graph_add_block(build->graph, &shown, NULL);
    if (status != STARPOOL_OK || data == SP_TG_NONE)
        return status;
    build->counts.n_known++;
    for (i = build->first[data]; i < build->first[data + 1] && status == STARPOOL_OK; i++) {
        uint32_t task = build->tasks->uses[build->by_data[i]].task;

        if (!build->tasks->tasks[task].is_cancelled)
            status = starpool_graph_add_use(build->graph, index, task);
    }
    return status;
}

enum starpool_status sp_tg_tasks_graph(const struct sp_tg_tasks *tasks,
                                       const struct sp_tg_record *record,
                                       const struct starpool_location *locations,
                                       uint64_t min_align, const char *name,
                                       struct starpool_graph **graph_out,
                                       struct sp_tg_tasks_counts *counts_out)
{
    struct build build = {.tasks = tasks, .record = record, .min_align = min_align};
    enum starpool_status status;
    uint32_t i;

    if (tasks->is_lost)
        return STARPOOL_EINVAL;
    status = starpool_graph_create(name, &build.graph);
    if (status != STARPOOL_OK)
        return status;
    status = add_nodes(&build);
    if (status == STARPOOL_OK && !sort_uses(&build))
        status = STARPOOL_ENOMEM;
    for (i = 0; i < record->n_blocks && status == STARPOOL_OK; i++) {
        const struct sp_tg_key *key = &record->keys.keys[record->blocks[i].key];

        status = add_block(&build, i, locations[key->request.node]);
    }
    free(build.first);
    free(build.by_data);
    free(build.n_blocks);
    if (status != STARPOOL_OK) {
        starpool_graph_destroy(build.graph);
        return status;
    }
    *graph_out = build.graph;
    *counts_out = build.counts;
    return STARPOOL_OK;
}

/* ---- the plan ------------------------------------------------------------------------- */

static void sum_reports(struct sp_tg_safe *safe, const struct sp_tg_nodes *nodes)
{
    uint32_t i;

    for (i = 0; i < nodes->n; i++) {
        struct starpool_plan_report report = {.struct_size = sizeof(report)};

        if (!sp_tg_nodes_is_first(nodes, i) ||
            starpool_plan_get_report(safe->plan, nodes->locations[i], &report) != STARPOOL_OK)
            continue;
        safe->peak_bytes += report.peak_bytes;
        safe->lower_bound += report.lower_bound;
    }
}

enum starpool_status sp_tg_safe_plan(struct sp_tg_safe *safe, const struct sp_tg_tasks *tasks,
                                     const struct sp_tg_record *record,
                                     const struct sp_tg_nodes *nodes, const char *name)
{
    struct starpool_plan_config config;
    enum starpool_status status;

    *safe = (struct sp_tg_safe){0};
    status = sp_tg_tasks_graph(tasks, record, nodes->locations, nodes->min_align, name,
                               &safe->graph, &safe->counts);
    if (status != STARPOOL_OK)
        return status;
    starpool_plan_config_init(&config);
    config.time_ns = SEARCH_NS;
    status = starpool_plan(safe->graph, &config, &safe->plan);
    if (status == STARPOOL_OK)
        status = starpool_plan_check(safe->graph, safe->plan, NULL, 0);
    if (status != STARPOOL_OK) {
        sp_tg_safe_fini(safe);
        return status;
    }
    sum_reports(safe, nodes);
    return STARPOOL_OK;
}

void sp_tg_safe_fini(struct sp_tg_safe *safe)
{
    starpool_graph_destroy(safe->graph);
    if (safe->plan != NULL)
        starpool_plan_destroy(safe->plan);
    *safe = (struct sp_tg_safe){0};
}

void sp_tg_safe_write(const struct sp_tg_safe *safe, const char *path)
{
    enum starpool_status status;

    if (*path == '\0')
        return;
    status = starpool_graph_write(safe->graph, safe->plan, path, STARPOOL_GRAPH_AUTO);
    if (status != STARPOOL_OK)
        sp_log(SP_LOG_WARN, "the captured graph was not written to %s: %s", path,
               starpool_status_text(status));
}
