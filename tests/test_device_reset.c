/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools of a device's plain memory (slabs) whose device is reset, and in forked children, on
 * the CPU model; random operations against a list of what is live, with resets among them. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/capture_fixture.h"
#include "tests/device_case.h"
#include "tests/fixture.h"

static struct starpool_stats stats(void)
{
    return sp_fixture_stats_of(slabs);
}

static void *take(size_t size)
{
    return sp_fixture_alloc_from(slabs, size);
}

static void give(void *ptr)
{
    sp_fixture_give(ptr);
}

/* ---- resets ------------------------------------------------------------------------------ */

static void reset(int device)
{
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxReset(device));
    sp_pool_forget_device(device);
}

/* Streams of device 0 have gone with it. */
static void make_streams(void)
{
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.a, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.b, SP_CU_STREAM_NON_BLOCKING));
}

static void pool_works_again_after_a_reset(void **state)
{
    size_t before = sp_device_case_free(0);
    void *live[3] = {take(1000), take(2 * SP_MIB), sp_driver_fixture_alloc(slabs, on.a, 5000)};
    void *parked = take(SP_MIB), *cached = take(3000), *fresh;

    (void)state;
    give(cached);
    assert_ok(starpool_free(parked, on.b));
    assert_ok(starpool_free(sp_driver_fixture_alloc(slabs, on.b, 7000), on.b));
    reset(0);
    make_streams();
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
    assert_int_equal(stats().n_live, 0);
    assert_int_equal(stats().n_lost_blocks, 3);
    assert_int_equal(sp_device_case_free(0), before);
    fresh = take(4 * SP_MIB);
    assert_cu(SUCCESS, on.driver->cuMemsetD8((uintptr_t)fresh, 1, 4 * SP_MIB));
    assert_int_equal(stats().n_live, 1);
    for (size_t i = 0; i < SP_ARRAY_SIZE(live); i++) {
        if (live[i] != fresh) /* An address may have come back, and means the new block then. */
            assert_ok(starpool_free(live[i], STARPOOL_STREAM_HOST));
    }
    assert_int_equal(stats().n_live, 1);
    assert_true(stats().n_lost_frees >= 2);
    assert_int_equal(stats().n_wrong_frees, 0);
    give(fresh);
    assert_ok(starpool_free(sp_driver_fixture_alloc(slabs, on.a, 5000), on.a));
    assert_int_equal(starpool_model_violations(NULL), 0);
    /* What is of the new device goes back to it, and the pool is empty when it is destroyed. */
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(sp_device_case_free(0), before);
}

static void lost_block_is_dropped_once_and_wrong_from_then_on(void **state)
{
    void *block = take(1000), *on_stream = sp_driver_fixture_alloc(slabs, on.a, 5000);
    void *first = take(SP_MIB);

    (void)state;
    reset(0);
    make_streams();
    assert_int_equal(sp_free_if_ours(block), SP_FREED);
    assert_int_equal(sp_free_if_ours(block), SP_FREE_FOREIGN);
    assert_ok(starpool_free(on_stream, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(on_stream, on.a));
    assert_ok(starpool_free(first, STARPOOL_STREAM_HOST));
    assert_status(STARPOOL_EINVAL, starpool_free(first, STARPOOL_STREAM_HOST));
    assert_int_equal(stats().n_lost_frees, 3);
}

static void reset_that_nobody_told_of_is_seen_at_the_next_growth(void **state)
{
    void *lost = take(20 * SP_MIB), *fresh;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxReset(0));
    make_streams();
    fresh = take(30 * SP_MIB);
    assert_int_equal(stats().n_lost_blocks, 1);
    assert_int_equal(stats().n_live, 1);
    assert_cu(SUCCESS, on.driver->cuMemsetD8((uintptr_t)fresh, 1, 30 * SP_MIB));
    if (lost != fresh)
        assert_ok(starpool_free(lost, STARPOOL_STREAM_HOST));
    give(fresh);
    assert_int_equal(stats().n_live, 0);
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxReset(0));
    make_streams();
    assert_ok(starpool_pool_trim(slabs, SIZE_MAX));
    assert_int_equal(stats().reserved_bytes, 0); /* A trim sees it, too. */
}

static void reset_of_another_device_is_none_of_a_pools_business(void **state)
{
    struct starpool_pool *other = sp_device_case_pool(1, STARPOOL_BACKEND_SLAB, 0);
    void *here = take(SP_MIB), *there = sp_fixture_alloc_from(other, SP_MIB);

    (void)state;
    reset(1);
    assert_int_equal(stats().n_lost_blocks, 0);
    assert_int_equal(sp_fixture_stats_of(other).n_lost_blocks, 1);
    assert_cu(SUCCESS, on.driver->cuMemsetD8((uintptr_t)here, 1, SP_MIB));
    give(here);
    assert_ok(starpool_free(there, STARPOOL_STREAM_HOST));
    starpool_pool_destroy(other);
}

