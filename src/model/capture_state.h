/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A capture from the inside: what the files of capturing share. Everything here is called with
 * the model's lock. */
#ifndef SP_CAPTURE_STATE_H
#define SP_CAPTURE_STATE_H

#include "src/model/capture.h"
#include "src/model/event.h"

/* Nodes that the next one will depend on, each once, and the edges' data. By their handles, as
 * programs are shown them: one that has been destroyed is found no more. */
struct sp_model_frontier {
    sp_cu_node *nodes;             /* [n], room for `room` */
    struct sp_cu_edge_data *edges; /* [n] */
    size_t n, room;
};

/*
 * A stream's part in a capture. The record stays when the stream is destroyed, because its work
 * has to be joined all the same.
 *
 *   let_go <= n_works
 */
struct sp_model_member {
    struct sp_model_capture *capture;
    struct sp_model_stream *stream; /* NULL: destroyed */
    uint32_t number;                /* in the capture, from 0 */
    uint64_t n_works;               /* nodes that were captured here */
    uint64_t let_go;                /* so many of them, the first, need not be joined */
    struct sp_clock known; /* by member's number: so many of its nodes come before the next */
    struct sp_model_frontier frontier;
    struct sp_model_member *next;
};

/* A record of an event in a capture. */
struct sp_model_captured_event {
    struct sp_model_capture *capture; /* NULL: it has been ended, and the rest is empty */
    struct sp_clock known;            /* as a member's */
    struct sp_model_frontier frontier;
    struct sp_model_captured_event *next, **link; /* of the capture */
};

/* A capture that has not been ended. Once invalidated it is only waited for. */
struct sp_model_capture {
    uint64_t id; /* unique for the life of the process */
    int mode;    /* SP_CU_CAPTURE_MODE_... */
    uint64_t thread;
    bool is_invalidated;
    bool is_given;                  /* the graph is the caller's */
    struct sp_model_graph *graph;   /* NULL: it was the capture's own, which is invalidated */
    struct sp_model_member *origin; /* whose stream must end it */
    struct sp_model_member *members;
    uint32_t n_members;
    struct sp_model_captured_event *events;
    struct sp_model_capture *next, **link; /* in the list of all */
};

/* ---- captures and their members (capture.c) ------------------------------------------ */

struct sp_model_capture *sp_model_captures(void);

/* The stream becomes part of a capture; NULL without memory. */
struct sp_model_member *sp_model_member_new(struct sp_model_capture *capture,
                                            struct sp_model_stream *stream);

/* Whatever is done in it fails from now on, until it is ended. */
void sp_model_capture_invalidate(struct sp_model_capture *capture);

/* ---- frontiers (capture_work.c) ------------------------------------------------------ */

/* Room for so many nodes in all; false without memory. */
bool sp_model_frontier_reserve(struct sp_model_frontier *frontier, size_t n);

/* There is room. A node that is there already keeps its edge. */
void sp_model_frontier_add(struct sp_model_frontier *frontier, sp_cu_node node,
                           struct sp_cu_edge_data edge);

/* The nodes of another one are added; false without memory, and nothing changed. */
bool sp_model_frontier_merge(struct sp_model_frontier *frontier,
                             const struct sp_model_frontier *from);
bool sp_model_frontier_has(const struct sp_model_frontier *frontier, sp_cu_node node);
void sp_model_frontier_fini(struct sp_model_frontier *frontier);

/* ---- rules (capture_rules.c) --------------------------------------------------------- */

/* The calling thread: a number that no other has or will have, and its mode. */
uint64_t sp_model_thread_number(void);
int sp_model_thread_mode(void);
void sp_model_thread_set_mode(int mode);

/* What is done next in this stream would have to wait for a capture. */
bool sp_model_capture_is_implied(const struct sp_model_stream *stream);

/* The capture has been ended: its events stand for nothing (capture_event.c). */
void sp_model_capture_end_events(struct sp_model_capture *capture);

#endif /* SP_CAPTURE_STATE_H */
