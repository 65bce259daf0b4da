/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated CUDA runtimes for tests. */
#include "config.h"

#include "tests/sim_runtime_fixture.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_runtime rt;
void *sim_runtime_11, *sim_runtime_12;

static sem_t gate;

/* ---- loading ------------------------------------------------------------------------- */

void sim_find(void *handle, const char *name, void *function_out)
{
    void *found = dlsym(handle, name);

    if (found == NULL)
        fail_msg("there is no %s", name);
    memcpy(function_out, &found, sizeof(found));
}

static void *load(const char *name)
{
    const char *builddir = getenv("builddir");
    char path[4096];
    void *handle;

    (void)snprintf(path, sizeof(path), "%s/sim/%s", builddir != NULL ? builddir : ".", name);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        print_error("%s\n", dlerror());
    return handle;
}

int sim_load(void **state)
{
    (void)state;
    sim_runtime_11 = load("cuda-11/libcudart.so.11.0");
    sim_runtime_12 = load("cuda-12/libcudart.so.12");
    rt.handle = load("cuda-13/libcudart.so.13");
    if (sim_runtime_11 == NULL || sim_runtime_12 == NULL || rt.handle == NULL)
        return -1;
#define X(name, parameters) sim_find(rt.handle, #name, &rt.name);
#define Z(name, parameters, arguments)    \
    sim_find(rt.handle, #name, &rt.name); \
    sim_find(rt.handle, #name "_ptsz", &rt.name##_ptsz);
#define D(name, parameters, async, arguments) \
    sim_find(rt.handle, #name, &rt.name);     \
    sim_find(rt.handle, #name "_ptds", &rt.name##_ptds);
#include "src/sim/runtime_calls.def"
    return sem_init(&gate, 0, 0);
}

int sim_setup(void **state)
{
    struct starpool_model_config config = {.struct_size = sizeof(config)};

    (void)state;
    sp_model_reset();
    starpool_model_config_init(&config);
    config.n_devices = 2;
    config.device_memory = (uint64_t)1 << 30;
    config.peers = UINT64_MAX;
    config.exec = STARPOOL_MODEL_THREADS;
    if (starpool_model_configure(&config) != STARPOOL_OK)
        return -1;
    (void)rt.cudaGetLastError();
    return rt.cudaSetDevice(0);
}

/* ---- what tests are written with ----------------------------------------------------- */

void sim_assert(int expected, int actual, const char *call, const char *file, int line)
{
    const char *(*name_of)(int error);

    if (actual == expected)
        return;
    sim_find(rt.handle, "cudaGetErrorName", &name_of);
    print_error("%s\n    is %s (%d), not %s (%d)\n", call, name_of(actual), actual,
                name_of(expected), expected);
    _fail(file, line);
}

void *sim_device_memory(size_t size, int byte)
{
    void *ptr;

    assert_done(rt.cudaMalloc(&ptr, size));
    assert_done(rt.cudaMemset(ptr, byte, size));
    return ptr;
}

void sim_assert_bytes(const void *device, int byte, size_t size)
{
    unsigned char *found = malloc(size);

    assert_non_null(found);
    assert_done(rt.cudaMemcpy(found, device, size, SP_RT_DEVICE_TO_HOST));
    for (size_t i = 0; i < size; i++)
        assert_int_equal(found[i], byte);
    free(found);
}

static void wait_at_gate(void *arg)
{
    (void)arg;
    while (sem_wait(&gate) != 0)
        continue;
}

void sim_close_gate(sp_cu_stream stream)
{
    assert_done(rt.cudaLaunchHostFunc(stream, wait_at_gate, NULL));
}

void sim_open_gate(void)
{
    assert_int_equal(sem_post(&gate), 0);
}
