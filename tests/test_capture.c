/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is asked of the driver while somebody captures, and in which mode: over a scripted
 * driver, which says what would have ended a capture. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/access.h>
#include <starpool/capture.h>
#include <starpool/pool.h>
#include <starpool/stats.h>

#include "graph/capture.h"
#include "src/util/util.h"
#include "tests/capture_script.h"
#include "tests/fixture.h"

#define A ((starpool_stream)(uintptr_t)0x1000)
#define B ((starpool_stream)(uintptr_t)0x2000)

static const struct starpool_location device = {STARPOOL_DEVICE, 0};
static struct starpool_pool *pool;

static int setup(void **state)
{
    struct starpool_pool_config config;

    (void)state;
    sp_capture_script_begin();
    script.captured = A;
    starpool_pool_config_init(&config);
    config.location = device;
    config.handle_types = STARPOOL_HANDLE_FD;
    return starpool_pool_create(&config, &pool) == STARPOOL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(pool);
    sp_capture_script_end();
    return 0;
}

/* ---- the question ------------------------------------------------------------------------ */

static void stream_is_asked_by_one_call(void **state)
{
    struct sp_capture capture = {.is_active = true};

    (void)state;
    memset(script.n_calls, 0, sizeof(script.n_calls));
    assert_ok(sp_capture_query(sp_capture_script_driver(), A, &capture));
    assert_false(capture.is_active);
    assert_int_equal(capture.id, 0);
    assert_int_equal(script.n_calls[SP_CALL_cuStreamGetCaptureInfo], 1);
    for (int i = 0; i < SP_N_CALLS; i++)
        assert_true(i == SP_CALL_cuStreamGetCaptureInfo || script.n_calls[i] == 0);
    script.state = SP_CU_CAPTURE_ACTIVE;
    assert_ok(sp_capture_query(sp_capture_script_driver(), A, &capture));
    assert_true(capture.is_active);
    assert_int_equal(capture.id, 7);
    assert_non_null(capture.graph);
}

static void driver_that_tells_no_graph_is_asked_for_the_state(void **state)
{
    struct sp_capture capture;
    void *ptr = &capture;

    (void)state;
    script.info_result = SP_CU_NOT_SUPPORTED;
    script.state = SP_CU_CAPTURE_ACTIVE;
    assert_ok(sp_capture_query(sp_capture_script_driver(), A, &capture));
    assert_true(capture.is_active);
    assert_null(capture.graph);
    /* There is nothing to which memory could belong. */
    assert_status(STARPOOL_ENOTSUP, starpool_alloc(pool, 1000, A, &ptr));
    assert_ptr_equal(ptr, &capture);
}

static void driver_from_before_captures_captures_nothing(void **state)
{
    struct sp_capture capture;
    void *ptr;

    (void)state;
    script.info_result = script.query_result = script.exchange_result = SP_CU_NOT_SUPPORTED;
    script.state = SP_CU_CAPTURE_ACTIVE;
    assert_ok(sp_capture_query(sp_capture_script_driver(), A, &capture));
    assert_false(capture.is_active);
    assert_ok(starpool_alloc(pool, 1000, A, &ptr));
    assert_ok(starpool_free(ptr, A));
}

static void legacy_stream_that_would_wait_for_a_capture_is_refused(void **state)
{
    enum starpool_capture_state answer = STARPOOL_CAPTURED;
    void *ptr = &answer, *block;

    (void)state;
    assert_ok(starpool_alloc(pool, 1000, B, &block));
    script.legacy_result = SP_CU_STREAM_CAPTURE_IMPLICIT;
    memset(script.n_calls, 0, sizeof(script.n_calls));
    assert_status(STARPOOL_ECAPTURE_IMPLICIT, starpool_alloc(pool, 1000, NULL, &ptr));
    assert_ptr_equal(ptr, &answer);
    assert_status(STARPOOL_ECAPTURE_IMPLICIT, starpool_free(block, NULL));
    assert_status(STARPOOL_ECAPTURE_IMPLICIT,
                  starpool_stream_synchronize(STARPOOL_STREAM_LEGACY));
    assert_status(STARPOOL_ECAPTURE_IMPLICIT, starpool_capture_status(NULL, &answer, NULL));
    assert_int_equal(answer, STARPOOL_CAPTURED);
    /* Nothing was enqueued. */
    assert_int_equal(script.n_calls[SP_CALL_cuMemAllocFromPoolAsync], 0);
    assert_int_equal(script.n_calls[SP_CALL_cuMemFreeAsync], 0);
    assert_int_equal(script.n_calls[SP_CALL_cuEventRecord], 0);
    script.legacy_result = SP_CU_SUCCESS;
    assert_ok(starpool_free(block, B));
}

