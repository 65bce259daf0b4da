/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A planned iteration as it is replayed: a request is looked up by who asks, the plan says
 * where its block goes, and flags say whether that is free by now. Pools, StarPU and the
 * planner are the caller's affair. */
#ifndef SP_TASKGRAPH_TABLE_H
#define SP_TASKGRAPH_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/starpu/taskgraph_record.h"

/* Why a request is left to the pools: X(name, key in reports, text in reports). */
#define SP_TG_CAUSE_MAP(X)                                               \
    X(UNKNOWN, "unknown", "of a size that was not captured")             \
    X(BEYOND, "beyond", "more often than captured")                      \
    X(BUSY, "busy", "while live blocks were in the way")                 \
    X(UNALIGNED, "unaligned", "with an alignment that was not captured") \
    X(NO_ARENA, "no_arena",                                              \
      "where the pool had no room for the planned range, or needed it back")

enum sp_tg_cause {
#define SP_TG_CAUSE_ENUM(name, key, text) SP_TG_##name,
    SP_TG_CAUSE_MAP(SP_TG_CAUSE_ENUM)
#undef SP_TG_CAUSE_ENUM
        SP_TG_N_CAUSES
};

/* Where the blocks of a record go. */
struct sp_tg_layout {
    const uint64_t *offsets; /* [n_blocks] [bytes] in their arena */
    const uint32_t *arenas;  /* [n_blocks] SP_TG_NONE: left to the pools */
    uint32_t n_arenas;
    uint64_t align; /* [bytes] of every offset, and of an arena's address */
};

/* The planned range of one place. refs == live blocks + 1 while an iteration holds it; base is
 * not 0 while refs is above 0, unless the pool had no room. */
struct sp_tg_arena {
    _Atomic uintptr_t base; /* 0: it has no memory now */
    uint64_t size;          /* [bytes] constant */
    uint16_t node;          /* StarPU's: whose pool it is taken from */
    _Atomic uint32_t refs;
    _Atomic uint64_t high; /* [bytes] the highest end of a block in this iteration */
};

/* Where a block goes. Its range is made of whole cells, the pieces between all places where
 * some block of the arena begins or ends. */
struct sp_tg_slot {
    uint64_t offset;
    uint64_t size;
    uint32_t arena; /* SP_TG_NONE: left to the pools */
    uint32_t start;
    uint32_t cell; /* its first, counted through all arenas */
    uint32_t n_cells;
    uint32_t rank; /* in sp_tg_table.by_size */
};

/* An address where blocks begin. */
struct sp_tg_start {
    uint64_t offset;
    uint32_t arena;
    _Atomic uint32_t owner; /* slot + 1 of the block that lives there; 0: none */
};

/*
 * A cell's bit in `busy` is set while a block lives on it: from before its address is given out
 * until after it has come back, whatever iteration that is in. A range is taken if all of its
 * bits were clear and are now set by the one who takes it.
 */
struct sp_tg_table {
    struct sp_tg_record record;
    struct sp_tg_slot *slots;   /* [record.n_blocks] */
    uint32_t *by_size;          /* [record.n_blocks] slots, by arena, then size */
    struct sp_tg_start *starts; /* [n_starts] */
    uint32_t *buckets;          /* [n_buckets] start + 1, or 0 */
    struct sp_tg_arena *arenas; /* [n_arenas] */
    _Atomic uint64_t *busy;     /* [n_cells / 64, rounded up] */
    _Atomic uint32_t *next;     /* [record.keys.n] number of the key's next request */
    uint32_t n_starts, n_buckets, n_arenas, n_cells;
    uint64_t align;
    struct sp_tg_gate gate;      /* for requests; open while an iteration is replayed */
    _Atomic bool is_held;        /* it holds the arenas; cleared by who lets go of them */
    _Atomic uint64_t n_requests; /* in this iteration, as all below */
    _Atomic uint64_t n_served;
    _Atomic uint64_t n_moved; /* of these, to another place than their own */
    _Atomic uint64_t n_deviations[SP_TG_N_CAUSES];
};

/*
 * A table for a record, which it takes over, whatever the answer. The nodes of the arenas and
 * their memory are the caller's to set. ENOMEM.
 */
STARPOOL_CHECK enum starpool_status sp_tg_table_init(struct sp_tg_table *table,
                                                     struct sp_tg_record *record,
                                                     const struct sp_tg_layout *layout);
/* For tests: a process keeps its tables, because frees may be looking at them. */
void sp_tg_table_fini(struct sp_tg_table *table);

/* Begin to replay an iteration. Each arena must have been got before. What is live still keeps
 * its range. Threads: one; others may free. */
void sp_tg_table_begin(struct sp_tg_table *table);

/* End it: no request is served any more when this returns. Threads: one. */
void sp_tg_table_end(struct sp_tg_table *table);

/* Serve a request that wants `align`; false: the pools must, and it has been counted why.
 * Constant time, no lock, no system call. Threads: any, at once. */
bool sp_tg_table_take(struct sp_tg_table *table, const struct sp_tg_request *request,
                      size_t align, void **ptr_out);

enum sp_tg_given {
    SP_TG_ELSEWHERE, /* the address is in no arena of the table */
    SP_TG_GIVEN,
    SP_TG_WRONG, /* it is, and no live block begins there */
};

/* Take a block back. If that was the last of an arena that is not in use, `*arena_out` is the
 * address that the pool is to have back, else NULL. Constant time, no lock, no system call.
 * Threads: any, at once. */
enum sp_tg_given sp_tg_table_give(struct sp_tg_table *table, const void *ptr, void **arena_out);

/* Keep an arena for an iteration; true if it needs memory (sp_tg_arena_set()). */
bool sp_tg_arena_get(struct sp_tg_arena *arena);
void sp_tg_arena_set(struct sp_tg_arena *arena, void *base);

/* Let go of it: the address that the pool is to have back, or NULL. */
void *sp_tg_arena_put(struct sp_tg_arena *arena);

/* True for one caller an iteration: it is to put the arenas. No block is served any more from
 * one in which none lives. Threads: any, at once. */
bool sp_tg_table_let_go(struct sp_tg_table *table);

/* Half of sp_tg_table_init(): cells, starts and ranks; see taskgraph_cells.c. */
bool sp_tg_table_cut(struct sp_tg_table *table);

/* The start at an address of an arena, or SP_TG_NONE. */
uint32_t sp_tg_table_find_start(const struct sp_tg_table *table, uint32_t arena,
                                uint64_t offset);

#endif /* SP_TASKGRAPH_TABLE_H */
