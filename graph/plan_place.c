/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans one place. Where the blocks are intervals of one line of time, interval.c does it; else
 * the blocks' partial order decides who may share. The bound comes first, so that a plan that
 * reaches it ends the search. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/interval.h"
#include "graph/plan_private.h"
#include "src/util/util.h"

/* How many conflicts the fast mode may look at: some milliseconds' worth, and some for each
 * block. This makes several orders of a place whose blocks have few conflicts, and one of a
 * place whose blocks have many, so that time grows with the graph and not with its square. */
#define FAST_WORK           500000u
#define FAST_WORK_PER_BLOCK 64u

/* More blocks than so many are many for a pass. */
#define MANY 8192

/* [entries] The conflicts of a place are listed up to this, in 64 MiB. */
#define MOST_CONFLICTS ((uint64_t)1 << 24)

/* ---- one line of time -------------------------------------------------------------------- */

/* What all sizes and offsets are multiples of if the largest alignment divides every size; 0 if
 * it does not, for then sums of sizes are no offsets for all. */
static uint64_t common_unit(const struct sp_place *place)
{
    uint64_t unit = 1;

    for (uint32_t i = 0; i < place->n; i++)
        unit = sp_max(unit, place->alignments[i]);
    for (uint32_t i = 0; i < place->n; i++) {
        if (place->sizes[i] % unit != 0)
            return 0;
    }
    return unit;
}

static bool is_line(const struct sp_place *place)
{
    return place->liveness->graph->is_timed ||
           (place->liveness->n_chains <= 1 && place->liveness->is_exact);
}

static enum starpool_status plan_line(const struct sp_place *place,
                                      const struct sp_plan_request *request, uint64_t unit,
                                      uint64_t *offsets, struct starpool_plan_report *report)
{
    uint64_t *times = calloc(3 * (size_t)place->n + 1, sizeof(*times)), now = sp_clock_ns();
    uint64_t *lower = times, *upper = times + place->n, *sizes = upper + place->n;
    struct sp_interval_options options = {
        .capacity = request->capacity == STARPOOL_UNLIMITED ? 0 : request->capacity / unit,
        .time_ns = request->end_ns > now ? request->end_ns - now : 0,
        .seed = request->seed,
    };
    struct sp_interval_result result;
    enum starpool_status status;

    if (times == NULL)
        return STARPOOL_ENOMEM;
    /* No capacity at all is not one of 0. */
    if (request->capacity != STARPOOL_UNLIMITED && options.capacity == 0)
        options.capacity = 1;
    for (uint32_t i = 0; i < place->n; i++) {
        sp_liveness_span(place->liveness, place->blocks[i], &lower[i], &upper[i]);
        sizes[i] = place->sizes[i] / unit;
    }
    status = sp_interval_plan(
        &(const struct sp_interval_problem){
            .n = place->n, .lower = lower, .upper = upper, .size = sizes},
        &options, offsets, &result);
    free(times);
    if (status != STARPOOL_OK)
        return status;
    for (uint32_t i = 0; i < place->n; i++)
        offsets[i] *= unit;
    report->n_search_nodes = result.n_nodes;
    report->is_proved = result.answer == SP_INTERVAL_DOES_NOT_FIT;
    return STARPOOL_OK;
}

/* ---- a partial order ------------------------------------------------------------------ */

/* One behind the other: what everything else is better than. */
static void stack(const struct sp_place *place, uint64_t *offsets)
{
    uint64_t top = 0;

    for (uint32_t i = 0; i < place->n; i++) {
        offsets[i] = sp_round_up(top, place->alignments[i]);
        top = offsets[i] + place->sizes[i];
    }
}

/* Without lists of conflicts: the best of the passes, or only one of many blocks. */
static enum starpool_status sweep(const struct sp_place *place, uint64_t *offsets)
{
    uint64_t *trial = calloc((size_t)place->n + 1, sizeof(*trial));
    enum starpool_status status = trial == NULL ? STARPOOL_ENOMEM : STARPOOL_OK;
    unsigned n_ways = place->n > MANY ? 1 : 4;

    for (unsigned way = 0; way < n_ways && status == STARPOOL_OK; way++) {
        status = sp_place_sweep(place, way / 2 == 1, way % 2 == 1 ? SP_FIT_BEST : SP_FIT_LOWEST,
                                trial);
        if (status == STARPOOL_OK &&
            sp_place_peak(place, trial) < sp_place_peak(place, offsets))
            memcpy(offsets, trial, place->n * sizeof(*offsets));
    }
    free(trial);
    return status;
}

static enum starpool_status plan_order(const struct sp_place *place,
                                       const struct sp_plan_request *request, uint64_t *offsets,
                                       struct starpool_plan_report *report)
{
    struct sp_search search = {
        .bound = report->lower_bound,
        .work = (request->is_trial ? 0 : FAST_WORK) + (uint64_t)FAST_WORK_PER_BLOCK * place->n,
        .end_ns = request->end_ns,
        .seed = request->seed,
    };
    struct sp_conflicts conflicts;
    enum starpool_status status;

    stack(place, offsets);
    if (place->n <= SP_EXACT_MOST) {
        sp_place_exactly(place, report->lower_bound, offsets, &report->n_search_nodes);
        report->is_proved =
            place->liveness->is_exact && sp_place_peak(place, offsets) > request->capacity;
        return STARPOOL_OK;
    }
    status = sp_conflicts_init(&conflicts, place, MOST_CONFLICTS);
    if (status != STARPOOL_OK)
        return status;
    status = conflicts.list == NULL ? sweep(place, offsets)
                                    : sp_place_improve(place, &conflicts, &search, offsets);
    report->n_search_nodes = search.n_nodes;
    sp_conflicts_fini(&conflicts);
    return status;
}

/* ---- either -------------------------------------------------------------------------- */

static void finish_report(const struct sp_place *place, uint64_t capacity,
                          const uint64_t *offsets, struct starpool_plan_report *report)
{
    report->n_blocks = place->n;
    for (uint32_t i = 0; i < place->n; i++)
        report->total_bytes += place->sizes[i];
    report->peak_bytes = sp_place_peak(place, offsets);
    report->fits = report->peak_bytes <= capacity;
    report->is_proved =
        report->peak_bytes == report->lower_bound ||
        (!report->fits && (report->is_proved || report->lower_bound > capacity));
}

enum starpool_status sp_plan_place(const struct sp_place *place,
                                   const struct sp_plan_request *request, uint64_t *offsets,
                                   struct starpool_plan_report *report_out,
                                   struct sp_antichain *antichain_out)
{
    struct starpool_plan_report report = {.struct_size = sizeof(report)};
    struct sp_antichain antichain;
    /* A few blocks are searched to the end, whatever their order. */
    uint64_t unit = is_line(place) && place->n > SP_EXACT_MOST ? common_unit(place) : 0;
    enum starpool_status status = sp_antichain_find(place->liveness, place->n, place->blocks,
                                                    place->sizes, 0, &antichain);

    if (status != STARPOOL_OK)
        return status;
    report.lower_bound = antichain.weight;
    report.is_bound_exact = antichain.is_exact;
    report.is_timed = is_line(place);
    status = unit != 0 ? plan_line(place, request, unit, offsets, &report)
                       : plan_order(place, request, offsets, &report);
    if (status != STARPOOL_OK) {
        free(antichain.blocks);
        return status;
    }
    finish_report(place, request->capacity, offsets, &report);
    *report_out = report;
    *antichain_out = antichain;
    return STARPOOL_OK;
}
