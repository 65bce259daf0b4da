/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream-ordered heap from the inside: records, bins, queues. For reuse*.c only. */
#ifndef SP_REUSE_IMPL_H
#define SP_REUSE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/heap/checker.h"
#include "src/heap/order.h"
#include "src/heap/reuse.h"
#include "src/util/util.h"

/* Records and tables live in lines of 64 bytes, which are numbered: `ref`. Line 0 is none:
 * it has the stamp 0, and what is written to its links nobody reads. */
#define SP_REUSE_LINE       64
#define SP_REUSE_BLOCK_BITS 10 /* lines of one number but for so many bits lie together */
#define SP_REUSE_BLOCK      (1U << SP_REUSE_BLOCK_BITS)

/* Sizes in a bin differ by at most 1/8. */
#define SP_REUSE_SL_BITS 3
#define SP_REUSE_SL      (1U << SP_REUSE_SL_BITS)
#define SP_REUSE_FL      36U

/* So many pending ranges of a stream may be loose, in so many chains. */
#define SP_REUSE_MAX_LOOSE 32U
#define SP_REUSE_CHAINS    8U

enum sp_reuse_state {
    SP_REUSE_SPARE,   /* `size` lines that are in no use */
    SP_REUSE_LIVE,    /* in the hash table */
    SP_REUSE_READY,   /* in a bin of `ready` */
    SP_REUSE_PENDING, /* in a bin or a chain of its stream and the queue `pending` */
    SP_REUSE_DONE,    /* in a bin of `done` and its stream's queue `done` */
};

/* A live block in a chain of the hash table. Its record mostly is in no cache: those of other
 * blocks are passed by without a look at them. */
struct sp_reuse_link {
    uint32_t ref;   /* 0: the end */
    uint32_t units; /* where it begins, but for the bits above these */
};

/*
 * A range of a chunk. One line. A free range is loose if it has not been merged with its
 * neighbours since its free, or since it became ready: it waits for a request of its size.
 *
 *   of two READY ranges that touch, or two that are PENDING or DONE of one stream, one is loose
 */
struct sp_reuse_range {
    uintptr_t start;
    size_t size;  /* [bytes]; SPARE: [lines] */
    uint64_t seq; /* LIVE: of the allocation; PENDING, DONE: of the latest free */
    struct sp_chunk *chunk;
    sp_slot slot;        /* likewise */
    uint8_t state;       /* an enum sp_reuse_state */
    bool is_fresh;       /* READY: nothing has been there yet */
    bool is_loose;       /* READY, PENDING, DONE */
    uint32_t prev, next; /* neighbours, 0 at the chunk's ends; SPARE: next spare lines */
    union {
        struct {
            uint32_t prev_in_bin, next_in_bin;
        };            /* READY, PENDING, DONE */
        void *cookie; /* LIVE: the user's */
    };
    union {
        struct {
            uint32_t older, newer;
        };                                 /* PENDING, DONE: neighbours in the queue */
        struct sp_reuse_link next_in_hash; /* LIVE */
    };
} __attribute__((aligned(SP_REUSE_LINE)));

/* bit f of fl_map <=> sl_map[f] != 0;  bit s of sl_map[f] <=> heads[f][s] != 0 */
struct sp_reuse_bins {
    uint64_t fl_map;
    uint8_t sl_map[SP_REUSE_FL];
    uint32_t heads[SP_REUSE_FL][SP_REUSE_SL];
};

/* Ranges of one stream by their stamps, oldest first. */
struct sp_reuse_queue {
    uint32_t oldest, newest;
};

/* What a stream has freed. `bytes` is the sum over both queues; the slot is held while it is
 * not 0. All stamps in `done` are below those in `pending`. But for the bins it is one line:
 * most frees and allocations of a stream need no other. */
struct sp_reuse_stream {
    struct sp_reuse_queue pending, done;
    uint64_t bytes;
    uint32_t n_loose;
    uint32_t loose[SP_REUSE_CHAINS]; /* those in `pending`, by size; the latest first */
    struct sp_reuse_bins bins;       /* the others in `pending` */
} __attribute__((aligned(SP_REUSE_LINE)));

/* A table that grows: it lies in lines, which become spare when it moves. */
struct sp_reuse_table {
    void *items; /* [room] */
    uint32_t n, room;
    uint32_t ref; /* its first line */
};

/* What is fed: the first line of every piece of memory. */
struct sp_reuse_piece {
    struct sp_reuse_piece *next;
    size_t size;
};

