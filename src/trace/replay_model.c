/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replays on the pools of the CPU model, through the driver's table as any program would. What
 * the host orders goes to a stream of its own, which is waited for. */
#include "config.h"

#include "src/trace/replay_ops.h"

#include <stdio.h>
#include <string.h>

#include <starpool/model.h>

#include "src/driver/driver.h"
#include "src/model/model.h"

/* One replay at a time. */
static struct {
    const struct sp_driver *driver;
    sp_cu_context context;
    sp_cu_stream host;
    int n_devices;
} model;

static enum starpool_status failed(sp_cu_result result, const char *call, char *reason,
                                   size_t reason_size)
{
    enum starpool_status status = sp_driver_status(result, call);

    if (status != STARPOOL_OK)
        snprintf(reason, reason_size, "the model's %s() answers %s", call,
                 sp_driver_result_name(result));
    return status;
}

static enum starpool_status begin(const struct sp_replay_config *config, char *reason,
                                  size_t reason_size)
{
    struct starpool_model_config shape;
    enum starpool_status status;

    (void)config;
    starpool_model_config_init(&shape);
    shape.n_devices = shape.n_devices > 0 ? shape.n_devices : 1;
    shape.exec = STARPOOL_MODEL_INLINE;
    status = starpool_model_configure(&shape);
    if (status != STARPOOL_OK) {
        snprintf(reason, reason_size, "the model cannot be the driver: %s",
                 starpool_status_text(status));
        return status;
    }
    model.driver = sp_model_driver();
    status = failed(model.driver->cuInit(0), "cuInit", reason, reason_size);
    if (status == STARPOOL_OK)
        status = failed(model.driver->cuDeviceGetCount(&model.n_devices), "cuDeviceGetCount",
                        reason, reason_size);
    if (status == STARPOOL_OK)
        status = failed(model.driver->cuDevicePrimaryCtxRetain(&model.context, 0),
                        "cuDevicePrimaryCtxRetain", reason, reason_size);
    if (status == STARPOOL_OK)
        status = failed(model.driver->cuCtxSetCurrent(model.context), "cuCtxSetCurrent", reason,
                        reason_size);
    if (status == STARPOOL_OK)
        status = failed(model.driver->cuStreamCreate(&model.host, SP_CU_STREAM_NON_BLOCKING),
                        "cuStreamCreate", reason, reason_size);
    return status;
}

static void end(void)
{
    (void)model.driver->cuStreamDestroy(model.host);
    (void)model.driver->cuDevicePrimaryCtxRelease(0);
}

/* A location of the trace in the driver's words; a device that the model has not is another. */
static struct sp_cu_location place(struct starpool_location location)
{
    switch (location.kind) {
    case STARPOOL_HOST:
        return (struct sp_cu_location){SP_CU_LOCATION_HOST, 0};
    case STARPOOL_HOST_NUMA:
        return (struct sp_cu_location){SP_CU_LOCATION_HOST_NUMA, location.id};
    case STARPOOL_DEVICE:
    case STARPOOL_NONE:
        break;
    }
    return (struct sp_cu_location){SP_CU_LOCATION_DEVICE,
                                   (int)((unsigned)location.id % (unsigned)model.n_devices)};
}

static enum starpool_status set_policy(const struct sp_replay_config *config, sp_cu_pool pool)
{
    const struct {
        int attribute, value;
    } rows[] = {
        {SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, config->follows_events},
        {SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC, config->is_opportunistic},
        {SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, config->allows_internal_waits},
    };
    uint64_t threshold = config->release_threshold;
    enum starpool_status status = sp_driver_status(
        model.driver->cuMemPoolSetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &threshold),
        "cuMemPoolSetAttribute");

    for (size_t i = 0; status == STARPOOL_OK && i < sizeof(rows) / sizeof(*rows); i++) {
        int value = rows[i].value;

        status = sp_driver_status(
            model.driver->cuMemPoolSetAttribute(pool, rows[i].attribute, &value),
            "cuMemPoolSetAttribute");
    }
    return status;
}

