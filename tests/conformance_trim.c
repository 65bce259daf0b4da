/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRIM: when a pool gives memory back, at cuMemPoolTrimTo() and at the release threshold. */
#include "config.h"

#include "tests/conformance_order.h"

#include <inttypes.h>

#define SIZE ((size_t)4096)
#define STEP (32 * SP_MIB)

enum { N_STEPS = 4 };

/* Blocks that fill a step of growth each, so that a pool reserves four times as much. */
static void alloc_steps(sp_cu_pool pool, sp_cu_stream stream, sp_cu_ptr *blocks)
{
    for (int i = 0; i < N_STEPS; i++)
        blocks[i] = sp_case_alloc(pool, STEP, stream);
    assert_true(sp_case_reserved(pool) >= N_STEPS * STEP);
}

/* Allocated and freed in the stream, without synchronising it. */
static void free_steps(sp_cu_pool pool, sp_cu_stream stream)
{
    sp_cu_ptr blocks[N_STEPS];

    alloc_steps(pool, stream, blocks);
    for (int i = 0; i < N_STEPS; i++)
        sp_case_free(blocks[i], stream);
}

/* A pool that keeps four steps, which the host has seen to be free; how much it reserves. */
static sp_cu_pool idle_pool(sp_cu_stream stream, uint64_t *reserved_out)
{
    sp_cu_pool pool = sp_case_pool(0);

    sp_case_set_threshold(pool, UINT64_MAX);
    free_steps(pool, stream);
    sp_case_finish(stream);
    *reserved_out = sp_case_reserved(pool);
    assert_true(*reserved_out >= N_STEPS * STEP);
    return pool;
}

/* ---- cuMemPoolTrimTo() ----------------------------------------------------------------------
 */

static void trim_01_no_pool_is_refused(void)
{
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolTrimTo(NULL, 0));
}

static void trim_02_a_pool_below_the_bound_is_left_alone(void)
{
    uint64_t reserved;
    sp_cu_pool pool = idle_pool(sp_case_stream(), &reserved);

    assert_success(cu->cuMemPoolTrimTo(pool, reserved + 1));
    assert_int_equal(sp_case_reserved(pool), reserved);
    assert_success(cu->cuMemPoolTrimTo(pool, SIZE_MAX));
    assert_int_equal(sp_case_reserved(pool), reserved);
}

static void trim_03_a_trim_leaves_as_much_as_it_was_told(void)
{
    uint64_t reserved;
    sp_cu_pool pool = idle_pool(sp_case_stream(), &reserved);

    assert_success(cu->cuMemPoolTrimTo(pool, reserved));
    assert_true(sp_case_reserved(pool) >= reserved);
    assert_success(cu->cuMemPoolTrimTo(pool, STEP + STEP / 2));
    assert_true(sp_case_reserved(pool) >= STEP + STEP / 2);
    if (cu->is_model) /* Two steps hold that much, and the others are idle. */
        assert_int_equal(sp_case_reserved(pool), 2 * STEP);
    assert_success(cu->cuMemPoolTrimTo(pool, 1));
    assert_true(sp_case_reserved(pool) >= 1);
}

static void trim_04_a_trim_to_nothing_gives_everything_back(void)
{
    size_t before = sp_case_device_free();
    uint64_t reserved;
    sp_cu_pool pool = idle_pool(sp_case_stream(), &reserved);

    if (cu->is_model)
        assert_int_equal(sp_case_device_free(), before - reserved);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_case_reserved(pool), 0);
    if (cu->is_model)
        assert_int_equal(sp_case_device_free(), before);
}

static void trim_05_live_memory_survives_a_trim(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr live = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr neighbour = sp_case_alloc(pool, SIZE, stream);
    uint64_t shared;

    sp_case_set_threshold(pool, UINT64_MAX);
    shared = sp_case_reserved(pool);
    sp_case_fill(live, 0x77, SIZE, stream);
    sp_case_free(neighbour, stream);
    free_steps(pool, stream);
    sp_case_finish(stream);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_case_used(pool), SIZE);
    assert_true(sp_case_reserved(pool) >= SIZE);
    if (cu->is_model) /* The chunk of the live block stays whole, the others go. */
        assert_int_equal(sp_case_reserved(pool), shared);
    sp_case_assert_bytes(live, 0x77, SIZE, stream);
    sp_case_free(live, stream);
    sp_case_finish(stream);
}

