/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost model: a latency, and the bytes by a bandwidth, for each kind of work and each way
 * that data goes. Allocating and pinning cost what StarPU has measured. Contention is not
 * modelled: two copies over one link take each as long as it would alone. */
#include "config.h"

#include "src/model/cost.h"

#include <time.h>

#include "src/model/private.h"
#include "src/util/util.h"

/* StarPU 1.3: src/datawizard/malloc.c (cudaHostAlloc), src/drivers/cuda/driver_cuda.c. */
#define DEVICE_ALLOC_NS    175000
#define DEVICE_FREE_NS     750000
#define PINNING_NS_PER_MIB 650000

struct rate {
    uint64_t latency_ns;
    uint64_t bytes_per_us; /* megabytes a second */
};

/* A device on PCI Express 3.0 x16, of which 12 GB/s can be had, and half of that through the
 * driver's own pinned buffers; a direct link of two devices; memory of HBM2's speed, which a
 * copy on the device reads and writes. */
static const struct rate to_pinned = {10000, 12000};
static const struct rate to_pageable = {15000, 6000};
static const struct rate to_peer = {10000, 20000};
static const struct rate on_host = {2000, 8000};
static const struct rate on_device = {3000, 400000};
static const struct rate setting = {3000, 800000};
static const struct rate kernel = {5000, 800000};

#define HOST_FUNCTION_NS 20000 /* a thread of the driver's is woken */
#define POOL_NS          1000  /* an allocation or a free in a stream's order */
#define VALUE_NS         2000

static bool is_on(void)
{
    return sp_model_config()->cost != STARPOOL_MODEL_COST_NONE;
}

static bool has_delays(void)
{
    return sp_model_config()->has_delays && is_on();
}

static uint64_t time_of(const struct rate *rate, size_t bytes)
{
    return rate->latency_ns + (uint64_t)((double)bytes * 1000 / (double)rate->bytes_per_us);
}

/* ---- operations ---------------------------------------------------------------------- */

void sp_model_cost_use(struct sp_model_stream *stream, uintptr_t address)
{
    int device;

    if (!is_on())
        return;
    device = sp_model_device_of(address);
    if (device >= 0)
        stream->route.devices |= UINT32_C(1) << device;
    else if (sp_model_memory_find(address) != NULL)
        stream->route.is_host = true;
    else
        stream->route.is_pageable = true;
}

/* Between devices that cannot reach each other, data goes by way of the host. */
static uint64_t time_between(uint32_t devices, size_t bytes)
{
    int first = __builtin_ctz(devices), second = __builtin_ctz(devices & (devices - 1));

    return sp_model_can_access_peer(first, second) ? time_of(&to_peer, bytes)
                                                   : 2 * time_of(&to_pinned, bytes);
}

static uint64_t time_of_copy(const struct sp_model_route *route, size_t bytes)
{
    bool is_only_host = route->devices == 0;

    if ((route->devices & (route->devices - 1)) != 0)
        return time_between(route->devices, bytes);
    if (route->is_host || route->is_pageable) {
        if (is_only_host)
            return time_of(&on_host, bytes);
        return time_of(route->is_pageable ? &to_pageable : &to_pinned, bytes);
    }
    return time_of(&on_device, bytes);
}

uint64_t sp_model_duration_ns(enum sp_model_op_kind kind, int device, size_t bytes,
                              const struct sp_model_route *route)
{
    struct sp_model_route whole = *route;

    if (!is_on())
        return 0;
    switch (kind) {
    case SP_OP_COPY:
        if (whole.is_host || whole.is_pageable || whole.devices != 0)
            return time_of_copy(&whole, bytes);
        whole.devices = UINT32_C(1) << device;
        return time_of_copy(&whole, bytes);
    case SP_OP_SET:
        return time_of(&setting, bytes);
    case SP_OP_KERNEL:
        return time_of(&kernel, bytes);
    case SP_OP_HOST_FUNCTION:
    case SP_OP_CALLBACK:
        return HOST_FUNCTION_NS;
    case SP_OP_VALUE:
        return VALUE_NS;
    case SP_OP_ALLOC:
    case SP_OP_FREE:
        return POOL_NS;
    case SP_OP_EVENT:
    case SP_OP_WAIT:
        return 0;
    }
    return 0;
}

/* ---- real delays --------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000U),
                             .tv_nsec = (long)(ns % 1000000000U)};

    sp_lock_give(sp_model_lock());
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        continue;
    sp_lock_take(sp_model_lock());
}

/* Operations that follow one another without a pause begin where the last one should have
 * ended, so that the delays of waking up do not add up. */
void sp_model_delay_begin(struct sp_model_stream *stream, const struct sp_model_op *op)
{
    uint64_t now, begin;

    if (!has_delays() || sp_model_is_inline())
        return;
    now = now_ns();
    begin = now;
    if (op->n_waits == 0 && op->poll == NULL)
        begin = stream->real_ns > op->queued_ns ? stream->real_ns : op->queued_ns;
    stream->real_ns = (begin < now ? begin : now) + op->duration_ns;
}

void sp_model_delay_end(const struct sp_model_stream *stream, const struct sp_model_op *op)
{
    if (has_delays() && !sp_model_is_inline() && op->duration_ns > 0 &&
        stream->real_ns > now_ns())
        sleep_until(stream->real_ns);
}

uint64_t sp_model_delay_now(void)
{
    return has_delays() ? now_ns() : 0;
}

/* ---- calls of the host --------------------------------------------------------------- */

static uint64_t time_of_call(enum sp_model_call_cost cost, size_t bytes)
{
    switch (cost) {
    case SP_COST_DEVICE_ALLOC:
        return DEVICE_ALLOC_NS;
    case SP_COST_DEVICE_FREE:
        return DEVICE_FREE_NS;
    case SP_COST_PINNING:
        return (uint64_t)((double)bytes * PINNING_NS_PER_MIB / SP_MIB);
    }
    return 0;
}

void sp_model_spend(enum sp_model_call_cost cost, size_t bytes)
{
    uint64_t ns;

    if (!is_on())
        return;
    ns = time_of_call(cost, bytes);
    sp_model_host_spend(ns);
    if (has_delays())
        sleep_until(now_ns() + ns);
}
