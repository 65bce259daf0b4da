/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Products of matrices whose element type is a parameter: float, double and their complex
 * ones, where all three matrices and the computation have the same. */
#include "config.h"

#include <stdio.h>

#include "src/model/missing.h"
#include "src/sim/blas_ex.h"

/* cudaDataType_t */
enum { REAL_32 = 0, REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5 };

/* cublasComputeType_t; 74 to 78 may compute with less than single precision, and need not. */
enum {
    COMPUTE_32 = 68,
    COMPUTE_32_PEDANTIC = 69,
    COMPUTE_64 = 70,
    COMPUTE_64_PEDANTIC = 71,
    COMPUTE_32_FAST_FIRST = 74,
    COMPUTE_32_FAST_LAST = 78,
    COMPUTE_64_EMULATED = 79,
};

static bool is_compute_32(int type)
{
    return type == COMPUTE_32 || type == COMPUTE_32_PEDANTIC ||
           (type >= COMPUTE_32_FAST_FIRST && type <= COMPUTE_32_FAST_LAST);
}

static bool is_compute_64(int type)
{
    return type == COMPUTE_64 || type == COMPUTE_64_PEDANTIC || type == COMPUTE_64_EMULATED;
}

/* The letter of a computation on elements of a type: 0 if no BLAS has it. */
static char letter_of(int type, int compute)
{
    if (is_compute_32(compute))
        return type == REAL_32 ? 'S' : type == COMPLEX_32 ? 'C' : 0;
    if (is_compute_64(compute))
        return type == REAL_64 ? 'D' : type == COMPLEX_64 ? 'Z' : 0;
    return 0;
}

/* The row of a family for those types; NULL, and noted under `name`, if there is none. */
static const struct sp_blas_routine *find(const char *family, const struct sp_blas_types *types,
                                          const char *name)
{
    const char letter = letter_of(types->a, types->compute);
    char routine[32];

    if (types->a != types->b || types->a != types->c || letter == 0) {
        sp_model_note_missing("libcublas", name);
        return NULL;
    }
    snprintf(routine, sizeof(routine), "cublas%c%s", letter, family);
    return sp_blas_find(routine);
}

static int call(const struct sp_blas_handle *handle, const char *family, const char *name,
                const struct sp_blas_types *types, const struct sp_blas_arg *args)
{
    const struct sp_blas_routine *routine = find(family, types, name);

    return routine == NULL ? SP_BLAS_NOT_SUPPORTED : sp_blas_call(handle, routine, args);
}

/* What both widths of the integers have in common; `name` is the entry point's. */
static int gemm(const struct sp_blas_handle *handle, const char *name, int transa, int transb,
                int64_t m, int64_t n, int64_t k, const void *alpha, const void *A, int type_a,
                int64_t lda, const void *B, int type_b, int64_t ldb, const void *beta,
                const void *C, int type_c, int64_t ldc, int compute)
{
    const struct sp_blas_types types = {type_a, type_b, type_c, compute};
    const struct sp_blas_arg args[] = {
        {.number = transa},
        {.number = transb},
        {.number = m},
        {.number = n},
        {.number = k},
        {.address = alpha},
        {.address = A},
        {.number = lda, .least = transa ? k : m},
        {.address = B},
        {.number = ldb, .least = transb ? n : k},
        {.address = beta},
        {.address = C},
        {.number = ldc, .least = m},
    };

    return call(handle, "gemm", name, &types, args);
}

static int gemm_batched(const struct sp_blas_handle *handle, const char *name, int transa,
                        int transb, int64_t m, int64_t n, int64_t k, const void *alpha,
                        const void *A, int type_a, int64_t lda, const void *B, int type_b,
                        int64_t ldb, const void *beta, const void *C, int type_c, int64_t ldc,
                        int64_t count, int compute)
{
    const struct sp_blas_types types = {type_a, type_b, type_c, compute};
    const struct sp_blas_arg args[] = {
        {.number = transa},
        {.number = transb},
        {.number = m},
        {.number = n},
        {.number = k},
        {.address = alpha},
        {.address = A},
        {.number = lda, .least = transa ? k : m},
        {.address = B},
        {.number = ldb, .least = transb ? n : k},
        {.address = beta},
        {.address = C},
        {.number = ldc, .least = m},
        {.number = count},
    };

    return call(handle, "gemmBatched", name, &types, args);
}

static int gemm_strided(const struct sp_blas_handle *handle, const char *name, int transa,
                        int transb, int64_t m, int64_t n, int64_t k, const void *alpha,
                        const void *A, int type_a, int64_t lda, int64_t stride_a, const void *B,
                        int type_b, int64_t ldb, int64_t stride_b, const void *beta,
                        const void *C, int type_c, int64_t ldc, int64_t stride_c, int64_t count,
                        int compute)
{
    const struct sp_blas_types types = {type_a, type_b, type_c, compute};
    const struct sp_blas_arg args[] = {
        {.number = transa},
        {.number = transb},
        {.number = m},
        {.number = n},
        {.number = k},
        {.address = alpha},
        {.address = A},
        {.number = lda, .least = transa ? k : m},
        {.number = stride_a},
        {.address = B},
        {.number = ldb, .least = transb ? n : k},
        {.number = stride_b},
        {.address = beta},
        {.address = C},
        {.number = ldc, .least = m},
        {.number = stride_c},
        {.number = count},
    };

    return call(handle, "gemmStridedBatched", name, &types, args);
}

