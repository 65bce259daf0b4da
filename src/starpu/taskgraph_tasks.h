/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks of an iteration, what they access, and in which order StarPU must run them. Tasks
 * and data are words here, so that scripts can be recorded, too. */
#ifndef SP_TASKGRAPH_TASKS_H
#define SP_TASKGRAPH_TASKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/starpu/taskgraph_log.h"
#include "src/starpu/taskgraph_map.h"

/* How a task accesses data. Two accesses of one data that come one after the other are
 * unordered if both read, both commute or both reduce. */
enum sp_tg_mode {
    SP_TG_READ,
    SP_TG_WRITE,
    SP_TG_COMMUTE,
    SP_TG_REDUCE,
    SP_TG_UNORDERED, /* no dependency: scratch data, or no sequential consistency */
};

struct sp_tg_access {
    const void *data;
    uint64_t size; /* [bytes] what a copy of it takes */
    enum sp_tg_mode mode;
};

struct sp_tg_task {
    const void *task;
    const char *name; /* NULL: none; copied */
    bool has_tag;
    uint64_t tag;
    const struct sp_tg_access *accesses; /* [n_accesses] */
    uint32_t n_accesses;
};

/* One zeroed but for its mutex records nothing; the mutex guards the rest. */
struct sp_tg_tasks {
    pthread_mutex_t mutex;
    bool is_on;
    bool is_lost;                   /* there was no memory: what is recorded is not whole */
    _Atomic uint32_t epoch;         /* of the recording; read without the mutex, too */
    struct sp_tg_task_entry *tasks; /* [n_tasks] in the order of submission */
    struct sp_tg_use *uses;         /* [n_uses] by task */
    struct sp_tg_pair *pairs;       /* [n_pairs] explicit dependencies */
    struct sp_tg_map data;          /* address -> number */
    uint32_t n_tasks, n_uses, n_pairs, n_data;
    uint32_t tasks_room, uses_room, pairs_room;
};

void sp_tg_tasks_begin(struct sp_tg_tasks *tasks);
void sp_tg_tasks_end(struct sp_tg_tasks *tasks);
void sp_tg_tasks_fini(struct sp_tg_tasks *tasks);

/* A task is about to be submitted: its number, or SP_TG_NONE if nothing is recorded. For this
 * and the next ones: threads: any, at once. */
uint32_t sp_tg_tasks_submit(struct sp_tg_tasks *tasks, const struct sp_tg_task *task);

/* It was refused. Nothing if the recording has ended. */
void sp_tg_tasks_cancel(struct sp_tg_tasks *tasks, uint32_t number);

/* `task` comes after `before`; or the task with tag `tag` after that with `before`. */
void sp_tg_tasks_depend(struct sp_tg_tasks *tasks, const void *task, const void *before);
void sp_tg_tasks_depend_tag(struct sp_tg_tasks *tasks, uint64_t tag, uint64_t before);

/* Data ends: what next has this address is another. */
void sp_tg_tasks_forget(struct sp_tg_tasks *tasks, const void *data);

struct sp_tg_task_entry {
    const void *task;
    char *name;
    uint64_t tag;
    bool has_tag;
    bool is_cancelled;
    uint32_t first_use, n_uses;
};

struct sp_tg_use {
    uint32_t data;
    uint32_t task;
    uint64_t size;
    enum sp_tg_mode mode;
};

struct sp_tg_pair {
    uint64_t after, before; /* tasks' addresses, or tags */
    bool is_tag;
    uint32_t n_tasks; /* submitted when it was declared */
};

/* For each dependency, once or more: calls `visit`. False without memory. */
bool sp_tg_tasks_edges(const struct sp_tg_tasks *tasks,
                       bool (*visit)(void *arg, uint32_t from, uint32_t to), void *arg);

#endif /* SP_TASKGRAPH_TASKS_H */
