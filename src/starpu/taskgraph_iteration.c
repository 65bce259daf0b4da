/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begins and ends captures and replays, takes the planned ranges from the nodes' pools, and
 * decides when to plan again. All of it happens between iterations, in one thread: here memory
 * may be taken and time spent. */
#include "config.h"

#include "src/starpu/taskgraph_iteration.h"

#include <stdio.h>

#include <starpool/stats.h>

#include "src/starpu/counters.h"
#include "src/starpu/taskgraph.h"
#include "src/starpu/taskgraph_plan.h"
#include "src/starpu/taskgraph_safe.h"
#include "src/util/diag.h"
#include "src/util/meta.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* An iteration of which so many requests were not served has changed, whatever their order. */
#define CHANGED_PERMILLE 50

/* How an iteration went, to see whether the next goes the same way. */
struct course {
    bool is_there;
    bool is_changed; /* CHANGED_PERMILLE was reached */
    uint64_t counts_hash, order_hash;
};

struct node_facts {
    struct starpool_location locations[SP_MAX_STARPU_NODES];
    bool is_served[SP_MAX_STARPU_NODES];
    struct sp_tg_nodes nodes;
};

/* Written by whoever holds `is_busy`. */
static struct {
    _Atomic bool is_busy;
    char name[64];
    struct sp_tg_record record; /* of the capture */
    bool has_record;
    struct node_facts facts;      /* when it was made */
    bool has_told;                /* that no more plans are made */
    uint64_t used_before;         /* [bytes] in pools when the capture began */
    uint64_t room;                /* [bytes] that the pools needed for what was captured */
    struct sp_tg_table *observed; /* NULL: none */
    struct sp_tg_table *used;     /* that is being replayed */
    struct course last;
    struct sp_tg_totals totals;
} iteration = {.totals.least_served_permille = 1000};

static void ask_nodes(struct node_facts *facts)
{
    unsigned node;

    for (node = 0; node < SP_MAX_STARPU_NODES; node++)
        facts->is_served[node] = sp_node_location(node, &facts->locations[node]);
    facts->nodes = (struct sp_tg_nodes){
        .locations = facts->locations,
        .is_served = facts->is_served,
        .n = SP_MAX_STARPU_NODES,
        .min_align = sp_node_align(),
    };
}

/* True if StarPU's nodes are the ones that were captured: it may have been started anew. */
static bool has_same_nodes(void)
{
    struct node_facts now;
    unsigned node;

    ask_nodes(&now);
    for (node = 0; node < SP_MAX_STARPU_NODES; node++) {
        if (now.is_served[node] != iteration.facts.is_served[node] ||
            !sp_is_same_location(now.locations[node], iteration.facts.locations[node]))
            return false;
    }
    return true;
}

struct sp_tg_totals sp_tg_iteration_totals(void)
{
    return iteration.totals;
}

static void set_phase(enum sp_tg_phase phase)
{
    atomic_store(&sp_taskgraph.phase, (int)phase);
}

/* True if this thread may begin an iteration: it has `is_busy` from now on. */
static bool enter(void)
{
    bool is_busy = false;

    return atomic_compare_exchange_strong(&iteration.is_busy, &is_busy, true);
}

static void leave(void)
{
    set_phase(SP_TG_OFF);
    atomic_store(&iteration.is_busy, false);
}

/* ---- plans ---------------------------------------------------------------------------- */

static uint64_t arena_bytes(const struct sp_tg_table *table)
{
    uint64_t bytes = 0;
    uint32_t i;

    for (i = 0; i < table->n_arenas; i++)
        bytes += table->arenas[i].size;
    return bytes;
}

/* A table for a plan of a record, where frees find it. */
static enum starpool_status add_table(const struct sp_tg_plan *plan,
                                      const struct sp_tg_record *of,
                                      struct sp_tg_table **table_out)
{
    unsigned n = atomic_load(&sp_taskgraph.n_tables);
    struct sp_tg_layout layout = {plan->offsets, plan->arenas, plan->n_arenas, plan->align};
    struct sp_tg_record record;
    struct sp_tg_table *table;
    enum starpool_status status;
    uint32_t i;

    if (n == SP_TG_MAX_TABLES)
        return STARPOOL_ENOTSUP;
    table = sp_meta_alloc(sizeof(*table));
    if (table == NULL || !sp_tg_record_copy(&record, of))
        return STARPOOL_ENOMEM;
    status = sp_tg_table_init(table, &record, &layout);
    if (status != STARPOOL_OK)
        return status;
    for (i = 0; i < plan->n_arenas; i++)
        table->arenas[i].node = plan->nodes[i];
    atomic_store(&sp_taskgraph.tables[n], table);
    atomic_store(&sp_taskgraph.n_tables, n + 1);
    *table_out = table;
    return STARPOOL_OK;
}

