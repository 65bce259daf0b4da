/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pool serves which of StarPU's host nodes, and what happens when it refuses. The mapping
 * is asked of StarPU at every request, so that it is right after a shutdown and another start;
 * pools stay, but one that registers nothing makes way where StarPU has come to pin its memory.
 * Which door may refuse is decided here, the budget in doors.c. */
#include "config.h"

#include "src/starpu/node.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "numa/topo.h"
#include "src/pool/private.h"
#include "src/starpu/counters.h"
#include "src/starpu/cuda.h"
#include "src/starpu/pin.h"
#include "src/starpu/real.h"
#include "src/starpu/refusals.h"
#include "src/starpu/taskgraph.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* Alignment that every pool gives anyway. */
#define POOL_ALIGN 256
#define PAGE_ALIGN 4096

/* Pools by place: 0 is HOST, 1 + n is the NUMA node with OS index n; the last is for what goes
 * beyond the others. */
#define HOST_PLACE     0
#define OVERFLOW_PLACE (1 + STARPOOL_MAX_NODES)
#define N_PLACES       (OVERFLOW_PLACE + 1)

struct place {
    struct starpool_pool *_Atomic pool;
    struct starpool_pool *_Atomic earlier; /* that registered nothing; NULL: none */
    _Atomic unsigned life;                 /* of StarPU's, that `pool` is right for */
};

static struct {
    struct starpool_starpu_config config; /* set before the first request */
    struct place places[N_PLACES];
    _Atomic unsigned life; /* StarPU's starts so far */
    _Atomic size_t align;
    struct {
        const char *_Atomic kind;
        _Atomic int place; /* meaningful once `kind` is "cpu"; the device if it is "cuda" */
    } records[SP_MAX_STARPU_NODES];
} nodes;

void sp_node_configure(const struct starpool_starpu_config *config)
{
    nodes.config = *config;
}

