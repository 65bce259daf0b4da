/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executables from the inside: what their files share. Everything here is called with the
 * model's lock. */
#ifndef SP_MODEL_EXEC_H
#define SP_MODEL_EXEC_H

#include "src/model/graph_memory.h"
#include "src/model/shapes.h"

/* An executable's own copy of a graph's nodes: each comes after those that it depends on. */
struct sp_model_steps {
    struct sp_model_step *all; /* [n] */
    size_t n;
    struct sp_model_held *held; /* the graph's user objects */
};

/* A copy of a node. Of its work, the child and the bodies are in `parts`. */
struct sp_model_step {
    struct sp_model_work work;
    sp_cu_node origin;    /* the node's handle; stale once it has gone */
    size_t *dependencies; /* [n_dependencies] indices of steps */
    struct sp_cu_edge_data *edges;
    size_t n_dependencies;
    bool is_disabled;
    struct sp_model_steps *parts; /* [n_parts] */
    size_t n_parts;
};

/* A segment that an executable allocates in. */
struct sp_model_exec_place {
    struct sp_model_segment *segment;
    bool is_own; /* a launch leaves an allocation there: no other launch shares the memory */
};

/*
 * An executable. Destroyed, it goes once its launches have ended.
 *
 *   is_attached == its segments are held and its shares are in caches
 */
struct sp_model_exec {
    sp_cu_exec handle; /* NULL once it is destroyed */
    uint64_t flags;
    struct sp_model_graph *graph; /* that it was made from; NULL once that has gone */
    struct sp_model_steps steps;
    bool has_memory, has_condition;
    struct sp_model_held *held_before;  /* of steps that are gone, for launches in flight */
    struct sp_model_exec_place *places; /* [n_places] */
    size_t n_places;
    struct sp_model_share *shares; /* [n_shares] one a device */
    size_t n_shares;
    bool is_attached;
    uint64_t stream_id;   /* if attached: whose memory it shares */
    struct sp_point last; /* where its last launch ends; seq 0 before the first */
    struct sp_mark ended; /* the same with what is known there, where races are looked for */
    unsigned n_in_flight; /* launches that have not ended */
    struct sp_model_exec *next_of_graph;
    struct sp_model_exec *next, **link; /* in the list of all */
};

/* ---- copies of nodes (exec_steps.c) -------------------------------------------------- */

/* All of a graph, with references of its own. INVALID_VALUE: there is a cycle. */
sp_cu_result sp_model_steps_copy(const struct sp_model_graph *graph,
                                 struct sp_model_steps *steps_out);
void sp_model_steps_fini(struct sp_model_steps *steps);

/* A graph that does the same, of no other graph's; OUT_OF_MEMORY. */
sp_cu_result sp_model_steps_rebuild(const struct sp_model_steps *steps,
                                    struct sp_model_graph **graph_out);

/* For each step, those of its parts behind it, until one answers anything but success. */
typedef sp_cu_result (*sp_model_step_fn)(struct sp_model_step *step, void *arg);
sp_cu_result sp_model_steps_visit(const struct sp_model_steps *steps, sp_model_step_fn visit,
                                  void *arg);

/* The same for what a launch executes: steps that are enabled and have no parts, and those
 * parts that conditions choose. */
sp_cu_result sp_model_steps_execute(const struct sp_model_steps *steps, sp_model_step_fn visit,
                                    void *arg);

/* The range of addresses that a step reads (`source`) or writes; the size is 0 if none. What
 * kernels use is told by sp_model_kernel_range(). */
struct sp_model_extent sp_model_step_extent(const struct sp_model_work *work, bool is_source);

/* Uses and frees of the graphs' allocations that are not ordered as they must be are said, as
 * the switch graph_unordered has it (GNODE-10, PIT-05); INVALID_VALUE if it refuses them. */
sp_cu_result sp_model_steps_check_order(const struct sp_model_steps *steps);

/* ---- executables (exec.c) ------------------------------------------------------------ */

struct sp_model_exec *sp_model_execs(void);

/* The handle's executable; NULL if it is stale or none. */
struct sp_model_exec *sp_model_exec_find(sp_cu_exec handle);

/* What its steps allocate has changed: known anew. It is not attached. False without memory,
 * and nothing changed. */
bool sp_model_exec_place_all(struct sp_model_exec *exec);

/* Steps of it that no later launch executes go; launches that are in flight keep the user
 * objects. */
void sp_model_exec_retire(struct sp_model_exec *exec, struct sp_model_steps *old);

/* One launch less is in flight. */
void sp_model_exec_landed(struct sp_model_exec *exec);

/* True if no launch of it is executing or waits to. */
bool sp_model_exec_is_idle(const struct sp_model_exec *exec);

/* ---- launches (launch.c, launch_work.c) ---------------------------------------------- */

/* Memory for its launches in a stream, ahead of the first (GMEM-06). */
sp_cu_result sp_model_exec_upload(struct sp_model_exec *exec, struct sp_model_stream *stream);

/* A value that a stream waits for or writes becomes its next operation (values.c). */
sp_cu_result sp_model_submit_work_value(struct sp_model_stream *stream,
                                        const struct sp_model_work *work);

/* What a step does that is no allocation and has no parts becomes the stream's next operation,
 * if it does anything. */
sp_cu_result sp_model_work_submit(const struct sp_model_work *work,
                                  struct sp_model_stream *stream);

#endif /* SP_MODEL_EXEC_H */
