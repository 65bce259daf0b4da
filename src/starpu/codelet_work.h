/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the option CODELET_CHECK has a device do: filling memory with a pattern, and reading it
 * again. The host waits for it. */
#ifndef SP_CODELET_WORK_H
#define SP_CODELET_WORK_H

#include <stdbool.h>
#include <stddef.h>

/* Where memory was not as it was left. */
struct sp_codelet_change {
    size_t offset;  /* [bytes] of the first change */
    size_t n_bytes; /* [bytes] that have changed */
};

/* Fill `size` bytes, a multiple of 4, at an address of a device. False if the device does not
 * do it. Threads: any, at once. */
bool sp_codelet_work_fill(int device, void *ptr, size_t size);

/* True if the bytes are still as they were filled, or cannot be read. */
bool sp_codelet_work_is_filled(int device, const void *ptr, size_t size,
                               struct sp_codelet_change *change);

/* The device was reset: its stream is gone. */
void sp_codelet_work_forget(int device);

#endif /* SP_CODELET_WORK_H */
