/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the tool as NVTX's own headers do, and passes on to it what pools declare. A tool may
 * call the driver and take locks of its own: it is called without a lock of ours, but for a
 * pool's growth lock. */
#include "config.h"

#include "src/pool/nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/pool/nvtx_abi.h"
#include "src/pool/pool.h"
#include "src/util/diag.h"
#include "src/util/lock.h"
#include "src/util/util.h"

/* Where NVTX's headers look. */
#define VARIABLE "NVTX_INJECTION64_PATH"

/* The tables are written once, before `is_on`; `lock` guards the slabs and their users. */
static struct {
    pthread_once_t once;
    _Atomic bool is_on;
    union sp_nvtx_mem mem;
    sp_nvtx_function ignored, *core[SP_NVTX_CORE_SIZE];
    struct sp_lock lock;
    pthread_cond_t is_unused; /* a slab has lost its last user */
    struct sp_nvtx_heap *heaps;
} nvtx = {
    .once = PTHREAD_ONCE_INIT,
    .lock = SP_LOCK_INITIALIZER(SP_RANK_META),
    .is_unused = PTHREAD_COND_INITIALIZER,
};

static bool is_on(void)
{
    return atomic_load_explicit(&nvtx.is_on, memory_order_acquire);
}

/* ---- starting the tool ------------------------------------------------------------------- */

/* Marks and ranges are not ours to make: what a tool offers for them goes nowhere. */
static int get_module(int module, sp_nvtx_function ***table_out, unsigned *n_out)
{
    static const unsigned sizes[SP_NVTX_N_CORES] = {
        [SP_NVTX_CORE] = SP_NVTX_CORE_SIZE,
        [SP_NVTX_CORE_CUDA] = SP_NVTX_CORE_CUDA_SIZE,
        [SP_NVTX_CORE_OPENCL] = SP_NVTX_CORE_OPENCL_SIZE,
        [SP_NVTX_CORE_CUDART] = SP_NVTX_CORE_CUDART_SIZE,
        [SP_NVTX_CORE2] = SP_NVTX_CORE2_SIZE,
        [SP_NVTX_CORE_SYNC] = SP_NVTX_CORE_SYNC_SIZE,
    };

    if (module <= 0 || module >= SP_NVTX_N_CORES)
        return 0;
    if (table_out != NULL)
        *table_out = nvtx.core;
    if (n_out != NULL)
        *n_out = sizes[module];
    return 1;
}

static void set_tool_version(uint32_t version)
{
    (void)version;
}

static const void *get_table(uint32_t table)
{
    static const struct sp_nvtx_callbacks callbacks = {
        .struct_size = sizeof(callbacks),
        .get_module = get_module,
    };
    static const struct sp_nvtx_version version = {
        .struct_size = sizeof(version),
        .version = SP_NVTX_VERSION,
        .set_tool_version = set_tool_version,
    };

    if (table == SP_NVTX_TABLE_CALLBACKS)
        return &callbacks;
    return table == SP_NVTX_TABLE_VERSION ? &version : NULL;
}

/* A function's address comes from dlsym() as an object's; POSIX has both alike. */
static bool look_up(void *library, const char *symbol, void *function_out)
{
    void *found = dlsym(library, symbol);

    if (found != NULL)
        memcpy(function_out, &found, sizeof(found));
    return found != NULL;
}

/* NVTX itself comes first, and whatever it says, extensions are asked for, as NVTX does. */
static bool start(void *library, sp_nvtx_start_extension start_extension)
{
    struct sp_nvtx_segment segment = {
        .id = SP_NVTX_MEM_SEGMENT,
        .n_slots = SP_NVTX_N_SLOTS,
        .slots = nvtx.mem.slots,
    };
    struct sp_nvtx_module module = {
        .version = SP_NVTX_VERSION,
        .struct_size = sizeof(module),
        .module = SP_NVTX_MEM_MODULE,
        .compat = SP_NVTX_MEM_COMPAT,
        .n_segments = 1,
        .segments = &segment,
    };
    sp_nvtx_start start_core;

    for (size_t i = 0; i < SP_ARRAY_SIZE(nvtx.core); i++)
        nvtx.core[i] = &nvtx.ignored;
    if (look_up(library, "InitializeInjectionNvtx2", &start_core))
        (void)start_core(get_table);
    return start_extension(&module) != 0;
}

static bool has(const void *slot)
{
    intptr_t value;

    memcpy(&value, slot, sizeof(value));
    return value != SP_NVTX_SLOT_FRESH && value != SP_NVTX_SLOT_OFF;
}

static bool has_all(void)
{
    return has(&nvtx.mem.call.heap_register) && has(&nvtx.mem.call.heap_unregister) &&
           has(&nvtx.mem.call.regions_register) && has(&nvtx.mem.call.regions_unregister);
}

/* A tool that failed has been called, and may have left threads: it stays where it is. */
static bool attach(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    sp_nvtx_start_extension start_extension;

    if (library == NULL) {
        const char *reason = dlerror();

        sp_log(SP_LOG_WARN, "%s cannot be loaded: %s", VARIABLE,
               reason != NULL ? reason : path);
        return false;
    }
    if (!look_up(library, "InitializeInjectionNvtxExtension", &start_extension)) {
        sp_log(SP_LOG_INFO, "%s is not told of slabs: it takes no extensions of NVTX", path);
        (void)dlclose(library);
        return false;
    }
    if (!start(library, start_extension)) {
        sp_log(SP_LOG_WARN, "%s is not told of slabs: it did not start", path);
        return false;
    }
    if (!has_all()) {
        sp_log(SP_LOG_INFO, "%s is not told of slabs: it asks for nothing of the kind", path);
        return false;
    }
    sp_log(SP_LOG_INFO, "%s is told of slabs and blocks of devices", path);
    return true;
}

