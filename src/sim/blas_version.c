/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What differs between the majors of libcublas; compiled once for each, with SP_CUDA_MAJOR. */
#include "config.h"

#include "src/sim/blas_api.h"

/* As CUBLAS_VERSION counts in each. */
enum { BLAS_VERSION = SP_CUDA_MAJOR * (SP_CUDA_MAJOR >= 12 ? 10000 : 1000) };

int cublasGetVersion_v2(const struct sp_blas_handle *handle, int *version_out)
{
    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    return cublasGetVersion(version_out);
}

int cublasGetVersion(int *version_out)
{
    if (version_out == NULL)
        return SP_BLAS_INVALID_VALUE;
    *version_out = BLAS_VERSION;
    return SP_BLAS_SUCCESS;
}

/* libraryPropertyType: major, minor, patch level. */
int cublasGetProperty(int type, int *value_out)
{
    if (value_out == NULL || type < 0 || type > 2)
        return SP_BLAS_INVALID_VALUE;
    *value_out = type == 0 ? SP_CUDA_MAJOR : 0;
    return SP_BLAS_SUCCESS;
}

size_t cublasGetCudartVersion(void)
{
    return SP_CUDA_MAJOR * 1000;
}
