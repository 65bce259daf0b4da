/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who else may use a pool: other devices and other processes. The driver decides; pools that it
 * does not serve are the host's, or the device's, alone, but for what the program arranges
 * between contexts by itself. */
#include "config.h"

#include <starpool/access.h>

#include <string.h>

#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"

/* ---- devices ----------------------------------------------------------------------------- */

static bool is_place(struct starpool_location location, struct sp_cu_location *place_out)
{
    switch (location.kind) {
    case STARPOOL_DEVICE:
        *place_out = (struct sp_cu_location){SP_CU_LOCATION_DEVICE, location.id};
        return location.id >= 0;
    case STARPOOL_HOST:
        *place_out = (struct sp_cu_location){SP_CU_LOCATION_HOST, 0};
        return location.id == 0;
    case STARPOOL_HOST_NUMA:
        *place_out = (struct sp_cu_location){SP_CU_LOCATION_HOST_NUMA, location.id};
        return location.id >= 0;
    case STARPOOL_NONE:
    default:
        return false;
    }
}

static bool is_own(const struct starpool_pool *pool, struct starpool_location location)
{
    return pool->location.kind == location.kind && pool->location.id == location.id;
}

enum starpool_status starpool_pool_get_access(struct starpool_pool *pool,
                                              struct starpool_location location,
                                              enum starpool_access *access_out)
{
    struct sp_cu_location place;
    struct sp_context context;
    enum starpool_status status;
    int flags = 0;

    if (pool == NULL || access_out == NULL || !is_place(location, &place))
        return STARPOOL_EINVAL;
    if (pool->driver == NULL) {
        bool is_ours =
            is_own(pool, location) || (location.kind != STARPOOL_DEVICE && !pool->is_on_device);

        *access_out = is_ours ? STARPOOL_ACCESS_READWRITE : STARPOOL_ACCESS_NONE;
        return STARPOOL_OK;
    }
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(
        pool->driver->driver->cuMemPoolGetAccess(&flags, pool->driver->handle, &place),
        "cuMemPoolGetAccess");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        *access_out = (enum starpool_access)flags;
    return status;
}

enum starpool_status starpool_pool_set_access(struct starpool_pool *pool,
                                              struct starpool_location location,
                                              enum starpool_access access)
{
    struct sp_cu_access_desc desc = {.flags = (int)access};
    struct sp_context context;
    enum starpool_status status;

    if (pool == NULL || !is_place(location, &desc.location) ||
        (access != STARPOOL_ACCESS_NONE && access != STARPOOL_ACCESS_READ &&
         access != STARPOOL_ACCESS_READWRITE))
        return STARPOOL_EINVAL;
    if (location.kind == STARPOOL_DEVICE && is_own(pool, location))
        return STARPOOL_EDEVICE;
    if (pool->driver == NULL)
        return STARPOOL_ENOTSUP;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(
        pool->driver->driver->cuMemPoolSetAccess(pool->driver->handle, &desc, 1),
        "cuMemPoolSetAccess");
    sp_context_leave(&context);
    return status;
}

/* ---- processes --------------------------------------------------------------------------- */

enum starpool_status starpool_pool_export(struct starpool_pool *pool,
                                          enum starpool_handle_type type,
                                          struct starpool_pool_handle *handle_out)
{
    struct starpool_pool_handle handle = {.type = type, .fd = -1};
    struct sp_context context;
    enum starpool_status status;
    void *where = type == STARPOOL_HANDLE_FD ? (void *)&handle.fd : (void *)handle.fabric;

    if (pool == NULL || handle_out == NULL ||
        (type != STARPOOL_HANDLE_FD && type != STARPOOL_HANDLE_FABRIC))
        return STARPOOL_EINVAL;
    if (pool->driver == NULL)
        return STARPOOL_ENOTSUP;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(pool->driver->driver->cuMemPoolExportToShareableHandle(
                                  where, pool->driver->handle, (int)type, 0),
                              "cuMemPoolExportToShareableHandle");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        *handle_out = handle;
    return status;
}

