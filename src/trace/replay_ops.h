/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to src/trace: on what a trace is replayed. */
#ifndef SP_TRACE_REPLAY_OPS_H
#define SP_TRACE_REPLAY_OPS_H

#include "src/trace/replay.h"

/* Streams and pools are what `stream_create` and `pool_create` gave; a stream that is NULL is
 * the host's. */
struct sp_replay_ops {
    enum starpool_status (*begin)(const struct sp_replay_config *config, char *reason,
                                  size_t reason_size);
    void (*end)(void);
    enum starpool_status (*pool_create)(const struct sp_replay_config *config,
                                        struct starpool_location location, void **pool_out);
    void (*pool_read)(void *pool, struct sp_replay_pool *result);
    void (*pool_destroy)(void *pool);
    enum starpool_status (*trim)(void *pool, uint64_t keep);
    enum starpool_status (*alloc)(void *pool, size_t size, void *stream, uint64_t *address_out);
    enum starpool_status (*free)(uint64_t address, void *stream);
    enum starpool_status (*stream_create)(void **stream_out);
    void (*stream_destroy)(void *stream);
    enum starpool_status (*synchronize)(void *stream); /* NULL: all of them */
    enum starpool_status (*record)(void *stream, uint64_t *point_out);
    enum starpool_status (*wait)(void *stream, void *other, uint64_t point);
    void (*point_drop)(uint64_t point);
};

extern const struct sp_replay_ops sp_replay_on_pools;
extern const struct sp_replay_ops sp_replay_on_model;

#endif /* SP_TRACE_REPLAY_OPS_H */
