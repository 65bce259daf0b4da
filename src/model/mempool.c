/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entry points that make pools, allocate, free and trim. Each allocation and each free is
 * an operation of its stream that does nothing when it executes: all is decided at the call. */
#include "config.h"

#include "src/model/mempool.h"

#include "src/model/capture.h"
#include "src/model/protect.h"
#include "src/util/util.h"

static const struct sp_point by_host = {.slot = SP_SLOT_HOST};

/* ---- making and destroying ----------------------------------------------------------- */

static sp_cu_result create_locked(sp_cu_pool *pool_out, const struct sp_cu_pool_props *props)
{
    struct sp_cu_pool_props checked;
    struct sp_model_pool *pool;
    sp_cu_result result;

    if (pool_out == NULL || props == NULL)
        return SP_CU_INVALID_VALUE;
    checked = *props;
    result = sp_model_pool_check(&checked);
    if (result != SP_CU_SUCCESS)
        return result;
    pool = sp_model_pool_new(&checked);
    if (pool == NULL)
        return SP_CU_OUT_OF_MEMORY;
    if (checked.handle_types != 0 && !sp_model_pool_open_file(pool)) {
        sp_model_pool_retire(pool);
        return SP_CU_OUT_OF_MEMORY;
    }
    *pool_out = pool->handle;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemPoolCreate(sp_cu_pool *pool_out,
                                      const struct sp_cu_pool_props *props)
{
    SP_MODEL_ENTER(cuMemPoolCreate);
    return sp_model_leave(create_locked(pool_out, props));
}

static sp_cu_result destroy_locked(sp_cu_pool handle)
{
    struct sp_model_pool *pool = sp_model_pool_get(handle);

    if (pool == NULL || pool->is_default)
        return SP_CU_INVALID_VALUE;
    sp_model_pool_uncurrent(pool);
    sp_model_pool_retire(pool);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemPoolDestroy(sp_cu_pool pool)
{
    SP_MODEL_ENTER(cuMemPoolDestroy);
    return sp_model_leave(destroy_locked(pool));
}

/* The driver never trims a pool that can be shared. */
static sp_cu_result trim_locked(sp_cu_pool handle, size_t keep)
{
    struct sp_model_pool *pool = sp_model_pool_get(handle);

    if (pool == NULL)
        return SP_CU_INVALID_VALUE;
    if (pool->shared.file < 0)
        (void)sp_model_pool_release(pool, keep, UINT64_MAX);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemPoolTrimTo(sp_cu_pool pool, size_t keep)
{
    SP_MODEL_ENTER(cuMemPoolTrimTo);
    return sp_model_leave(trim_locked(pool, keep));
}

/* ---- allocating ---------------------------------------------------------------------- */

/* The allocation is submitted first, so that the order knows what the legacy stream implies for
 * it; one that fails stays in the stream and does nothing. */
static sp_cu_result take_block(struct sp_model_pool *pool, size_t size,
                               struct sp_model_stream *stream, struct sp_model_block *block,
                               sp_cu_ptr *ptr_out)
{
    struct sp_point at;
    uintptr_t start;
    sp_cu_result result = sp_model_submit(stream, SP_OP_ALLOC, 0, NULL, NULL, &at);

    if (result == SP_CU_SUCCESS)
        result = sp_model_pool_take(pool, size, stream, at, &start);
    if (result != SP_CU_SUCCESS)
        return result;
    SP_ASSERT(sp_reuse_set_cookie(pool->reuse, start, block));
    sp_model_block_join(block, pool);
    sp_model_pool_note_alloc(pool);
    *ptr_out = start;
    return SP_CU_SUCCESS;
}

static sp_cu_result alloc_from(struct sp_model_pool *pool, size_t size,
                               struct sp_model_stream *stream, sp_cu_ptr *ptr_out)
{
    struct sp_model_block *block;
    sp_cu_result result;

    if (pool->is_imported)
        return SP_CU_INVALID_VALUE;
    if (pool->unreachable != 0)
        return SP_CU_INVALID_DEVICE;
    if (size == 0) {
        if (sp_model_switch(SP_SWITCH_size_zero) != 0)
            return SP_CU_INVALID_VALUE;
        *ptr_out = 0;
        return SP_CU_SUCCESS;
    }
    if (sp_model_capture_alloc(stream, pool, size, ptr_out, &result))
        return result;
    if (size > pool->max_bytes)
        return SP_CU_OUT_OF_MEMORY;
    block = sp_model_block_new(size);
    if (block == NULL)
        return SP_CU_OUT_OF_MEMORY;
    sp_model_pool_pin(pool);
    result = take_block(pool, size, stream, block, ptr_out);
    if (result != SP_CU_SUCCESS)
        sp_model_block_delete(block);
    sp_model_pool_unpin(pool);
    return result;
}

static sp_cu_result alloc_locked(sp_cu_ptr *ptr_out, size_t size, sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    struct sp_model_pool *pool;
    sp_cu_result result;

    if (ptr_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_model_stream_get(handle, &stream);
    if (result != SP_CU_SUCCESS)
        return result;
    pool = sp_model_pool_current(stream->context->device);
    return pool == NULL ? SP_CU_OUT_OF_MEMORY : alloc_from(pool, size, stream, ptr_out);
}

sp_cu_result sp_model_cuMemAllocAsync(sp_cu_ptr *ptr_out, size_t size, sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemAllocAsync);
    return sp_model_leave(alloc_locked(ptr_out, size, stream));
}

static sp_cu_result alloc_from_locked(sp_cu_ptr *ptr_out, size_t size, sp_cu_pool pool_handle,
                                      sp_cu_stream stream_handle)
{
    struct sp_model_pool *pool = sp_model_pool_get(pool_handle);
    struct sp_model_stream *stream;
    sp_cu_result result;

    if (ptr_out == NULL || pool == NULL)
        return SP_CU_INVALID_VALUE;
    result = sp_model_stream_get(stream_handle, &stream);
    return result == SP_CU_SUCCESS ? alloc_from(pool, size, stream, ptr_out) : result;
}

sp_cu_result sp_model_cuMemAllocFromPoolAsync(sp_cu_ptr *ptr_out, size_t size, sp_cu_pool pool,
                                              sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemAllocFromPoolAsync);
    return sp_model_leave(alloc_from_locked(ptr_out, size, pool, stream));
}

/* ---- freeing ------------------------------------------------------------------------- */

/* The block has been found: nothing can fail any more but its records. */
static sp_cu_result give_block(struct sp_model_pool *pool, const struct sp_reuse_block *found,
                               struct sp_point at)
{
    const struct sp_model_block *block = found->cookie;

    if (!sp_model_pool_feed(pool) ||
        sp_reuse_give(pool->reuse, found->start, at) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    sp_model_freed_add(found->start, found->size, block->id, true, at);
    sp_model_block_delete(found->cookie);
    if (at.slot != SP_SLOT_HOST)
        sp_model_pool_note_free(pool, at, found->size);
    return SP_CU_SUCCESS;
}

/* The block's allocation and uses are not all ordered before its free: its memory stays mapped
 * until they have run, and with the allocation the free before it, which may fill. */
static void keep_uses(const struct sp_reuse_block *found)
{
    const struct sp_model_block *block = found->cookie;
    struct sp_model_memory *memory =
        SP_CONTAINER_OF(found->chunk, struct sp_model_memory, chunk);
    struct sp_clock *strays = &SP_CONTAINER_OF(memory, struct sp_model_chunk, memory)->strays;

    sp_model_uses_merge(strays, &block->uses);
    sp_model_uses_add(strays, found->alloc);
}

/* [bytes] How much of a freed block is filled. Other processes may use those of a pool that can
 * be shared, in an order that is not known here. */
static size_t filled_size(const struct sp_model_pool *pool, const struct sp_reuse_block *found)
{
    return pool->shared.file < 0 ? found->size : 0;
}

/* The free has its place in the stream before the block goes. */
static sp_cu_result free_block(struct sp_model_pool *pool, uintptr_t start,
                               struct sp_model_stream *stream)
{
    struct sp_reuse_block found;
    struct sp_point at;
    sp_cu_result result;

    if (!sp_reuse_find(pool->reuse, start, &found) || found.start != start)
        return SP_CU_INVALID_VALUE;
    result = sp_model_submit_free(stream, found.cookie, found.alloc, start,
                                  filled_size(pool, &found), &at);
    if (result != SP_CU_SUCCESS)
        return result;
    if (!sp_model_block_check_free(found.cookie, found.alloc, start, stream))
        keep_uses(&found);
    return give_block(pool, &found, at);
}

static sp_cu_result free_import(struct sp_model_import *import, struct sp_model_stream *stream)
{
    struct sp_point at;
    uintptr_t start = import->memory.base;
    sp_cu_result result = sp_model_submit(stream, SP_OP_FREE, 0, NULL, NULL, &at);

    if (result != SP_CU_SUCCESS)
        return result;
    import = sp_model_import_find(start);
    if (import == NULL)
        return SP_CU_INVALID_VALUE;
    (void)sp_model_block_check_free(import->block, by_host, start, stream);
    sp_model_import_put(import, at);
    return SP_CU_SUCCESS;
}

/* The block that a free at an address means; false if it means none. */
static bool find_block(const struct sp_model_memory *memory, uintptr_t address,
                       bool takes_interior, struct sp_reuse_block *found_out)
{
    return sp_reuse_find(memory->pool->reuse, address, found_out) &&
           (takes_interior || found_out->start == address);
}

static sp_cu_result free_at(uintptr_t address, struct sp_model_stream *stream)
{
    struct sp_model_memory *memory = sp_model_memory_find(address);
    struct sp_model_pool *pool;
    struct sp_reuse_block found;
    sp_cu_result result;

    if (memory == NULL)
        return SP_CU_INVALID_VALUE;
    if (sp_model_graph_free(stream, address, &result))
        return result;
    if (memory->kind == SP_MEMORY_IMPORTED) {
        struct sp_model_import *import = sp_model_import_find(address);

        return import == NULL ? SP_CU_INVALID_VALUE : free_import(import, stream);
    }
    if (memory->kind != SP_MEMORY_CHUNK)
        return sp_model_plain_free_async(stream, address);
    if (!find_block(memory, address, sp_model_switch(SP_SWITCH_free_interior) != 0, &found))
        return SP_CU_INVALID_VALUE;
    pool = memory->pool;
    sp_model_pool_pin(pool);
    result = free_block(pool, found.start, stream);
    sp_model_pool_unpin(pool);
    return result;
}

static sp_cu_result free_locked(sp_cu_ptr ptr, sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    if (ptr == 0)
        return sp_model_switch(SP_SWITCH_free_null) == 0 ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE;
    if (sp_model_capture_free(stream, ptr, &result))
        return result;
    return free_at((uintptr_t)ptr, stream);
}

sp_cu_result sp_model_cuMemFreeAsync(sp_cu_ptr ptr, sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemFreeAsync);
    return sp_model_leave(free_locked(ptr, stream));
}

/* Where a free in no stream's order counts: with the host, or under the switch at a position
 * that the host sees at its next synchronisation. */
static struct sp_point free_now_point(void)
{
    struct sp_model_stream *stream;
    struct sp_point at;

    if (sp_model_switch(SP_SWITCH_free_now_reuse) == 0 ||
        sp_model_stream_get(SP_CU_STREAM_LEGACY, &stream) != SP_CU_SUCCESS ||
        sp_model_submit(stream, SP_OP_FREE, 0, NULL, NULL, &at) != SP_CU_SUCCESS)
        return by_host;
    return at;
}

sp_cu_result sp_model_pool_free_now(uintptr_t address)
{
    struct sp_model_memory *memory = sp_model_memory_find(address);
    struct sp_model_import *import = sp_model_import_find(address);
    struct sp_model_pool *pool;
    struct sp_reuse_block found;
    struct sp_point at;
    sp_cu_result result = SP_CU_INVALID_VALUE;

    if (import != NULL) {
        (void)sp_model_block_check_free_now(import->block, by_host, address);
        sp_model_import_put(import, by_host);
        return SP_CU_SUCCESS;
    }
    if (memory == NULL || memory->kind != SP_MEMORY_CHUNK)
        return SP_CU_INVALID_VALUE;
    pool = memory->pool;
    sp_model_pool_pin(pool);
    at = free_now_point();
    if (find_block(memory, address, false, &found)) {
        if (sp_model_block_check_free_now(found.cookie, found.alloc, address))
            sp_model_poison_now(address, filled_size(pool, &found));
        else
            keep_uses(&found);
        result = give_block(pool, &found, at);
    }
    sp_model_pool_unpin(pool);
    return result;
}
