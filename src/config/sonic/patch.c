/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A patch of CONFIG_DB (RFC 6902, as `config apply-patch` takes it) into rows: [{"op": "add", "path":
 * "/PORT_QOS_MAP/Ethernet0", "value": {…}}].  A path is a table, a row of it or a field of a row, perhaps behind the
 * name of a database (`/asic0/…`); `~1` stands for a slash and `~0` for a tilde.  What is taken away is counted.
 */
#include <errno.h>
#include <string.h>

#include "config/sonic/rows.h"

#define NEAR 64 /* rows that are looked at for another field of the same one */

static const char *part_of(struct arena *arena, const char **path)
{
    size_t length = strcspn(*path, "/");
    char *part = arena_strndup(arena, *path, length), *to = part;

    *path += length + ((*path)[length] == '/');
    for (const char *from = part; part && *from; from++) {
        bool escaped = *from == '~' && (from[1] == '0' || from[1] == '1');
        *to++ = escaped ? (from[1] == '1' ? '/' : '~') : *from;
        from += escaped;
    }
    if (part) *to = 0;
    return part;
}

static struct tree *new_map(struct arena *arena, const char *key, struct fabric_at at)
{
    struct tree *map = ARENA_NEW(arena, struct tree, 1);

    if (map) *map = (struct tree){.type = TREE_MAP, .key = key, .at = at, .key_at = at, .text = ""};
    return map;
}

static void append(struct tree *map, struct tree *child)
{
    if (map->last)
        map->last->next = child;
    else
        map->first = child;
    map->last = child;
    map->count++;
}

/* A field of a row, with those of the same row that were just set. */
static int add_field(struct sonic_rows *rows, const char *table, const char *key, const char *field,
                     const struct tree *value, struct fabric_at at)
{
    struct tree *child = ARENA_NEW(rows->arena, struct tree, 1);

    if (!child) return -ENOMEM;
    *child = *value;
    child->key = field;
    child->key_at = at;
    child->next = NULL;
    for (uint32_t back = 0; back < NEAR && back < rows->count; back++) {
        struct sonic_row *row = &rows->row[rows->count - 1 - back];
        if (!row->made || strcmp(row->table, table) != 0 || strcmp(row->key, key) != 0) continue;
        append(row->made, child);
        return 0;
    }
    struct tree *fields = new_map(rows->arena, key, at);
    if (!fields) return -ENOMEM;
    append(fields, child);
    int result = sonic_rows_add(rows, table, key, fields);
    if (result == 0) rows->row[rows->count - 1].made = fields;
    return result;
}

static int add_operation(struct sonic_rows *rows, const struct tree *item)
{
    const struct tree *path = tree_get(item, "path"), *op = tree_get(item, "op"), *value = tree_get(item, "value");
    const char *at = path->text + (path->text[0] == '/');
    int result = 0;

    if (!value || (strcmp(op->text, "add") != 0 && strcmp(op->text, "replace") != 0)) {
        if (strcmp(op->text, "test") != 0 && !rows->removed++) rows->removed_line = path->key_at.line;
        return 0;
    }
    const char *table = part_of(rows->arena, &at);
    if (table && !sonic_table_name(table) && *at) table = part_of(rows->arena, &at); /* a database's name */
    const char *key = *at ? part_of(rows->arena, &at) : NULL, *field = *at ? part_of(rows->arena, &at) : NULL;
    if (!table) return -ENOMEM;
    struct tree *head = new_map(rows->arena, table, path->key_at);
    if (!head) return -ENOMEM;
    if (!rows->tables || strcmp(rows->table[rows->tables - 1].tree->key, table) != 0)
        result = sonic_rows_table(rows, head, rows->maps++);
    if (result < 0) return result;
    if (key && field) return value->type == TREE_SCALAR ? add_field(rows, table, key, field, value, path->key_at) : 0;
    if (value->type != TREE_MAP) return 0;
    if (!key) {
        for (const struct tree *row = value->first; row && result == 0; row = row->next)
            if (row->type == TREE_MAP) result = sonic_rows_add(rows, table, row->key, row);
        return result;
    }
    result = sonic_rows_add(rows, table, key, value);
    if (result == 0) rows->row[rows->count - 1].line = path->key_at.line;
    return result;
}

bool sonic_is_patch(const struct tree *item)
{
    const struct tree *path = tree_get(item, "path"), *op = tree_get(item, "op");

    return path && op && path->type == TREE_SCALAR && op->type == TREE_SCALAR;
}

int sonic_rows_patch(struct sonic_rows *rows, const struct tree *list)
{
    int result = 0;

    rows->patch = true;
    for (const struct tree *item = list->first; item && result == 0; item = item->next)
        if (sonic_is_patch(item)) result = add_operation(rows, item);
    return result;
}
