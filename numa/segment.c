/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Maps, binds, fills and locks segments inside reserved address space. What may be touched is
 * decided in populate.c; which ranges become segments is left to the pool. */
#include "config.h"

#include "numa/segment.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/util/util.h"

/* MAP_FIXED_NOREPLACE, Linux 4.17; older kernels take the address as a hint. */
#define MAP_AT_FREE_ADDRESS 0x100000

/* MAP_HUGE_2MB: the logarithm of the page size, shifted. */
#define MAP_2_MIB_PAGES (21 << 26)

#define RESERVE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

enum starpool_status sp_reserve(size_t size, size_t align, void **base_out)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE), slack, head;
    char *whole;

    if (size == 0 || size % page_size != 0 || !sp_is_power_of_two(align) || align < page_size)
        return STARPOOL_EINVAL;
    slack = align - page_size;
    if (size > SIZE_MAX - slack)
        return STARPOOL_ENOMEM;
    whole = mmap(NULL, size + slack, PROT_NONE, RESERVE_FLAGS, -1, 0);
    if (whole == MAP_FAILED)
        return STARPOOL_ENOMEM;
    head = sp_round_up((size_t)whole, align) - (size_t)whole;
    if (head > 0)
        sp_unreserve(whole, head);
    if (slack > head)
        sp_unreserve(whole + head + size, slack - head);
    /* Dumps of address space without memory would be as long as the reservation. */
    (void)madvise(whole + head, size, MADV_DONTDUMP);
    *base_out = whole + head;
    return STARPOOL_OK;
}

bool sp_reserve_at(void *base, size_t size)
{
    void *got = mmap(base, size, PROT_NONE, RESERVE_FLAGS | MAP_AT_FREE_ADDRESS, -1, 0);

    if (got == MAP_FAILED)
        return false;
    if (got == base) {
        (void)madvise(base, size, MADV_DONTDUMP);
        return true;
    }
    sp_unreserve(got, size);
    return false;
}

void sp_unreserve(void *base, size_t size)
{
    (void)munmap(base, size);
}

/* Take the memory of a range away and reserve it, in one step, so that nothing else of the
 * process can be mapped there meanwhile. */
static void restore(void *base, size_t size)
{
    /* Out of mappings: then at least the memory goes back. */
    if (mmap(base, size, PROT_NONE, RESERVE_FLAGS | MAP_FIXED, -1, 0) == MAP_FAILED)
        (void)madvise(base, size, MADV_DONTNEED);
    (void)madvise(base, size, MADV_DONTDUMP);
}

