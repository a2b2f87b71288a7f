/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running text mended in its own words: single statements replaced, added or taken out.
 *
 * What may mend a drift is guessed (mend_guess.c); who asks reads each guess back as a configuration and keeps one that
 * does away with drifts and brings no other.  So no statement is written that the importer does not know to be right,
 * nothing but it is touched, and names, units and kinds of queues are the device's.
 */
#ifndef ROCELAB_CONFIG_MEND_H
#define ROCELAB_CONFIG_MEND_H

#include <stdint.h>
#include <stdio.h>

#include "config/config.h"

struct mend_text {
    struct arena *arena;
    enum mend_form form;
    const char **line; /* Junos in braces becomes `set` lines */
    uint32_t *number;  /* of each line in the text that was read; 0: added */
    uint32_t count, room;
    uint32_t printed; /* edits, of a document that is all of them */
};

struct mend_edit {
    uint32_t at; /* a line's index */
    enum mend_how { MEND_REPLACE, MEND_BEHIND, MEND_REMOVE } how;
    const char *text; /* the whole line; of a row that is not there all its lines */
};

struct mend_edits {
    struct mend_edit *edit;
    uint32_t count, room;
};

struct mend_wish {                               /* a drift */
    const char *port, *key, *approved, *running; /* port NULL: the device */
    uint32_t number;                             /* of the line that says what runs; 0: none does */
    const char *ours;                            /* the approved device as we write it */
};

/* False: a text of another form than is mended. */
bool mend_read(struct mend_text *ret, enum mend_form form, const char *text, struct arena *arena);
/* Has this text all names that we would give?  Then it is of our making. */
bool mend_is_ours(enum mend_form form, const char *seen, const char *running);
char *mend_whole(const struct mend_text *text); /* to be freed */
void mend_apply(struct mend_text *io, const struct mend_edit *edit);
/* The commands of an edit that is not applied yet. */
void mend_print(struct mend_text *text, const struct mend_edit *edit, FILE *to);
/* After the last one. */
void mend_close(const struct mend_text *text, FILE *to);
/* Adds what may mend it, the likely ones first. */
void mend_guess(const struct mend_text *text, const struct mend_wish *wish, struct mend_edits *io);

/* --- between mend.c, mend_guess.c and mend_rows.c --- */
#define MEND_LIST 256
#define MEND_PATH 4096
void mend_line(struct mend_text *io, const char *line, size_t length, uint32_t number);
bool mend_read_rows(struct mend_text *io, const char *text);
void mend_whole_rows(const struct mend_text *text, FILE *to);
void mend_print_rows(const struct mend_text *text, const struct mend_edit *edit, bool first, FILE *to);
size_t mend_row(const char *line);                  /* the length of `/TABLE/ROW` */
const char *mend_words(const char *line);           /* without what it is indented by */
uint32_t mend_indent(const char *line);             /* in characters */
bool mend_says(const char *line, const char *with); /* begins with these words */
/* The words that say what a statement is about: those before its first number, or all but the last. */
size_t mend_about(const char *statement);
bool mend_alike(const char *one, const char *other); /* about the same; never of lists, which only grow */
/* The index of the line around this one; UINT32_MAX: none. */
uint32_t mend_parent(const struct mend_text *text, uint32_t line);
/* The numbers of `24,26-28` or `24 26`, up to 63, as bits. */
uint64_t mend_numbers(const char *list);
const char *mend_list(uint64_t bits, const char *between, char buf[MEND_LIST]);

#endif
