/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of the tree of words: found, made, moved, marked.
 */
#include "config/junos/tree.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"

static uint64_t hash_of(const struct junos_node *parent, const char *word)
{
    uint64_t hash = hash_text(HASH_BEGIN ^ (uintptr_t)parent, word);

    return hash ^ hash >> 29;
}

static void grow(struct junos_tree *tree)
{
    uint32_t slots = tree->slots ? tree->slots * 2 : 1024;
    struct junos_node **slot = ARENA_NEW(tree->arena, struct junos_node *, slots);

    for (uint32_t i = 0; i < tree->slots; i++) {
        if (!tree->slot[i]) continue;
        uint32_t at = (uint32_t)hash_of(tree->slot[i]->parent, tree->slot[i]->word) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = tree->slot[i];
    }
    tree->slot = slot;
    tree->slots = slots;
}

struct junos_node *junos_child(const struct junos_tree *tree, const struct junos_node *of, const char *word)
{
    if (!tree->slots) return NULL;
    for (uint32_t at = (uint32_t)hash_of(of, word) & (tree->slots - 1); tree->slot[at];
         at = (at + 1) & (tree->slots - 1))
        if (tree->slot[at]->parent == of && strcmp(tree->slot[at]->word, word) == 0) return tree->slot[at];
    return NULL;
}

struct junos_node *junos_add(struct junos_tree *tree, struct junos_node *of, const char *word, uint32_t line)
{
    struct junos_node *node = junos_child(tree, of, word);

    if (node) return node;
    if (tree->nodes >= JUNOS_NODES || of->depth + 1u >= JUNOS_DEEP) {
        tree->full = true;
        return NULL;
    }
    if ((tree->nodes + 1) * 2 > tree->slots) grow(tree);
    node = ARENA_NEW(tree->arena, struct junos_node, 1);
    *node = (struct junos_node){.word = word, .line = line, .parent = of, .depth = (uint16_t)(of->depth + 1)};
    uint32_t at = (uint32_t)hash_of(of, word) & (tree->slots - 1);
    while (tree->slot[at])
        at = (at + 1) & (tree->slots - 1);
    tree->slot[at] = node;
    tree->nodes++;
    node->before = of->last;
    *(of->last ? &of->last->next : &of->first) = node;
    of->last = node;
    return node;
}

static void unlink_node(struct junos_node *node)
{
    struct junos_node *parent = node->parent;

    *(node->before ? &node->before->next : &parent->first) = node->next;
    *(node->next ? &node->next->before : &parent->last) = node->before;
    node->next = node->before = NULL;
}

void junos_move(struct junos_node *child, bool front)
{
    struct junos_node *parent = child->parent;

    if (front ? parent->first == child : parent->last == child) return;
    unlink_node(child); /* others remain: it was not the only one */
    if (front) {
        child->next = parent->first;
        child->next->before = child;
        parent->first = child;
    } else {
        child->before = parent->last;
        child->before->next = child;
        parent->last = child;
    }
}

/* Takes the node out of its slot.  Those behind it that could not have theirs move up, so that a word that comes and
 * goes leaves nothing to be walked over. */
static void free_slot(struct junos_tree *tree, const struct junos_node *node)
{
    uint32_t mask = tree->slots - 1, gap = (uint32_t)hash_of(node->parent, node->word) & mask;

    while (tree->slot[gap] != node)
        gap = (gap + 1) & mask;
    for (uint32_t at = (gap + 1) & mask; tree->slot[at]; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)hash_of(tree->slot[at]->parent, tree->slot[at]->word) & mask;
        if (((at - home) & mask) < ((at - gap) & mask)) continue; /* it would be before its home */
        tree->slot[gap] = tree->slot[at];
        gap = at;
    }
    tree->slot[gap] = NULL;
}

void junos_drop(struct junos_tree *tree, struct junos_node *node)
{
    if (node == &tree->root) return;
    free_slot(tree, node);
    unlink_node(node);
    node->parent = NULL;
}

static struct junos_node *follow(const struct junos_tree *tree, struct junos_node *of, const char *path)
{
    char word[64];

    while (of && *path) {
        size_t length = strcspn(path, " ");
        CHECK(length < sizeof(word)); /* paths are our own words */
        memcpy(word, path, length);
        word[length] = 0;
        of = junos_child(tree, of, word);
        path += length + (path[length] == ' ');
    }
    return of;
}

struct junos_node *junos_get(const struct junos_tree *tree, struct junos_node *of, const char *path)
{
    struct junos_node *node = follow(tree, of, path);

    if (node) junos_known(node);
    return node;
}

struct junos_node *junos_first(const struct junos_tree *tree, struct junos_node *of, const char *path)
{
    struct junos_node *node = junos_get(tree, of, path);

    return node ? node->first : NULL;
}

struct junos_node *junos_value(const struct junos_tree *tree, struct junos_node *of, const char *path)
{
    struct junos_node *node = junos_get(tree, of, path);

    for (struct junos_node *value = node ? node->first : NULL; value; value = value->next)
        value->known = true; /* those before the last are replaced */
    return node ? node->last : NULL;
}

struct junos_node *junos_next_below(const struct junos_node *of, struct junos_node *at)
{
    if (!at) return of->first;
    if (at->first) return at->first;
    while (at != of && !at->next)
        at = at->parent;
    return at == of ? NULL : at->next;
}

struct junos_node *junos_below(struct junos_node *of, const char *word)
{
    struct junos_node *found = NULL;

    for (struct junos_node *at = junos_next_below(of, NULL); at; at = junos_next_below(of, at)) {
        if (strcmp(at->word, word) != 0) continue;
        struct junos_node *value = at->last ? at->last : at;
        junos_known(at);
        value->known = true;
        if (!found || value->line >= found->line) found = value;
    }
    return found;
}

void junos_known(struct junos_node *node)
{
    for (; node && !node->known; node = node->parent)
        node->known = true;
}

void junos_known_all(struct junos_node *node)
{
    junos_known(node);
    for (struct junos_node *at = junos_next_below(node, NULL); at; at = junos_next_below(node, at))
        at->known = true;
}

bool junos_has_wildcard(const char *pattern)
{
    return pattern[strcspn(pattern, "*<[?")] != 0;
}

/* `[0-5]`, `[135]`: one character of them. */
static bool in_set(const char **io_pattern, char c)
{
    const char *at = *io_pattern + 1;
    bool found = false;

    for (; *at && *at != ']'; at++) {
        if (at[1] == '-' && at[2] && at[2] != ']') {
            found = found || (c >= at[0] && c <= at[2]);
            at += 2;
        } else {
            found = found || c == *at;
        }
    }
    *io_pattern = *at ? at + 1 : at;
    return found;
}

bool junos_matches(const char *pattern, const char *word)
{
    const char *star = NULL, *back = NULL; /* where the last `*` stands, and what it has taken so far */

    if (*pattern == '<') pattern++;
    while (*word) {
        const char *after = pattern;
        bool same = false;
        if (*pattern == '*') {
            star = ++pattern;
            back = word;
            continue;
        }
        if (*pattern == '[') {
            same = in_set(&after, *word);
        } else if (*pattern) {
            same = *pattern == *word || *pattern == '?';
            after++;
        }
        if (same) {
            pattern = after;
            word++;
        } else if (star) {
            pattern = star;
            word = ++back;
        } else {
            return false;
        }
    }
    pattern += strspn(pattern, "*");
    return *pattern == 0 || strcmp(pattern, ">") == 0;
}
