/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is mapped where: a sorted table of all memory that the model knows, and addresses for
 * it. Each device has one range of addresses of its own, the same in every run if nothing else
 * is there, so that traces can be compared. Memory of the host comes from numa/. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numa/segment.h"
#include "numa/topo_bind.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* Where device 0's addresses begin and how far the next one's are, if they are free there:
 * below where the kernel puts things, and where the thread sanitizer allows memory. */
#define FIRST_BASE    ((uintptr_t)0x7e8000000000)
#define BASE_DISTANCE ((uintptr_t)64 << 30)

/* Addresses for each byte of the device's memory: many pools reserve little each. */
#define ADDRESSES_A_BYTE 4

/* Mappings begin at multiples of the larger one if they are that large. */
#define ALIGN_SMALL (64 * SP_KIB)
#define ALIGN_LARGE (2 * SP_MIB)

/* Addresses of a device that nothing is mapped at; sorted, with something mapped between two.
 */
struct hole {
    uintptr_t base;
    size_t size;
    struct hole *next;
};

struct range {
    uintptr_t base; /* 0 before the first mapping */
    size_t size;
    struct hole *holes;
};

/* Behind the model's lock. */
static struct {
    struct sp_model_memory **all; /* [n], sorted by base, disjoint */
    size_t n, room;
    uint64_t last_id;
    struct range ranges[SP_MODEL_MAX_DEVICES];
} memory;

/* ---- by address ---------------------------------------------------------------------- */

