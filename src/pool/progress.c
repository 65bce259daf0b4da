/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far streams have come. Events of our own behind each free in a stream of the driver say
 * when that free has executed, also after the stream has gone; streams of our own execute when
 * somebody waits for them, or when they are destroyed. */
#include "config.h"

#include "src/pool/streams.h"

#include "graph/owner.h"
#include "src/pool/context.h"
#include "src/trace/record.h"
#include "src/util/util.h"

/* ---- events ------------------------------------------------------------------------------ */

/* The older event stands still, so that it completes however busy the stream is; the other one
 * moves with every operation. An event object that is recorded again covers only more. */
enum starpool_status sp_streams_submit(struct sp_stream *stream, struct sp_point *point_out)
{
    struct sp_stream_event *event;
    struct sp_context context;
    struct sp_point point;
    enum starpool_status status;

    sp_streams_lock();
    point = sp_order_submit(sp_streams_order(), stream->slot);
    event = &stream->events[stream->older];
    if (event->seq != 0)
        event = &stream->events[1 - stream->older];
    sp_streams_unlock();
    *point_out = point;
    if (stream->driver == NULL)
        return STARPOOL_OK;
    status = sp_context_enter_as(stream->driver, stream->context, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(stream->driver->cuEventRecord(event->event, stream->handle),
                              "cuEventRecord");
    sp_context_leave(&context);
    /* Not the caller's argument is wrong: what it frees is live, and stays so. */
    if (status != STARPOOL_OK)
        return status == STARPOOL_EINVAL ? STARPOOL_EDRIVER : status;
    sp_streams_lock();
    if (event->seq < point.seq)
        event->seq = point.seq;
    sp_streams_unlock();
    return STARPOOL_OK;
}

void sp_streams_mark_alloc(struct sp_stream *stream)
{
    struct sp_point point;

    /* Without the event only the question comes too early, until the stream's next free. */
    if (stream->driver != NULL && stream->handle == STARPOOL_STREAM_PER_THREAD)
        (void)!sp_streams_submit(stream, &point);
}

/* With the lock: everything of a stream up to a point has executed. */
static void note(const struct sp_stream *stream, uint64_t seq, bool is_seen)
{
    struct sp_mark mark = {.at = {stream->slot, seq}};

    if (is_seen) {
        sp_order_see(sp_streams_order(), &mark);
        sp_trace_synchronize(stream->number, seq);
    } else {
        sp_order_executed(sp_streams_order(), stream->slot, seq);
        sp_trace_executed(stream->number, seq);
    }
}

void sp_streams_see(const struct sp_stream *stream)
{
    sp_order_see_stream(sp_streams_order(), stream->slot);
    sp_trace_synchronize(stream->number, 0);
}

void sp_streams_try_to_execute(const struct sp_stream *stream)
{
    struct sp_order *order = sp_streams_order();
    const struct sp_clock *known = &order->streams[stream->slot].known;

    for (uint32_t i = 0; i < known->n_points; i++) {
        struct sp_point point = known->points[i];
        const struct sp_stream *other = sp_streams_at(point.slot);

        if (other != NULL && other->driver != NULL &&
            point.seq > order->streams[point.slot].done_seq)
            return;
    }
    for (uint32_t i = 0; i < known->n_points; i++)
        sp_order_executed(order, known->points[i].slot, known->points[i].seq);
    sp_order_executed(order, stream->slot, order->streams[stream->slot].last_seq);
    sp_trace_executed(stream->number, 0);
}

/* Whether an answer to cuEventQuery() says that nothing before the event runs any more: so it
 * is, too, when the event has gone with its context. */
static bool says_done(sp_cu_result result)
{
    return result == SP_CU_SUCCESS || result == SP_CU_INVALID_HANDLE ||
           result == SP_CU_CONTEXT_IS_DESTROYED || result == SP_CU_DEINITIALIZED;
}

/* Ask an event that was recorded outside of all captures, which may end others' all the same.
 */
static bool is_done_at(const struct sp_stream *stream, sp_cu_event event)
{
    struct sp_capture_guard guard;
    bool is_done;

    sp_capture_guard_begin(stream->driver, &guard);
    is_done = says_done(stream->driver->cuEventQuery(event)) || sp_streams_has_gone(stream);
    sp_capture_guard_end(&guard);
    return is_done;
}

/* With the lock, which is given meanwhile: ask the older event. True if it is worth asking
 * again. */
static bool poll_event(struct sp_stream *stream, bool is_seen)
{
    struct sp_stream_event *event;
    uint64_t seq;
    bool is_done;

    /* The older one may have been taken back while the other was being recorded. */
    if (stream->events[stream->older].seq == 0)
        stream->older = 1 - stream->older;
    event = &stream->events[stream->older];
    seq = event->seq;
    if (seq == 0)
        return false;
    sp_streams_unlock();
    is_done = is_done_at(stream, event->event);
    sp_streams_lock();
    if (!is_done)
        return false;
    note(stream, seq, is_seen);
    if (event->seq == seq) {
        event->seq = 0;
        stream->older = (unsigned)(1 - (event - stream->events));
    }
    return true;
}

/* With a reference and without the lock. */
static void poll_stream(struct sp_stream *stream, bool is_seen)
{
    sp_streams_lock();
    if (stream->driver == NULL)
        sp_streams_try_to_execute(stream);
    else
        while (poll_event(stream, is_seen))
            continue;
    if (is_seen && stream->is_retired && stream->driver == NULL)
        note(stream, sp_streams_order()->streams[stream->slot].done_seq, true);
    sp_streams_unlock();
}

/* With the lock: the stream of a slot if the driver or nobody else carries it on. */
static struct sp_stream *find_pending(sp_slot slot)
{
    struct sp_stream *stream = sp_streams_at(slot);

