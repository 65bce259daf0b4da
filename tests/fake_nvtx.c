/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tool for tests/test_nvtx.c: a library that NVTX_INJECTION64_PATH names, which keeps the
 * heaps and regions that it is told of and says what is wrong about them. FAKE_NVTX in the
 * environment makes it fail ("fails"), or ask for nothing ("deaf"). */
#include "tests/fake_nvtx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/pool/nvtx_abi.h"

extern struct sp_fake_nvtx fake_nvtx;
struct sp_fake_nvtx fake_nvtx = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    va_list args;

    if (fake_nvtx.complaint[0] != '\0')
        return;
    va_start(args, format);
    (void)vsnprintf(fake_nvtx.complaint, sizeof(fake_nvtx.complaint), format, args);
    va_end(args);
}

/* Anything that a program does in between. */
static void begin(bool is_heap, bool is_declared, uintptr_t start)
{
    if (fake_nvtx.listen != NULL)
        fake_nvtx.listen(is_heap, is_declared, start);
    pthread_mutex_lock(&fake_nvtx.lock);
}

static void end(void)
{
    pthread_mutex_unlock(&fake_nvtx.lock);
}

/* ---- heaps ------------------------------------------------------------------------------- */

static bool overlap(uintptr_t a, size_t a_size, uintptr_t b, size_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

static void check_heap(const struct sp_nvtx_heap_desc *desc, const struct sp_nvtx_range *range)
{
    if (desc->compat != 0x0102 || desc->struct_size != sizeof(*desc) || desc->usage != 1 ||
        desc->type != 1 || desc->desc_size != sizeof(*range) || desc->category != 0 ||
        desc->text_type != 1 || strcmp(desc->text, "starpool slab") != 0 || range->size == 0)
        complain("the heap is described wrongly");
    for (size_t i = 0; i < SP_FAKE_NVTX_HEAPS; i++) {
        if (overlap(fake_nvtx.heaps[i].base, fake_nvtx.heaps[i].size, (uintptr_t)range->start,
                    range->size))
            complain("heaps overlap at %p", range->start);
    }
}

static void *heap_register(void *domain, const struct sp_nvtx_heap_desc *desc)
{
    const struct sp_nvtx_range *range = desc->desc;
    struct sp_fake_heap *heap = fake_nvtx.heaps;

    begin(true, true, (uintptr_t)range->start);
    if (domain != NULL)
        complain("there is no such domain");
    check_heap(desc, range);
    while (heap->size != 0)
        heap++;
    *heap = (struct sp_fake_heap){(uintptr_t)range->start, range->size};
    fake_nvtx.n_heaps++;
    end();
    return heap;
}

/* Its regions go with it. */
static void heap_unregister(void *domain, void *handle)
{
    struct sp_fake_heap *heap = handle;

    begin(true, false, heap->base);
    if (domain != NULL || heap->size == 0)
        complain("there is no such heap");
    for (size_t i = 0; i < SP_FAKE_NVTX_REGIONS; i++) {
        if (fake_nvtx.regions[i].size != 0 && fake_nvtx.regions[i].heap == heap) {
            fake_nvtx.regions[i].size = 0;
            fake_nvtx.n_regions--;
            fake_nvtx.n_left++;
        }
    }
    heap->size = 0;
    fake_nvtx.n_heaps--;
    end();
}

/* ---- regions ----------------------------------------------------------------------------- */

static void check_region(const struct sp_nvtx_regions *regions,
                         const struct sp_nvtx_range *range)
{
    const struct sp_fake_heap *heap = regions->heap;
    uintptr_t start = (uintptr_t)range->start;

    if (regions->compat != 0x0102 || regions->struct_size != sizeof(*regions) ||
        regions->type != 1 || regions->n_regions != 1 || regions->desc_size != sizeof(*range) ||
        regions->handles_out != NULL)
        complain("the region is described wrongly");
    if (heap->size == 0 || range->size == 0 || start < heap->base ||
        start + range->size > heap->base + heap->size)
        complain("the region at %p is not in its heap", range->start);
    for (size_t i = 0; i < SP_FAKE_NVTX_REGIONS; i++) {
        if (fake_nvtx.regions[i].size != 0 &&
            overlap(fake_nvtx.regions[i].start, fake_nvtx.regions[i].size, start, range->size))
            complain("regions overlap at %p", range->start);
    }
}

static void regions_register(void *domain, const struct sp_nvtx_regions *regions)
{
    const struct sp_nvtx_range *range = regions->descs;
    struct sp_fake_region *region = fake_nvtx.regions;

    begin(false, true, (uintptr_t)range->start);
    if (domain != NULL)
        complain("there is no such domain");
    check_region(regions, range);
    while (region->size != 0)
        region++;
    *region = (struct sp_fake_region){(uintptr_t)range->start, range->size, regions->heap};
    fake_nvtx.n_regions++;
    fake_nvtx.n_declared++;
    end();
}

static void regions_unregister(void *domain, const struct sp_nvtx_refs *refs)
{
    const void *pointer = *(void *const *)refs->refs;
    size_t i = 0;

    begin(false, false, (uintptr_t)pointer);
    if (domain != NULL || refs->compat != 0x0102 || refs->struct_size != sizeof(*refs) ||
        refs->type != 1 || refs->n_refs != 1 || refs->ref_size != sizeof(pointer))
        complain("the reference is described wrongly");
    while (i < SP_FAKE_NVTX_REGIONS &&
           (fake_nvtx.regions[i].size == 0 || fake_nvtx.regions[i].start != (uintptr_t)pointer))
        i++;
    if (i == SP_FAKE_NVTX_REGIONS) {
        complain("no region begins at %p", pointer);
    } else {
        fake_nvtx.regions[i].size = 0;
        fake_nvtx.n_regions--;
    }
    end();
}

/* ---- the ways in ------------------------------------------------------------------------- */

static void unwanted(void)
{
}

/* As tools do: every function of every module is theirs. */
static bool hook_core(const struct sp_nvtx_callbacks *callbacks)
{
    static const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};

    for (int module = 1; module < 7; module++) {
        sp_nvtx_function **table = NULL;
        unsigned n = 0;

        if (callbacks->get_module(module, &table, &n) != 1 || n != sizes[module])
            return false;
        for (unsigned i = 1; i < n; i++)
            *table[i] = unwanted;
    }
    return callbacks->get_module(0, NULL, NULL) == 0 &&
           callbacks->get_module(7, NULL, NULL) == 0;
}

