/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the CPU model does in a kernel's place: functions of the host, found by the kernel's
 * name. */
#ifndef STARPOOL_KERNEL_H
#define STARPOOL_KERNEL_H

#include <starpool/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One launch of a kernel, for the function that stands in for it. */
struct starpool_kernel_launch {
    const char *name;      /**< as registered */
    unsigned grid[3];      /**< [blocks] x, y, z */
    unsigned block[3];     /**< [threads] x, y, z */
    unsigned shared_bytes; /**< dynamic shared memory of each block */
    void *const *args;     /**< [n_args] each the address of a copy of the argument */
    size_t n_args;
};

/** Does all that a launch of the kernel would do, every block and thread of it. */
typedef void (*starpool_kernel_fn)(const struct starpool_kernel_launch *launch);

/**
 * Let a function of the host stand in for a kernel on the CPU model.
 *
 * A launch is an operation of its stream: the function is called once a launch when all that
 * comes before it has been executed, on another thread than the launch or inside a later call,
 * with the arguments as they were at the launch. Captured, it becomes a node, and is called
 * once for each launch of the graph. Arguments that are addresses of device memory can be used
 * as they are while it runs, and addresses inside structures too if they are aligned; memory
 * that only other memory points to cannot, unless the model's memory is unprotected. Whatever
 * it calls of the driver answers NOT_PERMITTED.
 *
 * A name that is registered again is the new function from then on; functions that programs
 * have looked up before stay what they were. It is for the life of the process.
 *
 * @param name       the kernel's name as its module has it, mangled: `_Z5scalePffi`
 * @param arg_sizes  [n_args] [bytes] the size of each argument, 1 or more; all together at
 *                   most 32764; not kept
 * @param n_args     how many arguments the kernel takes
 * @param run        does what the kernel does
 *
 * @retval STARPOOL_OK      programs find the kernel from now on
 * @retval STARPOOL_EINVAL  `name` is NULL or empty, `run` is NULL, or an argument has no
 *                          such size
 * @retval STARPOOL_ENOMEM  no memory
 *
 * Threads: any, at once; also constructors of what STARPOOL_MODEL_KERNELS names.
 * Source: CUDA Driver API, cuLaunchKernel.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_model_add_kernel(const char *name, const size_t *arg_sizes, size_t n_args,
                          starpool_kernel_fn run);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_KERNEL_H */
