/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ORDER-15 to ORDER-23 and ORDER-25: which freed memory may serve which stream. Each case has a
 * pool of its own in which one block has been freed, so that what comes next shows by its
 * address, or by what the pool reserves, whether that memory was taken. Where it must not be,
 * or where a driver is free to choose, it is most of what there is, so that whoever could take
 * it would have to. */
#include "config.h"

#include "tests/conformance_order.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define SIZE ((size_t)1 << 20)

static void raise_flag(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

void sp_case_await(sp_cu_stream stream)
{
    /* Static: if the case fails meanwhile, the stream still comes to it. */
    static atomic_bool is_here;
    sp_cu_context context;

    atomic_store(&is_here, false);
    assert_success(cu->cuLaunchHostFunc(stream, raise_flag, &is_here));
    while (!atomic_load(&is_here)) {
        /* Any call will do for a model that executes inside calls; this one asks for nothing.
         */
        assert_success(cu->cuCtxGetCurrent(&context));
        (void)sched_yield();
    }
}

/* A pool whose threshold keeps everything, with two streams, neither of which is blocking. */
struct scene {
    sp_cu_pool pool;
    sp_cu_stream freeing, taking;
    sp_cu_ptr freed;
};

static struct scene scene(bool follow, bool opportunistic, bool internal)
{
    struct scene made = {
        .pool = sp_case_pool(0), .freeing = sp_case_stream(), .taking = sp_case_stream()};

    sp_case_set_threshold(made.pool, UINT64_MAX);
    sp_case_set_reuse(made.pool, follow, opportunistic, internal);
    return made;
}

/* A block allocated, used and freed in the freeing stream. */
static void free_one(struct scene *scene, size_t size)
{
    scene->freed = sp_case_alloc(scene->pool, size, scene->freeing);
    sp_case_fill(scene->freed, 1, 4096, scene->freeing);
    sp_case_free(scene->freed, scene->freeing);
}

/* Another block of the size, by a stream, which frees it after having used it: does it have the
 * address of the freed one? */
static bool takes_freed(const struct scene *scene, size_t size, sp_cu_stream stream)
{
    sp_cu_ptr ptr = sp_case_alloc(scene->pool, size, stream);

    sp_case_fill(ptr, 2, 4096, stream);
    sp_case_free(ptr, stream);
    return ptr == scene->freed;
}

static void finish(const struct scene *scene)
{
    sp_case_release_all();
    sp_case_finish(scene->freeing);
    sp_case_finish(scene->taking);
}

/* ---- the same stream, and what the host has seen: with every flag off -----------------------
 */

void order_15_a_stream_has_at_once_what_it_freed_before(void)
{
    struct scene here = scene(false, false, false);

    (void)sp_case_stall(here.freeing);
    free_one(&here, SIZE);
    assert_true(takes_freed(&here, SIZE, here.freeing));
    /* All of that while the work before the free was still to come. */
    assert_false(sp_case_is_idle(here.freeing));
    finish(&here);
}

void order_15_memory_freed_in_a_stalled_stream_serves_that_stream_again_and_again(void)
{
    struct scene here = scene(false, false, false);
    uint64_t reserved;

    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    reserved = sp_case_reserved(here.pool);
    for (int i = 0; i < 4; i++)
        assert_true(takes_freed(&here, SP_BIG, here.freeing));
    assert_int_equal(sp_case_reserved(here.pool), reserved);
    finish(&here);
}

/* The pool holds one big block that the host has seen freed, so a second needs no growth. */
static void assert_seen_block_is_taken(struct scene *here)
{
    uint64_t reserved = sp_case_reserved(here->pool);

    assert_true(reserved >= SP_BIG);
    (void)takes_freed(here, SP_BIG, here->taking);
    assert_int_equal(sp_case_reserved(here->pool), reserved);
    finish(here);
}

void order_16_synchronising_the_freeing_stream_makes_its_memory_everybodys(void)
{
    struct scene here = scene(false, false, false);

    free_one(&here, SP_BIG);
    assert_success(cu->cuStreamSynchronize(here.freeing));
    assert_seen_block_is_taken(&here);
}

void order_16_synchronising_an_event_after_the_free_makes_the_memory_everybodys(void)
{
    struct scene here = scene(false, false, false);
    sp_cu_event event = sp_case_event();

    free_one(&here, SP_BIG);
    assert_success(cu->cuEventRecord(event, here.freeing));
    assert_success(cu->cuEventSynchronize(event));
    assert_seen_block_is_taken(&here);
}

void order_16_synchronising_the_context_makes_the_memory_everybodys(void)
{
    struct scene here = scene(false, false, false);

    free_one(&here, SP_BIG);
    assert_success(cu->cuCtxSynchronize());
    assert_seen_block_is_taken(&here);
}

/* ---- dependencies: events and the null stream -----------------------------------------------
 */

/* `waiting` comes after all that `stream` has been given. */
static void wait_for(sp_cu_stream waiting, sp_cu_stream stream)
{
    sp_cu_event event = sp_case_event();

    assert_success(cu->cuEventRecord(event, stream));
    assert_success(cu->cuStreamWaitEvent(waiting, event, 0));
}

void order_17_a_wait_for_an_event_after_the_free_allows_reuse(void)
{
    struct scene here = scene(true, false, false);

    (void)sp_case_stall(here.freeing);
    free_one(&here, SIZE);
    wait_for(here.taking, here.freeing);
    assert_true(takes_freed(&here, SIZE, here.taking));
    assert_false(sp_case_is_idle(here.freeing));
    finish(&here);
}

void order_17_a_wait_through_a_third_stream_allows_reuse(void)
{
    struct scene here = scene(true, false, false);
    sp_cu_stream third = sp_case_stream();

    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    wait_for(third, here.freeing);
    wait_for(here.taking, third);
    assert_true(takes_freed(&here, SP_BIG, here.taking));
    finish(&here);
}

void order_17_an_event_recorded_before_the_free_allows_nothing(void)
{
    struct scene here = scene(true, false, false);

    (void)sp_case_stall(here.freeing);
    here.freed = sp_case_alloc(here.pool, SP_BIG, here.freeing);
    wait_for(here.taking, here.freeing);
    sp_case_fill(here.freed, 1, SIZE, here.freeing);
    sp_case_free(here.freed, here.freeing);
    /* The memory is in use for as long as the stream is held. */
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    finish(&here);
}

void order_18_work_in_the_null_stream_between_blocking_streams_allows_reuse(void)
{
    struct scene here = scene(true, false, false);
    sp_cu_ptr elsewhere = sp_case_alloc(sp_case_pool(0), SIZE, NULL);
    bool is_taken;

    here.freeing = sp_case_blocking_stream();
    here.taking = sp_case_blocking_stream();
    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    sp_case_fill(elsewhere, 1, SIZE, NULL);
    is_taken = takes_freed(&here, SP_BIG, here.taking);
    assert_false(sp_case_is_idle(here.taking));
    sp_case_observe("ORDER-18", "memory is %s", is_taken ? "taken" : "not taken");
    if (cu->is_model) /* A real driver may, and need not. */
        assert_true(is_taken);
    finish(&here);
    sp_case_free(elsewhere, NULL);
    sp_case_finish(NULL);
}

void order_18_a_free_in_the_null_stream_serves_a_blocking_stream(void)
{
    struct scene here = scene(true, false, false);
    bool is_taken;

    here.freeing = NULL;
    here.taking = sp_case_blocking_stream();
    (void)sp_case_stall(NULL);
    free_one(&here, SP_BIG);
    is_taken = takes_freed(&here, SP_BIG, here.taking);
    assert_false(sp_case_is_idle(here.taking));
    sp_case_observe("ORDER-18", "memory freed in it is %s", is_taken ? "taken" : "not taken");
    if (cu->is_model)
        assert_true(is_taken);
    finish(&here);
}

void order_18_a_non_blocking_stream_is_not_ordered_by_the_null_stream(void)
{
    struct scene here = scene(true, false, false);
    sp_cu_ptr elsewhere = sp_case_alloc(sp_case_pool(0), SIZE, NULL);

    here.freeing = sp_case_blocking_stream();
    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    sp_case_fill(elsewhere, 1, SIZE, NULL);
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    /* Nothing holds that stream. */
    sp_case_finish(here.taking);
    finish(&here);
    sp_case_free(elsewhere, NULL);
    sp_case_finish(NULL);
}

void order_19_without_the_flag_a_wait_for_an_event_allows_nothing(void)
{
    struct scene here = scene(false, false, false);

    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    wait_for(here.taking, here.freeing);
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    finish(&here);
}

/* ---- frees that have executed ---------------------------------------------------------------
 */

void order_20_an_executed_free_serves_any_stream(void)
{
    struct scene here = scene(false, true, false);

    free_one(&here, SIZE);
    sp_case_await(here.freeing);
    assert_true(takes_freed(&here, SIZE, here.taking));
    finish(&here);
}

void order_21_a_free_that_has_not_executed_serves_no_other_stream(void)
{
    struct scene here = scene(false, true, false);

    here.freed = sp_case_alloc(here.pool, SP_BIG, here.freeing);
    sp_case_finish(here.freeing);
    /* The stream has executed something, but not the free. */
    (void)sp_case_stall(here.freeing);
    sp_case_fill(here.freed, 1, SIZE, here.freeing);
    sp_case_free(here.freed, here.freeing);
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    finish(&here);
}

void order_22_an_executed_free_that_the_host_has_not_seen_serves_no_other_stream(void)
{
    struct scene here = scene(false, false, false);

    free_one(&here, SP_BIG);
    sp_case_await(here.freeing);
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    finish(&here);
}

void order_22_synchronising_an_event_before_the_free_is_not_seeing_it(void)
{
    struct scene here = scene(false, false, false);
    sp_cu_event event = sp_case_event();

    assert_success(cu->cuEventRecord(event, here.freeing));
    free_one(&here, SP_BIG);
    sp_case_await(here.freeing);
    assert_success(cu->cuEventSynchronize(event));
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    finish(&here);
}

/* ---- when memory runs out -------------------------------------------------------------------
 */

/* A scene whose pool has room for one big block only. */
static struct scene narrow_scene(bool internal)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    struct scene made;

    props.max_size = 64 * SP_MIB;
    made = (struct scene){.pool = sp_case_pool_of(&props),
                          .freeing = sp_case_stream(),
                          .taking = sp_case_stream()};
    sp_case_set_threshold(made.pool, UINT64_MAX);
    sp_case_set_reuse(made.pool, false, false, internal);
    return made;
}

