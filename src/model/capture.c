/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures from beginning to end: which streams take part, what programs are told of it, and
 * what comes out. What is recorded is in capture_work.c and capture_event.c, what is refused in
 * capture_rules.c. */
#include "config.h"

#include "src/model/capture_state.h"

#include <stdlib.h>

#include "src/util/util.h"

/* Behind the model's lock. */
static struct {
    struct sp_model_capture *all;
    uint64_t last_id;
} captures;

struct sp_model_capture *sp_model_captures(void)
{
    return captures.all;
}

/* ---- members ------------------------------------------------------------------------- */

struct sp_model_member *sp_model_member_new(struct sp_model_capture *capture,
                                            struct sp_model_stream *stream)
{
    struct sp_model_member *member = calloc(1, sizeof(*member));

    if (member == NULL)
        return NULL;
    member->capture = capture;
    member->stream = stream;
    member->number = capture->n_members++;
    member->next = capture->members;
    capture->members = member;
    stream->member = member;
    return member;
}

static void delete_member(struct sp_model_member *member)
{
    if (member->stream != NULL)
        member->stream->member = NULL;
    sp_model_frontier_fini(&member->frontier);
    free(member->known.points);
    free(member);
}

/* So many of a member's nodes come before what `member` captures next. */
static uint64_t known_of(const struct sp_model_member *member, uint32_t number)
{
    for (uint32_t i = 0; i < member->known.n_points; i++) {
        if (member->known.points[i].slot == number)
            return member->known.points[i].seq;
    }
    return 0;
}

/* The node comes before what the origin would capture next. */
static bool is_reached(const struct sp_model_member *origin, sp_cu_node handle)
{
    const struct sp_model_frontier *frontier = &origin->frontier;
    const struct sp_model_node *node = sp_model_node_find(handle);

    if (node == NULL || sp_model_frontier_has(frontier, handle))
        return true;
    for (size_t i = 0; i < frontier->n; i++) {
        const struct sp_model_node *last = sp_model_node_find(frontier->nodes[i]);

        if (last != NULL && sp_model_graph_precedes(node, last))
            return true;
    }
    return false;
}

/* All that it captured was joined by waiting for events; or else the program has arranged the
 * edges so that it is. */
static bool is_joined(const struct sp_model_member *member)
{
    const struct sp_model_member *origin = member->capture->origin;

    if (member == origin || member->n_works <= member->let_go ||
        member->n_works <= known_of(origin, member->number))
        return true;
    for (size_t i = 0; i < member->frontier.n; i++) {
        if (!is_reached(origin, member->frontier.nodes[i]))
            return false;
    }
    return true;
}

/* Somebody else has waited for all that it captured. */
static bool is_joined_by_any(const struct sp_model_member *member)
{
    if (member->n_works <= member->let_go)
        return true;
    for (const struct sp_model_member *other = member->capture->members; other != NULL;
         other = other->next) {
        if (known_of(other, member->number) >= member->n_works)
            return true;
    }
    return false;
}

/* ---- captures ------------------------------------------------------------------------ */

/* The origin's stream is not capturing. With no graph given the capture makes one. */
static struct sp_model_capture *open_capture(struct sp_model_stream *stream,
                                             struct sp_model_graph *given, int mode)
{
    struct sp_model_capture *capture = calloc(1, sizeof(*capture));

    if (capture == NULL)
        return NULL;
    capture->origin = sp_model_member_new(capture, stream);
    if (capture->origin != NULL)
        capture->graph = given != NULL ? given : sp_model_graph_new();
    if (capture->graph == NULL) {
        if (capture->origin != NULL)
            delete_member(capture->origin);
        free(capture);
        return NULL;
    }
    capture->graph->capture = capture;
    capture->id = ++captures.last_id;
    capture->mode = mode;
    capture->thread = sp_model_thread_number();
    capture->is_given = given != NULL;
    capture->next = captures.all;
    capture->link = &captures.all;
    if (capture->next != NULL)
        capture->next->link = &capture->next;
    captures.all = capture;
    return capture;
}

