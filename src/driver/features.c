/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the driver what it can do. Version numbers are not believed: a query that a driver does
 * not know says nothing, and then what it is about is tried (drivers of CUDA 12.6 to 12.8 have
 * pools of HOST_NUMA memory and refuse the query for them). A query that says no is believed: a
 * pool that can be made all the same may fail at its first use. */
#include "config.h"

#include "src/driver/features.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/util/options.h"
#include "src/util/util.h"

/* The kernel's name of IMEX channels, and where they are. */
#define IMEX_DEVICE   "nvidia-caps-imex-channels"
#define IMEX_CHANNELS "/dev/nvidia-caps-imex-channels"

/* CU_DEVICE_ATTRIBUTE_COMPUTE_MODE */
#define COMPUTE_MODE 20

/* ---- words ------------------------------------------------------------------------------- */

const char *sp_mechanism_name(enum sp_mechanism mechanism)
{
    switch (mechanism) {
    case SP_MECHANISM_DRIVER:
        return "driver";
    case SP_MECHANISM_SLAB:
        return "slab";
    case SP_MECHANISM_SEGMENTS:
        return "segments";
    case SP_MECHANISM_NONE:
        break;
    }
    return "none";
}

const char *sp_fabric_text(enum sp_fabric fabric)
{
    switch (fabric) {
    case SP_FABRIC_YES:
        return "yes";
    case SP_FABRIC_NO_SUPPORT:
        return "no: the driver or the machine has none";
    case SP_FABRIC_NO_CHANNEL:
        break;
    }
    return "no: there is no IMEX channel that this user may open";
}

static void choose(struct sp_choice *choice, enum sp_mechanism mechanism, const char *why)
{
    choice->mechanism = mechanism;
    snprintf(choice->why, sizeof(choice->why), "%s", why);
}

/* "what: NAME" of a result. */
static void choose_by_result(struct sp_choice *choice, enum sp_mechanism mechanism,
                             const char *what, sp_cu_result result)
{
    choice->mechanism = mechanism;
    snprintf(choice->why, sizeof(choice->why), "%s answers %d (%s)", what, result,
             sp_driver_result_name(result));
}

/* ---- trying ------------------------------------------------------------------------------ */

/* Make a pool, and give it up. */
static sp_cu_result try_pool(const struct sp_driver *driver, int type, int location, int id,
                             int handle_types)
{
    struct sp_cu_pool_props props = {
        .alloc_type = type,
        .handle_types = handle_types,
        .location = {location, id},
    };
    sp_cu_pool pool;
    sp_cu_result result = driver->cuMemPoolCreate(&pool, &props);

    if (result == SP_CU_SUCCESS)
        (void)driver->cuMemPoolDestroy(pool);
    return result;
}

/* A device's answer to a question with a number; -1: it does not know the question. */
static int ask(const struct sp_driver *driver, int device, int attribute)
{
    int value = 0;

    return driver->cuDeviceGetAttribute(&value, attribute, device) == SP_CU_SUCCESS ? value
                                                                                    : -1;
}

void sp_features_pools(const struct sp_driver *driver, int device, struct sp_choice *choice_out)
{
    int answer = ask(driver, device, SP_CU_DEVICE_MEMORY_POOLS_SUPPORTED);
    sp_cu_pool pool;
    sp_cu_result result;

    if (answer == 0) {
        choose(choice_out, SP_MECHANISM_SLAB, "the device has no pools");
        return;
    }
    /* This makes nothing, and no context. */
    result = driver->cuDeviceGetDefaultMemPool(&pool, device);
    if (result == SP_CU_SUCCESS)
        choose(choice_out, SP_MECHANISM_DRIVER, "the device has pools");
    else
        choose_by_result(choice_out, SP_MECHANISM_SLAB, "cuDeviceGetDefaultMemPool()", result);
}

static bool is_mig(const char *name)
{
    return strstr(name, " MIG ") != NULL;
}

static void ask_name(const struct sp_driver *driver, int device, char *name, size_t size)
{
    if (driver->cuDeviceGetName(name, (int)size, device) != SP_CU_SUCCESS)
        name[0] = '\0';
}

static bool is_part(const struct sp_driver *driver, int device)
{
    char name[128];

    ask_name(driver, device, name, sizeof(name));
    return is_mig(name);
}

bool sp_features_is_peer(const struct sp_driver *driver, int device, int peer)
{
    int can = 0;

    return device != peer &&
           driver->cuDeviceCanAccessPeer(&can, peer, device) == SP_CU_SUCCESS && can != 0 &&
           !is_part(driver, device) && !is_part(driver, peer);
}

