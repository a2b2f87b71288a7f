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
 * first word is in `aside` (words.h) are known to have no say in a fabric. */
void lines_rest(struct config_set *set, const struct config_text *text, const struct lines *lines, uint32_t device,
                const char *aside);
/* True, and an error: most lines with a word of RoCE's were understood by nobody, so that the text is not of `system`
 * whatever it was called.  Without the error a file of another system would be found to have no faults.  After the
 * importer has dealt with all it knows. */
bool lines_too_little(const struct config_text *text, const struct lines *lines, const struct config_format *own,
                      const char *system);
/* Says how many equal paths BGP uses and how many neighbours it has (lines_routes.c). */
void lines_routes(struct config_set *set, const struct config_text *text, const struct lines *lines, uint32_t device);
/* Notes MTU001 for interfaces of VLANs that route smaller frames than their ports take (lines_svi.c). */
void lines_svis(struct config_set *set, const struct config_text *text, const struct lines *lines, uint32_t device);
/* Reads the lines and makes the device that `hostname`, or else the caller or the file, names.  As lines_read(). */
int lines_begin(struct config_set *set, const struct config_text *text, const struct lines_grammar *grammar,
                const char *nos, struct lines *ret_lines, uint32_t *ret_device);
/* Words of this configuration that are plainly of RoCE. */
bool lines_about_roce(const char *text);
/* How many of `word` (ended by NULL) begin a line of the text, wherever it is indented. */
unsigned lines_begin_with(const char *text, size_t length, const char *const *word);
/* A guess's answer for such a text: how many of `own` (ended by NULL) begin a line of it, against `others`. */
int lines_guess(const char *text, size_t length, const char *const *own, const char *const *others);

#endif
