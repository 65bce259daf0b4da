/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses for blocks that live in intervals of one time line: a fast descent, and a search
 * that is bounded in time and can say that nothing fits. */
#ifndef SP_INTERVAL_H
#define SP_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

/* [n] each; block i is live in [lower[i], upper[i]), which is not empty, and takes size[i]
 * units. Units are whatever the caller rounds to: every offset is a sum of sizes. */
struct sp_interval_problem {
    uint32_t n;
    const uint64_t *lower, *upper, *size;
};

struct sp_interval_options {
    uint64_t capacity; /* [units] 0: none, as low as possible */
    uint64_t time_ns;  /* at most so long is searched; 0: the first descent only */
    uint64_t seed;     /* of noisy orderings; the same seed gives the same answer where time
                          plays no part */
};

enum sp_interval_answer {
    SP_INTERVAL_FOUND,        /* offsets are set; they fit if there is a capacity */
    SP_INTERVAL_DOES_NOT_FIT, /* proved; offsets are the best found, beyond the capacity */
    SP_INTERVAL_UNKNOWN, /* time is over; offsets are the best found, beyond the capacity */
};

struct sp_interval_result {
    enum sp_interval_answer answer;
    uint64_t peak;        /* [units] the highest end of a block */
    uint64_t lower_bound; /* [units] most that is live at once */
    uint64_t n_nodes;     /* searched */
};

/* `offsets` has room for n, and is set whatever the answer. EINVAL (a life is empty, or the
 * sizes sum up to 2^62 or more) and ENOMEM: it is not. */
STARPOOL_CHECK enum starpool_status sp_interval_plan(const struct sp_interval_problem *problem,
                                                     const struct sp_interval_options *options,
                                                     uint64_t *offsets,
                                                     struct sp_interval_result *result_out);

#endif /* SP_INTERVAL_H */