/* With a context: the driver takes a descriptor by value and a fabric handle by address. */
static enum starpool_status open_handle(const struct starpool_pool_config *config,
                                        struct sp_driver_pool *given,
                                        struct starpool_pool_handle *handle,
                                        struct starpool_pool **pool_out)
{
    void *what = handle->type == STARPOOL_HANDLE_FD ? (void *)(intptr_t)handle->fd
                                                    : (void *)handle->fabric;
    enum starpool_status status =
        sp_driver_status(given->driver->cuMemPoolImportFromShareableHandle(
                             &given->handle, what, (int)handle->type, 0),
                         "cuMemPoolImportFromShareableHandle");

    return status == STARPOOL_OK ? sp_driver_pool_wrap(config, given, false, pool_out) : status;
}

enum starpool_status starpool_pool_import(struct starpool_location location,
                                          const struct starpool_pool_handle *handle,
                                          struct starpool_pool **pool_out)
{
    struct sp_driver_pool given = {.is_owned = true, .is_imported = true};
    struct starpool_pool_config config;
    struct starpool_pool_handle copy;
    struct sp_context context;
    enum starpool_status status;

    if (handle == NULL || pool_out == NULL ||
        (handle->type != STARPOOL_HANDLE_FD && handle->type != STARPOOL_HANDLE_FABRIC))
        return STARPOOL_EINVAL;
    copy = *handle;
    starpool_pool_config_init(&config);
    config.location = location;
    config.backend = STARPOOL_BACKEND_DRIVER;
    config.handle_types = handle->type;
    status = sp_location_resolve(&config.location, config.memory);
    if (status == STARPOOL_OK)
        status = sp_driver_pool_start(config.location, &given.driver);
    given.device = config.location.kind == STARPOOL_DEVICE ? config.location.id : 0;
    if (status == STARPOOL_OK)
        status = sp_context_enter(given.driver, given.device, &context);
    if (status != STARPOOL_OK)
        return status;
    status = open_handle(&config, &given, &copy, pool_out);
    sp_context_leave(&context);
    return status;
}

enum starpool_status starpool_block_export(const void *ptr,
                                           struct starpool_block_handle *handle_out)
{
    struct sp_cu_pointer_export data;
    struct starpool_pool *pool;
    struct sp_context context;
    enum starpool_status status;

    if (ptr == NULL || handle_out == NULL)
        return STARPOOL_EINVAL;
    status = starpool_pool_of(ptr, &pool);
    if (status != STARPOOL_OK)
        return status;
    if (pool->driver == NULL)
        return STARPOOL_ENOTSUP;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status =
        sp_driver_status(pool->driver->driver->cuMemPoolExportPointer(&data, (uintptr_t)ptr),
                         "cuMemPoolExportPointer");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        memcpy(handle_out->bytes, data.reserved, sizeof(handle_out->bytes));
    return status;
}

enum starpool_status starpool_block_import(struct starpool_pool *pool,
                                           const struct starpool_block_handle *handle,
                                           void **ptr_out)
{
    struct sp_cu_pointer_export data;
    const struct sp_driver *driver;
    struct sp_context context;
    sp_cu_ptr ptr = 0, base;
    size_t size = 0;
    enum starpool_status status;

    if (pool == NULL || handle == NULL || ptr_out == NULL)
        return STARPOOL_EINVAL;
    if (pool->driver == NULL)
        return STARPOOL_ENOTSUP;
    if (!pool->driver->is_imported)
        return STARPOOL_EINVAL;
    memcpy(data.reserved, handle->bytes, sizeof(data.reserved));
    driver = pool->driver->driver;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(driver->cuMemPoolImportPointer(&ptr, pool->driver->handle, &data),
                              "cuMemPoolImportPointer");
    if (status == STARPOOL_OK) {
        (void)driver->cuMemGetAddressRange(&base, &size, ptr);
        status = sp_driver_pool_add_block(pool, (void *)(uintptr_t)ptr, size);
        if (status != STARPOOL_OK)
            (void)driver->cuMemFree(ptr);
    }
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        *ptr_out = (void *)(uintptr_t)ptr;
    return status;
}
