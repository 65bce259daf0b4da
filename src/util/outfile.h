/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the library writes for its user: their names, and what may be written over. */
#ifndef SP_OUTFILE_H
#define SP_OUTFILE_H

#include <starpool/base.h>

/* The process's MPI rank as its launcher tells it, or 0. */
STARPOOL_API unsigned sp_outfile_rank(void);

/*
 * The file that a pattern names, empty and open for writing: %p is the process number, %r the
 * rank, %% a percent sign; relative names are below `folder`, "" for the working directory. It
 * is a new or an old regular file of the user's, not a link and without a second name, and has
 * mode 0600. -1, and a line says why there is no `what`, if that is not to be had.
 */
STARPOOL_API int sp_outfile_open(const char *pattern, const char *folder, const char *what);

#endif /* SP_OUTFILE_H */