int cublasGemmEx(const struct sp_blas_handle *handle, int transa, int transb, int m, int n,
                 int k, const void *alpha, const void *A, int type_a, int lda, const void *B,
                 int type_b, int ldb, const void *beta, const void *C, int type_c, int ldc,
                 int compute, int algorithm)
{
    (void)algorithm;
    return gemm(handle, "cublasGemmEx", transa, transb, m, n, k, alpha, A, type_a, lda, B,
                type_b, ldb, beta, C, type_c, ldc, compute);
}

int cublasGemmBatchedEx(const struct sp_blas_handle *handle, int transa, int transb, int m,
                        int n, int k, const void *alpha, const void *A, int type_a, int lda,
                        const void *B, int type_b, int ldb, const void *beta, const void *C,
                        int type_c, int ldc, int count, int compute, int algorithm)
{
    (void)algorithm;
    return gemm_batched(handle, "cublasGemmBatchedEx", transa, transb, m, n, k, alpha, A,
                        type_a, lda, B, type_b, ldb, beta, C, type_c, ldc, count, compute);
}

int cublasGemmStridedBatchedEx(const struct sp_blas_handle *handle, int transa, int transb,
                               int m, int n, int k, const void *alpha, const void *A,
                               int type_a, int lda, int64_t stride_a, const void *B, int type_b,
                               int ldb, int64_t stride_b, const void *beta, const void *C,
                               int type_c, int ldc, int64_t stride_c, int count, int compute,
                               int algorithm)
{
    (void)algorithm;
    return gemm_strided(handle, "cublasGemmStridedBatchedEx", transa, transb, m, n, k, alpha, A,
                        type_a, lda, stride_a, B, type_b, ldb, stride_b, beta, C, type_c, ldc,
                        stride_c, count, compute);
}

int cublasSgemmEx(const struct sp_blas_handle *handle, int transa, int transb, int m, int n,
                  int k, const void *alpha, const void *A, int type_a, int lda, const void *B,
                  int type_b, int ldb, const void *beta, const void *C, int type_c, int ldc)
{
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b, ldb,
                        beta, C, type_c, ldc, COMPUTE_32, 0);
}

int cublasCgemmEx(const struct sp_blas_handle *handle, int transa, int transb, int m, int n,
                  int k, const void *alpha, const void *A, int type_a, int lda, const void *B,
                  int type_b, int ldb, const void *beta, const void *C, int type_c, int ldc)
{
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b, ldb,
                        beta, C, type_c, ldc, COMPUTE_32, 0);
}

int cublasGemmEx_64(const struct sp_blas_handle *handle, int transa, int transb, int64_t m,
                    int64_t n, int64_t k, const void *alpha, const void *A, int type_a,
                    int64_t lda, const void *B, int type_b, int64_t ldb, const void *beta,
                    const void *C, int type_c, int64_t ldc, int compute, int algorithm)
{
    (void)algorithm;
    return gemm(handle, "cublasGemmEx_64", transa, transb, m, n, k, alpha, A, type_a, lda, B,
                type_b, ldb, beta, C, type_c, ldc, compute);
}

int cublasGemmBatchedEx_64(const struct sp_blas_handle *handle, int transa, int transb,
                           int64_t m, int64_t n, int64_t k, const void *alpha, const void *A,
                           int type_a, int64_t lda, const void *B, int type_b, int64_t ldb,
                           const void *beta, const void *C, int type_c, int64_t ldc,
                           int64_t count, int compute, int algorithm)
{
    (void)algorithm;
    return gemm_batched(handle, "cublasGemmBatchedEx_64", transa, transb, m, n, k, alpha, A,
                        type_a, lda, B, type_b, ldb, beta, C, type_c, ldc, count, compute);
}

int cublasGemmStridedBatchedEx_64(const struct sp_blas_handle *handle, int transa, int transb,
                                  int64_t m, int64_t n, int64_t k, const void *alpha,
                                  const void *A, int type_a, int64_t lda, int64_t stride_a,
                                  const void *B, int type_b, int64_t ldb, int64_t stride_b,
                                  const void *beta, const void *C, int type_c, int64_t ldc,
                                  int64_t stride_c, int64_t count, int compute, int algorithm)
{
    (void)algorithm;
    return gemm_strided(handle, "cublasGemmStridedBatchedEx_64", transa, transb, m, n, k, alpha,
                        A, type_a, lda, stride_a, B, type_b, ldb, stride_b, beta, C, type_c,
                        ldc, stride_c, count, compute);
}

int cublasSgemmEx_64(const struct sp_blas_handle *handle, int transa, int transb, int64_t m,
                     int64_t n, int64_t k, const void *alpha, const void *A, int type_a,
                     int64_t lda, const void *B, int type_b, int64_t ldb, const void *beta,
                     const void *C, int type_c, int64_t ldc)
{
    return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b,
                           ldb, beta, C, type_c, ldc, COMPUTE_32, 0);
}

int cublasCgemmEx_64(const struct sp_blas_handle *handle, int transa, int transb, int64_t m,
                     int64_t n, int64_t k, const void *alpha, const void *A, int type_a,
                     int64_t lda, const void *B, int type_b, int64_t ldb, const void *beta,
                     const void *C, int type_c, int64_t ldc)
{
    return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b,
                           ldb, beta, C, type_c, ldc, COMPUTE_32, 0);
}
