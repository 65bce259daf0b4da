/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the order of a graph keeps uses of its allocations behind the allocation and before
 * the free, which the driver does not say (GNODE-10, PIT-05). The order is a set of chains, one
 * for each stream that was captured, and of each step is known how far in each chain all comes
 * before it. With graphs inside a graph, each is looked at on its own.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/model/exec.h"
#include "src/model/kernels.h"
#include "src/util/util.h"

#define NO_STEP SIZE_MAX

/* Larger ones are not looked at. */
#define MAX_CELLS ((size_t)1 << 26)

/* What comes before what: a step is before another if its place in its chain is below the
 * other's cell of that chain. */
struct chains {
    uint32_t *chain; /* [n] of each step */
    uint32_t *place; /* [n] in its chain */
    uint32_t *cells; /* [n * n_chains] */
    size_t n_chains;
};

enum values { DIAGNOSED, ACCEPTED, REFUSED };

/* ---- chains -------------------------------------------------------------------------- */

/* Each step follows one that it depends on and that nothing follows yet, or begins a chain;
 * `last` is [n], for the last step of each. */
static void make_chains(const struct sp_model_steps *steps, struct chains *chains, size_t *last)
{
    for (size_t i = 0; i < steps->n; i++) {
        const struct sp_model_step *step = &steps->all[i];
        size_t chain = chains->n_chains;

        for (size_t j = 0; j < step->n_dependencies && chain == chains->n_chains; j++) {
            if (last[chains->chain[step->dependencies[j]]] == step->dependencies[j])
                chain = chains->chain[step->dependencies[j]];
        }
        if (chain == chains->n_chains) {
            chains->n_chains++;
            chains->place[i] = 0;
        } else {
            chains->place[i] = chains->place[last[chain]] + 1;
        }
        chains->chain[i] = (uint32_t)chain;
        last[chain] = i;
    }
}

static void fill_cells(const struct sp_model_steps *steps, struct chains *chains)
{
    for (size_t i = 0; i < steps->n; i++) {
        const struct sp_model_step *step = &steps->all[i];
        uint32_t *cells = chains->cells + i * chains->n_chains;

        for (size_t j = 0; j < step->n_dependencies; j++) {
            size_t before = step->dependencies[j];
            const uint32_t *known = chains->cells + before * chains->n_chains;

            for (size_t k = 0; k < chains->n_chains; k++)
                cells[k] = (uint32_t)sp_max(cells[k], known[k]);
            cells[chains->chain[before]] =
                (uint32_t)sp_max(cells[chains->chain[before]], chains->place[before] + 1);
        }
    }
}

static void fini_chains(struct chains *chains)
{
    free(chains->chain);
    free(chains->place);
    free(chains->cells);
}

/* False without memory, or if it is too large. */
static bool init_chains(const struct sp_model_steps *steps, struct chains *chains)
{
    size_t *last = calloc(steps->n, sizeof(*last));

    *chains = (struct chains){
        .chain = calloc(steps->n, sizeof(chains->chain[0])),
        .place = calloc(steps->n, sizeof(chains->place[0])),
    };
    if (last != NULL && chains->chain != NULL && chains->place != NULL) {
        make_chains(steps, chains, last);
        if (chains->n_chains <= MAX_CELLS / steps->n)
            chains->cells = calloc(steps->n * chains->n_chains + 1, sizeof(chains->cells[0]));
    }
    free(last);
    if (chains->cells == NULL) {
        fini_chains(chains);
        return false;
    }
    fill_cells(steps, chains);
    return true;
}

static bool is_before(const struct chains *chains, size_t before, size_t step)
{
    return chains->place[before] <
           chains->cells[step * chains->n_chains + chains->chain[before]];
}

/* ---- allocations --------------------------------------------------------------------- */

static void forget_alloc(struct sp_model_alloc *alloc)
{
    alloc->alloc_step = alloc->free_step = NO_STEP;
    alloc->segment->checked = NULL;
}

static void forget_steps(const struct sp_model_steps *steps)
{
    for (size_t i = 0; i < steps->n; i++) {
        const struct sp_model_work *work = &steps->all[i].work;

        if (sp_model_work_is_memory(work))
            forget_alloc(work->alloc);
    }
}

