/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change to a fabric file, word by word.
 *
 * What diff.c compares is what runs: ports, queues, thresholds.  A file says more, and who may change that is asked
 * too: who owns what, which versions are approved, what `check` passes over, parameters of adapters, jobs.  So each
 * value that differs is a drift, unless diff.c has told one of its key: its values are the resolved ones, and the
 * topology is told by the devices and ports that it makes.
 */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "cli/plan/diff_print.h"
#include "fabric/file/tree.h"
#include "fabric/owners.h"

#define PATH 192

struct side { /* tree NULL: it does not say it; then `at` is of what encloses it */
    const struct tree *tree;
    struct fabric_at at;
};

struct words {
    struct diff *diff;
    struct diff_list *list;
    uint32_t told; /* drifts that diff.c has told: the first of the list */
};

/* Behind what says for whom it is: `devices.leaf0.ports.2.pfc`; *ret_device: for whom. */
static const char *behind_layer(const char *path, char device[PATH])
{
    static const struct {
        const char *section;
        int words; /* that are for whom */
    } layers[] = {{"devices", 2}, {"roles", 2}, {"links", 2}, {"switches", 1}, {"nics", 1}};
    const char *key = path;

    snprintf(device, PATH, "file");
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        size_t length = strlen(layers[i].section);
        if (strncmp(path, layers[i].section, length) != 0 || path[length] != '.') continue;
        int words = layers[i].words;
        for (; words > 0 && (length = strcspn(key, "."), key[length]); words--) {
            snprintf(device, PATH, "%.*s", (int)length, key);
            key += length + 1;
        }
        if (strncmp(key, "ports.", 6) == 0 && key[6 + strcspn(key + 6, ".")]) key += 7 + strcspn(key + 6, ".");
        return key;
    }
    return key;
}

static bool is_told(const struct words *words, const char *path, const char *key)
{
    bool topology = strcmp(path, "topology") == 0 || strncmp(path, "topology.", 9) == 0;

    for (uint32_t i = 0; i < words->told; i++) {
        const char *told = words->list->drift[i].key;
        if (strcmp(told, key) == 0) return true;
        if (topology && (strcmp(told, "devices") == 0 || strcmp(told, "ports") == 0 || strcmp(told, "peer") == 0))
            return true;
    }
    return false;
}

static void show(const struct tree *tree, char ret[DIFF_VALUE])
{
    char found[TREE_FOUND];
    size_t used = 1;

    if (tree == NULL || tree->type != TREE_LIST) {
        bool word = tree && tree->type == TREE_SCALAR && tree->text[0];
        snprintf(ret, DIFF_VALUE, "%s", tree == NULL ? "missing" : word ? tree->text : tree_found(tree, found));
        return;
    }
    snprintf(ret, DIFF_VALUE, "[");
    for (const struct tree *one = tree->first; one && used < DIFF_VALUE; one = one->next)
        used += (size_t)snprintf(ret + used, DIFF_VALUE - used, "%s%s%s", one == tree->first ? "" : ", ",
                                 one->type == TREE_SCALAR ? one->text : "...", one->next ? "" : "]");
}

static void report(struct words *words, const char *path, struct side approved, struct side running)
{
    const struct fabric *one = words->diff->approved.fabric;
    char name[PATH];
    const char *key = behind_layer(path, name);

    if (is_told(words, path, key)) return;
    if (strncmp(path, "devices.", 8) != 0 && strncmp(path, "roles.", 6) != 0) key = path;
    struct drift drift = {.device = arena_strndup(&words->list->arena, name, strlen(name)),
                          .key = key,
                          .owner = fabric_owner(one, key),
                          .number = FABRIC_NONE,
                          .approved_at = approved.at,
                          .running_at = running.at};
    show(approved.tree, drift.approved);
    show(running.tree, drift.running);
    if (strcmp(drift.approved, drift.running) == 0) snprintf(drift.running, sizeof drift.running, "another");
    words->diff->drifts++;
    diff_list_add(words->list, &drift);
}

