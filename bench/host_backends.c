/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The allocators that bench/host_cycle compares. The rivals are looked up at run time, so that
 * none is needed to build, and each keeps its own symbols to itself: the program's malloc stays
 * glibc's. */
#include "config.h"

#include "bench/host_backends.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "starpool.h"

/* Filled by the open functions, before any thread starts; read only afterwards. */
static struct {
    struct starpool_pool *pool;
    void *(*mimalloc_alloc)(size_t size);
    void (*mimalloc_free)(void *ptr);
    void (*mimalloc_collect)(bool force);
    void *(*jemalloc_alloc)(size_t size);
    void (*jemalloc_free)(void *ptr);
    int (*jemalloc_ctl)(const char *name, void *old, size_t *old_size, void *new,
                        size_t new_size);
    int (*starpu_malloc)(void **ptr_out, size_t size);
    int (*starpu_free)(void *ptr, size_t size, int flags);
    hwloc_topology_t topology;
} opened;

/* A symbol of a library, as whatever function pointer it is stored into: ISO C has no cast from
 * an object pointer to a function pointer. False if there is none. */
static bool look_up(void *library, const char *symbol, void *function_out)
{
    void *address = dlsym(library, symbol);

    *(void **)function_out = address;
    return address != NULL;
}

/* ---- starpool, through the shared library ------------------------------------------------ */

static const char *starpool_open(void)
{
    struct starpool_pool_config config;
    enum starpool_status status;

    starpool_pool_config_init(&config);
    config.name = "bench";
    status = starpool_pool_create(&config, &opened.pool);
    return status == STARPOOL_OK ? NULL : starpool_status_text(status);
}

static void *pool_alloc(size_t size)
{
    void *ptr;

    if (starpool_alloc(opened.pool, size, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_OK)
        return NULL;
    return ptr;
}

static void pool_free(void *ptr, size_t size)
{
    (void)size;
    starpool_free(ptr, STARPOOL_STREAM_HOST);
}

static void pool_pairs(size_t size, unsigned n)
{
    struct starpool_pool *pool = opened.pool;
    void *ptr;

    for (unsigned i = 0; i < n; i++) {
        if (starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &ptr) == STARPOOL_OK)
            starpool_free(ptr, STARPOOL_STREAM_HOST);
    }
}

static void pool_trim(void)
{
    starpool_pool_trim(opened.pool, 0);
}

const struct sp_backend sp_backend_starpool = {
    .name = "starpool",
    .open = starpool_open,
    .alloc = pool_alloc,
    .free = pool_free,
    .pairs = pool_pairs,
    .trim = pool_trim,
};

/* ---- glibc ------------------------------------------------------------------------------- */

static const char *glibc_open(void)
{
    return NULL;
}

static void *glibc_alloc(size_t size)
{
    return malloc(size);
}

static void glibc_free(void *ptr, size_t size)
{
    (void)size;
    free(ptr);
}

static void glibc_trim(void)
{
    malloc_trim(0);
}

const struct sp_backend sp_backend_glibc = {
    .name = "glibc",
    .open = glibc_open,
    .alloc = glibc_alloc,
    .free = glibc_free,
    .trim = glibc_trim,
};

/* ---- mimalloc, told to keep its memory ----------------------------------------------- */

static const char *mimalloc_open(void)
{
    void *library;

    /* It reads these when it is loaded: the first two up to 2.0, the last from 2.1 on. */
    setenv("MIMALLOC_ALLOW_DECOMMIT", "0", 0);
    setenv("MIMALLOC_PAGE_RESET", "0", 0);
    setenv("MIMALLOC_PURGE_DELAY", "-1", 0);
    library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return dlerror();
    if (!look_up(library, "mi_malloc", &opened.mimalloc_alloc) ||
        !look_up(library, "mi_free", &opened.mimalloc_free) ||
        !look_up(library, "mi_collect", &opened.mimalloc_collect))
        return "it has no mi_malloc, mi_free or mi_collect";
    return NULL;
}

static void *mimalloc_alloc(size_t size)
{
    return opened.mimalloc_alloc(size);
}

static void mimalloc_free(void *ptr, size_t size)
{
    (void)size;
    opened.mimalloc_free(ptr);
}

static void mimalloc_trim(void)
{
    opened.mimalloc_collect(true);
}

const struct sp_backend sp_backend_mimalloc = {
    .name = "mimalloc",
    .open = mimalloc_open,
    .alloc = mimalloc_alloc,
    .free = mimalloc_free,
    .trim = mimalloc_trim,
};

/* ---- jemalloc ---------------------------------------------------------------------------- */

