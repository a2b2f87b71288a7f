/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader a text, or a part of it, is for. */
#include "evidence/read/reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "evidence/read/json_text.h"
#include "evidence/read/lines.h"
#include "evidence/read/text_name.h"

#define PLAIN 4096 /* bytes by which JSON is known */

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

enum {
#define TEXT_READER(id) READER_##id,
#include "evidence/read/readers.def"
};

/* Whether a head of a reader can begin with this letter. */
static bool may_begin(size_t reader, char letter)
{
    static const char *const first[] = {
#define FIRST(id, letters) [READER_##id] = letters,
#include "evidence/read/readers.def"
    };
    const char *at = reader < sizeof first / sizeof first[0] ? first[reader] : NULL;

    if (!at) return true;
    while (*at && *at != letter)
        at++;
    return *at;
}

const struct text_reader *reader_of_head(const char *from, const char *line, size_t *after)
{
    char letter = *line_text(line);

    for (size_t k = *after; text_readers[k]; k++) {
        bool may = may_begin(k, letter);
#ifndef __OPTIMIZE__
        CHECK(may || !text_readers[k]->head(line)); /* FIRST of readers.def lacks a letter */
#endif
        if (!may || !wanted(from, text_readers[k]->kind) || !text_readers[k]->head(line)) continue;
        *after = k + 1;
        return text_readers[k];
    }
    return NULL;
}

/* Who reads what a command prints where its head is missing, after a `grep`, and the head that it would have. */
const struct text_reader *reader_of_command(const char *from, const char *command, const char **ret_head)
{
    static const struct {
        const struct text_reader *reader;
        const char *words, *head;
    } rows[] = {
#define COMMAND(id, words, head) {&reader_##id, words, head},
#include "evidence/read/readers.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!wanted(from, rows[i].reader->kind) || !strstr(command, rows[i].words)) continue;
        *ret_head = rows[i].head;
        return rows[i].reader;
    }
    return NULL;
}

static bool is_among(const struct text_reader *reader, const struct text_reader *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == reader) return true;
    return false;
}
#define IS_AMONG(reader, list) is_among(reader, list, sizeof(list) / sizeof(list)[0])

/* Whether another head of the same layout leaves its state as it is. */
bool reader_keeps(const struct text_reader *reader)
{
    static const struct text_reader *const keepers[] = {
#define KEEPS(id) &reader_##id,
#include "evidence/read/readers.def"
    };

    return IS_AMONG(reader, keepers);
}

/* Those whose lines stand alone, as a log's do between the rows of a table: they get the lines alone that are heads,
 * the layout around goes on, and their end is the text's. */
static const struct text_reader *const asides[] = {
#define ASIDE(id) &reader_##id,
#include "evidence/read/readers.def"
};

bool reader_is_aside(const struct text_reader *reader)
{
    return IS_AMONG(reader, asides);
}

void readers_aside_end(struct reading *in)
{
    for (size_t k = 0; k < sizeof asides / sizeof asides[0]; k++)
        if (asides[k]->end) asides[k]->end(in);
}

bool readers_row(struct reading *in, const char *from, const char *line)
{
    for (size_t k = 0; row_readers[k]; k++)
        if (wanted(from, row_readers[k]->kind) && row_readers[k]->row(in, line)) return true;
    return false;
}

bool reader_is_of_jobs(const struct text_reader *reader)
{
    static const struct text_reader *const jobs[] = {
#define JOBS(id) &reader_##id,
#include "evidence/read/readers.def"
    };

    return IS_AMONG(reader, jobs);
}

bool reader_is_nameless(const struct text_reader *reader)
{
    static const struct text_reader *const nameless[] = {
#define NAMELESS(id) &reader_##id,
#include "evidence/read/readers.def"
    };

    return IS_AMONG(reader, nameless);
}

bool reader_repeats(const struct text_reader *reader, bool *heads)
{
    static const struct text_reader *const by_rows[] = {
#define ROWS(id) &reader_##id,
#include "evidence/read/readers.def"
    };
    static const struct text_reader *const by_heads[] = {
#define HEADS(id) &reader_##id,
#include "evidence/read/readers.def"
    };

    *heads = IS_AMONG(reader, by_heads);
    return *heads || IS_AMONG(reader, by_rows);
}

/* --- JSON --- */

static bool is_of_jobs(const struct json_reader *reader)
{
    static const struct json_reader *const jobs[] = {
#define JOBS_JSON(id) &reader_##id,
#include "evidence/read/readers.def"
    };

    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        if (jobs[i] == reader) return true;
    return false;
}

