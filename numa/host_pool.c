/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places segments side by side in reserved stretches of addresses (windows), so that blocks can
 * span segments that came one after another. Whether a node has room is segment.c's business;
 * strict or spill is decided here. */
#include "config.h"

#include "numa/host_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "numa/segment.h"
#include "numa/topo.h"
#include "src/heap/addrmap.h"
#include "src/util/meta.h"
#include "src/util/util.h"

/* Segments begin at multiples of a huge page. */
#define GRANULE (2 * SP_MIB)

/* Addresses are plentiful, unless they are limited: a window is halved until it fits. */
#define WINDOW_SIZE (64 * SP_GIB)

/* Records for a window's own heap of addresses, at first and at a time. */
#define WINDOW_RECORDS 8

struct host_segment {
    struct sp_piece piece; /* first */
    struct sp_segment segment;
    struct sp_range *place; /* in the window's heap */
    struct window *window;
    struct host_segment *next_spare;
};

/* A stretch of reserved addresses; `places` says which of them segments have. */
struct window {
    uintptr_t base;
    size_t size;
    struct sp_region region; /* the pool's blocks here */
    struct sp_heap places;
    struct sp_range first_records[WINDOW_RECORDS];
    struct sp_region places_region;
    size_t n_segments;
    bool is_dropped; /* the pool is forgetting it */
    struct window *next;
};

/* Guarded by the pool's growth lock. */
struct host_pool {
    struct sp_backing backing; /* first */
    struct sp_placement placement;
    bool can_spill;
    struct window *windows;
};

static struct host_pool *host_of(struct sp_backing *backing)
{
    return SP_CONTAINER_OF(backing, struct host_pool, backing);
}

static size_t granularity(const struct sp_backing *backing)
{
    (void)backing;
    return GRANULE;
}

/* ---- windows ------------------------------------------------------------------------- */

static bool stock_places(struct window *window)
{
    struct sp_range *records;

    if (window->places.n_spares > SP_HEAP_TAKE_RECORDS)
        return true;
    records = sp_meta_alloc(WINDOW_RECORDS * sizeof(*records));
    if (records == NULL)
        return false;
    sp_heap_donate(&window->places, records, WINDOW_RECORDS);
    return true;
}

/* Under a limit on addresses a reservation counts in full, so nothing is reserved ahead. */
static bool addresses_are_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static struct window *open_window(struct host_pool *host, size_t size)
{
    size_t wanted = addresses_are_limited() ? size : sp_max(size, WINDOW_SIZE);
    struct window *window = aligned_alloc(_Alignof(struct window), sizeof(*window));
    void *base;

    if (window == NULL)
        return NULL;
    memset(window, 0, sizeof(*window));
    sp_heap_init(&window->places, GRANULE);
    sp_heap_donate(&window->places, window->first_records, WINDOW_RECORDS);
    while (sp_reserve(wanted, GRANULE, &base) != STARPOOL_OK) {
        if (wanted == size) {
            free(window);
            return NULL;
        }
        wanted = sp_max(size, sp_round_down(wanted / 2, GRANULE));
    }
    window->base = (uintptr_t)base;
    window->size = wanted;
    sp_heap_attach(&window->places, &window->places_region);
    sp_heap_add(&window->places, &window->places_region, window->base, wanted);
    window->next = host->windows;
    host->windows = window;
    return window;
}

static void close_window(struct host_pool *host, struct window *window)
{
    struct window **link = &host->windows;

    while (*link != window)
        link = &(*link)->next;
    *link = window->next;
    /* What could not be reserved again after a segment went is no longer ours. */
    for (struct sp_range *r = window->places_region.first; r != NULL; r = r->next) {
        if (sp_range_state(r) == SP_RANGE_FREE)
            sp_unreserve((void *)r->start, r->size);
    }
    free(window);
}

/* The window that would hold a segment of `size` bytes, and where. */
static struct window *find_place(struct host_pool *host, size_t size,
                                 struct sp_range **place_out)
{
    for (struct window *window = host->windows; window != NULL; window = window->next) {
        if (window->is_dropped || !stock_places(window))
            continue;
        *place_out = sp_heap_take(&window->places, size, GRANULE);
        if (*place_out != NULL)
            return window;
    }
    return NULL;
}

static bool next_piece(struct sp_backing *backing, size_t size, struct sp_region **region_out,
                       uintptr_t *base_out)
{
    struct sp_range *place;
    struct window *window = find_place(host_of(backing), sp_round_up(size, GRANULE), &place);

    if (window == NULL)
        return false;
    *region_out = &window->region;
    *base_out = place->start;
    sp_heap_give(&window->places, place);
    return true;
}

/* ---- segments ------------------------------------------------------------------------ */

/* The room is asked before the address map is extended: that costs memory as well, in
 * proportion to a size that may be absurd. */
static enum starpool_status open_segment(struct host_pool *host, struct host_segment *segment,
                                         size_t size)
{
    void *base = (void *)segment->place->start;
    struct sp_placement placement = host->placement;
    enum starpool_status status;

    status = sp_segment_open(base, size, &placement, &segment->segment);
    if (status == STARPOOL_ENODE && host->can_spill) {
        placement.is_strict = false;
        status = sp_segment_open(base, size, &placement, &segment->segment);
    }
    if (status != STARPOOL_OK)
        return status;
    status = sp_addrmap_cover(segment->place->start, size);
    if (status != STARPOOL_OK)
        sp_segment_abandon(&segment->segment);
    return status;
}

