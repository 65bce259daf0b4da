/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What operations of streams do to pool memory: a use must come after the allocation and before
 * the free, in the order of streams, events and host waits. What does not is undefined in the
 * driver: here it is said and counted, and carried out. Of other memory only the operations
 * are told what they use. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/model/cost.h"
#include "src/model/graph_memory.h"
#include "src/model/mempool.h"
#include "src/util/util.h"

/* ---- records of blocks --------------------------------------------------------------- */

/* Behind the model's lock. */
static struct {
    uint64_t last_id;
} blocks;

/* Ids of mappings count from 1; those of blocks are never among them. */
#define BLOCK_IDS ((uint64_t)1 << 63)

struct sp_model_block *sp_model_block_new(size_t asked)
{
    struct sp_model_block *block = calloc(1, sizeof(*block));

    if (block != NULL) {
        block->asked = asked;
        block->id = BLOCK_IDS | ++blocks.last_id;
    }
    return block;
}

void sp_model_block_join(struct sp_model_block *block, struct sp_model_pool *pool)
{
    block->next = pool->blocks;
    block->link = &pool->blocks;
    if (block->next != NULL)
        block->next->link = &block->next;
    pool->blocks = block;
}

void sp_model_block_delete(struct sp_model_block *block)
{
    if (block->link != NULL) {
        *block->link = block->next;
        if (block->next != NULL)
            block->next->link = block->link;
    }
    free(block->uses.points);
    free(block);
}

/* The latest use of each stream covers those before it. */
void sp_model_uses_add(struct sp_clock *uses, struct sp_point at)
{
    struct sp_point *points;

    for (uint32_t i = 0; i < uses->n_points; i++) {
        if (uses->points[i].slot == at.slot) {
            uses->points[i].seq = sp_max(uses->points[i].seq, at.seq);
            return;
        }
    }
    if (uses->n_points == uses->room) {
        points = realloc(uses->points, (uses->room + 4) * sizeof(*points));
        if (points == NULL)
            return;
        uses->points = points;
        uses->room += 4;
    }
    uses->points[uses->n_points++] = at;
}

void sp_model_uses_merge(struct sp_clock *uses, const struct sp_clock *from)
{
    for (uint32_t i = 0; i < from->n_points; i++)
        sp_model_uses_add(uses, from->points[i]);
}

bool sp_model_uses_have_run(const struct sp_clock *uses)
{
    for (uint32_t i = 0; i < uses->n_points; i++) {
        if (!sp_model_point_has_run(uses->points[i]))
            return false;
    }
    return true;
}

/* ---- frees --------------------------------------------------------------------------- */

bool sp_model_block_check_free(const struct sp_model_block *block, struct sp_point alloc,
                               uintptr_t start, const struct sp_model_stream *stream)
{
    const struct sp_order *order = sp_model_order();

    if (!sp_order_is_before(order, alloc, stream->slot)) {
        sp_model_violation("the free of 0x%" PRIxPTR " in stream %" PRIu64
                           " is not ordered after its allocation",
                           start, stream->id);
        return false;
    }
    for (uint32_t i = 0; i < block->uses.n_points; i++) {
        if (!sp_order_is_before(order, block->uses.points[i], stream->slot)) {
            sp_model_violation("the free of 0x%" PRIxPTR " in stream %" PRIu64
                               " is not ordered after its use in another stream",
                               start, stream->id);
            return false;
        }
    }
    return true;
}

bool sp_model_block_check_free_now(const struct sp_model_block *block, struct sp_point alloc,
                                   uintptr_t start)
{
    if (!sp_model_point_has_run(alloc)) {
        sp_model_violation("0x%" PRIxPTR " is freed by the host before its allocation has run",
                           start);
        return false;
    }
    if (!sp_model_uses_have_run(&block->uses)) {
        sp_model_violation("0x%" PRIxPTR " is freed by the host before its use has run", start);
        return false;
    }
    return true;
}

/* ---- uses ---------------------------------------------------------------------------- */

static bool is_pooled(const struct sp_model_memory *memory)
{
    return memory->kind == SP_MEMORY_CHUNK || memory->kind == SP_MEMORY_IMPORTED;
}

/* The memory stays until its uses have executed, whatever is done with it. */
static bool is_kept(const struct sp_model_memory *memory)
{
    return is_pooled(memory) || memory->kind == SP_MEMORY_GRAPH;
}

