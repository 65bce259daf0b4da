/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cases of CAP are in five files: conformance_cap.c has those about beginning and ending,
 * and the list; conformance_cap_info.c those about what programs are told,
 * conformance_cap_work.c about what is captured, conformance_cap_modes.c and
 * conformance_cap_threads.c about what may not be done meanwhile. Beside them what they and
 * other groups capture with. */
#ifndef SP_CONFORMANCE_CAP_H
#define SP_CONFORMANCE_CAP_H

#include "tests/conformance.h"

/* [SP_CAP_N_MODES] */
#define SP_CAP_N_MODES 3
extern const int sp_cap_modes[SP_CAP_N_MODES];

/* A capture of this thread begins, GLOBAL or otherwise; it must end well, and the graph is the
 * caller's. */
void sp_cap_begin(sp_cu_stream stream);
void sp_cap_begin_in(sp_cu_stream stream, int mode);
sp_cu_graph sp_cap_end(sp_cu_stream stream);

/* It ends in whatever way: a graph that comes out is destroyed; none is NULL. */
sp_cu_result sp_cap_end_any(sp_cu_stream stream);

/* It must end so, without a graph, and leave the stream usable. */
void sp_cap_end_as(sp_cu_result expected, sp_cu_stream stream);

/* The stream's SP_CU_CAPTURE_... is that. */
void sp_cap_assert_status(int expected, sp_cu_stream stream);

/* cuStreamGetCaptureInfo() of a capturing stream: the graph; how many nodes the next one will
 * depend on; the one that there is. */
sp_cu_graph sp_cap_graph(sp_cu_stream stream);
size_t sp_cap_n_last(sp_cu_stream stream);
sp_cu_node sp_cap_last(sp_cu_stream stream);

/* Record the event in the one stream, and wait for it in the other. */
void sp_cap_fork(sp_cu_stream stream, sp_cu_event event, sp_cu_stream other);

/* A host function that does nothing, as the stream's next operation. */
void sp_cap_work(sp_cu_stream stream);

size_t sp_cap_n_nodes(sp_cu_graph graph);
int sp_cap_type(sp_cu_node node);

/* The graph has a path of one edge between the nodes. */
bool sp_cap_has_edge(sp_cu_node from, sp_cu_node to);

/* Instantiate the graph, launch it once in the stream, wait, and destroy both; the device gets
 * back what memory they had. */
void sp_cap_run(sp_cu_graph graph, sp_cu_stream stream);

/* Swap this thread's mode: the previous one. */
int sp_cap_exchange(int mode);

/* Call `act` in a thread that has device 0's context, and return what it answers. */
sp_cu_result sp_cap_in_thread(sp_cu_result (*act)(void *arg), void *arg);

/* cuMemAlloc(), all 0; the caller frees it. */
sp_cu_ptr sp_cap_memory(size_t size);

/* ---- conformance_cap_info.c ---------------------------------------------------------- */

void cap_15_asking_disturbs_nothing(void);
void cap_16_the_legacy_stream_does_not_say_beside_a_blocking_capture(void);
void cap_16_beside_a_non_blocking_capture_it_does(void);
void cap_17_a_capture_has_an_id_of_its_own(void);
void cap_17_nodes_are_added_to_the_captured_graph(void);
void cap_18_edge_data_is_asked_for_with_the_edges(void);
void cap_18_edge_data_is_not_lost_unnoticed(void);
void cap_19_dependencies_are_added_and_replaced(void);
void cap_19_bad_dependencies_are_refused(void);
void cap_19_what_is_removed_need_not_be_joined(void);
void cap_19_nor_what_was_joined_and_is_cut_off(void);

/* ---- conformance_cap_work.c ---------------------------------------------------------- */

void cap_21_an_event_makes_another_stream_part_of_the_capture(void);
void cap_21_waiting_for_it_joins_the_stream_again(void);
void cap_22_two_captures_do_not_merge(void);
void cap_23_an_event_from_outside_is_not_waited_for(void);
void cap_23_nor_is_an_event_that_was_never_recorded(void);
void cap_24_external_flags_make_nodes_that_act_on_the_event(void);
void cap_24_outside_a_capture_external_flags_are_refused(void);
void cap_36_a_captured_allocation_is_a_node_after_the_frontier(void);
void cap_36_a_captured_allocation_does_not_count_in_its_pool(void);
void cap_36_a_captured_allocation_keeps_the_access_it_had(void);
void cap_37_a_captured_free_is_a_node(void);
void cap_37_what_no_graph_allocated_is_not_freed(void);
void cap_38_a_free_in_a_side_stream_must_be_joined(void);
void cap_39_a_host_function_is_captured(void);
void cap_39_a_callback_is_not_captured(void);
void cap_39_attaching_memory_is_not_captured(void);
void cap_41_what_is_captured_does_not_depend_on_earlier_work(void);
void cap_41_later_work_follows_the_work_before_the_capture(void);

/* ---- conformance_cap_modes.c --------------------------------------------------------- */

void cap_20_a_relaxed_thread_allocates_beside_a_capture(void);
void cap_20_another_thread_mode_is_for_the_driver_to_say(void);
void cap_25_the_host_may_not_ask_about_a_captured_event(void);
void cap_26_a_capturing_stream_is_not_waited_for(void);
void cap_27_a_context_is_not_waited_for_while_it_captures(void);
void cap_27_a_context_is_not_recorded_while_it_captures(void);
void cap_27_a_context_does_not_wait_while_it_captures(void);
void cap_27_no_context_waits_for_a_captured_event(void);
void cap_28_the_legacy_stream_does_not_work_beside_a_blocking_capture(void);
void cap_28_calls_without_a_stream_do_not_work_beside_a_blocking_capture(void);
void cap_29_the_legacy_stream_works_beside_a_non_blocking_capture(void);
void cap_30_modes_of_thread_and_capture_forbid_as_the_table_says(void);
void cap_31_calls_that_allocate_end_the_capture_that_forbids_them(void);
void cap_31_a_relaxed_thread_may_make_them(void);
void cap_32_reading_an_attribute_of_a_pool_ends_a_capture(void);
void cap_32_managing_pools_is_unsafe(void);
void cap_32_looking_a_pool_up_is_not(void);
void cap_32_a_relaxed_thread_may_manage_pools(void);

/* ---- conformance_cap_threads.c ------------------------------------------------------- */

void cap_33_a_thread_that_polls_an_event_ends_a_global_capture(void);
void cap_33_either_side_can_avoid_that(void);
void cap_34_exchange_swaps_the_mode_of_one_thread(void);
void cap_34_what_is_no_mode_is_refused(void);
void cap_35_another_threads_synchronisation_ends_captures(void);
void cap_35_another_threads_legacy_stream_ends_blocking_captures(void);
void cap_35_a_capture_on_another_device_goes_on(void);
void cap_40_streams_and_events_come_and_go_meanwhile(void);

#endif /* SP_CONFORMANCE_CAP_H */
