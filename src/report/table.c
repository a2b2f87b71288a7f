/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of short texts that fits a width: all rows are kept until they are printed, because the
 * width of a column is known only then.
 */
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

#define SEPARATOR 2

void table_init(struct table *table, const struct table_column *column, unsigned columns)
{
    CHECK(columns > 0 && columns <= TABLE_COLUMNS);
    *table = (struct table){.column = column, .columns = columns};
    arena_init(&table->arena, 0);
}

static bool grow(struct table *table)
{
    size_t capacity = table->capacity == 0 ? 16 : table->capacity * 2;
    char **cell = reallocarray(table->cell, capacity * table->columns, sizeof *cell);

    if (cell == NULL) return false;
    table->cell = cell;
    table->capacity = capacity;
    return true;
}

void table_row(struct table *table, const char *const *cell)
{
    if (table->failed) return;
    if (table->rows == table->capacity && !grow(table)) {
        table->failed = true;
        return;
    }
    for (unsigned c = 0; c < table->columns; c++) {
        const char *text = cell[c] == NULL ? "" : cell[c];
        char *copy = arena_strndup(&table->arena, text, strlen(text));

        if (copy == NULL) {
            table->failed = true;
            return;
        }
        table->cell[table->rows * table->columns + c] = copy;
    }
    table->rows++;
}

static const char *cell_at(const struct table *table, size_t row, unsigned column)
{
    return table->cell[row * table->columns + column];
}

static bool says_nothing(const char *text)
{
    return text[0] == '\0' || strcmp(text, "-") == 0 || strcmp(text, "0") == 0;
}

/* Natural widths; 0 for an optional column without content. */
static void measure(const struct table *table, unsigned width[TABLE_COLUMNS])
{
    for (unsigned c = 0; c < table->columns; c++) {
        bool empty = table->column[c].optional;

        width[c] = (unsigned)strlen(table->column[c].title);
        for (size_t r = 0; r < table->rows; r++) {
            const char *text = cell_at(table, r, c);
            unsigned length = (unsigned)strlen(text);

            if (length > width[c]) width[c] = length;
            if (!says_nothing(text)) empty = false;
        }
        if (empty) width[c] = 0;
    }
}

static unsigned total(const struct table *table, const unsigned width[TABLE_COLUMNS], unsigned indent)
{
    unsigned sum = indent;

    for (unsigned c = 0; c < table->columns; c++) {
        if (width[c] > 0) sum += width[c] + SEPARATOR;
    }
    return sum >= SEPARATOR ? sum - SEPARATOR : sum;
}

/* One column narrower at a time, always the widest that may be: columns of one kind end up equal. */
static bool shorten(const struct table *table, unsigned width[TABLE_COLUMNS])
{
    unsigned best = table->columns;

    for (unsigned c = 0; c < table->columns; c++) {
        unsigned least = table->column[c].min_width;

        if (least == 0 || width[c] <= least) continue;
        if (best == table->columns || width[c] > width[best]) best = c;
    }
    if (best == table->columns) return false;
    width[best]--;
    return true;
}

static bool leave_out(const struct table *table, unsigned width[TABLE_COLUMNS])
{
    unsigned best = table->columns;

    for (unsigned c = 0; c < table->columns; c++) {
        if (width[c] == 0 || table->column[c].drop == 0) continue;
        if (best == table->columns || table->column[c].drop > table->column[best].drop) best = c;
    }
    if (best == table->columns) return false;
    width[best] = 0;
    return true;
}

static void fit(const struct table *table, unsigned width[TABLE_COLUMNS], unsigned indent, unsigned limit)
{
    unsigned natural[TABLE_COLUMNS];

    measure(table, natural);
    for (;;) {
        memcpy(width, natural, sizeof natural);
        while (total(table, width, indent) > limit && shorten(table, width))
            continue;
        if (total(table, width, indent) <= limit || !leave_out(table, natural)) return;
    }
}

static void put(FILE *out, const char *text, unsigned width, bool right, bool last)
{
    size_t length = strlen(text);

    if (length > width) {
        /* The end of an address tells hosts apart better than its middle. */
        unsigned tail = (width - 2 + 1) / 2, head = width - 2 - tail;
        fprintf(out, "%.*s..%s", (int)head, text, text + length - tail);
    } else if (right) {
        fprintf(out, "%*s", (int)width, text);
    } else {
        fprintf(out, "%-*s", last ? 0 : (int)width, text);
    }
}

static void line(const struct table *table, FILE *out, const unsigned width[TABLE_COLUMNS], const char *const *cell)
{
    unsigned end = table->columns;
    bool first = true;

    while (end > 0 && width[end - 1] == 0)
        end--;
    for (unsigned c = 0; c < end; c++) {
        if (width[c] == 0) continue;
        if (!first) fprintf(out, "%*s", SEPARATOR, "");
        first = false;
        put(out, cell[c], width[c], table->column[c].right, c + 1 == end);
    }
    fputc('\n', out);
}

/* On a line that is narrower than usual: columns that have something to say and no room. */
static void say_left_out(const struct table *table, FILE *out, const struct text_style *style, unsigned indent,
                         const unsigned width[TABLE_COLUMNS])
{
    unsigned natural[TABLE_COLUMNS];
    char text[512] = "";
    size_t used = 0;

    if (style->width >= TEXT_WIDTH) return;
    measure(table, natural);
    for (unsigned c = 0; c < table->columns; c++) {
        if (natural[c] == 0 || width[c] > 0 || !table->column[c].title[0] || used >= sizeof text) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 used ? ", " : "left out: ", table->column[c].title);
    }
    if (!used) return;
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s", (int)indent, "");
    text_wrap(out, style, indent, indent, text);
    text_colour(out, style, TEXT_PLAIN);
}

void table_print(const struct table *table, FILE *out, const struct text_style *style, unsigned indent)
{
    unsigned width[TABLE_COLUMNS];
    const char *title[TABLE_COLUMNS];

    if (table->failed) {
        fprintf(out, "%*s(not enough memory for this table)\n", (int)indent, "");
        return;
    }
    for (size_t i = 0; i < table->rows * table->columns; i++)
        utf8_clean(table->cell[i], style->utf8);
    fit(table, width, indent, style->width);
    for (unsigned c = 0; c < table->columns; c++)
        title[c] = table->column[c].title;
    fprintf(out, "%*s", (int)indent, "");
    text_colour(out, style, TEXT_DIM);
    line(table, out, width, title);
    text_colour(out, style, TEXT_PLAIN);
    for (size_t r = 0; r < table->rows; r++) {
        fprintf(out, "%*s", (int)indent, "");
        line(table, out, width, (const char *const *)(table->cell + r * table->columns));
    }
    say_left_out(table, out, style, indent, width);
}

void table_end(struct table *table, FILE *out, const struct text_style *style, unsigned indent)
{
    table_print(table, out, style, indent);
    table_release(table);
}

void table_release(struct table *table)
{
    free(table->cell);
    arena_release(&table->arena);
    *table = (struct table){0};
}
