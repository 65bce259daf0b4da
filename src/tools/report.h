/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool report`. */
#ifndef SP_TOOLS_REPORT_H
#define SP_TOOLS_REPORT_H

/* argv[0] is "report". */
int sp_report_main(int argc, char **argv);

#endif /* SP_TOOLS_REPORT_H */
