/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML text as a plain tree in which every value knows its line and column.
 */
#ifndef ROCELAB_FABRIC_FILE_TREE_H
#define ROCELAB_FABRIC_FILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "fabric/words.h"

struct fabric_errors;

enum tree_type { TREE_SCALAR, TREE_MAP, TREE_LIST };

struct tree {
    uint8_t type; /* enum tree_type */
    bool plain;   /* a scalar without quotes */
    bool block;   /* a scalar over several lines (| or >); `at` is where its text begins */
    bool lines;   /* a scalar whose reader takes it line by line; false until somebody says so */
    struct fabric_at at;
    struct fabric_at key_at;
    const char *key;  /* in a map; in a list the list's own */
    const char *text; /* of a scalar, terminated; "" for nothing */
    uint32_t count;   /* of children */
    struct tree *first, *last, *next;
};

/* 0 and the root, -EINVAL with errors, or -ENOMEM.  A text without a document answers an empty scalar. */
int tree_parse(const char *text, size_t length, struct arena *arena, struct tree **ret, struct fabric_errors *errors);
/* The same for YAML and JSON of other programs: a key may be in a map twice, and then both are in the tree. */
int tree_parse_foreign(const char *text, size_t length, struct arena *arena, struct tree **ret,
                       struct fabric_errors *errors);
/* All below it is at one place of the file, and elements of a list have the list's key. */
void tree_relocate(struct tree *tree, struct fabric_at at);
/* Whether no key and no scalar has a control character (utf8_control()); each that has one is an error.  They become
 * parts of lines that others execute: comments of scripts, configurations, what a terminal shows. */
bool tree_refuse_controls(const struct tree *tree, struct fabric_errors *errors);
void tree_append(struct tree *to, struct tree *child);                /* behind all that a map or list has */
const struct tree *tree_get(const struct tree *map, const char *key); /* NULL when absent or not a map */
/* "nothing", "a list", "a map" or "'TEXT'", for messages. */
#define TREE_FOUND 64
const char *tree_found(const struct tree *tree, char buf[TREE_FOUND]);

#endif
