/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to src/trace: the file of a trace and the thread that fills it. */
#ifndef SP_TRACE_WRITER_H
#define SP_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

/* Make the file that a pattern stands for and start the thread. Statuses as
 * starpool_trace_begin(). */
STARPOOL_CHECK enum starpool_status sp_trace_writer_begin(const char *pattern);

/* Write what is left and the end, and stop the thread. EIO if anything could not be written. */
STARPOOL_CHECK enum starpool_status sp_trace_writer_end(void);

/* In a forked child: the file is the parent's. */
void sp_trace_writer_forget(void);

#endif /* SP_TRACE_WRITER_H */