/* ---- UUIDs ------------------------------------------------------------------------------- */

static void write_uuid(char *text, size_t size, const struct sp_cu_uuid *uuid, bool is_part)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;

    snprintf(text, size,
             "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             is_part ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
             b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void ask_uuid(const struct sp_driver *driver, int device, bool is_part, char *text,
                     size_t size)
{
    struct sp_cu_uuid uuid;

    text[0] = '\0';
    if (driver->cuDeviceGetUuid(&uuid, device) == SP_CU_SUCCESS)
        write_uuid(text, size, &uuid, is_part);
}

static const char *without_kind(const char *uuid)
{
    bool has_kind = strncasecmp(uuid, "GPU-", 4) == 0 || strncasecmp(uuid, "MIG-", 4) == 0;

    return has_kind ? uuid + 4 : uuid;
}

int sp_features_find(const struct sp_driver *driver, const char *uuid)
{
    const char *wanted = without_kind(uuid);
    int n_devices = 0, found = -1;

    if (*wanted == '\0' || driver->cuDeviceGetCount(&n_devices) != SP_CU_SUCCESS)
        return -1;
    for (int device = 0; device < n_devices; device++) {
        char text[SP_FEATURES_UUID];

        ask_uuid(driver, device, false, text, sizeof(text));
        if (strncasecmp(without_kind(text), wanted, strlen(wanted)) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = device;
    }
    return found;
}

/* ---- fabric ------------------------------------------------------------------------------ */

static bool lists_imex(const char *proc_devices)
{
    FILE *file = fopen(proc_devices, "re");
    char line[256];
    bool is_listed = false;

    if (file == NULL)
        return false;
    while (!is_listed && fgets(line, sizeof(line), file) != NULL)
        is_listed = strstr(line, IMEX_DEVICE) != NULL;
    (void)fclose(file);
    return is_listed;
}

static bool has_channel(const char *channels)
{
    DIR *folder = opendir(channels);
    const struct dirent *entry;
    bool has_one = false;

    if (folder == NULL)
        return false;
    while (!has_one && (entry = readdir(folder)) != NULL) {
        int file;

        if (strncmp(entry->d_name, "channel", 7) != 0)
            continue;
        file = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
        has_one = file >= 0;
        if (file >= 0)
            (void)close(file);
    }
    (void)closedir(folder);
    return has_one;
}

enum sp_fabric sp_features_imex(const char *proc_devices, const char *channels)
{
    if (!lists_imex(proc_devices))
        return SP_FABRIC_NO_SUPPORT;
    return has_channel(channels) ? SP_FABRIC_YES : SP_FABRIC_NO_CHANNEL;
}

/* The driver's own answer first. Where it only says no, the machine says which condition it is
 * that fails. */
static enum sp_fabric ask_fabric(const struct sp_driver *driver, int device,
                                 unsigned handle_types)
{
    enum sp_fabric seen;
    sp_cu_result result;

    if ((handle_types & SP_CU_HANDLE_FABRIC) == 0)
        return SP_FABRIC_NO_SUPPORT;
    result = try_pool(driver, SP_CU_ALLOCATION_PINNED, SP_CU_LOCATION_DEVICE, device,
                      SP_CU_HANDLE_FABRIC);
    if (result == SP_CU_SUCCESS)
        return SP_FABRIC_YES;
    if (result == SP_CU_NOT_PERMITTED)
        return SP_FABRIC_NO_CHANNEL;
    seen = sp_features_imex("/proc/devices", IMEX_CHANNELS);
    return seen == SP_FABRIC_YES ? SP_FABRIC_NO_SUPPORT : seen;
}

/* Types that pools can be shared by; a driver that does not know the question may know the
 * oldest type. */
static unsigned ask_handle_types(const struct sp_driver *driver, int device)
{
    int answer = ask(driver, device, SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES);

    if (answer >= 0)
        return (unsigned)answer;
    return try_pool(driver, SP_CU_ALLOCATION_PINNED, SP_CU_LOCATION_DEVICE, device,
                    SP_CU_HANDLE_POSIX_FD) == SP_CU_SUCCESS
               ? SP_CU_HANDLE_POSIX_FD
               : 0;
}

/* ---- MPS --------------------------------------------------------------------------------- */

uint64_t sp_features_mps_limit(const char *limits, int device)
{
    while (limits != NULL && *limits != '\0') {
        char word[64], *end;
        size_t length = strcspn(limits, ",");
        uint64_t bytes;

        snprintf(word, sizeof(word), "%.*s", (int)length, limits);
        if (strtol(word, &end, 10) == device && end != word && *end == '=' &&
            sp_parse_size(end + 1, &bytes))
            return bytes;
        limits += length + (limits[length] == ',');
    }
    return 0;
}

static const char *find_mps(void)
{
    static const char *const names[] = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                                        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                        "CUDA_MPS_PIPE_DIRECTORY"};

    for (size_t i = 0; i < SP_ARRAY_SIZE(names); i++) {
        if (getenv(names[i]) != NULL)
            return names[i];
    }
    return NULL;
}

/* ---- devices ----------------------------------------------------------------------------- */

static void ask_managed(const struct sp_driver *driver, int device, struct sp_choice *choice)
{
    sp_cu_result result;

    if (ask(driver, device, SP_CU_DEVICE_CONCURRENT_MANAGED_ACCESS) == 0) {
        choose(choice, SP_MECHANISM_NONE,
               "the device cannot use managed memory beside the host");
        return;
    }
    result = try_pool(driver, SP_CU_ALLOCATION_MANAGED, SP_CU_LOCATION_NONE, 0, 0);
    if (result == SP_CU_SUCCESS)
        choose(choice, SP_MECHANISM_DRIVER, "a managed pool can be made");
    else
        choose_by_result(choice, SP_MECHANISM_NONE, "making a managed pool", result);
}

static void ask_device(const struct sp_driver *driver, int device, int n_devices,
                       struct sp_device_features *out)
{
    ask_name(driver, device, out->name, sizeof(out->name));
    out->is_mig = is_mig(out->name);
    ask_uuid(driver, device, out->is_mig, out->uuid, sizeof(out->uuid));
    if (driver->cuDeviceTotalMem(&out->memory_bytes, device) != SP_CU_SUCCESS)
        out->memory_bytes = 0;
    out->mps_limit_bytes =
        sp_features_mps_limit(getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), device);
    out->mode = (enum sp_compute_mode)ask(driver, device, COMPUTE_MODE);
    sp_features_pools(driver, device, &out->pools);
    if (out->pools.mechanism == SP_MECHANISM_DRIVER && !out->is_mig)
        out->handle_types = ask_handle_types(driver, device);
    out->fabric = ask_fabric(driver, device, out->handle_types);
    ask_managed(driver, device, &out->managed);
    for (int peer = 0; peer < n_devices; peer++) {
        if (sp_features_is_peer(driver, device, peer))
            out->peers |= (uint64_t)1 << peer;
    }
}