static void trim_06_a_free_that_the_host_has_not_seen_may_hold_memory(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    uint64_t reserved;

    sp_case_set_threshold(pool, UINT64_MAX);
    (void)sp_case_stall(stream);
    free_steps(pool, stream);
    reserved = sp_case_reserved(pool);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    sp_case_observe("TRIM-06", "free not executed: %" PRIu64 " of %" PRIu64 " stay",
                    sp_case_reserved(pool), reserved);
    if (cu->is_model)
        assert_int_equal(sp_case_reserved(pool), reserved);
    sp_case_release_all();
    sp_case_await(stream);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    sp_case_observe("TRIM-06", "free executed: %" PRIu64 " of %" PRIu64 " stay",
                    sp_case_reserved(pool), reserved);
    if (cu->is_model)
        assert_int_equal(sp_case_reserved(pool), reserved);
    sp_case_finish(stream);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_case_reserved(pool), 0);
}

static void trim_11_the_threshold_does_not_limit_a_trim(void)
{
    uint64_t reserved;
    sp_cu_pool pool = idle_pool(sp_case_stream(), &reserved);

    assert_int_equal(sp_case_bytes(pool, SP_CU_POOL_RELEASE_THRESHOLD), UINT64_MAX);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_true(sp_case_reserved(pool) < reserved);
}

/* ---- somebody else's shortage ---------------------------------------------------------------
 */

/* A pool that has had 70 % of what is free on the device, in `stream`. */
static sp_cu_pool greedy_pool(sp_cu_stream stream, size_t available)
{
    sp_cu_pool pool = sp_case_pool(0);

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_free(sp_case_alloc(pool, available / 10 * 7, stream), stream);
    return pool;
}

static void trim_07_memory_freed_and_not_synchronised_serves_nobody_else(void)
{
    sp_cu_stream stream = sp_case_stream();
    size_t available = sp_case_device_free();
    sp_cu_pool pool = greedy_pool(stream, available);
    sp_cu_ptr ptr = 0;

    sp_case_await(stream);
    assert_cu(SP_CU_OUT_OF_MEMORY, cu->cuMemAlloc(&ptr, available / 100 * 35));
    sp_case_finish(stream);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_success(cu->cuMemAlloc(&ptr, available / 100 * 35));
    assert_success(cu->cuMemFree(ptr));
}

static sp_cu_result alloc_beside_seen_memory(void *arg)
{
    sp_cu_stream stream = arg;
    size_t available = sp_case_device_free();
    sp_cu_pool pool = greedy_pool(stream, available);
    sp_cu_result result;
    sp_cu_ptr ptr = 0;

    sp_case_finish(stream);
    result = cu->cuMemAlloc(&ptr, available / 100 * 35);
    if (result == SP_CU_SUCCESS)
        assert_success(cu->cuMemFree(ptr));
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    return result;
}

static void trim_07_memory_that_the_host_has_seen_free_may_serve_others(void)
{
    static const struct sp_choice choices[] = {{"yes", SP_CU_SUCCESS},
                                               {"no", SP_CU_OUT_OF_MEMORY}};

    sp_case_choose("TRIM-07", "reclaim_after_sync", choices, 2, alloc_beside_seen_memory,
                   sp_case_stream());
}

/* ---- the release threshold ------------------------------------------------------------------
 */

static void trim_08_a_synchronise_gives_back_what_is_not_used(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr live = sp_case_alloc(pool, STEP, stream);
    uint64_t needed = sp_case_reserved(pool);

    free_steps(pool, stream);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_true(sp_case_reserved(pool) >= STEP);
    assert_true(sp_case_reserved(pool) <= needed);
    sp_case_free(live, stream);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_int_equal(sp_case_reserved(pool), 0);
}

static void trim_09_a_threshold_above_the_reserve_keeps_everything(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr blocks[N_STEPS];
    uint64_t reserved;

    alloc_steps(pool, stream, blocks);
    reserved = sp_case_reserved(pool);
    sp_case_set_threshold(pool, reserved);
    for (int i = 0; i < N_STEPS; i++)
        sp_case_free(blocks[i], stream);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_int_equal(sp_case_reserved(pool), reserved);
    sp_case_set_threshold(pool, UINT64_MAX);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_int_equal(sp_case_reserved(pool), reserved);
}

static void trim_09_a_threshold_below_the_reserve_keeps_about_that_much(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    uint64_t reserved;

    sp_case_set_threshold(pool, 2 * STEP);
    free_steps(pool, stream);
    reserved = sp_case_reserved(pool);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_true(sp_case_reserved(pool) < reserved);
    if (cu->is_model) /* At two steps it no longer exceeds the threshold. */
        assert_int_equal(sp_case_reserved(pool), 2 * STEP);
}

static void trim_10_synchronising_a_stream_gives_back(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);

    free_steps(pool, stream);
    assert_true(sp_case_reserved(pool) >= N_STEPS * STEP);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_int_equal(sp_case_reserved(pool), 0);
}

