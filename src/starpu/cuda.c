/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pools serve a CUDA device: one for the node that StarPU makes of it, one for what
 * codelets ask for themselves. A pool, once made, is never replaced; a device that gets none is
 * left to StarPU for good, so that a block's origin is never in doubt. StarPU's words and its
 * budget are doors.c's affair. */
#include "config.h"

#include "src/starpu/cuda.h"

#include <stdatomic.h>
#include <stdio.h>

#include "src/driver/driver.h"
#include "src/starpu/codelet_check.h"
#include "src/starpu/counters.h"
#include "src/starpu/node.h"
#include "src/starpu/real.h"
#include "src/starpu/refusals.h"
#include "src/starpu/watch.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* The values of the option DEVICE_BACKEND, in the order of options.def. */
enum choice { CHOICE_SLAB, CHOICE_DRIVER, CHOICE_NONE };

/* Whether StarPU serves a device itself; `why` is written between the first two. */
enum leaving { NOT_LEFT, BEING_LEFT, LEFT };

struct device {
    struct starpool_pool *_Atomic pool;
    struct starpool_pool *_Atomic codelets;
    _Atomic int leaving; /* an enum leaving */
    char why[160];
};

static struct {
    struct device devices[SP_MAX_DEVICES];
    bool is_of_driver; /* the nodes' pools are the driver's; set at attach */
} cuda;

void sp_cuda_start(void)
{
    cuda.is_of_driver = sp_option_number(SP_OPTION_DEVICE_BACKEND) == CHOICE_DRIVER;
}

bool sp_cuda_is_node(unsigned node)
{
    return node < SP_MAX_STARPU_NODES && sp_real.node_get_kind(node) == STARPU_CUDA_RAM;
}

int sp_cuda_device_of(unsigned node)
{
    int device =
        sp_real.memory_node_get_devid == NULL ? -1 : sp_real.memory_node_get_devid(node);

    return device < SP_MAX_DEVICES ? device : -1;
}

/* ---- making pools ------------------------------------------------------------------------ */

static void fill_config(struct starpool_pool_config *config, int device, const char *name)
{
    uint64_t limit = sp_option_number(SP_OPTION_DEVICE_LIMIT);

    starpool_pool_config_init(config);
    config->location = (struct starpool_location){STARPOOL_DEVICE, device};
    config->maximum = limit == UINT64_MAX ? 0 : limit;
    config->release_threshold = sp_option_number(SP_OPTION_RELEASE);
    if (config->maximum != 0 && config->release_threshold != STARPOOL_UNLIMITED &&
        config->release_threshold > config->maximum)
        config->release_threshold = config->maximum;
    config->name = name;
}

static void text_of_failure(enum starpool_status status, char *why, size_t why_size)
{
    const char *call;
    int result = starpool_driver_error(&call);

    if (status == STARPOOL_ENOTINIT && *sp_driver_why_none() != '\0')
        snprintf(why, why_size, "there is no driver: %s", sp_driver_why_none());
    else if (status == STARPOOL_EDRIVER)
        snprintf(why, why_size, "%s() answers %d", call, result);
    else
        snprintf(why, why_size, "%s", starpool_status_text(status));
}

/* What StarPU's copies are given must be memory of the driver that they are made by, which is
 * not so where the model is asked for beside a real one. */
static bool is_starpus_memory(struct starpool_pool *pool, int device)
{
    void *ptr;
    bool is_known;

    if (starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_OK)
        return true; /* A device without room is the right one. */
    is_known = sp_watch_is_device_memory(ptr, device);
    (void)starpool_free(ptr, STARPOOL_STREAM_HOST);
    return is_known;
}

/* The pool of a device's node; NULL: `why` says what is in the way. */
static struct starpool_pool *make_pool(unsigned node, int device, char *why, size_t why_size)
{
    uint64_t choice = sp_option_number(SP_OPTION_DEVICE_BACKEND);
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    enum starpool_status status;
    char name[64];

    if (choice == CHOICE_NONE) {
        snprintf(why, why_size, "STARPOOL_DEVICE_BACKEND=none");
        return NULL;
    }
    snprintf(name, sizeof(name), "StarPU node %u (CUDA %d)", node, device);
    fill_config(&config, device, name);
    config.backend = choice == CHOICE_DRIVER ? STARPOOL_BACKEND_DRIVER : STARPOOL_BACKEND_SLAB;
    status = starpool_pool_create(&config, &pool);
    if (status != STARPOOL_OK) {
        text_of_failure(status, why, why_size);
        return NULL;
    }
    if (!is_starpus_memory(pool, device)) {
        starpool_pool_destroy(pool);
        snprintf(why, why_size, "StarPU's devices are not those of starpool's driver");
        return NULL;
    }
    return sp_node_publish_pool(&cuda.devices[device].pool, pool);
}

