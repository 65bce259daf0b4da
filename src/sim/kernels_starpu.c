/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stand-ins for the CUDA kernels of the examples that StarPU 1.3 ships, for
 * STARPOOL_MODEL_KERNELS. Each does what the example's codelet for a CPU does. */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpool/kernel.h>

#include "src/util/diag.h"
#include "src/util/util.h"

#define ARG(launch, i, type) (*(type *)(launch)->args[i])

enum { MAX_ARGS = 10 };

/* ---- vectors and variables ----------------------------------------------------------- */

/* vector_mult_cuda(unsigned n, float *values, float factor) */
static void vector_mult(const struct starpool_kernel_launch *launch)
{
    float *values = ARG(launch, 1, float *);

    for (unsigned i = 0; i < ARG(launch, 0, unsigned); i++)
        values[i] *= ARG(launch, 2, float);
}

/* cuda_incrementer(float *values) */
static void incrementer(const struct starpool_kernel_launch *launch)
{
    float *values = ARG(launch, 0, float *);

    values[0] += 1;
    values[2] += 1;
}

/* cuda_variable(float *value) */
static void variable(const struct starpool_kernel_launch *launch)
{
    *ARG(launch, 0, float *) += 1;
}

/* cuda_redux(double *sum, double *part) */
static void redux(const struct starpool_kernel_launch *launch)
{
    *ARG(launch, 0, double *) += *ARG(launch, 1, double *);
}

