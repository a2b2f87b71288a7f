/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: how they are made (columns.h) and read (include/rocelab/rocelab.h). */
#include "columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/hash.h"
#include "lab.h"

#define ROWS_FIRST 16
#define KNOWN_FIRST 64 /* a power of two */

_Static_assert(sizeof(union table_cell) == 8, "a column of cells is one of counts, of numbers or of texts");

struct rocelab_table *columns_new(void)
{
    struct rocelab_table *table = calloc(1, sizeof *table);

    if (table) arena_init(&table->text, 0);
    return table;
}

PUBLIC void rocelab_table_free(struct rocelab_table *table)
{
    if (table == NULL) return;
    for (uint32_t i = 0; i < table->columns; i++)
        free(table->column[i].cell);
    free(table->column);
    free(table->known);
    arena_release(&table->text);
    free(table);
}

int columns_done(struct rocelab_table *table, struct rocelab_table **ret)
{
    if (table == NULL) return -ENOMEM;
    CHECK(table->failed || table->rows == 0 || table->filled == table->columns);
    if (table->failed) {
        rocelab_table_free(table);
        return -ENOMEM;
    }
    *ret = table;
    return 0;
}

void columns_add(struct rocelab_table *table, enum rocelab_kind kind, const char *name, const char *help)
{
    if (table->failed || !GROW(table->column, table->columns, table->columns_room)) {
        table->failed = true;
        return;
    }
    table->column[table->columns++] = (struct table_column){.name = name, .help = help, .kind = kind};
}

static bool more_rows(struct rocelab_table *table)
{
    uint64_t room = table->room ? 2 * table->room : ROWS_FIRST;

    for (uint32_t i = 0; i < table->columns; i++) {
        union table_cell *grown = reallocarray(table->column[i].cell, room, sizeof *grown);
        if (grown == NULL) return false;
        table->column[i].cell = grown;
    }
    table->room = room;
    return true;
}

void columns_row(struct rocelab_table *table)
{
    if (table->failed || (table->rows == table->room && !more_rows(table))) {
        table->failed = true;
        return;
    }
    CHECK(table->rows == 0 || table->filled == table->columns);
    table->rows++;
    table->filled = 0;
}

/* Flags are counts, names are texts. */
static enum rocelab_kind stored_as(enum rocelab_kind kind)
{
    return kind == ROCELAB_FLAG ? ROCELAB_COUNT : kind == ROCELAB_NAMES ? ROCELAB_TEXT : kind;
}

static void fill(struct rocelab_table *table, enum rocelab_kind kind, union table_cell cell)
{
    if (table->failed) return;
    CHECK(table->rows > 0 && table->filled < table->columns);
    struct table_column *column = &table->column[table->filled++];
    CHECK(stored_as(column->kind) == kind);
    column->cell[table->rows - 1] = cell;
}

void columns_count(struct rocelab_table *table, uint64_t value)
{
    fill(table, ROCELAB_COUNT, (union table_cell){.count = value});
}

void columns_real(struct rocelab_table *table, double value)
{
    fill(table, ROCELAB_REAL, (union table_cell){.real = value});
}

static bool more_known(struct rocelab_table *table)
{
    uint32_t room = table->known_room ? 2 * table->known_room : KNOWN_FIRST;
    const char **grown = calloc(room, sizeof *grown);

    if (grown == NULL) return false;
    for (uint32_t i = 0; i < table->known_room; i++) {
        if (table->known[i] == NULL) continue;
        uint64_t at = hash_text(HASH_BEGIN, table->known[i]);
        while (grown[at & (room - 1)])
            at++;
        grown[at & (room - 1)] = table->known[i];
    }
    free(table->known);
    table->known = grown;
    table->known_room = room;
    return true;
}

/* The one copy of a text; NULL: no memory. */
static const char *keep(struct rocelab_table *table, const char *text)
{
    uint64_t at = hash_text(HASH_BEGIN, text);

    if (2 * table->knowns >= table->known_room && !more_known(table)) return NULL;
    for (;; at++) {
        const char **known = &table->known[at & (table->known_room - 1)];
        if (*known && strcmp(*known, text) != 0) continue;
        if (*known) return *known;
        table->knowns++;
        return *known = arena_strndup(&table->text, text, strlen(text));
    }
}

void columns_text(struct rocelab_table *table, const char *value)
{
    const char *kept = value == NULL || table->failed ? NULL : keep(table, value);

    if (value && kept == NULL) table->failed = true;
    fill(table, ROCELAB_TEXT, (union table_cell){.text = kept});
}

PUBLIC size_t rocelab_table_rows(const struct rocelab_table *table)
{
    return table->rows;
}

PUBLIC const char *rocelab_column_name(const struct rocelab_table *table, size_t column)
{
    return column < table->columns ? table->column[column].name : NULL;
}

PUBLIC const char *rocelab_column_help(const struct rocelab_table *table, size_t column)
{
    return column < table->columns ? table->column[column].help : NULL;
}

PUBLIC int rocelab_column_find(const struct rocelab_table *table, const char *name, size_t *ret)
{
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->column[i].name, name) != 0) continue;
        *ret = i;
        return 0;
    }
    return -ENOENT;
}

static const union table_cell *cells(const struct rocelab_table *table, size_t column, enum rocelab_kind kind)
{
    static const union table_cell none;
    const struct table_column *from = column < table->columns ? &table->column[column] : NULL;

    if (from == NULL || stored_as(from->kind) != kind) return NULL;
    return table->rows ? from->cell : &none;
}

PUBLIC enum rocelab_kind rocelab_column_kind(const struct rocelab_table *table, size_t column)
{
    return column < table->columns ? table->column[column].kind : ROCELAB_COUNT;
}

PUBLIC const uint64_t *rocelab_column_counts(const struct rocelab_table *table, size_t column)
{
    return (const uint64_t *)cells(table, column, ROCELAB_COUNT);
}

PUBLIC const double *rocelab_column_reals(const struct rocelab_table *table, size_t column)
{
    return (const double *)cells(table, column, ROCELAB_REAL);
}

PUBLIC const char *const *rocelab_column_texts(const struct rocelab_table *table, size_t column)
{
    return (const char *const *)cells(table, column, ROCELAB_TEXT);
}
