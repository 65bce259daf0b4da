/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which bytes are a character. */
#ifndef SP_UTF8_H
#define SP_UTF8_H

/* U+FFFD, in place of what is none. */
#define SP_UTF8_REPLACEMENT "\xef\xbf\xbd"

/* How many bytes the character at `text` has, 0 if they are no UTF-8. `text` ends with a zero
 * and is not empty. */
unsigned sp_utf8_length(const char *text);

#endif /* SP_UTF8_H */
