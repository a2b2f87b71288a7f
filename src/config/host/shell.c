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
#define FUNCTIONS 64
#define ARGUMENTS 16

struct part {
    char *text;
    uint32_t line;
    bool hidden; /* what fails here is passed over: `|| true` */
};

struct function {
    char name[48];
    uint32_t head, first, last; /* parts: its head, and its body; last is behind it */
    bool called;
};

struct shell {
    struct host *in;
    struct part *part;
    uint32_t parts, room;
    struct host_variables variables;
    struct function function[FUNCTIONS];
    uint32_t functions;
    uint32_t out, steps, looked;
    unsigned depth;
    uint32_t lost_line; /* where something was last left out; 0: nothing was */
    char buf[VALUE_MOST], inner[VALUE_MOST];
};

static bool spent(const struct shell *sh)
{
    return sh->out >= OUT_MOST || sh->steps >= STEPS_MOST || sh->looked >= LOOKED_MOST;
}

/* What goes beyond the bounds is not run, and what rests on it is not judged. */
static void lost(struct shell *sh, const char *why)
{
    static const char rules[] = "PFC001 PFC003 PFC007 MAP001 MAP005 MAP006 HOST001 HOST002 HOST004 HOST005 HOST006";
    struct host *in = sh->in;

    if (sh->lost_line == in->line) return; /* a loop comes here again */
    NOTE(in, in->line, NULL, CONFIG_NONE, "%s: not understood", why);
    if (!sh->lost_line) UNJUDGED(in, in->line, rules, CONFIG_NONE, "%s: not understood", why);
    sh->lost_line = in->line;
}

/* --- parts --- */

static void add_part(struct shell *sh, const char *from, size_t length, uint32_t line)
{
    ARENA_ROOM(sh->in->arena, sh->part, sh->parts, sh->room);
    while (length && strchr(" \t\r", from[length - 1]))
        length--;
    while (length && strchr(" \t", *from))
        from++, length--;
    char *text = arena_strndup(sh->in->arena, from, length);
    if (length) sh->part[sh->parts++] = (struct part){text, line, false};
}

/* `name() { command`: the head of a function with its first command behind it; the head's length, 0: it is none. */
static size_t function_head(const char *at, size_t length)
{
    size_t name = 0;

    while (name < length && (host_name_length(at + name) || at[name] == '-'))
        name++;
    size_t behind = name + (name < length ? strspn(at + name, " \t") : 0);
    if (!name || behind + 3 >= length || strncmp(at + behind, "()", 2) != 0) return 0;
    behind += 2 + strspn(at + behind + 2, " \t");
    return behind + 1 < length && at[behind] == '{' && strchr(" \t", at[behind + 1]) ? behind + 1 : 0;
}

/* Words of the shell that stand before a command on the same line. */
static size_t keyword(const char *at)
{
    static const char *const words[] = {"do ", "then ", "else ", "{ ", NULL};
    size_t length = begins_any(at, words);

    return length ? length - 1 : 0;
}

