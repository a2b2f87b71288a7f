/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a text may be shown, and what may stand on one line of it.
 *
 * The names of a fabric, a dump or another program come from outside, and go to terminals, into comments of scripts
 * and into configurations.  A control character there ends a line that it should only be a part of, or moves a cursor.
 */
#ifndef ROCELAB_BASE_UTF8_H
#define ROCELAB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 sequence at `at`, of which `left` may be read (any number where the text is terminated); 0: none
 * (RFC 3629: no overlong forms, no surrogates). */
unsigned utf8_length(const char *at, size_t left);
/* Bytes of the control character at `at` of a terminated text: C0, DEL, C1, and the separators of lines and of
 * paragraphs (U+2028, U+2029), which some readers take for an end of line.  0: none. */
unsigned utf8_control(const char *at);
/* The first control character that is none of `allowed`; NULL: none. */
const char *utf8_find_control(const char *text, const char *allowed);
/* Makes control characters and bytes that are not UTF-8 '?', of `wide` false all that is not ASCII.  Returns text. */
char *utf8_clean(char *text, bool wide);

#endif
