/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In front of the functions by which a program hands StarPU its tasks, orders them, and marks
 * iterations. In StarPU 1.3 and 1.4, starpu_task_insert(), starpu_task_submit_to_ctx(),
 * starpu_task_declare_deps() and what StarPU submits for itself come here, too, because
 * libstarpu calls the functions below through its own slots; starpu_tag_declare_deps() does not
 * and has a door of its own.
 */
#include "config.h"

#include "src/starpu/taskgraph_doors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/starpu/codelet_check.h"
#include "src/starpu/plugin.h"
#include "src/starpu/real.h"
#include "src/starpu/taskgraph.h"
#include "src/starpu/taskgraph_markers.h"
#include "src/util/util.h"

/* What most tasks have room for in this much. */
#define USUAL_ACCESSES 16

static bool is_capturing(void)
{
    return SP_UNLIKELY(atomic_load_explicit(&sp_taskgraph.phase, memory_order_relaxed) ==
                       SP_TG_CAPTURE);
}

/* Calls come here also before libstarpu has been found. */
static void wake(void)
{
    if (SP_UNLIKELY(!sp_plugin_is_active()))
        sp_plugin_wake();
}

/* ---- tasks ---------------------------------------------------------------------------- */

static enum sp_tg_mode mode_of(const struct starpu_task *task, unsigned i,
                               starpu_data_handle_t handle)
{
    unsigned mode = (unsigned)STARPU_TASK_GET_MODE(task, i);

    if ((mode & STARPU_SCRATCH) != 0 || !task->sequential_consistency ||
        (task->handles_sequential_consistency != NULL &&
         task->handles_sequential_consistency[i] == 0) ||
        sp_real.data_get_sequential_consistency_flag(handle) == 0)
        return SP_TG_UNORDERED;
    if ((mode & STARPU_REDUX) != 0)
        return SP_TG_REDUCE;
    if ((mode & STARPU_COMMUTE) != 0)
        return SP_TG_COMMUTE;
    return (mode & STARPU_W) != 0 ? SP_TG_WRITE : SP_TG_READ;
}

/* StarPU calls it in the thread that is about to fetch the task's data. */
static void note_pop(void *arg)
{
    uint64_t word = (uint64_t)(uintptr_t)arg;

    sp_taskgraph_set_preparing((uint32_t)(word >> 32), (uint32_t)word);
}

/* True if the program uses the call for itself, or has left an argument with the task, which
 * StarPU would free by its address. */
static bool uses_pop(const struct starpu_task *task)
{
    if (task->prologue_callback_pop_func != NULL)
        return task->prologue_callback_pop_func != note_pop;
    return task->prologue_callback_pop_arg != NULL || task->prologue_callback_pop_arg_free != 0;
}

/* Have StarPU say when a task is popped. */
static void ask_for_pop(struct starpu_task *task, uint32_t number)
{
    if (task->cl == NULL || uses_pop(task))
        return;
    task->prologue_callback_pop_func = note_pop;
    task->prologue_callback_pop_arg =
        (void *)(uintptr_t)(((uint64_t)sp_taskgraph.tasks.epoch << 32) + number);
}

/* 0: unknown, since an interface of the program's own need not say it. */
static size_t size_of(starpu_data_handle_t handle)
{
    const struct starpu_data_interface_ops *ops = sp_real.data_get_interface_ops(handle);

    return ops == NULL || ops->get_size == NULL ? 0 : sp_real.data_get_size(handle);
}

/* The task's number in the recording, or SP_TG_NONE. */
static uint32_t record_task(struct starpu_task *task)
{
    unsigned n = task->cl == NULL ? 0 : (unsigned)STARPU_TASK_GET_NBUFFERS(task);
    struct sp_tg_access usual[USUAL_ACCESSES];
    struct sp_tg_access *accesses = n <= USUAL_ACCESSES ? usual : malloc(n * sizeof(*accesses));
    struct sp_tg_task seen = {
        .task = task,
        .name = sp_real.task_get_name(task),
        .has_tag = task->use_tag,
        .tag = task->tag_id,
        .accesses = accesses,
        .n_accesses = accesses == NULL ? 0 : n,
    };
    uint32_t number;
    unsigned i;

    for (i = 0; i < seen.n_accesses; i++) {
        starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);

        accesses[i] = (struct sp_tg_access){
            .data = handle,
            .size = size_of(handle),
            .mode = mode_of(task, i, handle),
        };
    }
    number = sp_tg_tasks_submit(&sp_taskgraph.tasks, &seen);
    if (number != SP_TG_NONE)
        ask_for_pop(task, number);
    if (accesses != usual)
        free(accesses);
    return number;
}

static int door_submit(struct starpu_task *task)
{
    uint32_t number = SP_TG_NONE;
    int result;

    wake();
    if (sp_real.task_submit == NULL)
        return -ENODEV;
    /* Before the call: after it the task may be done and gone. */
    if (is_capturing() && task != NULL)
        number = record_task(task);
    else if (SP_UNLIKELY(sp_codelet_check_is_on()) && task != NULL)
        sp_codelet_check_submit(task);
    result = sp_real.task_submit(task);
    if (result != 0 && number != SP_TG_NONE)
        sp_tg_tasks_cancel(&sp_taskgraph.tasks, number);
    return result;
}

