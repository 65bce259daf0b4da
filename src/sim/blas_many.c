/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many small problems in one call: the one routine, over and over. A row of blas_calls.txt for
 * many has the parameters of the one's row in the same order, strides and the count apart. */
#include "config.h"

#include <stdio.h>

#include "src/model/protect.h"
#include "src/sim/blas.h"
#include "src/sim/blas_element.h"
#include "src/util/util.h"

/* The one problem with a number, of a run with many. The addresses in an array of addresses are
 * no arguments of the kernel, so that the model has not opened what they name. */
static void take_one(struct sp_blas_run *one, const struct sp_blas_run *many, int64_t number)
{
    const char *kinds = many->routine->kinds;
    const size_t size = sp_blas_element_size(many->routine->type);
    size_t n = 0;

    for (size_t i = 0; kinds[i] != '\0'; i++) {
        if (kinds[i] == 'o' || kinds[i] == 'b')
            continue;
        one->number[n] = many->number[i];
        one->address[n] = many->address[i];
        if (kinds[i] == 'p')
            one->address[n] = sp_model_alias(((uintptr_t *)many->address[i])[number]);
        else if (kinds[i] == 'a' && kinds[i + 1] == 'o')
            one->address[n] =
                (char *)many->address[i] + number * many->number[i + 1] * (ptrdiff_t)size;
        else if (kinds[i] == 'a' && kinds[i + 2] == 'o')
            one->address[n] =
                (char *)many->address[i] + number * many->number[i + 2] * (ptrdiff_t)size;
        n++;
    }
}

/* The count is the last parameter. */
static void run_many(struct sp_blas_run *many, const char *family)
{
    struct sp_blas_run one = {0};
    char name[32];
    size_t n = 0;

    snprintf(name, sizeof(name), "cublas%c%s", many->routine->type, family);
    one.routine = sp_blas_find(name);
    SP_ASSERT(one.routine != NULL);
    while (many->routine->kinds[n] != '\0')
        n++;
    for (int64_t i = 0; i < many->number[n - 1]; i++) {
        take_one(&one, many, i);
        sp_blas_run(&one);
    }
}

void sp_blas_gemm_batched(struct sp_blas_run *run)
{
    run_many(run, "gemm");
}

void sp_blas_gemm_strided(struct sp_blas_run *run)
{
    run_many(run, "gemm");
}

void sp_blas_gemv_batched(struct sp_blas_run *run)
{
    run_many(run, "gemv");
}

void sp_blas_gemv_strided(struct sp_blas_run *run)
{
    run_many(run, "gemv");
}

void sp_blas_trsm_batched(struct sp_blas_run *run)
{
    run_many(run, "trsm");
}
