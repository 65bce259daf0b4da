/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of CUDA that the plugin stands in front of: those that take a device's memory away, and
 * those that begin a capture. */
#ifndef SP_WATCH_H
#define SP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/starpu/got.h"

/* What has been seen. */
struct sp_watch_counts {
    uint64_t n_resets;     /* devices that were reset */
    uint64_t n_global;     /* captures begun in mode GLOBAL while StarPU runs CUDA workers */
    uint64_t n_downgraded; /* of these begun as THREAD_LOCAL ones */
};

/* The functions that stand in front of CUDA's, for sp_got_apply(). */
const struct sp_got_patch *sp_watch_patches(size_t *n_out);

/* False if the run-time library that StarPU uses says that an address is no memory of that
 * device; true also where it cannot be asked. */
bool sp_watch_is_device_memory(const void *ptr, int device);

struct sp_watch_counts sp_watch_counts(void);

#endif /* SP_WATCH_H */
