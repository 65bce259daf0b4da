/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which of the two heaps serves a size, moves spans between them, and keeps the address
 * map in step. */
#include "config.h"

#include "src/heap/store.h"

#include <pthread.h>

#include "src/util/meta.h"
#include "src/util/util.h"

/* A take may split a span off the large heap and cut two pieces in each heap. */
#define MIN_RECORDS   (2 * SP_HEAP_TAKE_RECORDS + 1)
#define STOCK_RECORDS 60

struct sp_store_span {
    struct sp_span map; /* first: the address map keeps its address */
    struct sp_region region;
    struct sp_range *backing;   /* the block of the large heap that it is */
    struct sp_store_span *next; /* spare ones */
};

struct sp_stock {
    struct sp_stock *next; /* of the store, or used ones */
    struct sp_range large[STOCK_RECORDS];
    struct sp_range small[STOCK_RECORDS];
    struct sp_store_span span;
};

/* Stocks of stores that are no more. They stay stocks, since a free of a wrong address may be
 * looking at one of their records. */
static struct {
    pthread_mutex_t mutex;
    struct sp_stock *used;
} stocks = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void sp_store_init(struct sp_store *store, void *holder)
{
    *store = (struct sp_store){.holder = holder};
    sp_heap_init(&store->large, SP_PAGE);
    sp_heap_init(&store->small, SP_SMALL_UNIT);
}

bool sp_store_is_stocked(const struct sp_store *store)
{
    return store->large.n_spares >= MIN_RECORDS && store->small.n_spares >= MIN_RECORDS &&
           store->n_spare_spans > 0;
}

struct sp_stock *sp_stock_make(void)
{
    struct sp_stock *stock;

    pthread_mutex_lock(&stocks.mutex);
    stock = stocks.used;
    if (stock != NULL)
        stocks.used = stock->next;
    pthread_mutex_unlock(&stocks.mutex);
    return stock != NULL ? stock : sp_meta_alloc(sizeof(*stock));
}

void sp_store_fini(struct sp_store *store)
{
    struct sp_stock *stock;

    SP_ASSERT(store->large.regions == NULL && store->small.regions == NULL);
    pthread_mutex_lock(&stocks.mutex);
    while ((stock = store->stocks) != NULL) {
        store->stocks = stock->next;
        stock->next = stocks.used;
        stocks.used = stock;
    }
    pthread_mutex_unlock(&stocks.mutex);
}

void sp_stock_freeze(void)
{
    pthread_mutex_lock(&stocks.mutex);
}

void sp_stock_thaw(void)
{
    pthread_mutex_unlock(&stocks.mutex);
}

static void put_spare_span(struct sp_store *store, struct sp_store_span *span)
{
    span->next = store->spare_spans;
    store->spare_spans = span;
    store->n_spare_spans++;
}

void sp_store_put_stock(struct sp_store *store, struct sp_stock *stock)
{
    sp_heap_donate(&store->large, stock->large, STOCK_RECORDS);
    sp_heap_donate(&store->small, stock->small, STOCK_RECORDS);
    put_spare_span(store, &stock->span);
    stock->next = store->stocks;
    store->stocks = stock;
}

void sp_store_add(struct sp_store *store, struct sp_region *region, uintptr_t base, size_t size)
{
    sp_heap_add(&store->large, region, base, size);
}

bool sp_store_cut(struct sp_store *store, struct sp_region *region, uintptr_t base, size_t size)
{
    return sp_heap_cut(&store->large, region, base, size);
}

size_t sp_store_tail(const struct sp_region *region, uintptr_t address)
{
    const struct sp_range *range = region->last;

    while (range != NULL && range->start >= address)
        range = range->prev;
    if (range == NULL || range->start + range->size != address ||
        sp_range_state(range) != SP_RANGE_FREE)
        return 0;
    return range->size;
}

static struct sp_store_span *span_of(struct sp_region *region)
{
    return SP_CONTAINER_OF(region, struct sp_store_span, region);
}

/* True if no block of a span's region is out. */
static bool is_idle(const struct sp_region *region)
{
    return region->first != NULL && region->first == region->last &&
           sp_range_state(region->first) == SP_RANGE_FREE;
}

static bool add_span(struct sp_store *store)
{
    struct sp_range *backing = sp_heap_take(&store->large, SP_SPAN_SIZE, SP_PAGE);
    struct sp_store_span *span = store->spare_spans;

    if (backing == NULL)
        return false;
    store->spare_spans = span->next;
    store->n_spare_spans--;
    atomic_store_explicit(&span->map.base, backing->start, memory_order_relaxed);
    span->backing = backing;
    sp_heap_attach(&store->small, &span->region);
    sp_heap_add(&store->small, &span->region, backing->start, SP_SPAN_SIZE);
    sp_addrmap_set_span(backing->start, &span->map);
    store->span_bytes += SP_SPAN_SIZE;
    store->n_idle_spans++;
    return true;
}

static void drop_span(struct sp_store *store, struct sp_store_span *span)
{
    SP_ASSERT(sp_heap_cut(&store->small, &span->region, span->map.base, SP_SPAN_SIZE));
    sp_heap_detach(&store->small, &span->region);
    sp_addrmap_set_span(span->map.base, NULL);
    sp_heap_give(&store->large, span->backing);
    store->span_bytes -= SP_SPAN_SIZE;
    store->n_idle_spans--;
    put_spare_span(store, span);
}

static struct sp_range *take_small(struct sp_store *store, size_t size, size_t align)
{
    struct sp_range *range = sp_heap_take(&store->small, size, align);
    size_t others;

