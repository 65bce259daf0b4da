/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages and statuses as text. The only place of the library that writes to stderr; the
 * level is set once, by the options. */
#include "config.h"

#include "src/util/diag.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpool/base.h>

/* One line may have so many bytes; what is longer is cut. */
#define LINE_SIZE 1024

static struct {
    _Atomic int level; /* an enum sp_log_level */
} diag = {SP_LOG_WARN};

void sp_log_set_level(enum sp_log_level level)
{
    atomic_store_explicit(&diag.level, (int)level, memory_order_relaxed);
}

void sp_log(enum sp_log_level level, const char *format, ...)
{
    static const char prefix[] = "starpool: ";
    char line[LINE_SIZE];
    size_t length = sizeof(prefix) - 1;
    va_list arguments;
    int n;

    if ((int)level > atomic_load_explicit(&diag.level, memory_order_relaxed))
        return;
    memcpy(line, prefix, length);
    va_start(arguments, format);
    n = vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
    va_end(arguments);
    if (n < 0)
        return;
    length += (size_t)n < sizeof(line) - length - 1 ? (size_t)n : sizeof(line) - length - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* Nobody listens, and there is nowhere else to say so. */
}

const char *sp_bytes_text(char *text, size_t text_size, unsigned long long bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;

    while (value >= 1024.0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024.0;
        unit++;
    }
    if (unit == 0 || value == (double)(unsigned long long)value)
        snprintf(text, text_size, "%.0f %s", value, units[unit]);
    else
        snprintf(text, text_size, "%.1f %s", value, units[unit]);
    return text;
}

void sp_assert_failed(const char *condition, const char *file, int line)
{
    sp_log(SP_LOG_ERROR, "%s:%d: broken invariant: %s", file, line, condition);
    abort();
}

const char *starpool_status_name(enum starpool_status status)
{
    switch (status) {
#define STATUS_NAME(name, value, text) \
    case STARPOOL_##name:              \
        return #name;
        STARPOOL_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "unknown";
}

const char *starpool_status_text(enum starpool_status status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text) \
    case STARPOOL_##name:              \
        return text;
        STARPOOL_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "not a status of starpool";
}
