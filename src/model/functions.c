/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that the host takes part in: its functions, and values in memory that streams wait
 * for or write. */
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

struct value {
    uint32_t *address;
    uint32_t value;
    unsigned flags;
};

/* ---- functions ----------------------------------------------------------------------- */

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

/* ---- values -------------------------------------------------------------------------- */

/* Greater or equal is meant cyclically: the difference is not negative. */
static bool is_reached(void *arg)
{
    const struct value *wanted = arg;
    uint32_t found = __atomic_load_n(wanted->address, __ATOMIC_ACQUIRE);

    switch (wanted->flags) {
    case SP_CU_WAIT_VALUE_GEQ:
        return (int32_t)(found - wanted->value) >= 0;
    case SP_CU_WAIT_VALUE_EQ:
        return found == wanted->value;
    case SP_CU_WAIT_VALUE_AND:
        return (found & wanted->value) != 0;
    default:
        return ~(found | wanted->value) != 0;
    }
}

static sp_cu_result run_write(void *arg)
{
    const struct value *value = arg;

    __atomic_store_n(value->address, value->value, __ATOMIC_RELEASE);
    return SP_CU_SUCCESS;
}

/* True if it is not for the stream to execute, and then the answer. */
static bool capture_value(struct sp_model_stream *stream, const struct value *wanted,
                          bool is_write, sp_cu_result *result_out)
{
    uintptr_t address = (uintptr_t)wanted->address;
    struct sp_model_work work = {
        .type = SP_CU_NODE_BATCH_MEM_OP,
        .value = {.address = address,
                  .value = wanted->value,
                  .flags = wanted->flags,
                  .is_write = is_write},
    };

    if (stream->member != NULL) {
        *result_out = sp_model_can_use(stream, address, sizeof(uint32_t));
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    return sp_model_capture_work(stream, &work, result_out);
}

sp_cu_result sp_model_submit_value(struct sp_model_stream *stream, uintptr_t address,
                                   uint32_t wanted, unsigned flags, bool is_write)
{
    struct sp_model_gate gate = {.poll = is_write ? NULL : is_reached};
    struct value *value = malloc(sizeof(*value));

    if (value == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *value = (struct value){(uint32_t *)address, wanted, flags};
    return sp_model_submit_gated(stream, SP_OP_VALUE, &gate, is_write ? run_write : NULL, value,
                                 NULL);
}

/* The next operation of the stream has to do with a value. */
static sp_cu_result queue_value(sp_cu_stream handle, const struct value *wanted, bool is_write)
{
    uintptr_t address = (uintptr_t)wanted->address;
    struct sp_model_stream *stream;
    struct sp_point at;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    if (address == 0 || address % sizeof(uint32_t) != 0)
        return SP_CU_INVALID_VALUE;
    if (sp_model_capture_takes(stream) && capture_value(stream, wanted, is_write, &result))
        return result;
    result = sp_model_prepare(stream, &at);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use(stream, at, address, sizeof(uint32_t));
    return result == SP_CU_SUCCESS
               ? sp_model_submit_value(stream, address, wanted->value, wanted->flags, is_write)
               : result;
}

sp_cu_result sp_model_cuStreamWaitValue32(sp_cu_stream stream, sp_cu_ptr address,
                                          uint32_t value, unsigned flags)
{
    struct value wanted = {(uint32_t *)(uintptr_t)address, value, flags};

    SP_MODEL_ENTER(cuStreamWaitValue32);
    if (flags > SP_CU_WAIT_VALUE_NOR)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(queue_value(stream, &wanted, false));
}

sp_cu_result sp_model_cuStreamWriteValue32(sp_cu_stream stream, sp_cu_ptr address,
                                           uint32_t value, unsigned flags)
{
    struct value wanted = {(uint32_t *)(uintptr_t)address, value, 0};

    SP_MODEL_ENTER(cuStreamWriteValue32);
    if (flags != 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(queue_value(stream, &wanted, true));
}
