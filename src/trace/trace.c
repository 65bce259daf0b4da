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
    void (*_Atomic watch)(bool is_on);
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
    sp_trace_writer_forget();
    sp_trace_rings_forget();
    pthread_mutex_unlock(&trace.mutex);
}

static void setup(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- begin and end ---------------------------------------------------------------------- */

static void call_watch(bool is_on)
{
    void (*watch)(bool) = atomic_load(&trace.watch);

    if (watch != NULL)
        watch(is_on);
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
    if (!atomic_load(&sp_trace_is_on))
        status = sp_trace_writer_begin(path);
    if (status == STARPOOL_OK)
        atomic_store(&sp_trace_is_on, true);
    pthread_mutex_unlock(&trace.mutex);
    if (status == STARPOOL_OK)
        call_watch(true);
    return status;
}

enum starpool_status starpool_trace_end(void)
{
    enum starpool_status status = STARPOOL_ENOTINIT;
    bool was_on;

    pthread_mutex_lock(&trace.mutex);
    was_on = atomic_exchange(&sp_trace_is_on, false);
    if (was_on)
        status = sp_trace_writer_end();
    pthread_mutex_unlock(&trace.mutex);
    if (was_on)
        call_watch(false);
    return status;
}

/* A destructor runs after whatever the program does at its exit. */
static __attribute__((destructor)) void end_at_exit(void)
{
    (void)starpool_trace_end();
}

void sp_trace_set_watch(void (*watch)(bool is_on))
{
    atomic_store(&trace.watch, watch);
}

void sp_trace_setup(void)
{
    const char *path = sp_option(SP_OPTION_TRACE)->value;
    enum starpool_status status;

    if (*path == '\0')
        return;
    status = starpool_trace_begin(path);
    if (status != STARPOOL_OK && status != STARPOOL_EIO) /* Which has said so itself. */
        sp_log(SP_LOG_ERROR, "no trace: STARPOOL_TRACE=%s: %s", path,
               starpool_status_text(status));
}
