/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded into a program on stock StarPU: counts the requests for host memory that starpool
 * would serve, and appends the number to the file that COUNT_SHIM_FILE names. Which
 * request is counted twice does not matter: only whether there are any. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <starpu.h>

static atomic_ulong n_requests;

uintptr_t starpu_malloc_on_node_flags(unsigned node, size_t size, int flags)
{
    uintptr_t (*real)(unsigned, size_t, int) =
        (uintptr_t(*)(unsigned, size_t, int))dlsym(RTLD_NEXT, "starpu_malloc_on_node_flags");
    enum starpu_node_kind (*kind)(unsigned) =
        (enum starpu_node_kind(*)(unsigned))dlsym(RTLD_DEFAULT, "starpu_node_get_kind");

    if (kind(node) == STARPU_CPU_RAM)
        atomic_fetch_add(&n_requests, 1);
    return real(node, size, flags);
}

int starpu_malloc_flags(void **ptr_out, size_t size, int flags)
{
    int (*real)(void **, size_t, int) =
        (int (*)(void **, size_t, int))dlsym(RTLD_NEXT, "starpu_malloc_flags");

    atomic_fetch_add(&n_requests, 1);
    return real(ptr_out, size, flags);
}

int starpu_malloc(void **ptr_out, size_t size)
{
    int (*real)(void **, size_t) = (int (*)(void **, size_t))dlsym(RTLD_NEXT, "starpu_malloc");

    atomic_fetch_add(&n_requests, 1);
    return real(ptr_out, size);
}

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("COUNT_SHIM_FILE");
    char line[32];
    int fd, n;

    if (name == NULL || n_requests == 0)
        return;
    fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    n = snprintf(line, sizeof(line), "%lu\n", (unsigned long)n_requests);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        fprintf(stderr, "count_shim: cannot write %s\n", name);
    if (fd >= 0)
        close(fd);
}
