/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From recorded lives to addresses. The plan as tight as possible comes first and says what the
 * iteration needs. Then room is spent on not being disturbed by threads that go a little faster
 * or slower: small blocks, which are most, live through the whole iteration, so do those that
 * outlive it, if there is so much room, and the others live longer by a spread at both ends,
 * the largest that fits.
 */
#include "config.h"

#include "src/starpu/taskgraph_plan.h"

#include <stdlib.h>

#include "graph/plan.h"
#include "src/util/util.h"

/* What a plan may take beyond the tight one if the pools had less, as a share of that; and what
 * of all that room small blocks may take by living throughout. */
#define ROOM_SHARE  20 /* 5 % */
#define SMALL_SHARE 3

/* Spreads that are looked at, each SPREAD_NUMERATOR / SPREAD_DENOMINATOR of the one before, and
 * that are planned if what is live at once would fit: plans take time. */
#define N_SPREADS          28
#define N_SPREAD_PLANS     4
#define SPREAD_NUMERATOR   3
#define SPREAD_DENOMINATOR 4

/* The search for the tight plan; the others take the first that comes. */
#define SEARCH_NS 20000000

/* As pools do: blocks of POOL_PAGED bytes and more begin at a page. */
#define POOL_ALIGN 256
#define POOL_PAGED (32 * SP_KIB)
#define PAGE_ALIGN 4096

/* How lives are changed before they are planned. */
struct lives {
    uint64_t small_size; /* blocks up to this live throughout */
    bool has_whole_outputs;
    uint32_t spread;
};

uint64_t sp_tg_plan_align(uint64_t size, uint64_t min_align)
{
    return sp_max(size < POOL_PAGED ? POOL_ALIGN : PAGE_ALIGN, min_align);
}

bool sp_tg_nodes_is_first(const struct sp_tg_nodes *nodes, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < node; i++) {
        if (nodes->is_served[i] &&
            sp_is_same_location(nodes->locations[i], nodes->locations[node]))
            return false;
    }
    return nodes->is_served[node];
}

static unsigned node_of(const struct sp_tg_record *record, uint32_t block)
{
    return record->keys.keys[record->blocks[block].key].request.node;
}

/* When a block's life begins and ends, once changed. */
static void change_life(const struct sp_tg_record *record, uint32_t index,
                        const struct lives *lives, uint64_t *lower_out, uint64_t *upper_out)
{
    const struct sp_tg_block *block = &record->blocks[index];
    bool is_whole =
        block->size <= lives->small_size || (block->is_output && lives->has_whole_outputs);
    uint64_t after = (uint64_t)block->upper + lives->spread;

    *lower_out = is_whole || block->lower < lives->spread ? 0 : block->lower - lives->spread;
    *upper_out = is_whole ? record->end : sp_min(after, record->end);
    /* A life ends after it began, also the last of a log. */
    *upper_out = sp_max(*upper_out, *lower_out + 1);
}

static enum starpool_status add_block(struct starpool_graph *graph,
                                      const struct sp_tg_record *record, uint32_t index,
                                      const struct sp_tg_nodes *nodes,
                                      const struct lives *lives)
{
    const struct sp_tg_block *block = &record->blocks[index];
    struct starpool_graph_block shown;

    starpool_graph_block_init(&shown);
    shown.size = block->size;
    shown.alignment = sp_tg_plan_align(block->size, nodes->min_align);
    shown.location = nodes->locations[node_of(record, index)];
    change_life(record, index, lives, &shown.lower, &shown.upper);
    shown.is_output = block->is_output;
    return starpool_graph_add_block(graph, &shown, NULL);
}

static enum starpool_status make_graph(const struct sp_tg_record *record,
                                       const struct sp_tg_nodes *nodes,
                                       const struct lives *lives,
                                       struct starpool_graph **graph_out)
{
    enum starpool_status status = starpool_graph_create("iteration", graph_out);
    uint32_t i;

    for (i = 0; i < record->n_blocks && status == STARPOOL_OK; i++) {
        status = add_block(*graph_out, record, i, nodes, lives);
        if (status != STARPOOL_OK)
            starpool_graph_destroy(*graph_out);
    }
    return status;
}

/* Which arena a node's blocks go to: one for each place, the first node's that has it. */
static uint32_t arena_of(struct sp_tg_plan *plan, const struct sp_tg_nodes *nodes,
                         unsigned node)
{
    uint32_t i;

    if (node >= nodes->n || !nodes->is_served[node])
        return SP_TG_NONE;
    for (i = 0; i < plan->n_arenas; i++) {
        if (sp_is_same_location(nodes->locations[plan->nodes[i]], nodes->locations[node]))
            return i;
    }
    plan->nodes[i] = (uint16_t)node;
    plan->n_arenas++;
    return i;
}

/* Put a plan's addresses into ours. */
static enum starpool_status copy_offsets(struct sp_tg_plan *plan,
                                         const struct sp_tg_record *record,
                                         const struct starpool_plan *given)
{
    enum starpool_status status = STARPOOL_OK;
    uint32_t i;

    for (i = 0; i < record->n_blocks && status == STARPOOL_OK; i++)
        status = starpool_plan_offset(given, i, &plan->offsets[i]);
    return status;
}

