/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole files: which form one has, all of it in memory at once, and nothing left behind of one
 * that could not be written. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/files.h"
#include "src/util/outfile.h"
#include "src/util/util.h"

/* [bytes] The first room of a file that is read; it doubles. */
#define FIRST_ROOM ((size_t)1 << 16)

static enum starpool_graph_format format_of_name(const char *path)
{
    static const struct {
        const char *ending;
        enum starpool_graph_format format;
    } rows[] = {
        {".json", STARPOOL_GRAPH_JSON},
        {".csv", STARPOOL_GRAPH_CSV},
        {".dot", STARPOOL_GRAPH_DOT},
        {".svg", STARPOOL_GRAPH_SVG},
    };
    const char *ending = strrchr(path, '.');

    for (size_t i = 0; ending != NULL && i < SP_ARRAY_SIZE(rows); i++) {
        if (strcmp(ending, rows[i].ending) == 0)
            return rows[i].format;
    }
    return STARPOOL_GRAPH_AUTO;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* The reason for the user, and the status that goes with it. */
static enum starpool_status fail(struct sp_graph_error *error, enum starpool_status status,
                                 const char *reason)
{
    sp_graph_fail(error, 0, "%s", reason);
    return status;
}

static enum starpool_status fail_errno(struct sp_graph_error *error)
{
    int number = errno;

    return fail(error, number == EACCES || number == EPERM ? STARPOOL_ENOTPERM : STARPOOL_EIO,
                strerror(number));
}

/* All that is left in a file. It may change meanwhile, so its size is not asked for. */
static enum starpool_status read_text(int fd, char **text_out, size_t *size_out,
                                      struct sp_graph_error *error)
{
    size_t size = 0, room = FIRST_ROOM;
    char *text = malloc(room), *larger;
    ssize_t n = 1;

    while (text != NULL && n != 0) {
        n = read(fd, text + size, room - size);
        if (n < 0 && errno != EINTR) {
            enum starpool_status status = fail_errno(error);

            free(text);
            return status;
        }
        size += n > 0 ? (size_t)n : 0;
        if (size > SP_GRAPH_FILE_MOST) {
            free(text);
            return fail(error, STARPOOL_EINVAL, "the file is larger than 256 MiB");
        }
        if (size < room)
            continue;
        room *= 2;
        larger = realloc(text, room);
        if (larger == NULL)
            free(text);
        text = larger;
    }
    if (text == NULL)
        return fail(error, STARPOOL_ENOMEM, "no memory");
    *text_out = text;
    *size_out = size;
    return STARPOOL_OK;
}

/* O_NONBLOCK: a pipe that nobody writes must not hold the program. */
static enum starpool_status read_whole(const char *path, char **text_out, size_t *size_out,
                                       struct sp_graph_error *error)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    enum starpool_status status;
    struct stat about;

    if (fd < 0)
        return fail_errno(error);
    if (fstat(fd, &about) != 0)
        status = fail_errno(error);
    else if (!S_ISREG(about.st_mode))
        status =
            fail(error, STARPOOL_EIO, "it is no file, but a directory, a pipe or a device");
    else
        status = read_text(fd, text_out, size_out, error);
    close(fd);
    return status;
}

static enum starpool_status read_form(enum starpool_graph_format format, const char *text,
                                      size_t size, struct starpool_graph **graph_out,
                                      struct sp_graph_error *error)
{
    size_t first = 0;

    switch (format) {
    case STARPOOL_GRAPH_JSON:
        return sp_graph_read_json(text, size, graph_out, error);
    case STARPOOL_GRAPH_CSV:
        return sp_graph_read_csv(text, size, graph_out, error);
    case STARPOOL_GRAPH_DOT:
    case STARPOOL_GRAPH_SVG:
        return fail(error, STARPOOL_ENOTSUP, "DOT and SVG are written only");
    case STARPOOL_GRAPH_AUTO:
        break;
    }
    while (first < size && strchr(" \t\r\n", text[first]) != NULL && text[first] != '\0')
        first++;
    return first < size && text[first] == '{' ? sp_graph_read_json(text, size, graph_out, error)
                                              : sp_graph_read_csv(text, size, graph_out, error);
}