static void destroyed_pool_goes_with_its_device(void **state)
{
    struct starpool_pool *pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 0);
    void *block = sp_fixture_alloc_from(pool, SP_MIB);

    (void)state;
    starpool_pool_destroy(pool);
    reset(0);
    make_streams();
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST)); /* whose pool is no more */
    assert_status(STARPOOL_EINVAL, starpool_free(block, STARPOOL_STREAM_HOST));
}

static void blocks_that_graphs_hold_are_lost_too(void **state)
{
    void *block = take(SP_MIB), *temporary = NULL;
    sp_cu_graph graph;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuStreamBeginCapture(on.a, SP_CU_CAPTURE_MODE_RELAXED));
    assert_cu(SUCCESS, on.driver->cuMemsetD8Async((uintptr_t)block, 1, SP_MIB, on.a));
    assert_ok(starpool_free(block, on.a));
    assert_ok(starpool_alloc(slabs, SP_MIB, on.a, &temporary));
    graph = sp_capture_end(on.a);
    assert_int_equal(stats().graph_held_bytes, SP_MIB);
    reset(0);
    make_streams();
    assert_int_equal(stats().reserved_bytes, 0);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    sp_capture_wait_for_destructors();
    block = take(SP_MIB);
    assert_int_equal(stats().graph_held_bytes, 0);
    assert_int_equal(stats().n_live, 1);
    give(block);
    assert_int_equal(stats().n_live, 0);
}

/* ---- forks ------------------------------------------------------------------------------- */

/* Nothing may be asked of the driver in a child. */
static int in_child(void *block)
{
    void *ptr = NULL;

    if (starpool_free(block, STARPOOL_STREAM_HOST) != STARPOOL_OK)
        return 1;
    if (starpool_alloc(slabs, 100 * SP_MIB, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_ENOTINIT)
        return 2;
    if (starpool_pool_trim(slabs, 0) != STARPOOL_OK)
        return 3;
    return 0;
}

static void forked_child_lets_the_driver_be(void **state)
{
    void *block = take(SP_MIB);
    int status = 0;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0)
        _exit(in_child(block));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(stats().reserved_bytes, 32 * SP_MIB);
    assert_cu(SUCCESS, on.driver->cuMemsetD8((uintptr_t)block, 1, SP_MIB));
    give(block);
}

/* ---- random operations ------------------------------------------------------------------- */

#define N_BLOCKS 64

/* The oracle: what is live, and nothing else. */
static struct walk {
    uint64_t random;
    struct walk_block {
        char *ptr;
        size_t size;
        bool is_ordered;
    } blocks[N_BLOCKS];
    uint64_t used_bytes, n_live;
} walk;

static bool overlaps(const struct walk_block *a, const struct walk_block *b)
{
    return a->ptr < b->ptr + b->size && b->ptr < a->ptr + a->size;
}

static void walk_take(struct walk_block *block)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    size_t size =
        1 + (sp_test_random(&walk.random) >> (40 + sp_test_random_below(&walk.random, 16)));
    starpool_stream stream = block->is_ordered ? on.a : STARPOOL_STREAM_HOST;
    void *ptr = NULL;

    if (starpool_alloc(slabs, size, stream, &ptr) != STARPOOL_OK)
        return;
    assert_ok(starpool_block_info(ptr, &info));
    assert_ptr_equal(info.base, ptr);
    assert_true(info.size >= size);
    block->ptr = ptr;
    block->size = info.size;
    for (size_t i = 0; i < N_BLOCKS; i++) {
        const struct walk_block *other = &walk.blocks[i];

        assert_true(other == block || other->ptr == NULL || !overlaps(other, block));
    }
    walk.used_bytes += info.size;
    walk.n_live++;
}

static void walk_give(struct walk_block *block)
{
    assert_ok(starpool_free(block->ptr, block->is_ordered ? on.a : STARPOOL_STREAM_HOST));
    walk.used_bytes -= block->size;
    walk.n_live--;
    block->ptr = NULL;
}

static void walk_reset(void)
{
    reset(0);
    make_streams();
    memset(walk.blocks, 0, sizeof(walk.blocks));
    walk.used_bytes = walk.n_live = 0;
}

static void walk_step(void)
{
    struct walk_block *block = &walk.blocks[sp_test_random_below(&walk.random, N_BLOCKS)];
    size_t what = sp_test_random_below(&walk.random, 400);

    if (what == 0)
        walk_reset();
    else if (what < 8)
        assert_ok(starpool_pool_trim(slabs, sp_test_random_below(&walk.random, SP_GIB)));
    else if (what < 12)
        assert_ok(starpool_stream_synchronize(on.a));
    else if (block->ptr != NULL)
        walk_give(block);
    else {
        block->is_ordered = sp_test_random_below(&walk.random, 2) == 0;
        walk_take(block);
    }
}

