/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled, never run: our own words for NVTX's ABI say the same as its headers, where the
 * toolkit has them. */
#include "src/pool/nvtx_abi.h"
#include "tests/abi_check.h"

#if __has_include(<nvtx3/nvToolsExtMem.h>)
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtMem.h>

/* ---- starting a tool --------------------------------------------------------------------- */

SAME(SP_NVTX_VERSION, NVTX_VERSION);
SAME(SP_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(SP_NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(SP_NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(SP_NVTX_CORE_CUDA, NVTX_CB_MODULE_CUDA);
SAME(SP_NVTX_CORE_OPENCL, NVTX_CB_MODULE_OPENCL);
SAME(SP_NVTX_CORE_CUDART, NVTX_CB_MODULE_CUDART);
SAME(SP_NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(SP_NVTX_CORE_SYNC, NVTX_CB_MODULE_SYNC);
SAME(SP_NVTX_N_CORES, NVTX_CB_MODULE_SIZE);
SAME(SP_NVTX_CORE_SIZE, NVTX_CBID_CORE_SIZE);
SAME(SP_NVTX_CORE_CUDA_SIZE, NVTX_CBID_CUDA_SIZE);
SAME(SP_NVTX_CORE_OPENCL_SIZE, NVTX_CBID_OPENCL_SIZE);
SAME(SP_NVTX_CORE_CUDART_SIZE, NVTX_CBID_CUDART_SIZE);
SAME(SP_NVTX_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME(SP_NVTX_CORE_SYNC_SIZE, NVTX_CBID_SYNC_SIZE);

SIZE(sp_nvtx_function, NvtxFunctionPointer);
SAME_TYPE(sp_nvtx_get_table, NvtxGetExportTableFunc_t);
SAME_TYPE(sp_nvtx_start, NvtxInitializeInjectionNvtxFunc_t);

SIZE(struct sp_nvtx_callbacks, NvtxExportTableCallbacks);
MEMBER(struct sp_nvtx_callbacks, struct_size, NvtxExportTableCallbacks, struct_size);
MEMBER(struct sp_nvtx_callbacks, get_module, NvtxExportTableCallbacks, GetModuleFunctionTable);

SIZE(struct sp_nvtx_version, NvtxExportTableVersionInfo);
MEMBER(struct sp_nvtx_version, struct_size, NvtxExportTableVersionInfo, struct_size);
MEMBER(struct sp_nvtx_version, version, NvtxExportTableVersionInfo, version);
MEMBER(struct sp_nvtx_version, reserved, NvtxExportTableVersionInfo, reserved0);
MEMBER(struct sp_nvtx_version, set_tool_version, NvtxExportTableVersionInfo,
       SetInjectionNvtxVersion);

/* ---- starting an extension --------------------------------------------------------------- */

SAME(SP_NVTX_MEM_MODULE, NVTX_EXT_MODULEID_MEM);
SAME(SP_NVTX_MEM_COMPAT, NVTX_EXT_COMPATID_MEM);

SIZE(struct sp_nvtx_segment, nvtxExtModuleSegment_t);
MEMBER(struct sp_nvtx_segment, id, nvtxExtModuleSegment_t, segmentId);
MEMBER(struct sp_nvtx_segment, n_slots, nvtxExtModuleSegment_t, slotCount);
MEMBER(struct sp_nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots);

SIZE(struct sp_nvtx_module, nvtxExtModuleInfo_t);
MEMBER(struct sp_nvtx_module, version, nvtxExtModuleInfo_t, nvtxVer);
MEMBER(struct sp_nvtx_module, struct_size, nvtxExtModuleInfo_t, structSize);
MEMBER(struct sp_nvtx_module, module, nvtxExtModuleInfo_t, moduleId);
MEMBER(struct sp_nvtx_module, compat, nvtxExtModuleInfo_t, compatId);
MEMBER(struct sp_nvtx_module, n_segments, nvtxExtModuleInfo_t, segmentsCount);
MEMBER(struct sp_nvtx_module, segments, nvtxExtModuleInfo_t, segments);
MEMBER(struct sp_nvtx_module, get_export, nvtxExtModuleInfo_t, getExportFunction);
MEMBER(struct sp_nvtx_module, info, nvtxExtModuleInfo_t, extInfo);

/* ---- the memory extension ---------------------------------------------------------------- */

SAME(SP_NVTX_SUB_ALLOCATOR, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
SAME(SP_NVTX_VIRTUAL_ADDRESS, NVTX_MEM_TYPE_VIRTUAL_ADDRESS);
SAME(SP_NVTX_REF_POINTER, NVTX_MEM_REGION_REF_TYPE_POINTER);
SAME(SP_NVTX_TEXT_ASCII, NVTX_MESSAGE_TYPE_ASCII);

SIZE(struct sp_nvtx_range, nvtxMemVirtualRangeDesc_t);
MEMBER(struct sp_nvtx_range, size, nvtxMemVirtualRangeDesc_t, size);
MEMBER(struct sp_nvtx_range, start, nvtxMemVirtualRangeDesc_t, ptr);

SIZE(struct sp_nvtx_heap_desc, nvtxMemHeapDesc_t);
MEMBER(struct sp_nvtx_heap_desc, compat, nvtxMemHeapDesc_t, extCompatID);
MEMBER(struct sp_nvtx_heap_desc, struct_size, nvtxMemHeapDesc_t, structSize);
MEMBER(struct sp_nvtx_heap_desc, reserved, nvtxMemHeapDesc_t, reserved0);
MEMBER(struct sp_nvtx_heap_desc, usage, nvtxMemHeapDesc_t, usage);
MEMBER(struct sp_nvtx_heap_desc, type, nvtxMemHeapDesc_t, type);
MEMBER(struct sp_nvtx_heap_desc, desc_size, nvtxMemHeapDesc_t, typeSpecificDescSize);
MEMBER(struct sp_nvtx_heap_desc, desc, nvtxMemHeapDesc_t, typeSpecificDesc);
MEMBER(struct sp_nvtx_heap_desc, category, nvtxMemHeapDesc_t, category);
MEMBER(struct sp_nvtx_heap_desc, text_type, nvtxMemHeapDesc_t, messageType);
MEMBER(struct sp_nvtx_heap_desc, text, nvtxMemHeapDesc_t, message);

SIZE(struct sp_nvtx_regions, nvtxMemRegionsRegisterBatch_t);
MEMBER(struct sp_nvtx_regions, compat, nvtxMemRegionsRegisterBatch_t, extCompatID);
MEMBER(struct sp_nvtx_regions, struct_size, nvtxMemRegionsRegisterBatch_t, structSize);
MEMBER(struct sp_nvtx_regions, type, nvtxMemRegionsRegisterBatch_t, regionType);
MEMBER(struct sp_nvtx_regions, heap, nvtxMemRegionsRegisterBatch_t, heap);
MEMBER(struct sp_nvtx_regions, n_regions, nvtxMemRegionsRegisterBatch_t, regionCount);
MEMBER(struct sp_nvtx_regions, desc_size, nvtxMemRegionsRegisterBatch_t, regionDescElementSize);
MEMBER(struct sp_nvtx_regions, descs, nvtxMemRegionsRegisterBatch_t, regionDescElements);
MEMBER(struct sp_nvtx_regions, handles_out, nvtxMemRegionsRegisterBatch_t,
       regionHandleElementsOut);

SIZE(struct sp_nvtx_refs, nvtxMemRegionsUnregisterBatch_t);
MEMBER(struct sp_nvtx_refs, compat, nvtxMemRegionsUnregisterBatch_t, extCompatID);
MEMBER(struct sp_nvtx_refs, struct_size, nvtxMemRegionsUnregisterBatch_t, structSize);
MEMBER(struct sp_nvtx_refs, type, nvtxMemRegionsUnregisterBatch_t, refType);
MEMBER(struct sp_nvtx_refs, n_refs, nvtxMemRegionsUnregisterBatch_t, refCount);
MEMBER(struct sp_nvtx_refs, ref_size, nvtxMemRegionsUnregisterBatch_t, refElementSize);
MEMBER(struct sp_nvtx_refs, refs, nvtxMemRegionsUnregisterBatch_t, refElements);
SIZE(void *, nvtxMemRegionRef_t);

#define SLOT(member, function)                                      \
    _Static_assert(offsetof(union sp_nvtx_mem, call.member) ==      \
                       NVTX3EXT_CBID_##function * sizeof(intptr_t), \
                   #function)
SLOT(heap_register, nvtxMemHeapRegister);
SLOT(heap_unregister, nvtxMemHeapUnregister);
SLOT(heap_reset, nvtxMemHeapReset);
SLOT(regions_register, nvtxMemRegionsRegister);
SLOT(regions_resize, nvtxMemRegionsResize);
SLOT(regions_unregister, nvtxMemRegionsUnregister);
#endif
