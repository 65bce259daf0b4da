/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events: marks in streams. A wait takes what the event means at the call, so that recording it
 * again or destroying it changes nothing for those who wait. */
#include "config.h"

#include "src/model/event.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/handles.h"
#include "src/util/util.h"

#define FLAGS                                                           \
    (unsigned)(SP_CU_EVENT_BLOCKING_SYNC | SP_CU_EVENT_DISABLE_TIMING | \
               SP_CU_EVENT_INTERPROCESS)

/* [ns] How often the host looks at an event of another process. */
#define POLL_NS 50000

/* Behind the model's lock. */
static struct {
    struct sp_handles handles;
    struct sp_model_event *all;
} events;

/* ---- beginning and end --------------------------------------------------------------- */

struct sp_model_event *sp_model_event_open(struct sp_model_context *context, unsigned flags)
{
    struct sp_model_event *event = calloc(1, sizeof(*event));

    if (event == NULL)
        return NULL;
    event->handle = sp_handles_add(&events.handles, event);
    if (event->handle == NULL) {
        free(event);
        return NULL;
    }
    event->context = context;
    event->flags = flags;
    event->next = events.all;
    event->link_here = &events.all;
    if (event->next != NULL)
        event->next->link_here = &event->next;
    events.all = event;
    return event;
}

static void forget_mark(struct sp_model_event *event)
{
    if (event->is_recorded)
        sp_mark_fini(&event->mark);
    event->is_recorded = false;
}

void sp_model_event_close(struct sp_model_event *event)
{
    *event->link_here = event->next;
    if (event->next != NULL)
        event->next->link_here = event->link_here;
    sp_handles_remove(&events.handles, event->handle);
    forget_mark(event);
    sp_model_capture_forget(event);
    if (event->link != NULL)
        sp_model_link_put(event->link);
    free(event);
}

struct sp_model_event *sp_model_event_find(sp_cu_event handle)
{
    return sp_handles_find(&events.handles, handle);
}

void sp_model_events_drop(struct sp_model_context *context)
{
    struct sp_model_event *next;

    for (struct sp_model_event *event = events.all; event != NULL; event = next) {
        next = event->next;
        if (event->context == context)
            sp_model_event_close(event);
    }
}

void sp_model_events_reset(void)
{
    while (events.all != NULL)
        sp_model_event_close(events.all);
    sp_handles_fini(&events.handles);
    sp_model_links_reset();
}

