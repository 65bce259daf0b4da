/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the model's core start from. */
#include "config.h"

#include "tests/model_fixture.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "src/model/private.h"
#include "src/model/protect.h"

struct sp_test_model sp_model;

struct starpool_model_config sp_test_model_shape(unsigned n_devices,
                                                 enum starpool_model_exec exec)
{
    struct starpool_model_config config;

    starpool_model_config_init(&config);
    config.n_devices = n_devices;
    config.device_memory = 64 * SP_TEST_SIZE;
    config.exec = exec;
    return config;
}

static void configure(const struct starpool_model_config *shape)
{
    sp_model_reset();
    sp_model.driver = sp_model_driver();
    assert_ok(starpool_model_configure(shape));
}

void sp_test_model_configure(unsigned n_devices, enum starpool_model_exec exec)
{
    struct starpool_model_config shape = sp_test_model_shape(n_devices, exec);

    configure(&shape);
}

int sp_test_model_begin(const struct starpool_model_config *shape)
{
    configure(shape);
    assert_done(cuInit(0));
    assert_done(cuCtxCreate(&sp_model.context, 0, 0));
    assert_done(cuMemHostAlloc((void **)&sp_model.flag, sizeof(*sp_model.flag), 0));
    sp_test_hold_again();
    return 0;
}

static int setup(enum starpool_model_exec exec)
{
    struct starpool_model_config shape = sp_test_model_shape(2, exec);

    return sp_test_model_begin(&shape);
}

int sp_test_model_threads(void **state)
{
    (void)state;
    return setup(STARPOOL_MODEL_THREADS);
}

int sp_test_model_inline(void **state)
{
    (void)state;
    return setup(STARPOOL_MODEL_INLINE);
}

int sp_test_model_end(void **state)
{
    (void)state;
    sp_model_reset();
    sp_test_settle_threads();
    return 0;
}

sp_cu_stream sp_test_stream(unsigned flags)
{
    sp_cu_stream stream;

    assert_done(cuStreamCreate(&stream, flags));
    return stream;
}

sp_cu_event sp_test_event(void)
{
    sp_cu_event event;

    assert_done(cuEventCreate(&event, SP_CU_EVENT_DEFAULT));
    return event;
}

void sp_test_hold(sp_cu_stream stream)
{
    assert_done(cuStreamWaitValue32(stream, (uintptr_t)sp_model.flag, 1, SP_CU_WAIT_VALUE_EQ));
}

void sp_test_release(void)
{
    __atomic_store_n(sp_model.flag, 1, __ATOMIC_RELEASE);
}

void sp_test_hold_again(void)
{
    __atomic_store_n(sp_model.flag, 0, __ATOMIC_RELEASE);
}

void sp_test_outwait(sp_cu_stream handle)
{
    struct sp_model_stream *stream;

    sp_lock_take(sp_model_lock());
    assert_int_equal(sp_model_stream_get(handle, &stream), SP_CU_SUCCESS);
    sp_model_run_wait(sp_model_stream_last(stream));
    sp_lock_give(sp_model_lock());
}

volatile char *sp_test_bytes(sp_cu_ptr ptr)
{
    return sp_model_alias((uintptr_t)ptr);
}

size_t sp_test_free_bytes(void)
{
    size_t bytes, total;

    assert_done(cuMemGetInfo(&bytes, &total));
    return bytes;
}

/* Its name, or "" if it has ended. */
static void read_name(const char *thread, char name[32])
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread);
    file = fopen(path, "r");
    name[0] = '\0';
    if (file != NULL && fgets(name, 32, file) == NULL)
        name[0] = '\0';
    if (file != NULL)
        fclose(file);
}

size_t sp_test_count_threads(const char *prefix)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    char name[32];
    size_t n = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        read_name(entry->d_name, name);
        n += strncmp(name, prefix, strlen(prefix)) == 0;
    }
    closedir(folder);
    return n;
}

void sp_test_settle_threads(void)
{
    while (sp_test_count_threads("sp-stream-") > 0)
        sched_yield();
}
