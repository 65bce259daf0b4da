/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the model's devices can do and where they are: one device, described whole, of which
 * there are several. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "numa/topo.h"
#include "src/model/attributes.h"
#include "src/model/mempool.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* PCI bus of device 0; the others follow. None of a usual machine is that high. */
#define FIRST_BUS 0xf0

/* "0000:f0:00.0" and its end. */
#define PCI_ID_SIZE 13

#define CONSTANT(name) sp_model_attribute_constant(SP_ATTRIBUTE_##name)

/* What is asked about a device: the device, and where the answer goes. */
static sp_cu_result check(const void *out, int device)
{
    if (!sp_model_is_device(device))
        return SP_CU_INVALID_DEVICE;
    return out == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
}

/* ---- places -------------------------------------------------------------------------- */

static void write_pci_id(char *id_out, size_t size, int device)
{
    snprintf(id_out, size, "0000:%02x:00.0", (unsigned)(FIRST_BUS + device) & 0xff);
}

sp_cu_result sp_model_cuDeviceGetPCIBusId(char *id_out, int size, sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetPCIBusId);
    result = check(id_out, device);
    if (result == SP_CU_SUCCESS && size < PCI_ID_SIZE)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        write_pci_id(id_out, (size_t)size, device);
    return sp_model_leave(result);
}

/* The hexadecimal number at the beginning; what comes behind it, NULL if there is none. */
static const char *read_hex(const char *text, unsigned *number_out)
{
    char *end;

    if (!isxdigit((unsigned char)text[0]))
        return NULL;
    *number_out = (unsigned)strtoul(text, &end, 16);
    return end;
}

/* "[domain:]bus:device[.function]": a domain, device or function is 0, or there is no such
 * device. */
static bool parse_pci_id(const char *id, unsigned *bus_out)
{
    unsigned parts[3] = {0}, function = 0;
    size_t n = 0;

    do {
        id = read_hex(n == 0 ? id : id + 1, &parts[n]);
        if (id == NULL)
            return false;
        n++;
    } while (n < 3 && *id == ':');
    if (*id == '.') {
        id = read_hex(id + 1, &function);
        if (id == NULL)
            return false;
    }
    if (*id != '\0' || n < 2 || function != 0 || parts[n - 1] != 0)
        return false;
    *bus_out = parts[n - 2];
    return n == 2 || parts[0] == 0;
}

sp_cu_result sp_model_cuDeviceGetByPCIBusId(sp_cu_device *device_out, const char *id)
{
    unsigned bus;

    SP_MODEL_ENTER(cuDeviceGetByPCIBusId);
    if (device_out == NULL || id == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (!parse_pci_id(id, &bus) || bus < FIRST_BUS || !sp_model_is_device((int)bus - FIRST_BUS))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    *device_out = (int)bus - FIRST_BUS;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* Only Windows has such names. */
sp_cu_result sp_model_cuDeviceGetLuid(char *luid_out, unsigned *node_mask_out,
                                      sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetLuid);
    result = check(luid_out, device);
    if (result == SP_CU_SUCCESS)
        result = node_mask_out == NULL ? SP_CU_INVALID_VALUE : SP_CU_NOT_SUPPORTED;
    return sp_model_leave(result);
}

/* The first node that serves HOST; 0 if that cannot be said. May load the topology: without the
 * lock. */
static int host_node(void)
{
    const struct sp_topo *topo;

    if (sp_topo_get(&topo) != STARPOOL_OK || sp_topo_n_nodes(topo) == 0)
        return 0;
    return sp_topo_node(topo, 0)->os_index;
}

/* ---- attributes ---------------------------------------------------------------------- */

static bool is_attribute(int attribute)
{
    return attribute > 0 && attribute <= SP_ATTRIBUTE_LAST;
}

/* Of a device; `node` is the host's next to it. */
static int value_of(enum sp_model_attribute attribute, int device, int node)
{
    if (attribute == SP_ATTRIBUTE_PCI_BUS_ID)
        return FIRST_BUS + device;
    if (attribute == SP_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)
        return sp_model_pool_handle_types();
    if (attribute == SP_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED ||
        attribute == SP_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED)
        return sp_model_switch(SP_SWITCH_host_pools) == 0;
    if (attribute == SP_ATTRIBUTE_HOST_NUMA_ID)
        return node;
    return sp_model_attribute_constant(attribute);
}

sp_cu_result sp_model_cuDeviceGetAttribute(int *value_out, int attribute, sp_cu_device device)
{
    int node = attribute == SP_ATTRIBUTE_HOST_NUMA_ID ? host_node() : 0;
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetAttribute);
    result = check(value_out, device);
    if (result == SP_CU_SUCCESS && !is_attribute(attribute))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *value_out = value_of((enum sp_model_attribute)attribute, device, node);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuDeviceComputeCapability(int *major_out, int *minor_out,
                                                sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceComputeCapability);
    result = check(major_out, device);
    if (result == SP_CU_SUCCESS && minor_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS) {
        *major_out = CONSTANT(COMPUTE_CAPABILITY_MAJOR);
        *minor_out = CONSTANT(COMPUTE_CAPABILITY_MINOR);
    }
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuDeviceGetProperties(struct sp_cu_device_properties *properties_out,
                                            sp_cu_device device)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetProperties);
    result = check(properties_out, device);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    *properties_out = (struct sp_cu_device_properties){
        .max_threads_per_block = CONSTANT(MAX_THREADS_PER_BLOCK),
        .max_threads_dim = {CONSTANT(MAX_BLOCK_DIM_X), CONSTANT(MAX_BLOCK_DIM_Y),
                            CONSTANT(MAX_BLOCK_DIM_Z)},
        .max_grid_size = {CONSTANT(MAX_GRID_DIM_X), CONSTANT(MAX_GRID_DIM_Y),
                          CONSTANT(MAX_GRID_DIM_Z)},
        .shared_bytes_per_block = CONSTANT(MAX_SHARED_MEMORY_PER_BLOCK),
        .constant_bytes = CONSTANT(TOTAL_CONSTANT_MEMORY),
        .warp_size = CONSTANT(WARP_SIZE),
        .max_pitch_bytes = CONSTANT(MAX_PITCH),
        .registers_per_block = CONSTANT(MAX_REGISTERS_PER_BLOCK),
        .clock_khz = CONSTANT(CLOCK_RATE),
        .texture_alignment = CONSTANT(TEXTURE_ALIGNMENT),
    };
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- others -------------------------------------------------------------------------- */

