/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a running text, edited, and the commands that do the same on its device.
 */
#include "config/mend.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

const char *mend_words(const char *line)
{
    return line + strspn(line, " \t");
}

uint32_t mend_indent(const char *line)
{
    return (uint32_t)strspn(line, " \t");
}

bool mend_says(const char *line, const char *with)
{
    return strncmp(mend_words(line), with, strlen(with)) == 0;
}

static const char *without_no(const char *statement)
{
    statement = mend_words(statement);
    return strncmp(statement, "no ", 3) == 0 ? statement + 3 : statement;
}

size_t mend_about(const char *statement)
{
    size_t end = strcspn(statement, " ");

    for (size_t at = 0; statement[at];) {
        size_t length = strcspn(statement + at, " ");
        bool last = !statement[at + length];
        if (at && (last || strcspn(statement + at, "0123456789") < length)) return end;
        end = at + length;
        at = end + !last;
    }
    return end;
}

bool mend_alike(const char *one, const char *other)
{
    static const char *const lists[] = {"match ", "qos map ", "priority-flow-control priority ", NULL};

    one = without_no(one);
    other = without_no(other);
    for (int i = 0; lists[i]; i++)
        if (strncmp(one, lists[i], strlen(lists[i])) == 0) return false;
    size_t a = mend_about(one), b = mend_about(other), length = a < b ? a : b;
    return strncmp(one, other, length) == 0 && strchr(" ", one[length]) && strchr(" ", other[length]);
}

uint32_t mend_parent(const struct mend_text *text, uint32_t line)
{
    uint32_t indent = mend_indent(text->line[line]);

    if (text->form != MEND_BLOCKS || indent == 0) return UINT32_MAX;
    while (line-- > 0) {
        const char *above = text->line[line];
        if (*mend_words(above) && *mend_words(above) != '!' && mend_indent(above) < indent) return line;
    }
    return UINT32_MAX;
}

uint64_t mend_numbers(const char *list)
{
    uint64_t bits = 0;

    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long low = strtoul(list, &end, 10), high = low;
        if (*end == '-') high = strtoul(end + 1, &end, 10);
        for (; low <= high && low < 64; low++)
            bits |= 1ull << low;
        list = end + (*end == ',' || *end == ' ');
    }
    return bits;
}

const char *mend_list(uint64_t bits, const char *between, char buf[MEND_LIST])
{
    size_t used = 0;

    buf[0] = 0;
    for (unsigned i = 0; i < 64; i++)
        if (bits >> i & 1) used += (size_t)snprintf(buf + used, MEND_LIST - used, "%s%u", used ? between : "", i);
    return buf;
}

/* --- reading --- */

void mend_line(struct mend_text *io, const char *line, size_t length, uint32_t number)
{
    uint32_t room = io->room;

    ARENA_ROOM(io->arena, io->line, io->count, room);
    ARENA_ROOM(io->arena, io->number, io->count, io->room);
    while (length && strchr(" \t\r", line[length - 1]))
        length--;
    io->line[io->count] = arena_strndup(io->arena, line, length);
    io->number[io->count++] = number;
}

/* Statements in braces as `set` lines. */
struct braces {
    struct mend_text *io;
    char words[8192]; /* of the blocks that are open, and of the statement */
    size_t used, open[64];
    unsigned depth;
    uint32_t begun; /* the line of the statement's first word */
    bool full;      /* a word had no room */
};

static void brace_word(struct braces *braces, const char *word, size_t length, uint32_t number)
{
    size_t start = braces->depth ? braces->open[braces->depth - 1] : 0;

    if (braces->used == start) braces->begun = number;
    braces->full = braces->full || braces->used + length + 2 > sizeof(braces->words);
    if (braces->full) return;
    braces->words[braces->used++] = ' ';
    memcpy(braces->words + braces->used, word, length);
    braces->used += length;
}