static void split_line(struct shell *sh, const char *text, size_t length, uint32_t line)
{
    size_t from = 0;
    char quote = 0;

    for (size_t at = 0; at <= length; at++) {
        if (at == from && at < length) {
            from += strspn(text + from, " \t") < length - from ? strspn(text + from, " \t") : 0;
            size_t word = keyword(text + from);
            if (!word) word = function_head(text + from, length - from);
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
        if (two && c == '|' && sh->parts && at > from) {
            const char *next = text + at + 2 + strspn(text + at + 2, " \t");
            bool colon = next < text + length && *next == ':';
            sh->part[sh->parts - 1].hidden = colon || (next + 4 <= text + length && begins(next, "true"));
        }
        from = at + 1 + two;
        at = from - 1;
    }
}

static void split_command(struct shell *sh, const char *text, size_t length, uint32_t line)
{
    bool hidden = false;
    uint32_t first = sh->parts;

    if (!host_unwrap(text, length, sh->inner, sizeof(sh->inner), &hidden)) {
        split_line(sh, text, length, line);
        return;
    }
    split_line(sh, sh->inner, strlen(sh->inner), line);
    for (uint32_t p = first; p < sh->parts && hidden; p++)
        sh->part[p].hidden = true;
}

/* A list that is closed on a later line: `NAME=(`. */
static bool opens_list(const char *line, size_t length)
{
    const char *open = length ? memmem(line, length, "=(", 2) : NULL;

    if (!open || memchr(open, ')', length - (size_t)(open - line)) || memchr(line, '#', (size_t)(open - line)))
        return false;
    return memchr(open, '"', length - (size_t)(open - line)) == NULL ||
           memchr(line, '"', (size_t)(open - line)) == NULL;
}

/* Lines that are one: those that end with a backslash, and a list up to its bracket.  The first of the next. */
static const char *join_lines(struct shell *sh, const char *at, bool list, uint32_t *line)
{
    char *joined = sh->buf;
    size_t used = 0;
    uint32_t first = *line;
    bool fits = true;

    for (bool more = true; more;) {
        size_t length = strcspn(at, "\n"), take = length;
        if (list) {
            for (size_t i = 0; i < take; i++)
                if (at[i] == '#' && (!i || strchr(" \t", at[i - 1]))) take = i; /* a comment */
            more = !memchr(at, ')', take) && at[length];
        } else {
            more = length && at[length - 1] == '\\' && at[length];
            take -= more;
        }
        fits = fits && used + take + 2 < VALUE_MOST;
        if (fits) {
            memcpy(joined + used, at, take);
            used += take;
            joined[used++] = ' ';
        }
        at += length + (at[length] == '\n');
        if (more) ++*line;
    }
    sh->in->line = first;
    if (fits)
        split_command(sh, joined, used, first);
    else
        lost(sh, "a command of more than 4 KB over several lines");
    return at;
}

static void read_parts(struct shell *sh, const char *text)
{
    uint32_t line = 0;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        line++;
        bool list = opens_list(at, length);
        if (list || (length && at[length - 1] == '\\' && at[length])) {
            at = join_lines(sh, at, list, &line);
            continue;
        }
        split_command(sh, at, length, line);
        at += length + (at[length] == '\n');
    }
}

/* --- variables --- */

static void set_variable(struct shell *sh, const char *name, size_t length, const char *value)
{
    host_variable_set(&sh->variables, name, length, value);
}

/* The text with its variables put in; what is not known stays as it stands. */
static const char *expanded(struct shell *sh, const char *text)
{
    if (!strchr(text, '$')) return text;
    if (!host_expand(&sh->variables, text, sh->buf, sizeof(sh->buf))) {
        lost(sh, "a line of more than 4 KB with its variables put in");
        return text;
    }
    return arena_strndup(sh->in->arena, sh->buf, strlen(sh->buf));
}

/* Is a part of it left to the machine? */
static bool open_ended(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '`' || (*at == '$' && (at[1] == '(' || at[1] == '{' || at[1] == '@' || host_name_length(at + 1))))
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
    return arena_strndup(sh->in->arena, to, used);
}

/* The next word of a list, which quotes keep together; false: there is none. */
static bool next_word(const char **at, const char **ret, size_t *ret_length)
{
    *at += strspn(*at, " \t");
    char quote = **at == '"' || **at == '\'' ? **at : 0;
    *ret = *at + (quote != 0);
    *ret_length = quote ? strcspn(*ret, quote == '"' ? "\"" : "'") : strcspn(*ret, " \t\"'");
    *at = *ret + *ret_length + (quote && (*ret)[*ret_length]);
    return *ret_length || quote;
}

static const char *kept_text(struct shell *sh, const char *text, size_t length)
{
    return arena_strndup(sh->in->arena, text, length);
}