/* ---- the host ---------------------------------------------------------------------------- */

/* Every device must be able to use it; what one device does not know is tried. */
static void ask_host(const struct sp_driver *driver, int n_devices, int attribute, int location,
                     int id, struct sp_choice *choice)
{
    sp_cu_result result;

    for (int device = 0; device < n_devices; device++) {
        if (ask(driver, device, attribute) == 0) {
            snprintf(choice->why, sizeof(choice->why), "device %d has no such pools", device);
            choice->mechanism = SP_MECHANISM_SEGMENTS;
            return;
        }
    }
    result = try_pool(driver, SP_CU_ALLOCATION_PINNED, location, id, 0);
    if (result == SP_CU_SUCCESS)
        choose(choice, SP_MECHANISM_DRIVER, "such a pool can be made");
    else
        choose_by_result(choice, SP_MECHANISM_SEGMENTS, "making one", result);
}

void sp_features_ask(const struct sp_driver *driver, int node, struct sp_features *features_out)
{
    struct sp_features *features = features_out;

    memset(features, 0, sizeof(*features));
    if (driver->cuDriverGetVersion(&features->version) != SP_CU_SUCCESS)
        features->version = 0;
    if (driver->cuDeviceGetCount(&features->n_devices) != SP_CU_SUCCESS)
        features->n_devices = 0;
    if (features->n_devices > SP_FEATURES_MAX_DEVICES)
        features->n_devices = SP_FEATURES_MAX_DEVICES;
    for (int device = 0; device < features->n_devices; device++)
        ask_device(driver, device, features->n_devices, &features->devices[device]);
    ask_host(driver, features->n_devices, SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED,
             SP_CU_LOCATION_HOST, 0, &features->host);
    ask_host(driver, features->n_devices, SP_CU_DEVICE_HOST_NUMA_MEMORY_POOLS_SUPPORTED,
             SP_CU_LOCATION_HOST_NUMA, node, &features->host_numa);
    features->mps = find_mps();
    features->visible_devices = getenv("CUDA_VISIBLE_DEVICES");
}
