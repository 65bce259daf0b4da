/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What NVML says of a device's memory and of what it can do. */
#include "config.h"

#include "src/sim/nvml.h"
#include "src/sim/table.h"

/* Free memory of a device, asked through a context that exists; a device with none holds
 * nothing. */
static sp_cu_result read_free(int ordinal, size_t total, size_t *free_out)
{
    const struct sp_driver *driver = sp_sim_driver();
    sp_cu_context context;
    sp_cu_result result;
    size_t same_total;
    unsigned flags;
    int is_active = 0;

    *free_out = total;
    result = driver->cuDevicePrimaryCtxGetState(ordinal, &flags, &is_active);
    if (result != SP_CU_SUCCESS || !is_active)
        return result;
    result = driver->cuDevicePrimaryCtxRetain(&context, ordinal);
    if (result != SP_CU_SUCCESS)
        return result;
    result = driver->cuCtxPushCurrent(context);
    if (result == SP_CU_SUCCESS) {
        result = driver->cuMemGetInfo(free_out, &same_total);
        (void)driver->cuCtxPopCurrent(&context);
    }
    (void)driver->cuDevicePrimaryCtxRelease(ordinal);
    return result;
}

int nvmlDeviceGetMemoryInfo(struct sp_nvml_device *device, struct sp_nvml_memory *memory_out)
{
    size_t total, n_free;
    unsigned index;
    const int result = nvmlDeviceGetIndex(device, &index);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (memory_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    if (sp_sim_driver()->cuDeviceTotalMem(&total, (int)index) != SP_CU_SUCCESS ||
        read_free((int)index, total, &n_free) != SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    *memory_out =
        (struct sp_nvml_memory){.total = total, .free = n_free, .used = total - n_free};
    return SP_NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(struct sp_nvml_device *device, struct sp_nvml_memory2 *memory)
{
    struct sp_nvml_memory plain;
    const int result = nvmlDeviceGetMemoryInfo(device, memory == NULL ? NULL : &plain);

    if (result != SP_NVML_SUCCESS)
        return result;
    memory->total = plain.total;
    memory->reserved = 0;
    memory->free = plain.free;
    memory->used = plain.used;
    return SP_NVML_SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(struct sp_nvml_device *device, int *major_out,
                                       int *minor_out)
{
    const struct sp_driver *driver = sp_sim_driver();
    unsigned index;
    const int result = nvmlDeviceGetIndex(device, &index);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (major_out == NULL || minor_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    if (driver->cuDeviceGetAttribute(major_out, SP_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR,
                                     (int)index) != SP_CU_SUCCESS ||
        driver->cuDeviceGetAttribute(minor_out, SP_CU_DEVICE_COMPUTE_CAPABILITY_MINOR,
                                     (int)index) != SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    return SP_NVML_SUCCESS;
}
