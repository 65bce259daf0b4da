/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Empties the rings into the file, in a thread of its own that nobody waits for. It looks at
 * the rings at intervals, so that recording an event never wakes anybody. */
#include "config.h"

#include "src/trace/writer.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <starpool/trace.h>

#include "src/trace/clock.h"
#include "src/trace/ring.h"
#include "src/util/outfile.h"
#include "src/util/util.h"

/* [ns] Between two looks: at full speed a thread fills a ring in no less. */
#define INTERVAL_NS 1000000

/* [ns] The span between the first two readings of the clocks: enough for three digits. */
#define FIRST_SPAN_NS 200000

/* The thread that writes reads and writes everything but what says so; others do before it
 * starts and after it has ended. */
static struct {
    pthread_mutex_t mutex; /* guards `is_ending` */
    pthread_cond_t wake;
    bool is_ending;
    pthread_t thread;
    int fd;
    uint64_t offset;      /* [bytes] where the next entry goes */
    uint64_t n_lost_base; /* lost before this trace */
    uint64_t n_unwritten; /* entries that the file did not take */
    int error;            /* an errno: the file takes no more; 0 */
    struct sp_trace_header header;
} writer = {.fd = -1};

/* ---- the file --------------------------------------------------------------------------- */

/* After an error nothing is written any more, so that the file has no holes. */
static void write_at(const void *data, size_t size, uint64_t offset)
{
    const char *bytes = data;

    while (size > 0 && writer.error == 0) {
        ssize_t n = pwrite(writer.fd, bytes, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            writer.error = n < 0 ? errno : EIO;
            sp_log(SP_LOG_ERROR, "the trace stops here: %s", strerror(writer.error));
            return;
        }
        bytes += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
}

static void write_entries(const struct sp_trace_entry *entries, size_t n)
{
    write_at(entries, n * sizeof(*entries), writer.offset);
    if (writer.error == 0)
        writer.offset += n * sizeof(*entries);
    else
        writer.n_unwritten += n;
}

static void read_clocks(uint64_t *ticks_out, uint64_t *ns_out)
{
    *ticks_out = sp_trace_ticks(sp_trace_is_counter());
    *ns_out = sp_trace_system_ns();
}

static uint64_t n_lost(void)
{
    return sp_trace_n_lost() - writer.n_lost_base + writer.n_unwritten;
}

static void write_header(void)
{
    read_clocks(&writer.header.latest_ticks, &writer.header.latest_ns);
    writer.header.n_lost = n_lost();
    write_at(&writer.header, sizeof(writer.header), 0);
}

static void fill_header(void)
{
    struct timespec wall;

    clock_gettime(CLOCK_REALTIME, &wall);
    writer.header = (struct sp_trace_header){
        .byte_order = SP_TRACE_BYTE_ORDER,
        .version = SP_TRACE_VERSION,
        .header_size = sizeof(struct sp_trace_header),
        .entry_size = sizeof(struct sp_trace_entry),
        .clock = sp_trace_is_counter() ? SP_TRACE_CLOCK_COUNTER : SP_TRACE_CLOCK_SYSTEM,
        .process = (uint32_t)getpid(),
        .wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec,
    };
    memcpy(writer.header.magic, SP_TRACE_MAGIC, sizeof(writer.header.magic));
    read_clocks(&writer.header.begin_ticks, &writer.header.begin_ns);
    while (sp_trace_system_ns() - writer.header.begin_ns < FIRST_SPAN_NS)
        continue;
}

/* ---- the thread ------------------------------------------------------------------------- */

static bool empty_ring(struct sp_trace_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

    if (tail == head)
        return false;
    while (tail != head) {
        size_t at = tail % SP_TRACE_RING_SIZE;
        size_t n = sp_min(head - tail, SP_TRACE_RING_SIZE - at);

        write_entries(&ring->entries[at], n);
        tail += n;
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    return true;
}

static void look(void)
{
    bool has_written = false;

    for (struct sp_trace_ring *ring = sp_trace_rings(); ring != NULL; ring = ring->next)
        has_written |= empty_ring(ring);
    if (has_written)
        write_header();
}

static void write_end(void)
{
    struct sp_trace_entry end = {
        .ticks = sp_trace_ticks(sp_trace_is_counter()),
        .who = sp_trace_who(STARPOOL_TRACE_END, 0, 0, 0),
        .point = n_lost(),
    };

    write_header();
    write_entries(&end, 1);
}

/* False if the trace ends. */
static bool sleep_a_while(void)
{
    uint64_t until = sp_trace_system_ns() + INTERVAL_NS;
    struct timespec time = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    bool is_ending;

    pthread_mutex_lock(&writer.mutex);
    if (!writer.is_ending)
        pthread_cond_timedwait(&writer.wake, &writer.mutex, &time);
    is_ending = writer.is_ending;
    pthread_mutex_unlock(&writer.mutex);
    return !is_ending;
}

/* Whoever began the trace may be bound to a processor that has other things to do. */
static void leave_processor(void)
{
    cpu_set_t processors;

    if (sched_getaffinity(getpid(), sizeof(processors), &processors) == 0)
        (void)sched_setaffinity(0, sizeof(processors), &processors);
}

static void *run(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "starpool-trace");
    leave_processor();
    while (sleep_a_while())
        look();
    look();
    write_end();
    return NULL;
}

static void init_wake(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&writer.wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&writer.mutex, NULL);
}

static bool start(void)
{
    sigset_t all, before;
    int error;

    init_wake();
    writer.is_ending = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&writer.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

/* ---- begin and end ---------------------------------------------------------------------- */

/* What came after the end of a trace before this. */
static void skip_old(void)
{
    for (struct sp_trace_ring *ring = sp_trace_rings(); ring != NULL; ring = ring->next) {
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

        atomic_store_explicit(&ring->tail, head, memory_order_release);
    }
}

enum starpool_status sp_trace_writer_begin(const char *pattern)
{
    if (*pattern == '\0' || strlen(pattern) >= PATH_MAX)
        return STARPOOL_EINVAL;
    writer.fd = sp_outfile_open(pattern, "", "trace");
    if (writer.fd < 0)
        return STARPOOL_EIO;
    writer.error = 0;
    writer.n_unwritten = 0;
    writer.n_lost_base = sp_trace_n_lost();
    writer.offset = sizeof(writer.header);
    skip_old();
    fill_header();
    write_header();
    if (writer.error == 0 && start())
        return STARPOOL_OK;
    close(writer.fd);
    writer.fd = -1;
    return writer.error != 0 ? STARPOOL_EIO : STARPOOL_ENOMEM;
}

enum starpool_status sp_trace_writer_end(void)
{
    uint64_t lost;

    /* The thread writes the rest: a limit of the file's size sends it a signal that it blocks.
     */
    pthread_mutex_lock(&writer.mutex);
    writer.is_ending = true;
    pthread_cond_signal(&writer.wake);
    pthread_mutex_unlock(&writer.mutex);
    pthread_join(writer.thread, NULL);
    pthread_cond_destroy(&writer.wake);
    pthread_mutex_destroy(&writer.mutex);
    lost = n_lost();
    if (close(writer.fd) != 0 && writer.error == 0)
        writer.error = errno;
    writer.fd = -1;
    if (lost > 0)
        sp_log(SP_LOG_WARN,
               "the trace lacks %llu events, which came faster than they could "
               "be written",
               (unsigned long long)lost);
    return writer.error == 0 ? STARPOOL_OK : STARPOOL_EIO;
}

void sp_trace_writer_forget(void)
{
    if (writer.fd >= 0)
        close(writer.fd);
    writer.fd = -1;
}
