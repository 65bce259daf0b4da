/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocations of graphs: what a node may allocate and another one free, and which of them are
 * live, which the order of the host's calls decides: a launch allocates and frees when it is
 * called, although that is executed later. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/graph_memory.h"
#include "src/model/mempool.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* ---- parameters -------------------------------------------------------------------------- */

/* The owner's access is implied, so it may be asked for, too. */
static bool can_have_access(const struct sp_cu_alloc_params *params, int device)
{
    const struct sp_cu_location *owner = &params->props.location;

    return owner->type != SP_CU_LOCATION_DEVICE || owner->id == device ||
           sp_model_can_access_peer(device, owner->id);
}

/* At most one a device, which can reach the memory (GNODE-05). */
static sp_cu_result check_access(const struct sp_cu_alloc_params *params)
{
    uint32_t seen = 0;

    if (params->n_access > (size_t)sp_model_n_devices() ||
        (params->n_access > 0 && params->access == NULL))
        return SP_CU_INVALID_VALUE;
    for (size_t i = 0; i < params->n_access; i++) {
        const struct sp_cu_access_desc *desc = &params->access[i];
        int device = desc->location.id;

        if (desc->location.type != SP_CU_LOCATION_DEVICE || !sp_model_is_device(device) ||
            desc->flags != SP_CU_ACCESS_READWRITE || (seen >> device & 1) != 0 ||
            !can_have_access(params, device))
            return SP_CU_INVALID_VALUE;
        seen |= 1U << device;
    }
    return SP_CU_SUCCESS;
}

/* Memory that is no device's alone is the driver's choice (GNODE-06). */
static sp_cu_result check_place(struct sp_cu_pool_props *props)
{
    sp_cu_result result =
        sp_model_location_check(&props->location, props->alloc_type, SP_CU_INVALID_VALUE);

    if (result != SP_CU_SUCCESS)
        return result;
    if (props->location.type == SP_CU_LOCATION_DEVICE &&
        props->alloc_type == SP_CU_ALLOCATION_PINNED)
        return SP_CU_SUCCESS;
    return sp_model_switch(SP_SWITCH_graph_host_nodes) == 0 ? SP_CU_NOT_SUPPORTED
                                                            : SP_CU_SUCCESS;
}

static sp_cu_result check_params(struct sp_cu_alloc_params *params)
{
    sp_cu_result result = check_place(&params->props);

    if (result != SP_CU_SUCCESS)
        return result;
    if (params->props.handle_types != SP_CU_HANDLE_NONE || params->size == 0)
        return SP_CU_INVALID_VALUE;
    return check_access(params);
}

/* ---- records ----------------------------------------------------------------------------- */

static bool copy_access(struct sp_model_alloc *alloc)
{
    size_t size = alloc->params.n_access * sizeof(alloc->params.access[0]);
    void *access;

    if (size == 0) {
        alloc->params.access = NULL;
        return true;
    }
    access = malloc(size);
    if (access != NULL)
        memcpy(access, alloc->params.access, size);
    alloc->params.access = access;
    return access != NULL;
}

static void free_record(struct sp_model_alloc *alloc)
{
    if (alloc->block != NULL)
        sp_model_block_delete(alloc->block);
    free((void *)alloc->params.access);
    free(alloc);
}

/* One without a segment. */
static struct sp_model_alloc *new_record(const struct sp_cu_alloc_params *params)
{
    struct sp_model_alloc *alloc = calloc(1, sizeof(*alloc));

    if (alloc == NULL)
        return NULL;
    alloc->n_references = 1;
    alloc->alloc_step = alloc->free_step = SIZE_MAX;
    alloc->params = *params;
    alloc->block = sp_model_block_new(params->size);
    if (copy_access(alloc) && alloc->block != NULL)
        return alloc;
    free_record(alloc);
    return NULL;
}

sp_cu_result sp_model_alloc_new(struct sp_model_graph *graph, struct sp_cu_alloc_params *params,
                                struct sp_model_node *const *dependencies,
                                size_t n_dependencies, struct sp_model_alloc **alloc_out)
{
    struct sp_model_alloc *alloc;
    sp_cu_result result = sp_model_graph_takes_memory(graph);

    if (result == SP_CU_SUCCESS)
        result = check_params(params);
    if (result != SP_CU_SUCCESS)
        return result;
    if (params->size > SIZE_MAX / 2)
        return SP_CU_OUT_OF_MEMORY;
    alloc = new_record(params);
    if (alloc == NULL)
        return SP_CU_OUT_OF_MEMORY;
    alloc->segment = sp_model_segment_take(graph, params, dependencies, n_dependencies);
    if (alloc->segment == NULL) {
        free_record(alloc);
        return SP_CU_OUT_OF_MEMORY;
    }
    alloc->next = alloc->segment->allocs;
    alloc->segment->allocs = alloc;
    alloc->params.ptr = alloc->segment->memory.base;
    params->ptr = alloc->params.ptr;
    *alloc_out = alloc;
    return SP_CU_SUCCESS;
}

