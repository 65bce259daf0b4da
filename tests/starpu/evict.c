/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* More data than the CUDA devices hold, so that StarPU must evict and reload it; and requests
 * that a device refuses. Compiled against the headers of a CUDA-enabled StarPU, without CUDA's
 * own: what is called of CUDA's run-time library is declared here. The codelets run on devices
 * only.
 *
 * Usage: evict sync|async [BLOCKS KIB ROUNDS]
 *        evict refusals N */
#define STARPU_DONT_INCLUDE_CUDA_HEADERS
#include <starpu.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- CUDA ------------------------------------------------------------------------------ */

typedef struct CUstream_st *cuda_stream;
enum { TO_DEVICE = 1, TO_HOST = 2 };

extern int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind,
                           cuda_stream stream);
extern int cudaStreamSynchronize(cuda_stream stream);
extern int cudaLaunchHostFunc(cuda_stream stream, void (*run)(void *), void *argument);
extern int cudaHostAlloc(void **memory, size_t size, unsigned flags);
extern int cudaFreeHost(void *memory);
extern cuda_stream starpu_cuda_get_local_stream(void);

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static void *allocate(size_t size)
{
    void *memory = malloc(size);

    CHECK(memory != NULL);
    return memory;
}

/* ---- the codelets: a += b, of vectors on a device -------------------------------------- */

/* The sum is made in the order of the worker's stream, by the host, on pinned copies: memory
 * that is not pinned would be read when the copy is asked for. All tasks of a worker use the
 * same copies, one after the other. */
static struct sum {
    uint32_t *a, *b;
    size_t n;
} sums[STARPU_NMAXWORKERS];

static void add(void *argument)
{
    const struct sum *sum = argument;

    for (size_t i = 0; i < sum->n; i++)
        sum->a[i] += sum->b[i];
}

static struct sum *sum_of_worker(size_t n)
{
    struct sum *sum = &sums[starpu_worker_get_id()];

    if (sum->n == 0) {
        sum->n = n;
        CHECK(cudaHostAlloc((void **)&sum->a, n * sizeof(*sum->a), 0) == 0);
        CHECK(cudaHostAlloc((void **)&sum->b, n * sizeof(*sum->b), 0) == 0);
    }
    CHECK(sum->n == n);
    return sum;
}

static void free_sums(void)
{
    for (size_t i = 0; i < STARPU_NMAXWORKERS; i++) {
        if (sums[i].n == 0)
            continue;
        CHECK(cudaFreeHost(sums[i].a) == 0);
        CHECK(cudaFreeHost(sums[i].b) == 0);
    }
}

static void run_async(void *buffers[], void *argument)
{
    void *a = (void *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const void *b = (const void *)STARPU_VECTOR_GET_PTR(buffers[1]);
    struct sum *sum = sum_of_worker(STARPU_VECTOR_GET_NX(buffers[0]));
    cuda_stream stream = starpu_cuda_get_local_stream();
    size_t size = sum->n * sizeof(*sum->a);

    (void)argument;
    CHECK(cudaMemcpyAsync(sum->a, a, size, TO_HOST, stream) == 0);
    CHECK(cudaMemcpyAsync(sum->b, b, size, TO_HOST, stream) == 0);
    CHECK(cudaLaunchHostFunc(stream, add, sum) == 0);
    CHECK(cudaMemcpyAsync(a, sum->a, size, TO_DEVICE, stream) == 0);
}

static void run_sync(void *buffers[], void *argument)
{
    run_async(buffers, argument);
    CHECK(cudaStreamSynchronize(starpu_cuda_get_local_stream()) == 0);
}

static struct starpu_perfmodel model = {
    .type = STARPU_HISTORY_BASED,
    .symbol = "starpool_evict",
};
static struct starpu_codelet add_sync = {
    .cuda_funcs = {run_sync},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_R},
    .model = &model,
};
static struct starpu_codelet add_async = {
    .cuda_funcs = {run_async},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_R},
    .model = &model,
};

/* ---- more data than fits ---------------------------------------------------------------- */

struct data {
    size_t n_blocks;
    size_t n; /* numbers of a block */
    uint32_t **blocks, **expected;
    starpu_data_handle_t *handles;
};

