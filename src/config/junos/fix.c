/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `set` and `delete` lines that lead Junos from what runs to what was approved.
 *
 * A commit takes effect as a whole, so an object that differs (a classifier, a scheduler, a profile) is deleted and set
 * anew; of interfaces only single statements are touched.  Both texts are read into trees of words, so that braces,
 * `set` lines and lists are the same.  Objects that the device calls otherwise stay; ours are applied in their place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/fix.h"
#include "config/junos/junos_int.h"
#include "fabric/errors.h"

static const struct object {
    const char *path; /* words; * any */
    unsigned families;
    bool of_port; /* of an interface: what is not approved goes */
} objects[] = {
    {"class-of-service classifiers * *", FIX_MAPS, false},
    {"class-of-service drop-profiles *", FIX_ECN, false},
    {"class-of-service shared-buffer", FIX_BUFFERS, false},
    {"class-of-service forwarding-classes", FIX_MAPS | FIX_PFC | FIX_BUFFERS, false},
    {"class-of-service congestion-notification-profile *",
     FIX_PFC | FIX_BUFFERS | FIX_WATCHDOG | FIX_MTU | FIX_CABLING | FIX_MAPS, false},
    {"class-of-service schedulers *", FIX_ECN | FIX_SHARES, false},
    {"class-of-service scheduler-maps *", FIX_ECN | FIX_SHARES, false},
    {"class-of-service interfaces * congestion-notification-profile",
     FIX_PFC | FIX_BUFFERS | FIX_WATCHDOG | FIX_MTU | FIX_CABLING | FIX_MAPS, true},
    {"class-of-service interfaces * scheduler-map", FIX_ECN | FIX_SHARES, true},
    {"class-of-service interfaces * unit * classifiers", FIX_MAPS, true},
    {"interfaces * mtu", FIX_MTU, true},
    {"interfaces * speed", FIX_RATE, true},
    {"interfaces * disable", FIX_UP, true},
    {"interfaces * description", FIX_CABLING, true},
};

struct junos_text {
    struct config_set set;
    struct fabric_errors errors;
    struct config_text in;
    struct junos_tree tree;
};

static int read_text(const char *text, struct arena *arena, struct junos_text *ret)
{
    config_set_init(&ret->set);
    ret->in = (struct config_text){.path = "-", .text = text, .length = strlen(text), .errors = &ret->errors};
    uint32_t device = config_device(&ret->set, CONFIG_AT(&ret->in, 1), "device", "junos", false);
    ret->tree = (struct junos_tree){.set = &ret->set, .text = &ret->in, .arena = arena};
    int result = junos_tree_read(&ret->tree);
    if (result == 0) junos_tree_expand(&ret->tree, device);
    return result;
}

/* The same words below, in any order. */
static bool same_below(const struct junos_tree *in, const struct junos_node *a, const struct junos_node *b)
{
    uint32_t x = 0, y = 0;

    for (const struct junos_node *child = a->first; child; child = child->next, x++) {
        const struct junos_node *other = junos_child(in, b, child->word);
        if (!other || !same_below(in, child, other)) return false;
    }
    for (const struct junos_node *child = b->first; child; child = child->next)
        y++;
    return x == y;
}

struct change {
    struct junos_text approved, running;
    const struct fix *fix;
    int *result;
    FILE *to;
    const char *lines; /* of the approved text */
};

/* Words keep the backslashes that they were read with.  A word that ends early would make a statement a shorter one:
 * `unit "0 #"` is not `unit 0`. */
static void print_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.:*-";

    if (*word && !word[strspn(word, plain)]) {
        fputs(word, to);
        return;
    }
    fputc('"', to);
    for (; *word; word++) {
        bool escapes = *word == '\\' && word[1];
        if (escapes)
            fputc(*word++, to);
        else if (*word == '"' || *word == '\\')
            fputc('\\', to);
        fputc(*word, to);
    }
    fputc('"', to);
}

static void print_path(FILE *to, const struct junos_node *node, bool raw)
{
    if (node->parent && node->parent->parent) {
        print_path(to, node->parent, raw);
        fputc(' ', to);
    }
    if (raw)
        fputs(node->word, to);
    else
        print_word(to, node->word);
}

/* No name has a control character in it, and a terminal that shows or takes one does what it says. */
static bool is_clean(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127) return false;
    return true;
}

#define NOT_WRITTEN "control characters are not written into a command; "

