/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every event of a trace, for other programs. */
#ifndef SP_TRACE_EXPORT_H
#define SP_TRACE_EXPORT_H

#include <stdio.h>

#include <starpool/trace.h>

/* Write all records, one a line under a line of names, or one JSON object. What
 * starpool_trace_next() answered at last: OK for a whole trace. Whether `out` took it all, its
 * ferror() says. */
STARPOOL_API enum starpool_status sp_trace_write_csv(struct starpool_trace *reader, FILE *out);
STARPOOL_API enum starpool_status sp_trace_write_json(struct starpool_trace *reader, FILE *out);

/* A text as one field of CSV: in quotes if it needs them (RFC 4180). */
STARPOOL_API void sp_trace_write_field(FILE *out, const char *text);

/* The word for a kind of event ("unknown" for a later version's), of edge, of location. */
STARPOOL_API const char *sp_trace_kind_word(int kind);
STARPOOL_API const char *sp_trace_edge_word(enum starpool_trace_edge edge);
STARPOOL_API const char *sp_trace_place_word(enum starpool_kind kind);

#endif /* SP_TRACE_EXPORT_H */
