/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell around a host's commands: variables that are plainly set, loops over plain words, functions and their
 * arguments are put in; what depends on the machine ($(...), $RANDOM, arguments of the script) stays as it stands, and
 * the caller lists the line.  Conditions are not judged: both branches are read.
 *
 * A line is parts, separated by `;`, `&&` and `||` outside of quotes; one that ends with a backslash goes on.  All is
 * bounded: parts that come out, depth, words of a loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/host/host_int.h"

#define OUT_MOST 50000u       /* parts that are read, loops unrolled */
#define STEPS_MOST 200000u    /* parts and words of loops that are gone through, long parts for more than one */
#define LOOKED_MOST 20000000u /* parts that are looked at for the end of a loop or function */
#define DEPTH_MOST 6          /* loops and functions inside each other */
#define VALUE_MOST 4096       /* bytes of a variable, or of a part with its variables put in */
#define NUMBER_MOST 1000000L  /* in {0..7} */
#define VARIABLES 64
#define FUNCTIONS 64
#define ARGUMENTS 16

struct part {
    char *text;
    uint32_t line;
};

struct variable {
    char name[48];
    const char *value; /* NULL: not known */
};

struct function {
    char name[48];
    uint32_t first, last; /* parts of its body; last is behind it */
};

struct shell {
    struct host *in;
    struct part *part;
    uint32_t parts, room;
    struct variable variable[VARIABLES];
    uint32_t variables;
    struct function function[FUNCTIONS];
    uint32_t functions;
    uint32_t out, steps, looked;
    unsigned depth;
    uint32_t lost_line; /* where something was last left out; 0: nothing was */
    char buf[VALUE_MOST];
};

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool spent(const struct shell *sh)
{
    return sh->out >= OUT_MOST || sh->steps >= STEPS_MOST || sh->looked >= LOOKED_MOST;
}

/* What goes beyond the bounds is not run, and what rests on it is not judged. */
static void lost(struct shell *sh, const char *why)
{
    static const char *const rules[] = {"PFC001",  "PFC003",  "PFC007",  "MAP001",  "MAP005", "MAP006",
                                        "HOST001", "HOST002", "HOST004", "HOST005", "HOST006"};
    struct host *in = sh->in;

    if (sh->lost_line == in->line) return; /* a loop comes here again */
    config_note(in->set, host_at(in), NULL, in->device, CONFIG_NONE, "%s: not understood", why);
    for (size_t r = 0; !sh->lost_line && r < sizeof(rules) / sizeof(rules[0]); r++)
        config_unjudged(in->set, host_at(in), rules[r], in->device, CONFIG_NONE, "%s: not understood", why);
    sh->lost_line = in->line;
}

/* --- parts --- */

static void add_part(struct shell *sh, const char *from, size_t length, uint32_t line)
{
    if (sh->parts == sh->room) {
        uint32_t room = sh->room ? sh->room * 2 : 256;
        struct part *more = ARENA_NEW(sh->in->arena, struct part, room);
        if (!more) {
            sh->in->set->no_memory = true;
            return;
        }
        if (sh->parts) memcpy(more, sh->part, sh->parts * sizeof(*more));
        sh->part = more;
        sh->room = room;
    }
    while (length && strchr(" \t\r", from[length - 1]))
        length--;
    while (length && strchr(" \t", *from))
        from++, length--;
    char *text = arena_strndup(sh->in->arena, from, length);
    if (!text) sh->in->set->no_memory = true;
    if (text && length) sh->part[sh->parts++] = (struct part){text, line};
}

/* Words of the shell that stand before a command on the same line. */
static size_t keyword(const char *at)
{
    static const char *const words[] = {"do ", "then ", "else ", "{ "};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0) return strlen(words[i]) - 1;
    return 0;
}

