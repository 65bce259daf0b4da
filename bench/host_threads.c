/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bare pairs with a second thread: both at once, beside a loop that shares nothing and so shows
 * how free the two cores are; then blocks that one thread allocates and the other frees. */
#include "config.h"

#include "bench/host_cycle.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* What takes turns: the backends, and the loop that shares nothing. */
#define ROW_LOOP SP_N_BACKENDS
#define N_ROWS   (SP_N_BACKENDS + 1)

/* [bytes] One size is enough: a pair does not depend on it, as the table before shows. */
#define BLOCK_SIZE ((size_t)64 << 10)

/* Blocks on their way from one thread to the other: a power of two. */
#define RING 256

/* What the two threads share. The first measures; the second does as `task` says, and ends when
 * that is TASK_END. Written between two barriers only, but for the ring. */
struct team {
    enum { TASK_PAIRS, TASK_FREE, TASK_END } task;
    int row;
    unsigned n;       /* pairs */
    double second_ns; /* [ns] what the second thread took */
    pthread_barrier_t turn;

    void *blocks[RING];
    _Alignas(64) _Atomic unsigned n_sent;  /* by the first, which allocates */
    _Alignas(64) _Atomic unsigned n_freed; /* by the second; n_sent - n_freed <= RING */
};

/* What was measured, round by round. */
struct results {
    double scaling[N_ROWS]
                  [SP_PAIR_ROUNDS]; /* pairs a second of two threads over those of one */
    double single_ns[N_ROWS][SP_PAIR_ROUNDS];
    double both_ns[N_ROWS][SP_PAIR_ROUNDS];
    double remote_ns[N_ROWS][SP_PAIR_ROUNDS];
};

static __attribute__((noinline)) void loop(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i++)
        ;
}

static double time_pairs(int row, unsigned n)
{
    uint64_t begin = sp_bench_ticks();

    if (row == ROW_LOOP)
        loop(n);
    else
        sp_backend_pairs(sp_backends[row], BLOCK_SIZE, n);
    return sp_bench_ns(begin, sp_bench_ticks());
}

/* Wait a moment for the other thread; it may be the one that has no core. */
static void pause_a_moment(unsigned *n_waits)
{
    if (++*n_waits % 64 == 0)
        sched_yield();
}

static void receive_and_free(struct team *team)
{
    const struct sp_backend *backend = sp_backends[team->row];
    unsigned n_waits = 0;

    for (unsigned i = 0; i < team->n; i++) {
        void *block;

        while (atomic_load_explicit(&team->n_sent, memory_order_acquire) == i)
            pause_a_moment(&n_waits);
        block = team->blocks[i % RING];
        if (block != NULL)
            backend->free(block, BLOCK_SIZE);
        atomic_store_explicit(&team->n_freed, i + 1, memory_order_release);
    }
}

/* [ns] a pair, from the first allocation to the last free. */
static double allocate_and_send(struct team *team)
{
    const struct sp_backend *backend = sp_backends[team->row];
    uint64_t begin = sp_bench_ticks();
    unsigned n_waits = 0;

    for (unsigned i = 0; i < team->n; i++) {
        while (i - atomic_load_explicit(&team->n_freed, memory_order_acquire) >= RING)
            pause_a_moment(&n_waits);
        team->blocks[i % RING] = backend->alloc(BLOCK_SIZE);
        atomic_store_explicit(&team->n_sent, i + 1, memory_order_release);
    }
    while (atomic_load_explicit(&team->n_freed, memory_order_acquire) != team->n)
        pause_a_moment(&n_waits);
    return sp_bench_ns(begin, sp_bench_ticks()) / team->n;
}

static void *second_main(void *arg)
{
    struct team *team = arg;

    for (;;) {
        pthread_barrier_wait(&team->turn);
        if (team->task == TASK_END)
            return NULL;
        if (team->task == TASK_PAIRS)
            team->second_ns = time_pairs(team->row, team->n);
        else
            receive_and_free(team);
        pthread_barrier_wait(&team->turn);
    }
}

/* Both threads do n pairs. [ns] a pair of the slower one. */
static double run_both(struct team *team, int row, unsigned n)
{
    double first_ns;

    team->task = TASK_PAIRS;
    team->row = row;
    team->n = n;
    pthread_barrier_wait(&team->turn);
    first_ns = time_pairs(row, n);
    pthread_barrier_wait(&team->turn);
    return fmax(first_ns, team->second_ns) / n;
}

static double run_remote(struct team *team, int row, unsigned n)
{
    double pair_ns;

    team->task = TASK_FREE;
    team->row = row;
    team->n = n;
    atomic_store(&team->n_sent, 0);
    atomic_store(&team->n_freed, 0);
    pthread_barrier_wait(&team->turn);
    pair_ns = allocate_and_send(team);
    pthread_barrier_wait(&team->turn);
    return pair_ns;
}

