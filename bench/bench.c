/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the benchmarks share. A time is never below the clock's resolution and a goal's line
 * always has the same form, so that a script can read it. */
#include "config.h"

#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Set by sp_bench_init(), read by all afterwards. */
static struct {
    double ns_per_tick;
    uint64_t cost; /* [ticks] of one reading */
} clock_facts = {.ns_per_tick = 1.0};

static uint64_t system_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
uint64_t sp_bench_ticks(void)
{
    /* Stores that wait in the processor's buffer belong to the time before the reading. */
    _mm_mfence();
    _mm_lfence();
    return __rdtsc();
}
#else
uint64_t sp_bench_ticks(void)
{
    return system_ns();
}
#endif

/* The cheapest of many pairs of readings: anything above it is disturbance. */
static uint64_t reading_cost(void)
{
    uint64_t cost = UINT64_MAX;

    for (int i = 0; i < 1000; i++) {
        uint64_t begin = sp_bench_ticks();
        uint64_t end = sp_bench_ticks();

        if (end - begin < cost)
            cost = end - begin;
    }
    return cost;
}

void sp_bench_init(void)
{
    const uint64_t span_ns = 20000000; /* long enough for four digits */
    uint64_t begin_ns = system_ns();
    uint64_t begin = sp_bench_ticks();
    uint64_t now_ns;

    do
        now_ns = system_ns();
    while (now_ns - begin_ns < span_ns);
    clock_facts.ns_per_tick = (double)(now_ns - begin_ns) / (double)(sp_bench_ticks() - begin);
    clock_facts.cost = reading_cost();
}

double sp_bench_ns(uint64_t begin, uint64_t end)
{
    uint64_t ticks = end - begin;

    if (ticks <= clock_facts.cost)
        return 0.0;
    return (double)(ticks - clock_facts.cost) * clock_facts.ns_per_tick;
}

enum sp_bench_effort sp_bench_effort_of(int argc, char **argv, const char *what)
{
    if (argc == 1)
        return SP_BENCH_FULL;
    if (argc == 2 && strcmp(argv[1], "--check") == 0)
        return SP_BENCH_CHECK;
    if (argc == 2 && strcmp(argv[1], "--quick") == 0)
        return SP_BENCH_QUICK;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        printf("usage: %s [--check | --quick]\n%s\n", argv[0], what);
        exit(0);
    }
    fprintf(stderr, "%s: unknown argument; try --help\n", argv[0]);
    exit(2);
}

static long faults_of(int who)
{
    struct rusage usage;

    return getrusage(who, &usage) == 0 ? usage.ru_minflt : -1;
}

long sp_bench_thread_faults(void)
{
    return faults_of(RUSAGE_THREAD);
}

long sp_bench_process_faults(void)
{
    return faults_of(RUSAGE_SELF);
}

void sp_bench_touch(void *block, size_t size)
{
    volatile char *bytes = block;

    for (size_t at = 0; at < size; at += SP_BENCH_PAGE)
        bytes[at] = 1;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value at a fraction of the way through sorted values, between neighbours if need be. */
static double quantile(const double *sorted, size_t n, double fraction)
{
    double place = fraction * (double)(n - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < n ? below + 1 : below;

    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

struct sp_quartiles sp_bench_quartiles(double *values, size_t n)
{
    if (n == 0)
        return (struct sp_quartiles){.q1 = NAN, .median = NAN, .q3 = NAN};
    qsort(values, n, sizeof(*values), compare_doubles);
    return (struct sp_quartiles){
        .q1 = quantile(values, n, 0.25),
        .median = quantile(values, n, 0.5),
        .q3 = quantile(values, n, 0.75),
    };
}

const char *sp_bench_time_text(double ns, char text[SP_BENCH_TEXT])
{
    if (!(ns >= 1e4))
        snprintf(text, SP_BENCH_TEXT, "%.*f ns", ns < 100 ? 1 : 0, ns);
    else if (ns < 1e6)
        snprintf(text, SP_BENCH_TEXT, "%.1f us", ns / 1e3);
    else
        snprintf(text, SP_BENCH_TEXT, "%.2f ms", ns / 1e6);
    return text;
}

const char *sp_bench_size_text(size_t size, char text[SP_BENCH_TEXT])
{
    if (size < 1024 * 1024)
        snprintf(text, SP_BENCH_TEXT, "%.4g KiB", (double)size / 1024);
    else
        snprintf(text, SP_BENCH_TEXT, "%.3g MiB", (double)size / (1024 * 1024));
    return text;
}

/* The bound that the environment wants for a goal, or else the goal's own. */
static double bound_of(const char *name, double bound)
{
    const char *word = getenv("BENCH_BOUNDS");
    size_t length = strlen(name);

    while (word != NULL && *word != '\0') {
        word += strspn(word, " ");
        if (strncmp(word, name, length) == 0 && word[length] == '=')
            return strtod(word + length + 1, NULL);
        word += strcspn(word, " ");
    }
    return bound;
}

static const char *op_text(enum sp_goal_op op)
{
    return op == SP_GOAL_AT_MOST ? "<=" : ">=";
}

void sp_bench_goal(const char *name, double value, enum sp_goal_op op, double bound)
{
    bool is_reached;

    bound = bound_of(name, bound);
    is_reached = op == SP_GOAL_AT_MOST ? value <= bound : value >= bound;
    printf("goal %s %.4g %s %.4g %s\n", name, value, op_text(op), bound,
           is_reached ? "ok" : "short");
}

void sp_bench_goal_missing(const char *name, enum sp_goal_op op, double bound,
                           const char *reason)
{
    printf("goal %s - %s %.4g short (%s)\n", name, op_text(op), bound_of(name, bound), reason);
}
