/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks a trace: addresses here, with a tree of live blocks; the order of streams by the
 * checker of src/heap, which is told what the trace says. What a trace does not know (blocks
 * from before it, why a driver could hand out an address) is not held against it. */
#include "config.h"

#include "src/trace/check.h"

#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/heap/checker.h"
#include "src/trace/map.h"
#include "src/trace/read.h"
#include "src/util/util.h"

/* The checker's clocks are dense: so many streams at a time, and no more. */
#define MAX_STREAMS 1024

/* In place of a slot of the checker: the host's. */
#define HOST_SLOT UINT32_MAX

/* Addresses [start, end); of two that overlap, the tree says that they are equal. */
struct block {
    uint64_t start, end;
    uint64_t size;
    uint32_t pool;
    bool is_drivers; /* taken in a stream, and only the driver knows what comes before what */
};

struct pool {
    bool is_whole; /* its creation is in the trace, and it has said of its growth */
    uint64_t used_bytes, reserved_bytes;
};

/* A wait for an operation of another stream. */
struct wait {
    uint32_t slot;
    uint64_t number;
};

/* Numbers of a stream are its points plus `base`: those of a slot must go on. What it waits for
 * since its last operation is no operation's yet, but the stream's, if all of that is waited
 * for. What the checker has been told of is not told again: of a stream that does nothing but
 * wait there would be ever more. n_executed <= n_waits <= room.
 */
struct stream {
    uint32_t slot;
    uint64_t base, last;
    struct wait *waits; /* that the host has not seen over */
    size_t n_waits, room;
    size_t n_executed; /* the first ones have executed */
};

struct state {
    struct sp_trace_check *check;
    struct sp_checker *checker;
    void *tree;            /* of live blocks */
    struct sp_map pools;   /* pool -> a struct pool */
    struct sp_map streams; /* stream -> a struct stream */
    uint64_t slot_last[MAX_STREAMS];
    uint32_t free_slots[MAX_STREAMS];
    uint32_t n_free_slots;
    bool is_short; /* of memory */
};

static __attribute__((format(printf, 3, 4))) void
problem(struct state *state, const struct starpool_trace_record *record, const char *format,
        ...)
{
    struct sp_trace_check *check = state->check;
    char text[SP_CHECK_TEXT - 96];
    va_list arguments;

    if (check->n_problems++ >= SP_CHECK_KEPT)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(check->problems[check->n_problems - 1], SP_CHECK_TEXT,
             "%.9f s, thread %" PRIu32 ", pool %" PRIu32 ": %s", (double)record->time_ns / 1e9,
             record->thread, record->pool, text);
}

/* ---- live blocks ------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    if (x->end <= y->start)
        return -1;
    return x->start >= y->end;
}

/* A live block that has one of these addresses, or NULL. */
static struct block *find(const struct state *state, uint64_t start, uint64_t size)
{
    struct block wanted = {.start = start};
    void *node;

    if (__builtin_add_overflow(start, sp_max(size, 1), &wanted.end))
        wanted.end = UINT64_MAX;
    node = tfind(&wanted, &state->tree, compare);
    return node == NULL ? NULL : *(struct block *const *)node;
}

static void add(struct state *state, const struct starpool_trace_record *record)
{
    struct block *block = malloc(sizeof(*block));

    if (block == NULL) {
        state->is_short = true;
        return;
    }
    *block = (struct block){
        .start = record->address,
        .size = record->size,
        .pool = record->pool,
        .is_drivers =
            record->edge == STARPOOL_TRACE_EDGE_NONE && record->stream != STARPOOL_TRACE_HOST,
    };
    if (__builtin_add_overflow(record->address, sp_max(record->size, 1), &block->end))
        block->end = UINT64_MAX;
    if (tsearch(block, &state->tree, compare) == NULL) {
        free(block);
        state->is_short = true;
    }
}

static void drop(struct state *state, struct block *block)
{
    tdelete(block, &state->tree, compare);
    free(block);
}

/* ---- pools ------------------------------------------------------------------------------ */

static void *record_of(struct state *state, struct sp_map *map, uint64_t key, size_t size)
{
    const uint64_t *value = sp_map_find(map, key);
    void *record;

    if (value != NULL)
        return (void *)(uintptr_t)*value;
    record = calloc(1, size);
    if (record == NULL || !sp_map_put(map, key, (uintptr_t)record)) {
        free(record);
        state->is_short = true;
        return NULL;
    }
    return record;
}

