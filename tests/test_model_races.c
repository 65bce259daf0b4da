/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's race detector: each kind of race is found, each kind of order is accepted. */
#include "config.h"

#include "tests/exec_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/private.h"
#include "src/model/races.h"
#include "src/util/util.h"

#define SIZE ((size_t)4096)

static int begin(enum starpool_model_exec exec)
{
    struct starpool_model_config shape = sp_test_model_shape(2, exec);

    shape.finds_races = true;
    return sp_test_model_begin(&shape);
}

static int begin_threads(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_THREADS);
}

static int begin_inline(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_INLINE);
}

#define BOTH(test) SP_TEST_BOTH_FROM(test, begin_threads, begin_inline)

static uint64_t count_races(void)
{
    return starpool_model_violations(NULL);
}

static sp_cu_ptr get_memory(size_t size)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAlloc(&ptr, size));
    return ptr;
}

static void set(sp_cu_ptr ptr, size_t size, sp_cu_stream stream)
{
    assert_done(cuMemsetD8Async(ptr, 1, size, stream));
    sp_test_outwait(stream);
}

static void copy(sp_cu_ptr target, sp_cu_ptr source, size_t size, sp_cu_stream stream)
{
    assert_done(cuMemcpyDtoDAsync(target, source, size, stream));
    sp_test_outwait(stream);
}

static void launch(sp_cu_exec exec, sp_cu_stream stream)
{
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_outwait(stream);
}

/* As a kernel with an argument to it would. */
static void use(sp_cu_ptr ptr, size_t size, sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    struct sp_point at;

    sp_lock_take(sp_model_lock());
    assert_int_equal(sp_model_stream_get(handle, &stream), SP_CU_SUCCESS);
    assert_int_equal(sp_model_prepare(stream, &at), SP_CU_SUCCESS);
    assert_int_equal(sp_model_use(stream, at, (uintptr_t)ptr, size), SP_CU_SUCCESS);
    assert_int_equal(sp_model_submit(stream, SP_OP_KERNEL, size, NULL, NULL, NULL),
                     SP_CU_SUCCESS);
    sp_lock_give(sp_model_lock());
}

/* ---- races --------------------------------------------------------------------------- */

static void two_writes_without_order_are_a_race_told_with_both(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE), source = get_memory(SIZE);
    const char *text;

    (void)state;
    set(ptr, SIZE, first);
    copy(ptr + 100, source, 8, second);
    assert_int_equal(starpool_model_violations(&text), 1);
    assert_non_null(strstr(text, "race: a copy to 8 bytes"));
    assert_non_null(strstr(text, "a memset of 4096 bytes"));
    /* Told once for each operation, however many it races with. */
    set(ptr, SIZE, first);
    assert_int_equal(count_races(), 2);
}

static void a_read_and_a_write_without_order_are_a_race_either_way(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE), other = get_memory(SIZE), third = get_memory(SIZE);

    (void)state;
    copy(other, ptr, SIZE, first);
    set(ptr, 1, second);
    assert_int_equal(count_races(), 1);
    set(other + SIZE - 1, 1, first);
    copy(third, other + SIZE - 1, 1, second);
    assert_int_equal(count_races(), 2);
}

static void reads_are_no_race_and_a_write_races_with_the_first_of_them(void **state)
{
    sp_cu_stream streams[3], last = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE), others[3];
    sp_cu_event event = sp_test_event();

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        streams[i] = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
        others[i] = get_memory(SIZE);
        copy(others[i], ptr, SIZE, streams[i]);
        if (i == 0)
            continue;
        assert_done(cuEventRecord(event, streams[i]));
        assert_done(cuStreamWaitEvent(last, event, 0));
    }
    assert_int_equal(count_races(), 0);
    set(ptr, SIZE, last);
    assert_int_equal(count_races(), 1);
}

static void a_kernels_argument_races_only_with_what_is_known_to_write(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE), other = get_memory(SIZE);

    (void)state;
    use(ptr, SIZE, first);
    use(ptr, SIZE, second);
    copy(other, ptr, SIZE, second);
    assert_int_equal(count_races(), 0);
    set(ptr, SIZE, second);
    assert_int_equal(count_races(), 1);
    use(ptr, SIZE, first);
    assert_int_equal(count_races(), 2);
}

