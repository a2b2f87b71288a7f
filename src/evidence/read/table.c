/* SPDX-License-Identifier: Apache-2.0 */
/* Titles, rules and rows of tables of text. */
#include "evidence/read/table.h"

#include <ctype.h>
#include <string.h>

#include "evidence/read/suspect.h"

#define NOT_KNOWN 0xff
#define PAYLOAD 4096 /* bytes of the largest packet of RDMA */
#define ROW 8192     /* bytes of a row: a longer line is none */

static struct text_field trimmed(const char *at, size_t length)
{
    while (length && isspace((unsigned char)*at))
        at++, length--;
    while (length && isspace((unsigned char)at[length - 1]))
        length--;
    return (struct text_field){at, length};
}

static size_t know_titles(struct text_table *table)
{
    size_t length = strlen(table->titles), known = 0;
    unsigned priority = EVIDENCE_NO_PRIORITY;

    for (size_t i = 0; i < table->columns; i++) {
        size_t from = table->column[i].from, to = table->column[i].to;
        if (to > length) to = length;
        struct text_field title = trimmed(table->titles + (from < to ? from : to), from < to ? to - from : 0);
        table->column[i].is = NOT_KNOWN;
        for (uint8_t k = 0; table->layout[k].title && table->column[i].is == NOT_KNOWN; k++)
            if (field_like(&title, table->layout[k].title, &priority)) table->column[i].is = k;
        table->column[i].priority = (uint8_t)priority;
        known += table->column[i].is != NOT_KNOWN;
    }
    return known;
}

/* `single`: one blank separates titles, else two. */
static size_t take_titles(struct text_table *table, const struct text_column *layout, const char *line, bool single)
{
    size_t at = 0, length = strlen(line);

    table->layout = layout;
    table->columns = 0;
    table->ruled = false;
    table->left = false;
    if (length >= TABLE_TITLES) length = TABLE_TITLES - 1;
    memcpy(table->titles, line, length);
    table->titles[length] = 0;
    for (size_t i = 0; i < length; i++) /* tabs of a text that was pasted */
        if (table->titles[i] == '\t') table->titles[i] = ' ';
    while (table->columns < TABLE_COLUMNS) {
        while (at < length && table->titles[at] == ' ')
            at++;
        if (at == length) break;
        size_t end = at;
        while (end < length &&
               !(table->titles[end] == ' ' && (single || end + 1 == length || table->titles[end + 1] == ' ')))
            end++;
        table->column[table->columns].from = (uint16_t)at;
        table->column[table->columns++].to = (uint16_t)end;
        at = end;
    }
    return know_titles(table);
}

/* Columns as the titles stand: two blanks separate them. */
size_t table_titles(struct text_table *table, const struct text_column *layout, const char *line)
{
    size_t known = take_titles(table, layout, line, false);

    return known > 1 ? known : take_titles(table, layout, line, true); /* pasted from where blanks are one */
}

size_t table_titles_left(struct text_table *table, const struct text_column *layout, const char *line)
{
    size_t known = take_titles(table, layout, line, true);

    table->left = true;
    return known;
}

bool table_is_rule(const char *line, size_t groups)
{
    size_t seen = 0;

    for (const char *at = line; *at;) {
        size_t dashes = strspn(at, "-");
        if (dashes >= 2 || (dashes && at > line)) seen++;
        at += dashes;
        if (*at && *at != ' ' && *at != '\t' && *at != '+' && *at != '|') return false;
        if (*at) at++;
    }
    return seen >= groups;
}

/* The dashes say where columns begin and end, and where titles of two words do, unless there is one for each title. */
static void take_rule(struct text_table *table, const char *line)
{
    size_t at = 0, titles = table->columns;

    table->columns = 0;
    while (table->columns < TABLE_COLUMNS && line[at]) {
        size_t gap = strcspn(line + at, "-"), dashes = strspn(line + at + gap, "-");
        if (!dashes || at + gap + dashes > UINT16_MAX) break;
        table->column[table->columns].from = (uint16_t)(at + gap);
        table->column[table->columns++].to = (uint16_t)(at + gap + dashes);
        at += gap + dashes;
    }
    if (table->columns != titles) know_titles(table);
    table->ruled = true;
}

