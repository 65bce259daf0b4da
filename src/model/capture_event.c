/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events in captures: recording one remembers a frontier, and waiting for it makes a stream
 * part of the capture, or of what comes next in it. No node stands for either. */
#include "config.h"

#include "src/model/capture_state.h"

#include <stdlib.h>

#include "src/model/blocks.h"

/* ---- recording ----------------------------------------------------------------------- */

static void unlink_event(struct sp_model_captured_event *captured)
{
    *captured->link = captured->next;
    if (captured->next != NULL)
        captured->next->link = captured->link;
    sp_model_frontier_fini(&captured->frontier);
    free(captured->known.points);
    captured->known = (struct sp_clock){.points = NULL};
    captured->capture = NULL;
}

void sp_model_capture_forget(struct sp_model_event *event)
{
    struct sp_model_captured_event *captured = event->captured;

    if (captured == NULL)
        return;
    if (captured->capture != NULL)
        unlink_event(captured);
    free(captured);
    event->captured = NULL;
}

void sp_model_capture_end_events(struct sp_model_capture *capture)
{
    while (capture->events != NULL)
        unlink_event(capture->events);
}

/* The stream's frontier, and its own work beside the others'. */
static sp_cu_result record(struct sp_model_member *member, struct sp_model_event *event)
{
    struct sp_model_capture *capture = member->capture;
    struct sp_model_captured_event *captured = calloc(1, sizeof(*captured));

    if (captured == NULL)
        return SP_CU_OUT_OF_MEMORY;
    if (!sp_model_frontier_merge(&captured->frontier, &member->frontier)) {
        sp_model_frontier_fini(&captured->frontier);
        free(captured);
        return SP_CU_OUT_OF_MEMORY;
    }
    sp_model_uses_merge(&captured->known, &member->known);
    sp_model_uses_add(&captured->known, (struct sp_point){member->number, member->n_works});
    captured->capture = capture;
    captured->next = capture->events;
    captured->link = &capture->events;
    if (captured->next != NULL)
        captured->next->link = &captured->next;
    capture->events = captured;
    sp_model_capture_forget(event);
    event->captured = captured;
    return SP_CU_SUCCESS;
}

bool sp_model_capture_record(struct sp_model_stream *stream, struct sp_model_event *event,
                             sp_cu_result *result_out)
{
    struct sp_model_member *member = stream->member;

    if (member == NULL) {
        *result_out = sp_model_capture_implicit(stream);
        return *result_out != SP_CU_SUCCESS;
    }
    *result_out = member->capture->is_invalidated ? SP_CU_STREAM_CAPTURE_INVALIDATED
                                                  : record(member, event);
    return true;
}

/* ---- waiting ------------------------------------------------------------------------- */

static sp_cu_result isolate(struct sp_model_member *member)
{
    sp_model_capture_invalidate(member->capture);
    return SP_CU_STREAM_CAPTURE_ISOLATION;
}

/* The event was not recorded in a capture. */
static sp_cu_result wait_outside(struct sp_model_member *member,
                                 const struct sp_model_event *event)
{
    bool is_recorded = event->is_recorded || sp_model_event_is_foreign(event);

    if (!is_recorded && sp_model_switch(SP_SWITCH_wait_never_recorded) != 0)
        return SP_CU_SUCCESS;
    return isolate(member);
}

static sp_cu_result refuse_merge(struct sp_model_capture *waiting,
                                 struct sp_model_capture *recorded)
{
    enum { BOTH, WAITING, RECORDED };
    unsigned who = sp_model_switch(SP_SWITCH_merge_dies);

    if (who != RECORDED)
        sp_model_capture_invalidate(waiting);
    if (who != WAITING)
        sp_model_capture_invalidate(recorded);
    return SP_CU_STREAM_CAPTURE_MERGE;
}

/* The legacy stream cannot become part of a capture. */
static sp_cu_result refuse_legacy(struct sp_model_stream *stream,
                                  struct sp_model_capture *capture)
{
    sp_cu_result result = sp_model_capture_implicit(stream);

    sp_model_capture_invalidate(capture);
    return result == SP_CU_SUCCESS ? SP_CU_STREAM_CAPTURE_UNSUPPORTED : result;
}

/* Without memory the stream is what it was. What is known may be less then, and is made up for
 * when the capture ends, by a look at the edges. */
static sp_cu_result join(struct sp_model_stream *stream,
                         const struct sp_model_captured_event *captured)
{
    struct sp_model_frontier frontier = {.n = 0};
    struct sp_model_member *member = stream->member;

    if ((member != NULL && !sp_model_frontier_merge(&frontier, &member->frontier)) ||
        !sp_model_frontier_merge(&frontier, &captured->frontier)) {
        sp_model_frontier_fini(&frontier);
        return SP_CU_OUT_OF_MEMORY;
    }
    if (member == NULL)
        member = sp_model_member_new(captured->capture, stream);
    if (member == NULL) {
        sp_model_frontier_fini(&frontier);
        return SP_CU_OUT_OF_MEMORY;
    }
    sp_model_frontier_fini(&member->frontier);
    member->frontier = frontier;
    sp_model_uses_merge(&member->known, &captured->known);
    return SP_CU_SUCCESS;
}

static sp_cu_result wait_captured(struct sp_model_stream *stream,
                                  const struct sp_model_captured_event *captured)
{
    struct sp_model_member *member = stream->member;
    struct sp_model_capture *capture = captured->capture;

    if (capture == NULL)
        return member == NULL ? SP_CU_CAPTURED_EVENT : isolate(member);
    if (member != NULL && member->capture != capture)
        return refuse_merge(member->capture, capture);
    if (capture->is_invalidated)
        return SP_CU_STREAM_CAPTURE_INVALIDATED;
    if (stream->is_legacy)
        return refuse_legacy(stream, capture);
    return join(stream, captured);
}

bool sp_model_capture_wait(struct sp_model_stream *stream, struct sp_model_event *event,
                           sp_cu_result *result_out)
{
    struct sp_model_member *member = stream->member;

    if (member == NULL && event->captured == NULL) {
        *result_out = sp_model_capture_implicit(stream);
        return *result_out != SP_CU_SUCCESS;
    }
    if (member != NULL && member->capture->is_invalidated)
        *result_out = SP_CU_STREAM_CAPTURE_INVALIDATED;
    else if (event->captured != NULL)
        *result_out = wait_captured(stream, event->captured);
    else
        *result_out = wait_outside(member, event);
    return true;
}

/* ---- the host and contexts ----------------------------------------------------------- */

sp_cu_result sp_model_capture_ask(struct sp_model_event *event)
{
    if (event->captured == NULL)
        return sp_model_capture_unsafe();
    if (event->captured->capture != NULL && sp_model_switch(SP_SWITCH_captured_event) == 0)
        sp_model_capture_invalidate(event->captured->capture);
    return SP_CU_CAPTURED_EVENT;
}

sp_cu_result sp_model_capture_leak(struct sp_model_event *event)
{
    if (event->captured == NULL)
        return SP_CU_SUCCESS;
    if (event->captured->capture == NULL)
        return SP_CU_CAPTURED_EVENT;
    sp_model_capture_invalidate(event->captured->capture);
    return SP_CU_STREAM_CAPTURE_UNSUPPORTED;
}
