/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pool serves which of StarPU's host nodes, and what happens when it refuses. The mapping
 * is asked of StarPU at every request, so that it is right after a shutdown and another start;
 * pools stay. Which door may refuse is decided here, the budget in doors.c. */
#include "config.h"

#include "src/starpu/node.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "numa/topo.h"
#include "src/pool/private.h"
#include "src/starpu/counters.h"
#include "src/starpu/real.h"
#include "src/starpu/refusals.h"
#include "src/starpu/taskgraph.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* Alignment that every pool gives anyway. */
#define POOL_ALIGN 256
#define PAGE_ALIGN 4096

/* Pools by place: 0 is HOST, 1 + n is the NUMA node with OS index n. */
#define HOST_PLACE 0
#define N_PLACES   (1 + STARPOOL_MAX_NODES)

/* A pool, once made, is never replaced. */
static struct {
    struct starpool_starpu_config config; /* set before the first request */
    struct starpool_pool *_Atomic pools[N_PLACES];
    struct starpool_pool *_Atomic overflow;
    _Atomic size_t align;
    struct {
        const char *_Atomic kind;
        _Atomic int place; /* meaningful once `kind` is "cpu" */
    } records[SP_MAX_STARPU_NODES];
} nodes;

void sp_node_configure(const struct starpool_starpu_config *config)
{
    nodes.config = *config;
}

void sp_node_set_align(size_t align)
{
    size_t old = atomic_load_explicit(&nodes.align, memory_order_relaxed);

    while (align > old && sp_is_power_of_two(align)) {
        if (atomic_compare_exchange_weak(&nodes.align, &old, align))
            break;
    }
}

/* What is aligned to more than the pool gives to small blocks is aligned to a page, so that
 * large blocks do not lose by it. */
size_t sp_node_align(void)
{
    size_t align = atomic_load_explicit(&nodes.align, memory_order_relaxed);

    return align <= POOL_ALIGN ? 0 : sp_max(align, PAGE_ALIGN);
}

bool sp_node_is_host(unsigned node)
{
    return node < SP_MAX_STARPU_NODES && sp_real.node_get_kind(node) == STARPU_CPU_RAM;
}

static const char *kind_name(unsigned node)
{
    switch ((int)sp_real.node_get_kind(node)) {
    case STARPU_UNUSED:
        return "unused";
    case STARPU_CPU_RAM:
        return "cpu";
    case STARPU_CUDA_RAM:
        return "cuda";
    case STARPU_OPENCL_RAM:
        return "opencl";
    case STARPU_DISK_RAM:
        return "disk";
    default:
        return "other";
    }
}

void sp_node_note_passed(unsigned node)
{
    if (node >= SP_MAX_STARPU_NODES)
        return;
    atomic_store_explicit(&nodes.records[node].kind, kind_name(node), memory_order_relaxed);
    sp_counters_add(node, SP_N_PASSED, 1);
}

/* The place of a host node. With one host node StarPU's memory is wherever the system puts it.
 */
static unsigned place_of(unsigned node)
{
    int n_numa = sp_real.memory_nodes_get_numa_count();
    int os_index;

    /* Node numbers beyond would fail an assertion of StarPU's. */
    if (SP_LIKELY(n_numa <= 1) || node >= (unsigned)n_numa)
        return HOST_PLACE;
    /* In spite of its name: from StarPU's node to the OS index. */
    os_index = sp_real.memory_nodes_numa_devid_to_id(node);
    return os_index < 0 || os_index >= STARPOOL_MAX_NODES ? HOST_PLACE : (unsigned)os_index + 1;
}

bool sp_node_location(unsigned node, struct starpool_location *location_out)
{
    unsigned place;

    *location_out = (struct starpool_location){.kind = STARPOOL_NONE};
    /* StarPU's assertions do not let every number pass. */
    if (node >= sp_real.memory_nodes_get_count())
        return false;
    if (!sp_node_is_host(node)) {
        if (sp_real.node_get_kind(node) == STARPU_CUDA_RAM &&
            sp_real.memory_node_get_devid != NULL)
            *location_out = (struct starpool_location){STARPOOL_DEVICE,
                                                       sp_real.memory_node_get_devid(node)};
        return false;
    }
    place = place_of(node);
    location_out->kind = place == HOST_PLACE ? STARPOOL_HOST : STARPOOL_HOST_NUMA;
    location_out->id = place == HOST_PLACE ? 0 : (int)place - 1;
    return true;
}

static enum starpool_status create_pool(const struct starpool_pool_config *config,
                                        struct starpool_pool **pool_out)
{
    bool is_offered = sp_real.get_hwloc_topology != NULL && sp_real.is_initialized() != 0;
    enum starpool_status status;