/* A line of Junos; one with a list at its end is a line for each member. */
static void add_set(struct mend_text *io, const char *line, size_t length, uint32_t number)
{
    char one[8200];
    const char *list = memmem(line, length, " [ ", 3);

    if (!list || line[length - 1] != ']') {
        mend_line(io, line, length, number);
        return;
    }
    for (const char *word = list + 3; word < line + length - 1;) {
        size_t size = strcspn(word, " ]");
        int used = snprintf(one, sizeof(one), "%.*s %.*s", (int)(list - line), line, (int)size, word);
        if (size && used > 0 && (size_t)used < sizeof(one)) mend_line(io, one, (size_t)used, number);
        word += size + 1;
    }
}

static void brace_end(struct braces *braces)
{
    char line[sizeof(braces->words) + 8];
    size_t start = braces->depth ? braces->open[braces->depth - 1] : 0;

    if (braces->used > start) {
        int length = snprintf(line, sizeof(line), "set%.*s", (int)braces->used, braces->words);
        add_set(braces->io, line, (size_t)length, braces->begun);
    }
    braces->used = start;
}

static bool read_braces(struct mend_text *io, const char *text)
{
    struct braces *braces = arena_alloc(io->arena, 1, sizeof(*braces), _Alignof(struct braces));
    uint32_t number = 1;

    braces->io = io;
    for (const char *at = text; *at;) {
        size_t length = 1;
        if (*at == '#' || strncmp(at, "/*", 2) == 0) {
            const char *end = *at == '#' ? strchr(at, '\n') : strstr(at, "*/");
            length = end ? (size_t)(end - at) + (*at == '#' ? 0 : 2) : strlen(at);
        } else if (*at == '{') {
            if (braces->depth == 64) return false;
            braces->open[braces->depth++] = braces->used;
        } else if (*at == '}') {
            if (!braces->depth--) return false;
            braces->used = braces->depth ? braces->open[braces->depth - 1] : 0;
        } else if (*at == ';') {
            brace_end(braces);
        } else if (!strchr(" \t\r\n", *at)) {
            const char *quote = *at == '"' ? strchr(at + 1, '"') : NULL;
            length = quote ? (size_t)(quote - at) + 1 : strcspn(at, " \t\r\n{};");
            brace_word(braces, at, length, number);
        }
        for (size_t i = 0; i < length; i++)
            number += at[i] == '\n';
        at += length;
    }
    return !braces->full;
}

static bool has_controls(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && !strchr("\n\r\t", *text)) || *text == 127) return true;
    return false;
}

bool mend_read(struct mend_text *ret, enum mend_form form, const char *text, struct arena *arena)
{
    uint32_t number = 1, sets = 0;

    *ret = (struct mend_text){.arena = arena, .form = form};
    if (has_controls(text)) return false;
    if (form == MEND_ROWS) return mend_read_rows(ret, text);
    if (form == MEND_SCRIPT && strncmp(text, "#!", 2) != 0) return false;
    for (const char *line = text; *line; number++) {
        size_t length = strcspn(line, "\n");
        sets += strncmp(line, form == MEND_NV ? "nv set " : "set ", form == MEND_NV ? 7 : 4) == 0;
        if (form == MEND_SET)
            add_set(ret, line, length, number);
        else
            mend_line(ret, line, length, number);
        line += length + (line[length] == '\n');
    }
    if (form == MEND_NV) return sets > 0;
    if (form != MEND_SET || sets || !strchr(text, '{')) return form != MEND_SET || sets;
    ret->count = 0;
    return read_braces(ret, text);
}

/* The words that name an object that others apply: `qos profile ROCELAB`; 0: the line names none. */
static size_t names(const char *line)
{
    static const char *const kinds[] = {"class-map ",  "policy-map ", "qos profile ", "set class-of-service ",
                                        "nv set qos ", NULL};
    int k = 0;

    while (kinds[k] && strncmp(line, kinds[k], strlen(kinds[k])) != 0)
        k++;
    if (!kinds[k] || k < 3) return kinds[k] ? strlen(line) : 0;
    size_t length = strlen(kinds[k]) + strcspn(line + strlen(kinds[k]), " ");
    return line[length] ? length + 1 + strcspn(line + length + 1, " ") : length;
}

