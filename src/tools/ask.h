/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How StarPU's memory nodes are served here, found out by starting StarPU in a child. */
#ifndef SP_ASK_H
#define SP_ASK_H

#include <stdbool.h>

#include "src/tools/preload.h"

/* One memory node of StarPU. */
struct sp_ask_node {
    unsigned id;         /* StarPU's number */
    char kind[16];       /* "RAM", "CUDA", ... */
    int os_index;        /* of the NUMA node, -1 if it is none */
    char name[64];       /* StarPU's name for it */
    char pool[64];       /* the pool that serves task data; "" if none does */
    char plain_pool[64]; /* the pool that serves starpu_malloc(), on node 0; "" if none */
};

#define SP_ASK_MAX_NODES 64

struct sp_ask {
    bool is_available; /* StarPU answered */
    char reason[512];  /* why it did not; "" if it did */
    char version[32];  /* of StarPU */
    struct sp_preload plugin;
    char interposer[32]; /* what the plugin's report calls the way in; "" if it says nothing */
    char why[192];       /* what stands in the way of a better one; may be "" */
    unsigned n_nodes;
    struct sp_ask_node nodes[SP_ASK_MAX_NODES];
};

/* Written whole. May take seconds: StarPU measures a machine that it has not seen before. */
void sp_ask_starpu(struct sp_ask *ask);

/* How a node's task data comes to its pool: by the interposer or the hooks. */
const char *sp_ask_mechanism(const struct sp_ask *ask);

/* Why no pool serves a node; a constant string. */
const char *sp_ask_why_not(const struct sp_ask_node *node);

#endif /* SP_ASK_H */