static void invalidated_capture_is_refused_and_output_untouched(void **state)
{
    enum starpool_capture_state answer;
    starpool_cuda_graph graph = (starpool_cuda_graph)(void *)&answer;
    void *ptr = &answer, *block;
    uint64_t point = 77;

    (void)state;
    assert_ok(starpool_alloc(pool, 1000, B, &block));
    script.state = SP_CU_CAPTURE_INVALIDATED;
    assert_status(STARPOOL_ECAPTURE_INVALIDATED, starpool_alloc(pool, 1000, A, &ptr));
    assert_ptr_equal(ptr, &answer);
    assert_status(STARPOOL_ECAPTURE_INVALIDATED, starpool_free(block, A));
    assert_status(STARPOOL_ECAPTURE_INVALIDATED, starpool_stream_record(A, &point));
    assert_int_equal(point, 77);
    assert_status(STARPOOL_ECAPTURE_INVALIDATED, starpool_graph_keep(A, block));
    assert_ok(starpool_capture_status(A, &answer, &graph));
    assert_int_equal(answer, STARPOOL_CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_int_equal(sp_fixture_stats_of(pool).n_live, 1);
    assert_int_equal(script.n_on_captured, 0);
    script.state = SP_CU_CAPTURE_NONE;
    assert_ok(starpool_free(block, B));
}

static void streams_of_our_own_are_never_captured(void **state)
{
    enum starpool_capture_state answer;
    starpool_stream own;

    (void)state;
    script.info_result = SP_CU_INVALID_HANDLE;
    assert_ok(starpool_stream_create((struct starpool_location){STARPOOL_HOST, 0}, &own));
    assert_ok(starpool_capture_status(own, &answer, NULL));
    assert_int_equal(answer, STARPOOL_NOT_CAPTURED);
    assert_ok(starpool_capture_status(STARPOOL_STREAM_HOST, &answer, NULL));
    assert_int_equal(answer, STARPOOL_NOT_CAPTURED);
    assert_status(STARPOOL_EINVAL, starpool_capture_status(B, &answer, NULL));
    assert_status(STARPOOL_EINVAL, starpool_capture_status(own, NULL, NULL));
    assert_status(STARPOOL_EINVAL, starpool_graph_keep(own, &answer));
    starpool_stream_destroy(own);
}

/* ---- the guard --------------------------------------------------------------------------- */

static void guard_nests_and_gives_the_mode_back(void **state)
{
    const int modes[] = {SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_CAPTURE_MODE_THREAD_LOCAL,
                         SP_CU_CAPTURE_MODE_RELAXED};
    struct sp_capture_guard outer, inner;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(modes); i++) {
        sp_script_mode = modes[i];
        sp_capture_guard_begin(sp_capture_script_driver(), &outer);
        assert_int_equal(sp_script_mode, SP_CU_CAPTURE_MODE_RELAXED);
        sp_capture_guard_begin(sp_capture_script_driver(), &inner);
        sp_capture_guard_end(&inner);
        assert_int_equal(sp_script_mode, SP_CU_CAPTURE_MODE_RELAXED);
        sp_capture_guard_end(&outer);
        assert_int_equal(sp_script_mode, modes[i]);
    }
}

static void guard_of_a_driver_without_modes_does_nothing(void **state)
{
    struct sp_capture_guard guard;

    (void)state;
    script.exchange_result = SP_CU_NOT_SUPPORTED;
    sp_capture_guard_begin(sp_capture_script_driver(), &guard);
    assert_false(guard.is_held);
    sp_capture_guard_end(&guard);
    assert_int_equal(sp_script_mode, SP_CU_CAPTURE_MODE_GLOBAL);
}

