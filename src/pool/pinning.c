/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Registers whole pieces of host memory with the driver (cuMemHostRegister), for all contexts,
 * and takes that back before the memory goes. */
#include "config.h"

#include "src/pool/pinning.h"

#include <stdint.h>

#include "src/driver/driver.h"
#include "src/pool/context.h"
#include "src/util/util.h"

static bool is_active(const struct sp_driver *driver, int device)
{
    unsigned flags;
    int answer = 0;

    return driver->cuDevicePrimaryCtxGetState(device, &flags, &answer) == SP_CU_SUCCESS &&
           answer != 0;
}

/* No context is made where there is one: that of the current context's device, or else the
 * first that is in use. A context of the program's own is no place to register in: it may go
 * before the memory does. */
static int choose_device(const struct sp_driver *driver)
{
    sp_cu_context current = NULL;
    sp_cu_device own = 0;
    int n_devices = 0;

    if (driver->cuCtxGetCurrent(&current) != SP_CU_SUCCESS || current == NULL ||
        driver->cuCtxGetDevice(&own) != SP_CU_SUCCESS)
        own = 0;
    if (is_active(driver, own) || driver->cuDeviceGetCount(&n_devices) != SP_CU_SUCCESS)
        return own;
    for (int device = 0; device < n_devices; device++) {
        if (is_active(driver, device))
            return device;
    }
    return own;
}

static enum starpool_status pin_in(const struct sp_driver *driver, void *base, size_t size,
                                   int device)
{
    struct sp_context context;
    sp_cu_result result;
    enum starpool_status status = sp_context_enter_primary(driver, device, &context);

    if (status != STARPOOL_OK)
        return status;
    result = driver->cuMemHostRegister(
        base, size, SP_CU_HOST_REGISTER_PORTABLE | SP_CU_HOST_REGISTER_DEVICEMAP);
    status = sp_driver_status(result, "cuMemHostRegister");
    sp_context_leave(&context);
    if (status != STARPOOL_OK)
        sp_log(SP_LOG_DEBUG,
               "%zu bytes of the host are not registered: the driver answers %d "
               "(%s)",
               size, result, sp_driver_result_name(result));
    return status == STARPOOL_EINVAL ? STARPOOL_EDRIVER : status;
}

static enum starpool_status pin(void *base, size_t size, int *where_out)
{
    const struct sp_driver *driver;
    enum starpool_status status = sp_driver_get(&driver);

    if (status != STARPOOL_OK)
        return status;
    if (sp_context_is_inherited())
        return STARPOOL_ENOTINIT;
    *where_out = choose_device(driver);
    return pin_in(driver, base, size, *where_out);
}

/* What a forked child inherits is the parent's registration. */
static void unpin(void *base, size_t size, int where)
{
    const struct sp_driver *driver;
    struct sp_context context;

    (void)size;
    if (sp_context_is_inherited() || sp_driver_get(&driver) != STARPOOL_OK ||
        sp_context_enter_primary(driver, where, &context) != STARPOOL_OK)
        return;
    (void)sp_driver_status(driver->cuMemHostUnregister(base), "cuMemHostUnregister");
    sp_context_leave(&context);
}

/* What is registered yet, after all, is as good. */
static bool renew(void *base, size_t size, int where)
{
    const struct sp_driver *driver;
    enum starpool_status status;
    const char *call;

    if (sp_context_is_inherited() || sp_driver_get(&driver) != STARPOOL_OK)
        return false;
    status = pin_in(driver, base, size, where);
    return status == STARPOOL_OK ||
           starpool_driver_error(&call) == SP_CU_HOST_MEMORY_ALREADY_REGISTERED;
}

const struct sp_pin_ops sp_pin_by_driver = {.pin = pin, .unpin = unpin, .renew = renew};