void order_23_a_full_pool_makes_a_stream_wait_for_another_streams_free(void)
{
    struct scene here = narrow_scene(true);
    sp_cu_ptr ptr;

    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    ptr = sp_case_alloc(here.pool, SP_BIG, here.taking);
    sp_case_fill(ptr, 2, 4096, here.taking);
    /* Nobody but the pool has made that stream wait. */
    assert_false(sp_case_is_idle(here.taking));
    sp_case_release_all();
    sp_case_assert_bytes(ptr, 2, 4096, here.taking);
    sp_case_free(ptr, here.taking);
    finish(&here);
}

void order_23_without_the_flag_a_full_pool_is_out_of_memory(void)
{
    struct scene here = narrow_scene(false);
    sp_cu_ptr ptr;

    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    assert_cu(SP_CU_OUT_OF_MEMORY,
              cu->cuMemAllocFromPoolAsync(&ptr, SP_BIG, here.pool, here.taking));
    /* The stream that freed it still has it. */
    assert_true(takes_freed(&here, SP_BIG, here.freeing));
    finish(&here);
}

void order_23_a_pool_grows_before_a_stream_has_to_wait(void)
{
    struct scene here = scene(false, false, true);

    (void)sp_case_stall(here.freeing);
    free_one(&here, SP_BIG);
    assert_false(takes_freed(&here, SP_BIG, here.taking));
    /* It has no wait, and so ends although the other is held. */
    sp_case_finish(here.taking);
    finish(&here);
}

