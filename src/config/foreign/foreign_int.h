/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a text with their places, for the importers.
 */
#ifndef ROCELAB_CONFIG_FOREIGN_FOREIGN_INT_H
#define ROCELAB_CONFIG_FOREIGN_FOREIGN_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/words.h"

struct arena;
struct fabric_errors;

struct words {
    const char *next;
    struct fabric_at at; /* of the word last taken */
    uint32_t line, column;
    struct fabric_errors *errors;
    char word[64]; /* the word last taken; a longer one is cut */
};

void words_init(struct words *words, const char *text, struct fabric_errors *errors);
bool words_take(struct words *words);      /* the next word, on this line or a later one */
bool words_take_line(struct words *words); /* the next word of this line; false at its end */
bool words_skip_line(struct words *words); /* to the start of the next line; false at the end of the text */
/* The next word, wherever it is, as a number; says what is wrong. */
bool words_number(struct words *words, const char *what, uint64_t *ret);
/* A decimal number times scale, exact where its digits allow, cut where not. */
bool words_decimal(const char *text, uint64_t scale, uint64_t *ret);
/* `text`, or the file at `path` in the arena when that is NULL. */
const char *import_text(const char *path, const char *text, struct arena *arena, struct fabric_errors *errors);

#endif
