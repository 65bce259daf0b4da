/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What recording an event costs the thread that causes it, beside a plain store of the same
 * bytes and a reading of the clock; and what a call costs while nothing is recorded. Linked
 * with the library's objects, whose symbols the library itself hides. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <starpool/trace.h>

#include "bench/bench.h"
#include "src/trace/clock.h"
#include "src/trace/record.h"
#include "src/trace/ring.h"

#define N_ROUNDS 101

/* Fewer than a ring holds, so that none is lost. */
#define N_EVENTS 16384

static const char what[] = "Times the recording of an event.";

static struct sp_trace_entry plain[SP_TRACE_RING_SIZE];

static double time_events(void)
{
    uint64_t begin = sp_bench_ticks();

    for (uintptr_t i = 0; i < N_EVENTS; i++)
        sp_trace_alloc(1, (const void *)(i << 12), 4096, STARPOOL_TRACE_HOST, STARPOOL_OK);
    return sp_bench_ns(begin, sp_bench_ticks()) / N_EVENTS;
}

/* The reference: the same bytes into an array of the ring's size, without time, check or order.
 */
static __attribute__((noinline)) void store(size_t i)
{
    plain[i % SP_TRACE_RING_SIZE] = (struct sp_trace_entry){
        .who = i, .address = i << 12, .size = 4096, .stream = STARPOOL_TRACE_HOST};
    __asm__ volatile("" ::: "memory");
}

static double time_stores(void)
{
    static size_t next;
    uint64_t begin = sp_bench_ticks();

    for (size_t i = 0; i < N_EVENTS; i++)
        store(next++);
    return sp_bench_ns(begin, sp_bench_ticks()) / N_EVENTS;
}

static double time_clock(void)
{
    uint64_t begin = sp_bench_ticks();
    uint64_t sum = 0;

    for (size_t i = 0; i < N_EVENTS; i++)
        sum += sp_trace_ticks(sp_trace_is_counter());
    __asm__ volatile("" ::"r"(sum));
    return sp_bench_ns(begin, sp_bench_ticks()) / N_EVENTS;
}

/* The writer catches up, so that the next round finds room. */
static void wait_for_writer(void)
{
    struct sp_trace_ring *ring = sp_trace_rings();
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 200000};

    while (ring != NULL && atomic_load(&ring->tail) != atomic_load(&ring->head))
        nanosleep(&pause, NULL);
}

static double print_row(const char *name, double *ns, size_t n)
{
    struct sp_quartiles quartiles = sp_bench_quartiles(ns, n);

    printf("%-28s %8.1f [%.1f %.1f]\n", name, quartiles.median, quartiles.q1, quartiles.q3);
    return quartiles.median;
}

static double run(size_t n_rounds, const char *path)
{
    static double on[N_ROUNDS], off[N_ROUNDS], stores[N_ROUNDS], clocks[N_ROUNDS];
    uint64_t lost = sp_trace_n_lost();
    double event_ns;

    for (size_t round = 0; round < n_rounds; round++)
        off[round] = time_events();
    if (starpool_trace_begin(path) != STARPOOL_OK)
        exit(1);
    time_events(); /* The ring's first pages. */
    for (size_t round = 0; round < n_rounds; round++) {
        wait_for_writer();
        on[round] = time_events();
        stores[round] = time_stores();
        clocks[round] = time_clock();
    }
    if (starpool_trace_end() != STARPOOL_OK)
        exit(1);
    printf("\nAn event of a trace, one thread: ns (median of rounds, quartiles); clock: %s.\n",
           sp_trace_is_counter() ? "the processor's counter" : "the system's");
    event_ns = print_row("an event, recorded", on, n_rounds);
    print_row("nothing is recorded", off, n_rounds);
    print_row("the same bytes, stored", stores, n_rounds);
    print_row("a reading of the clock", clocks, n_rounds);
    printf("lost events: %llu\n", (unsigned long long)(sp_trace_n_lost() - lost));
    return event_ns;
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    char path[] = "/tmp/starpool-trace-XXXXXX";
    int fd;
    double event_ns;

    sp_bench_init();
    fd = mkstemp(path);
    if (fd < 0) {
        perror("bench/trace: /tmp");
        return 1;
    }
    close(fd);
    event_ns = run(effort == SP_BENCH_CHECK ? 3 : N_ROUNDS, path);
    unlink(path);
    sp_bench_goal("trace_event_ns", event_ns, SP_GOAL_AT_MOST, 20.0);
    return 0;
}
