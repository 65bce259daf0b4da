/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stand-in for NVML, which asks the model's table. A device handle is the ordinal plus one.
 * Unlike the real one it starts the driver API, but it makes no context. */
#include "config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/sim/nvml.h"
#include "src/sim/table.h"
#include "src/util/util.h"

/* A domain of 32 bits is in nvmlPciInfo_t alone; before, the structure ended with 4 words. */
enum { OLD_PCI_BYTES = offsetof(struct sp_nvml_pci, bus_id) };

static struct {
    _Atomic unsigned n_inits;
} nvml;

static bool is_started(void)
{
    return atomic_load(&nvml.n_inits) > 0;
}

/* ---- starting, versions -------------------------------------------------------------- */

int nvmlInit_v2(void)
{
    if (sp_sim_driver()->cuInit(0) != SP_CU_SUCCESS)
        return SP_NVML_DRIVER_NOT_LOADED;
    atomic_fetch_add(&nvml.n_inits, 1);
    return SP_NVML_SUCCESS;
}

int nvmlInit(void)
{
    return nvmlInit_v2();
}

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags; /* they choose what a machine without devices answers */
    return nvmlInit_v2();
}

int nvmlShutdown(void)
{
    unsigned n = atomic_load(&nvml.n_inits);

    do {
        if (n == 0)
            return SP_NVML_UNINITIALIZED;
    } while (!atomic_compare_exchange_weak(&nvml.n_inits, &n, n - 1));
    return SP_NVML_SUCCESS;
}

