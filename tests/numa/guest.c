/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Says what holds and asks the kernel directly. System calls are made by number: the C library
 * has no functions for them. */
#include "config.h"

#include "guest.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hwloc.h>
#include <linux/mempolicy.h>

#define N_CHUNK 1024

/* One page in so many is asked of get_mempolicy(2) as well. */
#define SAMPLE_STEP 7

static struct {
    size_t n_checks, n_wrong; /* pages */
    int n_failed;
} tally;

bool guest_check(bool holds, const char *format, ...)
{
    const char *label = getenv("GUEST_LABEL");
    va_list args;

    printf("%s - %s%s", holds ? "ok" : "not ok", label != NULL ? label : "",
           label != NULL ? ": " : "");
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    printf("\n");
    (void)fflush(stdout);
    tally.n_failed += !holds;
    return holds;
}

void guest_note(const char *format, ...)
{
    va_list args;

    printf("# ");
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    printf("\n");
    (void)fflush(stdout);
}

bool guest_status(enum starpool_status expected, enum starpool_status status, const char *what)
{
    if (status != expected)
        guest_note("%s, not %s: %s", starpool_status_name(status),
                   starpool_status_name(expected), what);
    return guest_check(status == expected, "%s", what);
}

void guest_count(size_t n_checks, size_t n_wrong)
{
    tally.n_checks += n_checks;
    tally.n_wrong += n_wrong;
}

int guest_end(void)
{
    printf("# pages %zu %zu\n", tally.n_checks, tally.n_wrong);
    return tally.n_failed > 0 || tally.n_wrong > 0;
}

/* ---- where pages are ----------------------------------------------------------------- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void count_page(struct places *places, int status)
{
    places->n_pages++;
    if (status >= 0 && status < MAX_GUEST_NODES)
        places->n_on_node[status]++;
    else if (status == -ENOENT || status == -EFAULT) /* Linux 6.1 says EFAULT. */
        places->n_absent++;
    else
        places->n_unknown++;
}

struct places guest_places(const void *ptr, size_t size)
{
    uintptr_t page = (uintptr_t)ptr & ~(page_size() - 1);
    uintptr_t end = (uintptr_t)ptr + size;
    struct places places = {0};
    void *pages[N_CHUNK];
    int status[N_CHUNK];

    while (page < end) {
        size_t n = 0;

        for (; n < N_CHUNK && page < end; page += page_size()) {
            status[n] = -EINVAL;
            pages[n++] = (void *)page;
        }
        (void)syscall(SYS_move_pages, 0, n, pages, NULL, status, 0);
        for (size_t i = 0; i < n; i++)
            count_page(&places, status[i]);
    }
    return places;
}

/* Pages of a sample that get_mempolicy(2) finds on another node than all of `places` are on. */
static size_t count_contradictions(const struct places *places, const char *ptr, size_t size)
{
    size_t n_wrong = 0;

    for (size_t at = 0; at < size; at += SAMPLE_STEP * page_size()) {
        int node = -1;

        if (syscall(SYS_get_mempolicy, &node, NULL, 0, ptr + at, MPOL_F_NODE | MPOL_F_ADDR) !=
                0 ||
            node < 0 || node >= MAX_GUEST_NODES || places->n_on_node[node] == 0)
            n_wrong++;
    }
    return n_wrong;
}

static hwloc_topology_t machine(void)
{
    static hwloc_topology_t topology;

    if (topology == NULL &&
        (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0))
        abort();
    return topology;
}

static bool hwloc_agrees(const struct places *places, const void *ptr, size_t size)
{
    hwloc_bitmap_t ours = hwloc_bitmap_alloc(), theirs = hwloc_bitmap_alloc();
    bool is_same;

    for (unsigned i = 0; i < MAX_GUEST_NODES; i++) {
        if (places->n_on_node[i] > 0)
            (void)hwloc_bitmap_set(ours, i);
    }
    is_same = hwloc_get_area_memlocation(machine(), ptr, size, theirs,
                                         HWLOC_MEMBIND_BYNODESET) == 0 &&
              hwloc_bitmap_isequal(ours, theirs);
    hwloc_bitmap_free(ours);
    hwloc_bitmap_free(theirs);
    return is_same;
}

