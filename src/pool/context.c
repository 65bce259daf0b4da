/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pushes a context where the thread has none, and pops it again. */
#include "config.h"

#include "src/pool/context.h"

#include <stdatomic.h>

#define MAX_DEVICES 64

/* Each written once, by whoever retains it first; a second retain is given back. */
static struct {
    _Atomic(sp_cu_context) primary[MAX_DEVICES];
} contexts;

static enum starpool_status retain(const struct sp_driver *driver, int device,
                                   sp_cu_context *context_out)
{
    sp_cu_context context, none = NULL;
    enum starpool_status status;

    if (device < 0 || device >= MAX_DEVICES)
        return STARPOOL_EDEVICE;
    *context_out = atomic_load(&contexts.primary[device]);
    if (*context_out != NULL)
        return STARPOOL_OK;
    status = sp_driver_status(driver->cuDevicePrimaryCtxRetain(&context, device),
                              "cuDevicePrimaryCtxRetain");
    if (status != STARPOOL_OK)
        return status;
    if (!atomic_compare_exchange_strong(&contexts.primary[device], &none, context))
        (void)driver->cuDevicePrimaryCtxRelease(device);
    *context_out = context;
    return STARPOOL_OK;
}

enum starpool_status sp_context_enter_as(const struct sp_driver *driver, sp_cu_context wanted,
                                         struct sp_context *context_out)
{
    enum starpool_status status =
        sp_driver_status(driver->cuCtxPushCurrent(wanted), "cuCtxPushCurrent");

    if (status == STARPOOL_OK)
        *context_out = (struct sp_context){driver, true};
    return status;
}

enum starpool_status sp_context_enter(const struct sp_driver *driver, int device,
                                      struct sp_context *context_out)
{
    sp_cu_context current = NULL;
    enum starpool_status status =
        sp_driver_status(driver->cuCtxGetCurrent(&current), "cuCtxGetCurrent");

    if (status != STARPOOL_OK)
        return status;
    if (current != NULL) {
        *context_out = (struct sp_context){driver, false};
        return STARPOOL_OK;
    }
    status = retain(driver, device, &current);
    return status == STARPOOL_OK ? sp_context_enter_as(driver, current, context_out) : status;
}

enum starpool_status sp_context_enter_primary(const struct sp_driver *driver, int device,
                                              struct sp_context *context_out)
{
    sp_cu_context primary;
    enum starpool_status status = retain(driver, device, &primary);

    return status == STARPOOL_OK ? sp_context_enter_as(driver, primary, context_out) : status;
}

enum starpool_status sp_context_keep(const struct sp_driver *driver, sp_cu_context current,
                                     bool *is_kept_out)
{
    sp_cu_context primary = NULL;
    sp_cu_device device = 0;
    unsigned flags;
    int is_active = 0;
    enum starpool_status status =
        sp_driver_status(driver->cuCtxGetDevice(&device), "cuCtxGetDevice");

    if (status == STARPOOL_OK)
        status =
            sp_driver_status(driver->cuDevicePrimaryCtxGetState(device, &flags, &is_active),
                             "cuDevicePrimaryCtxGetState");
    /* One that is not active is not the current one, and must not be made. */
    if (status == STARPOOL_OK && is_active)
        status = retain(driver, device, &primary);
    if (status == STARPOOL_OK)
        *is_kept_out = primary == current;
    return status;
}

void sp_context_leave(const struct sp_context *context)
{
    sp_cu_context popped;

    if (context->is_pushed)
        (void)context->driver->cuCtxPopCurrent(&popped);
}