/*
 *   metadata_bytes (stats) == sp_reuse_size() + the sum of the pieces' sizes
 *   hash.room is a power of two, and n_live <= hash_limit
 */
struct sp_reuse {
    struct sp_order *order;
    size_t unit;
    unsigned unit_shift;
    struct sp_reuse_policy policy;
    bool shares_done;      /* frees that have executed may be in `done` */
    uint64_t epoch;        /* the order's when last asked what the host has seen */
    uint64_t shared_epoch; /* and what has executed */

    struct sp_reuse_table blocks;  /* of lines: where SP_REUSE_BLOCK of them begin */
    struct sp_reuse_table hash;    /* of struct sp_reuse_link, by address */
    struct sp_reuse_table streams; /* of struct sp_reuse_stream *, by slot; or NULL */
    struct sp_reuse_table chunks;  /* of struct sp_chunk *, sorted by address */
    unsigned hash_shift;
    uint32_t hash_limit; /* as many blocks as it may hold */

    uint32_t spares;         /* lines for records */
    uint32_t rest, rest_end; /* lines of the last piece that were never used */
    struct sp_reuse_piece *pieces;

    struct sp_chunk *first_chunk;
    uint32_t misses; /* how often takes have found no loose range of their size of late */
    uint32_t n_idle; /* ready ranges that are a whole chunk */
    struct sp_reuse_stats stats;
    struct sp_reuse_bins ready[2]; /* by `is_loose`, as the next */
    struct sp_reuse_bins done[2];  /* executed, not seen; none unless `shares_done` */
};

static inline struct sp_reuse_range *sp_reuse_at(const struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *const *blocks = reuse->blocks.items;

    return blocks[ref >> SP_REUSE_BLOCK_BITS] + (ref & (SP_REUSE_BLOCK - 1));
}

/* What a slot has freed, or NULL. */
static inline struct sp_reuse_stream *sp_reuse_stream_at(const struct sp_reuse *reuse,
                                                         sp_slot slot)
{
    struct sp_reuse_stream *const *streams = reuse->streams.items;

    return slot < reuse->streams.room ? streams[slot] : NULL;
}

/* ---- records and tables (reuse_memory.c) --------------------------------------------- */

uint32_t sp_reuse_new_record(struct sp_reuse *reuse);
void sp_reuse_drop_record(struct sp_reuse *reuse, uint32_t ref);

/* Make room in the hash table for one block more. */
void sp_reuse_grow_hash(struct sp_reuse *reuse);

/* Make the record of what a slot has freed. */
void sp_reuse_make_stream(struct sp_reuse *reuse, sp_slot slot);

/* The chunk that an address is in, or NULL. */
struct sp_chunk *sp_reuse_chunk_of(const struct sp_reuse *reuse, uintptr_t address);
void sp_reuse_list_chunk(struct sp_reuse *reuse, struct sp_chunk *chunk);
void sp_reuse_unlist_chunk(struct sp_reuse *reuse, struct sp_chunk *chunk);

/* ---- ranges (reuse_range.c) ---------------------------------------------------------- */

/* A range that is in no bin and no queue is ready from now on; loose unless it is fresh. */
void sp_reuse_settle_ready(struct sp_reuse *reuse, uint32_t ref);

/* The first `size` bytes of a range that is not live, as a range of its own: in no bin, no
 * queue and not counted. What is left keeps its record and its stamp. */
uint32_t sp_reuse_carve(struct sp_reuse *reuse, uint32_t ref, size_t size);

/* Two such ranges that touch become one, which keeps the record of the low one. */
void sp_reuse_absorb(struct sp_reuse *reuse, uint32_t low_ref, uint32_t high_ref);

/* Put what has executed where all streams find it; or, if reuse is not opportunistic, back. */
void sp_reuse_share(struct sp_reuse *reuse);

/* Merge what is loose: all of it, what all streams share, what is ready, what a stream has. */
void sp_reuse_merge(struct sp_reuse *reuse);
void sp_reuse_merge_shared(struct sp_reuse *reuse);
void sp_reuse_merge_ready(struct sp_reuse *reuse);
void sp_reuse_merge_stream(struct sp_reuse *reuse, struct sp_reuse_stream *stream);

/* Make a carved range a live block. */
void sp_reuse_enliven(struct sp_reuse *reuse, uint32_t ref, struct sp_point at,
                      struct sp_reuse_block *block_out);

#endif /* SP_REUSE_IMPL_H */
