/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the requests of a trace again. What pools decided by themselves (growth, releases,
 * waits that they added) is left to the new ones. */
#include "config.h"

#include "src/trace/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/trace/clock.h"
#include "src/trace/index.h"
#include "src/trace/read.h"
#include "src/trace/replay_ops.h"
#include "src/util/util.h"

/* Records between two reports of progress. */
#define STRIDE 65536

/* A pool of the trace and the new one; NULL if there could be none, and then each of its
 * requests is refused. */
struct pool {
    void *target;
    struct sp_replay_pool result;
};

/* A stream of the trace and the new one, and its points: number in the trace -> the target's.
 */
struct stream {
    void *target;
    struct sp_map points;
};

struct block {
    uint64_t address, size;
    struct pool *pool;
};

struct replay {
    const struct sp_replay_config *config;
    const struct sp_replay_ops *ops;
    struct sp_replay_result *result;
    struct sp_map pools, streams, blocks; /* by the trace's numbers and addresses */
    uint64_t request_ticks, free_ticks;
    uint64_t begin_ticks, begin_ns;
    bool is_counter; /* ticks are the processor's; asking each time costs more than a request */
    bool is_short;   /* of memory */
};

static void note(struct replay *replay, enum starpool_status status)
{
    replay->result->n_failed += status != STARPOOL_OK;
}

static uint64_t now(const struct replay *replay)
{
    return sp_trace_ticks(replay->is_counter);
}

/* ---- pools and streams ------------------------------------------------------------------ */

/* A new record under a key; NULL if there is no memory. */
static void *enter(struct replay *replay, struct sp_map *map, uint64_t key, size_t size)
{
    void *record = calloc(1, size);

    if (record == NULL || !sp_map_put(map, key, (uintptr_t)record)) {
        free(record);
        replay->is_short = true;
        return NULL;
    }
    return record;
}

static void *look_up(const struct sp_map *map, uint64_t key)
{
    const uint64_t *value = sp_map_find(map, key);

    return value == NULL ? NULL : (void *)(uintptr_t)*value;
}

static struct pool *make_pool(struct replay *replay, uint32_t number,
                              struct starpool_location location, const char *name)
{
    struct pool *pool = enter(replay, &replay->pools, number, sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pool->result.pool = number;
    if (*name != '\0')
        snprintf(pool->result.name, SP_REPLAY_NAME, "%s", name);
    else
        snprintf(pool->result.name, SP_REPLAY_NAME, "pool %u", number);
    note(replay, replay->ops->pool_create(replay->config, location, &pool->target));
    return pool;
}

/* The pool of a request; one that the trace does not introduce is a HOST pool. */
static struct pool *pool_of(struct replay *replay, uint32_t number)
{
    struct pool *pool = look_up(&replay->pools, number);

    if (pool != NULL)
        return pool;
    return make_pool(replay, number, (struct starpool_location){STARPOOL_HOST, 0}, "");
}

/* The stream of a record, made when it first comes; NULL for the host or if there is none. */
static struct stream *stream_of(struct replay *replay, uint64_t id)
{
    struct stream *stream;