void sp_node_note_init(void)
{
    atomic_fetch_add_explicit(&nodes.life, 1, memory_order_relaxed);
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

static const char cpu_kind[] = "cpu";
static const char cuda_kind[] = "cuda";

static const char *kind_name(unsigned node)
{
    switch ((int)sp_real.node_get_kind(node)) {
    case STARPU_UNUSED:
        return "unused";
    case STARPU_CPU_RAM:
        return cpu_kind;
    case STARPU_CUDA_RAM:
        return cuda_kind;
    case STARPU_OPENCL_RAM:
        return "opencl";
    case STARPU_DISK_RAM:
        return "disk";
    default:
        return "other";
    }
}

void sp_node_note_cuda(unsigned node, int device)
{
    if (atomic_load_explicit(&nodes.records[node].place, memory_order_relaxed) == device &&
        atomic_load_explicit(&nodes.records[node].kind, memory_order_relaxed) == cuda_kind)
        return;
    atomic_store_explicit(&nodes.records[node].place, device, memory_order_relaxed);
    atomic_store_explicit(&nodes.records[node].kind, cuda_kind, memory_order_relaxed);
}

void sp_node_note_passed(unsigned node)
{
    if (node >= SP_MAX_STARPU_NODES)
        return;
    if (sp_cuda_is_node(node))
        sp_node_note_cuda(node, sp_cuda_device_of(node));
    else
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
        if (sp_cuda_is_node(node) && sp_cuda_device_of(node) >= 0)
            *location_out =
                (struct starpool_location){STARPOOL_DEVICE, sp_cuda_device_of(node)};
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

struct starpool_pool *sp_node_publish_pool(struct starpool_pool *_Atomic *where,
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

/* Put a new pool in the place of one that stays for its blocks' sake, or take the one that
 * another thread has put there. */
static struct starpool_pool *replace(struct place *place, struct starpool_pool *old,
                                     struct starpool_pool *pool)
{
    struct starpool_pool *found = old;

    if (!atomic_compare_exchange_strong(&place->pool, &found, pool)) {
        starpool_pool_destroy(pool);
        return found;
    }
    sp_pool_make_permanent(pool);
    atomic_store_explicit(&place->earlier, old, memory_order_release);
    return pool;
}

static void fill_config(struct starpool_pool_config *config, unsigned node, unsigned place,
                        char *name, size_t name_size)
{
    starpool_pool_config_init(config);
    config->location = (struct starpool_location){.kind = STARPOOL_HOST};
    config->huge = (enum starpool_huge)sp_option_number(SP_OPTION_HUGE);
    config->release_threshold = sp_option_number(SP_OPTION_RELEASE);
    config->name = name;
    if (place == OVERFLOW_PLACE) {
        /* Unlocked: the limit of locked memory may be what the node's pool has met. */
        config->placement = STARPOOL_SPILL;
        snprintf(name, name_size, "StarPU overflow");
        return;
    }
    config->is_locked = sp_option_number(SP_OPTION_LOCK) != 0;
    config->placement = nodes.config.placement;
    config->maximum = nodes.config.host_limit;
    if (place == HOST_PLACE) {
        snprintf(name, name_size, "StarPU node %u (HOST)", node);
    } else {
        config->location = (struct starpool_location){STARPOOL_HOST_NUMA, (int)place - 1};
        snprintf(name, name_size, "StarPU node %u (NUMA %u)", node, place - 1);
    }
}

static void say_unregistered(const char *name, enum starpool_status status)
{
    sp_log(SP_LOG_WARN,
           "%s: host memory cannot be registered with the driver (%s), and StarPU has CUDA "
           "workers: their transfers are slower than StarPU's",
           name, starpool_status_text(status));
}

/* Make the first pool of a place: its memory is registered with the driver where StarPU would
 * pin it. Where that cannot be had, transfers take longer and are right all the same. */
static enum starpool_status make_pool(unsigned node, unsigned place,
                                      struct starpool_pool **pool_out)
{
    unsigned life = atomic_load_explicit(&nodes.life, memory_order_relaxed);
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    enum starpool_status status;
    char name[64];

    fill_config(&config, node, place, name, sizeof(name));
    config.is_registered = sp_pin_is_wanted();
    status = create_pool(&config, &pool);
    if (status != STARPOOL_OK && config.is_registered) {
        say_unregistered(name, status);
        config.is_registered = false;
        status = create_pool(&config, &pool);
    }
    if (status != STARPOOL_OK) {
        sp_log(SP_LOG_ERROR, "%s: no pool can be made: %s", name, starpool_status_text(status));
        return status;
    }
    if (sp_real.is_initialized() != 0)
        atomic_store_explicit(&nodes.places[place].life, life, memory_order_relaxed);
    *pool_out = sp_node_publish_pool(&nodes.places[place].pool, pool);
    return STARPOOL_OK;
}

/* A place's pool in a life of StarPU's that it was not made for. One of a time without CUDA
 * workers registers nothing; where there are some now, another takes its place. Its blocks stay
 * as they are, as StarPU's own would. */
static struct starpool_pool *review(unsigned node, unsigned place, struct starpool_pool *pool)
{
    unsigned life = atomic_load_explicit(&nodes.life, memory_order_relaxed);
    struct starpool_pool_config config = {.struct_size = sizeof(config)};
    struct starpool_pool *other;
    enum starpool_status status;
    char name[64];

    /* Until then StarPU has not counted its workers. */
    if (sp_real.is_initialized() == 0)
        return pool;
    if (sp_pin_is_wanted() && starpool_pool_get_config(pool, &config) == STARPOOL_OK &&
        !config.is_registered) {
        fill_config(&config, node, place, name, sizeof(name));
        config.is_registered = true;
        status = create_pool(&config, &other);
        if (status == STARPOOL_OK)
            pool = replace(&nodes.places[place], pool, other);
        else
            say_unregistered(name, status);
    }
    atomic_store_explicit(&nodes.places[place].life, life, memory_order_relaxed);
    return pool;
}

/* The pool that serves a place; NULL: none has been made. */
static struct starpool_pool *find_pool(unsigned node, unsigned place)
{
    struct place *own = &nodes.places[place];
    struct starpool_pool *pool = atomic_load_explicit(&own->pool, memory_order_acquire);

    if (SP_LIKELY(pool == NULL || atomic_load_explicit(&own->life, memory_order_relaxed) ==
                                      atomic_load_explicit(&nodes.life, memory_order_relaxed)))
        return pool;
    return review(node, place, pool);
}

static enum starpool_status get_overflow(unsigned node, struct starpool_pool **pool_out)
{
    *pool_out = find_pool(node, OVERFLOW_PLACE);
    return *pool_out != NULL ? STARPOOL_OK : make_pool(node, OVERFLOW_PLACE, pool_out);
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
    if (get_overflow(node, pool_out) != STARPOOL_OK)
        return status;
    atomic_compare_exchange_strong(&nodes.places[place].pool, &none, *pool_out);
    return STARPOOL_OK;
}

enum starpool_status sp_node_pool(unsigned node, struct starpool_pool **pool_out)
{
    unsigned place = place_of(node);
    struct starpool_pool *pool = find_pool(node, place);

    if (node < SP_MAX_STARPU_NODES &&
        (atomic_load_explicit(&nodes.records[node].kind, memory_order_relaxed) != cpu_kind ||
         atomic_load_explicit(&nodes.records[node].place, memory_order_relaxed) !=
             (int)place)) {
        atomic_store_explicit(&nodes.records[node].place, (int)place, memory_order_relaxed);
        atomic_store_explicit(&nodes.records[node].kind, cpu_kind, memory_order_relaxed);
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

    if (!may_refuse && get_overflow(refusal->node, &pool) == STARPOOL_OK) {
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
    refusal.place =
        place_of(node) == HOST_PLACE
            ? (struct starpool_location){.kind = STARPOOL_HOST}
            : (struct starpool_location){STARPOOL_HOST_NUMA, (int)place_of(node) - 1};
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
        if (atomic_load_explicit(&nodes.places[place].pool, memory_order_relaxed) != NULL)
            return true;
    }
    return false;
}

struct sp_node_record sp_node_record(unsigned node)
{
    struct sp_node_record record = {.numa = -1, .device = -1, .why = ""};
    int place = atomic_load_explicit(&nodes.records[node].place, memory_order_relaxed);

    record.kind = atomic_load_explicit(&nodes.records[node].kind, memory_order_relaxed);
    if (record.kind == cuda_kind) {
        record.device = place;
        record.pool = sp_cuda_record(place).pool;
        record.why = sp_cuda_record(place).why;
        return record;
    }
    if (record.kind != cpu_kind)
        return record;
    record.numa = place - 1;
    record.pool = atomic_load_explicit(&nodes.places[place].pool, memory_order_acquire);
    record.earlier = atomic_load_explicit(&nodes.places[place].earlier, memory_order_acquire);
    return record;
}

struct starpool_pool *sp_node_overflow_pool(void)
{
    return atomic_load_explicit(&nodes.places[OVERFLOW_PLACE].pool, memory_order_acquire);
}
