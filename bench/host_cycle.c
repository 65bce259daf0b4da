/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a block costs on the host: starpool beside what a program would use otherwise, all in
 * one process and interleaved, with a floor that allocates nothing. */
#include "config.h"

#include "bench/host_cycle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char what[] = "Times cycles of alloc, touch and free, and bare pairs of alloc and "
                           "free, of starpool and of\n"
                           "the allocators that are installed. The exit status says only "
                           "whether the run was in order.";

/* jemalloc wants more thread-local storage than the loader keeps for libraries that come late.
 * Only the loader can change that, so the program starts itself once more. */
static void reserve_static_tls(char **argv)
{
    static const char name[] = "GLIBC_TUNABLES";
    static const char ours[] = "glibc.rtld.optional_static_tls=16384";
    const char *old = getenv(name);
    char tunables[1024];

    if (old != NULL && strstr(old, ours) != NULL)
        return;
    if (old == NULL || *old == '\0')
        snprintf(tunables, sizeof(tunables), "%s", ours);
    else if (snprintf(tunables, sizeof(tunables), "%s:%s", old, ours) >= (int)sizeof(tunables))
        return;
    if (setenv(name, tunables, 1) == 0)
        execv("/proc/self/exe", argv);
    fprintf(stderr, "cannot start again with %s: jemalloc will be left out\n", tunables);
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    bool usable[SP_N_BACKENDS];

    reserve_static_tls(argv);
    /* hwloc and StarPU would load OpenCL's drivers. PoCL 3.1, with its LLVM, aborts with
     * "free(): invalid pointer" when mimalloc and jemalloc have been loaded before. */
    setenv("OCL_ICD_VENDORS", "/dev/null", 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sp_bench_init();
    if (!sp_backends_open(usable)) {
        fprintf(stderr, "starpool cannot be used: nothing to measure\n");
        return 1;
    }
    sp_window_run(effort, usable);
    sp_pair_run(effort, usable);
    /* At once: what the rivals do when a process ends is not ours to wait for. */
    fflush(stdout);
    _exit(0);
}