/* The first one that begins above an address. */
static size_t find_above(uintptr_t address)
{
    size_t low = 0, high = memory.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (memory.all[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sp_model_memory *sp_model_memory_find(uintptr_t address)
{
    size_t above = find_above(address);
    struct sp_model_memory *found;

    if (above == 0)
        return NULL;
    found = memory.all[above - 1];
    return address - found->base < found->size ? found : NULL;
}

bool sp_model_memory_overlaps(uintptr_t base, size_t size)
{
    size_t above = find_above(base);

    return sp_model_memory_find(base) != NULL ||
           (above < memory.n && memory.all[above]->base - base < size);
}

bool sp_model_memory_is_pageable(uintptr_t address, size_t size)
{
    const struct sp_model_memory *found = sp_model_memory_find(address);

    return sp_model_device_of(address) < 0 &&
           (found == NULL || size > found->size - (address - found->base));
}

bool sp_model_memory_is_device_only(uintptr_t address)
{
    const struct sp_model_memory *found = sp_model_memory_find(address);

    return found != NULL && sp_model_device_of(address) >= 0 &&
           found->kind != SP_MEMORY_MANAGED;
}

bool sp_model_memory_is_awaited(uintptr_t target, size_t size, uintptr_t source)
{
    return sp_model_memory_is_pageable(target, size) ||
           (sp_model_device_of(target) < 0 && sp_model_device_of(source) < 0);
}

bool sp_model_memory_add(struct sp_model_memory *added)
{
    size_t above = find_above(added->base);

    if (memory.n == memory.room) {
        size_t room = memory.room == 0 ? 64 : 2 * memory.room;
        struct sp_model_memory **all =
            realloc(memory.all, room * sizeof(struct sp_model_memory *));

        if (all == NULL)
            return false;
        memory.all = all;
        memory.room = room;
    }
    memmove(memory.all + above + 1, memory.all + above,
            (memory.n - above) * sizeof(struct sp_model_memory *));
    memory.all[above] = added;
    sp_model_races_forget(added->base, added->size);
    memory.n++;
    added->id = ++memory.last_id;
    return true;
}

void sp_model_memory_remove(struct sp_model_memory *removed)
{
    size_t at = find_above(removed->base) - 1;

    SP_ASSERT(memory.all[at] == removed);
    sp_model_races_forget(removed->base, removed->size);
    memory.n--;
    memmove(memory.all + at, memory.all + at + 1,
            (memory.n - at) * sizeof(struct sp_model_memory *));
}

/* ---- addresses of devices ------------------------------------------------------------ */

int sp_model_device_of(uintptr_t address)
{
    for (int i = 0; i < SP_MODEL_MAX_DEVICES; i++) {
        if (address - memory.ranges[i].base < memory.ranges[i].size)
            return i;
    }
    return -1;
}

static bool open_range(int device)
{
    struct range *range = &memory.ranges[device];
    uintptr_t wished = FIRST_BASE + (uintptr_t)device * BASE_DISTANCE;
    size_t size =
        sp_round_up(sp_model_device_total(device), ALIGN_LARGE) * ADDRESSES_A_BYTE + SP_GIB;
    void *base = (void *)wished;
    struct hole *hole;

    if (range->size != 0)
        return true;
    hole = malloc(sizeof(*hole));
    if (hole == NULL)
        return false;
    if (size > BASE_DISTANCE || !sp_reserve_at(base, size)) {
        if (sp_reserve(size, ALIGN_LARGE, &base) != STARPOOL_OK)
            goto err_hole;
    }
    if (!sp_model_protect_open(device, (uintptr_t)base, size))
        goto err_range;
    *hole = (struct hole){.base = (uintptr_t)base, .size = size};
    *range = (struct range){.base = (uintptr_t)base, .size = size, .holes = hole};
    return true;

err_range:
    sp_unreserve(base, size);
err_hole:
    free(hole);
    return false;
}

static size_t align_of(size_t size)
{
    return size < ALIGN_LARGE ? ALIGN_SMALL : ALIGN_LARGE;
}

/* The addresses that a mapping takes: a page more, so that what runs over its end is caught. */
static size_t extent_of(size_t size)
{
    return sp_round_up(size + (size_t)sysconf(_SC_PAGESIZE), align_of(size));
}

/* The first addresses that fit; 0 if there are none. Splitting a hole at its beginning may need
 * a record for what is before the aligned part. */
static uintptr_t take_addresses(struct range *range, size_t size)
{
    size_t extent = extent_of(size), align = align_of(size);

    for (struct hole **link = &range->holes; *link != NULL; link = &(*link)->next) {
        struct hole *hole = *link;
        uintptr_t base = sp_round_up(hole->base, align);
        size_t before = base - hole->base;

        if (hole->size < before || hole->size - before < extent)
            continue;
        if (before > 0) {
            struct hole *rest = malloc(sizeof(*rest));

            if (rest == NULL)
                return 0;
            *rest = (struct hole){base + extent, hole->size - before - extent, hole->next};
            hole->size = before;
            hole->next = rest;
            link = &hole->next;
        } else {
            hole->base += extent;
            hole->size -= extent;
        }
        hole = *link;
        if (hole->size == 0) {
            *link = hole->next;
            free(hole);
        }
        return base;
    }
    return 0;
}

/* Without memory for the record the addresses are lost, and nothing else. */
static void give_addresses(struct range *range, uintptr_t base, size_t size)
{
    size_t extent = extent_of(size);
    struct hole **link = &range->holes, *before = NULL, *after, *hole;

    while (*link != NULL && (*link)->base < base) {
        before = *link;
        link = &before->next;
    }
    after = *link;
    if (before != NULL && before->base + before->size == base) {
        before->size += extent;
        hole = before;
    } else {
        hole = malloc(sizeof(*hole));
        if (hole == NULL)
            return;
        *hole = (struct hole){base, extent, after};
        *link = hole;
    }
    if (after != NULL && hole->base + hole->size == after->base) {
        hole->size += after->size;
        hole->next = after->next;
        free(after);
    }
}

/* ---- mapping ------------------------------------------------------------------------- */

static bool map_at(void *base, size_t size, int file, uint64_t offset)
{
    int flags =
        MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED);

    if (sp_model_protect_has((uintptr_t)base))
        return sp_model_protect_map((uintptr_t)base, size, file, offset);
    return mmap(base, size, PROT_READ | PROT_WRITE, flags, file, (off_t)offset) != MAP_FAILED;
}

static void unmap_view(void *base, size_t size)
{
    if (mmap(base, size, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0) == MAP_FAILED)
        (void)madvise(base, size, MADV_DONTNEED);
}

/* Take the memory away, and keep the addresses: using them is caught. */
static void unmap_at(void *base, size_t size)
{
    unmap_view(base, size);
    if (sp_model_protect_has((uintptr_t)base))
        unmap_view(sp_model_alias((uintptr_t)base), size);
}

/* Anywhere, on the node; without the lock. */
static void *map_host(int node, size_t size, int file, uint64_t offset)
{
    struct sp_placement placement = {.node = node, .is_strict = node != SP_NODE_HOST};
    const struct sp_topo *topo;
    struct sp_segment segment;
    void *base;

    if (sp_reserve(size, ALIGN_SMALL, &base) != STARPOOL_OK)
        return NULL;
    if (file < 0) {
        if (sp_segment_open(base, size, &placement, &segment) == STARPOOL_OK)
            return base;
    } else if (map_at(base, size, file, offset)) {
        /* Shared pages are placed when they are touched, by whoever does. */
        if (sp_topo_get(&topo) == STARPOOL_OK)
            (void)sp_topo_bind(topo, base, size, node, SP_POLICY_PREFER);
        return base;
    }
    sp_unreserve(base, size);
    return NULL;
}

void *sp_model_map(int device, int node, size_t size, int file, uint64_t offset)
{
    struct range *range;
    void *base;

    if (size == 0 || size > SIZE_MAX / 2)
        return NULL;
    if (device < 0) {
        sp_lock_give(sp_model_lock());
        base = map_host(node, size, file, offset);
        sp_lock_take(sp_model_lock());
        return base;
    }
    if (!open_range(device))
        return NULL;
    range = &memory.ranges[device];
    base = (void *)take_addresses(range, size);
    if (base != NULL && !map_at(base, size, file, offset)) {
        unmap_at(base, size);
        give_addresses(range, (uintptr_t)base, size);
        base = NULL;
    }
    return base;
}

void sp_model_unmap(void *base, size_t size, int device, int node)
{
    (void)node;
    if (device < 0) {
        sp_unreserve(base, size);
        return;
    }
    unmap_at(base, size);
    give_addresses(&memory.ranges[device], (uintptr_t)base, size);
}

void *sp_model_reserve(int device, size_t size)
{
    void *base;

    if (size == 0 || size > SIZE_MAX / 2)
        return NULL;
    if (device < 0)
        return sp_reserve(size, ALIGN_SMALL, &base) == STARPOOL_OK ? base : NULL;
    return open_range(device) ? (void *)take_addresses(&memory.ranges[device], size) : NULL;
}

bool sp_model_back(void *base, size_t size)
{
    return map_at(base, size, -1, 0);
}

bool sp_model_remap(void *base, size_t size, int file, uint64_t offset)
{
    return map_at(base, size, file, offset);
}

void sp_model_unback(void *base, size_t size)
{
    unmap_at(base, size);
}

/* ---- the end ------------------------------------------------------------------------- */

/* The last one of a context that nobody else is closing; NULL if there is none. */
static struct sp_model_memory *find_of(const struct sp_model_context *context)
{
    for (size_t i = memory.n; i-- > 0;) {
        if (memory.all[i]->context == context && !memory.all[i]->is_going)
            return memory.all[i];
    }
    return NULL;
}

/* What is in the table may change with each that goes. */
void sp_model_memory_drop(struct sp_model_context *context)
{
    struct sp_model_memory *dropped;

    while ((dropped = find_of(context)) != NULL)
        sp_model_plain_close(dropped);
}

void sp_model_memory_reset(void)
{
    while (memory.n > 0)
        sp_model_plain_close(memory.all[memory.n - 1]);
    free(memory.all);
    memory.all = NULL;
    memory.room = 0;
    for (int i = 0; i < SP_MODEL_MAX_DEVICES; i++) {
        struct range *range = &memory.ranges[i];

        sp_model_protect_close(i);
        if (range->size != 0)
            sp_unreserve((void *)range->base, range->size);
        while (range->holes != NULL) {
            struct hole *hole = range->holes;

            range->holes = hole->next;
            free(hole);
        }
        *range = (struct range){0};
    }
}
