/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes and control groups without room: a request ends in a status, all that was served is
 * where it should be, and the process lives. That it lives is shown by its getting to the end.
 */
#include "config.h"

#include "guest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/mempolicy.h>

#define NODE 1

/* [bytes] Free memory that the kernel does not count as such: what its CPUs keep in stock. */
#define SLACK (40 * MIB)

#define MAX_HELD 4096

/* Blocks of a pool. */
struct held {
    size_t n, bytes;
    void *blocks[MAX_HELD];
    size_t sizes[MAX_HELD];
};

/* Allocate until that is refused, with which status. */
static enum starpool_status fill(struct starpool_pool *pool, size_t size, struct held *held)
{
    for (;;) {
        enum starpool_status status;

        if (held->n == MAX_HELD)
            return STARPOOL_OK;
        status = starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &held->blocks[held->n]);
        if (status != STARPOOL_OK)
            return status;
        held->sizes[held->n++] = size;
        held->bytes += size;
    }
}

/* What was given can be used: here it would be too late for a refusal. */
static void use(const struct held *held)
{
    for (size_t i = 0; i < held->n; i++)
        memset(held->blocks[i], 1, held->sizes[i]);
}

static bool are_on(const struct held *held, int node)
{
    bool is_right = true;

    for (size_t i = 0; i < held->n; i++)
        is_right &= guest_is_on(held->blocks[i], held->sizes[i], node);
    return is_right;
}

static void drop(struct held *held)
{
    for (size_t i = 0; i < held->n; i++)
        (void)starpool_free(held->blocks[i], STARPOOL_STREAM_HOST);
    held->n = held->bytes = 0;
}

/* Fill a pool to its end, in large pieces and then in small ones. */
static void fill_to_the_end(struct starpool_pool *pool, int node, enum starpool_status expected,
                            size_t least)
{
    static struct held held;
    enum starpool_status large = fill(pool, 24 * MIB, &held), small;

    guest_status(expected, large, "a large request is refused");
    small = fill(pool, MIB, &held);
    guest_status(expected, small, "and in the end a small one");
    use(&held);
    guest_check(are_on(&held, node), "every page of what was served is in place");
    guest_check(held.bytes >= least, "%zu MiB were served, at least %zu", held.bytes / MIB,
                least / MIB);
    drop(&held);
    (void)starpool_pool_trim(pool, 0);
}

/* ---- cases --------------------------------------------------------------------------- */

/* What must be to be had of `room`: some is lost to rounding, and to what a CPU keeps. */
static size_t most_of(size_t room)
{
    return room - room / 10 > 16 * MIB ? room - room / 10 - 16 * MIB : 0;
}

static int strict(void)
{
    struct starpool_pool *pool = guest_node_pool(NODE);
    size_t before = guest_meminfo(NODE, "MemFree"), after;
    uint64_t room;

    if (starpool_numa_room(NODE, &room) != STARPOOL_OK)
        abort();
    fill_to_the_end(pool, NODE, STARPOOL_ENODE, most_of(room));
    after = guest_free(NODE, before - SLACK);
    guest_check(after >= before - SLACK,
                "after a trim the node has its memory back: %zu MiB of %zu", after / MIB,
                before / MIB);
    return guest_end();
}

/* A HOST pool, or one that spills, is full when every node is. */
static int everything(bool is_host)
{
    struct starpool_pool_config config = guest_config(is_host ? -1 : NODE);
    uint64_t room, sum = 0;

    config.placement = is_host ? STARPOOL_STRICT : STARPOOL_SPILL;
    for (int i = 0; i < 2; i++) {
        if (starpool_numa_room(i, &room) != STARPOOL_OK)
            abort();
        sum += room;
    }
    fill_to_the_end(guest_pool(&config), -1, STARPOOL_ENODE, most_of(sum));
    return guest_end();
}

static void check_strict_refused(const char *why)
{
    struct starpool_pool *pool = guest_node_pool(NODE);
    void *block = NULL;
    char text[128];

    (void)snprintf(text, sizeof(text), "a strict pool is refused on a node full of %s", why);
    guest_status(STARPOOL_ENODE, starpool_alloc(pool, 64 * MIB, STARPOOL_STREAM_HOST, &block),
                 text);
    guest_check(block == NULL && guest_stats(pool).n_refused == 1, "which is counted");
    starpool_pool_destroy(pool);

    pool = guest_node_pool(1 - NODE);
    guest_check(starpool_alloc(pool, 64 * MIB, STARPOOL_STREAM_HOST, &block) == STARPOOL_OK &&
                    guest_is_on(block, 64 * MIB, 1 - NODE),
                "the other node still serves");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
}

