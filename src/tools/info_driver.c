/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info`: asks the driver for what needs no context, and shows it. */
#include "config.h"

#include "src/tools/info_driver.h"

#include <stdio.h>

#include <starpool/model.h>

#include "src/util/util.h"

/* How the model behaves where the driver's documents leave it open. */
static const struct {
    const char *name, *rule, *values, *text;
} switches[] = {
#define X(name, rule, values, text) {#name, rule, values, text},
#include "src/model/switches.def"
#undef X
};

static void write_uuid(char *text, size_t size, const struct sp_cu_uuid *uuid)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;

    snprintf(text, size,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

static void ask_device(const struct sp_driver *driver, int ordinal,
                       struct sp_info_device *device_out)
{
    struct sp_cu_uuid uuid;
    sp_cu_device device;
    int has_pools = 0;

    if (driver->cuDeviceGet(&device, ordinal) != SP_CU_SUCCESS)
        return;
    if (driver->cuDeviceGetName(device_out->name, sizeof(device_out->name), device) !=
        SP_CU_SUCCESS)
        device_out->name[0] = '\0';
    if (driver->cuDeviceGetUuid(&uuid, device) == SP_CU_SUCCESS)
        write_uuid(device_out->uuid, sizeof(device_out->uuid), &uuid);
    if (driver->cuDeviceTotalMem(&device_out->memory_bytes, device) != SP_CU_SUCCESS)
        device_out->memory_bytes = 0;
    if (driver->cuDeviceGetAttribute(&has_pools, SP_CU_DEVICE_MEMORY_POOLS_SUPPORTED, device) ==
        SP_CU_SUCCESS)
        device_out->has_pools = has_pools != 0;
}

void sp_info_ask_driver(struct sp_info_driver *info_out)
{
    if (sp_driver_get(&info_out->driver) != STARPOOL_OK) {
        info_out->driver = NULL;
        info_out->reason = sp_driver_why_none();
        return;
    }
    if (info_out->driver->cuDriverGetVersion(&info_out->version) != SP_CU_SUCCESS)
        info_out->version = 0;
    if (info_out->driver->cuDeviceGetCount(&info_out->n_devices) != SP_CU_SUCCESS)
        info_out->n_devices = 0;
    if (info_out->n_devices > SP_INFO_MAX_DEVICES)
        info_out->n_devices = SP_INFO_MAX_DEVICES;
    for (int i = 0; i < info_out->n_devices; i++)
        ask_device(info_out->driver, i, &info_out->devices[i]);
}

static const char *switch_value(const char *name)
{
    const char *value;

    return starpool_model_get_switch(name, &value) == STARPOOL_OK ? value : "";
}

static void show_switches(void)
{
    puts("  switches (rule: what is open; values, the first is the default)");
    for (size_t i = 0; i < SP_ARRAY_SIZE(switches); i++)
        printf("    %-18s = %-16s %s: %s (%s)\n", switches[i].name,
               switch_value(switches[i].name), switches[i].rule, switches[i].text,
               switches[i].values);
}

void sp_info_show_driver(const struct sp_info_driver *info)
{
    char memory[32];

    puts("\nDriver of devices");
    if (info->driver == NULL) {
        printf("  none: %s\n", info->reason);
        return;
    }
    printf("  %s, CUDA %d.%d\n",
           info->driver->is_model ? "the CPU model, which is no GPU" : info->driver->name,
           info->version / 1000, info->version % 1000 / 10);
    for (int i = 0; i < info->n_devices; i++)
        printf("  device %d: %s, %s, %s%s\n", i, info->devices[i].name,
               sp_bytes_text(memory, sizeof(memory), info->devices[i].memory_bytes),
               info->devices[i].uuid,
               info->devices[i].has_pools ? "" : ", without stream-ordered pools");
    if (info->driver->is_model) {
        show_switches();
        return;
    }
    for (int i = 0; i < SP_N_CALLS; i++) {
        if (sp_driver_cuda_calls()[i].is_absent)
            printf("  absent: %s, which comes with CUDA %d.%d\n",
                   sp_driver_cuda_calls()[i].name, sp_driver_cuda_calls()[i].version / 1000,
                   sp_driver_cuda_calls()[i].version % 1000 / 10);
    }
}

static void write_calls(struct sp_json *json, const struct sp_info_driver *info)
{
    if (info->driver->is_model) {
        sp_json_object_begin(json, "switches");
        for (size_t i = 0; i < SP_ARRAY_SIZE(switches); i++)
            sp_json_string(json, switches[i].name, switch_value(switches[i].name));
        sp_json_end(json);
        return;
    }
    sp_json_array_begin(json, "absent");
    for (int i = 0; i < SP_N_CALLS; i++) {
        if (sp_driver_cuda_calls()[i].is_absent)
            sp_json_string(json, NULL, sp_driver_cuda_calls()[i].name);
    }
    sp_json_end(json);
}

void sp_info_write_driver(struct sp_json *json, const struct sp_info_driver *info)
{
    sp_json_object_begin(json, "driver");
    sp_json_flag(json, "is_available", info->driver != NULL);
    if (info->driver == NULL) {
        sp_json_string(json, "reason", info->reason);
        sp_json_end(json);
        return;
    }
    sp_json_string(json, "name", info->driver->name);
    sp_json_flag(json, "is_model", info->driver->is_model);
    sp_json_number(json, "version", (uint64_t)info->version);
    sp_json_array_begin(json, "devices");
    for (int i = 0; i < info->n_devices; i++) {
        sp_json_object_begin(json, NULL);
        sp_json_string(json, "name", info->devices[i].name);
        sp_json_string(json, "uuid", info->devices[i].uuid);
        sp_json_number(json, "memory_bytes", info->devices[i].memory_bytes);
        sp_json_flag(json, "has_pools", info->devices[i].has_pools);
        sp_json_end(json);
    }
    sp_json_end(json);
    write_calls(json, info);
    sp_json_end(json);
}