/* ---- ORDER-25: only legality is promised ----------------------------------------------------
 */

enum { N_STREAMS = 4, N_LIVE = 48 };

struct live {
    sp_cu_ptr ptr;
    size_t size;
    unsigned stream; /* has the newest use */
    unsigned char tag;
};

struct stress {
    uint64_t random;
    sp_cu_pool pool;
    sp_cu_stream streams[N_STREAMS];
    sp_cu_event event;
    struct live live[N_LIVE];
    size_t n_live;
    /* [room] What blocks held when they were freed, and should: first, middle, last byte. */
    unsigned char (*found)[3];
    unsigned char *tags; /* [room] */
    size_t n_freed, room;
};

static void stress_alloc(struct stress *stress)
{
    struct live block = {.size = 1 + sp_test_random_below(&stress->random, SP_MIB / 2),
                         .stream = (unsigned)sp_test_random_below(&stress->random, N_STREAMS),
                         .tag = (unsigned char)sp_test_random(&stress->random)};

    block.ptr = sp_case_alloc(stress->pool, block.size, stress->streams[block.stream]);
    assert_int_equal(block.ptr % 256, 0);
    for (size_t i = 0; i < stress->n_live; i++) {
        const struct live *other = &stress->live[i];

        assert_true(block.ptr + block.size <= other->ptr ||
                    other->ptr + other->size <= block.ptr);
    }
    sp_case_fill(block.ptr, block.tag, block.size, stress->streams[block.stream]);
    stress->live[stress->n_live++] = block;
}