    if (is_offered)
        sp_topo_offer(sp_real.get_hwloc_topology());
    status = starpool_pool_create(config, pool_out);
    /* StarPU destroys its topology when it is shut down. */
    if (is_offered)
        sp_topo_offer(NULL);
    return status;
}

/* Put a new pool where it belongs, or take the one that another thread has put there. Programs
 * can ask for the pool, and StarPU's blocks must outlive what they do with it. */
static struct starpool_pool *publish(struct starpool_pool *_Atomic *where,
                                     struct starpool_pool *pool)
{
    struct starpool_pool *other = NULL;

    if (!atomic_compare_exchange_strong(where, &other, pool)) {
        starpool_pool_destroy(pool);
        return other;
    }
    sp_pool_make_permanent(pool);
    return pool;
}

static void fill_config(struct starpool_pool_config *config)
{
    starpool_pool_config_init(config);
    config->location = (struct starpool_location){.kind = STARPOOL_HOST};
    config->huge = (enum starpool_huge)sp_option_number(SP_OPTION_HUGE);
    config->is_locked = sp_option_number(SP_OPTION_LOCK) != 0;
    config->release_threshold = sp_option_number(SP_OPTION_RELEASE);
}

static enum starpool_status get_overflow(struct starpool_pool **pool_out)
{
    struct starpool_pool *pool = atomic_load_explicit(&nodes.overflow, memory_order_acquire);
    struct starpool_pool_config config;
    enum starpool_status status;

    if (pool == NULL) {
        fill_config(&config);
        config.placement = STARPOOL_SPILL;
        /* The limit of locked memory may be what the node's pool has met. */
        config.is_locked = false;
        config.name = "StarPU overflow";
        status = create_pool(&config, &pool);
        if (status != STARPOOL_OK)
            return status;
        pool = publish(&nodes.overflow, pool);
    }
    *pool_out = pool;
    return STARPOOL_OK;
}

static void warn_unregistered(void)
{
    if (sp_real.cuda_worker_get_count != NULL && sp_real.is_initialized() != 0 &&
        sp_real.cuda_worker_get_count() > 0)
        sp_log(SP_LOG_WARN, "StarPU has CUDA workers, and this version does not register host "
                            "memory with the driver: their transfers are slower than StarPU's");
}

static enum starpool_status make_pool(unsigned node, unsigned place,
                                      struct starpool_pool **pool_out)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    enum starpool_status status;
    char name[64];

    fill_config(&config);
    config.placement = nodes.config.placement;
    config.maximum = nodes.config.host_limit;
    config.name = name;
    if (place == HOST_PLACE) {
        snprintf(name, sizeof(name), "StarPU node %u (HOST)", node);
    } else {
        config.location = (struct starpool_location){STARPOOL_HOST_NUMA, (int)place - 1};
        snprintf(name, sizeof(name), "StarPU node %u (NUMA %u)", node, place - 1);
    }
    status = create_pool(&config, &pool);
    if (status != STARPOOL_OK) {
        sp_log(SP_LOG_ERROR, "%s: no pool can be made: %s", name, starpool_status_text(status));
        return status;
    }
    warn_unregistered();
    *pool_out = publish(&nodes.pools[place], pool);
    return STARPOOL_OK;
}

/* The pool of a place that has none yet. If it cannot be had, because StarPU and starpool do
 * not see the same machine, the overflow pool serves the place from then on. */
static enum starpool_status first_pool(unsigned node, unsigned place,
                                       struct starpool_pool **pool_out)
{
    enum starpool_status status = make_pool(node, place, pool_out);
    struct starpool_pool *none = NULL;

    if (status == STARPOOL_OK)
        return STARPOOL_OK;
    if (get_overflow(pool_out) != STARPOOL_OK)
        return status;
    atomic_compare_exchange_strong(&nodes.pools[place], &none, *pool_out);
    return STARPOOL_OK;
}

enum starpool_status sp_node_pool(unsigned node, struct starpool_pool **pool_out)
{
    unsigned place = place_of(node);
    struct starpool_pool *pool;

    pool = atomic_load_explicit(&nodes.pools[place], memory_order_acquire);
    if (node < SP_MAX_STARPU_NODES &&
        (atomic_load_explicit(&nodes.records[node].kind, memory_order_relaxed) == NULL ||
         atomic_load_explicit(&nodes.records[node].place, memory_order_relaxed) !=
             (int)place)) {
        atomic_store_explicit(&nodes.records[node].place, (int)place, memory_order_relaxed);
        atomic_store_explicit(&nodes.records[node].kind, "cpu", memory_order_relaxed);
    }
    if (SP_LIKELY(pool != NULL)) {
        *pool_out = pool;
        return STARPOOL_OK;
    }
    return first_pool(node, place, pool_out);
}

