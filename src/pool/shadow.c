/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine with nothing behind it: chunks are made of addresses that nobody has, as large as
 * the driver's are. */
#include "config.h"

#include "src/pool/shadow.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "src/heap/addrmap.h"
#include "src/heap/reuse.h"
#include "src/util/util.h"

/* What the driver's pools round sizes to, and grow by, where it has been seen (rules ATTR-12,
 * ATTR-15). */
#define UNIT       512
#define CHUNK_SIZE (32 * SP_MIB)

/* Where the first chunk is. Chunks that go leave their addresses unused. */
#define FIRST_ADDRESS ((uintptr_t)1 << 32)

static const struct sp_point by_host = {SP_SLOT_HOST, 0};

struct sp_shadow {
    struct sp_order order; /* without streams */
    struct sp_reuse *reuse;
    struct sp_shadow_food *eaten; /* all that it was fed, until it goes */
    struct sp_shadow_food *spare; /* whose chunk is not in use */
    uintptr_t next_address;
};

/* A chunk's record, and memory for the engine, if that wants any. */
struct sp_shadow_food {
    struct sp_chunk chunk; /* first */
    struct sp_shadow_food *next, *next_spare;
    void *memory;
    size_t size;
};

/* ---- memory ------------------------------------------------------------------------------ */

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *memory, size_t size)
{
    (void)munmap(memory, size);
}

static size_t engine_size(void)
{
    return sp_round_up(sp_reuse_size(), SP_PAGE);
}

struct sp_shadow *sp_shadow_create(void)
{
    struct sp_shadow *shadow = calloc(1, sizeof(*shadow));
    void *memory = shadow == NULL ? NULL : map(engine_size());

    if (memory == NULL) {
        free(shadow);
        return NULL;
    }
    sp_order_init(&shadow->order);
    shadow->reuse = sp_reuse_init(memory, &shadow->order, UNIT);
    shadow->next_address = FIRST_ADDRESS;
    return shadow;
}

static void put_spare(struct sp_shadow *shadow, struct sp_shadow_food *food)
{
    food->next_spare = shadow->spare;
    shadow->spare = food;
}

void sp_shadow_destroy(struct sp_shadow *shadow)
{
    struct sp_shadow_food *food;

    if (shadow == NULL)
        return;
    sp_reuse_fini(shadow->reuse, unmap);
    unmap(shadow->reuse, engine_size());
    while ((food = shadow->eaten) != NULL) {
        shadow->eaten = food->next;
        free(food);
    }
    sp_order_fini(&shadow->order);
    free(shadow);
}

bool sp_shadow_is_hungry(const struct sp_shadow *shadow, size_t *size_out)
{
    *size_out = sp_round_up(sp_reuse_wants(shadow->reuse), SP_PAGE);
    return *size_out != 0 || shadow->spare == NULL;
}

struct sp_shadow_food *sp_shadow_make_food(size_t size)
{
    struct sp_shadow_food *food = calloc(1, sizeof(*food));

    if (food == NULL)
        return NULL;
    food->size = size;
    food->memory = size == 0 ? NULL : map(size);
    if (food->memory != NULL || size == 0)
        return food;
    free(food);
    return NULL;
}

void sp_shadow_feed(struct sp_shadow *shadow, struct sp_shadow_food *food)
{
    if (food->size != 0)
        sp_reuse_feed(shadow->reuse, food->memory, food->size);
    food->next = shadow->eaten;
    shadow->eaten = food;
    put_spare(shadow, food);
}

void sp_shadow_discard(struct sp_shadow_food *food)
{
    if (food != NULL && food->size != 0)
        unmap(food->memory, food->size);
    free(food);
}

/* ---- mirroring --------------------------------------------------------------------------- */

static void add_chunk(struct sp_shadow *shadow, size_t size)
{
    struct sp_shadow_food *food = shadow->spare;

    shadow->spare = food->next_spare;
    food->chunk = (struct sp_chunk){
        .base = shadow->next_address,
        .size = sp_round_up(size, CHUNK_SIZE),
    };
    shadow->next_address += food->chunk.size;
    sp_reuse_add_chunk(shadow->reuse, &food->chunk);
}

bool sp_shadow_take(struct sp_shadow *shadow, size_t size, uintptr_t *place_out)
{
    struct sp_reuse_block block;
    struct sp_edge edge;
    size_t wanted;

    if (sp_shadow_is_hungry(shadow, &wanted))
        return false;
    if (!sp_reuse_take(shadow->reuse, size, by_host, &block, &edge)) {
        add_chunk(shadow, size);
        if (sp_reuse_wants(shadow->reuse) != 0 ||
            !sp_reuse_take(shadow->reuse, size, by_host, &block, &edge))
            return false;
    }
    *place_out = block.start;
    return true;
}

void sp_shadow_give(struct sp_shadow *shadow, uintptr_t place)
{
    SP_ASSERT(sp_reuse_give(shadow->reuse, place, by_host) == STARPOOL_OK);
}

void sp_shadow_trim(struct sp_shadow *shadow, uint64_t keep)
{
    struct sp_chunk *chunk;

    while ((chunk = sp_reuse_remove_chunk(shadow->reuse, keep)) != NULL)
        put_spare(shadow, SP_CONTAINER_OF(chunk, struct sp_shadow_food, chunk));
}

/* ---- questions --------------------------------------------------------------------------- */

size_t sp_shadow_largest(struct sp_shadow *shadow)
{
    return sp_reuse_largest(shadow->reuse);
}

uint64_t sp_shadow_used_bytes(const struct sp_shadow *shadow)
{
    struct sp_reuse_stats stats;

    sp_reuse_stats(shadow->reuse, &stats);
    return stats.used_bytes;
}

uint64_t sp_shadow_reserved_bytes(const struct sp_shadow *shadow)
{
    struct sp_reuse_stats stats;

    sp_reuse_stats(shadow->reuse, &stats);
    return stats.reserved_bytes;
}
