/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stand-in for cuSPARSE: handles and their settings, which is what runtimes make for their
 * workers. It computes nothing; see sparse_missing.txt. Compiled once for each major of CUDA.
 */
#include "config.h"

#include <stdlib.h>

#include "src/sim/sparse.h"
#include "src/util/util.h"

/* cusparseStatus_t */
enum {
    SPARSE_SUCCESS = 0,
    SPARSE_NOT_INITIALIZED = 1,
    SPARSE_ALLOC_FAILED = 2,
    SPARSE_INVALID_VALUE = 3,
};

/* A cusparseHandle_t. Used by one thread at a time, as cuSPARSE asks for. */
struct sp_sparse_handle {
    sp_cu_stream stream;
    int pointer_mode; /* 0 host, 1 device */
};

int cusparseCreate(struct sp_sparse_handle **handle_out)
{
    if (handle_out == NULL)
        return SPARSE_INVALID_VALUE;
    *handle_out = calloc(1, sizeof(**handle_out));
    return *handle_out == NULL ? SPARSE_ALLOC_FAILED : SPARSE_SUCCESS;
}

int cusparseDestroy(struct sp_sparse_handle *handle)
{
    free(handle); /* NULL is taken, too */
    return SPARSE_SUCCESS;
}

int cusparseSetStream(struct sp_sparse_handle *handle, sp_cu_stream stream)
{
    if (handle == NULL)
        return SPARSE_NOT_INITIALIZED;
    handle->stream = stream;
    return SPARSE_SUCCESS;
}

int cusparseGetStream(const struct sp_sparse_handle *handle, sp_cu_stream *stream_out)
{
    if (handle == NULL)
        return SPARSE_NOT_INITIALIZED;
    if (stream_out == NULL)
        return SPARSE_INVALID_VALUE;
    *stream_out = handle->stream;
    return SPARSE_SUCCESS;
}

int cusparseSetPointerMode(struct sp_sparse_handle *handle, int mode)
{
    if (handle == NULL)
        return SPARSE_NOT_INITIALIZED;
    if (mode < 0 || mode > 1)
        return SPARSE_INVALID_VALUE;
    handle->pointer_mode = mode;
    return SPARSE_SUCCESS;
}

int cusparseGetPointerMode(const struct sp_sparse_handle *handle, int *mode_out)
{
    if (handle == NULL)
        return SPARSE_NOT_INITIALIZED;
    if (mode_out == NULL)
        return SPARSE_INVALID_VALUE;
    *mode_out = handle->pointer_mode;
    return SPARSE_SUCCESS;
}

int cusparseGetVersion(const struct sp_sparse_handle *handle, int *version_out)
{
    if (handle == NULL)
        return SPARSE_NOT_INITIALIZED;
    if (version_out == NULL)
        return SPARSE_INVALID_VALUE;
    *version_out = SP_CUDA_MAJOR * 1000;
    return SPARSE_SUCCESS;
}

/* libraryPropertyType: major, minor, patch level. */
int cusparseGetProperty(int type, int *value_out)
{
    if (value_out == NULL || type < 0 || type > 2)
        return SPARSE_INVALID_VALUE;
    *value_out = type == 0 ? SP_CUDA_MAJOR : 0;
    return SPARSE_SUCCESS;
}

/* ---- names, by number ---------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} statuses[] = {
    {"CUSPARSE_STATUS_SUCCESS", "success"},
    {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {"CUSPARSE_STATUS_MAPPING_ERROR", "texture mapping failed"},
    {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};

const char *cusparseGetErrorName(int status)
{
    if (status < 0 || (size_t)status >= SP_ARRAY_SIZE(statuses))
        return "unrecognized error code";
    return statuses[status].name;
}

const char *cusparseGetErrorString(int status)
{
    if (status < 0 || (size_t)status >= SP_ARRAY_SIZE(statuses))
        return "unrecognized error code";
    return statuses[status].text;
}
