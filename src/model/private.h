/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the model's core shares among its own files. All of it is called with the model's lock,
 * unless it says otherwise. */
#ifndef SP_MODEL_PRIVATE_H
#define SP_MODEL_PRIVATE_H

#include "src/model/model.h"
#include "src/util/lock.h"

/* ---- model.c ------------------------------------------------------------------------- */

struct sp_lock *sp_model_lock(void);
const struct starpool_model_config *sp_model_config(void);
bool sp_model_is_inline(void);

/* Any thread, without the lock: true in a child that was forked from a process with the model.
 */
bool sp_model_is_forked(void);

/* Rises at every reset, so that what threads keep can be told to be stale. */
uint64_t sp_model_generation(void);

void sp_model_set_initialized(void);

/* Read the options, unless that has been done. */
void sp_model_make_ready(void);

/* ---- switches.c, faults.c ------------------------------------------------------------ */

/* Read the options; what does not parse is said and left out. */
void sp_model_switches_reset(void);
void sp_model_faults_reset(void);

/* The stream's operation with that number (from 1) shall not begin yet. */
bool sp_model_is_stalled(uint64_t stream_id, uint64_t number);

/* The asynchronous fault that is due at that operation, or success. */
sp_cu_result sp_model_fault_of(uint64_t stream_id, uint64_t number);

/* ---- device.c, context.c ------------------------------------------------------------- */

void sp_model_devices_reset(void);
size_t sp_model_device_total(int device);

/* Its memory is this large from now on. False if there is no such device. */
bool sp_model_device_resize(int device, uint64_t bytes);

struct sp_model_context *sp_model_contexts(void);

/* The limits and the cache configuration that a context begins with (context_query.c). */
void sp_model_context_settle(struct sp_model_context *context);

/* The handle's context, if it is alive; else NULL. */
struct sp_model_context *sp_model_context_find(sp_cu_context handle);

/* The current context: INVALID_CONTEXT or CONTEXT_IS_DESTROYED if there is none. */
sp_cu_result sp_model_context_get(struct sp_model_context **context_out);

/* The calling thread's own stream of a context, made if need be; NULL if there is no memory. */
struct sp_model_stream *sp_model_thread_stream(struct sp_model_context *context);

/* Contexts are forgotten; their streams and memory have gone. */
void sp_model_contexts_reset(void);

/* ---- stream.c ------------------------------------------------------------------------ */

/* A stream without a handle; NULL if there is no memory. */
struct sp_model_stream *sp_model_stream_open(struct sp_model_context *context, unsigned flags,
                                             bool is_legacy);

/* It gets no more operations and ends when it has executed those it has. */
void sp_model_stream_close(struct sp_model_stream *stream);

/* It has nothing left to execute, and goes. */
void sp_model_stream_ended(struct sp_model_stream *stream);

/* All streams of a context go; nothing of them is left to execute. */
void sp_model_streams_drop(struct sp_model_context *context);
void sp_model_streams_reset(void);

/* Wait for a mark, with the lock given meanwhile; the host has seen it then. Frees the mark. */
void sp_model_finish_mark(struct sp_mark *mark, uint64_t clock_ns);

/* ---- queue.c ------------------------------------------------------------------------- */

/* The legacy stream waits for it, and it for the legacy stream. */
bool sp_model_stream_is_blocking(const struct sp_model_stream *stream);

/* The last point that it was given. */
struct sp_point sp_model_stream_last(const struct sp_model_stream *stream);

size_t sp_model_count_streams(const struct sp_model_context *context);

/* An operation that also waits for points and, if `poll` is not NULL, until that is true of
 * `arg`. Otherwise as sp_model_submit(). */
struct sp_model_gate {
    const struct sp_point *points;
    size_t n_points;
    bool (*poll)(void *arg); /* with the lock */
};
sp_cu_result sp_model_submit_gated(struct sp_model_stream *stream, enum sp_model_op_kind kind,
                                   const struct sp_model_gate *gate, sp_model_run_fn run,
                                   void *arg, struct sp_point *at_out);

/* The virtual clock of what comes next in the stream is at least this. */
void sp_model_stream_not_before(struct sp_model_stream *stream, uint64_t ns);

/* The virtual clock of whatever is queued from now on is at least this. */
void sp_model_host_not_before(uint64_t ns);

/* The host spends so much time on the virtual clock. */
void sp_model_host_spend(uint64_t ns);
void sp_model_queue_reset(void);

/* ---- run.c --------------------------------------------------------------------------- */

/* One operation in its stream's queue. */
struct sp_model_op {
    struct sp_model_op *next;
    enum sp_model_op_kind kind;
    uint64_t seq;                    /* in the order */
    uint64_t number;                 /* in the stream, from 1 */
    uint64_t end_ns;                 /* virtual */
    uint64_t duration_ns, queued_ns; /* virtual; with delays, when it was queued, really */
    bool is_running;
    bool is_illegal; /* what it uses has gone */
    sp_model_run_fn run;
    bool (*poll)(void *arg);
    void *arg;
    struct sp_model_touches touches;
    size_t n_waits;
    struct sp_point waits[]; /* must have executed */
};

/* Make sure that the stream has what executes it. False if there is no memory. */
bool sp_model_run_start(struct sp_model_stream *stream);

/* Something was queued, or the stream was closed. */
void sp_model_run_notify(struct sp_model_stream *stream);

/* Execute all that can be executed now, if that is done inside calls. */
void sp_model_run_pump(void);

/* Look at everything that waits for something again. */
void sp_model_run_wake_all(void);

bool sp_model_has_executed(struct sp_point point);
void sp_model_run_wait(struct sp_point point);

/* An operation that touches memory is being carried out. */
bool sp_model_run_is_busy(void);

/* The memory is about to go. Operations that use it fail when they would begin; those that are
 * being carried out are waited for, with the lock given meanwhile. True if there was any, and
 * then the id of its stream. */
bool sp_model_run_forbid(uint64_t memory_id, uint64_t *stream_id_out);

/* Any thread, without the lock: the caller is a host function of a stream. */
bool sp_model_is_in_function(void);

/* Any thread, without the lock: the calling thread is one of the model's own. The one that made
 * it may be bound to one CPU, behind something that spins there. */
void sp_model_run_dress(const char *name);

/* End every thread; what has not begun is not executed any more. Gives the lock meanwhile. */
void sp_model_run_reset(void);

/* ---- event.c, memory.c, plain.c ------------------------------------------------------ */

void sp_model_events_drop(struct sp_model_context *context);
void sp_model_events_reset(void);

/* The context's memory goes. */
void sp_model_memory_drop(struct sp_model_context *context);
void sp_model_memory_reset(void);

/* The memory is not in the table any more, and is given back. An operation that still uses it
 * is a violation. May give the lock; nobody else finds the memory to close it meanwhile. */
void sp_model_plain_close(struct sp_model_memory *memory);

/* True if any of the range is memory that the model knows. */
bool sp_model_memory_overlaps(uintptr_t base, size_t size);

/* Advice about managed memory is forgotten (advice.c). */
void sp_model_advice_reset(void);

#endif /* SP_MODEL_PRIVATE_H */