/* All streams leave it. Returns its graph: NULL if that has gone. */
static struct sp_model_graph *close_capture(struct sp_model_capture *capture)
{
    struct sp_model_graph *graph = capture->graph;

    sp_model_capture_end_events(capture);
    while (capture->members != NULL) {
        struct sp_model_member *member = capture->members;

        capture->members = member->next;
        delete_member(member);
    }
    if (graph != NULL)
        graph->capture = NULL;
    *capture->link = capture->next;
    if (capture->next != NULL)
        capture->next->link = capture->link;
    free(capture);
    return graph;
}

/* Its own graph goes at once: the handle that programs were told must not be used any more. */
void sp_model_capture_invalidate(struct sp_model_capture *capture)
{
    if (capture->is_invalidated)
        return;
    capture->is_invalidated = true;
    if (capture->is_given)
        return;
    capture->graph->capture = NULL;
    sp_model_graph_delete(capture->graph);
    capture->graph = NULL;
}

void sp_model_capture_leave(struct sp_model_stream *stream)
{
    struct sp_model_member *member = stream->member;
    struct sp_model_capture *capture;

    if (member == NULL)
        return;
    capture = member->capture;
    stream->member = NULL;
    member->stream = NULL;
    if (member == capture->origin) {
        /* Nobody can end it any more. */
        sp_model_capture_invalidate(capture);
        (void)close_capture(capture);
    } else if (!is_joined_by_any(member)) {
        sp_model_capture_invalidate(capture);
    }
}

void sp_model_captures_reset(void)
{
    while (captures.all != NULL)
        (void)close_capture(captures.all);
}

/* ---- begin --------------------------------------------------------------------------- */

static bool is_mode(int mode)
{
    return mode == SP_CU_CAPTURE_MODE_GLOBAL || mode == SP_CU_CAPTURE_MODE_THREAD_LOCAL ||
           mode == SP_CU_CAPTURE_MODE_RELAXED;
}

/* The stream of a handle, if a capture can begin there. */
static sp_cu_result get_origin(sp_cu_stream handle, int mode,
                               struct sp_model_stream **stream_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    if (!is_mode(mode))
        return SP_CU_INVALID_VALUE;
    if (stream->is_legacy)
        return SP_CU_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->member != NULL) {
        if (sp_model_switch(SP_SWITCH_begin_twice) != 0)
            sp_model_capture_invalidate(stream->member->capture);
        return SP_CU_ILLEGAL_STATE;
    }
    *stream_out = stream;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamBeginCapture(sp_cu_stream handle, int mode)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamBeginCapture);
    result = get_origin(handle, mode, &stream);
    if (result == SP_CU_SUCCESS && open_capture(stream, NULL, mode) == NULL)
        result = SP_CU_OUT_OF_MEMORY;
    return sp_model_leave(result);
}

static const struct sp_cu_edge_data no_data;

/* The nodes of some graph, and the data of the edges from them, as a frontier. */
static sp_cu_result make_frontier(struct sp_model_graph *graph, const sp_cu_node *handles,
                                  const struct sp_cu_edge_data *edges, size_t n,
                                  struct sp_model_frontier *frontier_out)
{
    struct sp_model_frontier frontier = {.n = 0};
    struct sp_model_node **nodes;
    sp_cu_result result;