bool reader_tree(struct reading *in, const struct text_of *of, const struct json *root)
{
    for (size_t k = 0; json_readers[k]; k++) {
        if (!wanted(of->from, json_readers[k]->kind) || !json_readers[k]->is(root)) continue;
        if (in->device == EVIDENCE_NONE && of->called && !is_of_jobs(json_readers[k]))
            in->device = evidence_device(in->evidence, of->called, strlen(of->called));
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

static bool tree_of(struct reading *in, const struct text_of *of, const struct json *root, bool *ret_known)
{
    if (root && !(*ret_known = reader_tree(in, of, root))) {
        in->source.line = root->line;
        evidence_unknown(in->evidence, &in->source, NULL, "a JSON document", false);
    }
    return root != NULL;
}

/* A text that is one document, or has one a line.  False: it is neither, or too long. */
static bool read_json(struct reading *in, const struct text_of *of, const char *text, size_t bytes, bool *ret_known)
{
    const char *why, *stop = memchr(text, '\n', bytes);
    struct arena arena;
    uint32_t line;

    if (bytes > READER_JSON) return false;
    arena_init(&arena, (size_t)8 * READER_JSON);
    bool read = tree_of(in, of, json_parse(&arena, text, bytes, 1, &why, &line), ret_known);
    if (!read) {
        arena_release(&arena);
        bool by_line = stop && json_parse(&arena, text, (size_t)(stop - text), 1, &why, &line);
        read = by_line && tree_of(in, of, parse_lines(&arena, text, bytes), ret_known);
    }
    arena_release(&arena);
    return read;
}

/* --- a text --- */

/* Who reads whole files; NULL: nobody. */
static const struct whole_reader *reader_of_whole(const char *from, const char *text, size_t bytes)
{
    for (size_t k = 0; whole_readers[k]; k++)
        if (from ? !strcmp(from, whole_readers[k]->kind) : whole_readers[k]->is(text, bytes)) return whole_readers[k];
    return NULL;
}

static bool read_bytes(struct evidence *evidence, const struct text_of *of, struct reading *in, struct bytes_in *bytes)
{
    bool known = false;

    bytes_fill(bytes, BYTES_LOOK);
    if (bytes_left(bytes) >= 3 && !memcmp(bytes_at(bytes), "\xef\xbb\xbf", 3)) /* an editor's mark of UTF-8 */
        bytes->from += 3;
    size_t skip = 0;
    while (skip < bytes_left(bytes) && isspace((unsigned char)bytes_at(bytes)[skip]))
        skip++;
    const struct whole_reader *whole = reader_of_whole(of->from, bytes_at(bytes) + skip, bytes_left(bytes) - skip);
    if (whole) {
        bytes_fill(bytes, SIZE_MAX);
        whole->read(in, bytes_at(bytes), bytes_left(bytes));
        return true;
    }
    const char *first = bytes_at(bytes) + skip;
    size_t left = bytes_left(bytes) - skip;
    if (left && (*first == '{' || *first == '[') && json_text_begins(first, left < PLAIN ? left : PLAIN, "", 0)) {
        bytes_fill(bytes, (size_t)READER_JSON + 1);
        if (read_json(in, of, bytes_at(bytes), bytes_left(bytes), &known)) return known;
    }
    return text_lines(evidence, of, in->source.file, bytes);
}

bool evidence_read_bytes(struct evidence *evidence, const struct text_of *of, struct bytes_in *bytes)
{
    struct reading *in = calloc(1, sizeof *in);

    if (!in) {
        evidence_unread(evidence, of->file, strerror(ENOMEM));
        return false;
    }
    in->evidence = evidence;
    in->clock_s = NAN;
    in->device = of->device ? evidence_device(evidence, of->device, strlen(of->device)) : EVIDENCE_NONE;
    in->source = (struct evidence_source){.file = evidence_file(evidence, of->file), .at_s = of->at_s};
    in->by_file = of->called;
    reader_hint(of->file, in->hint, sizeof in->hint);
    bool known = read_bytes(evidence, of, in, bytes);
    if (bytes->error)
        evidence_unread(evidence, of->file, bytes_why(bytes->error));
    else if (!known)
        evidence_remark(evidence, in->source.file, 0, "no reader knows anything in it (--list lists what is known)");
    free(in);
    return known;
}

bool evidence_read_text(struct evidence *evidence, const char *device, const char *file, double at_s, const char *from,
                        const char *text, size_t bytes)
{
    struct text_of of = {.device = device, .file = file, .from = from, .at_s = at_s, .timed = device != NULL};
    struct text_name name;
    struct bytes_in in;

    text_name(&name, file);
    if (!device) of.called = name.device;
    of.command = name.command;
    bytes_of(&in, text, bytes);
    bool known = evidence_read_bytes(evidence, &of, &in);
    bytes_release(&in);
    return known;
}