    return stream != NULL && (stream->driver != NULL || stream->is_retired) ? stream : NULL;
}

static struct sp_stream *get_pending(sp_slot slot)
{
    struct sp_stream *stream;

    sp_streams_lock();
    stream = find_pending(slot);
    if (stream != NULL)
        stream->n_references++;
    sp_streams_unlock();
    return stream;
}

/* The first stream from a slot on that an answer of the driver could be news of, referenced:
 * one of the driver's, or one of our own that is no more and may wait for those. */
static struct sp_stream *get_next_pending(sp_slot *slot, bool is_drivers)
{
    struct sp_stream *stream = NULL;

    sp_streams_lock();
    for (; *slot < sp_streams_order()->n_slots; ++*slot) {
        stream = find_pending(*slot);
        if (stream != NULL && (stream->driver != NULL) == is_drivers &&
            (stream->is_retired || stream->events[0].seq != 0 || stream->events[1].seq != 0))
            break;
        stream = NULL;
    }
    if (stream != NULL)
        stream->n_references++;
    sp_streams_unlock();
    return stream;
}

/* What was freed in streams that are no more has executed, and nobody but the host, here, is
 * left to see it. */
static void see_the_gone(void)
{
    struct sp_order *order = sp_streams_order();

    sp_streams_lock();
    for (sp_slot slot = 0; slot < order->n_slots; slot++) {
        struct sp_mark mark = {.at = {slot, order->streams[slot].done_seq}};

        if (sp_streams_at(slot) != NULL || mark.at.seq <= order->streams[slot].seen_seq)
            continue;
        sp_order_see(order, &mark);
        sp_trace_synchronize(sp_streams_number(mark.at), mark.at.seq);
    }
    sp_streams_unlock();
}

static void poll_all(bool is_drivers, bool is_seen)
{
    struct sp_stream *stream;

    for (sp_slot slot = 0; (stream = get_next_pending(&slot, is_drivers)) != NULL; slot++) {
        poll_stream(stream, is_seen);
        sp_streams_put(stream);
    }
}

void sp_streams_poll(bool is_seen)
{
    poll_all(true, is_seen);
    poll_all(false, is_seen);
    if (is_seen)
        see_the_gone();
}

/* An allocation has no event behind it, but in a stream that only its thread can ask about. */
static void ask_stream(const struct sp_stream *stream)
{
    struct sp_context context;

    if (stream->handle == STARPOOL_STREAM_PER_THREAD ||
        sp_context_enter_as(stream->driver, stream->context, &context) != STARPOOL_OK)
        return;
    (void)!starpool_stream_query(stream->handle);
    sp_context_leave(&context);
}

static bool has_come_to(struct sp_point point)
{
    bool is_done;

    sp_streams_lock();
    is_done = sp_streams_order()->streams[point.slot].done_seq >= point.seq;
    sp_streams_unlock();
    return is_done;
}

/* The newest event that covers a point of a stream of the driver; NULL if none does. */
static sp_cu_event event_for(const struct sp_stream *stream, uint64_t seq)
{
    const struct sp_stream_event *newer = &stream->events[1 - stream->older];
    const struct sp_stream_event *older = &stream->events[stream->older];

    if (newer->seq >= seq)
        return newer->event;
    return older->seq >= seq ? older->event : NULL;
}

/* Whether only the stream itself can say that it has come to a point: what an event covers the
 * stream would not know sooner, and it may be captured before it has answered. */
static bool needs_asking(const struct sp_stream *stream, struct sp_point point)
{
    bool answer;

    if (stream->driver == NULL)
        return false;
    sp_streams_lock();
    answer = !stream->is_retired && event_for(stream, point.seq) == NULL &&
             sp_streams_order()->streams[point.slot].done_seq < point.seq;
    sp_streams_unlock();
    return answer;
}

bool sp_streams_has_executed(struct sp_point point)
{
    struct sp_stream *stream;

    if (point.slot == SP_SLOT_HOST || has_come_to(point))
        return true;
    stream = get_pending(point.slot);
    if (stream != NULL) {
        poll_stream(stream, false);
        if (needs_asking(stream, point))
            ask_stream(stream);
        sp_streams_put(stream);
    }
    return has_come_to(point);
}

/* In the stream's context: wait for an event, or for all of the context where no event covers
 * what is waited for; the stream's handle may be another's by now, or another thread's. No
 * guard saves a capture from the latter, so it is not done where there may be one. */
static enum starpool_status call_wait(const struct sp_driver *driver, sp_cu_event event)
{
    struct sp_capture capture;
    enum starpool_status status;

