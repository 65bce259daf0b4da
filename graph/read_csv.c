/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads blocks with times, one a line, as google/minimalloc writes them: id,lower,upper,size.
 * A first line of names says which columns there are, in whatever order; without it there are
 * these four. Further columns are alignment, location, name, and offset, which is checked and
 * not kept. Fields may be quoted as RFC 4180 has it. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/files.h"
#include "src/util/util.h"

/* [bytes] that an id or a name may have. */
#define FIELD_MOST 4096

enum column {
    COLUMN_ID,
    COLUMN_LOWER,
    COLUMN_UPPER,
    COLUMN_SIZE,
    N_NEEDED,
    COLUMN_ALIGNMENT = N_NEEDED,
    COLUMN_LOCATION,
    COLUMN_NAME,
    COLUMN_OFFSET,
    N_COLUMNS
};

static const char *const column_names[N_COLUMNS] = {
    "id", "lower", "upper", "size", "alignment", "location", "name", "offset",
};

/* One id, to find the same again. */
struct id {
    char *text;
    unsigned line;
};

struct reader {
    const char *at, *end;
    unsigned line;     /* of `at` */
    unsigned row_line; /* where the row began */
    char *fields;      /* [N_COLUMNS][FIELD_MOST + 1] of the row */
    unsigned n_fields; /* of the row */
    enum column columns[N_COLUMNS];
    unsigned n_columns;
    struct starpool_graph *graph;
    struct id *ids; /* one a block */
    size_t n_ids, ids_room;
    struct sp_graph_error *error;
};

static char *field_at(const struct reader *reader, unsigned i)
{
    return reader->fields + (size_t)i * (FIELD_MOST + 1);
}

/* ---- rows of fields --------------------------------------------------------------------- */

static bool is_at_line_end(const struct reader *reader)
{
    return reader->at == reader->end || *reader->at == '\n' ||
           (*reader->at == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
}

static void skip_line_end(struct reader *reader)
{
    if (reader->at < reader->end && *reader->at == '\r')
        reader->at++;
    if (reader->at < reader->end && *reader->at == '\n') {
        reader->at++;
        reader->line++;
    }
}

static enum starpool_status put(const struct reader *reader, char *field, size_t *length)
{
    if (*reader->at == '\0')
        return sp_graph_fail(reader->error, reader->line, "a zero byte");
    if (*length == FIELD_MOST)
        return sp_graph_fail(reader->error, reader->line, "a field is longer than %d bytes",
                             FIELD_MOST);
    field[(*length)++] = *reader->at;
    return STARPOOL_OK;
}

/* Behind the opening quote; a quote inside is written twice. */
static enum starpool_status read_quoted(struct reader *reader, char *field, size_t *length)
{
    enum starpool_status status = STARPOOL_OK;

    for (; reader->at < reader->end && status == STARPOOL_OK; reader->at++) {
        if (*reader->at == '"' && (reader->at + 1 == reader->end || reader->at[1] != '"')) {
            reader->at++;
            return STARPOOL_OK;
        }
        if (*reader->at == '"')
            reader->at++;
        reader->line += *reader->at == '\n';
        status = put(reader, field, length);
    }
    if (status != STARPOOL_OK)
        return status;
    return sp_graph_fail(reader->error, reader->row_line, "a quote is not closed");
}

static enum starpool_status read_field(struct reader *reader, char *field)
{
    enum starpool_status status = STARPOOL_OK;
    size_t length = 0;

    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == '"') {
        reader->at++;
        status = read_quoted(reader, field, &length);
        skip_blanks(reader);
    } else {
        while (status == STARPOOL_OK && !is_at_line_end(reader) && *reader->at != ',') {
            status = put(reader, field, &length);
            reader->at++;
        }
        while (length > 0 && is_blank(field[length - 1]))
            length--;
    }
    field[length] = '\0';
    if (status == STARPOOL_OK && !is_at_line_end(reader) && *reader->at != ',')
        return sp_graph_fail(reader->error, reader->line, "text behind a closing quote");
    return status;
}

/* The next line that is not blank. At the end of the text there are no fields. */
static enum starpool_status read_row(struct reader *reader)
{
    enum starpool_status status = STARPOOL_OK;
    bool is_more = true;

    reader->n_fields = 0;
    skip_blanks(reader);
    while (reader->at < reader->end && is_at_line_end(reader)) {
        skip_line_end(reader);
        skip_blanks(reader);
    }
    reader->row_line = reader->line;
    if (reader->at == reader->end)
        return STARPOOL_OK;
    while (status == STARPOOL_OK && is_more) {
        if (reader->n_fields == N_COLUMNS)
            return sp_graph_fail(reader->error, reader->line, "more than %d fields", N_COLUMNS);
        status = read_field(reader, field_at(reader, reader->n_fields++));
        is_more = status == STARPOOL_OK && !is_at_line_end(reader);
        reader->at += is_more; /* a comma */
    }
    if (status == STARPOOL_OK)
        skip_line_end(reader);
    return status;
}

