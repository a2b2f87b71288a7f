/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_db.json as lines, `/TABLE/ROW/FIELD VALUE`, and back; and edits of them as a JSON patch (RFC 6902).
 *
 * Values are kept as they stand.  What is not three objects deep (rows of several units in one file, tables by name and
 * row) is not taken.  Of buffers only that is edited which the switch's config updater lets a patch change.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "config/mend.h"

struct scan {
    struct mend_text *io;
    const char *at;
    uint32_t number;
    char path[MEND_PATH];
};

static void blanks(struct scan *scan)
{
    for (; *scan->at && strchr(" \t\r\n", *scan->at); scan->at++)
        scan->number += *scan->at == '\n';
}

/* The end of a string that begins here; NULL: none. */
static const char *string_end(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : NULL;
}

/* The end of any value but an object. */
static const char *value_end(const char *at)
{
    int depth = 0;

    if (*at == '"') return string_end(at);
    for (; at && *at; at++) {
        if (*at == '"') {
            at = string_end(at);
            if (!at) return NULL;
            at--;
            continue;
        }
        if (depth == 0 && strchr(",} \t\r\n", *at)) return at;
        depth += (*at == '[') - (*at == ']');
    }
    return NULL;
}

static bool add_part(char path[MEND_PATH], size_t used, const char *from, const char *end)
{
    path[used++] = '/';
    for (; from < end; from++) {
        if (used + 4 > MEND_PATH || strchr(" \\\n", *from)) return false;
        if (*from == '~' || *from == '/') path[used++] = '~';
        path[used++] = *from == '~' ? '0' : *from == '/' ? '1' : *from;
    }
    path[used] = 0;
    return true;
}

static bool scan_object(struct scan *scan, unsigned depth);

static bool scan_member(struct scan *scan, unsigned depth, size_t used)
{
    char line[MEND_PATH + 4096];
    const char *end = *scan->at == '"' ? string_end(scan->at) : NULL;
    uint32_t number = scan->number;

    if (!end || !add_part(scan->path, used, scan->at + 1, end - 1)) return false;
    if (depth == 0 && strchr(scan->path + used, '|')) return false;
    scan->at = end;
    blanks(scan);
    if (*scan->at++ != ':') return false;
    blanks(scan);
    if (*scan->at == '{') return depth < 2 && scan_object(scan, depth + 1);
    const char *value = scan->at;
    end = depth == 2 ? value_end(value) : NULL;
    int length = end ? snprintf(line, sizeof(line), "%s %.*s", scan->path, (int)(end - value), value) : -1;
    if (length < 0 || (size_t)length >= sizeof(line) || strchr(line, '\n')) return false;
    mend_line(scan->io, line, (size_t)length, number);
    scan->at = end;
    return true;
}

static bool scan_object(struct scan *scan, unsigned depth)
{
    size_t used = strlen(scan->path);
    uint32_t before = scan->io->count;

    scan->at++;
    for (blanks(scan); *scan->at && *scan->at != '}'; blanks(scan)) {
        if (*scan->at == ',') {
            scan->at++;
            continue;
        }
        if (!scan_member(scan, depth, used)) return false;
        scan->path[used] = 0;
    }
    if (*scan->at++ != '}') return false;
    if (depth == 2 && scan->io->count == before) {
        char line[MEND_PATH + 8];
        int length = snprintf(line, sizeof(line), "%s {}", scan->path);
        mend_line(scan->io, line, (size_t)length, scan->number);
    }
    return true;
}

bool mend_read_rows(struct mend_text *io, const char *text)
{
    struct scan scan = {.io = io, .at = text, .number = 1};

    blanks(&scan);
    return *scan.at == '{' && scan_object(&scan, 0) && io->count > 0;
}

/* The length of `/TABLE/ROW` in a line. */
size_t mend_row(const char *line)
{
    size_t table = 1 + strcspn(line + 1, "/ ");

    return line[table] == '/' ? table + 1 + strcspn(line + table + 1, "/ ") : table;
}

static void print_part(const char *from, size_t length, FILE *to)
{
    fputc('"', to);
    for (size_t i = 0; i < length; i++) {
        bool escaped = from[i] == '~' && i + 1 < length;
        fputc(escaped ? (from[i + 1] == '1' ? '/' : '~') : from[i], to);
        i += escaped;
    }
    fputc('"', to);
}

static bool same_start(const char *one, const char *other, size_t length)
{
    return one && strncmp(one, other, length) == 0 && strchr("/ ", one[length]);
}

void mend_whole_rows(const struct mend_text *text, FILE *to)
{
    const char *last = NULL;

    fputc('{', to);
    for (uint32_t l = 0; l < text->count; l++) {
        const char *line = text->line[l], *value = strchr(line, ' ') + 1;
        size_t table = 1 + strcspn(line + 1, "/ "), row = mend_row(line);
        bool new_table = !same_start(last, line, table), new_row = !same_start(last, line, row);
        fputs(!last ? "" : new_table ? "}},\n" : new_row ? "},\n" : ",\n", to);
        if (new_table) {
            print_part(line + 1, table - 1, to);
            fputs(": {", to);
        }
        if (new_row) {
            print_part(line + table + 1, row - table - 1, to);
            fputs(": {", to);
        }
        if (line[row] == '/') {
            print_part(line + row + 1, (size_t)(value - line) - row - 2, to);
            fprintf(to, ": %s", value);
        }
        last = line;
    }
    fputs("}}}\n", to);
}

/* A row that is not there is added whole. */
static void print_row(const char *rows, FILE *to)
{
    size_t row = mend_row(rows);

    fprintf(to, "{\"op\": \"add\", \"path\": \"%.*s\", \"value\": {", (int)row, rows);
    for (const char *line = rows; *line;) {
        size_t end = strcspn(line, "\n"), path = strcspn(line, " ");
        if (line != rows) fputs(", ", to);
        if (path > row) print_part(line + row + 1, path - row - 1, to);
        if (path > row) fprintf(to, ": %.*s", (int)(end - path - 1), line + path + 1);
        line += end + (line[end] == '\n');
    }
    fputs("}}", to);
}

void mend_print_rows(const struct mend_text *text, const struct mend_edit *edit, bool first, FILE *to)
{
    const char *line = edit->how == MEND_REMOVE ? text->line[edit->at] : edit->text;
    size_t path = strcspn(line, " ");
    bool there = false;

    for (uint32_t l = 0; l < text->count; l++)
        there = there || same_start(text->line[l], line, mend_row(line));
    fputs(first ? "[\n  " : ",\n  ", to);
    if (edit->how == MEND_BEHIND && !there)
        print_row(line, to);
    else if (edit->how == MEND_REMOVE)
        fprintf(to, "{\"op\": \"remove\", \"path\": \"%.*s\"}", (int)path, line);
    else
        fprintf(to, "{\"op\": \"%s\", \"path\": \"%.*s\", \"value\": %s}",
                edit->how == MEND_REPLACE ? "replace" : "add", (int)path, line, line + path + 1);
}
