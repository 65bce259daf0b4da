/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ORDER: when memory may be used after cuMemAllocAsync(), what cuMemFreeAsync() ends, and what
 * both refuse. Which memory is used again is in conformance_order_reuse.c. */
#include "config.h"

#include "tests/conformance_order.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SIZE ((size_t)4096)

/* ---- an allocation in its stream ------------------------------------------------------------
 */

static void order_01_allocating_waits_for_no_stream(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_ptr current = 0;
    sp_cu_ptr own = 0;

    (void)sp_case_stall(stream);
    (void)sp_case_stall(other);
    assert_success(cu->cuMemAllocAsync(&current, SIZE, stream));
    assert_success(cu->cuMemAllocFromPoolAsync(&own, SIZE, pool, stream));
    assert_int_not_equal(current, 0);
    assert_int_not_equal(own, 0);
    /* Both are there although their stream has not come to them. */
    assert_false(sp_case_is_idle(stream));
    assert_false(sp_case_is_idle(other));
    sp_case_free(current, stream);
    sp_case_free(own, stream);
    sp_case_release_all();
    sp_case_finish(stream);
}

static void order_02_later_work_in_the_stream_uses_the_memory(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    unsigned char *copy;
    sp_cu_ptr ptr;

    assert_success(cu->cuMemAllocHost((void **)&copy, SIZE));
    memset(copy, 0, SIZE);
    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 0x5a, SIZE, stream);
    assert_success(cu->cuMemcpyDtoHAsync(copy, ptr, SIZE, stream));
    sp_case_free(ptr, stream);
    sp_case_release_all();
    sp_case_finish(stream);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(copy[i], 0x5a);
    assert_success(cu->cuMemFreeHost(copy));
}

static void order_03_work_behind_an_event_wait_uses_the_memory(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_ptr ptr;

    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    assert_success(cu->cuEventRecord(event, stream));
    assert_success(cu->cuStreamWaitEvent(other, event, 0));
    sp_case_fill(ptr, 2, SIZE, other);
    /* The work waits for the event, and so comes after the stream's own. */
    assert_false(sp_case_is_idle(other));
    sp_case_release_all();
    sp_case_assert_bytes(ptr, 2, SIZE, other);
    sp_case_free(ptr, other);
    sp_case_finish(other);
}

static void order_03_work_after_a_synchronised_stream_uses_the_memory(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

    sp_case_finish(stream);
    sp_case_fill(ptr, 3, SIZE, other);
    sp_case_assert_bytes(ptr, 3, SIZE, other);
    sp_case_free(ptr, other);
    sp_case_finish(other);
}

static void order_03_work_after_a_query_that_succeeded_uses_the_memory(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr second;

    while (!sp_case_is_idle(stream))
        (void)sched_yield();
    sp_case_fill(ptr, 4, SIZE, other);
    sp_case_assert_bytes(ptr, 4, SIZE, other);

    second = sp_case_alloc(pool, SIZE, stream);
    assert_success(cu->cuEventRecord(event, stream));
    while (cu->cuEventQuery(event) == SP_CU_NOT_READY)
        (void)sched_yield();
    sp_case_fill(second, 5, SIZE, other);
    sp_case_assert_bytes(second, 5, SIZE, other);
    sp_case_free(ptr, other);
    sp_case_free(second, other);
    sp_case_finish(other);
}

/* ---- what is undefined ----------------------------------------------------------------------
 */

/* The model has counted one violation since it was `before`, and has words for the first. */
static void assert_diagnosed(uint64_t before)
{
    const char *first;

    assert_int_equal(starpool_model_violations(&first), before + 1);
    assert_string_not_equal(first, "");
}

