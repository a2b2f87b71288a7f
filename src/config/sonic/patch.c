/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A patch of CONFIG_DB (RFC 6902, as `config apply-patch` takes it) into rows: [{"op": "add", "path":
 * "/PORT_QOS_MAP/Ethernet0", "value": {…}}].  A path is a table, a row of it or a field of a row, perhaps behind the
 * name of a database (`/asic0/…`); `~1` stands for a slash and `~0` for a tilde.  What is taken away is counted.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "config/sonic/rows.h"

struct patch { /* rows, and where the last of each table and key is */
    struct sonic_rows *rows;
    uint32_t *slot; /* a row's index and one; 0: free */
    uint32_t slots;
};

static uint32_t *slot_of(const struct patch *patch, const char *table, const char *key)
{
    uint64_t hash = hash_text(hash_text(hash_text(HASH_BEGIN, table), "|"), key);

    for (uint32_t at = (uint32_t)(hash ^ hash >> 29);; at++) {
        uint32_t *slot = &patch->slot[at & (patch->slots - 1)];
        const struct sonic_row *row = *slot ? &patch->rows->row[*slot - 1] : NULL;
        if (!row || (strcmp(row->table, table) == 0 && strcmp(row->key, key) == 0)) return slot;
    }
}

static void add_row(struct patch *patch, const char *table, const char *key, const struct tree *fields)
{
    struct sonic_rows *rows = patch->rows;

    sonic_rows_add(rows, table, key, fields);
    if (rows->count * 2 > patch->slots) {
        patch->slots = patch->slots ? patch->slots * 2 : 256;
        patch->slot = ARENA_NEW(rows->arena, uint32_t, patch->slots);
        memset(patch->slot, 0, patch->slots * sizeof(*patch->slot));
        for (uint32_t r = 0; r < rows->count; r++)
            *slot_of(patch, rows->row[r].table, rows->row[r].key) = r + 1;
    }
    *slot_of(patch, table, key) = rows->count;
}

static const char *part_of(struct arena *arena, const char **path)
{
    size_t length = strcspn(*path, "/");
    char *part = arena_strndup(arena, *path, length), *to = part;

    *path += length + ((*path)[length] == '/');
    for (const char *from = part; *from; from++) {
        bool escaped = *from == '~' && (from[1] == '0' || from[1] == '1');
        *to++ = escaped ? (from[1] == '1' ? '/' : '~') : *from;
        from += escaped;
    }
    *to = 0;
    return part;
}

static struct tree *new_map(struct arena *arena, const char *key, struct fabric_at at)
{
    struct tree *map = ARENA_NEW(arena, struct tree, 1);

    *map = (struct tree){.type = TREE_MAP, .key = key, .at = at, .key_at = at, .text = ""};
    return map;
}

/* The row's fields, to be added to: those that the file has stay as they are. */
static struct tree *made_of(struct arena *arena, struct sonic_row *row)
{
    if (row->made) return row->made;
    struct tree *made = new_map(arena, row->key, row->fields->key_at);
    for (const struct tree *field = row->fields->first; field; field = field->next) {
        struct tree *copy = ARENA_NEW(arena, struct tree, 1);
        *copy = *field;
        copy->next = NULL;
        tree_append(made, copy);
    }
    row->fields = row->made = made;
    return made;
}

/* A field, with all that was said of its row before; of one that is there already the last counts. */
static void add_field(struct patch *patch, const char *table, const char *key, const char *field,
                      const struct tree *value, struct fabric_at at)
{
    struct sonic_rows *rows = patch->rows;
    struct tree *child = ARENA_NEW(rows->arena, struct tree, 1);

    *child = *value;
    child->key = field;
    child->key_at = at;
    child->next = NULL;
    uint32_t there = patch->slots ? *slot_of(patch, table, key) : 0;
    if (there) {
        tree_append(made_of(rows->arena, &rows->row[there - 1]), child);
        return;
    }
    struct tree *fields = new_map(rows->arena, key, at);
    tree_append(fields, child);
    add_row(patch, table, key, fields);
    rows->row[rows->count - 1].made = fields;
}

static void add_operation(struct patch *patch, const struct tree *item)
{
    struct sonic_rows *rows = patch->rows;
    const struct tree *path = tree_get(item, "path"), *op = tree_get(item, "op"), *value = tree_get(item, "value");
    const char *at = path->text + (path->text[0] == '/');

    if (!value || (strcmp(op->text, "add") != 0 && strcmp(op->text, "replace") != 0)) {
        if (strcmp(op->text, "test") != 0 && !rows->removed++) rows->removed_line = path->key_at.line;
        return;
    }
    const char *table = part_of(rows->arena, &at);
    if (!sonic_table_name(table) && *at) table = part_of(rows->arena, &at); /* a database's name */
    const char *key = *at ? part_of(rows->arena, &at) : NULL, *field = *at ? part_of(rows->arena, &at) : NULL;
    struct tree *head = new_map(rows->arena, table, path->key_at);
    if (!rows->tables || strcmp(rows->table[rows->tables - 1].tree->key, table) != 0)
        sonic_rows_table(rows, head, rows->maps++);
    if (key && field) {
        if (value->type == TREE_SCALAR) add_field(patch, table, key, field, value, path->key_at);
    } else if (value->type == TREE_MAP && key) {
        add_row(patch, table, key, value);
        rows->row[rows->count - 1].line = path->key_at.line;
    } else if (value->type == TREE_MAP) {
        for (const struct tree *row = value->first; row; row = row->next)
            if (row->type == TREE_MAP) add_row(patch, table, row->key, row);
    }
}

bool sonic_is_patch(const struct tree *item)
{
    const struct tree *path = tree_get(item, "path"), *op = tree_get(item, "op");

    return path && op && path->type == TREE_SCALAR && op->type == TREE_SCALAR;
}

void sonic_rows_patch(struct sonic_rows *rows, const struct tree *list)
{
    struct patch patch = {.rows = rows};

    rows->patch = true;
    for (const struct tree *item = list->first; item; item = item->next)
        if (sonic_is_patch(item)) add_operation(&patch, item);
}