static enum starpool_status pool_create(const struct sp_replay_config *config,
                                        struct starpool_location location, void **pool_out)
{
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .location = place(location),
                                     .max_size = config->limit};
    sp_cu_pool pool;
    sp_cu_result result = model.driver->cuMemPoolCreate(&pool, &props);
    enum starpool_status status;

    if (result != SP_CU_SUCCESS) { /* Another machine's node. */
        props.location = place((struct starpool_location){STARPOOL_HOST, 0});
        result = model.driver->cuMemPoolCreate(&pool, &props);
    }
    status = sp_driver_status(result, "cuMemPoolCreate");
    if (status != STARPOOL_OK)
        return status;
    status = set_policy(config, pool);
    if (status == STARPOOL_OK)
        *pool_out = pool;
    else
        (void)model.driver->cuMemPoolDestroy(pool);
    return status;
}

static uint64_t attribute(void *pool, int which)
{
    uint64_t value = 0;

    if (model.driver->cuMemPoolGetAttribute(pool, which, &value) != SP_CU_SUCCESS)
        return 0;
    return value;
}

static void pool_read(void *pool, struct sp_replay_pool *result)
{
    result->used_high_bytes = attribute(pool, SP_CU_POOL_USED_MEM_HIGH);
    result->reserved_high_bytes = attribute(pool, SP_CU_POOL_RESERVED_MEM_HIGH);
}

static void pool_destroy(void *pool)
{
    (void)model.driver->cuMemPoolDestroy(pool);
}

static enum starpool_status trim(void *pool, uint64_t keep)
{
    return sp_driver_status(model.driver->cuMemPoolTrimTo(pool, keep), "cuMemPoolTrimTo");
}

static enum starpool_status alloc(void *pool, size_t size, void *stream, uint64_t *address_out)
{
    sp_cu_ptr ptr;
    enum starpool_status status =
        sp_driver_status(model.driver->cuMemAllocFromPoolAsync(
                             &ptr, size, pool, stream == NULL ? model.host : stream),
                         "cuMemAllocFromPoolAsync");

    if (status == STARPOOL_OK)
        *address_out = ptr;
    if (status == STARPOOL_OK && stream == NULL)
        status = sp_driver_status(model.driver->cuStreamSynchronize(model.host),
                                  "cuStreamSynchronize");
    return status;
}

/* What the host vouches for is in no stream's order. */
static enum starpool_status give(uint64_t address, void *stream)
{
    if (stream == NULL)
        return sp_driver_status(model.driver->cuMemFree(address), "cuMemFree");
    return sp_driver_status(model.driver->cuMemFreeAsync(address, stream), "cuMemFreeAsync");
}

static enum starpool_status stream_create(void **stream_out)
{
    sp_cu_stream stream;
    enum starpool_status status = sp_driver_status(
        model.driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING), "cuStreamCreate");

    if (status == STARPOOL_OK)
        *stream_out = stream;
    return status;
}

static void stream_destroy(void *stream)
{
    (void)model.driver->cuStreamDestroy(stream);
}

static enum starpool_status synchronize(void *stream)
{
    if (stream == NULL)
        return sp_driver_status(model.driver->cuCtxSynchronize(), "cuCtxSynchronize");
    return sp_driver_status(model.driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static enum starpool_status record(void *stream, uint64_t *point_out)
{
    sp_cu_event event;
    enum starpool_status status = sp_driver_status(
        model.driver->cuEventCreate(&event, SP_CU_EVENT_DISABLE_TIMING), "cuEventCreate");

    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(model.driver->cuEventRecord(event, stream), "cuEventRecord");
    if (status == STARPOOL_OK)
        *point_out = (uintptr_t)event;
    else
        (void)model.driver->cuEventDestroy(event);
    return status;
}

static enum starpool_status wait_for(void *stream, void *other, uint64_t point)
{
    (void)other;
    return sp_driver_status(
        model.driver->cuStreamWaitEvent(stream, (sp_cu_event)(uintptr_t)point, 0),
        "cuStreamWaitEvent");
}

static void point_drop(uint64_t point)
{
    (void)model.driver->cuEventDestroy((sp_cu_event)(uintptr_t)point);
}

const struct sp_replay_ops sp_replay_on_model = {
    .begin = begin,
    .end = end,
    .pool_create = pool_create,
    .pool_read = pool_read,
    .pool_destroy = pool_destroy,
    .trim = trim,
    .alloc = alloc,
    .free = give,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .synchronize = synchronize,
    .record = record,
    .wait = wait_for,
    .point_drop = point_drop,
};
