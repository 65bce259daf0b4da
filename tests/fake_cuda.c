/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A libcuda.so.1 without a device, for tests/test_driver.c. Three are built from this, each
 * with the soname libcuda.so.1 in a folder named as the macro that is defined: fake_whole, in
 * which entry points of newer drivers are missing; fake_no_init, which has no cuInit() either;
 * and fake_own, which says that it is starpool's. */
#include <stdbool.h>
#include <stddef.h>

#include "src/driver/driver.h"

/* What this driver does not have: the names are defined away, and with them the symbols. */
#define cuMemGetDefaultMemPool missing_cuMemGetDefaultMemPool
#define cuMemGetMemPool        missing_cuMemGetMemPool
#define cuMemSetMemPool        missing_cuMemSetMemPool
#define cuStreamGetId          missing_cuStreamGetId
#ifdef fake_no_init
#define cuInit missing_cuInit
#endif

/* Written by hand below. */
#define cuDeviceGetCount missing_cuDeviceGetCount

/* What each entry point answers; a test writes here. */
extern sp_cu_result fake_results[SP_N_CALLS];
sp_cu_result fake_results[SP_N_CALLS] = {
#define X(name, symbol, version, parameters) [SP_CALL_##name] = 10000 + SP_CALL_##name,
#include "src/driver/calls.def"
#undef X
};

extern int fake_n_devices, fake_n_decoys;
int fake_n_devices = 1;
int fake_n_decoys; /* calls of symbols of an older ABI */

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, version, parameters) \
    sp_cu_result symbol parameters;          \
    sp_cu_result symbol parameters           \
    {                                        \
        return fake_results[SP_CALL_##name]; \
    }
#include "src/driver/calls.def"
#undef X

#undef cuDeviceGetCount
sp_cu_result cuDeviceGetCount(int *count_out);
sp_cu_result cuDeviceGetCount(int *count_out)
{
    *count_out = fake_n_devices;
    return fake_results[SP_CALL_cuDeviceGetCount];
}

/* Symbols that a driver exports for programs of ten years ago: the names that calls.def has,
 * with other parameters. */
#define DECOY(name, parameters)   \
    sp_cu_result name parameters; \
    sp_cu_result name parameters  \
    {                             \
        fake_n_decoys++;          \
        return 20000;             \
    }
DECOY(cuMemAlloc, (unsigned *ptr_out, unsigned size))
DECOY(cuMemFree, (unsigned ptr))
DECOY(cuMemGetInfo, (unsigned *free_out, unsigned *total_out))
DECOY(cuDeviceTotalMem, (unsigned *bytes_out, int device))
DECOY(cuDeviceGetUuid, (void *uuid_out, int device))
DECOY(cuCtxCreate, (void *context_out, unsigned flags, int device))
DECOY(cuCtxDestroy, (void *context))
DECOY(cuStreamDestroy, (void *stream))
DECOY(cuEventDestroy, (void *event))
DECOY(cuStreamWaitValue32, (void *stream, unsigned address, unsigned value, unsigned flags))
DECOY(cuMemcpyHtoD, (unsigned target, const void *source, unsigned size))

#ifdef fake_own
extern bool fake_is_model; /* it works on the model of whoever asks */
bool fake_is_model;

bool sp_is_starpool_driver(const struct sp_driver *model);
bool sp_is_starpool_driver(const struct sp_driver *model)
{
    return fake_is_model;
}
#endif