static bool verify_agrees(const struct places *places, const void *ptr, size_t size)
{
    struct starpool_pages pages;

    if (starpool_verify(ptr, size, &pages) != STARPOOL_OK || pages.n_pages != places->n_pages ||
        pages.n_absent != places->n_absent || pages.n_unknown != places->n_unknown)
        return false;
    for (int i = 0; i < MAX_GUEST_NODES; i++) {
        if (pages.n_on_node[i] != places->n_on_node[i])
            return false;
    }
    return true;
}

bool guest_is_on(const void *ptr, size_t size, int node)
{
    struct places places = guest_places(ptr, size);
    size_t n_wrong = places.n_absent + places.n_unknown, n_odd;
    bool is_hwloc, is_verify;

    for (int i = 0; i < MAX_GUEST_NODES; i++)
        n_wrong += node >= 0 && i != node ? places.n_on_node[i] : 0;
    n_odd = count_contradictions(&places, ptr, size);
    is_hwloc = hwloc_agrees(&places, ptr, size);
    is_verify = verify_agrees(&places, ptr, size);
    guest_count(places.n_pages, n_wrong);
    if (n_wrong > 0 || n_odd > 0 || !is_hwloc || !is_verify)
        guest_note("node %d: of %zu pages %zu are wrong (absent %zu, unknown %zu, node 0 %zu, "
                   "node 1 %zu); get_mempolicy contradicts %zu times; hwloc %s, verify %s",
                   node, places.n_pages, n_wrong, places.n_absent, places.n_unknown,
                   places.n_on_node[0], places.n_on_node[1], n_odd, is_hwloc ? "agrees" : "not",
                   is_verify ? "agrees" : "not");
    return n_wrong == 0 && n_odd == 0 && is_hwloc && is_verify;
}

/* ---- nodes --------------------------------------------------------------------------- */

size_t guest_meminfo(int node, const char *key)
{
    char path[64], line[128];
    size_t kib = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *found = strstr(line, key);

        if (found != NULL && found[strlen(key)] == ':')
            kib = strtoul(found + strlen(key) + 1, NULL, 10);
    }
    if (file != NULL)
        (void)fclose(file);
    return kib << 10;
}

size_t guest_free(int node, size_t wanted)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    for (int i = 0; i < 100 && guest_meminfo(node, "MemFree") < wanted; i++)
        (void)nanosleep(&pause, NULL);
    return guest_meminfo(node, "MemFree");
}

void guest_run_on(int node)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)node, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        abort();
}

void *guest_bound(size_t size, int node)
{
    unsigned long mask = 1UL << node;
    void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (ptr == MAP_FAILED ||
        syscall(SYS_mbind, ptr, size, MPOL_BIND, &mask, sizeof(mask) * 8, 0) != 0)
        abort();
    return ptr;
}

/* In the child: take memory of a node in small pieces until so little is left. */
static void hog(int node, size_t left, int ready)
{
    const size_t piece = MIB;

    while (guest_meminfo(node, "MemFree") > left + piece)
        memset(guest_bound(piece, node), 1, piece);
    (void)!write(ready, "", 1);
    for (;;)
        (void)pause();
}

pid_t guest_hog_begin(int node, size_t left)
{
    int ready[2];
    char byte;
    pid_t child;

    if (pipe(ready) != 0)
        abort();
    child = fork();
    if (child == 0)
        hog(node, left, ready[1]);
    (void)close(ready[1]);
    if (child < 0 || read(ready[0], &byte, 1) != 1)
        abort();
    (void)close(ready[0]);
    return child;
}

void guest_hog_end(pid_t child)
{
    int status = 0;

    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
}

/* ---- pools --------------------------------------------------------------------------- */

struct starpool_pool_config guest_config(int node)
{
    struct starpool_pool_config config;

    starpool_pool_config_init(&config);
    if (node >= 0)
        config.location = (struct starpool_location){STARPOOL_HOST_NUMA, node};
    return config;
}

struct starpool_pool *guest_pool(const struct starpool_pool_config *config)
{
    struct starpool_pool *pool;
    enum starpool_status status = starpool_pool_create(config, &pool);

    if (status == STARPOOL_OK)
        return pool;
    guest_note("no pool: %s", starpool_status_text(status));
    exit(3);
}

struct starpool_pool *guest_node_pool(int node)
{
    struct starpool_pool_config config = guest_config(node);

    return guest_pool(&config);
}

struct starpool_stats guest_stats(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    if (starpool_pool_stats(pool, &stats) != STARPOOL_OK)
        abort();
    return stats;
}
