/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What streams are asked, and attributes of theirs, which have no effect on what the model does
 * and are kept so that programs read what they wrote. */
#include "config.h"

#include <stdlib.h>

#include "src/model/private.h"
#include "src/util/util.h"

/* What a program has set of a stream. Zero: the driver's defaults. */
struct sp_model_stream_values {
    union sp_cu_launch_value window, policy, domain_map, domain;
};

sp_cu_result sp_model_cuStreamGetPriority(sp_cu_stream handle, int *priority_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamGetPriority);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && priority_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *priority_out = stream->priority;
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuStreamGetDevice(sp_cu_stream handle, sp_cu_device *device_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamGetDevice);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && device_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        *device_out = stream->context->device;
    return sp_model_leave(result);
}

/* ---- attributes ---------------------------------------------------------------------- */

/* The value among a stream's; NULL if it is not one that is kept there. */
static union sp_cu_launch_value *find_value(struct sp_model_stream_values *values,
                                            int attribute)
{
    switch (attribute) {
    case SP_CU_LAUNCH_ACCESS_POLICY_WINDOW:
        return &values->window;
    case SP_CU_LAUNCH_SYNCHRONIZATION_POLICY:
        return &values->policy;
    case SP_CU_LAUNCH_MEM_SYNC_DOMAIN_MAP:
        return &values->domain_map;
    case SP_CU_LAUNCH_MEM_SYNC_DOMAIN:
        return &values->domain;
    default:
        return NULL;
    }
}

static sp_cu_result get_value(const struct sp_model_stream *stream, int attribute,
                              union sp_cu_launch_value *value_out)
{
    struct sp_model_stream_values values = {.policy = {.number = 1}}; /* automatic */
    const union sp_cu_launch_value *value;

    if (stream->values != NULL)
        values = *stream->values;
    if (attribute == SP_CU_LAUNCH_PRIORITY) {
        value_out->number = stream->priority;
        return SP_CU_SUCCESS;
    }
    value = find_value(&values, attribute);
    if (value == NULL)
        return SP_CU_INVALID_VALUE;
    *value_out = *value;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamGetAttribute(sp_cu_stream handle, int attribute,
                                           union sp_cu_launch_value *value_out)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamGetAttribute);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && value_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = get_value(stream, attribute, value_out);
    return sp_model_leave(result);
}

/* Room for what is to be kept; false without memory. */
static bool make_values(struct sp_model_stream *stream)
{
    if (stream->values == NULL) {
        stream->values = calloc(1, sizeof(*stream->values));
        if (stream->values != NULL)
            stream->values->policy.number = 1;
    }
    return stream->values != NULL;
}

static bool is_priority(int priority)
{
    return priority <= 0 && priority >= SP_MODEL_GREATEST_PRIORITY;
}

static sp_cu_result set_value(struct sp_model_stream *stream, int attribute,
                              const union sp_cu_launch_value *value)
{
    union sp_cu_launch_value *kept;

    if (attribute == SP_CU_LAUNCH_PRIORITY) {
        if (!is_priority(value->number))
            return SP_CU_INVALID_VALUE;
        stream->priority = value->number;
        return SP_CU_SUCCESS;
    }
    if (!make_values(stream))
        return SP_CU_OUT_OF_MEMORY;
    kept = find_value(stream->values, attribute);
    if (kept == NULL)
        return SP_CU_INVALID_VALUE;
    *kept = *value;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamSetAttribute(sp_cu_stream handle, int attribute,
                                           const union sp_cu_launch_value *value)
{
    struct sp_model_stream *stream;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamSetAttribute);
    result = sp_model_stream_get(handle, &stream);
    if (result == SP_CU_SUCCESS && value == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = set_value(stream, attribute, value);
    return sp_model_leave(result);
}

static sp_cu_result copy_values(struct sp_model_stream *target,
                                const struct sp_model_stream *source)
{
    if (target->context != source->context)
        return SP_CU_INVALID_VALUE;
    target->priority = source->priority;
    if (source->values == NULL) {
        free(target->values);
        target->values = NULL;
        return SP_CU_SUCCESS;
    }
    if (!make_values(target))
        return SP_CU_OUT_OF_MEMORY;
    *target->values = *source->values;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuStreamCopyAttributes(sp_cu_stream target_handle,
                                             sp_cu_stream source_handle)
{
    struct sp_model_stream *target, *source;
    sp_cu_result result;

    SP_MODEL_ENTER(cuStreamCopyAttributes);
    result = sp_model_stream_get(target_handle, &target);
    if (result == SP_CU_SUCCESS)
        result = sp_model_stream_get(source_handle, &source);
    if (result == SP_CU_SUCCESS && target != source)
        result = copy_values(target, source);
    return sp_model_leave(result);
}
