/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a copy is told about its two ends, compared with what they are. With one range of
 * addresses for all memory a real runtime does not need the word; a wrong one is a mistake all
 * the same, and on a real device often a fault. */
#include "config.h"

#include "src/sim/runtime.h"

/* A cudaMemoryType. */
static int ask_type(const void *ptr, int *type_out)
{
    int attributes[] = {SP_CU_POINTER_MEMORY_TYPE, SP_CU_POINTER_IS_MANAGED};
    unsigned type = 0, is_managed = 0;
    void *values[] = {&type, &is_managed};
    int result =
        sp_cu()->cuPointerGetAttributes(2, attributes, values, (sp_cu_ptr)(uintptr_t)ptr);

    if (result != SP_CU_SUCCESS)
        return result;
    if (type == 0)
        *type_out = SP_RT_MEMORY_UNREGISTERED;
    else if ((is_managed & 1) != 0)
        *type_out = SP_RT_MEMORY_MANAGED;
    else
        *type_out = type == SP_CU_MEMORY_TYPE_DEVICE ? SP_RT_MEMORY_DEVICE : SP_RT_MEMORY_HOST;
    return SP_CU_SUCCESS;
}

/* Pinned and managed memory is seen from both sides, at the same address. */
static int check_end(bool is_device, const void *ptr)
{
    int type;
    int result = ask_type(ptr, &type);

    if (result == SP_CU_SUCCESS &&
        type == (is_device ? SP_RT_MEMORY_UNREGISTERED : SP_RT_MEMORY_DEVICE))
        result = SP_CU_INVALID_VALUE;
    return result;
}

int sp_runtime_check_kind(const void *target, const void *source, int kind)
{
    bool is_to_device = kind == SP_RT_HOST_TO_DEVICE || kind == SP_RT_DEVICE_TO_DEVICE;
    bool is_from_device = kind == SP_RT_DEVICE_TO_HOST || kind == SP_RT_DEVICE_TO_DEVICE;
    int result;

    if (kind < SP_RT_HOST_TO_HOST || kind > SP_RT_DEFAULT)
        return SP_RT_INVALID_DIRECTION;
    if (kind == SP_RT_DEFAULT)
        return SP_CU_SUCCESS;
    result = check_end(is_to_device, target);
    return result == SP_CU_SUCCESS ? check_end(is_from_device, source) : result;
}

/* ---- pointers ------------------------------------------------------------------------ */

/* Memory that nobody knows is no error: it is the host's own. */
static int get_attributes(struct sp_rt_pointer *attributes_out, const void *ptr)
{
    int attributes[] = {SP_CU_POINTER_DEVICE_ORDINAL, SP_CU_POINTER_DEVICE_POINTER,
                        SP_CU_POINTER_HOST_POINTER};
    struct sp_rt_pointer found = {0};
    sp_cu_ptr device_ptr = 0;
    void *values[] = {&found.device, &device_ptr, &found.host_ptr};
    int result;

    if (attributes_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = ask_type(ptr, &found.type);
    if (result == SP_CU_SUCCESS)
        result =
            sp_cu()->cuPointerGetAttributes(3, attributes, values, (sp_cu_ptr)(uintptr_t)ptr);
    if (result != SP_CU_SUCCESS)
        return result;
    found.device_ptr = (void *)(uintptr_t)device_ptr;
    if (found.type == SP_RT_MEMORY_UNREGISTERED) {
        found.device = -2; /* cudaInvalidDeviceId */
        found.device_ptr = NULL;
        found.host_ptr = (void *)(uintptr_t)ptr;
    }
    *attributes_out = found;
    return SP_CU_SUCCESS;
}

int cudaPointerGetAttributes(struct sp_rt_pointer *attributes_out, const void *ptr)
{
    return SP_RUNTIME(get_attributes(attributes_out, ptr));
}
