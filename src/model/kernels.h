/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels of the model: the functions that stand in for them, the modules that programs find
 * them in, and launches. Everything here is called with the model's lock, unless it says
 * otherwise. */
#ifndef SP_MODEL_KERNELS_H
#define SP_MODEL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/kernel.h>

#include "src/model/model.h"

/* ---- stand-ins (stand_in.c) ---------------------------------------------------------- */

/* What has been registered for a name. Never changed, never freed. */
struct sp_model_stand_in {
    struct sp_model_stand_in *next; /* registered before */
    char *name;
    starpool_kernel_fn run;
    size_t n_args;
    size_t sizes[]; /* [n_args] bytes */
};

/* Without the lock: load what STARPOOL_MODEL_KERNELS names, at the first call. */
void sp_model_kernels_load(void);

/* The last one registered; NULL if there is none, which is said once a name. */
const struct sp_model_stand_in *sp_model_stand_in_find(const char *name);

/* ---- modules (module.c) -------------------------------------------------------------- */

/* A module or a library, which is a module of no context. Images are not looked at: it has
 * every kernel that there is a stand-in for. */
struct sp_model_module {
    void *handle;
    struct sp_model_context *context; /* NULL: a library */
    struct sp_model_function *functions;
    struct sp_model_module *next, **link; /* in the list of all */
};

/* A kernel that a program has looked up in a module, where it is found again under the same
 * handle, as CUfunction or CUkernel. */
struct sp_model_function {
    sp_cu_function handle;
    const struct sp_model_stand_in *stand_in;
    struct sp_model_module *module;
    int max_shared_bytes; /* dynamic, of a block */
    int carveout;         /* percent of shared memory, or -1; of no effect */
    int cache_config;     /* SP_CU_CACHE_...; of no effect */
    struct sp_model_function *next;
};

/* NULL: the handle is none, or stale, which is said. */
struct sp_model_function *sp_model_function_find(sp_cu_function handle);

/* The modules of a context go; all go, and what their handles were is forgotten. */
void sp_model_modules_drop(struct sp_model_context *context);
void sp_model_modules_reset(void);

/* How many blocks fit into a multiprocessor at once (function.c); 0 if not even one. Any
 * thread, with or without the lock. */
int sp_model_blocks_at_once(const struct sp_model_function *function, unsigned n_threads,
                            size_t shared_bytes);

/* Where argument `i` of a stand-in is when all of them lie one behind another, none aligned to
 * more than `alignment` (kernel.c); for n_args, where they end. */
size_t sp_model_arg_offset(const struct sp_model_stand_in *stand_in, size_t i,
                           size_t alignment);

/* The alignment that the driver gives a structure at most, as far as sizes tell. */
#define SP_MODEL_ARG_ALIGNMENT 8

/* ---- launches (kernel.c) ------------------------------------------------------------- */

/* A launch with its arguments, in one piece of memory. Not changed while nodes and steps share
 * it: an operation has a copy of its own. */
struct sp_model_kernel {
    unsigned n_refs;
    size_t size; /* [bytes] all of this */
    sp_cu_function function;
    const struct sp_model_stand_in *stand_in;
    unsigned grid[3], block[3], shared_bytes;
    struct sp_model_context *context; /* whose device executes it */
    bool is_illegal; /* an operation's device does not reach what an argument points to */
    size_t n_words;  /* [8 bytes] all arguments, each from a multiple of 16 bytes on */
    uintptr_t *words;
    void *args[]; /* [n_args] into `words` */
};

/* A launch as parameters say, checked: INVALID_VALUE, INVALID_HANDLE, OUT_OF_MEMORY. It has one
 * reference, of free() or sp_model_kernel_put(). */
sp_cu_result sp_model_kernel_new(const struct sp_cu_kernel_params *params,
                                 struct sp_model_kernel **kernel_out);
struct sp_model_kernel *sp_model_kernel_get(struct sp_model_kernel *kernel);
void sp_model_kernel_put(struct sp_model_kernel *kernel);

/* As cuGraphKernelNodeGetParams() tells them: the arguments stay the node's. */
void sp_model_kernel_params(const struct sp_model_kernel *kernel,
                            struct sp_cu_kernel_params *params_out);

/* The function is still there: INVALID_HANDLE. */
sp_cu_result sp_model_kernel_check(const struct sp_model_kernel *kernel);

/* Whether the device that executes it reaches a range. */
bool sp_model_kernel_reaches(const struct sp_model_kernel *kernel, uintptr_t address,
                             size_t size);

/* What word `i` of the arguments points to: from there to the end of the block; the size is 0
 * if it is no address that the model knows. False for n_words and beyond. */
bool sp_model_kernel_range(const struct sp_model_kernel *kernel, size_t i,
                           uintptr_t *address_out, size_t *size_out);

/* A copy of it becomes the stream's next operation. Uses have been noted. */
sp_cu_result sp_model_kernel_submit(const struct sp_model_kernel *kernel,
                                    struct sp_model_stream *stream);

#endif /* SP_MODEL_KERNELS_H */
