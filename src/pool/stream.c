/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program asks of its streams: to wait, to be waited for, to be recorded, and whether a
 * block may be used. */
#include "config.h"

#include <starpool/stream.h>

#include <stdlib.h>
#include <string.h>

#include "src/pool/captured.h"
#include "src/pool/context.h"
#include "src/pool/driver_pool.h"
#include "src/pool/ordered.h"
#include "src/pool/pool.h"
#include "src/pool/streams.h"
#include "src/trace/record.h"

/* ---- executing --------------------------------------------------------------------------- */

/* Make a call of the driver on a stream; what it was given before has executed if the answer is
 * success, and the host has seen it. */
static enum starpool_status ask_driver(struct sp_stream *stream, bool waits)
{
    const struct sp_driver *driver = stream->driver;
    struct sp_context context;
    struct sp_mark mark;
    enum starpool_status status;

    sp_streams_lock();
    status = sp_order_record(sp_streams_order(), stream->slot, &mark);
    sp_streams_unlock();
    if (status != STARPOOL_OK)
        return status;
    status = sp_context_enter_as(driver, stream->context, &context);
    if (status == STARPOOL_OK) {
        if (waits)
            status = sp_driver_status(driver->cuStreamSynchronize(stream->handle),
                                      "cuStreamSynchronize");
        else
            status = sp_driver_status(driver->cuStreamQuery(stream->handle), "cuStreamQuery");
        sp_context_leave(&context);
    }
    sp_streams_lock();
    if (status == STARPOOL_OK) {
        sp_order_see(sp_streams_order(), &mark);
        sp_trace_synchronize(stream->number, mark.at.seq);
    }
    sp_mark_fini(&mark);
    sp_streams_unlock();
    return status;
}

enum starpool_status starpool_stream_synchronize(starpool_stream handle)
{
    struct sp_stream *stream;
    enum starpool_status status = sp_streams_get(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    status = stream->driver != NULL ? ask_driver(stream, true) : sp_streams_execute(stream);
    sp_streams_put(stream);
    sp_held_notice();
    if (status == STARPOOL_OK)
        sp_ordered_settle_all();
    return status;
}

enum starpool_status starpool_stream_query(starpool_stream handle)
{
    struct sp_stream *stream;
    const struct sp_order_stream *numbers;
    enum starpool_status status = sp_streams_get(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    if (stream->driver != NULL) {
        status = ask_driver(stream, false);
    } else {
        sp_streams_lock();
        numbers = &sp_streams_order()->streams[stream->slot];
        /* A new stream's numbers go on where those of the last one in its place ended. */
        if (numbers->last_seq > sp_max(numbers->done_seq, numbers->first_seq))
            status = STARPOOL_ENOTREADY;
        else
            sp_streams_see(stream);
        sp_streams_unlock();
    }
    sp_streams_put(stream);
    sp_held_notice();
    return status;
}

/* Marks that a stream of the driver keeps. */
#define MAX_MARKS 1024

/* ---- points ------------------------------------------------------------------------------ */

static bool knows_the_same(const struct sp_clock *a, const struct sp_clock *b)
{
    if (a->n_points != b->n_points)
        return false;
    for (uint32_t i = 0; i < a->n_points; i++) {
        if (a->points[i].slot != b->points[i].slot || a->points[i].seq != b->points[i].seq)
            return false;
    }
    return true;
}

/* With the lock: forget marks that no wait can need: of a point that has executed, with all
 * before it, nothing need be waited for. The last of them stands for those up to the next. A
 * stream of the driver that nobody asks about keeps the latest: what its older points knew
 * still comes before them, only no edge is made of it. */
static void forget_marks(struct sp_stream *stream)
{
    uint64_t done = sp_streams_order()->streams[stream->slot].done_seq;
    bool is_full = stream->driver != NULL && stream->n_marks >= MAX_MARKS;
    uint32_t n = is_full ? MAX_MARKS / 2 : 0;

    for (uint32_t i = 0; i < n; i++)
        sp_mark_fini(&stream->marks[i]);
    while (n + 1 < stream->n_marks && stream->marks[n + 1].at.seq <= done)
        sp_mark_fini(&stream->marks[n++]);
    if (n == 0)
        return;
    stream->n_marks -= n;
    memmove(stream->marks, stream->marks + n, stream->n_marks * sizeof(*stream->marks));
}

/* With the lock: keep what the stream knows now, unless the last mark says the same. */
static enum starpool_status keep_mark(struct sp_stream *stream)
{
    struct sp_mark mark, *marks;
    uint32_t room = stream->room == 0 ? 4 : 2 * stream->room;
    enum starpool_status status = sp_order_record(sp_streams_order(), stream->slot, &mark);

