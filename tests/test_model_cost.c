/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's cost model: what work takes on the virtual clock, and that delays are no less. */
#include "config.h"

#include "tests/model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "src/model/private.h"
#include "src/util/util.h"

/* [bytes] of 1 ms at 12 GB/s. */
#define SIZE ((size_t)12000000)

static struct starpool_model_config shape_of(enum starpool_model_exec exec)
{
    struct starpool_model_config shape = sp_test_model_shape(2, exec);

    shape.cost = STARPOOL_MODEL_COST_STARPU;
    return shape;
}

static int begin_threads(void **state)
{
    struct starpool_model_config shape = shape_of(STARPOOL_MODEL_THREADS);

    (void)state;
    return sp_test_model_begin(&shape);
}

static int begin_inline(void **state)
{
    struct starpool_model_config shape = shape_of(STARPOOL_MODEL_INLINE);

    (void)state;
    return sp_test_model_begin(&shape);
}

#define BOTH(test) SP_TEST_BOTH_FROM(test, begin_threads, begin_inline)

static sp_cu_ptr get_memory(size_t size)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAlloc(&ptr, size));
    return ptr;
}

static sp_cu_ptr get_pinned(size_t size)
{
    void *host;

    assert_done(cuMemHostAlloc(&host, size, 0));
    return (uintptr_t)host;
}

/* ---- the virtual clock --------------------------------------------------------------- */

struct clock {
    sp_cu_stream stream;
    sp_cu_event begin, end;
};

/* What the stream is given from here to read() is measured, in microseconds. */
static struct clock start(void)
{
    struct clock clock = {sp_test_stream(SP_CU_STREAM_NON_BLOCKING), sp_test_event(),
                          sp_test_event()};

    assert_done(cuCtxSynchronize());
    assert_done(cuEventRecord(clock.begin, clock.stream));
    return clock;
}

static double read_us(const struct clock *clock)
{
    float ms;

    assert_done(cuEventRecord(clock->end, clock->stream));
    assert_done(cuEventSynchronize(clock->end));
    assert_done(cuEventElapsedTime(&ms, clock->begin, clock->end));
    return (double)ms * 1000;
}

/* Events tell milliseconds as floats. */
static void assert_us(double expected, double found)
{
    if (fabs(found - expected) > 1)
        fail_msg("%f us, not %f", found, expected);
}

static double time_of_copy(sp_cu_ptr target, sp_cu_ptr source, size_t size)
{
    struct clock clock = start();

    assert_done(cuMemcpyAsync(target, source, size, clock.stream));
    return read_us(&clock);
}

static void a_copy_takes_a_latency_and_its_bytes(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), pinned = get_pinned(SIZE);

    (void)state;
    assert_us(1010, time_of_copy(ptr, pinned, SIZE));
    assert_us(1010, time_of_copy(pinned, ptr, SIZE));
    assert_us(510, time_of_copy(ptr, pinned, SIZE / 2));
    assert_us(10, time_of_copy(ptr, pinned, 1));
}

static void pageable_memory_is_slower_than_pinned(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE);
    char *host = calloc(1, SIZE);

    (void)state;
    assert_non_null(host);
    assert_us(2015, time_of_copy(ptr, (uintptr_t)host, SIZE));
    assert_us(2015, time_of_copy((uintptr_t)host, ptr, SIZE));
    assert_done(cuMemHostRegister(host, SIZE, 0));
    assert_us(1010, time_of_copy(ptr, (uintptr_t)host, SIZE));
    assert_done(cuMemHostUnregister(host));
    free(host);
}

static void a_copy_on_one_device_is_fast_and_between_two_it_is_not(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), same = get_memory(SIZE), there;
    sp_cu_context other;

    (void)state;
    assert_us(3 + 30, time_of_copy(same, ptr, SIZE));
    assert_done(cuCtxCreate(&other, 0, 1));
    there = get_memory(SIZE);
    assert_us(10 + 600, time_of_copy(there, ptr, SIZE));
    assert_us(3 + 30, time_of_copy(same, ptr, SIZE)); /* In a stream of the other device. */
}

