/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's graphs, executables, user objects and graph memory: what their files and capture
 * share. Everything here is called with the model's lock. */
#ifndef SP_MODEL_GRAPH_H
#define SP_MODEL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/model/nodes.h"

/* ---- graphs (graph.c, graph_walk.c, graph_node.c, graph_edge.c) ---------------------- */

struct sp_model_graph *sp_model_graph_new(void); /* with a handle; NULL without memory */
void sp_model_graph_delete(struct sp_model_graph *graph); /* with children and references */

/* NULL: the handle is none, or stale, which is said. */
struct sp_model_graph *sp_model_graph_find(sp_cu_graph handle);
struct sp_model_node *sp_model_node_find(sp_cu_node handle);
void sp_model_graphs_reset(void);

/* A node after those that it depends on; what `work` points to is the node's from then on, or,
 * without memory (NULL), still the caller's. Neither edges nor work are checked. `edges` may be
 * NULL: all 0. */
struct sp_model_node *sp_model_graph_add(struct sp_model_graph *graph,
                                         const struct sp_model_work *work,
                                         struct sp_model_node *const *dependencies,
                                         const struct sp_cu_edge_data *edges,
                                         size_t n_dependencies);

/* What work points to goes: children, bodies, one reference of an allocation or of a launch. */
void sp_model_work_release(struct sp_model_work *work);

/* It allocates or frees. */
bool sp_model_work_is_memory(const struct sp_model_work *work);

/* The node goes, with all edges from and to it. */
void sp_model_graph_remove(struct sp_model_node *node);

/* INVALID_VALUE: a handle is none, of another graph, or given twice. The array is to be freed.
 */
sp_cu_result sp_model_nodes_of(struct sp_model_graph *graph, const sp_cu_node *handles,
                               size_t n, struct sp_model_node ***nodes_out);

/* Whether a path of one edge or more leads from one node to another of the same graph. */
bool sp_model_graph_precedes(const struct sp_model_node *from, const struct sp_model_node *to);

/* The nodes so that each comes after those it depends on: an array to be freed. INVALID_VALUE:
 * there is a cycle. */
sp_cu_result sp_model_graph_sort(const struct sp_model_graph *graph,
                                 struct sp_model_node ***nodes_out);

/* Where in a node's dependencies another is; n_dependencies if it is none. That edge goes. */
size_t sp_model_node_find_edge(const struct sp_model_node *node,
                               const struct sp_model_node *dependency);
void sp_model_node_cut(struct sp_model_node *node, size_t i);

/* One more dependency, at the end. False without memory. */
bool sp_model_node_depend(struct sp_model_node *node, struct sp_model_node *dependency,
                          const struct sp_cu_edge_data *edge);

/* Whether edge data means anything. Only kernels have ports, and those of the model use none:
 * it takes them of any node, so that a program's way with them can be tested. */
bool sp_model_edges_are_valid(const struct sp_cu_edge_data *edges, size_t n);
bool sp_model_edge_is_default(const struct sp_cu_edge_data *edge);

/* The graph whose node owns this one; NULL if it is a graph of its own. */
struct sp_model_graph *sp_model_graph_around(const struct sp_model_graph *graph);

/* A stream is capturing into the graph, or into one inside it. */
bool sp_model_graph_is_captured(const struct sp_model_graph *graph);

/* What parameters say of a node that owns nothing but a launch's arguments, of which the work
 * has a reference, checked: INVALID_VALUE, INVALID_CONTEXT, INVALID_HANDLE; NOT_SUPPORTED for
 * nodes that own something else, and those that the model has not. */
sp_cu_result sp_model_work_of(const struct sp_cu_node_params *params,
                              struct sp_model_work *work_out);

/* Whether the bytes that such a node does not use are 0. */
bool sp_model_params_are_clean(const struct sp_cu_node_params *params);

/* Whether nodes that allocate and free may be added: not inside another graph (GNODE-25, 26,
 * 33). */
