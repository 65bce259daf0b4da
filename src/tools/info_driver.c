/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info`: asks the driver for what needs no context, and shows it: what serves which
 * memory, and why. */
#include "config.h"

#include "src/tools/info_driver.h"

#include <stdio.h>

#include <starpool/model.h>
#include <starpool/numa.h>

#include "src/util/util.h"

/* How the model behaves where the driver's documents leave it open. */
static const struct {
    const char *name, *rule, *values, *text;
} switches[] = {
#define X(name, rule, values, text) {#name, rule, values, text},
#include "src/model/switches.def"
#undef X
};

/* A node that pools are made on, for what is tried. */
static int any_node(void)
{
    const struct starpool_topology *topology;

    if (starpool_topology_get(&topology) != STARPOOL_OK)
        return 0;
    for (int i = 0; i < topology->n_nodes; i++) {
        if (topology->nodes[i].serves_host)
            return topology->nodes[i].os_index;
    }
    return 0;
}

void sp_info_ask_driver(struct sp_info_driver *info_out)
{
    if (sp_driver_get(&info_out->driver) != STARPOOL_OK) {
        info_out->driver = NULL;
        info_out->reason = sp_driver_why_none();
        return;
    }
    sp_features_ask(info_out->driver, any_node(), &info_out->features);
}

/* ---- text -------------------------------------------------------------------------------- */

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

static const char *mode_text(enum sp_compute_mode mode)
{
    switch (mode) {
    case SP_COMPUTE_EXCLUSIVE:
        return ", exclusive to one process";
    case SP_COMPUTE_PROHIBITED:
        return ", closed to all processes";
    case SP_COMPUTE_DEFAULT:
    case SP_COMPUTE_UNKNOWN:
        break;
    }
    return "";
}

static void show_choice(const char *what, const struct sp_choice *choice)
{
    printf("    %-10s by %s: %s\n", what, sp_mechanism_name(choice->mechanism), choice->why);
}

static void show_peers(const struct sp_features *features, int device)
{
    uint64_t peers = features->devices[device].peers;

    printf("    %-10s", "peers");
    for (int peer = 0; peer < features->n_devices; peer++) {
        if ((peers >> peer & 1) != 0)
            printf(" %d", peer);
    }
    puts(peers == 0 ? " none" : "");
}

static void show_device(const struct sp_features *features, int number)
{
    const struct sp_device_features *device = &features->devices[number];
    char memory[32];

    printf("  device %d: %s, %s, %s%s%s%s\n", number, device->name,
           sp_bytes_text(memory, sizeof(memory), device->memory_bytes), device->uuid,
           device->pools.mechanism == SP_MECHANISM_DRIVER ? ""
                                                          : ", without stream-ordered pools",
           device->is_mig ? ", a part (MIG): no peers, nothing shared" : "",
           mode_text(device->mode));
    show_choice("DEVICE", &device->pools);
    show_choice("managed", &device->managed);
    printf("    %-10s %s\n", "fabric", sp_fabric_text(device->fabric));
    show_peers(features, number);
    if (device->mps_limit_bytes != 0)
        printf("    %-10s %s, pinned memory of the host included\n", "MPS limit",
               sp_bytes_text(memory, sizeof(memory), device->mps_limit_bytes));
}

/* Pools of the host are starpool's own in any case; what the driver could do is told beside. */
static void show_host(const char *what, const struct sp_choice *choice)
{
    printf("  %-9s by segments, registered on request; the driver's pools: %s (%s)\n", what,
           choice->mechanism == SP_MECHANISM_DRIVER ? "yes" : "no", choice->why);
}

void sp_info_show_driver(const struct sp_info_driver *info)
{
    const struct sp_features *features = &info->features;

    puts("\nDriver of devices");
    if (info->driver == NULL) {
        printf("  none: %s\n", info->reason);
        return;
    }
    printf("  %s, CUDA %d.%d\n",
           info->driver->is_model ? "the CPU model, which is no GPU" : info->driver->name,
           features->version / 1000, features->version % 1000 / 10);
    for (int i = 0; i < features->n_devices; i++)
        show_device(features, i);
    show_host("HOST", &features->host);
    show_host("HOST_NUMA", &features->host_numa);
    if (features->visible_devices != NULL)
        printf("  CUDA_VISIBLE_DEVICES=%s\n", features->visible_devices);
    if (features->mps != NULL)
        printf("  MPS: %s is set\n", features->mps);
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

/* ---- JSON -------------------------------------------------------------------------------- */

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

static void write_choice(struct sp_json *json, const char *key, const struct sp_choice *choice)
{
    sp_json_object_begin(json, key);
    sp_json_string(json, "mechanism", sp_mechanism_name(choice->mechanism));
    sp_json_string(json, "why", choice->why);
    sp_json_end(json);
}

static void write_device(struct sp_json *json, const struct sp_features *features, int number)
{
    const struct sp_device_features *device = &features->devices[number];

    sp_json_object_begin(json, NULL);
    sp_json_string(json, "name", device->name);
    sp_json_string(json, "uuid", device->uuid);
    sp_json_number(json, "memory_bytes", device->memory_bytes);
    sp_json_flag(json, "has_pools", device->pools.mechanism == SP_MECHANISM_DRIVER);
    sp_json_flag(json, "is_mig", device->is_mig);
    sp_json_signed(json, "compute_mode", device->mode);
    sp_json_number(json, "mps_limit_bytes", device->mps_limit_bytes);
    sp_json_number(json, "handle_types", device->handle_types);
    write_choice(json, "pools", &device->pools);
    write_choice(json, "managed", &device->managed);
    sp_json_string(json, "fabric", sp_fabric_text(device->fabric));
    sp_json_array_begin(json, "peers");
    for (int peer = 0; peer < features->n_devices; peer++) {
        if ((device->peers >> peer & 1) != 0)
            sp_json_number(json, NULL, (uint64_t)peer);
    }
    sp_json_end(json);
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
    sp_json_number(json, "version", (uint64_t)info->features.version);
    sp_json_array_begin(json, "devices");
    for (int i = 0; i < info->features.n_devices; i++)
        write_device(json, &info->features, i);
    sp_json_end(json);
    write_choice(json, "host_pools", &info->features.host);
    write_choice(json, "host_numa_pools", &info->features.host_numa);
    write_calls(json, info);
    sp_json_end(json);
}
