/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of the tree, found by its path and replaced.
 *
 * Done on the tree and not on the text: a replaced value keeps the line and column of the one that the file has, so
 * that the loader's errors still lead to the place in the file.  A value is YAML itself (`{use: dcqcn/paper}`).
 *
 * A path is words divided by dots.  In a map a word is a key; one that is not there is added, and it is the loader,
 * which knows all keys, that refuses a wrong one.  In a list it is a number, the `name` of an element, or the first key
 * of an element (a job's kind, a fault's), the first that fits.
 */
#include "fabric/file/override.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "fabric/override.h"
#include "fabric/qos/settings.h"
#include "fabric/system_keys.h"

#define WORD 128

uint64_t tree_hash(uint64_t hash, const struct tree *tree)
{
    hash = hash_bytes(hash, &tree->type, sizeof(tree->type));
    hash = hash_bytes(hash, &tree->count, sizeof(tree->count));
    hash = hash_bytes(hash, tree->text, strlen(tree->text) + 1);
    for (const struct tree *child = tree->first; child; child = child->next) {
        if (tree->type == TREE_MAP) hash = hash_bytes(hash, child->key, strlen(child->key) + 1);
        hash = tree_hash(hash, child);
    }
    return hash;
}

/* What an element of a list is called; NULL: it has no name. */
static const char *name_of(const struct tree *element)
{
    const struct tree *name = tree_get(element, "name");

    if (name && name->type == TREE_SCALAR) return name->text;
    return element->type == TREE_MAP && element->first ? element->first->key : NULL;
}

static struct tree *in_list(struct tree *list, const char *word)
{
    size_t digits = strspn(word, "0123456789");
    struct tree *child = list->first;
    uint32_t index = 0;

    if (word[digits] == '\0' && digits < 8) {
        for (size_t i = 0; i < digits; i++)
            index = index * 10 + (uint32_t)(word[i] - '0');
        while (child && index--)
            child = child->next;
        return child;
    }
    for (; child; child = child->next)
        if (name_of(child) && strcmp(name_of(child), word) == 0) return child;
    for (child = list->first; child; child = child->next)
        if (child->type == TREE_MAP && child->first && strcmp(child->first->key, word) == 0) return child;
    return NULL;
}

static void say_nearest(const struct fabric_override *override, const struct tree *list, const char *word,
                        struct fabric_errors *errors)
{
    struct nearest nearest;
    struct fabric_at nowhere = {0, 0};
    const char *key = list->key ? list->key : "the list";

    nearest_init(&nearest, word);
    for (const struct tree *child = list->first; child; child = child->next)
        if (name_of(child)) nearest_try(&nearest, name_of(child));
    if (nearest.word)
        fabric_errors_add(errors, nowhere, "%s: '%s' is not in %s; did you mean '%s'?", override->path, word, key,
                          nearest.word);
    else
        fabric_errors_add(errors, nowhere, "%s: '%s' is not in %s, which has %u (0 is the first)", override->path, word,
                          key, list->count);
}

/* A new child of a map, a map without children for now. */
static struct tree *add_child(struct tree *map, const char *key, struct arena *arena)
{
    struct tree *child = ARENA_NEW(arena, struct tree, 1);
    const char *copy = arena_strndup(arena, key, strlen(key));

    if (!child || !copy) return NULL;
    *child = (struct tree){.type = TREE_MAP, .key = copy, .text = "", .at = map->at, .key_at = map->at};
    tree_append(map, child);
    return child;
}

