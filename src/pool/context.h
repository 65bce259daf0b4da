/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context that calls of the driver are made in: the program's own if it has one, else the
 * primary one of the device, for the time of the call only. */
#ifndef SP_CONTEXT_H
#define SP_CONTEXT_H

#include <stdbool.h>

#include <starpool/base.h>

#include "src/driver/driver.h"

/* A context that was made current, and what to undo. */
struct sp_context {
    const struct sp_driver *driver;
    bool is_pushed;
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

/* With `current`, the context that events are made in, being that: if it is the device's
 * primary one, keep it as long as the process lives. Handles of events that go with another
 * come back as others', so nobody may destroy them later. */
STARPOOL_CHECK enum starpool_status sp_context_keep(const struct sp_driver *driver,
                                                    sp_cu_context current, bool *is_kept_out);

void sp_context_leave(const struct sp_context *context);

#endif /* SP_CONTEXT_H */
