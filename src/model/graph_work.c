/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parameters of nodes may say. Addresses are looked at as far as the driver does when
 * it is given them; whether they can be used is for each launch to find. */
#include "config.h"

#include <string.h>

#include "src/model/event.h"
#include "src/model/graph.h"
#include "src/model/kernels.h"
#include "src/model/private.h"
#include "src/model/shapes.h"
#include "src/util/util.h"

/* ---- each type ------------------------------------------------------------------------- */

static sp_cu_result check_copy(const struct sp_cu_memcpy_params *params)
{
    const struct sp_cu_memcpy3d *copy = &params->copy;

    if (params->flags != 0 || params->reserved != 0 || copy->width_bytes == 0 ||
        copy->height == 0 || copy->depth == 0)
        return SP_CU_INVALID_VALUE;
    if (sp_model_context_find(params->context) == NULL)
        return SP_CU_INVALID_CONTEXT;
    return sp_model_copy_check(copy);
}

/* Memory of pools belongs to no context, and a node sets memory of its own context's
 * (INTER-08). */
static sp_cu_result check_set(const struct sp_cu_memset_params_v2 *params)
{
    const struct sp_cu_memset_params *set = &params->params;
    const struct sp_model_memory *memory = sp_model_memory_find((uintptr_t)set->target);

    if (set->width == 0 || set->height == 0 || !sp_model_set_is_valid(set))
        return SP_CU_INVALID_VALUE;
    if (sp_model_context_find(params->context) == NULL)
        return SP_CU_INVALID_CONTEXT;
    return memory != NULL && memory->pool != NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
}

/* It has one reference of a launch. */
static sp_cu_result make_kernel(const struct sp_cu_kernel_params *params,
                                struct sp_model_work *work)
{
    if (params->context != NULL && sp_model_context_find(params->context) == NULL)
        return SP_CU_INVALID_CONTEXT;
    work->type = SP_CU_NODE_KERNEL;
    return sp_model_kernel_new(params, &work->kernel);
}

static sp_cu_result check(const struct sp_cu_node_params *params)
{
    switch (params->type) {
    case SP_CU_NODE_EMPTY:
        return SP_CU_SUCCESS;
    case SP_CU_NODE_MEMCPY:
        return check_copy(&params->copy);
    case SP_CU_NODE_MEMSET:
        return check_set(&params->set);
    case SP_CU_NODE_HOST:
        return params->host.call == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        return sp_model_event_find(params->event) == NULL ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS;
    default:
        return SP_CU_NOT_SUPPORTED;
    }
}

sp_cu_result sp_model_work_of(const struct sp_cu_node_params *params,
                              struct sp_model_work *work_out)
{
    struct sp_model_work work = {.type = params->type};
    sp_cu_result result;

    if (params->type == SP_CU_NODE_KERNEL)
        return make_kernel(&params->kernel, work_out);
    result = check(params);
    if (result != SP_CU_SUCCESS)
        return result;
    if (params->type == SP_CU_NODE_MEMCPY)
        work.copy = params->copy;
    else if (params->type == SP_CU_NODE_MEMSET)
        work.set = params->set;
    else if (params->type == SP_CU_NODE_HOST)
        work.host = params->host;
    else if (params->type != SP_CU_NODE_EMPTY)
        work.event = params->event;
    *work_out = work;
    return SP_CU_SUCCESS;
}

/* ---- bytes that mean nothing ----------------------------------------------------------- */

/* The bytes of the union that a type of node uses. */
static size_t used_bytes(int type)
{
    switch (type) {
    case SP_CU_NODE_EMPTY:
        return 0;
    case SP_CU_NODE_KERNEL:
        return sizeof(struct sp_cu_kernel_params);
    case SP_CU_NODE_MEMCPY:
        return sizeof(struct sp_cu_memcpy_params);
    case SP_CU_NODE_MEMSET:
        return sizeof(struct sp_cu_memset_params_v2);
    case SP_CU_NODE_HOST:
        return sizeof(struct sp_cu_host_params);
    case SP_CU_NODE_GRAPH:
        return sizeof(struct sp_cu_child_params);
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        return sizeof(sp_cu_event);
    case SP_CU_NODE_MEM_ALLOC:
        return sizeof(struct sp_cu_alloc_params);
    case SP_CU_NODE_MEM_FREE:
        return sizeof(sp_cu_ptr);
    case SP_CU_NODE_CONDITIONAL:
        return sizeof(struct sp_cu_conditional_params);
    default:
        return sizeof(((struct sp_cu_node_params *)NULL)->reserved1);
    }
}

bool sp_model_params_are_clean(const struct sp_cu_node_params *params)
{
    static const char zero[sizeof(params->reserved1)];
    size_t used = used_bytes(params->type);

    return memcmp(params->reserved0, zero, sizeof(params->reserved0)) == 0 &&
           memcmp((const char *)params->reserved1 + used, zero, sizeof(zero) - used) == 0 &&
           params->reserved2 == 0;
}
