/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The report at the program's end. */
#ifndef SP_REPORT_H
#define SP_REPORT_H

/* The program has been started: a report whose name is relative goes below the folder that is
 * the working directory now. Once. */
void sp_report_note_start(void);

/* Write the report that STARPOOL_REPORT asks for, if StarPU was used; say what has to be said
 * in any case. Once, at the end of the process that started StarPU. */
void sp_report_at_exit(void);

#endif /* SP_REPORT_H */
