/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in columns: what the library gives out, so that a column more breaks nobody.
 *
 * A table is made in two passes over one list: the first names the columns, the second fills rows, in the same order.
 * Whatever fails for want of memory is remembered, and nothing more happens.
 */
#ifndef ROCELAB_LIB_COLUMNS_H
#define ROCELAB_LIB_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "rocelab/rocelab.h"

union table_cell {
    uint64_t count;
    double real;
    const char *text;
};
struct table_column {
    const char *name, *help; /* literals */
    enum rocelab_kind kind;
    union table_cell *cell; /* [rows] */
};
struct rocelab_table {
    struct table_column *column;
    uint32_t columns, columns_room;
    uint64_t rows, room;
    uint32_t filled; /* cells of the last row */
    struct arena text;
    const char **known; /* [known_room] texts, by their hash: most come again and again */
    uint32_t knowns, known_room;
    bool failed;
};

struct rocelab_table *columns_new(void); /* NULL: no memory */
void columns_add(struct rocelab_table *table, enum rocelab_kind kind, const char *name, const char *help);
void columns_row(struct rocelab_table *table); /* begins one; all cells of the one before are filled */
void columns_count(struct rocelab_table *table, uint64_t value);
void columns_real(struct rocelab_table *table, double value);
void columns_text(struct rocelab_table *table, const char *value); /* is copied; NULL: nothing */
/* 0, and *ret is it; -ENOMEM, and it is gone. */
int columns_done(struct rocelab_table *table, struct rocelab_table **ret);

#endif