static const char *jemalloc_open(void)
{
    void *library = dlopen("libjemalloc.so.2", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return dlerror();
    if (!look_up(library, "malloc", &opened.jemalloc_alloc) ||
        !look_up(library, "free", &opened.jemalloc_free) ||
        !look_up(library, "mallctl", &opened.jemalloc_ctl))
        return "it has no malloc, free or mallctl";
    return NULL;
}

static void *jemalloc_alloc(size_t size)
{
    return opened.jemalloc_alloc(size);
}

static void jemalloc_free(void *ptr, size_t size)
{
    (void)size;
    opened.jemalloc_free(ptr);
}

static void jemalloc_trim(void)
{
    opened.jemalloc_ctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    opened.jemalloc_ctl("arena.4096.purge", NULL, NULL, NULL, 0); /* 4096: all arenas */
}

const struct sp_backend sp_backend_jemalloc = {
    .name = "jemalloc",
    .open = jemalloc_open,
    .alloc = jemalloc_alloc,
    .free = jemalloc_free,
    .trim = jemalloc_trim,
};

/* ---- StarPU's own allocator, its workers paused -------------------------------------- */

/* StarPU under whichever of its versions' names it is installed, the newest first. */
static void *starpu_library(void)
{
    void *library = NULL;

    for (int minor = 4; library == NULL && minor >= 3; minor--) {
        for (int version = 12; library == NULL && version >= 0; version--) {
            char name[64];

            snprintf(name, sizeof(name), "libstarpu-1.%d.so.%d", minor, version);
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return library;
}

static const char *starpu_open(void)
{
    void *library = starpu_library();
    int (*init)(void *conf);
    void (*pause_workers)(void);

    if (library == NULL)
        return "no libstarpu-1.4 or libstarpu-1.3 is installed";
    if (!look_up(library, "starpu_init", &init) ||
        !look_up(library, "starpu_pause", &pause_workers) ||
        !look_up(library, "starpu_malloc", &opened.starpu_malloc) ||
        !look_up(library, "starpu_free_flags", &opened.starpu_free))
        return "it has no starpu_init, starpu_pause, starpu_malloc or starpu_free_flags";
    setenv("STARPU_NCPU", "1", 0);
    setenv("STARPU_NCUDA", "0", 0);
    setenv("STARPU_NOPENCL", "0", 0);
    setenv("STARPU_SILENT", "1", 0);
    if (init(NULL) != 0)
        return "starpu_init() failed";
    pause_workers();
    return NULL;
}

static void *starpu_alloc(size_t size)
{
    void *ptr;

    return opened.starpu_malloc(&ptr, size) == 0 ? ptr : NULL;
}

static void starpu_free_block(void *ptr, size_t size)
{
    const int pinned = 1 << 1; /* STARPU_MALLOC_PINNED, which starpu_malloc() implies */

    opened.starpu_free(ptr, size, pinned);
}

const struct sp_backend sp_backend_starpu = {
    .name = "starpu",
    .open = starpu_open,
    .alloc = starpu_alloc,
    .free = starpu_free_block,
};

/* ---- hwloc, as StarPU calls it where there are several NUMA nodes
 * ---------------------------- */

static const char *hwloc_open(void)
{
    if (hwloc_topology_init(&opened.topology) != 0)
        return "hwloc_topology_init() failed";
    return hwloc_topology_load(opened.topology) == 0 ? NULL : "hwloc_topology_load() failed";
}

static void *hwloc_block(size_t size)
{
    hwloc_obj_t node = hwloc_get_obj_by_type(opened.topology, HWLOC_OBJ_NUMANODE, 0);

    return hwloc_alloc_membind(opened.topology, size, node->nodeset, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_NOCPUBIND);
}

static void hwloc_free_block(void *ptr, size_t size)
{
    hwloc_free(opened.topology, ptr, size);
}

const struct sp_backend sp_backend_hwloc = {
    .name = "hwloc",
    .open = hwloc_open,
    .alloc = hwloc_block,
    .free = hwloc_free_block,
};

/* ---- all of them ------------------------------------------------------------------------- */

const struct sp_backend *const sp_backends[SP_N_BACKENDS] = {
    [SP_BACKEND_STARPOOL] = &sp_backend_starpool, [SP_BACKEND_LIST] = &sp_backend_list,
    [SP_BACKEND_RECYCLED] = &sp_backend_recycled, [SP_BACKEND_GLIBC] = &sp_backend_glibc,
    [SP_BACKEND_MIMALLOC] = &sp_backend_mimalloc, [SP_BACKEND_JEMALLOC] = &sp_backend_jemalloc,
    [SP_BACKEND_STARPU] = &sp_backend_starpu,     [SP_BACKEND_HWLOC] = &sp_backend_hwloc,
};

bool sp_backends_open(bool usable_out[SP_N_BACKENDS])
{
    for (int i = 0; i < SP_N_BACKENDS; i++) {
        const char *why_not = sp_backends[i]->open();

        usable_out[i] = why_not == NULL;
        if (why_not != NULL)
            printf("left out: %s: %s\n", sp_backends[i]->name, why_not);
    }
    return usable_out[SP_BACKEND_STARPOOL];
}

void sp_backends_trim(const bool usable[SP_N_BACKENDS])
{
    for (int i = 0; i < SP_N_BACKENDS; i++) {
        if (usable[i] && sp_backends[i]->trim != NULL)
            sp_backends[i]->trim();
    }
}

void sp_backends_thread_end(const bool usable[SP_N_BACKENDS])
{
    for (int i = 0; i < SP_N_BACKENDS; i++) {
        if (usable[i] && sp_backends[i]->thread_end != NULL)
            sp_backends[i]->thread_end();
    }
}

void sp_backend_pairs(const struct sp_backend *backend, size_t size, unsigned n)
{
    if (backend->pairs != NULL) {
        backend->pairs(size, n);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        void *ptr = backend->alloc(size);

        if (ptr != NULL)
            backend->free(ptr, size);
    }
}
