/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads small text files of /proc and /sys with open(2) and read(2) into a buffer of the
 * caller's. What a missing or malformed file means is left to the caller. */
#include "config.h"

#include "numa/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sp_lines_open(struct sp_lines *lines, const char *root, const char *path)
{
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof(whole), "%s/%s", root, path);

    if (length < 0 || (size_t)length >= sizeof(whole))
        return false;
    do {
        lines->fd = open(whole, O_RDONLY | O_CLOEXEC);
    } while (lines->fd < 0 && errno == EINTR);
    lines->begin = lines->end = 0;
    lines->text[0] = '\0';
    lines->is_at_end = lines->is_skipping = false;
    return lines->fd >= 0;
}

void sp_lines_close(struct sp_lines *lines)
{
    (void)close(lines->fd);
}

/* Read more behind what is there, keeping room for a final zero. */
static void fill(struct sp_lines *lines)
{
    ssize_t n_read;

    memmove(lines->text, lines->text + lines->begin, lines->end - lines->begin);
    lines->end -= lines->begin;
    lines->begin = 0;
    do {
        n_read =
            read(lines->fd, lines->text + lines->end, sizeof(lines->text) - 1 - lines->end);
    } while (n_read < 0 && errno == EINTR);
    if (n_read > 0)
        lines->end += (size_t)n_read;
    else
        lines->is_at_end = true;
}

/* Drop input up to and with the next newline. */
static void skip_rest(struct sp_lines *lines)
{
    lines->is_skipping = false;
    for (;;) {
        char *begin = lines->text + lines->begin;
        char *newline = memchr(begin, '\n', lines->end - lines->begin);

        if (newline != NULL) {
            lines->begin = (size_t)(newline - lines->text) + 1;
            return;
        }
        lines->begin = lines->end;
        if (lines->is_at_end)
            return;
        fill(lines);
    }
}

char *sp_lines_next(struct sp_lines *lines)
{
    if (lines->is_skipping)
        skip_rest(lines);
    for (;;) {
        char *line = lines->text + lines->begin;
        size_t length = lines->end - lines->begin;
        char *newline = memchr(line, '\n', length);

        if (newline != NULL) {
            *newline = '\0';
            lines->begin = (size_t)(newline - lines->text) + 1;
            return line;
        }
        if (lines->is_at_end || length == sizeof(lines->text) - 1) {
            lines->is_skipping = !lines->is_at_end;
            lines->begin = lines->end;
            line[length] = '\0';
            return length > 0 ? line : NULL;
        }
        fill(lines);
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool sp_line_number(const char *line, const char *key, uint64_t *number_out)
{
    size_t length = strlen(key);
    uint64_t number = 0;

    while (is_blank(*line))
        line++;
    if (strncmp(line, key, length) != 0)
        return false;
    line += length;
    if (length > 0 && !is_blank(*line))
        return false;
    while (is_blank(*line))
        line++;
    if (!is_digit(*line))
        return false;
    for (; is_digit(*line); line++) {
        if (__builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (unsigned)(*line - '0'), &number))
            return false;
    }
    *number_out = number;
    return true;
}

bool sp_file_number(const char *root, const char *path, uint64_t *number_out)
{
    struct sp_lines lines;
    const char *line;
    bool is_number;

    if (!sp_lines_open(&lines, root, path))
        return false;
    line = sp_lines_next(&lines);
    is_number = line != NULL && sp_line_number(line, "", number_out);
    sp_lines_close(&lines);
    return is_number;
}
