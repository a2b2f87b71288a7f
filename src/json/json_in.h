/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON in (RFC 8259), from memory: tokens one by one for large documents, a tree on an arena for small ones.
 *
 * Text is hostile: depth is bounded by JSON_DEPTH, nothing recurses, and every byte is looked at once.  Numbers
 * stay text until somebody asks, so that 64-bit counters are exact.  Lines count from 1.
 */
#ifndef ROCELAB_JSON_JSON_IN_H
#define ROCELAB_JSON_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define JSON_DEPTH 64

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
enum json_token {
    JSON_END,   /* the document is over */
    JSON_ERROR, /* it is broken: `why` and `line` say how and where */
    JSON_VALUE, /* null, false, true, a number, a string: `type` and `text` */
    JSON_BEGIN, /* of an array or object: `type` */
    JSON_CLOSE, /* of the innermost one */
};
struct json_in {
    const char *at, *end;
    uint32_t line;
    uint32_t depth;
    uint8_t within[JSON_DEPTH]; /* enum json_type */
    uint8_t wants;              /* private: what may come next */
    enum json_type type;
    const char *key; /* of a member: its name, raw between the quotes; NULL in arrays and at the top */
    size_t key_length;
    const char *text; /* of a number or string: raw, a string's between the quotes */
    size_t length;
    const char *why;
};
void json_in_init(struct json_in *in, const char *text, size_t bytes);
enum json_token json_next(struct json_in *in);
/* Behind JSON_BEGIN: to its JSON_CLOSE.  False: the document is broken. */
bool json_skip(struct json_in *in);
bool json_key_is(const struct json_in *in, const char *key);
/* Raw text of a string without its escapes; cut at size - 1 bytes; zero bytes become '?'.  Returns its length. */
size_t json_unescape(const char *text, size_t length, char *buf, size_t size);
/* Digits, also with thousands commas, also of a string.  False: no such number, or above 2^64 - 1. */
bool json_text_u64(const char *text, size_t length, uint64_t *value);
/* A decimal number, perhaps with a sign, a fraction, an exponent.  False: it is none, or too large or small. */
bool json_text_real(const char *text, size_t length, double *value);

/* A value of a tree. */
struct json {
    uint8_t type; /* enum json_type */
    uint32_t line;
    uint32_t count;   /* of an array or object */
    const char *name; /* of a member, without escapes; NULL elsewhere */
    const char *text; /* of a number or string, without escapes, terminated */
    const struct json *child, *next;
};
/* The text begins with line `first` of its file.  NULL: `why` and `line` say what is wrong; memory is the arena's. */
const struct json *json_parse(struct arena *arena, const char *text, size_t bytes, uint32_t first, const char **why,
                              uint32_t *line);
/* The member of an object; NULL: there is none, or it is no object (or NULL). */
const struct json *json_get(const struct json *object, const char *name);
/* Members by name, for an object that is asked more than a few times: json_get() looks at them one by one. */
struct json_index {
    const struct json **member; /* in order of their names */
    uint32_t count;
};
/* Of no object (or NULL), or without memory: it has none. */
void json_index_init(struct json_index *index, const struct json *object);
void json_index_release(struct json_index *index);
/* Where the member stands (of two of one name the first); count: there is none. */
uint32_t json_index_find(const struct json_index *index, const char *name);
/* By names separated by '/'. */
const struct json *json_path(const struct json *object, const char *path);
/* Of a number or a string; false: it is none (or NULL). */
bool json_u64(const struct json *value, uint64_t *number);
bool json_real(const struct json *value, double *number);
const char *json_string(const struct json *value); /* NULL: it is no string */

#endif
