/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pools there are, what their handles mean, and when a destroyed one goes. A handle is an
 * index and a generation, so that a stale one names nothing. */
#include "config.h"

#include "src/model/mempool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* A handle: the generation above, the index plus one below, and a low bit that no pointer to a
 * struct has. */
#define INDEX_BITS 16
#define HANDLE_TAG 1

struct entry {
    struct sp_model_pool *pool; /* NULL: the last one was destroyed */
    uint32_t generation;
};

/* Behind the model's lock. */
static struct {
    struct sp_model_pool *first; /* also those that are retired */
    struct entry *entries;       /* [n_entries] */
    size_t n_entries, room;
    struct sp_model_late_free *late; /* not executed when last looked at */
} pools;

/* ---- handles ------------------------------------------------------------------------- */

static sp_cu_pool handle_of(size_t index, uint32_t generation)
{
    uintptr_t value =
        ((uintptr_t)generation << INDEX_BITS | (uintptr_t)(index + 1)) << 1 | HANDLE_TAG;

    return (sp_cu_pool)value;
}

/* The index plus one. */
static size_t index_of(sp_cu_pool handle)
{
    return ((uintptr_t)handle >> 1) & ((1U << INDEX_BITS) - 1);
}

struct sp_model_pool *sp_model_pool_get(sp_cu_pool handle)
{
    uintptr_t value = (uintptr_t)handle;
    size_t index = index_of(handle);
    uintptr_t generation = value >> (INDEX_BITS + 1);
    struct entry *entry;

    if ((value & HANDLE_TAG) == 0 || index == 0 || index > pools.n_entries)
        return NULL;
    entry = &pools.entries[index - 1];
    if (entry->pool != NULL && entry->generation == generation)
        return entry->pool;
    if (generation <= entry->generation)
        sp_model_violation("the handle %p is of a pool that has been destroyed",
                           (void *)handle);
    return NULL;
}

/* The first entry without a pool: as recycled as a driver's handles are. */
static struct entry *find_entry(void)
{
    struct entry *entries;

    for (size_t i = 0; i < pools.n_entries; i++) {
        if (pools.entries[i].pool == NULL)
            return &pools.entries[i];
    }
    if (pools.n_entries == (1U << INDEX_BITS) - 1)
        return NULL;
    if (pools.n_entries == pools.room) {
        entries = realloc(pools.entries, (pools.room + 16) * sizeof(*entries));
        if (entries == NULL)
            return NULL;
        pools.entries = entries;
        pools.room += 16;
    }
    pools.entries[pools.n_entries] = (struct entry){.pool = NULL};
    return &pools.entries[pools.n_entries++];
}

static bool give_handle(struct sp_model_pool *pool)
{
    struct entry *entry = find_entry();

    if (entry == NULL)
        return false;
    if (entry->generation == 0 || sp_model_switch(SP_SWITCH_stale_handle) == 0)
        entry->generation++;
    entry->pool = pool;
    pool->handle = handle_of((size_t)(entry - pools.entries), entry->generation);
    return true;
}

/* The entry is another pool's if it has been taken back already. */
static void take_handle_back(const struct sp_model_pool *pool)
{
    struct entry *entry = &pools.entries[index_of(pool->handle) - 1];

    if (entry->pool == pool)
        entry->pool = NULL;
}

/* ---- a pool's life ------------------------------------------------------------------- */

static bool make_heap(struct sp_model_pool *pool)
{
    static const size_t granules[] = {32 * SP_MIB, 2 * SP_MIB, 64 * SP_MIB};
    static const size_t units[] = {512, 256};
    void *memory = sp_model_pool_memory(sp_reuse_size());

    if (memory == NULL)
        return false;
    pool->granule = granules[sp_model_switch(SP_SWITCH_pool_granule)];
    pool->reuse =
        sp_reuse_init(memory, sp_model_order(), units[sp_model_switch(SP_SWITCH_size_granule)]);
    *sp_reuse_policy(pool->reuse) = (struct sp_reuse_policy){
        .follows_events = true,
        .is_opportunistic = true,
        .allows_internal_wait = true,
    };
    return true;
}

/* What a pool may reserve at most, rounded up to its granule. Without a maximum, a device pool
 * is bounded by its device alone and other pools by the machine's memory. */
