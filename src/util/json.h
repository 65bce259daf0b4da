/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Write one JSON document to a stream, one value a call. */
#ifndef SP_JSON_H
#define SP_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <starpool/base.h>

#define SP_JSON_DEPTH 16

struct sp_json {
    FILE *out;
    unsigned depth;
    char closers[SP_JSON_DEPTH]; /* '}' or ']' of what is open */
    bool has_members[SP_JSON_DEPTH];
};

/* Begin the document: an object. */
STARPOOL_API void sp_json_begin(struct sp_json *json, FILE *out);

/* Each takes the key of a member, or NULL in an array. */
STARPOOL_API void sp_json_object_begin(struct sp_json *json, const char *key);
STARPOOL_API void sp_json_array_begin(struct sp_json *json, const char *key);
STARPOOL_API void sp_json_string(struct sp_json *json, const char *key, const char *value);
STARPOOL_API void sp_json_number(struct sp_json *json, const char *key, uint64_t value);
STARPOOL_API void sp_json_signed(struct sp_json *json, const char *key, int64_t value);
STARPOOL_API void sp_json_flag(struct sp_json *json, const char *key, bool value);

/* Close the innermost object or array. */
STARPOOL_API void sp_json_end(struct sp_json *json);

/* Close everything. */
STARPOOL_API void sp_json_finish(struct sp_json *json);

#endif /* SP_JSON_H */
