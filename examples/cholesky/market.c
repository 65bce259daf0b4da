/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Matrix Market reader. Nothing in the file is believed before it has been checked: room
 * grows with the entries really read, not with the number the header promises, and every
 * complaint says file and line.
 */
#include "matrix.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

/* The format allows 1024 characters a line. */
#define LINE_ROOM 1026

struct reader {
    gzFile file; /* zlib reads files that are not compressed as they are */
    const char *path;
    long line;   /* number of the line in `text`, from 1 */
    bool at_end; /* there is no further line; `text` is void */
    char text[LINE_ROOM];
    struct error *error;
};

struct entries {
    int n;         /* rows, and columns */
    long promised; /* number of entries by the size line */
    long count;    /* read so far */
    long room;
    bool general; /* both triangles are in the file */
    int *rows;    /* [room] from 0 */
    int *columns; /* [room] */
    double *values;
};

static enum status malformed(const struct reader *reader, const char *reason,
                             const char *remedy)
{
    return error_set(reader->error, STATUS_INPUT, "%s:%ld: %s; %s", reader->path, reader->line,
                     reason, remedy);
}

/* Say why zlib had no more, unless the file simply ends. */
static enum status check_end(const struct reader *reader)
{
    int code;

    gzerror(reader->file, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return STATUS_OK;
    if (code == Z_ERRNO)
        return malformed(reader, strerror(errno), "give a readable file");
    return malformed(reader,
                     code == Z_BUF_ERROR ? "the compressed data end too early"
                                         : "the compressed data are wrong",
                     "the compressed file is damaged: fetch it again");
}

/* Fetch the next line that is neither blank nor a comment. */
static enum status next_line(struct reader *reader)
{
    const char *first;
    size_t length;