/* What an entry point is about; the error of its context if that has failed. */
static sp_cu_result get_event(sp_cu_event handle, struct sp_model_event **event_out)
{
    struct sp_model_event *event = sp_model_event_find(handle);

    if (event == NULL)
        return SP_CU_INVALID_HANDLE;
    if (event->context->fault != SP_CU_SUCCESS)
        return event->context->fault;
    *event_out = event;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuEventCreate(sp_cu_event *event_out, unsigned flags)
{
    bool is_shared = (flags & SP_CU_EVENT_INTERPROCESS) != 0;
    struct sp_model_context *context;
    struct sp_model_event *event;
    sp_cu_result result;

    SP_MODEL_ENTER(cuEventCreate);
    result = sp_model_context_get(&context);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if (event_out == NULL || (flags & ~FLAGS) != 0 ||
        (is_shared && (flags & SP_CU_EVENT_DISABLE_TIMING) == 0))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    event = sp_model_event_open(context, flags);
    if (event == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    if (is_shared && !sp_model_link_create(event)) {
        sp_model_event_close(event);
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    }
    *event_out = event->handle;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuEventDestroy(sp_cu_event handle)
{
    struct sp_model_event *event;

    SP_MODEL_ENTER(cuEventDestroy);
    event = sp_model_event_find(handle);
    if (event == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    sp_model_event_close(event);
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- recording and waiting ----------------------------------------------------------- */

sp_cu_result sp_model_event_record(struct sp_model_event *event, struct sp_model_stream *stream)
{
    void *turn = event->link == NULL ? NULL : sp_model_turn_begin(event);
    sp_cu_result result;

    if (event->link != NULL && turn == NULL)
        return SP_CU_OUT_OF_MEMORY;
    result = sp_model_submit(stream, SP_OP_EVENT, 0, turn == NULL ? NULL : sp_model_turn_end,
                             turn, NULL);
    if (result != SP_CU_SUCCESS) {
        if (event->link != NULL)
            sp_model_turn_cancel(event);
        return result;
    }
    sp_model_capture_forget(event);
    forget_mark(event);
    if (sp_order_record(sp_model_order(), stream->slot, &event->mark) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    event->is_recorded = true;
    event->clock_ns = stream->clock_ns;
    return SP_CU_SUCCESS;
}

/* A capturing stream gets a node that acts on the event at each launch. */
static sp_cu_result capture_external(struct sp_model_stream *stream, int type,
                                     const struct sp_model_event *event)
{
    struct sp_model_work work = {.type = type, .event = (sp_cu_event)event->handle};
    sp_cu_result result;

    if (sp_model_capture_work(stream, &work, &result))
        return result;
    return SP_CU_INVALID_VALUE;
}

/* In a capture the mark of an earlier record outside is of no use any more. */
static sp_cu_result record_in(struct sp_model_event *event, struct sp_model_stream *stream)
{
    sp_cu_result result;

    if (!sp_model_capture_record(stream, event, &result))
        return sp_model_event_record(event, stream);
    if (result == SP_CU_SUCCESS)
        forget_mark(event);
    return result;
}

static sp_cu_result record_locked(sp_cu_event handle, sp_cu_stream stream_handle,
                                  unsigned flags)
{
    struct sp_model_event *event;
    struct sp_model_stream *stream;
    sp_cu_result result = get_event(handle, &event);

    if (result == SP_CU_SUCCESS)
        result = sp_model_stream_get(stream_handle, &stream);
    if (result == SP_CU_SUCCESS && flags > SP_CU_EVENT_RECORD_EXTERNAL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS && stream->context != event->context)
        result = SP_CU_INVALID_HANDLE;
    if (result != SP_CU_SUCCESS)
        return result;
    return flags == SP_CU_EVENT_RECORD_EXTERNAL
               ? capture_external(stream, SP_CU_NODE_EVENT_RECORD, event)
               : record_in(event, stream);
}

sp_cu_result sp_model_cuEventRecord(sp_cu_event event, sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuEventRecord);
    return sp_model_leave(record_locked(event, stream, SP_CU_EVENT_RECORD_DEFAULT));
}

sp_cu_result sp_model_cuEventRecordWithFlags(sp_cu_event event, sp_cu_stream stream,
                                             unsigned flags)
{
    SP_MODEL_ENTER(cuEventRecordWithFlags);
    return sp_model_leave(record_locked(event, stream, flags));
}

/* The last recording is another process's: all there is to know is when it is over. */
static sp_cu_result wait_foreign(struct sp_model_stream *stream, struct sp_model_event *event)
{
    struct sp_model_gate gate = {.poll = sp_model_turn_is_over};
    void *turn = sp_model_turn_await(event);
    sp_cu_result result;

    if (turn == NULL)
        return SP_CU_OUT_OF_MEMORY;
    result =
        sp_model_submit_gated(stream, SP_OP_EVENT, &gate, sp_model_turn_forget, turn, NULL);
    if (result != SP_CU_SUCCESS)
        sp_model_link_put(event->link);
    return result;
}

sp_cu_result sp_model_event_await(struct sp_model_event *event, struct sp_model_stream *stream)
{
    struct sp_model_gate gate = {.points = &event->mark.at, .n_points = 1};

    if (sp_model_event_is_foreign(event))
        return wait_foreign(stream, event);
    if (!event->is_recorded)
        return SP_CU_SUCCESS;
    if (sp_order_wait(sp_model_order(), stream->slot, &event->mark) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    sp_model_stream_not_before(stream, event->clock_ns);
    return sp_model_submit_gated(stream, SP_OP_WAIT, &gate, NULL, NULL, NULL);
}

sp_cu_result sp_model_cuStreamWaitEvent(sp_cu_stream stream_handle, sp_cu_event handle,
                                        unsigned flags)
{
    struct sp_model_event *event;
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamWaitEvent);
    result = sp_model_stream_get(stream_handle, &stream);
    if (result == SP_CU_SUCCESS)
        result = get_event(handle, &event);
    if (result == SP_CU_SUCCESS && flags > SP_CU_EVENT_WAIT_EXTERNAL)
        result = SP_CU_INVALID_VALUE;
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if (flags == SP_CU_EVENT_WAIT_EXTERNAL)
        return sp_model_leave(capture_external(stream, SP_CU_NODE_WAIT_EVENT, event));
    if (!sp_model_capture_wait(stream, event, &result))
        result = sp_model_event_await(event, stream);
    return sp_model_leave(result);
}

/* ---- contexts ------------------------------------------------------------------------ */

/* A stream that nobody else has gathers what all the others have. */
static sp_cu_result record_context(struct sp_model_event *event)
{
    struct sp_model_context *context = event->context;
    struct sp_model_stream *all =
        sp_model_stream_open(context, SP_CU_STREAM_NON_BLOCKING, false);
    sp_cu_result result = SP_CU_SUCCESS;

    if (all == NULL)
        return SP_CU_OUT_OF_MEMORY;
    for (struct sp_model_stream *stream = context->streams;
         result == SP_CU_SUCCESS && stream != NULL; stream = stream->next) {
        if (stream != all)
            result = sp_model_stream_follow(all, stream);
    }
    if (result == SP_CU_SUCCESS)
        result = sp_model_event_record(event, all);
    sp_model_stream_close(all);
    return result;
}

sp_cu_result sp_model_cuCtxRecordEvent(sp_cu_context handle, sp_cu_event event_handle)
{
    struct sp_model_context *context;
    struct sp_model_event *event;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxRecordEvent);
    context = sp_model_context_find(handle);
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    result = get_event(event_handle, &event);
    if (result == SP_CU_SUCCESS && event->context != context)
        result = SP_CU_INVALID_HANDLE;
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_context(context);
    if (result == SP_CU_SUCCESS)
        result = record_context(event);
    return sp_model_leave(result);
}

/* Every stream waits, and so will those that are made later: for the gate. */
static sp_cu_result hold_context(struct sp_model_context *context, struct sp_model_event *event)
{
    sp_cu_result result = SP_CU_SUCCESS;

    if (context->gate == NULL)
        context->gate = sp_model_stream_open(context, SP_CU_STREAM_NON_BLOCKING, false);
    if (context->gate == NULL)
        return SP_CU_OUT_OF_MEMORY;
    for (struct sp_model_stream *stream = context->streams;
         result == SP_CU_SUCCESS && stream != NULL; stream = stream->next) {
        if (!stream->is_destroyed)
            result = sp_model_event_await(event, stream);
    }
    return result;
}

sp_cu_result sp_model_cuCtxWaitEvent(sp_cu_context handle, sp_cu_event event_handle)
{
    struct sp_model_context *context;
    struct sp_model_event *event;
    sp_cu_result result, leaked;

    SP_MODEL_ENTER(cuCtxWaitEvent);
    context = sp_model_context_find(handle);
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    result = get_event(event_handle, &event);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    result = sp_model_capture_context(context);
    leaked = sp_model_capture_leak(event);
    if (result == SP_CU_SUCCESS)
        result = leaked;
    if (result == SP_CU_SUCCESS)
        result = hold_context(context, event);
    return sp_model_leave(result);
}

/* ---- the host ------------------------------------------------------------------------ */

static bool is_over(const struct sp_model_event *event)
{
    if (sp_model_event_is_foreign(event))
        return sp_model_link_is_over(event->link);
    return !event->is_recorded || sp_model_has_executed(event->mark.at);
}

sp_cu_result sp_model_cuEventQuery(sp_cu_event handle)
{
    struct sp_model_event *event;
    sp_cu_result result;

    SP_MODEL_ENTER(cuEventQuery);
    result = get_event(handle, &event);
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_ask(event);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if (!is_over(event))
        return sp_model_leave(SP_CU_NOT_READY);
    /* That another process's recording is over says nothing of our own before it. */
    if (event->is_recorded && sp_model_has_executed(event->mark.at)) {
        sp_order_see(sp_model_order(), &event->mark);
        sp_model_host_not_before(event->clock_ns);
    }
    sp_model_pools_queried();
    return sp_model_leave(SP_CU_SUCCESS);
}

/* The event may be recorded again or destroyed by another thread meanwhile. */
static sp_cu_result finish(struct sp_model_event *event)
{
    struct sp_model_context *context = event->context;
    sp_cu_event handle = event->handle;
    struct sp_point at = event->mark.at;
    uint64_t clock_ns = event->clock_ns;

    sp_model_run_wait(at);
    sp_model_host_not_before(clock_ns);
    event = sp_model_event_find(handle);
    if (event != NULL && event->is_recorded && event->mark.at.slot == at.slot &&
        event->mark.at.seq == at.seq)
        sp_order_see(sp_model_order(), &event->mark);
    else
        sp_order_see(sp_model_order(), &(struct sp_mark){.at = at});
    sp_model_pools_seen();
    return context->fault;
}

static sp_cu_result finish_foreign(struct sp_model_event *event)
{
    sp_cu_event handle = event->handle;

    while (event != NULL && !is_over(event)) {
        sp_model_wait_progress(POLL_NS);
        event = sp_model_event_find(handle);
    }
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuEventSynchronize(sp_cu_event handle)
{
    struct sp_model_event *event;
    sp_cu_result result;

    SP_MODEL_ENTER(cuEventSynchronize);
    result = get_event(handle, &event);
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_ask(event);
    if (result == SP_CU_SUCCESS && sp_model_event_is_foreign(event))
        result = finish_foreign(event);
    else if (result == SP_CU_SUCCESS && event->is_recorded)
        result = finish(event);
    return sp_model_leave(result);
}

/* Both on the virtual clock. */
sp_cu_result sp_model_cuEventElapsedTime(float *milliseconds_out, sp_cu_event start_handle,
                                         sp_cu_event end_handle)
{
    struct sp_model_event *start, *end;
    sp_cu_result result;

    SP_MODEL_ENTER(cuEventElapsedTime);
    result = get_event(start_handle, &start);
    if (result == SP_CU_SUCCESS)
        result = get_event(end_handle, &end);
    if (result == SP_CU_SUCCESS && milliseconds_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS && (start->captured != NULL || end->captured != NULL))
        result = SP_CU_CAPTURED_EVENT;
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if (!start->is_recorded || !end->is_recorded ||
        ((start->flags | end->flags) & SP_CU_EVENT_DISABLE_TIMING) != 0)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    if (!is_over(start) || !is_over(end))
        return sp_model_leave(SP_CU_NOT_READY);
    *milliseconds_out = (float)(((double)end->clock_ns - (double)start->clock_ns) / 1e6);
    return sp_model_leave(SP_CU_SUCCESS);
}
