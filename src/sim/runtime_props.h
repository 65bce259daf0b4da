/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* struct cudaDeviceProp, the layout of which differs between the major versions. Programs have
 * their own room for it, so nothing may be written beyond its end. */
#ifndef SP_RUNTIME_PROPS_H
#define SP_RUNTIME_PROPS_H

#include "src/sim/runtime_types.h"

struct sp_rt_props {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t total_bytes, shared_bytes;
    int registers, warp;
    size_t pitch;
    int block_threads, block[3], grid[3];
#if SP_CUDART_MAJOR <= 12
    int clock_khz;
#endif
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
#if SP_CUDART_MAJOR <= 12
    int overlap;
#endif
    int multiprocessors;
#if SP_CUDART_MAJOR <= 12
    int timeout;
#endif
    int integrated, maps_host;
#if SP_CUDART_MAJOR <= 12
    int compute_mode;
#endif
    int texture_1d, texture_1d_mipmap;
#if SP_CUDART_MAJOR <= 12
    int texture_1d_linear;
#endif
    int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2];
    int texture_3d[3], texture_3d_alternate[3], texture_cube;
    int texture_1d_layered[2], texture_2d_layered[3], texture_cube_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3];
    int surface_1d_layered[2], surface_2d_layered[3], surface_cube, surface_cube_layered[2];
    size_t surface_alignment;
    int concurrent_kernels, has_ecc;
    int pci_bus, pci_device, pci_domain;
    int tcc, n_engines, unified;
#if SP_CUDART_MAJOR <= 12
    int memory_clock_khz;
#endif
    int bus_bits, l2_bytes, l2_persisting_bytes, threads, priorities, l1_global, l1_local;
    size_t multiprocessor_shared_bytes;
    int multiprocessor_registers, managed, is_multi, multi_group, host_atomics;
#if SP_CUDART_MAJOR <= 12
    int double_ratio;
#endif
    int pageable, concurrent_managed, preemption, registered_pointers, cooperative;
#if SP_CUDART_MAJOR <= 12
    int cooperative_multi;
#endif
    size_t optin_bytes;
    int host_page_tables, direct_managed, blocks, window;
    size_t reserved_bytes;
#if SP_CUDART_MAJOR >= 12
    int registers_host, sparse, registers_read_only, timeline;
    int pools, rdma;
    unsigned rdma_flush;
    int rdma_order;
    unsigned pool_handles;
    int deferred_mapping, ipc_events, clusters, unified_functions;
#endif
#if SP_CUDART_MAJOR == 12
    int unused[63];
#endif
#if SP_CUDART_MAJOR == 13
    int numa_config, numa_id, mps, host_numa_id;
    unsigned pci_id, pci_subsystem;
    int multinode_ipc;
    int unused[56];
#endif
};

#if SP_CUDART_MAJOR == 11
_Static_assert(sizeof(struct sp_rt_props) == 728, "11.x: Debian's StarPU has arrays of them");
_Static_assert(offsetof(struct sp_rt_props, compute_mode) == 404, "as StarPU reads it");
_Static_assert(offsetof(struct sp_rt_props, concurrent_kernels) == 576, "as StarPU reads it");
_Static_assert(offsetof(struct sp_rt_props, pci_bus) == 584, "as StarPU reads it");
#elif SP_CUDART_MAJOR == 12
_Static_assert(sizeof(struct sp_rt_props) == 1032, "12.x");
#else
_Static_assert(sizeof(struct sp_rt_props) == 1008, "13.0");
#endif
_Static_assert(offsetof(struct sp_rt_props, total_bytes) == 288, "in every version");

#endif /* SP_RUNTIME_PROPS_H */
