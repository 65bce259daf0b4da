/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of a device: the driver's attributes at the places where the structure of this
 * major version has them. */
#include "config.h"

#include "src/sim/runtime_props.h"

#include <string.h>

#include "src/sim/runtime.h"
#include "src/util/util.h"

#define AT(member) offsetof(struct sp_rt_props, member)

/* Members that are an int or unsigned, and the driver's CU_DEVICE_ATTRIBUTE_... */
static const struct {
    size_t offset;
    int attribute;
} numbers[] = {
    {AT(registers), 12},
    {AT(warp), 10},
    {AT(block_threads), 1},
    {AT(block[0]), 2},
    {AT(block[1]), 3},
    {AT(block[2]), 4},
    {AT(grid[0]), 5},
    {AT(grid[1]), 6},
    {AT(grid[2]), 7},
    {AT(major), 75},
    {AT(minor), 76},
    {AT(multiprocessors), 16},
    {AT(integrated), 18},
    {AT(maps_host), 19},
    {AT(texture_1d), 21},
    {AT(texture_1d_mipmap), 77},
    {AT(texture_2d[0]), 22},
    {AT(texture_2d[1]), 23},
    {AT(texture_2d_mipmap[0]), 73},
    {AT(texture_2d_mipmap[1]), 74},
    {AT(texture_2d_linear[0]), 70},
    {AT(texture_2d_linear[1]), 71},
    {AT(texture_2d_linear[2]), 72},
    {AT(texture_2d_gather[0]), 45},
    {AT(texture_2d_gather[1]), 46},
    {AT(texture_3d[0]), 24},
    {AT(texture_3d[1]), 25},
    {AT(texture_3d[2]), 26},
    {AT(texture_3d_alternate[0]), 47},
    {AT(texture_3d_alternate[1]), 48},
    {AT(texture_3d_alternate[2]), 49},
    {AT(texture_cube), 52},
    {AT(texture_1d_layered[0]), 42},
    {AT(texture_1d_layered[1]), 43},
    {AT(texture_2d_layered[0]), 27},
    {AT(texture_2d_layered[1]), 28},
    {AT(texture_2d_layered[2]), 29},
    {AT(texture_cube_layered[0]), 53},
    {AT(texture_cube_layered[1]), 54},
    {AT(surface_1d), 55},
    {AT(surface_2d[0]), 56},
    {AT(surface_2d[1]), 57},
    {AT(surface_3d[0]), 58},
    {AT(surface_3d[1]), 59},
    {AT(surface_3d[2]), 60},
    {AT(surface_1d_layered[0]), 61},
    {AT(surface_1d_layered[1]), 62},
    {AT(surface_2d_layered[0]), 63},
    {AT(surface_2d_layered[1]), 64},
    {AT(surface_2d_layered[2]), 65},
    {AT(surface_cube), 66},
    {AT(surface_cube_layered[0]), 67},
    {AT(surface_cube_layered[1]), 68},
    {AT(concurrent_kernels), 31},
    {AT(has_ecc), 32},
    {AT(pci_bus), 33},
    {AT(pci_device), 34},
    {AT(pci_domain), 50},
    {AT(tcc), 35},
    {AT(n_engines), 40},
    {AT(unified), 41},
    {AT(bus_bits), 37},
    {AT(l2_bytes), 38},
    {AT(l2_persisting_bytes), 108},
    {AT(threads), 39},
    {AT(priorities), 78},
    {AT(l1_global), 79},
    {AT(l1_local), 80},
    {AT(multiprocessor_registers), 82},
    {AT(managed), 83},
    {AT(is_multi), 84},
    {AT(multi_group), 85},
    {AT(host_atomics), 86},
    {AT(pageable), 88},
    {AT(concurrent_managed), 89},
    {AT(preemption), 90},
    {AT(registered_pointers), 91},
    {AT(cooperative), 95},
    {AT(host_page_tables), 100},
    {AT(direct_managed), 101},
    {AT(blocks), 106},
    {AT(window), 109},
#if SP_CUDART_MAJOR <= 12
    {AT(clock_khz), 13},
    {AT(overlap), 15},
    {AT(timeout), 17},
    {AT(compute_mode), 20},
    {AT(texture_1d_linear), 69},
    {AT(memory_clock_khz), 36},
    {AT(double_ratio), 87},
    {AT(cooperative_multi), 96},
#endif
#if SP_CUDART_MAJOR >= 12
    {AT(registers_host), 99},
    {AT(sparse), 112},
    {AT(registers_read_only), 113},
    {AT(timeline), 114},
    {AT(pools), 115},
    {AT(rdma), 116},
    {AT(rdma_flush), 117},
    {AT(rdma_order), 118},
    {AT(pool_handles), 119},
    {AT(deferred_mapping), 121},
    {AT(ipc_events), 125},
    {AT(clusters), 120},
    {AT(unified_functions), 129},
#endif
#if SP_CUDART_MAJOR == 13
    {AT(numa_config), 130},
    {AT(numa_id), 131},
    {AT(mps), 133},
    {AT(host_numa_id), 134},
    {AT(pci_id), 139},
    {AT(pci_subsystem), 140},
    {AT(multinode_ipc), 143},
#endif
};

/* Members that are a size_t. */
static const struct {
    size_t offset;
    int attribute;
} sizes[] = {
    {AT(shared_bytes), 8},
    {AT(pitch), 11},
    {AT(constant_bytes), 9},
    {AT(texture_alignment), 14},
    {AT(texture_pitch_alignment), 51},
    {AT(surface_alignment), 30},
    {AT(multiprocessor_shared_bytes), 81},
    {AT(optin_bytes), 97},
    {AT(reserved_bytes), 111},
};

/* 0 for what the driver has no answer to. */
static int attribute(int number, int device)
{
    int value = 0;

    return sp_cu()->cuDeviceGetAttribute(&value, number, device) == SP_CU_SUCCESS ? value : 0;
}

static int fill(struct sp_rt_props *props, int device)
{
    struct sp_cu_uuid uuid;
    int result = sp_cu()->cuDeviceTotalMem(&props->total_bytes, device);

    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuDeviceGetName(props->name, sizeof(props->name), device);
    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuDeviceGetUuid(&uuid, device);
    if (result != SP_CU_SUCCESS)
        return result;
    memcpy(props->uuid, uuid.bytes, sizeof(props->uuid));
    for (size_t i = 0; i < SP_ARRAY_SIZE(numbers); i++) {
        int value = attribute(numbers[i].attribute, device);

        memcpy((char *)props + numbers[i].offset, &value, sizeof(value));
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        size_t value = (size_t)attribute(sizes[i].attribute, device);

        memcpy((char *)props + sizes[i].offset, &value, sizeof(value));
    }
    return SP_CU_SUCCESS;
}

int sp_runtime_props(void *props_out, size_t size, int device)
{
    struct sp_rt_props props;
    int result;

    if (props_out == NULL)
        return SP_CU_INVALID_VALUE;
    memset(&props, 0, sizeof(props));
    result = fill(&props, device);
    if (result == SP_CU_SUCCESS)
        memcpy(props_out, &props, size < sizeof(props) ? size : sizeof(props));
    return result;
}