static void make(struct data *data)
{
    size_t size = data->n * sizeof(uint32_t);

    data->blocks = allocate(data->n_blocks * sizeof(uint32_t *));
    data->expected = allocate(data->n_blocks * sizeof(uint32_t *));
    data->handles = allocate(data->n_blocks * sizeof(starpu_data_handle_t));
    for (size_t i = 0; i < data->n_blocks; i++) {
        CHECK(starpu_malloc((void **)&data->blocks[i], size) == 0);
        data->expected[i] = allocate(size);
        for (size_t j = 0; j < data->n; j++)
            data->blocks[i][j] = data->expected[i][j] = (uint32_t)(i * 1000003 + j);
        starpu_vector_data_register(&data->handles[i], STARPU_MAIN_RAM,
                                    (uintptr_t)data->blocks[i], (uint32_t)data->n,
                                    sizeof(uint32_t));
    }
}

/* Tasks on the same data keep the order of their submission, so the host can follow. */
static void add_blocks(struct data *data, struct starpu_codelet *codelet, size_t a, size_t b)
{
    CHECK(starpu_task_insert(codelet, STARPU_RW, data->handles[a], STARPU_R, data->handles[b],
                             0) == 0);
    for (size_t j = 0; j < data->n; j++)
        data->expected[a][j] += data->expected[b][j];
}

static void check_and_free(struct data *data)
{
    for (size_t i = 0; i < data->n_blocks; i++) {
        starpu_data_unregister(data->handles[i]);
        for (size_t j = 0; j < data->n; j++) {
            if (data->blocks[i][j] != data->expected[i][j]) {
                fprintf(stderr, "block %zu, number %zu is %u, not %u\n", i, j,
                        data->blocks[i][j], data->expected[i][j]);
                exit(1);
            }
        }
        CHECK(starpu_free(data->blocks[i]) == 0);
        free(data->expected[i]);
    }
    free(data->blocks);
    free(data->expected);
    free(data->handles);
}

static void evict(struct starpu_codelet *codelet, size_t n_blocks, size_t kib, size_t n_rounds)
{
    struct data data = {.n_blocks = n_blocks, .n = kib * 1024 / sizeof(uint32_t)};

    make(&data);
    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t i = 0; i < n_blocks; i++)
            add_blocks(&data, codelet, i,
                       (i + 1 + (i * 7 + round) % (n_blocks - 1)) % n_blocks);
    }
    CHECK(starpu_task_wait_for_all() == 0);
    free_sums();
    check_and_free(&data);
    printf("right: %zu blocks of %zu KiB, %zu rounds, %u devices\n", n_blocks, kib, n_rounds,
           starpu_cuda_worker_get_count());
}

/* ---- refusals ---------------------------------------------------------------------------- */

static int device_node(void)
{
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++) {
        if (starpu_node_get_kind(node) == STARPU_CUDA_RAM)
            return (int)node;
    }
    return -1;
}

/* A device of 64 MiB whose budget StarPU believes to be far greater: what does not fit is
 * refused by the device and not by the budget. */
static void refusals(size_t n)
{
    const size_t too_large = (size_t)100 << 20, fits = (size_t)16 << 20;
    int node = device_node();
    long long before, after;
    uintptr_t ptr;

    CHECK(node >= 0);
    before = (long long)starpu_memory_get_available((unsigned)node);
    for (size_t i = 0; i < n; i++)
        CHECK(starpu_malloc_on_node((unsigned)node, too_large) == 0);
    after = (long long)starpu_memory_get_available((unsigned)node);
    ptr = starpu_malloc_on_node((unsigned)node, fits);
    CHECK(ptr != 0);
    CHECK((long long)starpu_memory_get_available((unsigned)node) == after - (long long)fits);
    starpu_free_on_node((unsigned)node, ptr, fits);
    CHECK((long long)starpu_memory_get_available((unsigned)node) == after);
    printf("refusals %zu before %lld after %lld lost %lld\n", n, before, after, before - after);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    size_t numbers[] = {24, 6144, 2};

    for (int i = 2; i < argc && i < 5; i++)
        numbers[i - 2] = strtoul(argv[i], NULL, 10);
    if (starpu_init(NULL) != 0 || starpu_cuda_worker_get_count() == 0) {
        fprintf(stderr, "no CUDA worker\n");
        return 77;
    }
    if (strcmp(what, "sync") == 0)
        evict(&add_sync, numbers[0], numbers[1], numbers[2]);
    else if (strcmp(what, "async") == 0)
        evict(&add_async, numbers[0], numbers[1], numbers[2]);
    else if (strcmp(what, "refusals") == 0)
        refusals(numbers[0]);
    else
        CHECK(!"a case");
    starpu_shutdown();
    return 0;
}
