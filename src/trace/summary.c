/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds up what a trace says of each pool. A trace may begin late and may lack events, so a free
 * without its allocation is counted and no more. */
#include "config.h"

#include "src/trace/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/trace/read.h"
#include "src/util/util.h"

static unsigned octave(uint64_t value)
{
    return value > 0 ? sp_log2(value) : 0;
}

/* ---- pools ------------------------------------------------------------------------------ */

/* The pool of a record, which may be new; NULL if there is no memory. */
static struct sp_summary_pool *pool_of(struct sp_summary *summary, uint32_t pool)
{
    const uint64_t *index = sp_map_find(&summary->pool_index, pool);
    struct sp_summary_pool *pools = summary->pools;

    if (index != NULL)
        return &pools[*index];
    if (pools == NULL || summary->n_pools == summary->room) {
        size_t room = 2 * summary->room + 4;

        pools = reallocarray(pools, room, sizeof(*pools));
        if (pools == NULL)
            return NULL;
        summary->pools = pools;
        summary->room = room;
    }
    if (!sp_map_put(&summary->pool_index, pool, summary->n_pools))
        return NULL;
    memset(&pools[summary->n_pools], 0, sizeof(*pools));
    pools[summary->n_pools].pool = pool;
    snprintf(pools[summary->n_pools].name, SP_SUMMARY_NAME, "pool %u", pool);
    return &pools[summary->n_pools++];
}

static void name_pool(struct sp_summary_pool *pool, const struct starpool_trace_record *record)
{
    pool->location = record->location;
    pool->maximum = record->size;
    if (*record->name != '\0')
        snprintf(pool->name, sizeof(pool->name), "%s", record->name);
}

/* ---- blocks ----------------------------------------------------------------------------- */

/* Put a block among the longest-lived if it is one. */
static void rank(struct sp_summary_pool *pool, const struct sp_summary_block *block)
{
    struct sp_summary_block *longest = pool->longest;
    size_t at = SP_SUMMARY_LONGEST;

    while (at > 0 && (longest[at - 1].address == 0 || longest[at - 1].life_ns < block->life_ns))
        at--;
    if (at == SP_SUMMARY_LONGEST)
        return;
    memmove(&longest[at + 1], &longest[at], (SP_SUMMARY_LONGEST - at - 1) * sizeof(*longest));
    longest[at] = *block;
}

static bool add_block(struct sp_summary *summary, const struct starpool_trace_record *record)
{
    struct sp_summary_block *block = malloc(sizeof(*block));
    const uint64_t *old = sp_map_find(&summary->blocks, record->address);

    if (block == NULL)
        return false;
    *block = (struct sp_summary_block){
        .address = record->address,
        .size = record->size,
        .since_ns = record->time_ns,
        .pool = record->pool,
        .thread = record->thread,
        .is_live = true,
    };
    if (old != NULL) /* Its free was lost. */
        free((void *)(uintptr_t)*old);
    if (sp_map_put(&summary->blocks, record->address, (uintptr_t)block))
        return true;
    free(block);
    return false;
}

static bool count_alloc(struct sp_summary *summary, struct sp_summary_pool *pool,
                        const struct starpool_trace_record *record)
{
    pool->n_allocs++;
    pool->allocated_bytes += record->size;
    pool->size_octaves[octave(record->size)]++;
    pool->n_edges[record->edge]++;
    pool->used_bytes += record->size;
    pool->used_high_bytes = sp_max(pool->used_high_bytes, pool->used_bytes);
    pool->n_live++;
    pool->n_live_high = sp_max(pool->n_live_high, pool->n_live);
    return add_block(summary, record);
}

static void count_free(struct sp_summary *summary, struct sp_summary_pool *pool,
                       const struct starpool_trace_record *record)
{
    struct sp_summary_block *block;
    uint64_t value;

    pool->n_frees++;
    if (!sp_map_remove(&summary->blocks, record->address, &value)) {
        pool->n_unknown_frees++;
        return;
    }
    block = (void *)(uintptr_t)value;
    block->life_ns = record->time_ns - sp_min(block->since_ns, record->time_ns);
    block->is_live = false;
    pool->life_sum_ns += block->life_ns;
    pool->life_octaves[octave(block->life_ns)]++;
    pool->used_bytes -= sp_min(block->size, pool->used_bytes);
    pool->n_live -= pool->n_live > 0;
    rank(pool, block);
    free(block);
}