sp_cu_result sp_model_graph_takes_memory(const struct sp_model_graph *graph);

/* What an act on a graph answers that is forbidden since it was moved (GNODE-25). */
sp_cu_result sp_model_moved_result(void);

/* A copy with nodes of its own and references of its own to user objects. NOT_SUPPORTED: it has
 * memory nodes or conditional ones (GNODE-23). */
sp_cu_result sp_model_graph_clone(struct sp_model_graph *graph,
                                  struct sp_model_graph **clone_out);

/* ---- user objects (object.c) --------------------------------------------------------- */

/* References for another holder of what `from` holds. False without memory: nothing is held. */
bool sp_model_held_copy(struct sp_model_held **held_out, const struct sp_model_held *from);

/* Give them back; the last one makes the destructor run, on a thread of its own. */
void sp_model_held_put(struct sp_model_held **held);

/* Any thread, without the lock: the caller is a destructor, which may call nothing (GOBJ-04);
 * that is said. */
bool sp_model_is_destructor(void);

/* Before the graphs and executables: destructors that are due have run when it returns. No more
 * run; objects go with the last graph that holds them. The lock is given meanwhile. */
void sp_model_objects_reset(void);

/* ---- graph memory (graph_memory.c, graph_alloc.c) ------------------------------------ */

/* The parameters of an allocation node, checked: its address is set (GNODE-01..06, 13). The
 * record has one reference. `capture`: from cuMemAllocAsync() on a capturing stream, whose pool
 * has given properties and access. */
sp_cu_result sp_model_alloc_new(struct sp_model_graph *graph, struct sp_cu_alloc_params *params,
                                struct sp_model_node *const *dependencies,
                                size_t n_dependencies, struct sp_model_alloc **alloc_out);
void sp_model_alloc_get(struct sp_model_alloc *alloc);
void sp_model_alloc_put(struct sp_model_alloc *alloc);

/* It becomes the allocation of that node: known so that a free can be compared with it. */
void sp_model_alloc_bind(struct sp_model_alloc *alloc, struct sp_model_node *node);

/* What a free node or a captured free of an address in this graph would free, as GNODE-08..12
 * say: INVALID_VALUE. The node gets a reference of its own, and is bound with
 * sp_model_free_bind(). */
sp_cu_result sp_model_alloc_to_free(struct sp_model_graph *graph, sp_cu_ptr ptr,
                                    struct sp_model_alloc **alloc_out);
void sp_model_free_bind(struct sp_model_alloc *alloc, struct sp_model_node *node);

/* The node that allocates or frees goes: with its graph, or because adding it failed. */
void sp_model_alloc_unbind(struct sp_model_node *node);

void sp_model_alloc_params(const struct sp_model_alloc *alloc,
                           struct sp_cu_alloc_params *params_out);
sp_cu_ptr sp_model_alloc_ptr(const struct sp_model_alloc *alloc);

/* A free, by cuMemFreeAsync() (`stream`) or cuMemFree() (NULL), of an address that may be a
 * graph's: false if no allocation of a graph begins there, else the answer (GNODE-12, 15..17).
 */
bool sp_model_graph_free(struct sp_model_stream *stream, sp_cu_ptr ptr,
                         sp_cu_result *result_out);

/* The allocation around an address, whose memory is attached; false if there is none. */
bool sp_model_graph_range(uintptr_t address, uintptr_t *base_out, size_t *size_out);

/* Graph memory of a device that nothing uses is given back, because memory is short. */
void sp_model_graph_memory_reclaim(int device, size_t bytes);
void sp_model_graph_memory_reset(void);

/* ---- executables (exec.c, launch.c, update.c) ---------------------------------------- */

/* The graph goes: its executables stay and belong to none. */
void sp_model_execs_orphan(struct sp_model_graph *graph);
void sp_model_execs_reset(void);

#endif /* SP_MODEL_GRAPH_H */
