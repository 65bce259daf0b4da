/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to src/trace: a reader from the inside, and where the entries of each thread are. */
#ifndef SP_TRACE_INDEX_H
#define SP_TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/trace.h>

#include "src/trace/format.h"
#include "src/trace/map.h"

/* Entries of a thread that follow each other in the file: [begin, end). */
struct sp_trace_run {
    uint64_t begin, end;
};

/* A thread's entries: what is left of its runs, and of what has been read of them. */
struct sp_trace_cursor {
    struct sp_trace_run *runs;
    size_t n_runs, room, next_run;
    uint64_t n_total;
    uint64_t next; /* the entry that is read next, in the run before `next_run` */
    uint64_t end;
    struct sp_trace_entry *entries;
    size_t n_entries, at; /* [at, n_entries) are still to be given */
    char name[SP_TRACE_NAME_PIECES * SP_TRACE_NAME_PIECE + 1];
};

/* Once `heap` is empty, `status` and the two behind it are the answer. */
struct starpool_trace {
    int fd;
    bool is_swapped;
    struct sp_trace_header header;
    uint64_t file_size;
    uint64_t n_entries; /* before the end */
    struct sp_trace_cursor *cursors;
    size_t n_cursors, room;
    struct sp_map threads; /* thread -> its cursor's index */
    size_t *heap;          /* cursors that have an entry, the earliest first */
    size_t heap_size;
    struct sp_trace_cursor
        *latest; /* whose entry was given last; NULL if there is none to be held */
    struct sp_trace_cursor *held; /* has an entry but is not in the heap; or NULL */
    uint64_t skew_ticks;
    enum starpool_status status;
    uint64_t offset;
    char reason[160];
    struct sp_trace_entry end;
    char name[SP_TRACE_NAME_PIECES * SP_TRACE_NAME_PIECE + 1]; /* of the record given last */
};

/* Keep what is wrong and where. */
void sp_trace_fail(struct starpool_trace *reader, enum starpool_status status, uint64_t offset,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
void sp_trace_fail_memory(struct starpool_trace *reader);

/* Entries [first, first + n) in this machine's byte order, but for names. */
bool sp_trace_read_entries(struct starpool_trace *reader, struct sp_trace_entry *entries,
                           size_t n, uint64_t first);

/* With `fd` and `file_size` set: read the header and find out whose entries are where. What is
 * wrong is kept. */
void sp_trace_index(struct starpool_trace *reader);

#endif /* SP_TRACE_INDEX_H */
