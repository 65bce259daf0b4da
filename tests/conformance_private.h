/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the conformance harness share. */
#ifndef SP_CONFORMANCE_PRIVATE_H
#define SP_CONFORMANCE_PRIVATE_H

#include "tests/conformance.h"

#define SP_CASE_MAX_DEVICES  2 /* that the suite uses */
#define SP_CASE_MAX_THINGS   64
#define SP_CASE_MAX_STALLS   32
#define SP_CASE_MAX_CHILDREN 8

/* The case that is running and what the harness made for it: streams, events, pools that it
 * will destroy, flags that stalled streams wait for, other processes. */
struct sp_harness {
    enum sp_conformance_mode mode;
    /* The simulated driver's, in its mode, or what stands in for the real one's. */
    struct sp_driver_library library;
    /* What makes that one if it is not libcuda.so.1; NULL: it is. */
    bool (*load)(struct sp_driver_library *library, const char **reason_out);
    /* Which cases are not about that library; NULL: all are. */
    bool (*is_omitted)(const char *name);
    const struct sp_case *current;
    bool is_started; /* cuInit() and the contexts are done */
    int n_devices;   /* of the driver */
    int n_used;      /* of those that the suite uses, the primary contexts of which it holds */
    sp_cu_context contexts[SP_CASE_MAX_DEVICES];

    sp_cu_stream streams[SP_CASE_MAX_THINGS];
    sp_cu_event events[SP_CASE_MAX_THINGS];
    sp_cu_pool pools[SP_CASE_MAX_THINGS];
    size_t n_streams, n_events, n_pools;

    _Atomic uint32_t *flags; /* [SP_CASE_MAX_STALLS] host memory that devices see */
    int n_stalls;

    pid_t children[SP_CASE_MAX_CHILDREN]; /* 0 where none is */

    /* What must be the same again when the case ends. */
    size_t free_before[SP_CASE_MAX_DEVICES];
    uint64_t used_before[SP_CASE_MAX_DEVICES];
    uint64_t violations_before, n_violations_expected;
};

extern struct sp_harness sp_harness;

/* A driver to test, or the reason why there is none. */
bool sp_harness_choose_table(const char **reason_out);

/* The real driver, or the file in its place, of which nothing has been called. */
bool sp_harness_load_cuda(const char **reason_out);

/* What the driver under test has of each entry point. */
const struct sp_driver_call *sp_harness_calls(void);

/* The same with a model of another shape. */
void sp_harness_shape(const struct starpool_model_config *config);

/* The case has returned: require that nothing is left. */
void sp_harness_check_end(void);

/* In any case: let everything go, ready for the next. */
void sp_harness_clean(void);

/* The case that a name belongs to; NULL if none. */
const struct sp_case *sp_harness_find(const char *name);

/* main() of a process that sp_case_child_start() began. */
int sp_harness_child_main(const char *name, const char *role, int socket);
void sp_harness_kill_children(void);

#endif /* SP_CONFORMANCE_PRIVATE_H */
