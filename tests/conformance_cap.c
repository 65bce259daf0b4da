/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CAP: captures from beginning to end, and the list of all cases, which are in these files:
 * conformance_cap.h. */
#include "config.h"

#include "tests/conformance_cap.h"

#define SIZE ((size_t)4096)

/* ---- beginning ----------------------------------------------------------------------- */

static void cap_01_work_is_recorded_and_not_executed(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_cap_memory(SIZE);
    sp_cu_graph graph;

    sp_cap_assert_status(SP_CU_CAPTURE_NONE, stream);
    sp_cap_begin(stream);
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    sp_case_fill(ptr, 5, SIZE, stream);
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    graph = sp_cap_end(stream);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, stream);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    sp_case_assert_bytes(ptr, 0, SIZE, stream);
    sp_cap_run(graph, stream);
    sp_case_assert_bytes(ptr, 5, SIZE, stream);
    assert_success(cu->cuMemFree(ptr));
}

static void cap_02_the_legacy_stream_is_not_captured(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
                  cu->cuStreamBeginCapture(NULL, sp_cap_modes[i]));
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
                  cu->cuStreamBeginCapture(SP_CU_STREAM_LEGACY, sp_cap_modes[i]));
    }
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, NULL);
}

static void cap_02_a_threads_own_stream_is_captured(void)
{
    sp_cu_graph graph;

    sp_cap_begin(SP_CU_STREAM_PER_THREAD);
    sp_cap_work(SP_CU_STREAM_PER_THREAD);
    graph = sp_cap_end(SP_CU_STREAM_PER_THREAD);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    assert_success(cu->cuGraphDestroy(graph));
}

/* The origin begins again, or (`arg` not NULL) a stream that joined. */
static sp_cu_result begin_twice(void *arg)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();

    sp_cap_begin(stream);
    sp_cap_fork(stream, sp_case_event(), joined);
    assert_cu(SP_CU_ILLEGAL_STATE, cu->cuStreamBeginCapture(arg == NULL ? stream : joined,
                                                            SP_CU_CAPTURE_MODE_RELAXED));
    return sp_cap_end_any(stream);
}

static void cap_03_a_capturing_stream_does_not_begin_again(void)
{
    static const struct sp_choice choices[] = {
        {"survives", SP_CU_SUCCESS},
        {"dies", SP_CU_STREAM_CAPTURE_INVALIDATED},
    };
    int joined = 1;

    sp_case_choose("CAP-03", "begin_twice", choices, 2, begin_twice, NULL);
    sp_case_choose("CAP-03", "begin_twice", choices, 2, begin_twice, &joined);
}

static void cap_04_bad_arguments_begin_nothing(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph;

    assert_success(cu->cuGraphCreate(&graph, 0));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuStreamBeginCapture(stream, 3));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuStreamBeginCapture(stream, -1));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 3));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 1, 0));
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, stream);
    assert_success(cu->cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 0));
    assert_ptr_equal(sp_cap_end(stream), graph);
    assert_success(cu->cuGraphDestroy(graph));
}

static void cap_05_a_capture_goes_on_where_the_graph_ends(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_node first, last;
    sp_cu_graph graph;
    sp_cu_exec exec;

    assert_success(cu->cuGraphCreate(&graph, 0));
    assert_success(cu->cuGraphAddEmptyNode(&first, graph, NULL, 0));
    assert_success(cu->cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, 0));
    assert_ptr_equal(sp_cap_graph(stream), graph);
    assert_ptr_equal(sp_cap_last(stream), first);
    sp_cap_work(stream);
    last = sp_cap_last(stream);
    assert_ptr_equal(sp_cap_end(stream), graph);
    assert_int_equal(sp_cap_n_nodes(graph), 2);
    assert_true(sp_cap_has_edge(first, last));
    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
}

static sp_cu_result instantiate_meanwhile(void *arg)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph;
    sp_cu_exec exec = NULL;
    sp_cu_result result;

    (void)arg;
    assert_success(cu->cuGraphCreate(&graph, 0));
    assert_success(cu->cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 0));
    sp_cap_work(stream);
    result = cu->cuGraphInstantiate(&exec, graph, 0);
    assert_int_not_equal(result, SP_CU_SUCCESS);
    (void)cu->cuStreamEndCapture(stream, &graph);
    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
    return result;
}