void sp_model_alloc_get(struct sp_model_alloc *alloc)
{
    alloc->n_references++;
}

void sp_model_alloc_put(struct sp_model_alloc *alloc)
{
    struct sp_model_segment *segment = alloc->segment;
    struct sp_model_alloc **link = &segment->allocs;

    if (--alloc->n_references > 0)
        return;
    while (*link != alloc)
        link = &(*link)->next;
    *link = alloc->next;
    free_record(alloc);
    if (segment->allocs == NULL)
        sp_model_segment_settle(segment);
}

void sp_model_alloc_params(const struct sp_model_alloc *alloc,
                           struct sp_cu_alloc_params *params_out)
{
    *params_out = alloc->params;
}

sp_cu_ptr sp_model_alloc_ptr(const struct sp_model_alloc *alloc)
{
    return alloc->params.ptr;
}

/* ---- nodes ------------------------------------------------------------------------------- */

void sp_model_alloc_bind(struct sp_model_alloc *alloc, struct sp_model_node *node)
{
    alloc->node = node;
}

static bool is_own(const struct sp_model_alloc *alloc, const struct sp_model_graph *graph)
{
    return alloc->node != NULL && alloc->node->graph == graph;
}

static bool is_freed_by(const struct sp_model_alloc *alloc, const struct sp_model_graph *graph)
{
    const struct sp_model_freeing *freeing = alloc->freeings;

    while (freeing != NULL && freeing->node->graph != graph)
        freeing = freeing->next;
    return freeing != NULL;
}

/* Inside its graph or elsewhere, never both, and once in each graph (GNODE-08, 11). */
static bool may_free(const struct sp_model_alloc *alloc, const struct sp_model_graph *graph)
{
    if (alloc->is_freed_inside)
        return false;
    return is_own(alloc, graph) ? alloc->freeings == NULL : !is_freed_by(alloc, graph);
}

sp_cu_result sp_model_alloc_to_free(struct sp_model_graph *graph, sp_cu_ptr ptr,
                                    struct sp_model_alloc **alloc_out)
{
    struct sp_model_segment *segment = sp_model_segment_find((uintptr_t)ptr);
    sp_cu_result result = sp_model_graph_takes_memory(graph);

    if (result != SP_CU_SUCCESS)
        return result;
    if (segment == NULL || segment->memory.base != ptr || segment->allocs == NULL)
        return SP_CU_INVALID_VALUE;
    /* Those before the newest have been freed inside their graph, or it could not be there. */
    if (!may_free(segment->allocs, graph))
        return SP_CU_INVALID_VALUE;
    *alloc_out = segment->allocs;
    return SP_CU_SUCCESS;
}

/* Without memory for the record, that it is freed twice is not noticed. */
void sp_model_free_bind(struct sp_model_alloc *alloc, struct sp_model_node *node)
{
    struct sp_model_freeing *freeing = malloc(sizeof(*freeing));

    if (is_own(alloc, node->graph))
        alloc->is_freed_inside = true;
    if (freeing == NULL)
        return;
    *freeing = (struct sp_model_freeing){.node = node, .next = alloc->freeings};
    alloc->freeings = freeing;
}

/* That an allocation is freed inside its graph stays true when the graph goes: an executable
 * may do so still. */
void sp_model_alloc_unbind(struct sp_model_node *node)
{
    struct sp_model_alloc *alloc = node->work.alloc;
    struct sp_model_freeing **link = &alloc->freeings, *freeing;

    if (alloc->node == node)
        alloc->node = NULL;
    while (*link != NULL && (*link)->node != node)
        link = &(*link)->next;
    freeing = *link;
    if (freeing != NULL) {
        *link = freeing->next;
        free(freeing);
    }
}

/* ---- live allocations -------------------------------------------------------------------- */

void sp_model_alloc_begin(struct sp_model_alloc *alloc, struct sp_point at)
{
    SP_ASSERT(alloc->segment->is_backed && alloc->segment->live == NULL);
    sp_model_races_forget(alloc->segment->memory.base, alloc->segment->memory.size);
    alloc->segment->n_holds++;
    alloc->segment->live = alloc;
    alloc->allocated_at = at;
    sp_model_alloc_get(alloc);
}

/* Its memory stays for what may be using it. */
static void end(struct sp_model_alloc *alloc, struct sp_point at)
{
    struct sp_model_segment *segment = alloc->segment;
    struct sp_clock *uses = &alloc->block->uses;

    sp_model_uses_merge(&segment->pending, uses);
    uses->n_points = 0;
    if (at.slot != SP_SLOT_HOST)
        sp_model_uses_add(&segment->pending, at);
    segment->live = NULL;
    sp_model_segment_unhold(segment);
    sp_model_alloc_put(alloc);
}

