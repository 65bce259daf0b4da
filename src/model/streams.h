/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's streams and their operations: for everything that queues work or waits for it.
 * All of it is called with the model's lock. */
#ifndef SP_MODEL_STREAMS_H
#define SP_MODEL_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"
#include "src/heap/order.h"
#include "src/heap/reuse.h"

struct sp_model_context;
struct sp_model_member;
struct sp_model_op;
struct sp_model_runner;
struct sp_model_stream_values;

/* Where the memory is that an operation uses. */
struct sp_model_route {
    uint32_t devices; /* bit d: memory of device d, or managed there */
    bool is_host;     /* pinned, or of a pool of the host */
    bool is_pageable; /* unknown to the driver */
};

/* The memory that an operation uses and that is not kept for it: all but that of pools and of
 * graphs, which stays until its uses have executed. */
struct sp_model_touches {
    uint64_t *ids; /* [n] of struct sp_model_memory */
    size_t n, room;
};

struct sp_model_stream {
    sp_slot slot;
    uint64_t id;
    uint64_t n_ops; /* submitted */
    void *handle;   /* NULL for a context's or a thread's default stream */
    unsigned flags;
    int priority; /* 0 down to the greatest, which is negative; of no effect */
    struct sp_model_stream_values *values; /* of its attributes; NULL: none has been set */
    bool is_legacy; /* waits for and is waited for by the blocking streams of its context */
    bool is_destroyed;
    struct sp_model_context *context;
    struct sp_model_op *first, *last; /* not executed yet */
    uint64_t clock_ns;                /* virtual: when its last operation ends */
    uint64_t real_ns;            /* with delays: when it really does, on the system's clock */
    struct sp_model_route route; /* what the next operation uses, for its duration */
    struct sp_model_touches touches; /* what memory that is */
    struct sp_model_stream *next;    /* of the context */
    struct sp_model_runner *runner;  /* its thread, in run.c; NULL before it starts */
    struct sp_model_member *member;  /* of a capture that has not been ended, or NULL */
};

/* What a handle means in this thread: 0, legacy, per-thread or one from cuStreamCreate().
 * INVALID_CONTEXT without a context; INVALID_HANDLE for what is no stream. */
sp_cu_result sp_model_stream_get(sp_cu_stream handle, struct sp_model_stream **stream_out);

/* How an operation is carried out: without the lock; `arg` is freed by free() afterwards. Not
 * called if NULL. It may fail: then the fault is the context's from then on. */
typedef sp_cu_result (*sp_model_run_fn)(void *arg);

enum sp_model_op_kind {
    SP_OP_COPY,
    SP_OP_SET,
    SP_OP_HOST_FUNCTION,
    SP_OP_EVENT,
    SP_OP_WAIT,
    SP_OP_VALUE,
    SP_OP_ALLOC,
    SP_OP_FREE,
    SP_OP_KERNEL,
    SP_OP_CALLBACK, /* run after a fault, too; `arg` begins with a sp_cu_result, which is set */
};

/* The stream's next operation uses that memory. False without memory for the record. */
bool sp_model_touch(struct sp_model_stream *stream, uint64_t memory_id);

/* The point that the stream's next operation will be, with what the legacy stream implies told
 * to the order: for who checks an operation before queueing it. OUT_OF_MEMORY. */
sp_cu_result sp_model_prepare(struct sp_model_stream *stream, struct sp_point *at_out);

/* The next operation of a stream, with what the legacy stream implies: numbered in the order,
 * queued, started. `bytes` is for its modelled duration; `at_out` may be NULL. OUT_OF_MEMORY if
 * it cannot be queued; then `arg` is freed, too. */
sp_cu_result sp_model_submit(struct sp_model_stream *stream, enum sp_model_op_kind kind,
                             size_t bytes, sp_model_run_fn run, void *arg,
                             struct sp_point *at_out);

/* What the stream gets from now on waits until those points have executed; the order is told.
 */
sp_cu_result sp_model_stream_wait_points(struct sp_model_stream *stream,
                                         const struct sp_point *points, size_t n_points);

/* What the stream gets from now on waits for all that another one has; the order is told. */
sp_cu_result sp_model_stream_follow(struct sp_model_stream *stream,
                                    const struct sp_model_stream *other);

/* Wait, with the lock given meanwhile, until the stream has executed all it has now, as a copy
 * does that is over when its call is; the host has seen it then. Pools release nothing: that is
 * for the calls that synchronise in so many words. */
sp_cu_result sp_model_stream_await(struct sp_model_stream *stream);

/* The same in so many words: the legacy stream has what it waits for executed, too, and pools
 * release what their thresholds say (sp_model_pools_seen()). */
sp_cu_result sp_model_stream_finish(struct sp_model_stream *stream);

/* The same for a context, or (NULL) for everything. */
sp_cu_result sp_model_context_finish(struct sp_model_context *context);

/* The greatest priority of streams; the least is 0. */
#define SP_MODEL_GREATEST_PRIORITY (-5)

/* Nanoseconds that an operation of a stream of `device` takes on the virtual clock: the cost
 * model's one question (cost.c). `bytes` are copied, set or looked at by a kernel; `route` says
 * whose they are. */
uint64_t sp_model_duration_ns(enum sp_model_op_kind kind, int device, size_t bytes,
                              const struct sp_model_route *route);

#endif /* SP_MODEL_STREAMS_H */
