/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph of work as data: nodes, edges, and the blocks of memory that live in it. It knows no
 * driver and no runtime; who builds one is below (files, a captured graph, recorded tasks), who
 * reads one is graph/liveness and what writes pictures. */
#ifndef SP_GRAPH_H
#define SP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/graph.h>

#define SP_NO_INDEX UINT32_MAX

struct sp_graph_node {
    enum starpool_graph_node_kind kind;
    char *name; /* NULL: none */
};

/* `to` begins when `from` has ended. */
struct sp_graph_edge {
    uint32_t from, to;
};

/* A node that uses a block beside those that allocate and free it. */
struct sp_graph_use {
    uint32_t block, node;
};

/*
 * Memory that lives in a part of the graph. In a timed graph that is [lower, upper). Else it
 * begins with the node that allocates it, or, without one, with the first of its users; and it
 * ends with the node that frees it, or, without one, with the last of its users. A block whose
 * is_output is set lives on after the graph, one with is_input from before it.
 *
 * Block a is over before block b begins if a is no output, b is no input, and each node that
 * may be a's last precedes (by a path of one edge or more) each node that may be b's first.
 */
struct sp_graph_block {
    uint64_t size;      /* [bytes] at least 1 */
    uint64_t alignment; /* [bytes] a power of two */
    struct starpool_location location;
    char *name;            /* NULL: none */
    uint32_t alloc, free;  /* nodes, or SP_NO_INDEX */
    uint64_t lower, upper; /* timed: lower < upper */
    uint64_t address;      /* where it was when the graph was captured; 0: not known */
    bool is_input, is_output;
};

struct starpool_graph {
    bool is_timed;                 /* blocks have times; there are no nodes, edges and uses */
    uint64_t capacity;             /* [bytes] that each location has; 0: not said */
    char *name;                    /* NULL: none */
    struct sp_graph_node *nodes;   /* [n_nodes] */
    struct sp_graph_edge *edges;   /* [n_edges]; no cycle (sp_graph_check) */
    struct sp_graph_use *uses;     /* [n_uses] */
    struct sp_graph_block *blocks; /* [n_blocks] */
    uint32_t n_nodes, n_edges, n_uses, n_blocks;
    uint32_t nodes_room, edges_room, uses_room, blocks_room;
};

/* What of a graph an error is about. */
enum sp_graph_part {
    SP_GRAPH_PART_NONE,
    SP_GRAPH_PART_NODE,
    SP_GRAPH_PART_EDGE,
    SP_GRAPH_PART_USE,
    SP_GRAPH_PART_BLOCK,
};

/* What is wrong with a graph or a file: the first thing, in words, and in which line of a file
 * (0: no file, or the end of it). `part` and `index` say which part sp_graph_check() means. */
struct sp_graph_error {
    unsigned line;
    enum sp_graph_part part;
    uint32_t index;
    char text[200];
};

/* An empty graph; NULL without memory. Names that are given are copied. */
struct starpool_graph *sp_graph_create(const char *name);
void sp_graph_destroy(struct starpool_graph *graph);

/* Append; the index, or SP_NO_INDEX without memory. Nothing is checked but by sp_graph_check().
 */
uint32_t sp_graph_add_node(struct starpool_graph *graph, enum starpool_graph_node_kind kind,
                           const char *name);
uint32_t sp_graph_add_block(struct starpool_graph *graph, const struct sp_graph_block *block);
bool sp_graph_add_edge(struct starpool_graph *graph, uint32_t from, uint32_t to);
bool sp_graph_add_use(struct starpool_graph *graph, uint32_t block, uint32_t node);

/* Every index in range, sizes and alignments valid and together below 2^63, no cycle, an
 * allocation before its uses and its free, uses before the free, and for every block something
 * that begins and ends it. EINVAL with what is wrong; ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_graph_check(const struct starpool_graph *graph,
                                                   struct sp_graph_error *error);

/* The nodes in an order that follows the edges, of those possible the one by index, as far as
 * possible. EINVAL: there is a cycle. `order_out` has room for n_nodes. */
STARPOOL_CHECK enum starpool_status sp_graph_sort(const struct starpool_graph *graph,
                                                  uint32_t *order_out);

/* Who follows each node directly; who comes right before it; the users of each block. Those of
 * the first are the first of one array, and so on: where each part begins, and [n], and the
 * array are to be freed. False without memory. */
bool sp_graph_list_followers(const struct starpool_graph *graph, uint32_t **begin_out,
                             uint32_t **followers_out);
bool sp_graph_list_precursors(const struct starpool_graph *graph, uint32_t **begin_out,
                              uint32_t **precursors_out);
bool sp_graph_list_users(const struct starpool_graph *graph, uint32_t **begin_out,
                         uint32_t **users_out);

/* The locations of the graph's blocks, each once, in order of appearance: an array to be freed.
 */
STARPOOL_CHECK enum starpool_status sp_graph_locations(const struct starpool_graph *graph,
                                                       struct starpool_location **locations_out,
                                                       uint32_t *n_out);

/* "device 0", "host", "node 1": as files and reports name a location. */
STARPOOL_API void sp_location_text(struct starpool_location location, char text[32]);

/* ---- files (read_csv.c, read_json.c, write_*.c) -------------------------------------------
 */

struct starpool_plan;

/* A whole file in memory, not terminated. EINVAL with line and reason. */
STARPOOL_CHECK enum starpool_status sp_graph_read_csv(const char *text, size_t size,
                                                      struct starpool_graph **graph_out,
                                                      struct sp_graph_error *error);
STARPOOL_CHECK enum starpool_status sp_graph_read_json(const char *text, size_t size,
                                                       struct starpool_graph **graph_out,
                                                       struct sp_graph_error *error);

#endif /* SP_GRAPH_H */