    if (!sp_model_edges_are_valid(edges, n))
        return SP_CU_INVALID_VALUE;
    result = sp_model_nodes_of(graph, handles, n, &nodes);
    if (result != SP_CU_SUCCESS)
        return result;
    free(nodes);
    if (!sp_model_frontier_reserve(&frontier, n)) {
        sp_model_frontier_fini(&frontier);
        return SP_CU_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        sp_model_frontier_add(&frontier, handles[i], edges == NULL ? no_data : edges[i]);
    *frontier_out = frontier;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamBeginCaptureToGraph(sp_cu_stream handle, sp_cu_graph graph_handle,
                                                  const sp_cu_node *dependencies,
                                                  const struct sp_cu_edge_data *edges,
                                                  size_t n_dependencies, int mode)
{
    struct sp_model_frontier frontier;
    struct sp_model_capture *capture;
    struct sp_model_stream *stream;
    struct sp_model_graph *graph;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamBeginCaptureToGraph);
    result = get_origin(handle, mode, &stream);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    graph = sp_model_graph_find(graph_handle);
    if (graph == NULL || sp_model_graph_is_captured(graph))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = make_frontier(graph, dependencies, edges, n_dependencies, &frontier);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    capture = open_capture(stream, graph, mode);
    if (capture == NULL) {
        sp_model_frontier_fini(&frontier);
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    }
    capture->origin->frontier = frontier;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- end ----------------------------------------------------------------------------- */

static bool is_whole(const struct sp_model_capture *capture)
{
    for (const struct sp_model_member *member = capture->members; member != NULL;
         member = member->next) {
        if (!is_joined(member))
            return false;
    }
    return true;
}

/* The capture ends, in whatever state it is. */
static sp_cu_result end_capture(struct sp_model_capture *capture, sp_cu_graph *graph_out)
{
    sp_cu_result result = SP_CU_SUCCESS;
    const struct sp_model_graph *graph;

    if (capture->is_invalidated)
        result = SP_CU_STREAM_CAPTURE_INVALIDATED;
    else if (!is_whole(capture))
        result = SP_CU_STREAM_CAPTURE_UNJOINED;
    if (result != SP_CU_SUCCESS)
        sp_model_capture_invalidate(capture);
    graph = close_capture(capture);
    *graph_out = result == SP_CU_SUCCESS ? graph->handle : NULL;
    return result;
}

static sp_cu_result end(struct sp_model_stream *stream, sp_cu_graph *graph_out)
{
    struct sp_model_member *member = stream->member;
    struct sp_model_capture *capture;

    if (graph_out == NULL) {
        if (member != NULL && sp_model_switch(SP_SWITCH_end_null) != 0)
            sp_model_capture_invalidate(member->capture);
        return SP_CU_INVALID_VALUE;
    }
    if (member == NULL)
        return SP_CU_ILLEGAL_STATE;
    capture = member->capture;
    if (member != capture->origin) {
        sp_model_capture_invalidate(capture);
        *graph_out = NULL;
        return SP_CU_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != SP_CU_CAPTURE_MODE_RELAXED &&
        capture->thread != sp_model_thread_number()) {
        if (sp_model_switch(SP_SWITCH_wrong_thread) != 0)
            sp_model_capture_invalidate(capture);
        return SP_CU_STREAM_CAPTURE_WRONG_THREAD;
    }
    return end_capture(capture, graph_out);
}

sp_cu_result sp_model_cuStreamEndCapture(sp_cu_stream handle, sp_cu_graph *graph_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamEndCapture);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS)
        result = end(stream, graph_out);
    return sp_model_leave(result);
}

/* ---- what programs are told ---------------------------------------------------------- */

/* The member of a handle's stream, NULL if that is not capturing. Nothing is invalidated. */
static sp_cu_result ask(sp_cu_stream handle, const int *status_out,
                        struct sp_model_member **member_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    if (status_out == NULL)
        return SP_CU_INVALID_VALUE;
    if (sp_model_capture_is_implied(stream))
        return SP_CU_STREAM_CAPTURE_IMPLICIT;
    *member_out = stream->member;
    return SP_CU_SUCCESS;
}

static int status_of(const struct sp_model_member *member)
{
    if (member == NULL)
        return SP_CU_CAPTURE_NONE;
    return member->capture->is_invalidated ? SP_CU_CAPTURE_INVALIDATED : SP_CU_CAPTURE_ACTIVE;
}

sp_cu_result sp_model_cuStreamIsCapturing(sp_cu_stream handle, int *status_out)
{
    struct sp_model_member *member;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamIsCapturing);
    result = ask(handle, status_out, &member);
    if (result == SP_CU_SUCCESS)
        *status_out = status_of(member);
    return sp_model_leave(result);
}

