/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The requests of a trace, made again: what if the pools were other ones? */
#ifndef SP_TRACE_REPLAY_H
#define SP_TRACE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/pool.h>
#include <starpool/trace.h>

#define SP_REPLAY_NAME    80
#define SP_REPLAY_N_TAKES 6

/* How the pools should be. */
struct sp_replay_config {
    bool on_model;              /* the driver's pools of the CPU model, not starpool's own */
    uint64_t release_threshold; /* [bytes] STARPOOL_UNLIMITED keeps everything */
    uint64_t limit;             /* [bytes] of each pool; 0: none */
    double scale;               /* of sizes */
    bool follows_events, is_opportunistic, allows_internal_waits;
    void (*progress)(uint64_t n_done, uint64_t n_all); /* NULL, or called now and then */
};

/* What became of a pool. */
struct sp_replay_pool {
    uint32_t pool; /* its number in the trace */
    char name[SP_REPLAY_NAME];
    uint64_t n_requests, n_refused;
    uint64_t asked_bytes, asked_high_bytes; /* live, as they were asked for; their peak */
    uint64_t used_high_bytes, reserved_high_bytes;
    uint64_t free_bytes, largest_hole_bytes; /* at the end of the trace; 0 on the model */
    bool has_takes;
    uint64_t n_takes[SP_REPLAY_N_TAKES]; /* fresh, stream, seen, event, executed, internal */
};

struct sp_replay_result {
    struct sp_replay_pool *pools; /* [n_pools] */
    size_t n_pools;
    uint64_t n_records, n_requests, n_refused, n_frees, n_waits, n_synchronizes, n_trims;
    uint64_t n_unknown_frees;   /* of blocks whose request is not in the trace or was refused */
    uint64_t n_failed;          /* waits, points and the like that were refused */
    uint64_t n_live;            /* at the end */
    double request_ns, free_ns; /* a call, on average; 0 if there was none */
    char reason[160];           /* why it could not be done, or "" */
};

/*
 * Make the requests, frees, waits and trims of a trace in the order of time, in this thread, on
 * pools of its own. What starpool_trace_next() answered at last; or, with a reason, why there
 * can be no such pools (ENOTSUP, ...), or ENOMEM. The result is of what was done, and to be
 * given back by sp_replay_fini() in any case.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
sp_replay_run(struct starpool_trace *reader, const struct sp_replay_config *config,
              struct sp_replay_result *result);

STARPOOL_API void sp_replay_fini(struct sp_replay_result *result);

#endif /* SP_TRACE_REPLAY_H */
