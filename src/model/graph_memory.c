/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The graph memory of each device: bytes of it that graphs have, as the driver counts them.
 *
 * Launches in one stream follow one another, so they share memory: a cache for each stream, as
 * large as the largest launch there. An allocation that a launch leaves has memory of its own
 * from the first launch on. Nothing of this moves any data: each address has pages of its own,
 * which are there while the memory is attached.
 *
 *   used     == for each cache the largest share that is attached to it, and what is own
 *   reserved == all of each cache, and what is own
 */
#include "config.h"

#include <stdlib.h>

#include "src/model/exec.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* Memory that the launches of a stream share; of stream 0, which is none: what nobody uses. */
struct sp_model_graph_cache {
    uint64_t stream_id;
    uint64_t bytes;
    struct sp_point last;          /* where the last launch ends that was given it */
    struct sp_model_share *shares; /* attached */
    struct sp_model_graph_cache *next;
};

struct device {
    struct sp_model_graph_cache *caches;
    uint64_t own_bytes;
    uint64_t used_high, reserved_high;
};

/* Behind the model's lock. */
static struct {
    struct device devices[SP_MODEL_MAX_DEVICES];
} memory;

/* ---- counting ------------------------------------------------------------------------ */

static uint64_t largest_share(const struct sp_model_graph_cache *cache)
{
    uint64_t bytes = 0;

    for (const struct sp_model_share *share = cache->shares; share != NULL; share = share->next)
        bytes = sp_max(bytes, share->bytes);
    return bytes;
}

static uint64_t used_of(const struct device *device)
{
    uint64_t bytes = device->own_bytes;

    for (const struct sp_model_graph_cache *cache = device->caches; cache != NULL;
         cache = cache->next)
        bytes += largest_share(cache);
    return bytes;
}

static uint64_t reserved_of(const struct device *device)
{
    uint64_t bytes = device->own_bytes;

    for (const struct sp_model_graph_cache *cache = device->caches; cache != NULL;
         cache = cache->next)
        bytes += cache->bytes;
    return bytes;
}

static void note_highs(struct device *device)
{
    device->used_high = sp_max(device->used_high, used_of(device));
    device->reserved_high = sp_max(device->reserved_high, reserved_of(device));
}

/* ---- caches -------------------------------------------------------------------------- */

static struct sp_model_graph_cache *find_cache(const struct device *device, uint64_t stream_id)
{
    struct sp_model_graph_cache *cache = device->caches;

    while (cache != NULL && cache->stream_id != stream_id)
        cache = cache->next;
    return cache;
}

/* The stream's cache, made if need be; NULL without memory. */
static struct sp_model_graph_cache *get_cache(struct device *device, uint64_t stream_id)
{
    struct sp_model_graph_cache *cache = find_cache(device, stream_id);

    if (cache != NULL)
        return cache;
    cache = calloc(1, sizeof(*cache));
    if (cache == NULL)
        return NULL;
    cache->stream_id = stream_id;
    cache->last.slot = SP_SLOT_HOST;
    cache->next = device->caches;
    device->caches = cache;
    return cache;
}

/* Nothing is attached to it or executes with it. */
static bool is_free(const struct sp_model_graph_cache *cache)
{
    return cache->shares == NULL && sp_model_has_executed(cache->last);
}

/* Up to so many bytes of caches that are free, which go when they are empty; `kept` is not
 * taken from. */
static uint64_t take_free(struct device *device, uint64_t bytes,
                          const struct sp_model_graph_cache *kept)
{
    struct sp_model_graph_cache **link = &device->caches, *cache;
    uint64_t taken = 0, part;

    while ((cache = *link) != NULL) {
        if (cache == kept || !is_free(cache)) {
            link = &cache->next;
            continue;
        }
        part = sp_min(cache->bytes, bytes - taken);
        cache->bytes -= part;
        taken += part;
        if (cache->bytes > 0) {
            link = &cache->next;
            continue;
        }
        *link = cache->next;
        free(cache);
    }
    return taken;
}

static uint64_t free_bytes(const struct device *device, const struct sp_model_graph_cache *kept)
{
    uint64_t bytes = 0;

    for (const struct sp_model_graph_cache *cache = device->caches; cache != NULL;
         cache = cache->next)
        bytes += cache != kept && is_free(cache) ? cache->bytes : 0;
    return bytes;
}

static void unlink_share(struct sp_model_share *share)
{
    struct sp_model_share **link = &share->cache->shares;

    while (*link != share)
        link = &(*link)->next;
    *link = share->next;
    share->cache = NULL;
}

/* ---- attaching ----------------------------------------------------------------------- */

/* Memory of its own that a launch needs and has not got. */
static uint64_t missing_own(const struct sp_model_exec *exec, int device)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < exec->n_places; i++) {
        const struct sp_model_segment *segment = exec->places[i].segment;

        if (exec->places[i].is_own && !segment->is_counted && segment->memory.device == device)
            bytes += segment->memory.size;
    }
    return bytes;
}