static void cap_05_the_graph_is_not_instantiated_meanwhile(void)
{
    static const struct sp_choice choices[] = {
        {"invalid-value", SP_CU_INVALID_VALUE},
        {"illegal-state", SP_CU_ILLEGAL_STATE},
    };

    sp_case_choose("CAP-05", "instantiate_captured", choices, 2, instantiate_meanwhile, NULL);
}

/* ---- ending -------------------------------------------------------------------------- */

static void cap_06_a_stream_that_is_not_capturing_does_not_end(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream idle = sp_case_stream();
    sp_cu_graph graph = NULL;

    sp_cap_begin(stream);
    assert_cu(SP_CU_ILLEGAL_STATE, cu->cuStreamEndCapture(idle, &graph));
    assert_cu(SP_CU_ILLEGAL_STATE, cu->cuStreamEndCapture(NULL, &graph));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

static void cap_07_ending_a_joined_stream_invalidates(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_graph graph = NULL;

    sp_cap_begin(stream);
    sp_cap_fork(stream, sp_case_event(), joined);
    assert_cu(SP_CU_STREAM_CAPTURE_UNMATCHED, cu->cuStreamEndCapture(joined, &graph));
    assert_null(graph);
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, joined);
    sp_cap_work(joined);
    sp_case_finish(joined);
}

static sp_cu_result end_it(void *arg)
{
    return sp_cap_end_any(arg);
}

static sp_cu_result end_elsewhere(void *arg)
{
    sp_cu_stream stream = sp_case_stream();

    sp_cap_begin_in(stream, *(const int *)arg);
    assert_cu(SP_CU_STREAM_CAPTURE_WRONG_THREAD, sp_cap_in_thread(end_it, stream));
    return sp_cap_end_any(stream);
}

static void cap_08_another_thread_does_not_end_a_capture(void)
{
    static const struct sp_choice choices[] = {
        {"survives", SP_CU_SUCCESS},
        {"dies", SP_CU_STREAM_CAPTURE_INVALIDATED},
    };
    int modes[] = {SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_CAPTURE_MODE_THREAD_LOCAL};

    for (int i = 0; i < 2; i++)
        sp_case_choose("CAP-08", "wrong_thread", choices, 2, end_elsewhere, &modes[i]);
}

static void cap_08_any_thread_ends_a_relaxed_capture(void)
{
    sp_cu_stream stream = sp_case_stream();

    sp_cap_begin_in(stream, SP_CU_CAPTURE_MODE_RELAXED);
    sp_cap_work(stream);
    assert_success(sp_cap_in_thread(end_it, stream));
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, stream);
}

static void cap_09_work_of_a_joined_stream_must_be_joined(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();

    sp_cap_begin(stream);
    sp_cap_fork(stream, sp_case_event(), joined);
    sp_cap_work(joined);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_UNJOINED, stream);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, joined);
    sp_cap_work(joined);
    sp_case_finish(joined);
}

static void cap_10_a_joined_stream_without_work_need_not_be_joined(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_graph graph;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    sp_cap_fork(stream, sp_case_event(), joined);
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, joined);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, joined);
    sp_cap_begin(joined);
    assert_success(cu->cuGraphDestroy(sp_cap_end(joined)));
    assert_success(cu->cuGraphDestroy(graph));
}

static sp_cu_result end_into_nothing(void *arg)
{
    sp_cu_stream stream = sp_case_stream();

    (void)arg;
    sp_cap_begin(stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuStreamEndCapture(stream, NULL));
    return sp_cap_end_any(stream);
}

static void cap_11_a_graph_needs_a_place(void)
{
    static const struct sp_choice choices[] = {
        {"survives", SP_CU_SUCCESS},
        {"dies", SP_CU_STREAM_CAPTURE_INVALIDATED},
    };

    sp_case_choose("CAP-11", "end_null", choices, 2, end_into_nothing, NULL);
}