static bool has_data(const struct sp_model_frontier *frontier)
{
    for (size_t i = 0; i < frontier->n; i++) {
        if (!sp_model_edge_is_default(&frontier->edges[i]))
            return true;
    }
    return false;
}

sp_cu_result sp_model_cuStreamGetCaptureInfo(sp_cu_stream handle, int *status_out,
                                             uint64_t *id_out, sp_cu_graph *graph_out,
                                             const sp_cu_node **dependencies_out,
                                             const struct sp_cu_edge_data **edges_out,
                                             size_t *n_dependencies_out)
{
    struct sp_model_member *member;
    sp_cu_result result;
    int status;

    SP_MODEL_ENTER(cuStreamGetCaptureInfo);
    result = ask(handle, status_out, &member);
    if (result == SP_CU_SUCCESS && edges_out != NULL && dependencies_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    status = status_of(member);
    if (status == SP_CU_CAPTURE_ACTIVE) {
        if (dependencies_out != NULL && edges_out == NULL && has_data(&member->frontier))
            return sp_model_leave(SP_CU_LOSSY_QUERY);
        if (id_out != NULL)
            *id_out = member->capture->id;
        if (graph_out != NULL)
            *graph_out = member->capture->graph->handle;
        if (dependencies_out != NULL)
            *dependencies_out = member->frontier.nodes;
        if (edges_out != NULL)
            *edges_out = member->frontier.edges;
        if (n_dependencies_out != NULL)
            *n_dependencies_out = member->frontier.n;
    }
    *status_out = status;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- what programs change ------------------------------------------------------------ */

/* The old nodes are not in the new frontier: what was captured here is the program's. */
static bool is_replaced(const struct sp_model_frontier *old,
                        const struct sp_model_frontier *frontier)
{
    for (size_t i = 0; i < old->n; i++) {
        if (sp_model_frontier_has(frontier, old->nodes[i]))
            return false;
    }
    return true;
}

static void set_frontier(struct sp_model_member *member, struct sp_model_frontier *frontier)
{
    if (is_replaced(&member->frontier, frontier))
        member->let_go = member->n_works;
    sp_model_frontier_fini(&member->frontier);
    member->frontier = *frontier;
}

static sp_cu_result update(struct sp_model_member *member, const sp_cu_node *nodes,
                           const struct sp_cu_edge_data *edges, size_t n, unsigned flags)
{
    struct sp_model_frontier frontier;
    sp_cu_result result;

    if (member->capture->is_invalidated)
        return SP_CU_STREAM_CAPTURE_INVALIDATED;
    if (flags > SP_CU_CAPTURE_SET_DEPENDENCIES)
        return SP_CU_INVALID_VALUE;
    result = make_frontier(member->capture->graph, nodes, edges, n, &frontier);
    if (result != SP_CU_SUCCESS)
        return result;
    if (flags == SP_CU_CAPTURE_SET_DEPENDENCIES) {
        set_frontier(member, &frontier);
        return SP_CU_SUCCESS;
    }
    if (!sp_model_frontier_merge(&member->frontier, &frontier))
        result = SP_CU_OUT_OF_MEMORY;
    sp_model_frontier_fini(&frontier);
    return result;
}

sp_cu_result sp_model_cuStreamUpdateCaptureDependencies(sp_cu_stream handle,
                                                        sp_cu_node *dependencies,
                                                        const struct sp_cu_edge_data *edges,
                                                        size_t n_dependencies, unsigned flags)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamUpdateCaptureDependencies);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && stream->member == NULL)
        result = SP_CU_ILLEGAL_STATE;
    if (result == SP_CU_SUCCESS)
        result = update(stream->member, dependencies, edges, n_dependencies, flags);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuThreadExchangeStreamCaptureMode(int *mode)
{
    int old;

    SP_MODEL_ENTER(cuThreadExchangeStreamCaptureMode);
    if (mode == NULL || !is_mode(*mode))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    old = sp_model_thread_mode();
    sp_model_thread_set_mode(*mode);
    *mode = old;
    return sp_model_leave(SP_CU_SUCCESS);
}
