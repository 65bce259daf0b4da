/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to src/trace: rings of entries, each filled by one thread and emptied by the one that
 * writes the file. */
#ifndef SP_TRACE_RING_H
#define SP_TRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/trace/format.h"

/* Entries of a ring: what a thread can do while the writer sleeps. */
#define SP_TRACE_RING_SIZE 32768u

/*
 *   tail <= head <= tail + SP_TRACE_RING_SIZE
 *
 * Entry i is at i modulo the size. [tail, head) is the writer's to read, the rest the owner's
 * to write. Rings live for ever; one whose thread has ended is handed on.
 */
struct sp_trace_ring {
    _Atomic uint64_t head;   /* the owner's */
    uint64_t known_tail;     /* the owner's: the tail as it saw it last */
    _Atomic uint64_t n_lost; /* the owner's: entries for which there was no room */
    uint32_t thread;         /* the owner's number */
    _Atomic bool is_owned;
    struct sp_trace_ring *next;         /* never changes */
    _Alignas(64) _Atomic uint64_t tail; /* the writer's */
    _Alignas(64) struct sp_trace_entry entries[SP_TRACE_RING_SIZE];
};

/* The first of all rings, or NULL. */
struct sp_trace_ring *sp_trace_rings(void);

/* Entries lost since the process began, by full rings and by threads without one. */
uint64_t sp_trace_n_lost(void);

/* Decide on the clock and prepare for threads that end; false if that cannot be. Any number of
 * times. */
bool sp_trace_rings_setup(void);

/* Whether ticks are the processor's. */
bool sp_trace_is_counter(void);

/* In a forked child: the rings are the parent's. */
void sp_trace_rings_forget(void);

#endif /* SP_TRACE_RING_H */
