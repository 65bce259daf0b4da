/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Binding refused, as the system call filters of containers do: the pool works unbound and says
 * so; where its pages are is unknown if that may not be asked either. */
#include "config.h"

#include "guest.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define NODE 1

#define SYSCALL_HOME_NODE 450

/* Answer a system call with an error from here on. */
static void refuse(int number, int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        abort();
}

static void check_pool(bool is_known)
{
    struct starpool_pool *pool = guest_node_pool(NODE);
    struct starpool_stats stats;
    struct starpool_pages pages;
    void *block = NULL;

    guest_status(STARPOOL_OK, starpool_alloc(pool, 20 * MIB, STARPOOL_STREAM_HOST, &block),
                 "the pool serves, unbound");
    if (block == NULL)
        return;
    memset(block, 1, 20 * MIB);
    stats = guest_stats(pool);
    guest_check(stats.unbound_bytes == stats.reserved_bytes, "which is counted");
    if (starpool_verify(block, 20 * MIB, &pages) != STARPOOL_OK)
        abort();
    if (is_known)
        guest_check(pages.n_unknown == 0 && guest_is_on(block, 20 * MIB, -1),
                    "where its pages are is known");
    else
        guest_check(pages.n_unknown == pages.n_pages && pages.n_resident == 0,
                    "where its pages are is unknown");
    (void)starpool_free(block, STARPOOL_STREAM_HOST);
    (void)starpool_pool_trim(pool, 0);
    guest_check(guest_stats(pool).reserved_bytes == 0, "and it gives them back");
    starpool_pool_destroy(pool);
}

/* Unbound memory goes where there is room, and is refused where there is none. */
static void check_full(void)
{
    struct starpool_pool *pool = guest_node_pool(NODE);
    enum starpool_status status;
    void *block = NULL;
    size_t n_blocks = 0;

    while ((status = starpool_alloc(pool, 16 * MIB, STARPOOL_STREAM_HOST, &block)) ==
           STARPOOL_OK) {
        memset(block, 1, 16 * MIB);
        n_blocks++;
    }
    guest_status(STARPOOL_ENODE, status, "an unbound pool that fills the machine is refused");
    guest_note("after %zu MiB", n_blocks * 16);
}

int main(int argc, char **argv)
{
    int error = argc > 1 && strcmp(argv[1], "unknown") == 0 ? ENOSYS : EPERM;
    void *block = guest_bound(4 * MIB, 1 - NODE);

    memset(block, 1, 4 * MIB);
    refuse(SYS_mbind, error);
    refuse(SYS_set_mempolicy, error);
    refuse(SYSCALL_HOME_NODE, error);
    check_pool(true);
    refuse(SYS_move_pages, error);
    refuse(SYS_get_mempolicy, error);
    check_pool(false);
    guest_status(
        error == EPERM ? STARPOOL_ENOTPERM : STARPOOL_ENOTSUP,
        starpool_repair(block, 4 * MIB, (struct starpool_location){STARPOOL_HOST_NUMA, NODE}),
        "repair is refused");
    check_full();
    return guest_end();
}