static uint64_t max_bytes_of(const struct sp_model_pool *pool)
{
    uint64_t max_bytes = pool->props.max_size;

    if (max_bytes == 0)
        max_bytes = pool->device >= 0
                        ? sp_model_device_total(pool->device)
                        : (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    max_bytes = sp_round_up(max_bytes, pool->granule);
    return max_bytes == 0 ? sp_round_down(SIZE_MAX, pool->granule) : max_bytes;
}

static void set_place(struct sp_model_pool *pool)
{
    const struct sp_cu_pool_props *props = &pool->props;
    bool is_managed = props->alloc_type == SP_CU_ALLOCATION_MANAGED;

    pool->device = -1;
    pool->node = -1;
    if (props->location.type == SP_CU_LOCATION_DEVICE && !is_managed)
        pool->device = props->location.id;
    if (props->location.type == SP_CU_LOCATION_HOST_NUMA)
        pool->node = props->location.id;
}

struct sp_model_pool *sp_model_pool_new(const struct sp_cu_pool_props *props)
{
    struct sp_model_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pool->props = *props;
    pool->shared.file = -1;
    set_place(pool);
    sp_model_access_init(pool);
    if (!make_heap(pool))
        goto err_free;
    pool->max_bytes = max_bytes_of(pool);
    if (!give_handle(pool))
        goto err_heap;
    pool->next = pools.first;
    pool->link = &pools.first;
    if (pool->next != NULL)
        pool->next->link = &pool->next;
    pools.first = pool;
    return pool;

err_heap:
    free(pool->reuse);
err_free:
    free(pool);
    return NULL;
}

static void free_record(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

/* Nothing names the pool any more. */
static void delete_pool(struct sp_model_pool *pool)
{
    *pool->link = pool->next;
    if (pool->next != NULL)
        pool->next->link = pool->link;
    take_handle_back(pool);
    sp_model_pool_forget_notes(pool);
    sp_reuse_fini(pool->reuse, free_record);
    free(pool->reuse);
    sp_model_pool_drop_chunks(pool); /* The heap looks at them to the end. */
    if (pool->shared.file >= 0)
        sp_shared_close(&pool->shared);
    free(pool);
}

void sp_model_pool_settle(struct sp_model_pool *pool)
{
    if (!pool->is_destroyed || pool->n_pins > 0)
        return;
    sp_model_pool_release(pool, 0, UINT64_MAX);
    if (pool->chunks == NULL && pool->imports == NULL)
        delete_pool(pool);
}

void sp_model_pool_retire(struct sp_model_pool *pool)
{
    take_handle_back(pool);
    pool->is_destroyed = true;
    sp_model_pool_settle(pool);
}

void sp_model_pool_pin(struct sp_model_pool *pool)
{
    pool->n_pins++;
}

void sp_model_pool_unpin(struct sp_model_pool *pool)
{
    pool->n_pins--;
    sp_model_pool_settle(pool);
}

bool sp_model_pool_is_host(const struct sp_model_pool *pool)
{
    return pool->props.alloc_type == SP_CU_ALLOCATION_PINNED &&
           (pool->props.location.type == SP_CU_LOCATION_HOST ||
            pool->props.location.type == SP_CU_LOCATION_HOST_NUMA);
}

/* ---- frees that have been called, and memory that goes with them --------------------- */

bool sp_model_point_has_run(struct sp_point point)
{
    return point.slot == SP_SLOT_HOST || sp_model_has_executed(point);
}

void sp_model_late_free_add(struct sp_model_late_free *late)
{
    late->next = pools.late;
    pools.late = late;
}

const struct sp_model_memory *sp_model_late_find(uintptr_t address)
{
    const struct sp_model_late_free *late = pools.late;

    while (late != NULL &&
           (late->memory == NULL || address - late->memory->base >= late->memory->size))
        late = late->next;
    return late == NULL ? NULL : late->memory;
}

/* Those that have executed, or all of them. */
static void run_late(bool takes_all)
{
    struct sp_model_late_free **link = &pools.late, *late, *ready = NULL;

    while ((late = *link) != NULL) {
        if (!takes_all &&
            !(sp_model_point_has_run(late->at) && sp_model_uses_have_run(late->uses))) {
            link = &late->next;
            continue;
        }
        *link = late->next;
        late->next = ready;
        ready = late;
    }
    while ((late = ready) != NULL) {
        ready = late->next;
        late->run(late);
    }
}

void sp_model_late_frees_run(void)
{
    run_late(false);
}

/* ---- what the whole model asks for --------------------------------------------------- */

/* Each pool once; one that has been destroyed may go with its visit. */
static void for_each(void (*visit)(struct sp_model_pool *pool, void *arg), void *arg)
{
    struct sp_model_pool *pool = pools.first, *next;

    while (pool != NULL) {
        next = pool->next;
        visit(pool, arg);
        sp_model_pool_settle(pool);
        pool = next;
    }
}

/* A pool that can be shared keeps what it has: the driver ignores its threshold. */
static void apply_threshold(struct sp_model_pool *pool, void *unused)
{
    (void)unused;
    sp_reuse_notice(pool->reuse);
    if (!pool->is_destroyed && pool->shared.file < 0)
        sp_model_pool_release(pool, pool->threshold, UINT64_MAX);
}

void sp_model_pools_seen(void)
{
    sp_model_late_frees_run();
    for_each(apply_threshold, NULL);
}

static void visit(struct sp_model_pool *pool, void *unused)
{
    (void)pool;
    (void)unused;
}

void sp_model_pools_queried(void)
{
    if (sp_model_switch(SP_SWITCH_query_releases) != 0)
        sp_model_pools_seen();
    else
        for_each(visit, NULL);
}

struct wish {
    int device;
    size_t size; /* [bytes] that should get free */
};

static void reclaim(struct sp_model_pool *pool, void *arg)
{
    const struct wish *wish = arg;
    size_t room = sp_model_device_free(wish->device);

    if (pool->device == wish->device && pool->shared.file < 0 && room < wish->size)
        sp_model_pool_release(pool, 0, wish->size - room);
}

bool sp_model_pools_reclaim(int device, size_t bytes)
{
    struct wish wish = {.device = device, .size = bytes};
    size_t before = sp_model_device_free(device);

    sp_model_late_frees_run();
    if (sp_model_switch(SP_SWITCH_reclaim_after_sync) == 0)
        for_each(reclaim, &wish);
    sp_model_graph_memory_reclaim(device, bytes);
    return sp_model_device_free(device) > before;
}

void sp_model_pools_reset(void)
{
    while (pools.first != NULL) {
        struct sp_model_pool *pool = pools.first;

        while (pool->imports != NULL)
            sp_model_import_drop(pool->imports, (struct sp_point){.slot = SP_SLOT_HOST});
        delete_pool(pool);
    }
    run_late(true);
    sp_model_places_reset();
    free(pools.entries);
    memset(&pools, 0, sizeof(pools));
}