    if (id == STARPOOL_TRACE_HOST)
        return NULL;
    stream = look_up(&replay->streams, id);
    if (stream != NULL)
        return stream;
    stream = enter(replay, &replay->streams, id, sizeof(*stream));
    if (stream != NULL)
        note(replay, replay->ops->stream_create(&stream->target));
    return stream;
}

static void *target_of(const struct stream *stream)
{
    return stream == NULL ? NULL : stream->target;
}

static void drop_stream(struct replay *replay, struct stream *stream)
{
    const struct sp_map_slot *slot;
    size_t index = 0;

    while ((slot = sp_map_next(&stream->points, &index)) != NULL)
        replay->ops->point_drop(slot->value);
    sp_map_fini(&stream->points);
    if (stream->target != NULL)
        replay->ops->stream_destroy(stream->target);
    free(stream);
}

/* ---- requests --------------------------------------------------------------------------- */

static size_t scaled(const struct replay *replay, uint64_t size)
{
    double wanted = (double)size * replay->config->scale;

    if (wanted >= (double)(SIZE_MAX / 2))
        return SIZE_MAX / 2;
    return wanted < 1 ? 1 : (size_t)wanted;
}

static void keep_block(struct replay *replay, struct pool *pool, uint64_t key, uint64_t address,
                       uint64_t size)
{
    struct block *block = look_up(&replay->blocks, key);

    if (block != NULL) { /* Its free is not in the trace. */
        note(replay, replay->ops->free(block->address, NULL));
        block->pool->result.asked_bytes -= block->size;
    } else {
        block = enter(replay, &replay->blocks, key, sizeof(*block));
    }
    if (block == NULL) {
        note(replay, replay->ops->free(address, NULL));
        return;
    }
    *block = (struct block){address, size, pool};
    pool->result.asked_bytes += size;
    pool->result.asked_high_bytes =
        sp_max(pool->result.asked_high_bytes, pool->result.asked_bytes);
}

static void request(struct replay *replay, const struct starpool_trace_record *record)
{
    struct pool *pool = pool_of(replay, record->pool);
    struct stream *stream = stream_of(replay, record->stream);
    size_t size = scaled(replay, record->size);
    enum starpool_status status = STARPOOL_ENOTINIT;
    uint64_t address, begin;

    if (pool == NULL)
        return;
    begin = now(replay);
    if (pool->target != NULL)
        status = replay->ops->alloc(pool->target, size, target_of(stream), &address);
    replay->request_ticks += now(replay) - begin;
    replay->result->n_requests++;
    pool->result.n_requests++;
    if (status != STARPOOL_OK) {
        replay->result->n_refused++;
        pool->result.n_refused++;
    } else if (record->kind == STARPOOL_TRACE_ALLOC) {
        keep_block(replay, pool, record->address, address, size);
    } else { /* It was refused then, so nobody frees it. */
        note(replay, replay->ops->free(address, target_of(stream)));
    }
}

static void give(struct replay *replay, const struct starpool_trace_record *record)
{
    struct stream *stream = stream_of(replay, record->stream);
    struct block *block;
    uint64_t value, begin;

    if (!sp_map_remove(&replay->blocks, record->address, &value)) {
        replay->result->n_unknown_frees++;
        return;
    }
    block = (void *)(uintptr_t)value;
    begin = now(replay);
    note(replay, replay->ops->free(block->address, target_of(stream)));
    replay->free_ticks += now(replay) - begin;
    replay->result->n_frees++;
    block->pool->result.asked_bytes -= block->size;
    free(block);
}

/* ---- order ------------------------------------------------------------------------------ */

static void record_point(struct replay *replay, const struct starpool_trace_record *record)
{
    struct stream *stream = stream_of(replay, record->stream);
    const uint64_t *old;
    enum starpool_status status;
    uint64_t point;

    if (stream == NULL || stream->target == NULL)
        return;
    status = replay->ops->record(stream->target, &point);
    note(replay, status);
    if (status != STARPOOL_OK)
        return;
    old = sp_map_find(&stream->points, record->point);
    if (old != NULL)
        replay->ops->point_drop(*old);
    if (!sp_map_put(&stream->points, record->point, point)) {
        replay->ops->point_drop(point);
        replay->is_short = true;
    }
}

/* A wait for a point that nobody recorded was added by a pool. */
static void wait_for(struct replay *replay, const struct starpool_trace_record *record)
{
    struct stream *stream = stream_of(replay, record->stream);
    struct stream *other = look_up(&replay->streams, record->other);
    const uint64_t *point = other == NULL ? NULL : sp_map_find(&other->points, record->point);

    if (stream == NULL || stream->target == NULL || point == NULL)
        return;
    note(replay, replay->ops->wait(stream->target, other->target, *point));
    replay->result->n_waits++;
}

static void synchronize(struct replay *replay, const struct starpool_trace_record *record)
{
    const struct sp_map_slot *slot;
    size_t index = 0;
    struct stream *stream = stream_of(replay, record->stream);

    replay->result->n_synchronizes++;
    if (record->stream != STARPOOL_TRACE_HOST) {
        if (stream != NULL && stream->target != NULL)
            note(replay, replay->ops->synchronize(stream->target));
        return;
    }
    note(replay, replay->ops->synchronize(NULL));
    while ((slot = sp_map_next(&replay->streams, &index)) != NULL) {
        stream = (void *)(uintptr_t)slot->value;
        if (stream->target != NULL)
            note(replay, replay->ops->synchronize(stream->target));
    }
}

/* ---- records ---------------------------------------------------------------------------- */

static void play(struct replay *replay, const struct starpool_trace_record *record)
{
    struct pool *pool;
    uint64_t value;

    switch (record->kind) {
    case STARPOOL_TRACE_POOL_CREATE:
        if (look_up(&replay->pools, record->pool) == NULL)
            (void)make_pool(replay, record->pool, record->location, record->name);
        break;
    case STARPOOL_TRACE_ALLOC:
    case STARPOOL_TRACE_REFUSE:
        request(replay, record);
        break;
    case STARPOOL_TRACE_FREE:
        give(replay, record);
        break;
    case STARPOOL_TRACE_TRIM:
        pool = pool_of(replay, record->pool);
        if (pool != NULL && pool->target != NULL)
            note(replay, replay->ops->trim(pool->target, scaled(replay, record->size)));
        replay->result->n_trims++;
        break;
    case STARPOOL_TRACE_STREAM_CREATE:
        (void)stream_of(replay, record->stream);
        break;
    case STARPOOL_TRACE_STREAM_DESTROY:
        if (sp_map_remove(&replay->streams, record->stream, &value))
            drop_stream(replay, (void *)(uintptr_t)value);
        break;
    case STARPOOL_TRACE_RECORD:
        record_point(replay, record);
        break;
    case STARPOOL_TRACE_WAIT:
        wait_for(replay, record);
        break;
    case STARPOOL_TRACE_SYNCHRONIZE:
        synchronize(replay, record);
        break;
    default: /* What pools did by themselves; a destroyed pool's numbers are wanted at the end.
              */
        break;
    }
}

static enum starpool_status play_all(struct replay *replay, struct starpool_trace *reader)
{
    struct starpool_trace_record record;
    enum starpool_status status = STARPOOL_OK;
    uint64_t *n = &replay->result->n_records;

