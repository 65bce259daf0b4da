/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An iteration as blocks: who asked for each, and from when to when it was live. */
#ifndef SP_TASKGRAPH_RECORD_H
#define SP_TASKGRAPH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/starpu/taskgraph_log.h"

/* Requests that cannot be told apart: their numbers are first, first + 1, ... in the order in
 * which they come. */
struct sp_tg_key {
    struct sp_tg_request request;
    uint32_t first; /* block's place in sp_tg_record.by_key */
    uint32_t count;
};

/* The keys of an iteration, each found in constant time. */
struct sp_tg_keys {
    struct sp_tg_key *keys; /* [n] in order of appearance */
    uint32_t *buckets;      /* [n_buckets] index + 1, or 0 */
    uint32_t n;
    uint32_t room;
    uint32_t n_buckets; /* a power of two above 2 * n */
};

/* Live in [lower, upper) of the log's time. */
struct sp_tg_block {
    uint64_t size;
    uint32_t key;
    uint32_t number; /* which of its key */
    uint32_t lower, upper;
    uint32_t task;  /* that was being prepared by the thread that asked, or SP_TG_NONE */
    bool is_output; /* not freed in the iteration: `upper` is its end */
};

struct sp_tg_record {
    struct sp_tg_keys keys;
    struct sp_tg_block *blocks; /* [n_blocks] by `lower` */
    uint32_t *by_key; /* [n_blocks] block of each key's numbers, one key after another */
    uint32_t n_blocks;
    uint32_t end;         /* the log's time when it ended */
    uint64_t counts_hash; /* of how many requests there were of each key, in whatever order */
    uint64_t order_hash;  /* of all requests and frees in their order */
};

/* Make the blocks of a log that nobody writes any more. EINVAL: entries were lost; ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_tg_record_init(struct sp_tg_record *record,
                                                      const struct sp_tg_log *log);
void sp_tg_record_fini(struct sp_tg_record *record);

/* A copy of a record; false without memory. */
bool sp_tg_record_copy(struct sp_tg_record *copy_out, const struct sp_tg_record *record);

/* The key of a request, or SP_TG_NONE. Threads: any, at once, once the record is made. */
uint32_t sp_tg_keys_find(const struct sp_tg_keys *keys, const struct sp_tg_request *request);

#endif /* SP_TASKGRAPH_RECORD_H */