/* Plan by what was observed. */
static enum starpool_status plan_observed(const struct sp_tg_record *record)
{
    struct sp_tg_totals *totals = &iteration.totals;
    struct sp_tg_table *table;
    struct sp_tg_plan plan;
    enum starpool_status status;

    /* Asked before time is spent. */
    if (atomic_load(&sp_taskgraph.n_tables) == SP_TG_MAX_TABLES)
        return STARPOOL_ENOTSUP;
    iteration.facts.nodes.min_align = sp_node_align();
    status = sp_tg_plan_init(&plan, record, &iteration.facts.nodes, iteration.room);
    if (status != STARPOOL_OK)
        return status;
    status = add_table(&plan, record, &table);
    if (status == STARPOOL_OK) {
        iteration.observed = table;
        totals->n_plans++;
        totals->n_blocks = record->n_blocks;
        totals->lower_bound = plan.lower_bound;
        totals->tight_bytes = plan.tight_bytes;
        totals->predicted_bytes = arena_bytes(table);
        totals->spread = plan.spread;
    }
    sp_tg_plan_fini(&plan);
    return status;
}

/* The tasks' graph and its plan, for the report, for STARPOOL_CAPTURE_GRAPH, and for who asks.
 * That there is none stands in nobody's way. */
static void plan_safe(struct starpool_graph **graph_out)
{
    struct sp_tg_totals *totals = &iteration.totals;
    struct sp_tg_safe safe;
    enum starpool_status status;

    status = sp_tg_safe_plan(&safe, &sp_taskgraph.tasks, &iteration.record,
                             &iteration.facts.nodes, iteration.name);
    totals->safe_bytes = totals->safe_bound = 0;
    if (status != STARPOOL_OK) {
        sp_log(SP_LOG_INFO, "no safe plan of %s: %s", iteration.name,
               starpool_status_text(status));
        return;
    }
    totals->safe_bytes = safe.peak_bytes;
    totals->safe_bound = safe.lower_bound;
    totals->n_tasks = safe.counts.n_tasks;
    totals->n_edges = safe.counts.n_edges;
    totals->n_known = safe.counts.n_known;
    sp_tg_safe_write(&safe, sp_option(SP_OPTION_CAPTURE_GRAPH)->value);
    if (graph_out != NULL) {
        *graph_out = safe.graph;
        safe.graph = NULL;
    }
    sp_tg_safe_fini(&safe);
}

/* ---- capture -------------------------------------------------------------------------- */

struct pool_sums {
    uint64_t used, reserved_high; /* [bytes] */
    uint64_t n_live;
};

static void add_pool(struct pool_sums *sums, struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    if (pool == NULL || starpool_pool_stats(pool, &stats) != STARPOOL_OK)
        return;
    sums->used += stats.used_bytes;
    sums->reserved_high += stats.reserved_high_bytes;
    sums->n_live += stats.n_live;
}

/* Of all nodes' pools. */
static struct pool_sums sum_pools(void)
{
    struct pool_sums sums = {0};
    unsigned node;

    for (node = 0; node < SP_MAX_STARPU_NODES; node++)
        add_pool(&sums, sp_node_record(node).pool);
    return sums;
}

/* How many blocks are out, planned ones included; rather too many than too few. */
static uint64_t count_live(void)
{
    struct pool_sums sums = sum_pools();
    unsigned i;
    uint32_t arena;

    add_pool(&sums, sp_node_overflow_pool());
    for (i = 0; i < atomic_load(&sp_taskgraph.n_tables); i++) {
        struct sp_tg_table *table = atomic_load(&sp_taskgraph.tables[i]);

        for (arena = 0; arena < table->n_arenas; arena++)
            sums.n_live += atomic_load(&table->arenas[arena].refs);
    }
    return sums.n_live;
}

enum starpool_status sp_tg_capture_begin(const char *name)
{
    if (!enter())
        return STARPOOL_EBUSY;
    iteration.used_before = sum_pools().used;
    snprintf(iteration.name, sizeof(iteration.name), "%s", name);
    sp_tg_log_begin(&sp_taskgraph.log, count_live());
    sp_tg_tasks_begin(&sp_taskgraph.tasks);
    set_phase(SP_TG_CAPTURE);
    return STARPOOL_OK;
}

