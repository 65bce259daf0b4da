/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Errors are made where they are found and printed in one place, main(): nothing below
 * prints or exits, so that the tests can look at the very line a user would get.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

void error_write(struct error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
}