static void order_04_a_use_that_waits_for_nothing_is_diagnosed(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_ptr ptr;

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    (void)cu->cuMemsetD8Async(ptr, 1, SIZE, other);
    assert_diagnosed(before);
    sp_case_release_all();
    sp_case_finish(stream);
    sp_case_finish(other);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void order_04_a_use_behind_an_event_before_the_allocation_is_diagnosed(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_ptr ptr;

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    assert_success(cu->cuEventRecord(event, stream));
    ptr = sp_case_alloc(pool, SIZE, stream);
    assert_success(cu->cuStreamWaitEvent(other, event, 0));
    (void)cu->cuMemsetD8Async(ptr, 1, SIZE, other);
    assert_diagnosed(before);
    sp_case_release_all();
    sp_case_finish(stream);
    sp_case_finish(other);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void order_04_a_use_that_the_free_does_not_wait_for_is_diagnosed(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

    sp_case_expect_violations(1);
    sp_case_finish(stream);
    (void)sp_case_stall(other);
    sp_case_fill(ptr, 1, SIZE, other);
    assert_int_equal(starpool_model_violations(NULL), before);
    /* The stalled fill can only come after this free. */
    (void)cu->cuMemFreeAsync(ptr, stream);
    assert_diagnosed(before);
    sp_case_release_all();
    sp_case_finish(other);
    sp_case_finish(stream);
}

static void order_07_new_work_on_freed_memory_is_diagnosed(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_ptr ptr;

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_free(ptr, stream);
    (void)cu->cuMemsetD8Async(ptr, 2, SIZE, stream);
    assert_diagnosed(before);
    sp_case_release_all();
    sp_case_finish(stream);
}

static void order_07_asking_about_a_freed_pointer_is_diagnosed(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    uint64_t before = starpool_model_violations(NULL);
    int ordinal = 0;
    sp_cu_ptr ptr;

    sp_case_expect_violations(1);
    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    assert_int_equal(sp_case_device_of_ptr(ptr), 0);
    sp_case_free(ptr, stream);
    assert_int_equal(starpool_model_violations(NULL), before);
    (void)cu->cuPointerGetAttribute(&ordinal, SP_CU_POINTER_DEVICE_ORDINAL, ptr);
    assert_diagnosed(before);
    sp_case_release_all();
    sp_case_finish(stream);
}

/* ---- a free in its stream -------------------------------------------------------------------
 */

static void order_05_another_stream_frees_what_it_waited_for(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_ptr ptr;

    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    assert_success(cu->cuEventRecord(event, stream));
    assert_success(cu->cuStreamWaitEvent(other, event, 0));
    assert_success(cu->cuMemFreeAsync(ptr, other));
    /* The free is other's, and so waits for the event as other does. */
    assert_false(sp_case_is_idle(other));
    sp_case_release_all();
    sp_case_finish(other);
    assert_int_equal(sp_case_used(pool), 0);
}

static void order_06_freeing_waits_for_no_stream(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

    (void)sp_case_stall(stream);
    sp_case_fill(ptr, 1, SIZE, stream);
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    assert_false(sp_case_is_idle(stream));
    sp_case_release_all();
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
}

static void order_06_freeing_in_the_null_stream_waits_for_no_stream(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, NULL);

    (void)sp_case_stall(NULL);
    sp_case_fill(ptr, 1, SIZE, NULL);
    assert_success(cu->cuMemFreeAsync(ptr, NULL));
    assert_false(sp_case_is_idle(NULL));
    sp_case_release_all();
    sp_case_finish(NULL);
    assert_int_equal(sp_case_used(pool), 0);
}

/* ---- refusals -------------------------------------------------------------------------------
 */

static void order_08_null_arguments_are_refused(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemAllocAsync(NULL, SIZE, stream));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemAllocFromPoolAsync(NULL, SIZE, pool, stream));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemAllocFromPoolAsync(&ptr, SIZE, NULL, stream));
    assert_int_equal(sp_case_used(pool), 0);
}

static void order_08_a_pool_that_was_never_made_is_refused(void)
{
    struct sp_cu_pool_props not_a_pool = sp_case_props(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = 1;

    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemAllocFromPoolAsync(&ptr, SIZE, (sp_cu_pool)(void *)&not_a_pool, stream));
    assert_int_equal(ptr, 1);
}

static void order_09_an_impossible_size_leaves_everything_usable(void)
{
    static const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 511, SIZE_MAX / 2};
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr;

    for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
        assert_cu(SP_CU_OUT_OF_MEMORY, cu->cuMemAllocAsync(&ptr, impossible[i], stream));
        assert_cu(SP_CU_OUT_OF_MEMORY,
                  cu->cuMemAllocFromPoolAsync(&ptr, impossible[i], pool, stream));
        assert_int_equal(sp_case_used(pool), 0);
    }
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 7, SIZE, stream);
    sp_case_assert_bytes(ptr, 7, SIZE, stream);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

