/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a file says: "leaf1_show_queue_counters_20261115-100000.txt". */
#ifndef ROCELAB_EVIDENCE_READ_TEXT_NAME_H
#define ROCELAB_EVIDENCE_READ_TEXT_NAME_H

#include <stdbool.h>

#define TEXT_NAME 256

struct text_name {
    char device[TEXT_NAME]; /* "leaf1"; where nothing else is in the name, the name */
    char text[TEXT_NAME];
    const char *command; /* "show queue counters"; NULL: none */
    bool commands;       /* the name begins with the command: it does not say the device */
    bool timed;
    double at_s;
};
void text_name(struct text_name *name, const char *path);
/* Seconds of a TIME, as a folder is called: a time of day in UTC, or seconds; false: it is none. */
bool text_name_time(const char *name, double *at_s);
/* Ends of names of files that are compressed, or archives: their length; 0: it is none. */
unsigned text_name_packed(const char *name);

#endif