static void without_peer_access_a_copy_goes_by_way_of_the_host(void **state)
{
    struct starpool_model_config shape = shape_of(STARPOOL_MODEL_INLINE);
    sp_cu_ptr ptr, there;
    sp_cu_context other;
    struct clock clock;

    (void)state;
    shape.peers = 0;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    ptr = get_memory(SIZE);
    assert_done(cuCtxCreate(&other, 0, 1));
    there = get_memory(SIZE);
    clock = start();
    assert_done(cuMemcpyPeerAsync(there, other, ptr, sp_model.context, SIZE, clock.stream));
    assert_us(2020, read_us(&clock));
}

static void functions_and_pools_and_memsets_take_their_time(void **state)
{
    sp_cu_ptr ptr = get_memory(16 * SP_TEST_SIZE), block;
    struct clock clock = start();

    (void)state;
    assert_done(cuMemsetD8Async(ptr, 1, 8000000, clock.stream));
    assert_us(3 + 10, read_us(&clock));
    assert_done(cuLaunchHostFunc(clock.stream, free, NULL));
    assert_us(33, read_us(&clock));
    assert_done(cuMemAllocAsync(&block, 1000, clock.stream));
    assert_done(cuMemFreeAsync(block, clock.stream));
    assert_us(35, read_us(&clock));
}

static void a_kernel_takes_a_latency_and_its_bytes(void **state)
{
    struct clock clock = start();
    struct sp_model_stream *stream;

    (void)state;
    sp_lock_take(sp_model_lock());
    assert_int_equal(sp_model_stream_get(clock.stream, &stream), SP_CU_SUCCESS);
    assert_int_equal(sp_model_submit(stream, SP_OP_KERNEL, 80000000, NULL, NULL, NULL), 0);
    sp_lock_give(sp_model_lock());
    assert_us(5 + 100, read_us(&clock));
}

static void streams_do_not_wait_for_each_other(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), pinned = get_pinned(SIZE);
    sp_cu_ptr other = get_memory(SIZE), other_pinned = get_pinned(SIZE);
    struct clock first = start(), second = start();

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_done(cuMemcpyAsync(ptr, pinned, SIZE, first.stream));
    assert_done(cuMemcpyAsync(other_pinned, other, SIZE, second.stream));
    assert_us(1010, read_us(&second));
    assert_done(cuStreamWaitEvent(second.stream, first.end, 0)); /* Not recorded: no wait. */
    assert_us(3030, read_us(&first));
    assert_done(cuStreamWaitEvent(second.stream, first.end, 0));
    assert_us(3030, read_us(&second));
}

/* ---- calls of the host --------------------------------------------------------------- */

static void allocating_and_pinning_cost_what_starpu_measured(void **state)
{
    sp_cu_ptr ptr;
    struct clock clock = start();

    (void)state;
    ptr = get_memory(16 * SP_TEST_SIZE);
    assert_us(175, read_us(&clock));
    assert_done(cuMemFree(ptr));
    assert_us(175 + 750, read_us(&clock));
    (void)get_pinned(2 * SP_MIB);
    assert_us(175 + 750 + 1300, read_us(&clock));
}

/* The host is ahead of the device: what it does meanwhile costs no time of the device's. */
static void the_hosts_calls_are_hidden_behind_queued_work(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), pinned = get_pinned(SIZE);
    struct clock clock = start();

    (void)state;
    assert_done(cuMemcpyAsync(ptr, pinned, SIZE, clock.stream));
    (void)get_memory(1);
    assert_us(1010, read_us(&clock));
}

/* How long the host waits for a copy that is queued in a stream. */
static double host_time_of_copy(sp_cu_ptr target, sp_cu_ptr source)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct clock clock = start();

    assert_done(cuMemcpyAsync(target, source, SIZE, stream));
    return read_us(&clock);
}