/* What was never freed lived to the end. */
static void rank_live(struct sp_summary *summary)
{
    const struct sp_map_slot *slot;
    size_t index = 0;

    while ((slot = sp_map_next(&summary->blocks, &index)) != NULL) {
        struct sp_summary_block *block = (void *)(uintptr_t)slot->value;
        struct sp_summary_pool *pool = pool_of(summary, block->pool);

        block->life_ns = summary->duration_ns - sp_min(block->since_ns, summary->duration_ns);
        if (pool != NULL)
            rank(pool, block);
    }
}

/* ---- records ---------------------------------------------------------------------------- */

static void count_memory(struct sp_summary_pool *pool,
                         const struct starpool_trace_record *record)
{
    if (record->kind == STARPOOL_TRACE_GROW) {
        pool->n_grows++;
        pool->reserved_bytes += record->size;
        pool->reserved_high_bytes = sp_max(pool->reserved_high_bytes, pool->reserved_bytes);
        return;
    }
    pool->n_releases++;
    pool->reserved_bytes -= sp_min(record->size, pool->reserved_bytes);
}

/* False if there is no memory. */
static bool count_in_pool(struct sp_summary *summary,
                          const struct starpool_trace_record *record)
{
    struct sp_summary_pool *pool = pool_of(summary, record->pool);
    unsigned status = (unsigned)-(int)record->status;

    if (pool == NULL)
        return false;
    if (record->kind == STARPOOL_TRACE_POOL_CREATE)
        name_pool(pool, record);
    else if (record->kind == STARPOOL_TRACE_POOL_DESTROY)
        pool->is_destroyed = true;
    else if (record->kind == STARPOOL_TRACE_ALLOC)
        return count_alloc(summary, pool, record);
    else if (record->kind == STARPOOL_TRACE_FREE)
        count_free(summary, pool, record);
    else if (record->kind == STARPOOL_TRACE_TRIM)
        pool->n_trims++;
    else if (record->kind != STARPOOL_TRACE_REFUSE)
        count_memory(pool, record);
    else {
        pool->n_refused++;
        pool->n_refused_by[sp_min(status, SP_SUMMARY_STATUSES - 1)]++;
    }
    return true;
}

/* False if there is no memory. */
static bool count(struct sp_summary *summary, const struct starpool_trace_record *record)
{
    summary->n_records++;
    summary->duration_ns = sp_max(summary->duration_ns, record->time_ns);
    if (!sp_map_put(&summary->threads, record->thread, 1))
        return false;
    switch (record->kind) {
    case STARPOOL_TRACE_STREAM_CREATE:
        summary->n_streams++;
        return true;
    case STARPOOL_TRACE_WAIT:
        summary->n_waits++;
        return true;
    case STARPOOL_TRACE_SYNCHRONIZE:
        summary->n_synchronizes++;
        return true;
    case STARPOOL_TRACE_POOL_CREATE:
    case STARPOOL_TRACE_POOL_DESTROY:
    case STARPOOL_TRACE_ALLOC:
    case STARPOOL_TRACE_REFUSE:
    case STARPOOL_TRACE_FREE:
    case STARPOOL_TRACE_GROW:
    case STARPOOL_TRACE_RELEASE:
    case STARPOOL_TRACE_TRIM:
        return count_in_pool(summary, record);
    default: /* Points, and kinds of a later version. */
        return true;
    }
}

enum starpool_status sp_summary_read(struct starpool_trace *reader, struct sp_summary *summary)
{
    struct starpool_trace_record record;
    enum starpool_status status;

    memset(summary, 0, sizeof(*summary));
    while ((status = starpool_trace_next(reader, &record)) == STARPOOL_OK) {
        if (record.kind == STARPOOL_TRACE_END) {
            summary->n_lost = record.n_lost;
            break;
        }
        if (record.kind == STARPOOL_TRACE_ALLOC &&
            sp_map_find(&summary->blocks, record.address) != NULL && sp_trace_hold(reader))
            continue;
        if (!count(summary, &record))
            return STARPOOL_ENOMEM;
    }
    summary->n_threads = summary->threads.n_used;
    rank_live(summary);
    return status;
}

void sp_summary_fini(struct sp_summary *summary)
{
    const struct sp_map_slot *slot;
    size_t index = 0;

    while ((slot = sp_map_next(&summary->blocks, &index)) != NULL)
        free((void *)(uintptr_t)slot->value);
    sp_map_fini(&summary->blocks);
    sp_map_fini(&summary->pool_index);
    sp_map_fini(&summary->threads);
    free(summary->pools);
    memset(summary, 0, sizeof(*summary));
}