struct place {
    sp_cu_pool pool; /* NULL: the current one */
    sp_cu_stream stream;
};

static sp_cu_result alloc_nothing(void *arg)
{
    const struct place *place = arg;
    sp_cu_ptr ptr = 1;
    sp_cu_result result =
        place->pool == NULL ? cu->cuMemAllocAsync(&ptr, 0, place->stream)
                            : cu->cuMemAllocFromPoolAsync(&ptr, 0, place->pool, place->stream);

    if (result != SP_CU_SUCCESS)
        return result;
    sp_case_observe("ORDER-10", "address 0x%llx of 0 bytes", ptr);
    if (cu->is_model)
        assert_int_equal(ptr, 0);
    else if (ptr != 0)
        (void)cu->cuMemFreeAsync(ptr, place->stream);
    return result;
}

static void order_10_no_bytes_are_null_or_refused(void)
{
    static const struct sp_choice choices[] = {{"null", SP_CU_SUCCESS},
                                               {"invalid-value", SP_CU_INVALID_VALUE}};
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();

    sp_case_choose("ORDER-10", "size_zero", choices, 2, alloc_nothing,
                   &(struct place){NULL, stream});
    sp_case_choose("ORDER-10", "size_zero", choices, 2, alloc_nothing,
                   &(struct place){pool, stream});
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
}

static void order_11_the_default_stream_needs_a_context(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr live = sp_case_alloc(pool, SIZE, NULL);
    sp_cu_result by_alloc;
    sp_cu_result from_pool;
    sp_cu_result by_free;
    sp_cu_ptr ptr;

    sp_case_finish(NULL);
    assert_success(cu->cuCtxSetCurrent(NULL));
    by_alloc = cu->cuMemAllocAsync(&ptr, SIZE, NULL);
    from_pool = cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, NULL);
    by_free = cu->cuMemFreeAsync(live, NULL);
    (void)sp_case_device(0);
    assert_cu(SP_CU_INVALID_CONTEXT, by_alloc);
    assert_cu(SP_CU_INVALID_CONTEXT, from_pool);
    assert_cu(SP_CU_INVALID_CONTEXT, by_free);
    /* What was refused has changed nothing: one block is live, and can be freed. */
    assert_int_equal(sp_case_used(pool), SIZE);
    sp_case_free(live, NULL);
    sp_case_finish(NULL);
}

static void order_12_the_pool_says_where_and_the_stream_says_when(void)
{
    sp_cu_pool near = sp_case_pool(0);
    sp_cu_pool far = sp_case_pool(1);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr here;
    sp_cu_ptr there;
    sp_cu_ptr again;

    sp_case_set_reuse(far, false, false, false);
    (void)sp_case_stall(stream);
    there = sp_case_alloc(far, SIZE, stream);
    here = sp_case_alloc(near, SIZE, stream);
    assert_int_equal(sp_case_device_of_ptr(there), 1);
    assert_ptr_equal(sp_case_pool_of_ptr(there), far);
    assert_int_equal(sp_case_device_of_ptr(here), 0);
    /* The order is the stream's, as in ORDER-15, whatever device the memory is on. */
    sp_case_free(there, stream);
    again = sp_case_alloc(far, SIZE, stream);
    assert_int_equal(again, there);
    assert_false(sp_case_is_idle(stream));
    sp_case_free(again, stream);
    sp_case_free(here, stream);
    sp_case_release_all();
    sp_case_finish(stream);
}

static void order_13_only_a_live_allocation_is_freed(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr other = sp_case_alloc(pool, SIZE, stream);
    int on_the_stack = 0;
    void *on_the_heap = malloc(SIZE);

    assert_non_null(on_the_heap);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemFreeAsync((sp_cu_ptr)(uintptr_t)&on_the_stack, stream));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemFreeAsync((sp_cu_ptr)(uintptr_t)on_the_heap, stream));
    free(on_the_heap);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFreeAsync(ptr, stream));
    assert_int_equal(sp_case_used(pool), SIZE);
    sp_case_free(other, stream);
    sp_case_finish(stream);
}

