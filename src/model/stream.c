/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams: what their handles mean, queueing operations with what they wait for, and waiting
 * for them. The virtual clock is reckoned when an operation is queued, so that it does not
 * depend on when threads run. */
#include "config.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/handles.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* Behind the model's lock. */
static struct {
    struct sp_handles handles;
} streams;

/* ---- beginning and end --------------------------------------------------------------- */

struct sp_model_stream *sp_model_stream_open(struct sp_model_context *context, unsigned flags,
                                             bool is_legacy)
{
    struct sp_model_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL)
        return NULL;
    if (sp_order_add_stream(sp_model_order(), &stream->slot) != STARPOOL_OK) {
        free(stream);
        return NULL;
    }
    stream->id = sp_model_order()->streams[stream->slot].id;
    stream->flags = flags;
    stream->is_legacy = is_legacy;
    stream->context = context;
    stream->next = context->streams;
    context->streams = stream;
    if (context->gate != NULL &&
        sp_model_stream_follow(stream, context->gate) != SP_CU_SUCCESS) {
        sp_model_stream_close(stream);
        return NULL;
    }
    return stream;
}

static struct sp_model_stream *legacy_of(struct sp_model_context *context)
{
    if (context->legacy == NULL)
        context->legacy = sp_model_stream_open(context, SP_CU_STREAM_DEFAULT, true);
    return context->legacy;
}

void sp_model_stream_close(struct sp_model_stream *stream)
{
    struct sp_model_stream *legacy;

    sp_model_capture_leave(stream);
    /* The legacy stream goes on coming after what this one was given. */
    if (sp_model_stream_is_blocking(stream) && stream->n_ops > 0) {
        legacy = legacy_of(stream->context);
        if (legacy != NULL)
            (void)!sp_order_join(sp_model_order(), legacy->slot, stream->slot);
    }
    stream->is_destroyed = true;
    sp_model_run_notify(stream);
}

/* Remember where it ended, for the next time that the host waits for the context. Without
 * memory less is known, and less memory is used again. */
static void note_end(struct sp_clock *ended, struct sp_point at)
{
    for (uint32_t i = 0; i < ended->n_points; i++) {
        if (ended->points[i].slot == at.slot) {
            ended->points[i].seq = at.seq;
            return;
        }
    }
    if (ended->n_points == ended->room) {
        uint32_t room = ended->room == 0 ? 8 : 2 * ended->room;
        struct sp_point *points = realloc(ended->points, room * sizeof(*points));

        if (points == NULL)
            return;
        ended->points = points;
        ended->room = room;
    }
    ended->points[ended->n_points++] = at;
}

static void free_stream(struct sp_model_stream *stream)
{
    free(stream->touches.ids);
    free(stream->values);
    free(stream);
}

void sp_model_stream_ended(struct sp_model_stream *stream)
{
    struct sp_model_stream **link = &stream->context->streams;

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    if (stream->n_ops > 0)
        note_end(&stream->context->ended, sp_model_stream_last(stream));
    sp_order_remove_stream(sp_model_order(), stream->slot);
    free_stream(stream);
}

void sp_model_streams_drop(struct sp_model_context *context)
{
    struct sp_model_stream *next;

    for (struct sp_model_stream *stream = context->streams; stream != NULL; stream = next) {
        next = stream->next;
        if (stream->is_destroyed)
            continue;
        if (stream->handle != NULL)
            sp_handles_remove(&streams.handles, stream->handle);
        sp_model_capture_leave(stream);
        stream->is_destroyed = true;
        sp_model_run_notify(stream);
    }
    context->legacy = context->gate = NULL;
    context->n_drops++;
}

void sp_model_streams_reset(void)
{
    for (struct sp_model_context *context = sp_model_contexts(); context != NULL;
         context = context->next) {
        while (context->streams != NULL) {
            struct sp_model_stream *stream = context->streams;

            context->streams = stream->next;
            free_stream(stream);
        }
        free(context->ended.points);
    }
    sp_handles_fini(&streams.handles);
    sp_model_queue_reset();
}

/* ---- what a handle means ------------------------------------------------------------- */

