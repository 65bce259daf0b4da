/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks and moves pages with move_pages(2), a fixed number at a time. */
#include "config.h"

#include "numa/verify.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/util/util.h"

/* linux/mempolicy.h: move pages that this process alone maps. */
#define MOVE_OWN_PAGES 2

/* Pages a system call; 2 MiB of small ones. */
#define N_CHUNK 512

/* One system call's worth of pages. */
struct chunk {
    size_t n_pages;
    void *pages[N_CHUNK];
    int nodes[N_CHUNK];
    int status[N_CHUNK]; /* a node, or a negative errno value */
};

/* Name the pages from `first` on; returns how many of the `n_left` fit. */
static size_t fill_chunk(struct chunk *chunk, uintptr_t first, size_t n_left, size_t page_size)
{
    chunk->n_pages = sp_min(n_left, N_CHUNK);
    for (size_t i = 0; i < chunk->n_pages; i++) {
        chunk->pages[i] = (void *)(first + i * page_size);
        chunk->status[i] = -EBUSY;
    }
    return chunk->n_pages;
}

/* Ask where the pages are, or with `nodes` move them there. 0 or an errno value. */
static int call(struct chunk *chunk, const int *nodes)
{
    long result = syscall(SYS_move_pages, 0, chunk->n_pages, chunk->pages, nodes, chunk->status,
                          nodes != NULL ? MOVE_OWN_PAGES : 0);

    return result < 0 ? errno : 0;
}

/* A page that nothing has touched: Linux 6.1 says EFAULT, newer ones ENOENT. */
static bool is_absent(int status)
{
    return status == -ENOENT || status == -EFAULT;
}

static void count_chunk(const struct chunk *chunk, struct starpool_pages *pages)
{
    for (size_t i = 0; i < chunk->n_pages; i++) {
        int status = chunk->status[i];

        if (status >= 0 && status < STARPOOL_MAX_NODES) {
            pages->n_resident++;
            pages->n_on_node[status]++;
        } else if (is_absent(status)) {
            pages->n_absent++;
        } else {
            pages->n_unknown++;
        }
    }
}

/* The first page of a range, and how many pages it meets. */
static uintptr_t first_page(const void *ptr, size_t size, size_t page_size, size_t *n_pages_out)
{
    uintptr_t first = (uintptr_t)ptr & ~(uintptr_t)(page_size - 1);
    uintptr_t last = ((uintptr_t)ptr + (size - 1)) & ~(uintptr_t)(page_size - 1);

    *n_pages_out = (last - first) / page_size + 1;
    return first;
}

void sp_verify_range(const struct sp_topo *topo, const void *ptr, size_t size,
                     struct starpool_pages *pages_out)
{
    struct starpool_pages pages = {.page_size = (size_t)sysconf(_SC_PAGESIZE)};
    size_t n_pages, n_done = 0;
    uintptr_t first = first_page(ptr, size, pages.page_size, &n_pages);

    pages.n_pages = n_pages;
    while (sp_topo_is_real(topo) && n_done < n_pages) {
        struct chunk chunk;

        n_done += fill_chunk(&chunk, first + n_done * pages.page_size, n_pages - n_done,
                             pages.page_size);
        if (call(&chunk, NULL) != 0) {
            n_done -= chunk.n_pages;
            break;
        }
        count_chunk(&chunk, &pages);
    }
    pages.n_unknown += n_pages - n_done;
    *pages_out = pages;
}

static enum starpool_status refusal(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
        return STARPOOL_ENOTPERM;
    case ENOSYS:
        return STARPOOL_ENOTSUP;
    case ENODEV:
        return STARPOOL_EDEVICE;
    case ENOMEM:
        return STARPOOL_ENODE;
    default:
        return STARPOOL_EBUSY;
    }
}

/* Move the pages of a chunk. What the kernel says of each page that it did not move is not
 * reliable when it gives up midway, so they are asked for again. */
static enum starpool_status move_chunk(struct chunk *chunk, int node)
{
    bool is_full = false;
    size_t n_elsewhere = 0;
    int error;

    for (size_t i = 0; i < chunk->n_pages; i++)
        chunk->nodes[i] = node;
    error = call(chunk, chunk->nodes);
    if (error == ENOENT) /* No page of the chunk was touched, or all are there already. */
        error = 0;
    if (error != 0 && error != ENOMEM)
        return refusal(error);
    for (size_t i = 0; i < chunk->n_pages; i++)
        is_full |= chunk->status[i] == -ENOMEM;
    is_full |= error == ENOMEM;

    error = call(chunk, NULL);
    if (error != 0)
        return refusal(error);
    for (size_t i = 0; i < chunk->n_pages; i++)
        n_elsewhere += chunk->status[i] != node && !is_absent(chunk->status[i]);
    if (n_elsewhere == 0)
        return STARPOOL_OK;
    return is_full ? STARPOOL_ENODE : STARPOOL_EBUSY;
}

enum starpool_status sp_repair_range(const struct sp_topo *topo, void *ptr, size_t size,
                                     int node)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE), n_pages, n_done = 0;
    uintptr_t first = first_page(ptr, size, page_size, &n_pages);
    enum starpool_status worst = STARPOOL_OK;
    const struct starpool_node *target = sp_topo_find(topo, node);

    if (target == NULL || !target->is_allowed)
        return STARPOOL_EDEVICE;
    if (!sp_topo_is_real(topo))
        return STARPOOL_ENOTSUP;
    while (n_done < n_pages) {
        struct chunk chunk;
        enum starpool_status status;

        n_done += fill_chunk(&chunk, first + n_done * page_size, n_pages - n_done, page_size);
        status = move_chunk(&chunk, node);
        if (status != STARPOOL_OK && status != STARPOOL_EBUSY)
            return status;
        if (status != STARPOOL_OK)
            worst = status;
    }
    return worst;
}
