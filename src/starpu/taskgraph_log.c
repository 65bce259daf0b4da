/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log of an iteration. A writer takes a number, which is its time, and fills the entry of
 * that number; nobody waits for anybody. The entry of a request is written when the block has
 * been taken and that of a free before it is given back, so that two lives of one address never
 * overlap in the log. */
#include "config.h"

#include "src/starpu/taskgraph_log.h"

#include <sched.h>

#include "src/util/meta.h"
#include "src/util/util.h"

/* Room for frees of what nobody has counted: memory of GPUs, and what is not ours. */
#define SPARE_ENTRIES SP_TG_CHUNK_ENTRIES

static struct sp_tg_chunk *chunk_of(const struct sp_tg_log *log, uint32_t i)
{
    uint32_t chunk = i / SP_TG_CHUNK_ENTRIES;

    return chunk < SP_TG_MAX_CHUNKS
               ? atomic_load_explicit(&log->chunks[chunk], memory_order_acquire)
               : NULL;
}

/* Make sure that there are chunks for `n` entries after entry `i`, and for the frees of older
 * blocks, as far as memory goes. */
static void make_room(struct sp_tg_log *log, uint32_t i, uint32_t n)
{
    uint64_t entry = (uint64_t)i + n + log->n_older + SPARE_ENTRIES;
    uint32_t last = (uint32_t)sp_min(entry / SP_TG_CHUNK_ENTRIES, SP_TG_MAX_CHUNKS - 1);

    while (atomic_load_explicit(&log->chunks[last], memory_order_acquire) == NULL) {
        struct sp_tg_chunk *chunk;
        struct sp_tg_chunk *none = NULL;
        uint32_t first = last;

        while (first > 0 &&
               atomic_load_explicit(&log->chunks[first - 1], memory_order_acquire) == NULL)
            first--;
        chunk = sp_meta_alloc(sizeof(*chunk));
        if (chunk == NULL)
            return;
        /* A chunk that another thread's has come before is lost: that happens once a place. */
        atomic_compare_exchange_strong(&log->chunks[first], &none, chunk);
    }
}

void sp_tg_gate_close(struct sp_tg_gate *gate)
{
    atomic_store(&gate->is_open, false);
    while (atomic_load(&gate->n_inside) != 0)
        sched_yield();
}

void sp_tg_log_begin(struct sp_tg_log *log, uint64_t n_older)
{
    uint32_t n, i;

    sp_tg_log_end(log);
    n = atomic_load_explicit(&log->n, memory_order_relaxed);
    log->n_older = (uint32_t)sp_min(n_older, SP_TG_MAX_CHUNKS * SP_TG_CHUNK_ENTRIES);
    make_room(log, n, 0);
    for (i = 0; i < n; i++) {
        struct sp_tg_chunk *chunk = chunk_of(log, i);

        if (chunk != NULL)
            atomic_store_explicit(&chunk->entries[i % SP_TG_CHUNK_ENTRIES].kind, SP_TG_EMPTY,
                                  memory_order_relaxed);
    }
    atomic_store(&log->n, 0);
    atomic_store(&log->n_allocs, 0);
    atomic_store(&log->n_lost, 0);
    sp_tg_gate_open(&log->gate);
}

void sp_tg_log_end(struct sp_tg_log *log)
{
    sp_tg_gate_close(&log->gate);
}

/* The entry of the next number; NULL, and counted, if there is no room for it. */
static struct sp_tg_entry *next_entry(struct sp_tg_log *log)
{
    uint32_t i = atomic_load_explicit(&log->n, memory_order_relaxed);
    struct sp_tg_chunk *chunk;

    if (i < SP_TG_MAX_CHUNKS * SP_TG_CHUNK_ENTRIES)
        i = atomic_fetch_add_explicit(&log->n, 1, memory_order_acq_rel);
    chunk = chunk_of(log, i);
    if (chunk == NULL) {
        atomic_fetch_add_explicit(&log->n_lost, 1, memory_order_relaxed);
        return NULL;
    }
    return &chunk->entries[i % SP_TG_CHUNK_ENTRIES];
}

static void write_alloc(struct sp_tg_log *log, const struct sp_tg_request *request,
                        const void *address, uint32_t task)
{
    uint32_t n_allocs = atomic_fetch_add_explicit(&log->n_allocs, 1, memory_order_relaxed) + 1;
    struct sp_tg_entry *entry;

    make_room(log, atomic_load_explicit(&log->n, memory_order_relaxed), n_allocs);
    entry = next_entry(log);
    if (entry == NULL)
        return;
    atomic_store_explicit(&entry->address, (uintptr_t)address, memory_order_relaxed);
    atomic_store_explicit(&entry->size, request->size, memory_order_relaxed);
    atomic_store_explicit(&entry->task, task, memory_order_relaxed);
    atomic_store_explicit(&entry->node, request->node, memory_order_relaxed);
    atomic_store_explicit(&entry->door, (uint8_t)request->door, memory_order_relaxed);
    atomic_store_explicit(&entry->kind, SP_TG_ALLOC, memory_order_release);
}

static void write_free(struct sp_tg_log *log, const void *address)
{
    struct sp_tg_entry *entry = next_entry(log);

    if (entry == NULL)
        return;
    atomic_store_explicit(&entry->address, (uintptr_t)address, memory_order_relaxed);
    atomic_store_explicit(&entry->kind, SP_TG_FREE, memory_order_release);
}

void sp_tg_log_alloc(struct sp_tg_log *log, const struct sp_tg_request *request,
                     const void *address, uint32_t task)
{
    if (!sp_tg_gate_enter(&log->gate))
        return;
    write_alloc(log, request, address, task);
    sp_tg_gate_leave(&log->gate);
}

void sp_tg_log_free(struct sp_tg_log *log, const void *address)
{
    if (!sp_tg_gate_enter(&log->gate))
        return;
    write_free(log, address);
    sp_tg_gate_leave(&log->gate);
}

uint32_t sp_tg_log_n_entries(const struct sp_tg_log *log)
{
    return atomic_load_explicit(&log->n, memory_order_acquire);
}

const struct sp_tg_entry *sp_tg_log_entry(const struct sp_tg_log *log, uint32_t i)
{
    static const struct sp_tg_entry empty;
    const struct sp_tg_chunk *chunk = chunk_of(log, i);

    return chunk == NULL ? &empty : &chunk->entries[i % SP_TG_CHUNK_ENTRIES];
}
