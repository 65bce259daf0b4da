/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks what a plan says against its graph. Of blocks that share an address only neighbours in
 * the order of their beginnings are compared: if each is over before the next begins, so are
 * all before all that come later, for sp_graph_check() vouches that a block does not begin
 * behind its own end. */
#include "config.h"

#include "graph/plan_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

#define NONE UINT32_MAX

/* Blocks of which the first must be over before the second begins. */
struct pair {
    uint32_t a, b;
};

struct check {
    const struct starpool_graph *graph;
    const struct starpool_plan *plan;
    struct sp_graph_error *error;
    struct sp_check_order order;
    struct pair *pairs; /* [3 * n_blocks] */
    uint32_t n_pairs;
};

static enum starpool_status wrong(const struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum starpool_status wrong(const struct check *check, const char *format, ...)
{
    va_list arguments;

    *check->error = (struct sp_graph_error){.line = 0};
    va_start(arguments, format);
    vsnprintf(check->error->text, sizeof(check->error->text), format, arguments);
    va_end(arguments);
    return STARPOOL_EINVAL;
}

/* ---- places and offsets ------------------------------------------------------------------ */

static bool is_at(struct starpool_location a, struct starpool_location b)
{
    return a.kind == b.kind && a.id == b.id;
}

static enum starpool_status check_block(const struct check *check, uint32_t i)
{
    const struct starpool_plan *plan = check->plan;
    const struct sp_graph_block *block = &check->graph->blocks[i];
    uint64_t size = sp_plan_size(plan, block), alignment = sp_plan_alignment(plan, block);

    if (plan->place[i] >= plan->n_places ||
        !is_at(plan->places[plan->place[i]].location, block->location))
        return wrong(check, "block %u is planned at another location than its own", i);
    if (plan->offsets[i] % alignment != 0)
        return wrong(check, "block %u begins at no multiple of %" PRIu64, i, alignment);
    if (size < block->size || plan->offsets[i] > INT64_MAX || size > INT64_MAX)
        return wrong(check, "block %u ends beyond 2^63 bytes", i);
    return STARPOOL_OK;
}

static enum starpool_status check_places(const struct check *check)
{
    const struct starpool_plan *plan = check->plan;
    enum starpool_status status = STARPOOL_OK;

    if (plan->n_blocks != check->graph->n_blocks)
        return wrong(check, "the plan has %u blocks, and the graph %u", plan->n_blocks,
                     check->graph->n_blocks);
    if (plan->alignment != 0 && !sp_is_power_of_two(plan->alignment))
        return wrong(check, "the plan's alignment is no power of two");
    for (uint32_t p = 0; p < plan->n_places; p++) {
        for (uint32_t q = 0; q < p; q++) {
            if (is_at(plan->places[p].location, plan->places[q].location))
                return wrong(check, "places %u and %u are one location", q, p);
        }
    }
    for (uint32_t i = 0; i < plan->n_blocks && status == STARPOOL_OK; i++)
        status = check_block(check, i);
    return status;
}

/* ---- edges --------------------------------------------------------------------------- */

static enum starpool_status check_edges(const struct check *check)
{
    const struct starpool_plan *plan = check->plan;

    for (uint32_t i = 0; i < plan->n_edges; i++) {
        const struct sp_plan_edge *edge = &plan->edges[i];

        if (edge->from >= check->graph->n_nodes || edge->to >= check->graph->n_nodes ||
            edge->place >= plan->n_places)
            return wrong(check,
                         "added edge %u is between nodes, or for a place, that there is "
                         "not",
                         i);
        for (uint32_t j = 0; j < i; j++) {
            if (plan->edges[j].place == edge->place &&
                plan->edges[j].saved_bytes >= edge->saved_bytes)
                return wrong(check, "added edge %u saves no more than those before it", i);
        }
    }
    return STARPOOL_OK;
}

/* ---- reports ------------------------------------------------------------------------- */

static enum starpool_status check_sums(const struct check *check, uint32_t p)
{
    const struct starpool_plan *plan = check->plan;
    const struct starpool_plan_report *report = &plan->places[p].report;
    uint64_t n = 0, total = 0, peak = 0;

    for (uint32_t i = 0; i < plan->n_blocks; i++) {
        uint64_t size = sp_plan_size(plan, &check->graph->blocks[i]);

        if (plan->place[i] != p)
            continue;
        n++;
        total += size;
        peak = sp_max(peak, plan->offsets[i] + size);
    }
    if (report->n_blocks != n)
        return wrong(check, "place %u has %" PRIu64 " blocks, and its report says %" PRIu64, p,
                     n, report->n_blocks);
    if (report->total_bytes != total)
        return wrong(check,
                     "the blocks of place %u have %" PRIu64
                     " bytes, and its report says %" PRIu64,
                     p, total, report->total_bytes);
    if (report->peak_bytes != peak)
        return wrong(check,
                     "the peak of place %u is %" PRIu64 " bytes, and its report says %" PRIu64,
                     p, peak, report->peak_bytes);
    return STARPOOL_OK;
}

static enum starpool_status check_claims(const struct check *check, uint32_t p)
{
    const struct starpool_plan *plan = check->plan;
    const struct starpool_plan_report *report = &plan->places[p].report;
    uint64_t n_edges = 0, saved = 0;

    for (uint32_t i = 0; i < plan->n_edges; i++) {
        if (plan->edges[i].place == p) {
            n_edges++;
            saved = plan->edges[i].saved_bytes;
        }
    }
    if (report->n_added_edges != n_edges || report->saved_bytes != saved)
        return wrong(check, "the report of place %u does not say what edges save", p);
    if (report->fits != (report->peak_bytes <= plan->capacity))
        return wrong(check, "place %u %s the capacity, and its report says otherwise", p,
                     report->fits ? "is beyond" : "keeps within");
    if (report->lower_bound > report->peak_bytes)
        return wrong(check, "the lower bound of place %u is above its peak", p);
    if (report->fits && report->is_proved && report->peak_bytes != report->lower_bound)
        return wrong(check, "the peak of place %u is not proved by its bound", p);
    return STARPOOL_OK;
}

static enum starpool_status check_reports(const struct check *check)
{
    enum starpool_status status = STARPOOL_OK;

    for (uint32_t p = 0; p < check->plan->n_places && status == STARPOOL_OK; p++) {
        status = check_sums(check, p);
        if (status == STARPOOL_OK)
            status = check_claims(check, p);
    }
    return status;
}

/* ---- who shares addresses ---------------------------------------------------------------- */

/* A block begins, or ends, at an address. */
struct step {
    uint64_t address;
    uint32_t block;
    bool is_begin;
};

static int compare_steps(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->is_begin != y->is_begin)
        return (int)x->is_begin - (int)y->is_begin;
    /* Blocks mostly begin in the order of their numbers: thus the last of those at an address
     * comes and goes, and none need be moved. */
    return x->is_begin == (x->block > y->block) ? 1 : -1;
}

