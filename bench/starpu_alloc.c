/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The allocation-heavy StarPU program, as its owner would write it: it knows nothing of
 * starpool. Each iteration makes a temporary vector that StarPU allocates, written by one task,
 * read by a second and given up at once, and a staging buffer that the main thread allocates,
 * fills and frees. Two floors do the same work without allocating: on handles that stay (what
 * is left when neither memory nor bookkeeping of temporaries costs anything), and on new
 * handles over memory that stays (what is left when only memory costs nothing).
 * bench/starpu_alloc.sh compares. */
#include "config.h"

#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/bench.h"

#define MIN_SIZE ((size_t)256 << 10)
#define MAX_SIZE ((size_t)4 << 20)

/* Submitted tasks: the main thread goes on at WINDOW_LOW when it has stopped at WINDOW_HIGH. An
 * iteration has two, so that fewer iterations are in flight than there are buffers. */
#define WINDOW_LOW  32
#define WINDOW_HIGH 64
#define N_BUFFERS   40

#define LINE 64 /* [bytes] of the processor's cache */

enum mode {
    MODE_ALLOC,   /* temporaries and staging buffers are allocated */
    MODE_HANDLES, /* new handles over memory that stays */
    MODE_FLOOR,   /* handles that stay */
};

struct options {
    enum mode mode;
    bool is_full_work; /* write every byte and read one a line, not one byte a page */
    bool is_pow2;      /* sizes are powers of two only */
    int n_warm;        /* iterations before the clock starts */
    int n;             /* iterations with the clock running */
    uint64_t seed;
};

/* One iteration. What StarPU allocated is live from the writing task to the later of the
 * reading task's end and the giving up of the handle: n_ends counts these two. */
struct item {
    size_t size; /* [bytes] */
    unsigned char tag;
    bool is_counted;
    atomic_int n_ends;
    atomic_bool *busy; /* NULL, or in the way of the next user of this buffer until the end */
};

/* Shared by the main thread and the workers. */
static struct {
    bool is_full_work;
    struct item *items; /* one an iteration: the first submitted may be the last to end */
    atomic_size_t live; /* [bytes] */
    atomic_size_t peak; /* [bytes] >= live */
    atomic_int n_wrong; /* bytes that are not what the task before wrote */
} shared;

/* What the floors work on. */
static struct {
    char *buffers[N_BUFFERS]; /* [MAX_SIZE] each */
    atomic_bool busy[N_BUFFERS];
    char *staging; /* [MAX_SIZE] */
    starpu_data_handle_t handles[N_BUFFERS];
} kept;

static void live_add(size_t size)
{
    size_t live = atomic_fetch_add(&shared.live, size) + size;
    size_t peak = atomic_load(&shared.peak);

    while (peak < live && !atomic_compare_exchange_weak(&shared.peak, &peak, live))
        ;
}

static void live_end(struct item *item)
{
    if (atomic_fetch_add(&item->n_ends, 1) == 0)
        return;
    if (item->is_counted)
        atomic_fetch_sub(&shared.live, item->size);
    if (item->busy != NULL)
        atomic_store(item->busy, false);
}

/* ---- the work ------------------------------------------------------------------------ */

static void fill(char *bytes, size_t size, unsigned char tag)
{
    volatile char *at = bytes;

    if (shared.is_full_work) {
        memset(bytes, tag, size);
        return;
    }
    for (size_t i = 0; i < size; i += SP_BENCH_PAGE)
        at[i] = (char)tag;
}

static int count_wrong(const char *bytes, size_t size, unsigned char tag)
{
    size_t step = shared.is_full_work ? LINE : SP_BENCH_PAGE;
    int n_wrong = 0;

    for (size_t i = 0; i < size; i += step)
        n_wrong += (unsigned char)bytes[i] != tag;
    return n_wrong;
}

static void write_cpu(void *buffers[], void *arg)
{
    struct item *item = arg;

    if (item->is_counted)
        live_add(item->size);
    fill((char *)STARPU_VECTOR_GET_PTR(buffers[0]), item->size, item->tag);
}

