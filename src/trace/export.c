/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes events as CSV and as JSON. What an event does not have is an empty field, or no
 * member.
 */
#include "config.h"

#include "src/trace/export.h"

#include <inttypes.h>
#include <string.h>

#include "src/util/json.h"

const char *sp_trace_kind_word(int kind)
{
    switch (kind) {
#define KIND_WORD(name, number, word) \
    case STARPOOL_TRACE_##name:       \
        return word;
        STARPOOL_TRACE_MAP(KIND_WORD)
#undef KIND_WORD
    default:
        return "unknown";
    }
}

const char *sp_trace_edge_word(enum starpool_trace_edge edge)
{
    static const char *const words[STARPOOL_TRACE_N_EDGES] = {
        "unknown", "fresh", "stream", "seen", "event", "executed", "internal",
    };

    return words[edge];
}

const char *sp_trace_place_word(enum starpool_kind kind)
{
    switch (kind) {
    case STARPOOL_DEVICE:
        return "DEVICE";
    case STARPOOL_HOST:
        return "HOST";
    case STARPOOL_HOST_NUMA:
        return "HOST_NUMA";
    case STARPOOL_NONE:
        break;
    }
    return "NONE";
}

static bool has_place(const struct starpool_trace_record *record)
{
    return record->kind == STARPOOL_TRACE_POOL_CREATE ||
           record->kind == STARPOOL_TRACE_STREAM_CREATE;
}

/* ---- CSV -------------------------------------------------------------------------------- */

void sp_trace_write_field(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void write_line(FILE *out, const struct starpool_trace_record *record)
{
    fprintf(out, "%" PRIu64 ",%" PRIu32 ",%d,%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
            record->time_ns, record->thread, record->kind, sp_trace_kind_word(record->kind),
            record->pool, record->stream, record->other, record->point);
    fprintf(out, ",0x%" PRIx64 ",%" PRIu64 ",", record->address, record->size);
    if (record->kind == STARPOOL_TRACE_REFUSE)
        fputs(starpool_status_name(record->status), out);
    putc(',', out);
    if (record->kind == STARPOOL_TRACE_ALLOC)
        fputs(sp_trace_edge_word(record->edge), out);
    if (has_place(record))
        fprintf(out, ",%s,%d,", sp_trace_place_word(record->location.kind),
                record->location.id);
    else
        fputs(",,,", out);
    sp_trace_write_field(out, record->name);
    putc(',', out);
    if (record->kind == STARPOOL_TRACE_END)
        fprintf(out, "%" PRIu64, record->n_lost);
    putc('\n', out);
}

enum starpool_status sp_trace_write_csv(struct starpool_trace *reader, FILE *out)
{
    struct starpool_trace_record record = {.kind = 0};
    enum starpool_status status = STARPOOL_OK;

    fputs("time_ns,thread,number,kind,pool,stream,other,point,address,size,status,edge,place,"
          "place_id,name,lost\n",
          out);
    while (status == STARPOOL_OK && record.kind != STARPOOL_TRACE_END) {
        status = starpool_trace_next(reader, &record);
        if (status == STARPOOL_OK)
            write_line(out, &record);
    }
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void write_nonzero(struct sp_json *json, const char *key, uint64_t value)
{
    if (value != 0)
        sp_json_number(json, key, value);
}

static void write_object(struct sp_json *json, const struct starpool_trace_record *record)
{
    sp_json_object_begin(json, NULL);
    sp_json_number(json, "time_ns", record->time_ns);
    sp_json_number(json, "thread", record->thread);
    sp_json_number(json, "number", (uint64_t)record->kind);
    sp_json_string(json, "kind", sp_trace_kind_word(record->kind));
    write_nonzero(json, "pool", record->pool);
    write_nonzero(json, "stream", record->stream);
    write_nonzero(json, "other", record->other);
    write_nonzero(json, "point", record->point);
    write_nonzero(json, "address", record->address);
    write_nonzero(json, "size_bytes", record->size);
    if (record->kind == STARPOOL_TRACE_REFUSE)
        sp_json_string(json, "status", starpool_status_name(record->status));
    if (record->kind == STARPOOL_TRACE_ALLOC)
        sp_json_string(json, "edge", sp_trace_edge_word(record->edge));
    if (has_place(record)) {
        sp_json_string(json, "place", sp_trace_place_word(record->location.kind));
        sp_json_signed(json, "place_id", record->location.id);
    }
    if (record->kind == STARPOOL_TRACE_POOL_CREATE) {
        sp_json_string(json, "name", record->name);
        sp_json_flag(json, "is_earlier", record->is_earlier);
    }
    if (record->kind == STARPOOL_TRACE_END)
        sp_json_number(json, "n_lost", record->n_lost);
    sp_json_end(json);
}

enum starpool_status sp_trace_write_json(struct starpool_trace *reader, FILE *out)
{
    struct starpool_trace_record record = {.kind = 0};
    enum starpool_status status = STARPOOL_OK;
    struct sp_json json;

    sp_json_begin(&json, out);
    sp_json_array_begin(&json, "events");
    while (status == STARPOOL_OK && record.kind != STARPOOL_TRACE_END) {
        status = starpool_trace_next(reader, &record);
        if (status == STARPOOL_OK)
            write_object(&json, &record);
    }
    sp_json_end(&json);
    sp_json_flag(&json, "is_whole", status == STARPOOL_OK);
    if (status != STARPOOL_OK)
        sp_json_string(&json, "error", starpool_trace_error(reader, NULL));
    sp_json_finish(&json);
    return status;
}