static bool is_in_phase(enum sp_tg_phase phase)
{
    return atomic_load(&sp_taskgraph.phase) == (int)phase;
}

/* Who has seen that an iteration is on has written what it had to when this returns. */
static void stop_recording(void)
{
    set_phase(SP_TG_OFF);
    sp_tg_log_end(&sp_taskgraph.log);
    sp_tg_tasks_end(&sp_taskgraph.tasks);
}

enum starpool_status sp_tg_capture_end(struct starpool_graph **graph_out)
{
    struct sp_tg_record record;
    enum starpool_status status;
    uint64_t reserved;

    if (graph_out != NULL)
        *graph_out = NULL;
    if (!is_in_phase(SP_TG_CAPTURE))
        return STARPOOL_ENOTREADY;
    stop_recording();
    status = sp_tg_record_init(&record, &sp_taskgraph.log);
    if (status == STARPOOL_OK) {
        reserved = sum_pools().reserved_high;
        iteration.room = reserved - sp_min(reserved, iteration.used_before);
        sp_tg_record_fini(&iteration.record);
        iteration.record = record;
        iteration.has_record = true;
        ask_nodes(&iteration.facts);
        iteration.observed = NULL;
        iteration.last.is_there = false;
        iteration.totals.n_captured++;
        status = plan_observed(&iteration.record);
        plan_safe(graph_out);
    }
    leave();
    return status;
}

void sp_tg_capture_cancel(void)
{
    if (!is_in_phase(SP_TG_CAPTURE))
        return;
    stop_recording();
    iteration.totals.n_rejected++;
    leave();
}

/* ---- replay --------------------------------------------------------------------------- */

/* Memory for an arena. What the pool has free in pieces goes back to the system first, so that
 * the pool does not grow beside it. Without room the iteration goes without. */
static void *take_memory(const struct sp_tg_arena *arena, uint64_t align)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    struct starpool_pool *pool;
    void *base;

    if (arena->size == 0 || sp_node_pool(arena->node, &pool) != STARPOOL_OK)
        return NULL;
    if (starpool_pool_stats(pool, &stats) == STARPOOL_OK &&
        stats.largest_hole_bytes < arena->size)
        starpool_pool_trim(pool, 0);
    if (sp_alloc_aligned(pool, arena->size, sp_max(align, 4096), &base) != STARPOOL_OK)
        return NULL;
    return base;
}

static void get_arenas(struct sp_tg_table *table)
{
    uint64_t bytes = 0;
    uint32_t i;

    for (i = 0; i < table->n_arenas; i++) {
        struct sp_tg_arena *arena = &table->arenas[i];

        if (sp_tg_arena_get(arena))
            sp_tg_arena_set(arena, take_memory(arena, table->align));
        if (atomic_load(&arena->base) != 0)
            bytes += arena->size;
    }
    iteration.totals.arena_bytes = sp_max(iteration.totals.arena_bytes, bytes);
}

static bool has_layout(const struct sp_tg_table *table, const struct sp_tg_plan *plan)
{
    uint32_t i;

    if (table->record.n_blocks != iteration.record.n_blocks ||
        table->record.order_hash != iteration.record.order_hash ||
        table->align != plan->align || table->n_arenas != plan->n_arenas)
        return false;
    for (i = 0; i < table->record.n_blocks; i++) {
        if (table->slots[i].offset != plan->offsets[i] ||
            table->slots[i].arena != plan->arenas[i])
            return false;
    }
    for (i = 0; i < table->n_arenas; i++) {
        if (table->arenas[i].node != plan->nodes[i])
            return false;
    }
    return true;
}

/* The table of a plan that is given, made at its first use. */
static enum starpool_status find_table(const struct starpool_plan *given,
                                       struct sp_tg_table **table_out)
{
    struct sp_tg_plan plan;
    enum starpool_status status;
    unsigned i;

    status = sp_tg_plan_init_from(&plan, &iteration.record, &iteration.facts.nodes, given);
    if (status != STARPOOL_OK)
        return status;
    *table_out = NULL;
    for (i = 0; i < atomic_load(&sp_taskgraph.n_tables) && *table_out == NULL; i++) {
        struct sp_tg_table *table = atomic_load(&sp_taskgraph.tables[i]);

        if (has_layout(table, &plan))
            *table_out = table;
    }
    if (*table_out == NULL)
        status = add_table(&plan, &iteration.record, table_out);
    sp_tg_plan_fini(&plan);
    return status;
}

enum starpool_status sp_tg_replay_begin(const struct starpool_plan *plan)
{
    struct sp_tg_table *table;
    enum starpool_status status = STARPOOL_OK;

