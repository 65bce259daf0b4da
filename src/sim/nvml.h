/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stand-in for NVML exports, its names without function apart, and NVML's ABI as far
 * as it goes. */
#ifndef SP_SIM_NVML_H
#define SP_SIM_NVML_H

#include <starpool/base.h>

/* nvmlReturn_t */
enum {
    SP_NVML_SUCCESS = 0,
    SP_NVML_UNINITIALIZED = 1,
    SP_NVML_INVALID_ARGUMENT = 2,
    SP_NVML_NOT_SUPPORTED = 3,
    SP_NVML_NOT_FOUND = 6,
    SP_NVML_INSUFFICIENT_SIZE = 7,
    SP_NVML_DRIVER_NOT_LOADED = 9,
    SP_NVML_UNKNOWN = 999,
};

/* An nvmlDevice_t. */
struct sp_nvml_device;

/* nvmlPciInfo_t; its second form has four more words instead of the long name. */
struct sp_nvml_pci {
    char short_bus_id[16]; /* domain:bus:device.function */
    unsigned domain, bus, device;
    unsigned device_and_vendor, subsystem;
    char bus_id[32]; /* with eight digits of the domain */
};

/* nvmlMemory_t */
struct sp_nvml_memory {
    unsigned long long total, free, used; /* [bytes] */
};

/* nvmlMemory_v2_t */
struct sp_nvml_memory2 {
    unsigned version;                               /* the size, and 2 in the highest byte */
    unsigned long long total, reserved, free, used; /* [bytes] */
};

STARPOOL_API int nvmlInit(void);
STARPOOL_API int nvmlInit_v2(void);
STARPOOL_API int nvmlInitWithFlags(unsigned flags);
STARPOOL_API int nvmlShutdown(void);
STARPOOL_API const char *nvmlErrorString(int result);
STARPOOL_API int nvmlSystemGetDriverVersion(char *version_out, unsigned size);
STARPOOL_API int nvmlSystemGetNVMLVersion(char *version_out, unsigned size);
STARPOOL_API int nvmlSystemGetCudaDriverVersion(int *version_out);
STARPOOL_API int nvmlSystemGetCudaDriverVersion_v2(int *version_out);
STARPOOL_API int nvmlDeviceGetCount(unsigned *count_out);
STARPOOL_API int nvmlDeviceGetCount_v2(unsigned *count_out);
STARPOOL_API int nvmlDeviceGetHandleByIndex(unsigned index, struct sp_nvml_device **device_out);
STARPOOL_API int nvmlDeviceGetHandleByIndex_v2(unsigned index,
                                               struct sp_nvml_device **device_out);
STARPOOL_API int nvmlDeviceGetHandleByPciBusId(const char *id,
                                               struct sp_nvml_device **device_out);
STARPOOL_API int nvmlDeviceGetHandleByPciBusId_v2(const char *id,
                                                  struct sp_nvml_device **device_out);
STARPOOL_API int nvmlDeviceGetHandleByUUID(const char *uuid,
                                           struct sp_nvml_device **device_out);
STARPOOL_API int nvmlDeviceGetIndex(struct sp_nvml_device *device, unsigned *index_out);
STARPOOL_API int nvmlDeviceGetMinorNumber(struct sp_nvml_device *device, unsigned *number_out);
STARPOOL_API int nvmlDeviceGetName(struct sp_nvml_device *device, char *name_out,
                                   unsigned size);
STARPOOL_API int nvmlDeviceGetUUID(struct sp_nvml_device *device, char *uuid_out,
                                   unsigned size);
STARPOOL_API int nvmlDeviceGetPciInfo(struct sp_nvml_device *device, struct sp_nvml_pci *pci);
STARPOOL_API int nvmlDeviceGetPciInfo_v2(struct sp_nvml_device *device,
                                         struct sp_nvml_pci *pci);
STARPOOL_API int nvmlDeviceGetPciInfo_v3(struct sp_nvml_device *device,
                                         struct sp_nvml_pci *pci);
STARPOOL_API int nvmlDeviceGetMemoryInfo(struct sp_nvml_device *device,
                                         struct sp_nvml_memory *memory_out);
STARPOOL_API int nvmlDeviceGetMemoryInfo_v2(struct sp_nvml_device *device,
                                            struct sp_nvml_memory2 *memory);
STARPOOL_API int nvmlDeviceGetCudaComputeCapability(struct sp_nvml_device *device,
                                                    int *major_out, int *minor_out);

#endif /* SP_SIM_NVML_H */
