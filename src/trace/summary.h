/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a trace says of each pool, in numbers. */
#ifndef SP_TRACE_SUMMARY_H
#define SP_TRACE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/trace.h>

#include "src/trace/map.h"

#define SP_SUMMARY_OCTAVES  64
#define SP_SUMMARY_STATUSES 32
#define SP_SUMMARY_LONGEST  5
#define SP_SUMMARY_NAME     80

/* A block and how long it lived, until its free or the end of the trace. */
struct sp_summary_block {
    uint64_t address, size;
    uint64_t since_ns, life_ns;
    uint32_t pool, thread;
    bool is_live; /* never freed */
};

/* octave[i] counts values in [2^i, 2^(i+1)); 0 counts as 1. */
struct sp_summary_pool {
    uint32_t pool;
    char name[SP_SUMMARY_NAME];
    struct starpool_location location;
    uint64_t maximum; /* [bytes] 0: none */
    bool is_destroyed;
    uint64_t n_allocs, n_frees, n_refused, n_trims;
    uint64_t n_unknown_frees; /* of blocks whose allocation is not in the trace */
    uint64_t n_grows, n_releases;
    uint64_t allocated_bytes; /* all allocations together */
    uint64_t used_bytes, used_high_bytes;
    uint64_t reserved_bytes, reserved_high_bytes;
    uint64_t n_live, n_live_high;
    uint64_t size_octaves[SP_SUMMARY_OCTAVES];
    uint64_t life_octaves[SP_SUMMARY_OCTAVES]; /* [ns] of blocks that were freed */
    uint64_t life_sum_ns;
    uint64_t n_edges[STARPOOL_TRACE_N_EDGES];
    uint64_t n_refused_by[SP_SUMMARY_STATUSES]; /* [-status] */
    struct sp_summary_block
        longest[SP_SUMMARY_LONGEST]; /* the longest first; address 0: none */
};

struct sp_summary {
    struct sp_summary_pool *pools; /* [n_pools] in the order of their first events */
    size_t n_pools, room;
    struct sp_map pool_index; /* pool -> its index */
    struct sp_map blocks;     /* address -> a struct sp_summary_block of a live one */
    uint64_t n_records, duration_ns;
    uint64_t n_threads, n_streams, n_waits, n_synchronizes, n_lost;
    struct sp_map threads;
};

/* Read a trace to its end. What starpool_trace_next() answered at last, OK for a whole trace,
 * or ENOMEM; the summary is of what was there. To be given back by sp_summary_fini() in any
 * case. */
STARPOOL_API STARPOOL_CHECK enum starpool_status sp_summary_read(struct starpool_trace *reader,
                                                                 struct sp_summary *summary);

STARPOOL_API void sp_summary_fini(struct sp_summary *summary);

#endif /* SP_TRACE_SUMMARY_H */
