/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's doors: its malloc hooks, and the functions of libstarpu that the plugin stands in
 * front of. Here are StarPU's words (node, flags, -ENOMEM) and its budget; which pool serves is
 * node.c's affair. A block may leave by another door than it came in by, so a free believes the
 * address and nothing else. The free path runs under StarPU's spinlocks: no system call, no
 * lock of ours, no message. */
#include "config.h"

#include "src/starpu/doors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "src/pool/private.h"
#include "src/starpu/codelet_check.h"
#include "src/starpu/counters.h"
#include "src/starpu/cuda.h"
#include "src/starpu/node.h"
#include "src/starpu/plugin.h"
#include "src/starpu/real.h"
#include "src/starpu/taskgraph.h"
#include "src/util/diag.h"
#include "src/util/util.h"

/*
 * The application's own hooks, if it sets any, are called wherever StarPU would call them: they
 * serve its host memory in our place. Ours stay installed underneath, for the blocks that are
 * out.
 */
static struct {
    _Atomic starpu_malloc_hook app_malloc;
    _Atomic starpu_free_hook app_free;
    _Atomic bool has_told; /* of the application's hooks */
    bool is_late;          /* blocks of StarPU's own may be out ... */
    bool was_numa;         /* ... and some may have been mapped for a NUMA node */
} doors;

/* For the time after a detach: what StarPU itself does with one host node. */
static int plain_malloc(void **ptr_out, size_t size)
{
    size_t align = size < 4096 ? 256 : 4096;

    return posix_memalign(ptr_out, align, size + (size == 0)) == 0 ? 0 : -ENOMEM;
}

static int hook_malloc(unsigned node, void **ptr_out, size_t size, int flags)
{
    starpu_malloc_hook app_malloc;

    app_malloc = atomic_load_explicit(&doors.app_malloc, memory_order_acquire);
    if (app_malloc != NULL)
        return app_malloc(node, ptr_out, size, flags);
    /* StarPU looks at the address, not at what is returned. */
    *ptr_out = NULL;
    if (!sp_plugin_is_serving())
        return plain_malloc(ptr_out, size);
    return sp_node_alloc(node, size, SP_DOOR_HOOK, ptr_out) == STARPOOL_OK ? 0 : -ENOMEM;
}

/*
 * Memory that is not ours, in the hook. Where StarPU would call free() for whatever it is
 * given, so do we: with one host node and no CUDA, and for what it gave out while it had one.
 * Anything else may be pinned by a driver or mapped by hwloc, and is kept.
 */
static bool is_from_malloc(void)
{
    if (sp_real.cuda_worker_get_count != NULL && sp_real.is_initialized() != 0 &&
        sp_real.cuda_worker_get_count() > 0)
        return false;
    if (sp_real.memory_nodes_get_numa_count() <= 1)
        return true;
    return (doors.is_late || atomic_load(&sp_plugin.was_detached)) && !doors.was_numa;
}

static int free_foreign(unsigned node, void *ptr, size_t size, int flags)
{
    starpu_free_hook app_free = atomic_load_explicit(&doors.app_free, memory_order_acquire);

    sp_counters_add_quick(node, SP_N_FOREIGN, 1);
    if (app_free != NULL)
        return app_free(node, ptr, size, flags);
    if (is_from_malloc())
        free(ptr);
    else
        sp_counters_add_quick(node, SP_N_KEPT, 1);
    return 0;
}

static int hook_free(unsigned node, void *ptr, size_t size, int flags)
{
    starpu_free_hook app_free;

    if (ptr == NULL) {
        app_free = atomic_load_explicit(&doors.app_free, memory_order_acquire);
        return app_free == NULL ? 0 : app_free(node, ptr, size, flags);
    }
    switch (sp_taskgraph_free(ptr)) {
    case SP_FREED:
        sp_counters_add_quick(node, SP_FREES_HOOK, 1);
        return 0;
    case SP_FREE_WRONG:
        /* StarPU is about to give the bytes back to its budget: they were not taken from it. */
        if (((unsigned)flags & STARPU_MALLOC_COUNT) != 0)
            sp_real.memory_allocate(node, size, (int)STARPU_MEMORY_OVERFLOW);
        return 0;
    case SP_FREE_FOREIGN:
        break;
    }
    return free_foreign(node, ptr, size, flags);
}