static void print_delete(const struct change *change, const struct junos_node *node)
{
    for (const struct junos_node *at = node; at->parent; at = at->parent)
        if (!is_clean(at->word, strlen(at->word)))
            *change->result =
                fix_refuse(change->fix, node->line, "this would have to be deleted: " NOT_WRITTEN "delete it by hand");
    fputs("delete ", change->to);
    print_path(change->to, node, false);
    fputc('\n', change->to);
}

/* The lines of the approved text that begin with the words of this object. */
static void print_lines(const struct change *change, const struct junos_node *node)
{
    char *prefix = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&prefix, &length);

    if (!to) return;
    fputs("set ", to);
    print_path(to, node, true); /* as the lines have them */
    if (fclose(to) != 0) return;
    for (const char *line = change->lines; *line;) {
        size_t end = strcspn(line, "\n");
        bool within = end >= length && strncmp(line, prefix, length) == 0 && strchr(" \n", line[length]);
        if (within && !is_clean(line, end))
            *change->result =
                fix_refuse(change->fix, 0, "'%.*s' would have to be set: " NOT_WRITTEN "approve it without them",
                           (int)(end < 120 ? end : 120), line);
        if (within) fprintf(change->to, "%.*s\n", (int)end, line);
        line += end + (line[end] == '\n');
    }
    free(prefix);
}

static struct junos_node *same_node(const struct junos_tree *tree, const struct junos_node *node)
{
    struct junos_node *parent =
        node->parent ? same_node(tree, node->parent) : (struct junos_node *)(uintptr_t)&tree->root;

    return node->parent && parent ? junos_child(tree, parent, node->word) : parent;
}

/* An object of the approved text that does not run so. */
static void set_object(const struct change *change, const struct object *object, const struct junos_node *node)
{
    const struct junos_node *now = same_node(&change->running.tree, node);

    if (now && same_below(&change->running.tree, node, now)) return;
    if (now && !(object->of_port && node->first && !node->first->first)) /* one value replaces another by itself */
        print_delete(change, node);
    print_lines(change, node);
}

/* A statement of an approved interface that runs and is not approved. */
static void delete_object(const struct change *change, const struct junos_node *node)
{
    const struct junos_node *port = node;

    if (same_node(&change->approved.tree, node)) return;
    while (port && !(port->parent && strcmp(port->parent->word ? port->parent->word : "", "interfaces") == 0))
        port = port->parent;
    struct junos_node *interfaces = junos_child(&change->approved.tree, &change->approved.tree.root, "interfaces");
    if (!port || !interfaces || !junos_child(&change->approved.tree, interfaces, port->word)) return;
    print_delete(change, node);
}

/* Calls for every node that the words lead to. */
static void each_object(const struct change *change, const struct object *object, const struct junos_node *from,
                        const char *path, bool approved)
{
    size_t length = strcspn(path, " ");

    if (!*path) {
        if (approved)
            set_object(change, object, from);
        else
            delete_object(change, from);
        return;
    }
    for (const struct junos_node *child = from->first; child; child = child->next)
        if (strncmp(path, "*", length) == 0 ||
            (strlen(child->word) == length && strncmp(child->word, path, length) == 0))
            each_object(change, object, child, path + length + (path[length] == ' '), approved);
}

static void write_change(const struct change *change, unsigned families)
{
    for (size_t o = 0; o < sizeof objects / sizeof objects[0]; o++) {
        if (!(objects[o].families & families)) continue;
        if (objects[o].of_port) each_object(change, &objects[o], &change->running.tree.root, objects[o].path, false);
        each_object(change, &objects[o], &change->approved.tree.root, objects[o].path, true);
    }
}

int junos_fix(const struct fix *fix)
{
    int result = 0;
    struct change change = {.fix = fix, .result = &result, .lines = fix->approved};
    struct arena arena;
    char *text = NULL;
    size_t length = 0;

    arena_init_or_end(&arena, (size_t)1 << 30);
    result = read_text(fix->approved, &arena, &change.approved);
    int other = read_text(fix->running, &arena, &change.running);
    if (result == 0) result = other;
    if (result == 0 && (change.approved.tree.full || change.running.tree.full))
        result = fix_refuse(fix, 0,
                            "it has more statements, or deeper ones, than are read, and a change of a part of them is "
                            "none; give the configuration of one switch");
    change.to = result == 0 ? open_memstream(&text, &length) : NULL; /* all of it, or nothing */
    if (result == 0) {
        write_change(&change, fix->families);
        fclose(change.to);
    }
    if (result == 0 && fwrite(text, 1, length, fix->to) != length) result = -EIO;
    free(text);
    config_set_release(&change.approved.set);
    config_set_release(&change.running.set);
    arena_release(&arena);
    return result;
}
