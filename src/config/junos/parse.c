/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a Junos configuration into the tree of words: braces, or commands (`set`, `delete`, `deactivate`, `edit`).
 *
 * Reading goes on after what is odd (a brace too many, a statement without its semicolon), with a note: a cut-off file
 * is still most of a configuration.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "config/junos/tree.h"
#include "config/words.h"

#include "fabric/errors.h"

#define BLANKS " \t\r\v\f" /* what isspace() takes, but for the end of a line */

struct reader {
    struct junos_tree *tree;
    const char *at, *end;
    uint32_t line;
    struct junos_node *open[JUNOS_DEEP]; /* blocks around the place that is read */
    uint32_t opens;
    bool cut; /* a word was too long, and that is told */
};

static void odd(struct reader *in, uint32_t line, const char *what)
{
    config_note(in->tree->set, CONFIG_AT(in->tree->text, line), "SYN001", CONFIG_NONE, CONFIG_NONE, "%s", what);
}

/* A semicolon that is missing where it is of no matter (a secret that was taken out) is not worth a word. */
static void odd_end(struct reader *in, const struct junos_node *node, uint32_t line)
{
    static const char sections[] = "class-of-service interfaces chassis forwarding-options";

    while (node->depth > 1)
        node = node->parent;
    if (words_have(sections, node->word)) odd(in, line, "a statement without its semicolon");
}

static void skip_comment(struct reader *in, size_t length, const char *close)
{
    const char *to = memmem(in->at + length, (size_t)(in->end - in->at) - length, close, strlen(close));

    to = to ? to + (close[0] == '*' ? 2 : 0) : in->end;
    for (; in->at < to; in->at++)
        in->line += *in->at == '\n';
}

static void skip_space(struct reader *in)
{
    while (in->at < in->end) {
        if (isspace((unsigned char)*in->at)) {
            in->line += *in->at++ == '\n';
        } else if (*in->at == '#') {
            skip_comment(in, 1, "\n");
        } else if (*in->at == '/' && in->end - in->at > 1 && in->at[1] == '*') {
            skip_comment(in, 2, "*/");
        } else {
            return;
        }
    }
}

/* A word, without the quotes around it; NULL: no memory.  et-0/0/[0-3] is one: its brackets open no list. */
static const char *read_word(struct reader *in, const char *ends)
{
    const char *from = in->at;
    size_t length;
    bool inside = false;

    if (*from == '"') {
        const char *close = ++from;
        while (close < in->end && *close != '"' && *close != '\n')
            close += *close == '\\' && close + 1 < in->end && close[1] != '\n' ? 2 : 1;
        length = (size_t)(close - from);
        in->at = close < in->end && *close == '"' ? close + 1 : close;
    } else {
        for (; in->at < in->end && !isspace((unsigned char)*in->at); in->at++) {
            bool bracket = (*in->at == '[' && in->at > from) || (*in->at == ']' && inside);
            if (!bracket && strchr(ends, *in->at)) break;
            if (bracket) inside = *in->at == '[';
        }
        length = (size_t)(in->at - from);
    }
    if (length > JUNOS_WORD && !in->cut) {
        config_note(in->tree->set, CONFIG_AT(in->tree->text, in->line), NULL, CONFIG_NONE, CONFIG_NONE,
                    "words of more than %u bytes are cut there", JUNOS_WORD);
        in->cut = true;
    }
    return arena_strndup(in->tree->arena, from, length > JUNOS_WORD ? JUNOS_WORD : length);
}

/* Blocks that stand below class-of-service: `show class-of-service` prints them without it. */
static struct junos_node *section(struct reader *in, struct junos_node *to, const char *word, uint32_t line)
{
    static const char parts[] = "classifiers forwarding-classes drop-profiles schedulers scheduler-maps"
                                " congestion-notification-profile shared-buffer rewrite-rules code-point-aliases";

    if (to == &in->tree->root && words_have(parts, word)) to = junos_add(in->tree, to, "class-of-service", line);
    return to;
}

/* A statement that says a thing again: it is the last word on it. */
static struct junos_node *add_word(struct reader *in, struct junos_node *to, const char *word, uint32_t line, bool leaf)
{
    struct junos_node *from = section(in, to, word, line);
    uint32_t before = in->tree->nodes;
    struct junos_node *node = from ? junos_add(in->tree, from, word, line) : NULL;

    if (node && leaf && in->tree->nodes == before && !node->first) {
        junos_move(node, false);
        node->line = line;
    }
    return node;
}

struct statement {
    struct junos_node *node; /* the word that was read last; NULL: it was too deep and is passed over */
    uint32_t line;           /* of that word */
    bool inactive, listed;
};

