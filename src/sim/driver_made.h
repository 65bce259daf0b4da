/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libcuda.so.1 from the inside. What it exports is made by src/sim/exports.awk; here is what
 * that calls. It has no state of its own: the model in libstarpool.so has. */
#ifndef SP_DRIVER_MADE_H
#define SP_DRIVER_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"

#define SP_DRIVER_LIBRARY "libcuda.so.1"

/* CUctxCreateParams: what a context may be given that the model has not. */
struct sp_cu_context_params {
    const void *affinity; /* [n_affinity] */
    int n_affinity;
    const void *graphics;
};

/* CUDA_KERNEL_NODE_PARAMS_v1: the first members of struct sp_cu_kernel_params. */
struct sp_cu_kernel_params_v1 {
    sp_cu_function function;
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    void **args;
    void **extra;
};

/* cuGetProcAddress()'s flags and what it says of a search. */
enum { SP_CU_LOOK_UP_LEGACY = 1, SP_CU_LOOK_UP_PER_THREAD = 2 };
enum { SP_CU_FOUND = 0, SP_CU_SYMBOL_NOT_FOUND = 1, SP_CU_VERSION_NOT_SUFFICIENT = 2 };

/* ---- the exported functions -------------------------------------------------------------- */

typedef void (*sp_driver_function)(void);

/* What cuGetProcAddress() may answer: `function` for `name` from that version on. */
struct sp_driver_export {
    const char *name;
    int version;
    bool is_per_thread; /* the default stream is the thread's own */
    sp_driver_function function;
};
extern const struct sp_driver_export sp_driver_exports[]; /* [sp_driver_n_exports] */
extern const size_t sp_driver_n_exports;

/* Every row of driver_made.def: sp_made_cuGetProcAddress() and so on. */
#define X(name, symbol, version, parameters) sp_cu_result sp_made_##symbol parameters;
#include "src/sim/driver_made.def"
#undef X

/* ---- what they call (driver_calls.c) ------------------------------------------------------
 */

/* A stub's answer; noted. */
sp_cu_result sp_driver_missing(const char *symbol);

/* The stream that the twins of entry points mean. */
static inline sp_cu_stream sp_driver_own_stream(sp_cu_stream stream)
{
    return stream == NULL ? SP_CU_STREAM_PER_THREAD : stream;
}

/* Around work of the thread's own stream that stands for a call without a stream: an error if
 * that cannot be now; and wait, unless the work was refused or `must_wait` is false. */
sp_cu_result sp_driver_own_begin(void);
sp_cu_result sp_driver_own_end(sp_cu_result result, bool must_wait);

#endif /* SP_DRIVER_MADE_H */