static void check_spill(void)
{
    struct starpool_pool_config config = guest_config(NODE);
    struct starpool_stats stats;
    struct starpool_pool *pool;
    struct places places;
    void *block = NULL;
    size_t elsewhere, besides;

    config.placement = STARPOOL_SPILL;
    pool = guest_pool(&config);
    guest_status(STARPOOL_OK, starpool_alloc(pool, 96 * MIB, STARPOOL_STREAM_HOST, &block),
                 "a spilling pool serves on the full node");
    places = guest_places(block, 96 * MIB);
    elsewhere = places.n_on_node[1 - NODE] * 4096;
    stats = guest_stats(pool);
    besides = stats.reserved_bytes - 96 * MIB;
    guest_check(guest_is_on(block, 96 * MIB, -1), "all askers agree where its pages are");
    guest_check(elsewhere > 0 && stats.n_spills > 0, "%zu MiB are on the other node",
                elsewhere / MIB);
    guest_check(stats.spilled_bytes >= elsewhere && stats.spilled_bytes <= elsewhere + besides,
                "and %zu MiB are counted as spilled", (size_t)stats.spilled_bytes / MIB);
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    (void)starpool_pool_trim(pool, 0);
    guest_check(guest_stats(pool).spilled_bytes == 0, "none once they have gone back");
    starpool_pool_destroy(pool);
}

static int hogged(void)
{
    pid_t hog = guest_hog_begin(NODE, 48 * MIB);

    check_strict_refused("another process");
    check_spill();
    guest_hog_end(hog);
    return guest_end();
}

/* Of files that cannot be reclaimed: made by the script. */
static int files(void)
{
    check_strict_refused("files in memory");
    return guest_end();
}

/* Read a device until the node is full of its pages. */
static void fill_cache(const char *device)
{
    unsigned long mask = 1UL << NODE;
    static char buffer[MIB];
    int file = open(device, O_RDONLY | O_CLOEXEC);

    if (file < 0 || syscall(SYS_set_mempolicy, MPOL_BIND, &mask, sizeof(mask) * 8) != 0)
        abort();
    while (guest_meminfo(NODE, "MemFree") > 30 * MIB && read(file, buffer, MIB) == (ssize_t)MIB)
        ;
    if (syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) != 0)
        abort();
    /* It stays open: closing the last reference would drop the cache. */
}

/* Page cache makes room when it is needed, so that it counts as room. */
static int cached(const char *device)
{
    struct starpool_pool *pool = guest_node_pool(NODE);
    void *block = NULL;
    size_t size;
    uint64_t room;

    fill_cache(device);
    if (starpool_numa_room(NODE, &room) != STARPOOL_OK)
        abort();
    guest_note("free %zu MiB, files %zu MiB, room %zu MiB",
               guest_meminfo(NODE, "MemFree") / MIB, guest_meminfo(NODE, "FilePages") / MIB,
               (size_t)room / MIB);
    size = guest_meminfo(NODE, "MemFree") + 96 * MIB;
    guest_status(STARPOOL_OK, starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &block),
                 "page cache makes room for a strict pool");
    guest_check(block != NULL && guest_is_on(block, size, NODE), "on its node");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    (void)starpool_pool_trim(pool, 0);
    fill_cache(device);
    fill_to_the_end(pool, NODE, STARPOOL_ENODE, most_of(room) / 2);
    return guest_end();
}

static int cgroup(void)
{
    struct starpool_pool *pool = guest_node_pool(NODE);

    fill_to_the_end(pool, NODE, STARPOOL_ECGROUP, 24 * MIB);
    return guest_end();
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Fill and give back for a while; others do the same on the same node or in the same group. */
static int contend(enum starpool_status expected)
{
    static struct held held;
    struct starpool_pool *pool = guest_node_pool(NODE);
    enum starpool_status wrong = expected;
    double end = now() + 4;
    size_t most = 0;
    int n_rounds = 0;

    for (; now() < end; n_rounds++) {
        for (int i = 0; i < 2; i++) {
            enum starpool_status status = fill(pool, i == 0 ? 40 * MIB : 3 * MIB, &held);

            if (status != expected)
                wrong = status;
        }
        most = held.bytes > most ? held.bytes : most;
        use(&held);
        if (n_rounds == 0)
            guest_check(are_on(&held, NODE), "every page is in place");
        drop(&held);
        (void)starpool_pool_trim(pool, 0);
    }
    guest_status(expected, wrong, "each refusal says what is full");
    guest_check(n_rounds > 0, "%d rounds, %zu MiB at most", n_rounds, most / MIB);
    return guest_end();
}

/* For comparison with hwloc's allocator: a request larger than the node. */
static int too_large(void)
{
    void *block = NULL;

    guest_status(STARPOOL_ENODE,
                 starpool_alloc(guest_node_pool(NODE), guest_meminfo(NODE, "MemTotal") + MIB,
                                STARPOOL_STREAM_HOST, &block),
                 "starpool refuses a request larger than its node");
    return guest_end();
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "strict") == 0)
        return strict();
    if (strcmp(name, "host") == 0 || strcmp(name, "spill") == 0)
        return everything(strcmp(name, "host") == 0);
    if (strcmp(name, "hogged") == 0)
        return hogged();
    if (strcmp(name, "files") == 0)
        return files();
    if (strcmp(name, "cached") == 0 && argc > 2)
        return cached(argv[2]);
    if (strcmp(name, "cgroup") == 0)
        return cgroup();
    if (strcmp(name, "contend-node") == 0)
        return contend(STARPOOL_ENODE);
    if (strcmp(name, "contend-cgroup") == 0)
        return contend(STARPOOL_ECGROUP);
    if (strcmp(name, "too-large") == 0)
        return too_large();
    return 2;
}
