/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real driver: libcuda.so.1, looked up while the program runs, by the symbols that
 * calls.def names. Nothing of the driver is called here. What a driver lacks answers
 * NOT_SUPPORTED; without what nothing works at all the driver is refused, and so is starpool's
 * own library of that name, which is no driver but the model. */
#include "config.h"

#include "src/driver/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "src/model/model.h"

#define LIBRARY "libcuda.so.1"

/* The real driver as it was found. Written under `lock`, once; after that only read. */
static struct {
    pthread_mutex_t lock;
    bool is_tried;
    bool is_model; /* it is our own, and works on this process's model */
    struct sp_driver_library loaded;
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
static bool look_up(void *handle, const char *symbol, void *function_out)
{
    void *found = dlsym(handle, symbol);

    if (found != NULL)
        memcpy(function_out, &found, sizeof(found));
    return found != NULL;
}

static void look_up_all(struct sp_driver_library *library)
{
    library->table = absent;
    memcpy(library->calls, rows, sizeof(rows));
#define X(name, symbol, version, parameters)   \
    library->calls[SP_CALL_##name].is_absent = \
        !look_up(library->handle, #symbol, &library->table.name);
#include "src/driver/calls.def"
#undef X
}

static const struct sp_driver_call *missing_essential(const struct sp_driver_library *library)
{
    for (size_t i = 0; i < sizeof(essential) / sizeof(essential[0]); i++) {
        if (library->calls[essential[i]].is_absent)
            return &library->calls[essential[i]];
    }
    return NULL;
}

void sp_driver_unload(struct sp_driver_library *library)
{
    if (library->handle != NULL)
        (void)dlclose(library->handle);
    library->handle = NULL;
}

enum starpool_status sp_driver_load(const char *file, struct sp_driver_library *library_out)
{
    const struct sp_driver_call *missing;

    memset(library_out, 0, sizeof(*library_out));
    library_out->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library_out->handle == NULL) {
        const char *reason = dlerror();

        (void)snprintf(library_out->error, sizeof(library_out->error),
                       "the driver cannot be loaded: %s", reason != NULL ? reason : file);
        return STARPOOL_ENOTINIT;
    }
    look_up_all(library_out);
    /* Starpool's own calls the model. */
    library_out->table.is_model = dlsym(library_out->handle, "sp_is_starpool_driver") != NULL;
    missing = missing_essential(library_out);
    if (missing == NULL)
        return STARPOOL_OK;
    (void)snprintf(library_out->error, sizeof(library_out->error),
                   "%s has no %s, without which nothing works", file, missing->symbol);
    sp_driver_unload(library_out);
    return STARPOOL_ENOTINIT;
}

/* Starpool's own library would call what calls it. */
static void refuse_own_locked(void)
{
    bool (*is_model)(const struct sp_driver *model);

    cuda.is_model = look_up(cuda.loaded.handle, "sp_is_starpool_driver", &is_model) &&
                    is_model(sp_model_driver());
    (void)snprintf(cuda.loaded.error, sizeof(cuda.loaded.error),
                   LIBRARY " is starpool's own, %s",
                   cuda.is_model ? "which is the CPU model"
                                 : "and works on another copy of libstarpool.so");
    sp_driver_unload(&cuda.loaded);
}

static void load_locked(void)
{
    cuda.is_tried = true;
    if (sp_driver_load(LIBRARY, &cuda.loaded) == STARPOOL_OK && cuda.loaded.table.is_model)
        refuse_own_locked();
}

enum starpool_status sp_driver_cuda(const struct sp_driver **driver_out)
{
    bool is_loaded;

    pthread_mutex_lock(&cuda.lock);
    if (!cuda.is_tried)
        load_locked();
    is_loaded = cuda.loaded.handle != NULL;
    pthread_mutex_unlock(&cuda.lock);
    if (!is_loaded)
        return STARPOOL_ENOTINIT;
    *driver_out = &cuda.loaded.table;
    return STARPOOL_OK;
}

const struct sp_driver_call *sp_driver_cuda_calls(void)
{
    return cuda.loaded.calls;
}

const char *sp_driver_cuda_error(void)
{
    return cuda.loaded.error;
}

bool sp_driver_cuda_is_model(void)
{
    return cuda.is_model;
}

void sp_driver_cuda_reset(void)
{
    pthread_mutex_lock(&cuda.lock);
    sp_driver_unload(&cuda.loaded);
    cuda.is_tried = cuda.is_model = false;
    cuda.loaded.error[0] = '\0';
    pthread_mutex_unlock(&cuda.lock);
}
