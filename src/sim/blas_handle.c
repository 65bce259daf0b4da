/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What surrounds the routines in the second interface: handles, their settings, and names. What
 * only matters for speed is kept and given back. */
#include "config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "src/sim/blas_api.h"
#include "src/sim/table.h"
#include "src/util/util.h"

/* ---- the life of a handle ------------------------------------------------------------ */

/* A program of the runtime may not have touched its device yet: then the runtime, which alone
 * knows the device that the thread chose, makes its context current. */
static sp_cu_result need_context(void)
{
    const struct sp_driver *driver = sp_sim_driver();
    void *symbol = dlsym(RTLD_DEFAULT, "cudaFree");
    int (*cuda_free)(void *ptr);
    sp_cu_context context = NULL;
    sp_cu_result result = driver->cuCtxGetCurrent(&context);

    if (result == SP_CU_SUCCESS && context != NULL)
        return SP_CU_SUCCESS;
    if (symbol != NULL) {
        memcpy(&cuda_free, &symbol, sizeof(symbol));
        return cuda_free(NULL) == 0 ? SP_CU_SUCCESS : SP_CU_NOT_INITIALIZED;
    }
    result = driver->cuInit(0);
    if (result == SP_CU_SUCCESS)
        result = driver->cuDevicePrimaryCtxRetain(&context, 0);
    return result == SP_CU_SUCCESS ? driver->cuCtxSetCurrent(context) : result;
}

int sp_blas_prepare(void)
{
    if (need_context() != SP_CU_SUCCESS || !sp_blas_start())
        return SP_BLAS_NOT_INITIALIZED;
    return SP_BLAS_SUCCESS;
}

int cublasCreate_v2(struct sp_blas_handle **handle_out)
{
    struct sp_blas_handle *handle;
    int status;

    if (handle_out == NULL)
        return SP_BLAS_INVALID_VALUE;
    *handle_out = NULL;
    status = sp_blas_prepare();
    if (status != SP_BLAS_SUCCESS)
        return status;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return SP_BLAS_ALLOC_FAILED;
    *handle_out = handle;
    return SP_BLAS_SUCCESS;
}

/* cuBLAS waits for the device; work of ours does not use the handle, so that it need not. */
int cublasDestroy_v2(struct sp_blas_handle *handle)
{
    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    free(handle);
    return SP_BLAS_SUCCESS;
}

/* ---- settings ------------------------------------------------------------------------ */

int cublasSetStream_v2(struct sp_blas_handle *handle, sp_cu_stream stream)
{
    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    handle->stream = stream;
    return SP_BLAS_SUCCESS;
}

int cublasGetStream_v2(const struct sp_blas_handle *handle, sp_cu_stream *stream_out)
{
    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    if (stream_out == NULL)
        return SP_BLAS_INVALID_VALUE;
    *stream_out = handle->stream;
    return SP_BLAS_SUCCESS;
}

static int set_number(struct sp_blas_handle *handle, int *place, int value, int most)
{
    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    if (value < 0 || value > most)
        return SP_BLAS_INVALID_VALUE;
    *place = value;
    return SP_BLAS_SUCCESS;
}

static int get_number(const struct sp_blas_handle *handle, const int *place, int *value_out)
{
    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    if (value_out == NULL)
        return SP_BLAS_INVALID_VALUE;
    *value_out = *place;
    return SP_BLAS_SUCCESS;
}

int cublasSetPointerMode_v2(struct sp_blas_handle *handle, int mode)
{
    return set_number(handle, &handle->pointer_mode, mode, SP_BLAS_POINTER_DEVICE);
}

int cublasGetPointerMode_v2(const struct sp_blas_handle *handle, int *mode_out)
{
    return get_number(handle, &handle->pointer_mode, mode_out);
}

int cublasSetAtomicsMode(struct sp_blas_handle *handle, int mode)
{
    return set_number(handle, &handle->atomics_mode, mode, 1);
}

int cublasGetAtomicsMode(const struct sp_blas_handle *handle, int *mode_out)
{
    return get_number(handle, &handle->atomics_mode, mode_out);
}

/* The modes have flags in their higher bits. */
int cublasSetMathMode(struct sp_blas_handle *handle, int mode)
{
    return set_number(handle, &handle->math_mode, mode, 0xff);
}

int cublasGetMathMode(const struct sp_blas_handle *handle, int *mode_out)
{
    return get_number(handle, &handle->math_mode, mode_out);
}

int cublasSetSmCountTarget(struct sp_blas_handle *handle, int count)
{
    return set_number(handle, &handle->sm_count_target, count, 1 << 16);
}

int cublasGetSmCountTarget(const struct sp_blas_handle *handle, int *count_out)
{
    return get_number(handle, &handle->sm_count_target, count_out);
}

/* The BLAS needs no workspace. */
int cublasSetWorkspace_v2(const struct sp_blas_handle *handle, const void *workspace,
                          size_t size)
{
    (void)workspace;
    (void)size;
    return handle == NULL ? SP_BLAS_NOT_INITIALIZED : SP_BLAS_SUCCESS;
}

/* ---- names --------------------------------------------------------------------------- */

static const struct {
    int status;
    const char *name, *text;
} statuses[] = {
    {SP_BLAS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {SP_BLAS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {SP_BLAS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {SP_BLAS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {SP_BLAS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the device has not the architecture that the function needs"},
    {SP_BLAS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR",
     "an access to the GPU memory space failed"},
    {SP_BLAS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {SP_BLAS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {SP_BLAS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality is not supported"},
    {SP_BLAS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the functionality needs a license"},
};

const char *cublasGetStatusName(int status)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "unknown cublasStatus_t value";
}

const char *cublasGetStatusString(int status)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "unknown cublasStatus_t value";
}
