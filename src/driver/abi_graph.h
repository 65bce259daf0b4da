/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the driver's ABI that has to do with capture and graphs; see src/driver/abi.h.
 * tests/abi_check.c compares it with cuda.h, too. */
#ifndef SP_ABI_GRAPH_H
#define SP_ABI_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "src/driver/abi.h"
#include "src/driver/abi_kernel.h"
#include "src/driver/abi_shape.h"

typedef struct CUgraph_st *sp_cu_graph;
typedef struct CUgraphNode_st *sp_cu_node;
typedef struct CUgraphExec_st *sp_cu_exec;
typedef struct CUuserObject_st *sp_cu_object;
typedef uint64_t sp_cu_conditional;

/* ---- capture ----------------------------------------------------------------------- */

enum { SP_CU_CAPTURE_NONE = 0, SP_CU_CAPTURE_ACTIVE = 1, SP_CU_CAPTURE_INVALIDATED = 2 };
enum {
    SP_CU_CAPTURE_MODE_GLOBAL = 0,
    SP_CU_CAPTURE_MODE_THREAD_LOCAL = 1,
    SP_CU_CAPTURE_MODE_RELAXED = 2
};
enum { SP_CU_CAPTURE_ADD_DEPENDENCIES = 0, SP_CU_CAPTURE_SET_DEPENDENCIES = 1 };
enum { SP_CU_EVENT_RECORD_DEFAULT = 0, SP_CU_EVENT_RECORD_EXTERNAL = 1 };
enum { SP_CU_EVENT_WAIT_DEFAULT = 0, SP_CU_EVENT_WAIT_EXTERNAL = 1 };

/* ---- nodes ------------------------------------------------------------------------- */

enum {
    SP_CU_NODE_KERNEL = 0,
    SP_CU_NODE_MEMCPY = 1,
    SP_CU_NODE_MEMSET = 2,
    SP_CU_NODE_HOST = 3,
    SP_CU_NODE_GRAPH = 4,
    SP_CU_NODE_EMPTY = 5,
    SP_CU_NODE_WAIT_EVENT = 6,
    SP_CU_NODE_EVENT_RECORD = 7,
    SP_CU_NODE_MEM_ALLOC = 10,
    SP_CU_NODE_MEM_FREE = 11,
    SP_CU_NODE_BATCH_MEM_OP = 12,
    SP_CU_NODE_CONDITIONAL = 13,
};

/* CUgraphEdgeData */
struct sp_cu_edge_data {
    unsigned char from_port, to_port, type;
    unsigned char reserved[5]; /* 0 */
};

/* CUDA_MEMCPY_NODE_PARAMS */
struct sp_cu_memcpy_params {
    int flags, reserved; /* 0 */
    sp_cu_context context;
    struct sp_cu_memcpy3d copy;
};

/* CUDA_MEMSET_NODE_PARAMS_v2 */
struct sp_cu_memset_params_v2 {
    struct sp_cu_memset_params params;
    sp_cu_context context;
};

/* CUDA_HOST_NODE_PARAMS_v1 and _v2 */
struct sp_cu_host_params {
    sp_cu_host_fn call;
    void *arg;
};

/* CUDA_MEM_ALLOC_NODE_PARAMS_v1 and _v2 */
struct sp_cu_alloc_params {
    struct sp_cu_pool_props props;
    const struct sp_cu_access_desc *access; /* [n_access] */
    size_t n_access;
    size_t size;   /* [bytes] */
    sp_cu_ptr ptr; /* out */
};

enum { SP_CU_CHILD_CLONE = 0, SP_CU_CHILD_MOVE = 1 };

/* CUDA_CHILD_GRAPH_NODE_PARAMS */
struct sp_cu_child_params {
    sp_cu_graph graph;
    int ownership; /* SP_CU_CHILD_... */
};

enum { SP_CU_CONDITION_IF = 0, SP_CU_CONDITION_WHILE = 1, SP_CU_CONDITION_SWITCH = 2 };

/* CUDA_CONDITIONAL_NODE_PARAMS */
struct sp_cu_conditional_params {
    sp_cu_conditional handle;
    int type; /* SP_CU_CONDITION_... */
    unsigned size;
    sp_cu_graph *graphs_out; /* [size] the driver's */
    sp_cu_context context;
};

/* CUgraphNodeParams */
struct sp_cu_node_params {
    int type; /* SP_CU_NODE_... */
    int reserved0[3];
    union {
        long long reserved1[29];
        struct sp_cu_kernel_params kernel;
        struct sp_cu_memcpy_params copy;
        struct sp_cu_memset_params_v2 set;
        struct sp_cu_host_params host;
        struct sp_cu_child_params child;
        sp_cu_event event; /* WAIT_EVENT, EVENT_RECORD */
        struct sp_cu_alloc_params alloc;
        sp_cu_ptr free;
        struct sp_cu_conditional_params conditional;
    };
    long long reserved2;
};

/* ---- executables ------------------------------------------------------------------- */

enum {
    SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH = 1,
    SP_CU_INSTANTIATE_UPLOAD = 2,
    SP_CU_INSTANTIATE_DEVICE_LAUNCH = 4,
    SP_CU_INSTANTIATE_USE_NODE_PRIORITY = 8
};

enum {
    SP_CU_INSTANTIATED = 0,
    SP_CU_INSTANTIATE_ERROR = 1,
    SP_CU_INSTANTIATE_INVALID_STRUCTURE = 2,
    SP_CU_INSTANTIATE_OPERATION_NOT_SUPPORTED = 3,
    SP_CU_INSTANTIATE_MULTIPLE_CONTEXTS = 4,
    SP_CU_INSTANTIATE_CONDITIONAL_UNUSED = 5,
};

/* CUDA_GRAPH_INSTANTIATE_PARAMS */
struct sp_cu_instantiate_params {
    uint64_t flags;
    sp_cu_stream upload_stream;
    sp_cu_node error_node; /* out */
    int result;            /* out: SP_CU_INSTANTIATE... */
};

enum {
    SP_CU_UPDATED = 0,
    SP_CU_UPDATE_ERROR = 1,
    SP_CU_UPDATE_TOPOLOGY_CHANGED = 2,
    SP_CU_UPDATE_NODE_TYPE_CHANGED = 3,
    SP_CU_UPDATE_PARAMETERS_CHANGED = 5,
    SP_CU_UPDATE_NOT_SUPPORTED = 6,
};

/* CUgraphExecUpdateResultInfo */
struct sp_cu_update_result {
    int result; /* SP_CU_UPDATE... */
    sp_cu_node error_node, error_from_node;
};

/* ---- graph memory, user objects ---------------------------------------------------- */

enum {
    SP_CU_GRAPH_MEM_USED_CURRENT = 0,
    SP_CU_GRAPH_MEM_USED_HIGH = 1,
    SP_CU_GRAPH_MEM_RESERVED_CURRENT = 2,
    SP_CU_GRAPH_MEM_RESERVED_HIGH = 3
};

enum { SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1, SP_CU_GRAPH_USER_OBJECT_MOVE = 1 };

#endif /* SP_ABI_GRAPH_H */