/* ---- every call of ours ------------------------------------------------------------------ */

static void use_attributes(void)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    enum starpool_access access;
    uint64_t value;

    assert_ok(starpool_pool_get_attribute(pool, STARPOOL_ATTR_USED_CURRENT, &value));
    assert_ok(starpool_pool_set_attribute(pool, STARPOOL_ATTR_FOLLOWS_EVENTS, 1));
    assert_ok(starpool_pool_stats(pool, &stats));
    assert_ok(starpool_pool_reset_peaks(pool));
    assert_ok(starpool_pool_get_access(pool, (struct starpool_location){STARPOOL_DEVICE, 1},
                                       &access));
    assert_ok(starpool_pool_set_access(pool, (struct starpool_location){STARPOOL_DEVICE, 1},
                                       STARPOOL_ACCESS_READWRITE));
}

static void use_blocks(void)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct starpool_block_handle handle;
    struct starpool_pool *current;
    uint64_t point;
    void *ptr, *other;

    assert_ok(starpool_alloc(pool, 1000, STARPOOL_STREAM_HOST, &ptr));
    assert_ok(starpool_alloc(pool, 1000, B, &other));
    assert_ok(starpool_block_export(ptr, &handle));
    assert_status(STARPOOL_EINVAL, starpool_block_info((char *)ptr + 1, &info));
    assert_ok(starpool_stream_record(B, &point));
    assert_ok(starpool_stream_wait(A, B, point));
    assert_true(starpool_is_ready(other));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(other, B));
    assert_ok(starpool_stream_query(B));
    assert_ok(starpool_stream_synchronize(B));
    assert_ok(starpool_pool_trim(pool, 0));
    assert_ok(starpool_pool_current(device, STARPOOL_PINNED, &current));
}

/* Frees of host memory in a stream of the driver: their events are asked. */
static void use_events(void)
{
    struct starpool_pool *host;
    struct starpool_pool_config config;
    void *ptr;

    starpool_pool_config_init(&config);
    assert_ok(starpool_pool_create(&config, &host));
    for (int i = 0; i < 3; i++) {
        assert_ok(starpool_alloc(host, 1000, B, &ptr));
        assert_ok(starpool_free(ptr, B));
    }
    assert_ok(starpool_pool_trim(host, 0));
    starpool_pool_destroy(host);
}

static void use_processes(void)
{
    struct starpool_pool_handle handle;
    struct starpool_pool *imported;

    assert_ok(starpool_pool_export(pool, STARPOOL_HANDLE_FD, &handle));
    assert_ok(starpool_pool_import(device, &handle, &imported));
    starpool_pool_destroy(imported);
}

static void whatever_is_asked_is_asked_relaxed(void **state)
{
    const int expected[] = {
        SP_CALL_cuDevicePrimaryCtxRetain,
        SP_CALL_cuEventQuery,
        SP_CALL_cuMemAllocFromPoolAsync,
        SP_CALL_cuMemFreeAsync,
        SP_CALL_cuMemGetAddressRange,
        SP_CALL_cuMemPoolCreate,
        SP_CALL_cuMemPoolDestroy,
        SP_CALL_cuMemPoolTrimTo,
        SP_CALL_cuMemPoolGetAttribute,
        SP_CALL_cuMemPoolSetAttribute,
        SP_CALL_cuMemPoolGetAccess,
        SP_CALL_cuMemPoolSetAccess,
        SP_CALL_cuMemPoolExportPointer,
        SP_CALL_cuMemPoolExportToShareableHandle,
        SP_CALL_cuMemPoolImportFromShareableHandle,
    };
    FILE *report = tmpfile();

    (void)state;
    assert_non_null(report);
    use_attributes();
    use_blocks();
    use_events();
    use_processes();
    assert_ok(starpool_report(report, STARPOOL_REPORT_TEXT));
    fclose(report);
    if (script.n_unguarded != 0)
        fail_msg("call %d of calls.def was made without the guard", script.last_unguarded);
    assert_int_equal(sp_script_mode, SP_CU_CAPTURE_MODE_GLOBAL);
    assert_int_equal(script.n_calls[SP_CALL_cuCtxSynchronize], 0);
    /* The context was retained by another test, perhaps. */
    for (size_t i = 1; i < SP_ARRAY_SIZE(expected); i++) {
        if (script.n_calls[expected[i]] == 0)
            fail_msg("call %d of calls.def was never made", expected[i]);
    }
}

