/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_MATRIX_H
#define CHOLESKY_MATRIX_H

#include "error.h"

/*
 * The lower triangle, diagonal included, of a sparse symmetric matrix by columns.
 *
 * Column j is rows[start[j]] ... rows[start[j + 1] - 1]: strictly ascending, the first one
 * is j itself, so start[j] < start[j + 1] and n <= start[n]. Every value is finite.
 */
struct matrix {
    int n;          /* rows, and columns */
    int *start;     /* [n + 1] */
    int *rows;      /* [start[n]] */
    double *values; /* [start[n]] */
};

/* No dimension above this one, so that the bytes of a dense front cannot overflow 64 bits. */
#define MATRIX_MAX_N (1 << 28)

/**
 * Read a symmetric matrix from a Matrix Market file, plain or gzip.
 *
 * Takes `matrix coordinate real|integer symmetric`, and `general` where the matrix turns out
 * to equal its transpose. A diagonal entry the file does not have becomes a stored zero, which
 * the caller then finds not to be positive.
 *
 * @param path        where the file is; an error names it, and the line
 * @param matrix_out  give it to matrix_fini() afterwards
 *
 * @retval STATUS_OK      `*matrix_out` is set
 * @retval STATUS_INPUT   missing, malformed, truncated, not square or not symmetric
 * @retval STATUS_SYSTEM  no memory
 */
enum status matrix_read(const char *path, struct matrix *matrix_out, struct error *error);

/**
 * Make the matrix of the five-point (2D) or seven-point (3D) Laplacian on a cube.
 *
 * @param dimensions  2 or 3
 * @param side        [points] along each axis; the matrix has side^dimensions rows
 *
 * @retval STATUS_INPUT   `side` is below 1 or makes a matrix too large
 * @retval STATUS_SYSTEM  no memory
 */
enum status matrix_laplacian(int dimensions, int side, struct matrix *matrix_out,
                             struct error *error);

/**
 * Make a matrix from coordinates in any order.
 *
 * Both triangles are accepted: an entry above the diagonal counts as its mirror image. Entries
 * at the same place are added up, missing diagonal entries become zeros.
 *
 * @param rows, columns  [n_entries] from 0
 * @param values         [n_entries]
 *
 * @retval STATUS_INPUT   more entries than an int counts
 * @retval STATUS_SYSTEM  no memory
 */
enum status matrix_from_entries(int n, int n_entries, const int *rows, const int *columns,
                                const double *values, struct matrix *matrix_out,
                                struct error *error);

/**
 * Renumber rows and columns alike.
 *
 * @param permutation  [n] `permutation[k]` is the old number of the new row k
 *
 * @retval STATUS_SYSTEM  no memory
 */
enum status matrix_permute(const struct matrix *matrix, const int *permutation,
                           struct matrix *matrix_out, struct error *error);

/**
 * Check that every diagonal entry is positive, as a positive definite matrix has it.
 *
 * @param name  what the error calls the matrix
 *
 * @retval STATUS_NUMERIC  the error names the first column where it is not so
 */
enum status matrix_check_diagonal(const struct matrix *matrix, const char *name,
                                  struct error *error);

/* Entries of the whole matrix, both triangles. */
long matrix_n_entries(const struct matrix *matrix);

/* y = A x, both [n]. */
void matrix_multiply(const struct matrix *matrix, const double *x, double *y);

/**
 * How well x solves A x = b: |b - A x| / (|A| |x| + |b|) in the maximum norm.
 *
 * @param residual_out  [n] receives b - A x
 *
 * @retval 0 where both sides are zero, NaN where a number is not finite
 */
double matrix_backward_error(const struct matrix *matrix, const double *x, const double *b,
                             double *residual_out);

void matrix_fini(struct matrix *matrix);

#endif /* CHOLESKY_MATRIX_H */
