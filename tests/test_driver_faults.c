/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools and streams of the driver where things go wrong: contexts that are reset, refusals,
 * frees that come too early or twice, streams that only their thread can name. On the CPU
 * model. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpool.h>

#include "src/model/model.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "src/util/util.h"
#include "tests/driver_fixture.h"
#include "tests/fixture.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};
static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};

static int setup(void **state)
{
    (void)state;
    return sp_driver_fixture_setup(0, true);
}

static void make_streams(void)
{
    assert_int_equal(on.driver->cuStreamCreate(&on.a, SP_CU_STREAM_NON_BLOCKING), 0);
    assert_int_equal(on.driver->cuStreamCreate(&on.b, SP_CU_STREAM_NON_BLOCKING), 0);
}

/* ---- streams that only their thread can name --------------------------------------------- */

static struct {
    void *of_host, *of_driver;
    bool is_ok;
} theirs;

/* Allocates on its own stream, which is held, and stays until it is told to end. */
static void *own_stream(void *arg)
{
    starpool_stream own = STARPOOL_STREAM_PER_THREAD;

    (void)arg;
    theirs.is_ok = on.driver->cuCtxSetCurrent(on.context) == SP_CU_SUCCESS &&
                   on.driver->cuLaunchHostFunc(own, sp_gate_pass, NULL) == SP_CU_SUCCESS &&
                   starpool_alloc(on.host, 1000, own, &theirs.of_host) == STARPOOL_OK &&
                   starpool_alloc(on.pool, 1000, own, &theirs.of_driver) == STARPOOL_OK;
    sp_gate_set(&gate.is_answered);
    if (!theirs.is_ok)
        return NULL;
    theirs.is_ok = on.driver->cuStreamSynchronize(own) == SP_CU_SUCCESS;
    sp_gate_wait(&gate.is_heard);
    return NULL;
}

static void block_of_another_threads_stream_is_ready_when_that_has_come_there(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, own_stream, NULL), 0);
    sp_gate_wait(&gate.is_answered);
    assert_false(starpool_is_ready(theirs.of_host));
    assert_false(starpool_is_ready(theirs.of_driver));
    sp_gate_set(&gate.is_open);
    assert_int_equal(on.driver->cuCtxSynchronize(), SP_CU_SUCCESS);
    assert_true(starpool_is_ready(theirs.of_host));
    assert_true(starpool_is_ready(theirs.of_driver));
    sp_gate_set(&gate.is_heard);
    pthread_join(thread, NULL);
    assert_true(theirs.is_ok);
    assert_ok(starpool_free(theirs.of_host, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(theirs.of_driver, STARPOOL_STREAM_HOST));
}

static void host_waits_for_another_threads_stream_and_not_its_own(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, own_stream, NULL), 0);
    sp_gate_wait(&gate.is_answered);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_free(theirs.of_driver, STARPOOL_STREAM_HOST));
    assert_int_equal(sp_fixture_stats_of(on.pool).used_bytes, 0);
    assert_int_equal(starpool_model_violations(NULL), 0);
    sp_gate_set(&gate.is_heard);
    pthread_join(thread, NULL);
    assert_true(theirs.is_ok);
    assert_ok(starpool_free(theirs.of_host, STARPOOL_STREAM_HOST));
}

/* ---- frees that come too early, or twice ------------------------------------------------- */

static void host_frees_a_block_no_sooner_than_it_is_allocated(void **state)
{
    void *ptr;

    (void)state;
    sp_gate_close_in(on.a);
    ptr = sp_driver_fixture_alloc(on.pool, on.a, 1000);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(starpool_model_violations(NULL), 0);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live, 0);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.a));
    assert_int_equal(sp_fixture_stats_of(on.pool).used_bytes, 0);
    assert_int_equal(starpool_model_violations(NULL), 0);
}

static void early_block_of_a_stream_that_is_gone_is_waited_for(void **state)
{
    sp_cu_stream gone;
    void *ptr;

    (void)state;
    assert_int_equal(on.driver->cuStreamCreate(&gone, SP_CU_STREAM_NON_BLOCKING), 0);
    ptr = sp_driver_fixture_alloc(on.pool, gone, 1000);
    assert_int_equal(on.driver->cuStreamDestroy(gone), SP_CU_SUCCESS);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(starpool_model_violations(NULL), 0);
    assert_int_equal(sp_fixture_stats_of(on.pool).used_bytes, 0);
}

