/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses of graphs' allocations. Those of two graphs are never the same while both exist;
 * within a graph an allocation takes the place of one that is freed before it, because the
 * order of the graph says so. */
#include "config.h"

#include "src/model/graph_memory.h"

#include <stdlib.h>

#include "src/model/mempool.h"
#include "src/util/util.h"

/* So many nodes before an allocation are looked at for places to take: what was freed further
 * back is not taken, so that large graphs are built in linear time. */
#define MAX_LOOKED_AT ((size_t)1024)

/* Behind the model's lock. */
static struct {
    struct sp_model_segment *all;
} segments;

/* ---- places that are free ---------------------------------------------------------------- */

/* A walk backwards over a graph: each node is seen once. */
struct walk {
    unsigned char *seen; /* a bit for each number of a node */
    struct sp_model_node **nodes;
    size_t n, done;
};

static void see(struct walk *walk, struct sp_model_node *node)
{
    unsigned char bit = (unsigned char)(1U << node->number % 8);

    if (walk->n == MAX_LOOKED_AT || (walk->seen[node->number / 8] & bit) != 0)
        return;
    walk->seen[node->number / 8] |= bit;
    walk->nodes[walk->n++] = node;
}

bool sp_model_is_same_place(const struct sp_cu_alloc_params *a,
                            const struct sp_cu_alloc_params *b)
{
    return a->props.alloc_type == b->props.alloc_type &&
           a->props.location.type == b->props.location.type &&
           a->props.location.id == b->props.location.id;
}

/* The segment that the freeing node leaves to what comes after it: its allocation was the last
 * one there. NULL if it is of no use. */
static struct sp_model_segment *left_by(const struct sp_model_node *node,
                                        const struct sp_cu_alloc_params *params)
{
    const struct sp_model_alloc *alloc = node->work.alloc;

    if (node->work.type != SP_CU_NODE_MEM_FREE || alloc->node == NULL ||
        alloc->node->graph != node->graph || alloc->segment->allocs != alloc ||
        alloc->segment->memory.size < params->size ||
        !sp_model_is_same_place(&alloc->params, params))
        return NULL;
    return alloc->segment;
}

/* The smallest place that nodes before the allocation leave; NULL if there is none. */
static struct sp_model_segment *find_left(struct walk *walk,
                                          const struct sp_cu_alloc_params *params)
{
    struct sp_model_segment *best = NULL, *found;
    size_t size = sp_round_up(params->size, SP_MODEL_PAGE);

    while (walk->done < walk->n && (best == NULL || best->memory.size > size)) {
        const struct sp_model_node *node = walk->nodes[walk->done++];

        found = left_by(node, params);
        if (found != NULL && (best == NULL || found->memory.size < best->memory.size))
            best = found;
        for (size_t i = 0; i < node->n_dependencies; i++)
            see(walk, node->dependencies[i]);
    }
    return best;
}

/* Without memory for the walk no place is taken. */
static struct sp_model_segment *find_before(const struct sp_model_graph *graph,
                                            const struct sp_cu_alloc_params *params,
                                            struct sp_model_node *const *dependencies,
                                            size_t n_dependencies)
{
    struct walk walk = {
        .seen = calloc(graph->n_created / 8 + 1, 1),
        .nodes =
            calloc(sp_min(graph->n_nodes, MAX_LOOKED_AT) + 1, sizeof(struct sp_model_node *)),
    };
    struct sp_model_segment *found = NULL;

    if (walk.seen != NULL && walk.nodes != NULL) {
        for (size_t i = 0; i < n_dependencies; i++)
            see(&walk, dependencies[i]);
        found = find_left(&walk, params);
    }
    free(walk.seen);
    free(walk.nodes);
    return found;
}

/* ---- coming and going -------------------------------------------------------------------- */

static void link_segment(struct sp_model_segment *segment)
{
    segment->next = segments.all;
    segment->link = &segments.all;
    if (segment->next != NULL)
        segment->next->link = &segment->next;
    segments.all = segment;
}

