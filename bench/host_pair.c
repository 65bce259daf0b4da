/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bare pairs: an allocation and its free, nothing touched. The hand-written list is in every
 * round beside starpool, since this time is a matter of nanoseconds and machines differ. */
#include "config.h"

#include "bench/host_cycle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How much is measured; by enum sp_bench_effort. */
static const struct sp_pair_effort efforts[] = {
    [SP_BENCH_CHECK] = {.n_rounds = 3, .batch_ns = 2e5},
    [SP_BENCH_QUICK] = {.n_rounds = 15, .batch_ns = 5e5},
    [SP_BENCH_FULL] = {.n_rounds = SP_PAIR_ROUNDS, .batch_ns = 1e6},
};

static const size_t sizes[] = {4 << 10, 64 << 10, 100000, 1 << 20, 1153434, 16 << 20, 64 << 20};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

/* [ns] what a pair took, in each round. */
struct times {
    double pair_ns[N_SIZES][SP_N_BACKENDS][SP_PAIR_ROUNDS];
};

/* What the goals are about: medians of starpool, over all sizes. */
struct summary {
    double most_ns;
    double least_ns;
    double most_over_list;
};

static double time_batch(int backend, size_t size, unsigned n)
{
    uint64_t begin = sp_bench_ticks();

    sp_backend_pairs(sp_backends[backend], size, n);
    return sp_bench_ns(begin, sp_bench_ticks());
}

/* How many pairs take about as long as a batch should. The better of two batches counts: the
 * first pairs of a size may have to make room for it. */
static unsigned calibrate(int backend, size_t size, double want_ns)
{
    unsigned n = 4;

    while (n < 1u << 24 &&
           fmin(time_batch(backend, size, n), time_batch(backend, size, n)) < want_ns)
        n *= 2;
    return n;
}

/* Sizes and backends take turns within a round. */
static void measure(const struct sp_pair_effort *effort, const bool *usable,
                    struct times *times_out)
{
    unsigned n[N_SIZES][SP_N_BACKENDS];

    for (size_t s = 0; s < N_SIZES; s++) {
        for (int b = 0; b < SP_N_BACKENDS; b++)
            n[s][b] = usable[b] ? calibrate(b, sizes[s], effort->batch_ns) : 0;
    }
    for (int round = 0; round < effort->n_rounds; round++) {
        for (size_t s = 0; s < N_SIZES; s++) {
            for (int b = 0; b < SP_N_BACKENDS; b++) {
                if (usable[b])
                    times_out->pair_ns[s][b][round] =
                        time_batch(b, sizes[s], n[s][b]) / n[s][b];
            }
        }
    }
}

static void print_row(const struct times *times, size_t s, int backend, int n_rounds,
                      struct summary *summary)
{
    char size_text[SP_BENCH_TEXT], q1[SP_BENCH_TEXT], median[SP_BENCH_TEXT], q3[SP_BENCH_TEXT];
    double times_ns[SP_PAIR_ROUNDS], over_list[SP_PAIR_ROUNDS];
    struct sp_quartiles time, ratio;

    for (int i = 0; i < n_rounds; i++) {
        times_ns[i] = times->pair_ns[s][backend][i];
        over_list[i] = times_ns[i] / times->pair_ns[s][SP_BACKEND_LIST][i];
    }
    time = sp_bench_quartiles(times_ns, (size_t)n_rounds);
    ratio = sp_bench_quartiles(over_list, (size_t)n_rounds);
    printf("%-9s %-9s %10s  [%s %s]  %.2f [%.2f %.2f]\n",
           sp_bench_size_text(sizes[s], size_text), sp_backends[backend]->name,
           sp_bench_time_text(time.median, median), sp_bench_time_text(time.q1, q1),
           sp_bench_time_text(time.q3, q3), ratio.median, ratio.q1, ratio.q3);
    if (backend != SP_BACKEND_STARPOOL)
        return;
    summary->most_ns = fmax(summary->most_ns, time.median);
    summary->least_ns = fmin(summary->least_ns, time.median);
    summary->most_over_list = fmax(summary->most_over_list, ratio.median);
}

/* The pair has two bounds of which one is enough: in ns, or beside the list on this machine. */
static void print_goals(const struct summary *summary)
{
    const double quiet_ns = 8.0;

    if (summary->most_ns <= quiet_ns)
        sp_bench_goal("bare_pair_ns", summary->most_ns, SP_GOAL_AT_MOST, quiet_ns);
    else
        sp_bench_goal("bare_pair_over_list", summary->most_over_list, SP_GOAL_AT_MOST, 1.2);
    sp_bench_goal("bare_pair_most_over_least_size", summary->most_ns / summary->least_ns,
                  SP_GOAL_AT_MOST, 1.5);
}

void sp_pair_run(enum sp_bench_effort effort, const bool usable[SP_N_BACKENDS])
{
    struct summary summary = {.most_ns = NAN, .least_ns = NAN, .most_over_list = NAN};
    struct times *times = calloc(1, sizeof(*times));

    if (times == NULL) {
        perror("bench/host_cycle");
        exit(1);
    }
    measure(&efforts[effort], usable, times);
    printf("\nBare pair, one thread: alloc and free, nothing touched. Its time, and that over "
           "the\n"
           "hand-written list's (median of rounds, quartiles).\n"
           "%-9s %-9s %10s  %s  %s\n",
           "size", "backend", "a pair", "[q1 q3]", "x list [q1 q3]");
    for (size_t s = 0; s < N_SIZES; s++) {
        for (int b = 0; b < SP_N_BACKENDS; b++) {
            if (usable[b])
                print_row(times, s, b, efforts[effort].n_rounds, &summary);
        }
    }
    print_goals(&summary);
    free(times);
    sp_backends_trim(usable);
    sp_pair_threads_run(&efforts[effort], usable);
}
