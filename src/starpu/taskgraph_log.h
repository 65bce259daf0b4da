/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an iteration asks for, in the order in which it happens: one entry a request or free,
 * its number the time of the one time line. */
#ifndef SP_TASKGRAPH_LOG_H
#define SP_TASKGRAPH_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_TG_CHUNK_ENTRIES 4096
#define SP_TG_MAX_CHUNKS    1024

/* No task, no block, no number. */
#define SP_TG_NONE UINT32_MAX

/* Lets threads in while it is open, and never has one wait; who closes it waits for those that
 * are inside. One zeroed is closed. */
struct sp_tg_gate {
    _Atomic bool is_open;
    _Atomic uint32_t n_inside; /* threads that are, or are about to see that it is closed */
};

static inline void sp_tg_gate_open(struct sp_tg_gate *gate)
{
    atomic_store(&gate->is_open, true);
}

static inline void sp_tg_gate_leave(struct sp_tg_gate *gate)
{
    atomic_fetch_sub(&gate->n_inside, 1);
}

/* True if the caller is inside; it must leave then. */
static inline bool sp_tg_gate_enter(struct sp_tg_gate *gate)
{
    atomic_fetch_add(&gate->n_inside, 1);
    if (atomic_load(&gate->is_open))
        return true;
    sp_tg_gate_leave(gate);
    return false;
}

/* Nobody is inside when this returns, until it is opened again. */
void sp_tg_gate_close(struct sp_tg_gate *gate);

enum sp_tg_kind {
    SP_TG_EMPTY, /* not written, or not yet */
    SP_TG_ALLOC,
    SP_TG_FREE,
};

/* Who asks, and for what: the same in each iteration. */
struct sp_tg_request {
    uint64_t size; /* [bytes] at least 1 */
    uint16_t node; /* StarPU's number */
    uint16_t door; /* an enum sp_door */
};

/* `kind` is written last. */
struct sp_tg_entry {
    _Atomic uint64_t address;
    _Atomic uint64_t size;
    _Atomic uint32_t task; /* that was being prepared, or SP_TG_NONE */
    _Atomic uint16_t node;
    _Atomic uint8_t door;
    _Atomic uint8_t kind; /* an enum sp_tg_kind */
};

struct sp_tg_chunk {
    struct sp_tg_entry entries[SP_TG_CHUNK_ENTRIES];
};

/*
 * Entries are never moved and chunks never given back; a chunk that is there is there for good.
 * There are chunks for the frees of all blocks that are out, so that a free finds room without
 * asking for any. One zeroed is closed.
 */
struct sp_tg_log {
    struct sp_tg_gate gate;    /* for writers */
    uint32_t n_older;          /* blocks that were out when it was opened */
    _Atomic uint32_t n;        /* entries, those being written included */
    _Atomic uint32_t n_allocs; /* of these, requests: at most so many frees follow */
    _Atomic uint32_t n_lost;   /* entries for which there was no room */
    struct sp_tg_chunk *_Atomic chunks[SP_TG_MAX_CHUNKS];
};

/* Start anew; `n_older` blocks are out. Threads: one; others may be writing still. */
void sp_tg_log_begin(struct sp_tg_log *log, uint64_t n_older);

/* Write no more: who is writing has done so when this returns. Threads: one. */
void sp_tg_log_end(struct sp_tg_log *log);

/* A block was taken: it is ours by now. A closed log is left alone. Threads: any, at once. */
void sp_tg_log_alloc(struct sp_tg_log *log, const struct sp_tg_request *request,
                     const void *address, uint32_t task);

/* A block is about to be given back; the same. No lock, no system call. Threads: any, at once.
 */
void sp_tg_log_free(struct sp_tg_log *log, const void *address);

/* How many entries there are; those that were lost are not among them. */
uint32_t sp_tg_log_n_entries(const struct sp_tg_log *log);

/* Entry `i`, below sp_tg_log_n_entries(). */
const struct sp_tg_entry *sp_tg_log_entry(const struct sp_tg_log *log, uint32_t i);

#endif /* SP_TASKGRAPH_LOG_H */
