/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pair costs through StarPU's doors, called as StarPU itself calls them. Knows nothing
 * of starpool: bench/doors.sh runs it with and without. */
#include "config.h"

#include <dlfcn.h>
#include <starpu.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

#define N_ROUNDS  31
#define MAX_PAIRS 20000
#define BATCH_NS  5e5

static const size_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 1153434, 16 << 20};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

static const char what[] = "Times pairs of starpu_malloc_on_node_flags() and its free, and of\n"
                           "starpu_malloc() and its free. Prints `door NAME SIZE NS`.";

/* Both are what a data handle's memory passes: the door of the node, and the hook below it. */
static double time_node(size_t size, int n)
{
    const int flags = STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT;
    uint64_t begin = sp_bench_ticks();

    for (int i = 0; i < n; i++) {
        uintptr_t block = starpu_malloc_on_node_flags(STARPU_MAIN_RAM, size, flags);

        if (block != 0)
            starpu_free_on_node_flags(STARPU_MAIN_RAM, block, size, flags);
    }
    return sp_bench_ns(begin, sp_bench_ticks()) / n;
}

static double time_malloc(size_t size, int n)
{
    uint64_t begin = sp_bench_ticks();

    for (int i = 0; i < n; i++) {
        void *block;

        if (starpu_malloc(&block, size) == 0)
            starpu_free_flags(block, size, STARPU_MALLOC_PINNED);
    }
    return sp_bench_ns(begin, sp_bench_ticks()) / n;
}

static int calibrate(double (*time_pairs)(size_t size, int n), size_t size)
{
    int n = 16;

    time_pairs(size, n); /* the first pairs of a size may have to make room for it */
    while (n < MAX_PAIRS && time_pairs(size, n) * n < BATCH_NS)
        n *= 2;
    return n;
}

static void run(const char *name, double (*time_pairs)(size_t size, int n), size_t n_rounds)
{
    double ns[N_SIZES][N_ROUNDS];
    int n[N_SIZES];

    for (size_t s = 0; s < N_SIZES; s++)
        n[s] = calibrate(time_pairs, sizes[s]);
    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t s = 0; s < N_SIZES; s++)
            ns[s][round] = time_pairs(sizes[s], n[s]);
    }
    for (size_t s = 0; s < N_SIZES; s++)
        printf("door %s %zu %.1f\n", name, sizes[s],
               sp_bench_quartiles(ns[s], n_rounds).median);
}

/* Which object a call of this program to the door ends in. */
static const char *door_owner(void)
{
    void *door = dlsym(RTLD_DEFAULT, "starpu_malloc_on_node_flags");
    const char *name;
    Dl_info info;

    if (door == NULL || dladdr(door, &info) == 0)
        return "?";
    name = strrchr(info.dli_fname, '/');
    return name != NULL ? name + 1 : info.dli_fname;
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    size_t n_rounds = effort == SP_BENCH_CHECK ? 3 : N_ROUNDS;

    sp_bench_init();
    if (starpu_init(NULL) != 0) {
        fprintf(stderr, "bench/doors: starpu_init() failed\n");
        return 1;
    }
    starpu_pause();
    printf("owner %s\n", door_owner());
    run("node", time_node, n_rounds);
    run("malloc", time_malloc, n_rounds);
    starpu_resume();
    starpu_shutdown();
    return 0;
}