/* NAME=(a b) and NAME=([x]=a [y]=b): the list as it stands, its keys, and each element. */
static void assign_list(struct shell *sh, const char *name, size_t length, const char *list)
{
    char key[HOST_VARIABLE], keys[VALUE_MOST], values[VALUE_MOST];
    size_t used = 0, taken = 0, size = 0;
    const char *word = NULL;
    uint32_t number = 0;

    keys[0] = values[0] = 0;
    for (const char *at = list; next_word(&at, &word, &size); number++) {
        const char *close = word[0] == '[' ? memchr(word, ']', size) : NULL, *value = word;
        char plain[16];
        snprintf(plain, sizeof(plain), "%u", number);
        const char *as = plain;
        if (close && close[1] == '=') {
            as = kept_text(sh, word + 1, (size_t)(close - word - 1));
            size -= (size_t)(close + 2 - word);
            value = close + 2;
            if (!size && !next_word(&at, &value, &size)) break; /* [x]="a b" */
        }
        if (length + strlen(as) + 3 >= sizeof(key) || used + strlen(as) + 2 >= sizeof(keys) ||
            taken + size + 4 >= sizeof(values)) {
            lost(sh, "a list of more than 4 KB");
            break;
        }
        snprintf(key, sizeof(key), "%.*s[%s]", (int)length, name, as);
        set_variable(sh, key, strlen(key), kept_text(sh, value, size));
        used += (size_t)snprintf(keys + used, sizeof(keys) - used, "%s ", as);
        bool blank = memchr(value, ' ', size) != NULL;
        taken +=
            (size_t)snprintf(values + taken, sizeof(values) - taken, blank ? "\"%.*s\" " : "%.*s ", (int)size, value);
    }
    snprintf(key, sizeof(key), "!%.*s", (int)length, name);
    set_variable(sh, key, strlen(key), kept_text(sh, keys, used));
    set_variable(sh, name, length, kept_text(sh, values, taken));
}

static void assign(struct shell *sh, const char *name, size_t length, const char *value)
{
    size_t size = strlen(value);
    char last = size ? value[size - 1] : 0;
    bool list = size > 1 && value[0] == '(' && last == ')';
    bool quoted = size > 1 && ((value[0] == '"' && last == '"') || (value[0] == '\'' && last == '\''));
    bool strip = list || quoted;
    const char *kept = kept_text(sh, value + strip, size - 2 * (size_t)strip);
    const char *known = listed(sh, expanded(sh, kept));

    if (open_ended(known))
        set_variable(sh, name, length, NULL);
    else if (list)
        assign_list(sh, name, length, known);
    else
        set_variable(sh, name, length, known);
}

/* NAME=value, NAME="a b", NAME=(a b), behind export, local or readonly. */
static bool assigned(struct shell *sh, const char *text)
{
    static const char *const before[] = {"export ",     "local ",      "local -r ",    "readonly ", "declare -a ",
                                         "declare -r ", "declare -A ", "declare -ra ", "typeset ",  "declare -rA "};

    for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        if (strncmp(text, before[i], strlen(before[i])) == 0) text += strlen(before[i]);
    size_t length = host_name_length(text);
    if (!length || text[length] != '=' || (text[0] >= '0' && text[0] <= '9')) return false;
    if (begins(text, "NCCL_") || begins(text, "host=")) return false;
    if (begins(text, "nic=") && strstr(text, " rdma=")) return false;
    const char *value = text + length + 1;
    if ((begins(value, "$(") && value[2] != '(') || (begins(value, "\"$(") && value[3] != '(') ||
        value[0] == '`') { /* what a program prints */
        set_variable(sh, text, length, NULL);
        return true;
    }
    if (!strchr("\"'($", value[0]) && strpbrk(value, " \t")) return false; /* NAME=value command */
    assign(sh, text, length, value);
    return true;
}

/* Words of a text become the variables that are named, the last of which gets the rest. */
static void read_words(struct shell *sh, const char *names, const char *text, const char *between)
{
    char mark[8];

    snprintf(mark, sizeof(mark), "%.4s \t", between);
    for (names += strspn(names, " \t"); *names;) {
        size_t length = host_name_length(names);
        if (!length) return;
        const char *next = names + length + strspn(names + length, " \t");
        text += strspn(text, mark);
        size_t size = *next && host_name_length(next) ? strcspn(text, mark) : strlen(text);
        set_variable(sh, names, length, open_ended(text) ? NULL : kept_text(sh, text, size));
        text += size;
        names = next;
    }
}