int InitializeInjectionNvtx2(sp_nvtx_get_table get_table);
int InitializeInjectionNvtx2(sp_nvtx_get_table get_table)
{
    const struct sp_nvtx_callbacks *callbacks = get_table(1);
    const struct sp_nvtx_version *version = get_table(3);

    fake_nvtx.n_core++;
    if (callbacks == NULL || callbacks->struct_size != sizeof(*callbacks) ||
        !hook_core(callbacks) || version == NULL || version->struct_size != sizeof(*version) ||
        version->version != 3 || get_table(2) != NULL)
        complain("NVTX is not as it should be");
    else
        version->set_tool_version(3);
    return 1;
}

int InitializeInjectionNvtxExtension(struct sp_nvtx_module *module);
int InitializeInjectionNvtxExtension(struct sp_nvtx_module *module)
{
    const char *mode = getenv("FAKE_NVTX");
    union sp_nvtx_mem *mem = (union sp_nvtx_mem *)module->segments->slots;

    fake_nvtx.n_extensions++;
    if (mode != NULL && strcmp(mode, "fails") == 0)
        return 0;
    if (module->version != 3 || module->struct_size != sizeof(*module) || module->module != 1 ||
        module->compat != 0x0102 || module->n_segments != 1 || module->segments->id != 1 ||
        module->segments->n_slots != 63)
        complain("the extension is not as it should be");
    if (mode != NULL && strcmp(mode, "deaf") == 0) {
        mem->slots[0] = 1;
        return 1;
    }
    mem->call.heap_register = heap_register;
    mem->call.heap_unregister = heap_unregister;
    mem->call.regions_register = regions_register;
    mem->call.regions_unregister = regions_unregister;
    return 1;
}