static bool has_row(const struct mend_text *text, const char *line, size_t row)
{
    for (uint32_t l = 0; l < text->count; l++)
        if (strncmp(text->line[l], line, row) == 0 && strchr("/ ", text->line[l][row])) return true;
    return false;
}

static bool has_rows(const char *seen, const char *running)
{
    struct mend_text ours, theirs;
    struct arena arena;

    arena_init_or_end(&arena, (size_t)1 << 30);
    bool all = mend_read(&theirs, MEND_ROWS, running, &arena) && mend_read(&ours, MEND_ROWS, seen, &arena);
    for (uint32_t l = 0; all && l < ours.count; l++)
        if (strstr(ours.line[l], "_MAP/") || strstr(ours.line[l], "WRED_PROFILE/") ||
            strstr(ours.line[l], "SCHEDULER/"))
            all = has_row(&theirs, ours.line[l], mend_row(ours.line[l]));
    arena_release(&arena);
    return all;
}

bool mend_is_ours(enum mend_form form, const char *seen, const char *running)
{
    bool any = false;

    if (form == MEND_ROWS) return has_rows(seen, running);
    if (form == MEND_SCRIPT) return strstr(running, "case \"${1-set}\" in") != NULL;

    for (const char *line = seen; *line; line += *line == '\n') {
        size_t end = strcspn(line, "\n"), length = names(line);
        bool there = false;
        if (length > end) length = end;
        for (const char *at = running; length && !there && (at = strstr(at, "\n")); at++)
            there = strncmp(at + 1, line, length) == 0;
        if (length && !there && strncmp(running, line, length) != 0) return false;
        any = any || length;
        line += end;
    }
    return any;
}

char *mend_whole(const struct mend_text *text)
{
    char *whole = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&whole, &length);

    if (text->form == MEND_ROWS) mend_whole_rows(text, to);
    for (uint32_t l = 0; text->form != MEND_ROWS && l < text->count; l++)
        fprintf(to, "%s\n", text->line[l]);
    fclose(to);
    return whole;
}

static void insert(struct mend_text *io, uint32_t at, const char *line)
{
    mend_line(io, "", 0, 0);
    memmove(&io->line[at + 1], &io->line[at], (io->count - 1 - at) * sizeof(*io->line));
    memmove(&io->number[at + 1], &io->number[at], (io->count - 1 - at) * sizeof(*io->number));
    io->line[at] = line;
    io->number[at] = 0;
}

void mend_apply(struct mend_text *io, const struct mend_edit *edit)
{
    uint32_t at = edit->at;

    if (edit->how == MEND_REPLACE) {
        io->line[at] = edit->text;
    } else if (edit->how == MEND_REMOVE) {
        io->count--;
        memmove(&io->line[at], &io->line[at + 1], (io->count - at) * sizeof(*io->line));
        memmove(&io->number[at], &io->number[at + 1], (io->count - at) * sizeof(*io->number));
    } else {
        for (const char *line = edit->text; *line;) {
            size_t end = strcspn(line, "\n");
            insert(io, ++at, arena_strndup(io->arena, line, end));
            line += end + (line[end] == '\n');
        }
    }
}

/* --- commands --- */

static uint32_t print_blocks(const struct mend_text *text, uint32_t block, FILE *to)
{
    if (block == UINT32_MAX) return 0;
    uint32_t depth = print_blocks(text, mend_parent(text, block), to);

    fprintf(to, "%*s%s\n", (int)(depth * 3), "", mend_words(text->line[block]));
    return depth + 1;
}

/* Of PFC that a port of EOS turns off, the bare words are no command. */
static void print_no(const char *statement, int indent, FILE *to)
{
    if (strcmp(statement, "no priority-flow-control") == 0)
        fprintf(to, "%*spriority-flow-control on\n", indent, "");
    else if (strncmp(statement, "no ", 3) == 0)
        fprintf(to, "%*s%s\n", indent, "", statement + 3);
    else
        fprintf(to, "%*sno %s\n", indent, "", statement);
}