/* The tool is the parent's: the child has its memory, but none of its threads, and its locks as
 * they happened to be. */
static void in_child(void)
{
    atomic_store(&nvtx.is_on, false);
}

static void setup(void)
{
    const char *path = secure_getenv(VARIABLE);

    if (path == NULL || path[0] == '\0' || !attach(path))
        return;
    pthread_atfork(NULL, NULL, in_child);
    atomic_store(&nvtx.is_on, true);
}

bool sp_nvtx_setup(void)
{
    pthread_once(&nvtx.once, setup);
    return is_on();
}

/* ---- slabs ------------------------------------------------------------------------------- */

void sp_nvtx_declare_heap(struct sp_nvtx_heap *heap, uintptr_t base, size_t size)
{
    struct sp_nvtx_range range = {.size = size, .start = (const void *)base};
    struct sp_nvtx_heap_desc desc = {
        .compat = SP_NVTX_MEM_COMPAT,
        .struct_size = sizeof(desc),
        .usage = SP_NVTX_SUB_ALLOCATOR,
        .type = SP_NVTX_VIRTUAL_ADDRESS,
        .desc_size = sizeof(range),
        .desc = &range,
        .text_type = SP_NVTX_TEXT_ASCII,
        .text = "starpool slab",
    };

    *heap = (struct sp_nvtx_heap){.base = base, .size = size};
    if (!is_on())
        return;
    heap->handle = nvtx.mem.call.heap_register(NULL, &desc);
    /* NULL would stand for the whole process, in which nobody declares a slab. */
    if (heap->handle == NULL)
        return;
    sp_lock_take(&nvtx.lock);
    heap->next = nvtx.heaps;
    nvtx.heaps = heap;
    sp_lock_give(&nvtx.lock);
}

/* Only where the device was reset meanwhile are there users to be waited for: a block that is
 * live keeps its slab. */
void sp_nvtx_withdraw_heap(struct sp_nvtx_heap *heap)
{
    struct sp_nvtx_heap **link = &nvtx.heaps;

    if (heap->handle == NULL || !is_on())
        return;
    sp_lock_take(&nvtx.lock);
    while (*link != heap)
        link = &(*link)->next;
    *link = heap->next;
    while (heap->n_users > 0)
        pthread_cond_wait(&nvtx.is_unused, &nvtx.lock.mutex);
    sp_lock_give(&nvtx.lock);
    nvtx.mem.call.heap_unregister(NULL, heap->handle);
    heap->handle = NULL;
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* The slab around a block, which stays until it is left. NULL: the tool knows none, or the
 * block is gone: a reset is counted before it takes a slab. */
static struct sp_nvtx_heap *enter(const struct starpool_pool *pool, uintptr_t start,
                                  uint64_t n_resets)
{
    struct sp_nvtx_heap *heap;

    if (!is_on())
        return NULL;
    sp_lock_take(&nvtx.lock);
    heap = sp_pool_n_resets(pool) == n_resets ? nvtx.heaps : NULL;
    while (heap != NULL && start - heap->base >= heap->size)
        heap = heap->next;
    if (heap != NULL)
        heap->n_users++;
    sp_lock_give(&nvtx.lock);
    return heap;
}

static void leave(struct sp_nvtx_heap *heap)
{
    sp_lock_take(&nvtx.lock);
    if (--heap->n_users == 0)
        pthread_cond_broadcast(&nvtx.is_unused);
    sp_lock_give(&nvtx.lock);
}

static void register_region(const struct sp_nvtx_heap *heap, const void *ptr, size_t size)
{
    struct sp_nvtx_range range = {.size = size, .start = ptr};
    struct sp_nvtx_regions regions = {
        .compat = SP_NVTX_MEM_COMPAT,
        .struct_size = sizeof(regions),
        .type = SP_NVTX_VIRTUAL_ADDRESS,
        .heap = heap->handle,
        .n_regions = 1,
        .desc_size = sizeof(range),
        .descs = &range,
    };

    nvtx.mem.call.regions_register(NULL, &regions);
}

/* A reset may have taken the block since it was handed out. */
void sp_nvtx_declare_block(const struct starpool_pool *pool, const void *ptr)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    uint64_t n_resets = sp_pool_n_resets(pool);
    struct sp_nvtx_heap *heap;

    if (starpool_block_info(ptr, &info) != STARPOOL_OK || info.base != ptr)
        return;
    heap = enter(pool, (uintptr_t)ptr, n_resets);
    if (heap == NULL)
        return;
    register_region(heap, ptr, info.size);
    leave(heap);
}

void sp_nvtx_withdraw_block(const struct starpool_pool *pool, const void *ptr)
{
    struct sp_nvtx_heap *heap = enter(pool, (uintptr_t)ptr, sp_pool_n_resets(pool));
    struct sp_nvtx_refs refs = {
        .compat = SP_NVTX_MEM_COMPAT,
        .struct_size = sizeof(refs),
        .type = SP_NVTX_REF_POINTER,
        .n_refs = 1,
        .ref_size = sizeof(ptr),
        .refs = &ptr,
    };

    if (heap == NULL)
        return;
    nvtx.mem.call.regions_unregister(NULL, &refs);
    leave(heap);
}
