/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gives the records of a trace in the order of time: the entries of each thread are in order,
 * and are merged. */
#include "config.h"

#include "src/trace/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/trace/clock.h"
#include "src/trace/index.h"
#include "src/util/util.h"

/* Entries of a thread that are read at once. */
#define THREAD_ENTRIES 128

/* ---- merging ---------------------------------------------------------------------------- */

/* Have the next entry of a cursor in memory; false if there is none, or it cannot be read. */
static bool refill(struct starpool_trace *reader, struct sp_trace_cursor *cursor)
{
    size_t n;

    if (cursor->at < cursor->n_entries)
        return true;
    if (cursor->next == cursor->end) {
        if (cursor->next_run == cursor->n_runs)
            return false;
        cursor->next = cursor->runs[cursor->next_run].begin;
        cursor->end = cursor->runs[cursor->next_run].end;
        cursor->next_run++;
    }
    if (cursor->entries == NULL) {
        cursor->entries =
            calloc(sp_min(cursor->n_total, THREAD_ENTRIES), sizeof(*cursor->entries));
        if (cursor->entries == NULL) {
            sp_trace_fail_memory(reader);
            return false;
        }
    }
    n = sp_min(cursor->end - cursor->next, THREAD_ENTRIES);
    if (!sp_trace_read_entries(reader, cursor->entries, n, cursor->next))
        return false;
    cursor->next += n;
    cursor->n_entries = n;
    cursor->at = 0;
    return true;
}

static bool is_earlier(const struct starpool_trace *reader, size_t a, size_t b)
{
    const struct sp_trace_cursor *x = &reader->cursors[reader->heap[a]];
    const struct sp_trace_cursor *y = &reader->cursors[reader->heap[b]];

    return x->entries[x->at].ticks < y->entries[y->at].ticks;
}

static void swap(struct starpool_trace *reader, size_t a, size_t b)
{
    size_t index = reader->heap[a];

    reader->heap[a] = reader->heap[b];
    reader->heap[b] = index;
}

static void sift_down(struct starpool_trace *reader, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= reader->heap_size)
            return;
        if (child + 1 < reader->heap_size && is_earlier(reader, child + 1, child))
            child++;
        if (!is_earlier(reader, child, at))
            return;
        swap(reader, at, child);
        at = child;
    }
}

static void fill_heap(struct starpool_trace *reader)
{
    reader->heap = calloc(sp_max(reader->n_cursors, 1), sizeof(*reader->heap));
    if (reader->heap == NULL) {
        sp_trace_fail_memory(reader);
        return;
    }
    for (size_t i = 0; i < reader->n_cursors; i++) {
        if (refill(reader, &reader->cursors[i]))
            reader->heap[reader->heap_size++] = i;
    }
    for (size_t i = reader->heap_size / 2; i-- > 0;)
        sift_down(reader, i);
}

