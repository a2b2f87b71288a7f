/* SPDX-License-Identifier: Apache-2.0 */
/* JSON among lines. */
#include "evidence/read/json_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/reader.h"

/* --- where it begins --- */

#define WINDOW 4096 /* bytes by which it is known */
#define TOKENS 64   /* of arrays that hold no object: so many make it JSON */

static size_t blanks(const char *at, size_t bytes)
{
    size_t skip = 0;

    while (skip < bytes && isspace((unsigned char)at[skip]))
        skip++;
    return skip;
}

/* "{" with a name behind it, or nothing; of "{master:0}" it is none. */
static bool is_object(const char *at, const char *end)
{
    at += 1 + blanks(at + 1, (size_t)(end - at) - 1);
    return at == end || *at == '"' || *at == '}';
}

static bool rest_is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end || *at == '\n';
}

/* Up to the first object; "[12.5] mlx5_core …" is a log's line, "[rank3]: …" too. */
static bool is_array(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    struct json_in in;

    json_in_init(&in, text, bytes);
    for (int tokens = 0; tokens < TOKENS; tokens++) {
        switch (json_next(&in)) {
        case JSON_BEGIN:
            if (in.type == JSON_OBJECT) return is_object(in.at - 1, end);
            break;
        case JSON_CLOSE:
            if (!in.depth) return rest_is_blank(in.at, end);
            break;
        case JSON_VALUE:
            break;
        case JSON_END:
            return true;
        case JSON_ERROR: /* what goes on behind the window, or is an array all the same */
            return !strcmp(in.why, "the document ends too early") || !strcmp(in.why, "too many levels");
        }
    }
    return true;
}

bool json_text_begins(const char *at, size_t bytes, const char *after, size_t more)
{
    char window[WINDOW];

    if (bytes > sizeof window - 1) bytes = sizeof window - 1;
    memcpy(window, at, bytes);
    size_t used = bytes;
    if (more > sizeof window - used - 1) more = sizeof window - used - 1;
    window[used++] = '\n';
    if (more) memcpy(window + used, after, more);
    used += more;
    return *at == '{' ? is_object(window, window + used) : is_array(window, used);
}

/* --- where it ends --- */

void json_text_begin(struct json_text *json, uint32_t line)
{
    *json = (struct json_text){.line = line};
}

void json_text_release(struct json_text *json)
{
    free(json->text);
    *json = (struct json_text){0};
}

bool json_text_add(struct json_text *json, const char *line)
{
    size_t length = strlen(line);

    if (json->used + length + 2 > json->room) {
        size_t room = 2 * (json->used + length) + 4096;
        char *grown = json->used + length < READER_JSON ? realloc(json->text, room) : NULL;
        if (!grown) {
            json->too_long = true;
            return true;
        }
        json->text = grown;
        json->room = room;
    }
    memcpy(json->text + json->used, line, length);
    json->used += length;
    json->text[json->used++] = '\n';
    json->text[json->used] = 0;
    for (const char *at = line; *at; at++) {
        if (json->in_string) {
            bool escaped = json->escaped;
            json->escaped = !escaped && *at == '\\';
            json->in_string = escaped || *at != '"';
        } else if (*at == '"') {
            json->in_string = true;
        } else if (*at == '{' || *at == '[') {
            json->depth++;
        } else if ((*at == '}' || *at == ']') && !--json->depth) {
            return true;
        }
    }
    return json->in_string; /* no string goes on in the next line */
}

/* --- its tree --- */

/* The text up to the end of its last whole element, and closed behind it; NULL: there is no such, or no memory. */
static char *whole_elements(const struct json_text *json, size_t *ret_length)
{
    struct json_in in;
    uint8_t within[JSON_DEPTH];
    uint32_t depth = 0;
    size_t end = 0;

    json_in_init(&in, json->text, json->used);
    for (enum json_token token = json_next(&in); token != JSON_END && token != JSON_ERROR; token = json_next(&in)) {
        if (token == JSON_BEGIN || in.at >= in.end) continue; /* a number at the very end may lack digits */
        end = (size_t)(in.at - json->text);
        depth = in.depth;
        memcpy(within, in.within, sizeof within);
    }
    char *text = end ? malloc(end + JSON_DEPTH) : NULL;
    if (!text) return NULL;
    memcpy(text, json->text, end);
    while (depth)
        text[end++] = within[--depth] == JSON_OBJECT ? '}' : ']';
    *ret_length = end;
    return text;
}

const struct json *json_text_tree(const struct json_text *json, struct arena *arena, const char **why,
                                  uint32_t *ret_line)
{
    const char *again;
    uint32_t line;
    size_t length;

    *why = NULL;
    if (json->too_long) {
        *why = "it is too long";
        *ret_line = json->line;
        return NULL;
    }
    const struct json *root = json_parse(arena, json->text, json->used, json->line, why, ret_line);
    if (root) {
        *why = NULL;
        return root;
    }
    char *text = whole_elements(json, &length);
    if (!text) return NULL;
    root = json_parse(arena, text, length, json->line, &again, &line);
    free(text);
    return root;
}
