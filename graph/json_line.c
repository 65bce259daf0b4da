/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walks along a JSON text, over whole values, up to the one that is asked for. Only errors need
 * it, so it need not be fast. */
#include "config.h"

#include "graph/json_line.h"

#include <stdbool.h>
#include <string.h>

struct walk {
    const char *at, *end;
    unsigned line;
};

static bool is_at(const struct walk *walk, const char *characters)
{
    return walk->at < walk->end && *walk->at != '\0' && strchr(characters, *walk->at) != NULL;
}

static void skip_space(struct walk *walk)
{
    for (; is_at(walk, " \t\r\n"); walk->at++)
        walk->line += *walk->at == '\n';
}

static void skip_string(struct walk *walk)
{
    walk->at++;
    while (walk->at < walk->end && *walk->at != '"')
        walk->at += *walk->at == '\\' ? 2 : 1;
    walk->at++;
}

/* One value, with all that is in it. */
static void skip_value(struct walk *walk)
{
    unsigned long depth = 0;

    do {
        skip_space(walk);
        if (is_at(walk, "\"")) {
            skip_string(walk);
        } else if (is_at(walk, "[{")) {
            depth++;
            walk->at++;
        } else if (is_at(walk, "]}")) {
            depth--;
            walk->at++;
        } else if (is_at(walk, ",:")) {
            walk->at++;
        } else {
            while (walk->at < walk->end && !is_at(walk, ",:]} \t\r\n"))
                walk->at++;
        }
    } while (depth > 0 && walk->at < walk->end);
}

/* Into the object that begins here, to the value of a key. */
static bool enter_key(struct walk *walk, const char *key)
{
    size_t length = strlen(key);

    skip_space(walk);
    if (!is_at(walk, "{"))
        return false;
    walk->at++;
    for (skip_space(walk); is_at(walk, "\""); skip_space(walk)) {
        const char *name = walk->at + 1;
        bool is_it;

        skip_string(walk);
        is_it = (size_t)(walk->at - 1 - name) == length && memcmp(name, key, length) == 0;
        skip_space(walk);
        walk->at++; /* a colon */
        skip_space(walk);
        if (is_it)
            return true;
        skip_value(walk);
        skip_space(walk);
        if (!is_at(walk, ","))
            return false;
        walk->at++;
    }
    return false;
}

/* Into the array that begins here, to an element. */
static bool enter_element(struct walk *walk, uint32_t index)
{
    skip_space(walk);
    if (!is_at(walk, "["))
        return false;
    walk->at++;
    skip_space(walk);
    for (uint32_t i = 0; i < index && !is_at(walk, "]"); i++) {
        skip_value(walk);
        skip_space(walk);
        if (!is_at(walk, ","))
            return false;
        walk->at++;
        skip_space(walk);
    }
    return !is_at(walk, "]");
}

unsigned sp_json_line(const char *text, size_t size, const char *section, uint32_t index,
                      const char *key)
{
    struct walk walk = {.at = text, .end = text + size, .line = 1}, inner;

    skip_space(&walk);
    inner = walk;
    if (section != NULL) {
        if (!enter_key(&inner, section))
            return walk.line;
        walk = inner;
        if (!enter_element(&inner, index))
            return walk.line;
        walk = inner;
    }
    return key != NULL && enter_key(&inner, key) ? inner.line : walk.line;
}
