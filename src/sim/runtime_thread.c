/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread's device, and how every entry point begins. The context of a call is the one that
 * the driver has current, so that programs may use both interfaces; the runtime makes a primary
 * context current where there is none, or where the thread has chosen another device since. */
#include "config.h"

#include "src/sim/runtime.h"

static __thread struct {
    int device;
    bool is_chosen; /* since the last call that needed a context */
    sp_cu_context contexts[SP_MODEL_MAX_DEVICES]; /* that this thread has retained, or NULL */
} mine;

/* Others may have released it more often than they had retained it. */
static bool is_held(int device)
{
    unsigned flags;
    int is_active = 0;

    return mine.contexts[device] != NULL &&
           sp_cu()->cuDevicePrimaryCtxGetState(device, &flags, &is_active) == SP_CU_SUCCESS &&
           is_active;
}

int sp_runtime_context(int device, sp_cu_context *context_out)
{
    int result = SP_CU_SUCCESS;

    if (device < 0 || device >= SP_MODEL_MAX_DEVICES)
        return SP_CU_INVALID_DEVICE;
    if (!is_held(device))
        result = sp_cu()->cuDevicePrimaryCtxRetain(&mine.contexts[device], device);
    if (result == SP_CU_SUCCESS)
        *context_out = mine.contexts[device];
    return result;
}

static int attach(int device)
{
    sp_cu_context context;
    int result = sp_runtime_context(device, &context);

    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuCtxSetCurrent(context);
    if (result == SP_CU_INVALID_CONTEXT) {
        /* It has been made anew since this thread retained it. */
        mine.contexts[device] = NULL;
        result = sp_runtime_context(device, &context);
        if (result == SP_CU_SUCCESS)
            result = sp_cu()->cuCtxSetCurrent(context);
    }
    if (result == SP_CU_SUCCESS)
        mine.is_chosen = false;
    return result;
}

/* The current context, or NULL; the driver is initialised. */
static int current(sp_cu_context *context_out)
{
    int result = sp_cu()->cuCtxGetCurrent(context_out);

    if (result != SP_CU_NOT_INITIALIZED)
        return result;
    *context_out = NULL;
    return sp_cu()->cuInit(0);
}

int sp_runtime_start(void)
{
    sp_cu_context context;

    return current(&context);
}

int sp_runtime_begin(void)
{
    sp_cu_context context;
    int result = current(&context);

    if (result != SP_CU_SUCCESS || (context != NULL && !mine.is_chosen))
        return result;
    return attach(mine.device);
}

/* ---- the current device -------------------------------------------------------------- */

static int set_device(int device)
{
    sp_cu_device found;
    int result = sp_cu()->cuDeviceGet(&found, device);

    if (result != SP_CU_SUCCESS)
        return result;
    mine.device = device;
    mine.is_chosen = true;
    /* From 12.0 the primary context is made here, before that at the first use. */
    return SP_CUDART_MAJOR >= 12 ? sp_runtime_begin() : SP_CU_SUCCESS;
}

int cudaSetDevice(int device)
{
    return SP_RUNTIME_START(set_device(device));
}

int cudaGetDevice(int *device_out)
{
    sp_cu_context context;
    int result = current(&context);

    if (result == SP_CU_SUCCESS && device_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result != SP_CU_SUCCESS)
        return sp_runtime_end(result);
    if (context != NULL && !mine.is_chosen)
        return sp_runtime_end(sp_cu()->cuCtxGetDevice(device_out));
    *device_out = mine.device;
    return SP_CU_SUCCESS;
}
