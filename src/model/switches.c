/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The switches for what the driver's documents leave open, and the account of what a program
 * did that they forbid. What a switch changes is decided where the rule is. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/private.h"
#include "src/util/meta.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* Enough for every list of values in switches.def, and for every value. */
#define VALUES_SIZE 64
#define VALUE_SIZE  32

/* More violations than this are counted and not said. */
#define N_SAID 16

struct row {
    const char *name;
    const char *values; /* separated by blanks */
};

static const struct row rows[SP_N_SWITCHES] = {
#define X(name, rule, values, text) {#name, values},
#include "src/model/switches.def"
#undef X
};

/* Behind the model's lock. */
static struct {
    unsigned values[SP_N_SWITCHES];
    const char *texts[SP_N_SWITCHES]; /* as starpool_model_get_switch() shows them; constant */
    char words[SP_N_SWITCHES][VALUES_SIZE];
    int channel; /* -1: none */
    uint64_t n_violations;
    char first[256];
} switches = {.channel = -1};

unsigned sp_model_switch(enum sp_model_switch_id id)
{
    return switches.values[id];
}

int sp_model_imex_channel(void)
{
    return switches.channel;
}

/* ---- setting ------------------------------------------------------------------------- */

/* The values of a switch as words, one after another, each ended by a zero; an empty one ends
 * them. */
static const char *words_of(unsigned id)
{
    char *words = switches.words[id];

    SP_ASSERT(strlen(rows[id].values) + 2 <= VALUES_SIZE);
    if (words[0] == '\0') {
        strcpy(words, rows[id].values);
        for (char *at = words; *at != '\0'; at++)
            *at = *at == ' ' ? '\0' : *at;
    }
    return words;
}

/* The index of a value in its list, and the list's own word; false if it is not there. */
static bool find_value(unsigned id, const char *value, unsigned *index_out,
                       const char **word_out)
{
    unsigned index = 0;

    for (const char *word = words_of(id); *word != '\0'; word += strlen(word) + 1, index++) {
        if (strcmp(word, value) == 0) {
            *index_out = index;
            *word_out = word;
            return true;
        }
    }
    return false;
}

/* "channel=N": the last value of `imex` has a number. */
static bool set_channel(const char *value)
{
    char *end, *text;
    unsigned long channel;

    if (strncmp(value, "channel=", 8) != 0 || value[8] < '0' || value[8] > '9')
        return false;
    channel = strtoul(value + 8, &end, 10);
    if (*end != '\0' || channel > 65535)
        return false;
    text = sp_meta_alloc(VALUE_SIZE);
    if (text == NULL)
        return false;
    snprintf(text, VALUE_SIZE, "channel=%lu", channel);
    (void)find_value(SP_SWITCH_imex, "channel", &switches.values[SP_SWITCH_imex],
                     &switches.texts[SP_SWITCH_imex]);
    switches.texts[SP_SWITCH_imex] = text;
    switches.channel = (int)channel;
    return true;
}

static bool set_value(unsigned id, const char *value)
{
    if (id == SP_SWITCH_imex) {
        if (strcmp(value, "channel") == 0)
            return set_channel("channel=0");
        if (set_channel(value))
            return true;
    }
    if (!find_value(id, value, &switches.values[id], &switches.texts[id]))
        return false;
    if (id == SP_SWITCH_imex)
        switches.channel = -1;
    return true;
}

/* The switch with a name of that length, or SP_N_SWITCHES. */
static unsigned find_switch(const char *name, size_t length)
{
    unsigned id;

    for (id = 0; id < SP_N_SWITCHES; id++) {
        if (strncmp(rows[id].name, name, length) == 0 && rows[id].name[length] == '\0')
            break;
    }
    return id;
}

/* One "NAME=VALUE" of the option. */
static bool set_from_text(const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    char value[VALUE_SIZE];
    size_t value_length;
    unsigned id;

    if (equals == NULL)
        return false;
    id = find_switch(text, (size_t)(equals - text));
    value_length = length - (size_t)(equals + 1 - text);
    if (id == SP_N_SWITCHES || value_length >= sizeof(value))
        return false;
    memcpy(value, equals + 1, value_length);
    value[value_length] = '\0';
    return set_value(id, value);
}

void sp_model_switches_reset(void)
{
    const char *text = sp_option(SP_OPTION_MODEL_SWITCHES)->value;

    for (unsigned id = 0; id < SP_N_SWITCHES; id++) {
        switches.values[id] = 0;
        switches.texts[id] = words_of(id);
    }
    switches.channel = -1;
    switches.n_violations = 0;
    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (!set_from_text(text, length))
            sp_log(SP_LOG_WARN, "STARPOOL_MODEL_SWITCHES: %.*s: no such switch or value",
                   (int)length, text);
    }
}

enum starpool_status starpool_model_set_switch(const char *name, const char *value)
{
    unsigned id = name == NULL ? SP_N_SWITCHES : find_switch(name, strlen(name));
    bool is_set;

    if (id == SP_N_SWITCHES || value == NULL || sp_model_is_forked())
        return STARPOOL_EINVAL;
    sp_lock_take(sp_model_lock());
    sp_model_make_ready();
    is_set = set_value(id, value);
    sp_lock_give(sp_model_lock());
    return is_set ? STARPOOL_OK : STARPOOL_EINVAL;
}

enum starpool_status starpool_model_get_switch(const char *name, const char **value_out)
{
    unsigned id = name == NULL ? SP_N_SWITCHES : find_switch(name, strlen(name));

    if (id == SP_N_SWITCHES || value_out == NULL || sp_model_is_forked())
        return STARPOOL_EINVAL;
    sp_lock_take(sp_model_lock());
    sp_model_make_ready();
    *value_out = switches.texts[id];
    sp_lock_give(sp_model_lock());
    return STARPOOL_OK;
}

/* ---- violations ---------------------------------------------------------------------- */

void sp_model_violation(const char *format, ...)
{
    char text[sizeof(switches.first)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (switches.n_violations++ == 0)
        strcpy(switches.first, text);
    if (switches.n_violations <= N_SAID)
        sp_log(SP_LOG_WARN, "model: undefined: %s%s", text,
               switches.n_violations == N_SAID ? " (no more is said of its like)" : "");
}

uint64_t starpool_model_violations(const char **first_out)
{
    uint64_t n = 0;

    if (first_out != NULL)
        *first_out = "";
    if (sp_model_is_forked())
        return 0;
    sp_lock_take(sp_model_lock());
    n = switches.n_violations;
    if (first_out != NULL && n > 0)
        *first_out = switches.first;
    sp_lock_give(sp_model_lock());
    return n;
}
