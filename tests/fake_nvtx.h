/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tool of fake_nvtx.c has been told. */
#ifndef SP_FAKE_NVTX_H
#define SP_FAKE_NVTX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SP_FAKE_NVTX_HEAPS   64
#define SP_FAKE_NVTX_REGIONS 4096

struct sp_fake_heap {
    uintptr_t base;
    size_t size; /* [bytes] 0: not in use */
};

struct sp_fake_region {
    uintptr_t start;
    size_t size; /* [bytes] 0: not in use */
    struct sp_fake_heap *heap;
};

/* Guarded by `lock`. */
struct sp_fake_nvtx {
    pthread_mutex_t lock;
    struct sp_fake_heap heaps[SP_FAKE_NVTX_HEAPS];
    struct sp_fake_region regions[SP_FAKE_NVTX_REGIONS];
    size_t n_heaps, n_regions;   /* that there are */
    size_t n_declared;           /* regions, ever */
    size_t n_left;               /* regions that were withdrawn with their heap */
    size_t n_core, n_extensions; /* how often each way in was taken */
    char complaint[128];         /* the first thing that was wrong; "": nothing */
    /* Called at the begin of each call, without the lock; a test sets it. */
    void (*listen)(bool is_heap, bool is_declared, uintptr_t start);
};

#define SP_FAKE_NVTX_VARIABLE "NVTX_INJECTION64_PATH"

/* For main(): the tool of this process, unless another one is named. False: there is no
 * environment. */
static inline bool sp_fake_nvtx_name(void)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/tests/fake_nvtx/libfake_nvtx.so",
                   builddir != NULL ? builddir : ".");
    return setenv(SP_FAKE_NVTX_VARIABLE, path, 0) == 0 &&
           setenv("STARPOOL_LOG", "info", 0) == 0;
}

#endif /* SP_FAKE_NVTX_H */
