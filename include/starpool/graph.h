/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs of work as data, with the blocks of memory that live in them. */
#ifndef STARPOOL_GRAPH_H
#define STARPOOL_GRAPH_H

#include <starpool/base.h>
#include <starpool/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct starpool_graph; /* opaque */
struct starpool_plan;  /* opaque; see starpool/plan.h */

/** What a node of a graph does. */
enum starpool_graph_node_kind {
    STARPOOL_GRAPH_NODE_EMPTY,        /**< nothing; it only orders */
    STARPOOL_GRAPH_NODE_KERNEL,       /**< a kernel of the device */
    STARPOOL_GRAPH_NODE_MEMCPY,       /**< a copy */
    STARPOOL_GRAPH_NODE_MEMSET,       /**< memory is set */
    STARPOOL_GRAPH_NODE_HOST,         /**< a function of the host */
    STARPOOL_GRAPH_NODE_ALLOC,        /**< memory is allocated */
    STARPOOL_GRAPH_NODE_FREE,         /**< memory is freed */
    STARPOOL_GRAPH_NODE_CHILD,        /**< another graph */
    STARPOOL_GRAPH_NODE_EVENT_RECORD, /**< an event is recorded */
    STARPOOL_GRAPH_NODE_EVENT_WAIT,   /**< an event is waited for */
    STARPOOL_GRAPH_NODE_TASK,         /**< a task of a runtime */
    STARPOOL_GRAPH_NODE_OTHER,        /**< what the driver knows and starpool does not */
};

/** The file formats of graphs. */
enum starpool_graph_format {
    STARPOOL_GRAPH_AUTO, /**< by the file's name, and, reading, by its first character */
    STARPOOL_GRAPH_JSON, /**< everything that a graph has, and its plan */
    STARPOOL_GRAPH_CSV,  /**< id,lower,upper,size; plans add offset */
    STARPOOL_GRAPH_DOT,  /**< for Graphviz; written only */
    STARPOOL_GRAPH_SVG,  /**< two pictures: memory over time, and addresses against order;
                              written only */
};

/** In place of a node: there is none. */
#define STARPOOL_NO_NODE UINT32_MAX

/**
 * A block of memory of a graph. Fill it with starpool_graph_block_init(), then change what
 * matters.
 *
 * In a graph of nodes it lives from the node that allocates it, or the first of its users, to
 * the node that frees it, or the last of its users. Else it has times, as every other block of
 * that graph, which then has no nodes.
 */
struct starpool_graph_block {
    size_t struct_size; /**< [bytes] sizeof(struct starpool_graph_block) */
    uint64_t size;      /**< [bytes] at least 1 */
    uint64_t alignment; /**< [bytes] a power of two; as blocks of pools have it by default */
    struct starpool_location location; /**< nowhere in particular by default */
    const char *name;                  /**< copied; NULL (default): none */
    uint32_t alloc;   /**< the node that allocates it; STARPOOL_NO_NODE by default */
    uint32_t free;    /**< the node that frees it; STARPOOL_NO_NODE by default */
    uint64_t lower;   /**< when it begins; 0 by default */
    uint64_t upper;   /**< when it has ended; 0 (default): the graph has no times */
    uint64_t address; /**< where it was in a run; 0 (default): not known */
    bool is_input;    /**< it is there before the graph; off by default */
    bool is_output;   /**< it stays behind the graph; off by default */
};

/** What a graph has. */
struct starpool_graph_info {
    size_t struct_size; /**< [bytes] set by the caller to sizeof(this struct) */
    const char *name;   /**< NULL: none; valid as long as the graph */
    uint32_t n_nodes, n_edges, n_uses, n_blocks;
    uint64_t capacity; /**< [bytes] of each location, if its file says so; 0: not known */
    bool is_timed;     /**< blocks have times, and there are no nodes */
};

/**
 * An empty graph. What is added is numbered from 0, nodes and blocks apart.
 *
 * @param name       copied; NULL: none
 * @param graph_out  written only on STARPOOL_OK; to be destroyed
 *
 * @retval STARPOOL_OK      `*graph_out` is set
 * @retval STARPOOL_EINVAL  `graph_out` is NULL
 * @retval STARPOOL_ENOMEM  no memory
 *
 * Threads: for this and all below, one at a time for each graph that one of them changes.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_create(const char *name, struct starpool_graph **graph_out);

/** Destroy a graph; NULL is left alone. Plans of it stay valid. */
STARPOOL_API void starpool_graph_destroy(struct starpool_graph *graph);

