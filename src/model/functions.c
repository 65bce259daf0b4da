/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of the host that streams call. */
#include "config.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/private.h"
#include "src/util/util.h"

struct function {
    sp_cu_host_fn call;
    void *arg;
};

struct callback {
    sp_cu_result status; /* set before it runs */
    sp_cu_stream stream; /* as the program named it */
    sp_cu_stream_callback call;
    void *arg;
};

static sp_cu_result run_function(void *arg)
{
    const struct function *function = arg;

    function->call(function->arg);
    return SP_CU_SUCCESS;
}

static sp_cu_result run_callback(void *arg)
{
    const struct callback *callback = arg;

    callback->call(callback->stream, callback->status, callback->arg);
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuLaunchHostFunc(sp_cu_stream handle, sp_cu_host_fn call, void *arg)
{
    struct sp_model_work work = {.type = SP_CU_NODE_HOST, .host = {call, arg}};
    struct sp_model_stream *stream;
    struct function *function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuLaunchHostFunc);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && call == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result != SP_CU_SUCCESS || sp_model_capture_work(stream, &work, &result))
        return sp_model_leave(result);
    function = malloc(sizeof(*function));
    if (function == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    *function = (struct function){call, arg};
    return sp_model_leave(
        sp_model_submit(stream, SP_OP_HOST_FUNCTION, 0, run_function, function, NULL));
}

sp_cu_result sp_model_cuStreamAddCallback(sp_cu_stream handle, sp_cu_stream_callback call,
                                          void *arg, unsigned flags)
{
    struct sp_model_stream *stream;
    struct callback *callback;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamAddCallback);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && (call == NULL || flags != 0))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = sp_model_capture_forbid(stream);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    callback = malloc(sizeof(*callback));
    if (callback == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    *callback = (struct callback){.stream = handle, .call = call, .arg = arg};
    return sp_model_leave(
        sp_model_submit(stream, SP_OP_CALLBACK, 0, run_callback, callback, NULL));
}
