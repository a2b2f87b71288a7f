/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of text: a line of titles, often a rule of dashes under it, and rows.
 *
 * A layout is a list of the columns it can have, so that a release that has more, fewer or other columns, or another
 * order, is read all the same: columns are found by their titles, and what the list does not have is passed over.
 * Cells are cut where the dashes say; where there are none, or a row does not keep to them, by words.
 */
#ifndef ROCELAB_EVIDENCE_READ_TABLE_H
#define ROCELAB_EVIDENCE_READ_TABLE_H

#include "evidence/read/reader.h"

#define TABLE_COLUMNS 40
#define TABLE_TITLES 640 /* bytes of the line of titles */

enum table_cell {
    TABLE_PORT,     /* name of the port; without such a column rows are of the reading's hint */
    TABLE_QUEUE,    /* UC3, ALL3, VOQ3: the priority of the row; MC3: the row is passed over */
    TABLE_PRIORITY, /* PFC3, 3: likewise */
    TABLE_COUNT,    /* a number: times `scale`, of the row's priority, or of that in the title ("PFC#") */
    TABLE_WEAK,     /* likewise, where this look does not say it in a better place */
    TABLE_BYTES,    /* "0 Bytes", "1.43 MB" that were dropped: at least so many of the largest packets of RDMA */
    TABLE_REAL,     /* a number with a fraction or exponent */
    TABLE_RATE,     /* 100G, 25G, 1000M, 40000 (Mb/s) */
    TABLE_STATE,    /* up, U: 1; down, D, X, ...: 0; what the system or somebody disabled is an event too */
    TABLE_ADMIN,    /* down: somebody shut the port down */
    TABLE_REASON,   /* why the system disabled the port */
    TABLE_ALIAS,    /* another name of the port */
    TABLE_PEER,     /* what stands in a description: "spine0:Ethernet4", "to spine0 Ethernet4" */
    TABLE_LIST,     /* "3,4": 1 for each priority in it */
};
struct text_column {
    const char *title; /* '#' is a number, the priority */
    uint8_t cell;      /* enum table_cell */
    uint8_t counter;   /* enum evidence_counter */
    uint16_t scale;    /* 0: 1 */
};
struct text_table {
    const struct text_column *layout; /* ends with title NULL */
    uint16_t columns;
    bool ruled;
    bool left; /* cells begin where their titles do: for tables without a rule whose cells may be empty */
    struct {
        uint16_t from, to; /* bytes of a line */
        uint8_t is;        /* index into the layout; 0xff: not known */
        uint8_t priority;
    } column[TABLE_COLUMNS];
    char titles[TABLE_TITLES];
};
_Static_assert(sizeof(struct text_table) <= READER_STATE, "a table is a reader's state");

/* The line of titles.  Returns how many of the columns are known. */
size_t table_titles(struct text_table *table, const struct text_column *layout, const char *line);
/* Likewise of a table that is `left`: titles are single words. */
size_t table_titles_left(struct text_table *table, const struct text_column *layout, const char *line);
/* Whether the line is a rule of dashes, at least `groups` of them. */
bool table_is_rule(const char *line, size_t groups);
/* Any line after the titles: a rule, or a row, which is set.  False: it is neither. */
bool table_line(struct reading *in, struct text_table *table, const char *line);
/* A row alone, whose titles are known: what `grep` leaves of a table. */
bool table_row_alone(struct reading *in, const struct text_column *layout, const char *titles, const char *line);
/* Trimmed text of column `index` of a row; false: the row does not fit the titles. */
bool table_cell(const struct text_table *table, const char *line, size_t index, struct text_field *cell);
/* The index of a column by its title; table->columns: there is none. */
size_t table_column(const struct text_table *table, const char *title);

#endif