/* What is new first: a class is at no moment without what both have. */
static void print_matches(const char *was, const char *is, int indent, FILE *to)
{
    size_t about = strcspn(is, "0123456789");
    uint64_t before = mend_numbers(was + about), after = mend_numbers(is + about);
    char list[MEND_LIST];

    if (after & ~before) fprintf(to, "%*s%.*s%s\n", indent, "", (int)about, is, mend_list(after & ~before, ",", list));
    if (before & ~after)
        fprintf(to, "%*sno %.*s%s\n", indent, "", (int)about, is, mend_list(before & ~after, ",", list));
}

static void print_block_edit(const struct mend_text *text, const struct mend_edit *edit, FILE *to)
{
    const char *line = text->line[edit->at];
    bool inside = edit->how == MEND_BEHIND && mend_indent(edit->text) > mend_indent(line);
    int indent = 3 * (int)print_blocks(text, inside ? edit->at : mend_parent(text, edit->at), to);

    if (edit->how == MEND_REMOVE)
        print_no(mend_words(line), indent, to);
    else if (edit->how == MEND_REPLACE && mend_says(line, "match "))
        print_matches(mend_words(line), mend_words(edit->text), indent, to);
    else
        fprintf(to, "%*s%s\n", indent, "", mend_words(edit->text));
}

static size_t before_last(const char *line)
{
    const char *last = strrchr(line, ' ');

    return last ? (size_t)(last - line) : strlen(line);
}

/* A list is set anew, for its order counts; a value replaces the other by itself. */
static void print_set_edit(const struct mend_text *text, const struct mend_edit *edit, FILE *to)
{
    const char *line = text->line[edit->at];
    size_t path = before_last(line);
    uint32_t members = 0;

    if (edit->how != MEND_REPLACE) {
        fprintf(to, edit->how == MEND_REMOVE ? "delete %s\n" : "set %s\n",
                (edit->how == MEND_REMOVE ? line : edit->text) + 4);
        return;
    }
    for (uint32_t l = 0; l < text->count; l++)
        members += before_last(text->line[l]) == path && strncmp(text->line[l], line, path) == 0;
    if (members > 1) fprintf(to, "delete %.*s\n", (int)path - 4, line + 4);
    if (members < 2) {
        fprintf(to, "%s\n", edit->text);
        return;
    }
    fprintf(to, "%.*s [", (int)path, line);
    for (uint32_t l = 0; l < text->count; l++)
        if (before_last(text->line[l]) == path && strncmp(text->line[l], line, path) == 0)
            fputs((l == edit->at ? edit->text : text->line[l]) + path, to);
    fputs(" ]\n", to);
}

/* A path and its value; the priorities of PFC are themselves parts of a path. */
static void print_nv_edit(const struct mend_text *text, const struct mend_edit *edit, FILE *to)
{
    const char *line = text->line[edit->at];
    bool key = strstr(line, " pfc ") && strstr(line, " switch-priority ");

    if (edit->how == MEND_REMOVE || (edit->how == MEND_REPLACE && key))
        fprintf(to, "nv unset %.*s\n", (int)(key ? strlen(line) : before_last(line)) - 7, line + 7);
    if (edit->how != MEND_REMOVE) fprintf(to, "%s\n", edit->text);
}

void mend_close(const struct mend_text *text, FILE *to)
{
    if (text->form == MEND_ROWS) fputs(text->printed ? "\n]\n" : "[]\n", to);
}

void mend_print(struct mend_text *text, const struct mend_edit *edit, FILE *to)
{
    if (text->form == MEND_ROWS)
        mend_print_rows(text, edit, text->printed++ == 0, to);
    else if (text->form == MEND_BLOCKS)
        print_block_edit(text, edit, to);
    else if (text->form == MEND_SCRIPT)
        fprintf(to, "%s\n", edit->text);
    else if (text->form == MEND_SET)
        print_set_edit(text, edit, to);
    else
        print_nv_edit(text, edit, to);
}