static void trim_10_synchronising_an_event_gives_back(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_pool pool = sp_case_pool(0);

    free_steps(pool, stream);
    assert_success(cu->cuEventRecord(event, stream));
    assert_true(sp_case_reserved(pool) >= N_STEPS * STEP);
    assert_success(cu->cuEventSynchronize(event));
    assert_int_equal(sp_case_reserved(pool), 0);
}

static void trim_10_synchronising_the_context_gives_back(void)
{
    sp_cu_pool pool = sp_case_pool(0);

    free_steps(pool, sp_case_stream());
    assert_true(sp_case_reserved(pool) >= N_STEPS * STEP);
    assert_success(cu->cuCtxSynchronize());
    assert_int_equal(sp_case_reserved(pool), 0);
}

static void trim_10_an_event_before_a_free_gives_nothing_back(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_pool pool = sp_case_pool(0);

    assert_success(cu->cuEventRecord(event, stream));
    (void)sp_case_stall(stream);
    free_steps(pool, stream);
    assert_success(cu->cuEventSynchronize(event));
    /* The stream has still to come to the allocations. */
    assert_true(sp_case_reserved(pool) >= N_STEPS * STEP);
    sp_case_release_all();
    sp_case_finish(stream);
}

static void trim_10_lowering_the_threshold_gives_nothing_back_by_itself(void)
{
    sp_cu_stream stream = sp_case_stream();
    uint64_t reserved;
    sp_cu_pool pool = idle_pool(stream, &reserved);

    sp_case_set_threshold(pool, 0);
    assert_int_equal(sp_case_reserved(pool), reserved);
    assert_success(cu->cuStreamSynchronize(stream));
    assert_int_equal(sp_case_reserved(pool), 0);
}

/* How much a pool with the default threshold still reserves of four steps after a query, of the
 * stream or of an event behind the frees, that found everything executed. */
static uint64_t reserved_after_query(bool of_event)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_pool pool = sp_case_pool(0);
    uint64_t reserved;

    free_steps(pool, stream);
    assert_success(cu->cuEventRecord(event, stream));
    sp_case_await(stream);
    /* The stream may need a moment more to have noted that its last operation is over. */
    while (!of_event && !sp_case_is_idle(stream))
        continue;
    if (of_event)
        assert_success(cu->cuEventQuery(event));
    reserved = sp_case_reserved(pool);
    sp_case_finish(stream);
    return reserved;
}

static void trim_10_a_query_may_give_back(void)
{
    static const char *const kinds[] = {"stream", "event"};

    for (int i = 0; i < 2; i++) {
        if (sp_case_switch("query_releases", "no"))
            assert_true(reserved_after_query(i == 1) >= N_STEPS * STEP);
        if (sp_case_switch("query_releases", "yes"))
            assert_int_equal(reserved_after_query(i == 1), 0);
        if (!cu->is_model) {
            uint64_t reserved = reserved_after_query(i == 1);

            sp_case_observe("TRIM-10", "after a query of the %s %" PRIu64 " stay", kinds[i],
                            reserved);
            sp_case_settle("query_releases", reserved == 0 ? "yes" : "no");
        }
    }
}

static const struct sp_case cases[] = {
    SP_CASE(trim_01_no_pool_is_refused, 0),
    SP_CASE(trim_02_a_pool_below_the_bound_is_left_alone, 0),
    SP_CASE(trim_03_a_trim_leaves_as_much_as_it_was_told, 0),
    SP_CASE(trim_04_a_trim_to_nothing_gives_everything_back, 0),
    SP_CASE(trim_05_live_memory_survives_a_trim, 0),
    SP_CASE(trim_06_a_free_that_the_host_has_not_seen_may_hold_memory, SP_TAG_STALL),
    SP_CASE(trim_07_memory_freed_and_not_synchronised_serves_nobody_else, SP_TAG_SLOW),
    SP_CASE(trim_07_memory_that_the_host_has_seen_free_may_serve_others, SP_TAG_SLOW),
    SP_CASE(trim_08_a_synchronise_gives_back_what_is_not_used, 0),
    SP_CASE(trim_09_a_threshold_above_the_reserve_keeps_everything, 0),
    SP_CASE(trim_09_a_threshold_below_the_reserve_keeps_about_that_much, 0),
    SP_CASE(trim_10_synchronising_a_stream_gives_back, 0),
    SP_CASE(trim_10_synchronising_an_event_gives_back, 0),
    SP_CASE(trim_10_synchronising_the_context_gives_back, 0),
    SP_CASE(trim_10_an_event_before_a_free_gives_nothing_back, SP_TAG_STALL),
    SP_CASE(trim_10_lowering_the_threshold_gives_nothing_back_by_itself, 0),
    SP_CASE(trim_10_a_query_may_give_back, 0),
    SP_CASE(trim_11_the_threshold_does_not_limit_a_trim, 0),
};

const struct sp_case_group sp_cases_trim = SP_CASE_GROUP("TRIM", cases);