static sp_cu_result free_interior(void *arg)
{
    const struct place *place = arg;
    sp_cu_ptr ptr = sp_case_alloc(place->pool, SIZE, place->stream);
    sp_cu_result result = cu->cuMemFreeAsync(ptr + 256, place->stream);

    if (result != SP_CU_SUCCESS) {
        assert_int_equal(sp_case_used(place->pool), SIZE);
        sp_case_free(ptr, place->stream);
    }
    sp_case_finish(place->stream);
    assert_int_equal(sp_case_used(place->pool), 0);
    return result;
}

static void order_13_an_address_inside_a_block_is_refused_or_taken_for_the_block(void)
{
    static const struct sp_choice choices[] = {{"invalid-value", SP_CU_INVALID_VALUE},
                                               {"accepted", SP_CU_SUCCESS}};

    sp_case_choose("ORDER-13", "free_interior", choices, 2, free_interior,
                   &(struct place){sp_case_pool(0), sp_case_stream()});
}

static sp_cu_result free_null(void *arg)
{
    const struct place *place = arg;

    return cu->cuMemFreeAsync(0, place->stream);
}

static void order_14_freeing_null_does_nothing(void)
{
    static const struct sp_choice choices[] = {{"success", SP_CU_SUCCESS},
                                               {"invalid-value", SP_CU_INVALID_VALUE}};
    struct place place = {sp_case_pool(0), sp_case_stream()};
    sp_cu_ptr live = sp_case_alloc(place.pool, SIZE, place.stream);

    sp_case_choose("ORDER-14", "free_null", choices, 2, free_null, &place);
    assert_int_equal(sp_case_used(place.pool), SIZE);
    sp_case_free(live, place.stream);
    sp_case_finish(place.stream);
}

/* ---- what an allocation belongs to ----------------------------------------------------------
 */

static void order_24_an_allocation_belongs_to_no_context(void)
{
    sp_cu_context context;
    sp_cu_context owner;
    sp_cu_ptr ptr;

    assert_success(cu->cuCtxCreate(&context, 0, 0));
    owner = context;
    assert_success(cu->cuMemAllocAsync(&ptr, SIZE, NULL));
    assert_success(cu->cuPointerGetAttribute(&owner, SP_CU_POINTER_CONTEXT, ptr));
    sp_case_fill(ptr, 9, SIZE, NULL);
    sp_case_finish(NULL);
    assert_success(cu->cuCtxDestroy(context));
    (void)sp_case_device(0);
    assert_null(owner);
    assert_int_equal(sp_case_device_of_ptr(ptr), 0);
    assert_ptr_equal(sp_case_pool_of_ptr(ptr), sp_case_default_pool(0));
    sp_case_assert_bytes(ptr, 9, SIZE, NULL);
    assert_success(cu->cuMemFreeAsync(ptr, NULL));
    sp_case_finish(NULL);
}

static void order_24_memory_of_no_pool_has_a_context_and_no_pool(void)
{
    sp_cu_context context = sp_case_device(0);
    sp_cu_context owner = NULL;
    sp_cu_ptr ptr;

    assert_success(cu->cuMemAlloc(&ptr, SIZE));
    assert_null(sp_case_pool_of_ptr(ptr));
    assert_success(cu->cuPointerGetAttribute(&owner, SP_CU_POINTER_CONTEXT, ptr));
    assert_ptr_equal(owner, context);
    assert_success(cu->cuMemFree(ptr));
}

/* ---- all of ORDER ---------------------------------------------------------------------------
 */

