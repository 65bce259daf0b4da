/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of traces share: a folder, files made byte by byte, and reading to the end. */
#ifndef SP_TRACE_CASE_H
#define SP_TRACE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/trace.h>

#include "src/trace/format.h"

/* Records that sp_trace_case_read() keeps. */
#define SP_TRACE_CASE_ROOM 256

/* What came of reading a trace to its end. */
struct sp_trace_case {
    struct starpool_trace_record records[SP_TRACE_CASE_ROOM]; /* the first ones; names are "" */
    char names[SP_TRACE_CASE_ROOM][80];
    size_t n; /* all of them, without the end */
    enum starpool_status status;
    uint64_t n_lost, offset;
    char reason[200];
};

/* A folder for this program's files, and the path of one in it. To be removed at the end. */
void sp_trace_case_begin(void);
const char *sp_trace_case_path(const char *name);
void sp_trace_case_end(void);

/* Read a trace to its end, the latest result being replaced; false if it cannot be opened. */
bool sp_trace_case_read(const char *path, struct sp_trace_case *result);

/* Read and write whole files. */
size_t sp_trace_case_load(const char *path, unsigned char *bytes, size_t room);
bool sp_trace_case_save(const char *path, const void *bytes, size_t size);

/* A header with a clock in nanoseconds. */
struct sp_trace_header sp_trace_case_header(void);

/* Write a trace of these entries, ended unless they end it themselves; times are their `ticks`.
 */
bool sp_trace_case_write(const char *path, const struct sp_trace_entry *entries, size_t n);

#endif /* SP_TRACE_CASE_H */
