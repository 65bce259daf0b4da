/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Device memory that the host cannot touch. Each device's range of addresses has a second range
 * at a distance, which no program knows: both show the same pages of a file in memory, the one
 * closed and the other open. A kernel's stand-in is a function of the host, so that what its
 * arguments point to is opened while it runs. */
#include "config.h"

#include "src/model/protect.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numa/segment.h"
#include "src/model/mempool.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* A device's range that has aliases; size 0: it has none. Written with the lock, and read by
 * any thread: while an operation knows an address, its device's view stays. */
struct view {
    _Atomic uintptr_t base;
    _Atomic size_t size;
    _Atomic uintptr_t distance; /* from an address to its alias, modulo 2^64 */
};

/* What is open around an argument of a kernel that runs. */
struct opening {
    uintptr_t address; /* the argument */
    uintptr_t first, end;
    struct opening *next;
};

/* Behind the model's lock, except the views. */
static struct {
    atomic_bool has_views;
    struct view views[SP_MODEL_MAX_DEVICES];
    struct opening *openings; /* the latest first */
} protect;

/* ---- aliases ------------------------------------------------------------------------- */

/* The view around an address, or NULL. */
static const struct view *view_of(uintptr_t address)
{
    if (!atomic_load_explicit(&protect.has_views, memory_order_relaxed))
        return NULL;
    for (int i = 0; i < SP_MODEL_MAX_DEVICES; i++) {
        const struct view *view = &protect.views[i];
        size_t size = atomic_load_explicit(&view->size, memory_order_acquire);

        if (address - atomic_load_explicit(&view->base, memory_order_relaxed) < size)
            return view;
    }
    return NULL;
}

static uintptr_t alias_in(const struct view *view, uintptr_t address)
{
    return address + atomic_load_explicit(&view->distance, memory_order_relaxed);
}

void *sp_model_alias(uintptr_t address)
{
    const struct view *view = view_of(address);

    return (void *)(view == NULL ? address : alias_in(view, address));
}

bool sp_model_protect_has(uintptr_t address)
{
    return view_of(address) != NULL;
}

int sp_model_protect_device(uintptr_t address)
{
    const struct view *view = view_of(address);

    return view == NULL ? -1 : (int)(view - protect.views);
}

bool sp_model_protect_open(int device, uintptr_t base, size_t size)
{
    struct view *view = &protect.views[device];
    void *alias;

    if (!sp_model_config()->is_protected)
        return true;
    if (sp_reserve(size, SP_HUGE_PAGE, &alias) != STARPOOL_OK)
        return false;
    atomic_store_explicit(&view->base, base, memory_order_relaxed);
    atomic_store_explicit(&view->distance, (uintptr_t)alias - base, memory_order_relaxed);
    atomic_store_explicit(&view->size, size, memory_order_release);
    atomic_store_explicit(&protect.has_views, true, memory_order_relaxed);
    return true;
}

void sp_model_protect_close(int device)
{
    struct view *view = &protect.views[device];
    size_t size = atomic_load_explicit(&view->size, memory_order_relaxed);
    uintptr_t base = atomic_load_explicit(&view->base, memory_order_relaxed);

    if (size == 0)
        return;
    sp_unreserve((void *)alias_in(view, base), size);
    atomic_store_explicit(&view->size, 0, memory_order_release);
}

/* ---- mapping ------------------------------------------------------------------------- */

static bool map_file(uintptr_t base, size_t size, int protection, int file, uint64_t offset)
{
    return mmap((void *)base, size, protection, MAP_FIXED | MAP_SHARED, file, (off_t)offset) !=
           MAP_FAILED;
}

static bool map_both(uintptr_t base, size_t size, int file, uint64_t offset)
{
    uintptr_t alias = (uintptr_t)sp_model_alias(base);

    return map_file(alias, size, PROT_READ | PROT_WRITE, file, offset) &&
           map_file(base, size, PROT_NONE, file, offset);
}