static struct sp_model_segment *open_segment(const struct sp_cu_alloc_params *params)
{
    struct sp_model_segment *segment = calloc(1, sizeof(*segment));
    bool is_devices = params->props.location.type == SP_CU_LOCATION_DEVICE &&
                      params->props.alloc_type == SP_CU_ALLOCATION_PINNED;
    void *base;

    if (segment == NULL)
        return NULL;
    segment->memory = (struct sp_model_memory){
        .size = sp_round_up(params->size, SP_MODEL_PAGE),
        .kind = SP_MEMORY_GRAPH,
        .device = is_devices ? params->props.location.id : -1,
        .file = -1,
    };
    segment->memory.asked = segment->memory.size;
    base = sp_model_reserve(segment->memory.device, segment->memory.size);
    segment->memory.base = (uintptr_t)base;
    if (base != NULL && sp_model_memory_add(&segment->memory)) {
        link_segment(segment);
        return segment;
    }
    if (base != NULL)
        sp_model_unmap(base, segment->memory.size, segment->memory.device, -1);
    free(segment);
    return NULL;
}

struct sp_model_segment *sp_model_segment_take(struct sp_model_graph *graph,
                                               const struct sp_cu_alloc_params *params,
                                               struct sp_model_node *const *dependencies,
                                               size_t n_dependencies)
{
    struct sp_model_segment *segment = find_before(graph, params, dependencies, n_dependencies);

    return segment != NULL ? segment : open_segment(params);
}

struct sp_model_segment *sp_model_segment_find(uintptr_t address)
{
    struct sp_model_memory *memory = sp_model_memory_find(address);

    return memory == NULL || memory->kind != SP_MEMORY_GRAPH
               ? NULL
               : SP_CONTAINER_OF(memory, struct sp_model_segment, memory);
}

static void close_segment(struct sp_model_segment *segment)
{
    const struct sp_model_memory *memory = &segment->memory;

    *segment->link = segment->next;
    if (segment->next != NULL)
        segment->next->link = segment->link;
    sp_model_memory_remove(&segment->memory);
    sp_model_unmap((void *)memory->base, memory->size, memory->device, -1);
    free(segment->pending.points);
    free(segment);
}

/* ---- memory ------------------------------------------------------------------------------ */

bool sp_model_segment_hold(struct sp_model_segment *segment)
{
    if (!segment->is_backed &&
        !sp_model_back((void *)segment->memory.base, segment->memory.size))
        return false;
    segment->is_backed = true;
    segment->n_holds++;
    return true;
}

/* What used it has executed, or the segment is held again and this is of no interest. */
static void settle_late(struct sp_model_late_free *late)
{
    struct sp_model_segment *segment = SP_CONTAINER_OF(late, struct sp_model_segment, late);

    segment->is_late = false;
    sp_model_segment_settle(segment);
}

void sp_model_segment_settle(struct sp_model_segment *segment)
{
    if (segment->n_holds > 0 || segment->is_late)
        return;
    if (!sp_model_uses_have_run(&segment->pending)) {
        segment->late = (struct sp_model_late_free){
            .at = {.slot = SP_SLOT_HOST},
            .uses = &segment->pending,
            .run = settle_late,
        };
        segment->is_late = true;
        sp_model_late_free_add(&segment->late);
        return;
    }
    sp_model_graph_memory_take_back(segment);
    if (segment->is_backed)
        sp_model_unback((void *)segment->memory.base, segment->memory.size);
    segment->is_backed = false;
    if (segment->allocs == NULL)
        close_segment(segment);
}

void sp_model_segment_unhold(struct sp_model_segment *segment)
{
    SP_ASSERT(segment->n_holds > 0);
    segment->n_holds--;
    sp_model_segment_settle(segment);
}

/* The newest allocation is the last that is there, because nothing else refers to any. */
void sp_model_segments_drop(void)
{
    struct sp_model_segment *next;

    for (struct sp_model_segment *segment = segments.all; segment != NULL; segment = next) {
        next = segment->next;
        if (segment->live != NULL)
            sp_model_alloc_drop(segment->live);
    }
    sp_model_late_frees_run();
    SP_ASSERT(segments.all == NULL);
}
