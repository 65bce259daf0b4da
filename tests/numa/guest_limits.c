/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool's own limit, giving memory back, locking, reserved huge pages, and moving pages. */
#include "config.h"

#include "guest.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>

#define NODE 1

/* ---- limit and trim ------------------------------------------------------------------ */

static void check_maximum(void)
{
    struct starpool_pool_config config = guest_config(NODE);
    struct starpool_pool *pool;
    void *first, *second = NULL;
    uint64_t reserved = 0;

    config.maximum = 32 * MIB;
    pool = guest_pool(&config);
    guest_status(STARPOOL_OK, starpool_alloc(pool, 20 * MIB, STARPOOL_STREAM_HOST, &first),
                 "below the pool's limit");
    guest_status(STARPOOL_ENOMEM, starpool_alloc(pool, 20 * MIB, STARPOOL_STREAM_HOST, &second),
                 "above the pool's limit");
    guest_check(second == NULL &&
                    starpool_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_HIGH, &reserved) ==
                        STARPOOL_OK &&
                    reserved <= config.maximum,
                "which was never exceeded");
    (void)starpool_free(first, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
}

/* Refuse what takes pages out of a mapping: memory has to go back with its addresses. */
static void refuse_taking_pages(void)
{
    const unsigned refused = SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_FREE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refused),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        abort();
}

static void check_trim(void)
{
    struct starpool_pool *pool = guest_node_pool(NODE);
    size_t with, kept, after;
    void *block;

    guest_status(STARPOOL_OK, starpool_alloc(pool, 256 * MIB, STARPOOL_STREAM_HOST, &block),
                 "a large block");
    with = guest_meminfo(NODE, "MemFree");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    kept = guest_meminfo(NODE, "MemFree");
    (void)starpool_pool_trim(pool, 0);
    after = guest_free(NODE, with + 200 * MIB);
    guest_check(kept < with + 50 * MIB, "a free keeps the memory: %zu MiB are free, then %zu",
                with / MIB, kept / MIB);
    guest_check(after >= with + 200 * MIB && guest_stats(pool).reserved_bytes == 0,
                "a trim gives it back to the node: %zu MiB are free", after / MIB);
    starpool_pool_destroy(pool);
}

/* ---- locking ------------------------------------------------------------------------- */

static size_t locked_now(void)
{
    size_t kib = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmLck:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    }
    if (file != NULL)
        (void)fclose(file);
    return kib << 10;
}

static void check_locked(void)
{
    struct starpool_pool_config config = guest_config(NODE);
    size_t before = locked_now();
    struct starpool_pool *pool;
    void *block;

    config.is_locked = true;
    pool = guest_pool(&config);
    guest_status(STARPOOL_OK, starpool_alloc(pool, 16 * MIB, STARPOOL_STREAM_HOST, &block),
                 "a locked pool serves");
    guest_check(locked_now() >= before + 16 * MIB &&
                    guest_stats(pool).locked_bytes == locked_now() - before,
                "what is locked is counted as the kernel does");
    guest_check(guest_is_on(block, 16 * MIB, NODE), "on its node");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    (void)starpool_pool_trim(pool, 0);
    guest_check(locked_now() == before, "nothing stays locked");
    starpool_pool_destroy(pool);
}

/* For good: the limit of locked memory holds from here on. */
static void give_up_locking(size_t limit)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    struct rlimit memlock = {.rlim_cur = limit, .rlim_max = limit};

    if (syscall(SYS_capget, &header, data) != 0)
        abort();
    data[0].effective &= ~(1U << CAP_IPC_LOCK);
    data[0].permitted &= ~(1U << CAP_IPC_LOCK);
    if (syscall(SYS_capset, &header, data) != 0 || setrlimit(RLIMIT_MEMLOCK, &memlock) != 0)
        abort();
}

static void check_locking_refused(void)
{
    struct starpool_pool_config config = guest_config(NODE);
    struct starpool_pool *pool;
    void *block = NULL;

    config.is_locked = true;
    pool = guest_pool(&config);
    guest_status(STARPOOL_EMEMLOCK,
                 starpool_alloc(pool, 16 * MIB, STARPOOL_STREAM_HOST, &block),
                 "a limit of locked memory that is too small");
    guest_check(block == NULL && locked_now() == 0 && guest_stats(pool).reserved_bytes == 0,
                "nothing is left of the attempt");
    guest_status(STARPOOL_OK, starpool_alloc(pool, MIB, STARPOOL_STREAM_HOST, &block),
                 "what the limit allows is served");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
}

/* ---- reserved huge pages ------------------------------------------------------------- */