static void door_declare_deps(struct starpu_task *task, unsigned n,
                              struct starpu_task *before[])
{
    unsigned i;

    wake();
    for (i = 0; is_capturing() && i < n; i++)
        sp_tg_tasks_depend(&sp_taskgraph.tasks, task, before[i]);
    if (sp_real.task_declare_deps_array != NULL)
        sp_real.task_declare_deps_array(task, n, before);
}

static void door_declare_tags(starpu_tag_t id, unsigned n, starpu_tag_t *before)
{
    unsigned i;

    wake();
    for (i = 0; is_capturing() && i < n; i++)
        sp_tg_tasks_depend_tag(&sp_taskgraph.tasks, id, before[i]);
    if (sp_real.tag_declare_deps_array != NULL)
        sp_real.tag_declare_deps_array(id, n, before);
}

/* As starpu_tag_declare_deps() takes them. */
static void door_declare_tag_list(starpu_tag_t id, unsigned n, ...)
{
    starpu_tag_t usual[USUAL_ACCESSES];
    starpu_tag_t *before = n <= USUAL_ACCESSES ? usual : malloc(n * sizeof(*before));
    va_list list;
    unsigned i;

    SP_ASSERT(before != NULL);
    va_start(list, n);
    for (i = 0; i < n; i++)
        before[i] = va_arg(list, starpu_tag_t);
    va_end(list);
    door_declare_tags(id, n, before);
    if (before != usual)
        free(before);
}

/* ---- data that ends ------------------------------------------------------------------- */

static void forget(starpu_data_handle_t handle)
{
    wake();
    if (is_capturing())
        sp_tg_tasks_forget(&sp_taskgraph.tasks, handle);
}

static void door_unregister(starpu_data_handle_t handle)
{
    forget(handle);
    if (sp_real.data_unregister != NULL)
        sp_real.data_unregister(handle);
}

static void door_unregister_no_coherency(starpu_data_handle_t handle)
{
    forget(handle);
    if (sp_real.data_unregister_no_coherency != NULL)
        sp_real.data_unregister_no_coherency(handle);
}

static void door_unregister_submit(starpu_data_handle_t handle)
{
    forget(handle);
    if (sp_real.data_unregister_submit != NULL)
        sp_real.data_unregister_submit(handle);
}

/* ---- iterations ----------------------------------------------------------------------- */

static void door_iteration_push(unsigned long number)
{
    wake();
    if (sp_real.iteration_push != NULL)
        sp_real.iteration_push(number);
    if (sp_plugin_is_active())
        sp_tg_marker_push(number);
}

static void door_iteration_pop(void)
{
    wake();
    if (sp_plugin_is_active())
        sp_tg_marker_pop();
    if (sp_real.iteration_pop != NULL)
        sp_real.iteration_pop();
}

/* As in doors.c. A build of StarPU with traces has macros of some of these names. */
#define STANDS_FOR(function) STARPOOL_API __attribute__((alias(#function)))

STANDS_FOR(door_submit) int(starpu_task_submit)(struct starpu_task *);
STANDS_FOR(door_declare_deps)
void starpu_task_declare_deps_array(struct starpu_task *, unsigned, struct starpu_task *[]);
STANDS_FOR(door_declare_tags)
void starpu_tag_declare_deps_array(starpu_tag_t, unsigned, starpu_tag_t *);
STANDS_FOR(door_declare_tag_list) void starpu_tag_declare_deps(starpu_tag_t, unsigned, ...);
STANDS_FOR(door_unregister) void starpu_data_unregister(starpu_data_handle_t);
STANDS_FOR(door_unregister_no_coherency)
void starpu_data_unregister_no_coherency(starpu_data_handle_t);
STANDS_FOR(door_unregister_submit) void starpu_data_unregister_submit(starpu_data_handle_t);
STANDS_FOR(door_iteration_push) void starpu_iteration_push(unsigned long);
STANDS_FOR(door_iteration_pop) void starpu_iteration_pop(void);

static const struct sp_got_patch patches[] = {
    {"starpu_task_submit", (void *)(uintptr_t)door_submit},
    {"starpu_task_declare_deps_array", (void *)(uintptr_t)door_declare_deps},
    {"starpu_tag_declare_deps_array", (void *)(uintptr_t)door_declare_tags},
    {"starpu_tag_declare_deps", (void *)(uintptr_t)door_declare_tag_list},
    {"starpu_data_unregister", (void *)(uintptr_t)door_unregister},
    {"starpu_data_unregister_no_coherency", (void *)(uintptr_t)door_unregister_no_coherency},
    {"starpu_data_unregister_submit", (void *)(uintptr_t)door_unregister_submit},
    {"starpu_iteration_push", (void *)(uintptr_t)door_iteration_push},
    {"starpu_iteration_pop", (void *)(uintptr_t)door_iteration_pop},
};

const struct sp_got_patch *sp_taskgraph_patches(size_t *n_out)
{
    *n_out = SP_ARRAY_SIZE(patches);
    return patches;
}