/* `read -r a b <<< "$pair"`, with or without IFS=: before it, and `set -- $pair`. */
static bool reads(struct shell *sh, const char *text)
{
    char between[2] = "";

    if (begins(text, "set -- ")) {
        read_words(sh, "1 2 3 4 5 6 7 8", expanded(sh, text + 7), "");
        return true;
    }
    if (begins(text, "IFS=")) {
        const char *at = text + 4 + strspn(text + 4, "\"'$");
        between[0] = *at;
        at += strcspn(at, " ");
        text = at + strspn(at, " ");
    }
    const char *from = strstr(text, "<<<");
    if (strncmp(text, "read ", 5) != 0 || !from) return false;
    char *value = arena_strndup(sh->in->arena, from + 3, strlen(from + 3));
    const char *names = text + 5 + (begins(text + 5, "-r ") ? 3 : 0), *list = NULL;
    if (!value) return true;
    list = expanded(sh, value);
    list += strspn(list, " \t\"");
    list = kept_text(sh, list, strcspn(list, "\""));
    read_words(sh, kept_text(sh, names, (size_t)(from - names)), list, between);
    return true;
}

/* --- running --- */

static void run(struct shell *sh, uint32_t from, uint32_t to);

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

/* "${LIST[@]}" is its elements, each a word: without the quotes. */
static const char *bare_lists(struct shell *sh, const char *text)
{
    char *bare = strstr(text, "[@]}\"") ? arena_strndup(sh->in->arena, text, strlen(text)) : NULL;

    for (char *end = bare; end && (end = strstr(end, "[@]}\""));) {
        char *open = end;
        while (open > bare && *open != '"')
            open--;
        end[4] = ' ';
        if (*open == '"') *open = ' ';
    }
    return bare ? bare : text;
}

static uint32_t run_loop(struct shell *sh, uint32_t at, uint32_t to)
{
    const char *text = sh->part[at].text + 4;
    uint32_t end = end_of(sh, at, to, true), body = at + 1;

    text += strspn(text, " \t");
    size_t length = host_name_length(text);
    const char *in = text + length + strspn(text + length, " \t");
    const char *words =
        begins(in, "in ") || begins(in, "in\t") ? listed(sh, expanded(sh, bare_lists(sh, in + 3))) : "$@";
    if (body < end && strcmp(sh->part[body].text, "do") == 0) body++;
    if (open_ended(words)) { /* once, with a name that is not known */
        set_variable(sh, text, length, NULL);
        run(sh, body, end);
        return end;
    }
    const char *word = NULL;
    size_t size = 0;
    for (const char *next = words; !spent(sh) && next_word(&next, &word, &size); sh->steps++) {
        set_variable(sh, text, length, kept_text(sh, word, size));
        run(sh, body, end);
    }
    return end;
}

/* `while read a b; do ... done <<WORD`: once for each line of the table behind it; else once, with nothing known. */
static uint32_t run_table(struct shell *sh, uint32_t at, uint32_t to)
{
    const char *names = strstr(sh->part[at].text, "read ") + 5;
    uint32_t end = end_of(sh, at, to, true), body = at + 1, row = end + 1;
    const char *word = end < to ? strstr(sh->part[end].text, "<<") : NULL;
    char between[2] = "", last[32] = "";

    const char *ifs = strstr(sh->part[at].text, "IFS=");
    if (ifs && ifs < names) between[0] = ifs[4 + strspn(ifs + 4, "\"'$")];
    if (between[0] == ' ') between[0] = 0;
    if (begins(names, "-r ")) names += 3;
    if (body < end && strcmp(sh->part[body].text, "do") == 0) body++;
    if (word)
        snprintf(last, sizeof(last), "%.*s", (int)strcspn(word + 2 + strspn(word + 2, "-'\""), "'\" "),
                 word + 2 + strspn(word + 2, "-'\""));
    if (!last[0] || last[0] == '<') {
        read_words(sh, names, "$", "");
        run(sh, body, end);
        return end;
    }
    for (; row < to && strcmp(sh->part[row].text, last) != 0 && !spent(sh); row++) {
        if (sh->part[row].text[0] == '#') continue;
        read_words(sh, names, sh->part[row].text, between);
        run(sh, body, end);
        sh->steps++;
    }
    return row;
}

