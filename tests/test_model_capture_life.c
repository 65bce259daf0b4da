/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures of the model that do not end as usual: streams, contexts and threads that go in the
 * middle; and many of them at once. */
#include "config.h"

#include "tests/model_capture_fixture.h"

#include <pthread.h>

/* ---- streams, contexts and threads that go ------------------------------------------- */

static void a_destroyed_origin_sets_the_other_streams_free(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_graph graph;
    int status;

    (void)state;
    sp_test_begin(stream);
    sp_test_fork(stream, event, other);
    sp_test_work(other);
    assert_done(cuStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL, NULL));
    assert_done(cuStreamDestroy(stream));
    sp_test_assert_capturing(SP_CU_CAPTURE_NONE, other);
    assert_result(SP_CU_INVALID_VALUE, cuGraphDestroy(graph));
    sp_test_begin(other);
    assert_done(cuGraphDestroy(sp_test_end(other)));
}

static void a_stream_that_is_destroyed_before_it_was_joined_ends_the_capture(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_graph graph = NULL;

    (void)state;
    sp_test_begin(stream);
    sp_test_fork(stream, event, other);
    sp_test_work(other);
    assert_done(cuStreamDestroy(other));
    sp_test_assert_capturing(SP_CU_CAPTURE_INVALIDATED, stream);
    assert_result(SP_CU_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    sp_test_assert_capturing(SP_CU_CAPTURE_NONE, stream);
}

static void a_stream_whose_work_is_joined_or_none_may_go(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream idle = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream joined = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = sp_test_event();
    sp_cu_graph graph;
    size_t n = 0;

    (void)state;
    sp_test_begin(stream);
    sp_test_fork(stream, event, idle);
    sp_test_fork(stream, event, joined);
    sp_test_work(joined);
    sp_test_fork(joined, event, stream);
    assert_done(cuStreamDestroy(joined));
    assert_done(cuStreamDestroy(idle));
    assert_done(cuEventDestroy(event));
    graph = sp_test_end(stream);
    assert_done(cuGraphGetNodes(graph, NULL, &n));
    assert_int_equal(n, 1);
    assert_done(cuGraphDestroy(graph));
}

static void a_context_takes_its_captures_along(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING), other;
    sp_cu_event event, first = sp_test_event();
    sp_cu_context second;

    (void)state;
    assert_done(cuCtxCreate(&second, 0, 1));
    other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    event = sp_test_event();
    sp_test_begin(other);
    sp_test_work(other);
    sp_test_fork(other, event, stream);
    sp_test_assert_capturing(SP_CU_CAPTURE_ACTIVE, stream);
    assert_done(cuCtxDestroy(second));
    sp_test_assert_capturing(SP_CU_CAPTURE_NONE, stream);
    sp_test_begin(stream);
    assert_done(cuEventRecord(first, stream));
    assert_done(cuGraphDestroy(sp_test_end(stream)));
}

/* What a thread did, for the main thread to look at. */
struct outcome {
    sp_cu_stream stream;
    sp_cu_event event;
    sp_cu_graph graph;
    sp_cu_result results[4];
};

static void *begin_and_go(void *arg)
{
    struct outcome *outcome = arg;
    const struct sp_driver *driver = sp_model.driver;

    outcome->results[0] = driver->cuCtxSetCurrent(sp_model.context);
    outcome->results[1] =
        driver->cuStreamBeginCapture(outcome->stream, SP_CU_CAPTURE_MODE_GLOBAL);
    outcome->results[2] = driver->cuEventRecord(outcome->event, outcome->stream);
    outcome->results[3] = driver->cuLaunchHostFunc(outcome->stream, sp_test_nothing, NULL);
    return NULL;
}

static void *begin_nothing_and_end(void *arg)
{
    struct outcome *outcome = arg;

    outcome->graph = NULL;
    outcome->results[0] = sp_model.driver->cuStreamEndCapture(outcome->stream, &outcome->graph);
    return NULL;
}

static void run_thread(void *(*body)(void *arg), struct outcome *outcome)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, body, outcome), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_later_thread_is_not_taken_for_one_that_has_ended(void **state)
{
    struct outcome outcome = {.stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING),
                              .event = sp_test_event()};

    (void)state;
    run_thread(begin_and_go, &outcome);
    for (int i = 0; i < 4; i++)
        assert_int_equal(outcome.results[i], SP_CU_SUCCESS);
    for (int i = 0; i < 8; i++) {
        run_thread(begin_nothing_and_end, &outcome);
        assert_int_equal(outcome.results[0], SP_CU_STREAM_CAPTURE_WRONG_THREAD);
        assert_null(outcome.graph);
    }
    sp_test_assert_capturing(SP_CU_CAPTURE_ACTIVE, outcome.stream);
}

static void a_thread_takes_the_capture_of_its_own_stream_along(void **state)
{
    struct outcome outcome = {.stream = SP_CU_STREAM_PER_THREAD, .event = sp_test_event()};
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr;

    (void)state;
    run_thread(begin_and_go, &outcome);
    assert_int_equal(outcome.results[3], SP_CU_SUCCESS);
    /* Nothing is captured any more that could forbid this, and the event is of no capture. */
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuMemFree(ptr));
    assert_result(SP_CU_CAPTURED_EVENT, cuStreamWaitEvent(stream, outcome.event, 0));
}

