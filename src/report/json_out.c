/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON written as it is known (RFC 8259).
 *
 * A capture with 10,000 connections has 800,000 members to write.  Neither a tree of values nor a
 * stdio call for each token is affordable next to an analysis of some 110 ms (stdio took as long
 * again), so each token is formatted into one buffer that goes to the stream when it is full: 14 ms
 * to nowhere, 22 ms to a file.
 *
 * A token first makes room for the most it can need; only strings are of any length, and they make
 * room for each character.
 */
#include "report/json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

#define KEY_MOST 64
#define VALUE_MOST 24 /* a bracket, a word, or 20 digits */
#define MEMBER_MOST (2 + 2 * JOUT_DEPTH + KEY_MOST + 4 + VALUE_MOST)
#define CHARACTER_MOST 6 /* \u001f */

_Static_assert(JOUT_BUFFER_BYTES >= MEMBER_MOST, "room for each token");

void jout_init(struct jout *jout, FILE *out)
{
    jout->out = out;
    jout->used = 0;
    jout->depth = jout->line_depth = 0;
    jout->line = jout->filled = jout->failed = false;
}

struct jout *jout_begin(FILE *out, const char *kind)
{
    struct jout *jout = malloc(sizeof *jout);

    if (jout == NULL) return NULL;
    jout_init(jout, out);
    jout_open(jout, NULL, '{');
    if (kind == NULL) return jout;
    jout_u64(jout, "version", 1);
    jout_text(jout, "kind", kind);
    return jout;
}

bool jout_end(struct jout *jout)
{
    jout_close(jout);
    bool good = !jout->failed;
    free(jout);
    return good;
}

void jout_flush(struct jout *jout)
{
    if (jout->used > 0 && fwrite(jout->buffer, 1, jout->used, jout->out) != jout->used) jout->failed = true;
    jout->used = 0;
}

static char *room(struct jout *jout, size_t bytes)
{
    if (JOUT_BUFFER_BYTES - jout->used < bytes) jout_flush(jout);
    return jout->buffer + jout->used;
}

/* `to` is behind the last byte written to what room() gave. */
static void wrote(struct jout *jout, const char *to)
{
    jout->used = (size_t)(to - jout->buffer);
}

static char *new_line(const struct jout *jout, char *to)
{
    *to++ = '\n';
    memset(to, ' ', 2 * (size_t)jout->depth);
    return to + 2 * (size_t)jout->depth;
}

/* What stands before a value; the answer is where the value goes, with room for VALUE_MOST. */
static char *member(struct jout *jout, const char *key)
{
    char *to = room(jout, MEMBER_MOST);

    if (jout->filled) *to++ = ',';
    if (!jout->line && jout->depth > 0)
        to = new_line(jout, to);
    else if (jout->filled)
        *to++ = ' ';
    jout->filled = true;
    if (key != NULL) {
        size_t length = strlen(key);

        CHECK(length <= KEY_MOST);
        *to++ = '"';
        memcpy(to, key, length);
        memcpy(to + length, "\": ", 3);
        to += length + 3;
    }
    return to;
}

static void word(struct jout *jout, const char *key, const char *text, size_t length)
{
    char *to = member(jout, key);

    memcpy(to, text, length);
    wrote(jout, to + length);
}

void jout_open(struct jout *jout, const char *key, char bracket)
{
    CHECK(jout->depth < JOUT_DEPTH && (bracket == '{' || bracket == '['));
    word(jout, key, &bracket, 1);
    jout->close[jout->depth] = bracket == '{' ? '}' : ']';
    jout->filled = false;
    jout->depth++;
}

void jout_open_line(struct jout *jout, const char *key, char bracket)
{
    jout_open(jout, key, bracket);
    if (!jout->line) jout->line_depth = jout->depth;
    jout->line = true;
}

void jout_close(struct jout *jout)
{
    char *to = room(jout, MEMBER_MOST);
    bool lines = jout->filled && !jout->line;

    CHECK(jout->depth > 0);
    if (jout->line && jout->depth == jout->line_depth) jout->line = false;
    jout->depth--;
    jout->filled = true; /* of the container around it */
    if (lines) to = new_line(jout, to);
    *to++ = jout->close[jout->depth];
    if (jout->depth == 0) *to++ = '\n';
    wrote(jout, to);
    if (jout->depth == 0) jout_flush(jout);
}

