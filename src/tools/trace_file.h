/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the commands that read a trace share. */
#ifndef SP_TRACE_FILE_H
#define SP_TRACE_FILE_H

#include <starpool/trace.h>

#include "src/tools/tools.h"

/* Open a trace, or say why not. */
enum sp_exit sp_trace_file_open(const char *command, const char *path,
                                struct starpool_trace **reader_out);

/* Say where and why reading ended, unless it ended with the trace. */
enum sp_exit sp_trace_file_finish(const char *command, const char *path,
                                  const struct starpool_trace *reader,
                                  enum starpool_status status);

/* A text from a file, without what a terminal could take for a command; in place. */
const char *sp_trace_file_plain(char *text);

#endif /* SP_TRACE_FILE_H */