/* Leave a device to StarPU, and say so once. */
static void leave(int device, const char *why)
{
    struct device *own = &cuda.devices[device];
    int leaving = NOT_LEFT;

    if (!atomic_compare_exchange_strong(&own->leaving, &leaving, BEING_LEFT))
        return;
    snprintf(own->why, sizeof(own->why), "%s", why);
    atomic_store_explicit(&own->leaving, LEFT, memory_order_release);
    sp_log(SP_LOG_WARN, "StarPU serves the memory of CUDA device %d itself: %s", device, why);
}

struct starpool_pool *sp_cuda_pool(unsigned node, int device)
{
    struct starpool_pool *pool;
    struct device *own;
    char why[sizeof(own->why)] = "";

    if (device < 0)
        return NULL;
    own = &cuda.devices[device];
    pool = atomic_load_explicit(&own->pool, memory_order_acquire);
    if (SP_LIKELY(pool != NULL))
        return pool;
    if (atomic_load_explicit(&own->leaving, memory_order_acquire) != NOT_LEFT)
        return NULL;
    pool = make_pool(node, device, why, sizeof(why));
    if (pool == NULL)
        leave(device, why);
    return pool;
}

/* In stream order the driver's own pool is at its best. Where it has none, slabs serve. */
enum starpool_status sp_cuda_codelet_pool(int device, struct starpool_pool **pool_out)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    enum starpool_status status;
    char name[64];

    if (device < 0 || device >= SP_MAX_DEVICES)
        return STARPOOL_EDEVICE;
    pool = atomic_load_explicit(&cuda.devices[device].codelets, memory_order_acquire);
    if (SP_LIKELY(pool != NULL)) {
        *pool_out = pool;
        return STARPOOL_OK;
    }
    snprintf(name, sizeof(name), "StarPU codelets (CUDA %d)", device);
    fill_config(&config, device, name);
    config.backend = STARPOOL_BACKEND_AUTO;
    status = starpool_pool_create(&config, &pool);
    if (status == STARPOOL_OK)
        *pool_out = sp_node_publish_pool(&cuda.devices[device].codelets, pool);
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static enum starpool_status take(unsigned node, struct starpool_pool *pool, size_t size,
                                 void **ptr_out)
{
    enum starpool_status status;
    uint64_t start;

    if (SP_LIKELY(!cuda.is_of_driver))
        return sp_alloc_aligned(pool, size, 0, ptr_out);
    start = sp_clock_ns();
    status = sp_alloc_aligned(pool, size, 0, ptr_out);
    sp_counters_add(node, SP_N_WAITS, 1);
    sp_counters_add(node, SP_NS_WAITS, sp_clock_ns() - start);
    return status;
}

enum starpool_status sp_cuda_alloc(unsigned node, struct starpool_pool *pool, size_t size,
                                   void **ptr_out)
{
    enum starpool_status status = take(node, pool, size, ptr_out);

    if (SP_LIKELY(status == STARPOOL_OK)) {
        sp_counters_add_served(node, SP_N_INTERPOSER, SP_BYTES_INTERPOSER, size);
        if (SP_UNLIKELY(sp_codelet_check_is_on()))
            sp_codelet_check_taken(node, *ptr_out);
        return STARPOOL_OK;
    }
    sp_counters_add(node, SP_N_INTERPOSER, 1);
    sp_counters_add(node, SP_N_REFUSALS, 1);
    sp_refusals_note(&(struct sp_refusal){
        .node = node,
        .place = {STARPOOL_DEVICE, sp_cuda_device_of(node)},
        .size = size,
        .status = status,
        .pool = pool,
    });
    return status;
}

enum sp_free_result sp_cuda_free(void *ptr)
{
    struct starpool_pool *pool;

    if (!cuda.is_of_driver || starpool_pool_of(ptr, &pool) != STARPOOL_OK)
        return SP_FREE_FOREIGN;
    return starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_OK ? SP_FREED : SP_FREE_WRONG;
}

struct sp_cuda_record sp_cuda_record(int device)
{
    struct sp_cuda_record record = {.why = ""};
    const struct device *own;

    if (device < 0 || device >= SP_MAX_DEVICES)
        return record;
    own = &cuda.devices[device];
    record.pool = atomic_load_explicit(&own->pool, memory_order_acquire);
    record.codelets = atomic_load_explicit(&own->codelets, memory_order_acquire);
    if (record.pool == NULL &&
        atomic_load_explicit(&own->leaving, memory_order_acquire) == LEFT)
        record.why = own->why;
    return record;
}
