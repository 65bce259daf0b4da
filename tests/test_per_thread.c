/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What NULL means in place of a stream, in a program that is compiled for default streams of
 * each thread: on the CPU model. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdlib.h>

#include <starpool.h>

#include "src/model/model.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};

/* What a thread found out; the main thread asserts. */
static struct {
    struct starpool_pool *pool;
    void *block;
    bool is_own, is_others;
    enum starpool_status status;
} found;

static int setup(void **state)
{
    const struct sp_driver *driver;
    struct starpool_pool_config config;
    sp_cu_context context;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = host;
    if (sp_driver_get(&driver) != STARPOOL_OK ||
        driver->cuDevicePrimaryCtxRetain(&context, 0) != SP_CU_SUCCESS ||
        driver->cuCtxSetCurrent(context) != SP_CU_SUCCESS)
        return -1;
    return starpool_pool_create(&config, &found.pool) == STARPOOL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(found.pool);
    return 0;
}

static void *look(void *arg)
{
    const struct sp_driver *driver;
    sp_cu_context context;
    void *block = NULL;

    (void)arg;
    if (sp_driver_get(&driver) != STARPOOL_OK ||
        driver->cuDevicePrimaryCtxRetain(&context, 0) != SP_CU_SUCCESS ||
        driver->cuCtxSetCurrent(context) != SP_CU_SUCCESS)
        return NULL;
    found.status = starpool_alloc(found.pool, 1000, NULL, &block);
    found.is_own = starpool_is_ready_on(block, NULL, 0);
    found.is_others = starpool_is_ready_on(found.block, NULL, 0);
    starpool_free(block, NULL);
    return NULL;
}

static void null_is_the_calling_threads_own_stream(void **state)
{
    pthread_t thread;

    (void)state;
    assert_ok(starpool_alloc(found.pool, 1000, NULL, &found.block));
    assert_true(starpool_is_ready_on(found.block, STARPOOL_STREAM_PER_THREAD, 0));
    assert_false(starpool_is_ready_on(found.block, STARPOOL_STREAM_LEGACY, 0));
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    pthread_join(thread, NULL);
    assert_ok(found.status);
    assert_true(found.is_own);
    assert_false(found.is_others);
    assert_ok(starpool_free(found.block, NULL));
    assert_ok(starpool_stream_synchronize(NULL));
    assert_ok(starpool_stream_query(NULL));
}

static void other_streams_are_themselves(void **state)
{
    starpool_stream stream;
    uint64_t point = 0;
    void *block = NULL;

    (void)state;
    assert_ok(starpool_stream_create(host, &stream));
    assert_ok(starpool_alloc(found.pool, 1000, stream, &block));
    assert_ok(starpool_stream_record(stream, &point));
    assert_ok(starpool_stream_wait(NULL, stream, point));
    assert_true(starpool_is_ready_on(block, stream, 0));
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
    starpool_stream_destroy(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(null_is_the_calling_threads_own_stream, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(other_streams_are_themselves, setup, teardown),
    };

    if (setenv("STARPOOL_DRIVER", "model", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("per_thread", tests, NULL, NULL);
}
