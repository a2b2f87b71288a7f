/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Junos configuration as a tree of words.
 *
 * `dscp mine { forwarding-class CNP { ... } }` and `set ... dscp mine forwarding-class CNP ...` are the same path of
 * words, so both forms become one tree: every word is a node, a list's words are children of the word before it.  A
 * setting's value is the last child of its name: what is said later replaces what was said before.
 */
#ifndef ROCELAB_CONFIG_JUNOS_TREE_H
#define ROCELAB_CONFIG_JUNOS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define JUNOS_DEEP 128u      /* words from the root; no statement is as long */
#define JUNOS_WORD 1024u     /* bytes of a word that are kept: names have fewer, keys and banners may have more */
#define JUNOS_NODES 2000000u /* of one text, what groups and ranges add among them */

struct junos_node {
    const char *word;
    uint32_t line;
    uint32_t off_line; /* of the command that made it inactive; 0: it was written so */
    uint16_t depth;
    bool inactive;
    bool known;  /* somebody has dealt with it */
    bool folded; /* came out of a group or a range: its lines are told where they stand */
    struct junos_node *parent, *first, *last, *next, *before;
};

#define JUNOS_OFF_MAX 64u
struct junos_off { /* of class of service, and inactive */
    const char *interface, *word;
    uint32_t line;
};

struct junos_tree {
    struct config_set *set;
    const struct config_text *text;
    struct arena *arena;
    struct junos_node root;
    struct junos_node **slot; /* by parent and word */
    uint32_t slots, nodes;
    struct junos_off off[JUNOS_OFF_MAX]; /* of interfaces alone */
    uint32_t offs;
    uint32_t apply_line; /* of the first groups that are applied to all; 0: none are */
    const char *spare;   /* a group with class of service that is applied nowhere; NULL: there is none */
    uint32_t spare_line;
    bool full;
};

/* 0; -EINVAL with errors.  What is odd in the text is a note without a device. */
int junos_tree_read(struct junos_tree *tree);
/* Groups where they are applied, interface ranges, and what is inactive out of the way (expand.c). */
void junos_tree_expand(struct junos_tree *tree, uint32_t device);
bool junos_is_commands(const char *text, size_t length);

/* The child of this word, NULL: none.  None of these marks anything. */
struct junos_node *junos_child(const struct junos_tree *tree, const struct junos_node *of, const char *word);
/* The child, made where there is none; NULL: no room. */
struct junos_node *junos_add(struct junos_tree *tree, struct junos_node *of, const char *word, uint32_t line);
/* Puts a child that is there last, or (front) first. */
void junos_move(struct junos_node *child, bool front);
void junos_drop(struct junos_tree *tree, struct junos_node *node);
/* Follows words; marks what it finds as known.  NULL: there is no such statement, or `of` is NULL. */
struct junos_node *junos_get(const struct junos_tree *tree, struct junos_node *of, const char *path);
/* The first child of that; NULL: there is none. */
struct junos_node *junos_first(const struct junos_tree *tree, struct junos_node *of, const char *path);
/* The value behind the words: their last child, marked as known.  NULL: none. */
struct junos_node *junos_value(const struct junos_tree *tree, struct junos_node *of, const char *path);
/* The next node below `of` after `at` (NULL: the first), in order of the text; NULL: no more. */
struct junos_node *junos_next_below(const struct junos_node *of, struct junos_node *at);
/* The value of such a word anywhere below, the last that is said: options of a one-line statement stand behind each
 * other, in commands beside each other. */
struct junos_node *junos_below(struct junos_node *of, const char *word);
void junos_known(struct junos_node *node);     /* the node and what is above it */
void junos_known_all(struct junos_node *node); /* and all below it */
/* `et-*`, `*`, `<et-*>`, `et-0/0/[0-5]`: does it match?  No wildcard: equal. */
bool junos_matches(const char *pattern, const char *word);
bool junos_has_wildcard(const char *pattern);

#endif