/* `[ a b c ]`: children of the word before it. */
static void read_list(struct reader *in, struct statement *as)
{
    struct junos_node *last = NULL;

    for (in->at++, skip_space(in); in->at < in->end && *in->at != ']'; skip_space(in)) {
        if (strchr("{};", *in->at)) return;
        uint32_t line = in->line;
        const char *word = read_word(in, "[]{};");
        if (!*word && *in->at == '[') in->at++; /* a list in a list */
        if (*word && as->node) last = add_word(in, as->node, word, line, true);
    }
    if (in->at < in->end) in->at++;
    if (last) as->node = last;
    as->listed = true;
}

static void mark(struct statement *as)
{
    if (as->inactive && as->node) as->node->inactive = true;
}

static void close_block(struct reader *in)
{
    if (in->opens > 1)
        in->opens--;
    else
        odd(in, in->line, "a closing brace without an opening one");
}

/* Words up to `{`, `;` or `}`.  A line that ends without a semicolon is a statement all the same. */
static void read_statement(struct reader *in)
{
    struct junos_node *block = in->open[in->opens - 1];
    struct statement as = {.node = block, .line = in->line};

    while (in->at < in->end && !in->tree->full) {
        char c = *in->at;
        if (c == ';' || c == '}') {
            if (c == '}' && as.node != block) odd_end(in, as.node, as.line);
            mark(&as);
            in->at += c == ';';
            return;
        }
        if (c == '{') {
            mark(&as);
            in->at++;
            if (in->opens >= JUNOS_DEEP)
                in->tree->full = true;
            else
                in->open[in->opens++] = as.node;
            return;
        }
        if (as.node != block && in->line > as.line && !as.listed) {
            odd_end(in, as.node, as.line);
            mark(&as);
            return;
        }
        as.line = in->line;
        if (c == '[') {
            read_list(in, &as);
        } else {
            const char *word = read_word(in, "[]{};");
            if (!*word && *in->at == ']') in->at++;
            if (strcmp(word, "inactive:") == 0)
                as.inactive = true;
            else if (*word && strcmp(word, "replace:") != 0 && strcmp(word, "protect:") != 0)
                as.node = add_word(in, as.node, word, as.line, false);
            if (!as.node) return;
        }
        skip_space(in);
        as.line = as.listed ? in->line : as.line;
    }
    mark(&as);
}

static void skip_line(struct reader *in)
{
    while (in->at < in->end && *in->at != '\n')
        in->at++;
}

/* `user@leaf1> show configuration`, `{master:0}`: what a terminal had around it. */
static bool read_prompt(struct reader *in)
{
    size_t length = 0, room = (size_t)(in->end - in->at);

    if (in->opens != 1) return false;
    while (length < room && !isspace((unsigned char)in->at[length]))
        length++;
    bool prompt =
        (in->at[length - 1] == '>' && memchr(in->at, '@', length)) || (length == 4 && memcmp(in->at, "show", 4) == 0);
    if (!prompt && !(*in->at == '{' && length > 1)) return false;
    skip_line(in);
    return true;
}

/* `[edit class-of-service]`: the block that follows stands below it. */
static bool read_banner(struct reader *in)
{
    if (*in->at != '[' || in->opens != 1 || strncmp(in->at, "[edit", 5) != 0) return false;
    for (in->at += 5, in->open[0] = &in->tree->root; in->at < in->end && *in->at != ']' && *in->at != '\n';) {
        in->at += strspn(in->at, BLANKS);
        const char *word = strchr("]\n", *in->at) ? NULL : read_word(in, "]");
        struct junos_node *node = word && *word ? junos_add(in->tree, in->open[0], word, in->line) : NULL;
        if (!node) break;
        in->open[0] = node;
    }
    skip_line(in);
    return true;
}

static void read_braces(struct reader *in)
{
    in->open[in->opens++] = &in->tree->root;
    for (skip_space(in); in->at < in->end && !in->tree->full; skip_space(in)) {
        if (read_prompt(in) || read_banner(in)) continue;
        if (*in->at == '}') {
            in->at++;
            close_block(in);
        } else if (*in->at == ';') {
            in->at++;
        } else {
            read_statement(in);
        }
    }
    if (in->opens > 1 && !in->tree->full)
        odd(in, in->line, "the text ends inside of a block: a closing brace is missing");
}

/* --- commands --- */

struct command { /* the words of a line, from the place that `edit` has led to */
    struct junos_node *edit;
};

/* Follows (or, make, adds) the rest of the line; NULL: there is no such thing, or no room. */
static struct junos_node *read_path(struct reader *in, struct junos_node *from, const char *end, bool make)
{
    struct statement as = {.node = from};
    const char *whole = in->end;