/* The blocks at an address, by their beginnings. */
struct here {
    uint32_t *blocks; /* [n_blocks] */
    uint32_t n;
};

/* How many of those here come before a block. */
static uint32_t find_here(const struct check *check, const struct here *here, uint32_t block)
{
    uint64_t begin = sp_check_order_begin(&check->order, block);
    uint32_t low = 0, high = here->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2, other = here->blocks[middle];
        uint64_t other_begin = sp_check_order_begin(&check->order, other);

        if (other_begin < begin || (other_begin == begin && other < block))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those at two places of the list, if there are both, must be ordered. */
static void need(struct check *check, const struct here *here, uint32_t first)
{
    if (first != NONE && first + 1 < here->n)
        check->pairs[check->n_pairs++] =
            (struct pair){.a = here->blocks[first], .b = here->blocks[first + 1]};
}

static void take_step(struct check *check, struct here *here, const struct step *step)
{
    uint32_t at = find_here(check, here, step->block);

    if (step->is_begin) {
        memmove(&here->blocks[at + 1], &here->blocks[at],
                (here->n - at) * sizeof(*here->blocks));
        here->blocks[at] = step->block;
        here->n++;
        need(check, here, at);
    } else {
        here->n--;
        memmove(&here->blocks[at], &here->blocks[at + 1],
                (here->n - at) * sizeof(*here->blocks));
    }
    need(check, here, at - 1);
}

/* Go through a place's addresses from the lowest to the highest. */
static void find_pairs(struct check *check, uint32_t p, struct step *steps, struct here *here)
{
    const struct starpool_plan *plan = check->plan;
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_blocks; i++) {
        if (plan->place[i] != p)
            continue;
        steps[n++] = (struct step){.address = plan->offsets[i], .block = i, .is_begin = true};
        steps[n++] = (struct step){.address = plan->offsets[i] +
                                              sp_plan_size(plan, &check->graph->blocks[i]),
                                   .block = i};
    }
    qsort(steps, n, sizeof(*steps), compare_steps);
    for (uint32_t k = 0; k < n; k++)
        take_step(check, here, &steps[k]);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Some blocks' pairs, from pair `k` on; the next one to look at. */
static enum starpool_status check_some_pairs(struct check *check, uint32_t k,
                                             uint32_t *next_out)
{
    uint32_t blocks[SP_ARRAY_SIZE(check->order.loaded)], n = 0, n_loaded, slot = 0;
    enum starpool_status status;

    for (uint32_t i = k; i < check->n_pairs && n < SP_ARRAY_SIZE(blocks); i++) {
        if (n == 0 || blocks[n - 1] != check->pairs[i].a)
            blocks[n++] = check->pairs[i].a;
    }
    status = sp_check_order_load(&check->order, blocks, n, &n_loaded);
    if (status != STARPOOL_OK)
        return status;
    for (; k < check->n_pairs; k++) {
        struct pair pair = check->pairs[k];

        if (pair.a != check->order.loaded[slot] && ++slot == n_loaded)
            break;
        if (!sp_check_order_is_over(&check->order, slot, pair.b))
            return wrong(check,
                         "blocks %u and %u share addresses, and neither is over before the "
                         "other begins",
                         pair.a, pair.b);
    }
    *next_out = k;
    return STARPOOL_OK;
}

static enum starpool_status check_sharing(struct check *check)
{
    size_t n = check->plan->n_blocks;
    struct step *steps = calloc(2 * n + 1, sizeof(*steps));
    struct here here = {.blocks = calloc(n + 1, sizeof(*here.blocks))};
    enum starpool_status status = STARPOOL_ENOMEM;

    check->pairs = calloc(3 * n + 1, sizeof(*check->pairs));
    if (steps != NULL && here.blocks != NULL && check->pairs != NULL) {
        status = STARPOOL_OK;
        for (uint32_t p = 0; p < check->plan->n_places; p++)
            find_pairs(check, p, steps, &here);
        qsort(check->pairs, check->n_pairs, sizeof(*check->pairs), compare_pairs);
        for (uint32_t k = 0; k < check->n_pairs && status == STARPOOL_OK;)
            status = check_some_pairs(check, k, &k);
    }
    free(steps);
    free(here.blocks);
    return status;
}

/* ---- the bound's blocks -------------------------------------------------------------------
 */

static enum starpool_status check_members(const struct check *check, uint32_t p,
                                          bool *is_member)
{
    const struct starpool_plan *plan = check->plan;
    uint64_t sum = 0;

    for (uint32_t k = 0; k < plan->n_antichain[p]; k++) {
        uint32_t block = plan->antichains[p][k];

        if (block >= plan->n_blocks || plan->place[block] != p || is_member[block])
            return wrong(check,
                         "the bound of place %u rests on a block that is not there, or "
                         "twice on one",
                         p);
        is_member[block] = true;
        sum += sp_plan_size(plan, &check->graph->blocks[block]);
    }
    if (sum != plan->places[p].report.lower_bound)
        return wrong(check,
                     "the blocks that the bound of place %u rests on have %" PRIu64
                     " bytes, and it is %" PRIu64,
                     p, sum, plan->places[p].report.lower_bound);
    return STARPOOL_OK;
}

static enum starpool_status check_bound(struct check *check, uint32_t p)
{
    const uint32_t *blocks = check->plan->antichains[p];
    uint32_t n = check->plan->n_antichain[p], n_loaded;
    enum starpool_status status;

    for (uint32_t k = 0; k < n; k += n_loaded) {
        status = sp_check_order_load(&check->order, &blocks[k], n - k, &n_loaded);
        if (status != STARPOOL_OK)
            return status;
        for (uint32_t slot = 0; slot < n_loaded; slot++) {
            for (uint32_t other = 0; other < n; other++) {
                if (other != k + slot &&
                    sp_check_order_is_over(&check->order, slot, blocks[other]))
                    return wrong(check,
                                 "the bound of place %u rests on block %u, which is over "
                                 "before block %u begins",
                                 p, blocks[k + slot], blocks[other]);
            }
        }
    }
    return STARPOOL_OK;
}

static enum starpool_status check_bounds(struct check *check)
{
    bool *is_member = calloc((size_t)check->plan->n_blocks + 1, sizeof(*is_member));
    enum starpool_status status = is_member == NULL ? STARPOOL_ENOMEM : STARPOOL_OK;

    for (uint32_t p = 0; p < check->plan->n_places && status == STARPOOL_OK; p++) {
        status = check_members(check, p, is_member);
        if (status == STARPOOL_OK)
            status = check_bound(check, p);
    }
    free(is_member);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------- */

static enum starpool_status check_order(struct check *check)
{
    enum starpool_status status = sp_check_order_init(&check->order, check->graph, check->plan);

    if (status == STARPOOL_EINVAL)
        wrong(check, "the added edges close a cycle");
    if (status == STARPOOL_OK)
        status = check_sharing(check);
    if (status == STARPOOL_OK)
        status = check_bounds(check);
    sp_check_order_fini(&check->order);
    free(check->pairs);
    return status;
}

enum starpool_status sp_plan_check_parts(const struct starpool_graph *graph,
                                         const struct starpool_plan *plan,
                                         struct sp_graph_error *error)
{
    struct check check = {.graph = graph, .plan = plan, .error = error};
    enum starpool_status status = check_places(&check);

    if (status == STARPOOL_OK)
        status = check_edges(&check);
    return status == STARPOOL_OK ? check_reports(&check) : status;
}

enum starpool_status sp_plan_check(const struct starpool_graph *graph,
                                   const struct starpool_plan *plan,
                                   struct sp_graph_error *error)
{
    struct check check = {.graph = graph, .plan = plan, .error = error};
    enum starpool_status status = sp_graph_check(graph, error);

    if (status == STARPOOL_OK)
        status = sp_plan_check_parts(graph, plan, error);
    return status == STARPOOL_OK ? check_order(&check) : status;
}

enum starpool_status starpool_plan_check(const struct starpool_graph *graph,
                                         const struct starpool_plan *plan, char *error,
                                         size_t error_size)
{
    struct sp_graph_error reason = {.text = "there is no graph, or no plan"};
    enum starpool_status status = STARPOOL_EINVAL;

    if (graph != NULL && plan != NULL)
        status = sp_plan_check(graph, plan, &reason);
    if (status == STARPOOL_EINVAL && error != NULL && error_size > 0)
        snprintf(error, error_size, "%s", reason.text);
    return status;
}
