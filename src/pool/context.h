/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context that calls of the driver are made in: the program's own if it has one, else the
 * primary one of the device, for the time of the call only. As long as it is entered, the
 * thread holds a guard: what it asks of the driver ends nobody's capture. */
#ifndef SP_CONTEXT_H
#define SP_CONTEXT_H

#include <stdbool.h>

#include <starpool/base.h>

#include "graph/capture.h"
#include "src/driver/driver.h"

/* A context that was made current, and what to undo. */
struct sp_context {
    const struct sp_driver *driver;
    bool is_pushed;
    struct sp_capture_guard guard;
};

/* Make the primary context of a device current if none is. It is retained at the first time and
 * for as long as the process lives. */
STARPOOL_CHECK enum starpool_status sp_context_enter(const struct sp_driver *driver, int device,
                                                     struct sp_context *context_out);

/* Make the primary context of a device current, whatever is. */
STARPOOL_CHECK enum starpool_status sp_context_enter_primary(const struct sp_driver *driver,
                                                             int device,
                                                             struct sp_context *context_out);

/* Make a certain context current. */
STARPOOL_CHECK enum starpool_status sp_context_enter_as(const struct sp_driver *driver,
                                                        sp_cu_context wanted,
                                                        struct sp_context *context_out);

/* A stream of our own making, where it may go with its context: by its id it is told from
 * another that has its handle then. */
struct sp_hidden_stream {
    sp_cu_stream handle;
    unsigned long long id;
};

/* In the context that is current. */
STARPOOL_CHECK enum starpool_status sp_hidden_stream_make(const struct sp_driver *driver,
                                                          struct sp_hidden_stream *stream_out);

bool sp_hidden_stream_lives(const struct sp_driver *driver,
                            const struct sp_hidden_stream *stream);

/* In the primary context of a device, kept: a stream that goes if that is reset; NULL if there
 * is none to be had. */
const struct sp_hidden_stream *sp_context_witness(const struct sp_driver *driver, int device);

/* Whether this process is a forked child of the one that contexts were retained in: nothing may
 * be asked of the driver there. */
bool sp_context_is_inherited(void);

/* With `current`, the context that events are made in, being that: if it is the device's
 * primary one, keep it as long as the process lives, and say by which stream one sees that
 * cuDevicePrimaryCtxReset() has taken what was made in it. NULL: it is another one, or there is
 * no such stream. Handles of events that have gone come back as others', so nobody may destroy
 * them later. */
STARPOOL_CHECK enum starpool_status
sp_context_keep(const struct sp_driver *driver, sp_cu_context current,
                const struct sp_hidden_stream **witness_out);

void sp_context_leave(const struct sp_context *context);

#endif /* SP_CONTEXT_H */