static void sift_up(struct starpool_trace *reader, size_t at)
{
    while (at > 0 && is_earlier(reader, at, (at - 1) / 2)) {
        swap(reader, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/* Put a cursor that is not in the heap there, if it has an entry. */
static void insert(struct starpool_trace *reader, struct sp_trace_cursor *cursor)
{
    if (!refill(reader, cursor))
        return;
    reader->heap[reader->heap_size++] = (size_t)(cursor - reader->cursors);
    sift_up(reader, reader->heap_size - 1);
}

/* Take the earliest entry off; false if there is none. Its cursor stays out of the heap until
 * the next call, and what was held then comes back into it. */
static bool take_entry(struct starpool_trace *reader, struct sp_trace_entry *entry_out)
{
    struct sp_trace_cursor *held = reader->held;

    if (reader->latest != NULL)
        insert(reader, reader->latest);
    reader->latest = NULL;
    reader->held = NULL;
    if (reader->heap_size == 0)
        return false;
    reader->latest = &reader->cursors[reader->heap[0]];
    *entry_out = reader->latest->entries[reader->latest->at++];
    reader->heap[0] = reader->heap[--reader->heap_size];
    sift_down(reader, 0);
    if (held != NULL)
        insert(reader, held);
    return true;
}

bool sp_trace_hold(struct starpool_trace *reader)
{
    struct sp_trace_cursor *latest = reader->latest;
    const struct sp_trace_cursor *next;
    uint64_t ticks;

    if (latest == NULL || reader->heap_size == 0)
        return false;
    next = &reader->cursors[reader->heap[0]];
    ticks = next->entries[next->at].ticks - latest->entries[latest->at - 1].ticks;
    /* Two of one time must not wait for each other. */
    if (ticks > reader->skew_ticks || (ticks == 0 && latest > next))
        return false;
    latest->at--;
    reader->held = latest;
    reader->latest = NULL;
    return true;
}

/* ---- records ---------------------------------------------------------------------------- */

static uint64_t time_of(const struct sp_trace_header *header, uint64_t ticks)
{
    uint64_t span = header->latest_ticks - header->begin_ticks;
    unsigned __int128 ns;

    if (ticks <= header->begin_ticks)
        return 0;
    ticks -= header->begin_ticks;
    if (span == 0)
        return ticks;
    ns = (unsigned __int128)ticks * (header->latest_ns - header->begin_ns) / span;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static struct starpool_location location_of(uint64_t packed)
{
    uint64_t kind = packed >> 32;

    if (kind > STARPOOL_HOST_NUMA)
        return (struct starpool_location){STARPOOL_NONE, 0};
    return (struct starpool_location){(enum starpool_kind)kind, (int)(uint32_t)packed};
}

/* What the members of an entry mean for its kind. */
static void fill_record(struct starpool_trace *reader, const struct sp_trace_entry *entry,
                        struct starpool_trace_record *record)
{
    unsigned detail = (entry->who >> 8) & 0xff;

    *record = (struct starpool_trace_record){
        .kind = (int)(entry->who & 0xff),
        .time_ns = time_of(&reader->header, entry->ticks),
        .thread = (uint32_t)(entry->who >> 16) & SP_TRACE_MAX_NUMBER,
        .pool = (uint32_t)(entry->who >> 40),
        .stream = entry->stream,
        .point = entry->point,
        .address = entry->address,
        .size = entry->size,
        .name = "",
    };
    if (record->kind == STARPOOL_TRACE_POOL_CREATE ||
        record->kind == STARPOOL_TRACE_STREAM_CREATE) {
        record->location = location_of(entry->address);
        record->address = 0;
        record->is_earlier = entry->point != 0;
        record->point = 0;
    } else if (record->kind == STARPOOL_TRACE_ALLOC) {
        record->edge = detail < STARPOOL_TRACE_N_EDGES ? (enum starpool_trace_edge)detail
                                                       : STARPOOL_TRACE_EDGE_NONE;
    } else if (record->kind == STARPOOL_TRACE_REFUSE) {
        record->status = (enum starpool_status)(-(int)detail);
    } else if (record->kind == STARPOOL_TRACE_WAIT) {
        record->other = entry->address;
        record->address = 0;
    } else if (record->kind == STARPOOL_TRACE_END) {
        record->n_lost = entry->point;
        record->point = 0;
    }
}

/* A piece of the name of a pool that is about to come. */
static void keep_name(struct sp_trace_cursor *cursor, const struct sp_trace_entry *entry)
{
    unsigned piece = (entry->who >> 8) & 0xff;

    if (piece < SP_TRACE_NAME_PIECES)
        memcpy(cursor->name + piece * SP_TRACE_NAME_PIECE, &entry->address,
               SP_TRACE_NAME_PIECE);
}

enum starpool_status starpool_trace_next(struct starpool_trace *reader,
                                         struct starpool_trace_record *record_out)
{
    struct sp_trace_entry entry;

    if (reader == NULL || record_out == NULL)
        return STARPOOL_EINVAL;
    while (take_entry(reader, &entry)) {
        if ((entry.who & 0xff) == SP_TRACE_NAME) {
            keep_name(reader->latest, &entry);
            continue;
        }
        fill_record(reader, &entry, record_out);
        if (record_out->kind == STARPOOL_TRACE_POOL_CREATE) {
            memcpy(reader->name, reader->latest->name, sizeof(reader->name));
            memset(reader->latest->name, 0, sizeof(reader->latest->name));
            record_out->name = reader->name;
        }
        return STARPOOL_OK;
    }
    if (reader->status == STARPOOL_OK)
        fill_record(reader, &reader->end, record_out);
    return reader->status;
}

/* Ticks in SP_TRACE_SKEW_NS. */
static uint64_t skew_of(const struct sp_trace_header *header)
{
    uint64_t ns = header->latest_ns - header->begin_ns;
    unsigned __int128 ticks = SP_TRACE_SKEW_NS;

    if (ns == 0)
        return SP_TRACE_SKEW_NS;
    ticks = ticks * (header->latest_ticks - header->begin_ticks) / ns;
    return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

/* ---- open and close --------------------------------------------------------------------- */

const char *starpool_trace_error(const struct starpool_trace *reader, uint64_t *offset_out)
{
    if (reader == NULL)
        return "";
    if (offset_out != NULL)
        *offset_out = reader->offset;
    return reader->reason;
}

enum starpool_status starpool_trace_open(const char *path, struct starpool_trace **reader_out)
{
    struct starpool_trace *reader;
    struct stat file;

    if (path == NULL || reader_out == NULL)
        return STARPOOL_EINVAL;
    reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return STARPOOL_ENOMEM;
    reader->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        bool is_refused = reader->fd < 0 && (errno == EACCES || errno == EPERM);

        starpool_trace_close(reader);
        return is_refused ? STARPOOL_ENOTPERM : STARPOOL_EIO;
    }
    reader->file_size = (uint64_t)file.st_size;
    sp_trace_index(reader);
    reader->skew_ticks = skew_of(&reader->header);
    fill_heap(reader);
    *reader_out = reader;
    return STARPOOL_OK;
}

void starpool_trace_close(struct starpool_trace *reader)
{
    if (reader == NULL)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    for (size_t i = 0; i < reader->n_cursors; i++) {
        free(reader->cursors[i].runs);
        free(reader->cursors[i].entries);
    }
    free(reader->cursors);
    sp_map_fini(&reader->threads);
    free(reader->heap);
    free(reader);
}
