/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages: one line each, to stderr, in one write, without allocating. What is marked
 * STARPOOL_API here and in other internal headers is for the plugin and the command: it is in
 * the version node STARPOOL_PRIVATE. */
#ifndef SP_DIAG_H
#define SP_DIAG_H

#include <stddef.h>

#include <starpool/base.h>

enum sp_log_level {
    SP_LOG_ERROR, /* something was asked for and will not be done */
    SP_LOG_WARN,  /* done, but not as asked for */
    SP_LOG_INFO,  /* decisions that are taken once */
    SP_LOG_DEBUG, /* every growth and release */
};

/* Print "starpool: <message>" if `level` is within the level set. Threads: any, at once. */
STARPOOL_API void sp_log(enum sp_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The highest level that is printed; SP_LOG_WARN at first. */
void sp_log_set_level(enum sp_log_level level);

/* Bytes for people: "64 MiB", "1.1 MiB", "512 bytes"; written into `text` (32 bytes do). */
STARPOOL_API const char *sp_bytes_text(char *text, size_t text_size, unsigned long long bytes);

/* Where SP_ASSERT ends. */
STARPOOL_API void sp_assert_failed(const char *condition, const char *file, int line)
    __attribute__((noreturn, cold));

#endif /* SP_DIAG_H */
