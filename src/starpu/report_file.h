/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the report goes. */
#ifndef SP_REPORT_FILE_H
#define SP_REPORT_FILE_H

#include <stdio.h>

/* A stream to stderr that may be closed, or NULL. */
FILE *sp_report_open_stderr(void);

/* Names of files that are relative are from now on below the working directory of this moment.
 * Threads: one. */
void sp_report_keep_folder(void);

/* The file that a pattern names, as sp_outfile_open() says; NULL if that is not to be had. */
FILE *sp_report_open_file(const char *pattern);

#endif /* SP_REPORT_FILE_H */
