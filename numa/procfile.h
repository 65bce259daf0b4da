/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to numa/: reading the small text files of /proc and /sys, without allocating. */
#ifndef SP_PROCFILE_H
#define SP_PROCFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No limit, or none that is known. */
#define SP_UNKNOWN SIZE_MAX

/* A file that is read line by line. Only sp_lines_*() look inside. */
struct sp_lines {
    int fd;
    size_t begin; /* what has been read and not handed out is [begin, end) of `text` */
    size_t end;
    bool is_at_end;
    bool is_skipping; /* the line handed out last was cut: its rest comes first */
    char text[2048];
};

/* Open `path` below `root`: "" for the machine itself, a folder for a test. False if that
 * fails; nothing is to be closed then. */
bool sp_lines_open(struct sp_lines *lines, const char *root, const char *path);

/* The next line without its newline, valid until the next call; NULL at the end. Of a line that
 * does not fit, the part that does. */
char *sp_lines_next(struct sp_lines *lines);

void sp_lines_close(struct sp_lines *lines);

/* If `line`, leading blanks aside, is `key` and then a number: the number. A key ends where the
 * number or a blank begins, so "low" is not found in "low_min 3". */
bool sp_line_number(const char *line, const char *key, uint64_t *number_out);

/* The number at the beginning of a file; false if there is none, such as for "max". */
bool sp_file_number(const char *root, const char *path, uint64_t *number_out);

/* a - b, or 0; SP_UNKNOWN stays so. */
static inline size_t sp_less(size_t a, size_t b)
{
    if (a == SP_UNKNOWN)
        return a;
    return a > b ? a - b : 0;
}

/* a + b, below SP_UNKNOWN. */
static inline size_t sp_plus(size_t a, size_t b)
{
    return a >= SP_UNKNOWN - 1 - b ? SP_UNKNOWN - 1 : a + b;
}

/* `count` units of `unit` bytes, below SP_UNKNOWN. */
static inline size_t sp_scaled(uint64_t count, size_t unit)
{
    size_t bytes;

    return __builtin_mul_overflow(count, unit, &bytes) || bytes == SP_UNKNOWN ? SP_UNKNOWN - 1
                                                                              : bytes;
}

#endif /* SP_PROCFILE_H */
