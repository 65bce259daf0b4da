/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Laplacian on a square or a cube with zero boundary: 4 or 6 on the diagonal, -1 for each
 * neighbour. Its fronts grow towards the root as those of finite element matrices do, at any
 * size one asks for.
 */
#include "matrix.h"

#include <limits.h>
#include <stdlib.h>

static enum status alloc_arrays(int n, int n_entries, struct matrix *matrix,
                                struct error *error)
{
    matrix->n = n;
    matrix->start = calloc((size_t)n + 1, sizeof(*matrix->start));
    matrix->rows = calloc((size_t)n_entries, sizeof(*matrix->rows));
    matrix->values = calloc((size_t)n_entries, sizeof(*matrix->values));
    if (matrix->start != NULL && matrix->rows != NULL && matrix->values != NULL)
        return STATUS_OK;
    matrix_fini(matrix);
    return error_no_memory(error, "the Laplacian");
}

enum status matrix_laplacian(int dimensions, int side, struct matrix *matrix_out,
                             struct error *error)
{
    struct matrix matrix;
    enum status status;
    int count = 0;
    long n = 1;
    int stride;
    int axis;
    int i;

    for (axis = 0; axis < dimensions && n > 0 && n <= MATRIX_MAX_N; axis++)
        n *= side;
    if (side < 1 || n > MATRIX_MAX_N)
        return error_set(error, STATUS_INPUT,
                         "a %dD Laplacian with %d points a side has no row or too many; give "
                         "at least 1 point and at most %d rows",
                         dimensions, side, MATRIX_MAX_N);

    status = alloc_arrays((int)n, (int)n * (dimensions + 1), &matrix, error);
    if (status != STATUS_OK)
        return status;
    for (i = 0; i < n; i++) {
        matrix.start[i] = count;
        matrix.rows[count] = i;
        matrix.values[count++] = 2 * dimensions;
        for (axis = 0, stride = 1; axis < dimensions; axis++, stride *= side) {
            if (i / stride % side == side - 1)
                continue;
            matrix.rows[count] = i + stride;
            matrix.values[count++] = -1;
        }
    }
    matrix.start[n] = count;
    *matrix_out = matrix;
    return STATUS_OK;
}
