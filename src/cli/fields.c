/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of fields/, as text and as JSON.  They are read in their order: a document begins with DOCUMENT and ends
 * before the next.
 */
#include "cli/fields.h"

#include <string.h>

#include "cli/cli.h"
#include "report/json_out.h"

#define INDENT 2
#define KEYS 28 /* columns of keys; of more the text begins below */

enum line_kind { LINE_DOCUMENT, LINE_PART, LINE_NOTE, LINE_FIELD };

struct line {
    enum line_kind kind;
    const char *name, *where, *text;
};

#define DOCUMENT(kind, command, about) {LINE_DOCUMENT, kind, command, about},
#define PART(title, at) {LINE_PART, title, at, NULL},
#define NOTE(text) {LINE_NOTE, NULL, NULL, text},
#define FIELD(keys, help) {LINE_FIELD, keys, NULL, help},
/* As report/rows/rows.h has them: the value is of no interest. */
#define ROW(kind, key, value, help) FIELD(#key, help)
#define FIXED(key, digits, value, help) FIELD(#key, help)
#define KNOWN(key, known, value, help) FIELD(#key, help)
#define KNOWN_FIXED(key, digits, known, value, help) FIELD(#key, help)
#define LIST(key, i, count, statement, help) FIELD(#key, help)
#define LINE_LIST(key, i, count, statement, help) FIELD(#key, help)
#define WHEN(condition, kind, key, value, help) FIELD(#key, help)
#define SOME(key, number, help) FIELD(#key, help)
#define MADE(keys, statement, help) FIELD(keys, help)
#define COLUMN(kind, key, value, help) FIELD(#key, help)
#define COLUMN_FIXED(key, digits, column, value, help) FIELD(#key, help)
#define COLUMN_ALONE(kind, column, value)
#define TABLE(kind, key, value, help)
#define MEASURE(id, name, key, kind, shown, help) FIELD(key, help)
static const struct line lines[] = {
#include "cli/fields/documents.def"
};
#define LINES (sizeof lines / sizeof lines[0])

static const struct line *next(const struct line *line)
{
    return ++line < lines + LINES ? line : NULL;
}

static const struct line *document_after(const struct line *line)
{
    while (line && line->kind != LINE_DOCUMENT)
        line = next(line);
    return line;
}

static const struct line *document_at(size_t index)
{
    const struct line *line = lines;

    for (; index > 0; index--)
        line = document_after(line + 1);
    return line;
}

static const char *document_name(const void *list, size_t index)
{
    (void)list;
    return document_at(index)->name;
}

/* Its keys, and those of the lines behind it that are joined to it. */
static const struct line *print_keys(const struct line *line, FILE *out, int *ret_width)
{
    *ret_width = fprintf(out, "%*s%s", INDENT, "", line->name);
    const struct line *after = next(line);
    for (; after && after->kind == LINE_FIELD && after->text[0] == '\0'; after = next(after))
        *ret_width += fprintf(out, ", %s", after->name);
    return after;
}

static void print_document(const struct line *line, FILE *out)
{
    const struct text_style style = cli_style();
    bool noted = true;

    fprintf(out, "%s: %s\nrocelab %s\n\n", line->name, line->text, line->where);
    for (line = next(line); line && line->kind != LINE_DOCUMENT;) {
        if (line->kind == LINE_FIELD) {
            int width;
            const char *text = line->text;
            line = print_keys(line, out, &width);
            fprintf(out, width < KEYS ? "%*s" : "\n%*s", width < KEYS ? KEYS - width : KEYS, "");
            text_wrap(out, &style, KEYS, KEYS, text);
            noted = false;
            continue;
        }
        if (!noted) fputc('\n', out);
        if (line->kind == LINE_PART)
            fprintf(out, "%s: %s\n\n", line->name, line->where);
        else
            text_wrap(out, &style, 0, 0, line->text);
        if (line->kind == LINE_NOTE) fputc('\n', out);
        noted = true;
        line = next(line);
    }
}

static void keys_json(struct jout *jout, const char *keys)
{
    char key[64];

    while (*keys) {
        size_t length = strcspn(keys, ",");
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        jout_text(jout, NULL, key);
        keys += length + strspn(keys + length, ", ");
    }
}

static void document_json(struct jout *jout, const struct line *line)
{
    jout_text(jout, "document", line->name);
    jout_text(jout, "command", line->where);
    jout_text(jout, "about", line->text);
    jout_open(jout, "parts", '[');
    jout_open(jout, NULL, '{');
    jout_text(jout, "part", "");
    jout_text(jout, "at", "");
    jout_open(jout, "lines", '[');
    for (line = next(line); line && line->kind != LINE_DOCUMENT;) {
        if (line->kind == LINE_PART) {
            jout_close(jout);
            jout_close(jout);
            jout_open(jout, NULL, '{');
            jout_text(jout, "part", line->name);
            jout_text(jout, "at", line->where);
            jout_open(jout, "lines", '[');
            line = next(line);
            continue;
        }
        const struct line *first = line;
        jout_open_line(jout, NULL, '{');
        if (line->kind == LINE_FIELD) jout_open_line(jout, "keys", '[');
        do {
            if (line->kind == LINE_FIELD) keys_json(jout, line->name);
            line = next(line);
        } while (line && line->kind == LINE_FIELD && line->text[0] == '\0');
        if (first->kind == LINE_FIELD) jout_close(jout);
        jout_text(jout, "help", first->text);
        jout_close(jout);
    }
    jout_close(jout);
    jout_close(jout);
    jout_close(jout);
}

static void list_json(struct jout *jout)
{
    jout_open(jout, "documents", '[');
    for (const struct line *line = lines; line; line = document_after(next(line))) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "document", line->name);
        jout_text(jout, "command", line->where);
        jout_text(jout, "about", line->text);
        jout_close(jout);
    }
    jout_close(jout);
}

static void print_list(FILE *out)
{
    fputs("Documents that --json writes, by kind; 'rocelab help fields KIND' says what each key means:\n", out);
    for (const struct line *line = lines; line; line = document_after(next(line)))
        fprintf(out, "  %-16s rocelab %s: %s\n", line->name, line->where, line->text);
}

bool cli_fields(const char *kind, bool json, FILE *out)
{
    const struct line *line = NULL;
    size_t count = 0;

    for (const struct line *at = lines; at; at = document_after(next(at)), count++)
        if (kind && strcmp(at->name, kind) == 0) line = at;
    if (kind && !line) {
        const char *near = cli_nearest(kind, document_name, NULL, count);
        return cli_fail(near ? "help: no document is of kind '%s'; did you mean '%s'?"
                             : "help: no document is of kind '%s'; 'rocelab help fields' lists them",
                        kind, near);
    }
    if (json) {
        struct jout *jout = jout_begin(out, "fields");
        if (line)
            document_json(jout, line);
        else
            list_json(jout);
        jout_end(jout);
    } else if (line) {
        print_document(line, out);
    } else {
        print_list(out);
    }
    return true;
}
