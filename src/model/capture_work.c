/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is captured: each operation becomes a node after the stream's frontier, and allocations
 * take their pool's properties and access with them. */
#include "config.h"

#include "src/model/capture_state.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/mempool.h"
#include "src/util/util.h"

static const struct sp_cu_edge_data no_data;

/* ---- frontiers ----------------------------------------------------------------------- */

bool sp_model_frontier_reserve(struct sp_model_frontier *frontier, size_t n)
{
    size_t room = sp_max(n, 2 * frontier->room);
    sp_cu_node *nodes;
    struct sp_cu_edge_data *edges;

    if (n <= frontier->room)
        return true;
    if (n > SIZE_MAX / 2 / sizeof(sp_cu_node))
        return false;
    nodes = realloc(frontier->nodes, room * sizeof(sp_cu_node));
    if (nodes == NULL)
        return false;
    frontier->nodes = nodes;
    edges = realloc(frontier->edges, room * sizeof(*edges));
    if (edges == NULL)
        return false;
    frontier->edges = edges;
    frontier->room = room;
    return true;
}

bool sp_model_frontier_has(const struct sp_model_frontier *frontier, sp_cu_node node)
{
    for (size_t i = 0; i < frontier->n; i++) {
        if (frontier->nodes[i] == node)
            return true;
    }
    return false;
}

void sp_model_frontier_add(struct sp_model_frontier *frontier, sp_cu_node node,
                           struct sp_cu_edge_data edge)
{
    if (sp_model_frontier_has(frontier, node))
        return;
    frontier->nodes[frontier->n] = node;
    frontier->edges[frontier->n++] = edge;
}

bool sp_model_frontier_merge(struct sp_model_frontier *frontier,
                             const struct sp_model_frontier *from)
{
    if (!sp_model_frontier_reserve(frontier, frontier->n + from->n))
        return false;
    for (size_t i = 0; i < from->n; i++)
        sp_model_frontier_add(frontier, from->nodes[i], from->edges[i]);
    return true;
}

void sp_model_frontier_fini(struct sp_model_frontier *frontier)
{
    free(frontier->nodes);
    free(frontier->edges);
    *frontier = (struct sp_model_frontier){.n = 0};
}

/* ---- nodes --------------------------------------------------------------------------- */

/* What the next node of a stream depends on: arrays to be freed, of one element at least. */
struct before {
    struct sp_model_node **nodes;
    struct sp_cu_edge_data *edges;
    size_t n;
};

static bool look_up(const struct sp_model_frontier *frontier, struct before *before_out)
{
    struct before before = {
        .nodes = calloc(frontier->n + 1, sizeof(struct sp_model_node *)),
        .edges = calloc(frontier->n + 1, sizeof(struct sp_cu_edge_data)),
    };

    if (before.nodes == NULL || before.edges == NULL) {
        free(before.nodes);
        free(before.edges);
        return false;
    }
    for (size_t i = 0; i < frontier->n; i++) {
        struct sp_model_node *node = sp_model_node_find(frontier->nodes[i]);

        if (node != NULL) {
            before.nodes[before.n] = node;
            before.edges[before.n++] = frontier->edges[i];
        }
    }
    *before_out = before;
    return true;
}

static void forget_before(struct before *before)
{
    free(before->nodes);
    free(before->edges);
}

/* The node comes after all of the frontier, and becomes it. NULL without memory. */
static struct sp_model_node *add_node(struct sp_model_member *member,
                                      const struct before *before,
                                      const struct sp_model_work *work)
{
    struct sp_model_node *node;

    if (!sp_model_frontier_reserve(&member->frontier, 1))
        return NULL;
    node = sp_model_graph_add(member->capture->graph, work, before->nodes, before->edges,
                              before->n);
    if (node == NULL)
        return NULL;
    member->frontier.n = 0;
    sp_model_frontier_add(&member->frontier, node->handle, no_data);
    member->n_works++;
    return node;
}

static sp_cu_result record(struct sp_model_member *member, const struct sp_model_work *work)
{
    const struct sp_model_node *node;
    struct before before;

    if (member->capture->is_invalidated)
        return SP_CU_STREAM_CAPTURE_INVALIDATED;
    if (!look_up(&member->frontier, &before))
        return SP_CU_OUT_OF_MEMORY;
    node = add_node(member, &before, work);
    forget_before(&before);
    return node == NULL ? SP_CU_OUT_OF_MEMORY : SP_CU_SUCCESS;
}

static sp_cu_result take(struct sp_model_stream *stream, const struct sp_model_work *work)
{
    struct sp_model_work owned = *work;
    sp_cu_result result = stream->member == NULL ? sp_model_capture_implicit(stream)
                                                 : record(stream->member, work);

    if (result != SP_CU_SUCCESS)
        sp_model_work_release(&owned);
    return result;
}

bool sp_model_capture_takes(const struct sp_model_stream *stream)
{
    return stream->member != NULL || sp_model_capture_is_implied(stream);
}

bool sp_model_capture_work(struct sp_model_stream *stream, const struct sp_model_work *work,
                           sp_cu_result *result_out)
{
    if (!sp_model_capture_takes(stream))
        return false;
    *result_out = take(stream, work);
    return true;
}

