/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Races inside a launch: a device may execute nodes of a graph at the same time that no path
 * connects. What the steps use is sorted by address, and of each step is known which ones come
 * before it. Steps of a child graph are compared with each other, and with the steps beside the
 * child as if they were the child itself. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/model/exec.h"
#include "src/model/kernels.h"
#include "src/model/private.h"
#include "src/model/races.h"
#include "src/util/util.h"

/* Graphs of more steps are not looked at: what comes before what takes a bit for each pair. */
#define MAX_STEPS ((size_t)1 << 13)

struct access {
    uintptr_t start, end;
    size_t step; /* among the graph's own */
    bool is_write;
};

struct check {
    const struct sp_model_steps *steps;
    uint64_t *before; /* [n * n_words] bit j of row i: step j comes before step i */
    size_t n_words;
    struct access *accesses; /* [n] */
    size_t n, room, step;    /* `step`: that is being visited */
};

/* ---- what comes before what ---------------------------------------------------------- */

static void fill_rows(struct check *check)
{
    for (size_t i = 0; i < check->steps->n; i++) {
        const struct sp_model_step *step = &check->steps->all[i];
        uint64_t *row = check->before + i * check->n_words;

        for (size_t j = 0; j < step->n_dependencies; j++) {
            size_t from = step->dependencies[j];

            for (size_t k = 0; k < check->n_words; k++)
                row[k] |= check->before[from * check->n_words + k];
            row[from / 64] |= UINT64_C(1) << from % 64;
        }
    }
}

static bool is_before(const struct check *check, size_t a, size_t b)
{
    return (check->before[b * check->n_words + a / 64] >> a % 64 & 1) != 0;
}

/* ---- what is used -------------------------------------------------------------------- */

static sp_cu_result add(struct check *check, struct sp_model_extent extent, bool is_write)
{
    struct access *accesses;
    size_t room = check->room == 0 ? 64 : 2 * check->room;

    if (extent.size == 0 || sp_model_memory_find(extent.address) == NULL)
        return SP_CU_SUCCESS;
    if (check->n == check->room) {
        accesses = realloc(check->accesses, room * sizeof(*accesses));
        if (accesses == NULL)
            return SP_CU_OUT_OF_MEMORY;
        check->accesses = accesses;
        check->room = room;
    }
    check->accesses[check->n++] =
        (struct access){extent.address, extent.address + extent.size, check->step, is_write};
    return SP_CU_SUCCESS;
}

/* As outside of graphs, a kernel counts as reading what its arguments point to. */
static sp_cu_result add_kernel(struct check *check, const struct sp_model_kernel *kernel)
{
    struct sp_model_extent extent;
    sp_cu_result result = SP_CU_SUCCESS;

    for (size_t i = 0; result == SP_CU_SUCCESS &&
                       sp_model_kernel_range(kernel, i, &extent.address, &extent.size);
         i++)
        result = add(check, extent, false);
    return result;
}

static sp_cu_result add_step(struct sp_model_step *step, void *arg)
{
    const struct sp_model_work *work = &step->work;
    sp_cu_result result;

    if (work->type == SP_CU_NODE_KERNEL)
        return add_kernel(arg, work->kernel);
    if (work->type != SP_CU_NODE_MEMCPY && work->type != SP_CU_NODE_MEMSET)
        return SP_CU_SUCCESS;
    result = add(arg, sp_model_step_extent(work, true), false);
    return result == SP_CU_SUCCESS ? add(arg, sp_model_step_extent(work, false), true) : result;
}

static bool collect(struct check *check)
{
    for (check->step = 0; check->step < check->steps->n; check->step++) {
        struct sp_model_steps one = {.all = &check->steps->all[check->step], .n = 1};

        if (sp_model_steps_execute(&one, add_step, check) != SP_CU_SUCCESS)
            return false;
    }
    return true;
}

/* ---- comparing ----------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct access *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_race(const struct check *check, const struct access *a, const struct access *b)
{
    return a->step != b->step && (a->is_write || b->is_write) &&
           !is_before(check, a->step, b->step) && !is_before(check, b->step, a->step);
}

static void compare_all(const struct check *check)
{
    for (size_t i = 0; i < check->n; i++) {
        const struct access *a = &check->accesses[i], *b = a + 1;

        for (; b < check->accesses + check->n && b->start < a->end; b++) {
            if (is_race(check, a, b))
                sp_model_violation("race: a graph is launched, whose nodes %zu and %zu %s "
                                   "0x%" PRIxPTR " and are not ordered",
                                   sp_min(a->step, b->step), sp_max(a->step, b->step),
                                   a->is_write && b->is_write ? "write" : "write and read",
                                   b->start);
        }
    }
}

void sp_model_races_launch(const struct sp_model_steps *steps)
{
    struct check check = {.steps = steps, .n_words = steps->n / 64 + 1};

    if (!sp_model_config()->finds_races || steps->n > MAX_STEPS)
        return;
    check.before = calloc(steps->n * check.n_words + 1, sizeof(check.before[0]));
    if (check.before != NULL && collect(&check)) {
        fill_rows(&check);
        if (check.n > 0)
            qsort(check.accesses, check.n, sizeof(check.accesses[0]), compare);
        compare_all(&check);
    }
    free(check.before);
    free(check.accesses);
    for (size_t i = 0; i < steps->n; i++) {
        if (steps->all[i].work.type == SP_CU_NODE_GRAPH && !steps->all[i].is_disabled)
            sp_model_races_launch(&steps->all[i].parts[0]);
    }
}
