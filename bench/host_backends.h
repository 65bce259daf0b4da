/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The allocators that bench/host_cycle compares, behind one table. */
#ifndef SP_HOST_BACKENDS_H
#define SP_HOST_BACKENDS_H

#include <stdbool.h>
#include <stddef.h>

/** Blocks that are live at once in a cycle. */
#define SP_WINDOW 8

/** One allocator. alloc() and free() may be called by any thread, at once. */
struct sp_backend {
    const char *name;
    const char *(*open)(void);   /**< NULL if it can be used, else why not */
    void *(*alloc)(size_t size); /**< NULL: refused */
    void (*free)(void *ptr, size_t size);
    void (*pairs)(size_t size, unsigned n); /**< n times alloc and free, as a program would
                                               write it; NULL: through this table */
    void (*trim)(void); /**< give free memory back to the system; NULL: it has no such call */
    void (*thread_end)(void); /**< the calling thread will not come back; NULL: nothing to do */
};

/** Where each backend that the goals name is in the table. */
enum sp_backend_index {
    SP_BACKEND_STARPOOL,
    SP_BACKEND_LIST,
    SP_BACKEND_RECYCLED,
    SP_BACKEND_GLIBC,
    SP_BACKEND_MIMALLOC,
    SP_BACKEND_JEMALLOC,
    SP_BACKEND_STARPU,
    SP_BACKEND_HWLOC,
    SP_N_BACKENDS,
};

/** The table's rows; see enum sp_backend_index. */
extern const struct sp_backend *const sp_backends[SP_N_BACKENDS];

extern const struct sp_backend sp_backend_starpool;
extern const struct sp_backend sp_backend_list;
extern const struct sp_backend sp_backend_recycled;
extern const struct sp_backend sp_backend_glibc;
extern const struct sp_backend sp_backend_mimalloc;
extern const struct sp_backend sp_backend_jemalloc;
extern const struct sp_backend sp_backend_starpu;
extern const struct sp_backend sp_backend_hwloc;

/**
 * Open every backend and print a line for each: what it is, or why it is left out.
 *
 * @param usable_out  [SP_N_BACKENDS] which can be used
 * @return            false if starpool itself cannot be used
 */
bool sp_backends_open(bool usable_out[SP_N_BACKENDS]);

/** Give free memory of every usable backend back, so that the next size starts with room. */
void sp_backends_trim(const bool usable[SP_N_BACKENDS]);

/** The calling thread has done with every backend. */
void sp_backends_thread_end(const bool usable[SP_N_BACKENDS]);

/** n pairs of a backend, whichever way it offers. */
void sp_backend_pairs(const struct sp_backend *backend, size_t size, unsigned n);

#endif /* SP_HOST_BACKENDS_H */
