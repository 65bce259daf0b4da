/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options: one table (options.def) makes the parser, the help and the lists. Read from the
 * environment once, at the first question. */
#ifndef SP_OPTIONS_H
#define SP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/base.h>

enum sp_option_id {
#define X(name, type, default_text, values, text) SP_OPTION_##name,
#include "src/util/options.def"
#undef X
    SP_N_OPTIONS
};

enum sp_option_type { SP_TYPE_SIZE, SP_TYPE_FLAG, SP_TYPE_CHOICE, SP_TYPE_TEXT };

enum sp_option_origin {
    SP_ORIGIN_DEFAULT,
    SP_ORIGIN_ENVIRONMENT,
    SP_ORIGIN_REJECTED, /* the environment's value does not parse; the default holds */
};

/* A row of the table and what holds now. */
struct sp_option {
    const char *name; /* with STARPOOL_ in front */
    enum sp_option_type type;
    const char *default_text;
    const char *values; /* words, or "" */
    const char *text;   /* what it does */
    enum sp_option_origin origin;
    const char *value; /* as text: what was given, or the default */
    uint64_t number;   /* SIZE: bytes, UINT64_MAX for a word of `values`; FLAG, CHOICE: index */
};

/* The row of an option, with its value. Threads: any, at once. */
STARPOOL_API const struct sp_option *sp_option(enum sp_option_id id);

/* The value of an option that is no TEXT. */
static inline uint64_t sp_option_number(enum sp_option_id id)
{
    return sp_option(id)->number;
}

/* How many values of the environment do not parse; each has been named on stderr. */
STARPOOL_API unsigned sp_options_n_rejected(void);

/* Bytes: digits, then nothing, K, M, G or T (powers of 1024), either case, an optional "iB" or
 * "B". False, and nothing written, for anything else or if it does not fit. */
STARPOOL_API bool sp_parse_size(const char *text, uint64_t *size_out);

#endif /* SP_OPTIONS_H */
