/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of devices' pools share. */
#include "config.h"

#include "tests/device_case.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool/model.h>

#include "src/driver/driver.h"
#include "tests/driver_fixture.h"
#include "tests/script.h"

#define AGAIN "STARPOOL_MODEL_EXEC"

static const char *mode(void)
{
    const char *value = getenv(AGAIN);

    return value == NULL ? "" : value;
}

bool sp_device_case_is_threaded(void)
{
    return mode()[0] != 'i';
}

bool sp_device_case_init(void)
{
    return setenv("STARPOOL_DRIVER", "model", 0) == 0 &&
           setenv("STARPOOL_MODEL_DEVICES", "2", 0) == 0 && setenv(AGAIN, "threads", 0) == 0 &&
           setenv("STARPOOL_MODEL_PROTECT", "1", 0) == 0 &&
           setenv("STARPOOL_CHECKS", "2", 1) == 0;
}

int sp_device_case_again(const char *name, const char *value, const char *argument)
{
    const char *self = sp_script_self();
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        /* What the second run says is wanted only if it fails, and then it is run by hand. */
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
            (name != NULL && setenv(name, value, 1) != 0))
            _exit(98);
        execl(self, self, argument, (char *)NULL);
        _exit(99);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void every_case_holds_where_streams_run_inside_calls(void **state)
{
    (void)state;
    if (sp_device_case_is_threaded())
        assert_int_equal(sp_device_case_again(AGAIN, "inline", NULL), 0);
}

struct starpool_pool *slabs;

int sp_device_case_setup(void **state)
{
    (void)state;
    if (sp_driver_fixture_setup(0, true) != 0)
        return -1;
    slabs = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 0);
    return 0;
}

int sp_device_case_teardown(void **state)
{
    assert_ok(starpool_model_inject(NULL));
    assert_ok(starpool_model_inject("memory:0=1G,memory:1=1G"));
    starpool_pool_destroy(slabs);
    return sp_driver_fixture_teardown(state);
}

struct starpool_pool *sp_device_case_pool(int device, enum starpool_backend backend,
                                          uint64_t maximum)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    starpool_pool_config_init(&config);
    if (device >= 0)
        config.location = (struct starpool_location){STARPOOL_DEVICE, device};
    config.backend = backend;
    config.maximum = maximum;
    assert_ok(starpool_pool_create(&config, &pool));
    return pool;
}

size_t sp_device_case_free(int device)
{
    sp_cu_context context, popped;
    size_t free_bytes = 0, total_bytes;

    assert_int_equal(on.driver->cuDevicePrimaryCtxRetain(&context, device), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuCtxPushCurrent(context), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuMemGetInfo(&free_bytes, &total_bytes), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuCtxPopCurrent(&popped), SP_CU_SUCCESS);
    assert_int_equal(on.driver->cuDevicePrimaryCtxRelease(device), SP_CU_SUCCESS);
    return free_bytes;
}

bool sp_device_case_is_active(int device)
{
    unsigned flags;
    int is_active = 0;

    assert_int_equal(on.driver->cuDevicePrimaryCtxGetState(device, &flags, &is_active),
                     SP_CU_SUCCESS);
    return is_active != 0;
}