/* ---- columns ---------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return *text >= '0' && *text <= '9';
}

/* A row of names has no field that begins as a number does. */
static bool is_header(const struct reader *reader)
{
    for (unsigned i = 0; i < reader->n_fields; i++) {
        if (is_number(field_at(reader, i)))
            return false;
    }
    return true;
}

static enum starpool_status read_header(struct reader *reader)
{
    bool is_there[N_COLUMNS] = {false};
    char plain[64];

    for (unsigned i = 0; i < reader->n_fields; i++) {
        const char *name = field_at(reader, i);
        unsigned column = 0;

        while (column < N_COLUMNS && strcmp(name, column_names[column]) != 0)
            column++;
        if (column == N_COLUMNS)
            return sp_graph_fail(reader->error, reader->row_line, "there is no column '%s'",
                                 sp_graph_plain(name, FIELD_MOST, plain));
        if (is_there[column])
            return sp_graph_fail(reader->error, reader->row_line, "column '%s' comes twice",
                                 name);
        is_there[column] = true;
        reader->columns[reader->n_columns++] = (enum column)column;
    }
    for (unsigned i = 0; i < N_NEEDED; i++) {
        if (!is_there[i])
            return sp_graph_fail(reader->error, reader->row_line, "column '%s' is missing",
                                 column_names[i]);
    }
    return STARPOOL_OK;
}

/* ---- blocks ----------------------------------------------------------------------------- */

static enum starpool_status read_number(const struct reader *reader, enum column column,
                                        const char *text, uint64_t *value_out)
{
    const char *at = text;
    uint64_t value = 0;
    char plain[64];

    for (; is_number(at); at++) {
        if (value > (SP_GRAPH_MOST - (uint64_t)(*at - '0')) / 10)
            return sp_graph_fail(reader->error, reader->row_line, "%s %s is 2^63 or more",
                                 column_names[column], sp_graph_plain(text, FIELD_MOST, plain));
        value = 10 * value + (uint64_t)(*at - '0');
    }
    if (at == text || *at != '\0')
        return sp_graph_fail(reader->error, reader->row_line, "%s '%s' is no whole number",
                             column_names[column], sp_graph_plain(text, FIELD_MOST, plain));
    *value_out = value;
    return STARPOOL_OK;
}

static enum starpool_status read_value(const struct reader *reader, enum column column,
                                       char *text, struct sp_graph_block *block)
{
    uint64_t offset;
    char plain[64];

    switch (column) {
    case COLUMN_LOWER:
        return read_number(reader, column, text, &block->lower);
    case COLUMN_UPPER:
        return read_number(reader, column, text, &block->upper);
    case COLUMN_SIZE:
        return read_number(reader, column, text, &block->size);
    case COLUMN_ALIGNMENT:
        return read_number(reader, column, text, &block->alignment);
    case COLUMN_OFFSET:
        return read_number(reader, column, text, &offset);
    case COLUMN_LOCATION:
        if (sp_location_parse(text, &block->location))
            return STARPOOL_OK;
        return sp_graph_fail(reader->error, reader->row_line, "there is no location '%s'",
                             sp_graph_plain(text, FIELD_MOST, plain));
    case COLUMN_NAME:
        block->name = *text == '\0' ? NULL : text;
        return STARPOOL_OK;
    case COLUMN_ID:
    case N_COLUMNS:
        break;
    }
    return STARPOOL_OK;
}

static enum starpool_status note_id(struct reader *reader, const char *text)
{
    struct id *ids = reader->ids;

    if (*text == '\0')
        return sp_graph_fail(reader->error, reader->row_line, "the id is empty");
    if (ids == NULL || reader->n_ids == reader->ids_room) {
        reader->ids_room = reader->ids_room == 0 ? 64 : 2 * reader->ids_room;
        ids = realloc(ids, reader->ids_room * sizeof(*ids));
        if (ids == NULL)
            return STARPOOL_ENOMEM;
        reader->ids = ids;
    }
    ids[reader->n_ids] = (struct id){.text = strdup(text), .line = reader->row_line};
    if (ids[reader->n_ids].text == NULL)
        return STARPOOL_ENOMEM;
    reader->n_ids++;
    return STARPOOL_OK;
}

