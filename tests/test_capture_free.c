/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of pools that captured work may use: what becomes of them when they are freed in the
 * capture or after it, on the CPU model. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/capture.h>
#include <starpool/pool.h>
#include <starpool/stats.h>

#include "src/pool/private.h"
#include "src/util/util.h"
#include "tests/capture_fixture.h"
#include "tests/fixture.h"

#define SIZE       ((size_t)1 << 20)
#define N_LAUNCHES 100

static struct starpool_stats stats_of(struct starpool_pool *pool)
{
    return sp_fixture_stats_of(pool);
}

static void fill(void *ptr, unsigned char value, sp_cu_stream stream)
{
    sp_capture_fill(ptr, value, SIZE, stream);
    assert_cu(SUCCESS, on.driver->cuStreamSynchronize(stream));
}

static void copy(void *target, const void *source, sp_cu_stream stream)
{
    assert_cu(SUCCESS,
              on.driver->cuMemcpyAsync((uintptr_t)target, (uintptr_t)source, SIZE, stream));
}

/* ---- the three settings ------------------------------------------------------------------ */

/* A capture copies from a block that was allocated before, and frees it. */
struct scene {
    struct starpool_pool *pool;
    char *block, *result;
    sp_cu_exec exec;
    enum starpool_status answer; /* to the free */
};

static struct scene capture_scene(enum starpool_kind kind,
                                  enum starpool_captured_free captured_free)
{
    struct scene scene = {.pool = sp_capture_pool(kind, STARPOOL_CAPTURE_NODES, captured_free)};

    scene.block = sp_driver_fixture_alloc(scene.pool, on.a, SIZE);
    scene.result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    fill(scene.block, 1, on.a);
    sp_capture_begin(on.a);
    copy(scene.result, scene.block, on.a);
    scene.answer = starpool_free(scene.block, on.a);
    scene.exec = sp_capture_instantiate(sp_capture_end(on.a));
    assert_ok(starpool_stream_synchronize(on.a));
    return scene;
}

/* Another stream allocates as much and writes it, before each launch. How many launches copy
 * what was captured. */
static size_t launch_beside(struct scene *scene, char **other_out)
{
    size_t n_right = 0;

    *other_out = sp_driver_fixture_alloc(scene->pool, on.b, SIZE);
    for (size_t i = 0; i < N_LAUNCHES; i++) {
        fill(*other_out, 9, on.b);
        fill(scene->result, 0, on.a);
        sp_capture_launch(scene->exec, on.a);
        n_right += scene->result[0] == 1 && scene->result[SIZE - 1] == 1;
    }
    return n_right;
}

