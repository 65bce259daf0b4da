/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_LAPACK_H
#define CHOLESKY_LAPACK_H

/*
 * The few Fortran routines in use, declared here because there is no header that every BLAS
 * ships. Matrices are by columns. gfortran passes the length of each character argument at the
 * end; routines that look at one letter do not read it, and C callers have always left it out.
 */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dsyrk_(const char *uplo, const char *trans, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *beta, double *c,
            const int *ldc);
void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag,
            const int *m, const int *n, const double *alpha, const double *a, const int *lda,
            double *b, const int *ldb);
void dtrsv_(const char *uplo, const char *trans, const char *diag, const int *n,
            const double *a, const int *lda, double *x, const int *incx);
void dgemv_(const char *trans, const int *m, const int *n, const double *alpha, const double *a,
            const int *lda, const double *x, const int *incx, const double *beta, double *y,
            const int *incy);

#endif /* CHOLESKY_LAPACK_H */