    if (event != NULL)
        return sp_driver_status(driver->cuEventSynchronize(event), "cuEventSynchronize");
    status = sp_capture_query(driver, STARPOOL_STREAM_LEGACY, &capture);
    if (status == STARPOOL_ECAPTURE_IMPLICIT || sp_owner_is_capturing())
        return STARPOOL_ECAPTURE_UNSUPPORTED;
    return sp_driver_status(driver->cuCtxSynchronize(), "cuCtxSynchronize");
}

/* With the lock, which is given meanwhile: the host waits for a point of the driver. */
static enum starpool_status wait_for(struct sp_stream *stream, uint64_t seq)
{
    sp_cu_event event = event_for(stream, seq);
    struct sp_context context;
    enum starpool_status status = STARPOOL_OK;

    sp_streams_unlock();
    if (!sp_streams_has_gone(stream)) {
        status = sp_context_enter_as(stream->driver, stream->context, &context);
        if (status == STARPOOL_OK) {
            status = call_wait(stream->driver, event);
            sp_context_leave(&context);
        }
    }
    sp_streams_lock();
    if (status == STARPOOL_OK)
        note(stream, seq, true);
    return status;
}

/* With the lock: a stream of the driver that `stream` waits for and that has not come there. */
static struct sp_stream *find_unfinished(const struct sp_stream *stream, uint64_t *seq_out)
{
    const struct sp_order *order = sp_streams_order();
    const struct sp_clock *known = &order->streams[stream->slot].known;

    for (uint32_t i = 0; i < known->n_points; i++) {
        struct sp_point point = known->points[i];
        struct sp_stream *other = sp_streams_at(point.slot);

        *seq_out = point.seq;
        if (other != NULL && other->driver != NULL &&
            point.seq > order->streams[point.slot].done_seq)
            return other;
    }
    return NULL;
}

enum starpool_status sp_streams_execute(struct sp_stream *stream)
{
    enum starpool_status status = STARPOOL_OK;
    struct sp_stream *other;
    uint64_t seq;

    sp_streams_lock();
    while (status == STARPOOL_OK && (other = find_unfinished(stream, &seq)) != NULL) {
        other->n_references++;
        status = wait_for(other, seq);
        sp_streams_unlock();
        sp_streams_put(other);
        sp_streams_lock();
    }
    if (status == STARPOOL_OK)
        sp_streams_see(stream);
    sp_streams_unlock();
    return status;
}

static enum starpool_status await_stream(struct sp_stream *stream, struct sp_stream *other,
                                         uint64_t seq)
{
    struct sp_context context;
    sp_cu_event event;
    enum starpool_status status;
    bool is_done;

    if (other->driver == NULL)
        return sp_streams_execute(other);
    sp_streams_lock();
    event = event_for(other, seq);
    is_done = sp_streams_order()->streams[other->slot].done_seq >= seq;
    sp_streams_unlock();
    /* It has executed and its event has been taken back, or it is a number that was never a
     * point. */
    if (event == NULL)
        return is_done ? STARPOOL_OK : STARPOOL_EINVAL;
    if (sp_streams_has_gone(other))
        return STARPOOL_OK;
    status = sp_context_enter_as(stream->driver, stream->context, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(stream->driver->cuStreamWaitEvent(stream->handle, event, 0),
                              "cuStreamWaitEvent");
    sp_context_leave(&context);
    return status;
}

/* The stream in a slot, referenced; NULL if all of its operations have executed. */
static struct sp_stream *get_in(sp_slot slot)
{
    struct sp_stream *stream;

    sp_streams_lock();
    stream = sp_streams_at(slot);
    if (stream != NULL)
        stream->n_references++;
    sp_streams_unlock();
    return stream;
}

enum starpool_status sp_streams_finish(struct sp_point point)
{
    struct sp_stream *other = get_in(point.slot);
    enum starpool_status status = STARPOOL_OK;

    if (other == NULL)
        return STARPOOL_OK;
    if (other->driver == NULL) {
        status = sp_streams_execute(other);
    } else {
        sp_streams_lock();
        if (sp_streams_order()->streams[point.slot].done_seq < point.seq)
            status = wait_for(other, point.seq);
        sp_streams_unlock();
    }
    sp_streams_put(other);
    return status;
}

enum starpool_status sp_streams_await(struct sp_stream *stream, struct sp_point point)
{
    struct sp_stream *other;
    enum starpool_status status;

    if (stream->driver == NULL || point.slot == stream->slot)
        return STARPOOL_OK;
    other = get_in(point.slot);
    if (other == NULL)
        return STARPOOL_OK;
    status = await_stream(stream, other, point.seq);
    sp_streams_put(other);
    return status;
}
