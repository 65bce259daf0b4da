/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a driver's result means to starpool's callers. Every result but success is kept, with
 * the call that answered it, so that nothing is lost by folding many results into few statuses.
 */
#include "config.h"

#include <starpool/base.h>

#include "src/driver/driver.h"

/* The last error of this thread; `call` is a constant. */
static _Thread_local struct {
    sp_cu_result result;
    const char *call;
} last = {SP_CU_SUCCESS, ""};

static enum starpool_status capture_status(sp_cu_result result)
{
    switch (result) {
    case SP_CU_STREAM_CAPTURE_UNSUPPORTED:
        return STARPOOL_ECAPTURE_UNSUPPORTED;
    case SP_CU_STREAM_CAPTURE_INVALIDATED:
        return STARPOOL_ECAPTURE_INVALIDATED;
    case SP_CU_STREAM_CAPTURE_MERGE:
        return STARPOOL_ECAPTURE_MERGE;
    case SP_CU_STREAM_CAPTURE_UNMATCHED:
        return STARPOOL_ECAPTURE_UNMATCHED;
    case SP_CU_STREAM_CAPTURE_UNJOINED:
        return STARPOOL_ECAPTURE_UNJOINED;
    case SP_CU_STREAM_CAPTURE_ISOLATION:
        return STARPOOL_ECAPTURE_ISOLATION;
    case SP_CU_STREAM_CAPTURE_IMPLICIT:
        return STARPOOL_ECAPTURE_IMPLICIT;
    case SP_CU_CAPTURED_EVENT:
        return STARPOOL_ECAPTURED_EVENT;
    case SP_CU_STREAM_CAPTURE_WRONG_THREAD:
        return STARPOOL_ECAPTURE_WRONG_THREAD;
    default:
        return STARPOOL_EDRIVER;
    }
}

static enum starpool_status status_of(sp_cu_result result)
{
    switch (result) {
    case SP_CU_SUCCESS:
        return STARPOOL_OK;
    case SP_CU_INVALID_VALUE:
        return STARPOOL_EINVAL;
    case SP_CU_OUT_OF_MEMORY:
        return STARPOOL_ENOMEM;
    case SP_CU_NOT_INITIALIZED:
    case SP_CU_DEINITIALIZED:
        return STARPOOL_ENOTINIT;
    case SP_CU_INVALID_DEVICE:
        return STARPOOL_EDEVICE;
    case SP_CU_NOT_READY:
        return STARPOOL_ENOTREADY;
    case SP_CU_NOT_PERMITTED:
        return STARPOOL_ENOTPERM;
    case SP_CU_NOT_SUPPORTED:
        return STARPOOL_ENOTSUP;
    default:
        return capture_status(result);
    }
}

enum starpool_status sp_driver_status(sp_cu_result result, const char *call)
{
    if (result != SP_CU_SUCCESS) {
        last.result = result;
        last.call = call;
    }
    return status_of(result);
}

int starpool_driver_error(const char **call_out)
{
    if (call_out != NULL)
        *call_out = last.call;
    return last.result;
}

const char *sp_driver_result_name(sp_cu_result result)
{
    switch (result) {
#define SP_CU_RESULT_NAME(name, number) \
    case number:                        \
        return #name;
        SP_CU_RESULT_MAP(SP_CU_RESULT_NAME)
#undef SP_CU_RESULT_NAME
    default:
        return "unknown";
    }
}