    do {
        reader->line++;
        if (gzgets(reader->file, reader->text, LINE_ROOM) == NULL) {
            reader->at_end = true;
            return check_end(reader);
        }
        length = strlen(reader->text);
        if (length == 0 || reader->text[length - 1] != '\n') {
            /* Only a last line may lack its end, and only if the file was not cut off there. */
            if (!gzeof(reader->file))
                return malformed(reader, "a line is too long or holds a zero byte",
                                 "this is not a Matrix Market text file");
            if (check_end(reader) != STATUS_OK)
                return STATUS_INPUT;
        }
        first = reader->text + strspn(reader->text, " \t\r\n\f\v");
    } while (*first == '\0' || (*first == '%' && reader->line > 1));
    return STATUS_OK;
}

/* Take one whole number from the text at *cursor, or say that there is none. */
static bool take_number(const char **cursor, long *number_out)
{
    char *end;

    errno = 0;
    *number_out = strtol(*cursor, &end, 10);
    if (end == *cursor || errno == ERANGE || (*end != '\0' && !isspace((unsigned char)*end)))
        return false;
    *cursor = end;
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

static enum status read_header(struct reader *reader, struct entries *entries)
{
    const char *words[5] = {"", "", "", "", ""};
    char *rest = NULL;
    char *word;
    int n_words = 0;
    enum status status = next_line(reader);

    if (status != STATUS_OK)
        return status;
    if (reader->at_end)
        return malformed(reader, "the file is empty", "give a Matrix Market file");
    for (word = strtok_r(reader->text, " \t\r\n", &rest); word != NULL && n_words < 5;
         word = strtok_r(NULL, " \t\r\n", &rest))
        words[n_words++] = word;
    if (strcasecmp(words[0], "%%MatrixMarket") != 0 || strcasecmp(words[1], "matrix") != 0)
        return malformed(reader, "the first line does not begin with '%%MatrixMarket matrix'",
                         "give a Matrix Market file");
    if (strcasecmp(words[2], "coordinate") != 0)
        return malformed(reader, "the matrix is not in coordinate form",
                         "store it as 'matrix coordinate real symmetric'");
    if (strcasecmp(words[3], "real") != 0 && strcasecmp(words[3], "integer") != 0)
        return malformed(reader, "the values are neither 'real' nor 'integer'",
                         "give a matrix with real values");
    entries->general = strcasecmp(words[4], "general") == 0;
    if (!entries->general && strcasecmp(words[4], "symmetric") != 0)
        return malformed(reader, "the matrix is neither 'symmetric' nor 'general'",
                         "give a symmetric matrix");
    return STATUS_OK;
}

static enum status read_size(struct reader *reader, struct entries *entries)
{
    const char *cursor = reader->text;
    enum status status = next_line(reader);
    long n_columns;
    long n_rows;

    if (status != STATUS_OK)
        return status;
    if (reader->at_end)
        return malformed(reader, "the file ends before the size line", "it is truncated");
    if (!take_number(&cursor, &n_rows) || !take_number(&cursor, &n_columns) ||
        !take_number(&cursor, &entries->promised) || !is_blank(cursor))
        return malformed(reader, "the size line is not three whole numbers",
                         "write 'rows columns entries'");
    if (n_rows != n_columns)
        return error_set(reader->error, STATUS_INPUT,
                         "%s:%ld: %ld rows and %ld columns: not square; give a square matrix",
                         reader->path, reader->line, n_rows, n_columns);
    if (n_rows < 1 || n_rows > MATRIX_MAX_N || entries->promised < 0 ||
        entries->promised > INT_MAX)
        return malformed(reader, "a size is below the least or above the greatest possible",
                         "give a matrix with at least one row and below 2^28 of them");
    /* A positive definite matrix has its whole diagonal, and so a short line cannot make us
     * take memory for rows that the file does not have. */
    if (entries->promised < n_rows)
        return error_set(reader->error, STATUS_INPUT,
                         "%s:%ld: %ld entries cannot fill the diagonal of %ld rows: not "
                         "positive definite; give a positive definite matrix",
                         reader->path, reader->line, entries->promised, n_rows);
    entries->n = (int)n_rows;
    return STATUS_OK;
}

static enum status make_room(struct reader *reader, struct entries *entries)
{
    long room = entries->room == 0 ? 4096 : 2 * entries->room;
    double *values;
    int *columns;
    int *rows;

    if (entries->count < entries->room)
        return STATUS_OK;
    rows = realloc(entries->rows, (size_t)room * sizeof(*rows));
    if (rows != NULL)
        entries->rows = rows;
    columns = realloc(entries->columns, (size_t)room * sizeof(*columns));
    if (columns != NULL)
        entries->columns = columns;
    values = realloc(entries->values, (size_t)room * sizeof(*values));
    if (values != NULL)
        entries->values = values;
    if (rows == NULL || columns == NULL || values == NULL)
        return error_no_memory(reader->error, "the entries of the file");
    entries->room = room;
    return STATUS_OK;
}

static enum status parse_entry(struct reader *reader, struct entries *entries)
{
    const char *cursor = reader->text;
    double value;
    long column;
    char *end;
    long row;

    if (!take_number(&cursor, &row) || !take_number(&cursor, &column))
        return malformed(reader, "an entry does not begin with two whole numbers",
                         "write 'row column value'");
    value = strtod(cursor, &end);
    if (end == cursor || !is_blank(end))
        return malformed(reader, "an entry does not end with one value",
                         "write 'row column value'");
    if (row < 1 || row > entries->n || column < 1 || column > entries->n)
        return error_set(reader->error, STATUS_INPUT,
                         "%s:%ld: entry (%ld, %ld) is outside the matrix; indices go from 1 "
                         "to %d",
                         reader->path, reader->line, row, column, entries->n);
    if (!isfinite(value))
        return error_set(reader->error, STATUS_INPUT,
                         "%s:%ld: the value of entry (%ld, %ld) is not finite; replace it by "
                         "a number",
                         reader->path, reader->line, row, column);
    if (!entries->general && row < column)
        return error_set(reader->error, STATUS_INPUT,
                         "%s:%ld: entry (%ld, %ld) is above the diagonal; a 'symmetric' file "
                         "holds the lower triangle only",
                         reader->path, reader->line, row, column);
    entries->rows[entries->count] = (int)row - 1;
    entries->columns[entries->count] = (int)column - 1;
    entries->values[entries->count++] = value;
    return STATUS_OK;
}

static enum status read_entries(struct reader *reader, struct entries *entries)
{
    enum status status = next_line(reader);

    while (status == STATUS_OK && !reader->at_end) {
        if (entries->count == entries->promised)
            return malformed(reader, "there are more entries than the size line promises",
                             "correct the size line");
        status = make_room(reader, entries);
        if (status == STATUS_OK)
            status = parse_entry(reader, entries);
        if (status == STATUS_OK)
            status = next_line(reader);
    }
    if (status == STATUS_OK && entries->count < entries->promised)
        return error_set(reader->error, STATUS_INPUT,
                         "%s:%ld: the file ends after %ld of %ld entries; it is truncated: "
                         "fetch it again",
                         reader->path, reader->line, entries->count, entries->promised);
    return status;
}

/* Say at which place the two triangles differ first; they hold the same number of columns. */
static enum status compare_triangles(const char *path, const struct matrix *lower,
                                     const struct matrix *upper, struct error *error)
{
    int column;
    int row;
    int i;

    for (column = 0; column < lower->n; column++) {
        for (i = lower->start[column]; i < lower->start[column + 1]; i++) {
            if (i >= upper->start[column + 1] || upper->rows[i] != lower->rows[i] ||
                upper->values[i] != lower->values[i])
                break;
        }
        if (i == lower->start[column + 1] && i == upper->start[column + 1])
            continue;
        row = i < lower->start[column + 1] ? lower->rows[i] : lower->n;
        if (i < upper->start[column + 1] && upper->rows[i] < row)
            row = upper->rows[i];
        return error_set(error, STATUS_INPUT,
                         "%s: not symmetric: entries (%d, %d) and (%d, %d) differ; give a "
                         "symmetric matrix",
                         path, row + 1, column + 1, column + 1, row + 1);
    }
    return STATUS_OK;
}

/* Of a general file the lower triangle is kept, once the upper one has proved equal. */
static enum status from_both_triangles(const char *path, struct entries *entries,
                                       struct matrix *matrix_out, struct error *error)
{
    struct matrix upper = {0};
    enum status status;
    long below = 0;
    long i;

    for (i = 0; i < entries->count; i++) {
        int row = entries->rows[i];
        int column = entries->columns[i];
        double value = entries->values[i];

        if (row < column)
            continue;
        entries->rows[i] = entries->rows[below];
        entries->columns[i] = entries->columns[below];
        entries->values[i] = entries->values[below];
        entries->rows[below] = row;
        entries->columns[below] = column;
        entries->values[below++] = value;
    }
    status = matrix_from_entries(entries->n, (int)below, entries->rows, entries->columns,
                                 entries->values, matrix_out, error);
    if (status != STATUS_OK)
        return status;

    status =
        matrix_from_entries(entries->n, (int)(entries->count - below), entries->rows + below,
                            entries->columns + below, entries->values + below, &upper, error);
    if (status == STATUS_OK) {
        /* The diagonal belongs to both triangles, but was kept in the lower one. */
        for (i = 0; i < upper.n; i++)
            upper.values[upper.start[i]] = matrix_out->values[matrix_out->start[i]];
        status = compare_triangles(path, matrix_out, &upper, error);
        matrix_fini(&upper);
    }
    if (status != STATUS_OK)
        matrix_fini(matrix_out);
    return status;
}

static enum status read_all(struct reader *reader, struct entries *entries,
                            struct matrix *matrix_out)
{
    enum status status = read_header(reader, entries);

    if (status == STATUS_OK)
        status = read_size(reader, entries);
    if (status == STATUS_OK)
        status = read_entries(reader, entries);
    if (status != STATUS_OK)
        return status;
    if (entries->general)
        return from_both_triangles(reader->path, entries, matrix_out, reader->error);
    return matrix_from_entries(entries->n, (int)entries->count, entries->rows, entries->columns,
                               entries->values, matrix_out, reader->error);
}

enum status matrix_read(const char *path, struct matrix *matrix_out, struct error *error)
{
    struct reader reader = {.path = path, .error = error};
    struct entries entries = {0};
    enum status status;

    errno = 0;
    reader.file = gzopen(path, "rb");
    if (reader.file == NULL)
        return error_set(error, STATUS_INPUT, "%s: %s; give a readable Matrix Market file",
                         path, strerror(errno == 0 ? ENOMEM : errno));
    status = read_all(&reader, &entries, matrix_out);
    gzclose(reader.file);
    free(entries.rows);
    free(entries.columns);
    free(entries.values);
    return status;
}
