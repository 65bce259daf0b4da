/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cases of ORDER are in two files: conformance_order.c has those about allocating and
 * freeing, and the list; conformance_order_reuse.c those about which memory is used again.
 * Beside them what other groups share with these. */
#ifndef SP_CONFORMANCE_ORDER_H
#define SP_CONFORMANCE_ORDER_H

#include "tests/conformance.h"

#define SP_MIB ((size_t)1 << 20)

/* A block of which a pool cannot have a second one without growing, whether it reserves in
 * steps of 2, 32 or 64 MiB. */
#define SP_BIG (48 * SP_MIB)

/* Return when the stream has executed all it has, without asking the driver: the host has not
 * synchronised with anything then. */
void sp_case_await(sp_cu_stream stream);

void order_15_a_stream_has_at_once_what_it_freed_before(void);
void order_15_memory_freed_in_a_stalled_stream_serves_that_stream_again_and_again(void);
void order_16_synchronising_the_freeing_stream_makes_its_memory_everybodys(void);
void order_16_synchronising_an_event_after_the_free_makes_the_memory_everybodys(void);
void order_16_synchronising_the_context_makes_the_memory_everybodys(void);
void order_17_a_wait_for_an_event_after_the_free_allows_reuse(void);
void order_17_a_wait_through_a_third_stream_allows_reuse(void);
void order_17_an_event_recorded_before_the_free_allows_nothing(void);
void order_18_work_in_the_null_stream_between_blocking_streams_allows_reuse(void);
void order_18_a_free_in_the_null_stream_serves_a_blocking_stream(void);
void order_18_a_non_blocking_stream_is_not_ordered_by_the_null_stream(void);
void order_19_without_the_flag_a_wait_for_an_event_allows_nothing(void);
void order_20_an_executed_free_serves_any_stream(void);
void order_21_a_free_that_has_not_executed_serves_no_other_stream(void);
void order_22_an_executed_free_that_the_host_has_not_seen_serves_no_other_stream(void);
void order_22_synchronising_an_event_before_the_free_is_not_seeing_it(void);
void order_23_a_full_pool_makes_a_stream_wait_for_another_streams_free(void);
void order_23_without_the_flag_a_full_pool_is_out_of_memory(void);
void order_23_a_pool_grows_before_a_stream_has_to_wait(void);
void order_25_no_two_blocks_ever_share_an_address_at_the_same_time(void);

#endif /* SP_CONFORMANCE_ORDER_H */