static void split_line(struct shell *sh, const char *text, size_t length, uint32_t line)
{
    size_t from = 0;
    char quote = 0;

    for (size_t at = 0; at <= length; at++) {
        if (at == from && at < length) {
            from += strspn(text + from, " \t") < length - from ? strspn(text + from, " \t") : 0;
            size_t word = keyword(text + from);
            if (word && from + word < length) {
                add_part(sh, text + from, word, line);
                from += word;
            }
            at = from;
        }
        char c = at < length ? text[at] : ';';
        if (quote) {
            if (c == quote) quote = 0;
            if (at < length) continue;
        }
        if (at < length && (c == '\'' || c == '"')) quote = c;
        if (at < length && c == '#' && (at == from || strchr(" \t", text[at - 1]))) { /* a comment, perhaps a prompt */
            add_part(sh, text + from, (at == from ? length : at) - from, line);
            return;
        }
        bool two = at + 1 < length && (c == '&' || c == '|') && text[at + 1] == c;
        bool end = at == length ||
                   (c == ';' && !(at + 1 < length && text[at + 1] == ';') && !(at > from && text[at - 1] == ';'));
        if (!two && !end) continue;
        if (at > from) add_part(sh, text + from, at - from, line);
        from = at + 1 + two;
        at = from - 1;
    }
}

static void read_parts(struct shell *sh, const char *text)
{
    uint32_t line = 0;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        line++;
        if (length && at[length - 1] == '\\' && at[length]) { /* goes on */
            char *joined = sh->buf;
            size_t used = 0;
            uint32_t first = line;
            bool fits = true;
            for (bool more = true; more;) {
                length = strcspn(at, "\n");
                more = length && at[length - 1] == '\\' && at[length];
                size_t take = length - more;
                fits = fits && used + take + 2 < VALUE_MOST;
                if (fits) {
                    memcpy(joined + used, at, take);
                    used += take;
                    joined[used++] = ' ';
                }
                at += length + (at[length] == '\n');
                if (more) line++;
            }
            sh->in->line = first;
            if (fits)
                split_line(sh, joined, used, first);
            else
                lost(sh, "a command of more than 4 KB over several lines");
            continue;
        }
        split_line(sh, at, length, line);
        at += length + (at[length] == '\n');
    }
}

/* --- variables --- */

static struct variable *find(struct shell *sh, const char *name, size_t length)
{
    for (uint32_t v = sh->variables; v-- > 0;)
        if (strlen(sh->variable[v].name) == length && strncmp(sh->variable[v].name, name, length) == 0)
            return &sh->variable[v];
    return NULL;
}

static void set_variable(struct shell *sh, const char *name, size_t length, const char *value)
{
    struct variable *as = find(sh, name, length);

    if (!as && sh->variables < VARIABLES && length < sizeof(as->name)) {
        as = &sh->variable[sh->variables++];
        snprintf(as->name, sizeof(as->name), "%.*s", (int)length, name);
    }
    if (as) as->value = value;
}

/* The text with its variables put in; what is not known stays as it stands. */
static const char *expanded(struct shell *sh, const char *text)
{
    char *to = sh->buf;
    size_t used = 0;
    bool single = false, fits = true;

    if (!strchr(text, '$')) return text;
    for (const char *at = text; *at && fits;) {
        if (*at == '\'') single = !single;
        bool brace = at[0] == '$' && at[1] == '{';
        const char *name = at + 1 + brace;
        size_t length = 0;
        while (name_char(name[length]))
            length++;
        const char *end = name + length;
        if (brace && (strncmp(end, "[@]", 3) == 0 || strncmp(end, "[*]", 3) == 0)) end += 3;
        struct variable *as =
            at[0] == '$' && length && !single && (!brace || *end == '}') ? find(sh, name, length) : NULL;
        fits = used + (as && as->value ? strlen(as->value) : 1) + 2 < VALUE_MOST;
        if (!fits) break;
        if (!as || !as->value) {
            to[used++] = *at++;
            continue;
        }
        memcpy(to + used, as->value, strlen(as->value));
        used += strlen(as->value);
        at = end + brace;
    }
    if (!fits) {
        lost(sh, "a line of more than 4 KB with its variables put in");
        return text;
    }
    const char *kept = arena_strndup(sh->in->arena, to, used);
    if (!kept) sh->in->set->no_memory = true;
    return kept ? kept : text;
}

/* Is a part of it left to the machine? */
static bool open_ended(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '`' || (*at == '$' && (at[1] == '(' || at[1] == '{' || name_char(at[1]) || at[1] == '@')))
            return true;
    return strchr(text, '*') != NULL && strncmp(text, "echo", 4) != 0 && strchr(text, '/') != NULL;
}