bool sp_model_protect_map(uintptr_t base, size_t size, int file, uint64_t offset)
{
    int own;
    bool is_mapped;

    if (file >= 0)
        return map_both(base, size, file, offset);
    own = memfd_create("starpool-device", MFD_CLOEXEC);
    if (own < 0)
        return false;
    is_mapped = ftruncate(own, (off_t)size) == 0 && map_both(base, size, own, 0);
    close(own);
    return is_mapped;
}

void sp_model_protect_share(uintptr_t base, size_t size)
{
    if (sp_model_protect_has(base))
        (void)mprotect((void *)base, size, PROT_READ | PROT_WRITE);
}

/* ---- kernels' arguments -------------------------------------------------------------- */

static bool is_closed(const struct sp_model_memory *memory)
{
    return memory != NULL && memory->kind != SP_MEMORY_MANAGED &&
           sp_model_protect_has(memory->base);
}

/* What a kernel may mean by an address in a chunk: the block that is live there, or one whose
 * free was called after the launch and has not executed. All of the chunk if it is none. */
static void find_block(const struct sp_model_memory *memory, struct opening *opening)
{
    struct sp_reuse_block block;
    uintptr_t first = opening->address, end = opening->address;

    if (sp_reuse_find(memory->pool->reuse, opening->address, &block)) {
        first = block.start;
        end = block.start + block.size;
    }
    sp_model_freed_widen(opening->address, &first, &end);
    if (end > first) {
        opening->first = first;
        opening->end = end;
    }
}

/* A later opening may be of the same pages: they are open already. Of memory that has been
 * released and is kept for its last uses no blocks are known. */
void sp_model_expose(uintptr_t address)
{
    const struct sp_model_memory *found = sp_model_memory_find(address);
    const struct sp_model_memory *memory = found == NULL ? sp_model_late_find(address) : found;
    struct opening *opening;

    if (!is_closed(memory))
        return;
    opening = malloc(sizeof(*opening));
    if (opening == NULL)
        return;
    *opening = (struct opening){
        .address = address,
        .first = memory->base,
        .end = memory->base + memory->size,
        .next = protect.openings,
    };
    if (found != NULL && found->kind == SP_MEMORY_CHUNK)
        find_block(found, opening);
    opening->first = sp_round_down(opening->first, SP_MODEL_PAGE);
    opening->end = sp_round_up(opening->end, SP_MODEL_PAGE);
    protect.openings = opening;
    (void)mprotect((void *)opening->first, opening->end - opening->first,
                   PROT_READ | PROT_WRITE);
}

/* Close a range but for what is still open around another argument: a range that one of them
 * covers in part is looked at again on both sides of it. */
static void conceal_range(const struct opening *openings, uintptr_t first, uintptr_t end)
{
    const struct opening *other = openings;

    while (other != NULL && (other->end <= first || other->first >= end))
        other = other->next;
    if (other == NULL) {
        (void)mprotect((void *)first, end - first, PROT_NONE);
        return;
    }
    if (first < other->first)
        conceal_range(other->next, first, other->first);
    if (other->end < end)
        conceal_range(other->next, other->end, end);
}

void sp_model_conceal(uintptr_t address)
{
    struct opening **link = &protect.openings, *opening;

    while (*link != NULL && (*link)->address != address)
        link = &(*link)->next;
    opening = *link;
    if (opening == NULL)
        return;
    *link = opening->next;
    conceal_range(protect.openings, opening->first, opening->end);
    free(opening);
}

/* ---- starting and ending ------------------------------------------------------------- */

void sp_model_protect_start(void)
{
    if (sp_model_config()->is_protected)
        sp_model_fault_watch();
    else
        sp_model_fault_unwatch();
}

/* Nothing executes any more, and the devices' ranges have been closed. */
void sp_model_protect_reset(void)
{
    struct opening *opening;

    while ((opening = protect.openings) != NULL) {
        protect.openings = opening->next;
        free(opening);
    }
    atomic_store_explicit(&protect.has_views, false, memory_order_relaxed);
    sp_model_freed_reset();
    sp_model_fault_unwatch();
}