    if (status != STARPOOL_OK)
        return status;
    if (stream->n_marks > 0 &&
        knows_the_same(&stream->marks[stream->n_marks - 1].known, &mark.known)) {
        sp_mark_fini(&mark);
        return STARPOOL_OK;
    }
    forget_marks(stream);
    if (stream->n_marks == stream->room) {
        marks = realloc(stream->marks, room * sizeof(*marks));
        if (marks == NULL) {
            sp_mark_fini(&mark);
            return STARPOOL_ENOMEM;
        }
        stream->marks = marks;
        stream->room = room;
    }
    stream->marks[stream->n_marks++] = mark;
    return STARPOOL_OK;
}

enum starpool_status starpool_stream_record(starpool_stream handle, uint64_t *point_out)
{
    struct sp_stream *stream;
    struct sp_point point;
    enum starpool_status status;

    if (point_out == NULL)
        return STARPOOL_EINVAL;
    status = sp_streams_get(handle, &stream);
    if (status != STARPOOL_OK)
        return status;
    status = sp_streams_submit(stream, &point);
    if (status == STARPOOL_OK) {
        sp_streams_lock();
        status = keep_mark(stream);
        if (status == STARPOOL_OK)
            sp_trace_point(stream->number, point.seq);
        sp_streams_unlock();
    }
    sp_streams_put(stream);
    if (status == STARPOOL_OK)
        *point_out = point.seq;
    return status;
}

/* With the lock: what was known at a point, without memory of its own. */
static struct sp_mark mark_at(const struct sp_stream *stream, struct sp_point point)
{
    struct sp_mark mark = {.at = point};

    for (uint32_t i = stream->n_marks; i > 0; i--) {
        if (stream->marks[i - 1].at.seq <= point.seq) {
            mark.known = stream->marks[i - 1].known;
            break;
        }
    }
    return mark;
}

static enum starpool_status wait_for_point(struct sp_stream *stream, struct sp_stream *other,
                                           struct sp_point point)
{
    enum starpool_status status;
    struct sp_mark mark;
    bool is_known;

    sp_streams_lock();
    is_known = sp_streams_owns(other, point) &&
               point.seq <= sp_streams_order()->streams[point.slot].last_seq;
    sp_streams_unlock();
    if (!is_known)
        return STARPOOL_EINVAL;
    /* The driver first: the order must not say what is not so. */
    status = sp_streams_await(stream, point);
    if (status != STARPOOL_OK || stream == other)
        return status;
    sp_streams_lock();
    mark = mark_at(other, point);
    status = sp_order_wait(sp_streams_order(), stream->slot, &mark);
    if (status == STARPOOL_OK)
        sp_trace_wait(stream->number, other->number, point.seq);
    sp_streams_unlock();
    return status;
}

enum starpool_status starpool_stream_wait(starpool_stream handle, starpool_stream other_handle,
                                          uint64_t point)
{
    struct sp_stream *stream, *other;
    enum starpool_status status = sp_streams_get(handle, &stream);

    if (status != STARPOOL_OK)
        return status;
    status = sp_streams_get(other_handle, &other);
    if (status == STARPOOL_OK) {
        status = wait_for_point(stream, other, (struct sp_point){other->slot, point});
        sp_streams_put(other);
    }
    sp_streams_put(stream);
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Where a live block was allocated; false if there is none. */
static bool find_alloc(const void *ptr, struct sp_point *alloc_out)
{
    const struct sp_range *range = sp_addrmap_find((uintptr_t)ptr).range;
    struct sp_reuse_block block;
    struct sp_owned owned;
    bool is_owned = sp_captured_owned(ptr, &owned);

    if (is_owned && (owned.kind != SP_OWNED_HELD || owned.is_freed))
        return false; /* It is there when the graph runs. */
    if (range != NULL && (is_owned || sp_range_state(range) == SP_RANGE_LIVE)) {
        *alloc_out = (struct sp_point){SP_SLOT_HOST, 0};
        return true;
    }
    if (sp_ordered_find(ptr, NULL, &block) && block.start == (uintptr_t)ptr) {
        *alloc_out = block.alloc;
        return true;
    }
    return sp_driver_pool_find_alloc(ptr, alloc_out);
}

bool starpool_is_ready(const void *ptr)
{
    struct sp_point alloc;

    return find_alloc(ptr, &alloc) && sp_streams_has_executed(alloc);
}

bool starpool_is_ready_on(const void *ptr, starpool_stream consumer, uint64_t point)
{
    struct sp_stream *stream;
    struct sp_point alloc;
    bool is_own;

    if (!find_alloc(ptr, &alloc))
        return false;
    if (consumer == STARPOOL_STREAM_HOST || sp_streams_get(consumer, &stream) != STARPOOL_OK)
        return false;
    sp_streams_lock();
    is_own = sp_streams_owns(stream, alloc);
    sp_streams_unlock();
    sp_streams_put(stream);
    return is_own || alloc.slot == SP_SLOT_HOST || point >= alloc.seq;
}
