/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the model's graphs consist of: nodes and what they do, edges, references to user
 * objects. Behind the model's lock. */
#ifndef SP_NODES_H
#define SP_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"
#include "src/model/model.h"

/* Kinds of handles: see src/model/tickets.h. */
enum {
    SP_TICKET_GRAPH = 1,
    SP_TICKET_NODE,
    SP_TICKET_EXEC,
    SP_TICKET_OBJECT,
    SP_TICKET_MODULE,
    SP_TICKET_FUNCTION,
};

struct sp_model_alloc;
struct sp_model_capture;
struct sp_model_exec;
struct sp_model_graph;
struct sp_model_kernel;
struct sp_model_object;

/* What a node does. Copied whole when a graph is cloned or instantiated, but for `child`,
 * `alloc` and `kernel`, which are told apart there. */
struct sp_model_work {
    int type; /* SP_CU_NODE_... */
    union {
        struct sp_model_kernel *kernel;  /* KERNEL: referenced */
        struct sp_cu_memcpy_params copy; /* one-dimensional or more */
        struct sp_cu_memset_params_v2 set;
        struct sp_cu_host_params host;
        sp_cu_event event;            /* WAIT_EVENT, EVENT_RECORD */
        struct sp_model_graph *child; /* GRAPH: owned by the node */
        struct sp_model_alloc *alloc; /* MEM_ALLOC, MEM_FREE: referenced */
        struct {                      /* BATCH_MEM_OP: one value that is awaited or written */
            sp_cu_ptr address;
            uint64_t value;
            unsigned flags;
            bool is_write, is_wide; /* of 8 bytes */
        } value;
        struct { /* CONDITIONAL */
            struct sp_cu_conditional_params params;
            struct sp_model_graph **bodies; /* [params.size] */
            unsigned value; /* of the handle at each launch: nothing can set it */
        } condition;
    };
};

/* A node of a graph. Its handle is stale once it is destroyed, or its graph is. */
struct sp_model_node {
    sp_cu_node handle;
    struct sp_model_graph *graph;
    struct sp_model_work work;
    uint64_t number; /* in the graph, from 0, in order of creation; kept by clones */
    struct sp_model_node **dependencies; /* [n_dependencies] each once */
    struct sp_cu_edge_data *edges;       /* [n_dependencies] */
    size_t n_dependencies, room;
    size_t n_dependents;
    struct sp_model_node *next; /* in the graph, in order of creation */

    /* Of walks over the graph, which begin anew each time. */
    uint64_t mark;
    struct sp_model_node *todo;
    size_t n_walked; /* dependencies that the walk has been to */
};

/* The handle of a condition that was made for a graph. */
struct sp_model_condition {
    sp_cu_conditional handle;
    struct sp_model_context *context;
    unsigned value; /* at each launch */
    bool is_used;   /* by a conditional node */
    struct sp_model_condition *next;
};

/* A user object's references that a graph or an executable holds. */
struct sp_model_held {
    struct sp_model_object *object;
    uint64_t count;
    struct sp_model_held *next;
};

/*
 * A graph. Destroyed: the handle is stale. It goes at once, since executables have copies of
 * their own.
 *
 *   has_memory == one of its nodes (or of a child's) is MEM_ALLOC or MEM_FREE
 */
struct sp_model_graph {
    sp_cu_graph handle;
    struct sp_model_node *first, *last;
    size_t n_nodes;
    uint64_t n_created; /* nodes, ever */
    bool has_memory, has_condition;
    bool is_conditional_body;
    bool is_moved; /* into its owner: it is no graph of its own any more (GNODE-25) */
    struct sp_model_node *owner;      /* the child or conditional node that it belongs to */
    struct sp_model_capture *capture; /* that records into it, or NULL */
    struct sp_model_exec *execs;      /* made from it and alive */
    sp_cu_graph original;             /* cloned from, if not NULL; it may be gone */
    uint64_t n_original;              /* nodes, ever, that the original had then */
    struct sp_model_condition *conditions;
    struct sp_model_held *held;
    struct sp_model_graph *next, **link; /* in the list of all */
};

#endif /* SP_NODES_H */