/* May the stream's device reach the pool's memory? */
static bool has_access(const struct sp_model_pool *pool, const struct sp_model_stream *stream)
{
    return sp_model_access_of(pool, stream->context->device) != SP_CU_ACCESS_NONE;
}

/* The host's memory can be copied by the host in the device's place, so there it is only said.
 */
static void say_access(const struct sp_model_pool *pool, const struct sp_model_stream *stream,
                       uintptr_t address)
{
    if (!has_access(pool, stream))
        sp_model_violation("device %d uses 0x%" PRIxPTR " of a host pool without access",
                           stream->context->device, address);
}

/* [bytes] of a range that are in the mapping around its beginning. */
static size_t part_in(const struct sp_model_memory *memory, uintptr_t address, size_t size)
{
    return sp_min(size, memory->base + memory->size - address);
}

sp_cu_result sp_model_can_use(const struct sp_model_stream *stream, uintptr_t address,
                              size_t size)
{
    const struct sp_model_memory *memory;
    uintptr_t first = address;
    size_t part;

    for (; size > 0; address += part, size -= part) {
        memory = sp_model_memory_find(address);
        if (memory == NULL)
            return address != first || sp_model_device_of(address) >= 0 ? SP_CU_INVALID_VALUE
                                                                        : SP_CU_SUCCESS;
        if (is_pooled(memory) && !has_access(memory->pool, stream) &&
            !sp_model_pool_is_host(memory->pool))
            return SP_CU_INVALID_VALUE;
        if (memory->kind == SP_MEMORY_GRAPH &&
            !sp_model_segment_can_use(sp_model_segment_find(address), stream))
            return SP_CU_INVALID_VALUE;
        part = part_in(memory, address, size);
    }
    return SP_CU_SUCCESS;
}

static void check_use(const struct sp_reuse_block *found, const struct sp_model_stream *stream,
                      uintptr_t address, size_t size)
{
    if (!sp_order_is_before(sp_model_order(), found->alloc, stream->slot))
        sp_model_violation("the use of 0x%" PRIxPTR " in stream %" PRIu64
                           " is not ordered after its allocation",
                           address, stream->id);
    if (size > found->start + found->size - address)
        sp_model_violation("the use of %zu bytes at 0x%" PRIxPTR " goes beyond the block's end",
                           size, address);
}

/* Where a use is kept: with its block, or else with the chunk, whose memory stays until then.
 */
static struct sp_clock *uses_at(struct sp_model_memory *memory, uintptr_t address,
                                const struct sp_model_stream *stream, size_t size)
{
    struct sp_reuse_block found;
    struct sp_model_block *block;

    if (memory->kind == SP_MEMORY_IMPORTED)
        return &sp_model_import_find(memory->base)->block->uses;
    if (!sp_reuse_find(memory->pool->reuse, address, &found)) {
        sp_model_violation("0x%" PRIxPTR " is used in stream %" PRIu64
                           ", but it has been freed or was never allocated",
                           address, stream->id);
        return &SP_CONTAINER_OF(memory, struct sp_model_chunk, memory)->strays;
    }
    check_use(&found, stream, address, size);
    block = found.cookie;
    return &block->uses;
}

sp_cu_result sp_model_use_as(struct sp_model_stream *stream, struct sp_point at,
                             uintptr_t address, size_t size, enum sp_model_use_kind kind)
{
    struct sp_model_memory *memory;
    sp_cu_result result = sp_model_can_use(stream, address, size);
    size_t part;

    if (result == SP_CU_SUCCESS)
        sp_model_cost_use(stream, address);
    while (result == SP_CU_SUCCESS && size > 0 &&
           (memory = sp_model_memory_find(address)) != NULL) {
        part = part_in(memory, address, size);
        if (!is_kept(memory) && !sp_model_touch(stream, memory->id))
            return SP_CU_OUT_OF_MEMORY;
        if (is_pooled(memory)) {
            say_access(memory->pool, stream, address);
            sp_model_uses_add(uses_at(memory, address, stream, part), at);
        } else if (memory->kind == SP_MEMORY_GRAPH) {
            sp_model_graph_use(stream, at, address, part);
        }
        sp_model_races_use(stream, at, address, part, kind);
        address += part;
        size -= part;
    }
    return result;
}

sp_cu_result sp_model_use(struct sp_model_stream *stream, struct sp_point at, uintptr_t address,
                          size_t size)
{
    return sp_model_use_as(stream, at, address, size, SP_USE_KERNEL);
}