static bool is_aligned(const struct sp_tg_plan *plan, const struct sp_tg_record *record)
{
    uint32_t i;

    for (i = 0; i < record->n_blocks; i++) {
        if (plan->arenas[i] != SP_TG_NONE && plan->offsets[i] % plan->align != 0)
            return false;
    }
    return true;
}

/* What the blocks take in their arenas. */
static uint64_t peak_of(const struct sp_tg_plan *plan, const struct sp_tg_record *record)
{
    uint64_t peak = 0;
    uint32_t arena, i;

    for (arena = 0; arena < plan->n_arenas; arena++) {
        uint64_t end = 0;

        for (i = 0; i < record->n_blocks; i++) {
            if (plan->arenas[i] == arena)
                end = sp_max(end, plan->offsets[i] +
                                      sp_round_up(record->blocks[i].size, plan->align));
        }
        peak += end;
    }
    return peak;
}

static enum starpool_status plan_lives(struct sp_tg_plan *plan,
                                       const struct sp_tg_record *record,
                                       const struct sp_tg_nodes *nodes,
                                       const struct lives *lives, uint64_t time_ns)
{
    struct starpool_plan_config config;
    struct starpool_graph *graph;
    struct starpool_plan *made;
    enum starpool_status status = make_graph(record, nodes, lives, &graph);

    if (status != STARPOOL_OK)
        return status;
    starpool_plan_config_init(&config);
    config.time_ns = time_ns;
    status = starpool_plan(graph, &config, &made);
    starpool_graph_destroy(graph);
    if (status != STARPOOL_OK)
        return status;
    status = copy_offsets(plan, record, made);
    starpool_plan_destroy(made);
    return status;
}

/* The most that is live at once at the places that are served. */
static uint64_t live_peak(const struct sp_tg_plan *plan, const struct sp_tg_record *record,
                          const struct lives *lives)
{
    uint64_t *change = calloc((size_t)record->end + 2, sizeof(*change));
    uint64_t live = 0;
    uint64_t peak = 0;
    uint32_t i;

    if (change == NULL)
        return 0;
    /* Unsigned sums wrap around and back. */
    for (i = 0; i < record->n_blocks; i++) {
        uint64_t size = sp_round_up(record->blocks[i].size, plan->align);
        uint64_t lower, upper;

        if (plan->arenas[i] == SP_TG_NONE)
            continue;
        change_life(record, i, lives, &lower, &upper);
        change[lower] += size;
        change[upper] -= size;
    }
    for (i = 0; i <= record->end; i++) {
        live += change[i];
        peak = sp_max(peak, live);
    }
    free(change);
    return peak;
}

/* The largest size such that all blocks up to it, together, take no more than `room`. */
static uint64_t find_small_size(const struct sp_tg_record *record, uint64_t align,
                                uint64_t room)
{
    uint64_t *sizes = malloc(sp_max(record->n_blocks, 1) * sizeof(*sizes));
    uint64_t small = 0;
    uint64_t sum = 0;
    uint32_t i = 0;

    if (sizes == NULL)
        return 0;
    for (i = 0; i < record->n_blocks; i++)
        sizes[i] = record->blocks[i].size;
    qsort(sizes, record->n_blocks, sizeof(*sizes), sp_compare_u64);
    for (i = 0; i < record->n_blocks; i++) {
        sum += sp_round_up(sizes[i], align);
        if (sum > room)
            break;
        if (i + 1 == record->n_blocks || sizes[i + 1] != sizes[i])
            small = sizes[i];
    }
    free(sizes);
    return small;
}

/* Make lives longer, the largest spread first; true if one fits. */
static bool try_spreads(struct sp_tg_plan *plan, const struct sp_tg_record *record,
                        const struct sp_tg_nodes *nodes, struct lives lives, uint64_t limit)
{
    unsigned n_plans = 0;
    unsigned i;

    lives.spread = record->end / 2;
    for (i = 0; i < N_SPREADS && n_plans < N_SPREAD_PLANS; i++) {
        if (live_peak(plan, record, &lives) <= limit) {
            if (plan_lives(plan, record, nodes, &lives, 0) != STARPOOL_OK)
                return false;
            n_plans++;
            plan->peak_bytes = peak_of(plan, record);
            plan->spread = lives.spread;
            if (plan->peak_bytes <= limit)
                return true;
        }
        lives.spread =
            (uint32_t)((uint64_t)lives.spread * SPREAD_NUMERATOR / SPREAD_DENOMINATOR);
    }
    return false;
}