static struct pool *pool_of(struct state *state, uint32_t pool)
{
    return record_of(state, &state->pools, pool, sizeof(struct pool));
}

static void check_memory(struct state *state, const struct starpool_trace_record *record)
{
    struct pool *pool = pool_of(state, record->pool);
    const struct block *block;

    if (pool == NULL)
        return;
    if (record->kind == STARPOOL_TRACE_GROW) {
        pool->reserved_bytes += record->size;
        return;
    }
    block = find(state, record->address, record->size);
    if (block != NULL)
        problem(state, record,
                "0x%" PRIx64 " to 0x%" PRIx64 " is released under a live block, "
                "0x%" PRIx64,
                record->address, record->address + record->size, block->start);
    sp_checker_forget(state->checker, record->address, record->size);
    pool->reserved_bytes -= sp_min(record->size, pool->reserved_bytes);
}

/* ---- streams ---------------------------------------------------------------------------- */

/* The stream of a record, which the checker may have to be told; NULL if it is the host's or
 * there are too many. */
static struct stream *stream_of(struct state *state, uint64_t id)
{
    bool is_new = sp_map_find(&state->streams, id) == NULL;
    struct stream *stream;

    if (id == STARPOOL_TRACE_HOST || state->check->has_too_many_streams)
        return NULL;
    if (is_new && state->n_free_slots == 0) {
        state->check->has_too_many_streams = true;
        return NULL;
    }
    stream = record_of(state, &state->streams, id, sizeof(*stream));
    if (stream == NULL || !is_new)
        return stream;
    stream->slot = state->free_slots[--state->n_free_slots];
    stream->base = state->slot_last[stream->slot];
    stream->last = stream->base;
    sp_checker_stream(state->checker, stream->slot, id);
    return stream;
}

/* The number of a point; 0, which is not known, stands for the last. */
static uint64_t number_of(struct state *state, struct stream *stream, uint64_t point)
{
    uint64_t number =
        point == 0 ? sp_max(stream->last, stream->base + 1) : stream->base + point;

    if (number > stream->last) {
        stream->last = number;
        stream->n_waits = 0;
        stream->n_executed = 0;
        sp_checker_submit(state->checker, stream->slot, number);
    }
    return number;
}

static void forget_stream(struct state *state, uint64_t id)
{
    struct stream *stream;
    uint64_t value;

    if (!sp_map_remove(&state->streams, id, &value))
        return;
    stream = (void *)(uintptr_t)value;
    state->slot_last[stream->slot] = stream->last;
    state->free_slots[state->n_free_slots++] = stream->slot;
    free(stream->waits);
    free(stream);
}

/* Up to a point (0: all of the stream) it has executed, though nobody waited. */
static void execute(struct state *state, struct stream *stream, uint64_t point)
{
    if (point != 0 || stream->last > stream->base)
        sp_checker_executed(state->checker, stream->slot, number_of(state, stream, point));
    for (; point == 0 && stream->n_executed < stream->n_waits; stream->n_executed++) {
        const struct wait *wait = &stream->waits[stream->n_executed];

        sp_checker_executed(state->checker, wait->slot, wait->number);
    }
}

/* The same, and the host knows. */
static void see(struct state *state, struct stream *stream, uint64_t point)
{
    if (point != 0 || stream->last > stream->base)
        sp_checker_see(state->checker, stream->slot, number_of(state, stream, point));
    if (point != 0)
        return;
    for (size_t i = 0; i < stream->n_waits; i++)
        sp_checker_see(state->checker, stream->waits[i].slot, stream->waits[i].number);
    stream->n_waits = 0;
    stream->n_executed = 0;
}

static void see_all(struct state *state)
{
    const struct sp_map_slot *slot;
    size_t index = 0;

    while ((slot = sp_map_next(&state->streams, &index)) != NULL)
        see(state, (struct stream *)(uintptr_t)slot->value, 0);
}

