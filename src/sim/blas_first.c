/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cuBLAS's first interface: no handles, letters for enumerations, numbers by value, and the
 * status of the calls asked for afterwards. The stream belongs to the calling thread, so that
 * threads that drive a device each do not disturb one another. */
#include "config.h"

#include <stdatomic.h>

#include "src/sim/blas_api.h"
#include "src/sim/table.h"

static struct {
    _Atomic unsigned n_inits;
} first;

static _Thread_local struct {
    struct sp_blas_handle handle;
    int status; /* the latest that was not success */
} mine;

struct sp_blas_handle *sp_blas_first(void)
{
    return atomic_load(&first.n_inits) == 0 ? NULL : &mine.handle;
}

void sp_blas_call_first(const struct sp_blas_routine *routine, const struct sp_blas_arg *args)
{
    const int status = sp_blas_call(sp_blas_first(), routine, args);

    if (status != SP_BLAS_SUCCESS)
        mine.status = status;
}

int cublasInit(void)
{
    const int status = sp_blas_prepare();

    if (status == SP_BLAS_SUCCESS)
        atomic_fetch_add(&first.n_inits, 1);
    return status;
}

int cublasShutdown(void)
{
    unsigned n = atomic_load(&first.n_inits);

    do {
        if (n == 0)
            return SP_BLAS_NOT_INITIALIZED;
    } while (!atomic_compare_exchange_weak(&first.n_inits, &n, n - 1));
    return SP_BLAS_SUCCESS;
}

int cublasGetError(void)
{
    const int status = mine.status;

    mine.status = SP_BLAS_SUCCESS;
    return status;
}

int cublasSetKernelStream(sp_cu_stream stream)
{
    if (sp_blas_first() == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    mine.handle.stream = stream;
    return SP_BLAS_SUCCESS;
}

int cublasAlloc(int n, int element_size, void **ptr_out)
{
    sp_cu_ptr ptr = 0;
    sp_cu_result result;

    if (sp_blas_first() == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    if (n <= 0 || element_size <= 0 || ptr_out == NULL)
        return SP_BLAS_INVALID_VALUE;
    result = sp_sim_driver()->cuMemAlloc(&ptr, (size_t)n * (size_t)element_size);
    if (result == SP_CU_SUCCESS)
        *ptr_out = (void *)(uintptr_t)ptr;
    return sp_blas_status(result);
}

int cublasFree(void *ptr)
{
    if (sp_blas_first() == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    return sp_blas_status(sp_sim_driver()->cuMemFree((sp_cu_ptr)(uintptr_t)ptr));
}

/* ---- letters ------------------------------------------------------------------------- */

/* The letter's place among those that mean something, small or large; -1 for others. */
static int place_of(char letter, const char *letters)
{
    for (int i = 0; letters[i] != '\0'; i++)
        if (letter == letters[i] || letter == letters[i] - 'A' + 'a')
            return i;
    return -1;
}

int sp_blas_operation(char letter)
{
    return place_of(letter, "NTC");
}

int sp_blas_triangle(char letter)
{
    return place_of(letter, "LU");
}

int sp_blas_diagonal(char letter)
{
    return place_of(letter, "NU");
}

int sp_blas_side(char letter)
{
    return place_of(letter, "LR");
}