static void a_reset_forgets_captures_and_modes(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    int mode = SP_CU_CAPTURE_MODE_RELAXED;

    (void)state;
    sp_test_begin(stream);
    sp_test_work(stream);
    assert_done(cuEventRecord(sp_test_event(), stream));
    assert_done(cuThreadExchangeStreamCaptureMode(&mode));
    sp_test_model_configure(1, STARPOOL_MODEL_INLINE);
    assert_done(cuInit(0));
    assert_done(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, SP_CU_CAPTURE_MODE_GLOBAL);
    mode = SP_CU_CAPTURE_MODE_GLOBAL;
    assert_done(cuThreadExchangeStreamCaptureMode(&mode));
}

/* ---- many threads at once ------------------------------------------------------------ */

#define N_THREADS 3
#define N_ROUNDS  60

/* Each captures on streams of its own while the others ask about them. */
struct worker {
    sp_cu_stream stream, other;
    sp_cu_event event;
    sp_cu_ptr byte; /* its own */
    const struct worker *all;
    unsigned n_failures;
    size_t n_nodes;
};

static void expect(struct worker *worker, sp_cu_result result)
{
    worker->n_failures += result != SP_CU_SUCCESS;
}

static void capture_once(struct worker *worker)
{
    const struct sp_driver *driver = sp_model.driver;
    sp_cu_graph graph = NULL;
    size_t n = 0;

    expect(worker,
           driver->cuStreamBeginCapture(worker->stream, SP_CU_CAPTURE_MODE_THREAD_LOCAL));
    expect(worker, driver->cuLaunchHostFunc(worker->stream, sp_test_nothing, NULL));
    expect(worker, driver->cuEventRecord(worker->event, worker->stream));
    expect(worker, driver->cuStreamWaitEvent(worker->other, worker->event, 0));
    expect(worker, driver->cuLaunchHostFunc(worker->other, sp_test_nothing, NULL));
    expect(worker, driver->cuEventRecord(worker->event, worker->other));
    expect(worker, driver->cuStreamWaitEvent(worker->stream, worker->event, 0));
    expect(worker, driver->cuStreamEndCapture(worker->stream, &graph));
    expect(worker, driver->cuGraphGetNodes(graph, NULL, &n));
    expect(worker, driver->cuGraphDestroy(graph));
    worker->n_nodes += n;
}

static void *capture_and_ask(void *arg)
{
    const struct sp_driver *driver = sp_model.driver;
    struct worker *worker = arg;
    sp_cu_ptr ptr;
    int status, mode;

    expect(worker, driver->cuCtxSetCurrent(sp_model.context));
    for (size_t round = 0; round < sp_test_scaled(N_ROUNDS); round++) {
        capture_once(worker);
        for (int i = 0; i < N_THREADS; i++)
            expect(worker, driver->cuStreamIsCapturing(worker->all[i].stream, &status));
        mode = SP_CU_CAPTURE_MODE_RELAXED;
        expect(worker, driver->cuThreadExchangeStreamCaptureMode(&mode));
        expect(worker, driver->cuMemAlloc(&ptr, 4096));
        expect(worker, driver->cuMemFree(ptr));
        expect(worker, driver->cuThreadExchangeStreamCaptureMode(&mode));
        expect(worker, driver->cuMemsetD8Async(worker->byte, 0, 1, worker->stream));
        expect(worker, driver->cuStreamSynchronize(worker->stream));
    }
    return NULL;
}

static void threads_capture_and_ask_at_once(void **state)
{
    struct worker workers[N_THREADS] = {{.n_failures = 0}};
    pthread_t threads[N_THREADS];

    (void)state;
    for (int i = 0; i < N_THREADS; i++) {
        workers[i].stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
        workers[i].other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
        workers[i].event = sp_test_event();
        workers[i].byte = (uintptr_t)sp_model.flag + (uintptr_t)i;
        workers[i].all = workers;
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, capture_and_ask, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(workers[i].n_failures, 0);
        assert_int_equal(workers[i].n_nodes, 2 * sp_test_scaled(N_ROUNDS));
    }
}

/* ---- the list ------------------------------------------------------------------------ */

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_destroyed_origin_sets_the_other_streams_free),
        SP_TEST_BOTH(a_stream_that_is_destroyed_before_it_was_joined_ends_the_capture),
        SP_TEST_BOTH(a_stream_whose_work_is_joined_or_none_may_go),
        SP_TEST_BOTH(a_context_takes_its_captures_along),
        SP_TEST_BOTH(a_later_thread_is_not_taken_for_one_that_has_ended),
        SP_TEST_BOTH(a_thread_takes_the_capture_of_its_own_stream_along),
        SP_TEST_BOTH(a_reset_forgets_captures_and_modes),
        SP_TEST_BOTH(threads_capture_and_ask_at_once),
    };

    return cmocka_run_group_tests_name("model_capture_life", tests, NULL, NULL);
}