static void note_pinning(struct host_segment *segment)
{
    const struct sp_segment *s = &segment->segment;
    struct sp_piece *piece = &segment->piece;

    piece->registered_bytes = s->is_pinned ? piece->size : 0;
    piece->unregistered_bytes = s->pin != NULL && !s->is_pinned ? piece->size : 0;
}

static void fill_piece(struct host_segment *segment, size_t size)
{
    const struct sp_segment *s = &segment->segment;

    segment->piece = (struct sp_piece){
        .base = segment->place->start,
        .size = size,
        .region = &segment->window->region,
        .locked_bytes = s->is_locked ? size : 0,
        .huge_bytes = s->huge_bytes,
        .fallback_bytes = s->fallback_bytes,
        .spilled_bytes = s->spilled_bytes,
        .is_bound = s->is_bound,
    };
    note_pinning(segment);
}

static void renew(struct sp_backing *backing, struct sp_piece *piece, int device)
{
    struct host_segment *segment = SP_CONTAINER_OF(piece, struct host_segment, piece);

    (void)backing;
    sp_segment_renew(&segment->segment, device);
    note_pinning(segment);
}

static enum starpool_status grow(struct sp_backing *backing, size_t size,
                                 struct sp_piece **piece_out)
{
    struct host_pool *host = host_of(backing);
    size_t extent = sp_round_up(size, GRANULE);
    struct host_segment *segment;
    enum starpool_status status;

    if (extent == 0)
        return STARPOOL_ENOMEM;
    segment = calloc(1, sizeof(*segment));
    if (segment == NULL)
        return STARPOOL_ENOMEM;
    segment->window = find_place(host, extent, &segment->place);
    if (segment->window == NULL && open_window(host, extent) != NULL)
        segment->window = find_place(host, extent, &segment->place);
    if (segment->window == NULL) {
        free(segment);
        return STARPOOL_ENOMEM;
    }
    status = open_segment(host, segment, size);
    if (status != STARPOOL_OK) {
        sp_heap_give(&segment->window->places, segment->place);
        if (segment->window->n_segments == 0)
            close_window(host, segment->window);
        free(segment);
        return status;
    }
    segment->window->n_segments++;
    fill_piece(segment, size);
    *piece_out = &segment->piece;
    return STARPOOL_OK;
}

static bool shrink(struct sp_backing *backing, struct sp_piece *piece,
                   struct sp_region **region_out)
{
    struct host_segment *segment = SP_CONTAINER_OF(piece, struct host_segment, piece);
    struct window *window = segment->window;

    (void)backing;
    sp_addrmap_uncover(piece->base, piece->size);
    if (!sp_segment_close(&segment->segment)) {
        /* Covered before, so that it cannot fail. */
        SP_ASSERT(sp_addrmap_cover(piece->base, piece->size) == STARPOOL_OK);
        note_pinning(segment);
        return false;
    }
    /* Between the two calls another thread may have mapped something here: then these addresses
     * are lost to us, and the place stays taken for ever. */
    if (sp_reserve_at((void *)piece->base, piece->size))
        sp_heap_give(&window->places, segment->place);
    free(segment);
    window->n_segments--;
    window->is_dropped = window->n_segments == 0;
    *region_out = window->is_dropped ? &window->region : NULL;
    return true;
}

static void drop_region(struct sp_backing *backing, struct sp_region *region)
{
    close_window(host_of(backing), SP_CONTAINER_OF(region, struct window, region));
}

static void destroy(struct sp_backing *backing)
{
    free(host_of(backing));
}

static const struct sp_backing_ops host_ops = {
    .granularity = granularity,
    .next_piece = next_piece,
    .grow = grow,
    .shrink = shrink,
    .drop_region = drop_region,
    .destroy = destroy,
    .renew = renew,
};

enum starpool_status sp_host_backing_create(int node, const struct starpool_pool_config *config,
                                            struct sp_backing **backing_out)
{
    const struct sp_topo *topo;
    const struct starpool_node *found;
    struct host_pool *host;
    enum starpool_status status = sp_topo_get(&topo);

    if (status != STARPOOL_OK)
        return status;
    found = node < 0 ? NULL : sp_topo_find(topo, node);
    if (node >= 0 && (found == NULL || !found->is_allowed))
        return STARPOOL_EDEVICE;
    host = calloc(1, sizeof(*host));
    if (host == NULL)
        return STARPOOL_ENOMEM;
    host->backing.ops = &host_ops;
    host->placement = (struct sp_placement){
        .node = node,
        .is_strict = true,
        .huge = config->huge,
        .is_locked = config->is_locked,
        .must_be_pinned = config->placement == STARPOOL_STRICT,
    };
    host->can_spill = config->placement == STARPOOL_SPILL;
    *backing_out = &host->backing;
    return STARPOOL_OK;
}

void sp_host_backing_pin(struct sp_backing *backing, const struct sp_pin_ops *pin)
{
    host_of(backing)->placement.pin = pin;
}
