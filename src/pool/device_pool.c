/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gets a device's memory in slabs by cuMemAlloc(), in the device's primary context. Plain
 * memory is what peers, IPC, GPUDirect and MPI can use. A slab is a region of its own, since
 * what is two allocations to the driver must never be one block. Nothing here touches the
 * memory. */
#include "config.h"

#include "src/pool/device_pool.h"

#include <stdlib.h>

#include "numa/topo.h"
#include "src/heap/addrmap.h"
#include "src/pool/context.h"
#include "src/pool/nvtx.h"
#include "src/util/util.h"

/* What the driver maps device memory in. */
#define GRANULE (2 * SP_MIB)

/* A slab has as much as StarPU asks cudaMalloc() for at a time (CHUNK_SIZE in its
 * src/datawizard/malloc.c), or this share of what is reserved: so the number of slabs grows
 * with the logarithm of their bytes. At most so much, because growth can be in vain. */
#define SLAB_LEAST (32 * SP_MIB)
#define SLAB_MOST  (256 * SP_MIB)
#define SLAB_SHARE 4

struct slab {
    struct sp_piece piece; /* first */
    struct sp_region region;
    sp_cu_ptr memory; /* the driver's: where the piece begins, or less than a page before */
    bool is_gone;     /* with its context */
    struct sp_nvtx_heap declared;
    struct slab *next;
};

/* Guarded by the pool's growth lock. */
struct device_pool {
    struct sp_backing backing; /* first */
    const struct sp_driver *driver;
    int device;
    struct slab *slabs;
    const struct sp_hidden_stream *witness; /* goes if the slabs do; NULL: unknown */
};

static struct device_pool *device_of(const struct sp_backing *backing)
{
    return SP_CONTAINER_OF(backing, struct device_pool, backing);
}

static size_t granularity(const struct sp_backing *backing)
{
    (void)backing;
    return GRANULE;
}

static size_t generous_size(const struct sp_backing *backing, uint64_t reserved)
{
    (void)backing;
    return sp_max(SLAB_LEAST, sp_min(reserved / SLAB_SHARE, SLAB_MOST));
}

static bool next_piece(struct sp_backing *backing, size_t size, struct sp_region **region_out,
                       uintptr_t *base_out)
{
    (void)backing, (void)size, (void)region_out, (void)base_out;
    return false;
}

/* ---- getting ----------------------------------------------------------------------------- */

static enum starpool_status call_alloc(const struct device_pool *own, size_t size,
                                       sp_cu_ptr *memory_out)
{
    enum starpool_status status =
        sp_driver_status(own->driver->cuMemAlloc(memory_out, size), "cuMemAlloc");

    /* It is not the pool's user whose argument is wrong. */
    return status == STARPOOL_EINVAL ? STARPOOL_EDRIVER : status;
}

/* With a context: memory that begins at a page, as all that is large does. The driver promises
 * less: then there is one more page, of which the piece leaves out what it must. */
static enum starpool_status get_memory(const struct device_pool *own, struct slab *slab)
{
    size_t size = slab->piece.size;
    enum starpool_status status = call_alloc(own, size, &slab->memory);

    if (status == STARPOOL_OK && slab->memory % SP_PAGE != 0) {
        (void)own->driver->cuMemFree(slab->memory);
        status = call_alloc(own, size + SP_PAGE, &slab->memory);
    }
    if (status != STARPOOL_OK)
        return status;
    slab->piece.base = sp_round_up((uintptr_t)slab->memory, SP_PAGE);
    status = sp_addrmap_cover(slab->piece.base, size);
    if (status != STARPOOL_OK)
        (void)own->driver->cuMemFree(slab->memory);
    return status;
}

static enum starpool_status grow(struct sp_backing *backing, size_t size,
                                 struct sp_piece **piece_out)
{
    struct device_pool *own = device_of(backing);
    struct slab *slab = calloc(1, sizeof(*slab));
    struct sp_context context;
    enum starpool_status status = STARPOOL_ENOMEM;