void sp_doors_open(bool is_late, bool was_numa)
{
    doors.is_late = is_late;
    doors.was_numa = was_numa;
    /* Twice, because StarPU stores one after the other: no block of ours may meet StarPU's own
     * free in between. */
    sp_real.malloc_set_hooks(NULL, hook_free);
    sp_real.malloc_set_hooks(hook_malloc, hook_free);
}

bool sp_doors_has_app_hooks(void)
{
    return atomic_load_explicit(&doors.app_malloc, memory_order_relaxed) != NULL ||
           atomic_load_explicit(&doors.app_free, memory_order_relaxed) != NULL;
}

/* ---- in front of libstarpu ----------------------------------------------------------- */

/* What serves a request. */
struct server {
    bool is_host;
    int device;                 /* of a CUDA node ... */
    struct starpool_pool *pool; /* ... and its pool; NULL: StarPU serves it */
};

/* The application's malloc hook serves host memory by way of StarPU, as it would without us. */
static struct server find_server(unsigned node)
{
    struct server server = {.device = -1};

    if (SP_UNLIKELY(!sp_plugin_is_active()))
        sp_plugin_wake();
    if (!sp_plugin_is_serving() || node >= SP_MAX_STARPU_NODES)
        return server;
    switch ((int)sp_real.node_get_kind(node)) {
    case STARPU_CPU_RAM:
        server.is_host = atomic_load_explicit(&doors.app_malloc, memory_order_relaxed) == NULL;
        break;
    case STARPU_CUDA_RAM:
        server.device = sp_cuda_device_of(node);
        server.pool = sp_cuda_pool(node, server.device);
        break;
    default:
        break;
    }
    return server;
}

static uintptr_t pass_malloc(unsigned node, size_t size, int flags)
{
    bool is_passed = sp_plugin_is_active() && !sp_node_is_host(node);
    uintptr_t address;

    if (sp_real.malloc_on_node_flags == NULL)
        return 0;
    if (is_passed)
        sp_node_note_passed(node);
    address = sp_real.malloc_on_node_flags(node, size, flags);
    if (is_passed && address != 0 && sp_taskgraph_is_on())
        sp_taskgraph_note_alloc(node, size, SP_DOOR_INTERPOSER, (void *)address);
    return address;
}

static enum starpool_status serve(const struct server *server, unsigned node, size_t size,
                                  void **ptr_out)
{
    enum starpool_status status;

    if (SP_LIKELY(server->is_host))
        return sp_node_alloc(node, size, SP_DOOR_INTERPOSER, ptr_out);
    sp_node_note_cuda(node, server->device);
    status = sp_cuda_alloc(node, server->pool, size, ptr_out);
    if (status == STARPOOL_OK && SP_UNLIKELY(sp_taskgraph_is_on()))
        sp_taskgraph_note_alloc(node, size, SP_DOOR_INTERPOSER, *ptr_out);
    return status;
}

static uintptr_t door_malloc(unsigned node, size_t size, int flags)
{
    bool is_counted = ((unsigned)flags & STARPU_MALLOC_COUNT) != 0;
    struct server server = find_server(node);
    void *ptr;

    if (!server.is_host && server.pool == NULL)
        return pass_malloc(node, size, flags);
    if (is_counted && sp_real.memory_allocate(node, size, flags) != 0)
        return 0;
    if (serve(&server, node, size, &ptr) == STARPOOL_OK)
        return (uintptr_t)ptr;
    /* StarPU 1.3 and 1.4 lose these bytes when their own allocation fails. */
    if (is_counted)
        sp_real.memory_deallocate(node, size);
    errno = ENOMEM;
    return 0;
}

static enum sp_free_result give(unsigned node, void *ptr)
{
    enum sp_free_result result;

    if (SP_UNLIKELY(sp_codelet_check_is_on()))
        sp_codelet_check_freed(node, ptr);
    result = sp_taskgraph_free(ptr);
    return SP_UNLIKELY(result == SP_FREE_FOREIGN) ? sp_cuda_free(ptr) : result;
}

