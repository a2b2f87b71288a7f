/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a config_db.json as rows, whatever its layout.  Private to src/config/sonic*.c.
 */
#ifndef ROCELAB_CONFIG_SONIC_ROWS_H
#define ROCELAB_CONFIG_SONIC_ROWS_H

#include "config/config.h"
#include "fabric/file/tree.h"

struct sonic_row {
    const char *table, *key;
    const struct tree *fields; /* a map */
    uint32_t line;
    uint32_t order;    /* in the file */
    uint32_t of;       /* its table, into sonic_rows' list */
    struct tree *made; /* its fields, where they were put together from a patch's; else NULL */
};

struct sonic_table {
    const struct tree *tree; /* of a flat layout the first of its rows */
    uint32_t map;            /* which map of the file it stands in */
    uint32_t replaced;       /* by a table of the same name further down in that map: its line; 0: by none */
};

struct sonic_rows {
    struct sonic_row *row; /* in order of the file */
    uint32_t count, room;
    struct sonic_row *sorted; /* by table and key */
    struct arena *arena;
    struct sonic_table *table; /* of those met, in order: one entry a table */
    uint32_t tables, tables_room;
    uint32_t maps;                  /* that hold tables */
    bool patch;                     /* operations on rows, not the rows of a switch */
    uint32_t removed, removed_line; /* operations that take something away, and the first */
};

/* 0 or -EINVAL with errors. */
int sonic_rows_read(const struct config_text *text, struct arena *arena, struct sonic_rows *ret);
/* The last row of that table and key, NULL: none. */
const struct sonic_row *sonic_row_find(const struct sonic_rows *rows, const char *table, const char *key);
bool sonic_has_table(const struct sonic_rows *rows, const char *table);
/* A field's text, NULL: absent or not a text.  `ret_line` (not NULL) is its line. */
const char *sonic_field(const struct sonic_row *row, const char *name, uint32_t *ret_line);
/* `[TABLE|name]` (databases to 3_0_1) or `name`, as the name. */
const char *sonic_reference(struct arena *arena, const char *text);

/* Between rows.c and patch.c. */
bool sonic_table_name(const char *name);
void sonic_rows_add(struct sonic_rows *rows, const char *table, const char *key, const struct tree *fields);
void sonic_rows_table(struct sonic_rows *rows, const struct tree *table, uint32_t map);
bool sonic_is_patch(const struct tree *item);
void sonic_rows_patch(struct sonic_rows *rows, const struct tree *list);

#endif
