/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In which line of a JSON text something stands, which a parsed document does not know. */
#ifndef SP_JSON_LINE_H
#define SP_JSON_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the value of `key` in element `index` of the array `section` of the document's
 * object; without a key that of the element, and without a section (NULL) that of the key in
 * the document itself. What is not found has the line of what it would be in. `text` has been
 * parsed: it is JSON.
 */
unsigned sp_json_line(const char *text, size_t size, const char *section, uint32_t index,
                      const char *key);

#endif /* SP_JSON_LINE_H */