/* Whether nothing of the row stands between columns. */
static bool keeps_to_rule(const struct text_table *table, const char *line, size_t length)
{
    size_t at = 0;

    for (size_t i = 0; i < table->columns; at = table->column[i++].to)
        for (; at < table->column[i].from && at < length; at++)
            if (!isspace((unsigned char)line[at])) return false;
    for (; at < length; at++)
        if (!isspace((unsigned char)line[at])) return false;
    return true;
}

/* Where a cell begins: under its title, or before it where a word does (numbers stand to the right). */
static size_t left_edge(const struct text_table *table, const char *line, size_t length, size_t index)
{
    size_t at = index < table->columns ? table->column[index].from : length;

    if (at >= length) return length;
    while (index && at && !isspace((unsigned char)line[at]) && !isspace((unsigned char)line[at - 1]))
        at--;
    return at;
}

/* Cells that two blanks, or a tab, separate: where one has two words ("286.58 KB/s", "7.81e-10 (89%)"). */
static bool by_gaps(const struct text_table *table, const char *line, size_t index, struct text_field *cell)
{
    size_t count = 0;

    for (const char *at = line + strspn(line, " \t"); *at; at += strspn(at, " \t")) {
        size_t length = 0;
        while (at[length] && at[length] != '\t' &&
               !(at[length] == ' ' && (!at[length + 1] || isspace((unsigned char)at[length + 1]))))
            length++;
        if (count++ == index) *cell = (struct text_field){at, length};
        at += length;
    }
    return count == table->columns;
}

bool table_cell(const struct text_table *table, const char *line, size_t index, struct text_field *cell)
{
    size_t length = strlen(line);

    if (index >= table->columns) return false;
    if (table->ruled && keeps_to_rule(table, line, length)) {
        size_t from = table->column[index].from, to = table->column[index].to;
        if (to > length) to = length;
        *cell = trimmed(line + (from < to ? from : to), from < to ? to - from : 0);
        return true;
    }
    if (table->left) {
        size_t from = left_edge(table, line, length, index), to = left_edge(table, line, length, index + 1);
        *cell = trimmed(line + from, from < to ? to - from : 0);
        return true;
    }
    struct text_field word[TABLE_COLUMNS];
    if (field_split(line, word, TABLE_COLUMNS) != table->columns) return by_gaps(table, line, index, cell);
    *cell = word[index];
    return true;
}

size_t table_column(const struct text_table *table, const char *title)
{
    size_t i = 0;

    while (i < table->columns &&
           (table->column[i].is == NOT_KNOWN || strcmp(table->layout[table->column[i].is].title, title)))
        i++;
    return i;
}

static int priority_of(const struct text_field *cell, const char *const *prefixes)
{
    int number = -1;

    for (size_t i = 0; prefixes[i] && number < 0; i++)
        number = field_suffix(cell, prefixes[i]);
    return number;
}

/* The priority of the row; -1: the row is of none of the eight. */
static int row_priority(const struct text_table *table, const char *line)
{
    static const char *const queues[] = {"UC", "ALL", "VOQ", "", NULL}, *const priorities[] = {"PFC", "PG", "", NULL};
    struct text_field cell;

    for (size_t i = 0; i < table->columns; i++) {
        uint8_t is = table->column[i].is;
        if (is == NOT_KNOWN || table->layout[is].cell > TABLE_PRIORITY || table->layout[is].cell == TABLE_PORT)
            continue;
        if (!table_cell(table, line, i, &cell)) return -1;
        int number = priority_of(&cell, table->layout[is].cell == TABLE_QUEUE ? queues : priorities);
        return number < EVIDENCE_PRIORITIES ? number : -1;
    }
    return EVIDENCE_NO_PRIORITY;
}

static void set_list(struct reading *in, uint32_t port, const struct text_column *column, const struct text_field *cell)
{
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        evidence_set(in->evidence, port, p, column->counter, 0, &in->source);
    for (size_t i = 0; i < cell->length; i++)
        if (cell->at[i] >= '0' && cell->at[i] < '0' + EVIDENCE_PRIORITIES)
            evidence_set(in->evidence, port, (unsigned)(cell->at[i] - '0'), column->counter, 1, &in->source);
}

static void set_count(struct reading *in, uint32_t port, unsigned priority, const struct text_column *column,
                      uint64_t number)
{
    if (column->scale && __builtin_mul_overflow(number, column->scale, &number)) return;
    if (column->cell == TABLE_WEAK)
        evidence_offer(in->evidence, port, priority, column->counter, number, &in->source);
    else
        evidence_set(in->evidence, port, priority, column->counter, number, &in->source);
}