static const struct sp_case cases[] = {
    SP_CASE(order_01_allocating_waits_for_no_stream, SP_TAG_STALL),
    SP_CASE(order_02_later_work_in_the_stream_uses_the_memory, SP_TAG_STALL),
    SP_CASE(order_03_work_behind_an_event_wait_uses_the_memory, SP_TAG_STALL),
    SP_CASE(order_03_work_after_a_synchronised_stream_uses_the_memory, 0),
    SP_CASE(order_03_work_after_a_query_that_succeeded_uses_the_memory, 0),
    SP_CASE(order_04_a_use_that_waits_for_nothing_is_diagnosed, SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(order_04_a_use_behind_an_event_before_the_allocation_is_diagnosed,
            SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(order_04_a_use_that_the_free_does_not_wait_for_is_diagnosed,
            SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(order_05_another_stream_frees_what_it_waited_for, SP_TAG_STALL),
    SP_CASE(order_06_freeing_waits_for_no_stream, SP_TAG_STALL),
    SP_CASE(order_06_freeing_in_the_null_stream_waits_for_no_stream, SP_TAG_STALL),
    SP_CASE(order_07_new_work_on_freed_memory_is_diagnosed, SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(order_07_asking_about_a_freed_pointer_is_diagnosed, SP_TAG_UB | SP_TAG_STALL),
    SP_CASE(order_08_null_arguments_are_refused, 0),
    SP_CASE(order_08_a_pool_that_was_never_made_is_refused, SP_TAG_MODEL),
    SP_CASE(order_09_an_impossible_size_leaves_everything_usable, 0),
    SP_CASE(order_10_no_bytes_are_null_or_refused, 0),
    SP_CASE(order_11_the_default_stream_needs_a_context, 0),
    SP_CASE(order_12_the_pool_says_where_and_the_stream_says_when, SP_TAG_GPU2 | SP_TAG_STALL),
    SP_CASE(order_13_only_a_live_allocation_is_freed, 0),
    SP_CASE(order_13_an_address_inside_a_block_is_refused_or_taken_for_the_block, 0),
    SP_CASE(order_14_freeing_null_does_nothing, 0),
    SP_CASE(order_15_a_stream_has_at_once_what_it_freed_before, SP_TAG_STALL),
    SP_CASE(order_15_memory_freed_in_a_stalled_stream_serves_that_stream_again_and_again,
            SP_TAG_STALL),
    SP_CASE(order_16_synchronising_the_freeing_stream_makes_its_memory_everybodys, 0),
    SP_CASE(order_16_synchronising_an_event_after_the_free_makes_the_memory_everybodys, 0),
    SP_CASE(order_16_synchronising_the_context_makes_the_memory_everybodys, 0),
    SP_CASE(order_17_a_wait_for_an_event_after_the_free_allows_reuse, SP_TAG_STALL),
    SP_CASE(order_17_a_wait_through_a_third_stream_allows_reuse, SP_TAG_STALL | SP_TAG_MODEL),
    SP_CASE(order_17_an_event_recorded_before_the_free_allows_nothing, SP_TAG_STALL),
    SP_CASE(order_18_work_in_the_null_stream_between_blocking_streams_allows_reuse,
            SP_TAG_STALL),
    SP_CASE(order_18_a_free_in_the_null_stream_serves_a_blocking_stream, SP_TAG_STALL),
    SP_CASE(order_18_a_non_blocking_stream_is_not_ordered_by_the_null_stream, SP_TAG_STALL),
    SP_CASE(order_19_without_the_flag_a_wait_for_an_event_allows_nothing, SP_TAG_STALL),
    SP_CASE(order_20_an_executed_free_serves_any_stream, 0),
    SP_CASE(order_21_a_free_that_has_not_executed_serves_no_other_stream, SP_TAG_STALL),
    SP_CASE(order_22_an_executed_free_that_the_host_has_not_seen_serves_no_other_stream, 0),
    SP_CASE(order_22_synchronising_an_event_before_the_free_is_not_seeing_it, SP_TAG_MODEL),
    SP_CASE(order_23_a_full_pool_makes_a_stream_wait_for_another_streams_free,
            SP_TAG_STALL | SP_TAG_SLOW),
    SP_CASE(order_23_without_the_flag_a_full_pool_is_out_of_memory, SP_TAG_STALL | SP_TAG_SLOW),
    SP_CASE(order_23_a_pool_grows_before_a_stream_has_to_wait, SP_TAG_STALL | SP_TAG_SLOW),
    SP_CASE(order_24_an_allocation_belongs_to_no_context, 0),
    SP_CASE(order_24_memory_of_no_pool_has_a_context_and_no_pool, 0),
    SP_CASE(order_25_no_two_blocks_ever_share_an_address_at_the_same_time, 0),
};

const struct sp_case_group sp_cases_order = SP_CASE_GROUP("ORDER", cases);
