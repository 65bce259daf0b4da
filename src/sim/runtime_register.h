/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs compiled by nvcc register from their constructors, and find by the addresses
 * that their host code has. No driver call is made before something is looked up. */
#ifndef SP_RUNTIME_REGISTER_H
#define SP_RUNTIME_REGISTER_H

#include "src/sim/runtime.h"

/* An image: the "fat binary" of a source file. Its address is its handle. */
struct sp_rt_image {
    const void *binary;
    sp_cu_library library; /* made at the first look-up of a kernel; kept */
    struct sp_rt_image *next;
};

/* A variable of devices. The contents that the program gives it are in the image, which nobody
 * reads: it begins with zeros. */
struct sp_rt_variable {
    const struct sp_rt_image *image;
    const void *host; /* what names it in host code */
    size_t size;      /* [bytes] */
    void **managed;   /* where host code finds its memory, or NULL if it is a device's */
    struct {
        sp_cu_ptr ptr;              /* 0 before the first use */
        uint64_t id;                /* of its buffer: a reset of the device takes it away */
    } places[SP_MODEL_MAX_DEVICES]; /* managed: the first */
    struct sp_rt_variable *next;
};

/* The kernel that a host function or a handle stands for: INVALID_FUNCTION. The second is for
 * the current context. */
int sp_runtime_kernel(const void *symbol, sp_cu_kernel *kernel_out);
int sp_runtime_function(const void *symbol, sp_cu_function *function_out);

/* The host function that stands for a function of the driver's; itself if none does. */
const void *sp_runtime_host_of(sp_cu_function function);

/* Take and give the lock of all registrations; it may be held while the driver is called. */
void sp_runtime_lock(void);
void sp_runtime_unlock(void);

/* With the lock. */
struct sp_rt_variable *sp_runtime_variable(const void *host);
int sp_runtime_variable_ptr(struct sp_rt_variable *variable, sp_cu_ptr *ptr_out);

/* ---- called by what nvcc puts into programs ------------------------------------------ */

STARPOOL_API void **__cudaRegisterFatBinary(void *binary);
STARPOOL_API void __cudaRegisterFatBinaryEnd(void **image);
STARPOOL_API void __cudaUnregisterFatBinary(void **image);
STARPOOL_API char __cudaInitModule(void **image);
STARPOOL_API void __cudaRegisterFunction(void **image, const char *host, char *device,
                                         const char *name, int thread_limit, void *thread,
                                         void *block, void *block_size, void *grid_size,
                                         int *warp_size);
STARPOOL_API void __cudaRegisterVar(void **image, char *host, char *device, const char *name,
                                    int is_external, size_t size, int is_constant,
                                    int is_global);
STARPOOL_API void __cudaRegisterManagedVar(void **image, void **host, char *device,
                                           const char *name, int is_external, size_t size,
                                           int is_constant, int is_global);
STARPOOL_API void __cudaRegisterHostVar(void **image, const char *name, char *host,
                                        size_t size);
STARPOOL_API void __cudaRegisterUnifiedTable(void **image, void *table);
STARPOOL_API void __cudaRegisterTexture(void **image, const void *host, const void **device,
                                        const char *name, int dimension, int is_normalised,
                                        int is_external);
STARPOOL_API void __cudaRegisterSurface(void **image, const void *host, const void **device,
                                        const char *name, int dimension, int is_external);
STARPOOL_API unsigned __cudaPushCallConfiguration(struct sp_rt_dim3 grid,
                                                  struct sp_rt_dim3 block, size_t shared_bytes,
                                                  sp_cu_stream stream);

#endif /* SP_RUNTIME_REGISTER_H */