    in->end = end;
    while (as.node && in->at < end && !in->tree->full) {
        in->at += strspn(in->at, BLANKS);
        if (in->at >= end || *in->at == '#') break;
        if (*in->at == '[') { /* another statement may follow: fill-level [ 20 70 ] drop-probability [ 0 80 ] */
            struct junos_node *key = as.node;
            read_list(in, &as);
            in->at += strspn(in->at, BLANKS);
            if (in->at < end && *in->at != '#' && key->parent) as.node = key->parent;
            continue;
        }
        const char *word = read_word(in, "[]");
        if (!word) break;
        if (!*word && in->at < end && *in->at == ']') in->at++;
        const char *rest = in->at + strspn(in->at, BLANKS);
        bool leaf = rest >= end || *rest == '#';
        if (*word) as.node = make ? add_word(in, as.node, word, in->line, leaf) : junos_child(in->tree, as.node, word);
    }
    in->end = whole;
    in->at = end;
    return as.node;
}

static void not_followed(struct reader *in, const char *verb)
{
    config_note(in->tree->set, CONFIG_AT(in->tree->text, in->line), NULL, CONFIG_NONE, CONFIG_NONE,
                "%.20s: what it changes is not known", verb);
}

static void read_command(struct reader *in, struct command *as, const char *end)
{
    const char *verb = read_word(in, "[]{};");
    struct junos_node *node;

    while (verb && strcmp(verb, "top") == 0) { /* `top set ...` */
        as->edit = &in->tree->root;
        in->at += strspn(in->at, BLANKS);
        if (in->at >= end) return;
        verb = read_word(in, "[]{};");
    }
    if (!verb) return;
    if (strcmp(verb, "set") == 0) {
        read_path(in, as->edit, end, true);
    } else if (strcmp(verb, "delete") == 0) {
        node = read_path(in, as->edit, end, false);
        if (node && node != as->edit) junos_drop(in->tree, node);
        if (node == as->edit) not_followed(in, verb);
    } else if (strcmp(verb, "deactivate") == 0 || strcmp(verb, "activate") == 0) {
        node = read_path(in, as->edit, end, false);
        if (node) node->inactive = verb[0] == 'd';
        if (node) node->off_line = node->inactive ? in->line : 0;
    } else if (strcmp(verb, "edit") == 0) {
        node = read_path(in, as->edit, end, true);
        if (node) as->edit = node;
    } else if (strcmp(verb, "up") == 0 || strcmp(verb, "exit") == 0) {
        if (as->edit->parent) as->edit = as->edit->parent;
    } else if (strcmp(verb, "rename") == 0 || strcmp(verb, "copy") == 0 || strcmp(verb, "replace") == 0 ||
               strcmp(verb, "wildcard") == 0 || strcmp(verb, "load") == 0) {
        not_followed(in, verb);
    }
}

static void read_commands(struct reader *in)
{
    struct command as = {&in->tree->root};

    for (in->line = 1; in->at < in->end && !in->tree->full; in->line++) {
        const char *end = memchr(in->at, '\n', (size_t)(in->end - in->at)), *prompt = in->at;
        if (!end) end = in->end;
        in->at += strspn(in->at, BLANKS);
        /* `user@leaf1# set ...` */
        while (prompt < end && !isspace((unsigned char)*prompt))
            prompt++;
        if (prompt > in->at && prompt < end && strchr("#>", prompt[-1]) &&
            memchr(in->at, '@', (size_t)(prompt - in->at)))
            in->at = prompt + strspn(prompt, BLANKS);
        if (in->at < end && *in->at != '#') read_command(in, &as, end);
        in->at = end < in->end ? end + 1 : end;
    }
}

bool junos_is_commands(const char *text, size_t length)
{
    uint32_t commands = 0, blocks = 0;

    for (const char *at = text, *last = text + length; at < last;) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        if (!end) end = last;
        const char *close = end;
        while (close > at && isspace((unsigned char)close[-1]))
            close--;
        at += strspn(at, " \t");
        commands += close - at > 4 && memcmp(at, "set ", 4) == 0;
        blocks += close > at && close[-1] == '{';
        at = end < last ? end + 1 : end;
    }
    return commands > blocks;
}

int junos_tree_read(struct junos_tree *tree)
{
    const struct config_text *text = tree->text;
    struct reader in = {.tree = tree, .at = text->text, .end = text->text + text->length, .line = 1};

    if (junos_is_commands(text->text, text->length))
        read_commands(&in);
    else
        read_braces(&in);
    if (tree->full) {
        fabric_errors_add(text->errors, (struct fabric_at){in.line, 1},
                          "more than %u words, or %u behind each other: this is no configuration", JUNOS_NODES,
                          JUNOS_DEEP);
        return -EINVAL;
    }
    if (tree->root.first) return 0;
    fabric_errors_add(text->errors, (struct fabric_at){1, 1},
                      "not Junos: blocks in braces, or lines of `set`, are expected");
    return -EINVAL;
}
