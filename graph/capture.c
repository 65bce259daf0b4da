/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the driver about captures, and keeps our own calls from ending them: the calling
 * thread's mode is relaxed for their time. */
#include "config.h"

#include "graph/capture.h"

#include <stdlib.h>
#include <string.h>

/* ---- is it captured? -------------------------------------------------------------------- */

/* A driver that tells no graph can still say that there is a capture, into which nothing of
 * ours can go then. */
static sp_cu_result ask(const struct sp_driver *driver, sp_cu_stream stream, int *status_out,
                        struct sp_capture *capture)
{
    sp_cu_result result = driver->cuStreamGetCaptureInfo(stream, status_out, &capture->id,
                                                         &capture->graph, NULL, NULL, NULL);

    if (result == SP_CU_NOT_SUPPORTED)
        result = driver->cuStreamIsCapturing(stream, status_out);
    return result;
}

enum starpool_status sp_capture_query(const struct sp_driver *driver, sp_cu_stream stream,
                                      struct sp_capture *capture_out)
{
    struct sp_capture capture = {.stream = stream};
    int state = SP_CU_CAPTURE_NONE;
    sp_cu_result result = ask(driver, stream, &state, &capture);
    enum starpool_status status = STARPOOL_OK;

    if (result == SP_CU_NOT_SUPPORTED) /* It is from before there were captures. */
        state = SP_CU_CAPTURE_NONE;
    else
        status = sp_driver_status(result, "cuStreamGetCaptureInfo");
    if (status != STARPOOL_OK)
        return result == SP_CU_INVALID_HANDLE ? STARPOOL_EINVAL : status;
    if (state == SP_CU_CAPTURE_INVALIDATED)
        return STARPOOL_ECAPTURE_INVALIDATED;
    capture.is_active = state == SP_CU_CAPTURE_ACTIVE;
    *capture_out = capture.is_active ? capture : (struct sp_capture){.is_active = false};
    return STARPOOL_OK;
}

/* ---- the guard -------------------------------------------------------------------------- */

void sp_capture_guard_begin(const struct sp_driver *driver, struct sp_capture_guard *guard_out)
{
    int mode = SP_CU_CAPTURE_MODE_RELAXED;
    bool is_held = driver->cuThreadExchangeStreamCaptureMode(&mode) == SP_CU_SUCCESS;

    *guard_out = (struct sp_capture_guard){.driver = driver, .is_held = is_held, .mode = mode};
}

void sp_capture_guard_end(const struct sp_capture_guard *guard)
{
    int mode = guard->mode;

    if (guard->is_held)
        (void)guard->driver->cuThreadExchangeStreamCaptureMode(&mode);
}

/* ---- where a stream stands --------------------------------------------------------------- */

enum starpool_status sp_capture_frontier(const struct sp_driver *driver, sp_cu_stream stream,
                                         uint64_t id, struct sp_frontier *frontier_out)
{
    const struct sp_cu_edge_data *edges;
    const sp_cu_node *nodes = NULL;
    struct sp_frontier frontier = {.nodes = NULL};
    uint64_t current = 0;
    int state = SP_CU_CAPTURE_NONE;
    /* Edges are asked for, because without them some dependencies are not told. */
    enum starpool_status status = sp_driver_status(
        driver->cuStreamGetCaptureInfo(stream, &state, &current, &frontier.graph, &nodes,
                                       &edges, &frontier.n_nodes),
        "cuStreamGetCaptureInfo");

    if (status != STARPOOL_OK)
        return status;
    if (state != SP_CU_CAPTURE_ACTIVE || current != id)
        return STARPOOL_ECAPTURE_INVALIDATED;
    if (frontier.n_nodes > 0) {
        frontier.nodes = malloc(frontier.n_nodes * sizeof(sp_cu_node));
        if (frontier.nodes == NULL)
            return STARPOOL_ENOMEM;
        /* The driver's array is valid until the stream's next call. */
        memcpy(frontier.nodes, nodes, frontier.n_nodes * sizeof(sp_cu_node));
    }
    *frontier_out = frontier;
    return STARPOOL_OK;
}

void sp_frontier_fini(struct sp_frontier *frontier)
{
    free(frontier->nodes);
    *frontier = (struct sp_frontier){.nodes = NULL};
}
