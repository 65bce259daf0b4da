/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replays on starpool's own pools, with the public API alone. */
#include "config.h"

#include "src/trace/replay_ops.h"

#include <string.h>

#include <starpool/stats.h>
#include <starpool/stream.h>

static enum starpool_status begin(const struct sp_replay_config *config, char *reason,
                                  size_t reason_size)
{
    (void)config, (void)reason, (void)reason_size;
    return STARPOOL_OK;
}

static void end(void)
{
}

static enum starpool_status pool_create(const struct sp_replay_config *replay,
                                        struct starpool_location location, void **pool_out)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    enum starpool_status status;

    starpool_pool_config_init(&config);
    config.location = location;
    config.backend = STARPOOL_BACKEND_CPU;
    config.maximum = replay->limit;
    config.release_threshold = replay->release_threshold;
    config.follows_events = replay->follows_events;
    config.is_opportunistic = replay->is_opportunistic;
    config.allows_internal_waits = replay->allows_internal_waits;
    config.has_exact_peak = true;
    status = starpool_pool_create(&config, &pool);
    if (status != STARPOOL_OK) { /* Another machine's node. */
        config.location = (struct starpool_location){STARPOOL_HOST, 0};
        status = starpool_pool_create(&config, &pool);
    }
    if (status == STARPOOL_OK)
        *pool_out = pool;
    return status;
}

static void pool_read(void *pool, struct sp_replay_pool *result)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    if (starpool_pool_stats(pool, &stats) != STARPOOL_OK)
        return;
    result->used_high_bytes = stats.used_high_bytes;
    result->reserved_high_bytes = stats.reserved_high_bytes;
    result->free_bytes = stats.reserved_bytes - stats.used_bytes;
    result->largest_hole_bytes = stats.largest_hole_bytes;
    result->has_takes = true;
    memcpy(result->n_takes,
           (const uint64_t[]){stats.n_takes_fresh, stats.n_takes_stream, stats.n_takes_seen,
                              stats.n_takes_event, stats.n_takes_executed,
                              stats.n_takes_internal},
           sizeof(result->n_takes));
}

static void pool_destroy(void *pool)
{
    starpool_pool_destroy(pool);
}

static enum starpool_status trim(void *pool, uint64_t keep)
{
    return starpool_pool_trim(pool, keep);
}

static starpool_stream handle(void *stream)
{
    return stream == NULL ? STARPOOL_STREAM_HOST : stream;
}

static enum starpool_status alloc(void *pool, size_t size, void *stream, uint64_t *address_out)
{
    void *ptr;
    enum starpool_status status = starpool_alloc(pool, size, handle(stream), &ptr);

    if (status == STARPOOL_OK)
        *address_out = (uintptr_t)ptr;
    return status;
}

static enum starpool_status give(uint64_t address, void *stream)
{
    return starpool_free((void *)(uintptr_t)address, handle(stream));
}

static enum starpool_status stream_create(void **stream_out)
{
    starpool_stream stream;
    enum starpool_status status =
        starpool_stream_create((struct starpool_location){STARPOOL_HOST, 0}, &stream);

    if (status == STARPOOL_OK)
        *stream_out = stream;
    return status;
}

static void stream_destroy(void *stream)
{
    starpool_stream_destroy(stream);
}

static enum starpool_status synchronize(void *stream)
{
    return stream == NULL ? STARPOOL_OK : starpool_stream_synchronize(stream);
}

static enum starpool_status record(void *stream, uint64_t *point_out)
{
    return starpool_stream_record(stream, point_out);
}

static enum starpool_status wait_for(void *stream, void *other, uint64_t point)
{
    return starpool_stream_wait(stream, other, point);
}

static void point_drop(uint64_t point)
{
    (void)point;
}

const struct sp_replay_ops sp_replay_on_pools = {
    .begin = begin,
    .end = end,
    .pool_create = pool_create,
    .pool_read = pool_read,
    .pool_destroy = pool_destroy,
    .trim = trim,
    .alloc = alloc,
    .free = give,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .synchronize = synchronize,
    .record = record,
    .wait = wait_for,
    .point_drop = point_drop,
};
