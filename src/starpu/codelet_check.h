/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The option CODELET_CHECK: whether a codelet uses a device's memory after StarPU has freed it.
 */
#ifndef SP_CODELET_CHECK_H
#define SP_CODELET_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpu.h>

/* Set before the first request, by sp_codelet_check_start(). */
extern bool sp_codelet_check_on;

static inline bool sp_codelet_check_is_on(void)
{
    return sp_codelet_check_on;
}

/* Read the option. Once, before any door opens. */
void sp_codelet_check_start(void);

/* StarPU is about to free a block of a CUDA node: fill it with the pattern. Waits for the
 * device. Threads: any, at once. */
void sp_codelet_check_freed(unsigned node, void *ptr);

/* A block of a CUDA node has been taken for StarPU: say if what StarPU had freed of it before
 * has changed since. Waits for the device. Threads: any, at once. */
void sp_codelet_check_taken(unsigned node, void *ptr);

/* The device was reset. */
void sp_codelet_check_forget(int device);

/* A task is being submitted: its codelet will be known when its memory is taken. */
void sp_codelet_check_submit(struct starpu_task *task);

/* Blocks that were looked at, and those that had changed. */
uint64_t sp_codelet_check_n_checked(void);
uint64_t sp_codelet_check_n_changed(void);

#endif /* SP_CODELET_CHECK_H */