/* Elements of a list that have names are known by them; NULL: it has none. */
static const char *name_of(const struct tree *element)
{
    const struct tree *name = element->type == TREE_MAP ? tree_get(element, "name") : NULL;

    return name && name->type == TREE_SCALAR && name->text[0] ? name->text : NULL;
}

static const char *child_name(const struct tree *parent, const struct tree *child)
{
    return parent->type == TREE_MAP ? child->key : name_of(child);
}

/* `guess` is where it is if both sides have the same order. */
static const struct tree *child_called(const struct tree *parent, const char *name, const struct tree *guess)
{
    const struct tree *one = guess;

    if (one == NULL || strcmp(child_name(parent, one), name) != 0) one = parent ? parent->first : NULL;
    while (one && strcmp(child_name(parent, one), name) != 0)
        one = one->next;
    return one;
}

/* A map, or a list whose elements all have names. */
static bool all_named(const struct tree *tree)
{
    for (const struct tree *one = tree->first; one; one = one->next)
        if (child_name(tree, one) == NULL) return false;
    return tree->count > 0;
}

static bool same(const struct tree *a, const struct tree *b)
{
    const struct tree *guess = b->first;

    if (a->type != b->type || a->count != b->count) return false;
    if (a->type == TREE_SCALAR) return strcmp(a->text, b->text) == 0;
    for (const struct tree *one = a->first; one; one = one->next, guess = guess->next) {
        const struct tree *other = a->type == TREE_MAP ? child_called(b, one->key, guess) : guess;
        if (other == NULL || !same(one, other)) return false;
    }
    return true;
}

/* A name is one word of the path, whatever is in it: owners are found by words. */
static void append(char below[PATH], const char *path, const char *name)
{
    size_t length = strlen(path);

    snprintf(below, PATH, "%s%s%s", path, length ? "." : "", name);
    for (char *dot = below + strlen(below); length && dot > below + length + 1; dot--)
        if (dot[-1] == '.') dot[-1] = '_';
}

/* What only one side has is told key by key, too: each may be another's to say. */
static void compare(struct words *words, const char *path, struct side a, struct side b)
{
    const struct tree *any = a.tree ? a.tree : b.tree;
    bool both = a.tree && b.tree;
    char below[PATH];

    if (both && same(a.tree, b.tree)) return;
    if (!all_named(any) || (both && (a.tree->type != b.tree->type || !all_named(b.tree)))) {
        report(words, path, a, b);
        return;
    }
    const struct tree *guess = b.tree ? b.tree->first : NULL;
    for (const struct tree *one = a.tree ? a.tree->first : NULL; one; one = one->next) {
        const char *name = child_name(a.tree, one);
        const struct tree *other = child_called(b.tree, name, guess);
        append(below, path, name);
        compare(words, below, (struct side){one, one->at}, (struct side){other, other ? other->at : b.at});
        guess = other ? other->next : guess;
    }
    guess = a.tree ? a.tree->first : NULL;
    for (const struct tree *one = b.tree ? b.tree->first : NULL; one; one = one->next) {
        const char *name = child_name(b.tree, one);
        const struct tree *other = child_called(a.tree, name, guess);
        guess = other ? other->next : guess;
        if (other) continue;
        append(below, path, name);
        compare(words, below, (struct side){NULL, a.at}, (struct side){one, one->at});
    }
}

void diff_words(struct diff *diff, struct diff_list *list)
{
    const char *text[] = {list->approved->text, list->running->text};
    struct words words = {.diff = diff, .list = list, .told = list->count};
    struct fabric_errors errors = {0};
    struct tree *tree[2];

    for (int side = 0; side < 2; side++)
        CHECK(tree_parse(text[side], strlen(text[side]), &list->arena, &tree[side], &errors) == 0); /* it was loaded */
    compare(&words, "", (struct side){tree[0], tree[0]->at}, (struct side){tree[1], tree[1]->at});
}
