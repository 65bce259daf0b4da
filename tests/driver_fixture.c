/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of pools that the driver serves start from. */
#include "config.h"

#include "tests/driver_fixture.h"

#include "tests/support.h"

struct sp_driver_fixture on;
struct sp_gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* With the lock: a stream's thread may have looked at it last. */
static void reset_gate(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_open = gate.is_answered = gate.is_heard = false;
    pthread_mutex_unlock(&gate.mutex);
}

int sp_driver_fixture_setup(unsigned handle_types, bool allows_waits)
{
    struct starpool_pool_config config;

    reset_gate();
    if (sp_driver_get(&on.driver) != STARPOOL_OK ||
        on.driver->cuDevicePrimaryCtxRetain(&on.context, 0) != SP_CU_SUCCESS ||
        on.driver->cuCtxSetCurrent(on.context) != SP_CU_SUCCESS ||
        on.driver->cuStreamCreate(&on.a, SP_CU_STREAM_NON_BLOCKING) != SP_CU_SUCCESS ||
        on.driver->cuStreamCreate(&on.b, SP_CU_STREAM_NON_BLOCKING) != SP_CU_SUCCESS)
        return -1;
    starpool_pool_config_init(&config);
    config.location = (struct starpool_location){STARPOOL_DEVICE, 0};
    config.handle_types = handle_types;
    if (starpool_pool_create(&config, &on.pool) != STARPOOL_OK)
        return -1;
    starpool_pool_config_init(&config);
    config.is_opportunistic = false;
    config.allows_internal_waits = allows_waits;
    return starpool_pool_create(&config, &on.host) == STARPOOL_OK ? 0 : -1;
}

int sp_driver_fixture_teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(on.pool);
    starpool_pool_destroy(on.host);
    (void)on.driver->cuStreamDestroy(on.a);
    (void)on.driver->cuStreamDestroy(on.b);
    (void)on.driver->cuCtxSetCurrent(NULL);
    (void)on.driver->cuDevicePrimaryCtxRelease(0);
    return 0;
}

void *sp_driver_fixture_alloc(struct starpool_pool *pool, starpool_stream stream, size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(pool, size, stream, &ptr));
    return ptr;
}

void sp_gate_set(bool *flag)
{
    pthread_mutex_lock(&gate.mutex);
    *flag = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

void sp_gate_wait(const bool *flag)
{
    pthread_mutex_lock(&gate.mutex);
    while (!*flag)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

void sp_gate_pass(void *arg)
{
    (void)arg;
    sp_gate_wait(&gate.is_open);
}

void sp_gate_close_in(sp_cu_stream stream)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_open = false;
    pthread_mutex_unlock(&gate.mutex);
    assert_int_equal(on.driver->cuLaunchHostFunc(stream, sp_gate_pass, NULL), SP_CU_SUCCESS);
}