static void refused_calls_give_the_mode_back(void **state)
{
    void *ptr;

    (void)state;
    script.id_result = SP_CU_INVALID_CONTEXT;
    assert_status(STARPOOL_EDRIVER, starpool_alloc(pool, 1000, B, &ptr));
    assert_status(STARPOOL_EDRIVER, starpool_stream_synchronize(B));
    assert_int_equal(sp_script_mode, SP_CU_CAPTURE_MODE_GLOBAL);
    assert_int_equal(script.n_unguarded, 0);
}

/* ---- what no guard saves ----------------------------------------------------------------- */

static void captured_stream_is_asked_for_nothing(void **state)
{
    uint64_t point;

    (void)state;
    assert_ok(starpool_stream_record(A, &point));
    script.n_on_captured = 0;
    script.state = SP_CU_CAPTURE_ACTIVE;
    assert_status(STARPOOL_ECAPTURE_UNSUPPORTED, starpool_stream_synchronize(A));
    assert_status(STARPOOL_ECAPTURE_UNSUPPORTED, starpool_stream_query(A));
    assert_status(STARPOOL_ECAPTURE_UNSUPPORTED, starpool_stream_record(A, &point));
    assert_status(STARPOOL_ECAPTURE_UNSUPPORTED, starpool_stream_wait(A, A, point));
    assert_int_equal(script.n_on_captured, 0);
    script.state = SP_CU_CAPTURE_NONE;
    assert_ok(starpool_stream_synchronize(A));
}

/* Between a question whether a stream is captured and any other one a capture may begin. */
static void stream_is_not_asked_for_what_an_event_tells(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *host;
    void *first, *second;

    (void)state;
    starpool_pool_config_init(&config);
    assert_ok(starpool_pool_create(&config, &host));
    assert_ok(starpool_alloc(host, 1000, B, &first));
    assert_ok(starpool_free(first, B));
    assert_ok(starpool_alloc(host, 1000, B, &first));
    assert_ok(starpool_alloc(host, 1000, B, &second));
    assert_ok(starpool_free(second, B));
    script.event_result = SP_CU_NOT_READY;
    memset(script.n_calls, 0, sizeof(script.n_calls));
    assert_false(starpool_is_ready(first));
    assert_true(script.n_calls[SP_CALL_cuEventQuery] > 0);
    assert_int_equal(script.n_calls[SP_CALL_cuStreamQuery], 0);
    script.event_result = SP_CU_SUCCESS;
    assert_true(starpool_is_ready(first));
    assert_ok(starpool_free(first, B));
    assert_ok(starpool_stream_synchronize(B));
    starpool_pool_destroy(host);
}

