/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command prints, other than facts: messages and help. */
#include "config.h"

#include "src/tools/tools.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Columns of a help text: where the explanation begins, and where a line ends. */
#define HELP_TEXT 26
#define HELP_END  80

void sp_tools_say(const char *command, const char *format, ...)
{
    char message[2 * PATH_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    fprintf(stderr, "starpool %s: %s\n", command, message);
}

void sp_tools_help_row(const char *name, const char *text)
{
    int column = printf("  %s", name);

    if (column >= HELP_TEXT) {
        putchar('\n');
        column = 0;
    }
    column += printf("%*s", HELP_TEXT - column, "");
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");

        if (column > HELP_TEXT && column + 1 + length > HELP_END)
            column = printf("\n%*s", HELP_TEXT, "") - 1;
        column += printf("%s%.*s", column > HELP_TEXT ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

const char *sp_tools_argument(const char *command, const char *what, int argc, char **argv)
{
    if (optind + 1 == argc)
        return argv[optind];
    if (optind == argc)
        sp_tools_say(command, "no %s given; try: starpool %s --help", what, command);
    else
        sp_tools_say(command, "'%s' is not expected here; try: starpool %s --help",
                     argv[optind + 1], command);
    return NULL;
}

unsigned sp_tools_control_length(const char *text)
{
    unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];

    if (c == 0xc2 && next >= 0x80 && next <= 0x9f)
        return 2;
    return c < 0x20 || c == 0x7f;
}

enum sp_exit sp_tools_finish(const char *command)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return SP_EXIT_DONE;
    sp_tools_say(command, "cannot write to stdout: %s", strerror(errno));
    return SP_EXIT_NOT_SO;
}
