/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and blocks of commands (NX-OS, EOS) that lead from what runs to what was approved.
 *
 * A statement is known by its block and its words.  Of the approved ones those are printed that the running text does
 * not have.  Outside of definitions (policies, profiles) the running fabric, written as we write, speaks too: what a
 * system leaves out of its text because it is the default is there all the same.  `no` goes before what the text has
 * within the same blocks and the approved one has not, if it belongs to what drifted; a statement that only gives
 * another value replaces the old one by itself.
 *
 * Where a definition that must change is not in the text under our name, the device calls its own otherwise.  Then ours
 * are written whole and applied, and what was applied before is taken off; its definition stays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "config/fix.h"

#define DEEP 8

struct statement {
    const char *text;
    uint64_t path; /* hash of the blocks around it and of itself */
    uint32_t parent, end;
    unsigned indent, depth;
    bool print, erase; /* to be set; to go */
    bool kept, lost;   /* a definition that is applied after this; that was, where it is taken off */
};

struct place {
    uint64_t path;
    uint32_t statement;
};

struct name { /* of a definition, with the blank before it */
    const char *text;
    uint32_t statement;
};

/* Texts from devices may have a hundred thousand lines of any kind: nothing looks for one among all of them. */
struct block_text {
    struct statement *statement;
    uint32_t count, names;
    struct place *sorted;
    struct name *name; /* in order */
    struct arena *arena;
};

#define NONE UINT32_MAX

static uint64_t path_of(uint64_t parent, const char *text)
{
    return hash_bytes(parent ^ HASH_BEGIN, text, strlen(text)) * 31 + 7;
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return a < b ? -1 : a > b;
}

static int by_path(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->path != b->path) return a->path < b->path ? -1 : 1;
    return a->statement < b->statement ? -1 : a->statement > b->statement;
}

static int by_name(const void *x, const void *y)
{
    const struct name *a = x, *b = y;
    int order = strcmp(a->text, b->text);

    return order ? order : a->statement < b->statement ? -1 : a->statement > b->statement;
}

/* The first statement of this path; NONE: there is none. */
static uint32_t find_path(const struct block_text *text, uint64_t path)
{
    uint32_t low = 0, high = text->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (text->sorted[middle].path < path)
            low = middle + 1;
        else
            high = middle;
    }
    return low < text->count && text->sorted[low].path == path ? text->sorted[low].statement : NONE;
}

static bool has(const struct block_text *text, uint64_t path)
{
    return find_path(text, path) != NONE;
}

