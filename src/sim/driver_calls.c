/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the exported functions of libcuda.so.1 call that is not the model's table: stubs, the
 * calls of a thread's own stream, and the sign by which starpool knows its own library. */
#include "config.h"

#include "src/sim/driver_made.h"

#include "src/model/missing.h"
#include "src/model/model.h"
#include "src/sim/table.h"

/* Found by src/driver/driver_cuda.c: true if it is that model that serves here. */
STARPOOL_API bool sp_is_starpool_driver(const struct sp_driver *model);

bool sp_is_starpool_driver(const struct sp_driver *model)
{
    return model == sp_model_driver();
}

sp_cu_result sp_driver_missing(const char *symbol)
{
    sp_model_note_missing(SP_DRIVER_LIBRARY, symbol);
    return SP_CU_NOT_SUPPORTED;
}

/* A call that waits may not be made of a stream that is captured: the model says so, and what
 * becomes of the capture. */
sp_cu_result sp_driver_own_begin(void)
{
    const struct sp_driver *driver = sp_sim_driver();
    int status = SP_CU_CAPTURE_NONE;
    sp_cu_result result = driver->cuStreamIsCapturing(SP_CU_STREAM_PER_THREAD, &status);

    if (result != SP_CU_SUCCESS || status == SP_CU_CAPTURE_NONE)
        return result;
    return driver->cuStreamSynchronize(SP_CU_STREAM_PER_THREAD);
}

sp_cu_result sp_driver_own_end(sp_cu_result result, bool must_wait)
{
    if (result != SP_CU_SUCCESS || !must_wait)
        return result;
    return sp_sim_driver()->cuStreamSynchronize(SP_CU_STREAM_PER_THREAD);
}
