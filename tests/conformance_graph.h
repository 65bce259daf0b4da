/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the conformance cases about graphs are written with. Everything must succeed unless it
 * says so; graphs and executables are the case's to destroy. */
#ifndef SP_CONFORMANCE_GRAPH_H
#define SP_CONFORMANCE_GRAPH_H

#include "tests/conformance.h"

sp_cu_graph sp_case_graph(void);
sp_cu_exec sp_case_instantiate(sp_cu_graph graph, unsigned long long flags);

/* What instantiating answers; the executable goes at once. */
sp_cu_result sp_case_try_instantiate(sp_cu_graph graph);
void sp_case_launch(sp_cu_exec exec, sp_cu_stream stream);
void sp_case_destroy_graph(sp_cu_graph graph);
void sp_case_destroy_exec(sp_cu_exec exec);

/* Nothing is in any stream: give back the memory that graphs had, as the harness requires. */
void sp_case_trim_graphs(void);

size_t sp_case_count_nodes(sp_cu_graph graph);
size_t sp_case_count_edges(sp_cu_graph graph);

/* Nodes behind another one, or (NULL) behind none. */
sp_cu_node sp_case_empty_node(sp_cu_graph graph, sp_cu_node before);
sp_cu_node sp_case_set_node(sp_cu_graph graph, sp_cu_node before, sp_cu_ptr ptr,
                            unsigned char value, size_t size);
sp_cu_node sp_case_copy_node(sp_cu_graph graph, sp_cu_node before, void *target,
                             sp_cu_ptr source, size_t size);
sp_cu_node sp_case_free_node(sp_cu_graph graph, sp_cu_node before, sp_cu_ptr ptr);

/* `node_out` may be NULL. */
sp_cu_ptr sp_case_alloc_node(sp_cu_graph graph, sp_cu_node before, size_t size,
                             sp_cu_node *node_out);
struct sp_cu_alloc_params sp_case_alloc_params(int device, size_t size);

/* What adding such a node as the graph's first answers. */
sp_cu_result sp_case_try_alloc(sp_cu_graph graph, struct sp_cu_alloc_params params);
sp_cu_result sp_case_try_free(sp_cu_graph graph, sp_cu_ptr ptr);

/* A graph moves into another, as a node; what that answers. */
sp_cu_result sp_case_try_move(sp_cu_graph graph, sp_cu_graph child, sp_cu_node *node_out);

#endif /* SP_CONFORMANCE_GRAPH_H */