sp_cu_result sp_model_stream_get(sp_cu_stream handle, struct sp_model_stream **stream_out)
{
    struct sp_model_context *context;
    struct sp_model_stream *stream;
    sp_cu_result result;

    if ((uintptr_t)handle > (uintptr_t)SP_CU_STREAM_PER_THREAD) {
        stream = sp_handles_find(&streams.handles, handle);
        if (stream == NULL)
            return SP_CU_INVALID_HANDLE;
    } else {
        result = sp_model_context_get(&context);
        if (result != SP_CU_SUCCESS)
            return result;
        stream = handle == SP_CU_STREAM_PER_THREAD ? sp_model_thread_stream(context)
                                                   : legacy_of(context);
        if (stream == NULL)
            return SP_CU_OUT_OF_MEMORY;
    }
    if (stream->context->fault != SP_CU_SUCCESS)
        return stream->context->fault;
    *stream_out = stream;
    return SP_CU_SUCCESS;
}

/* ---- waiting ------------------------------------------------------------------------- */

/* What is known may be more than the last operation waits for, if another came later and was
 * refused, or if a stream that the next one will wait for has been destroyed. */
void sp_model_finish_mark(struct sp_mark *mark, uint64_t clock_ns)
{
    sp_model_run_wait(mark->at);
    for (uint32_t i = 0; i < mark->known.n_points; i++)
        sp_model_run_wait(mark->known.points[i]);
    sp_order_see(sp_model_order(), mark);
    sp_mark_fini(mark);
    sp_model_host_not_before(clock_ns);
}

/* The legacy stream is only done when those that it waits for are. */
static sp_cu_result gather(struct sp_model_stream *stream)
{
    if (!stream->is_legacy)
        return SP_CU_SUCCESS;
    return sp_model_submit(stream, SP_OP_WAIT, 0, NULL, NULL, NULL);
}

