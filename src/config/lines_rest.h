/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NX-OS and EOS importers do alike with lines: other systems' commands, and what is left over.
 */
#ifndef ROCELAB_CONFIG_LINES_REST_H
#define ROCELAB_CONFIG_LINES_REST_H

#include "config/config.h"
#include "config/lines.h"

struct lines_foreign { /* a command that is not of this system, and what it should have been */
    const char *pattern, *instead;
};

/* Notes SYN001 for lines that match the list (ended by a NULL pattern) and marks them known. */
void lines_foreign(struct config_set *set, const struct config_text *text, struct lines *lines, uint32_t device,
                   const struct lines_foreign *list);
/* Notes every line that nobody dealt with.  A block whose first line is not about RoCE is noted once; commands whose
 * first word is in `aside` (ended by NULL) are known to have no say in a fabric. */
void lines_rest(struct config_set *set, const struct config_text *text, const struct lines *lines, uint32_t device,
                const char *const *aside);
/* The value of `hostname`, NULL: none. */
const char *lines_hostname(struct lines *lines, uint32_t *ret_number);
/* Words of this configuration that are plainly of RoCE. */
bool lines_about_roce(const char *text);
/* Counts how many of `word` (ended by NULL) begin a line of the text, for guesses: at most one a word. */
unsigned lines_begin_with(const char *text, size_t length, const char *const *word);

#endif
