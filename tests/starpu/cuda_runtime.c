/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A very small run-time library of CUDA over starpool's driver: what the plugin stands in front
 * of, and what it asks. Built as libcudart.so.11.0. */
#include <dlfcn.h>
#include <stdlib.h>

#include "src/driver/driver.h"

/* The mode that the last capture was begun in; -1: none was. */
int cuda_runtime_mode = -1;

/* [n] resets that have come this far. */
int cuda_runtime_n_resets;

static const struct sp_driver *driver(void)
{
    enum starpool_status (*get)(const struct sp_driver **) =
        (enum starpool_status(*)(const struct sp_driver **))dlsym(RTLD_DEFAULT,
                                                                  "sp_driver_get");
    const struct sp_driver *found = NULL;

    return get != NULL && get(&found) == STARPOOL_OK ? found : NULL;
}

int cudaGetDevice(int *device_out);
int cudaDeviceReset(void);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaPointerGetAttributes(int *attributes, const void *ptr);

int cudaGetDevice(int *device_out)
{
    *device_out = 1;
    return 0;
}

int cudaDeviceReset(void)
{
    cuda_runtime_n_resets++;
    return driver() == NULL ? 3 : driver()->cuDevicePrimaryCtxReset(1);
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    (void)stream;
    cuda_runtime_mode = mode;
    return 0;
}

/* CUDA_RUNTIME_STRANGER: another driver's library, which does not know the address. */
int cudaPointerGetAttributes(int *attributes, const void *ptr)
{
    attributes[0] = 0;
    if (getenv("CUDA_RUNTIME_STRANGER") != NULL || driver() == NULL)
        return 0;
    attributes[0] = SP_CU_MEMORY_TYPE_DEVICE;
    return driver()->cuPointerGetAttribute(&attributes[1], SP_CU_POINTER_DEVICE_ORDINAL,
                                           (sp_cu_ptr)(uintptr_t)ptr);
}
