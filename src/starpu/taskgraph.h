/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capture and replay of iterations, as StarPU's doors see them. */
#ifndef SP_TASKGRAPH_H
#define SP_TASKGRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/pool/private.h"
#include "src/starpu/node.h"
#include "src/starpu/taskgraph_log.h"
#include "src/starpu/taskgraph_table.h"
#include "src/starpu/taskgraph_tasks.h"

/* Plans that a process makes; each keeps some memory for good. */
#define SP_TG_MAX_TABLES 16

enum sp_tg_phase {
    SP_TG_OFF,
    SP_TG_CAPTURE, /* requests are recorded */
    SP_TG_REPLAY,  /* and served from a table before the pools are asked */
};

/* What every thread looks at. Tables are only added, and stay; phase and table change between
 * iterations. */
struct sp_taskgraph {
    _Atomic int phase;                 /* an enum sp_tg_phase */
    struct sp_tg_table *_Atomic table; /* that is replayed; NULL: none */
    struct sp_tg_table *_Atomic tables[SP_TG_MAX_TABLES];
    _Atomic unsigned n_tables;
    _Atomic uint64_t n_pool_requests; /* that reached the pools during replays */
    _Atomic uint64_t n_wrong_frees;   /* in an arena, where no live block begins */
    struct sp_tg_log log;
    struct sp_tg_tasks tasks;
};

extern struct sp_taskgraph sp_taskgraph;

static inline bool sp_taskgraph_is_on(void)
{
    return atomic_load_explicit(&sp_taskgraph.phase, memory_order_relaxed) != SP_TG_OFF;
}

/* Serve a request from the plan; false: the pools must. No lock, no system call.
 * Threads: any, at once. */
bool sp_taskgraph_take(unsigned node, size_t size, enum sp_door door, size_t align,
                       void **ptr_out);

/* The pools are asked, in a replay. */
void sp_taskgraph_note_pool_request(void);

/* A pool has refused: it gets the planned ranges back in which no block lives, and the others
 * when their last block goes, so that a replay never leaves less room than none. True if it has
 * got something. Threads: any, at once. */
bool sp_taskgraph_give_up(void);

/* Put what an iteration holds, once: the same, at its end. */
bool sp_taskgraph_put_arenas(struct sp_tg_table *table);

/* A request of this size has been served, by whomever. */
void sp_taskgraph_note_alloc(unsigned node, size_t size, enum sp_door door, const void *ptr);

/* sp_free_if_ours(), for planned blocks, too, for which no lock is taken but to give back the
 * range of an iteration that has ended with its last block. Threads: any, at once. */
enum sp_free_result sp_taskgraph_free(void *ptr);

/* The task whose data the calling thread is fetching, from sp_tg_tasks_submit(). */
void sp_taskgraph_set_preparing(uint32_t epoch, uint32_t task);

#endif /* SP_TASKGRAPH_H */
