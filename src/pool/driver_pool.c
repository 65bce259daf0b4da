/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a pool that the driver serves: made, found by location, made current, destroyed.
 * What is refused, the driver refuses. */
#include "config.h"

#include "src/pool/driver_pool.h"

#include <stdlib.h>

#include "src/driver/features.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "src/util/util.h"

enum starpool_status sp_driver_pool_enter(const struct starpool_pool *pool,
                                          struct sp_context *context_out)
{
    return sp_context_enter(pool->driver->driver, pool->driver->device, context_out);
}

/* ---- the driver's words ------------------------------------------------------------------ */

static struct sp_cu_location location_of(struct starpool_location location)
{
    switch (location.kind) {
    case STARPOOL_DEVICE:
        return (struct sp_cu_location){SP_CU_LOCATION_DEVICE, location.id};
    case STARPOOL_HOST:
        return (struct sp_cu_location){SP_CU_LOCATION_HOST, 0};
    case STARPOOL_HOST_NUMA:
        return (struct sp_cu_location){SP_CU_LOCATION_HOST_NUMA, location.id};
    case STARPOOL_NONE:
        break;
    }
    return (struct sp_cu_location){SP_CU_LOCATION_NONE, 0};
}

static int type_of(enum starpool_memory memory)
{
    return memory == STARPOOL_MANAGED ? SP_CU_ALLOCATION_MANAGED : SP_CU_ALLOCATION_PINNED;
}

/* The device whose context serves calls about a location. */
static int device_of(struct starpool_location location)
{
    return location.kind == STARPOOL_DEVICE ? location.id : 0;
}

static bool is_plain_device(struct starpool_location location, enum starpool_memory memory)
{
    return location.kind == STARPOOL_DEVICE && memory == STARPOOL_PINNED;
}

enum starpool_status sp_driver_pool_start(struct starpool_location location,
                                          const struct sp_driver **driver_out)
{
    enum starpool_status status = sp_driver_get(driver_out);
    int n_devices = 0;

    if (status != STARPOOL_OK || location.kind != STARPOOL_DEVICE)
        return status;
    status = sp_driver_status((*driver_out)->cuDeviceGetCount(&n_devices), "cuDeviceGetCount");
    if (status == STARPOOL_OK && location.id >= n_devices)
        status = STARPOOL_EDEVICE;
    return status;
}

/* ---- life -------------------------------------------------------------------------------- */

static void destroy_handle(const struct sp_driver_pool *given)
{
    struct sp_capture_guard guard;

    if (!given->is_owned)
        return;
    sp_capture_guard_begin(given->driver, &guard);
    (void)sp_driver_status(given->driver->cuMemPoolDestroy(given->handle), "cuMemPoolDestroy");
    sp_capture_guard_end(&guard);
}

/* A pool of our own on a device, which nobody else allocates from. */
static void add_shadow(struct sp_driver_pool *own, const struct starpool_pool_config *config)
{
    if (!config->has_shadow || !own->is_owned || own->is_imported ||
        !is_plain_device(config->location, config->memory))
        return;
    own->shadow = sp_shadow_create();
    own->has_lost_shadow = own->shadow == NULL;
}

enum starpool_status sp_driver_pool_wrap(const struct starpool_pool_config *config,
                                         const struct sp_driver_pool *given, bool is_default,
                                         struct starpool_pool **pool_out)
{
    struct sp_driver_pool *own = malloc(sizeof(*own));
    struct starpool_pool *pool;
    enum starpool_status status = own == NULL ? STARPOOL_ENOMEM : sp_pool_make(config, &pool);

    if (status != STARPOOL_OK) {
        destroy_handle(given);
        free(own);
        return status;
    }
    *own = *given;
    add_shadow(own, config);
    pool->driver = own;
    pool->config.has_shadow = own->shadow != NULL;
    pool->is_default = is_default;
    sp_registry_add(pool);
    *pool_out = pool;
    return STARPOOL_OK;
}