/* The node's pool has refused: `refusal` says why. */
static enum starpool_status alloc_elsewhere(struct sp_refusal *refusal, enum sp_door door,
                                            void **ptr_out)
{
    bool is_strict = nodes.config.placement == STARPOOL_STRICT;
    bool may_refuse = door == SP_DOOR_INTERPOSER && is_strict;
    enum starpool_status status;
    struct starpool_pool *pool;

    if (!may_refuse && get_overflow(&pool) == STARPOOL_OK) {
        status = sp_alloc_aligned(pool, refusal->size, sp_node_align(), ptr_out);
        if (status == STARPOOL_OK) {
            sp_counters_add(refusal->node, SP_N_OVERFLOWS, 1);
            sp_refusals_note_overflow(refusal, is_strict);
            return STARPOOL_OK;
        }
        refusal->pool = pool;
        refusal->status = status;
    }
    if (sp_taskgraph_give_up() && sp_node_pool(refusal->node, &pool) == STARPOOL_OK &&
        sp_alloc_aligned(pool, refusal->size, sp_node_align(), ptr_out) == STARPOOL_OK)
        return STARPOOL_OK;
    sp_counters_add(refusal->node, SP_N_REFUSALS, 1);
    refusal->is_final = door == SP_DOOR_HOOK;
    sp_refusals_note(refusal);
    return refusal->status;
}

static enum starpool_status alloc_anywhere(unsigned node, size_t size, enum sp_door door,
                                           void **ptr_out)
{
    struct sp_refusal refusal = {.node = node, .size = size};
    struct starpool_pool *pool;
    enum starpool_status status;

    status = sp_node_pool(node, &pool);
    if (SP_LIKELY(status == STARPOOL_OK)) {
        status = sp_alloc_aligned(pool, size, sp_node_align(), ptr_out);
        if (SP_LIKELY(status == STARPOOL_OK))
            return STARPOOL_OK;
        refusal.pool = pool;
    }
    refusal.numa = (int)place_of(node) - 1;
    refusal.status = status;
    return alloc_elsewhere(&refusal, door, ptr_out);
}

/* While an iteration is captured or replayed. */
static enum starpool_status alloc_recorded(unsigned node, size_t size, enum sp_door door,
                                           void **ptr_out)
{
    enum starpool_status status = STARPOOL_OK;

    if (!sp_taskgraph_take(node, size, door, sp_node_align(), ptr_out)) {
        sp_taskgraph_note_pool_request();
        status = alloc_anywhere(node, size, door, ptr_out);
    }
    if (status == STARPOOL_OK)
        sp_taskgraph_note_alloc(node, size, door, *ptr_out);
    return status;
}

enum starpool_status sp_node_alloc(unsigned node, size_t size, enum sp_door door,
                                   void **ptr_out)
{
    bool is_hook = door == SP_DOOR_HOOK;
    enum sp_counter requests = is_hook ? SP_N_HOOK : SP_N_INTERPOSER;
    size_t wanted = size + (size == 0);
    enum starpool_status status;

    status = SP_UNLIKELY(sp_taskgraph_is_on()) ? alloc_recorded(node, wanted, door, ptr_out)
                                               : alloc_anywhere(node, wanted, door, ptr_out);
    if (SP_LIKELY(status == STARPOOL_OK))
        sp_counters_add_served(node, requests, is_hook ? SP_BYTES_HOOK : SP_BYTES_INTERPOSER,
                               size);
    else
        sp_counters_add(node, requests, 1);
    return status;
}

bool sp_node_has_pools(void)
{
    unsigned place;

    for (place = 0; place < N_PLACES; place++) {
        if (atomic_load_explicit(&nodes.pools[place], memory_order_relaxed) != NULL)
            return true;
    }
    return false;
}

struct sp_node_record sp_node_record(unsigned node)
{
    struct sp_node_record record = {.numa = -1};
    int place = atomic_load_explicit(&nodes.records[node].place, memory_order_relaxed);

    record.kind = atomic_load_explicit(&nodes.records[node].kind, memory_order_relaxed);
    if (record.kind == NULL || strcmp(record.kind, "cpu") != 0)
        return record;
    record.numa = place - 1;
    record.pool = atomic_load_explicit(&nodes.pools[place], memory_order_acquire);
    return record;
}

struct starpool_pool *sp_node_overflow_pool(void)
{
    return atomic_load_explicit(&nodes.overflow, memory_order_acquire);
}
