/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of short texts that fits a width.
 *
 * Too wide, it first shortens the columns that may be shortened (the middle becomes ".."), then
 * leaves columns out, the highest `drop` first.  A column marked `optional` is left out when it has
 * nothing to say ("" or "-" or "0" in every row).  Cells are texts from anywhere: control characters and bytes that are
 * not UTF-8 become '?' when they are printed.
 */
#ifndef ROCELAB_REPORT_TABLE_H
#define ROCELAB_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "report/text.h"

#define TABLE_COLUMNS 24

struct table_column {
    const char *title;
    bool right;        /* aligned right */
    bool optional;     /* left out when every cell is empty */
    uint8_t min_width; /* may be shortened to this; 0: never */
    uint8_t drop;      /* left out when the table is too wide, highest first; 0: never */
};

struct table {
    const struct table_column *column;
    unsigned columns;
    struct arena arena; /* the texts */
    char **cell;        /* rows * columns */
    size_t rows, capacity;
    bool failed; /* memory ran out: says so instead of showing half a table */
};

void table_init(struct table *table, const struct table_column *column, unsigned columns);
/* The same with its columns at hand, which end with the block: TABLE_BEGIN(&table, LEFT("port"), RIGHT("rate")). */
#define TABLE_BEGIN(table, ...)                                                                                        \
    table_init((table), (const struct table_column[]){__VA_ARGS__},                                                    \
               sizeof(const struct table_column[]){__VA_ARGS__} / sizeof(struct table_column))
#define LEFT(...) ((struct table_column){.title = __VA_ARGS__}) /* and further members: .drop = 1 */
#define RIGHT(...) ((struct table_column){.right = true, .title = __VA_ARGS__})
void table_row(struct table *table, const char *const *cell); /* copies; NULL is an empty cell */
#define TABLE_ROW(table, ...) table_row((table), (const char *const[]){__VA_ARGS__})
void table_print(const struct table *table, FILE *out, const struct text_style *style, unsigned indent);
void table_end(struct table *table, FILE *out, const struct text_style *style, unsigned indent); /* and releases */
void table_release(struct table *table);

#endif
