/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executing what stream.c has queued: in a thread of each stream's own, which sleeps while
 * there is nothing to do, or inside the calls of the program. When an operation may begin is
 * decided here; what it waits for was decided when it was queued. */
#include "config.h"

#include "src/model/private.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/model/cost.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* [ns] How often something is looked at that nobody announces: a value in memory, another
 * process, a stall. */
#define POLL_NS 50000

/* A stream's thread. It frees itself unless somebody joins it. */
struct sp_model_runner {
    pthread_t thread;
    pthread_cond_t wake;
    struct sp_model_stream *stream;
};

/* Behind the model's lock, except the mask, which is set before any thread is. */
static struct {
    pthread_cond_t progress; /* something has executed */
    unsigned n_waiters;      /* for progress */
    unsigned n_touching;     /* copies and the like that are being carried out */
    bool is_quitting;
    bool has_mask;
    cpu_set_t mask; /* where the process could run when it started */
} runs = {.progress = PTHREAD_COND_INITIALIZER};

static __thread bool is_in_function;

__attribute__((constructor)) static void note_mask(void)
{
    runs.has_mask = sched_getaffinity(0, sizeof(runs.mask), &runs.mask) == 0;
}

bool sp_model_is_in_function(void)
{
    return is_in_function;
}

static void wait_for(pthread_cond_t *cond, uint64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ns / 1000000000U);
    until.tv_nsec += (long)(ns % 1000000000U);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_clockwait(cond, &sp_model_lock()->mutex, CLOCK_MONOTONIC, &until);
}

/* ---- may it begin? ------------------------------------------------------------------- */

enum readiness { READY, WAITS_FOR_STREAM, WAITS_UNANNOUNCED };

bool sp_model_has_executed(struct sp_point point)
{
    return point.slot == SP_SLOT_HOST ||
           sp_model_order()->streams[point.slot].done_seq >= point.seq;
}

static enum readiness readiness_of(const struct sp_model_stream *stream,
                                   const struct sp_model_op *op)
{
    if (runs.is_quitting)
        return READY;
    for (size_t i = 0; i < op->n_waits; i++) {
        if (!sp_model_has_executed(op->waits[i]))
            return WAITS_FOR_STREAM;
    }
    if (sp_model_is_stalled(stream->id, op->number))
        return WAITS_UNANNOUNCED;
    if (op->poll != NULL && !op->is_illegal && stream->context->fault == SP_CU_SUCCESS &&
        !op->poll(op->arg))
        return WAITS_UNANNOUNCED;
    return READY;
}

/* ---- executing ----------------------------------------------------------------------- */

void sp_model_run_wake_all(void)
{
    for (struct sp_model_context *context = sp_model_contexts(); context != NULL;
         context = context->next) {
        for (struct sp_model_stream *stream = context->streams; stream != NULL;
             stream = stream->next) {
            if (stream->runner != NULL && stream->first != NULL && !stream->first->is_running)
                pthread_cond_signal(&stream->runner->wake);
        }
    }
    if (runs.n_waiters > 0)
        pthread_cond_broadcast(&runs.progress);
}

/* After a fault nothing of the context does anything any more, but memory and events are still
 * accounted for. */
static bool is_skipped_after_fault(enum sp_model_op_kind kind)
{
    return kind == SP_OP_COPY || kind == SP_OP_SET || kind == SP_OP_HOST_FUNCTION ||
           kind == SP_OP_KERNEL || kind == SP_OP_VALUE || kind == SP_OP_WAIT;
}

/* Host functions must not call the driver, and what stands in for a kernel is like one. */
static sp_cu_result call(struct sp_model_op *op)
{
    bool is_kernel = op->kind == SP_OP_KERNEL;
    sp_cu_result result;

    is_in_function = op->kind == SP_OP_HOST_FUNCTION || op->kind == SP_OP_CALLBACK || is_kernel;
    if (is_kernel)
        sp_model_fault_in_kernel(true);
    result = op->run(op->arg);
    if (is_kernel)
        sp_model_fault_in_kernel(false);
    is_in_function = false;
    return result;
}