static void wait_for(struct state *state, struct stream *stream, struct stream *other,
                     uint64_t point)
{
    uint64_t number = number_of(state, other, point);

    sp_checker_wait(state->checker, stream->slot, other->slot, number);
    if (stream->n_waits == stream->room) {
        size_t room = 2 * stream->room + 4;
        struct wait *waits = reallocarray(stream->waits, room, sizeof(*waits));

        if (waits == NULL) {
            state->is_short = true;
            return;
        }
        stream->waits = waits;
        stream->room = room;
    }
    stream->waits[stream->n_waits++] = (struct wait){other->slot, number};
}

static void check_order(struct state *state, const struct starpool_trace_record *record)
{
    struct stream *stream, *other;

    if (record->kind == STARPOOL_TRACE_SYNCHRONIZE && record->stream == STARPOOL_TRACE_HOST) {
        see_all(state);
        return;
    }
    if (record->kind == STARPOOL_TRACE_STREAM_DESTROY) {
        forget_stream(state, record->stream);
        return;
    }
    stream = stream_of(state, record->stream);
    other = record->kind == STARPOOL_TRACE_WAIT ? stream_of(state, record->other) : NULL;
    if (stream == NULL)
        return;
    if (record->kind == STARPOOL_TRACE_RECORD)
        number_of(state, stream, record->point);
    else if (record->kind == STARPOOL_TRACE_EXECUTED)
        execute(state, stream, record->point);
    else if (record->kind == STARPOOL_TRACE_SYNCHRONIZE)
        see(state, stream, record->point);
    else if (other != NULL)
        wait_for(state, stream, other, record->point);
}

/* ---- requests --------------------------------------------------------------------------- */

/* Whether the checker agrees, as it has just answered. It keeps the words of its first
 * disagreement only. */
static void judge(struct state *state, const struct starpool_trace_record *record, bool agrees,
                  const char *what)
{
    struct sp_checker_report report;

    if (agrees)
        return;
    sp_checker_report(state->checker, &report);
    if (report.n_violations == 1)
        problem(state, record, "0x%" PRIx64 " %s: %s", record->address, what, report.first);
    else
        problem(state, record, "0x%" PRIx64 " %s", record->address, what);
}

static void check_reuse(struct state *state, const struct starpool_trace_record *record)
{
    struct stream *stream = stream_of(state, record->stream);
    uint64_t number;

    if (record->stream != STARPOOL_TRACE_HOST && stream == NULL)
        return;
    number = stream == NULL ? 0 : number_of(state, stream, record->point);
    if (record->edge == STARPOOL_TRACE_EDGE_NONE)
        sp_checker_forget(state->checker, record->address, record->size);
    else
        state->check->n_ordered++;
    judge(state, record,
          sp_checker_alloc(state->checker, record->address, record->size,
                           stream == NULL ? HOST_SLOT : stream->slot, number),
          "is taken, and its last free need not be over");
}

static void check_alloc(struct state *state, const struct starpool_trace_record *record)
{
    struct pool *pool = pool_of(state, record->pool);
    struct block *block;

    state->check->n_allocs++;
    if (pool == NULL)
        return;
    while ((block = find(state, record->address, record->size)) != NULL) {
        problem(state, record,
                "0x%" PRIx64 " of %" PRIu64 " bytes overlaps the live block 0x%" PRIx64
                " of %" PRIu64,
                record->address, record->size, block->start, block->size);
        sp_checker_forget(state->checker, block->start, block->size);
        drop(state, block);
    }
    check_reuse(state, record);
    add(state, record);
    pool->used_bytes += record->size;
    if (pool->is_whole && pool->reserved_bytes > 0 && pool->used_bytes > pool->reserved_bytes)
        problem(state, record, "%" PRIu64 " bytes are in use of %" PRIu64 " reserved",
                pool->used_bytes, pool->reserved_bytes);
}

static void check_free(struct state *state, const struct starpool_trace_record *record)
{
    struct block *block = find(state, record->address, 1);
    struct stream *stream = stream_of(state, record->stream);
    struct pool *pool = pool_of(state, record->pool);

    state->check->n_frees++;
    if (pool == NULL)
        return;
    if (block == NULL && !pool->is_whole)
        state->check->n_unknown_frees++;
    else if (block == NULL || block->start != record->address)
        problem(state, record, "0x%" PRIx64 " is freed, and no live block begins there",
                record->address);
    else if (block->pool != record->pool || block->size != record->size)
        problem(state, record,
                "0x%" PRIx64 " is freed with %" PRIu64 " bytes, but pool %" PRIu32
                " gave %" PRIu64,
                record->address, record->size, block->pool, block->size);
    if (block == NULL || block->start != record->address)
        return;
    if (block->is_drivers)
        sp_checker_forget(state->checker, block->start, block->size);
    else if (record->stream == STARPOOL_TRACE_HOST || stream != NULL)
        judge(state, record,
              sp_checker_free(state->checker, record->address,
                              stream == NULL ? HOST_SLOT : stream->slot,
                              stream == NULL ? 0 : number_of(state, stream, record->point)),
              "is freed where its allocation need not be over");
    pool->used_bytes -= sp_min(block->size, pool->used_bytes);
    drop(state, block);
}

