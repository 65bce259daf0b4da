/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Products of matrices whose element type is a parameter. */
#ifndef SP_SIM_BLAS_EX_H
#define SP_SIM_BLAS_EX_H

#include "src/sim/blas.h"

/* What the matrices are made of, and what is computed with. */
struct sp_blas_types {
    int a, b, c; /* cudaDataType_t */
    int compute; /* cublasComputeType_t */
};

STARPOOL_API int cublasGemmEx(const struct sp_blas_handle *handle, int transa, int transb,
                              int m, int n, int k, const void *alpha, const void *A, int type_a,
                              int lda, const void *B, int type_b, int ldb, const void *beta,
                              const void *C, int type_c, int ldc, int compute, int algorithm);
STARPOOL_API int cublasGemmBatchedEx(const struct sp_blas_handle *handle, int transa,
                                     int transb, int m, int n, int k, const void *alpha,
                                     const void *A, int type_a, int lda, const void *B,
                                     int type_b, int ldb, const void *beta, const void *C,
                                     int type_c, int ldc, int count, int compute,
                                     int algorithm);
STARPOOL_API int
cublasGemmStridedBatchedEx(const struct sp_blas_handle *handle, int transa, int transb, int m,
                           int n, int k, const void *alpha, const void *A, int type_a, int lda,
                           int64_t stride_a, const void *B, int type_b, int ldb,
                           int64_t stride_b, const void *beta, const void *C, int type_c,
                           int ldc, int64_t stride_c, int count, int compute, int algorithm);
STARPOOL_API int cublasSgemmEx(const struct sp_blas_handle *handle, int transa, int transb,
                               int m, int n, int k, const void *alpha, const void *A,
                               int type_a, int lda, const void *B, int type_b, int ldb,
                               const void *beta, const void *C, int type_c, int ldc);
STARPOOL_API int cublasCgemmEx(const struct sp_blas_handle *handle, int transa, int transb,
                               int m, int n, int k, const void *alpha, const void *A,
                               int type_a, int lda, const void *B, int type_b, int ldb,
                               const void *beta, const void *C, int type_c, int ldc);
STARPOOL_API int cublasGemmEx_64(const struct sp_blas_handle *handle, int transa, int transb,
                                 int64_t m, int64_t n, int64_t k, const void *alpha,
                                 const void *A, int type_a, int64_t lda, const void *B,
                                 int type_b, int64_t ldb, const void *beta, const void *C,
                                 int type_c, int64_t ldc, int compute, int algorithm);
STARPOOL_API int cublasGemmBatchedEx_64(const struct sp_blas_handle *handle, int transa,
                                        int transb, int64_t m, int64_t n, int64_t k,
                                        const void *alpha, const void *A, int type_a,
                                        int64_t lda, const void *B, int type_b, int64_t ldb,
                                        const void *beta, const void *C, int type_c,
                                        int64_t ldc, int64_t count, int compute, int algorithm);
STARPOOL_API int cublasGemmStridedBatchedEx_64(
    const struct sp_blas_handle *handle, int transa, int transb, int64_t m, int64_t n,
    int64_t k, const void *alpha, const void *A, int type_a, int64_t lda, int64_t stride_a,
    const void *B, int type_b, int64_t ldb, int64_t stride_b, const void *beta, const void *C,
    int type_c, int64_t ldc, int64_t stride_c, int64_t count, int compute, int algorithm);
STARPOOL_API int cublasSgemmEx_64(const struct sp_blas_handle *handle, int transa, int transb,
                                  int64_t m, int64_t n, int64_t k, const void *alpha,
                                  const void *A, int type_a, int64_t lda, const void *B,
                                  int type_b, int64_t ldb, const void *beta, const void *C,
                                  int type_c, int64_t ldc);
STARPOOL_API int cublasCgemmEx_64(const struct sp_blas_handle *handle, int transa, int transb,
                                  int64_t m, int64_t n, int64_t k, const void *alpha,
                                  const void *A, int type_a, int64_t lda, const void *B,
                                  int type_b, int64_t ldb, const void *beta, const void *C,
                                  int type_c, int64_t ldc);

#endif /* SP_SIM_BLAS_EX_H */
