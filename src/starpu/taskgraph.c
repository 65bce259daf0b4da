/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a request and a free meet when an iteration is captured or replayed, or has been. It
 * runs inside StarPU's doors: any thread, perhaps under StarPU's spinlocks. When iterations
 * begin and end is taskgraph_iteration.c's affair. */
#include "config.h"

#include "src/starpu/taskgraph.h"

#include "src/util/util.h"

struct sp_taskgraph sp_taskgraph = {.tasks.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The recording and the task: a number of an older recording says nothing. initial-exec: the
 * general model may call malloc at a thread's first access. */
static __thread struct {
    uint32_t epoch;
    uint32_t task;
} preparing __attribute__((tls_model("initial-exec"))) = {.task = SP_TG_NONE};

void sp_taskgraph_set_preparing(uint32_t epoch, uint32_t task)
{
    preparing.epoch = epoch;
    preparing.task = task;
}

static struct sp_tg_request make_request(unsigned node, size_t size, enum sp_door door)
{
    return (struct sp_tg_request){
        .size = sp_max(size, 1),
        .node = (uint16_t)sp_min(node, UINT16_MAX),
        .door = (uint16_t)door,
    };
}

bool sp_taskgraph_take(unsigned node, size_t size, enum sp_door door, size_t align,
                       void **ptr_out)
{
    struct sp_tg_table *table = atomic_load_explicit(&sp_taskgraph.table, memory_order_acquire);
    struct sp_tg_request request = make_request(node, size, door);

    return table != NULL && sp_tg_table_take(table, &request, align, ptr_out);
}

bool sp_taskgraph_put_arenas(struct sp_tg_table *table)
{
    bool has_put = false;
    uint32_t i;

    if (!sp_tg_table_let_go(table))
        return false;
    for (i = 0; i < table->n_arenas; i++) {
        void *base = sp_tg_arena_put(&table->arenas[i]);

        if (base != NULL && sp_free_if_ours(base) == SP_FREED)
            has_put = true;
    }
    return has_put;
}

bool sp_taskgraph_give_up(void)
{
    struct sp_tg_table *table = atomic_load_explicit(&sp_taskgraph.table, memory_order_acquire);

    return table != NULL && sp_taskgraph_put_arenas(table);
}

void sp_taskgraph_note_pool_request(void)
{
    if (atomic_load_explicit(&sp_taskgraph.phase, memory_order_relaxed) == SP_TG_REPLAY)
        atomic_fetch_add_explicit(&sp_taskgraph.n_pool_requests, 1, memory_order_relaxed);
}

void sp_taskgraph_note_alloc(unsigned node, size_t size, enum sp_door door, const void *ptr)
{
    struct sp_tg_request request = make_request(node, size, door);
    uint32_t task = SP_TG_NONE;

    if (door == SP_DOOR_INTERPOSER &&
        preparing.epoch ==
            atomic_load_explicit(&sp_taskgraph.tasks.epoch, memory_order_relaxed))
        task = preparing.task;
    sp_tg_log_alloc(&sp_taskgraph.log, &request, ptr, task);
}

enum sp_free_result sp_taskgraph_free(void *ptr)
{
    unsigned n = atomic_load_explicit(&sp_taskgraph.n_tables, memory_order_acquire);
    enum sp_tg_given given = SP_TG_ELSEWHERE;
    void *arena = NULL;
    unsigned i;

    if (sp_taskgraph_is_on())
        sp_tg_log_free(&sp_taskgraph.log, ptr);
    for (i = 0; i < n && given == SP_TG_ELSEWHERE; i++)
        given = sp_tg_table_give(
            atomic_load_explicit(&sp_taskgraph.tables[i], memory_order_acquire), ptr, &arena);
    if (given == SP_TG_ELSEWHERE)
        return sp_free_if_ours(ptr);
    if (given == SP_TG_WRONG) {
        atomic_fetch_add_explicit(&sp_taskgraph.n_wrong_frees, 1, memory_order_relaxed);
        return SP_FREE_WRONG;
    }
    if (arena != NULL)
        sp_free_if_ours(arena);
    return SP_FREED;
}