static void end_scene(struct scene *scene, char *other)
{
    assert_ok(starpool_free(other, on.b));
    assert_ok(starpool_stream_synchronize(on.b));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(scene->exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(scene->pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(scene->pool).n_live, 0);
    assert_ok(starpool_free(scene->result, STARPOOL_STREAM_HOST));
    starpool_pool_destroy(scene->pool);
}

static void check_with_graph(enum starpool_kind kind)
{
    struct scene scene = capture_scene(kind, STARPOOL_FREE_WITH_GRAPH);
    struct starpool_block_info info;
    char *other;

    assert_ok(scene.answer);
    assert_int_equal(stats_of(scene.pool).graph_held_bytes, SIZE);
    assert_int_equal(stats_of(scene.pool).n_captured_frees, 1);
    info = sp_capture_info(scene.block + SIZE - 1);
    assert_int_equal(info.owner, STARPOOL_OWNER_POOL);
    assert_int_equal(info.state, STARPOOL_BLOCK_HELD);
    assert_true(info.capture_id != 0);
    assert_int_equal(launch_beside(&scene, &other), N_LAUNCHES);
    assert_ptr_not_equal(other, scene.block);
    /* It has been freed, and is nobody's to free. */
    assert_status(STARPOOL_EINVAL, starpool_free(scene.block, on.b));
    assert_status(STARPOOL_EINVAL, starpool_free(scene.block, STARPOOL_STREAM_HOST));
    assert_status(STARPOOL_EINVAL, starpool_pool_of(scene.block, &info.pool));
    end_scene(&scene, other);
}

static void block_of_the_host_freed_in_a_capture_lives_with_the_graph(void **state)
{
    (void)state;
    check_with_graph(STARPOOL_HOST);
}

static void block_of_the_device_freed_in_a_capture_lives_with_the_graph(void **state)
{
    (void)state;
    check_with_graph(STARPOOL_DEVICE);
}

/* The caller has vouched for what is not so: that is what the default is for. */
static void check_at_end(enum starpool_kind kind)
{
    struct scene scene = capture_scene(kind, STARPOOL_FREE_AT_CAPTURE_END);
    char *other;

    assert_ok(scene.answer);
    assert_int_equal(stats_of(scene.pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(scene.pool).n_live, 0);
    assert_ok(starpool_stream_synchronize(on.a));
    assert_int_equal(launch_beside(&scene, &other), 0);
    assert_ptr_equal(other, scene.block);
    end_scene(&scene, other);
}

static void block_of_the_host_is_free_at_the_end_of_the_capture_if_so_set(void **state)
{
    (void)state;
    check_at_end(STARPOOL_HOST);
}

static void block_of_the_device_is_free_at_the_end_of_the_capture_if_so_set(void **state)
{
    (void)state;
    check_at_end(STARPOOL_DEVICE);
}

static void free_in_a_capture_is_refused_if_so_set(void **state)
{
    struct scene scene = capture_scene(STARPOOL_DEVICE, STARPOOL_FREE_REFUSE);
    char *other;

    (void)state;
    assert_status(STARPOOL_EINVAL, scene.answer);
    assert_int_equal(stats_of(scene.pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(scene.pool).n_live, 1);
    assert_int_equal(sp_capture_info(scene.block).state, STARPOOL_BLOCK_LIVE);
    assert_int_equal(launch_beside(&scene, &other), N_LAUNCHES);
    assert_ok(starpool_free(scene.block, on.b));
    end_scene(&scene, other);
}

static void free_at_the_end_waits_while_the_stream_is_captured(void **state)
{
    struct starpool_pool *pool =
        sp_capture_pool(STARPOOL_HOST, STARPOOL_CAPTURE_NODES, STARPOOL_FREE_AT_CAPTURE_END);
    void *block = sp_driver_fixture_alloc(pool, STARPOOL_STREAM_HOST, SIZE);

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_free(block, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block, on.a));
    assert_int_equal(stats_of(pool).graph_held_bytes, SIZE);
    assert_int_equal(sp_capture_info(block).state, STARPOOL_BLOCK_HELD);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    assert_int_equal(stats_of(pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(pool).n_live, 0);
    starpool_pool_destroy(pool);
}

/* The stream of each thread has the same handle. */
struct settling {
    struct starpool_pool *pool;
    uint64_t held;
};

static void *settle_elsewhere(void *arg)
{
    struct settling *settling = arg;
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    (void)on.driver->cuCtxSetCurrent(on.context);
    if (starpool_pool_stats(settling->pool, &stats) == STARPOOL_OK)
        settling->held = stats.graph_held_bytes;
    (void)on.driver->cuCtxSetCurrent(NULL);
    return NULL;
}

static void another_threads_stream_does_not_end_the_capture_of_this_one(void **state)
{
    struct settling settling = {
        sp_capture_pool(STARPOOL_HOST, STARPOOL_CAPTURE_NODES, STARPOOL_FREE_AT_CAPTURE_END),
        0};
    void *block = sp_driver_fixture_alloc(settling.pool, STARPOOL_STREAM_HOST, SIZE);
    pthread_t thread;

    (void)state;
    sp_capture_begin(STARPOOL_STREAM_PER_THREAD);
    assert_ok(starpool_free(block, STARPOOL_STREAM_PER_THREAD));
    assert_int_equal(pthread_create(&thread, NULL, settle_elsewhere, &settling), 0);
    pthread_join(thread, NULL);
    assert_int_equal(settling.held, SIZE);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(STARPOOL_STREAM_PER_THREAD)));
    assert_int_equal(stats_of(settling.pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(settling.pool).n_live, 0);
    starpool_pool_destroy(settling.pool);
}

/* ---- how long it is held ----------------------------------------------------------------- */

static void block_is_held_for_graph_executables_and_launches(void **state)
{
    void *block = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    sp_cu_graph graph;
    sp_cu_exec exec;

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_free(block, on.a));
    graph = sp_capture_end(on.a);
    assert_cu(SUCCESS, on.driver->cuGraphInstantiate(&exec, graph, 0));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).graph_held_bytes, SIZE);
    sp_gate_close_in(on.a);
    assert_cu(SUCCESS, on.driver->cuGraphLaunch(exec, on.a));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).graph_held_bytes, SIZE);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.a));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(on.pool).n_live, 0);
}