static bool map_huge(void *base, size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | MAP_2_MIB_PAGES;

    return mmap(base, size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

static bool map_plain(void *base, size_t size, enum starpool_huge huge)
{
    if (mmap(base, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        return false;
    /* A kernel without transparent huge pages refuses, and has none to avoid either. */
    (void)madvise(base, size, huge == STARPOOL_HUGE_NEVER ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return true;
}

/* True if the range is bound, or needs no binding to be in place. */
static bool bind_range(const struct sp_populate *what)
{
    int error = what->os->bind(what->topo, what->base, what->size, what->node, SP_POLICY_ONLY);

    if (error != 0)
        sp_log(SP_LOG_DEBUG, "node %d: memory is not bound: error %d", what->node, error);
    return error == 0;
}

/* Fill a range with reserved huge pages. False, and the range reserved again, if the node has
 * too few: counted by the caller, and no failure. */
static bool fill_huge(struct sp_populate *what, struct sp_segment *segment)
{
    size_t spilled;

    if ((uintptr_t)what->base % SP_HUGE_PAGE != 0 || what->size % SP_HUGE_PAGE != 0 ||
        what->os->free_huge(what->node, SP_HUGE_PAGE) < what->size)
        return false;
    what->is_huge = true;
    if (map_huge(what->base, what->size)) {
        what->is_bound = bind_range(what);
        if (sp_populate_range(what, &spilled) == STARPOOL_OK) {
            segment->huge_bytes = what->size;
            return true;
        }
    }
    restore(what->base, what->size);
    what->is_huge = false;
    return false;
}

static enum starpool_status fill_plain(struct sp_populate *what, enum starpool_huge huge,
                                       struct sp_segment *segment)
{
    enum starpool_status status;

    /* Nothing that is bound to fail is begun; a binding that the system refuses is only known
     * once the memory is mapped, hence the same question again before each step. */
    what->is_bound = sp_topo_is_real(what->topo);
    status = sp_populate_check(what);
    if (status != STARPOOL_OK)
        return status;
    if (!map_plain(what->base, what->size, huge))
        return STARPOOL_ENOMEM;
    what->is_bound = bind_range(what);
    status = sp_populate_range(what, &segment->spilled_bytes);
    if (status == STARPOOL_OK && huge == STARPOOL_HUGE_EXPLICIT)
        segment->fallback_bytes = what->size;
    return status;
}

static enum starpool_status lock_range(const struct sp_populate *what)
{
    int error = what->os->lock(what->base, what->size);

    if (error == 0)
        return STARPOOL_OK;
    /* ENOMEM: the limit; EPERM: a limit of 0 without the capability. */
    return error == ENOMEM || error == EPERM ? STARPOOL_EMEMLOCK : STARPOOL_ENOMEM;
}

static enum starpool_status pin_range(const struct sp_placement *placement,
                                      struct sp_segment *segment)
{
    enum starpool_status status;

    if (placement->pin == NULL)
        return STARPOOL_OK;
    segment->pin = placement->pin;
    status = segment->pin->pin(segment->base, segment->size, &segment->pinned_where);
    segment->is_pinned = status == STARPOOL_OK;
    return placement->must_be_pinned ? status : STARPOOL_OK;
}

static void unpin(struct sp_segment *segment)
{
    if (segment->is_pinned)
        segment->pin->unpin(segment->base, segment->size, segment->pinned_where);
    segment->is_pinned = false;
}

void sp_segment_renew(struct sp_segment *segment, int where)
{
    if (segment->is_pinned && segment->pinned_where == where)
        segment->is_pinned = segment->pin->renew(segment->base, segment->size, where);
}

static void log_refusal(const struct sp_populate *what, enum starpool_status status)
{
    char text[32];

    sp_log(SP_LOG_DEBUG, "node %d: no segment of %s: %s", what->node,
           sp_bytes_text(text, sizeof(text), what->size), starpool_status_text(status));
}

enum starpool_status sp_segment_open_on(const struct sp_topo *topo, const struct sp_os *os,
                                        void *base, size_t size,
                                        const struct sp_placement *placement,
                                        struct sp_segment *segment_out)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const struct starpool_node *node = sp_topo_find(topo, placement->node);
    struct sp_segment segment = {.base = base, .size = size, .node = placement->node};
    struct sp_populate what = {.os = os,
                               .topo = topo,
                               .base = base,
                               .size = size,
                               .node = placement->node,
                               .is_strict = placement->is_strict,
                               .is_locking = placement->is_locked};
    enum starpool_status status = STARPOOL_OK;

    if (base == NULL || size == 0 || ((uintptr_t)base | size) % page_size != 0)
        return STARPOOL_EINVAL;
    if (placement->node != SP_NODE_HOST && (node == NULL || !node->is_allowed))
        return STARPOOL_EDEVICE;
    if (placement->huge != STARPOOL_HUGE_EXPLICIT || !fill_huge(&what, &segment))
        status = fill_plain(&what, placement->huge, &segment);
    if (status == STARPOOL_OK && placement->is_locked)
        status = lock_range(&what);
    if (status == STARPOOL_OK)
        status = pin_range(placement, &segment);
    if (status != STARPOOL_OK) {
        restore(base, size);
        log_refusal(&what, status);
        return status;
    }
    segment.is_bound = what.is_bound;
    segment.is_locked = placement->is_locked;
    *segment_out = segment;
    return STARPOOL_OK;
}

enum starpool_status sp_segment_open(void *base, size_t size,
                                     const struct sp_placement *placement,
                                     struct sp_segment *segment_out)
{
    const struct sp_topo *topo;
    enum starpool_status status = sp_topo_get(&topo);

    return status == STARPOOL_OK
               ? sp_segment_open_on(topo, &sp_os_linux, base, size, placement, segment_out)
               : status;
}

bool sp_segment_close(struct sp_segment *segment)
{
    bool was_pinned = segment->is_pinned;

    unpin(segment);
    if (munmap(segment->base, segment->size) != 0) {
        segment->is_pinned = was_pinned && segment->pin->renew(segment->base, segment->size,
                                                               segment->pinned_where);
        return false;
    }
    *segment = (struct sp_segment){.node = segment->node};
    return true;
}

void sp_segment_abandon(struct sp_segment *segment)
{
    unpin(segment);
    restore(segment->base, segment->size);
    *segment = (struct sp_segment){.node = segment->node};
}
