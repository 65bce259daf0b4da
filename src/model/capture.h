/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capturing streams: what is captured where, and what may not be done meanwhile. Everything
 * here is called with the model's lock. */
#ifndef SP_MODEL_CAPTURE_H
#define SP_MODEL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/graph.h"

struct sp_model_event;
struct sp_model_pool;

/* ---- operations ---------------------------------------------------------------------- */

/* The next operation may not be for the stream to execute: for who would have to make up
 * `work` only to be told so. */
bool sp_model_capture_takes(const struct sp_model_stream *stream);

/*
 * Every operation of a stream asks this first, after its own arguments have been checked: true
 * if the operation is not for the stream to execute, and then the answer. A node for `work` was
 * added after the stream's frontier, which it becomes; or STREAM_CAPTURE_INVALIDATED; or the
 * stream is the legacy one and sp_model_capture_implicit() refuses. If true, what `work` owns
 * has been taken.
 */
bool sp_model_capture_work(struct sp_model_stream *stream, const struct sp_model_work *work,
                           sp_cu_result *result_out);

/* An operation that cannot be captured: on a capturing stream STREAM_CAPTURE_UNSUPPORTED, and
 * the capture dies (CAP-26, 39). On the legacy stream as sp_model_capture_implicit(). */
sp_cu_result sp_model_capture_forbid(struct sp_model_stream *stream);

/* Work on the legacy stream while a blocking stream of its context captures:
 * STREAM_CAPTURE_IMPLICIT, and those captures die (CAP-28). */
sp_cu_result sp_model_capture_implicit(struct sp_model_stream *stream);

/* An allocation or a free on a capturing stream (CAP-36, 37): true if it is not for the stream
 * to execute, as sp_model_capture_work(), and then the answer. Elsewhere CAP-20. */
bool sp_model_capture_alloc(struct sp_model_stream *stream, const struct sp_model_pool *pool,
                            size_t size, sp_cu_ptr *ptr_out, sp_cu_result *result_out);
bool sp_model_capture_free(struct sp_model_stream *stream, sp_cu_ptr ptr,
                           sp_cu_result *result_out);

/* ---- what may not be done meanwhile -------------------------------------------------- */

/* The calling thread does what may have an effect on all of a context: refused and fatal while
 * one of its streams is capturing (CAP-27). */
sp_cu_result sp_model_capture_context(struct sp_model_context *context);

/* The same for waiting for all of a context, which a switch makes less strict (CAP-35). */
sp_cu_result sp_model_capture_synchronize(struct sp_model_context *context);

/* The rule of modes for the entry point (CAP-30..33), asked by sp_model_enter(). */
sp_cu_result sp_model_capture_call(int call);

/* The same for a call that is found to be unsafe only when its arguments are known. */
sp_cu_result sp_model_capture_unsafe(void);

/* May a graph be instantiated? Not while something is captured into it (CAP-05). */
sp_cu_result sp_model_capture_instantiate(const struct sp_model_graph *graph);

/* ---- events (capture_event.c) -------------------------------------------------------- */

/* cuEventRecord() and cuStreamWaitEvent() with default flags (CAP-21..23): true if it is not
 * for the stream to execute, and then the answer. */
bool sp_model_capture_record(struct sp_model_stream *stream, struct sp_model_event *event,
                             sp_cu_result *result_out);
bool sp_model_capture_wait(struct sp_model_stream *stream, struct sp_model_event *event,
                           sp_cu_result *result_out);

/* The host asks about an event: refused if it was last recorded in a capture (CAP-25), else
 * potentially unsafe (CAP-33). */
sp_cu_result sp_model_capture_ask(struct sp_model_event *event);

/* A context is to wait for an event: refused if that was last recorded in a capture (CAP-27).
 */
sp_cu_result sp_model_capture_leak(struct sp_model_event *event);

/* The event is recorded outside of captures, or destroyed. */
void sp_model_capture_forget(struct sp_model_event *event);

/* ---- beginning and end --------------------------------------------------------------- */

/* The stream is destroyed. */
void sp_model_capture_leave(struct sp_model_stream *stream);

void sp_model_captures_reset(void);

#endif /* SP_MODEL_CAPTURE_H */
