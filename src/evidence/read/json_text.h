/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON in a text of lines: where it begins, where it ends, and what can be read of one that is cut.
 */
#ifndef ROCELAB_EVIDENCE_READ_JSON_TEXT_H
#define ROCELAB_EVIDENCE_READ_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json_in.h"

/* A document that is collected line by line. */
struct json_text {
    uint32_t line; /* where it begins; 0: none is collected */
    char *text;
    size_t used, room;
    uint32_t depth;
    bool in_string, escaped, too_long;
};
/* Whether a text that begins with { or [ plainly is JSON, and not a time stamp, a rank or a prompt in brackets.  Where
 * `at` says too little, what is `after` it decides. */
bool json_text_begins(const char *at, size_t bytes, const char *after, size_t more);
void json_text_begin(struct json_text *json, uint32_t line);
/* One more line; true: the document is over. */
bool json_text_add(struct json_text *json, const char *line);
/* Its tree.  `why`, `ret_line`: what is wrong with it and where; with a tree: it is cut, and these are its whole
 * elements.  Without `why` it is whole. */
const struct json *json_text_tree(const struct json_text *json, struct arena *arena, const char **why,
                                  uint32_t *ret_line);
void json_text_release(struct json_text *json);

#endif
