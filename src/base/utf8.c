/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

unsigned utf8_length(const char *text, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    unsigned length = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;

    if (length == 0 || length > left) return 0;
    if (length == 1) return 1;
    uint32_t code = at[0] & (0xffu >> (length + 1));
    for (unsigned i = 1; i < length; i++) { /* the end of a text is no continuation */
        if (at[i] >> 6 != 2) return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < least[length] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return 0;
    return length;
}

unsigned utf8_control(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    if ((at[0] != '\0' && at[0] < 0x20) || at[0] == 0x7f) return 1;
    if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) return 2;
    return at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9) ? 3 : 0;
}

const char *utf8_find_control(const char *text, const char *allowed)
{
    for (; *text; text++)
        if (utf8_control(text) && !strchr(allowed, *text)) return text;
    return NULL;
}

char *utf8_clean(char *text, bool wide)
{
    char *to = text;

    for (const char *from = text; *from;) {
        unsigned control = utf8_control(from), length = control ? control : utf8_length(from, 4);
        if (control || length == 0 || (length > 1 && !wide))
            *to++ = '?';
        else
            for (unsigned i = 0; i < length; i++)
                *to++ = from[i];
        from += length ? length : 1;
    }
    *to = '\0';
    return text;
}
