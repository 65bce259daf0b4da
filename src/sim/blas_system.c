/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system's BLAS, loaded at first use: any that has Fortran's names and 32-bit integers. */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "src/sim/blas.h"
#include "src/util/diag.h"
#include "src/util/util.h"

/* Every parameter of a Fortran routine is an address; what it does not look at does no harm in
 * the calling conventions of the machines that starpool is built for. */
#define PARAMETERS                                                                          \
    void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, \
        void *, void *, void *, void *, void *, void *, void *
#define ARGUMENTS(a)                                                                        \
    a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], \
        a[14], a[15], a[16], a[17]

typedef void (*any_fn)(void);
typedef void (*plain_fn)(PARAMETERS);
typedef float (*float_fn)(PARAMETERS);
typedef double (*double_fn)(PARAMETERS);
typedef int (*int_fn)(PARAMETERS);

static const char library_name[] = "libblas.so.3";

static struct {
    pthread_once_t once;
    void *handle; /* of dlopen(); NULL: there is none */
} system_blas = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    system_blas.handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (system_blas.handle == NULL)
        sp_log(SP_LOG_ERROR, "the simulated cuBLAS needs %s, which is not there: %s",
               library_name, dlerror());
}

bool sp_blas_system_open(void)
{
    pthread_once(&system_blas.once, load);
    return system_blas.handle != NULL;
}

/* ISO C has no cast from an object's address to a function's. */
static any_fn find(const char *symbol)
{
    void *address = dlsym(system_blas.handle, symbol);
    any_fn function;

    if (address == NULL)
        sp_log(SP_LOG_ERROR, "%s has no %s; what should be computed is left as it was",
               library_name, symbol);
    memcpy(&function, &address, sizeof(address));
    return function;
}

void sp_blas_system_call(const char *symbol, void *const address[SP_BLAS_MAX_PARAMETERS],
                         char type, void *result)
{
    any_fn function = find(symbol);

    if (function == NULL)
        return;
    if (type == 'S')
        *(float *)result = ((float_fn)function)(ARGUMENTS(address));
    else if (type == 'D')
        *(double *)result = ((double_fn)function)(ARGUMENTS(address));
    else if (type == 'I')
        *(int *)result = ((int_fn)function)(ARGUMENTS(address));
    else
        ((plain_fn)function)(ARGUMENTS(address));
}
