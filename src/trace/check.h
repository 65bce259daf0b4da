/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether what a trace says can have been right. */
#ifndef SP_TRACE_CHECK_H
#define SP_TRACE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/trace.h>

#define SP_CHECK_KEPT 8
#define SP_CHECK_TEXT 480

struct sp_trace_check {
    uint64_t n_records, n_allocs, n_frees;
    uint64_t n_unknown_frees; /* of blocks from before the trace */
    uint64_t n_ordered;       /* allocations whose place in the order was checked */
    uint64_t n_lost;
    uint64_t n_problems;
    char problems[SP_CHECK_KEPT][SP_CHECK_TEXT]; /* the first of them, in words */
    bool has_too_many_streams;                   /* so the order was not checked from then on */
};

/*
 * Read a trace to its end and check that every free is of a live block of that pool and size,
 * that no two live blocks overlap, in addresses or (where the trace says why a block could be
 * taken) in the order of streams, that no memory is released under a block, and that no pool
 * has more in use than it has reserved. What starpool_trace_next() answered at last, or ENOMEM;
 * the result is of what was there.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
sp_trace_check(struct starpool_trace *reader, struct sp_trace_check *check_out);

#endif /* SP_TRACE_CHECK_H */