/** Set every member of a block to its default. Threads: any, at once. */
STARPOOL_API void starpool_graph_block_init(struct starpool_graph_block *block);

/**
 * Add to a graph: a node; that `to` begins when `from` has ended; a block; that a node uses a
 * block.
 *
 * Whether it all makes sense together, starpool_graph_check() tells.
 *
 * @param graph      from starpool_graph_create() or starpool_graph_read()
 * @param name       copied; NULL: none
 * @param node_out, block_out  its number; written only on STARPOOL_OK; NULL if not wanted
 *
 * @retval STARPOOL_OK      added
 * @retval STARPOOL_EINVAL  a pointer is NULL, there is no such kind, node or block,
 * `struct_size` is too small, or nodes and times are in one graph
 * @retval STARPOOL_ENOMEM  no memory
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_add_node(struct starpool_graph *graph, enum starpool_graph_node_kind kind,
                        const char *name, uint32_t *node_out);
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_add_edge(struct starpool_graph *graph, uint32_t from, uint32_t to);
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_add_block(struct starpool_graph *graph, const struct starpool_graph_block *block,
                         uint32_t *block_out);
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_add_use(struct starpool_graph *graph, uint32_t block, uint32_t node);

/**
 * Whether a graph is whole: sizes and alignments valid, no cycle, every block with a beginning
 * and an end that are in order with its uses. Plans and files are only made of such a graph.
 *
 * @param error  [error_size] what is wrong, in words, if it is EINVAL; NULL if not wanted
 *
 * @retval STARPOOL_OK      it is whole
 * @retval STARPOOL_EINVAL  it is not, or `graph` is NULL
 * @retval STARPOOL_ENOMEM  no memory
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_check(const struct starpool_graph *graph, char *error, size_t error_size);

/**
 * Read a graph from a file, JSON or CSV.
 *
 * @param path       a regular file
 * @param format     STARPOOL_GRAPH_AUTO, or what it is whatever its name
 * @param graph_out  written only on STARPOOL_OK; to be destroyed
 * @param error      [error_size] what is wrong, in which line, if anything; NULL if not wanted
 *
 * @retval STARPOOL_OK       `*graph_out` is set
 * @retval STARPOOL_EINVAL   a pointer is NULL, or the file holds no whole graph
 * @retval STARPOOL_ENOTSUP  the format is written only
 * @retval STARPOOL_EIO      it is no regular file, or cannot be read
 * @retval STARPOOL_ENOTPERM this process may not read it
 * @retval STARPOOL_ENOMEM   no memory
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_read(const char *path, enum starpool_graph_format format,
                    struct starpool_graph **graph_out, char *error, size_t error_size);

/**
 * Write a graph to a file, which only its owner can read.
 *
 * @param plan    of this graph; NULL: none
 * @param path    made, or replaced if it is a regular file of the user's, and no link
 * @param format  STARPOOL_GRAPH_AUTO: by the name's ending; CSV and SVG show a graph of nodes
 * as if these ran one after another
 *
 * @retval STARPOOL_OK      written
 * @retval STARPOOL_EINVAL  a pointer is NULL, no format has that name, the graph is not whole,
 * or the plan is another graph's
 * @retval STARPOOL_ENOTSUP DOT shows nodes, and the graph has times
 * @retval STARPOOL_EIO     not written; the reason is logged, and no part is left
 * @retval STARPOOL_ENOMEM  no memory
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_write(const struct starpool_graph *graph, const struct starpool_plan *plan,
                     const char *path, enum starpool_graph_format format);

/**
 * What a graph has; one of its blocks; one of its nodes.
 *
 * @param info_out   [in/out] `struct_size` must be set; the rest is written only on STARPOOL_OK
 * @param block_out  likewise; names are valid as long as the graph
 * @param kind_out, name_out  NULL if not wanted; no name is NULL
 *
 * @retval STARPOOL_OK      written
 * @retval STARPOOL_EINVAL  a pointer is NULL, `struct_size` is too small, or there is no such
 * block or node
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_get_info(const struct starpool_graph *graph,
                        struct starpool_graph_info *info_out);
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_get_block(const struct starpool_graph *graph, uint32_t block,
                         struct starpool_graph_block *block_out);
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_get_node(const struct starpool_graph *graph, uint32_t node,
                        enum starpool_graph_node_kind *kind_out, const char **name_out);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_GRAPH_H */