static void read_cpu(void *buffers[], void *arg)
{
    struct item *item = arg;
    const char *bytes = (const char *)STARPU_VECTOR_GET_PTR(buffers[0]);

    atomic_fetch_add(&shared.n_wrong, count_wrong(bytes, item->size, item->tag));
    live_end(item);
}

static struct starpu_codelet write_codelet = {
    .cpu_funcs = {write_cpu},
    .cpu_funcs_name = {"write_cpu"},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "write",
};

static struct starpu_codelet read_codelet = {
    .cpu_funcs = {read_cpu},
    .cpu_funcs_name = {"read_cpu"},
    .nbuffers = 1,
    .modes = {STARPU_R},
    .name = "read",
};

static void fail(const char *call)
{
    fprintf(stderr, "bench/starpu_alloc: %s failed\n", call);
    exit(1);
}

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle,
                   struct item *item)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->handles[0] = handle;
    task->cl_arg = item;
    task->cl_arg_size = sizeof(*item);
    if (starpu_task_submit(task) != 0)
        fail("starpu_task_submit()");
}

/* A buffer that the main thread needs for a moment only. */
static void stage(const struct options *options, const struct item *item)
{
    void *block = kept.staging;

    if (options->mode == MODE_ALLOC) {
        live_add(item->size);
        if (starpu_malloc(&block, item->size) != 0)
            fail("starpu_malloc()");
    }
    fill(block, item->size, item->tag);
    if (options->mode == MODE_ALLOC) {
        starpu_free_flags(block, item->size, STARPU_MALLOC_PINNED);
        atomic_fetch_sub(&shared.live, item->size);
    }
}

/* xorshift64: the same sizes in every mode and under every allocator. */
static size_t next_size(const struct options *options, uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    if (options->is_pow2)
        return MIN_SIZE << *state % 5;
    return MIN_SIZE + *state % (MAX_SIZE - MIN_SIZE + 1);
}

/* The next buffer that no iteration in flight uses. */
static int take_buffer(int i)
{
    for (;; i++) {
        if (!atomic_exchange(&kept.busy[i % N_BUFFERS], true))
            return i % N_BUFFERS;
    }
}

static starpu_data_handle_t begin_handle(const struct options *options, int i,
                                         struct item *item)
{
    starpu_data_handle_t handle = kept.handles[i % N_BUFFERS];
    int buffer;

    switch (options->mode) {
    case MODE_ALLOC:
        starpu_vector_data_register(&handle, -1, 0, (uint32_t)item->size, 1);
        break;
    case MODE_HANDLES:
        buffer = take_buffer(i);
        item->busy = &kept.busy[buffer];
        starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)kept.buffers[buffer],
                                    (uint32_t)item->size, 1);
        break;
    case MODE_FLOOR:
        break;
    }
    return handle;
}

static void iterate(const struct options *options, int i, uint64_t *state)
{
    struct item *item = &shared.items[i];
    starpu_data_handle_t handle;

    item->size = next_size(options, state);
    item->tag = (unsigned char)(i % 251 + 1);
    item->is_counted = options->mode == MODE_ALLOC;
    item->busy = NULL;
    atomic_store(&item->n_ends, 0);
    handle = begin_handle(options, i, item);
    submit(&write_codelet, handle, item);
    submit(&read_codelet, handle, item);
    if (options->mode != MODE_FLOOR)
        starpu_data_unregister_submit(handle);
    live_end(item);
    stage(options, item);
    if (starpu_task_nsubmitted() > WINDOW_HIGH)
        starpu_task_wait_for_n_submitted(WINDOW_LOW);
}

/* ---- the floors' memory -------------------------------------------------------------- */

/* Touched, and on huge pages where the system has them: no floor should be slower than need be.
 */
static char *make_buffer(void)
{
    const size_t huge = (size_t)2 << 20;
    char *buffer = aligned_alloc(huge, MAX_SIZE);

    if (buffer == NULL)
        fail("aligned_alloc()");
    madvise(buffer, MAX_SIZE, MADV_HUGEPAGE);
    memset(buffer, 1, MAX_SIZE);
    return buffer;
}

