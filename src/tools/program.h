/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that is about to be run: where it is, and what the dynamic loader will make of it.
 */
#ifndef SP_PROGRAM_H
#define SP_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "src/tools/elf.h"
#include "src/tools/tools.h"

struct sp_program {
    char path[PATH_MAX];
    enum sp_elf_kind kind;
    char interpreter[PATH_MAX]; /* the dynamic loader; "" unless DYNAMIC */
    bool gains_rights;          /* set-user-id and the like: the loader ignores LD_PRELOAD */
    bool contains_starpu;       /* StarPU is linked into it statically */
};

/*
 * Find `name` as a shell does: by its path, or in PATH. Returns SP_EXIT_DONE, and `program` is
 * written whole; or SP_EXIT_NO_EXEC or SP_EXIT_NO_PROGRAM after a message of `command`'s.
 */
enum sp_exit sp_program_find(const char *command, const char *name, struct sp_program *program);

/* What a program loads that matters here. */
struct sp_program_loads {
    char flavour[64]; /* of StarPU: "starpu-1.3", with "-contrib" behind it if CUDA's run-time
                         library comes with it; "" if it loads none itself, or if that cannot
                         be said */
    char asan[PATH_MAX]; /* AddressSanitizer's library, which refuses to start unless it is the
                            first; "" if there is none */
    unsigned cuda;       /* bit N: libraries of CUDA N */
    char cudart[PATH_MAX]; /* where CUDA's run-time library comes from; "" if it loads none */
};

/* Ask the dynamic loader what a DYNAMIC program will load, without running the program.
 * `loads_out` is written whole. */
void sp_program_ask(const struct sp_program *program, struct sp_program_loads *loads_out);

#endif /* SP_PROGRAM_H */
