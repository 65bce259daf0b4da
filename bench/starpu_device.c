/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What memory of a CUDA node costs through StarPU's door. Knows nothing of starpool:
 * bench/starpu_device.sh builds it against StarPU's CUDA build, without CUDA's own headers, and
 * runs it on a simulated device with and without. */
#include "config.h"

#define STARPU_DONT_INCLUDE_CUDA_HEADERS
#include <dlfcn.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define N_ROUNDS  11
#define MAX_PAIRS 20000
#define BATCH_NS  5e5

/* Blocks that are live together where more than one is: as many as the device has room for. */
#define MAX_LIVE   64
#define LIVE_BYTES ((size_t)512 << 20)

/* StarPU cuts chunks of 32 MiB into blocks of up to 4 MiB; larger ones it has from CUDA. */
static const size_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 4 << 20, 8 << 20, 64 << 20};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

static const char what[] =
    "Times starpu_malloc_on_node_flags() and its free on a CUDA node, block by block and with\n"
    "many blocks live. Prints `door NAME SIZE NS CALLS`: ns, and calls of cudaMalloc() and\n"
    "cudaFree(), a pair.";

/* ---- CUDA's run-time library ----------------------------------------------------------- */

extern int cudaMalloc(void **ptr_out, size_t size);
extern int cudaFree(void *ptr);

/* The library's own functions, and the calls that came to those below. */
static struct {
    int (*allocate)(void **ptr_out, size_t size);
    int (*release)(void *ptr);
    unsigned long n_calls;
} runtime;

static void find_runtime(void)
{
    *(void **)&runtime.allocate = dlsym(RTLD_NEXT, "cudaMalloc");
    *(void **)&runtime.release = dlsym(RTLD_NEXT, "cudaFree");
    if (runtime.allocate == NULL || runtime.release == NULL) {
        fprintf(stderr, "bench/starpu_device: there is no CUDA run-time library\n");
        exit(1);
    }
}

/* StarPU's calls come here, because this program's symbols are found first. */
int cudaMalloc(void **ptr_out, size_t size)
{
    __atomic_fetch_add(&runtime.n_calls, 1, __ATOMIC_RELAXED);
    return runtime.allocate(ptr_out, size);
}

int cudaFree(void *ptr)
{
    __atomic_fetch_add(&runtime.n_calls, 1, __ATOMIC_RELAXED);
    return runtime.release(ptr);
}

/* ---- pairs ----------------------------------------------------------------------------- */

static unsigned cuda_node(void)
{
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++) {
        if (starpu_node_get_kind(node) == STARPU_CUDA_RAM)
            return node;
    }
    fprintf(stderr, "bench/starpu_device: StarPU has no CUDA node\n");
    exit(1);
}

/* [ns] a pair; `n_live` blocks are taken, and then given in the same order, until there were at
 * least `n_pairs`. */
static double time_pairs(unsigned node, size_t size, size_t n_live, size_t n_pairs)
{
    const int flags = STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT;
    uint64_t begin = sp_bench_ticks();
    size_t n_done = 0;

    while (n_done < n_pairs) {
        uintptr_t blocks[MAX_LIVE];

        for (size_t i = 0; i < n_live; i++) {
            blocks[i] = starpu_malloc_on_node_flags(node, size, flags);
            if (blocks[i] == 0) {
                fprintf(stderr, "bench/starpu_device: %zu bytes were refused\n", size);
                exit(1);
            }
        }
        for (size_t i = 0; i < n_live; i++)
            starpu_free_on_node_flags(node, blocks[i], size, flags);
        n_done += n_live;
    }
    return sp_bench_ns(begin, sp_bench_ticks()) / (double)n_done;
}

static size_t calibrate(unsigned node, size_t size, size_t n_live)
{
    size_t n = 16;

    time_pairs(node, size, n_live, n); /* the first pairs of a size may have to make room */
    while (n < MAX_PAIRS && time_pairs(node, size, n_live, n) * (double)n < BATCH_NS)
        n *= 2;
    return n;
}

static size_t live_of(size_t size, size_t most)
{
    size_t n_live = LIVE_BYTES / size;

    return n_live < most ? n_live : most;
}

static void run(const char *name, unsigned node, size_t most_live, size_t n_rounds)
{
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n_live = live_of(sizes[s], most_live);
        size_t n = calibrate(node, sizes[s], n_live);
        size_t n_pairs = (n + n_live - 1) / n_live * n_live * n_rounds;
        unsigned long n_before = runtime.n_calls;
        double ns[N_ROUNDS];

        for (size_t round = 0; round < n_rounds; round++)
            ns[round] = time_pairs(node, sizes[s], n_live, n);
        printf("door %s %zu %.1f %.3f\n", name, sizes[s],
               sp_bench_quartiles(ns, n_rounds).median,
               (double)(runtime.n_calls - n_before) / (double)n_pairs);
    }
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    size_t n_rounds = effort == SP_BENCH_CHECK ? 3 : N_ROUNDS;
    unsigned node;

    find_runtime();
    sp_bench_init();
    if (starpu_init(NULL) != 0) {
        fprintf(stderr, "bench/starpu_device: starpu_init() failed\n");
        return 1;
    }
    starpu_pause();
    node = cuda_node();
    run("alone", node, 1, n_rounds);
    run("many", node, MAX_LIVE, n_rounds);
    starpu_resume();
    starpu_shutdown();
    return 0;
}
