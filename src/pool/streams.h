/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The streams of the process, our own and the driver's, and the one order of all of them. */
#ifndef SP_STREAMS_H
#define SP_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/stream.h>

#include "src/driver/driver.h"
#include "src/heap/order.h"
#include "src/pool/context.h"

/* A stream as it was when its handle was given. What never changes is read without the lock. */
struct sp_stream {
    starpool_stream handle;
    sp_slot slot;
    const struct sp_driver *driver;    /* NULL: one of our own */
    struct starpool_location location; /* of our own ones; of others for traces only */
    uint64_t id;                       /* the driver's; 0: one of our own */
    uint64_t number;                   /* the order's, and in traces */
    sp_cu_context context;             /* of a driver's stream: what its events belong to */
    const struct sp_hidden_stream *witness; /* lives as long as the events; NULL: unknown */
    struct sp_stream_event {
        sp_cu_event event;
        uint64_t seq; /* everything up to there comes before it; 0: not in use */
    } events[2];
    unsigned older;        /* which of the two is asked; the other one moves on */
    unsigned n_references; /* of calls that use it now */
    bool is_retired;       /* the handle means another stream by now, or none */
    bool is_doomed;        /* in the list of those to be looked at */
    uint64_t last_seq;     /* when it was retired */
    struct sp_mark *marks; /* [n_marks] points with what was known there, by rising number */
    uint32_t n_marks, room;
    struct sp_stream *next; /* in its bucket; doomed: in that list */
};

/* The lock of the order (rank ORDER), and the order. */
void sp_streams_lock(void);
void sp_streams_unlock(void);
struct sp_order *sp_streams_order(void);

/* The stream that a handle means now, to be put when done. EINVAL: none, or STREAM_HOST;
 * ENOMEM; what the driver answers. ECAPTURE_UNSUPPORTED: the stream is being captured, and
 * nothing may be done with it but what sp_captured_alloc() and its like do;
 * ECAPTURE_INVALIDATED, ECAPTURE_IMPLICIT: as sp_capture_query() says. */
STARPOOL_CHECK enum starpool_status sp_streams_get(starpool_stream handle,
                                                   struct sp_stream **stream_out);
void sp_streams_put(struct sp_stream *stream);

/* Whether a handle means a stream of our own. */
bool sp_streams_is_own(starpool_stream handle);

/* With the lock: the host has waited for all of a stream. */
void sp_streams_see(const struct sp_stream *stream);

/* With the lock: the number of a point's stream; STARPOOL_TRACE_HOST for the host. */
uint64_t sp_streams_number(struct sp_point point);

/* Whether what a stream of the driver has been given is gone with the context that it was made
 * in. False if that is not known. */
bool sp_streams_has_gone(const struct sp_stream *stream);

/* The stream of the driver that a point is of, referenced, if its handle still means it to this
 * thread in its own context; NULL: another one, or none. */
struct sp_stream *sp_streams_get_at(struct sp_point point);

/* With the lock: the stream in a slot; NULL if all of its operations have executed. */
struct sp_stream *sp_streams_at(sp_slot slot);

/* The next operation of a stream, with an event behind it if it is the driver's. */
STARPOOL_CHECK enum starpool_status sp_streams_submit(struct sp_stream *stream,
                                                      struct sp_point *point_out);

/* After an allocation: an event behind it where nobody but the stream's thread could ask how
 * far the stream has come. */
void sp_streams_mark_alloc(struct sp_stream *stream);

/* Make a stream of the driver wait for a point; the order is told by others. A stream of our
 * own that it waits for is executed. */
STARPOOL_CHECK enum starpool_status sp_streams_await(struct sp_stream *stream,
                                                     struct sp_point point);

/* The host waits for a point. */
STARPOOL_CHECK enum starpool_status sp_streams_finish(struct sp_point point);

/* The host waits for a stream of our own, and so for all that it waits for: it has executed,
 * and the host has seen it. */
STARPOOL_CHECK enum starpool_status sp_streams_execute(struct sp_stream *stream);

/* With the lock: execute a stream of our own that nobody can wait for any more, unless it waits
 * for a stream of the driver that has not come there. */
void sp_streams_try_to_execute(const struct sp_stream *stream);

/* Ask the driver which of its streams have come how far. With `is_seen` it is the host that
 * asks, so that the order of the host knows; else they have only executed. */
void sp_streams_poll(bool is_seen);

/* Whether an operation has executed; the driver is asked if need be. */
bool sp_streams_has_executed(struct sp_point point);

/* Whether a point is one of this stream and not of an earlier one in its slot. With the lock.
 */
bool sp_streams_owns(const struct sp_stream *stream, struct sp_point point);

/* The location whose current pool serves a stream. */
STARPOOL_CHECK enum starpool_status sp_streams_location(struct sp_stream *stream,
                                                        struct starpool_location *location_out);

/* Hold the order still around a fork. */
void sp_streams_freeze(void);
void sp_streams_thaw(void);

#endif /* SP_STREAMS_H */
