/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a pool's memory comes from and goes: chunks by granules or, when memory is short, of
 * the exact size; and the order of attempts of an allocation. */
#include "config.h"

#include "src/model/mempool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "src/heap/checker.h"
#include "src/model/protect.h"
#include "src/util/util.h"

#define HEAP_LINE 64 /* what the heap's memory is aligned to */

void *sp_model_pool_memory(size_t size)
{
    size_t room = sp_round_up(size, HEAP_LINE);
    void *memory = aligned_alloc(HEAP_LINE, room);

    if (memory != NULL)
        memset(memory, 0, room);
    return memory;
}

bool sp_model_pool_feed(struct sp_model_pool *pool)
{
    size_t size = sp_reuse_wants(pool->reuse);
    void *memory;

    if (size == 0)
        return true;
    memory = sp_model_pool_memory(size);
    if (memory == NULL)
        return false;
    sp_reuse_feed(pool->reuse, memory, size);
    return true;
}

/* ---- releasing ----------------------------------------------------------------------- */

static void unlink_chunk(struct sp_model_pool *pool, struct sp_model_chunk *chunk)
{
    struct sp_model_chunk **link = &pool->chunks;

    while (*link != chunk)
        link = &(*link)->next;
    *link = chunk->next;
}

static void unmap_chunk(struct sp_model_late_free *late)
{
    struct sp_model_chunk *chunk = SP_CONTAINER_OF(late, struct sp_model_chunk, late);
    const struct sp_model_memory *memory = &chunk->memory;

    sp_model_unmap((void *)memory->base, memory->size, memory->device, chunk->node);
    free(chunk->strays.points);
    free(chunk);
}

/* The chunk is in the heap no more. It stays mapped for operations that use it though they must
 * not. What other processes still map of a shared pool reads as 0 from now on: its pages go to
 * whoever needs them. */
static void release_chunk(struct sp_model_pool *pool, struct sp_model_chunk *chunk)
{
    struct sp_model_memory *memory = &chunk->memory;

    unlink_chunk(pool, chunk);
    sp_model_memory_remove(memory);
    if (pool->device >= 0)
        sp_model_device_give(pool->device, memory->size);
    if (pool->shared.file >= 0)
        (void)fallocate(pool->shared.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)(SP_SHARED_DATA + memory->offset), (off_t)memory->size);
    chunk->late = (struct sp_model_late_free){
        .at = {.slot = SP_SLOT_HOST},
        .uses = &chunk->strays,
        .memory = memory,
        .run = unmap_chunk,
    };
    if (sp_model_uses_have_run(&chunk->strays))
        unmap_chunk(&chunk->late);
    else
        sp_model_late_free_add(&chunk->late);
}

uint64_t sp_model_pool_release(struct sp_model_pool *pool, uint64_t keep, uint64_t enough)
{
    struct sp_chunk *chunk;
    struct sp_model_memory *memory;
    uint64_t released = 0;

    while (released < enough && (chunk = sp_reuse_remove_chunk(pool->reuse, keep)) != NULL) {
        memory = SP_CONTAINER_OF(chunk, struct sp_model_memory, chunk);
        released += memory->size;
        release_chunk(pool, SP_CONTAINER_OF(memory, struct sp_model_chunk, memory));
    }
    return released;
}

void sp_model_pool_drop_chunks(struct sp_model_pool *pool)
{
    while (pool->blocks != NULL)
        sp_model_block_delete(pool->blocks);
    while (pool->chunks != NULL)
        release_chunk(pool, pool->chunks);
}

/* ---- growing ------------------------------------------------------------------------- */

static uint64_t reserved_of(const struct sp_model_pool *pool)
{
    struct sp_reuse_stats stats;

    sp_reuse_stats(pool->reuse, &stats);
    return stats.reserved_bytes + pool->growing_bytes;
}

/* Take the bytes from the pool's maximum and the device. */
static bool take_bytes(struct sp_model_pool *pool, size_t size)
{
    if (size > pool->max_bytes || reserved_of(pool) > pool->max_bytes - size)
        return false;
    if (pool->device >= 0 && !sp_model_device_take(pool->device, size))
        return false;
    pool->growing_bytes += size;
    return true;
}

static void give_bytes(struct sp_model_pool *pool, size_t size)
{
    pool->growing_bytes -= size;
    if (pool->device >= 0)
        sp_model_device_give(pool->device, size);
}

/* The chunk's memory; it is in the pool's list meanwhile, so that its part of the file is
 * taken. Gives the lock. */
static bool map_chunk(struct sp_model_pool *pool, struct sp_model_chunk *chunk)
{
    struct sp_model_memory *memory = &chunk->memory;
    uint64_t offset = 0;
    void *base;

    if (pool->shared.file >= 0) {
        if (!sp_model_pool_place_chunk(pool, memory->size, &memory->offset))
            return false;
        offset = SP_SHARED_DATA + memory->offset;
    }
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->n_pins++;
    base = sp_model_map(pool->device, pool->node, memory->size, pool->shared.file, offset);
    pool->n_pins--;
    if (base == NULL)
        goto err_unlink;
    memory->base = (uintptr_t)base;
    if (sp_model_memory_add(memory))
        return true;
    sp_model_unmap(base, memory->size, pool->device, pool->node);

err_unlink:
    unlink_chunk(pool, chunk);
    return false;
}