void sp_model_alloc_end(struct sp_model_alloc *alloc, const struct sp_model_stream *stream,
                        struct sp_point at)
{
    if (!alloc->segment->is_launching)
        (void)sp_model_block_check_free(alloc->block, alloc->allocated_at,
                                        alloc->segment->memory.base, stream);
    end(alloc, at);
}

void sp_model_alloc_drop(struct sp_model_alloc *alloc)
{
    end(alloc, (struct sp_point){.slot = SP_SLOT_HOST});
}

static sp_cu_result free_live(struct sp_model_alloc *alloc, struct sp_model_stream *stream)
{
    struct sp_point at = {.slot = SP_SLOT_HOST};
    sp_cu_result result;

    if (stream == NULL) {
        (void)sp_model_block_check_free_now(alloc->block, alloc->allocated_at,
                                            alloc->segment->memory.base);
        end(alloc, at);
        return SP_CU_SUCCESS;
    }
    /* The free has its place in the stream before the allocation goes. */
    result = sp_model_submit_free(stream, alloc->block, alloc->allocated_at,
                                  alloc->segment->memory.base, alloc->params.size, &at);
    if (result == SP_CU_SUCCESS)
        sp_model_alloc_end(alloc, stream, at);
    return result;
}

bool sp_model_graph_free(struct sp_model_stream *stream, sp_cu_ptr ptr,
                         sp_cu_result *result_out)
{
    struct sp_model_segment *segment = sp_model_segment_find((uintptr_t)ptr);

    if (segment == NULL)
        return false;
    *result_out = SP_CU_INVALID_VALUE;
    if (segment->live != NULL && segment->memory.base == ptr)
        *result_out = free_live(segment->live, stream);
    return true;
}

/* ---- uses -------------------------------------------------------------------------------- */

const struct sp_model_alloc *sp_model_alloc_around(uintptr_t address)
{
    const struct sp_model_segment *segment = sp_model_segment_find(address);

    if (segment == NULL)
        return NULL;
    return segment->live != NULL ? segment->live : segment->allocs;
}

int sp_model_alloc_access(const struct sp_model_alloc *alloc, int device)
{
    const struct sp_cu_alloc_params *params = &alloc->params;

    if (params->props.alloc_type == SP_CU_ALLOCATION_MANAGED ||
        (params->props.location.type == SP_CU_LOCATION_DEVICE &&
         params->props.location.id == device))
        return SP_CU_ACCESS_READWRITE;
    for (size_t i = 0; i < params->n_access; i++) {
        if (params->access[i].location.id == device)
            return params->access[i].flags;
    }
    return SP_CU_ACCESS_NONE;
}

/* What is captured is not executed before a launch, which attaches memory. */
bool sp_model_segment_can_use(const struct sp_model_segment *segment,
                              const struct sp_model_stream *stream)
{
    const struct sp_model_alloc *alloc =
        segment->live != NULL ? segment->live : segment->allocs;

    return (segment->is_backed || stream->member != NULL) && alloc != NULL &&
           sp_model_alloc_access(alloc, stream->context->device) != SP_CU_ACCESS_NONE;
}

void sp_model_segment_use(struct sp_model_segment *segment, struct sp_point at)
{
    sp_model_uses_add(segment->live != NULL ? &segment->live->block->uses : &segment->pending,
                      at);
}

/* What is wrong with a use is said. */
static void check_use(const struct sp_model_segment *segment,
                      const struct sp_model_stream *stream, uintptr_t address, size_t size)
{
    const struct sp_model_alloc *live = segment->live;

    if (live == NULL) {
        sp_model_violation("0x%" PRIxPTR " is used in stream %" PRIu64
                           ", but no launch has allocated it or it has been freed",
                           address, stream->id);
        return;
    }
    if (!sp_order_is_before(sp_model_order(), live->allocated_at, stream->slot))
        sp_model_violation("the use of 0x%" PRIxPTR " in stream %" PRIu64
                           " is not ordered after its allocation",
                           address, stream->id);
    if (size > segment->memory.base + live->params.size - address ||
        address - segment->memory.base > live->params.size)
        sp_model_violation("the use of %zu bytes at 0x%" PRIxPTR
                           " goes beyond the allocation's end",
                           size, address);
}

void sp_model_graph_use(const struct sp_model_stream *stream, struct sp_point at,
                        uintptr_t address, size_t size)
{
    struct sp_model_segment *segment = sp_model_segment_find(address);

    check_use(segment, stream, address, size);
    sp_model_segment_use(segment, at);
}

bool sp_model_graph_range(uintptr_t address, uintptr_t *base_out, size_t *size_out)
{
    const struct sp_model_alloc *alloc = sp_model_alloc_around(address);

    if (alloc == NULL || !alloc->segment->is_backed)
        return false;
    *base_out = alloc->segment->memory.base;
    *size_out = alloc->params.size;
    return true;
}