static void set_cell(struct reading *in, uint32_t port, unsigned priority, const struct text_column *column,
                     const struct text_field *cell, bool in_words)
{
    uint64_t number;
    double real;

    switch ((enum table_cell)column->cell) {
    case TABLE_COUNT:
    case TABLE_WEAK:
        if (field_number(cell, &number)) set_count(in, port, priority, column, number);
        break;
    case TABLE_BYTES:
        if (field_bytes(cell, &number))
            evidence_set(in->evidence, port, priority, column->counter, (number + PAYLOAD - 1) / PAYLOAD, &in->source);
        break;
    case TABLE_REAL:
        if (field_real(cell, &real))
            evidence_set_real(in->evidence, port, priority, column->counter, real, &in->source);
        break;
    case TABLE_RATE:
        if (field_rate(cell, &number)) evidence_set(in->evidence, port, priority, column->counter, number, &in->source);
        break;
    case TABLE_STATE:
        if (in_words && field_state(cell, &number)) /* an event of its own says why */
            evidence_set(in->evidence, port, priority, column->counter, number, &in->source);
        else
            reading_state(in, port, cell);
        break;
    case TABLE_ADMIN:
        if (field_state(cell, &number) && !number)
            reading_event(in, EVIDENCE_EVENT_PORT_SHUT, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
        break;
    case TABLE_REASON:
        if (cell->length && !field_is(cell, "--"))
            reading_event(in, EVIDENCE_EVENT_PORT_DISABLED, port, EVIDENCE_NO_PRIORITY, NULL, NULL, cell);
        break;
    case TABLE_ALIAS:
        reading_alias(in, port, cell);
        break;
    case TABLE_PEER:
        reading_description(in, port, cell);
        break;
    case TABLE_LIST:
        set_list(in, port, column, cell);
        break;
    case TABLE_PORT:
    case TABLE_QUEUE:
    case TABLE_PRIORITY:
        break;
    }
}

/* Whether it has a column that says why ports are disabled. */
static bool gives_reasons(const struct text_table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].is != NOT_KNOWN && table->layout[table->column[i].is].cell == TABLE_REASON) return true;
    return false;
}

/* A column that the layout does not have. */
static void suspect_cell(struct reading *in, const struct text_table *table, size_t i, const struct text_field *cell)
{
    size_t from = table->column[i].from, to = table->column[i].to, length = strlen(table->titles);
    uint64_t number;

    if (to > length) to = length;
    if (from < to && field_number(cell, &number)) suspect_number(in, number, table->titles + from, to - from);
}

bool table_line(struct reading *in, struct text_table *table, const char *line)
{
    struct text_field name, cell;
    size_t key = 0;
    uint32_t port;

    if (!table->layout || strnlen(line, ROW + 1) > ROW) return false;
    if (!table->left && table_is_rule(line, 2)) {
        if (table->ruled) { /* of another table, whose titles nobody knows */
            table->layout = NULL;
            table->columns = 0;
        } else {
            take_rule(table, line);
        }
        return true;
    }
    while (key < table->columns &&
           (table->column[key].is == NOT_KNOWN || table->layout[table->column[key].is].cell != TABLE_PORT))
        key++;
    if (key == table->columns)
        name = field_of(in->hint);
    else if (!table_cell(table, line, key, &name))
        return false;
    if (!field_is_port(&name)) return field_is_interface(&name);
    int priority = row_priority(table, line);
    if (priority < 0) return true;
    if ((port = reading_port(in, &name)) == EVIDENCE_NONE) return true;
    for (size_t i = 0; i < table->columns; i++) {
        uint8_t is = table->column[i].is, own = table->column[i].priority;
        if (i == key || !table_cell(table, line, i, &cell)) continue;
        if (is == NOT_KNOWN) {
            suspect_cell(in, table, i, &cell);
            continue;
        }
        set_cell(in, port, own == EVIDENCE_NO_PRIORITY ? (unsigned)priority : own, &table->layout[is], &cell,
                 gives_reasons(table));
    }
    return true;
}

bool table_row_alone(struct reading *in, const struct text_column *layout, const char *titles, const char *line)
{
    struct text_table table;

    table_titles(&table, layout, titles);
    return table_line(in, &table, line);
}
