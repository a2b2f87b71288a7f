/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the importers share: words with line and column, decimal numbers, a file's text.
 */
#include "config/foreign/foreign_int.h"

#include <string.h>

#include "base/wide.h"
#include "fabric/file/read.h"

void words_init(struct words *words, const char *text, struct fabric_errors *errors)
{
    *words = (struct words){.next = text, .line = 1, .column = 1, .errors = errors};
}

static void step(struct words *words)
{
    if (*words->next++ == '\n') {
        words->line++;
        words->column = 1;
    } else {
        words->column++;
    }
}

static bool take_word(struct words *words, bool this_line)
{
    size_t used = 0;

    while (*words->next && strchr(" \t\r\n", *words->next) && !(this_line && *words->next == '\n'))
        step(words);
    words->at = (struct fabric_at){words->line, words->column};
    while (*words->next && !strchr(" \t\r\n", *words->next)) {
        if (used < sizeof(words->word) - 1) words->word[used++] = *words->next;
        step(words);
    }
    words->word[used] = 0;
    return used > 0;
}

bool words_take(struct words *words)
{
    return take_word(words, false);
}

bool words_take_line(struct words *words)
{
    return take_word(words, true);
}

bool words_skip_line(struct words *words)
{
    while (*words->next && *words->next != '\n')
        step(words);
    if (!*words->next) return false;
    step(words);
    return *words->next != 0;
}

bool words_number(struct words *words, const char *what, uint64_t *ret)
{
    if (!words_take(words)) {
        fabric_errors_add(words->errors, words->at, "the text ends where %s is expected", what);
        return false;
    }
    if (read_decimal(words->word, ret)) return true;
    fabric_errors_add(words->errors, words->at, "found '%s' where %s, a number, is expected", words->word, what);
    return false;
}

bool words_decimal(const char *text, uint64_t scale, uint64_t *ret)
{
    const u128 limit = UINT64_MAX;
    u128 whole = 0;
    uint64_t part = 0, unit = scale;
    size_t digits = 0;

    for (; *text >= '0' && *text <= '9'; text++, digits++) {
        whole = whole * 10 + (u128)(*text - '0');
        if (whole > limit) return false;
    }
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, digits++) {
            unit /= 10;
            part += unit * (uint64_t)(*text - '0');
        }
    }
    if (*text || digits == 0 || whole * scale + part > limit) return false;
    *ret = (uint64_t)(whole * scale + part);
    return true;
}

const char *import_text(const char *path, const char *text, struct arena *arena, struct fabric_errors *errors)
{
    struct loader loader = {.errors = errors};
    size_t length;

    errors->path = path;
    if (text) return text;
    arena_init(&loader.scratch, 0);
    char *got = file_read(&loader, path, (struct fabric_at){0, 0}, &length);
    const char *copy = NULL;
    if (got && strlen(got) != length)
        fabric_errors_add(errors, (struct fabric_at){0, 0}, "not a text file: it has zero bytes");
    else if (got)
        copy = arena_strndup(arena, got, length);
    arena_release(&loader.scratch);
    return copy;
}