static void wrong_frees_of_the_drivers_blocks_are_counted(void **state)
{
    char *ptr = sp_driver_fixture_alloc(on.pool, on.a, 1000);

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_free(ptr + 256, on.a));
    assert_int_equal(sp_fixture_stats_of(on.pool).n_wrong_frees, 1);
    assert_ok(starpool_free(ptr, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(sp_fixture_stats_of(on.pool).n_wrong_frees, 3);
    assert_int_equal(sp_fixture_stats_of(on.pool).n_frees, 1);
}

/* ---- contexts that are reset ------------------------------------------------------------- */

static void pool_of_the_driver_serves_the_host_after_a_reset(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 1000);

    (void)state;
    assert_int_equal(on.driver->cuDevicePrimaryCtxReset(0), SP_CU_SUCCESS);
    make_streams();
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 1000);
    assert_true(starpool_is_ready(ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(sp_fixture_stats_of(on.pool).used_bytes, 0);
}

/* Handles of what a reset has taken come back: the program's events have them then. */
static void events_that_a_reset_has_taken_are_left_alone(void **state)
{
    sp_cu_event events[64];

    (void)state;
    assert_ok(starpool_free(sp_driver_fixture_alloc(on.host, on.a, 1000), on.a));
    assert_int_equal(on.driver->cuDevicePrimaryCtxReset(0), SP_CU_SUCCESS);
    make_streams();
    sp_gate_close_in(on.b);
    for (size_t i = 0; i < SP_ARRAY_SIZE(events); i++) {
        assert_int_equal(on.driver->cuEventCreate(&events[i], SP_CU_EVENT_DISABLE_TIMING), 0);
        assert_int_equal(on.driver->cuEventRecord(events[i], on.b), SP_CU_SUCCESS);
    }
    assert_ok(starpool_free(sp_driver_fixture_alloc(on.host, on.a, 1000),
                            on.a)); /* the handle's next */
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_pool_trim(on.host, 0));
    assert_int_equal(sp_fixture_stats_of(on.host).ordered_pending_bytes, 0);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_stream_synchronize(on.b));
    for (size_t i = 0; i < SP_ARRAY_SIZE(events); i++)
        assert_int_equal(on.driver->cuEventDestroy(events[i]), SP_CU_SUCCESS);
}

static void special_streams_serve_after_a_reset(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(starpool_free(sp_driver_fixture_alloc(on.host, NULL, 1000), NULL));
        assert_int_equal(on.driver->cuDevicePrimaryCtxReset(0), SP_CU_SUCCESS);
    }
    make_streams();
    assert_ok(starpool_free(sp_driver_fixture_alloc(on.host, NULL, 1000), NULL));
    assert_ok(starpool_stream_synchronize(NULL));
    assert_ok(starpool_pool_trim(on.host, 0));
    assert_int_equal(sp_fixture_stats_of(on.host).ordered_pending_bytes, 0);
}

/* ---- refusals ---------------------------------------------------------------------------- */

static void wait_that_nobody_can_make_is_not_believed(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.host, on.a, 2 * SP_MIB), *other = &on;

    (void)state;
    sp_gate_close_in(on.a);
    assert_ok(starpool_free(ptr, on.a));
    assert_ok(starpool_model_inject("cuStreamWaitEvent@1=999,cuEventSynchronize@1=999"));
    assert_status(STARPOOL_EDRIVER, starpool_alloc(on.host, 2 * SP_MIB, on.b, &other));
    assert_ptr_equal(other, &on);
    assert_int_equal(sp_fixture_stats_of(on.host).n_takes_internal, 0);
    assert_ok(starpool_pool_set_attribute(on.host, STARPOOL_ATTR_INTERNAL_WAITS, 0));
    other = sp_driver_fixture_alloc(on.host, on.b, 2 * SP_MIB);
    assert_ptr_not_equal(other, ptr);
    sp_gate_set(&gate.is_open);
    assert_ok(starpool_free(other, on.b));
}

static void driver_is_named_where_it_refuses(void **state)
{
    char text[SP_WHY_SIZE];
    void *ptr = NULL, *block = sp_driver_fixture_alloc(on.pool, on.a, SP_MIB);

    (void)state;
    assert_status(STARPOOL_ENOMEM, starpool_alloc(on.pool, (size_t)1 << 40, on.a, &ptr));
    sp_pool_why(on.pool, (size_t)1 << 40, STARPOOL_ENOMEM, text, sizeof(text));
    assert_non_null(strstr(text, "the driver answered 2 to cuMemAllocFromPoolAsync"));
    assert_null(strstr(text, "ulimit"));
    assert_null(strstr(text, "of 0 bytes reserved"));
    assert_ok(starpool_free(block, on.a));
}

