/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* UTF-8 as RFC 3629 has it: no longer form than needed, no surrogates, nothing above U+10FFFF.
 */
#include "config.h"

#include "src/util/utf8.h"

unsigned sp_utf8_length(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    unsigned char second = (unsigned char)text[1];
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    unsigned length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first < 0x80)
        return 1;
    /* The range of the second byte shuts out the forms named above (section 4). */
    if (first < 0xc2 || first > 0xf4 || second < low || second > high)
        return 0;
    /* The zero at the end is no such byte. */
    for (unsigned i = 2; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}
