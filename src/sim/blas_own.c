/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Routines on vectors and symmetric matrices that cuBLAS has and the BLAS has not, or that
 * return complex numbers, which compilers do not agree about. The parameters' places are those
 * of blas_calls.txt. */
#include "config.h"

#include <math.h>

#include "src/sim/blas.h"
#include "src/sim/blas_element.h"

/* ---- vectors ------------------------------------------------------------------------- */

/* n x incx y incy result */
static void dot(struct sp_blas_run *run, bool is_conjugated)
{
    const char type = run->routine->type;
    const ptrdiff_t n = run->number[0], incx = run->number[2], incy = run->number[4];
    double complex sum = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        double complex x = sp_blas_get(type, run->address[1], sp_blas_place(i, n, incx));

        if (is_conjugated)
            x = conj(x);
        sum += x * sp_blas_get(type, run->address[3], sp_blas_place(i, n, incy));
    }
    sp_blas_put(type, run->address[5], 0, sum);
}

void sp_blas_dotu(struct sp_blas_run *run)
{
    dot(run, false);
}

void sp_blas_dotc(struct sp_blas_run *run)
{
    dot(run, true);
}

/* n x incx index: the first element whose parts' sizes have the smallest sum, from 1. */
void sp_blas_amin(struct sp_blas_run *run)
{
    const char type = run->routine->type;
    const ptrdiff_t n = run->number[0], incx = run->number[2];
    ptrdiff_t smallest = -1;
    double least = 0;

    for (ptrdiff_t i = 0; i < n && incx > 0; i++) {
        const double complex x = sp_blas_get(type, run->address[1], i * incx);
        const double size = fabs(creal(x)) + fabs(cimag(x));

        if (smallest < 0 || size < least) {
            smallest = i;
            least = size;
        }
    }
    if (run->number[3] == sizeof(int64_t))
        *(int64_t *)run->address[3] = smallest + 1;
    else
        *(int *)run->address[3] = (int)(smallest + 1);
}

/* n x incx y incy c s */
void sp_blas_rot(struct sp_blas_run *run)
{
    const char type = run->routine->type;
    const char real = type == 'C' ? 'S' : 'D';
    const ptrdiff_t n = run->number[0], incx = run->number[2], incy = run->number[4];
    const double complex c = sp_blas_get(real, run->address[5], 0);
    const double complex s = sp_blas_get(type, run->address[6], 0);

    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t at_x = sp_blas_place(i, n, incx), at_y = sp_blas_place(i, n, incy);
        const double complex x = sp_blas_get(type, run->address[1], at_x);
        const double complex y = sp_blas_get(type, run->address[3], at_y);

        sp_blas_put(type, run->address[1], at_x, c * x + s * y);
        sp_blas_put(type, run->address[3], at_y, c * y - conj(s) * x);
    }
}

/* ---- complex symmetric matrices ------------------------------------------------------ */

static bool is_stored(int64_t uplo, ptrdiff_t row, ptrdiff_t column)
{
    return uplo == 0 ? row >= column : row <= column;
}

/* uplo n alpha A lda x incx beta y incy */
void sp_blas_symv(struct sp_blas_run *run)
{
    const char type = run->routine->type;
    const ptrdiff_t n = run->number[1], lda = run->number[4];
    const ptrdiff_t incx = run->number[6], incy = run->number[9];
    const double complex alpha = sp_blas_get(type, run->address[2], 0);
    const double complex beta = sp_blas_get(type, run->address[7], 0);

    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t at = sp_blas_place(i, n, incy);
        double complex sum = 0;

        for (ptrdiff_t j = 0; j < n; j++) {
            const bool is_here = is_stored(run->number[0], i, j);
            const ptrdiff_t place = is_here ? i + j * lda : j + i * lda;

            sum += sp_blas_get(type, run->address[3], place) *
                   sp_blas_get(type, run->address[5], sp_blas_place(j, n, incx));
        }
        sum *= alpha;
        if (beta != 0)
            sum += beta * sp_blas_get(type, run->address[8], at);
        sp_blas_put(type, run->address[8], at, sum);
    }
}

/* A's triangle gets alpha (x y' + y x'), or alpha x x' without a y. */
static void add_products(struct sp_blas_run *run, size_t matrix, const void *y, ptrdiff_t incy)
{
    const char type = run->routine->type;
    const ptrdiff_t n = run->number[1], incx = run->number[4];
    const ptrdiff_t lda = run->number[matrix + 1];
    const double complex alpha = sp_blas_get(type, run->address[2], 0);
    const void *x = run->address[3];
    void *a = run->address[matrix];

    for (ptrdiff_t place = 0; place < n * n; place++) {
        const ptrdiff_t i = place % n, j = place / n;
        const double complex xi = sp_blas_get(type, x, sp_blas_place(i, n, incx));
        const double complex xj = sp_blas_get(type, x, sp_blas_place(j, n, incx));
        double complex sum = xi * xj;

        if (!is_stored(run->number[0], i, j))
            continue;
        if (y != NULL)
            sum = xi * sp_blas_get(type, y, sp_blas_place(j, n, incy)) +
                  xj * sp_blas_get(type, y, sp_blas_place(i, n, incy));
        sp_blas_put(type, a, i + j * lda, sp_blas_get(type, a, i + j * lda) + alpha * sum);
    }
}

/* uplo n alpha x incx A lda */
void sp_blas_syr(struct sp_blas_run *run)
{
    add_products(run, 5, NULL, 0);
}

/* uplo n alpha x incx y incy A lda */
void sp_blas_syr2(struct sp_blas_run *run)
{
    add_products(run, 7, run->address[5], run->number[6]);
}
