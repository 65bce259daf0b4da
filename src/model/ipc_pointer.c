/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of pools that other processes can use. The 64 bytes that name one are data from
 * anywhere: the pool's identity, the bounds and the alignment are checked. Each imported block
 * is a mapping of its own, which goes with the block. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/mempool.h"
#include "src/util/util.h"

/* The smallest unit of blocks under any switch. */
#define MIN_UNIT 256

/* ---- exporting ----------------------------------------------------------------------- */

static sp_cu_result export_locked(struct sp_cu_pointer_export *data_out, uintptr_t address)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address);
    struct sp_reuse_block block;
    struct sp_shared_part part;

    if (data_out == NULL || memory == NULL || memory->kind != SP_MEMORY_CHUNK ||
        memory->pool->shared.file < 0 || !sp_reuse_find(memory->pool->reuse, address, &block) ||
        block.start != address)
        return SP_CU_INVALID_VALUE;
    part = (struct sp_shared_part){
        .offset = memory->offset + (address - memory->base),
        .size = block.size,
    };
    sp_shared_export(&memory->pool->shared, &part, data_out);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemPoolExportPointer(struct sp_cu_pointer_export *data_out,
                                             sp_cu_ptr ptr)
{
    SP_MODEL_ENTER(cuMemPoolExportPointer);
    return sp_model_leave(export_locked(data_out, (uintptr_t)ptr));
}

/* ---- mapping ------------------------------------------------------------------------- */

/* The pages of a block, whose first and last it may share with its neighbours. */
static uint64_t first_page(uint64_t offset)
{
    return sp_round_down(offset, SP_MODEL_PAGE);
}

static size_t pages_size(uint64_t offset, size_t size)
{
    return sp_round_up(offset + size, SP_MODEL_PAGE) - first_page(offset);
}

static void count(struct sp_model_pool *pool, const struct sp_model_memory *memory)
{
    struct sp_model_pool_stats *stats = &pool->imported;

    stats->used += memory->size;
    stats->reserved += pages_size(memory->offset, memory->size);
    stats->used_high = sp_max(stats->used_high, stats->used);
    stats->reserved_high = sp_max(stats->reserved_high, stats->reserved);
}

static struct sp_model_import *new_import(struct sp_model_pool *pool,
                                          const struct sp_shared_part *part)
{
    struct sp_model_import *import = calloc(1, sizeof(*import));

    if (import == NULL)
        return NULL;
    import->block = sp_model_block_new(part->size);
    if (import->block == NULL) {
        free(import);
        return NULL;
    }
    import->n_imports = 1;
    import->memory = (struct sp_model_memory){
        .size = part->size,
        .asked = part->size,
        .kind = SP_MEMORY_IMPORTED,
        .device = pool->device,
        .pool = pool,
        .offset = part->offset,
        .file = pool->shared.file,
    };
    return import;
}

static void delete_import(struct sp_model_import *import)
{
    sp_model_block_delete(import->block);
    free(import);
}

/* Gives the lock. */
static bool map_import(struct sp_model_pool *pool, struct sp_model_import *import)
{
    struct sp_model_memory *memory = &import->memory;
    uint64_t page = first_page(memory->offset);
    size_t size = pages_size(memory->offset, memory->size);
    void *base =
        sp_model_map(pool->device, pool->node, size, memory->file, SP_SHARED_DATA + page);

    if (base == NULL)
        return false;
    memory->base = (uintptr_t)base + (memory->offset - page);
    if (sp_model_memory_add(memory))
        return true;
    sp_model_unmap(base, size, pool->device, pool->node);
    return false;
}

/* ---- importing ----------------------------------------------------------------------- */

static struct sp_model_import *find_same(const struct sp_model_pool *pool,
                                         const struct sp_shared_part *part)
{
    struct sp_model_import *import = pool->imports;

    while (import != NULL &&
           (import->memory.offset != part->offset || import->memory.size != part->size))
        import = import->next;
    return import;
}

/* What the bytes say, if this pool can have made them. */
static bool read_part(const struct sp_model_pool *pool, const void *data,
                      struct sp_shared_part *part_out)
{
    unsigned char identity[16];