/* What the configuration says beyond the driver's properties. */
static enum starpool_status shape(struct starpool_pool *pool,
                                  const struct starpool_pool_config *config)
{
    void *ptr;
    enum starpool_status status = starpool_pool_set_attribute(
        pool, STARPOOL_ATTR_RELEASE_THRESHOLD, config->release_threshold);

    if (status == STARPOOL_OK && !config->follows_events)
        status = starpool_pool_set_attribute(pool, STARPOOL_ATTR_FOLLOWS_EVENTS, 0);
    if (status == STARPOOL_OK && !config->is_opportunistic)
        status = starpool_pool_set_attribute(pool, STARPOOL_ATTR_OPPORTUNISTIC, 0);
    if (status == STARPOOL_OK && !config->allows_internal_waits)
        status = starpool_pool_set_attribute(pool, STARPOOL_ATTR_INTERNAL_WAITS, 0);
    if (status != STARPOOL_OK || config->initial == 0)
        return status;
    status = starpool_alloc(pool, config->initial, STARPOOL_STREAM_HOST, &ptr);
    if (status == STARPOOL_OK)
        status = starpool_free(ptr, STARPOOL_STREAM_HOST);
    return status;
}

/* Every device that can be a peer may use the pool, and of a pool of the host every device:
 * peer access between contexts does not reach the memory of pools. One that cannot is no error.
 */
static void grant_access(const struct sp_driver_pool *given, struct starpool_location location)
{
    const struct sp_driver *driver = given->driver;
    int n_devices = 0;

    if (driver->cuDeviceGetCount(&n_devices) != SP_CU_SUCCESS)
        return;
    for (int device = 0; device < n_devices; device++) {
        struct sp_cu_access_desc desc = {{SP_CU_LOCATION_DEVICE, device},
                                         SP_CU_ACCESS_READWRITE};
        sp_cu_result result;

        if (location.kind == STARPOOL_DEVICE &&
            !sp_features_is_peer(driver, location.id, device))
            continue;
        result = driver->cuMemPoolSetAccess(given->handle, &desc, 1);
        if (result != SP_CU_SUCCESS)
            sp_log(SP_LOG_DEBUG, "device %d gets no access to a pool: %d (%s)", device, result,
                   sp_driver_result_name(result));
    }
}

/* With a context. Drivers that know of no pools of a kind refuse its word as a bad argument. */
static enum starpool_status make_handle(const struct starpool_pool_config *config,
                                        struct sp_driver_pool *given)
{
    struct sp_cu_pool_props props = {
        .alloc_type = type_of(config->memory),
        .handle_types = (int)config->handle_types,
        .location = location_of(config->location),
        .max_size = config->maximum,
    };
    bool may_be_unknown =
        (config->memory == STARPOOL_MANAGED || config->location.kind == STARPOOL_HOST) &&
        config->handle_types == 0 && config->maximum == 0;
    enum starpool_status status = sp_driver_status(
        given->driver->cuMemPoolCreate(&given->handle, &props), "cuMemPoolCreate");

    if (status == STARPOOL_EINVAL && may_be_unknown)
        return STARPOOL_ENOTSUP;
    if (status == STARPOOL_OK && config->memory == STARPOOL_PINNED)
        grant_access(given, config->location);
    return status;
}

enum starpool_status sp_driver_pool_create(const struct starpool_pool_config *config,
                                           struct starpool_pool **pool_out)
{
    struct sp_driver_pool given = {.device = device_of(config->location), .is_owned = true};
    struct sp_context context;
    struct starpool_pool *pool;
    enum starpool_status status = sp_driver_pool_start(config->location, &given.driver);

    if (status == STARPOOL_OK)
        status = sp_context_enter(given.driver, given.device, &context);
    if (status != STARPOOL_OK)
        return status;
    status = make_handle(config, &given);
    if (status == STARPOOL_OK)
        status = sp_driver_pool_wrap(config, &given, false, &pool);
    sp_context_leave(&context);
    if (status != STARPOOL_OK)
        return status;
    status = shape(pool, config);
    if (status != STARPOOL_OK) {
        starpool_pool_destroy(pool);
        return status;
    }
    *pool_out = pool;
    return STARPOOL_OK;
}

void sp_driver_pool_close(struct starpool_pool *pool)
{
    if (pool->driver != NULL) /* This needs no context. */
        destroy_handle(pool->driver);
}