static void cap_12_nothing_is_captured_into_an_empty_graph(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph;

    sp_cap_begin(stream);
    assert_int_equal(sp_cap_n_last(stream), 0);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 0);
    sp_cap_run(graph, stream);
}

static void cap_13_an_invalidated_capture_can_only_be_ended(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    char bytes[2] = "";
    sp_cu_ptr ptr;

    sp_cap_begin(stream);
    sp_cap_fork(stream, event, joined);
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cu->cuStreamSynchronize(stream));
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, joined);
    assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED,
              cu->cuMemcpyAsync((uintptr_t)&bytes[0], (uintptr_t)&bytes[1], 1, joined));
    assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED, cu->cuEventRecord(sp_case_event(), stream));
    assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED, cu->cuMemAllocAsync(&ptr, SIZE, joined));
    assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED, cu->cuStreamWaitEvent(other, event, 0));
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, other);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, joined);
    sp_cap_work(joined);
    sp_case_finish(joined);
}

static void cap_14_a_bad_argument_leaves_the_capture_alone(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_cap_memory(SIZE);
    sp_cu_graph graph;

    sp_cap_begin(stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemcpyDtoDAsync(ptr, 0, SIZE, stream));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 0);
    assert_success(cu->cuGraphDestroy(graph));
    assert_success(cu->cuMemFree(ptr));
}

/* ---- the list ------------------------------------------------------------------------ */

