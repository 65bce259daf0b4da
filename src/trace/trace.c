/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a trace is recorded: from begin to end, to the end of the process, or to a fork. */
#include "config.h"

#include <pthread.h>

#include <starpool/trace.h>

#include "src/trace/record.h"
#include "src/trace/ring.h"
#include "src/trace/writer.h"
#include "src/util/options.h"

static struct {
    pthread_mutex_t mutex; /* one begin or end at a time; no lock of a pool is taken inside */
    pthread_once_t once;
    bool is_beginning, is_ending; /* the watch is at it: no other trace begins */
    void (*_Atomic watch)(enum sp_trace_moment moment);
} trace = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* ---- fork ------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&trace.mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&trace.mutex);
}

static void after_fork_in_child(void)
{
    atomic_store_explicit(&sp_trace_is_on, false, memory_order_relaxed);
    trace.is_beginning = false;
    trace.is_ending = false;
    sp_trace_writer_forget();
    sp_trace_rings_forget();
    pthread_mutex_unlock(&trace.mutex);
}

static void setup(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- begin and end ---------------------------------------------------------------------- */

static void call_watch(enum sp_trace_moment moment)
{
    void (*watch)(enum sp_trace_moment) = atomic_load(&trace.watch);

    if (watch != NULL)
        watch(moment);
}

/* Events are recorded only when none can pass by any more: of a block whose allocation is in
 * the trace the free is, too. */
static void turn_on(void)
{
    call_watch(SP_TRACE_BEGINS);
    pthread_mutex_lock(&trace.mutex);
    atomic_store(&sp_trace_is_on, true);
    trace.is_beginning = false;
    pthread_mutex_unlock(&trace.mutex);
    call_watch(SP_TRACE_HAS_BEGUN);
}

enum starpool_status starpool_trace_begin(const char *path)
{
    enum starpool_status status = STARPOOL_EBUSY;

    if (path == NULL || *path == '\0')
        return STARPOOL_EINVAL;
    pthread_once(&trace.once, setup);
    if (!sp_trace_rings_setup())
        return STARPOOL_ENOMEM;
    pthread_mutex_lock(&trace.mutex);
    if (!atomic_load(&sp_trace_is_on) && !trace.is_beginning && !trace.is_ending)
        status = sp_trace_writer_begin(path);
    trace.is_beginning |= status == STARPOOL_OK;
    pthread_mutex_unlock(&trace.mutex);
    if (status == STARPOOL_OK)
        turn_on();
    return status;
}

/* ENOTINIT: no trace is on; else the watch is to be told. */
static enum starpool_status turn_off(void)
{
    enum starpool_status status = STARPOOL_ENOTINIT;

    pthread_mutex_lock(&trace.mutex);
    if (atomic_exchange(&sp_trace_is_on, false)) {
        status = sp_trace_writer_end();
        trace.is_ending = true;
    }
    pthread_mutex_unlock(&trace.mutex);
    return status;
}

enum starpool_status starpool_trace_end(void)
{
    enum starpool_status status = turn_off();

    if (status == STARPOOL_ENOTINIT)
        return status;
    call_watch(SP_TRACE_HAS_ENDED);
    pthread_mutex_lock(&trace.mutex);
    trace.is_ending = false;
    pthread_mutex_unlock(&trace.mutex);
    return status;
}

/* A destructor runs after whatever the program does at its exit. Pools need not be told, and a
 * thread that has one locked may never go on. */
static __attribute__((destructor)) void end_at_exit(void)
{
    (void)!turn_off();
}

void sp_trace_set_watch(void (*watch)(enum sp_trace_moment moment))
{
    bool is_late;

    pthread_mutex_lock(&trace.mutex);
    atomic_store(&trace.watch, watch);
    is_late = trace.is_beginning;
    pthread_mutex_unlock(&trace.mutex);
    if (is_late)
        watch(SP_TRACE_BEGINS);
}

void sp_trace_setup(void)
{
    const char *path = sp_option(SP_OPTION_TRACE)->value;
    enum starpool_status status;

    pthread_once(&trace.once, setup);
    if (*path == '\0')
        return;
    status = starpool_trace_begin(path);
    if (status != STARPOOL_OK && status != STARPOOL_EIO) /* Which has said so itself. */
        sp_log(SP_LOG_ERROR, "no trace: STARPOOL_TRACE=%s: %s", path,
               starpool_status_text(status));
}