static void marks_start_again_together_or_not_at_all(void **state)
{
    void *ptr = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, 4 * SP_MIB);

    (void)state;
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    for (int i = 1; i <= 2; i++) {
        char fault[64];

        snprintf(fault, sizeof(fault), "cuMemPoolSetAttribute@%d=999", i);
        assert_ok(starpool_model_inject(fault));
        assert_status(STARPOOL_EDRIVER, starpool_pool_reset_peaks(on.pool));
        assert_int_equal(sp_fixture_stats_of(on.pool).n_live_high, 1);
        assert_true(sp_fixture_stats_of(on.pool).used_high_bytes >= 4 * SP_MIB);
    }
    assert_ok(starpool_pool_reset_peaks(on.pool));
    assert_int_equal(sp_fixture_stats_of(on.pool).n_live_high, 0);
    assert_int_equal(sp_fixture_stats_of(on.pool).used_high_bytes, 0);
}

/* ---- what is over ------------------------------------------------------------------------ */

static void one_trim_finds_what_waited_for_the_driver(void **state)
{
    starpool_stream own;
    sp_cu_stream later;
    uint64_t point = 0;
    void *ptr;

    (void)state;
    assert_ok(starpool_stream_create(host, &own));
    ptr = sp_driver_fixture_alloc(on.host, own, 1000);
    assert_int_equal(on.driver->cuStreamCreate(&later, SP_CU_STREAM_NON_BLOCKING), 0);
    sp_gate_close_in(later);
    assert_ok(starpool_stream_record(later, &point));
    assert_ok(starpool_stream_wait(own, later, point));
    assert_ok(starpool_free(ptr, own));
    starpool_stream_destroy(own);
    assert_int_equal(sp_fixture_stats_of(on.host).ordered_pending_bytes, 1024);
    sp_gate_set(&gate.is_open);
    assert_int_equal(on.driver->cuStreamSynchronize(later), SP_CU_SUCCESS);
    assert_ok(starpool_pool_trim(on.host, 0));
    assert_int_equal(sp_fixture_stats_of(on.host).reserved_bytes, 0);
    assert_int_equal(on.driver->cuStreamDestroy(later), SP_CU_SUCCESS);
}

static void report_names_who_serves_a_pool(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    config.backend = STARPOOL_BACKEND_CPU;
    config.name = "cpu";
    assert_ok(starpool_pool_create(&config, &pool));
    assert_ok(starpool_report(out, STARPOOL_REPORT_TEXT));
    assert_non_null(strstr(text, "cpu (DEVICE, cpu-only device, "));
    assert_non_null(strstr(text, "DEVICE 0 pool (DEVICE, driver, "));
    assert_non_null(strstr(text, "HOST pool (HOST, host, "));
    rewind(out);
    assert_ok(starpool_report(out, STARPOOL_REPORT_JSON));
    assert_non_null(strstr(text, "\"backend\": \"cpu-only device\""));
    assert_non_null(strstr(text, "\"backend\": \"driver\""));
    fclose(out);
    free(text);
    starpool_pool_destroy(pool);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, sp_driver_fixture_teardown)

static const struct CMUnitTest tests[] = {
    CASE(block_of_another_threads_stream_is_ready_when_that_has_come_there),
    CASE(host_waits_for_another_threads_stream_and_not_its_own),
    CASE(host_frees_a_block_no_sooner_than_it_is_allocated),
    CASE(early_block_of_a_stream_that_is_gone_is_waited_for),
    CASE(wrong_frees_of_the_drivers_blocks_are_counted),
    CASE(pool_of_the_driver_serves_the_host_after_a_reset),
    CASE(events_that_a_reset_has_taken_are_left_alone),
    CASE(special_streams_serve_after_a_reset),
    CASE(wait_that_nobody_can_make_is_not_believed),
    CASE(driver_is_named_where_it_refuses),
    CASE(marks_start_again_together_or_not_at_all),
    CASE(one_trim_finds_what_waited_for_the_driver),
    CASE(report_names_who_serves_a_pool),
};

int main(void)
{
    if (setenv("STARPOOL_DRIVER", "model", 1) != 0 ||
        setenv("STARPOOL_MODEL_EXEC", "threads", 1) != 0 ||
        setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("driver_faults", tests, NULL, NULL);
}