    if (!enter())
        return STARPOOL_EBUSY;
    if (iteration.has_record && !has_same_nodes()) {
        iteration.has_record = false;
        iteration.observed = NULL;
    }
    table = iteration.observed;
    if (!iteration.has_record || (plan == NULL && table == NULL))
        status = STARPOOL_ENOTREADY;
    else if (plan != NULL)
        status = find_table(plan, &table);
    if (status != STARPOOL_OK)
        goto err_leave;
    get_arenas(table);
    sp_tg_log_begin(&sp_taskgraph.log, count_live());
    sp_tg_table_begin(table);
    iteration.used = table;
    atomic_store(&sp_taskgraph.table, table);
    set_phase(SP_TG_REPLAY);
    return STARPOOL_OK;
err_leave:
    leave();
    return status;
}

/* Plan by the last iteration's log. The table of the old plan stays for blocks that live. */
static void plan_again(const struct sp_tg_record *record)
{
    iteration.last.is_there = false;
    if (plan_observed(record) == STARPOOL_OK) {
        iteration.totals.n_planned_again++;
        return;
    }
    if (!iteration.has_told)
        sp_log(SP_LOG_INFO, "%s has changed and is not planned again", iteration.name);
    iteration.has_told = true;
}

/* What deviated in the same way twice is planned again: by the same sequence, or, as several
 * threads never make the same one twice, by the same requests in whatever order. */
static void compare_courses(const struct starpool_starpu_replay_summary *summary)
{
    uint64_t n_missed = summary->n_requests - summary->n_served;
    struct course course = {
        .is_there = n_missed > 0 || summary->n_requests != iteration.observed->record.n_blocks,
        .is_changed = 1000 * n_missed >= CHANGED_PERMILLE * summary->n_requests,
    };
    struct sp_tg_record record;

    if (!course.is_there || sp_tg_record_init(&record, &sp_taskgraph.log) != STARPOOL_OK) {
        iteration.last.is_there = false;
        return;
    }
    course.counts_hash = record.counts_hash;
    course.order_hash = record.order_hash;
    if (iteration.last.is_there && (course.order_hash == iteration.last.order_hash ||
                                    (course.is_changed && iteration.last.is_changed &&
                                     course.counts_hash == iteration.last.counts_hash)))
        plan_again(&record);
    else
        iteration.last = course;
    sp_tg_record_fini(&record);
}

static void add_totals(const struct starpool_starpu_replay_summary *summary,
                       const struct sp_tg_table *table)
{
    struct sp_tg_totals *totals = &iteration.totals;
    unsigned cause;

    totals->n_replayed++;
    totals->n_requests += summary->n_requests;
    totals->n_served += summary->n_served;
    totals->n_moved += atomic_load(&table->n_moved);
    for (cause = 0; cause < SP_TG_N_CAUSES; cause++)
        totals->n_deviations[cause] += atomic_load(&table->n_deviations[cause]);
    if (summary->n_requests > 0)
        totals->least_served_permille = sp_min(totals->least_served_permille,
                                               1000 * summary->n_served / summary->n_requests);
    totals->high_bytes = sp_max(totals->high_bytes, summary->high_bytes);
}

enum starpool_status sp_tg_replay_end(bool may_plan_again,
                                      struct starpool_starpu_replay_summary *summary_out)
{
    struct sp_tg_table *table = iteration.used;
    uint32_t i;

    if (!is_in_phase(SP_TG_REPLAY))
        return STARPOOL_ENOTREADY;
    atomic_store(&sp_taskgraph.table, NULL);
    stop_recording();
    sp_tg_table_end(table);
    *summary_out = (struct starpool_starpu_replay_summary){
        .struct_size = sizeof(*summary_out),
        .n_requests = atomic_load(&table->n_requests),
        .n_served = atomic_load(&table->n_served),
        .predicted_bytes = arena_bytes(table),
    };
    for (i = 0; i < table->n_arenas; i++)
        summary_out->high_bytes += atomic_load(&table->arenas[i].high);
    add_totals(summary_out, table);
    sp_taskgraph_put_arenas(table);
    /* A plan that was given is the caller's. */
    if (may_plan_again && table == iteration.observed)
        compare_courses(summary_out);
    leave();
    return STARPOOL_OK;
}

void sp_tg_iteration_abandon(void)
{
    struct starpool_starpu_replay_summary summary;

    if (sp_tg_replay_end(false, &summary) != STARPOOL_OK)
        sp_tg_capture_cancel();
}
