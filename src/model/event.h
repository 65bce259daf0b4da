/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events: points of streams, and those of them that several processes share. */
#ifndef SP_MODEL_EVENT_H
#define SP_MODEL_EVENT_H

#include "src/model/private.h"
#include "src/model/shared.h"

struct sp_model_captured_event;

/* A page that several processes share, with what uses it here: an event and operations. */
struct sp_model_link {
    struct sp_shared shared;
    unsigned n_users;
    struct sp_model_link *next;
};

struct sp_model_event {
    void *handle;
    unsigned flags;
    struct sp_model_context *context;
    bool is_recorded;           /* in this process */
    struct sp_mark mark;        /* if recorded: where last */
    uint64_t clock_ns;          /* virtual: when that ends */
    struct sp_model_link *link; /* NULL unless it is shared with other processes */
    uint64_t turn;              /* shared: the last recording of this process, from 1 */
    struct sp_model_captured_event *captured; /* if last recorded in a capture, else NULL */
    struct sp_model_event *next, **link_here; /* in the list of all */
};

/* A new event with a handle, in the list of all; NULL if there is no memory. */
struct sp_model_event *sp_model_event_open(struct sp_model_context *context, unsigned flags);
void sp_model_event_close(struct sp_model_event *event);

/* What a handle stands for; NULL if nothing. */
struct sp_model_event *sp_model_event_find(sp_cu_event handle);

/* The stream's next operation records it, in no capture. */
sp_cu_result sp_model_event_record(struct sp_model_event *event,
                                   struct sp_model_stream *stream);

/* What the stream gets from now on waits for its last record, if there is any outside of
 * captures. */
sp_cu_result sp_model_event_await(struct sp_model_event *event, struct sp_model_stream *stream);

/* ---- event_shared.c ------------------------------------------------------------------ */

/* A link of its own for an event. False if there is no memory. */
bool sp_model_link_create(struct sp_model_event *event);
void sp_model_link_put(struct sp_model_link *link);
void sp_model_links_reset(void);

/* The argument of an operation that records the event in all processes, and what executes it;
 * NULL if there is no memory. */
void *sp_model_turn_begin(struct sp_model_event *event);
sp_cu_result sp_model_turn_end(void *arg);

/* The operation that was to execute the event's last turn could not be queued. */
void sp_model_turn_cancel(struct sp_model_event *event);

/* The argument of an operation that waits for the last recording of any process, what polls and
 * what ends it. */
void *sp_model_turn_await(struct sp_model_event *event);
bool sp_model_turn_is_over(void *arg);
sp_cu_result sp_model_turn_forget(void *arg);

/* True if the last recording of any process, if there was one, has been executed. */
bool sp_model_link_is_over(const struct sp_model_link *link);

/* True if another process has made the last recording. */
bool sp_model_event_is_foreign(const struct sp_model_event *event);

#endif /* SP_MODEL_EVENT_H */