static void the_host_waits_for_copies_into_pageable_memory(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), pinned = get_pinned(2 * SIZE);
    char *host = calloc(1, SIZE);

    (void)state;
    assert_non_null(host);
    assert_us(2015, host_time_of_copy((uintptr_t)host, ptr));
    assert_us(0, host_time_of_copy(pinned, ptr));
    assert_us(0, host_time_of_copy(ptr, pinned));
    assert_true(host_time_of_copy(pinned + SIZE, pinned) > 100);
    free(host);
}

static void without_a_cost_model_nothing_takes_time(void **state)
{
    struct starpool_model_config shape = sp_test_model_shape(1, STARPOOL_MODEL_INLINE);
    sp_cu_ptr ptr;

    (void)state;
    shape.cost = STARPOOL_MODEL_COST_NONE;
    shape.has_delays = true;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    ptr = get_memory(SIZE);
    assert_us(0, time_of_copy(ptr, get_pinned(SIZE), SIZE));
}

static void a_cost_that_there_is_not_is_refused(void **state)
{
    struct starpool_model_config shape = shape_of(STARPOOL_MODEL_INLINE);

    (void)state;
    sp_model_reset();
    shape.cost = (enum starpool_model_cost)2;
    assert_status(STARPOOL_EINVAL, starpool_model_configure(&shape));
    /* A program that was built when the struct ended there says nothing of it. */
    shape.struct_size = offsetof(struct starpool_model_config, cost);
    assert_ok(starpool_model_configure(&shape));
    shape.struct_size--;
    assert_status(STARPOOL_EINVAL, starpool_model_configure(&shape));
}

/* ---- delays -------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Only that it is not less: a machine may be as slow as it likes. */
static void delays_take_no_less_than_the_virtual_clock_says(void **state)
{
    struct starpool_model_config shape = shape_of(STARPOOL_MODEL_THREADS);
    sp_cu_ptr ptr, pinned;
    struct clock clock;
    uint64_t before;

    (void)state;
    shape.has_delays = true;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    before = now_us();
    ptr = get_memory(SIZE);
    pinned = get_pinned(SIZE);
    assert_true(now_us() - before >= 175 + SIZE / SP_MIB * 650);
    clock = start();
    before = now_us();
    for (int i = 0; i < 4; i++)
        assert_done(cuMemcpyAsync(ptr, pinned, SIZE, clock.stream));
    assert_us(4040, read_us(&clock));
    assert_true(now_us() - before >= 4040);
}

/* Inside calls nothing is waited for that a thread would execute meanwhile. */
static void delays_inline_are_those_of_the_hosts_own_calls(void **state)
{
    struct starpool_model_config shape = shape_of(STARPOOL_MODEL_INLINE);
    uint64_t before;

    (void)state;
    shape.has_delays = true;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    before = now_us();
    assert_us(1010, time_of_copy(get_memory(SIZE), get_pinned(SIZE), SIZE));
    assert_true(now_us() - before >= 175 + SIZE / SP_MIB * 650);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_copy_takes_a_latency_and_its_bytes),
        BOTH(pageable_memory_is_slower_than_pinned),
        BOTH(a_copy_on_one_device_is_fast_and_between_two_it_is_not),
        BOTH(without_peer_access_a_copy_goes_by_way_of_the_host),
        BOTH(functions_and_pools_and_memsets_take_their_time),
        BOTH(a_kernel_takes_a_latency_and_its_bytes),
        BOTH(streams_do_not_wait_for_each_other),
        BOTH(allocating_and_pinning_cost_what_starpu_measured),
        BOTH(the_hosts_calls_are_hidden_behind_queued_work),
        BOTH(the_host_waits_for_copies_into_pageable_memory),
        BOTH(without_a_cost_model_nothing_takes_time),
        BOTH(a_cost_that_there_is_not_is_refused),
        BOTH(delays_take_no_less_than_the_virtual_clock_says),
        BOTH(delays_inline_are_those_of_the_hosts_own_calls),
    };

    return cmocka_run_group_tests_name("model_cost", tests, NULL, NULL);
}