static void kept_init(const struct options *options)
{
    size_t n_items = (size_t)options->n_warm + (size_t)options->n;

    shared.items = malloc(n_items * sizeof(*shared.items));
    if (shared.items == NULL)
        fail("malloc()");
    memset(shared.items, 1, n_items * sizeof(*shared.items)); /* no fault later */
    if (options->mode == MODE_ALLOC)
        return;
    kept.staging = make_buffer();
    for (int i = 0; i < N_BUFFERS; i++) {
        kept.buffers[i] = make_buffer();
        if (options->mode == MODE_FLOOR)
            starpu_vector_data_register(&kept.handles[i], STARPU_MAIN_RAM,
                                        (uintptr_t)kept.buffers[i], MAX_SIZE, 1);
    }
}

static void kept_fini(const struct options *options)
{
    for (int i = 0; i < N_BUFFERS; i++) {
        if (options->mode == MODE_FLOOR)
            starpu_data_unregister(kept.handles[i]);
        free(kept.buffers[i]);
    }
    free(kept.staging);
    free(shared.items);
}

/* ---- the program --------------------------------------------------------------------- */

/* [ns] What the first touch of an ordinary page costs on this machine. */
static double fault_ns(void)
{
    const size_t n_pages = 4096;
    const size_t size = n_pages * SP_BENCH_PAGE;
    char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t begin;
    double ns;

    if (block == MAP_FAILED)
        fail("mmap()");
    madvise(block, size, MADV_NOHUGEPAGE);
    begin = sp_bench_ticks();
    sp_bench_touch(block, size);
    ns = sp_bench_ns(begin, sp_bench_ticks());
    munmap(block, size);
    return ns / (double)n_pages;
}

static void run(const struct options *options)
{
    uint64_t state = options->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    uint64_t begin = 0;
    long faults = 0;
    double ns;

    for (int i = 0; i < options->n_warm + options->n; i++) {
        if (i == options->n_warm) {
            starpu_task_wait_for_all();
            faults = sp_bench_process_faults();
            begin = sp_bench_ticks();
        }
        iterate(options, i, &state);
    }
    starpu_task_wait_for_all();
    ns = sp_bench_ns(begin, sp_bench_ticks());
    faults = sp_bench_process_faults() - faults;
    printf("result us_per_iteration=%.3f faults_per_iteration=%.4f peak_live_bytes=%zu "
           "wrong_bytes=%d\n",
           ns / 1e3 / options->n, (double)faults / options->n, atomic_load(&shared.peak),
           atomic_load(&shared.n_wrong));
}

static bool parse(int argc, char **argv, struct options *options_out)
{
    static const char *const modes[] = {"alloc", "handles", "floor"};
    struct options options = {.n_warm = 200, .n = 500, .seed = 1};
    int mode = 0;

    if (argc < 4 || argc > 7)
        return false;
    while (mode < 3 && strcmp(argv[1], modes[mode]) != 0)
        mode++;
    options.mode = (enum mode)mode;
    options.is_full_work = strcmp(argv[2], "1") == 0;
    options.is_pow2 = strcmp(argv[3], "pow2") == 0;
    if (argc > 4)
        options.n_warm = (int)strtol(argv[4], NULL, 10);
    if (argc > 5)
        options.n = (int)strtol(argv[5], NULL, 10);
    if (argc > 6)
        options.seed = strtoull(argv[6], NULL, 10);
    *options_out = options;
    return mode < 3 && (options.is_full_work || strcmp(argv[2], "0") == 0) &&
           (options.is_pow2 || strcmp(argv[3], "any") == 0) && options.n_warm > 0 &&
           options.n > 0;
}

int main(int argc, char **argv)
{
    struct options options;

    sp_bench_init();
    if (argc == 2 && strcmp(argv[1], "fault-cost") == 0) {
        printf("result fault_ns=%.0f\n", fault_ns());
        return 0;
    }
    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: %s alloc|handles|floor WORK pow2|any [WARM [N [SEED]]]\n"
                "       %s fault-cost\n"
                "WORK 0 writes a byte a page, 1 every byte.\n",
                argv[0], argv[0]);
        return 2;
    }
    shared.is_full_work = options.is_full_work;
    if (starpu_init(NULL) != 0)
        fail("starpu_init()");
    kept_init(&options);
    run(&options);
    kept_fini(&options);
    starpu_shutdown();
    return atomic_load(&shared.n_wrong) == 0 ? 0 : 1;
}