/* What the device's graph memory lacks for launches in the stream. */
static uint64_t missing(const struct sp_model_exec *exec, const struct sp_model_share *share,
                        uint64_t stream_id)
{
    const struct sp_model_graph_cache *cache =
        find_cache(&memory.devices[share->device], stream_id);
    uint64_t has = cache == NULL ? 0 : cache->bytes;

    return missing_own(exec, share->device) + (has < share->bytes ? share->bytes - has : 0);
}

/* What even the device has not got; 0 if all can be had. */
static uint64_t shortage(const struct sp_model_exec *exec, const struct sp_model_share *share,
                         uint64_t stream_id)
{
    const struct device *device = &memory.devices[share->device];
    uint64_t wanted = missing(exec, share, stream_id);
    uint64_t room =
        free_bytes(device, find_cache(device, stream_id)) + sp_model_device_free(share->device);

    return wanted > room ? wanted - room : 0;
}

static bool is_short(const struct sp_model_exec *exec, uint64_t stream_id)
{
    for (size_t i = 0; i < exec->n_shares; i++) {
        if (shortage(exec, &exec->shares[i], stream_id) > 0)
            return true;
    }
    return false;
}

/* Pools and executables that are idle give up what they keep. */
static void reclaim(const struct sp_model_exec *exec, uint64_t stream_id)
{
    for (size_t i = 0; i < exec->n_shares; i++) {
        const struct sp_model_share *share = &exec->shares[i];

        if (shortage(exec, share, stream_id) > 0)
            (void)sp_model_pools_reclaim(share->device, missing(exec, share, stream_id));
    }
}

/* A cache for each share; false without memory, and nothing that counts has changed. */
static bool make_caches(const struct sp_model_exec *exec, uint64_t stream_id)
{
    for (size_t i = 0; i < exec->n_shares; i++) {
        if (get_cache(&memory.devices[exec->shares[i].device], stream_id) == NULL)
            return false;
    }
    return true;
}

/* There is room for it. */
static void take_bytes(const struct sp_model_exec *exec, struct sp_model_share *share,
                       uint64_t stream_id)
{
    struct device *device = &memory.devices[share->device];
    struct sp_model_graph_cache *cache = find_cache(device, stream_id);
    uint64_t own = missing_own(exec, share->device), wanted = missing(exec, share, stream_id);
    uint64_t taken = take_free(device, wanted, cache);

    SP_ASSERT(sp_model_device_take(share->device, wanted - taken));
    cache->bytes += wanted - own;
    device->own_bytes += own;
    for (size_t i = 0; i < exec->n_places; i++) {
        struct sp_model_segment *segment = exec->places[i].segment;

        if (exec->places[i].is_own && segment->memory.device == share->device)
            segment->is_counted = true;
    }
    share->cache = cache;
    share->next = cache->shares;
    cache->shares = share;
    note_highs(device);
}

static bool hold_places(const struct sp_model_exec *exec)
{
    for (size_t i = 0; i < exec->n_places; i++) {
        if (sp_model_segment_hold(exec->places[i].segment))
            continue;
        while (i-- > 0)
            sp_model_segment_unhold(exec->places[i].segment);
        return false;
    }
    return true;
}

static void leave_caches(struct sp_model_exec *exec)
{
    for (size_t i = 0; i < exec->n_shares; i++) {
        if (exec->shares[i].cache != NULL)
            unlink_share(&exec->shares[i]);
    }
}

sp_cu_result sp_model_exec_attach(struct sp_model_exec *exec,
                                  const struct sp_model_stream *stream)
{
    if (exec->is_attached && exec->stream_id == stream->id)
        return SP_CU_SUCCESS;
    sp_model_late_frees_run();
    if (is_short(exec, stream->id))
        reclaim(exec, stream->id);
    if (is_short(exec, stream->id) || !make_caches(exec, stream->id))
        return SP_CU_OUT_OF_MEMORY;
    if (!exec->is_attached && !hold_places(exec))
        return SP_CU_OUT_OF_MEMORY;
    leave_caches(exec);
    exec->is_attached = true;
    exec->stream_id = stream->id;
    for (size_t i = 0; i < exec->n_shares; i++)
        take_bytes(exec, &exec->shares[i], stream->id);
    return SP_CU_SUCCESS;
}

void sp_model_exec_detach(struct sp_model_exec *exec)
{
    if (!exec->is_attached)
        return;
    exec->is_attached = false;
    leave_caches(exec);
    for (size_t i = 0; i < exec->n_places; i++)
        sp_model_segment_unhold(exec->places[i].segment);
}

void sp_model_exec_note_launch(struct sp_model_exec *exec, struct sp_point at)
{
    exec->last = at;
    for (size_t i = 0; i < exec->n_shares; i++)
        exec->shares[i].cache->last = at;
}

