/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a block of a device costs on the CPU model, so without what a real device adds: from
 * slabs, from a pool of the driver without and with its shadow, and by plain cuMemAlloc() and
 * cuMemFree(), all in turn. Linked with the library's objects, whose symbols the library itself
 * hides. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <starpool/block.h>
#include <starpool/pool.h>

#include "bench/bench.h"
#include "src/driver/driver.h"

/* Short rounds, so that most are not interrupted. */
#define N_ROUNDS 201
#define N_PAIRS  400

/* Blocks that live beside the pair, so that a search is one. */
#define N_LIVE 100

enum way { SLAB_HOST, SLAB_STREAM, DRIVER_BARE, DRIVER_SHADOW, PLAIN, N_WAYS };

static const char *const way_names[N_WAYS] = {
    "slabs, by the host",       "slabs, on a stream", "driver's pool, on a stream",
    "the same with its shadow", "plain cuMemAlloc",
};

static const char what[] =
    "Times pairs of allocation and free of device memory on the CPU model.";

static const size_t sizes[] = {4096, 1 << 20};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

static const struct sp_driver *driver;
static sp_cu_stream stream;
static struct starpool_pool *pools[N_WAYS]; /* NULL for PLAIN */

static void require(bool is_done, const char *step)
{
    if (is_done)
        return;
    fprintf(stderr, "bench/device: %s failed\n", step);
    exit(1);
}

static struct starpool_pool *make_pool(enum starpool_backend backend, bool has_shadow)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;

    starpool_pool_config_init(&config);
    config.location = (struct starpool_location){STARPOOL_DEVICE, 0};
    config.backend = backend;
    config.has_shadow = has_shadow;
    require(starpool_pool_create(&config, &pool) == STARPOOL_OK, "making a pool");
    return pool;
}

static void begin(void)
{
    sp_cu_context context;

    require(sp_driver_get(&driver) == STARPOOL_OK, "starting the model");
    require(driver->cuDevicePrimaryCtxRetain(&context, 0) == SP_CU_SUCCESS &&
                driver->cuCtxSetCurrent(context) == SP_CU_SUCCESS &&
                driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING) == SP_CU_SUCCESS,
            "making a stream");
    pools[SLAB_HOST] = make_pool(STARPOOL_BACKEND_SLAB, false);
    pools[SLAB_STREAM] = make_pool(STARPOOL_BACKEND_SLAB, false);
    pools[DRIVER_BARE] = make_pool(STARPOOL_BACKEND_DRIVER, false);
    pools[DRIVER_SHADOW] = make_pool(STARPOOL_BACKEND_DRIVER, true);
}

static starpool_stream stream_of(enum way way)
{
    return way == SLAB_HOST ? STARPOOL_STREAM_HOST : stream;
}

static void pair_of_pool(enum way way, size_t size)
{
    void *ptr;

    require(starpool_alloc(pools[way], size, stream_of(way), &ptr) == STARPOOL_OK &&
                starpool_free(ptr, stream_of(way)) == STARPOOL_OK,
            way_names[way]);
}

static void plain_pair(size_t size)
{
    sp_cu_ptr ptr;

    require(driver->cuMemAlloc(&ptr, size) == SP_CU_SUCCESS &&
                driver->cuMemFree(ptr) == SP_CU_SUCCESS,
            way_names[PLAIN]);
}

/* [ns] a pair. */
static double time_pairs(enum way way, size_t size)
{
    size_t n = way == PLAIN ? N_PAIRS / 20 : N_PAIRS;
    uint64_t start = sp_bench_ticks(), end;

    for (size_t i = 0; i < n; i++) {
        if (way == PLAIN)
            plain_pair(size);
        else
            pair_of_pool(way, size);
    }
    end = sp_bench_ticks();
    /* What the streams have left is none of the next way's business. */
    require(driver->cuStreamSynchronize(stream) == SP_CU_SUCCESS, "waiting");
    return sp_bench_ns(start, end) / (double)n;
}

/* Live blocks of pools, which stay. */
static void fill(size_t size)
{
    for (enum way way = SLAB_HOST; way < PLAIN; way++) {
        for (size_t i = 0; i < N_LIVE; i++) {
            void *ptr;

            require(starpool_alloc(pools[way], size / 2, stream_of(way), &ptr) == STARPOOL_OK,
                    "filling");
        }
    }
}

/* [ns] What the shadow adds to a call: half of what it adds to a pair, round by round. */
static double shadow_cost(double (*ns)[N_ROUNDS], size_t n_rounds)
{
    static double differences[N_ROUNDS];

    for (size_t round = 0; round < n_rounds; round++)
        differences[round] = (ns[DRIVER_SHADOW][round] - ns[DRIVER_BARE][round]) / 2;
    return sp_bench_quartiles(differences, n_rounds).median;
}

static double run(size_t size, size_t n_rounds)
{
    static double ns[N_WAYS][N_ROUNDS];
    char text[SP_BENCH_TEXT];
    double cost;

    fill(size);
    for (enum way way = SLAB_HOST; way < N_WAYS; way++)
        (void)time_pairs(way, size);
    for (size_t round = 0; round < n_rounds; round++) {
        for (enum way way = SLAB_HOST; way < N_WAYS; way++)
            ns[way][round] = time_pairs(way, size);
    }
    cost = shadow_cost(ns, n_rounds);
    printf("\n%s: ns a pair of allocation and free (median of %zu rounds, quartiles)\n",
           sp_bench_size_text(size, text), n_rounds);
    for (enum way way = SLAB_HOST; way < N_WAYS; way++) {
        struct sp_quartiles quartiles = sp_bench_quartiles(ns[way], n_rounds);

        printf("%-28s %9.1f [%.1f %.1f]\n", way_names[way], quartiles.median, quartiles.q1,
               quartiles.q3);
    }
    printf("the shadow adds to a call: %.1f ns\n", cost);
    return cost;
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    size_t n_rounds = effort == SP_BENCH_CHECK ? 5 : effort == SP_BENCH_QUICK ? 51 : N_ROUNDS;
    double worst = 0;

    /* Streams without threads of their own, so that nothing but the calls is timed. */
    if (setenv("STARPOOL_DRIVER", "model", 1) != 0 ||
        setenv("STARPOOL_MODEL_EXEC", "inline", 1) != 0)
        return 1;
    sp_bench_init();
    begin();
    for (size_t i = 0; i < N_SIZES; i++) {
        double cost = run(sizes[i], n_rounds);

        worst = cost > worst ? cost : worst;
    }
    sp_bench_goal("shadow_ns", worst, SP_GOAL_AT_MOST, 100.0);
    return 0;
}