/* Free a block, behind a look at what is in it, in its stream or in one that waits for it. */
static void stress_free(struct stress *stress)
{
    size_t i = sp_test_random_below(&stress->random, stress->n_live);
    struct live block = stress->live[i];
    unsigned by = (unsigned)sp_test_random_below(&stress->random, N_STREAMS);
    sp_cu_stream stream = stress->streams[by];
    size_t offsets[3] = {0, block.size / 2, block.size - 1};

    stress->live[i] = stress->live[--stress->n_live];
    if (by != block.stream) {
        assert_success(cu->cuEventRecord(stress->event, stress->streams[block.stream]));
        assert_success(cu->cuStreamWaitEvent(stream, stress->event, 0));
    }
    for (int j = 0; j < 3; j++)
        assert_success(cu->cuMemcpyDtoHAsync(&stress->found[stress->n_freed][j],
                                             block.ptr + offsets[j], 1, stream));
    stress->tags[stress->n_freed++] = block.tag;
    sp_case_free(block.ptr, stream);
}

static void stress_step(struct stress *stress)
{
    uint64_t random = stress->random;
    size_t what = sp_test_random_below(&stress->random, 64);

    if (what == 0)
        assert_success(cu->cuStreamSynchronize(stress->streams[random % N_STREAMS]));
    else if (what == 1)
        sp_case_set_reuse(stress->pool, (random & 1) != 0, (random & 2) != 0,
                          (random & 4) != 0);
    else if (what == 2)
        assert_success(cu->cuMemPoolTrimTo(stress->pool, 0));
    else if (stress->n_freed < stress->room - N_LIVE &&
             (stress->n_live == 0 || (what % 2 == 0 && stress->n_live < N_LIVE)))
        stress_alloc(stress);
    else if (stress->n_live > 0)
        stress_free(stress);
}

void order_25_no_two_blocks_ever_share_an_address_at_the_same_time(void)
{
    size_t n = sp_test_scaled(2000);
    struct stress stress = {.random = sp_test_seed(), .room = n + 2 * N_LIVE};

    stress.pool = sp_case_pool(0);
    stress.event = sp_case_event();
    for (unsigned i = 0; i < N_STREAMS; i++)
        stress.streams[i] = sp_case_stream();
    assert_success(cu->cuMemAllocHost((void **)&stress.found, 4 * stress.room));
    stress.tags = (unsigned char *)stress.found + 3 * stress.room;

    for (size_t i = 0; i < n; i++)
        stress_step(&stress);
    while (stress.n_live > 0)
        stress_free(&stress);
    for (unsigned i = 0; i < N_STREAMS; i++)
        sp_case_finish(stress.streams[i]);
    /* Somebody else's tag would be that of a block there at the same time. */
    for (size_t i = 0; i < stress.n_freed; i++)
        for (int j = 0; j < 3; j++)
            assert_int_equal(stress.found[i][j], stress.tags[i]);
    assert_true(stress.n_freed > 0);
    assert_int_equal(sp_case_used(stress.pool), 0);
    assert_success(cu->cuMemFreeHost(stress.found));
}