/* Words with single spaces; NULL: nothing, a comment, or the end. */
static const char *trimmed(struct arena *arena, const char *line, size_t length)
{
    char *copy = arena_alloc(arena, length + 1, 1, 1), *to = copy;

    for (size_t i = 0; i < length; i++) {
        bool blank = line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
        if (blank && (to == copy || to[-1] == ' ')) continue;
        *to++ = blank ? ' ' : line[i];
    }
    while (to > copy && to[-1] == ' ')
        to--;
    *to = 0;
    return copy[0] && copy[0] != '!' && strcmp(copy, "end") != 0 && strcmp(copy, "exit") != 0 ? copy : NULL;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* A block that has a name of its own: others apply it. */
static bool is_definition(const struct statement *as)
{
    static const char *const kinds[] = {"class-map ", "policy-map ", "qos profile ", NULL};

    for (int k = 0; as->parent == NONE && kinds[k]; k++)
        if (starts(as->text, kinds[k])) return true;
    return false;
}

static int read_blocks(const char *from, struct arena *arena, struct block_text *ret)
{
    uint32_t lines = 1, open[DEEP], depth = 0;

    for (const char *c = from; *c; c++)
        lines += *c == '\n';
    *ret = (struct block_text){.statement = ARENA_NEW(arena, struct statement, lines),
                               .sorted = ARENA_NEW(arena, struct place, lines),
                               .name = ARENA_NEW(arena, struct name, lines),
                               .arena = arena};
    for (const char *line = from; *line;) {
        size_t length = strcspn(line, "\n"), indent = strspn(line, " \t");
        const char *text = trimmed(arena, line, length);
        line += length + (line[length] == '\n');
        if (!text) continue;
        while (depth && ret->statement[open[depth - 1]].indent >= indent)
            depth--;
        uint32_t parent = depth ? open[depth - 1] : NONE, own = ret->count++;
        uint64_t path = path_of(parent == NONE ? 0 : ret->statement[parent].path, text);
        ret->statement[own] = (struct statement){
            .text = text, .path = path, .parent = parent, .end = own + 1, .indent = (unsigned)indent, .depth = depth};
        ret->sorted[own] = (struct place){path, own};
        if (is_definition(&ret->statement[own]) && strrchr(text, ' '))
            ret->name[ret->names++] = (struct name){strrchr(text, ' '), own};
        for (uint32_t up = parent; up != NONE; up = ret->statement[up].parent)
            ret->statement[up].end = own + 1;
        if (depth < DEEP) open[depth++] = own;
    }
    if (ret->count) qsort(ret->sorted, ret->count, sizeof(*ret->sorted), by_path);
    if (ret->names) qsort(ret->name, ret->names, sizeof(*ret->name), by_name);
    return 0;
}

/* --- what replaces what --- */

static bool has_digit(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (word[i] >= '0' && word[i] <= '9') return true;
    return false;
}

/*
 * A statement without what may differ between two of which one takes the other's place, or undoes it: the same command
 * with another last word, or other words with numbers.
 */
static uint64_t shape_of(uint64_t block, const char *text)
{
    uint64_t shape = path_of(block, "");

    if (starts(text, "no ")) text += 3;
    while (*text) {
        size_t length = strcspn(text, " ");
        bool last = !text[length], number = has_digit(text, length);
        shape = hash_bytes(shape, last ? "*" : number ? "#" : text, last || number ? 1 : length);
        shape = hash_bytes(shape, " ", 1);
        text += length + !last;
    }
    return shape;
}

/* Lists only grow. */
static bool is_listed(const char *text)
{
    if (starts(text, "no ")) text += 3;
    return starts(text, "match ") || starts(text, "priority-flow-control priority ");
}

static bool applies(const char *text)
{
    return starts(text, "service-policy ") || starts(text, "service-profile ");
}

static unsigned families_of(const char *statement)
{
    static const struct fix_word words[] = {
        {"priority-flow-control watch-dog", FIX_WATCHDOG},
        {"priority-flow-control watch-dog-interval", FIX_WATCHDOG},
        {"priority-flow-control pause watchdog", FIX_WATCHDOG},
        {"priority-flow-control auto-restore", FIX_WATCHDOG},
        {"priority-flow-control fixed-restore", FIX_WATCHDOG},
        {"priority-flow-control", FIX_PFC},
        {"flowcontrol", FIX_PFC},
        {"random-detect", FIX_ECN},
        {"congestion-control", FIX_ECN},
        {"bandwidth percent", FIX_SHARES},
        {"bandwidth remaining", FIX_SHARES},
        {"bandwidth guaranteed", FIX_SHARES},
        {"priority", FIX_SHARES},
        {"pause buffer-size", FIX_BUFFERS},
        {"pause pfc-cos", FIX_PFC | FIX_BUFFERS},
        {"match", FIX_MAPS},
        {"set qos-group", FIX_MAPS},
        {"qos map", FIX_MAPS},
        {"qos trust", FIX_MAPS},
        {"mtu", FIX_MTU},
        {"speed", FIX_RATE},
        {"shutdown", FIX_UP},
        {"description", FIX_CABLING},
        {NULL, 0},
    };

    return fix_families_by(words, starts(statement, "no ") ? statement + 3 : statement);
}

struct change {
    struct block_text approved, seen, running;
    unsigned families;
    bool foreign;    /* the device has names of its own */
    uint64_t *shape; /* of the approved statements that are to be set, in order */
    uint32_t shapes;
};

static bool concerned(const struct change *change, const struct statement *as)
{
    return families_of(as->text) & change->families;
}

/* The outermost block of a statement, or itself. */
static uint32_t outermost(const struct block_text *text, uint32_t statement)
{
    while (text->statement[statement].parent != NONE)
        statement = text->statement[statement].parent;
    return statement;
}

static bool concerned_within(const struct change *change, const struct block_text *text, uint32_t block)
{
    for (uint32_t s = block; s < text->statement[block].end; s++)
        if (concerned(change, &text->statement[s])) return true;
    return false;
}

/* The definition that `service-policy type qos input NAME` applies; NONE: not in this text. */
static uint32_t applied(const struct block_text *text, const char *line)
{
    const char *name = strrchr(line, ' ');
    uint32_t low = 0, high = name ? text->names : 0;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(text->name[middle].text, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return name && low < text->names && strcmp(text->name[low].text, name) == 0 ? text->name[low].statement : NONE;
}

/* What the definition that a line applies may speak of, whether it does or not. */
static unsigned families_applied(const char *line)
{
    if (strstr(line, " type network-qos ")) return FIX_PFC | FIX_BUFFERS | FIX_MTU;
    if (strstr(line, " type queuing output ")) return FIX_ECN | FIX_SHARES;
    if (strstr(line, " type queuing input ")) return FIX_BUFFERS;
    return starts(line, "service-policy ") ? FIX_MAPS : FIX_MAPS | FIX_PFC | FIX_ECN | FIX_SHARES | FIX_WATCHDOG;
}

/* A single statement of the approved text that is to be set. */
static bool is_new(const struct change *change, uint32_t s)
{
    const struct statement *as = &change->approved.statement[s];
    const struct statement *outer = &change->approved.statement[outermost(&change->approved, s)];

    if (starts(as->text, "hostname ") || has(&change->running, as->path)) return false;
    if (is_definition(outer))
        return has(&change->running, outer->path) && (concerned(change, as) || !families_of(as->text));
    bool seen = has(&change->seen, as->path);
    if (!applies(as->text)) return !seen && concerned(change, as);
    return families_applied(as->text) & change->families &&
           (change->foreign || !seen || applied(&change->running, as->text) != NONE);
}

/* Statements that are to be set; blocks are printed where anything within them is. */
static void mark_new(struct change *change)
{
    uint32_t whole = 0;

    for (uint32_t s = 0; s < change->approved.count; s++) {
        struct statement *as = &change->approved.statement[s];
        if (is_definition(as) && change->foreign && !has(&change->running, as->path)) whole = as->end;
        as->print = s < whole || (as->end == s + 1 && is_new(change, s));
        if (as->print && as->end == s + 1 && !is_listed(as->text)) {
            uint64_t block = as->parent == NONE ? 0 : change->approved.statement[as->parent].path;
            change->shape[change->shapes++] = shape_of(block, as->text);
        }
    }
    if (change->shapes) qsort(change->shape, change->shapes, sizeof(*change->shape), by_value);
}

/* Does the approved block, as far as it is there, apply a profile that turns PFC on? */
static bool profile_pauses(const struct change *change, uint64_t block)
{
    const struct block_text *text = &change->approved;
    uint32_t first = find_path(text, block), end = first == NONE ? 0 : text->statement[first].end;

    for (uint32_t s = first == NONE ? 0 : first + 1; s < end; s = text->statement[s].end) {
        const struct statement *as = &text->statement[s];
        if (!applies(as->text)) continue;
        uint32_t profile = applied(text, as->text);
        if (profile != NONE && has(text, path_of(text->statement[profile].path, "priority-flow-control on")))
            return true;
    }
    return false;
}

/*
 * `no shutdown` says the default: to take it back would shut a healthy port.  It goes where the approved block has the
 * contrary, itself or in the profile it applies; of what we write, one `no` alone has the contrary as its default.
 */
static bool no_stays(const struct change *change, const struct statement *as)
{
    uint64_t block = as->parent == NONE ? 0 : change->running.statement[as->parent].path;

    if (strcmp(as->text, "no priority-flow-control pause watchdog") == 0) return false;
    if (strcmp(as->text, "no priority-flow-control") == 0) return !profile_pauses(change, block);
    return starts(as->text, "no ") && !has(&change->approved, path_of(block, as->text + 3));
}

/* A statement of the running text that is to go. */
static bool is_old(const struct change *change, uint32_t s)
{
    const struct statement *as = &change->running.statement[s];

    if (has(&change->approved, as->path) || starts(as->text, "hostname ") || starts(as->text, "qos map ")) return false;
    if (no_stays(change, as) || starts(as->text, "description ")) return false; /* a text of theirs; ours replaces it */
    if (as->parent == NONE) /* definitions: when nothing applies them any more */
        return as->end == s + 1 && has(&change->seen, as->path) && concerned(change, as);
    if (!has(&change->approved, change->running.statement[as->parent].path)) return false;
    if (applies(as->text)) return families_applied(as->text) & change->families;
    if (as->end > s + 1) return concerned_within(change, &change->running, s);
    return concerned(change, as);
}

/* What is applied nowhere after this, and is ours by its name, goes too. */
static bool is_left_over(const struct change *change, const struct statement *as)
{
    const char *name = strrchr(as->text, ' ');

    return is_definition(as) && name && starts(name, " ROCELAB") && !has(&change->approved, as->path) && as->lost &&
           !as->kept;
}

static void mark_old(struct change *change)
{
    struct block_text *running = &change->running;

    for (uint32_t s = 0; s < running->count; s++)
        running->statement[s].erase = is_old(change, s);
    for (uint32_t s = 0; s < running->count; s++) {
        uint32_t of = applies(running->statement[s].text) ? applied(running, running->statement[s].text) : NONE;
        if (of == NONE) continue;
        running->statement[of].kept |= !running->statement[s].erase;
        running->statement[of].lost |= running->statement[s].erase;
    }
    for (uint32_t s = 0; s < running->count; s++)
        if (is_left_over(change, &running->statement[s])) running->statement[s].erase = true;
}

/* --- printing --- */

/* The other way round; of PFC that a port of EOS turns off, where the bare words are no command. */
static void print_no(const struct statement *as, unsigned indent, FILE *to)
{
    if (strcmp(as->text, "no priority-flow-control") == 0)
        fprintf(to, "%*spriority-flow-control on\n", (int)indent, "");
    else if (starts(as->text, "no "))
        fprintf(to, "%*s%s\n", (int)indent, "", as->text + 3);
    else
        fprintf(to, "%*sno %s\n", (int)indent, "", as->text);
}

static bool printed_within(const struct block_text *text, uint32_t from, uint32_t end)
{
    for (uint32_t s = from; s < end; s++)
        if (text->statement[s].print) return true;
    return false;
}

/* Is there a statement in the approved block, of this path, that is printed and does away with this one? */
static bool taken_over(const struct change *change, uint64_t block, const char *text)
{
    uint64_t shape = shape_of(block, text);

    return change->shapes && !applies(text) && bsearch(&shape, change->shape, change->shapes, sizeof(shape), by_value);
}

/* A block of an interface (a queue of EOS) has no `no`: its lines have. */
static void print_inner_no(const struct change *change, uint32_t block, unsigned indent, FILE *to)
{
    const struct statement *as = &change->running.statement[block];

    fprintf(to, "%*s%s\n", (int)indent, "", as->text);
    for (uint32_t s = block + 1; s < as->end; s++) {
        const struct statement *line = &change->running.statement[s];
        if (!starts(line->text, "no ") && concerned(change, line)) print_no(line, indent + 3, to);
    }
}

/* What a block has too much. */
static void print_block_no(const struct change *change, uint32_t block, FILE *to)
{
    const struct statement *as = &change->approved.statement[block];
    uint32_t text = find_path(&change->running, as->path);
    unsigned indent = change->approved.statement[block + 1].indent;

    for (uint32_t s = text == NONE ? 0 : text + 1; text != NONE && s < change->running.statement[text].end; s++) {
        const struct statement *line = &change->running.statement[s];
        if (line->parent != text || !line->erase || taken_over(change, as->path, line->text)) continue;
        if (line->end > s + 1 && !is_definition(&change->running.statement[outermost(&change->running, s)]))
            print_inner_no(change, s, indent, to);
        else
            print_no(line, indent, to);
    }
}

static bool erased_within(const struct change *change, const struct statement *as)
{
    uint32_t text = find_path(&change->running, as->path);

    for (uint32_t s = text == NONE ? 0 : text + 1; text != NONE && s < change->running.statement[text].end; s++)
        if (change->running.statement[s].erase) return true;
    return false;
}

static void print_statement(const struct change *change, uint32_t *io, FILE *to)
{
    const struct statement *as = &change->approved.statement[*io];
    bool block = as->end > *io + 1;

    if (!block) {
        if (as->print) fprintf(to, "%*s%s\n", (int)as->indent, "", as->text);
        ++*io;
        return;
    }
    bool any = as->print || printed_within(&change->approved, *io + 1, as->end) || erased_within(change, as);
    if (!any) {
        *io = as->end;
        return;
    }
    fprintf(to, "%*s%s\n", (int)as->indent, "", as->text);
    print_block_no(change, *io, to);
    for (uint32_t s = *io + 1; s < as->end;)
        print_statement(change, &s, to);
    *io = as->end;
}

static void print_change(const struct change *change, FILE *to)
{
    const struct block_text *running = &change->running;

    for (uint32_t s = 0; s < running->count; s++) { /* single commands that go */
        const struct statement *as = &running->statement[s];
        if (as->parent == NONE && as->erase && !is_definition(as) && !taken_over(change, 0, as->text))
            print_no(as, 0, to);
    }
    for (uint32_t s = 0; s < change->approved.count;)
        print_statement(change, &s, to);
    for (uint32_t s = running->count; s-- > 0;)
        if (running->statement[s].parent == NONE && running->statement[s].erase &&
            is_definition(&running->statement[s]))
            print_no(&running->statement[s], 0, to);
}

/* A definition that drifted is not in the text under our name. */
static bool names_differ(const struct change *change)
{
    for (uint32_t s = 0; s < change->approved.count; s++) {
        const struct statement *as = &change->approved.statement[s];
        if (!is_definition(as) || has(&change->running, as->path)) continue;
        for (uint32_t n = s; n < as->end; n++) {
            const struct statement *line = &change->approved.statement[n];
            if (!has(&change->seen, line->path) && (concerned(change, line) || n == s)) return true;
        }
    }
    return false;
}

int fix_lines(const struct fix *fix)
{
    struct change change = {.families = fix->families};
    struct arena arena;

    arena_init_or_end(&arena, (size_t)1 << 30);
    int result = read_blocks(fix->approved, &arena, &change.approved);
    if (result == 0) result = read_blocks(fix->seen, &arena, &change.seen);
    if (result == 0) result = read_blocks(fix->running, &arena, &change.running);
    if (result == 0) {
        change.shape = ARENA_NEW(&arena, uint64_t, change.approved.count + 1u);
        change.foreign = names_differ(&change);
        mark_new(&change);
        mark_old(&change);
        print_change(&change, fix->to);
    }
    arena_release(&arena);
    return result;
}