/* A function that runs what it is given, as `run() { "$@" || log failed; }`. */
static bool passes_on(const struct shell *sh, const struct function *as)
{
    static const char *const before[] = {"if ", "! ", "sudo ", "eval ", "exec "};

    for (uint32_t p = as->first; p < as->last; p++) {
        const char *text = sh->part[p].text;
        for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
            if (begins(text, before[i])) text += strlen(before[i]);
        if (begins(text, "\"$@\"") || begins(text, "$@") || begins(text, "$*")) return true;
    }
    return false;
}

static bool call(struct shell *sh, const char *text)
{
    size_t length = strcspn(text, " \t");

    for (uint32_t f = 0; f < sh->functions; f++) {
        struct function *as = &sh->function[f];
        if (strlen(as->name) != length || strncmp(as->name, text, length) != 0) continue;
        const char *rest = text + length;
        as->called = true;
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

/* The command that a function of that kind is given; else the text as it is. */
static const char *passed_on(struct shell *sh, const char *text)
{
    size_t length = strcspn(text, " \t");

    for (uint32_t f = 0; text[length] && f < sh->functions; f++) {
        struct function *as = &sh->function[f];
        if (strlen(as->name) != length || strncmp(as->name, text, length) != 0 || !passes_on(sh, as)) continue;
        as->called = true;
        return text + length + strspn(text + length, " \t");
    }
    return text;
}

/* Does a name stand as a word of a command that may run it: `bash -c f`, `export -f f`, `ssh h "f"`? */
static bool names_it(const char *text, const char *name)
{
    static const char *const not_run[] = {"#", "trap ", "echo ", "printf ", "logger ", "unset ", "log "};
    static const char *const between = " \t\"';()|&";

    for (unsigned i = 0; i < sizeof(not_run) / sizeof(not_run[0]); i++)
        if (begins(text, not_run[i])) return false;
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || strchr(between, at[-1])) && strchr(between, at[strlen(name)])) return true;
    return false;
}

/* Functions that no plain call has reached, and that another command is told to run: once, their arguments unknown. */
static void run_named(struct shell *sh)
{
    for (uint32_t f = 0; f < sh->functions; f++) {
        const struct function *as = &sh->function[f];
        for (uint32_t p = 0; p < sh->parts && !as->called && !spent(sh); p++) {
            sh->looked++;
            if ((p < as->head || p > as->last) && names_it(sh->part[p].text, as->name)) call(sh, as->name);
        }
    }
}

/* `name() {` or `function name {`: kept for its calls. */
static bool define(struct shell *sh, uint32_t at, uint32_t to, uint32_t *ret_end)
{
    const char *text = sh->part[at].text;
    const uint32_t head = at;
    size_t length = 0;

    if (begins(text, "function ")) text += 9;
    while (host_name_length(text + length) || text[length] == '-')
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
        as->head = head;
        as->first = first;
        as->last = *ret_end;
        as->called = false;
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
    for (uint32_t i = from; i < to && !spent(sh); i++) {
        const char *text = sh->part[i].text;
        sh->in->line = sh->part[i].line;
        sh->steps += 1 + (uint32_t)(strlen(text) / 64);
        if (begins(text, "for ") && strchr(text, ' ')) {
            uint32_t around = sh->in->loop_line;
            sh->in->loop_line = sh->in->line;
            i = run_loop(sh, i, to);
            sh->in->loop_line = around;
            continue;
        }
        if (begins(text, "while ") && strstr(text, "read ")) {
            i = run_table(sh, i, to);
            continue;
        }
        if (define(sh, i, to, &i)) continue;
        const char *whole = passed_on(sh, expanded(sh, text));
        if (assigned(sh, text) || reads(sh, text) || call(sh, whole)) continue;
        char *line = arena_strndup(sh->in->arena, whole, strlen(whole));
        sh->out++;
        sh->in->hidden = sh->part[i].hidden;
        host_line(sh->in, line, open_ended(whole));
    }
    sh->depth--;
}

void host_shell(struct host *in, const char *text)
{
    struct shell *sh = ARENA_NEW(in->arena, struct shell, 1);

    sh->in = in;
    read_parts(sh, text);
    run(sh, 0, sh->parts);
    run_named(sh);
    if (spent(sh)) lost(sh, "more commands and rounds of loops than are read: the rest");
}
