/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program to its end, with a time limit, and keeps what it prints. */
#ifndef SP_CHILD_H
#define SP_CHILD_H

#include <stdbool.h>
#include <stddef.h>

struct sp_child {
    char *const *argv;            /* argv[0] is the path; ends with NULL */
    const char *const *variables; /* pairs name, value for its environment; ends with NULL */
    unsigned timeout_s;           /* after which it is killed */
    bool keeps_stderr;            /* what it writes to stderr is kept too, else dropped */
};

struct sp_child_result {
    char *text;     /* what it printed, ended by a zero; the caller's to free() */
    int status;     /* as waitpid() gives it */
    bool timed_out; /* it was killed for that */
};

/* 0, or an errno value if it could not be run at all; `result_out` is written only on 0. */
int sp_child_run(const struct sp_child *child, struct sp_child_result *result_out);

#endif /* SP_CHILD_H */