/* Without memory for the record the device gets the bytes back at once. */
void sp_model_graph_memory_take_back(struct sp_model_segment *segment)
{
    struct device *device;
    struct sp_model_graph_cache *cache;

    if (!segment->is_counted)
        return;
    segment->is_counted = false;
    device = &memory.devices[segment->memory.device];
    device->own_bytes -= segment->memory.size;
    cache = get_cache(device, 0);
    if (cache == NULL)
        sp_model_device_give(segment->memory.device, segment->memory.size);
    else
        cache->bytes += segment->memory.size;
}

/* ---- giving back --------------------------------------------------------------------- */

static bool uses_device(const struct sp_model_exec *exec, int device)
{
    for (size_t i = 0; i < exec->n_shares; i++) {
        if (exec->shares[i].device == device)
            return true;
    }
    return false;
}

/* What no launch that is to execute and no live allocation uses, though executables may be
 * attached: they get memory anew at their next launch. */
static void trim(int device)
{
    sp_model_late_frees_run();
    for (struct sp_model_exec *exec = sp_model_execs(); exec != NULL; exec = exec->next) {
        if (exec->is_attached && sp_model_exec_is_idle(exec) && uses_device(exec, device))
            sp_model_exec_detach(exec);
    }
    sp_model_device_give(device, take_free(&memory.devices[device], UINT64_MAX, NULL));
}

void sp_model_graph_memory_reclaim(int device, size_t bytes)
{
    if (sp_model_device_free(device) < bytes)
        trim(device);
}

/* Executables have gone: what is left are allocations that the program has not freed. */
void sp_model_graph_memory_reset(void)
{
    sp_model_segments_drop();
    for (int i = 0; i < SP_MODEL_MAX_DEVICES; i++) {
        struct device *device = &memory.devices[i];

        while (device->caches != NULL) {
            struct sp_model_graph_cache *cache = device->caches;

            device->caches = cache->next;
            free(cache);
        }
        *device = (struct device){0};
    }
}

/* ---- entry points -------------------------------------------------------------------- */

sp_cu_result sp_model_cuDeviceGraphMemTrim(sp_cu_device device)
{
    SP_MODEL_ENTER(cuDeviceGraphMemTrim);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    trim(device);
    return sp_model_leave(SP_CU_SUCCESS);
}

static sp_cu_result get_locked(int ordinal, int attribute, uint64_t *value_out)
{
    const struct device *device;

    if (!sp_model_is_device(ordinal))
        return SP_CU_INVALID_DEVICE;
    if (value_out == NULL)
        return SP_CU_INVALID_VALUE;
    device = &memory.devices[ordinal];
    switch (attribute) {
    case SP_CU_GRAPH_MEM_USED_CURRENT:
        *value_out = used_of(device);
        return SP_CU_SUCCESS;
    case SP_CU_GRAPH_MEM_USED_HIGH:
        *value_out = device->used_high;
        return SP_CU_SUCCESS;
    case SP_CU_GRAPH_MEM_RESERVED_CURRENT:
        *value_out = reserved_of(device);
        return SP_CU_SUCCESS;
    case SP_CU_GRAPH_MEM_RESERVED_HIGH:
        *value_out = device->reserved_high;
        return SP_CU_SUCCESS;
    default:
        return SP_CU_INVALID_VALUE;
    }
}

sp_cu_result sp_model_cuDeviceGetGraphMemAttribute(sp_cu_device device, int attribute,
                                                   void *value_out)
{
    SP_MODEL_ENTER(cuDeviceGetGraphMemAttribute);
    return sp_model_leave(get_locked(device, attribute, value_out));
}

static sp_cu_result set_locked(int ordinal, int attribute, const uint64_t *value)
{
    bool is_zero = sp_model_switch(SP_SWITCH_graph_high_reset) != 0;
    struct device *device;

    if (!sp_model_is_device(ordinal))
        return SP_CU_INVALID_DEVICE;
    if (value == NULL || *value != 0)
        return SP_CU_INVALID_VALUE;
    device = &memory.devices[ordinal];
    switch (attribute) {
    case SP_CU_GRAPH_MEM_USED_HIGH:
        device->used_high = is_zero ? 0 : used_of(device);
        return SP_CU_SUCCESS;
    case SP_CU_GRAPH_MEM_RESERVED_HIGH:
        device->reserved_high = is_zero ? 0 : reserved_of(device);
        return SP_CU_SUCCESS;
    default:
        return SP_CU_INVALID_VALUE;
    }
}

sp_cu_result sp_model_cuDeviceSetGraphMemAttribute(sp_cu_device device, int attribute,
                                                   void *value)
{
    SP_MODEL_ENTER(cuDeviceSetGraphMemAttribute);
    return sp_model_leave(set_locked(device, attribute, value));
}