    if (range == NULL && add_span(store))
        range = sp_heap_take(&store->small, size, align);
    if (range == NULL)
        return NULL;
    /* The span was idle if everything beside this block is free. */
    others = SP_SPAN_SIZE - size;
    if (range->prev != NULL && range->prev->prev == NULL &&
        sp_range_state(range->prev) == SP_RANGE_FREE)
        others -= range->prev->size;
    if (range->next != NULL && range->next->next == NULL &&
        sp_range_state(range->next) == SP_RANGE_FREE)
        others -= range->next->size;
    store->n_idle_spans -= others == 0;
    return range;
}

/* Make a block known by its address, or (with NULL) forget what begins there. */
static void map_block(struct sp_store *store, const struct sp_region *region, uintptr_t start,
                      struct sp_range *range)
{
    if (region->heap == &store->large)
        sp_addrmap_set(start, range);
    else
        sp_span_set(&span_of((struct sp_region *)region)->map, start, range);
}

/* Make a range a block of the store; NULL is nothing. */
static struct sp_range *hand_out(struct sp_store *store, struct sp_range *range)
{
    if (range == NULL)
        return NULL;
    sp_range_set_holder(range, store->holder);
    range->slot = (uint8_t)store->slot;
    range->tag =
        range->size > SP_CLASS_MAX_SIZE ? SP_NO_CLASS : (uint8_t)sp_size_class(range->size);
    map_block(store, range->region, range->start, range);
    store->used_bytes += range->size;
    if (store->used_bytes > store->used_high_bytes)
        store->used_high_bytes = store->used_bytes;
    return range;
}

struct sp_range *sp_store_take(struct sp_store *store, size_t size, size_t align)
{
    if (size < SP_SMALL_LIMIT && align <= SP_PAGE)
        return hand_out(store, take_small(store, size, sp_max(align, SP_SMALL_UNIT)));
    size = sp_round_up(size, SP_PAGE);
    return hand_out(store, sp_heap_take(&store->large, size, sp_max(align, SP_PAGE)));
}

struct sp_range *sp_store_take_pages(struct sp_store *store, size_t size)
{
    return hand_out(store, sp_heap_take(&store->large, sp_round_up(size, SP_PAGE), SP_PAGE));
}

void sp_store_be_thorough(struct sp_store *store, bool is_thorough)
{
    store->large.is_thorough = store->small.is_thorough = is_thorough;
}

void sp_store_give(struct sp_store *store, struct sp_range *range)
{
    struct sp_region *region = range->region;

    store->used_bytes -= range->size;
    map_block(store, region, range->start, NULL);
    if (region->heap == &store->large) {
        sp_heap_give(&store->large, range);
        return;
    }
    sp_heap_give(&store->small, range);
    if (is_idle(region)) {
        store->n_idle_spans++;
        /* One idle span is kept, so that a lone block that comes and goes moves none. */
        if (store->n_idle_spans > 1)
            drop_span(store, span_of(region));
    }
}

void sp_store_drop_idle_spans(struct sp_store *store)
{
    struct sp_region *next;

    for (struct sp_region *region = store->small.regions;
         region != NULL && store->n_idle_spans > 0; region = next) {
        next = region->next;
        if (is_idle(region))
            drop_span(store, span_of(region));
    }
}

/* The first range of a region that is not free. */
static struct sp_range *first_out(const struct sp_region *region)
{
    struct sp_range *range = region->first;

    while (range != NULL && sp_range_state(range) == SP_RANGE_FREE)
        range = range->next;
    return range;
}

void sp_store_clear(struct sp_store *store, struct sp_region *region,
                    void (*see)(const struct sp_range *range, void *arg), void *arg)
{
    struct sp_region *next;
    struct sp_range *range;

    for (struct sp_region *small = store->small.regions; small != NULL; small = next) {
        next = small->next;
        if (span_of(small)->backing->region != region)
            continue;
        while (small->heap != NULL && (range = first_out(small)) != NULL) {
            see(range, arg);
            sp_store_give(store, range);
        }
    }
    sp_store_drop_idle_spans(store);
    while ((range = first_out(region)) != NULL) {
        see(range, arg);
        sp_store_give(store, range);
    }
}

static bool spans_are_valid(const struct sp_store *store)
{
    size_t n = 0, n_idle = 0;

    for (struct sp_region *g = store->small.regions; g != NULL; g = g->next) {
        const struct sp_store_span *span = span_of(g);

        if (span->backing->start != span->map.base || span->backing->size != SP_SPAN_SIZE)
            return false;
        n++;
        n_idle += is_idle(g);
    }
    return n * SP_SPAN_SIZE == store->span_bytes && n_idle == store->n_idle_spans;
}

static bool map_is_valid(const struct sp_heap *heap, bool has_spans)
{
    for (const struct sp_region *g = heap->regions; g != NULL; g = g->next) {
        for (struct sp_range *r = g->first; r != NULL; r = r->next) {
            bool is_out = sp_range_state(r) != SP_RANGE_FREE;
            struct sp_range *found = sp_addrmap_find(r->start).range;

            /* A span's first block, if there is one, stands at the address of its backing. */
            if (has_spans && is_out && r->size == SP_SPAN_SIZE && found != r)
                continue;
            /* What the holder has made a chunk of is no block to the address map. */
            if (is_out && sp_addrmap_chunk(r->start) != NULL)
                continue;
            if (found != (is_out ? r : NULL))
                return false;
        }
    }
    return true;
}

bool sp_store_is_valid(const struct sp_store *store)
{
    return sp_heap_is_valid(&store->large) && sp_heap_is_valid(&store->small) &&
           spans_are_valid(store) && map_is_valid(&store->large, true) &&
           map_is_valid(&store->small, false) &&
           store->used_bytes ==
               store->large.used_bytes - store->span_bytes + store->small.used_bytes &&
           store->used_bytes <= store->used_high_bytes;
}
