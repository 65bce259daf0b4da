/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The devices: what they are called, how much memory each has left, and who reaches whom. They
 * exist in this process only. What they can do is in device_attr.c. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/model/kernels.h"
#include "src/model/private.h"
#include "src/util/util.h"

#define DRIVER_VERSION 13000

struct device {
    size_t total, used; /* [bytes] used may be above total after the device has shrunk */
};

/* Behind the model's lock. */
static struct {
    int n;
    uint64_t peers;
    struct device all[SP_MODEL_MAX_DEVICES];
} devices;

void sp_model_devices_reset(void)
{
    const struct starpool_model_config *config = sp_model_config();

    memset(&devices, 0, sizeof(devices));
    devices.n = (int)config->n_devices;
    devices.peers = config->peers;
    for (int i = 0; i < devices.n; i++)
        devices.all[i].total = config->device_memory;
}

int sp_model_n_devices(void)
{
    return devices.n;
}

bool sp_model_is_device(int device)
{
    return device >= 0 && device < devices.n;
}

bool sp_model_can_access_peer(int device, int peer)
{
    return device != peer && (devices.peers >> device & devices.peers >> peer & 1) != 0;
}

/* ---- memory -------------------------------------------------------------------------- */

size_t sp_model_device_total(int device)
{
    return devices.all[device].total;
}

size_t sp_model_device_free(int device)
{
    const struct device *found = &devices.all[device];

    return found->used > found->total ? 0 : found->total - found->used;
}

bool sp_model_device_take(int device, size_t bytes)
{
    if (bytes > sp_model_device_free(device))
        return false;
    devices.all[device].used += bytes;
    return true;
}

void sp_model_device_give(int device, size_t bytes)
{
    SP_ASSERT(devices.all[device].used >= bytes);
    devices.all[device].used -= bytes;
}

bool sp_model_device_resize(int device, uint64_t bytes)
{
    if (!sp_model_is_device(device))
        return false;
    devices.all[device].total = bytes;
    return true;
}

/* ---- the driver ---------------------------------------------------------------------- */

sp_cu_result sp_model_cuInit(unsigned flags)
{
    sp_cu_result result;

    sp_model_kernels_load();
    result = sp_model_enter(SP_CALL_cuInit, false);
    if (result != SP_CU_SUCCESS)
        return result;
    if (flags != 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (devices.n == 0)
        return sp_model_leave(SP_CU_NO_DEVICE);
    sp_model_set_initialized();
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuDriverGetVersion(int *version_out)
{
    sp_cu_result result = sp_model_enter(SP_CALL_cuDriverGetVersion, false);

    if (result != SP_CU_SUCCESS)
        return result;
    if (version_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *version_out = DRIVER_VERSION;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* CUDA's name of a result; NULL if the model knows none. */
static const char *name_of(sp_cu_result wanted)
{
    static const struct {
        sp_cu_result result;
        const char *name;
    } names[] = {
#define SP_RESULT_ROW(name, number) {number, "CUDA_ERROR_" #name},
        SP_CU_RESULT_MAP(SP_RESULT_ROW)
#undef SP_RESULT_ROW
    };

    if (wanted == SP_CU_SUCCESS)
        return "CUDA_SUCCESS";
    for (size_t i = 0; i < SP_ARRAY_SIZE(names); i++) {
        if (names[i].result == wanted)
            return names[i].name;
    }
    return NULL;
}

/* A question that is asked anywhere, in a callback and in a forked child too. */
sp_cu_result sp_model_cuGetErrorName(sp_cu_result wanted, const char **name_out)
{
    if (name_out == NULL)
        return SP_CU_INVALID_VALUE;
    *name_out = name_of(wanted);
    return *name_out == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
}

/* The model has no sentences of its own for them. */
sp_cu_result sp_model_cuGetErrorString(sp_cu_result wanted, const char **text_out)
{
    return sp_model_cuGetErrorName(wanted, text_out);
}

/* ---- what a device is ---------------------------------------------------------------- */

sp_cu_result sp_model_cuDeviceGetCount(int *count_out)
{
    SP_MODEL_ENTER(cuDeviceGetCount);
    if (count_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *count_out = devices.n;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* What is asked about a device: the device, and where the answer goes. */
static sp_cu_result check(const void *out, int device)
{
    if (!sp_model_is_device(device))
        return SP_CU_INVALID_DEVICE;
    return out == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuDeviceGet(sp_cu_device *device_out, int ordinal)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGet);
    result = check(device_out, ordinal);
    if (result == SP_CU_SUCCESS)
        *device_out = ordinal;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuDeviceGetName(char *name_out, int size, sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetName);
    result = size <= 0 ? SP_CU_INVALID_VALUE : check(name_out, device);
    if (result == SP_CU_SUCCESS)
        snprintf(name_out, (size_t)size, "starpool simulated");
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuDeviceGetUuid(struct sp_cu_uuid *uuid_out, sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetUuid);
    result = check(uuid_out, device);
    if (result == SP_CU_SUCCESS) {
        memcpy(uuid_out->bytes, "starpool model", 14);
        uuid_out->bytes[14] = 0;
        uuid_out->bytes[15] = (char)device;
    }
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuDeviceTotalMem(size_t *bytes_out, sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceTotalMem);
    result = check(bytes_out, device);
    if (result == SP_CU_SUCCESS)
        *bytes_out = devices.all[device].total;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuDeviceCanAccessPeer(int *can_out, sp_cu_device device,
                                            sp_cu_device peer)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceCanAccessPeer);
    result = sp_model_is_device(peer) ? check(can_out, device) : SP_CU_INVALID_DEVICE;
    if (result == SP_CU_SUCCESS)
        *can_out = sp_model_can_access_peer(device, peer);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuMemGetInfo(size_t *free_out, size_t *total_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemGetInfo);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && (free_out == NULL || total_out == NULL))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS) {
        *free_out = sp_model_device_free(context->device);
        *total_out = devices.all[context->device].total;
    }
    return sp_model_leave(result);
}
