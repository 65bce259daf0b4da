/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NVTX 3 as a tool sees it: what the library that NVTX_INJECTION64_PATH names is started with,
 * and the slots of the memory extension that it fills. Layouts and numbers are those of
 * nvToolsExt.h, nvToolsExtMem.h and nvtxDetail/nvtxTypes.h of CUDA 13.0, which nothing but
 * tests/abi_check_nvtx.c includes. */
#ifndef SP_NVTX_ABI_H
#define SP_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

#define SP_NVTX_VERSION 3

/* ---- starting a tool --------------------------------------------------------------------- */

/* Tables that a tool asks for, and the modules of the first of them. */
enum sp_nvtx_table { SP_NVTX_TABLE_CALLBACKS = 1, SP_NVTX_TABLE_VERSION = 3 };

enum sp_nvtx_core {
    SP_NVTX_CORE = 1,
    SP_NVTX_CORE_CUDA,
    SP_NVTX_CORE_OPENCL,
    SP_NVTX_CORE_CUDART,
    SP_NVTX_CORE2,
    SP_NVTX_CORE_SYNC,
    SP_NVTX_N_CORES,
};

/* The functions of each module. */
#define SP_NVTX_CORE_SIZE        16
#define SP_NVTX_CORE_CUDA_SIZE   9
#define SP_NVTX_CORE_OPENCL_SIZE 15
#define SP_NVTX_CORE_CUDART_SIZE 7
#define SP_NVTX_CORE2_SIZE       16
#define SP_NVTX_CORE_SYNC_SIZE   7

typedef void (*sp_nvtx_function)(void);

struct sp_nvtx_callbacks {
    size_t struct_size;
    int (*get_module)(int module, sp_nvtx_function ***table_out, unsigned *n_out);
};

struct sp_nvtx_version {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved;
    void (*set_tool_version)(uint32_t version);
};

/* InitializeInjectionNvtx2(); 0: failed. */
typedef const void *(*sp_nvtx_get_table)(uint32_t table);
typedef int (*sp_nvtx_start)(sp_nvtx_get_table get_table);

/* ---- starting an extension --------------------------------------------------------------- */

#define SP_NVTX_MEM_MODULE  1
#define SP_NVTX_MEM_COMPAT  0x0102
#define SP_NVTX_MEM_SEGMENT 1
#define SP_NVTX_N_SLOTS     63

struct sp_nvtx_segment {
    size_t id;
    size_t n_slots;
    intptr_t *slots;
};

struct sp_nvtx_module {
    uint16_t version;
    uint16_t struct_size;
    uint16_t module;
    uint16_t compat;
    size_t n_segments;
    struct sp_nvtx_segment *segments;
    intptr_t (*get_export)(uint32_t id);
    const void *info;
};

/* InitializeInjectionNvtxExtension(); 0: failed. */
typedef int (*sp_nvtx_start_extension)(struct sp_nvtx_module *module);

/* ---- the memory extension ---------------------------------------------------------------- */

#define SP_NVTX_SUB_ALLOCATOR   1 /* what a heap is used as */
#define SP_NVTX_VIRTUAL_ADDRESS 1 /* what memory is given by */
#define SP_NVTX_REF_POINTER     1 /* what a region is named by */
#define SP_NVTX_TEXT_ASCII      1

struct sp_nvtx_range {
    size_t size;
    const void *start;
};

struct sp_nvtx_heap_desc {
    uint16_t compat;
    uint16_t struct_size;
    uint32_t reserved;
    uint32_t usage;
    uint32_t type;
    size_t desc_size;
    const void *desc; /* a range */
    uint32_t category;
    uint32_t text_type;
    const void *text;
};

struct sp_nvtx_regions {
    uint16_t compat;
    uint16_t struct_size;
    uint32_t type;
    void *heap;
    size_t n_regions;
    size_t desc_size;
    const void *descs; /* ranges */
    void **handles_out;
};

struct sp_nvtx_refs {
    uint16_t compat;
    uint16_t struct_size;
    uint32_t type;
    size_t n_refs;
    size_t ref_size;
    const void *refs; /* pointers */
};

/* By the numbers of the functions; the domain NULL is the default one. A slot that the tool
 * leaves alone is SP_NVTX_SLOT_FRESH, one that it turns off SP_NVTX_SLOT_OFF. */
#define SP_NVTX_SLOT_FRESH 0
#define SP_NVTX_SLOT_OFF   1

union sp_nvtx_mem {
    intptr_t slots[SP_NVTX_N_SLOTS];
    struct {
        void *(*heap_register)(void *domain, const struct sp_nvtx_heap_desc *desc);
        void (*heap_unregister)(void *domain, void *heap);
        void (*heap_reset)(void *domain, void *heap);
        void (*regions_register)(void *domain, const struct sp_nvtx_regions *regions);
        void (*regions_resize)(void *domain, const void *regions);
        void (*regions_unregister)(void *domain, const struct sp_nvtx_refs *refs);
    } call;
};

#endif /* SP_NVTX_ABI_H */
