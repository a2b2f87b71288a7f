/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader a text, or a part of it, is for. */
#include "evidence/read/reader.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct whole_reader *const whole_readers[] = {
#define WHOLE_READER(id) &reader_##id,
#include "evidence/read/readers.def"
    NULL,
};
static const struct text_reader *const text_readers[] = {
#define TEXT_READER(id) &reader_##id,
#include "evidence/read/readers.def"
    NULL,
};
static const struct row_reader *const row_readers[] = {
#define ROW_READER(id) &reader_##id,
#include "evidence/read/readers.def"
    NULL,
};
static const struct json_reader *const json_readers[] = {
#define JSON_READER(id) &reader_##id,
#include "evidence/read/readers.def"
    NULL,
};

const char *reader_kind(size_t index, const char **what)
{
    const char *kind = NULL, *text = NULL;
    size_t i = 0;

    for (size_t k = 0; whole_readers[k] && !kind; k++)
        if (i++ == index) kind = whole_readers[k]->kind, text = whole_readers[k]->what;
    for (size_t k = 0; text_readers[k] && !kind; k++)
        if (i++ == index) kind = text_readers[k]->kind, text = text_readers[k]->what;
    for (size_t k = 0; json_readers[k] && !kind; k++)
        if (i++ == index) kind = json_readers[k]->kind, text = json_readers[k]->what;
    if (what) *what = text;
    return kind;
}

static bool wanted(const char *from, const char *kind)
{
    return !from || !strcmp(from, kind);
}

/* --- lines --- */

struct lines {
    struct reading *in;
    const char *from;
    const struct text_reader *current, *last; /* last: of the last line that counts */
    bool known;                               /* some head was seen */
    bool unknown;                             /* the last line that counts was one that nobody took */
};

static void lines_end(struct lines *lines)
{
    if (lines->current && lines->current->end) lines->current->end(lines->in);
    lines->current = NULL;
}

/* "$ ethtool -S eth1", "$ nv show interface swp1 counters": what comes is of eth1, of swp1, whatever the file is. */
static void notice_command(struct reading *in, const char *line)
{
    const char *word = strstr(line, "ethtool "), *nv = word ? NULL : strstr(line, "nv show interface ");

    if (!word && !nv) return;
    for (word = word ? word + 8 : nv + 18; *word == '-'; word += strspn(word, " "))
        word += strcspn(word, " ");
    size_t length = strcspn(word, " \t");
    if (!length || length >= sizeof in->hint || (!nv && word[length + strspn(word + length, " \t")])) return;
    memcpy(in->hint, word, length);
    in->hint[length] = 0;
}

/* Whether another head of the same layout leaves its state as it is. */
static const struct text_reader *const keepers[] = {
#define KEEPS(id) &reader_##id,
#include "evidence/read/readers.def"
    NULL,
};
/* Those whose lines stand alone, as a log's do between the rows of a table: they get the lines alone that are heads,
 * the layout around goes on, and their end is the text's. */
static const struct text_reader *const asides[] = {
#define ASIDE(id) &reader_##id,
#include "evidence/read/readers.def"
    NULL,
};

static bool is_among(const struct text_reader *const *list, const struct text_reader *reader)
{
    while (*list && *list != reader)
        list++;
    return *list != NULL;
}

/* Whether somebody who reads the text would miss the line: not one that is blank, a comment or a rule. */
static bool counts(const char *line)
{
    bool word = false;

    line += strspn(line, " \t");
    if (*line == '#' || !strncmp(line, "//", 2)) return false;
    for (; *line && !word; line++)
        word = isalnum((unsigned char)*line) || (unsigned char)*line >= 0x80;
    return word;
}

/* A row whose table has no head here. */
static bool take_row(struct lines *lines, const char *line)
{
    for (size_t k = 0; row_readers[k]; k++)
        if (wanted(lines->from, row_readers[k]->kind) && row_readers[k]->row(lines->in, line)) return true;
    return false;
}

static void lines_take(struct lines *lines, const char *line)
{
    const struct text_reader *aside = NULL;
    bool taken = false;

    notice_command(lines->in, line);
    for (size_t k = 0; text_readers[k]; k++) {
        const struct text_reader *reader = text_readers[k];
        if (!wanted(lines->from, reader->kind) || !reader->head(line)) continue;
        if (is_among(asides, reader)) {
            aside = reader;
            if (!(taken = reader->line(lines->in, line))) continue; /* another may know it */
            lines->known = true;
            break;
        }
        if (reader == lines->current && is_among(keepers, reader)) break;
        aside = NULL;
        lines_end(lines);
        memset(lines->in->state, 0, sizeof lines->in->state);
        lines->current = reader;
        lines->known = taken = true;
        break;
    }
    if (!(aside && taken) && lines->current) taken |= lines->current->line(lines->in, line);
    const struct text_reader *reader = aside ? aside : lines->current;
    if (!taken && take_row(lines, line)) lines->known = taken = true;
    if (!taken && !counts(line)) return;
    if (taken)
        lines->in->evidence->lines_taken++;
    else
        evidence_unknown(lines->in->evidence, &lines->in->source, reader ? reader->kind : NULL, line,
                         lines->unknown && lines->last == reader);
    lines->unknown = !taken;
    lines->last = reader;
}

