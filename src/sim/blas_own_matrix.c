/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Routines on matrices that cuBLAS has and the BLAS has not. The parameters' places are those
 * of blas_calls.txt. */
#include "config.h"

#include <string.h>

#include "src/sim/blas.h"
#include "src/sim/blas_element.h"
#include "src/util/util.h"

/* An element of a matrix to which an operation (0 none, 1 transposed, 2 conjugated too) is
 * applied. */
static double complex element(char type, const void *matrix, ptrdiff_t ld, int64_t operation,
                              ptrdiff_t row, ptrdiff_t column)
{
    double complex value;

    if (operation == 0)
        return sp_blas_get(type, matrix, row + column * ld);
    value = sp_blas_get(type, matrix, column + row * ld);
    return operation == 2 ? conj(value) : value;
}

/* uplo trans n k alpha A lda B ldb beta C ldc: C's triangle gets alpha op(A) op(B)' + beta C.
 */
static void rank_k(struct sp_blas_run *run, bool is_hermitian, double complex beta)
{
    const char type = run->routine->type;
    const ptrdiff_t n = run->number[2], k = run->number[3], ldc = run->number[11];
    const int64_t op = run->number[1] == 0 ? 0 : is_hermitian ? 2 : 1;
    const double complex alpha = sp_blas_get(type, run->address[4], 0);

    for (ptrdiff_t place = 0; place < n * n; place++) {
        const ptrdiff_t i = place % n, j = place / n;
        double complex sum = 0;

        if (run->number[0] == 0 ? i < j : i > j)
            continue;
        for (ptrdiff_t l = 0; l < k; l++) {
            const double complex b = element(type, run->address[7], run->number[8], op, j, l);

            sum += element(type, run->address[5], run->number[6], op, i, l) *
                   (is_hermitian ? conj(b) : b);
        }
        sum *= alpha;
        if (beta != 0)
            sum += beta * sp_blas_get(type, run->address[10], i + j * ldc);
        sp_blas_put(type, run->address[10], i + j * ldc, sum);
    }
}

void sp_blas_syrkx(struct sp_blas_run *run)
{
    rank_k(run, false, sp_blas_get(run->routine->type, run->address[9], 0));
}

void sp_blas_herkx(struct sp_blas_run *run)
{
    rank_k(run, true, sp_blas_get(run->routine->type == 'C' ? 'S' : 'D', run->address[9], 0));
}

/* side uplo transa diag m n alpha A lda B ldb C ldc: the BLAS's works in place, on C. */
void sp_blas_trmm(struct sp_blas_run *run)
{
    char name[] = "cublas?trmm(1)";
    const char type = run->routine->type;
    const size_t size = sp_blas_element_size(type);
    const ptrdiff_t ldb = run->number[10], ldc = run->number[12];
    struct sp_blas_run in_place = *run;

    *strchr(name, '?') = type;
    in_place.routine = sp_blas_find(name);
    SP_ASSERT(in_place.routine != NULL);
    for (ptrdiff_t j = 0; j < run->number[5] && run->number[4] > 0; j++)
        memmove((char *)run->address[11] + size * (size_t)(j * ldc),
                (char *)run->address[9] + size * (size_t)(j * ldb),
                size * (size_t)run->number[4]);
    in_place.address[9] = run->address[11];
    in_place.number[10] = ldc;
    sp_blas_run(&in_place);
}

/* transa transb m n alpha A lda beta B ldb C ldc; a matrix whose factor is 0 is not read. */
void sp_blas_geam(struct sp_blas_run *run)
{
    const char type = run->routine->type;
    const ptrdiff_t m = run->number[2], n = run->number[3], ldc = run->number[11];
    const double complex alpha = sp_blas_get(type, run->address[4], 0);
    const double complex beta = sp_blas_get(type, run->address[7], 0);

    for (ptrdiff_t place = 0; place < m * n; place++) {
        const ptrdiff_t i = place % m, j = place / m;
        double complex sum = 0;

        if (alpha != 0)
            sum += alpha * element(type, run->address[5], run->number[6], run->number[0], i, j);
        if (beta != 0)
            sum += beta * element(type, run->address[8], run->number[9], run->number[1], i, j);
        sp_blas_put(type, run->address[10], i + j * ldc, sum);
    }
}

/* side m n A lda x incx C ldc */
void sp_blas_dgmm(struct sp_blas_run *run)
{
    const char type = run->routine->type;
    const ptrdiff_t m = run->number[1], n = run->number[2];
    const ptrdiff_t lda = run->number[4], incx = run->number[6], ldc = run->number[8];
    const ptrdiff_t length = run->number[0] == 0 ? m : n;

    for (ptrdiff_t place = 0; place < m * n; place++) {
        const ptrdiff_t i = place % m, j = place / m;
        const ptrdiff_t at = sp_blas_place(run->number[0] == 0 ? i : j, length, incx);

        sp_blas_put(type, run->address[7], i + j * ldc,
                    sp_blas_get(type, run->address[3], i + j * lda) *
                        sp_blas_get(type, run->address[5], at));
    }
}

/* Where a packed triangle holds an element. */
static ptrdiff_t packed_place(int64_t uplo, ptrdiff_t n, ptrdiff_t row, ptrdiff_t column)
{
    return uplo == 0 ? row + column * (2 * n - column - 1) / 2
                     : row + column * (column + 1) / 2;
}

/* Copy a triangle to or from its packed form. */
static void repack(struct sp_blas_run *run, void *matrix, ptrdiff_t ld, void *packed,
                   bool is_packing)
{
    const char type = run->routine->type;
    const int64_t uplo = run->number[0];
    const ptrdiff_t n = run->number[1];

    for (ptrdiff_t place = 0; place < n * n; place++) {
        const ptrdiff_t i = place % n, j = place / n, at = i + j * ld;

        if (uplo == 0 ? i < j : i > j)
            continue;
        if (is_packing)
            sp_blas_put(type, packed, packed_place(uplo, n, i, j),
                        sp_blas_get(type, matrix, at));
        else
            sp_blas_put(type, matrix, at,
                        sp_blas_get(type, packed, packed_place(uplo, n, i, j)));
    }
}

/* uplo n AP A lda */
void sp_blas_tpttr(struct sp_blas_run *run)
{
    repack(run, run->address[3], run->number[4], run->address[2], false);
}

/* uplo n A lda AP */
void sp_blas_trttp(struct sp_blas_run *run)
{
    repack(run, run->address[2], run->number[3], run->address[4], true);
}
