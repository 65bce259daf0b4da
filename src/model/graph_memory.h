/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graph memory from the inside: what graph_alloc.c, graph_memory.c and the files of executables
 * share. Everything here is called with the model's lock. */
#ifndef SP_GRAPH_MEMORY_H
#define SP_GRAPH_MEMORY_H

#include "src/model/blocks.h"
#include "src/model/graph.h"

/*
 * Addresses for allocations of one graph, which take turns there: each begins where the segment
 * does, and a path leads from the free of one to the next one. So the last of them is the only
 * one that can be left unfreed by a launch.
 *
 *   is_backed == memory is mapped there; n_holds > 0 implies it
 */
struct sp_model_segment {
    struct sp_model_memory memory; /* GRAPH */
    struct sp_model_alloc *allocs; /* the newest first */
    struct sp_model_alloc *live; /* allocated and not freed, in the order of the host's calls */
    size_t n_holds;              /* executables that are attached, and `live` */
    bool is_backed;
    bool is_counted;                /* as memory of its own, which no launch shares */
    bool is_launching;              /* its executable is being put into a stream */
    size_t place;                   /* in the executable that is being made, plus one; or 0 */
    struct sp_model_alloc *checked; /* around the last use of those that are being checked */
    struct sp_clock pending;        /* uses and frees that may not have executed */
    struct sp_model_late_free late; /* while is_late: nothing holds it, but `pending` may */
    bool is_late;
    struct sp_model_segment *next, **link; /* in the list of all */
};

/* A node that frees an allocation. */
struct sp_model_freeing {
    struct sp_model_node *node;
    struct sp_model_freeing *next;
};

/* What an allocation node allocates, at each launch anew: the same addresses. */
struct sp_model_alloc {
    unsigned n_references;            /* of nodes and executables, and one while it is live */
    struct sp_cu_alloc_params params; /* `access` is its own */
    struct sp_model_segment *segment;
    struct sp_model_block *block;      /* its id, and uses since it was allocated */
    struct sp_model_node *node;        /* that allocates it; NULL once that has gone */
    struct sp_model_freeing *freeings; /* of all graphs */
    bool is_freed_inside;              /* by a node of its own graph */
    struct sp_point allocated_at;      /* if live */
    size_t alloc_step, free_step;      /* that are being looked at; SIZE_MAX: none */
    struct sp_model_alloc *next;       /* in the segment */
};

/* ---- segments (graph_segment.c) ------------------------------------------------------ */

/* A place for an allocation with these parameters, after these nodes; NULL without memory or
 * addresses. */
struct sp_model_segment *sp_model_segment_take(struct sp_model_graph *graph,
                                               const struct sp_cu_alloc_params *params,
                                               struct sp_model_node *const *dependencies,
                                               size_t n_dependencies);

/* The segment around an address, or NULL. */
struct sp_model_segment *sp_model_segment_find(uintptr_t address);

/* Memory is needed there from now on: false without any. And no longer. */
bool sp_model_segment_hold(struct sp_model_segment *segment);
void sp_model_segment_unhold(struct sp_model_segment *segment);

/* It goes if no allocation is there. */
void sp_model_segment_settle(struct sp_model_segment *segment);

/* What is live is freed; nothing executes any more. */
void sp_model_segments_drop(void);

/* ---- allocations (graph_alloc.c) ----------------------------------------------------- */

/* The allocation that an address means for who asks about it: the live one, or the newest;
 * NULL if none is there. */
const struct sp_model_alloc *sp_model_alloc_around(uintptr_t address);

/* Whether two allocations are of the same kind of memory, in the same place. */
bool sp_model_is_same_place(const struct sp_cu_alloc_params *a,
                            const struct sp_cu_alloc_params *b);

/* SP_CU_ACCESS_... */
int sp_model_alloc_access(const struct sp_model_alloc *alloc, int device);

/* It is allocated at a point, in the order of the host's calls; its segment is held. */
void sp_model_alloc_begin(struct sp_model_alloc *alloc, struct sp_point at);

/* It is freed at the stream's next operation, which will be `at`, and that is checked. */
void sp_model_alloc_end(struct sp_model_alloc *alloc, const struct sp_model_stream *stream,
                        struct sp_point at);

/* It is freed, because the model starts over. */
void sp_model_alloc_drop(struct sp_model_alloc *alloc);

/* Whether an operation of the stream, or one captured there, may use the segment's addresses.
 */
bool sp_model_segment_can_use(const struct sp_model_segment *segment,
                              const struct sp_model_stream *stream);

/* An operation uses a segment, or the allocation that is live there. */
void sp_model_segment_use(struct sp_model_segment *segment, struct sp_point at);

/* The same, and what is wrong with it is said: `stream`'s next operation, which will be `at`.
 */
void sp_model_graph_use(const struct sp_model_stream *stream, struct sp_point at,
                        uintptr_t address, size_t size);

/* ---- the devices' graph memory (graph_memory.c) -------------------------------------- */

/* What an executable's launches need of a device but for unfreed allocations: they share it
 * with the other launches of their stream. */
struct sp_model_share {
    int device;
    uint64_t bytes;
    struct sp_model_graph_cache *cache; /* NULL unless attached */
    struct sp_model_share *next;        /* of the cache */
};

/* Memory for the executable's launches in a stream. OUT_OF_MEMORY, and nothing changed. */
sp_cu_result sp_model_exec_attach(struct sp_model_exec *exec,
                                  const struct sp_model_stream *stream);
void sp_model_exec_detach(struct sp_model_exec *exec);

/* Its launch in that stream ends at a point. */
void sp_model_exec_note_launch(struct sp_model_exec *exec, struct sp_point at);

/* A segment's memory of its own serves any launch from now on. */
void sp_model_graph_memory_take_back(struct sp_model_segment *segment);

#endif /* SP_GRAPH_MEMORY_H */