static enum starpool_status spread_lives(struct sp_tg_plan *plan,
                                         const struct sp_tg_record *record,
                                         const struct sp_tg_nodes *nodes, uint64_t room)
{
    uint64_t limit = sp_max(room, plan->tight_bytes + plan->tight_bytes / ROOM_SHARE);
    struct lives lives = {
        .small_size =
            find_small_size(record, plan->align, (limit - plan->tight_bytes) / SMALL_SHARE),
        .has_whole_outputs = true,
    };
    enum starpool_status status;

    if (try_spreads(plan, record, nodes, lives, limit))
        return STARPOOL_OK;
    lives.has_whole_outputs = false;
    if (try_spreads(plan, record, nodes, lives, limit))
        return STARPOOL_OK;
    /* Nothing of this fits: back to the tight plan. */
    status = plan_lives(plan, record, nodes, &(struct lives){0}, SEARCH_NS);
    plan->peak_bytes = peak_of(plan, record);
    plan->spread = 0;
    return status;
}

static enum starpool_status begin_plan(struct sp_tg_plan *plan,
                                       const struct sp_tg_record *record,
                                       const struct sp_tg_nodes *nodes)
{
    size_t n = sp_max(record->n_blocks, 1);
    uint32_t i;

    *plan = (struct sp_tg_plan){
        .offsets = calloc(n, sizeof(*plan->offsets)),
        .arenas = malloc(n * sizeof(*plan->arenas)),
        .nodes = calloc(sp_max(nodes->n, 1), sizeof(*plan->nodes)),
        .align = sp_max(nodes->min_align, POOL_ALIGN),
    };
    if (plan->offsets == NULL || plan->arenas == NULL || plan->nodes == NULL)
        return STARPOOL_ENOMEM;
    for (i = 0; i < record->n_blocks; i++)
        plan->arenas[i] = arena_of(plan, nodes, node_of(record, i));
    plan->lower_bound = live_peak(plan, record, &(struct lives){0});
    return STARPOOL_OK;
}

enum starpool_status sp_tg_plan_init(struct sp_tg_plan *plan, const struct sp_tg_record *record,
                                     const struct sp_tg_nodes *nodes, uint64_t room)
{
    enum starpool_status status = begin_plan(plan, record, nodes);

    if (status == STARPOOL_OK)
        status = plan_lives(plan, record, nodes, &(struct lives){0}, SEARCH_NS);
    plan->tight_bytes = status == STARPOOL_OK ? peak_of(plan, record) : 0;
    if (status == STARPOOL_OK)
        status = spread_lives(plan, record, nodes, room);
    if (status != STARPOOL_OK)
        sp_tg_plan_fini(plan);
    return status;
}

/* True if a plan has as many blocks and bytes at a node's place as the record. */
static bool has_same_sums(const struct sp_tg_record *record, const struct sp_tg_nodes *nodes,
                          uint32_t node, const struct starpool_plan *given)
{
    struct starpool_plan_report report = {.struct_size = sizeof(report)};
    uint64_t n_blocks = 0;
    uint64_t bytes = 0;
    uint32_t i;

    if (starpool_plan_get_report(given, nodes->locations[node], &report) != STARPOOL_OK)
        return false;
    for (i = 0; i < record->n_blocks; i++) {
        uint64_t size = record->blocks[i].size;

        if (!sp_is_same_location(nodes->locations[node_of(record, i)], nodes->locations[node]))
            continue;
        n_blocks++;
        bytes +=
            sp_round_up(size, given->alignment == 0 ? sp_tg_plan_align(size, nodes->min_align)
                                                    : given->alignment);
    }
    return report.n_blocks == n_blocks && report.total_bytes == bytes;
}

/* A plan does not say whose it is, but most that belong to another graph can be told. The rest
 * does no harm: blocks that are in each other's way are not served. */
static bool may_be_plan_of(const struct sp_tg_record *record, const struct sp_tg_nodes *nodes,
                           const struct starpool_plan *given)
{
    uint32_t i;

    if (given->n_blocks != record->n_blocks)
        return false;
    for (i = 0; i < nodes->n; i++) {
        if (sp_tg_nodes_is_first(nodes, i) && !has_same_sums(record, nodes, i, given))
            return false;
    }
    return true;
}

enum starpool_status sp_tg_plan_init_from(struct sp_tg_plan *plan,
                                          const struct sp_tg_record *record,
                                          const struct sp_tg_nodes *nodes,
                                          const struct starpool_plan *given)
{
    enum starpool_status status = begin_plan(plan, record, nodes);

    if (status == STARPOOL_OK && !may_be_plan_of(record, nodes, given))
        status = STARPOOL_EINVAL;
    if (status == STARPOOL_OK)
        status = copy_offsets(plan, record, given);
    if (status == STARPOOL_OK && !is_aligned(plan, record))
        status = STARPOOL_EINVAL;
    if (status != STARPOOL_OK) {
        sp_tg_plan_fini(plan);
        return status;
    }
    plan->peak_bytes = plan->tight_bytes = peak_of(plan, record);
    return STARPOOL_OK;
}

void sp_tg_plan_fini(struct sp_tg_plan *plan)
{
    free(plan->offsets);
    free(plan->arenas);
    free(plan->nodes);
    *plan = (struct sp_tg_plan){0};
}
