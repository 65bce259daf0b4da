/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words of graph files, and any text inside each of their forms. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "graph/files.h"
#include "src/util/utf8.h"
#include "src/util/util.h"

static const char *const kind_words[] = {
    [STARPOOL_GRAPH_NODE_EMPTY] = "empty",
    [STARPOOL_GRAPH_NODE_KERNEL] = "kernel",
    [STARPOOL_GRAPH_NODE_MEMCPY] = "memcpy",
    [STARPOOL_GRAPH_NODE_MEMSET] = "memset",
    [STARPOOL_GRAPH_NODE_HOST] = "host",
    [STARPOOL_GRAPH_NODE_ALLOC] = "alloc",
    [STARPOOL_GRAPH_NODE_FREE] = "free",
    [STARPOOL_GRAPH_NODE_CHILD] = "child",
    [STARPOOL_GRAPH_NODE_EVENT_RECORD] = "event-record",
    [STARPOOL_GRAPH_NODE_EVENT_WAIT] = "event-wait",
    [STARPOOL_GRAPH_NODE_TASK] = "task",
    [STARPOOL_GRAPH_NODE_OTHER] = "other",
};

enum starpool_status sp_graph_fail(struct sp_graph_error *error, unsigned line,
                                   const char *format, ...)
{
    va_list arguments;

    *error = (struct sp_graph_error){.line = line};
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    return STARPOOL_EINVAL;
}

/* ---- words ------------------------------------------------------------------------------ */

const char *sp_node_kind_word(enum starpool_graph_node_kind kind)
{
    return kind_words[kind];
}

bool sp_node_kind_parse(const char *word, enum starpool_graph_node_kind *kind_out)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(kind_words); i++) {
        if (strcmp(word, kind_words[i]) == 0) {
            *kind_out = (enum starpool_graph_node_kind)i;
            return true;
        }
    }
    return false;
}

/* A number without a sign, and without zeros in front. */
static bool parse_id(const char *text, int *id_out)
{
    int id = 0;

    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || id > (INT32_MAX - (*text - '0')) / 10)
            return false;
        id = 10 * id + (*text - '0');
    }
    *id_out = id;
    return true;
}

bool sp_location_parse(const char *text, struct starpool_location *location_out)
{
    static const struct {
        const char *word;
        enum starpool_kind kind;
        bool has_id;
    } rows[] = {
        {"anywhere", STARPOOL_NONE, false},
        {"device ", STARPOOL_DEVICE, true},
        {"host", STARPOOL_HOST, false},
        {"node ", STARPOOL_HOST_NUMA, true},
    };

    for (size_t i = 0; i < SP_ARRAY_SIZE(rows); i++) {
        size_t length = strlen(rows[i].word);
        int id = 0;

        if (strncmp(text, rows[i].word, length) != 0)
            continue;
        if (rows[i].has_id ? !parse_id(text + length, &id) : text[length] != '\0')
            return false;
        *location_out = (struct starpool_location){.kind = rows[i].kind, .id = id};
        return true;
    }
    return false;
}

const char *sp_graph_plain(const char *name, size_t length, char text[64])
{
    size_t n = 0;

    for (; n < length && n < 60 && name[n] != '\0'; n++) {
        unsigned char c = (unsigned char)name[n];

        text[n] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    snprintf(text + n, 64 - n, "%s", n < length && name[n] != '\0' ? "..." : "");
    return text;
}

/* ---- text in text ----------------------------------------------------------------------- */

static const char *xml_entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

/* Two characters of three bytes are UTF-8 and no XML: U+FFFE and U+FFFF. */
static bool is_xml(const char *text, unsigned length)
{
    if (length <= 1)
        return length == 1 && ((unsigned char)*text >= 0x20 || *text == '\t' || *text == '\n');
    return strncmp(text, "\xef\xbf\xbe", 3) != 0 && strncmp(text, "\xef\xbf\xbf", 3) != 0;
}

void sp_write_xml(FILE *out, const char *text)
{
    while (*text != '\0') {
        unsigned length = sp_utf8_length(text);
        const char *entity = xml_entity(*text);

        if (entity != NULL)
            fputs(entity, out);
        else if (is_xml(text, length))
            fwrite(text, 1, length, out);
        else
            fputs(SP_UTF8_REPLACEMENT, out);
        text += length == 0 ? 1 : length;
    }
}

void sp_write_dot_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        unsigned length = sp_utf8_length(text);

        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", out);
        else if (length == 0 || (unsigned char)*text < 0x20)
            fputs(SP_UTF8_REPLACEMENT, out);
        else
            fwrite(text, 1, length, out);
        text += length == 0 ? 1 : length;
    }
}

void sp_write_csv_field(FILE *out, const char *text)
{
    /* Spaces at the ends are quoted because readers take them away. */
    size_t length = strlen(text);

    if (strpbrk(text, ",\"\r\n") == NULL && *text != ' ' && *text != '\t' &&
        (length == 0 || (text[length - 1] != ' ' && text[length - 1] != '\t'))) {
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