/* ---- records ---------------------------------------------------------------------------- */

/* Whether an event cannot have come yet: then another's time is a little late. */
static bool is_early(struct state *state, const struct starpool_trace_record *record)
{
    const struct block *block;

    if (record->kind == STARPOOL_TRACE_ALLOC)
        return find(state, record->address, record->size) != NULL;
    if (record->kind == STARPOOL_TRACE_FREE) {
        block = find(state, record->address, 1);
        return block == NULL || block->start != record->address;
    }
    if (record->kind == STARPOOL_TRACE_WAIT)
        return sp_map_find(&state->streams, record->other) == NULL;
    return record->kind == STARPOOL_TRACE_RELEASE &&
           find(state, record->address, record->size) != NULL;
}

static void check_record(struct state *state, const struct starpool_trace_record *record)
{
    struct pool *pool;

    state->check->n_records++;
    switch (record->kind) {
    case STARPOOL_TRACE_POOL_CREATE:
        pool = pool_of(state, record->pool);
        if (pool != NULL)
            *pool = (struct pool){.is_whole = !record->is_earlier};
        return;
    case STARPOOL_TRACE_ALLOC:
        check_alloc(state, record);
        return;
    case STARPOOL_TRACE_FREE:
        check_free(state, record);
        return;
    case STARPOOL_TRACE_GROW:
    case STARPOOL_TRACE_RELEASE:
        check_memory(state, record);
        return;
    case STARPOOL_TRACE_STREAM_CREATE:
    case STARPOOL_TRACE_STREAM_DESTROY:
    case STARPOOL_TRACE_RECORD:
    case STARPOOL_TRACE_WAIT:
    case STARPOOL_TRACE_EXECUTED:
    case STARPOOL_TRACE_SYNCHRONIZE:
        check_order(state, record);
        return;
    default: /* Refusals, trims, and kinds of a later version. */
        return;
    }
}

static void fini(struct state *state)
{
    const struct sp_map_slot *slot;
    size_t index = 0;

    tdestroy(state->tree, free);
    while ((slot = sp_map_next(&state->pools, &index)) != NULL)
        free((void *)(uintptr_t)slot->value);
    index = 0;
    while ((slot = sp_map_next(&state->streams, &index)) != NULL) {
        free(((struct stream *)(uintptr_t)slot->value)->waits);
        free((void *)(uintptr_t)slot->value);
    }
    sp_map_fini(&state->pools);
    sp_map_fini(&state->streams);
    sp_checker_destroy(state->checker);
    free(state);
}

enum starpool_status sp_trace_check(struct starpool_trace *reader,
                                    struct sp_trace_check *check_out)
{
    struct starpool_trace_record record;
    enum starpool_status status = STARPOOL_ENOMEM;
    struct state *state = calloc(1, sizeof(*state));

    memset(check_out, 0, sizeof(*check_out));
    if (state == NULL)
        return status;
    state->check = check_out;
    state->checker = sp_checker_create();
    state->is_short = state->checker == NULL;
    while (state->n_free_slots < MAX_STREAMS) {
        state->free_slots[state->n_free_slots] = MAX_STREAMS - 1 - state->n_free_slots;
        state->n_free_slots++;
    }
    while (!state->is_short) {
        status = starpool_trace_next(reader, &record);
        if (status != STARPOOL_OK || record.kind == STARPOOL_TRACE_END)
            break;
        if (!is_early(state, &record) || !sp_trace_hold(reader))
            check_record(state, &record);
    }
    if (status == STARPOOL_OK && !state->is_short)
        check_out->n_lost = record.n_lost;
    if (state->is_short)
        status = STARPOOL_ENOMEM;
    fini(state);
    return status;
}
