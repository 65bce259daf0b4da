/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stand-in for cuSPARSE exports, its names without function apart. */
#ifndef SP_SIM_SPARSE_H
#define SP_SIM_SPARSE_H

#include <starpool/base.h>

#include "src/driver/abi.h"

struct sp_sparse_handle;

STARPOOL_API int cusparseCreate(struct sp_sparse_handle **handle_out);
STARPOOL_API int cusparseDestroy(struct sp_sparse_handle *handle);
STARPOOL_API int cusparseSetStream(struct sp_sparse_handle *handle, sp_cu_stream stream);
STARPOOL_API int cusparseGetStream(const struct sp_sparse_handle *handle,
                                   sp_cu_stream *stream_out);
STARPOOL_API int cusparseSetPointerMode(struct sp_sparse_handle *handle, int mode);
STARPOOL_API int cusparseGetPointerMode(const struct sp_sparse_handle *handle, int *mode_out);
STARPOOL_API int cusparseGetVersion(const struct sp_sparse_handle *handle, int *version_out);
STARPOOL_API int cusparseGetProperty(int type, int *value_out);
STARPOOL_API const char *cusparseGetErrorName(int status);
STARPOOL_API const char *cusparseGetErrorString(int status);

#endif /* SP_SIM_SPARSE_H */