/* `seq 0 7` and {0..7} into words. */
static const char *listed(struct shell *sh, const char *text)
{
    const char *seq = strstr(text, "$(seq "), *dots = strstr(text, "..");
    char *to = sh->buf, *end = NULL;
    const char *before = seq ? seq : strchr(text, '{');
    size_t used = 0;

    if (!before || (!seq && (!dots || dots < before))) return text;
    const char *digits = seq ? seq + 6 : before + 1;
    long first = strtol(digits, &end, 10);
    if (end == digits) return text;
    const char *second = seq ? end + strspn(end, " ") : end + 2;
    if (!seq && end != dots) return text;
    long last = strtol(second, &end, 10);
    if (seq && end == second && *end == ')') last = first, first = 1; /* seq 7 */
    if (first < -NUMBER_MOST || first > NUMBER_MOST || last < -NUMBER_MOST || last > NUMBER_MOST) return text;
    if (*end != (seq ? ')' : '}') || last < first || last - first > 255) return text;
    const char *behind = end + 1;
    size_t stem = 0;
    while (before - stem > text && !strchr(" \t", before[-(long)stem - 1]))
        stem++;
    used = (size_t)(before - stem - text);
    if (used + 16 >= VALUE_MOST) return text;
    memcpy(to, text, used);
    size_t tail = strcspn(behind, " \t");
    if (used + (size_t)(last - first + 1) * (stem + tail + 9) + strlen(behind + tail) + 1 >= VALUE_MOST) {
        lost(sh, "a list of more than 4 KB");
        return text;
    }
    for (long i = first; i <= last; i++)
        used += (size_t)snprintf(to + used, VALUE_MOST - used, "%.*s%ld%.*s ", (int)stem, before - stem, i, (int)tail,
                                 behind);
    used += (size_t)snprintf(to + used, VALUE_MOST - used, "%s", behind + tail);
    const char *kept = arena_strndup(sh->in->arena, to, used);
    return kept ? kept : text;
}

/* NAME=value, NAME="a b", NAME=(a b), behind export, local or readonly. */
static bool assigned(struct shell *sh, const char *text)
{
    static const char *const before[] = {"export ", "local ", "readonly ", "declare -a ", "typeset "};
    size_t length = 0;

    for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        if (strncmp(text, before[i], strlen(before[i])) == 0) text += strlen(before[i]);
    while (name_char(text[length]))
        length++;
    if (!length || text[length] != '=' || (text[0] >= '0' && text[0] <= '9')) return false;
    if (strncmp(text, "NCCL_", 5) == 0 || strncmp(text, "host=", 5) == 0 || strncmp(text, "nic=", 4) == 0) return false;
    const char *value = text + length + 1;
    size_t size = strlen(value);
    if (strncmp(value, "$(", 2) == 0 || strncmp(value, "\"$(", 3) == 0 || value[0] == '`') { /* what a program prints */
        set_variable(sh, text, length, NULL);
        return true;
    }
    char last = size ? value[size - 1] : 0;
    bool quoted = size > 1 && ((value[0] == '"' && last == '"') || (value[0] == '\'' && last == '\'') ||
                               (value[0] == '(' && last == ')'));
    if (!quoted && strpbrk(value, " \t")) return false; /* NAME=value command */
    const char *kept = arena_strndup(sh->in->arena, value + quoted, size - 2 * (size_t)quoted);
    const char *known = kept ? listed(sh, expanded(sh, kept)) : NULL;
    set_variable(sh, text, length, known && !open_ended(known) ? known : NULL);
    return true;
}

/* --- running --- */

static void run(struct shell *sh, uint32_t from, uint32_t to);

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The `done` or `}` that ends what begins at `at`, or `to`. */
static uint32_t end_of(struct shell *sh, uint32_t at, uint32_t to, bool loop)
{
    unsigned depth = 0;

    for (uint32_t i = at; i < to; i++) {
        const char *text = sh->part[i].text;
        bool opens = loop ? begins(text, "for ") || begins(text, "while ") || begins(text, "until ")
                          : strchr(text, '{') && text[strlen(text) - 1] == '{';
        bool closes = loop ? strcmp(text, "done") == 0 || begins(text, "done ") : strcmp(text, "}") == 0;
        sh->looked++;
        if (opens) depth++;
        if (closes && depth) depth--;
        if (closes && !depth) return i;
    }
    return to;
}

