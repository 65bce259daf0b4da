/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trace file: a header, then entries of one size, the last of them STARPOOL_TRACE_END. All in
 * the byte order of the machine that wrote it. The entries of one thread stand in the order of
 * time; those of several threads follow each other in pieces. */
#ifndef SP_TRACE_FORMAT_H
#define SP_TRACE_FORMAT_H

#include <stdint.h>

/* As in PNG: a byte that is no text, a name, and line ends that a transfer as text would
 * change.
 */
#define SP_TRACE_MAGIC "\x89SPT\r\n\x1a\n"

#define SP_TRACE_BYTE_ORDER   0x01020304u
#define SP_TRACE_BYTE_SWAPPED 0x04030201u

/* Rises when a reader of the version before would misread the file. New kinds of events do not
 * make it rise. */
#define SP_TRACE_VERSION 1u

/* What ticks are. They mean something between the two readings of the header only. */
enum sp_trace_clock {
    SP_TRACE_CLOCK_SYSTEM,  /* nanoseconds of CLOCK_MONOTONIC */
    SP_TRACE_CLOCK_COUNTER, /* the processor's own counter */
};

/* Written anew whenever entries have been, so that a file without an end has all but those. */
struct sp_trace_header {
    char magic[8];
    uint32_t byte_order;
    uint32_t version;
    uint32_t header_size; /* [bytes] */
    uint32_t entry_size;  /* [bytes] */
    uint32_t clock;       /* an enum sp_trace_clock */
    uint32_t process;
    uint64_t begin_ticks, begin_ns;   /* one moment on both clocks */
    uint64_t latest_ticks, latest_ns; /* a later one; equal to the first if there was none */
    uint64_t wall_ns;                 /* when it began, since 1970 */
    uint64_t n_lost;
    uint64_t spare[6]; /* 0 */
};

/* `who` holds, from the lowest bit: kind 8, detail 8, thread 24, pool 24. */
struct sp_trace_entry {
    uint64_t ticks;
    uint64_t who;
    uint64_t address; /* WAIT: the other stream; creations: the location, kind above id */
    uint64_t size;
    uint64_t stream;
    uint64_t point; /* POOL_CREATE: 1 if the pool was there before; END: events lost */
};

_Static_assert(sizeof(struct sp_trace_header) == 128, "the header has a size of its own");
_Static_assert(sizeof(struct sp_trace_entry) == 48, "an entry has no holes");

/* The name of a pool, before its POOL_CREATE: the last four members are text, the detail is the
 * number of the piece, from 0. */
#define SP_TRACE_NAME        254
#define SP_TRACE_NAME_PIECE  32
#define SP_TRACE_NAME_PIECES 2

/* Higher numbers become this one. */
#define SP_TRACE_MAX_NUMBER 0xffffffu

static inline uint64_t sp_trace_who(unsigned kind, unsigned detail, uint32_t thread,
                                    uint32_t pool)
{
    return (uint64_t)(kind & 0xff) | (uint64_t)(detail & 0xff) << 8 |
           (uint64_t)(thread & SP_TRACE_MAX_NUMBER) << 16 | (uint64_t)pool << 40;
}

#endif /* SP_TRACE_FORMAT_H */