static const struct sp_case cases[] = {
    SP_CASE(cap_01_work_is_recorded_and_not_executed, 0),
    SP_CASE(cap_02_the_legacy_stream_is_not_captured, 0),
    SP_CASE(cap_02_a_threads_own_stream_is_captured, 0),
    SP_CASE(cap_03_a_capturing_stream_does_not_begin_again, 0),
    SP_CASE(cap_04_bad_arguments_begin_nothing, 0),
    SP_CASE(cap_05_a_capture_goes_on_where_the_graph_ends, 0),
    SP_CASE(cap_05_the_graph_is_not_instantiated_meanwhile, 0),
    SP_CASE(cap_06_a_stream_that_is_not_capturing_does_not_end, 0),
    SP_CASE(cap_07_ending_a_joined_stream_invalidates, 0),
    SP_CASE(cap_08_another_thread_does_not_end_a_capture, SP_TAG_THR),
    SP_CASE(cap_08_any_thread_ends_a_relaxed_capture, SP_TAG_THR),
    SP_CASE(cap_09_work_of_a_joined_stream_must_be_joined, 0),
    SP_CASE(cap_10_a_joined_stream_without_work_need_not_be_joined, 0),
    SP_CASE(cap_11_a_graph_needs_a_place, 0),
    SP_CASE(cap_12_nothing_is_captured_into_an_empty_graph, 0),
    SP_CASE(cap_13_an_invalidated_capture_can_only_be_ended, 0),
    SP_CASE(cap_14_a_bad_argument_leaves_the_capture_alone, 0),
    SP_CASE(cap_15_asking_disturbs_nothing, 0),
    SP_CASE(cap_16_the_legacy_stream_does_not_say_beside_a_blocking_capture, 0),
    SP_CASE(cap_16_beside_a_non_blocking_capture_it_does, 0),
    SP_CASE(cap_17_a_capture_has_an_id_of_its_own, 0),
    SP_CASE(cap_17_nodes_are_added_to_the_captured_graph, 0),
    SP_CASE(cap_18_edge_data_is_asked_for_with_the_edges, 0),
    SP_CASE(cap_18_edge_data_is_not_lost_unnoticed, SP_TAG_MODEL),
    SP_CASE(cap_19_dependencies_are_added_and_replaced, 0),
    SP_CASE(cap_19_bad_dependencies_are_refused, 0),
    SP_CASE(cap_19_what_is_removed_need_not_be_joined, 0),
    SP_CASE(cap_19_nor_what_was_joined_and_is_cut_off, 0),
    SP_CASE(cap_20_a_relaxed_thread_allocates_beside_a_capture, 0),
    SP_CASE(cap_20_another_thread_mode_is_for_the_driver_to_say, 0),
    SP_CASE(cap_21_an_event_makes_another_stream_part_of_the_capture, 0),
    SP_CASE(cap_21_waiting_for_it_joins_the_stream_again, 0),
    SP_CASE(cap_22_two_captures_do_not_merge, 0),
    SP_CASE(cap_23_an_event_from_outside_is_not_waited_for, 0),
    SP_CASE(cap_23_nor_is_an_event_that_was_never_recorded, 0),
    SP_CASE(cap_24_external_flags_make_nodes_that_act_on_the_event, SP_TAG_STALL),
    SP_CASE(cap_24_outside_a_capture_external_flags_are_refused, 0),
    SP_CASE(cap_25_the_host_may_not_ask_about_a_captured_event, 0),
    SP_CASE(cap_26_a_capturing_stream_is_not_waited_for, 0),
    SP_CASE(cap_27_a_context_is_not_waited_for_while_it_captures, 0),
    SP_CASE(cap_27_a_context_is_not_recorded_while_it_captures, 0),
    SP_CASE(cap_27_a_context_does_not_wait_while_it_captures, 0),
    SP_CASE(cap_27_no_context_waits_for_a_captured_event, SP_TAG_GPU2),
    SP_CASE(cap_28_the_legacy_stream_does_not_work_beside_a_blocking_capture, 0),
    SP_CASE(cap_28_calls_without_a_stream_do_not_work_beside_a_blocking_capture, 0),
    SP_CASE(cap_29_the_legacy_stream_works_beside_a_non_blocking_capture, 0),
    SP_CASE(cap_30_modes_of_thread_and_capture_forbid_as_the_table_says, SP_TAG_THR),
    SP_CASE(cap_31_calls_that_allocate_end_the_capture_that_forbids_them, 0),
    SP_CASE(cap_31_a_relaxed_thread_may_make_them, 0),
    SP_CASE(cap_32_reading_an_attribute_of_a_pool_ends_a_capture, 0),
    SP_CASE(cap_32_managing_pools_is_unsafe, 0),
    SP_CASE(cap_32_looking_a_pool_up_is_not, 0),
    SP_CASE(cap_32_a_relaxed_thread_may_manage_pools, 0),
    SP_CASE(cap_33_a_thread_that_polls_an_event_ends_a_global_capture, SP_TAG_THR),
    SP_CASE(cap_33_either_side_can_avoid_that, SP_TAG_THR),
    SP_CASE(cap_34_exchange_swaps_the_mode_of_one_thread, SP_TAG_THR),
    SP_CASE(cap_34_what_is_no_mode_is_refused, 0),
    SP_CASE(cap_35_another_threads_synchronisation_ends_captures, SP_TAG_THR),
    SP_CASE(cap_35_another_threads_legacy_stream_ends_blocking_captures, SP_TAG_THR),
    SP_CASE(cap_35_a_capture_on_another_device_goes_on, SP_TAG_THR | SP_TAG_GPU2),
    SP_CASE(cap_36_a_captured_allocation_is_a_node_after_the_frontier, 0),
    SP_CASE(cap_36_a_captured_allocation_does_not_count_in_its_pool, 0),
    SP_CASE(cap_36_a_captured_allocation_keeps_the_access_it_had, SP_TAG_P2P),
    SP_CASE(cap_37_a_captured_free_is_a_node, 0),
    SP_CASE(cap_37_what_no_graph_allocated_is_not_freed, 0),
    SP_CASE(cap_38_a_free_in_a_side_stream_must_be_joined, 0),
    SP_CASE(cap_39_a_host_function_is_captured, 0),
    SP_CASE(cap_39_a_callback_is_not_captured, 0),
    SP_CASE(cap_39_attaching_memory_is_not_captured, 0),
    SP_CASE(cap_40_streams_and_events_come_and_go_meanwhile, 0),
    SP_CASE(cap_41_what_is_captured_does_not_depend_on_earlier_work, SP_TAG_STALL),
    SP_CASE(cap_41_later_work_follows_the_work_before_the_capture, SP_TAG_STALL),
};

const struct sp_case_group sp_cases_cap = SP_CASE_GROUP("CAP", cases);
