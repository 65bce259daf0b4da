/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cuBLAS's copies of matrices and vectors between the host and a device: the driver's copy of
 * rectangles, whose rows are a matrix's columns, or a vector's elements. */
#include "config.h"

#include "src/sim/blas_api.h"
#include "src/sim/table.h"

enum direction { TO_DEVICE, TO_HOST };

/* A copy of `n_rows` rows of `width` bytes. */
struct rectangle {
    enum direction direction;
    int64_t width, n_rows;              /* [bytes], - */
    int64_t source_pitch, target_pitch; /* [bytes] */
    const void *source;
    void *target;
};

static int copy(const struct rectangle *rectangle, const sp_cu_stream *stream)
{
    const struct sp_driver *driver = sp_sim_driver();
    struct sp_cu_memcpy2d params = {
        .source_type = SP_CU_MEMORY_TYPE_HOST,
        .source_host = rectangle->source,
        .source_device = (sp_cu_ptr)(uintptr_t)rectangle->source,
        .source_pitch = (size_t)rectangle->source_pitch,
        .target_type = SP_CU_MEMORY_TYPE_DEVICE,
        .target_host = rectangle->target,
        .target_device = (sp_cu_ptr)(uintptr_t)rectangle->target,
        .target_pitch = (size_t)rectangle->target_pitch,
        .width_bytes = (size_t)rectangle->width,
        .height = (size_t)rectangle->n_rows,
    };
    sp_cu_result result;

    if (rectangle->direction == TO_HOST) {
        params.source_type = SP_CU_MEMORY_TYPE_DEVICE;
        params.target_type = SP_CU_MEMORY_TYPE_HOST;
    }
    if (stream != NULL)
        result = driver->cuMemcpy2DAsync(&params, *stream);
    else
        result = driver->cuMemcpy2DUnaligned(&params);
    return result == SP_CU_SUCCESS || result == SP_CU_OUT_OF_MEMORY ? sp_blas_status(result)
                                                                    : SP_BLAS_MAPPING_ERROR;
}

/* Elements that lie side by side are one row. */
static int copy_vector(enum direction direction, int64_t n, int64_t size, const void *x,
                       int64_t incx, void *y, int64_t incy, const sp_cu_stream *stream)
{
    struct rectangle rectangle = {direction, size, n, incx * size, incy * size, x, y};

    if (n < 0 || size <= 0 || incx <= 0 || incy <= 0)
        return SP_BLAS_INVALID_VALUE;
    if (n == 0)
        return SP_BLAS_SUCCESS;
    if (incx == 1 && incy == 1) {
        rectangle.width = rectangle.source_pitch = rectangle.target_pitch = n * size;
        rectangle.n_rows = 1;
    }
    return copy(&rectangle, stream);
}

static int copy_matrix(enum direction direction, int64_t rows, int64_t columns, int64_t size,
                       const void *a, int64_t lda, void *b, int64_t ldb,
                       const sp_cu_stream *stream)
{
    const struct rectangle rectangle = {direction,  rows * size, columns, lda * size,
                                        ldb * size, a,           b};

    if (rows < 0 || columns < 0 || size <= 0 || lda <= 0 || ldb <= 0 || lda < rows ||
        ldb < rows)
        return SP_BLAS_INVALID_VALUE;
    if (rows == 0 || columns == 0)
        return SP_BLAS_SUCCESS;
    return copy(&rectangle, stream);
}

/* ---- vectors ------------------------------------------------------------------------- */
int cublasSetVector(int n, int element_size, const void *x, int incx, void *y, int incy)
{
    return copy_vector(TO_DEVICE, n, element_size, x, incx, y, incy, NULL);
}

int cublasGetVector(int n, int element_size, const void *x, int incx, void *y, int incy)
{
    return copy_vector(TO_HOST, n, element_size, x, incx, y, incy, NULL);
}

int cublasSetVectorAsync(int n, int element_size, const void *x, int incx, void *y, int incy,
                         sp_cu_stream stream)
{
    return copy_vector(TO_DEVICE, n, element_size, x, incx, y, incy, &stream);
}

int cublasGetVectorAsync(int n, int element_size, const void *x, int incx, void *y, int incy,
                         sp_cu_stream stream)
{
    return copy_vector(TO_HOST, n, element_size, x, incx, y, incy, &stream);
}

int cublasSetVector_64(int64_t n, int64_t element_size, const void *x, int64_t incx, void *y,
                       int64_t incy)
{
    return copy_vector(TO_DEVICE, n, element_size, x, incx, y, incy, NULL);
}

int cublasGetVector_64(int64_t n, int64_t element_size, const void *x, int64_t incx, void *y,
                       int64_t incy)
{
    return copy_vector(TO_HOST, n, element_size, x, incx, y, incy, NULL);
}

int cublasSetVectorAsync_64(int64_t n, int64_t element_size, const void *x, int64_t incx,
                            void *y, int64_t incy, sp_cu_stream stream)
{
    return copy_vector(TO_DEVICE, n, element_size, x, incx, y, incy, &stream);
}

int cublasGetVectorAsync_64(int64_t n, int64_t element_size, const void *x, int64_t incx,
                            void *y, int64_t incy, sp_cu_stream stream)
{
    return copy_vector(TO_HOST, n, element_size, x, incx, y, incy, &stream);
}

/* ---- matrices ------------------------------------------------------------------------ */

int cublasSetMatrix(int rows, int columns, int element_size, const void *a, int lda, void *b,
                    int ldb)
{
    return copy_matrix(TO_DEVICE, rows, columns, element_size, a, lda, b, ldb, NULL);
}

int cublasGetMatrix(int rows, int columns, int element_size, const void *a, int lda, void *b,
                    int ldb)
{
    return copy_matrix(TO_HOST, rows, columns, element_size, a, lda, b, ldb, NULL);
}

int cublasSetMatrixAsync(int rows, int columns, int element_size, const void *a, int lda,
                         void *b, int ldb, sp_cu_stream stream)
{
    return copy_matrix(TO_DEVICE, rows, columns, element_size, a, lda, b, ldb, &stream);
}

int cublasGetMatrixAsync(int rows, int columns, int element_size, const void *a, int lda,
                         void *b, int ldb, sp_cu_stream stream)
{
    return copy_matrix(TO_HOST, rows, columns, element_size, a, lda, b, ldb, &stream);
}

int cublasSetMatrix_64(int64_t rows, int64_t columns, int64_t element_size, const void *a,
                       int64_t lda, void *b, int64_t ldb)
{
    return copy_matrix(TO_DEVICE, rows, columns, element_size, a, lda, b, ldb, NULL);
}

int cublasGetMatrix_64(int64_t rows, int64_t columns, int64_t element_size, const void *a,
                       int64_t lda, void *b, int64_t ldb)
{
    return copy_matrix(TO_HOST, rows, columns, element_size, a, lda, b, ldb, NULL);
}

int cublasSetMatrixAsync_64(int64_t rows, int64_t columns, int64_t element_size, const void *a,
                            int64_t lda, void *b, int64_t ldb, sp_cu_stream stream)
{
    return copy_matrix(TO_DEVICE, rows, columns, element_size, a, lda, b, ldb, &stream);
}

int cublasGetMatrixAsync_64(int64_t rows, int64_t columns, int64_t element_size, const void *a,
                            int64_t lda, void *b, int64_t ldb, sp_cu_stream stream)
{
    return copy_matrix(TO_HOST, rows, columns, element_size, a, lda, b, ldb, &stream);
}
