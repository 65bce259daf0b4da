/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a stream is being captured, and into what; and calls of the driver that must not end
 * anybody's capture. */
#ifndef SP_CAPTURE_H
#define SP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/driver/driver.h"

/* What a stream is captured into. */
struct sp_capture {
    bool is_active;
    sp_cu_stream stream; /* that was asked for; NULL if not active */
    uint64_t id;         /* unique in the process; 0 if not active */
    sp_cu_graph graph;   /* not to be kept: the handle may go with the capture */
};

/*
 * Ask for a stream of the driver: one call, no lock. Not captured is OK, too.
 * ECAPTURE_INVALIDATED: it was captured, and the capture is lost. ECAPTURE_IMPLICIT: it is the
 * legacy stream, and another one is being captured that it would wait for. EINVAL: no such
 * stream. Nothing else may be asked of a stream that is being captured, its id neither.
 */
STARPOOL_CHECK enum starpool_status sp_capture_query(const struct sp_driver *driver,
                                                     sp_cu_stream stream,
                                                     struct sp_capture *capture_out);

/*
 * While a thread holds a guard, what it asks of the driver ends nobody's capture, neither its
 * own nor another thread's. Guards nest. No guard helps where a call waits for a stream that is
 * captured, for an event that was recorded in a capture, or for a whole context: that is not
 * called.
 */
struct sp_capture_guard {
    const struct sp_driver *driver;
    bool is_held; /* false: the driver knows no modes, and so no captures of other threads */
    int mode;     /* of the thread before */
};

void sp_capture_guard_begin(const struct sp_driver *driver, struct sp_capture_guard *guard_out);
void sp_capture_guard_end(const struct sp_capture_guard *guard);

/* The nodes that what is captured next in a stream comes after: a copy, to be freed. */
struct sp_frontier {
    sp_cu_graph graph; /* theirs; as sp_capture.graph */
    sp_cu_node *nodes; /* [n_nodes] */
    size_t n_nodes;
};

/* ECAPTURE_INVALIDATED: the capture has gone meanwhile, or is another one. */
STARPOOL_CHECK enum starpool_status sp_capture_frontier(const struct sp_driver *driver,
                                                        sp_cu_stream stream, uint64_t id,
                                                        struct sp_frontier *frontier_out);
void sp_frontier_fini(struct sp_frontier *frontier);

#endif /* SP_CAPTURE_H */