/* False if the graph neither allocates nor frees. */
static bool note_steps(const struct sp_model_steps *steps)
{
    bool has_any = false;

    forget_steps(steps);
    for (size_t i = 0; i < steps->n; i++) {
        const struct sp_model_work *work = &steps->all[i].work;

        if (work->type == SP_CU_NODE_MEM_ALLOC)
            work->alloc->alloc_step = i;
        else if (work->type == SP_CU_NODE_MEM_FREE)
            work->alloc->free_step = i;
        else
            continue;
        has_any = true;
    }
    return has_any;
}

/* Whether this graph makes or frees the allocation, and its order keeps the use within. */
static bool is_within(const struct chains *chains, const struct sp_model_alloc *alloc,
                      size_t step)
{
    return (alloc->alloc_step != NO_STEP || alloc->free_step != NO_STEP) &&
           (alloc->alloc_step == NO_STEP || is_before(chains, alloc->alloc_step, step)) &&
           (alloc->free_step == NO_STEP || is_before(chains, step, alloc->free_step));
}

/* Whether the order keeps a use within one of the allocations that this graph makes or frees at
 * the address. Not looked at: allocations that it has nothing to do with. */
static bool is_use_ordered(const struct chains *chains, uintptr_t address, size_t step)
{
    struct sp_model_segment *segment = sp_model_segment_find(address);
    bool is_concerned = false;

    if (segment == NULL ||
        (segment->checked != NULL && is_within(chains, segment->checked, step)))
        return true;
    for (struct sp_model_alloc *alloc = segment->allocs; alloc != NULL; alloc = alloc->next) {
        if (is_within(chains, alloc, step)) {
            segment->checked = alloc;
            return true;
        }
        is_concerned =
            is_concerned || alloc->alloc_step != NO_STEP || alloc->free_step != NO_STEP;
    }
    return !is_concerned;
}

static bool check_extent(const struct chains *chains, struct sp_model_extent extent,
                         size_t step)
{
    if (extent.size == 0 || is_use_ordered(chains, extent.address, step))
        return true;
    if (sp_model_switch(SP_SWITCH_graph_unordered) == DIAGNOSED)
        sp_model_violation("a node of a graph uses 0x%" PRIxPTR
                           " and is not ordered between its allocation and its free",
                           extent.address);
    return false;
}

static bool check_free(const struct chains *chains, const struct sp_model_alloc *alloc,
                       size_t step)
{
    if (alloc->alloc_step == NO_STEP || is_before(chains, alloc->alloc_step, step))
        return true;
    if (sp_model_switch(SP_SWITCH_graph_unordered) == DIAGNOSED)
        sp_model_violation("a node of a graph frees 0x%llx and is not ordered after its "
                           "allocation",
                           alloc->params.ptr);
    return false;
}

static bool check_step(const struct chains *chains, const struct sp_model_work *work,
                       size_t step)
{
    struct sp_model_extent extent;
    bool is_ordered = true;

    if (work->type == SP_CU_NODE_MEM_FREE)
        return check_free(chains, work->alloc, step);
    if (work->type == SP_CU_NODE_KERNEL) {
        for (size_t i = 0;
             sp_model_kernel_range(work->kernel, i, &extent.address, &extent.size); i++)
            is_ordered = check_extent(chains, extent, step) && is_ordered;
        return is_ordered;
    }
    is_ordered = check_extent(chains, sp_model_step_extent(work, true), step);
    return check_extent(chains, sp_model_step_extent(work, false), step) && is_ordered;
}

static bool check(const struct sp_model_steps *steps)
{
    struct chains chains;
    bool is_ordered = true;

    if (steps->n == 0 || !note_steps(steps) || !init_chains(steps, &chains))
        return true;
    for (size_t i = 0; i < steps->n; i++)
        is_ordered = check_step(&chains, &steps->all[i].work, i) && is_ordered;
    fini_chains(&chains);
    return is_ordered;
}

sp_cu_result sp_model_steps_check_order(const struct sp_model_steps *steps)
{
    unsigned value = sp_model_switch(SP_SWITCH_graph_unordered);
    bool is_ordered;

    if (value == ACCEPTED)
        return SP_CU_SUCCESS;
    is_ordered = check(steps);
    forget_steps(steps);
    for (size_t i = 0; i < steps->n; i++) {
        for (size_t j = 0; j < steps->all[i].n_parts; j++)
            is_ordered = sp_model_steps_check_order(&steps->all[i].parts[j]) == SP_CU_SUCCESS &&
                         is_ordered;
    }
    return is_ordered || value == DIAGNOSED ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE;
}
