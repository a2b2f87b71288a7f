/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in: tokens.  The tree is in json_tree.c. */
#include "json/json_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum wants { WANTS_VALUE, WANTS_FIRST, WANTS_NEXT, WANTS_END };

void json_in_init(struct json_in *in, const char *text, size_t bytes)
{
    *in = (struct json_in){.at = text, .end = text + bytes, .line = 1, .wants = WANTS_VALUE};
    if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) in->at += 3;
}

static enum json_token broken(struct json_in *in, const char *why)
{
    in->why = why;
    in->at = in->end;
    in->wants = WANTS_END;
    return JSON_ERROR;
}

static void blanks(struct json_in *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t' || *in->at == '\r'))
        if (*in->at++ == '\n') in->line++;
}

/* Behind the opening quote: raw text up to the closing one. */
static bool string(struct json_in *in, const char **text, size_t *length)
{
    const char *at = in->at;

    while (at < in->end && *at != '"') {
        if ((unsigned char)*at < 0x20) return false;
        if (*at == '\\' && ++at == in->end) return false;
        at++;
    }
    if (at == in->end) return false;
    *text = in->at;
    *length = (size_t)(at - in->at);
    in->at = at + 1;
    return true;
}

static bool word(struct json_in *in, const char *word, enum json_type type)
{
    size_t length = strlen(word);

    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length)) return false;
    in->text = in->at;
    in->length = length;
    in->at += length;
    in->type = type;
    return true;
}

static bool is_part_of_number(char c)
{
    return c && strchr("+-.eE0123456789", c);
}

static bool number(struct json_in *in)
{
    const char *at = in->at;

    if (*at != '-' && (*at < '0' || *at > '9')) return false;
    while (at < in->end && is_part_of_number(*at))
        at++;
    in->text = in->at;
    in->length = (size_t)(at - in->at);
    in->at = at;
    in->type = JSON_NUMBER;
    return true;
}

static enum json_token value(struct json_in *in)
{
    if (in->at == in->end) return broken(in, "the document ends too early");
    in->wants = in->depth ? WANTS_NEXT : WANTS_END;
    switch (*in->at) {
    case '{':
    case '[':
        if (in->depth == JSON_DEPTH) return broken(in, "too many levels");
        in->type = *in->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
        in->within[in->depth++] = (uint8_t)in->type;
        in->wants = WANTS_FIRST;
        return JSON_BEGIN;
    case '"':
        in->at++;
        in->type = JSON_STRING;
        return string(in, &in->text, &in->length) ? JSON_VALUE : broken(in, "a string without its end");
    default:
        if (number(in) || word(in, "null", JSON_NULL) || word(in, "true", JSON_TRUE) || word(in, "false", JSON_FALSE))
            return JSON_VALUE;
        return broken(in, "not a value");
    }
}

/* A member's name and colon, where the innermost is an object; then its value. */
static enum json_token element(struct json_in *in)
{
    in->key = NULL;
    if (in->depth && in->within[in->depth - 1] == JSON_OBJECT) {
        if (in->at == in->end || *in->at++ != '"') return broken(in, "not a member's name");
        if (!string(in, &in->key, &in->key_length)) return broken(in, "a name without its end");
        blanks(in);
        if (in->at == in->end || *in->at++ != ':') return broken(in, "no ':' behind a member's name");
        blanks(in);
    }
    return value(in);
}

enum json_token json_next(struct json_in *in)
{
    blanks(in);
    if (in->wants == WANTS_END) {
        if (in->why) return JSON_ERROR;
        return in->at == in->end ? JSON_END : broken(in, "something behind the document's end");
    }
    if (in->wants == WANTS_VALUE) return element(in);
    if (in->at == in->end) return broken(in, "the document ends too early");
    char close = in->within[in->depth - 1] == JSON_OBJECT ? '}' : ']';
    if (*in->at == close) {
        in->at++;
        in->type = in->within[--in->depth];
        in->wants = in->depth ? WANTS_NEXT : WANTS_END;
        return JSON_CLOSE;
    }
    if (in->wants == WANTS_NEXT) {
        if (*in->at++ != ',') return broken(in, "no ',' between elements");
        blanks(in);
    }
    return element(in);
}

bool json_skip(struct json_in *in)
{
    uint32_t depth = in->depth;

    for (;;) {
        enum json_token token = json_next(in);
        if (token == JSON_ERROR || token == JSON_END) return false;
        if (token == JSON_CLOSE && in->depth == depth - 1) return true;
    }
}

bool json_key_is(const struct json_in *in, const char *key)
{
    return in->key && strlen(key) == in->key_length && !memcmp(in->key, key, in->key_length);
}

static int hex4(const char *at, const char *end)
{
    int code = 0;

    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit) return -1;
        code = code * 16 + (int)((digit - digits) % 16);
    }
    return code;
}

/* UTF-8 of a code below 0x110000; '?' for halves of pairs and zero. */
static size_t utf8(uint32_t code, char out[4])
{
    if (!code || (code >= 0xd800 && code < 0xe000)) code = '?';
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* Behind "\u": the code, with its second half where it has one. */
static uint32_t escaped_code(const char **at, const char *end)
{
    int code = hex4(*at, end);

    if (code < 0) return '?';
    *at += 4;
    if (code < 0xd800 || code >= 0xdc00 || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') return (uint32_t)code;
    int low = hex4(*at + 2, end);
    if (low < 0xdc00 || low >= 0xe000) return (uint32_t)code;
    *at += 6;
    return 0x10000u + ((uint32_t)(code - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

size_t json_unescape(const char *text, size_t length, char *buf, size_t size)
{
    const char *end = text + length;
    size_t used = 0;

    while (text < end) {
        char out[4];
        size_t bytes = 1;
        out[0] = *text++;
        if (out[0] == '\\' && text < end) {
            static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
            char escape = *text++;
            const char *known = escape ? strchr(from, escape) : NULL;
            if (escape == 'u')
                bytes = utf8(escaped_code(&text, end), out);
            else
                out[0] = known ? to[known - from] : escape;
        }
        if (!out[0]) out[0] = '?';
        if (used + bytes >= size) break;
        memcpy(buf + used, out, bytes);
        used += bytes;
    }
    if (size) buf[used] = 0;
    return used;
}

bool json_text_u64(const char *text, size_t length, uint64_t *value)
{
    uint64_t sum = 0;
    size_t digits = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == ',' && digits) continue;
        if (text[i] < '0' || text[i] > '9') return false;
        if (__builtin_mul_overflow(sum, 10u, &sum) || __builtin_add_overflow(sum, (unsigned)(text[i] - '0'), &sum))
            return false;
        digits++;
    }
    if (!digits) return false;
    *value = sum;
    return true;
}

bool json_text_real(const char *text, size_t length, double *value)
{
    char buf[64], *end;

    if (!length || length >= sizeof buf) return false;
    for (size_t i = 0; i < length; i++) /* strtod() knows more: "inf", "nan", "0x1p3" */
        if (!is_part_of_number(text[i])) return false;
    memcpy(buf, text, length);
    buf[length] = 0;
    errno = 0;
    double number = strtod(buf, &end);
    if (end != buf + length || errno == ERANGE) return false;
    *value = number;
    return true;
}
