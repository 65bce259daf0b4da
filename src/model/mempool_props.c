/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pools can be had: what cuMemPoolCreate() accepts, and which locations there are. What
 * NVIDIA's documents leave open is a switch. */
#include "config.h"

#include "src/model/mempool.h"

#include <string.h>

#include "numa/topo.h"
#include "src/util/util.h"

#define HANDLE_TYPES_DEFINED \
    (SP_CU_HANDLE_POSIX_FD | SP_CU_HANDLE_WIN32 | SP_CU_HANDLE_WIN32_KMT | SP_CU_HANDLE_FABRIC)

/* The values of the switch imex. */
enum { IMEX_ABSENT, IMEX_NO_CHANNEL, IMEX_CHANNEL };

int sp_model_pool_handle_types(void)
{
    return sp_model_switch(SP_SWITCH_imex) == IMEX_ABSENT
               ? SP_CU_HANDLE_POSIX_FD
               : SP_CU_HANDLE_POSIX_FD | SP_CU_HANDLE_FABRIC;
}

/* ---- locations ----------------------------------------------------------------------- */

static bool has_node(int node)
{
    const struct sp_topo *topo;

    return node >= 0 && sp_topo_get(&topo) == STARPOOL_OK && sp_topo_find(topo, node) != NULL;
}

static sp_cu_result check_node(int node)
{
    if (has_node(node))
        return SP_CU_SUCCESS;
    return sp_model_switch(SP_SWITCH_bad_numa_node) == 0 ? SP_CU_INVALID_VALUE
                                                         : SP_CU_INVALID_DEVICE;
}

static sp_cu_result check_host(void)
{
    return sp_model_switch(SP_SWITCH_host_pools) == 0 ? SP_CU_SUCCESS : SP_CU_NOT_SUPPORTED;
}

sp_cu_result sp_model_location_check(struct sp_cu_location *location, int alloc_type,
                                     sp_cu_result bad_device)
{
    bool is_managed = alloc_type == SP_CU_ALLOCATION_MANAGED;
    sp_cu_result result;

    if (!is_managed && alloc_type != SP_CU_ALLOCATION_PINNED)
        return SP_CU_INVALID_VALUE;
    switch (location->type) {
    case SP_CU_LOCATION_NONE:
        location->id = 0;
        return is_managed ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE;
    case SP_CU_LOCATION_DEVICE:
        return sp_model_is_device(location->id) ? SP_CU_SUCCESS : bad_device;
    case SP_CU_LOCATION_HOST:
        location->id = 0;
        return is_managed ? SP_CU_SUCCESS : check_host();
    case SP_CU_LOCATION_HOST_NUMA:
        result = is_managed ? SP_CU_SUCCESS : check_host();
        return result == SP_CU_SUCCESS ? check_node(location->id) : result;
    default:
        return SP_CU_INVALID_VALUE;
    }
}

/* ---- properties ---------------------------------------------------------------------- */

/* What must be 0. Handles of Windows may have security attributes, but are not to be had. */
static sp_cu_result check_unused(const struct sp_cu_pool_props *props)
{
    static const unsigned char zeros[sizeof(props->reserved)];
    bool has_attributes = props->win32_security_attributes != NULL &&
                          (props->handle_types & SP_CU_HANDLE_WIN32) == 0;

    if (sp_model_switch(SP_SWITCH_reserved_bytes) != 0)
        return SP_CU_SUCCESS;
    return !has_attributes && memcmp(props->reserved, zeros, sizeof(zeros)) == 0
               ? SP_CU_SUCCESS
               : SP_CU_INVALID_VALUE;
}

static sp_cu_result check_usage(unsigned usage)
{
    if (usage == 0)
        return SP_CU_SUCCESS;
    if (usage != SP_CU_POOL_USAGE_HW_DECOMPRESS)
        return SP_CU_INVALID_VALUE;
    return sp_model_switch(SP_SWITCH_usage_decompress) == 0 ? SP_CU_NOT_SUPPORTED
                                                            : SP_CU_SUCCESS;
}

/* A managed pool can be neither shared nor bounded. */
static sp_cu_result check_managed(const struct sp_cu_pool_props *props)
{
    if (props->alloc_type != SP_CU_ALLOCATION_MANAGED ||
        (props->handle_types == 0 && props->max_size == 0))
        return SP_CU_SUCCESS;
    return sp_model_switch(SP_SWITCH_managed_handles) == 0 ? SP_CU_INVALID_VALUE
                                                           : SP_CU_NOT_SUPPORTED;
}

/* Types that a driver knows and this platform lacks. */
static sp_cu_result check_platform(int handle_types)
{
    if ((handle_types & (SP_CU_HANDLE_WIN32 | SP_CU_HANDLE_WIN32_KMT)) != 0)
        return sp_model_switch(SP_SWITCH_bad_handle_type) == 0 ? SP_CU_NOT_SUPPORTED
                                                               : SP_CU_INVALID_VALUE;
    if ((handle_types & SP_CU_HANDLE_FABRIC) == 0)
        return SP_CU_SUCCESS;
    switch (sp_model_switch(SP_SWITCH_imex)) {
    case IMEX_ABSENT:
        return SP_CU_NOT_SUPPORTED;
    case IMEX_NO_CHANNEL:
        return SP_CU_NOT_PERMITTED;
    default:
        return SP_CU_SUCCESS;
    }
}

static sp_cu_result check_handle_types(const struct sp_cu_pool_props *props)
{
    if ((props->handle_types & ~HANDLE_TYPES_DEFINED) != 0)
        return SP_CU_INVALID_VALUE;
    if (props->handle_types != 0 && props->alloc_type == SP_CU_ALLOCATION_PINNED &&
        props->location.type == SP_CU_LOCATION_HOST)
        return SP_CU_INVALID_VALUE;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_pool_check(struct sp_cu_pool_props *props)
{
    sp_cu_result result =
        sp_model_location_check(&props->location, props->alloc_type, SP_CU_INVALID_VALUE);

    if (result == SP_CU_SUCCESS)
        result = check_handle_types(props);
    if (result == SP_CU_SUCCESS)
        result = check_unused(props);
    if (result == SP_CU_SUCCESS)
        result = check_managed(props);
    if (result == SP_CU_SUCCESS)
        result = check_usage(props->usage);
    if (result == SP_CU_SUCCESS)
        result = check_platform(props->handle_types);
    return result;
}
