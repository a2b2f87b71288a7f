/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON patch (RFC 6902) that leads SONiC's running tables to the approved ones.
 *
 * Tables that refer to each other go together: a drift of marking concerns WRED_PROFILE, SCHEDULER and QUEUE, for names
 * of profiles are given anew.  Rows of ports are made as approved; rows of profiles that nothing approved uses stay.
 * Of PORT and of the device only the fields that are approved are touched.
 */
#include <errno.h>
#include <string.h>

#include "config/fix.h"
#include "config/sonic/sonic_int.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"

#define POINTER_BYTES 512

struct patch {
    struct sonic_rows approved, running;
    const struct fix *fix;
    FILE *to;
    bool any; /* an operation was written */
};

/* --- rows --- */

/* A port of the approved switch that the row begins with; GLOBAL belongs to the switch itself. */
static bool of_approved_port(const struct patch *patch, const char *key)
{
    char name[FABRIC_NAME];
    size_t length = strcspn(key, "|");

    if (strcmp(key, "GLOBAL") == 0) return true;
    if (length >= sizeof(name)) return false;
    snprintf(name, sizeof(name), "%.*s", (int)length, key);
    return sonic_row_find(&patch->approved, "PORT", name) != NULL;
}

/* --- operations --- */

/* Control characters, those of 0xc2 0x80..0x9f among them, are escaped: they would move a terminal's cursor. */
static void text_json(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(to, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(to, "\\u%04x", *c);
        else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            fprintf(to, "\\u%04x", *++c);
        else
            fputc(*c, to);
    }
    fputc('"', to);
}

static const char *pointer(char buf[POINTER_BYTES], const char *table, const char *key, const char *field)
{
    const char *part[] = {table, key, field};
    size_t used = 0;

    for (int i = 0; i < 3 && part[i]; i++) {
        used += (size_t)snprintf(buf + used, POINTER_BYTES - used, "/");
        for (const char *c = part[i]; *c && used + 4 < POINTER_BYTES; c++) {
            if (*c == '~' || *c == '/')
                used += (size_t)snprintf(buf + used, POINTER_BYTES - used, *c == '~' ? "~0" : "~1");
            else
                buf[used++] = *c;
        }
        buf[used] = 0;
    }
    return buf;
}

static void begin(struct patch *patch, const char *op, const char *path)
{
    fprintf(patch->to, "%s  {\"op\": \"%s\", \"path\": ", patch->any ? ",\n" : "", op);
    text_json(patch->to, path);
    patch->any = true;
}

static void remove_at(struct patch *patch, const char *table, const char *key, const char *field)
{
    char buf[POINTER_BYTES];

    begin(patch, "remove", pointer(buf, table, key, field));
    fputc('}', patch->to);
}

static void add_field(struct patch *patch, const struct sonic_row *row, const struct tree *field)
{
    char buf[POINTER_BYTES];

    begin(patch, "add", pointer(buf, row->table, row->key, field->key));
    fputs(", \"value\": ", patch->to);
    text_json(patch->to, field->text);
    fputc('}', patch->to);
}

static void row_value(FILE *to, const struct sonic_row *row)
{
    bool any = false;

    fputc('{', to);
    for (const struct tree *item = row->fields->first; item; item = item->next) {
        if (item->type != TREE_SCALAR) continue;
        fputs(any ? ", " : "", to);
        text_json(to, item->key);
        fputs(": ", to);
        text_json(to, item->text);
        any = true;
    }
    fputc('}', to);
}

/* A whole table, where the device has none. */
static void add_table(struct patch *patch, const struct sonic_known *table)
{
    char buf[POINTER_BYTES];
    bool any = false;

    begin(patch, "add", pointer(buf, table->name, NULL, NULL));
    fputs(", \"value\": {", patch->to);
    for (uint32_t r = 0; r < patch->approved.count; r++) {
        if (strcmp(patch->approved.row[r].table, table->name) != 0) continue;
        fputs(any ? ", " : "", patch->to);
        text_json(patch->to, patch->approved.row[r].key);
        fputs(": ", patch->to);
        row_value(patch->to, &patch->approved.row[r]);
        any = true;
    }
    fputs("}}", patch->to);
}

static void change_row(struct patch *patch, const struct sonic_known *table, const struct sonic_row *row)
{
    const struct sonic_row *now = sonic_row_find(&patch->running, row->table, row->key);
    char buf[POINTER_BYTES];

    if (!now) {
        begin(patch, "add", pointer(buf, row->table, row->key, NULL));
        fputs(", \"value\": ", patch->to);
        row_value(patch->to, row);
        fputc('}', patch->to);
        return;
    }
    for (const struct tree *item = row->fields->first; item; item = item->next) {
        const char *has = sonic_field(now, item->key, NULL);
        if (item->type == TREE_SCALAR && (!has || strcmp(has, item->text) != 0)) add_field(patch, row, item);
    }
    for (const struct tree *item = now->fields->first; item && table->how != SONIC_PARTLY; item = item->next)
        if (!sonic_field(row, item->key, NULL)) remove_at(patch, row->table, row->key, item->key);
}

static bool concerned(const struct patch *patch, const struct sonic_known *table)
{
    return table->families & patch->fix->families;
}

static void remove_rows(struct patch *patch, const struct sonic_known *table)
{
    for (uint32_t r = 0; r < patch->running.count; r++) {
        const struct sonic_row *row = &patch->running.row[r];
        if (strcmp(row->table, table->name) != 0 || sonic_row_find(&patch->approved, row->table, row->key)) continue;
        if (sonic_row_find(&patch->running, row->table, row->key)->order != row->order) continue; /* once is enough */
        if (of_approved_port(patch, row->key)) remove_at(patch, row->table, row->key, NULL);
    }
}

static void write_patch(struct patch *patch)
{
    fputs("[\n", patch->to);
    for (const struct sonic_known *table = sonic_known; table->name; table++)
        if (concerned(patch, table) && table->how == SONIC_OF_PORTS) remove_rows(patch, table);
    for (const struct sonic_known *table = sonic_known; table->name; table++) {
        if (!concerned(patch, table) || !sonic_has_table(&patch->approved, table->name)) continue;
        if (!sonic_has_table(&patch->running, table->name)) {
            add_table(patch, table);
            continue;
        }
        for (uint32_t r = 0; r < patch->approved.count; r++) {
            const struct sonic_row *row = &patch->approved.row[r];
            if (strcmp(row->table, table->name) == 0) change_row(patch, table, row);
        }
    }
    fputs(patch->any ? "\n]\n" : "]\n", patch->to);
}

static int read_rows(const char *text, struct arena *arena, struct sonic_rows *ret)
{
    struct fabric_errors errors = {0};
    struct config_text in = {.path = "-", .text = text, .length = strlen(text), .errors = &errors};

    return sonic_rows_read(&in, arena, ret);
}

int sonic_fix(const struct fix *fix)
{
    struct patch patch = {.fix = fix, .to = fix->to};
    struct arena arena;

    arena_init_or_end(&arena, (size_t)1 << 30);
    int result = read_rows(fix->approved, &arena, &patch.approved);
    if (result == 0) result = read_rows(fix->running, &arena, &patch.running);
    if (result == 0) write_patch(&patch);
    arena_release(&arena);
    return result;
}