/* Where an escape sequence of a terminal ends: colours (ESC [ ... letter), titles (ESC ] ... BEL), others. */
static size_t escape_end(const char *line, size_t at, size_t length)
{
    size_t end = at + 2;

    if (end > length) return length;
    if (line[at + 1] == '[')
        while (end < length && (line[end] < '@' || line[end] > '~'))
            end++;
    else if (line[at + 1] == ']')
        while (end < length && line[end] != '\a' && line[end] != '\033')
            end++;
    else
        return end;
    return end < length ? end + 1 : length;
}

/* A line of a recorded session as its terminal showed it: without escape sequences, and what a pager took back with
 * \b or \r ("--More--") is written over.  Answers its length. */
static size_t as_shown(char *line, size_t length)
{
    size_t used = 0, cursor = 0;

    for (size_t at = 0; at < length;)
        switch (line[at]) {
        case '\033':
            at = escape_end(line, at, length);
            if (line[at - 1] == 'K') used = cursor; /* erases to the end of the line */
            break;
        case '\r':
            cursor = 0;
            at++;
            break;
        case '\b':
            cursor -= cursor > 0;
            at++;
            break;
        default:
            line[cursor++] = line[at++];
            if (used < cursor) used = cursor;
        }
    return used;
}

/* Lines end with \n or \r\n; zero bytes become blanks, so that a line is a string. */
static bool read_lines(struct reading *in, const char *from, const char *text, size_t bytes)
{
    struct lines lines = {.in = in, .from = from};
    const char *end = text + bytes;
    size_t size = 0;
    char *line = NULL;

    while (text < end && !in->evidence->full) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        size_t used = length < READER_LINE ? length : READER_LINE;
        if (used + 1 > size) {
            char *grown = realloc(line, size = used + 256);
            if (!grown) break;
            line = grown;
        }
        memcpy(line, text, used);
        used = as_shown(line, used);
        line[used] = 0;
        for (char *zero = line; (zero = memchr(zero, 0, (size_t)(line + used - zero)));)
            *zero = ' ';
        in->source.line++;
        lines_take(&lines, line);
        text = stop ? stop + 1 : end;
    }
    lines_end(&lines);
    for (size_t k = 0; asides[k]; k++)
        if (asides[k]->end) asides[k]->end(in);
    free(line);
    return lines.known;
}

/* --- JSON --- */

static bool read_tree(struct reading *in, const char *from, const struct json *root)
{
    for (size_t k = 0; json_readers[k]; k++) {
        if (!wanted(from, json_readers[k]->kind) || !json_readers[k]->is(root)) continue;
        memset(in->state, 0, sizeof in->state);
        json_readers[k]->read(in, root);
        return true;
    }
    return false;
}

/* One document a line: an array of them. */
static const struct json *parse_lines(struct arena *arena, const char *text, size_t bytes)
{
    struct json *root = ARENA_NEW(arena, struct json, 1), *last = NULL;
    const char *end = text + bytes;

    if (root) root->type = JSON_ARRAY;
    for (uint32_t number = 1; root && text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        const char *why;
        uint32_t line;
        struct json *one = (struct json *)(uintptr_t)json_parse(arena, text, length, number, &why, &line);
        if (one) { /* a line that was cut off when it was copied is passed over */
            if (last)
                last->next = one;
            else
                root->child = one;
            last = one;
            root->count++;
        }
        text = stop ? stop + 1 : end;
    }
    return root && root->count ? root : NULL;
}

static bool read_json(struct reading *in, const char *from, const char *text, size_t bytes)
{
    struct arena arena;
    const char *why;
    uint32_t line;
    bool known = false;

    if (bytes > READER_JSON) {
        evidence_remark(in->evidence, in->source.file, 0, "larger than %u MB: not read as JSON", READER_JSON >> 20);
        return true;
    }
    arena_init(&arena, (size_t)8 * READER_JSON);
    const struct json *root = json_parse(&arena, text, bytes, 1, &why, &line);
    if (!root) {
        arena_release(&arena);
        root = parse_lines(&arena, text, bytes);
    }
    if (root)
        known = read_tree(in, from, root);
    else
        evidence_remark(in->evidence, in->source.file, line, "broken JSON: %s", why);
    arena_release(&arena);
    return known || !root;
}

bool evidence_read_text(struct evidence *evidence, const char *device, const char *file, double at_s, const char *from,
                        const char *text, size_t bytes)
{
    struct reading *in = calloc(1, sizeof *in);
    size_t skip = 0;
    bool known = false;

    if (!in) return false;
    if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* an editor's mark of UTF-8 */
        text += 3;
        bytes -= 3;
    }
    in->evidence = evidence;
    in->clock_s = NAN;
    in->device = device ? evidence_device(evidence, device, strlen(device)) : EVIDENCE_NONE;
    in->source = (struct evidence_source){evidence_file(evidence, file), 0, at_s};
    reader_hint(file, in->hint, sizeof in->hint);
    while (skip < bytes && isspace((unsigned char)text[skip]))
        skip++;
    for (size_t k = 0; whole_readers[k] && !known; k++)
        if (from ? !strcmp(from, whole_readers[k]->kind) : whole_readers[k]->is(text + skip, bytes - skip)) {
            whole_readers[k]->read(in, text, bytes);
            known = true;
        }
    if (!known && skip < bytes && (text[skip] == '{' || text[skip] == '[')) known = read_json(in, from, text, bytes);
    if (!known) known = read_lines(in, from, text, bytes);
    if (!known)
        evidence_remark(evidence, in->source.file, 0, "no reader knows anything in it (--list lists what is known)");
    free(in);
    return known;
}
