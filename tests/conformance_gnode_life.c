/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GNODE: the addresses of graphs' allocations, and their life: from the launch that allocates
 * them to the free, wherever that is. */
#include "config.h"

#include "tests/conformance_graph.h"

#include <stdatomic.h>
#include <string.h>

#define SIZE ((size_t)1 << 20)

/* ---- addresses -------------------------------------------------------------------------- */

static bool overlap(sp_cu_ptr a, sp_cu_ptr b)
{
    return a < b + SIZE && b < a + SIZE;
}

static void gnode_13_allocations_that_may_live_at_the_same_time_are_apart(void)
{
    sp_cu_graph graph = sp_case_graph();
    sp_cu_ptr ptrs[8];
    sp_cu_node root = sp_case_empty_node(graph, NULL), last;

    /* Four branches, in each one that is freed before the next; and no free comes before the
     * other branches. */
    for (int i = 0; i < 8; i += 2) {
        ptrs[i] = sp_case_alloc_node(graph, root, SIZE, &last);
        last = sp_case_free_node(graph, last, ptrs[i]);
        ptrs[i + 1] = sp_case_alloc_node(graph, last, SIZE, &last);
    }
    for (int i = 0; i < 8; i++) {
        for (int j = i + 1; j < 8; j++)
            assert_true(i / 2 == j / 2 || !overlap(ptrs[i], ptrs[j]));
    }
    sp_case_destroy_graph(graph);
}

static void gnode_13_an_allocation_behind_a_free_may_have_its_address(void)
{
    sp_cu_graph graph = sp_case_graph();
    sp_cu_ptr first, second, live;
    sp_cu_node last;

    first = sp_case_alloc_node(graph, NULL, SIZE, &last);
    live = sp_case_alloc_node(graph, last, SIZE, &last);
    last = sp_case_free_node(graph, last, first);
    second = sp_case_alloc_node(graph, sp_case_empty_node(graph, last), SIZE, &last);
    assert_false(overlap(first, live));
    assert_false(overlap(second, live));
    if (cu->is_model)
        assert_int_equal(second, first);
    sp_case_destroy_graph(graph);
}

static void gnode_13_graphs_have_addresses_of_their_own_while_they_exist(void)
{
    sp_cu_graph graphs[6];
    sp_cu_ptr ptrs[6];

    for (int i = 0; i < 6; i++) {
        sp_cu_node last;

        graphs[i] = sp_case_graph();
        ptrs[i] = sp_case_alloc_node(graphs[i], NULL, SIZE, &last);
        (void)sp_case_free_node(graphs[i], last, ptrs[i]);
        for (int j = 0; j < i; j++)
            assert_false(overlap(ptrs[i], ptrs[j]));
    }
    for (int i = 0; i < 6; i++)
        sp_case_destroy_graph(graphs[i]);
}

/* ---- what a launch leaves --------------------------------------------------------------- */

/* A graph that fills an allocation and leaves it. */
struct leaver {
    sp_cu_graph graph;
    sp_cu_exec exec;
    sp_cu_ptr ptr;
};

static struct leaver make_leaver(unsigned char value, unsigned long long flags)
{
    struct leaver leaver = {.graph = sp_case_graph()};
    sp_cu_node last;

    leaver.ptr = sp_case_alloc_node(leaver.graph, NULL, SIZE, &last);
    (void)sp_case_set_node(leaver.graph, last, leaver.ptr, value, SIZE);
    leaver.exec = sp_case_instantiate(leaver.graph, flags);
    return leaver;
}

static void destroy_leaver(const struct leaver *leaver)
{
    sp_case_destroy_exec(leaver->exec);
    sp_case_destroy_graph(leaver->graph);
}

/* All streams have been waited for. */
static void end(const struct leaver *leaver)
{
    destroy_leaver(leaver);
    sp_case_trim_graphs();
}

static void gnode_14_an_allocation_is_used_after_its_graph(void)
{
    sp_cu_stream stream = sp_case_stream(), other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    struct leaver leaver = make_leaver(5, 0);

    (void)sp_case_stall(stream);
    sp_case_launch(leaver.exec, stream);
    assert_success(cu->cuEventRecord(event, stream));
    assert_success(cu->cuStreamWaitEvent(other, event, 0));
    sp_case_release_all();
    sp_case_assert_bytes(leaver.ptr, 5, SIZE, other);
    sp_case_fill(leaver.ptr, 6, SIZE, other);
    sp_case_assert_bytes(leaver.ptr, 6, SIZE, other);
    sp_case_free(leaver.ptr, other);
    sp_case_finish(other);
    end(&leaver);
}

