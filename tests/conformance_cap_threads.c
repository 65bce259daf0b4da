/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CAP: threads that poll and synchronise beside somebody else's capture, the modes of threads,
 * and what is allowed at all times. The list is in conformance_cap.c. */
#include "config.h"

#include "tests/conformance_cap.h"

/* ---- a watchdog ---------------------------------------------------------------------- */

struct watchdog {
    sp_cu_event event; /* recorded outside of captures, and over */
    int mode;          /* of its thread */
};

static sp_cu_result watch(void *arg)
{
    const struct watchdog *watchdog = arg;

    (void)sp_cap_exchange(watchdog->mode);
    return cu->cuEventQuery(watchdog->event);
}

/* A thread in a mode polls while this one captures in another. */
static void check_watchdog(int thread_mode, int capture_mode, sp_cu_result expected)
{
    struct watchdog watchdog = {.event = sp_case_event(), .mode = thread_mode};
    sp_cu_stream stream = sp_case_stream();

    assert_success(cu->cuEventRecord(watchdog.event, stream));
    sp_case_finish(stream);
    sp_cap_begin_in(stream, capture_mode);
    assert_cu(expected, sp_cap_in_thread(watch, &watchdog));
    sp_cap_assert_status(
        expected == SP_CU_SUCCESS ? SP_CU_CAPTURE_ACTIVE : SP_CU_CAPTURE_INVALIDATED, stream);
    (void)sp_cap_end_any(stream);
}

void cap_33_a_thread_that_polls_an_event_ends_a_global_capture(void)
{
    check_watchdog(SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_CAPTURE_MODE_GLOBAL,
                   SP_CU_STREAM_CAPTURE_UNSUPPORTED);
}

void cap_33_either_side_can_avoid_that(void)
{
    check_watchdog(SP_CU_CAPTURE_MODE_THREAD_LOCAL, SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_SUCCESS);
    check_watchdog(SP_CU_CAPTURE_MODE_RELAXED, SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_SUCCESS);
    check_watchdog(SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_CAPTURE_MODE_THREAD_LOCAL, SP_CU_SUCCESS);
    check_watchdog(SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_CAPTURE_MODE_RELAXED, SP_CU_SUCCESS);
}

/* ---- modes of threads ---------------------------------------------------------------- */

static sp_cu_result exchange_elsewhere(void *arg)
{
    int *modes = arg;

    modes[0] = sp_cap_exchange(SP_CU_CAPTURE_MODE_THREAD_LOCAL);
    modes[1] = sp_cap_exchange(SP_CU_CAPTURE_MODE_RELAXED);
    return SP_CU_SUCCESS;
}

void cap_34_exchange_swaps_the_mode_of_one_thread(void)
{
    sp_cu_stream stream = sp_case_stream();
    int modes[2] = {-1, -1};

    assert_int_equal(sp_cap_exchange(SP_CU_CAPTURE_MODE_RELAXED), SP_CU_CAPTURE_MODE_GLOBAL);
    assert_success(sp_cap_in_thread(exchange_elsewhere, modes));
    assert_int_equal(modes[0], SP_CU_CAPTURE_MODE_GLOBAL);
    assert_int_equal(modes[1], SP_CU_CAPTURE_MODE_THREAD_LOCAL);
    sp_cap_begin(stream);
    assert_int_equal(sp_cap_exchange(SP_CU_CAPTURE_MODE_THREAD_LOCAL),
                     SP_CU_CAPTURE_MODE_RELAXED);
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
    assert_int_equal(sp_cap_exchange(SP_CU_CAPTURE_MODE_GLOBAL),
                     SP_CU_CAPTURE_MODE_THREAD_LOCAL);
}