static void capture_that_is_lost_lets_go_at_once(void **state)
{
    void *block = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    void *in_arena;
    sp_cu_graph graph;

    (void)state;
    sp_capture_begin(on.a);
    in_arena = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    assert_ok(starpool_free(block, on.a));
    assert_cu(STREAM_CAPTURE_UNSUPPORTED, on.driver->cuStreamSynchronize(on.a));
    assert_status(STARPOOL_ECAPTURE_INVALIDATED, starpool_free(in_arena, on.a));
    assert_cu(STREAM_CAPTURE_INVALIDATED, on.driver->cuStreamEndCapture(on.a, &graph));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(on.pool).n_live, 0);
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, 0);
    assert_int_equal(stats_of(captures.arena).n_live, 0);
}

static void pool_that_outlives_its_graphs_goes_whole(void **state)
{
    struct starpool_pool *pool =
        sp_capture_pool(STARPOOL_DEVICE, STARPOOL_CAPTURE_ARENA, STARPOOL_FREE_WITH_GRAPH);
    size_t before, after, total;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuMemGetInfo(&before, &total));
    sp_capture_begin(on.a);
    assert_non_null(sp_driver_fixture_alloc(pool, on.a, 64 * SP_MIB));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    sp_capture_wait_for_destructors();
    starpool_pool_destroy(pool);
    assert_cu(SUCCESS, on.driver->cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
}

static void next_allocation_takes_what_a_graph_has_left(void **state)
{
    void *block = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_free(block, on.a));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    sp_capture_wait_for_destructors();
    assert_ptr_equal(sp_driver_fixture_alloc(on.host, on.b, SIZE), block);
    assert_ok(starpool_free(block, on.b));
    assert_ok(starpool_stream_synchronize(on.b));
}

/* ---- blocks that are kept ---------------------------------------------------------------- */

static void check_kept(struct starpool_pool *pool, starpool_stream allocated,
                       starpool_stream freed)
{
    char *block = sp_driver_fixture_alloc(pool, allocated, SIZE);
    sp_cu_exec exec;

    if (allocated != STARPOOL_STREAM_HOST)
        assert_ok(starpool_stream_synchronize(allocated));
    fill(block, 1, on.a);
    sp_capture_begin(on.a);
    assert_ok(starpool_graph_keep(on.a, block));
    assert_ok(starpool_graph_keep(on.a, block));
    exec = sp_capture_instantiate(sp_capture_end(on.a));
    assert_int_equal(sp_capture_info(block).state, STARPOOL_BLOCK_KEPT);
    assert_int_equal(stats_of(pool).graph_held_bytes, 0);
    assert_true(starpool_is_ready(block));
    assert_ok(starpool_free(block, freed));
    assert_status(STARPOOL_EINVAL, starpool_free(block, freed));
    assert_int_equal(sp_capture_info(block).state, STARPOOL_BLOCK_HELD);
    assert_int_equal(stats_of(pool).graph_held_bytes, SIZE);
    if (freed != STARPOOL_STREAM_HOST)
        assert_ok(starpool_stream_synchronize(freed));
    assert_int_equal(stats_of(pool).graph_held_bytes, SIZE);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(pool).graph_held_bytes, 0);
    assert_int_equal(stats_of(pool).n_live, 0);
}

