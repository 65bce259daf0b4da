/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver that does next to nothing and writes down what it is asked in which mode of capture:
 * what tests of the guard and of refusals start from. */
#ifndef SP_CAPTURE_SCRIPT_H
#define SP_CAPTURE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"

#define SP_SCRIPT_NODES 64

/* A node of a graph under construction: a handle is the address of one. */
struct sp_script_node {
    struct sp_script_node *dependencies[SP_SCRIPT_NODES];
    size_t n;
};

extern struct sp_capture_script {
    /* What it answers. */
    int state;             /* of `captured`: SP_CU_CAPTURE_... */
    sp_cu_stream captured; /* every other stream is not */
    uint64_t id;
    sp_cu_result legacy_result; /* about the legacy stream */
    sp_cu_result info_result, query_result, exchange_result, id_result, object_result;
    struct sp_script_node *frontier[SP_SCRIPT_NODES];
    size_t n_frontier;
    sp_cu_result event_result; /* of cuEventQuery() */

    /* What it was asked. */
    unsigned n_calls[SP_N_CALLS];
    unsigned n_unguarded;   /* calls that could have ended a capture, not in relaxed mode */
    int last_unguarded;     /* SP_CALL_... of the last of them */
    unsigned n_on_captured; /* calls on `captured` that would have ended its capture */
    sp_cu_host_fn destroy;  /* of the user object, with its argument */
    void *destroy_arg;
} script;

/* The calling thread's mode. */
extern __thread int sp_script_mode;

/* Serve this process, as if nothing had been asked. */
void sp_capture_script_begin(void);
void sp_capture_script_end(void);

const struct sp_driver *sp_capture_script_driver(void);

#endif /* SP_CAPTURE_SCRIPT_H */