sp_cu_result sp_model_stream_await(struct sp_model_stream *stream)
{
    struct sp_model_context *context = stream->context;
    struct sp_mark mark;

    if (sp_order_record(sp_model_order(), stream->slot, &mark) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    sp_model_finish_mark(&mark, stream->clock_ns);
    return context->fault;
}

sp_cu_result sp_model_stream_finish(struct sp_model_stream *stream)
{
    sp_cu_result result = gather(stream);

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_model_stream_await(stream);
    sp_model_pools_seen();
    return result;
}

/* What the host has to wait for to have waited for a context. */
struct awaited {
    struct sp_mark mark;
    uint64_t clock_ns;
};

static void see_ended(struct sp_model_context *context)
{
    struct sp_clock *ended = &context->ended;

    for (uint32_t i = 0; i < ended->n_points; i++)
        sp_order_see(sp_model_order(), &(struct sp_mark){.at = ended->points[i]});
    ended->n_points = 0;
}

/* One context, whose streams may come and go while the lock is given. */
static sp_cu_result finish_streams(struct sp_model_context *context)
{
    size_t n = 0, n_streams = sp_model_count_streams(context);
    struct awaited *awaited = calloc(n_streams + 1, sizeof(*awaited));
    bool is_complete = awaited != NULL;

    for (struct sp_model_stream *stream = context->streams; is_complete && stream != NULL;
         stream = stream->next) {
        is_complete =
            sp_order_record(sp_model_order(), stream->slot, &awaited[n].mark) == STARPOOL_OK;
        if (is_complete)
            awaited[n++].clock_ns = stream->clock_ns;
    }
    see_ended(context);
    for (size_t i = 0; i < n; i++)
        sp_model_finish_mark(&awaited[i].mark, awaited[i].clock_ns);
    free(awaited);
    return is_complete ? SP_CU_SUCCESS : SP_CU_OUT_OF_MEMORY;
}

sp_cu_result sp_model_context_finish(struct sp_model_context *context)
{
    sp_cu_result result = SP_CU_SUCCESS;

    if (context != NULL) {
        result = finish_streams(context);
    } else {
        for (context = sp_model_contexts(); context != NULL && result == SP_CU_SUCCESS;
             context = context->next)
            result = finish_streams(context);
    }
    sp_model_pools_seen();
    if (result == SP_CU_SUCCESS && context != NULL)
        result = context->fault;
    return result;
}

/* ---- entry points -------------------------------------------------------------------- */

/* A priority out of range is clamped. */
static sp_cu_result create(sp_cu_stream *stream_out, unsigned flags, int priority)
{
    struct sp_model_context *context;
    struct sp_model_stream *stream;
    sp_cu_result result;

    if (stream_out == NULL || flags > SP_CU_STREAM_NON_BLOCKING)
        return SP_CU_INVALID_VALUE;
    result = sp_model_context_get(&context);
    if (result != SP_CU_SUCCESS)
        return result;
    stream = sp_model_stream_open(context, flags, false);
    if (stream == NULL)
        return SP_CU_OUT_OF_MEMORY;
    stream->handle = sp_handles_add(&streams.handles, stream);
    if (stream->handle == NULL) {
        sp_model_stream_close(stream);
        return SP_CU_OUT_OF_MEMORY;
    }
    if (priority < SP_MODEL_GREATEST_PRIORITY)
        priority = SP_MODEL_GREATEST_PRIORITY;
    stream->priority = priority > 0 ? 0 : priority;
    *stream_out = stream->handle;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamCreate(sp_cu_stream *stream_out, unsigned flags)
{
    SP_MODEL_ENTER(cuStreamCreate);
    return sp_model_leave(create(stream_out, flags, 0));
}

sp_cu_result sp_model_cuStreamCreateWithPriority(sp_cu_stream *stream_out, unsigned flags,
                                                 int priority)
{
    SP_MODEL_ENTER(cuStreamCreateWithPriority);
    return sp_model_leave(create(stream_out, flags, priority));
}

sp_cu_result sp_model_cuStreamDestroy(sp_cu_stream handle)
{
    struct sp_model_stream *stream;

    SP_MODEL_ENTER(cuStreamDestroy);
    stream = sp_handles_find(&streams.handles, handle);
    if (stream == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    sp_handles_remove(&streams.handles, handle);
    sp_model_stream_close(stream);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuStreamSynchronize(sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamSynchronize);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_forbid(stream);
    if (result == SP_CU_SUCCESS)
        result = sp_model_stream_finish(stream);
    return sp_model_leave(result);
}

/* The host has found a stream idle, and so has seen all of it, with what came before. Without
 * memory for the mark it has seen less. */
static void see_idle(struct sp_model_stream *stream)
{
    struct sp_mark mark;
    bool is_over = true;

    if (sp_order_record(sp_model_order(), stream->slot, &mark) != STARPOOL_OK)
        return;
    for (uint32_t i = 0; i < mark.known.n_points; i++)
        is_over = is_over && sp_model_has_executed(mark.known.points[i]);
    if (is_over)
        sp_model_finish_mark(&mark, stream->clock_ns);
    else
        sp_mark_fini(&mark);
}

static sp_cu_result query(struct sp_model_stream *stream)
{
    if (stream->first != NULL)
        return SP_CU_NOT_READY;
    for (struct sp_model_stream *other = stream->context->streams;
         stream->is_legacy && other != NULL; other = other->next) {
        if (sp_model_stream_is_blocking(other) && other->first != NULL)
            return SP_CU_NOT_READY;
    }
    for (struct sp_model_stream *other = stream->context->streams; other != NULL;
         other = other->next) {
        if (other == stream || (stream->is_legacy && sp_model_stream_is_blocking(other)))
            see_idle(other);
    }
    sp_model_pools_queried();
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamQuery(sp_cu_stream handle)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamQuery);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_forbid(stream);
    if (result == SP_CU_SUCCESS)
        result = query(stream);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuCtxSynchronize(void)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxSynchronize);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_synchronize(context);
    if (result == SP_CU_SUCCESS)
        result = sp_model_context_finish(context);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuStreamGetId(sp_cu_stream handle, unsigned long long *id_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamGetId);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && id_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *id_out = stream->id;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuStreamGetCtx(sp_cu_stream handle, sp_cu_context *context_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamGetCtx);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && context_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *context_out = (sp_cu_context)stream->context;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuStreamGetFlags(sp_cu_stream handle, unsigned *flags_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamGetFlags);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && flags_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *flags_out = stream->flags;
    return sp_model_leave(result);
}