/* ---- allocations --------------------------------------------------------------------- */

/* An allocation or a free on a stream that is not capturing. */
static sp_cu_result check_uncaptured(struct sp_model_stream *stream)
{
    enum { REFUSED = 1, ACTS_FATALLY };
    sp_cu_result result = sp_model_capture_implicit(stream);

    if (result != SP_CU_SUCCESS)
        return result;
    switch (sp_model_switch(SP_SWITCH_uncaptured_alloc)) {
    case REFUSED:
        return sp_model_capture_unsafe();
    case ACTS_FATALLY:
        (void)sp_model_capture_unsafe();
        return SP_CU_SUCCESS;
    default:
        return SP_CU_SUCCESS;
    }
}

/* The devices that the pool's memory can be reached from now, beside its own. Returns how many.
 */
static size_t list_access(const struct sp_model_pool *pool, struct sp_cu_access_desc *descs)
{
    size_t n = 0;

    for (int device = 0; device < sp_model_n_devices(); device++) {
        int flags = sp_model_access_of(pool, device);

        if (flags != SP_CU_ACCESS_NONE && device != pool->device)
            descs[n++] = (struct sp_cu_access_desc){
                .location = {.type = SP_CU_LOCATION_DEVICE, .id = device},
                .flags = flags,
            };
    }
    return n;
}

/* Graph memory is never shared between processes, whatever the pool's is. */
static sp_cu_result record_alloc(struct sp_model_member *member,
                                 const struct sp_model_pool *pool, size_t size,
                                 const struct before *before, sp_cu_ptr *ptr_out)
{
    struct sp_cu_access_desc descs[SP_MODEL_MAX_DEVICES];
    struct sp_cu_alloc_params params = {
        .props = pool->props,
        .access = descs,
        .n_access = list_access(pool, descs),
        .size = size,
    };
    struct sp_model_work work = {.type = SP_CU_NODE_MEM_ALLOC};
    struct sp_model_node *node;
    sp_cu_result result;

    params.props.handle_types = SP_CU_HANDLE_NONE;
    result = sp_model_alloc_new(member->capture->graph, &params, before->nodes, before->n,
                                &work.alloc);
    if (result != SP_CU_SUCCESS)
        return result;
    node = add_node(member, before, &work);
    if (node == NULL) {
        sp_model_alloc_put(work.alloc);
        return SP_CU_OUT_OF_MEMORY;
    }
    sp_model_alloc_bind(work.alloc, node);
    *ptr_out = params.ptr;
    return SP_CU_SUCCESS;
}

bool sp_model_capture_alloc(struct sp_model_stream *stream, const struct sp_model_pool *pool,
                            size_t size, sp_cu_ptr *ptr_out, sp_cu_result *result_out)
{
    struct sp_model_member *member = stream->member;
    struct before before;

    if (member == NULL) {
        *result_out = check_uncaptured(stream);
        return *result_out != SP_CU_SUCCESS;
    }
    *result_out = SP_CU_OUT_OF_MEMORY;
    if (member->capture->is_invalidated) {
        *result_out = SP_CU_STREAM_CAPTURE_INVALIDATED;
    } else if (look_up(&member->frontier, &before)) {
        *result_out = record_alloc(member, pool, size, &before, ptr_out);
        forget_before(&before);
    }
    return true;
}

/* ---- frees --------------------------------------------------------------------------- */

/* No graph allocated it. */
static sp_cu_result refuse_free(struct sp_model_member *member, sp_cu_result result)
{
    enum { SURVIVES, DIES, UNSUPPORTED };
    unsigned how = sp_model_switch(SP_SWITCH_free_uncaptured);

    if (how != SURVIVES)
        sp_model_capture_invalidate(member->capture);
    return how == UNSUPPORTED ? SP_CU_STREAM_CAPTURE_UNSUPPORTED : result;
}

static sp_cu_result record_free(struct sp_model_member *member, sp_cu_ptr ptr)
{
    struct sp_model_work work = {.type = SP_CU_NODE_MEM_FREE};
    struct sp_model_node *node;
    struct before before;
    sp_cu_result result = sp_model_alloc_to_free(member->capture->graph, ptr, &work.alloc);

    if (result != SP_CU_SUCCESS)
        return refuse_free(member, result);
    if (!look_up(&member->frontier, &before))
        return SP_CU_OUT_OF_MEMORY;
    sp_model_alloc_get(work.alloc);
    node = add_node(member, &before, &work);
    forget_before(&before);
    if (node == NULL) {
        sp_model_alloc_put(work.alloc);
        return SP_CU_OUT_OF_MEMORY;
    }
    sp_model_free_bind(work.alloc, node);
    return SP_CU_SUCCESS;
}

bool sp_model_capture_free(struct sp_model_stream *stream, sp_cu_ptr ptr,
                           sp_cu_result *result_out)
{
    struct sp_model_member *member = stream->member;

    if (member == NULL) {
        *result_out = check_uncaptured(stream);
        return *result_out != SP_CU_SUCCESS;
    }
    *result_out = member->capture->is_invalidated ? SP_CU_STREAM_CAPTURE_INVALIDATED
                                                  : record_free(member, ptr);
    return true;
}
