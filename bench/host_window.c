/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cycle: allocate SP_WINDOW blocks and touch each, then touch the very same blocks again,
 * then free them. The second touching is the floor: what is left of the cycle when the blocks
 * are there already. Both sides are in each iteration, so that what disturbs one disturbs the
 * other, and on the same pages, so that their colours and sizes do not differ. With one live
 * block most allocators look alike; a window is what a task runtime has. */
#include "config.h"

#include "bench/host_cycle.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 2
#define MAX_SAMPLES 2048
#define SLOW_NS     2e8 /* [ns] an iteration that takes longer is seldom repeated */

/* How much is measured; by enum sp_bench_effort. */
static const struct effort {
    int n_slices;     /* times that the backends take turns */
    int n_iterations; /* most in a slice */
    double slice_ns;  /* most time in a slice, but for its last iteration */
    size_t max_size;  /* [bytes] larger blocks are left out */
} efforts[] = {
    [SP_BENCH_CHECK] = {.n_slices = 2, .n_iterations = 3, .slice_ns = 2e6, .max_size = 1 << 20},
    [SP_BENCH_QUICK] = {.n_slices = 5,
                        .n_iterations = 40,
                        .slice_ns = 2e7,
                        .max_size = 16 << 20},
    [SP_BENCH_FULL] = {.n_slices = 9,
                       .n_iterations = 111,
                       .slice_ns = 6e7,
                       .max_size = 64 << 20},
};

static const size_t sizes[] = {
    4 << 10, 64 << 10, 100000,   256 << 10, 1 << 20, 1153434, /* 1.1 MiB */
    3500000, 4 << 20,  16 << 20, 64 << 20,
};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

/* What one thread saw of one backend at one size. n <= MAX_SAMPLES. */
struct record {
    int n;
    long n_faults;
    bool is_refused;              /* an allocation failed: no use going on */
    bool is_slow;                 /* the last iteration took longer than SLOW_NS */
    double block_ns[MAX_SAMPLES]; /* [ns] alloc, touch and free, for one block */
    double ratio[MAX_SAMPLES];    /* the cycle over its floor */
};

/* One size with some threads: what they share. */
struct stage {
    const struct effort *effort;
    const bool *usable; /* [SP_N_BACKENDS] */
    size_t size;        /* [bytes] */
    unsigned n_threads;
    pthread_barrier_t turn;
};

struct thread {
    struct stage *stage;
    struct record *records; /* [SP_N_BACKENDS] */
};

/* The worst of the ratios that a goal is about, by number of threads less one. */
static struct {
    double from_256k[MAX_THREADS];
    double at_64k[MAX_THREADS];
    double faults[MAX_THREADS];
} worst;

/* One iteration; false if the backend refused. A time is kept if `record` is not NULL. */
static bool iterate(const struct sp_backend *backend, size_t size, struct record *record,
                    double *spent_out)
{
    void *blocks[SP_WINDOW];
    uint64_t begin, touched, again, end;
    double cycle_ns, floor_ns;
    int n = 0;

    begin = sp_bench_ticks();
    for (; n < SP_WINDOW; n++) {
        blocks[n] = backend->alloc(size);
        if (blocks[n] == NULL)
            break;
        sp_bench_touch(blocks[n], size);
    }
    touched = sp_bench_ticks();
    for (int i = 0; i < n; i++)
        sp_bench_touch(blocks[i], size);
    again = sp_bench_ticks();
    for (int i = 0; i < n; i++)
        backend->free(blocks[i], size);
    end = sp_bench_ticks();

    cycle_ns = sp_bench_ns(begin, touched) + sp_bench_ns(again, end);
    floor_ns = sp_bench_ns(touched, again);
    *spent_out = cycle_ns + floor_ns;
    if (n == SP_WINDOW && record != NULL && record->n < MAX_SAMPLES && floor_ns > 0) {
        record->block_ns[record->n] = cycle_ns / SP_WINDOW;
        record->ratio[record->n++] = cycle_ns / floor_ns;
    }
    return n == SP_WINDOW;
}

/* A backend's turn. The first iterations fill its caches and the processor's, and are not kept.
 */
static void run_slice(const struct stage *stage, const struct sp_backend *backend, int slice,
                      struct record *record)
{
    const struct effort *effort = stage->effort;
    int n_warm = slice == 0 ? 3 : 1;
    double spent_ns = 0.0;
    double last_ns = 0.0;
    long faults;

    if (record->is_refused || (record->is_slow && slice >= 3))
        return;
    for (int i = 0; i < n_warm && !record->is_slow; i++) {
        record->is_refused |= !iterate(backend, stage->size, NULL, &last_ns);
        record->is_slow = last_ns > SLOW_NS;
    }
    faults = sp_bench_thread_faults();
    for (int i = 0; i < effort->n_iterations && spent_ns <= effort->slice_ns; i++) {
        if (record->is_refused)
            break;
        record->is_refused = !iterate(backend, stage->size, record, &last_ns);
        spent_ns += last_ns;
    }
    record->n_faults += sp_bench_thread_faults() - faults;
}

static void *thread_main(void *arg)
{
    const struct thread *thread = arg;
    struct stage *stage = thread->stage;

    for (int slice = 0; slice < stage->effort->n_slices; slice++) {
        for (int i = 0; i < SP_N_BACKENDS; i++) {
            if (!stage->usable[i])
                continue;
            pthread_barrier_wait(&stage->turn);
            run_slice(stage, sp_backends[i], slice, &thread->records[i]);
        }
    }
    sp_backends_thread_end(stage->usable);
    return NULL;
}

