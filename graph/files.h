/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the readers and writers of graph files share. */
#ifndef SP_FILES_H
#define SP_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "graph/graph.h"
#include "graph/plan.h"

/* What sizes, times and addresses are at most: JSON's readers have signed numbers. */
#define SP_GRAPH_MOST ((uint64_t)INT64_MAX)

/* [bytes] Larger files are refused. */
#define SP_GRAPH_FILE_MOST ((size_t)256 << 20)

/* What stands in a JSON file's "starpool_graph". */
#define SP_JSON_VERSION 1

/* Alignment of blocks where a file does not say it: CSV's sizes mean what they say, and JSON's
 * are those of pools. */
#define SP_CSV_ALIGNMENT  1
#define SP_JSON_ALIGNMENT 256

/* Say what is wrong in which line; always EINVAL. */
enum starpool_status sp_graph_fail(struct sp_graph_error *error, unsigned line,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "kernel", "event-record": as files name what a node does. */
const char *sp_node_kind_word(enum starpool_graph_node_kind kind);

/* The other way round. False if there is no such word. */
bool sp_node_kind_parse(const char *word, enum starpool_graph_node_kind *kind_out);
bool sp_location_parse(const char *text, struct starpool_location *location_out);

/* A name from a file in a message: cut, and without what a terminal would take for a command.
 */
const char *sp_graph_plain(const char *name, size_t length, char text[64]);

/* ---- a graph on one line ---------------------------------------------------------------- */

/* When each block lives, in times, or in positions of an order that follows the graph's edges
 * and those that a plan adds, where it ends behind the node that ends it. */
struct sp_spans {
    uint64_t *lower, *upper; /* [n_blocks] */
    uint64_t begin, end;     /* of all of them; an empty graph has 0 and 1 */
};

/* `plan` may be NULL. EINVAL: there is a cycle. `spans` is to be given to sp_spans_fini() also
 * then. */
STARPOOL_CHECK enum starpool_status sp_spans_init(struct sp_spans *spans,
                                                  const struct starpool_graph *graph,
                                                  const struct starpool_plan *plan);
void sp_spans_fini(struct sp_spans *spans);

/* ---- text in text ----------------------------------------------------------------------- */

/* In XML, without what XML cannot hold; between the quotes of DOT; as a field of CSV. */
void sp_write_xml(FILE *out, const char *text);
void sp_write_dot_text(FILE *out, const char *text);
void sp_write_csv_field(FILE *out, const char *text);

/* ---- the forms; `plan` is NULL or of this graph -------------------------------------------
 */

STARPOOL_CHECK enum starpool_status sp_graph_write_csv(const struct starpool_graph *graph,
                                                       const struct starpool_plan *plan,
                                                       FILE *out);
STARPOOL_CHECK enum starpool_status sp_graph_write_json(const struct starpool_graph *graph,
                                                        const struct starpool_plan *plan,
                                                        FILE *out);

/* ENOTSUP: a timed graph has no nodes to show. */
STARPOOL_CHECK enum starpool_status sp_graph_write_dot(const struct starpool_graph *graph,
                                                       const struct starpool_plan *plan,
                                                       FILE *out);
STARPOOL_CHECK enum starpool_status sp_graph_write_svg(const struct starpool_graph *graph,
                                                       const struct starpool_plan *plan,
                                                       FILE *out);

/* ---- whole files (file.c) -----------------------------------------------------------------
 */

/* The graph in a file. EINVAL for what is wrong in it; ENOTSUP for a form that is written only;
 * EIO, ENOTPERM, ENOMEM; `error` says it all. */
STARPOOL_CHECK enum starpool_status sp_graph_read_file(const char *path,
                                                       enum starpool_graph_format format,
                                                       struct starpool_graph **graph_out,
                                                       struct sp_graph_error *error);

/* A failure that the disk has part in is logged, and leaves no file. */
STARPOOL_CHECK enum starpool_status sp_graph_write_file(const struct starpool_graph *graph,
                                                        const struct starpool_plan *plan,
                                                        const char *path,
                                                        enum starpool_graph_format format);

#endif /* SP_FILES_H */