    return sp_shared_read(SP_SHARED_POOL, data, part_out, identity) &&
           memcmp(identity, pool->shared.identity, sizeof(identity)) == 0 &&
           part_out->word == 0 && part_out->size > 0 && part_out->size % MIN_UNIT == 0 &&
           part_out->offset % MIN_UNIT == 0 && part_out->offset <= pool->shared.size &&
           part_out->size <= pool->shared.size - part_out->offset;
}

static sp_cu_result import_part(struct sp_model_pool *pool, const struct sp_shared_part *part,
                                sp_cu_ptr *ptr_out)
{
    struct sp_model_import *import = find_same(pool, part);

    if (import != NULL) {
        if (sp_model_switch(SP_SWITCH_import_twice) != 0)
            import->n_imports++;
        *ptr_out = import->memory.base;
        return SP_CU_SUCCESS;
    }
    import = new_import(pool, part);
    if (import == NULL)
        return SP_CU_OUT_OF_MEMORY;
    if (!map_import(pool, import)) {
        delete_import(import);
        return SP_CU_OUT_OF_MEMORY;
    }
    import->pool = pool;
    import->next = pool->imports;
    pool->imports = import;
    count(pool, &import->memory);
    *ptr_out = import->memory.base;
    return SP_CU_SUCCESS;
}

static sp_cu_result import_locked(sp_cu_ptr *ptr_out, sp_cu_pool handle, const void *data)
{
    struct sp_model_pool *pool = sp_model_pool_get(handle);
    struct sp_shared_part part;
    sp_cu_result result;

    if (ptr_out == NULL || pool == NULL || data == NULL || !pool->is_imported ||
        !read_part(pool, data, &part))
        return SP_CU_INVALID_VALUE;
    sp_model_pool_pin(pool);
    result = import_part(pool, &part, ptr_out);
    sp_model_pool_unpin(pool);
    return result;
}

sp_cu_result sp_model_cuMemPoolImportPointer(sp_cu_ptr *ptr_out, sp_cu_pool pool,
                                             struct sp_cu_pointer_export *data)
{
    SP_MODEL_ENTER(cuMemPoolImportPointer);
    return sp_model_leave(import_locked(ptr_out, pool, data));
}

/* ---- freeing ------------------------------------------------------------------------- */

struct sp_model_import *sp_model_import_find(uintptr_t start)
{
    struct sp_model_memory *memory = sp_model_memory_find(start);

    if (memory == NULL || memory->kind != SP_MEMORY_IMPORTED || memory->base != start)
        return NULL;
    return SP_CONTAINER_OF(memory, struct sp_model_import, memory);
}

/* No operation can use the mapping any more. */
static void run_free(struct sp_model_late_free *late)
{
    struct sp_model_import *import = SP_CONTAINER_OF(late, struct sp_model_import, late);
    const struct sp_model_memory *memory = &import->memory;
    uintptr_t base = memory->base - (memory->offset - first_page(memory->offset));

    sp_model_unmap((void *)base, pages_size(memory->offset, memory->size), import->device,
                   import->node);
    delete_import(import);
}

/* The pool may be gone by the time that the mapping goes. */
void sp_model_import_drop(struct sp_model_import *import, struct sp_point at)
{
    struct sp_model_pool *pool = import->pool;
    struct sp_model_import **link = &pool->imports;

    while (*link != import)
        link = &(*link)->next;
    *link = import->next;
    sp_model_memory_remove(&import->memory);
    pool->imported.used -= import->memory.size;
    pool->imported.reserved -= pages_size(import->memory.offset, import->memory.size);
    import->device = pool->device;
    import->node = pool->node;
    import->late = (struct sp_model_late_free){
        .at = at,
        .uses = &import->block->uses,
        .memory = &import->memory,
        .run = run_free,
    };
    sp_model_late_free_add(&import->late);
}

void sp_model_import_put(struct sp_model_import *import, struct sp_point at)
{
    struct sp_model_pool *pool = import->pool;

    if (--import->n_imports > 0)
        return;
    sp_model_import_drop(import, at);
    if (at.slot == SP_SLOT_HOST)
        sp_model_late_frees_run();
    sp_model_pool_settle(pool);
}
