/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sparse symmetric matrices: made from coordinates, multiplied, measured. Where the
 * coordinates come from is decided elsewhere (market.c reads files, laplacian.c makes grids).
 */
#include "matrix.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    int row;
    double value;
};

static int by_row(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;

    return (a->row > b->row) - (a->row < b->row);
}

static enum status alloc_arrays(int n, size_t n_entries, struct matrix *matrix,
                                struct error *error)
{
    matrix->n = n;
    matrix->start = calloc((size_t)n + 1, sizeof(*matrix->start));
    matrix->rows = calloc(n_entries + 1, sizeof(*matrix->rows));
    matrix->values = calloc(n_entries + 1, sizeof(*matrix->values));
    if (matrix->start != NULL && matrix->rows != NULL && matrix->values != NULL)
        return STATUS_OK;
    matrix_fini(matrix);
    return error_no_memory(error, "the matrix");
}

/* Drop each entry into its column, which is the smaller index: start[] runs ahead as a cursor
 * and ends up one column too far. Every column begins with a zero on the diagonal. */
static void scatter_entries(const struct matrix *matrix, int n_entries, const int *rows,
                            const int *columns, const double *values, struct entry *scattered)
{
    int *cursor = matrix->start;
    int column;
    int i;

    for (column = 0; column < matrix->n; column++)
        scattered[cursor[column]++] = (struct entry){.row = column};
    for (i = 0; i < n_entries; i++) {
        column = rows[i] < columns[i] ? rows[i] : columns[i];
        scattered[cursor[column]++] = (struct entry){
            .row = rows[i] < columns[i] ? columns[i] : rows[i],
            .value = values[i],
        };
    }
    memmove(cursor + 1, cursor, (size_t)matrix->n * sizeof(*cursor));
    cursor[0] = 0;
}

/* Sort each column and add up what is at the same place; columns move to the front. */
static void gather_columns(struct matrix *matrix, struct entry *scattered)
{
    int begin = 0;
    int count = 0;
    int column;
    int end;
    int i;

    for (column = 0; column < matrix->n; column++) {
        end = matrix->start[column + 1];
        qsort(scattered + begin, (size_t)(end - begin), sizeof(*scattered), by_row);
        for (i = begin; i < end; i++) {
            if (i > begin && scattered[i].row == matrix->rows[count - 1]) {
                matrix->values[count - 1] += scattered[i].value;
            } else {
                matrix->rows[count] = scattered[i].row;
                matrix->values[count++] = scattered[i].value;
            }
        }
        begin = end;
        matrix->start[column + 1] = count;
    }
}

enum status matrix_from_entries(int n, int n_entries, const int *rows, const int *columns,
                                const double *values, struct matrix *matrix_out,
                                struct error *error)
{
    size_t room = (size_t)n + (size_t)n_entries;
    struct entry *scattered;
    struct matrix matrix;
    enum status status;
    int sum = 0;
    int count;
    int i;

    if (room > INT_MAX)
        return error_set(error, STATUS_INPUT, "%zu entries are more than this program counts",
                         room);
    status = alloc_arrays(n, room, &matrix, error);
    if (status != STATUS_OK)
        return status;
    scattered = malloc(room * sizeof(*scattered) + 1);
    if (scattered == NULL) {
        matrix_fini(&matrix);
        return error_no_memory(error, "the entries of the matrix");
    }

    for (i = 0; i < n_entries; i++)
        matrix.start[rows[i] < columns[i] ? rows[i] : columns[i]]++;
    for (i = 0; i < n; i++) {
        count = matrix.start[i] + 1;
        matrix.start[i] = sum;
        sum += count;
    }
    scatter_entries(&matrix, n_entries, rows, columns, values, scattered);
    gather_columns(&matrix, scattered);
    free(scattered);
    *matrix_out = matrix;
    return STATUS_OK;
}