/* An id that is not the block's index is its name, unless it has another. */
static enum starpool_status add_block(struct reader *reader, struct sp_graph_block *block,
                                      char *id)
{
    char index[16];
    enum starpool_status status = note_id(reader, id);

    if (status != STARPOOL_OK)
        return status;
    snprintf(index, sizeof(index), "%" PRIu32, reader->graph->n_blocks);
    if (block->name == NULL && strcmp(id, index) != 0)
        block->name = id;
    return sp_graph_add_block(reader->graph, block) == SP_NO_INDEX ? STARPOOL_ENOMEM
                                                                   : STARPOOL_OK;
}

static enum starpool_status read_block(struct reader *reader)
{
    struct sp_graph_block block = {
        .alignment = SP_CSV_ALIGNMENT, .alloc = SP_NO_INDEX, .free = SP_NO_INDEX};
    enum starpool_status status = STARPOOL_OK;
    char *id = field_at(reader, 0);

    if (reader->n_fields != reader->n_columns)
        return sp_graph_fail(reader->error, reader->row_line, "%u fields, and not %u",
                             reader->n_fields, reader->n_columns);
    for (unsigned i = 0; i < reader->n_columns && status == STARPOOL_OK; i++) {
        if (reader->columns[i] == COLUMN_ID)
            id = field_at(reader, i);
        status = read_value(reader, reader->columns[i], field_at(reader, i), &block);
    }
    return status == STARPOOL_OK ? add_block(reader, &block, id) : status;
}

static enum starpool_status read_blocks(struct reader *reader)
{
    enum starpool_status status = read_row(reader);

    if (status == STARPOOL_OK && reader->n_fields == 0)
        return sp_graph_fail(reader->error, 0, "the file is empty");
    if (status == STARPOOL_OK && is_header(reader)) {
        status = read_header(reader);
        if (status == STARPOOL_OK)
            status = read_row(reader);
    } else {
        reader->n_columns = N_NEEDED;
    }
    while (status == STARPOOL_OK && reader->n_fields > 0) {
        status = read_block(reader);
        if (status == STARPOOL_OK)
            status = read_row(reader);
    }
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const struct id *left = a, *right = b;
    int order = strcmp(left->text, right->text);

    if (order != 0)
        return order;
    return left->line < right->line ? -1 : left->line > right->line;
}

/* The lines of the blocks are needed before, in the order of the blocks. */
static enum starpool_status check_ids(struct reader *reader)
{
    char plain[64];

    if (reader->n_ids == 0)
        return STARPOOL_OK;
    qsort(reader->ids, reader->n_ids, sizeof(*reader->ids), compare_ids);
    for (size_t i = 1; i < reader->n_ids; i++) {
        if (strcmp(reader->ids[i - 1].text, reader->ids[i].text) == 0)
            return sp_graph_fail(reader->error, reader->ids[i].line,
                                 "id '%s' is that of line %u, too",
                                 sp_graph_plain(reader->ids[i].text, FIELD_MOST, plain),
                                 reader->ids[i - 1].line);
    }
    return STARPOOL_OK;
}

static enum starpool_status read_all(struct reader *reader)
{
    enum starpool_status status = read_blocks(reader);

    if (status != STARPOOL_OK)
        return status;
    status = sp_graph_check(reader->graph, reader->error);
    if (status == STARPOOL_EINVAL && reader->error->part == SP_GRAPH_PART_BLOCK &&
        reader->ids != NULL)
        reader->error->line = reader->ids[reader->error->index].line;
    return status == STARPOOL_OK ? check_ids(reader) : status;
}

enum starpool_status sp_graph_read_csv(const char *text, size_t size,
                                       struct starpool_graph **graph_out,
                                       struct sp_graph_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* with which some editors begin UTF-8 */
    struct reader reader = {
        .at = text,
        .end = text + size,
        .line = 1,
        .columns = {COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE},
        .fields = malloc((size_t)N_COLUMNS * (FIELD_MOST + 1)),
        .graph = sp_graph_create(NULL),
        .error = error,
    };
    enum starpool_status status = STARPOOL_ENOMEM;

    if (size >= sizeof(mark) - 1 && memcmp(text, mark, sizeof(mark) - 1) == 0)
        reader.at += sizeof(mark) - 1;
    if (reader.fields != NULL && reader.graph != NULL) {
        reader.graph->is_timed = true;
        status = read_all(&reader);
    }
    for (size_t i = 0; i < reader.n_ids; i++)
        free(reader.ids[i].text);
    free(reader.ids);
    free(reader.fields);
    if (status == STARPOOL_OK) {
        *graph_out = reader.graph;
        return status;
    }
    if (status == STARPOOL_ENOMEM)
        sp_graph_fail(error, 0, "no memory");
    sp_graph_destroy(reader.graph);
    return status;
}