/* Two digits for each division: time stamps have nineteen. */
static char *number(char *to, uint64_t value)
{
    static const char pair[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                               "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                               "8081828384858687888990919293949596979899";
    char digits[VALUE_MOST], *const end = digits + sizeof digits, *from = end;

    if (value < 10) {
        *to = (char)('0' + value);
        return to + 1;
    }
    for (; value >= 10; value /= 100)
        memcpy(from -= 2, pair + value % 100 * 2, 2);
    if (value > 0) *--from = (char)('0' + value);
    memcpy(to, from, (size_t)(end - from));
    return to + (end - from);
}

void jout_u64(struct jout *jout, const char *key, uint64_t value)
{
    wrote(jout, number(member(jout, key), value));
}

void jout_fixed(struct jout *jout, const char *key, uint64_t value, unsigned digits)
{
    uint64_t scale = 1;

    CHECK(digits > 0 && digits <= JOUT_DIGITS);
    for (unsigned i = 0; i < digits; i++)
        scale *= 10;
    char *to = number(member(jout, key), value / scale);
    *to++ = '.';
    for (value %= scale; digits > 0; digits--) {
        scale /= 10;
        *to++ = (char)('0' + value / scale);
        value %= scale;
    }
    wrote(jout, to);
}

void jout_real(struct jout *jout, const char *key, double value)
{
    char text[VALUE_MOST];

    if (!isfinite(value)) {
        jout_null(jout, key);
        return;
    }
    int length = value == floor(value) && fabs(value) < 1e15 ? snprintf(text, sizeof text, "%.0f", value)
                                                             : snprintf(text, sizeof text, "%.9g", value);
    word(jout, key, text, (size_t)length);
}

void jout_list(struct jout *jout, const char *key, const uint64_t *value, size_t count)
{
    char *to;

    word(jout, key, "[", 1);
    for (size_t i = 0; i < count; i++) {
        to = room(jout, VALUE_MOST + 2);
        if (i > 0) {
            memcpy(to, ", ", 2);
            to += 2;
        }
        wrote(jout, number(to, value[i]));
    }
    *room(jout, 1) = ']';
    jout->used++;
}

void jout_bool(struct jout *jout, const char *key, bool value)
{
    word(jout, key, value ? "true" : "false", value ? 4 : 5);
}

void jout_null(struct jout *jout, const char *key)
{
    word(jout, key, "null", 4);
}

void jout_known(struct jout *jout, const char *key, uint64_t value, bool known)
{
    if (known)
        jout_u64(jout, key, value);
    else
        jout_null(jout, key);
}

void jout_time(struct jout *jout, const char *key, ps_t at)
{
    if (at == PS_NEVER)
        jout_null(jout, key);
    else
        jout_u64(jout, key, at);
}

static char *escaped(char *to, unsigned char code)
{
    static const char hex[] = "0123456789abcdef";

    memcpy(to, "\\u00", 4);
    to[4] = hex[code >> 4];
    to[5] = hex[code & 15];
    return to + 6;
}

/*
 * One character of a string, escaped where it must be; moves *text behind it.  DEL and the controls from U+0080 on (of
 * two bytes, the first 0xc2) need not be, but are nothing to send to a terminal.
 */
static char *character(char *to, const char **text)
{
    unsigned char byte = (unsigned char)**text;
    unsigned length;

    if (byte == '"' || byte == '\\') {
        *to++ = '\\';
        *to++ = (char)byte;
    } else if (byte < 0x20 || byte == 0x7f) {
        to = escaped(to, byte);
    } else if (byte < 0x80) {
        *to++ = (char)byte;
    } else if ((length = utf8_length(*text, 4)) != 0) {
        unsigned char second = (unsigned char)(*text)[1];

        *text += length;
        if (byte == 0xc2 && second < 0xa0) return escaped(to, second);
        memcpy(to, *text - length, length);
        return to + length;
    } else {
        memcpy(to, "\xef\xbf\xbd", 3);
        to += 3;
    }
    ++*text;
    return to;
}

void jout_text(struct jout *jout, const char *key, const char *value)
{
    if (value == NULL) {
        jout_null(jout, key);
        return;
    }
    word(jout, key, "\"", 1);
    while (*value != '\0')
        wrote(jout, character(room(jout, CHARACTER_MOST), &value));
    *room(jout, 1) = '"';
    jout->used++;
}
