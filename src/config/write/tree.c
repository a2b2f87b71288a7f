/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the fabric file that is written.  A switch has a hundred thousand of them: what most are, a key and a plain
 * value, is put out as it is, without printf.
 */
#include "config/write/tree.h"

#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

/* Notes the line's origin, and begins it. */
static void begin_line(struct writer *w, struct origin at, int indent)
{
    static const char spaces[] = "                ";

    ARENA_ROOM(&w->set->arena, w->origin, w->lines, w->room);
    CHECK(indent >= 0);
    w->origin[w->lines++] = at;
    for (size_t left = (size_t)indent; left > 0;) {
        size_t part = left < sizeof(spaces) - 1 ? left : sizeof(spaces) - 1;
        fwrite_unlocked(spaces, 1, part, w->to);
        left -= part;
    }
}

void write_line(struct writer *w, struct origin at, int indent, const char *format, ...)
{
    va_list args;

    begin_line(w, at, indent);
    va_start(args, format);
    vfprintf(w->to, format, args);
    va_end(args);
    putc_unlocked('\n', w->to);
}

#define BITS(first, last) (((UINT64_C(2) << ((last) - (first))) - 1) << ((first) % 64))

/* May the text stand without quotes? */
static bool plain(const char *text, size_t length)
{
    static const char list[] = "0123456789abcdefghijklmnopqrstuvwxyz, ";
    static const uint64_t letters[4] = {BITS('-', '9') | BITS('%', '%'),
                                        BITS('A', 'Z') | BITS('a', 'z') | BITS('_', '_')}; /* with - . / */

    if (!length) return false;
    if (text[0] == '[') return length > 1 && strspn(text + 1, list) == length - 2 && text[length - 1] == ']';
    if (text[0] == '-' || text[0] == '.' || text[0] == '%') return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!(letters[c / 64] >> c % 64 & 1)) return false;
    }
    return true;
}

static const char *quote(struct writer *w, const char *text)
{
    size_t length = strlen(text);
    char *clean = arena_strndup(&w->set->arena, text, length);
    char *quoted = arena_alloc(&w->set->arena, length * 2 + 3, 1, 1), *to = quoted;
    *to++ = '"';
    for (const char *c = utf8_clean(clean, true); *c; c++) { /* a fabric file has no control characters */
        if (*c == '"' || *c == '\\') *to++ = '\\';
        *to++ = *c;
    }
    *to++ = '"';
    *to = 0;
    return quoted;
}

const char *write_scalar(struct writer *w, const char *text)
{
    return plain(text, strlen(text)) ? text : quote(w, text);
}

/* A part of a path; a class, which paths have by its priority, by its name. */
static void put_key(struct writer *w, const char *path, size_t from, size_t length)
{
    bool of_classes = from == 8 && strncmp(path, "classes.", 8) == 0 && length == 1 && path[8] >= '0' && path[8] <= '7';

    if (of_classes && w->class_name[path[8] - '0']) {
        fputs_unlocked(write_scalar(w, w->class_name[path[8] - '0']), w->to);
    } else if (plain(path + from, length)) {
        fwrite_unlocked(path + from, 1, length, w->to);
    } else {
        const char *key = arena_strndup(&w->set->arena, path + from, length);
        fputs_unlocked(write_scalar(w, key), w->to);
    }
    putc_unlocked(':', w->to);
}

static void put_value(struct writer *w, const char *path, const char *value)
{
    bool foreign = strncmp(path, "nccl.", 5) == 0; /* a host's own word: no list, and no class */

    if (!foreign && value[0] == '@' && value[1] >= '0' && value[1] <= '7' && w->class_name[value[1] - '0'])
        value = w->class_name[value[1] - '0'];
    putc_unlocked(' ', w->to);
    fputs_unlocked(foreign && value[0] == '[' ? quote(w, value) : write_scalar(w, value), w->to);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Numbers in paths by what they are worth. */
static bool before(const struct config_said *a, const struct config_said *b)
{
    char x = a->path[0], y = b->path[0];

    if (x != y && !is_digit(x) && !is_digit(y)) return (unsigned char)x < (unsigned char)y;
    return strverscmp(a->path, b->path) < 0;
}

/* Merges two runs, [first, middle) and [middle, end), by way of `room`. */
static void merge(struct config_said *said, struct config_said *room, uint32_t first, uint32_t middle, uint32_t end)
{
    uint32_t a = 0, b = middle, to = first, left = middle - first;

    memcpy(room, said + first, left * sizeof(*said));
    while (a < left)
        said[to++] = b < end && before(&said[b], &room[a]) ? said[b++] : room[a++];
}

/* What is said comes in a few runs that are in order: maps, by their number, and classes.  So those are merged. */
static void sort_said(struct writer *w, struct config_said *said, uint32_t count)
{
    uint32_t *end = ARENA_NEW(&w->set->arena, uint32_t, count), runs = 0; /* of each run */
    struct config_said *room = ARENA_NEW(&w->set->arena, struct config_said, count);

    for (uint32_t i = 1; i <= count; i++)
        if (i == count || before(&said[i], &said[i - 1])) end[runs++] = i;
    while (runs > 1) {
        uint32_t merged = 0, first = 0;
        for (uint32_t r = 0; r < runs; r += 2) {
            uint32_t last = r + 1 < runs ? end[r + 1] : end[r];
            if (r + 1 < runs) merge(said, room, first, end[r], last);
            first = end[merged++] = last;
        }
        runs = merged;
    }
}

void write_said(struct writer *w, struct config_said *said, uint32_t count, int indent)
{
    const char *last = "";

    if (count > 1) sort_said(w, said, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *path = said[i].path;
        size_t length = strlen(path), at = 0;
        int depth = 0;

        if (i + 1 < count && strncmp(said[i + 1].path, path, length) == 0 && said[i + 1].path[length] == '.') continue;
        bool same = true;
        for (;; depth++) {                         /* keys that the line before has opened already */
            size_t part = strcspn(path + at, "."); /* a path's next segment */
            if (path[at + part] != '.') break;
            same = same && strncmp(last, path, at + part + 1) == 0;
            if (!same) {
                begin_line(w, said[i].at, indent + 2 * depth);
                put_key(w, path, at, part);
                putc_unlocked('\n', w->to);
            }
            at += part + 1;
        }
        begin_line(w, said[i].at, indent + 2 * depth);
        put_key(w, path, at, length - at);
        put_value(w, said[i].path, said[i].value);
        putc_unlocked('\n', w->to);
        last = path;
    }
}
