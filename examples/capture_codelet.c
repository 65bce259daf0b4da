/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A codelet that captures a CUDA graph with temporaries. Each task of the ASYNC codelet begins
 * a capture on its worker's stream, allocates and frees a temporary in it, instantiates the
 * graph and launches it ten times, while other threads allocate from the same nodes. A thousand
 * launches in mode THREAD_LOCAL, then a thousand in RELAXED, then it says how many captures
 * were lost (0), whether the results are right, and how much memory was in use at the beginning
 * and at the end.
 *
 * To be compiled against the headers of the StarPU that it runs on, since builds with and
 * without CUDA differ in struct starpu_codelet. Needs no headers of CUDA: what it calls of
 * CUDA's run-time library and of starpool is looked up when it runs. Start it by `starpool run
 * ./capture_codelet`, without a GPU by `starpool simulate --devices 2 ./capture_codelet`; it
 * exits with 77 where StarPU has no CUDA worker.
 */
#define STARPU_DONT_INCLUDE_CUDA_HEADERS
#include <starpu.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_TASKS    100 /* a mode */
#define N_LAUNCHES 10  /* a task */
#define N_THREADS  2
#define N_DATA     4
#define DATA_SIZE  ((size_t)1 << 20)
#define MARK_SIZE  ((size_t)4096)

/* ---- functions of libraries that are there when the program runs ---------------------------
 */

typedef struct CUstream_st *cuda_stream;
typedef struct CUgraph_st *cuda_graph;
typedef struct CUgraphExec_st *cuda_exec;

enum { MODE_THREAD_LOCAL = 1, MODE_RELAXED = 2, DEVICE_TO_DEVICE = 3 };

#define FUNCTION_MAP(X)                                                                  \
    X(cudaStreamBeginCapture, int, (cuda_stream, int))                                   \
    X(cudaStreamEndCapture, int, (cuda_stream, cuda_graph *))                            \
    X(cudaGraphInstantiateWithFlags, int, (cuda_exec *, cuda_graph, unsigned long long)) \
    X(cudaGraphLaunch, int, (cuda_exec, cuda_stream))                                    \
    X(cudaGraphExecDestroy, int, (cuda_exec))                                            \
    X(cudaGraphDestroy, int, (cuda_graph))                                               \
    X(cudaMemcpyAsync, int, (void *, const void *, size_t, int, cuda_stream))            \
    X(cudaMemsetAsync, int, (void *, int, size_t, cuda_stream))                          \
    X(cudaLaunchHostFunc, int, (cuda_stream, void (*)(void *), void *))                  \
    X(cudaMemGetInfo, int, (size_t *, size_t *))                                         \
    X(starpu_cuda_get_local_stream, cuda_stream, (void))                                 \
    X(starpool_starpu_alloc, int, (size_t, void **))                                     \
    X(starpool_starpu_free, int, (void *))

static struct {
#define MEMBER(name, result, parameters) result(*name) parameters;
    FUNCTION_MAP(MEMBER)
#undef MEMBER
} call;

/* The name of a function that is not there, or NULL. */
static const char *find_functions(void)
{
    const char *missing = NULL;

#define FIND(name, result, parameters)                            \
    call.name = (result(*) parameters)dlsym(RTLD_DEFAULT, #name); \
    if (call.name == NULL)                                        \
        missing = #name;
    FUNCTION_MAP(FIND)
#undef FIND
    return missing;
}

/* ---- the codelet ---------------------------------------------------------------------------
 */

static struct {
    int mode;
    _Atomic unsigned n_captures, n_lost, n_failed;
    _Atomic unsigned n_launches, n_executed;
    _Atomic unsigned n_blocks; /* that other threads were given */
    _Atomic bool is_over;
    size_t free_bytes; /* of the device, at the last task */
} run;

static void count_execution(void *argument)
{
    (void)argument;
    atomic_fetch_add(&run.n_executed, 1);
}

/* y = x, with a mark at its beginning, by way of a temporary. */
static bool submit_work(void *y, const void *x, cuda_stream stream)
{
    void *temporary = NULL;
    bool is_done;

    if (call.starpool_starpu_alloc(DATA_SIZE, &temporary) != 0)
        return false;
    is_done = call.cudaMemcpyAsync(temporary, x, DATA_SIZE, DEVICE_TO_DEVICE, stream) == 0 &&
              call.cudaMemsetAsync(temporary, run.mode, MARK_SIZE, stream) == 0 &&
              call.cudaMemcpyAsync(y, temporary, DATA_SIZE, DEVICE_TO_DEVICE, stream) == 0 &&
              call.cudaLaunchHostFunc(stream, count_execution, NULL) == 0;
    return call.starpool_starpu_free(temporary) == 0 && is_done;
}

/* NULL if the capture was lost. */
static cuda_graph capture(void *y, const void *x, cuda_stream stream)
{
    cuda_graph graph = NULL;
    bool is_done;

    if (call.cudaStreamBeginCapture(stream, run.mode) != 0)
        return NULL;
    is_done = submit_work(y, x, stream);
    if (call.cudaStreamEndCapture(stream, &graph) != 0)
        return NULL;
    if (is_done)
        return graph;
    call.cudaGraphDestroy(graph);
    return NULL;
}

static void captured_copy(void **buffers, void *argument)
{
    void *y = (void *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const void *x = (const void *)STARPU_VECTOR_GET_PTR(buffers[1]);
    cuda_stream stream = call.starpu_cuda_get_local_stream();
    cuda_graph graph = capture(y, x, stream);
    cuda_exec exec;
    size_t total;
    int i;

    (void)argument;
    atomic_fetch_add(&run.n_captures, 1);
    if (graph == NULL) {
        atomic_fetch_add(&run.n_lost, 1);
        return;
    }
    if (call.cudaGraphInstantiateWithFlags(&exec, graph, 0) != 0) {
        atomic_fetch_add(&run.n_failed, 1);
    } else {
        for (i = 0; i < N_LAUNCHES; i++)
            atomic_fetch_add(
                call.cudaGraphLaunch(exec, stream) == 0 ? &run.n_launches : &run.n_failed, 1);
        /* It goes when the last launch is over. */
        call.cudaGraphExecDestroy(exec);
    }
    call.cudaGraphDestroy(graph);
    call.cudaMemGetInfo(&run.free_bytes, &total);
}

static struct starpu_codelet codelet = {
    .cuda_funcs = {captured_copy},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .nbuffers = 2,
    .modes = {STARPU_W, STARPU_R},
    .name = "captured_copy",
};

/* ---- other threads -------------------------------------------------------------------------
 */

static void *allocate_meanwhile(void *argument)
{
    unsigned n_nodes = starpu_memory_nodes_get_count();
    unsigned state = (unsigned)(size_t)argument + 1;

    while (!atomic_load(&run.is_over)) {
        unsigned node = state % n_nodes;
        size_t size = (size_t)4096 << state / n_nodes % 8;
        uintptr_t block = starpu_malloc_on_node_flags(node, size, STARPU_MALLOC_COUNT);

        if (block != 0) {
            atomic_fetch_add(&run.n_blocks, 1);
            starpu_free_on_node_flags(node, block, size, STARPU_MALLOC_COUNT);
        }
        state = state * 1103515245u + 12345u;
        state ^= state >> 16;
    }
    return NULL;
}

/* ---- one mode ------------------------------------------------------------------------------
 */

static unsigned char *vectors[2 * N_DATA];
static starpu_data_handle_t handles[2 * N_DATA];

static void submit_tasks(int first, int n)
{
    int i;

    for (i = first; i < first + n; i++) {
        int at = i % N_DATA;

        if (starpu_task_insert(&codelet, STARPU_W, handles[N_DATA + at], STARPU_R, handles[at],
                               0) != 0)
            abort();
    }
    starpu_task_wait_for_all();
}

static unsigned count_wrong(void)
{
    unsigned n_wrong = 0;
    size_t i, at;

    for (i = 0; i < N_DATA; i++) {
        starpu_data_acquire(handles[N_DATA + i], STARPU_R);
        for (at = 0; at < DATA_SIZE; at++) {
            unsigned char wanted = at < MARK_SIZE ? (unsigned char)run.mode : vectors[i][at];

            n_wrong += vectors[N_DATA + i][at] != wanted;
        }
        starpu_data_release(handles[N_DATA + i]);
    }
    return n_wrong;
}

/* Returns whether all went well. */
static bool run_mode(const char *name, int mode)
{
    pthread_t threads[N_THREADS];
    size_t free_before, i;
    unsigned n_wrong;

    memset(&run, 0, sizeof(run));
    run.mode = mode;
    for (i = 0; i < N_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, allocate_meanwhile, (void *)i) != 0)
            return false;
    }
    submit_tasks(0, N_TASKS / 2);
    free_before = run.free_bytes;
    submit_tasks(N_TASKS / 2, N_TASKS / 2);
    atomic_store(&run.is_over, true);
    for (i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    n_wrong = count_wrong();
    printf("%s: %u captures, %u lost; %u launches, %u executed, %u failed; %u wrong bytes; "
           "%u blocks to other threads; free memory of the device %zu KiB after half of the "
           "tasks, %zu KiB at the end\n",
           name, run.n_captures, run.n_lost, run.n_launches, run.n_executed, run.n_failed,
           n_wrong, run.n_blocks, free_before >> 10, run.free_bytes >> 10);
    return run.n_lost == 0 && run.n_failed == 0 && n_wrong == 0 &&
           run.n_executed == N_TASKS * N_LAUNCHES;
}

static void register_data(void)
{
    size_t i;

    for (i = 0; i < 2 * N_DATA; i++) {
        vectors[i] = malloc(DATA_SIZE);
        if (vectors[i] == NULL)
            abort();
        memset(vectors[i], 16 + (int)i, DATA_SIZE);
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i],
                                    (uint32_t)DATA_SIZE, 1);
    }
}

static void unregister_data(void)
{
    size_t i;

    for (i = 0; i < 2 * N_DATA; i++) {
        starpu_data_unregister(handles[i]);
        free(vectors[i]);
    }
}

int main(void)
{
    const char *missing;
    bool is_right;

    if (starpu_init(NULL) != 0) {
        fputs("capture_codelet: StarPU cannot be started\n", stderr);
        return 77;
    }
    missing = starpu_cuda_worker_get_count() == 0 ? "CUDA worker" : find_functions();
    if (missing != NULL) {
        fprintf(stderr, "capture_codelet: there is no %s: nothing to show\n", missing);
        starpu_shutdown();
        return 77;
    }
    register_data();
    is_right = run_mode("THREAD_LOCAL", MODE_THREAD_LOCAL);
    is_right &= run_mode("RELAXED", MODE_RELAXED);
    unregister_data();
    starpu_shutdown();
    return is_right ? 0 : 1;
}