static void random_operations_agree_with_a_list_of_what_is_live(void **state)
{
    size_t n_steps = sp_test_scaled(4000);

    (void)state;
    memset(&walk, 0, sizeof(walk));
    walk.random = sp_test_seed();
    assert_ok(starpool_model_inject("memory:0=128M"));
    for (size_t i = 0; i < n_steps; i++) {
        walk_step();
        if (i % 16 == 0) {
            struct starpool_stats now = stats();

            assert_int_equal(now.n_live, walk.n_live);
            assert_int_equal(now.used_bytes, walk.used_bytes);
            assert_true(now.reserved_bytes >= now.used_bytes);
            assert_true(now.reserved_bytes <= 128 * SP_MIB);
        }
    }
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (walk.blocks[i].ptr != NULL)
            walk_give(&walk.blocks[i]);
    }
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(stats().used_bytes, 0);
    assert_int_equal(stats().reserved_bytes, 0);
}

/* ---- threads ----------------------------------------------------------------------------- */

#define N_THREADS 3

static void *churn(void *arg)
{
    uint64_t random = *(uint64_t *)arg;
    void *blocks[16] = {NULL};

    for (size_t i = 0; i < 1500; i++) {
        void **block = &blocks[sp_test_random_below(&random, SP_ARRAY_SIZE(blocks))];
        size_t size = 1 + sp_test_random_below(&random, SP_MIB);

        if (*block == NULL &&
            starpool_alloc(slabs, size, STARPOOL_STREAM_HOST, block) != STARPOOL_OK)
            *block = NULL;
        else if (*block != NULL && sp_test_random_below(&random, 2) == 0) {
            (void)sp_free_if_ours(*block);
            *block = NULL;
        }
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        if (blocks[i] != NULL)
            (void)sp_free_if_ours(blocks[i]);
    }
    return NULL;
}

/* A program that goes on using what a reset took is wrong, and its frees may mean other blocks;
 * but the pool stays whole, as its checks say after every step. */
static void resets_beside_threads_leave_the_pool_whole(void **state)
{
    pthread_t threads[N_THREADS];
    uint64_t seeds[N_THREADS];
    void *block;

    (void)state;
    for (size_t i = 0; i < N_THREADS; i++) {
        seeds[i] = sp_test_seed() + i;
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &seeds[i]), 0);
    }
    for (int i = 0; i < 20; i++)
        reset(0);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    make_streams();
    reset(0);
    make_streams();
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
    block = take(SP_MIB);
    give(block);
}

#define N_GIVEN 300

/* Blocks that one thread frees while another resets the device. */
static struct {
    void *blocks[N_GIVEN];
    _Atomic bool has_begun;
    size_t n_refused;
} given;

static void *give_all(void *arg)
{
    (void)arg;
    atomic_store(&given.has_begun, true);
    for (size_t i = 0; i < N_GIVEN; i++)
        given.n_refused += sp_free_if_ours(given.blocks[i]) != SP_FREED;
    return NULL;
}

static void reset_beside(void *(*run)(void *arg))
{
    pthread_t thread;

    atomic_store(&given.has_begun, false);
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    while (!atomic_load(&given.has_begun))
        sched_yield();
    reset(0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    make_streams();
}

/* Nothing is allocated meanwhile: an address means one block. */
static void every_free_beside_a_reset_is_one_or_finds_its_block_lost(void **state)
{
    size_t n_rounds = sp_test_scaled(100);

    (void)state;
    given.n_refused = 0;
    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t i = 0; i < N_GIVEN; i++)
            given.blocks[i] = take(i % 2 == 0 ? 256 * (i + 1) : 100 * SP_KIB);
        reset_beside(give_all);
        assert_int_equal(given.n_refused, 0);
        assert_int_equal(stats().n_live, 0);
        assert_int_equal(stats().used_bytes, 0);
        assert_int_equal(stats().n_lost_frees, stats().n_lost_blocks);
    }
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_device_case_setup, sp_device_case_teardown)

static const struct CMUnitTest tests[] = {
    CASE(pool_works_again_after_a_reset),
    CASE(lost_block_is_dropped_once_and_wrong_from_then_on),
    CASE(reset_that_nobody_told_of_is_seen_at_the_next_growth),
    CASE(reset_of_another_device_is_none_of_a_pools_business),
    CASE(destroyed_pool_goes_with_its_device),
    CASE(blocks_that_graphs_hold_are_lost_too),
    CASE(forked_child_lets_the_driver_be),
    CASE(random_operations_agree_with_a_list_of_what_is_live),
    CASE(resets_beside_threads_leave_the_pool_whole),
    CASE(every_free_beside_a_reset_is_one_or_finds_its_block_lost),
    cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
};

int main(void)
{
    return sp_device_case_init()
               ? cmocka_run_group_tests_name("device_reset", tests, NULL, NULL)
               : 99;
}
