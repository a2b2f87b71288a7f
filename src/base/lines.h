/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a text that came from outside.
 */
#ifndef ROCELAB_BASE_LINES_H
#define ROCELAB_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A zero byte ends a text for C, and what stands behind it would be cut off without a word.  Where is the first? */
static inline bool zero_byte_at(const char *text, size_t length, uint32_t *ret_line, uint32_t *ret_column)
{
    const char *zero = memchr(text, 0, length);
    uint32_t line = 1;

    if (zero == NULL) return false;
    for (const char *end; (end = memchr(text, '\n', (size_t)(zero - text))) != NULL; text = end + 1)
        line++;
    *ret_line = line;
    *ret_column = (uint32_t)(zero - text) + 1;
    return true;
}

#endif