void sp_driver_pool_drop(struct starpool_pool *pool)
{
    if (pool->driver == NULL)
        return;
    if (pool->driver->stream.handle != NULL &&
        sp_hidden_stream_lives(pool->driver->driver, &pool->driver->stream))
        (void)pool->driver->driver->cuStreamDestroy(pool->driver->stream.handle);
    sp_shadow_destroy(pool->driver->shadow);
    free(pool->driver);
}

/* ---- default and current ----------------------------------------------------------------- */

static enum starpool_status ask(const struct sp_driver *driver,
                                struct starpool_location location, enum starpool_memory memory,
                                bool wants_current, sp_cu_pool *handle_out)
{
    struct sp_cu_location place = location_of(location);
    int type = type_of(memory);

    if (is_plain_device(location, memory))
        return wants_current
                   ? sp_driver_status(driver->cuDeviceGetMemPool(handle_out, location.id),
                                      "cuDeviceGetMemPool")
                   : sp_driver_status(
                         driver->cuDeviceGetDefaultMemPool(handle_out, location.id),
                         "cuDeviceGetDefaultMemPool");
    return wants_current
               ? sp_driver_status(driver->cuMemGetMemPool(handle_out, &place, type),
                                  "cuMemGetMemPool")
               : sp_driver_status(driver->cuMemGetDefaultMemPool(handle_out, &place, type),
                                  "cuMemGetDefaultMemPool");
}

/* A pool of the driver that the program made current by itself, or a default one. */
static enum starpool_status wrap_found(const struct sp_driver_pool *given,
                                       struct starpool_location location,
                                       enum starpool_memory memory, bool is_default,
                                       struct starpool_pool **pool_out)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    enum starpool_status status;

    starpool_pool_config_init(&config);
    config.location = location;
    config.memory = memory;
    config.backend = STARPOOL_BACKEND_DRIVER;
    status = sp_driver_pool_wrap(&config, given, is_default, &pool);
    if (status != STARPOOL_OK)
        return status;
    /* Another thread may have been quicker: the first one stands for the driver's pool. */
    *pool_out = sp_registry_find_driver(given->handle);
    if (*pool_out != pool) {
        pool->is_default = false;
        starpool_pool_destroy(pool);
    }
    return status;
}

enum starpool_status sp_driver_pool_get(struct starpool_location location,
                                        enum starpool_memory memory, bool wants_current,
                                        struct starpool_pool **pool_out)
{
    struct sp_driver_pool given = {.device = device_of(location)};
    struct sp_context context;
    struct starpool_pool *pool = NULL;
    sp_cu_pool standard = NULL;
    enum starpool_status status = sp_driver_pool_start(location, &given.driver);

    if (status == STARPOOL_OK)
        status = sp_context_enter(given.driver, given.device, &context);
    if (status != STARPOOL_OK)
        return status;
    status = ask(given.driver, location, memory, wants_current, &given.handle);
    if (status == STARPOOL_OK)
        status = ask(given.driver, location, memory, false, &standard);
    if (status == STARPOOL_OK) {
        pool = sp_registry_find_driver(given.handle);
        if (pool == NULL)
            status = wrap_found(&given, location, memory, given.handle == standard, &pool);
    }
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        *pool_out = pool;
    return status;
}

enum starpool_status sp_driver_pool_set_current(struct starpool_pool *pool, bool *is_done_out)
{
    const struct sp_driver_pool *own = pool->driver;
    struct sp_cu_location place = location_of(pool->location);
    struct sp_context context;
    enum starpool_status status;

    *is_done_out = sp_location_needs_driver(pool->location, pool->memory);
    if (!*is_done_out)
        return STARPOOL_OK;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    if (is_plain_device(pool->location, pool->memory))
        status = sp_driver_status(own->driver->cuDeviceSetMemPool(own->device, own->handle),
                                  "cuDeviceSetMemPool");
    else
        status = sp_driver_status(
            own->driver->cuMemSetMemPool(&place, type_of(pool->memory), own->handle),
            "cuMemSetMemPool");
    sp_context_leave(&context);
    return status;
}