static void pinned_and_managed_memory_is_watched_too(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr managed, ptr = get_memory(SIZE);
    void *pinned;

    (void)state;
    assert_done(cuMemAllocManaged(&managed, SIZE, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(cuMemHostAlloc(&pinned, SIZE, 0));
    set(managed, SIZE, first);
    copy(managed, ptr, SIZE, second);
    assert_int_equal(count_races(), 1);
    assert_done(cuMemcpyDtoHAsync(pinned, ptr, SIZE, first));
    sp_test_outwait(first);
    assert_done(cuMemcpyHtoDAsync(managed, pinned, 1, second));
    assert_int_equal(count_races(), 2);
}

static void one_operation_does_not_race_with_itself(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    copy(ptr + 8, ptr, SIZE - 8, stream);
    copy(ptr, ptr + 8, SIZE - 8, stream);
    assert_int_equal(count_races(), 0);
}

static void nothing_is_told_unless_races_are_looked_for(void **state)
{
    struct starpool_model_config shape = sp_test_model_shape(1, STARPOOL_MODEL_INLINE);
    sp_cu_stream first, second;
    sp_cu_ptr ptr;

    (void)state;
    shape.finds_races = false;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    ptr = get_memory(SIZE);
    set(ptr, SIZE, first);
    set(ptr, SIZE, second);
    assert_int_equal(count_races(), 0);
    assert_int_equal(sp_model_races_count(), 0);
}

/* ---- order --------------------------------------------------------------------------- */

static void an_event_that_is_waited_for_is_order(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    set(ptr, SIZE, first);
    assert_done(cuEventRecord(event, first));
    assert_done(cuStreamWaitEvent(second, event, 0));
    set(ptr, SIZE, second);
    assert_int_equal(count_races(), 0);
    set(ptr, SIZE, first); /* The wait is one way. */
    assert_int_equal(count_races(), 1);
}

static void what_comes_after_the_event_is_not_ordered_by_it(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    assert_done(cuEventRecord(event, first));
    set(ptr, SIZE, first);
    assert_done(cuStreamWaitEvent(second, event, 0));
    set(ptr, SIZE, second);
    assert_int_equal(count_races(), 1);
}

static void the_legacy_stream_is_order_for_blocking_streams_only(void **state)
{
    sp_cu_stream blocking = sp_test_stream(SP_CU_STREAM_DEFAULT);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_DEFAULT);
    sp_cu_stream loose = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    set(ptr, SIZE, blocking);
    set(ptr, SIZE, NULL);
    set(ptr, SIZE, other);
    assert_int_equal(count_races(), 0);
    set(ptr, SIZE, loose);
    assert_int_equal(count_races(), 1);
}

static void what_the_host_has_waited_for_is_order_for_all(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    set(ptr, SIZE, first);
    assert_done(cuStreamSynchronize(first));
    set(ptr, SIZE, second);
    assert_done(cuEventRecord(event, second));
    assert_done(cuEventSynchronize(event));
    set(ptr, SIZE, first);
    assert_done(cuCtxSynchronize());
    set(ptr, SIZE, second);
    assert_int_equal(count_races(), 0);
}

/* The model's pools hand memory to another stream as soon as it is free, whether the program
 * has waited for that or not. */
static void memory_that_is_allocated_again_is_another_memory(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr, again;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_done(cuMemAllocAsync(&ptr, SIZE, first));
        set(ptr, SIZE, first);
        assert_done(cuMemFreeAsync(ptr, first));
        while (sp_model.driver->cuStreamQuery(first) == SP_CU_NOT_READY)
            continue;
        assert_done(cuMemAllocAsync(&again, SIZE, second));
        set(again, SIZE, second);
        assert_done(cuMemFreeAsync(again, second));
    }
    assert_int_equal(count_races(), 0);
}

/* ---- graphs -------------------------------------------------------------------------- */

static void nodes_of_a_graph_race_unless_a_path_connects_them(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SP_TEST_CELL), other = get_memory(SP_TEST_CELL);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node first = sp_test_add_set(graph, ptr, 1, NULL, 0);
    sp_cu_node second = sp_test_add_function(graph, free, NULL, &first, 1);
    sp_cu_exec exec;

    (void)state;
    (void)sp_test_add_copy(graph, other, ptr, &second, 1);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_int_equal(count_races(), 0);
    (void)sp_test_add_copy(graph, other, ptr, &second, 1);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_int_equal(count_races(), 1);
    assert_done(cuStreamSynchronize(stream));
}

static void a_childs_nodes_race_with_what_is_beside_the_child(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SP_TEST_CELL);
    sp_cu_graph child = sp_test_graph(), graph = sp_test_graph();
    sp_cu_node inner = sp_test_add_set(child, ptr, 1, NULL, 0), node;
    sp_cu_exec exec;

    (void)state;
    (void)sp_test_add_set(child, ptr, 1, &inner, 1);
    assert_done(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    (void)sp_test_add_set(graph, ptr, 2, &node, 1);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_int_equal(count_races(), 0);
    (void)sp_test_add_set(graph, ptr, 3, NULL, 0);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_int_equal(count_races(), 3); /* With both of the child's, and what is behind it. */
    assert_done(cuStreamSynchronize(stream));
}