enum starpool_status sp_graph_read_file(const char *path, enum starpool_graph_format format,
                                        struct starpool_graph **graph_out,
                                        struct sp_graph_error *error)
{
    enum starpool_status status;
    size_t size = 0;
    char *text = NULL;

    status = read_whole(path, &text, &size, error);
    if (status != STARPOOL_OK)
        return status;
    if (size == 0)
        status = fail(error, STARPOOL_EINVAL, "the file is empty");
    else
        status = read_form(format == STARPOOL_GRAPH_AUTO ? format_of_name(path) : format, text,
                           size, graph_out, error);
    free(text);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

static enum starpool_status write_form(const struct starpool_graph *graph,
                                       const struct starpool_plan *plan,
                                       enum starpool_graph_format format, FILE *out)
{
    switch (format) {
    case STARPOOL_GRAPH_JSON:
        return sp_graph_write_json(graph, plan, out);
    case STARPOOL_GRAPH_CSV:
        return sp_graph_write_csv(graph, plan, out);
    case STARPOOL_GRAPH_DOT:
        return sp_graph_write_dot(graph, plan, out);
    case STARPOOL_GRAPH_SVG:
        return sp_graph_write_svg(graph, plan, out);
    case STARPOOL_GRAPH_AUTO:
        break;
    }
    return STARPOOL_EINVAL;
}

/* The file's text, to be freed. */
static enum starpool_status make_text(const struct starpool_graph *graph,
                                      const struct starpool_plan *plan,
                                      enum starpool_graph_format format, char **text_out,
                                      size_t *size_out)
{
    enum starpool_status status;
    char *text = NULL;
    FILE *out = open_memstream(&text, size_out);
    bool is_whole;

    if (out == NULL)
        return STARPOOL_ENOMEM;
    status = write_form(graph, plan, format, out);
    is_whole = !ferror(out);
    if (fclose(out) != 0 || !is_whole)
        status = STARPOOL_ENOMEM;
    if (status == STARPOOL_OK)
        *text_out = text;
    else
        free(text);
    return status;
}

/* A name in which nothing stands for anything else: see sp_outfile_open(). */
static bool make_literal(const char *path, char literal[PATH_MAX])
{
    size_t n = 0;

    for (; *path != '\0'; path++) {
        if (n + 3 > PATH_MAX)
            return false;
        if (*path == '%')
            literal[n++] = '%';
        literal[n++] = *path;
    }
    literal[n] = '\0';
    return true;
}

static bool write_text(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, text, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        size -= (size_t)n;
    }
    return true;
}

static enum starpool_status write_whole(const char *path, const char *text, size_t size)
{
    char literal[PATH_MAX];
    bool is_written;
    int fd;

    if (!make_literal(path, literal))
        return STARPOOL_EINVAL;
    fd = sp_outfile_open(literal, "", "graph");
    if (fd < 0)
        return STARPOOL_EIO;
    is_written = write_text(fd, text, size);
    is_written = close(fd) == 0 && is_written;
    if (is_written)
        return STARPOOL_OK;
    sp_log(SP_LOG_ERROR, "no graph: %s: %s", path, strerror(errno));
    unlink(path);
    return STARPOOL_EIO;
}

enum starpool_status sp_graph_write_file(const struct starpool_graph *graph,
                                         const struct starpool_plan *plan, const char *path,
                                         enum starpool_graph_format format)
{
    enum starpool_status status;
    size_t size = 0;
    char *text = NULL;

    if (format == STARPOOL_GRAPH_AUTO)
        format = format_of_name(path);
    status = make_text(graph, plan, format, &text, &size);
    if (status != STARPOOL_OK)
        return status;
    status = write_whole(path, text, size);
    free(text);
    return status;
}
