/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records tasks and makes their order: that of accesses to the same data, in the order of
 * submission (StarPU's sequential consistency), and what the program declares.
 *
 * Not seen, and so not in the order: tags that the program notifies itself, tasks that a tag
 * was declared for before the iteration, starpu_task_declare_end_deps(), starpu_data_acquire()
 * and starpu_data_unregister_submit() as accesses, and what the program orders by waiting
 * inside the iteration. Where two threads submit at once, the order recorded may be the other
 * one of the two. Missing order makes the plan larger, never wrong.
 */
#include "config.h"

#include "src/starpu/taskgraph_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

/* ---- recording ------------------------------------------------------------------------ */

/* Room for `n` elements of `size` bytes; the array may move. */
static bool reserve(void **array, uint32_t *room, size_t n, size_t size)
{
    size_t new_room = sp_max(256, 2 * n);
    void *larger;

    if (n <= *room)
        return true;
    larger = new_room > UINT32_MAX ? NULL : realloc(*array, new_room * size);
    if (larger == NULL)
        return false;
    *array = larger;
    *room = (uint32_t)new_room;
    return true;
}

static void drop_names(struct sp_tg_tasks *tasks)
{
    uint32_t i;

    for (i = 0; i < tasks->n_tasks; i++)
        free(tasks->tasks[i].name);
    tasks->n_tasks = 0;
}

void sp_tg_tasks_begin(struct sp_tg_tasks *tasks)
{
    pthread_mutex_lock(&tasks->mutex);
    drop_names(tasks);
    sp_tg_map_clear(&tasks->data);
    tasks->n_uses = tasks->n_pairs = tasks->n_data = 0;
    tasks->is_lost = false;
    tasks->is_on = true;
    tasks->epoch++;
    pthread_mutex_unlock(&tasks->mutex);
}

void sp_tg_tasks_end(struct sp_tg_tasks *tasks)
{
    pthread_mutex_lock(&tasks->mutex);
    tasks->is_on = false;
    pthread_mutex_unlock(&tasks->mutex);
}

void sp_tg_tasks_fini(struct sp_tg_tasks *tasks)
{
    drop_names(tasks);
    free(tasks->tasks);
    free(tasks->uses);
    free(tasks->pairs);
    sp_tg_map_fini(&tasks->data);
}

static uint32_t data_number(struct sp_tg_tasks *tasks, const void *data)
{
    uint32_t number = sp_tg_map_get(&tasks->data, (uintptr_t)data);

    if (number != SP_TG_NONE)
        return number;
    if (!sp_tg_map_set(&tasks->data, (uintptr_t)data, tasks->n_data))
        return SP_TG_NONE;
    return tasks->n_data++;
}

static bool add_task(struct sp_tg_tasks *tasks, const struct sp_tg_task *task)
{
    struct sp_tg_task_entry *entry;
    uint32_t i;

    if (!reserve((void **)&tasks->tasks, &tasks->tasks_room, (size_t)tasks->n_tasks + 1,
                 sizeof(*tasks->tasks)) ||
        !reserve((void **)&tasks->uses, &tasks->uses_room,
                 (size_t)tasks->n_uses + task->n_accesses, sizeof(*tasks->uses)))
        return false;
    entry = &tasks->tasks[tasks->n_tasks];
    *entry = (struct sp_tg_task_entry){
        .task = task->task,
        .name = task->name == NULL ? NULL : strdup(task->name),
        .tag = task->tag,
        .has_tag = task->has_tag,
        .first_use = tasks->n_uses,
        .n_uses = task->n_accesses,
    };
    for (i = 0; i < task->n_accesses; i++) {
        struct sp_tg_use *use = &tasks->uses[tasks->n_uses++];

        *use = (struct sp_tg_use){
            .data = data_number(tasks, task->accesses[i].data),
            .task = tasks->n_tasks,
            .size = task->accesses[i].size,
            .mode = task->accesses[i].mode,
        };
        if (use->data == SP_TG_NONE)
            return false;
    }
    tasks->n_tasks++;
    return true;
}

uint32_t sp_tg_tasks_submit(struct sp_tg_tasks *tasks, const struct sp_tg_task *task)
{
    uint32_t number = SP_TG_NONE;

    pthread_mutex_lock(&tasks->mutex);
    if (tasks->is_on && !tasks->is_lost) {
        if (add_task(tasks, task))
            number = tasks->n_tasks - 1;
        else
            tasks->is_lost = true;
    }
    pthread_mutex_unlock(&tasks->mutex);
    return number;
}

void sp_tg_tasks_cancel(struct sp_tg_tasks *tasks, uint32_t number)
{
    pthread_mutex_lock(&tasks->mutex);
    if (tasks->is_on && number < tasks->n_tasks)
        tasks->tasks[number].is_cancelled = true;
    pthread_mutex_unlock(&tasks->mutex);
}

static void add_pair(struct sp_tg_tasks *tasks, struct sp_tg_pair pair)
{
    pthread_mutex_lock(&tasks->mutex);
    pair.n_tasks = tasks->n_tasks;
    if (tasks->is_on) {
        if (reserve((void **)&tasks->pairs, &tasks->pairs_room, (size_t)tasks->n_pairs + 1,
                    sizeof(*tasks->pairs)))
            tasks->pairs[tasks->n_pairs++] = pair;
        else
            tasks->is_lost = true;
    }
    pthread_mutex_unlock(&tasks->mutex);
}

void sp_tg_tasks_depend(struct sp_tg_tasks *tasks, const void *task, const void *before)
{
    add_pair(tasks, (struct sp_tg_pair){.after = (uintptr_t)task, .before = (uintptr_t)before});
}

void sp_tg_tasks_depend_tag(struct sp_tg_tasks *tasks, uint64_t tag, uint64_t before)
{
    add_pair(tasks, (struct sp_tg_pair){.after = tag, .before = before, .is_tag = true});
}

void sp_tg_tasks_forget(struct sp_tg_tasks *tasks, const void *data)
{
    pthread_mutex_lock(&tasks->mutex);
    if (tasks->is_on && sp_tg_map_get(&tasks->data, (uintptr_t)data) != SP_TG_NONE &&
        !sp_tg_map_set(&tasks->data, (uintptr_t)data, SP_TG_NONE))
        tasks->is_lost = true;
    pthread_mutex_unlock(&tasks->mutex);
}

/* ---- the order ------------------------------------------------------------------------ */

/* Tasks that access one data in a way that does not order them among each other, and those of
 * the group before, after which they come. Lists through `next`. */
struct group {
    enum sp_tg_mode mode;
    uint32_t first, first_before; /* uses, or SP_TG_NONE */
};

struct order {
    const struct sp_tg_tasks *tasks;
    bool (*visit)(void *arg, uint32_t from, uint32_t to);
    void *arg;
    struct group *groups; /* [n_data] */
    uint32_t *next;       /* [n_uses] */
};

static bool order_use(struct order *order, uint32_t index)
{
    const struct sp_tg_use *use = &order->tasks->uses[index];
    struct group *group = &order->groups[use->data];
    uint32_t i;

    SP_ASSERT(use->data < order->tasks->n_data);
    if (use->mode == SP_TG_UNORDERED)
        return true;
    if (group->mode != use->mode || use->mode == SP_TG_WRITE) {
        group->mode = use->mode;
        group->first_before = group->first;
        group->first = SP_TG_NONE;
    }
    order->next[index] = group->first;
    group->first = index;
    for (i = group->first_before; i != SP_TG_NONE; i = order->next[i]) {
        uint32_t from = order->tasks->uses[i].task;

        if (from != use->task && !order->visit(order->arg, from, use->task))
            return false;
    }
    return true;
}

static bool order_uses(struct order *order)
{
    const struct sp_tg_tasks *tasks = order->tasks;
    uint32_t i;

    for (i = 0; i < tasks->n_data; i++)
        order->groups[i] = (struct group){SP_TG_UNORDERED, SP_TG_NONE, SP_TG_NONE};
    for (i = 0; i < tasks->n_uses; i++) {
        if (!tasks->tasks[tasks->uses[i].task].is_cancelled && !order_use(order, i))
            return false;
    }
    return true;
}

/* Which tasks the two words of each pair meant, of those submitted before it was declared, or
 * after. */
struct sides {
    uint32_t *after;  /* [n_pairs] or SP_TG_NONE */
    uint32_t *before; /* [n_pairs] */
};

static bool note_task(struct sp_tg_map maps[2], const struct sp_tg_tasks *tasks,
                      uint32_t number)
{
    const struct sp_tg_task_entry *entry = &tasks->tasks[number];

    if (entry->is_cancelled)
        return true;
    return sp_tg_map_set(&maps[0], (uintptr_t)entry->task, number) &&
           (!entry->has_tag || sp_tg_map_set(&maps[1], entry->tag, number));
}

static void resolve_pair(const struct sp_tg_map maps[2], const struct sp_tg_tasks *tasks,
                         uint32_t i, struct sides *sides)
{
    const struct sp_tg_pair *pair = &tasks->pairs[i];

    sides->after[i] = sp_tg_map_get(&maps[pair->is_tag], pair->after);
    sides->before[i] = sp_tg_map_get(&maps[pair->is_tag], pair->before);
}

/* Pairs are in the order in which they were declared, so that both can be walked at once. */
static bool resolve_submitted(const struct sp_tg_tasks *tasks, struct sides *sides)
{
    struct sp_tg_map maps[2] = {{0}};
    bool is_done = true;
    uint32_t task = 0;
    uint32_t i;

    for (i = 0; i < tasks->n_pairs && is_done; i++) {
        while (task < tasks->pairs[i].n_tasks && is_done)
            is_done = note_task(maps, tasks, task++);
        resolve_pair(maps, tasks, i, sides);
    }
    sp_tg_map_fini(&maps[0]);
    sp_tg_map_fini(&maps[1]);
    return is_done;
}

static bool resolve_coming(const struct sp_tg_tasks *tasks, struct sides *sides)
{
    struct sp_tg_map maps[2] = {{0}};
    bool is_done = true;
    uint32_t task = tasks->n_tasks;
    uint32_t i;

    for (i = tasks->n_pairs; i > 0 && is_done; i--) {
        while (task > tasks->pairs[i - 1].n_tasks && is_done)
            is_done = note_task(maps, tasks, --task);
        resolve_pair(maps, tasks, i - 1, sides);
    }
    sp_tg_map_fini(&maps[0]);
    sp_tg_map_fini(&maps[1]);
    return is_done;
}

/* What comes after is usually yet to be submitted when that is declared, what comes before has
 * usually been. */
static bool visit_pairs(struct order *order, const struct sides *submitted,
                        const struct sides *coming)
{
    uint32_t i;

    for (i = 0; i < order->tasks->n_pairs; i++) {
        bool is_coming = coming->after[i] != SP_TG_NONE;
        bool was_submitted = submitted->before[i] != SP_TG_NONE;
        uint32_t to = is_coming ? coming->after[i] : submitted->after[i];
        uint32_t from = was_submitted ? submitted->before[i] : coming->before[i];

        if (from != SP_TG_NONE && to != SP_TG_NONE && from != to &&
            !order->visit(order->arg, from, to))
            return false;
    }
    return true;
}

static bool order_pairs(struct order *order)
{
    uint32_t n = order->tasks->n_pairs;
    uint32_t *sides = calloc(4 * sp_max(n, 1), sizeof(*sides));
    struct sides submitted = {sides, sides + n};
    struct sides coming = {sides + 2 * (size_t)n, sides + 3 * (size_t)n};
    bool is_done = sides != NULL && resolve_submitted(order->tasks, &submitted) &&
                   resolve_coming(order->tasks, &coming) &&
                   visit_pairs(order, &submitted, &coming);

    free(sides);
    return is_done;
}

bool sp_tg_tasks_edges(const struct sp_tg_tasks *tasks,
                       bool (*visit)(void *arg, uint32_t from, uint32_t to), void *arg)
{
    struct order order = {
        .tasks = tasks,
        .visit = visit,
        .arg = arg,
        .groups = malloc(sp_max(tasks->n_data, 1) * sizeof(*order.groups)),
        .next = malloc(sp_max(tasks->n_uses, 1) * sizeof(*order.next)),
    };
    bool is_done =
        order.groups != NULL && order.next != NULL && order_uses(&order) && order_pairs(&order);

    free(order.groups);
    free(order.next);
    return is_done;
}
