/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files for the tests of traces. */
#include "config.h"

#include "tests/trace_case.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[PATH_MAX / 2];

void sp_trace_case_begin(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(folder, sizeof(folder), "%s/starpool-trace-XXXXXX",
             parent != NULL && *parent != '\0' ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        exit(99);
    }
}

const char *sp_trace_case_path(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

void sp_trace_case_end(void)
{
    DIR *files = opendir(folder);
    struct dirent *file;

    while (files != NULL && (file = readdir(files)) != NULL) {
        if (file->d_name[0] != '.')
            unlink(sp_trace_case_path(file->d_name));
    }
    if (files != NULL)
        closedir(files);
    rmdir(folder);
}

bool sp_trace_case_read(const char *path, struct sp_trace_case *result)
{
    struct starpool_trace_record record;
    struct starpool_trace *reader;

    memset(result, 0, sizeof(*result));
    result->status = starpool_trace_open(path, &reader);
    if (result->status != STARPOOL_OK)
        return false;
    while ((result->status = starpool_trace_next(reader, &record)) == STARPOOL_OK) {
        if (record.kind == STARPOOL_TRACE_END) {
            result->n_lost = record.n_lost;
            break;
        }
        if (result->n < SP_TRACE_CASE_ROOM) {
            snprintf(result->names[result->n], sizeof(result->names[0]), "%s", record.name);
            record.name = "";
            result->records[result->n] = record;
        }
        result->n++;
    }
    snprintf(result->reason, sizeof(result->reason), "%s",
             starpool_trace_error(reader, &result->offset));
    starpool_trace_close(reader);
    return true;
}

size_t sp_trace_case_load(const char *path, unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "re");
    size_t n = file == NULL ? 0 : fread(bytes, 1, room, file);

    if (file != NULL)
        fclose(file);
    return n;
}

bool sp_trace_case_save(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    bool is_done = file != NULL && fwrite(bytes, 1, size, file) == size;

    return file != NULL && fclose(file) == 0 && is_done;
}

struct sp_trace_header sp_trace_case_header(void)
{
    struct sp_trace_header header = {
        .byte_order = SP_TRACE_BYTE_ORDER,
        .version = SP_TRACE_VERSION,
        .header_size = sizeof(struct sp_trace_header),
        .entry_size = sizeof(struct sp_trace_entry),
        .clock = SP_TRACE_CLOCK_SYSTEM,
    };

    memcpy(header.magic, SP_TRACE_MAGIC, sizeof(header.magic));
    return header;
}

bool sp_trace_case_write(const char *path, const struct sp_trace_entry *entries, size_t n)
{
    const struct sp_trace_entry end = {.who = STARPOOL_TRACE_END};
    struct sp_trace_header header = sp_trace_case_header();
    FILE *file = fopen(path, "we");
    bool is_done;

    if (file == NULL)
        return false;
    is_done = fwrite(&header, sizeof(header), 1, file) == 1 &&
              (n == 0 || fwrite(entries, sizeof(*entries), n, file) == n);
    if (n == 0 || (entries[n - 1].who & 0xff) != STARPOOL_TRACE_END)
        is_done = is_done && fwrite(&end, sizeof(end), 1, file) == 1;
    return fclose(file) == 0 && is_done;
}