/* The lock is given meanwhile. */
static sp_cu_result carry_out(const struct sp_model_context *context, struct sp_model_op *op)
{
    bool is_function = op->kind == SP_OP_HOST_FUNCTION || op->kind == SP_OP_CALLBACK;
    sp_cu_result result;

    if (runs.is_quitting ||
        (context->fault != SP_CU_SUCCESS && is_skipped_after_fault(op->kind)))
        return SP_CU_SUCCESS;
    if (op->is_illegal)
        return SP_CU_ILLEGAL_ADDRESS;
    if (op->run == NULL)
        return SP_CU_SUCCESS;
    if (op->kind == SP_OP_CALLBACK)
        *(sp_cu_result *)op->arg = context->fault;
    if (!is_function)
        runs.n_touching++;
    sp_lock_give(sp_model_lock());
    result = call(op);
    sp_lock_take(sp_model_lock());
    if (!is_function)
        runs.n_touching--;
    return result;
}

bool sp_model_run_is_busy(void)
{
    return runs.n_touching > 0;
}

static void execute(struct sp_model_stream *stream, struct sp_model_op *op)
{
    struct sp_model_context *context = stream->context;
    sp_cu_result result = sp_model_fault_of(stream->id, op->number);

    op->is_running = true;
    if (result != SP_CU_SUCCESS && context->fault == SP_CU_SUCCESS)
        context->fault = result;
    sp_model_delay_begin(stream, op);
    result = carry_out(context, op);
    if (!runs.is_quitting)
        sp_model_delay_end(stream, op);
    if (result != SP_CU_SUCCESS && context->fault == SP_CU_SUCCESS)
        context->fault = result;
    stream->first = op->next;
    if (stream->first == NULL)
        stream->last = NULL;
    sp_order_executed(sp_model_order(), stream->slot, op->seq);
    free(op->touches.ids);
    free(op->arg);
    free(op);
    sp_model_run_wake_all();
}

/* ---- threads ------------------------------------------------------------------------- */

void sp_model_run_dress(const char *name)
{
    if (runs.has_mask)
        (void)sched_setaffinity(0, sizeof(runs.mask), &runs.mask);
    (void)pthread_setname_np(pthread_self(), name);
}

static void dress_stream(const struct sp_model_stream *stream)
{
    char name[16];

    snprintf(name, sizeof(name), "sp-stream-%u", (unsigned)(stream->id % 100000));
    sp_model_run_dress(name);
}

static void *runner_main(void *arg)
{
    struct sp_model_runner *runner = arg;
    struct sp_model_stream *stream = runner->stream;
    enum readiness readiness;

    sp_lock_take(sp_model_lock());
    dress_stream(stream);
    while (stream->first != NULL || !(stream->is_destroyed || runs.is_quitting)) {
        if (stream->first == NULL) {
            pthread_cond_wait(&runner->wake, &sp_model_lock()->mutex);
            continue;
        }
        readiness = readiness_of(stream, stream->first);
        if (readiness == READY)
            execute(stream, stream->first);
        else if (readiness == WAITS_FOR_STREAM)
            pthread_cond_wait(&runner->wake, &sp_model_lock()->mutex);
        else
            wait_for(&runner->wake, POLL_NS);
    }
    if (!runs.is_quitting) {
        pthread_detach(runner->thread);
        pthread_cond_destroy(&runner->wake);
        free(runner);
        sp_model_stream_ended(stream);
    }
    sp_lock_give(sp_model_lock());
    return NULL;
}

bool sp_model_run_start(struct sp_model_stream *stream)
{
    struct sp_model_runner *runner;
    sigset_t all, before;
    int error;

    if (stream->runner != NULL || sp_model_is_inline())
        return true;
    runner = calloc(1, sizeof(*runner));
    if (runner == NULL)
        return false;
    runner->stream = stream;
    pthread_cond_init(&runner->wake, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&runner->thread, NULL, runner_main, runner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        pthread_cond_destroy(&runner->wake);
        free(runner);
        return false;
    }
    stream->runner = runner;
    return true;
}

void sp_model_run_notify(struct sp_model_stream *stream)
{
    if (stream->runner != NULL)
        pthread_cond_signal(&stream->runner->wake);
    else if (stream->first == NULL && stream->is_destroyed)
        sp_model_stream_ended(stream);
}

/* ---- inside calls -------------------------------------------------------------------- */

