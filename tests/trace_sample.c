/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes traces for tests/test_tool_trace.sh, as pools would: `trace_sample KIND FILE`. Also,
 * for `pages`, memory with a policy: prints a line when it is there and waits for the end of
 * input. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/trace/record.h"

#define N_BLOCKS 64
#define BASE     0x100000

static const struct starpool_location host = {STARPOOL_HOST, 0};

static void *block(uintptr_t index)
{
    return (void *)(BASE + index * 4096);
}

/* Two streams that hand blocks to each other by waits, and a host that takes the rest. */
static void record_sound(void)
{
    uint64_t point = 1;

    sp_trace_pool_create(1, host, 0, "sample, with a comma", false);
    sp_trace_stream_create(1, host);
    sp_trace_stream_create(2, host);
    sp_trace_grow(1, BASE, N_BLOCKS * 4096);
    for (uintptr_t i = 0; i < N_BLOCKS; i++) {
        sp_trace_alloc_at(1, block(i), 4096, 1, point++, STARPOOL_TRACE_EDGE_FRESH);
        sp_trace_free(1, block(i), 4096, 1, point++);
    }
    sp_trace_alloc(1, NULL, 1 << 20, 1, STARPOOL_ENOMEM);
    sp_trace_point(1, point);
    sp_trace_wait(2, 1, point);
    for (uintptr_t i = 0; i < N_BLOCKS; i++) {
        sp_trace_alloc_at(1, block(i), 4096, 2, i + 1, STARPOOL_TRACE_EDGE_EVENT);
        if (i > 0)
            sp_trace_free(1, block(i), 4096, STARPOOL_TRACE_HOST, 0);
    }
    sp_trace_synchronize(2, 0);
    sp_trace_trim(1, 0);
}

static void record_broken(void)
{
    record_sound();
    sp_trace_free(1, block(1), 4096, STARPOOL_TRACE_HOST, 0);
}

static void record_unordered(void)
{
    sp_trace_pool_create(1, host, 0, "unordered", false);
    sp_trace_alloc_at(1, block(0), 4096, 1, 1, STARPOOL_TRACE_EDGE_FRESH);
    sp_trace_free(1, block(0), 4096, 1, 2);
    sp_trace_alloc_at(1, block(0), 4096, 2, 1, STARPOOL_TRACE_EDGE_EVENT);
}

/* One page on node 0, with a policy of MPOL_BIND (2). */
static int hold_pages(void)
{
    unsigned long nodes = 1;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED || syscall(SYS_mbind, page, 4096, 2, &nodes, 64, 0) != 0)
        return 77;
    page[0] = 1;
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";

    if (strcmp(kind, "pages") == 0)
        return hold_pages();
    if (argc != 3 || starpool_trace_begin(argv[2]) != STARPOOL_OK)
        return 99;
    if (strcmp(kind, "sound") == 0)
        record_sound();
    else if (strcmp(kind, "broken") == 0)
        record_broken();
    else if (strcmp(kind, "unordered") == 0)
        record_unordered();
    else
        return 99;
    return 0; /* The trace ends with the program. */
}