static void axpy(unsigned n, float a, const float *x, float *y)
{
    for (unsigned i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* saxpy(int n, float a, float *x, float *y) */
static void saxpy(const struct starpool_kernel_launch *launch)
{
    axpy(ARG(launch, 0, unsigned), ARG(launch, 1, float), ARG(launch, 2, float *),
         ARG(launch, 3, float *));
}

/* saxpy_partitioned(dim3 blocks, int first, int n_processors, unsigned *counters, int n, float
 * a, float *x, float *y): which processor does which block makes no difference. */
static void saxpy_partitioned(const struct starpool_kernel_launch *launch)
{
    axpy(ARG(launch, 4, unsigned), ARG(launch, 5, float), ARG(launch, 6, float *),
         ARG(launch, 7, float *));
}

/* ---- several arrays ------------------------------------------------------------------ */

/* complex_copy_cuda(double *to_real, double *to_imaginary, double *real, double *imaginary,
 * unsigned n) */
static void complex_copy(const struct starpool_kernel_launch *launch)
{
    for (unsigned i = 0; i < ARG(launch, 4, unsigned); i++) {
        ARG(launch, 0, double *)[i] = ARG(launch, 2, double *)[i];
        ARG(launch, 1, double *)[i] = ARG(launch, 3, double *)[i];
    }
}

struct point {
    float x, y;
};

/* As many as the example multiformat has. */
struct arrays {
    float x[10], y[10];
};

/* custom_cuda(struct point *points, unsigned n, float *x, float *y) */
static void custom(const struct starpool_kernel_launch *launch)
{
    const struct point *points = ARG(launch, 0, struct point *);

    for (unsigned i = 0; i < ARG(launch, 1, unsigned); i++) {
        ARG(launch, 2, float *)[i] = points[i].x;
        ARG(launch, 3, float *)[i] = points[i].y;
    }
}

/* scal_cuda(unsigned n, float *x, float *y) */
static void scal(const struct starpool_kernel_launch *launch)
{
    for (unsigned i = 0; i < ARG(launch, 0, unsigned); i++)
        ARG(launch, 1, float *)[i] *= ARG(launch, 2, float *)[i];
}

/* cpu_to_cuda_cuda(struct point *points, struct struct_of_arrays *arrays, unsigned n) */
static void cpu_to_cuda(const struct starpool_kernel_launch *launch)
{
    const struct point *points = ARG(launch, 0, struct point *);
    struct arrays *arrays = ARG(launch, 1, struct arrays *);

    for (unsigned i = 0; i < ARG(launch, 2, unsigned); i++) {
        arrays->x[i] = points[i].x;
        arrays->y[i] = points[i].y;
    }
}

/* multiformat_cuda(struct struct_of_arrays *arrays, unsigned n) */
static void multiformat(const struct starpool_kernel_launch *launch)
{
    struct arrays *arrays = ARG(launch, 0, struct arrays *);

    for (unsigned i = 0; i < ARG(launch, 1, unsigned); i++)
        arrays->x[i] *= arrays->y[i];
}

/* ---- blocks and matrices ------------------------------------------------------------- */

/* What cuda_block and fblock_cuda have in common: an element's place by its number. */
static size_t place_in_block(const struct starpool_kernel_launch *launch, size_t number)
{
    const size_t nx = ARG(launch, 1, unsigned), ny = ARG(launch, 2, unsigned);
    const size_t x = number % nx, y = number / nx % ny, z = number / nx / ny;

    return z * ARG(launch, 5, unsigned) + y * ARG(launch, 4, unsigned) + x;
}

static size_t block_elements(const struct starpool_kernel_launch *launch)
{
    return (size_t)ARG(launch, 1, unsigned) * ARG(launch, 2, unsigned) *
           ARG(launch, 3, unsigned);
}

/* cuda_block(float *block, int nx, int ny, int nz, unsigned ldy, unsigned ldz, float factor) */
static void block(const struct starpool_kernel_launch *launch)
{
    for (size_t i = 0; i < block_elements(launch); i++)
        ARG(launch, 0, float *)[place_in_block(launch, i)] *= ARG(launch, 6, float);
}

/* fblock_cuda(int *block, int nx, int ny, int nz, unsigned ldy, unsigned ldz, float value) */
static void fblock(const struct starpool_kernel_launch *launch)
{
    for (size_t i = 0; i < block_elements(launch); i++)
        ARG(launch, 0, int *)[place_in_block(launch, i)] = (int)ARG(launch, 6, float);
}

/* (int *values, int nx, int ny, unsigned ld, int start, int factor); a wrong value stops the
 * kernel, and with it the program. */
static void multiple(const struct starpool_kernel_launch *launch, int scale)
{
    for (int j = 0; j < ARG(launch, 2, int); j++) {
        for (int i = 0; i < ARG(launch, 1, int); i++) {
            int *value =
                &ARG(launch, 0, int *)[(size_t)j * ARG(launch, 3, unsigned) + (size_t)i];
            const int expected = ARG(launch, 4, int) + ARG(launch, 5, int) * (i + 100 * j);

            if (*value != expected) {
                fprintf(stderr, "%s: %d at (%d, %d) should be %d\n", launch->name, *value, i, j,
                        expected);
                abort();
            }
            *value *= scale;
        }
    }
}

static void multiple_check(const struct starpool_kernel_launch *launch)
{
    multiple(launch, 1);
}

static void multiple_check_scale(const struct starpool_kernel_launch *launch)
{
    multiple(launch, 2);
}

/* ---- sparse matrices ----------------------------------------------------------------- */

struct csr {
    uint32_t n_rows, first;
    const float *values, *x;
    const uint32_t *columns, *rows;
    float *y;
};

static void multiply_csr(const struct csr *a)
{
    for (uint32_t row = 0; row < a->n_rows; row++) {
        float sum = 0;

        for (uint32_t i = a->rows[row] - a->first; i < a->rows[row + 1] - a->first; i++)
            sum += a->values[i] * a->x[a->columns[i]];
        a->y[row] = sum;
    }
}

/* spmv_kernel_3(uint32_t nnz, uint32_t n_rows, float *values, uint32_t *columns, uint32_t
 * *rows, uint32_t first, float *x, uint32_t nx, float *y, uint32_t ny) */
static void spmv(const struct starpool_kernel_launch *launch)
{
    const struct csr csr = {
        .n_rows = ARG(launch, 1, uint32_t),
        .values = ARG(launch, 2, float *),
        .columns = ARG(launch, 3, uint32_t *),
        .rows = ARG(launch, 4, uint32_t *),
        .first = ARG(launch, 5, uint32_t),
        .x = ARG(launch, 6, float *),
        .y = ARG(launch, 8, float *),
    };

    multiply_csr(&csr);
}

/* ---- the stencil: a game of life, its domain folded on itself ------------------------- */

enum { BORDER = 1 };

/* cuda_life_update(int bz, const unsigned char *old, unsigned char *new, int nx, int ny, int
 * nz, int ldy, int ldz, int iteration) */
static void life_update(const struct starpool_kernel_launch *launch)
{
    const unsigned char *old = ARG(launch, 1, unsigned char *);
    const int nx = ARG(launch, 3, int), ny = ARG(launch, 4, int), nz = ARG(launch, 5, int);
    const int ldy = ARG(launch, 6, int), ldz = ARG(launch, 7, int);
    const int iteration = ARG(launch, 8, int), n_rows = ny - 2 * BORDER;

    for (int i = 0; i < (nz - 2 * iteration) * n_rows; i++) {
        const int start = (BORDER + i % n_rows) * ldy + (iteration + i / n_rows) * ldz;

        for (int at = start + BORDER; at < start + nx - BORDER; at++) {
            const int n = old[at + ldy] + old[at + ldy + ldz] + old[at + ldz] +
                          old[at - ldy + ldz] + old[at - ldy] + old[at - ldy - ldz] +
                          old[at - ldz] + old[at + ldy - ldz];

            ARG(launch, 2, unsigned char *)[at] = (old[at] != 0 && n == 2) || n == 3;
        }
    }
}

/* cuda_shadow(int bz, unsigned char *values, int nx, int ny, int nz, int ldy, int ldz,
 * int iteration): the borders in x and y are copies of what is at the other end. */
static void shadow(const struct starpool_kernel_launch *launch)
{
    const int nx = ARG(launch, 2, int), ny = ARG(launch, 3, int), nz = ARG(launch, 4, int);
    const int ldy = ARG(launch, 5, int), margin = ARG(launch, 7, int) - 1;

    for (int z = margin; z < nz - margin; z++) {
        unsigned char *plane = ARG(launch, 1, unsigned char *) + z * ARG(launch, 6, int);

        for (int x = BORDER; x < nx - BORDER; x++) {
            plane[x] = plane[x + (ny - 2) * ldy];
            plane[x + (ny - 1) * ldy] = plane[x + ldy];
        }
        /* The columns take the corners along. */
        for (int y = 0; y < ny; y++) {
            plane[y * ldy] = plane[nx - 2 + y * ldy];
            plane[nx - 1 + y * ldy] = plane[1 + y * ldy];
        }
    }
}

/* ---- the list ------------------------------------------------------------------------ */

#define P sizeof(void *)
#define W sizeof(int)

static const struct {
    const char *name;
    starpool_kernel_fn run;
    size_t n_args;
    size_t sizes[MAX_ARGS];
} kernels[] = {
    {"_Z16vector_mult_cudajPff", vector_mult, 3, {W, P, W}},
    {"_Z16cuda_incrementerPf", incrementer, 1, {P}},
    {"_Z13cuda_variablePf", variable, 1, {P}},
    {"_Z10cuda_reduxPdS_", redux, 2, {P, P}},
    {"_Z5saxpyifPfS_", saxpy, 4, {W, W, P, P}},
    {"_Z17saxpy_partitioned4dim3iiPjifPfS1_",
     saxpy_partitioned,
     8,
     {3 * W, W, W, P, W, W, P, P}},
    {"_Z17complex_copy_cudaPdS_S_S_j", complex_copy, 5, {P, P, P, P, W}},
    {"_Z11custom_cudaP5pointjPfS1_", custom, 4, {P, W, P, P}},
    {"_Z9scal_cudajPfS_", scal, 3, {W, P, P}},
    {"_Z16cpu_to_cuda_cudaP5pointP16struct_of_arraysj", cpu_to_cuda, 3, {P, P, W}},
    {"_Z16multiformat_cudaP16struct_of_arraysj", multiformat, 2, {P, W}},
    {"_Z10cuda_blockPfiiijjf", block, 7, {P, W, W, W, W, W, W}},
    {"_Z11fblock_cudaPiiiijjf", fblock, 7, {P, W, W, W, W, W, W}},
    {"_Z21_fmultiple_check_cudaPiiijii", multiple_check, 6, {P, W, W, W, W, W}},
    {"_Z27_fmultiple_check_scale_cudaPiiijii", multiple_check_scale, 6, {P, W, W, W, W, W}},
    {"spmv_kernel_3", spmv, 10, {W, W, P, P, P, W, P, W, P, W}},
    {"cuda_life_update", life_update, 9, {W, P, P, W, W, W, W, W, W}},
    {"cuda_shadow", shadow, 8, {W, P, W, W, W, W, W, W}},
};

static void __attribute__((constructor)) add(void)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(kernels); i++) {
        const enum starpool_status status = starpool_model_add_kernel(
            kernels[i].name, kernels[i].sizes, kernels[i].n_args, kernels[i].run);

        if (status != STARPOOL_OK)
            sp_log(SP_LOG_ERROR, "the kernel %s cannot be added: %s", kernels[i].name,
                   starpool_status_text(status));
    }
}