/* The samples of all threads as one. */
static void merge(struct record *into, const struct record *from)
{
    int room = MAX_SAMPLES - into->n;
    int n = from->n < room ? from->n : room;

    if (n <= 0)
        return;
    memcpy(&into->block_ns[into->n], from->block_ns, (size_t)n * sizeof(from->block_ns[0]));
    memcpy(&into->ratio[into->n], from->ratio, (size_t)n * sizeof(from->ratio[0]));
    into->n += n;
    into->is_refused |= from->is_refused;
}

static void keep_worst(double *worst_so_far, double value)
{
    if (!(*worst_so_far >= value))
        *worst_so_far = value;
}

static void print_row(const struct stage *stage, int backend, struct thread *threads)
{
    struct record *record;
    long n_blocks = 0;
    long n_faults = 0;
    char size_text[SP_BENCH_TEXT], time_text[SP_BENCH_TEXT];
    struct sp_quartiles time, ratio;
    double faults;

    if (threads[0].records == NULL)
        return; /* never: so that the analyzer knows it */
    record = &threads[0].records[backend];
    for (unsigned i = 0; i < stage->n_threads; i++) {
        n_blocks += (long)threads[i].records[backend].n * SP_WINDOW;
        n_faults += threads[i].records[backend].n_faults;
        if (i > 0)
            merge(record, &threads[i].records[backend]);
    }
    time = sp_bench_quartiles(record->block_ns, (size_t)record->n);
    ratio = sp_bench_quartiles(record->ratio, (size_t)record->n);
    faults = n_blocks > 0 ? (double)n_faults / (double)n_blocks : NAN;
    printf("%-7u %-9s %-9s %5d %11s %9.2f [%.2f %.2f] %9.3f%s\n", stage->n_threads,
           sp_bench_size_text(stage->size, size_text), sp_backends[backend]->name, record->n,
           sp_bench_time_text(time.median, time_text), ratio.median, ratio.q1, ratio.q3, faults,
           record->is_refused ? " refused" : "");
    if (backend != SP_BACKEND_STARPOOL)
        return;
    keep_worst(&worst.faults[stage->n_threads - 1], faults);
    if (stage->size == 64 << 10)
        keep_worst(&worst.at_64k[stage->n_threads - 1], ratio.median);
    if (stage->size >= 256 << 10)
        keep_worst(&worst.from_256k[stage->n_threads - 1], ratio.median);
}

/* Room for the samples, touched, so that keeping one does not fault. */
static struct record *make_records(void)
{
    struct record *records = malloc(SP_N_BACKENDS * sizeof(*records));

    if (records == NULL) {
        perror("bench/host_cycle");
        exit(1);
    }
    memset(records, 1, SP_N_BACKENDS * sizeof(*records));
    for (int i = 0; i < SP_N_BACKENDS; i++)
        memset(&records[i], 0, offsetof(struct record, block_ns));
    return records;
}

static void run_size(struct stage *stage)
{
    struct thread threads[MAX_THREADS] = {0};
    pthread_t ids[MAX_THREADS];

    pthread_barrier_init(&stage->turn, NULL, stage->n_threads);
    for (unsigned i = 0; i < stage->n_threads; i++) {
        threads[i] = (struct thread){.stage = stage, .records = make_records()};
        if (pthread_create(&ids[i], NULL, thread_main, &threads[i]) != 0) {
            perror("bench/host_cycle");
            exit(1);
        }
    }
    for (unsigned i = 0; i < stage->n_threads; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < SP_N_BACKENDS; i++) {
        if (stage->usable[i])
            print_row(stage, i, threads);
    }
    for (unsigned i = 0; i < stage->n_threads; i++)
        free(threads[i].records);
    pthread_barrier_destroy(&stage->turn);
    sp_backends_trim(stage->usable);
}

static void print_goals(unsigned n_threads)
{
    char name[64];

    snprintf(name, sizeof(name), "cycle_faults_%ut", n_threads);
    sp_bench_goal(name, worst.faults[n_threads - 1], SP_GOAL_AT_MOST, 0.0);
    snprintf(name, sizeof(name), "cycle_from_256K_over_floor_%ut", n_threads);
    sp_bench_goal(name, worst.from_256k[n_threads - 1], SP_GOAL_AT_MOST, 1.05);
    snprintf(name, sizeof(name), "cycle_64K_over_floor_%ut", n_threads);
    sp_bench_goal(name, worst.at_64k[n_threads - 1], SP_GOAL_AT_MOST, 1.4);
}

static void print_heading(void)
{
    printf(
        "\nCycle: alloc and touch %d blocks, then free them; one byte a page. Beside it the\n"
        "floor: the same blocks touched once more. A block's time (median), the cycle over\n"
        "its floor (median of pairs, quartiles), minor faults a block. mimalloc is told to\n"
        "keep its memory.\n"
        "%-7s %-9s %-9s %5s %11s %9s %-11s %9s\n",
        SP_WINDOW, "threads", "size", "backend", "n", "a block", "x floor", "[q1 q3]",
        "faults");
}

void sp_window_run(enum sp_bench_effort effort, const bool usable[SP_N_BACKENDS])
{
    print_heading();
    for (unsigned n_threads = 1; n_threads <= MAX_THREADS; n_threads++) {
        worst.faults[n_threads - 1] = NAN;
        worst.from_256k[n_threads - 1] = NAN;
        worst.at_64k[n_threads - 1] = NAN;
        for (size_t i = 0; i < N_SIZES; i++) {
            struct stage stage = {
                .effort = &efforts[effort],
                .usable = usable,
                .size = sizes[i],
                .n_threads = n_threads,
            };

            if (stage.size <= stage.effort->max_size)
                run_size(&stage);
        }
    }
    for (unsigned n_threads = 1; n_threads <= MAX_THREADS; n_threads++)
        print_goals(n_threads);
}