static void gnode_15_an_allocation_is_freed_in_four_ways(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = make_leaver(5, 0);
    sp_cu_graph free_graph = sp_case_graph();
    sp_cu_exec free_exec;

    (void)sp_case_free_node(free_graph, NULL, leaver.ptr);
    free_exec = sp_case_instantiate(free_graph, 0);

    sp_case_launch(leaver.exec, stream);
    sp_case_free(leaver.ptr, stream);

    sp_case_launch(leaver.exec, stream);
    sp_case_finish(stream);
    assert_success(cu->cuMemFree(leaver.ptr));

    sp_case_launch(leaver.exec, stream);
    sp_case_launch(free_exec, stream);

    sp_case_destroy_exec(leaver.exec);
    leaver.exec = sp_case_instantiate(leaver.graph, SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH);
    sp_case_launch(leaver.exec, stream);
    sp_case_launch(leaver.exec, stream);
    sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_finish(stream);
    sp_case_destroy_exec(free_exec);
    sp_case_destroy_graph(free_graph);
    end(&leaver);
}

static void gnode_16_nothing_is_freed_before_the_first_launch(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = make_leaver(5, 0);

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(leaver.ptr, stream));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFree(leaver.ptr));
    sp_case_launch(leaver.exec, stream);
    sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_finish(stream);
    end(&leaver);
}

static void gnode_17_nothing_is_freed_twice(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = make_leaver(5, 0);

    sp_case_launch(leaver.exec, stream);
    sp_case_free(leaver.ptr, stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(leaver.ptr, stream));
    sp_case_finish(stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(leaver.ptr, stream));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFree(leaver.ptr));
    end(&leaver);
}

/* ---- launching again -------------------------------------------------------------------- */

static void gnode_18_a_launch_is_refused_while_an_allocation_is_left(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = make_leaver(5, 0);

    sp_case_launch(leaver.exec, stream);
    sp_case_fill(leaver.ptr, 6, SIZE, stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphLaunch(leaver.exec, stream));
    /* Nothing of it has come into the stream. */
    sp_case_assert_bytes(leaver.ptr, 6, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_launch(leaver.exec, stream);
    sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_finish(stream);
    end(&leaver);
}

static void gnode_19_a_free_that_has_been_called_suffices(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = make_leaver(5, 0);

    (void)sp_case_stall(stream);
    for (int i = 0; i < 4; i++) {
        sp_case_launch(leaver.exec, stream);
        sp_case_free(leaver.ptr, stream);
    }
    sp_case_launch(leaver.exec, stream);
    assert_false(sp_case_is_idle(stream));
    sp_case_release_all();
    sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_finish(stream);
    end(&leaver);
}

static void gnode_20_a_launch_frees_what_the_last_one_left_if_it_is_told_to(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = make_leaver(5, SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH);

    for (int i = 0; i < 4; i++) {
        sp_case_launch(leaver.exec, stream);
        sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
        sp_case_fill(leaver.ptr, 6, SIZE, stream);
    }
    sp_case_free(leaver.ptr, stream);
    sp_case_launch(leaver.exec, stream);
    sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_finish(stream);
    end(&leaver);
}

static void gnode_20_only_what_is_left_is_freed(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct leaver leaver = {.graph = sp_case_graph()};
    sp_cu_ptr second = sp_case_alloc_node(leaver.graph, NULL, SIZE, NULL);

    leaver.ptr = sp_case_alloc_node(leaver.graph, NULL, SIZE, NULL);
    leaver.exec = sp_case_instantiate(leaver.graph, SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH);
    for (int i = 0; i < 4; i++) {
        sp_case_launch(leaver.exec, stream);
        sp_case_fill(leaver.ptr, 1, SIZE, stream);
        sp_case_fill(second, 2, SIZE, stream);
        sp_case_assert_bytes(leaver.ptr, 1, SIZE, stream);
        if (i % 2 == 0)
            sp_case_free(second, stream);
    }
    sp_case_free(second, stream);
    sp_case_free(leaver.ptr, stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(second, stream));
    sp_case_finish(stream);
    end(&leaver);
}

static void gnode_21_an_allocation_outlives_its_executable_and_graph(void)
{
    static const unsigned long long flags[] = {0, SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH};
    sp_cu_stream stream = sp_case_stream();

    for (int i = 0; i < 2; i++) {
        struct leaver leaver = make_leaver(5, flags[i]);

        (void)sp_case_stall(stream);
        sp_case_launch(leaver.exec, stream);
        destroy_leaver(&leaver);
        sp_case_release_all();
        sp_case_assert_bytes(leaver.ptr, 5, SIZE, stream);
        sp_case_free(leaver.ptr, stream);
        sp_case_finish(stream);
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(leaver.ptr, stream));
    }
    sp_case_trim_graphs();
}