static void kept_block_outlives_its_free(void **state)
{
    struct starpool_pool *const pools[] = {on.host, on.pool};
    const starpool_stream streams[] = {STARPOOL_STREAM_HOST, on.a, on.b};

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(pools); i++) {
        for (size_t j = 0; j < SP_ARRAY_SIZE(streams); j++) {
            for (size_t k = 0; k < SP_ARRAY_SIZE(streams); k++)
                check_kept(pools[i], streams[j], streams[k]);
        }
    }
}

static void kept_block_that_nobody_frees_stays_live(void **state)
{
    void *block = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);
    struct starpool_pool *pool;

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_graph_keep(on.a, block));
    assert_ok(starpool_pool_of(block, &pool));
    assert_ptr_equal(pool, on.host);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.host).n_live, 1);
    assert_int_equal(sp_capture_info(block).state, STARPOOL_BLOCK_LIVE);
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
    assert_int_equal(stats_of(on.host).n_live, 0);
}

static void block_is_held_for_the_last_graph_that_keeps_it(void **state)
{
    void *block = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_graph first, second, third;

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_graph_keep(on.a, block));
    first = sp_capture_end(on.a);
    sp_capture_begin(on.a);
    assert_ok(starpool_graph_keep(on.a, block));
    second = sp_capture_end(on.a);
    sp_capture_begin(on.a);
    assert_ok(starpool_free(block, on.a));
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(on.a, block));
    third = sp_capture_end(on.a);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(second));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(third));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.host).graph_held_bytes, SIZE);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(first));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.host).graph_held_bytes, 0);
    assert_int_equal(stats_of(on.host).n_live, 0);
}

/* The thread's cache would have it, and asks nobody. */
static void host_memory_that_a_captured_copy_reads_is_not_used_again(void **state)
{
    char *block = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);
    char *result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    void *others[64];
    sp_cu_exec exec;

    (void)state;
    memset(block, 1, SIZE);
    sp_capture_begin(on.a);
    copy(result, block, on.a);
    assert_ok(starpool_graph_keep(on.a, block));
    exec = sp_capture_instantiate(sp_capture_end(on.a));
    assert_int_equal(sp_free_if_ours(block), SP_FREED);
    assert_int_equal(sp_free_if_ours(block), SP_FREE_WRONG);
    for (size_t i = 0; i < SP_ARRAY_SIZE(others); i++) {
        others[i] = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);
        assert_ptr_not_equal(others[i], block);
        memset(others[i], 9, SIZE);
    }
    sp_capture_launch(exec, on.a);
    assert_int_equal(result[SIZE - 1], 1);
    for (size_t i = 0; i < SP_ARRAY_SIZE(others); i++)
        assert_ok(starpool_free(others[i], STARPOOL_STREAM_HOST));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.host).n_live, 0);
}

static void only_live_blocks_are_kept_and_only_for_captures(void **state)
{
    char *block = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);
    void *in_arena;

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(on.a, block));
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(STARPOOL_STREAM_HOST, block));
    sp_capture_begin(on.a);
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(on.a, NULL));
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(on.a, block + 256));
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(on.a, &state));
    in_arena = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    assert_ok(starpool_graph_keep(on.a, in_arena));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
}