    if (slab == NULL)
        return status;
    slab->piece = (struct sp_piece){.size = size, .region = &slab->region, .is_bound = true};
    status = sp_context_enter_primary(own->driver, own->device, &context);
    if (status == STARPOOL_OK) {
        status = get_memory(own, slab);
        if (status == STARPOOL_OK && (own->slabs == NULL || own->witness == NULL))
            own->witness = sp_context_witness(own->driver, own->device);
        if (status == STARPOOL_OK)
            sp_nvtx_declare_heap(&slab->declared, slab->piece.base, size);
        sp_context_leave(&context);
    }
    if (status != STARPOOL_OK) {
        free(slab);
        return status;
    }
    slab->next = own->slabs;
    own->slabs = slab;
    *piece_out = &slab->piece;
    return STARPOOL_OK;
}

/* ---- giving back ------------------------------------------------------------------------- */

/* A forked child has the parent's addresses, and none of its memory. */
static bool free_memory(const struct device_pool *own, const struct slab *slab)
{
    struct sp_context context;
    enum starpool_status status;

    if (slab->is_gone || sp_context_is_inherited())
        return true;
    status = sp_context_enter_primary(own->driver, own->device, &context);
    if (status != STARPOOL_OK)
        return false;
    status = sp_driver_status(own->driver->cuMemFree(slab->memory), "cuMemFree");
    sp_context_leave(&context);
    return status == STARPOOL_OK;
}

static bool shrink(struct sp_backing *backing, struct sp_piece *piece,
                   struct sp_region **region_out)
{
    struct slab *slab = SP_CONTAINER_OF(piece, struct slab, piece);

    sp_addrmap_uncover(piece->base, piece->size);
    sp_nvtx_withdraw_heap(&slab->declared);
    if (!free_memory(device_of(backing), slab)) {
        sp_nvtx_declare_heap(&slab->declared, piece->base, piece->size);
        /* Covered before, so that it cannot fail. */
        SP_ASSERT(sp_addrmap_cover(piece->base, piece->size) == STARPOOL_OK);
        return false;
    }
    *region_out = &slab->region;
    return true;
}

static void drop_region(struct sp_backing *backing, struct sp_region *region)
{
    struct slab *slab = SP_CONTAINER_OF(region, struct slab, region);
    struct slab **link = &device_of(backing)->slabs;

    while (*link != slab)
        link = &(*link)->next;
    *link = slab->next;
    free(slab);
}

/* ---- resets ------------------------------------------------------------------------------ */

static bool has_reset(const struct sp_backing *backing)
{
    const struct device_pool *own = device_of(backing);
    struct sp_capture_guard guard;
    bool answer;

    if (own->slabs == NULL || own->witness == NULL || sp_context_is_inherited())
        return false;
    sp_capture_guard_begin(own->driver, &guard);
    answer = !sp_hidden_stream_lives(own->driver, own->witness);
    sp_capture_guard_end(&guard);
    return answer;
}

static void forget(struct sp_backing *backing)
{
    struct device_pool *own = device_of(backing);

    for (struct slab *slab = own->slabs; slab != NULL; slab = slab->next)
        slab->is_gone = true;
    own->witness = NULL;
}

static void destroy(struct sp_backing *backing)
{
    free(device_of(backing));
}

static const struct sp_backing_ops device_ops = {
    .granularity = granularity,
    .next_piece = next_piece,
    .grow = grow,
    .shrink = shrink,
    .drop_region = drop_region,
    .destroy = destroy,
    .generous_size = generous_size,
    .has_reset = has_reset,
    .forget = forget,
};

enum starpool_status sp_device_backing_create(const struct sp_driver *driver, int device,
                                              struct sp_backing **backing_out)
{
    struct device_pool *own = calloc(1, sizeof(*own));
    const struct sp_topo *topo;

    if (own == NULL)
        return STARPOOL_ENOMEM;
    /* A driver that asks for the machine's nodes must not be the first to do so while a growth
     * waits for it: a fork holds the one still before the other. */
    (void)!sp_topo_get(&topo);
    own->backing.ops = &device_ops;
    own->driver = driver;
    own->device = device;
    *backing_out = &own->backing;
    return STARPOOL_OK;
}