enum status matrix_permute(const struct matrix *matrix, const int *permutation,
                           struct matrix *matrix_out, struct error *error)
{
    size_t n_entries = (size_t)matrix->start[matrix->n];
    enum status status = STATUS_SYSTEM;
    int *rows = calloc(n_entries + 1, sizeof(*rows));
    int *columns = calloc(n_entries + 1, sizeof(*columns));
    int *place = malloc(((size_t)matrix->n + 1) * sizeof(*place));
    int column;
    int i;

    if (rows == NULL || columns == NULL || place == NULL) {
        error_no_memory(error, "the permuted matrix");
        goto done;
    }
    for (i = 0; i < matrix->n; i++)
        place[permutation[i]] = i;
    for (column = 0; column < matrix->n; column++) {
        for (i = matrix->start[column]; i < matrix->start[column + 1]; i++) {
            rows[i] = place[matrix->rows[i]];
            columns[i] = place[column];
        }
    }
    status = matrix_from_entries(matrix->n, (int)n_entries, rows, columns, matrix->values,
                                 matrix_out, error);
done:
    free(rows);
    free(columns);
    free(place);
    return status;
}

enum status matrix_check_diagonal(const struct matrix *matrix, const char *name,
                                  struct error *error)
{
    int column;

    for (column = 0; column < matrix->n; column++) {
        double pivot = matrix->values[matrix->start[column]];

        if (pivot <= 0)
            return error_set(error, STATUS_NUMERIC,
                             "%s: not positive definite: the diagonal entry of column %d is "
                             "%g; this solver needs a symmetric positive definite matrix",
                             name, column + 1, pivot);
    }
    return STATUS_OK;
}

long matrix_n_entries(const struct matrix *matrix)
{
    return 2L * matrix->start[matrix->n] - matrix->n;
}

void matrix_multiply(const struct matrix *matrix, const double *x, double *y)
{
    int column;
    int i;

    memset(y, 0, (size_t)matrix->n * sizeof(*y));
    for (column = 0; column < matrix->n; column++) {
        i = matrix->start[column];
        y[column] += matrix->values[i] * x[column];
        for (i++; i < matrix->start[column + 1]; i++) {
            y[matrix->rows[i]] += matrix->values[i] * x[column];
            y[column] += matrix->values[i] * x[matrix->rows[i]];
        }
    }
}

/* fmax() would drop a NaN, and a solution full of NaN would look perfect. */
static double norm(const double *vector, int n)
{
    double largest = 0;
    int i;

    for (i = 0; i < n; i++) {
        if (isnan(vector[i]))
            return vector[i];
        largest = fmax(largest, fabs(vector[i]));
    }
    return largest;
}

/* The largest sum of absolute values over a row; `sums` is room for n numbers. */
static double matrix_norm(const struct matrix *matrix, double *sums)
{
    int column;
    int i;

    memset(sums, 0, (size_t)matrix->n * sizeof(*sums));
    for (column = 0; column < matrix->n; column++) {
        for (i = matrix->start[column]; i < matrix->start[column + 1]; i++) {
            sums[column] += fabs(matrix->values[i]);
            if (matrix->rows[i] != column)
                sums[matrix->rows[i]] += fabs(matrix->values[i]);
        }
    }
    return norm(sums, matrix->n);
}

double matrix_backward_error(const struct matrix *matrix, const double *x, const double *b,
                             double *residual_out)
{
    double scale = matrix_norm(matrix, residual_out) * norm(x, matrix->n) + norm(b, matrix->n);
    double error;
    int i;

    matrix_multiply(matrix, x, residual_out);
    for (i = 0; i < matrix->n; i++)
        residual_out[i] = b[i] - residual_out[i];
    error = norm(residual_out, matrix->n);
    if (error == 0 && scale == 0)
        return 0;
    return isfinite(scale) ? error / scale : NAN;
}

void matrix_fini(struct matrix *matrix)
{
    free(matrix->start);
    free(matrix->rows);
    free(matrix->values);
    *matrix = (struct matrix){0};
}