void cap_34_what_is_no_mode_is_refused(void)
{
    int mode = 3;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, 3);
    mode = -1;
    assert_cu(SP_CU_INVALID_VALUE, cu->cuThreadExchangeStreamCaptureMode(&mode));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuThreadExchangeStreamCaptureMode(NULL));
    assert_int_equal(sp_cap_exchange(SP_CU_CAPTURE_MODE_GLOBAL), SP_CU_CAPTURE_MODE_GLOBAL);
}

/* ---- synchronising elsewhere --------------------------------------------------------- */

static sp_cu_result synchronize_device(void *arg)
{
    const int *device = arg;

    (void)sp_case_device(*device);
    return cu->cuCtxSynchronize();
}

static sp_cu_result synchronize_beside(void *arg)
{
    const int *mode = arg;
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result result, ended;
    int device = 0;

    sp_cap_begin_in(stream, *mode);
    result = sp_cap_in_thread(synchronize_device, &device);
    ended = sp_cap_end_any(stream);
    sp_case_observe("CAP-35", "mode %d: the capture ends with %d", *mode, ended);
    if (cu->is_model)
        assert_cu(result == SP_CU_SUCCESS ? SP_CU_SUCCESS : SP_CU_STREAM_CAPTURE_INVALIDATED,
                  ended);
    return result;
}

void cap_35_another_threads_synchronisation_ends_captures(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        int mode = sp_cap_modes[i];
        const struct sp_choice choices[] = {
            {"every-mode", SP_CU_STREAM_CAPTURE_UNSUPPORTED},
            {"global", mode == SP_CU_CAPTURE_MODE_GLOBAL ? SP_CU_STREAM_CAPTURE_UNSUPPORTED
                                                         : SP_CU_SUCCESS},
        };

        sp_case_choose("CAP-35", "sync_elsewhere", choices, 2, synchronize_beside, &mode);
    }
}

static sp_cu_result synchronize_legacy(void *arg)
{
    return cu->cuStreamSynchronize(arg);
}

void cap_35_another_threads_legacy_stream_ends_blocking_captures(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        sp_cu_stream stream = sp_case_blocking_stream();
        sp_cu_result result, ended;

        sp_cap_begin_in(stream, sp_cap_modes[i]);
        result = sp_cap_in_thread(synchronize_legacy, NULL);
        ended = sp_cap_end_any(stream);
        sp_case_observe("CAP-35", "legacy stream, mode %d: %d, the capture ends with %d",
                        sp_cap_modes[i], result, ended);
        if (!cu->is_model)
            continue;
        assert_cu(SP_CU_STREAM_CAPTURE_IMPLICIT, result);
        assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED, ended);
    }
}

void cap_35_a_capture_on_another_device_goes_on(void)
{
    int device = 1;

    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        sp_cu_stream stream = sp_case_stream();
        sp_cu_result result, ended;

        sp_cap_begin_in(stream, sp_cap_modes[i]);
        result = sp_cap_in_thread(synchronize_device, &device);
        ended = sp_cap_end_any(stream);
        sp_case_observe("CAP-35", "device 1, mode %d: %d, the capture ends with %d",
                        sp_cap_modes[i], result, ended);
        if (!cu->is_model)
            continue;
        assert_cu(SP_CU_SUCCESS, result);
        assert_cu(SP_CU_SUCCESS, ended);
    }
}

/* ---- streams and events -------------------------------------------------------------- */

void cap_40_streams_and_events_come_and_go_meanwhile(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined;
    sp_cu_event event;
    sp_cu_graph graph;

    sp_cap_begin(stream);
    assert_success(cu->cuStreamCreate(&joined, SP_CU_STREAM_NON_BLOCKING));
    assert_success(cu->cuEventCreate(&event, SP_CU_EVENT_DISABLE_TIMING));
    sp_cap_fork(stream, event, joined);
    sp_cap_work(joined);
    sp_cap_fork(joined, event, stream);
    assert_success(cu->cuStreamDestroy(joined));
    assert_success(cu->cuEventDestroy(event));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    assert_success(cu->cuGraphDestroy(graph));
}
