/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool simulate`. */
#ifndef SP_SIMULATE_H
#define SP_SIMULATE_H

/* argv[0] is "simulate". Returns only if the program was not started, or for --help. */
int sp_simulate_main(int argc, char **argv);

#endif /* SP_SIMULATE_H */
