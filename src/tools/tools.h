/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the `starpool` command share: how it ends, and what it says. */
#ifndef SP_TOOLS_H
#define SP_TOOLS_H

/* How the command ends; `run` ends as its program does, once that has started. */
enum sp_exit {
    SP_EXIT_DONE = 0,
    SP_EXIT_NOT_SO = 1,       /* the thing asked about is not so */
    SP_EXIT_USAGE = 2,        /* usage, or a value that does not parse */
    SP_EXIT_UNAVAILABLE = 77, /* not available here; the reason has been printed */
    SP_EXIT_NO_EXEC = 126,    /* as a shell: the program is there but cannot be executed */
    SP_EXIT_NO_PROGRAM = 127, /* as a shell: there is no such program */
};

/* Print "starpool COMMAND: message" on stderr. */
void sp_tools_say(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print one row of a help text: `name`, then `text` wrapped beside it. */
void sp_tools_help_row(const char *name, const char *text);

/* The one argument behind the options; NULL, with a message, if there is none, or are more.
 * `what` names it: "trace". */
const char *sp_tools_argument(const char *command, const char *what, int argc, char **argv);

/* How many bytes the control character has that begins at `text`, which a terminal could take
 * for a command: also one of those that UTF-8 writes in two bytes, U+0080 to U+009F. 0: what is
 * there is none. */
unsigned sp_tools_control_length(const char *text);

/* Flush stdout; an exit status that says whether all of it could be written. */
enum sp_exit sp_tools_finish(const char *command);

#endif /* SP_TOOLS_H */