/* A stream whose first operation may begin; NULL if there is none. */
static struct sp_model_stream *find_ready(void)
{
    for (struct sp_model_context *context = sp_model_contexts(); context != NULL;
         context = context->next) {
        for (struct sp_model_stream *stream = context->streams; stream != NULL;
             stream = stream->next) {
            if (stream->first != NULL && !stream->first->is_running &&
                readiness_of(stream, stream->first) == READY)
                return stream;
        }
    }
    return NULL;
}

void sp_model_run_pump(void)
{
    struct sp_model_stream *stream;

    if (!sp_model_is_inline())
        return;
    while ((stream = find_ready()) != NULL) {
        execute(stream, stream->first);
        if (stream->first == NULL && stream->is_destroyed)
            sp_model_stream_ended(stream);
    }
}

/* ---- waiting ------------------------------------------------------------------------- */

void sp_model_wait_progress(uint64_t ns)
{
    if (sp_model_is_inline()) {
        if (find_ready() != NULL) {
            sp_model_run_pump();
            return;
        }
        ns = ns < POLL_NS ? ns : POLL_NS;
    }
    runs.n_waiters++;
    wait_for(&runs.progress, ns);
    runs.n_waiters--;
}

void sp_model_run_wait(struct sp_point point)
{
    while (!sp_model_has_executed(point))
        sp_model_wait_progress(1000000000U);
}

/* ---- memory that goes ---------------------------------------------------------------- */

static bool touches(const struct sp_model_op *op, uint64_t memory_id)
{
    for (size_t i = 0; i < op->touches.n; i++) {
        if (op->touches.ids[i] == memory_id)
            return true;
    }
    return false;
}

/* What the memory's end does to a stream: bits. */
enum {
    IS_USER = 1, /* it has an operation that uses the memory */
    IS_BUSY = 2, /* with that it is now */
};

static unsigned forbid_in(const struct sp_model_stream *stream, uint64_t memory_id)
{
    unsigned found = 0;

    for (struct sp_model_op *op = stream->first; op != NULL; op = op->next) {
        if (!touches(op, memory_id))
            continue;
        op->is_illegal = true;
        found |= op->is_running ? IS_USER | IS_BUSY : IS_USER;
    }
    return found;
}

static unsigned forbid(uint64_t memory_id, uint64_t *stream_id_out)
{
    unsigned found = 0;

    for (struct sp_model_context *context = sp_model_contexts(); context != NULL;
         context = context->next) {
        for (struct sp_model_stream *stream = context->streams; stream != NULL;
             stream = stream->next) {
            unsigned bits = forbid_in(stream, memory_id);

            if (bits != 0)
                *stream_id_out = stream->id;
            found |= bits;
        }
    }
    return found;
}

/* Nothing is executed here while waiting: an operation may be what gives the memory back. */
bool sp_model_run_forbid(uint64_t memory_id, uint64_t *stream_id_out)
{
    unsigned found = forbid(memory_id, stream_id_out), now = found;

    while ((now & IS_BUSY) != 0) {
        runs.n_waiters++;
        wait_for(&runs.progress, 1000000000U);
        runs.n_waiters--;
        now = forbid(memory_id, stream_id_out);
        found |= now;
    }
    return found != 0;
}

/* ---- the end ------------------------------------------------------------------------- */

/* A stream that still has a thread, which is taken out of it. */
static struct sp_model_runner *take_runner(void)
{
    for (struct sp_model_context *context = sp_model_contexts(); context != NULL;
         context = context->next) {
        for (struct sp_model_stream *stream = context->streams; stream != NULL;
             stream = stream->next) {
            struct sp_model_runner *runner = stream->runner;

            if (runner != NULL) {
                stream->runner = NULL;
                return runner;
            }
        }
    }
    return NULL;
}

void sp_model_run_reset(void)
{
    struct sp_model_runner *runner;

    runs.is_quitting = true;
    sp_model_run_pump();
    while ((runner = take_runner()) != NULL) {
        pthread_cond_signal(&runner->wake);
        sp_lock_give(sp_model_lock());
        pthread_join(runner->thread, NULL);
        sp_lock_take(sp_model_lock());
        pthread_cond_destroy(&runner->wake);
        free(runner);
    }
    runs.is_quitting = false;
}
