/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the bytes of a trace, whatever they are: nothing in the file is believed before it has
 * been checked. A pass over it finds where the entries of each thread are. */
#include "config.h"

#include "src/trace/index.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/util.h"

/* Entries that are read at once. */
#define SCAN_ENTRIES 4096

void sp_trace_fail(struct starpool_trace *reader, enum starpool_status status, uint64_t offset,
                   const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reader->reason, sizeof(reader->reason), format, arguments);
    va_end(arguments);
    reader->status = status;
    reader->offset = offset;
}

static uint64_t offset_of(uint64_t entry)
{
    return sizeof(struct sp_trace_header) + entry * sizeof(struct sp_trace_entry);
}

void sp_trace_fail_memory(struct starpool_trace *reader)
{
    sp_trace_fail(reader, STARPOOL_ENOMEM, 0, "there is no memory for the reader's own data");
}

/* ---- bytes ------------------------------------------------------------------------------ */

static bool read_at(struct starpool_trace *reader, void *data, size_t size, uint64_t offset)
{
    char *bytes = data;

    while (size > 0) {
        ssize_t n = pread(reader->fd, bytes, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            sp_trace_fail(reader, STARPOOL_EIO, offset, "%s",
                          n < 0 ? strerror(errno)
                                : "the file has become shorter while it was read");
            return false;
        }
        bytes += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

bool sp_trace_read_entries(struct starpool_trace *reader, struct sp_trace_entry *entries,
                           size_t n, uint64_t first)
{
    if (!read_at(reader, entries, n * sizeof(*entries), offset_of(first)))
        return false;
    for (size_t i = 0; reader->is_swapped && i < n; i++) {
        struct sp_trace_entry *entry = &entries[i];

        entry->ticks = __builtin_bswap64(entry->ticks);
        entry->who = __builtin_bswap64(entry->who);
        if ((entry->who & 0xff) == SP_TRACE_NAME)
            continue;
        entry->address = __builtin_bswap64(entry->address);
        entry->size = __builtin_bswap64(entry->size);
        entry->stream = __builtin_bswap64(entry->stream);
        entry->point = __builtin_bswap64(entry->point);
    }
    return true;
}

static void swap_header(struct sp_trace_header *header)
{
    uint32_t *const narrow[] = {&header->version, &header->header_size, &header->entry_size,
                                &header->clock, &header->process};
    uint64_t *const wide[] = {&header->begin_ticks, &header->begin_ns, &header->latest_ticks,
                              &header->latest_ns,   &header->wall_ns,  &header->n_lost};

    for (size_t i = 0; i < SP_ARRAY_SIZE(narrow); i++)
        *narrow[i] = __builtin_bswap32(*narrow[i]);
    for (size_t i = 0; i < SP_ARRAY_SIZE(wide); i++)
        *wide[i] = __builtin_bswap64(*wide[i]);
}

#define AT(member) offsetof(struct sp_trace_header, member)

static bool header_is_good(struct starpool_trace *reader)
{
    const struct sp_trace_header *header = &reader->header;

    if (header->version != SP_TRACE_VERSION)
        sp_trace_fail(reader,
                      header->version > SP_TRACE_VERSION ? STARPOOL_ENOTSUP : STARPOOL_EINVAL,
                      AT(version), "the trace is of version %u; this starpool reads version %u",
                      header->version, SP_TRACE_VERSION);
    else if (header->header_size != sizeof(*header))
        sp_trace_fail(reader, STARPOOL_EINVAL, AT(header_size),
                      "the header has a size of %u bytes", header->header_size);
    else if (header->entry_size != sizeof(struct sp_trace_entry))
        sp_trace_fail(reader, STARPOOL_EINVAL, AT(entry_size),
                      "entries have a size of %u bytes", header->entry_size);
    else if (header->clock > SP_TRACE_CLOCK_COUNTER)
        sp_trace_fail(reader, STARPOOL_EINVAL, AT(clock), "there is no clock of number %u",
                      header->clock);
    else if (header->latest_ticks < header->begin_ticks || header->latest_ns < header->begin_ns)
        sp_trace_fail(reader, STARPOOL_EINVAL, AT(latest_ticks), "the clock runs backwards");
    else
        return true;
    return false;
}

static bool read_header(struct starpool_trace *reader)
{
    struct sp_trace_header *header = &reader->header;
    size_t size = sp_min(reader->file_size, sizeof(*header));

    if (!read_at(reader, header, size, 0))
        return false;
    if (memcmp(header->magic, SP_TRACE_MAGIC, sp_min(size, sizeof(header->magic))) != 0 ||
        size == 0) {
        sp_trace_fail(reader, STARPOOL_EINVAL, 0, "it is no trace of starpool's");
        return false;
    }
    if (size < sizeof(*header)) {
        sp_trace_fail(reader, STARPOOL_EIO, size, "the file ends inside its header");
        return false;
    }
    reader->is_swapped = header->byte_order == SP_TRACE_BYTE_SWAPPED;
    if (!reader->is_swapped && header->byte_order != SP_TRACE_BYTE_ORDER) {
        sp_trace_fail(reader, STARPOOL_EINVAL, AT(byte_order),
                      "the byte order is neither of the two");
        return false;
    }
    if (reader->is_swapped)
        swap_header(header);
    return header_is_good(reader);
}

/* ---- the pass over the file ------------------------------------------------------------- */

/* `array`, larger, and `*room` with it, if `n` are all it holds; NULL if there is no memory. */
static void *with_room(void *array, size_t n, size_t *room, size_t size)
{
    size_t larger = *room > 0 ? 2 * *room : 8;
    void *moved;

    if (n < *room)
        return array;
    moved = reallocarray(array, larger, size);
    if (moved != NULL)
        *room = larger;
    return moved;
}

static struct sp_trace_cursor *cursor_of(struct starpool_trace *reader, uint32_t thread)
{
    const uint64_t *index = sp_map_find(&reader->threads, thread);
    struct sp_trace_cursor *cursors;

    if (index != NULL)
        return &reader->cursors[*index];
    cursors =
        with_room(reader->cursors, reader->n_cursors, &reader->room, sizeof(*reader->cursors));
    if (cursors == NULL)
        return NULL;
    reader->cursors = cursors;
    if (!sp_map_put(&reader->threads, thread, reader->n_cursors))
        return NULL;
    memset(&cursors[reader->n_cursors], 0, sizeof(*cursors));
    return &cursors[reader->n_cursors++];
}

/* Entry `index` is of that thread. */
static bool note_entry(struct starpool_trace *reader, uint32_t thread, uint64_t index)
{
    struct sp_trace_cursor *cursor = cursor_of(reader, thread);
    struct sp_trace_run *runs;

    if (cursor == NULL)
        return false;
    cursor->n_total++;
    if (cursor->n_runs > 0 && cursor->runs[cursor->n_runs - 1].end == index) {
        cursor->runs[cursor->n_runs - 1].end++;
        return true;
    }
    runs = with_room(cursor->runs, cursor->n_runs, &cursor->room, sizeof(*cursor->runs));
    if (runs == NULL)
        return false;
    cursor->runs = runs;
    runs[cursor->n_runs++] = (struct sp_trace_run){index, index + 1};
    return true;
}

/* What stands at the end of the file has been seen: is it an end? */
static void judge_end(struct starpool_trace *reader, uint64_t n_whole)
{
    uint64_t size = offset_of(n_whole);
    unsigned rest = (unsigned)(reader->file_size - size);

    if ((reader->end.who & 0xff) == STARPOOL_TRACE_END) {
        if (offset_of(reader->n_entries + 1) != reader->file_size)
            sp_trace_fail(reader, STARPOOL_EINVAL, offset_of(reader->n_entries + 1),
                          "something stands behind the end");
        return;
    }
    if (reader->n_entries < n_whole)
        sp_trace_fail(reader, STARPOOL_EINVAL, offset_of(reader->n_entries),
                      "an entry is empty");
    else if (rest > 0)
        sp_trace_fail(reader, STARPOOL_EIO, size,
                      "the file ends inside an entry, %u bytes of %zu", rest,
                      sizeof(struct sp_trace_entry));
    else
        sp_trace_fail(reader, STARPOOL_EIO, size,
                      "the trace has no end: its program is running, or has crashed");
}

/* False at an entry that is the end, or empty, or cannot be noted. */
static bool scan_entry(struct starpool_trace *reader, const struct sp_trace_entry *entry)
{
    unsigned kind = entry->who & 0xff;

    if (kind == STARPOOL_TRACE_END)
        reader->end = *entry;
    if (kind == STARPOOL_TRACE_END || kind == 0)
        return false;
    if (!note_entry(reader, (uint32_t)(entry->who >> 16) & SP_TRACE_MAX_NUMBER,
                    reader->n_entries)) {
        sp_trace_fail_memory(reader);
        return false;
    }
    reader->n_entries++;
    return true;
}

static void scan(struct starpool_trace *reader)
{
    uint64_t n_whole = (reader->file_size - offset_of(0)) / sizeof(struct sp_trace_entry);
    struct sp_trace_entry *entries = calloc(SCAN_ENTRIES, sizeof(*entries));
    bool goes_on = entries != NULL;

    if (entries == NULL)
        sp_trace_fail_memory(reader);
    while (goes_on && reader->n_entries < n_whole) {
        size_t n = sp_min(n_whole - reader->n_entries, SCAN_ENTRIES);

        goes_on = sp_trace_read_entries(reader, entries, n, reader->n_entries);
        for (size_t i = 0; goes_on && i < n; i++)
            goes_on = scan_entry(reader, &entries[i]);
    }
    free(entries);
    if (reader->status == STARPOOL_OK)
        judge_end(reader, n_whole);
}

void sp_trace_index(struct starpool_trace *reader)
{
    if (read_header(reader))
        scan(reader);
}
