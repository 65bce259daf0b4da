/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real driver: libcuda.so.1, looked up while the program runs, by the symbols that
 * calls.def names. Nothing of the driver is called here. What a driver lacks answers
 * NOT_SUPPORTED; without what nothing works at all the driver is refused. */
#include "config.h"

#include "src/driver/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

/* The real driver as it was found. Written under `lock`, once; after that only read. */
static struct {
    pthread_mutex_t lock;
    bool is_tried;
    void *handle; /* dlopen()'s handle, or NULL */
    struct sp_driver table;
    struct sp_driver_call calls[SP_N_CALLS];
    char error[256]; /* why it is refused; "" if it is not */
} cuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What the table holds for an entry point that the driver lacks. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, version, parameters)     \
    static sp_cu_result absent_##name parameters \
    {                                            \
        return SP_CU_NOT_SUPPORTED;              \
    }
#include "src/driver/calls.def"
#undef X
#pragma GCC diagnostic pop

static const struct sp_driver absent = {
    .name = LIBRARY,
#define X(name, symbol, version, parameters) .name = absent_##name,
#include "src/driver/calls.def"
#undef X
};

static const struct sp_driver_call rows[SP_N_CALLS] = {
#define X(name, symbol, version, parameters) {#name, #symbol, version, false},
#include "src/driver/calls.def"
#undef X
};

/* Without these there is no device, no memory or no order. */
static const int essential[] = {
    SP_CALL_cuInit,
    SP_CALL_cuDriverGetVersion,
    SP_CALL_cuDeviceGetCount,
    SP_CALL_cuDeviceGet,
    SP_CALL_cuDeviceGetAttribute,
    SP_CALL_cuDevicePrimaryCtxRetain,
    SP_CALL_cuCtxGetCurrent,
    SP_CALL_cuCtxSetCurrent,
    SP_CALL_cuStreamSynchronize,
    SP_CALL_cuMemAlloc,
    SP_CALL_cuMemFree,
};

/* A function's address comes from dlsym() as an object's; POSIX has both alike. */
static void look_up(struct sp_driver_call *call, void *member)
{
    void *found = dlsym(cuda.handle, call->symbol);

    call->is_absent = found == NULL;
    if (found != NULL)
        memcpy(member, &found, sizeof(found));
}

static void look_up_all(void)
{
    cuda.table = absent;
    memcpy(cuda.calls, rows, sizeof(rows));
#define X(name, symbol, version, parameters) \
    look_up(&cuda.calls[SP_CALL_##name], &cuda.table.name);
#include "src/driver/calls.def"
#undef X
}

static const struct sp_driver_call *missing_essential(void)
{
    for (size_t i = 0; i < sizeof(essential) / sizeof(essential[0]); i++) {
        if (cuda.calls[essential[i]].is_absent)
            return &cuda.calls[essential[i]];
    }
    return NULL;
}

static void close_library(void)
{
    if (cuda.handle != NULL)
        (void)dlclose(cuda.handle);
    cuda.handle = NULL;
}

static void load_locked(void)
{
    const struct sp_driver_call *missing;

    cuda.is_tried = true;
    cuda.error[0] = '\0';
    cuda.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (cuda.handle == NULL) {
        const char *reason = dlerror();

        (void)snprintf(cuda.error, sizeof(cuda.error), "the driver cannot be loaded: %s",
                       reason != NULL ? reason : LIBRARY);
        return;
    }
    /* A library of that name that serves CUDA programs from here would call itself. */
    if (dlsym(cuda.handle, "sp_is_starpool_driver") != NULL) {
        (void)snprintf(cuda.error, sizeof(cuda.error), LIBRARY " is starpool's own, no driver");
        close_library();
        return;
    }
    look_up_all();
    missing = missing_essential();
    if (missing != NULL) {
        (void)snprintf(cuda.error, sizeof(cuda.error),
                       LIBRARY " has no %s, without which nothing works", missing->symbol);
        close_library();
    }
}

enum starpool_status sp_driver_cuda(const struct sp_driver **driver_out)
{
    bool is_loaded;

    pthread_mutex_lock(&cuda.lock);
    if (!cuda.is_tried)
        load_locked();
    is_loaded = cuda.handle != NULL;
    pthread_mutex_unlock(&cuda.lock);
    if (!is_loaded)
        return STARPOOL_ENOTINIT;
    *driver_out = &cuda.table;
    return STARPOOL_OK;
}

const struct sp_driver_call *sp_driver_cuda_calls(void)
{
    return cuda.calls;
}

const char *sp_driver_cuda_error(void)
{
    return cuda.error;
}

void sp_driver_cuda_reset(void)
{
    pthread_mutex_lock(&cuda.lock);
    close_library();
    cuda.is_tried = false;
    cuda.error[0] = '\0';
    pthread_mutex_unlock(&cuda.lock);
}
