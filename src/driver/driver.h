/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The border to the CUDA driver: a table of functions with the driver's own signatures, which
 * libcuda.so.1 fills or the CPU model does. Nothing above can tell which. */
#ifndef SP_DRIVER_H
#define SP_DRIVER_H

#include <stdbool.h>

#include <starpool/base.h>

#include "src/driver/abi.h"
#include "src/driver/abi_graph.h"
#include "src/driver/abi_kernel.h"
#include "src/driver/abi_query.h"
#include "src/driver/abi_shape.h"

/* One member an entry point, with CUDA's name: table->cuMemAllocAsync(...). Never NULL: what
 * the driver at hand has not answers SP_CU_NOT_SUPPORTED. */
struct sp_driver {
    const char *name; /* "libcuda.so.1" or "model" */
    bool is_model;
#define X(name, symbol, version, parameters) sp_cu_result(*name) parameters;
#include "src/driver/calls.def"
#undef X
};

/* The names that libcuda.so.1 exports and what it has of them, in the order of calls.def. */
struct sp_driver_call {
    const char *name, *symbol;
    int version;
    bool is_absent; /* the driver at hand does not export it */
};

enum {
#define X(name, symbol, version, parameters) SP_CALL_##name,
#include "src/driver/calls.def"
#undef X
    SP_N_CALLS
};

/* A libcuda.so.1 that has been loaded. */
struct sp_driver_library {
    void *handle; /* dlopen()'s; NULL: it could not be loaded, or is refused */
    struct sp_driver table;
    struct sp_driver_call calls[SP_N_CALLS];
    char error[256]; /* why it is refused; "" if it is not */
};

/* Fill a table with what the library of that file name has: ENOTINIT if it cannot be loaded or
 * lacks what nothing works without. Calls nothing of it. */
STARPOOL_API STARPOOL_CHECK enum starpool_status
sp_driver_load(const char *file, struct sp_driver_library *library_out);
STARPOOL_API void sp_driver_unload(struct sp_driver_library *library);

/*
 * The real driver's table, loaded at the first call: ENOTINIT if there is no libcuda.so.1, it
 * lacks what nothing works without, or it is starpool's own. Does not call cuInit(). Threads:
 * any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
sp_driver_cuda(const struct sp_driver **driver_out);

/* [SP_N_CALLS] what the real driver has; valid after sp_driver_cuda() answered OK. */
STARPOOL_API const struct sp_driver_call *sp_driver_cuda_calls(void);

/* Why sp_driver_cuda() refused, for people; "" if it did not. */
STARPOOL_API const char *sp_driver_cuda_error(void);

/* Whether it refused starpool's own library, which works on the model of this process. */
bool sp_driver_cuda_is_model(void);

/* Forget the real driver, which is loaded anew at the next call. For tests. */
void sp_driver_cuda_reset(void);

/*
 * The driver that serves this process, started: decided at the first call and the same from
 * then on. Where the program runs on starpool's own libcuda.so.1, that is the model, which the
 * program sees, too. ENOTINIT if there is none, or none is wanted; that, too, stays, unless the
 * program chooses the model afterwards. Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
sp_driver_get(const struct sp_driver **driver_out);

/* Why sp_driver_get() refused, for people; read after it did. */
STARPOOL_API const char *sp_driver_why_none(void);

/* Whether sp_driver_get() has handed out a driver. */
bool sp_driver_is_chosen(void);

/* Let the model be what sp_driver_get() answers, whatever the option DRIVER says: EBUSY if a
 * driver is chosen already. */
STARPOOL_API STARPOOL_CHECK enum starpool_status sp_driver_choose_model(void);

/* Let a table be what sp_driver_get() answers, until sp_driver_reset(). For tests. */
void sp_driver_use(const struct sp_driver *driver);

/* As if nobody had asked. For tests; no other thread is in a call. */
STARPOOL_API void sp_driver_reset(void);

/*
 * A result as a status, in the statement that makes the call:
 * sp_driver_status(driver->cuInit(0), "cuInit"). Anything but success is remembered, number and
 * name, for starpool_driver_error() in this thread.
 */
enum starpool_status sp_driver_status(sp_cu_result result, const char *call);

/* The name of a result, such as "OUT_OF_MEMORY"; "unknown" for others than SP_CU_RESULT_MAP's.
 */
STARPOOL_API const char *sp_driver_result_name(sp_cu_result result);

#endif /* SP_DRIVER_H */