/* ---- launches of one executable --------------------------------------------------------- */

static void gnode_30_launches_of_one_executable_do_not_overlap(void)
{
    sp_cu_stream stream = sp_case_stream(), other = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_exec exec;

    (void)sp_case_empty_node(graph, NULL);
    exec = sp_case_instantiate(graph, 0);
    sp_case_launch(exec, other);
    sp_case_finish(other);
    (void)sp_case_stall(stream);
    sp_case_launch(exec, stream);
    sp_case_launch(exec, other);
    /* The other stream has nothing else to wait for. */
    assert_false(sp_case_is_idle(other));
    sp_case_release_all();
    sp_case_finish(other);
    sp_case_finish(stream);
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
}

static void gnode_30_a_launch_comes_after_its_streams_work(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_exec exec;
    sp_cu_ptr ptr;

    assert_success(cu->cuMemAlloc(&ptr, SIZE));
    (void)sp_case_set_node(graph, NULL, ptr, 2, SIZE);
    exec = sp_case_instantiate(graph, 0);
    (void)sp_case_stall(stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_launch(exec, stream);
    sp_case_release_all();
    sp_case_assert_bytes(ptr, 2, SIZE, stream);
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
    assert_success(cu->cuMemFree(ptr));
}

/* ---- frees of what is not live ---------------------------------------------------------- */

/* The graph that frees is launched before the one that allocates, or twice; what the last
 * launch answers. */
struct order {
    sp_cu_stream stream;
    struct leaver leaver;
    sp_cu_exec free_exec;
    bool is_twice;
};

static sp_cu_result free_what_is_dead(void *arg)
{
    const struct order *order = arg;

    if (order->is_twice) {
        sp_case_launch(order->leaver.exec, order->stream);
        sp_case_launch(order->free_exec, order->stream);
    }
    return cu->cuGraphLaunch(order->free_exec, order->stream);
}

static void gnode_34_a_launch_frees_only_what_is_live(void)
{
    static const struct sp_choice choices[] = {
        {"invalid-value", SP_CU_INVALID_VALUE},
        {"success", SP_CU_SUCCESS},
    };
    struct order order = {.stream = sp_case_stream(), .leaver = make_leaver(5, 0)};
    sp_cu_graph free_graph = sp_case_graph();

    (void)sp_case_free_node(free_graph, NULL, order.leaver.ptr);
    order.free_exec = sp_case_instantiate(free_graph, 0);
    sp_case_choose("GNODE-34", "graph_free_dead", choices, 2, free_what_is_dead, &order);
    order.is_twice = true;
    sp_case_choose("GNODE-34", "graph_free_dead", choices, 2, free_what_is_dead, &order);
    sp_case_finish(order.stream);
    sp_case_destroy_exec(order.free_exec);
    sp_case_destroy_graph(free_graph);
    end(&order.leaver);
}

/* ---- life in the order of streams ------------------------------------------------------- */

static void assert_diagnosed(uint64_t before, uint64_t n)
{
    assert_int_equal(starpool_model_violations(NULL), before + n);
}

static void gnode_35_a_use_that_does_not_wait_for_the_launch_is_diagnosed(void)
{
    sp_cu_stream stream = sp_case_stream(), other = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    struct leaver leaver = make_leaver(5, 0);
    int stall;

    sp_case_expect_violations(2);
    stall = sp_case_stall(stream);
    (void)sp_case_stall(other);
    sp_case_launch(leaver.exec, stream);
    (void)cu->cuMemsetD8Async(leaver.ptr, 1, SIZE, other);
    assert_diagnosed(before, 1);
    /* Nor does the free wait for the other stream's use. */
    sp_case_free(leaver.ptr, stream);
    assert_diagnosed(before, 2);
    /* Here one comes after the other all the same. */
    sp_case_release(stall);
    sp_case_finish(stream);
    sp_case_release_all();
    sp_case_finish(other);
    end(&leaver);
}

static void gnode_35_a_use_behind_the_free_is_diagnosed(void)
{
    sp_cu_stream stream = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    struct leaver leaver = make_leaver(5, 0);

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    sp_case_launch(leaver.exec, stream);
    sp_case_fill(leaver.ptr, 1, SIZE, stream);
    sp_case_free(leaver.ptr, stream);
    assert_diagnosed(before, 0);
    (void)cu->cuMemsetD8Async(leaver.ptr, 1, SIZE, stream);
    assert_diagnosed(before, 1);
    sp_case_release_all();
    sp_case_finish(stream);
    end(&leaver);
}

static void gnode_35_a_free_by_the_host_that_does_not_wait_is_diagnosed(void)
{
    sp_cu_stream stream = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    struct leaver leaver = make_leaver(5, 0);

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    sp_case_launch(leaver.exec, stream);
    (void)cu->cuMemFree(leaver.ptr);
    assert_diagnosed(before, 1);
    sp_case_release_all();
    sp_case_finish(stream);
    end(&leaver);
}

/* A flag in memory orders nothing, though its writer comes later. */
static void gnode_35_a_flag_in_memory_is_no_order(void)
{
    sp_cu_stream stream = sp_case_stream(), other = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    struct leaver leaver = make_leaver(5, 0);
    uint32_t *flag;

    sp_case_expect_violations(1);
    assert_success(
        cu->cuMemHostAlloc((void **)&flag, sizeof(*flag), SP_CU_HOST_ALLOC_DEVICEMAP));
    *flag = 0;
    sp_case_launch(leaver.exec, stream);
    assert_success(cu->cuStreamWriteValue32(stream, (uintptr_t)flag, 1, 0));
    assert_success(cu->cuStreamWaitValue32(other, (uintptr_t)flag, 1, SP_CU_WAIT_VALUE_GEQ));
    (void)cu->cuMemsetD8Async(leaver.ptr, 1, SIZE, other);
    assert_diagnosed(before, 1);
    sp_case_finish(other);
    sp_case_finish(stream);
    sp_case_free(leaver.ptr, stream);
    sp_case_finish(stream);
    assert_success(cu->cuMemFreeHost(flag));
    end(&leaver);
}

/* ---- the list --------------------------------------------------------------------------- */

static const struct sp_case cases[] = {
    SP_CASE(gnode_13_allocations_that_may_live_at_the_same_time_are_apart, 0),
    SP_CASE(gnode_13_an_allocation_behind_a_free_may_have_its_address, 0),
    SP_CASE(gnode_13_graphs_have_addresses_of_their_own_while_they_exist, 0),
    SP_CASE(gnode_14_an_allocation_is_used_after_its_graph, SP_TAG_STALL),
    SP_CASE(gnode_15_an_allocation_is_freed_in_four_ways, 0),
    SP_CASE(gnode_16_nothing_is_freed_before_the_first_launch, 0),
    SP_CASE(gnode_17_nothing_is_freed_twice, 0),
    SP_CASE(gnode_18_a_launch_is_refused_while_an_allocation_is_left, 0),
    SP_CASE(gnode_19_a_free_that_has_been_called_suffices, SP_TAG_STALL),
    SP_CASE(gnode_20_a_launch_frees_what_the_last_one_left_if_it_is_told_to, 0),
    SP_CASE(gnode_20_only_what_is_left_is_freed, 0),
    SP_CASE(gnode_21_an_allocation_outlives_its_executable_and_graph, SP_TAG_STALL),
    SP_CASE(gnode_30_launches_of_one_executable_do_not_overlap, SP_TAG_STALL),
    SP_CASE(gnode_30_a_launch_comes_after_its_streams_work, SP_TAG_STALL),
    SP_CASE(gnode_34_a_launch_frees_only_what_is_live, 0),
    SP_CASE(gnode_35_a_use_that_does_not_wait_for_the_launch_is_diagnosed,
            SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(gnode_35_a_use_behind_the_free_is_diagnosed, SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(gnode_35_a_free_by_the_host_that_does_not_wait_is_diagnosed,
            SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(gnode_35_a_flag_in_memory_is_no_order, SP_TAG_UB),
};

const struct sp_case_group sp_cases_gnode_life = SP_CASE_GROUP("GNODE", cases);
