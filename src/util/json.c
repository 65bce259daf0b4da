/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commas, quotes and indentation, and bytes that are no UTF-8 replaced: JSON has no others. */
#include "config.h"

#include "src/util/json.h"

#include <inttypes.h>

#include "src/util/utf8.h"
#include "src/util/util.h"

static void quote(FILE *out, const char *text)
{
    putc('"', out);
    while (*text != '\0') {
        unsigned char c = (unsigned char)*text;
        unsigned length = sp_utf8_length(text);

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else if (length == 0)
            fputs(SP_UTF8_REPLACEMENT, out);
        else
            fwrite(text, 1, length, out);
        text += length == 0 ? 1 : length;
    }
    putc('"', out);
}

/* What stands before a value: comma, new line, indentation, key. */
static void lead(struct sp_json *json, const char *key)
{
    bool *has_members = &json->has_members[json->depth - 1];

    fprintf(json->out, "%s\n%*s", *has_members ? "," : "", (int)json->depth * 2, "");
    *has_members = true;
    if (key != NULL) {
        quote(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_with(struct sp_json *json, char opener, char closer)
{
    SP_ASSERT(json->depth < SP_JSON_DEPTH);
    putc(opener, json->out);
    json->closers[json->depth] = closer;
    json->has_members[json->depth] = false;
    json->depth++;
}

void sp_json_begin(struct sp_json *json, FILE *out)
{
    *json = (struct sp_json){.out = out};
    open_with(json, '{', '}');
}

void sp_json_object_begin(struct sp_json *json, const char *key)
{
    lead(json, key);
    open_with(json, '{', '}');
}

void sp_json_array_begin(struct sp_json *json, const char *key)
{
    lead(json, key);
    open_with(json, '[', ']');
}

void sp_json_string(struct sp_json *json, const char *key, const char *value)
{
    lead(json, key);
    quote(json->out, value);
}

void sp_json_number(struct sp_json *json, const char *key, uint64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void sp_json_signed(struct sp_json *json, const char *key, int64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void sp_json_flag(struct sp_json *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void sp_json_end(struct sp_json *json)
{
    json->depth--;
    if (json->has_members[json->depth])
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
    putc(json->closers[json->depth], json->out);
}

void sp_json_finish(struct sp_json *json)
{
    while (json->depth > 0)
        sp_json_end(json);
    putc('\n', json->out);
}
