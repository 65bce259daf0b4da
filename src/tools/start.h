/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How `run` and `simulate` start a program: the plugin in front of LD_PRELOAD, and then the
 * program in the command's place. `command` is the word that messages begin with. */
#ifndef SP_START_H
#define SP_START_H

#include "src/tools/program.h"
#include "src/tools/tools.h"

/* Say why the plugin will not serve this program, or not all of it. */
void sp_start_warn(const char *command, const char *name, const struct sp_program *program);

/* Set LD_PRELOAD for a program that loads this, or say why not; SP_EXIT_DONE if the program may
 * start. */
enum sp_exit sp_start_preload(const char *command, const char *name,
                              const struct sp_program_loads *loads);

/* Become the program. Returns only if that cannot be, after a message. */
enum sp_exit sp_start(const char *command, const struct sp_program *program, char **argv);

#endif /* SP_START_H */