static uint32_t run_loop(struct shell *sh, uint32_t at, uint32_t to)
{
    const char *text = sh->part[at].text + 4;
    size_t length = 0;
    uint32_t end = end_of(sh, at, to, true), body = at + 1;

    text += strspn(text, " \t");
    while (name_char(text[length]))
        length++;
    const char *in = text + length + strspn(text + length, " \t");
    const char *words = begins(in, "in ") || begins(in, "in\t") ? listed(sh, expanded(sh, in + 3)) : "$@";
    if (body < end && strcmp(sh->part[body].text, "do") == 0) body++;
    if (open_ended(words)) { /* once, with a name that is not known */
        set_variable(sh, text, length, NULL);
        run(sh, body, end);
        return end;
    }
    for (const char *word = words; *word && !spent(sh); sh->steps++) {
        word += strspn(word, " \t\"'");
        size_t size = strcspn(word, " \t\"'");
        if (!size) break;
        set_variable(sh, text, length, arena_strndup(sh->in->arena, word, size));
        run(sh, body, end);
        word += size;
    }
    return end;
}

static bool call(struct shell *sh, const char *text)
{
    size_t length = strcspn(text, " \t");

    for (uint32_t f = 0; f < sh->functions; f++) {
        const struct function *as = &sh->function[f];
        if (strlen(as->name) != length || strncmp(as->name, text, length) != 0) continue;
        const char *rest = text + length;
        for (unsigned i = 1; i <= ARGUMENTS; i++) {
            char name[4];
            rest += strspn(rest, " \t\"'");
            size_t size = strcspn(rest, " \t\"'");
            snprintf(name, sizeof(name), "%u", i);
            const char *value = size ? arena_strndup(sh->in->arena, rest, size) : NULL;
            set_variable(sh, name, strlen(name), value && !open_ended(value) ? value : NULL);
            rest += size;
        }
        run(sh, as->first, as->last);
        return true;
    }
    return false;
}

/* `name() {` or `function name {`: kept for its calls. */
static bool define(struct shell *sh, uint32_t at, uint32_t to, uint32_t *ret_end)
{
    const char *text = sh->part[at].text;
    size_t length = 0;

    if (begins(text, "function ")) text += 9;
    while (name_char(text[length]) || text[length] == '-')
        length++;
    const char *behind = text + length + strspn(text + length, " \t");
    bool brackets = begins(behind, "()");
    if (!length || (!brackets && text == sh->part[at].text) || length >= sizeof(sh->function[0].name)) return false;
    if (brackets) behind += 2;
    behind += strspn(behind, " \t");
    uint32_t first = at + 1;
    if (!*behind && first < to && strcmp(sh->part[first].text, "{") == 0)
        at = first++;
    else if (strcmp(behind, "{") != 0)
        return false;
    *ret_end = end_of(sh, at, to, false);
    if (sh->functions < FUNCTIONS) {
        struct function *as = &sh->function[sh->functions++];
        snprintf(as->name, sizeof(as->name), "%.*s", (int)length, text);
        as->first = first;
        as->last = *ret_end;
    }
    return true;
}

static void run(struct shell *sh, uint32_t from, uint32_t to)
{
    if (sh->depth >= DEPTH_MOST) {
        lost(sh, "loops or functions more than 5 deep");
        return;
    }
    sh->depth++;
    for (uint32_t i = from; i < to && !spent(sh) && !sh->in->set->no_memory; i++) {
        const char *text = sh->part[i].text;
        sh->in->line = sh->part[i].line;
        sh->steps += 1 + (uint32_t)(strlen(text) / 64);
        if (begins(text, "for ") && strchr(text, ' ')) {
            i = run_loop(sh, i, to);
            continue;
        }
        if (define(sh, i, to, &i)) continue;
        const char *whole = expanded(sh, text);
        if (assigned(sh, text) || call(sh, whole)) continue;
        char *line = arena_strndup(sh->in->arena, whole, strlen(whole));
        if (!line) sh->in->set->no_memory = true;
        sh->out++;
        if (line) host_line(sh->in, line, open_ended(whole));
    }
    sh->depth--;
}

void host_shell(struct host *in, const char *text)
{
    struct shell *sh = ARENA_NEW(in->arena, struct shell, 1);

    if (!sh) {
        in->set->no_memory = true;
        return;
    }
    sh->in = in;
    read_parts(sh, text);
    run(sh, 0, sh->parts);
    if (spent(sh)) lost(sh, "more commands and rounds of loops than are read: the rest");
}