static int put_text(char *text_out, unsigned size, const char *text)
{
    if (text_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    if (strlen(text) >= size)
        return SP_NVML_INSUFFICIENT_SIZE;
    strcpy(text_out, text);
    return SP_NVML_SUCCESS;
}

/* The driver's and the library's versions start with the number of a branch that has the
 * model's version of CUDA. */
int nvmlSystemGetDriverVersion(char *version_out, unsigned size)
{
    return is_started() ? put_text(version_out, size, "580.00") : SP_NVML_UNINITIALIZED;
}

int nvmlSystemGetNVMLVersion(char *version_out, unsigned size)
{
    return is_started() ? put_text(version_out, size, "13.580.00") : SP_NVML_UNINITIALIZED;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version_out)
{
    if (version_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    if (sp_sim_driver()->cuDriverGetVersion(version_out) != SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    return SP_NVML_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *version_out)
{
    return nvmlSystemGetCudaDriverVersion_v2(version_out);
}

const char *nvmlErrorString(int result)
{
    switch (result) {
    case SP_NVML_SUCCESS:
        return "Success";
    case SP_NVML_UNINITIALIZED:
        return "Uninitialized";
    case SP_NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case SP_NVML_NOT_SUPPORTED:
        return "Not Supported";
    case SP_NVML_NOT_FOUND:
        return "Not Found";
    case SP_NVML_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case SP_NVML_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    default:
        return "Unknown Error";
    }
}

/* ---- devices ------------------------------------------------------------------------- */

int nvmlDeviceGetCount_v2(unsigned *count_out)
{
    int n = 0;

    if (!is_started())
        return SP_NVML_UNINITIALIZED;
    if (count_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    if (sp_sim_driver()->cuDeviceGetCount(&n) != SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    *count_out = (unsigned)n;
    return SP_NVML_SUCCESS;
}

int nvmlDeviceGetCount(unsigned *count_out)
{
    return nvmlDeviceGetCount_v2(count_out);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct sp_nvml_device **device_out)
{
    unsigned n;
    const int result = nvmlDeviceGetCount_v2(&n);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (index >= n || device_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    *device_out = (struct sp_nvml_device *)((uintptr_t)index + 1);
    return SP_NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex(unsigned index, struct sp_nvml_device **device_out)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device_out);
}

/* The ordinal of a handle. */
static int ordinal_of(struct sp_nvml_device *device, int *ordinal_out)
{
    struct sp_nvml_device *same;
    int result;

    if ((uintptr_t)device == 0 || (uintptr_t)device - 1 > 0xffff)
        return is_started() ? SP_NVML_INVALID_ARGUMENT : SP_NVML_UNINITIALIZED;
    result = nvmlDeviceGetHandleByIndex_v2((unsigned)((uintptr_t)device - 1), &same);
    if (result == SP_NVML_SUCCESS)
        *ordinal_out = (int)((uintptr_t)device - 1);
    return result;
}

int nvmlDeviceGetIndex(struct sp_nvml_device *device, unsigned *index_out)
{
    int ordinal;
    const int result = ordinal_of(device, &ordinal);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (index_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    *index_out = (unsigned)ordinal;
    return SP_NVML_SUCCESS;
}

int nvmlDeviceGetMinorNumber(struct sp_nvml_device *device, unsigned *number_out)
{
    return nvmlDeviceGetIndex(device, number_out);
}

int nvmlDeviceGetName(struct sp_nvml_device *device, char *name_out, unsigned size)
{
    char name[96];
    int ordinal;
    const int result = ordinal_of(device, &ordinal);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (sp_sim_driver()->cuDeviceGetName(name, sizeof(name), ordinal) != SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    return put_text(name_out, size, name);
}

int nvmlDeviceGetUUID(struct sp_nvml_device *device, char *uuid_out, unsigned size)
{
    struct sp_cu_uuid uuid;
    char text[48] = "GPU-";
    size_t length = 4;
    int ordinal;
    const int result = ordinal_of(device, &ordinal);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (sp_sim_driver()->cuDeviceGetUuid(&uuid, ordinal) != SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    for (int i = 0; i < 16; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                   (unsigned char)uuid.bytes[i]);
    return put_text(uuid_out, size, text);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct sp_nvml_device **device_out)
{
    struct sp_nvml_device *device;
    char text[48];

    if (!is_started())
        return SP_NVML_UNINITIALIZED;
    if (uuid == NULL || device_out == NULL)
        return SP_NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; nvmlDeviceGetHandleByIndex_v2(i, &device) == SP_NVML_SUCCESS; i++) {
        if (nvmlDeviceGetUUID(device, text, sizeof(text)) == SP_NVML_SUCCESS &&
            strcasecmp(text, uuid) == 0) {
            *device_out = device;
            return SP_NVML_SUCCESS;
        }
    }
    return SP_NVML_NOT_FOUND;
}

/* ---- the bus ------------------------------------------------------------------------- */

static int read_pci(struct sp_nvml_device *device, struct sp_nvml_pci *pci)
{
    const struct sp_driver *driver = sp_sim_driver();
    int ordinal, domain = 0, bus = 0, number = 0;
    const int result = ordinal_of(device, &ordinal);

    if (result != SP_NVML_SUCCESS)
        return result;
    if (driver->cuDeviceGetAttribute(&domain, SP_CU_DEVICE_PCI_DOMAIN_ID, ordinal) !=
            SP_CU_SUCCESS ||
        driver->cuDeviceGetAttribute(&bus, SP_CU_DEVICE_PCI_BUS_ID, ordinal) != SP_CU_SUCCESS ||
        driver->cuDeviceGetAttribute(&number, SP_CU_DEVICE_PCI_DEVICE_ID, ordinal) !=
            SP_CU_SUCCESS)
        return SP_NVML_UNKNOWN;
    *pci = (struct sp_nvml_pci){
        .domain = (unsigned)domain,
        .bus = (unsigned)bus,
        .device = (unsigned)number,
        .device_and_vendor = 0x10de, /* no product of that vendor */
    };
    snprintf(pci->short_bus_id, sizeof(pci->short_bus_id), "%04X:%02X:%02X.0",
             pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0xff);
    snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff,
             pci->device & 0xff);
    return SP_NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(struct sp_nvml_device *device, struct sp_nvml_pci *pci)
{
    if (pci == NULL)
        return is_started() ? SP_NVML_INVALID_ARGUMENT : SP_NVML_UNINITIALIZED;
    return read_pci(device, pci);
}

int nvmlDeviceGetPciInfo_v2(struct sp_nvml_device *device, struct sp_nvml_pci *pci)
{
    struct sp_nvml_pci whole;
    const int result = nvmlDeviceGetPciInfo_v3(device, pci == NULL ? NULL : &whole);

    if (result == SP_NVML_SUCCESS)
        memcpy(pci, &whole, OLD_PCI_BYTES);
    return result;
}

int nvmlDeviceGetPciInfo(struct sp_nvml_device *device, struct sp_nvml_pci *pci)
{
    return nvmlDeviceGetPciInfo_v2(device, pci);
}

/* Domain, bus and device, in hexadecimal digits between colons; what follows is the function.
 */
static bool parse_bus_id(const char *id, unsigned long numbers[3])
{
    char *end;

    for (int i = 0; i < 3; i++) {
        numbers[i] = strtoul(id, &end, 16);
        if (end == id || (i < 2 && *end != ':'))
            return false;
        id = end + 1;
    }
    return *end == '.' || *end == '\0';
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct sp_nvml_device **device_out)
{
    unsigned long numbers[3];
    struct sp_nvml_device *device;
    struct sp_nvml_pci pci;

    if (!is_started())
        return SP_NVML_UNINITIALIZED;
    if (id == NULL || device_out == NULL || !parse_bus_id(id, numbers))
        return SP_NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; nvmlDeviceGetHandleByIndex_v2(i, &device) == SP_NVML_SUCCESS; i++) {
        if (read_pci(device, &pci) == SP_NVML_SUCCESS && pci.domain == numbers[0] &&
            pci.bus == numbers[1] && pci.device == numbers[2]) {
            *device_out = device;
            return SP_NVML_SUCCESS;
        }
    }
    return SP_NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId(const char *id, struct sp_nvml_device **device_out)
{
    return nvmlDeviceGetHandleByPciBusId_v2(id, device_out);
}