static void launches_are_ordered_by_stream_and_by_executable(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SP_TEST_CELL), other = get_memory(SP_TEST_CELL);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_exec exec, same;

    (void)state;
    (void)sp_test_add_copy(graph, ptr, other, NULL, 0);
    exec = sp_test_exec(graph, 0);
    same = sp_test_exec(graph, 0);
    set(other, SP_TEST_CELL, first);
    launch(exec, first);
    launch(exec, second);
    set(other, SP_TEST_CELL, second);
    while (sp_model.driver->cuStreamQuery(second) == SP_CU_NOT_READY)
        continue;
    assert_int_equal(count_races(), 0);
    launch(same, first);
    assert_int_equal(count_races(), 0); /* The query has told the host. */
    launch(exec, second);
    assert_int_equal(count_races(), 1);
    assert_done(cuCtxSynchronize());
}

/* A launch's operations know what came before the one that it follows, though nothing has
 * waited for that. */
static void a_launch_follows_what_came_before_the_last_one(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SP_TEST_CELL), other = get_memory(SP_TEST_CELL);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_exec exec;

    (void)state;
    (void)sp_test_add_set(graph, ptr, 1, NULL, 0);
    exec = sp_test_exec(graph, 0);
    sp_test_hold(first);
    assert_done(cuMemsetD8Async(other, 1, SP_TEST_CELL, first));
    assert_done(cuGraphLaunch(exec, first));
    assert_done(cuGraphLaunch(exec, second));
    assert_done(cuMemsetD8Async(other, 2, SP_TEST_CELL, second));
    sp_test_release();
    assert_done(cuCtxSynchronize());
    assert_int_equal(count_races(), 0);
}

static void graphs_allocations_are_new_at_each_launch(void **state)
{
    sp_cu_stream streams[2];
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &node);
    sp_cu_exec exec;

    (void)state;
    node = sp_test_add_set(graph, ptr, 1, &node, 1);
    (void)sp_test_add_free(graph, ptr, &node, 1);
    exec = sp_test_exec(graph, 0);
    for (int i = 0; i < 10; i++) {
        streams[i % 2] = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
        assert_done(cuGraphLaunch(exec, streams[i % 2]));
    }
    assert_done(cuCtxSynchronize());
    assert_int_equal(count_races(), 0);
}

/* ---- memory of the detector ---------------------------------------------------------- */

static void ranges_are_merged_and_forgotten(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(64 * SIZE);

    (void)state;
    for (size_t i = 0; i < 64; i++)
        set(ptr + i * SIZE, SIZE / 2, stream);
    assert_int_equal(sp_model_races_count(), 64);
    set(ptr, 64 * SIZE, stream);
    assert_int_equal(sp_model_races_count(), 1);
    assert_done(cuStreamSynchronize(stream));
    set(ptr + SIZE, 1, stream);
    /* What the host has seen on both sides of it is gone. */
    assert_int_equal(sp_model_races_count(), 1);
    assert_done(cuMemFree(ptr));
    assert_int_equal(sp_model_races_count(), 0);
}

static void a_use_beyond_counting_is_no_error(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(16 * SP_TEST_SIZE);

    (void)state;
    for (size_t i = 0; i < ((size_t)1 << 16) + 100; i++)
        assert_done(cuMemsetD8Async(ptr + 2 * i, 1, 1, stream));
    assert_in_range(sp_model_races_count(), 1, (size_t)1 << 16);
    assert_int_equal(count_races(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(two_writes_without_order_are_a_race_told_with_both),
        BOTH(a_read_and_a_write_without_order_are_a_race_either_way),
        BOTH(reads_are_no_race_and_a_write_races_with_the_first_of_them),
        BOTH(a_kernels_argument_races_only_with_what_is_known_to_write),
        BOTH(pinned_and_managed_memory_is_watched_too),
        BOTH(one_operation_does_not_race_with_itself),
        BOTH(nothing_is_told_unless_races_are_looked_for),
        BOTH(an_event_that_is_waited_for_is_order),
        BOTH(what_comes_after_the_event_is_not_ordered_by_it),
        BOTH(the_legacy_stream_is_order_for_blocking_streams_only),
        BOTH(what_the_host_has_waited_for_is_order_for_all),
        BOTH(memory_that_is_allocated_again_is_another_memory),
        BOTH(nodes_of_a_graph_race_unless_a_path_connects_them),
        BOTH(a_childs_nodes_race_with_what_is_beside_the_child),
        BOTH(launches_are_ordered_by_stream_and_by_executable),
        BOTH(a_launch_follows_what_came_before_the_last_one),
        BOTH(graphs_allocations_are_new_at_each_launch),
        BOTH(ranges_are_merged_and_forgotten),
        BOTH(a_use_beyond_counting_is_no_error),
    };

    return cmocka_run_group_tests_name("model_races", tests, NULL, NULL);
}
