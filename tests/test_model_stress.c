/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many threads use the model at once, at random: what events put into an order is in that
 * order, which the thread sanitizer checks, too, because host functions count without atomics.
 */
#include "config.h"

#include "tests/model_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "src/util/util.h"

#define N_THREADS 3
#define N_STREAMS 4
#define N_ROUNDS  400

/* What one thread does; all results are looked at by the main thread. */
struct worker {
    uint64_t random;
    sp_cu_stream streams[N_STREAMS]; /* the last two are the thread's own and the legacy one */
    sp_cu_event event;               /* after the last operation */
    sp_cu_ptr memory;
    unsigned n_counted, n_expected;
    unsigned n_failures;
    unsigned char last;
};

static void expect(struct worker *worker, sp_cu_result wanted, sp_cu_result result)
{
    worker->n_failures += result != wanted;
}

static void count(void *arg)
{
    ((struct worker *)arg)->n_counted++;
}

/* After all that the worker has done, whatever the stream. */
static void step(struct worker *worker, sp_cu_stream stream)
{
    unsigned char value = (unsigned char)sp_test_random_below(&worker->random, 256);
    const struct sp_driver *driver = sp_model.driver;

    expect(worker, SP_CU_SUCCESS, driver->cuStreamWaitEvent(stream, worker->event, 0));
    expect(worker, SP_CU_SUCCESS, driver->cuLaunchHostFunc(stream, count, worker));
    expect(worker, SP_CU_SUCCESS, driver->cuMemsetD8Async(worker->memory, value, 4096, stream));
    expect(worker, SP_CU_SUCCESS, driver->cuEventRecord(worker->event, stream));
    worker->n_expected++;
    worker->last = value;
}

/* Something beside that must disturb nothing. */
static void disturb(struct worker *worker, sp_cu_stream *stream)
{
    const struct sp_driver *driver = sp_model.driver;
    sp_cu_result result = SP_CU_SUCCESS;
    sp_cu_ptr other;

    switch (sp_test_random_below(&worker->random, 6)) {
    case 0:
        expect(worker, SP_CU_SUCCESS, driver->cuStreamSynchronize(*stream));
        break;
    case 1:
        result = driver->cuEventQuery(worker->event);
        break;
    case 2:
        result = driver->cuStreamQuery(*stream);
        break;
    case 3:
        expect(worker, SP_CU_SUCCESS, driver->cuCtxSynchronize());
        break;
    case 4:
        expect(worker, SP_CU_SUCCESS, driver->cuMemAlloc(&other, 4096));
        expect(worker, SP_CU_SUCCESS, driver->cuMemFree(other));
        break;
    default:
        if ((uintptr_t)*stream <= (uintptr_t)SP_CU_STREAM_PER_THREAD)
            break;
        expect(worker, SP_CU_SUCCESS, driver->cuStreamDestroy(*stream));
        expect(worker, SP_CU_SUCCESS, driver->cuStreamCreate(stream, worker->last % 2));
    }
    worker->n_failures += result != SP_CU_SUCCESS && result != SP_CU_NOT_READY;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    const struct sp_driver *driver = sp_model.driver;
    unsigned char found = 0;

    expect(worker, SP_CU_SUCCESS, driver->cuCtxSetCurrent(sp_model.context));
    for (unsigned i = 0; i < N_STREAMS - 2; i++)
        expect(worker, SP_CU_SUCCESS, driver->cuStreamCreate(&worker->streams[i], i));
    worker->streams[N_STREAMS - 2] = SP_CU_STREAM_PER_THREAD;
    worker->streams[N_STREAMS - 1] = SP_CU_STREAM_LEGACY;
    expect(worker, SP_CU_SUCCESS, driver->cuEventCreate(&worker->event, 0));
    expect(worker, SP_CU_SUCCESS, driver->cuMemAlloc(&worker->memory, 4096));
    for (size_t i = 0; i < sp_test_scaled(N_ROUNDS); i++) {
        sp_cu_stream *stream =
            &worker->streams[sp_test_random_below(&worker->random, N_STREAMS)];

        step(worker, *stream);
        if (sp_test_random_below(&worker->random, 8) == 0)
            disturb(worker, stream);
    }
    expect(worker, SP_CU_SUCCESS, driver->cuEventSynchronize(worker->event));
    expect(worker, SP_CU_SUCCESS, driver->cuMemcpyDtoH(&found, worker->memory + 4095, 1));
    worker->n_failures += found != worker->last;
    return NULL; /* Its own stream ends with it. */
}

static void what_events_order_is_in_order_whatever_threads_do(void **state)
{
    struct worker workers[N_THREADS];
    pthread_t threads[N_THREADS];

    (void)state;
    memset(workers, 0, sizeof(workers));
    for (size_t i = 0; i < N_THREADS; i++) {
        workers[i].random = sp_test_seed() + i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(workers[i].n_failures, 0);
        assert_int_equal(workers[i].n_counted, workers[i].n_expected);
    }
    assert_done(cuCtxSynchronize());
    assert_true(sp_order_is_valid(sp_model_order()));
    assert_int_equal(starpool_model_violations(NULL), 0);
}

/* ---- a context that goes ------------------------------------------------------------- */

/* Its last operations are queued while the context is being destroyed. */
static void *use_until_it_is_gone(void *arg)
{
    const struct sp_driver *driver = sp_model.driver;
    sp_cu_result result = driver->cuCtxSetCurrent(*(sp_cu_context *)arg);
    sp_cu_ptr ptr;

    if (result == SP_CU_SUCCESS)
        result = driver->cuMemAlloc(&ptr, 65536);
    for (unsigned i = 1; result == SP_CU_SUCCESS; i++)
        result = i % 8 == 0 ? driver->cuStreamSynchronize(SP_CU_STREAM_PER_THREAD)
                            : driver->cuMemsetD8Async(ptr, 1, 65536, SP_CU_STREAM_PER_THREAD);
    return NULL;
}

static void a_context_goes_after_what_others_give_it_meanwhile(void **state)
{
    sp_cu_context context;
    pthread_t thread;

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(N_ROUNDS / 10); i++) {
        assert_done(cuCtxCreate(&context, 0, 0));
        assert_int_equal(pthread_create(&thread, NULL, use_until_it_is_gone, &context), 0);
        for (size_t spins = 0; spins < 10 * (i % 20); spins++)
            sched_yield();
        assert_done(cuCtxDestroy(context));
        pthread_join(thread, NULL);
    }
    assert_true(sp_order_is_valid(sp_model_order()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(what_events_order_is_in_order_whatever_threads_do),
        SP_TEST_BOTH(a_context_goes_after_what_others_give_it_meanwhile),
    };

    return cmocka_run_group_tests_name("model stress", tests, NULL, NULL);
}
