/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a dump, named after commands, and the tables in them.
 *
 * SONiC draws its tables with Python's tabulate: a column is as wide as its widest cell and at least two wider than its
 * title.  The first file that cannot be written ends the dump.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "dump/dump_int.h"

#define GRID_COLUMNS 24
#define CELL_MOST 512

static void fail(struct out *out, int error)
{
    if (out->failure->error) return;
    out->failure->error = error ? error : EIO;
    snprintf(out->failure->path, sizeof out->failure->path, "%s", out->path);
}

bool out_begin(struct out *out, const char *suffix, const char *command, ...)
{
    char name[256];
    va_list args;

    if (out->failure->error) return false;
    va_start(args, command);
    vsnprintf(name, sizeof name, command, args);
    va_end(args);
    for (char *at = name; *at; at++)
        if (*at == ' ' || *at == '/') *at = '_';
    if (snprintf(out->path, sizeof out->path, "%s/%s.%s", out->folder, name, suffix) >= (int)sizeof out->path) {
        fail(out, ENAMETOOLONG);
        return false;
    }
    draft_tree_add(out->path, false);
    out->file = fopen(out->path, "w");
    if (out->file == NULL) fail(out, errno);
    jout_init(&out->json, out->file);
    return out->file != NULL;
}

void out_end(struct out *out)
{
    bool failed = ferror(out->file) != 0;

    if (fclose(out->file) != 0) failed = true;
    out->file = NULL;
    if (failed) fail(out, errno);
}

void out_release(struct out *out)
{
    free(out->grid.cell);
}

void out_config(struct out *out, const struct moment *m, uint32_t node, const char *suffix, const char *command)
{
    if (!out_begin(out, suffix, "%s", command)) return;
    const struct config_emit emit = {.fabric = m->fabric, .node = node, .to = out->file};
    int error = m->format->emit(&emit);
    out_end(out);
    if (error) fail(out, -error);
}

void out_json_string(struct out *out, const char *key, uint64_t value)
{
    char text[TEXT_COUNT];

    snprintf(text, sizeof text, "%" PRIu64, value);
    jout_text(&out->json, key, text);
}

void grid_begin(struct out *out, const char *const *title, unsigned columns, unsigned left)
{
    struct grid *grid = &out->grid;

    grid->title = title;
    grid->columns = columns;
    grid->left = left;
    grid->used = grid->cells = 0;
}

static void put(struct out *out, const char *text)
{
    struct grid *grid = &out->grid;
    size_t length = strlen(text) + 1;

    if (grid->used + length > grid->room) {
        size_t room = (grid->room + length) * 2;
        grid->cell = realloc(grid->cell, room);
        grid->room = room;
    }
    memcpy(grid->cell + grid->used, text, length);
    grid->used += length;
    grid->cells++;
}

void grid_cell(struct out *out, const char *format, ...)
{
    char text[CELL_MOST];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(out, text);
}

void grid_count(struct out *out, uint64_t value)
{
    char text[TEXT_COUNT];

    put(out, text_count(value, text));
}

void grid_blank(struct out *out)
{
    for (unsigned c = 0; c < out->grid.columns; c++)
        put(out, "");
}

static void row(struct out *out, const char *const *cell, const size_t *width)
{
    size_t behind = 0; /* blanks that nothing has followed yet: a line does not end with them */

    for (unsigned c = 0; c < out->grid.columns; c++) {
        size_t length = strlen(cell[c]), pad = width[c] > length ? width[c] - length : 0;
        bool left = out->grid.left >> c & 1;
        if (length) fprintf(out->file, "%*s%s", (int)(behind + (left ? 0 : pad)), "", cell[c]);
        behind = length ? (left ? pad : 0) : behind + width[c];
        behind += 2;
    }
    fputc('\n', out->file);
}

void grid_end(struct out *out)
{
    const struct grid *grid = &out->grid;
    size_t width[GRID_COLUMNS];
    const char *cell[GRID_COLUMNS], *at = grid->cell;

    for (unsigned c = 0; c < grid->columns; c++)
        width[c] = grid->title ? strlen(grid->title[c]) + 2 : 0;
    for (unsigned i = 0; i < grid->cells; i++, at += strlen(at) + 1)
        if (strlen(at) > width[i % grid->columns]) width[i % grid->columns] = strlen(at);
    if (grid->title) row(out, grid->title, width);
    for (int end = 0; end < (grid->title ? 1 : 2); end++) { /* without titles: dashes above and below */
        for (unsigned c = 0; c < grid->columns; c++) {
            fputs(c ? "  " : "", out->file);
            for (size_t i = 0; i < width[c]; i++)
                fputc('-', out->file);
        }
        fputc('\n', out->file);
        at = grid->cell;
        for (unsigned i = 0; end == 0 && i + grid->columns <= grid->cells; i += grid->columns) {
            for (unsigned c = 0; c < grid->columns; c++, at += strlen(at) + 1)
                cell[c] = at;
            row(out, cell, width);
        }
    }
}
