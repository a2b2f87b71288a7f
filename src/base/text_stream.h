/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream into memory, as open_memstream() is, but one that tells: what the C library's own has no memory for is lost
 * without a word to ferror() or fclose(), and the text then lacks a piece.
 */
#ifndef ROCELAB_BASE_TEXT_STREAM_H
#define ROCELAB_BASE_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* Text and length are true after fflush() and fclose(); free() the text.  NULL: no memory, and both are untouched. */
FILE *text_stream(char **ret, size_t *ret_length);

#endif
