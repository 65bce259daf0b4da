/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA runtime over the CPU model's driver table: what its files share. Beyond the model
 * there is only what a thread has (its device, its last error, launches begun with <<< >>>) and
 * what programs compiled by nvcc register. */
#ifndef SP_RUNTIME_H
#define SP_RUNTIME_H

#include <stdbool.h>

#include <starpool/base.h>

#include "src/driver/driver.h"
#include "src/model/model.h"
#include "src/sim/runtime_types.h"
#include "src/sim/table.h"

/* ---- errors (runtime_error.c) -------------------------------------------------------- */

/* A cudaError_t has the driver's numbers (SP_CU_...), and a few of its own. */
enum {
    SP_RT_INVALID_CONFIGURATION = 9,
    SP_RT_INVALID_PITCH = 12,
    SP_RT_INVALID_SYMBOL = 13,
    SP_RT_INVALID_FORMAT = 20,
    SP_RT_INVALID_DIRECTION = 21,
    SP_RT_MISSING_CONFIGURATION = 52,
    SP_RT_INVALID_FUNCTION = 98,
};

/* As programs see it: "libcudart.so.13". */
#if SP_CUDART_MAJOR == 11
#define SP_RUNTIME_LIBRARY "libcudart.so.11.0"
#elif SP_CUDART_MAJOR == 12
#define SP_RUNTIME_LIBRARY "libcudart.so.12"
#else
#define SP_RUNTIME_LIBRARY "libcudart.so.13"
#endif

STARPOOL_API const char *cudaGetErrorName(int error);
STARPOOL_API const char *cudaGetErrorString(int error);

/* What every entry point that can fail ends with: the error is this thread's last one. */
int sp_runtime_end(int error);

/* An entry point that does nothing but say so. */
int sp_runtime_missing(const char *name);

/* ---- threads and devices (runtime_thread.c) ------------------------------------------ */

static inline const struct sp_driver *sp_cu(void)
{
    return sp_sim_driver();
}

/* The driver is initialised; besides, this thread has a context, which is the primary one of
 * its device unless the program has chosen another by the driver's own means. */
int sp_runtime_start(void);
int sp_runtime_begin(void);

/* What most entry points are: SP_RUNTIME(sp_cu()->cuStreamSynchronize(stream)). */
#define SP_RUNTIME(call)       sp_runtime_end(sp_runtime_begin() ?: (call))
#define SP_RUNTIME_START(call) sp_runtime_end(sp_runtime_start() ?: (call))

/* The primary context of a device, which this thread's runtime holds from now on. */
int sp_runtime_context(int device, sp_cu_context *context_out);

#define SP_RUNTIME_VERSION \
    (SP_CUDART_MAJOR == 11 ? 11080 : SP_CUDART_MAJOR == 12 ? 12080 : 13000)

/* The driver's entry point of a name as of a version, from libcuda.so.1; `status_out` may be
 * NULL. The flag means the twins for programs with a default stream a thread. */
#define SP_RT_OWN_STREAM 2
int sp_runtime_entry_point(const char *symbol, void **function_out, unsigned version,
                           unsigned long long flags, int *status_out);

/* The device's cudaDeviceProp, of which at most `size` bytes are written (runtime_props.c). */
int sp_runtime_props(void *props_out, size_t size, int device);

/* A result, and on success the address as the runtime's programs know it (runtime_memory.c). */
int sp_runtime_pass_ptr(int result, const sp_cu_ptr *ptr, void **ptr_out);

/* ---- copies (runtime_kind.c) --------------------------------------------------------- */

/* The two ends are what `kind` says they are: InvalidMemcpyDirection if there is no such kind,
 * InvalidValue if an end is something else. */
int sp_runtime_check_kind(const void *target, const void *source, int kind);

/* The driver's words for a copy, the kind of which is checked; a copy of bytes alone. */
int sp_runtime_copy3d(const struct sp_rt_copy3d *copy, struct sp_cu_memcpy3d *out);
void sp_runtime_copy1d(void *target, const void *source, size_t size, struct sp_rt_copy3d *out);

/* ---- nodes (runtime_node.c, runtime_kernel.c, runtime_since12.c) --------------------- */

/* The driver's words for parameters. */
int sp_runtime_node_params(const struct sp_rt_node_params *params,
                           struct sp_cu_node_params *out);
int sp_runtime_kernel_params(const struct sp_rt_kernel_params *params,
                             struct sp_cu_kernel_params *out);

/* `edges` may be NULL. */
int sp_runtime_add_node(sp_cu_node *node_out, sp_cu_graph graph, const sp_cu_node *dependencies,
                        const struct sp_cu_edge_data *edges, size_t n_dependencies,
                        struct sp_rt_node_params *params);

/* ---- variables of devices (runtime_symbol.c) ----------------------------------------- */

/* The current device's memory of [offset, offset + size) of a variable. */
int sp_runtime_symbol(const void *symbol, size_t offset, size_t size, sp_cu_ptr *ptr_out);

/* ---- the entry points ---------------------------------------------------------------- */

#define X(name, parameters)            STARPOOL_API int name parameters;
#define Z(name, parameters, arguments) STARPOOL_API int name parameters, name##_ptsz parameters;
#define D(name, parameters, async, arguments) \
    STARPOOL_API int name parameters, name##_ptds parameters;
#include "src/sim/runtime_calls.def"
#undef X
#undef Z
#undef D

STARPOOL_API struct sp_rt_format cudaCreateChannelDesc(int x, int y, int z, int w, int kind);

#endif /* SP_RUNTIME_H */
