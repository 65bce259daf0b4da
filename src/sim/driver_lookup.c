/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cuGetProcAddress(): which of the functions of a name a program of some version of CUDA knows.
 */
#include "config.h"

#include "src/sim/driver_made.h"

#include <string.h>

#include "src/sim/table.h"

/* The newest function of that name that is not newer than `version`, or NULL; whether there is
 * any. */
static const struct sp_driver_export *find(const char *name, int version, bool is_per_thread,
                                           bool *is_known)
{
    const struct sp_driver_export *found = NULL;

    for (size_t i = 0; i < sp_driver_n_exports; i++) {
        const struct sp_driver_export *it = &sp_driver_exports[i];

        if (it->is_per_thread != is_per_thread || strcmp(it->name, name) != 0)
            continue;
        *is_known = true;
        if (it->version <= version && (found == NULL || it->version >= found->version))
            found = it;
    }
    return found;
}

static sp_cu_result look_up(const char *name, void **function_out, int version, uint64_t flags,
                            int *status_out)
{
    const struct sp_driver_export *found = NULL;
    bool is_known = false;
    int newest = 0;

    if (sp_sim_driver()->cuDriverGetVersion(&newest) == SP_CU_SUCCESS && version > newest)
        return SP_CU_INVALID_VALUE;
    if (name == NULL || function_out == NULL ||
        (flags & ~(uint64_t)(SP_CU_LOOK_UP_LEGACY | SP_CU_LOOK_UP_PER_THREAD)) != 0)
        return SP_CU_INVALID_VALUE;
    if (flags & SP_CU_LOOK_UP_PER_THREAD)
        found = find(name, version, true, &is_known);
    /* What has no twin is the same for all streams. */
    if (found == NULL)
        found = find(name, version, false, &is_known);
    *function_out = NULL;
    if (found != NULL)
        memcpy(function_out, &found->function, sizeof(*function_out));
    if (found != NULL)
        *status_out = SP_CU_FOUND;
    else
        *status_out = is_known ? SP_CU_VERSION_NOT_SUFFICIENT : SP_CU_SYMBOL_NOT_FOUND;
    return SP_CU_SUCCESS;
}

/* Up to CUDA 11.8 a function that is not there is an error. */
sp_cu_result sp_made_cuGetProcAddress(const char *name, void **function_out, int version,
                                      uint64_t flags)
{
    int status = SP_CU_FOUND;
    sp_cu_result result = look_up(name, function_out, version, flags, &status);

    return result == SP_CU_SUCCESS && status != SP_CU_FOUND ? SP_CU_NOT_FOUND : result;
}

sp_cu_result sp_made_cuGetProcAddress_v2(const char *name, void **function_out, int version,
                                         uint64_t flags, int *status_out)
{
    int status;

    return look_up(name, function_out, version, flags,
                   status_out != NULL ? status_out : &status);
}

/* The tables of NVIDIA's own libraries are not documented: there is none here, so those run
 * only on NVIDIA's driver. */
sp_cu_result sp_made_cuGetExportTable(const void **table_out, const struct sp_cu_uuid *uuid)
{
    if (table_out == NULL || uuid == NULL)
        return SP_CU_INVALID_VALUE;
    *table_out = NULL;
    (void)sp_driver_missing("cuGetExportTable");
    return SP_CU_NOT_FOUND;
}
