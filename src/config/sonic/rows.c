/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of config_db.json brought into one: rows of (table, key, fields).
 *
 * Met in the wild: nested {"TABLE": {"key": {…}}}; flat {"TABLE|key": {…}}, as redis dumps have it; either of them
 * inside one more map (samples of several databases in a file); a list of such maps; a patch (patch.c).  JSON is read
 * as the YAML that it is, which keeps lines.  Lines that begin with // are comments of ours and are blanked first.
 */
#include "config/sonic/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/errors.h"

#define WRAPPED_MOST 4 /* levels of maps around the tables */

/* A table's name: capitals, digits and _ , and nothing of the kind that wraps. */
static bool table_name(const char *name, size_t length)
{
    if (length < 2) return false;
    for (size_t i = 0; i < length; i++)
        if (!((name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '_')) return false;
    return true;
}

bool sonic_table_name(const char *name)
{
    return table_name(name, strlen(name));
}

void sonic_rows_add(struct sonic_rows *rows, const char *table, const char *key, const struct tree *fields)
{
    ARENA_ROOM(rows->arena, rows->row, rows->count, rows->room);
    uint32_t of = rows->tables ? rows->tables - 1 : 0;
    rows->row[rows->count] = (struct sonic_row){table, key, fields, fields->key_at.line, rows->count, of, NULL};
    rows->count++;
}

void sonic_rows_table(struct sonic_rows *rows, const struct tree *table, uint32_t map)
{
    ARENA_ROOM(rows->arena, rows->table, rows->tables, rows->tables_room);
    rows->table[rows->tables++] = (struct sonic_table){table, map, 0};
}

/* Does a map of this name hold tables, rather than being one? */
static bool wraps(const struct tree *map)
{
    uint32_t like = 0;

    if (map->type != TREE_MAP || !map->count) return false;
    for (const struct tree *item = map->first; item; item = item->next) {
        size_t length = strcspn(item->key, "|");
        if (item->type != TREE_MAP || !table_name(item->key, length)) continue;
        /* a nested table has rows that are maps; a flat one a bar in its name */
        like += item->key[length] == '|' || (item->first && item->first->type == TREE_MAP);
    }
    return like * 2 > map->count;
}

static void add_map(struct sonic_rows *rows, const struct tree *map, int depth)
{
    uint32_t number = rows->maps++;

    for (const struct tree *item = map->first; item; item = item->next) {
        const char *bar = strchr(item->key, '|');
        if (item->type == TREE_LIST) continue;
        if (bar) {
            const char *table = arena_strndup(rows->arena, item->key, (size_t)(bar - item->key));
            bool met = rows->count && strcmp(rows->row[rows->count - 1].table, table) == 0;
            if (!met) sonic_rows_table(rows, item, number);
            sonic_rows_add(rows, table, bar + 1, item);
        } else if (depth < WRAPPED_MOST && wraps(item)) {
            add_map(rows, item, depth + 1);
        } else if (item->type == TREE_MAP) {
            sonic_rows_table(rows, item, number);
            for (const struct tree *row = item->first; row; row = row->next)
                if (row->type == TREE_MAP) sonic_rows_add(rows, item->key, row->key, row);
        }
    }
}

static int by_table(const void *a, const void *b)
{
    const struct sonic_row *x = a, *y = b;
    int order = strcmp(x->table, y->table);

    if (order == 0) order = strcmp(x->key, y->key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

struct twin {
    const struct tree *tree;
    uint32_t map, index;
};

static int by_twin(const void *a, const void *b)
{
    const struct twin *x = a, *y = b;
    int order = (x->map > y->map) - (x->map < y->map);

    if (order == 0) order = strcmp(x->tree->key, y->tree->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* A program that reads JSON keeps the last of two tables of one name, with no row of the first. */
static void drop_replaced(struct sonic_rows *rows)
{
    struct twin *twin = ARENA_NEW(rows->arena, struct twin, rows->tables + 1);
    uint32_t kept = 0;

    for (uint32_t t = 0; t < rows->tables; t++)
        twin[t] = (struct twin){rows->table[t].tree, rows->table[t].map, t};
    qsort(twin, rows->tables, sizeof(*twin), by_twin);
    for (uint32_t t = 0; t + 1 < rows->tables; t++)
        if (twin[t].map == twin[t + 1].map && strcmp(twin[t].tree->key, twin[t + 1].tree->key) == 0 &&
            !strchr(twin[t].tree->key, '|')) /* flat tables are rows, and compared as such */
            rows->table[twin[t].index].replaced = twin[t + 1].tree->key_at.line;
    for (uint32_t r = 0; r < rows->count; r++)
        if (!rows->table[rows->row[r].of].replaced) rows->row[kept++] = rows->row[r];
    rows->count = kept;
}

static void blank_comments(char *text)
{
    for (char *at = text; *at;) {
        char *end = strchrnul(at, '\n');
        char *first = at + strspn(at, " \t");
        if (first[0] == '/' && first[1] == '/') memset(first, ' ', (size_t)(end - first));
        at = *end ? end + 1 : end;
    }
}

int sonic_rows_read(const struct config_text *text, struct arena *arena, struct sonic_rows *ret)
{
    struct sonic_rows rows = {.arena = arena};
    char *copy = arena_strndup(arena, text->text, text->length);
    struct tree *root = NULL;

    blank_comments(copy);
    int result = tree_parse_foreign(copy, text->length, arena, &root, text->errors);
    if (result < 0) return result;
    if (root->type == TREE_LIST && root->first && sonic_is_patch(root->first)) {
        sonic_rows_patch(&rows, root);
    } else if (root->type == TREE_MAP) {
        add_map(&rows, root, 0);
    } else if (root->type == TREE_LIST) {
        for (const struct tree *item = root->first; item; item = item->next)
            if (item->type == TREE_MAP) add_map(&rows, item, 0);
    }
    drop_replaced(&rows);
    if (!rows.count) {
        fabric_errors_add(text->errors, root->at,
                          "not a config_db.json: tables are expected, as in {\"PORT\": {\"Ethernet0\": {…}}}");
        return -EINVAL;
    }
    rows.sorted = ARENA_NEW(arena, struct sonic_row, rows.count);
    memcpy(rows.sorted, rows.row, rows.count * sizeof(*rows.row));
    qsort(rows.sorted, rows.count, sizeof(*rows.sorted), by_table);
    *ret = rows;
    return 0;
}

/* How many of the sorted rows are not behind (table, key); NULL: of all of the table's. */
static uint32_t rows_to(const struct sonic_rows *rows, const char *table, const char *key)
{
    uint32_t low = 0, high = rows->count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp(rows->sorted[mid].table, table);
        if (order == 0 && key) order = strcmp(rows->sorted[mid].key, key);
        if (order <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct sonic_row *sonic_row_find(const struct sonic_rows *rows, const char *table, const char *key)
{
    uint32_t to = rows_to(rows, table, key);
    const struct sonic_row *row = to ? &rows->sorted[to - 1] : NULL;

    return row && strcmp(row->table, table) == 0 && strcmp(row->key, key) == 0 ? row : NULL;
}

bool sonic_has_table(const struct sonic_rows *rows, const char *table)
{
    uint32_t to = rows_to(rows, table, NULL);

    return to && strcmp(rows->sorted[to - 1].table, table) == 0;
}

const char *sonic_field(const struct sonic_row *row, const char *name, uint32_t *ret_line)
{
    const struct tree *value = NULL;

    for (const struct tree *item = row ? row->fields->first : NULL; item; item = item->next)
        if (strcmp(item->key, name) == 0) value = item; /* given twice, the last counts */
    if (!value || value->type != TREE_SCALAR) return NULL;
    if (ret_line) *ret_line = value->key_at.line;
    return value->text;
}

const char *sonic_reference(struct arena *arena, const char *text)
{
    if (text[0] != '[') return text;
    const char *bar = strchr(text, '|');
    const char *from = bar ? bar + 1 : text + 1;
    return arena_strndup(arena, from, strcspn(from, "]"));
}