static void whole_context_is_not_waited_for_while_somebody_captures(void **state)
{
    void *ptr;

    (void)state;
    script.event_result = SP_CU_NOT_READY;
    assert_ok(starpool_alloc(pool, 1000, A, &ptr));
    /* The stream of the allocation is captured now: no event tells how far it has come. */
    script.state = SP_CU_CAPTURE_ACTIVE;
    script.legacy_result = SP_CU_STREAM_CAPTURE_IMPLICIT;
    assert_status(STARPOOL_ECAPTURE_UNSUPPORTED, starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(script.n_calls[SP_CALL_cuCtxSynchronize], 0);
    assert_int_equal(sp_fixture_stats_of(pool).n_live, 1);
    script.legacy_result = SP_CU_SUCCESS;
    script.state = SP_CU_CAPTURE_NONE;
    script.event_result = SP_CU_SUCCESS;
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static void graph_without_user_objects_gets_nothing_of_ours(void **state)
{
    void *ptr = &script, *block;

    (void)state;
    assert_ok(starpool_alloc(pool, 1000, B, &block));
    script.state = SP_CU_CAPTURE_ACTIVE;
    script.object_result = SP_CU_NOT_SUPPORTED;
    assert_status(STARPOOL_ENOTSUP, starpool_alloc(pool, 1000, A, &ptr));
    assert_ptr_equal(ptr, &script);
    assert_status(STARPOOL_ENOTSUP, starpool_free(block, A));
    assert_int_equal(sp_fixture_stats_of(pool).n_live, 1);
    script.state = SP_CU_CAPTURE_NONE;
    assert_ok(starpool_free(block, B));
}

/* ---- the flag of the destructor ---------------------------------------------------------- */

static void destructor_sets_a_flag_and_the_next_call_cleans_up(void **state)
{
    void *block;
    unsigned n_calls;

    (void)state;
    assert_ok(starpool_alloc(pool, 4096, B, &block));
    script.state = SP_CU_CAPTURE_ACTIVE;
    assert_ok(starpool_free(block, A));
    script.state = SP_CU_CAPTURE_NONE;
    assert_non_null(script.destroy);
    assert_int_equal(sp_fixture_stats_of(pool).graph_held_bytes, 4096);
    assert_int_equal(sp_fixture_stats_of(pool).n_live, 1);
    n_calls = script.n_calls[SP_CALL_cuMemFreeAsync];
    script.destroy(script.destroy_arg);
    /* On a thread of the driver that may call nothing. */
    assert_int_equal(script.n_calls[SP_CALL_cuMemFreeAsync], n_calls);
    assert_int_equal(sp_fixture_stats_of(pool).graph_held_bytes, 0);
    assert_int_equal(script.n_calls[SP_CALL_cuMemFreeAsync], n_calls + 1);
    assert_int_equal(sp_fixture_stats_of(pool).n_live, 0);
    assert_int_equal(script.n_unguarded, 0);
}

static void capture_is_asked_once_whether_it_has_ended(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *host;
    void *blocks[10];

    (void)state;
    starpool_pool_config_init(&config);
    config.captured_free = STARPOOL_FREE_AT_CAPTURE_END;
    assert_ok(starpool_pool_create(&config, &host));
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        assert_ok(starpool_alloc(host, 1000, STARPOOL_STREAM_HOST, &blocks[i]));
    script.state = SP_CU_CAPTURE_ACTIVE;
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        assert_ok(starpool_free(blocks[i], A));
    memset(script.n_calls, 0, sizeof(script.n_calls));
    assert_int_equal(sp_fixture_stats_of(host).n_live, SP_ARRAY_SIZE(blocks));
    assert_int_equal(script.n_calls[SP_CALL_cuStreamGetCaptureInfo], 1);
    script.state = SP_CU_CAPTURE_NONE;
    assert_int_equal(sp_fixture_stats_of(host).graph_held_bytes, 0);
    assert_ok(starpool_stream_synchronize(A));
    assert_int_equal(sp_fixture_stats_of(host).n_live, 0);
    starpool_pool_destroy(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stream_is_asked_by_one_call, setup, teardown),
        cmocka_unit_test_setup_teardown(driver_that_tells_no_graph_is_asked_for_the_state,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(driver_from_before_captures_captures_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(legacy_stream_that_would_wait_for_a_capture_is_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(invalidated_capture_is_refused_and_output_untouched,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(streams_of_our_own_are_never_captured, setup, teardown),
        cmocka_unit_test_setup_teardown(guard_nests_and_gives_the_mode_back, setup, teardown),
        cmocka_unit_test_setup_teardown(guard_of_a_driver_without_modes_does_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(whatever_is_asked_is_asked_relaxed, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_calls_give_the_mode_back, setup, teardown),
        cmocka_unit_test_setup_teardown(captured_stream_is_asked_for_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(stream_is_not_asked_for_what_an_event_tells, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(whole_context_is_not_waited_for_while_somebody_captures,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(graph_without_user_objects_gets_nothing_of_ours, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(destructor_sets_a_flag_and_the_next_call_cleans_up,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(capture_is_asked_once_whether_it_has_ended, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