/* Peers are all alike: of rank 0, by way of the host's memory, without atomics. */
static bool tell_p2p(int attribute, int device, int peer, int *value_out)
{
    switch (attribute) {
    case SP_CU_P2P_ACCESS_SUPPORTED:
        *value_out = sp_model_can_access_peer(device, peer);
        return true;
    case SP_CU_P2P_PERFORMANCE_RANK:
    case SP_CU_P2P_NATIVE_ATOMIC_SUPPORTED:
    case SP_CU_P2P_ACCESS_ACCESS_SUPPORTED:
    case SP_CU_P2P_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value_out = 0;
        return true;
    default:
        return false;
    }
}

sp_cu_result sp_model_cuDeviceGetP2PAttribute(int *value_out, int attribute,
                                              sp_cu_device device, sp_cu_device peer)
{
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetP2PAttribute);
    result = sp_model_is_device(peer) ? check(value_out, device) : SP_CU_INVALID_DEVICE;
    if (result == SP_CU_SUCCESS && device == peer)
        result = SP_CU_INVALID_DEVICE;
    if (result == SP_CU_SUCCESS && !tell_p2p(attribute, device, peer, value_out))
        result = SP_CU_INVALID_VALUE;
    return sp_model_leave(result);
}

/* [bytes] An element of an array's format; 0 if it is none of the plain ones. */
static unsigned format_bytes(int format)
{
    switch (format) {
    case 0x01: /* CU_AD_FORMAT_UNSIGNED_INT8 */
    case 0x08: /* SIGNED_INT8 */
        return 1;
    case 0x02: /* UNSIGNED_INT16 */
    case 0x09: /* SIGNED_INT16 */
    case 0x10: /* HALF */
        return 2;
    case 0x03: /* UNSIGNED_INT32 */
    case 0x0a: /* SIGNED_INT32 */
    case 0x20: /* FLOAT */
        return 4;
    default:
        return 0;
    }
}

sp_cu_result sp_model_cuDeviceGetTexture1DLinearMaxWidth(size_t *width_out, int format,
                                                         unsigned n_channels,
                                                         sp_cu_device device)
{
    unsigned bytes = format_bytes(format);
    sp_cu_result result;

    SP_MODEL_ENTER(cuDeviceGetTexture1DLinearMaxWidth);
    result = check(width_out, device);
    if (result == SP_CU_SUCCESS &&
        (bytes == 0 || (n_channels != 1 && n_channels != 2 && n_channels != 4)))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *width_out = (size_t)CONSTANT(MAXIMUM_TEXTURE1D_LINEAR_WIDTH) / (bytes * n_channels);
    return sp_model_leave(result);
}
