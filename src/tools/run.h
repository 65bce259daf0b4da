/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool run`. */
#ifndef SP_RUN_H
#define SP_RUN_H

/* argv[0] is "run". Returns only if the program was not started, or for --help. */
int sp_run_main(int argc, char **argv);

#endif /* SP_RUN_H */
