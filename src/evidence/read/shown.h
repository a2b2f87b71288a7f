/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line as whoever pasted it saw it: what terminals, pagers, editors, mails and pages put around it is taken away.
 */
#ifndef ROCELAB_EVIDENCE_READ_SHOWN_H
#define ROCELAB_EVIDENCE_READ_SHOWN_H

#include <stdbool.h>
#include <stddef.h>

/* What all lines of a text have in front, found from its beginning. */
struct shown {
    unsigned indent; /* blanks */
    bool numbered;   /* numbers of lines, as editors and `cat -n`, `grep -n` put them */
    char after;      /* the number: ':', '|', '\t', or ' ' */
    bool entities;   /* &gt; and the like: it is of a page */
};
/* `text`: the beginning of it, whole lines. */
void shown_begin(struct shown *shown, const char *text, size_t bytes);
/* Cleans a line of `length` bytes in place, of which one more may be written; returns where it begins. */
char *shown_line(const struct shown *shown, char *line, size_t length);

#endif
