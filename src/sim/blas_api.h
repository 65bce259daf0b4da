/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stand-in for cuBLAS exports beside the routines of blas_calls.txt. */
#ifndef SP_SIM_BLAS_API_H
#define SP_SIM_BLAS_API_H

#include "src/sim/blas.h"

/* Make ready for a handle: the thread has a context and the model knows the routines. */
int sp_blas_prepare(void);

/* ---- blas_handle.c ------------------------------------------------------------------- */

STARPOOL_API int cublasCreate_v2(struct sp_blas_handle **handle_out);
STARPOOL_API int cublasDestroy_v2(struct sp_blas_handle *handle);
STARPOOL_API int cublasSetStream_v2(struct sp_blas_handle *handle, sp_cu_stream stream);
STARPOOL_API int cublasGetStream_v2(const struct sp_blas_handle *handle,
                                    sp_cu_stream *stream_out);
STARPOOL_API int cublasSetPointerMode_v2(struct sp_blas_handle *handle, int mode);
STARPOOL_API int cublasGetPointerMode_v2(const struct sp_blas_handle *handle, int *mode_out);
STARPOOL_API int cublasSetAtomicsMode(struct sp_blas_handle *handle, int mode);
STARPOOL_API int cublasGetAtomicsMode(const struct sp_blas_handle *handle, int *mode_out);
STARPOOL_API int cublasSetMathMode(struct sp_blas_handle *handle, int mode);
STARPOOL_API int cublasGetMathMode(const struct sp_blas_handle *handle, int *mode_out);
STARPOOL_API int cublasSetSmCountTarget(struct sp_blas_handle *handle, int count);
STARPOOL_API int cublasGetSmCountTarget(const struct sp_blas_handle *handle, int *count_out);
STARPOOL_API int cublasSetWorkspace_v2(const struct sp_blas_handle *handle,
                                       const void *workspace, size_t size);
STARPOOL_API const char *cublasGetStatusName(int status);
STARPOOL_API const char *cublasGetStatusString(int status);

/* ---- blas_version.c ------------------------------------------------------------------ */

STARPOOL_API int cublasGetVersion_v2(const struct sp_blas_handle *handle, int *version_out);
STARPOOL_API int cublasGetVersion(int *version_out);
STARPOOL_API int cublasGetProperty(int type, int *value_out);
STARPOOL_API size_t cublasGetCudartVersion(void);

/* ---- blas_first.c -------------------------------------------------------------------- */

STARPOOL_API int cublasInit(void);
STARPOOL_API int cublasShutdown(void);
STARPOOL_API int cublasGetError(void);
STARPOOL_API int cublasSetKernelStream(sp_cu_stream stream);
STARPOOL_API int cublasAlloc(int n, int element_size, void **ptr_out);
STARPOOL_API int cublasFree(void *ptr);

/* ---- blas_copy.c --------------------------------------------------------------------- */

STARPOOL_API int cublasSetVector(int n, int element_size, const void *x, int incx, void *y,
                                 int incy);
STARPOOL_API int cublasGetVector(int n, int element_size, const void *x, int incx, void *y,
                                 int incy);
STARPOOL_API int cublasSetVectorAsync(int n, int element_size, const void *x, int incx, void *y,
                                      int incy, sp_cu_stream stream);
STARPOOL_API int cublasGetVectorAsync(int n, int element_size, const void *x, int incx, void *y,
                                      int incy, sp_cu_stream stream);
STARPOOL_API int cublasSetMatrix(int rows, int columns, int element_size, const void *a,
                                 int lda, void *b, int ldb);
STARPOOL_API int cublasGetMatrix(int rows, int columns, int element_size, const void *a,
                                 int lda, void *b, int ldb);
STARPOOL_API int cublasSetMatrixAsync(int rows, int columns, int element_size, const void *a,
                                      int lda, void *b, int ldb, sp_cu_stream stream);
STARPOOL_API int cublasGetMatrixAsync(int rows, int columns, int element_size, const void *a,
                                      int lda, void *b, int ldb, sp_cu_stream stream);
STARPOOL_API int cublasSetVector_64(int64_t n, int64_t element_size, const void *x,
                                    int64_t incx, void *y, int64_t incy);
STARPOOL_API int cublasGetVector_64(int64_t n, int64_t element_size, const void *x,
                                    int64_t incx, void *y, int64_t incy);
STARPOOL_API int cublasSetVectorAsync_64(int64_t n, int64_t element_size, const void *x,
                                         int64_t incx, void *y, int64_t incy,
                                         sp_cu_stream stream);
STARPOOL_API int cublasGetVectorAsync_64(int64_t n, int64_t element_size, const void *x,
                                         int64_t incx, void *y, int64_t incy,
                                         sp_cu_stream stream);
STARPOOL_API int cublasSetMatrix_64(int64_t rows, int64_t columns, int64_t element_size,
                                    const void *a, int64_t lda, void *b, int64_t ldb);
STARPOOL_API int cublasGetMatrix_64(int64_t rows, int64_t columns, int64_t element_size,
                                    const void *a, int64_t lda, void *b, int64_t ldb);
STARPOOL_API int cublasSetMatrixAsync_64(int64_t rows, int64_t columns, int64_t element_size,
                                         const void *a, int64_t lda, void *b, int64_t ldb,
                                         sp_cu_stream stream);
STARPOOL_API int cublasGetMatrixAsync_64(int64_t rows, int64_t columns, int64_t element_size,
                                         const void *a, int64_t lda, void *b, int64_t ldb,
                                         sp_cu_stream stream);

#endif /* SP_SIM_BLAS_API_H */