/* `congestion: dcqcn/paper` with a parameter is `congestion: {use: dcqcn/paper, ...}`. */
static bool usable(const struct tree *scalar)
{
    static const char *const words[] = {"congestion", "balance", "architecture", "gpu", "pcie"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (scalar->key && strcmp(scalar->key, words[i]) == 0 && scalar->text[0]) return true;
    return false;
}

static int spell_out(struct tree *scalar, struct arena *arena)
{
    struct tree old = *scalar;

    scalar->type = TREE_MAP;
    scalar->text = "";
    struct tree *use = add_child(scalar, "use", arena);
    if (!use) return -ENOMEM;
    use->type = TREE_SCALAR;
    use->text = old.text;
    use->plain = old.plain;
    return 0;
}

/* A file without classes has the usual ones: they can be varied as if they were written out. */
static int add_classes(struct tree *root, struct arena *arena, struct tree **ret)
{
    const struct tree *model = tree_get(root, "model");
    struct tree *usual = classes_usual(arena, model && strcmp(model->text, "hpcc-ns3") == 0, tree_system(root));
    struct tree *child = usual ? add_child(root, usual->key, arena) : NULL;

    if (!child) return -ENOMEM;
    child->type = usual->type;
    child->first = usual->first;
    child->last = usual->last;
    child->count = usual->count;
    *ret = child;
    return 0;
}

/* One step of the path, `last` or not; 0 and the child. */
static int step(struct tree *node, const char *word, bool last, const struct fabric_override *override,
                struct arena *arena, struct fabric_errors *errors, struct tree **ret)
{
    static const char *const lists[] = {"jobs", "faults"};
    struct fabric_at nowhere = {0, 0};
    struct tree *child = NULL;

    if (node->type == TREE_SCALAR && !usable(node)) {
        char found[TREE_FOUND];
        fabric_errors_add(errors, nowhere, "%s: there is no '%s' in %s", override->path, word, tree_found(node, found));
        return -ENOENT;
    }
    if (node->type == TREE_SCALAR && spell_out(node, arena) < 0) return -ENOMEM;
    if (node->type == TREE_LIST) {
        child = in_list(node, word);
        if (!child) say_nearest(override, node, word, errors);
        if (!child) return -ENOENT;
        *ret = child;
        return 0;
    }
    for (child = node->first; child && strcmp(child->key, word) != 0;)
        child = child->next;
    if (!last && !child && !node->key && strcmp(word, "classes") == 0) return add_classes(node, arena, ret);
    for (size_t i = 0; !last && !child && !node->key && i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (strcmp(word, lists[i]) != 0) continue;
        fabric_errors_add(errors, nowhere, "%s: the file has no '%s' to vary one of", override->path, word);
        return -ENOENT;
    }
    if (!child) child = add_child(node, word, arena);
    if (!child) return -ENOMEM;
    *ret = child;
    return 0;
}

static int find(struct tree *root, const struct fabric_override *override, struct arena *arena,
                struct fabric_errors *errors, struct tree **ret)
{
    struct tree *node = root;
    const char *at = override->path;

    for (;;) {
        size_t length = strcspn(at, ".");
        char word[WORD];
        if (length == 0 || length >= sizeof(word)) {
            fabric_errors_add(errors, (struct fabric_at){0, 0}, "%s: a path is words divided by dots", override->path);
            return -ENOENT;
        }
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        int result = step(node, word, at[length] == '\0', override, arena, errors, &node);
        if (result < 0) return result;
        if (at[length] == '\0') break;
        at += length + 1;
    }
    *ret = node;
    return 0;
}

/* Is it an element of one of the file's lists of maps? */
static bool is_element(const struct tree *root, const struct tree *node)
{
    for (const struct tree *part = root->first; part; part = part->next)
        for (const struct tree *item = part->first; part->type == TREE_LIST && item; item = item->next)
            if (item == node) return true;
    return false;
}

static int replace(const struct tree *root, struct tree *node, const struct fabric_override *override,
                   struct arena *arena, struct fabric_errors *errors)
{
    struct fabric_errors own = {0};
    struct tree *value = NULL;
    int result = tree_parse(override->value, strlen(override->value), arena, &value, &own);

    if (result == -EINVAL) {
        fabric_errors_add(errors, (struct fabric_at){0, 0}, "%s: '%s': %s", override->path, override->value,
                          own.count ? own.error[0].text : "not YAML");
    }
    if (result < 0) return result;
    if (is_element(root, node) && node->type == TREE_MAP && value->type != TREE_MAP) {
        const struct tree *key = node->first;
        if (key && key->next && strcmp(key->key, "name") == 0) key = key->next;
        fabric_errors_add(errors, (struct fabric_at){0, 0},
                          "%s: that is all of an element of %s; a value of it is varied by its key, as in %s.%s=%s",
                          override->path, node->key ? node->key : "a list", override->path, key ? key->key : "size",
                          override->value);
        return -ENOENT;
    }
    struct tree old = *node;
    *node = *value;
    node->key = old.key;
    node->key_at = old.key_at;
    node->at = old.at;
    node->next = old.next;
    tree_relocate(node, old.at);
    return 0;
}

/* Whether other values follow from it: those of the usual classes. */
static bool is_first(const struct fabric_override *override)
{
    return strcmp(override->path, "system") == 0 || strcmp(override->path, "model") == 0;
}

static int put_in(struct tree *root, const struct fabric_override *override, uint32_t count, struct arena *arena,
                  struct fabric_errors *errors)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < count; i++) {
            struct tree *node = NULL;
            if (is_first(&override[i]) != (pass == 0)) continue;
            int result = find(root, &override[i], arena, errors, &node);
            if (result == 0) result = replace(root, node, &override[i], arena, errors);
            if (result < 0) return result;
        }
    }
    return 0;
}

static const struct fabric_override *always;
static uint32_t always_count;

void fabric_override_always(const struct fabric_override *override, uint32_t overrides)
{
    always = override;
    always_count = overrides;
}

int tree_override(struct tree *root, const struct fabric_override *override, uint32_t count, struct arena *arena,
                  struct fabric_errors *errors)
{
    int result = put_in(root, always, always_count, arena, errors);

    return result == 0 ? put_in(root, override, count, arena, errors) : result;
}