static void door_free(unsigned node, uintptr_t address, size_t size, int flags)
{
    enum sp_free_result result = SP_FREE_FOREIGN;

    if (SP_UNLIKELY(!sp_plugin_is_active()))
        sp_plugin_wake();
    /* Whatever the node: StarPU may have numbered its nodes anew since. What the drivers of
     * CUDA and OpenCL hand out never has an address of ours. */
    if (sp_plugin_is_active() && address != 0)
        result = give(node, (void *)address);
    switch (result) {
    case SP_FREED:
        sp_counters_add_quick(node, SP_FREES_INTERPOSER, 1);
        if (((unsigned)flags & STARPU_MALLOC_COUNT) != 0)
            sp_real.memory_deallocate(node, size);
        return;
    case SP_FREE_WRONG:
        return;
    case SP_FREE_FOREIGN:
        break;
    }
    if (sp_real.free_on_node_flags != NULL)
        sp_real.free_on_node_flags(node, address, size, flags);
}

static void door_set_hooks(starpu_malloc_hook malloc_hook, starpu_free_hook free_hook)
{
    if (!sp_plugin_is_active())
        sp_plugin_wake();
    if (!sp_plugin_is_active()) {
        if (sp_real.malloc_set_hooks != NULL)
            sp_real.malloc_set_hooks(malloc_hook, free_hook);
        return;
    }
    /* The same care as in sp_doors_open(). */
    if (malloc_hook == NULL)
        atomic_store(&doors.app_malloc, NULL);
    atomic_store(&doors.app_free, free_hook);
    atomic_store(&doors.app_malloc, malloc_hook);
    if (malloc_hook != NULL && !atomic_exchange(&doors.has_told, true))
        sp_log(SP_LOG_WARN, "the program has set malloc hooks of its own: they serve StarPU's "
                            "host memory, starpool only takes back what it has given out");
}

static void door_set_align(size_t align)
{
    if (!sp_plugin_is_active())
        sp_plugin_wake();
    sp_node_set_align(align);
    if (sp_real.malloc_set_align != NULL)
        sp_real.malloc_set_align(align);
}

static int door_init(struct starpu_conf *conf)
{
    sp_plugin_note_init();
    return sp_real.init == NULL ? -ENODEV : sp_real.init(conf);
}

static int door_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
    sp_plugin_note_init();
    return sp_real.initialize == NULL ? -ENODEV : sp_real.initialize(conf, argc, argv);
}

/* The public names stand for the functions above: inside the plugin they would mean libstarpu's
 * own wherever that comes first, which is just where the addresses are needed. */
#define STANDS_FOR(function) STARPOOL_API __attribute__((alias(#function)))

STANDS_FOR(door_malloc) uintptr_t starpu_malloc_on_node_flags(unsigned, size_t, int);
STANDS_FOR(door_free) void starpu_free_on_node_flags(unsigned, uintptr_t, size_t, int);
STANDS_FOR(door_set_hooks) void starpu_malloc_set_hooks(starpu_malloc_hook, starpu_free_hook);
STANDS_FOR(door_set_align) void starpu_malloc_set_align(size_t);
STANDS_FOR(door_init) int starpu_init(struct starpu_conf *);
STANDS_FOR(door_initialize) int starpu_initialize(struct starpu_conf *, int *, char ***);

static const struct sp_got_patch patches[] = {
    {"starpu_malloc_on_node_flags", (void *)(uintptr_t)door_malloc},
    {"starpu_free_on_node_flags", (void *)(uintptr_t)door_free},
    {"starpu_malloc_set_hooks", (void *)(uintptr_t)door_set_hooks},
    {"starpu_malloc_set_align", (void *)(uintptr_t)door_set_align},
    {"starpu_init", (void *)(uintptr_t)door_init},
    {"starpu_initialize", (void *)(uintptr_t)door_initialize},
};

const struct sp_got_patch *sp_doors_patches(size_t *n_out)
{
    *n_out = SP_ARRAY_SIZE(patches);
    return patches;
}