static struct sp_model_chunk *new_chunk(struct sp_model_pool *pool, size_t size)
{
    struct sp_model_chunk *chunk = calloc(1, sizeof(*chunk));

    if (chunk == NULL)
        return NULL;
    chunk->memory.size = size;
    chunk->memory.asked = size;
    chunk->memory.kind = SP_MEMORY_CHUNK;
    chunk->memory.device = pool->device;
    chunk->memory.pool = pool;
    chunk->memory.file = pool->shared.file;
    chunk->node = pool->node;
    return chunk;
}

/* A chunk of this size, if the pool's maximum and the device have room. */
static bool grow_by(struct sp_model_pool *pool, size_t size)
{
    struct sp_model_chunk *chunk;

    if (size == 0 || !take_bytes(pool, size))
        return false;
    chunk = new_chunk(pool, size);
    if (chunk == NULL)
        goto err_give;
    if (!map_chunk(pool, chunk))
        goto err_chunk;
    if (!sp_model_pool_feed(pool))
        goto err_map;
    pool->growing_bytes -= size;
    chunk->memory.chunk.base = chunk->memory.base;
    chunk->memory.chunk.size = size;
    sp_reuse_add_chunk(pool->reuse, &chunk->memory.chunk);
    return true;

err_map:
    /* It gives the device's bytes back, too. */
    pool->growing_bytes -= size;
    release_chunk(pool, chunk);
    return false;
err_chunk:
    free(chunk);
err_give:
    give_bytes(pool, size);
    return false;
}

/* In steps of the granule if there is room, else as much as is needed; then at the cost of what
 * is idle: in this pool, if its maximum is the limit, or in any pool of the device. */
static bool grow(struct sp_model_pool *pool, size_t size)
{
    size_t exact = sp_round_up(size, SP_MODEL_PAGE);

    if (exact == 0 || exact > pool->max_bytes)
        return false;
    if (grow_by(pool, sp_round_up(exact, pool->granule)) || grow_by(pool, exact))
        return true;
    if (reserved_of(pool) > pool->max_bytes - exact)
        (void)sp_model_pool_release(pool, 0, reserved_of(pool) - (pool->max_bytes - exact));
    if (pool->device >= 0)
        (void)sp_model_pools_reclaim(pool->device, exact);
    return grow_by(pool, exact);
}

/* ---- allocating ---------------------------------------------------------------------- */

/* The last resort: a range that other streams have freed, and a wait for them. */
static sp_cu_result take_waiting(struct sp_model_pool *pool, size_t size,
                                 struct sp_model_stream *stream, struct sp_point at,
                                 uintptr_t *start_out)
{
    size_t room = sp_model_order()->n_slots, n_waits = 0;
    struct sp_point *waits = calloc(room, sizeof(*waits));
    struct sp_reuse_block block;
    struct sp_edge edge;
    sp_cu_result result = SP_CU_OUT_OF_MEMORY;

    if (waits != NULL &&
        sp_reuse_take_waiting(pool->reuse, size, at, &block, &edge, waits, room, &n_waits)) {
        *start_out = block.start;
        result = sp_model_stream_wait_points(stream, waits, n_waits);
        if (result != SP_CU_SUCCESS)
            (void)!sp_reuse_give(pool->reuse, block.start, at);
    }
    free(waits);
    return result;
}

/* What the program, or the engine, has done against the order, where that is checked. */
static void check(void)
{
    struct sp_checker *checker = sp_model_order()->checker;
    const char *news = checker == NULL ? NULL : sp_checker_news(checker);

    if (news != NULL)
        sp_model_violation("%s", news);
}

/* A range that needs no waiting. */
static bool take_ready(struct sp_model_pool *pool, size_t size, struct sp_point at,
                       uintptr_t *start_out)
{
    struct sp_reuse_block block;
    struct sp_edge edge;

    if (!sp_reuse_take(pool->reuse, size, at, &block, &edge))
        return false;
    if (edge.kind == SP_EDGE_FRESH)
        sp_model_poison_fresh(block.start, block.size);
    *start_out = block.start;
    return true;
}

static sp_cu_result take(struct sp_model_pool *pool, size_t size,
                         struct sp_model_stream *stream, struct sp_point at,
                         uintptr_t *start_out)
{
    if (!sp_model_pool_feed(pool))
        return SP_CU_OUT_OF_MEMORY;
    if (take_ready(pool, size, at, start_out))
        return SP_CU_SUCCESS;
    if (!grow(pool, size))
        return sp_model_pool_feed(pool) ? take_waiting(pool, size, stream, at, start_out)
                                        : SP_CU_OUT_OF_MEMORY;
    return sp_model_pool_feed(pool) && take_ready(pool, size, at, start_out)
               ? SP_CU_SUCCESS
               : SP_CU_OUT_OF_MEMORY;
}

sp_cu_result sp_model_pool_take(struct sp_model_pool *pool, size_t size,
                                struct sp_model_stream *stream, struct sp_point at,
                                uintptr_t *start_out)
{
    sp_cu_result result = take(pool, size, stream, at, start_out);

    if (result == SP_CU_SUCCESS)
        sp_model_races_forget(*start_out, size);
    check();
    return result;
}