static bool is_measured(int row, const bool *usable)
{
    return row == ROW_LOOP || usable[row];
}

/* How many pairs take about as long as a batch should; the better of two batches counts. */
static unsigned calibrate(int row, double want_ns)
{
    unsigned n = 4;

    while (n < 1u << 24 && fmin(time_pairs(row, n), time_pairs(row, n)) < want_ns)
        n *= 2;
    return n;
}

static void measure(struct team *team, const struct sp_pair_effort *effort, const bool *usable,
                    struct results *results_out)
{
    unsigned n[N_ROWS];

    for (int row = 0; row < N_ROWS; row++) {
        n[row] = is_measured(row, usable) ? calibrate(row, effort->batch_ns) : 0;
    }
    for (int round = 0; round < effort->n_rounds; round++) {
        for (int row = 0; row < N_ROWS; row++) {
            double single_ns, both_ns;

            if (!is_measured(row, usable))
                continue;
            single_ns = time_pairs(row, n[row]) / n[row];
            both_ns = run_both(team, row, n[row]);
            results_out->single_ns[row][round] = single_ns;
            results_out->both_ns[row][round] = both_ns;
            results_out->scaling[row][round] = 2 * single_ns / both_ns;
            if (row != ROW_LOOP && row != SP_BACKEND_RECYCLED)
                results_out->remote_ns[row][round] = run_remote(team, row, n[row] / 4 + 1);
        }
    }
}

static void print_scaling(struct results *results, const bool *usable, size_t n)
{
    struct sp_quartiles scaling = {0};
    double starpool = NAN;

    printf(
        "\nBare pair, two threads, 64 KiB: a pair's time with one thread and with two at once\n"
        "(the slower), pairs a second of two threads over those of one (median of rounds,\n"
        "quartiles). The loop shares nothing: it shows how free the two cores are.\n"
        "%-9s %10s %10s  %s\n",
        "backend", "one", "both", "scaling [q1 q3]");
    for (int row = 0; row < N_ROWS; row++) {
        char one[SP_BENCH_TEXT], both[SP_BENCH_TEXT];

        if (!is_measured(row, usable))
            continue;
        scaling = sp_bench_quartiles(results->scaling[row], n);
        printf("%-9s %10s %10s  %.2f [%.2f %.2f]\n",
               row == ROW_LOOP ? "(loop)" : sp_backends[row]->name,
               sp_bench_time_text(sp_bench_quartiles(results->single_ns[row], n).median, one),
               sp_bench_time_text(sp_bench_quartiles(results->both_ns[row], n).median, both),
               scaling.median, scaling.q1, scaling.q3);
        if (row == SP_BACKEND_STARPOOL)
            starpool = scaling.median;
    }
    sp_bench_goal("bare_pair_scaling_2t", starpool, SP_GOAL_AT_LEAST, 1.8);
    if (scaling.median < 1.8)
        printf("The cores were not free: the loop itself scaled only %.2f.\n", scaling.median);
}

static void print_remote(struct results *results, const bool *usable, size_t n)
{
    printf("\nFreed by another thread, 64 KiB: a pair's time (median of rounds, quartiles); no "
           "goal.\n"
           "%-9s %10s  %s\n",
           "backend", "a pair", "[q1 q3]");
    for (int row = 0; row < SP_N_BACKENDS; row++) {
        char q1[SP_BENCH_TEXT], median[SP_BENCH_TEXT], q3[SP_BENCH_TEXT];
        struct sp_quartiles time;

        if (!usable[row] || row == SP_BACKEND_RECYCLED)
            continue;
        time = sp_bench_quartiles(results->remote_ns[row], n);
        printf("%-9s %10s  [%s %s]\n", sp_backends[row]->name,
               sp_bench_time_text(time.median, median), sp_bench_time_text(time.q1, q1),
               sp_bench_time_text(time.q3, q3));
    }
}

void sp_pair_threads_run(const struct sp_pair_effort *effort, const bool usable[SP_N_BACKENDS])
{
    struct results *results = calloc(1, sizeof(*results));
    struct team team = {.task = TASK_END};
    pthread_t second;

    pthread_barrier_init(&team.turn, NULL, 2);
    if (results == NULL || pthread_create(&second, NULL, second_main, &team) != 0) {
        perror("bench/host_cycle");
        exit(1);
    }
    measure(&team, effort, usable, results);
    team.task = TASK_END;
    pthread_barrier_wait(&team.turn);
    pthread_join(second, NULL);
    pthread_barrier_destroy(&team.turn);

    print_scaling(results, usable, (size_t)effort->n_rounds);
    print_remote(results, usable, (size_t)effort->n_rounds);
    free(results);
}