/* A wait for the whole context would end a capture, and there is none. */
static void graph_that_lives_hinders_no_free_of_what_a_gone_stream_allocated(void **state)
{
    sp_cu_stream stream;
    sp_cu_exec exec;
    void *block;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    block = sp_driver_fixture_alloc(on.pool, stream, SIZE);
    sp_capture_begin(on.a);
    assert_non_null(sp_driver_fixture_alloc(captures.arena, on.a, SIZE));
    assert_cu(SUCCESS, on.driver->cuStreamDestroy(stream));
    assert_status(STARPOOL_ECAPTURE_UNSUPPORTED, starpool_free(block, STARPOOL_STREAM_HOST));
    exec = sp_capture_instantiate(sp_capture_end(on.a));
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).n_live, 0);
}

static void wrong_addresses_are_refused_in_a_capture_too(void **state)
{
    char *block = sp_driver_fixture_alloc(on.pool, on.a, SIZE);

    (void)state;
    assert_ok(starpool_stream_synchronize(on.a));
    sp_capture_begin(on.a);
    assert_status(STARPOOL_EINVAL, starpool_free(NULL, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block + 256, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(&state, on.a));
    assert_ok(starpool_free(block, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block, on.a));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
}

static void assert_says(void *ptr, starpool_stream stream, const char *words)
{
    enum starpool_status status;
    const char *text;

    sp_script_stderr_begin();
    status = starpool_free(ptr, stream);
    text = sp_script_stderr_end();
    assert_status(STARPOOL_EINVAL, status);
    assert_int_equal(sp_script_n_times(text, words), 1);
}

static void wrong_free_is_said_with_the_graph_that_has_the_memory(void **state)
{
    struct starpool_pool *const pools[] = {captures.arena, on.host};
    char *ptr;

    (void)state;
    sp_capture_begin(on.a);
    for (size_t i = 0; i < SP_ARRAY_SIZE(pools); i++) {
        ptr = sp_driver_fixture_alloc(pools[i], on.a, SIZE);
        assert_says(ptr + 256, on.a, "inside a block: 1048576 bytes");
        assert_says(ptr, on.b, "are in the arena of the graph");
        assert_ok(starpool_free(ptr, on.a));
        assert_says(ptr, on.a, "freed before: 1048576 bytes");
        assert_says(ptr, STARPOOL_STREAM_HOST, "are in the arena of the graph");
    }
    ptr = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    assert_says(ptr + 256, on.a, "are allocated by the graph");
    assert_ok(starpool_free(ptr, on.a));
    assert_says(ptr, on.a, "are allocated by the graph");
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_capture_fixture_setup, sp_capture_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: of so many messages a process logs no more. */
        CASE(wrong_free_is_said_with_the_graph_that_has_the_memory),
        CASE(block_of_the_host_freed_in_a_capture_lives_with_the_graph),
        CASE(block_of_the_device_freed_in_a_capture_lives_with_the_graph),
        CASE(block_of_the_host_is_free_at_the_end_of_the_capture_if_so_set),
        CASE(block_of_the_device_is_free_at_the_end_of_the_capture_if_so_set),
        CASE(free_in_a_capture_is_refused_if_so_set),
        CASE(free_at_the_end_waits_while_the_stream_is_captured),
        CASE(another_threads_stream_does_not_end_the_capture_of_this_one),
        CASE(block_is_held_for_graph_executables_and_launches),
        CASE(capture_that_is_lost_lets_go_at_once),
        CASE(pool_that_outlives_its_graphs_goes_whole),
        CASE(next_allocation_takes_what_a_graph_has_left),
        CASE(kept_block_outlives_its_free),
        CASE(kept_block_that_nobody_frees_stays_live),
        CASE(block_is_held_for_the_last_graph_that_keeps_it),
        CASE(host_memory_that_a_captured_copy_reads_is_not_used_again),
        CASE(only_live_blocks_are_kept_and_only_for_captures),
        CASE(graph_that_lives_hinders_no_free_of_what_a_gone_stream_allocated),
        CASE(wrong_addresses_are_refused_in_a_capture_too),
    };

    return sp_capture_fixture_init()
               ? cmocka_run_group_tests_name("capture_free", tests, NULL, NULL)
               : 99;
}
