/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads STARPOOL_* once. A value that does not parse is named and the default holds; an unknown
 * name gets a warning with the nearest known one. What a value is for is decided elsewhere. */
#include "config.h"

#include "src/util/options.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/util/diag.h"
#include "src/util/util.h"

#define PREFIX "STARPOOL_"

/* Names longer than this are compared by their beginning only. */
#define MAX_NAME 40

static struct {
    pthread_once_t once;
    unsigned n_rejected;
    struct sp_option rows[SP_N_OPTIONS];
} options = {
    .once = PTHREAD_ONCE_INIT,
    .rows =
        {
#define X(name, type, default_text, values, text)           \
    {PREFIX #name, SP_TYPE_##type,    default_text, values, \
     text,         SP_ORIGIN_DEFAULT, default_text, 0},
#include "src/util/options.def"
#undef X
        },
};

extern char **environ;

bool sp_parse_size(const char *text, uint64_t *size_out)
{
    static const char suffixes[] = "KMGT";
    unsigned shift = 0;
    uint64_t value = 0;
    const char *suffix;

    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    suffix = *text == '\0' ? NULL : strchr(suffixes, toupper((unsigned char)*text));
    if (suffix != NULL) {
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        text++;
        if (strncasecmp(text, "iB", 2) == 0)
            text++;
    }
    if (toupper((unsigned char)*text) == 'B')
        text++;
    if (*text != '\0' || (shift != 0 && value > UINT64_MAX >> shift))
        return false;
    *size_out = value << shift;
    return true;
}

/* The position of `word` in the list `words`, or -1. */
static int word_index(const char *words, const char *word)
{
    size_t length = strlen(word);
    int index = 0;

    while (*words != '\0') {
        size_t n = strcspn(words, " ");

        if (n == length && strncmp(words, word, n) == 0)
            return index;
        words += n + (words[n] == ' ');
        index++;
    }
    return -1;
}

static bool parse(const struct sp_option *row, const char *text, uint64_t *number_out)
{
    int index;

    switch (row->type) {
    case SP_TYPE_SIZE:
        if (word_index(row->values, text) >= 0) {
            *number_out = UINT64_MAX;
            return true;
        }
        return sp_parse_size(text, number_out);
    case SP_TYPE_FLAG:
        index = word_index("0 1", text);
        break;
    case SP_TYPE_CHOICE:
        index = word_index(row->values, text);
        break;
    case SP_TYPE_TEXT:
        return true;
    default:
        return false;
    }
    if (index < 0)
        return false;
    *number_out = (uint64_t)index;
    return true;
}

static const char *expected(const struct sp_option *row)
{
    switch (row->type) {
    case SP_TYPE_SIZE:
        return *row->values == '\0' ? "a size such as 512M"
                                    : "a size such as 512M, or a word of";
    case SP_TYPE_FLAG:
        return "0 or 1";
    case SP_TYPE_CHOICE:
        return "one of";
    case SP_TYPE_TEXT:
        return "text";
    default:
        return "";
    }
}

static void read_row(struct sp_option *row)
{
    const char *text = secure_getenv(row->name);

    /* A default that does not parse is a mistake in options.def. */
    SP_ASSERT(parse(row, row->default_text, &row->number));
    if (text == NULL || *text == '\0')
        return;
    if (parse(row, text, &row->number)) {
        row->origin = SP_ORIGIN_ENVIRONMENT;
        row->value = text;
        return;
    }
    row->origin = SP_ORIGIN_REJECTED;
    options.n_rejected++;
    sp_log(SP_LOG_ERROR, "%s=%s is not %s%s%s: the default (%s) stands", row->name, text,
           expected(row), *row->values == '\0' ? "" : ": ", row->values, row->default_text);
}

/* Levenshtein's distance of two names. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b)
{
    unsigned row[MAX_NAME + 1];
    size_t b_length = sp_min(strlen(b), MAX_NAME);

    for (size_t j = 0; j <= b_length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned substituted = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = (unsigned)sp_min(sp_min(row[j] + 1, row[j - 1] + 1), substituted);
        }
    }
    return row[b_length];
}

/* `name` is the beginning of an entry "NAME=value" of the environment. */
static void warn_if_unknown(const char *entry)
{
    size_t length = sp_min(strcspn(entry, "="), MAX_NAME);
    const char *nearest = options.rows[0].name;
    unsigned best = MAX_NAME;

    for (size_t i = 0; i < SP_N_OPTIONS; i++) {
        unsigned distance = edit_distance(entry, length, options.rows[i].name);

        if (distance == 0)
            return;
        if (distance < best) {
            best = distance;
            nearest = options.rows[i].name;
        }
    }
    /* STARPOOL_TEST_* belongs to the test suite. */
    if (strncmp(entry, PREFIX "TEST_", sizeof(PREFIX "TEST_") - 1) != 0)
        sp_log(SP_LOG_WARN, "%.*s is no option of starpool; did you mean %s?", (int)length,
               entry, nearest);
}

static void load(void)
{
    for (size_t i = 0; i < SP_N_OPTIONS; i++)
        read_row(&options.rows[i]);
    sp_log_set_level((enum sp_log_level)options.rows[SP_OPTION_LOG].number);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, PREFIX, sizeof(PREFIX) - 1) == 0)
            warn_if_unknown(*entry);
    }
}

const struct sp_option *sp_option(enum sp_option_id id)
{
    pthread_once(&options.once, load);
    return &options.rows[id];
}

unsigned sp_options_n_rejected(void)
{
    pthread_once(&options.once, load);
    return options.n_rejected;
}