    while (!replay->is_short) {
        status = starpool_trace_next(reader, &record);
        if (status != STARPOOL_OK || record.kind == STARPOOL_TRACE_END)
            break;
        if (record.kind == STARPOOL_TRACE_ALLOC &&
            look_up(&replay->blocks, record.address) != NULL && sp_trace_hold(reader))
            continue;
        play(replay, &record);
        if (++*n % STRIDE == 0 && replay->config->progress != NULL)
            replay->config->progress(*n, reader->n_entries);
    }
    return replay->is_short ? STARPOOL_ENOMEM : status;
}

/* ---- results ---------------------------------------------------------------------------- */

static int compare_pools(const void *a, const void *b)
{
    const struct sp_replay_pool *x = a, *y = b;

    return (x->pool > y->pool) - (x->pool < y->pool);
}

static void collect(struct replay *replay)
{
    struct sp_replay_result *result = replay->result;
    const struct sp_map_slot *slot;
    size_t index = 0;

    result->pools = calloc(sp_max(replay->pools.n_used, 1), sizeof(*result->pools));
    if (result->pools == NULL)
        replay->is_short = true;
    while (result->pools != NULL && (slot = sp_map_next(&replay->pools, &index)) != NULL) {
        struct pool *pool = (void *)(uintptr_t)slot->value;

        if (pool->target != NULL)
            replay->ops->pool_read(pool->target, &pool->result);
        result->pools[result->n_pools++] = pool->result;
    }
    if (result->n_pools > 1)
        qsort(result->pools, result->n_pools, sizeof(*result->pools), compare_pools);
    result->n_live = replay->blocks.n_used;
}

static double average_ns(const struct replay *replay, uint64_t ticks, uint64_t n)
{
    double span_ns = (double)(sp_trace_system_ns() - replay->begin_ns);
    double span = (double)(now(replay) - replay->begin_ticks);

    return n == 0 || span <= 0 ? 0 : (double)ticks / (double)n * span_ns / span;
}

/* Give everything back. */
static void clean(struct replay *replay)
{
    const struct sp_map_slot *slot;
    size_t index = 0;

    while ((slot = sp_map_next(&replay->streams, &index)) != NULL) {
        struct stream *stream = (void *)(uintptr_t)slot->value;

        if (stream->target != NULL)
            note(replay, replay->ops->synchronize(stream->target));
    }
    index = 0;
    while ((slot = sp_map_next(&replay->blocks, &index)) != NULL) {
        struct block *block = (void *)(uintptr_t)slot->value;

        note(replay, replay->ops->free(block->address, NULL));
        free(block);
    }
    index = 0;
    while ((slot = sp_map_next(&replay->streams, &index)) != NULL)
        drop_stream(replay, (void *)(uintptr_t)slot->value);
    index = 0;
    while ((slot = sp_map_next(&replay->pools, &index)) != NULL) {
        struct pool *pool = (void *)(uintptr_t)slot->value;

        if (pool->target != NULL)
            replay->ops->pool_destroy(pool->target);
        free(pool);
    }
    sp_map_fini(&replay->blocks);
    sp_map_fini(&replay->streams);
    sp_map_fini(&replay->pools);
}

enum starpool_status sp_replay_run(struct starpool_trace *reader,
                                   const struct sp_replay_config *config,
                                   struct sp_replay_result *result)
{
    struct replay replay = {
        .config = config,
        .ops = config->on_model ? &sp_replay_on_model : &sp_replay_on_pools,
        .result = result,
        .is_counter = sp_trace_has_counter(),
    };
    enum starpool_status status;

    memset(result, 0, sizeof(*result));
    status = replay.ops->begin(config, result->reason, sizeof(result->reason));
    if (status != STARPOOL_OK)
        return status;
    replay.begin_ns = sp_trace_system_ns();
    replay.begin_ticks = now(&replay);
    status = play_all(&replay, reader);
    result->request_ns = average_ns(&replay, replay.request_ticks, result->n_requests);
    result->free_ns = average_ns(&replay, replay.free_ticks, result->n_frees);
    collect(&replay);
    clean(&replay);
    replay.ops->end();
    return replay.is_short ? STARPOOL_ENOMEM : status;
}

void sp_replay_fini(struct sp_replay_result *result)
{
    free(result->pools);
    memset(result, 0, sizeof(*result));
}