static void reserve_huge(int node, int n_pages)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path),
                   "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages",
                   node);
    file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%d", n_pages) < 0 || fclose(file) != 0)
        abort();
}

/* `n_here` and `n_there`: pages reserved on the node and on the other one, for a block of 16.
 */
static void check_huge(int n_here, int n_there)
{
    struct starpool_pool_config config = guest_config(NODE);
    bool is_enough = n_here >= 16;
    struct starpool_stats stats;
    struct starpool_pool *pool;
    void *block;

    reserve_huge(NODE, n_here);
    reserve_huge(1 - NODE, n_there);
    config.huge = STARPOOL_HUGE_EXPLICIT;
    pool = guest_pool(&config);
    guest_status(STARPOOL_OK, starpool_alloc(pool, 32 * MIB, STARPOOL_STREAM_HOST, &block),
                 "reserved huge pages are asked for");
    stats = guest_stats(pool);
    guest_check(is_enough ? stats.huge_bytes >= 32 * MIB : stats.huge_bytes == 0,
                "with %d here and %d there, %zu MiB are on them", n_here, n_there,
                (size_t)stats.huge_bytes / MIB);
    guest_check(is_enough ? stats.huge_fallback_bytes == 0
                          : stats.huge_fallback_bytes >= 32 * MIB,
                "and %zu MiB are counted as not", (size_t)stats.huge_fallback_bytes / MIB);
    guest_check(guest_is_on(block, 32 * MIB, NODE), "all on the node");
    memset(block, 1, 32 * MIB);
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
    reserve_huge(NODE, 0);
    reserve_huge(1 - NODE, 0);
}

/* ---- moving -------------------------------------------------------------------------- */

static void check_repair(void)
{
    const struct starpool_location here = {STARPOOL_HOST_NUMA, NODE};
    unsigned long mask = 1UL << (1 - NODE);
    struct starpool_pool_config config = guest_config(NODE);
    void *block, *other = guest_bound(8 * MIB, 1 - NODE);
    struct starpool_pages pages;
    struct starpool_pool *pool;

    /* The kernel moves transparent huge pages as a whole. */
    config.huge = STARPOOL_HUGE_NEVER;
    pool = guest_pool(&config);
    if (starpool_alloc(pool, 8 * MIB, STARPOOL_STREAM_HOST, &block) != STARPOOL_OK)
        abort();
    /* The kernel's own way of moving pages, behind the pool's back. */
    guest_check(syscall(SYS_mbind, (char *)block + 2 * MIB, 3 * MIB, MPOL_BIND, &mask,
                        sizeof(mask) * 8, MPOL_MF_MOVE) == 0 &&
                    starpool_verify(block, 8 * MIB, &pages) == STARPOOL_OK &&
                    pages.n_on_node[1 - NODE] == 3 * MIB / 4096,
                "verify sees the pages that were moved away");
    guest_status(STARPOOL_OK, starpool_repair(block, 8 * MIB, here), "repair");
    guest_check(guest_is_on(block, 8 * MIB, NODE), "brings them back");
    memset(other, 7, 6 * MIB);
    guest_status(STARPOOL_OK, starpool_repair(other, 8 * MIB, here),
                 "repair of memory that is not starpool's, in part untouched");
    guest_check(guest_is_on(other, 6 * MIB, NODE) && *(char *)other == 7,
                "moves what is there");
    guest_check(guest_places((char *)other + 6 * MIB, 2 * MIB).n_absent == 512,
                "and touches nothing");
    guest_status(
        STARPOOL_EDEVICE,
        starpool_repair(block, 8 * MIB, (struct starpool_location){STARPOOL_HOST_NUMA, 63}),
        "to a node that does not exist");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
    (void)munmap(other, 8 * MIB);
}

static void check_repair_on_full_node(void)
{
    /* First: pages that a child shares are not moved. */
    pid_t hog = guest_hog_begin(NODE, 48 * MIB);
    void *other = guest_bound(96 * MIB, 1 - NODE);

    memset(other, 7, 96 * MIB);
    guest_status(
        STARPOOL_ENODE,
        starpool_repair(other, 96 * MIB, (struct starpool_location){STARPOOL_HOST_NUMA, NODE}),
        "repair to a full node");
    guest_hog_end(hog);
    (void)munmap(other, 96 * MIB);
}

int main(void)
{
    check_maximum();
    refuse_taking_pages();
    check_trim();
    check_huge(24, 0);
    check_huge(8, 24);
    check_huge(0, 0);
    check_repair();
    check_repair_on_full_node();
    check_locked();
    give_up_locking(4 * MIB);
    check_locking_refused();
    return guest_end();
}
