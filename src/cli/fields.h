/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keys of the program's JSON documents mean, as `rocelab help fields` prints it.  The lists in fields/ have
 * the documents; those of src/report/rows, of which objects are written, and of measures are included there.
 *
 *     DOCUMENT("sim", "sim --json FABRIC", "a run of a fabric file")    its kind, what writes it, what it is
 *     FIELD("seed, threads", "as used")                                 "": joins the keys before it
 *     PART("A link", "links[], other.links[]")                          an object inside, where it is; * is any path
 *     NOTE("Ports are named as in `ports`.")                            a sentence or two
 *
 * A test holds them to documents of every kind, both ways: a key is in a FIELD of the part at its place, or in
 * backquotes in the text of the key around it.
 */
#ifndef ROCELAB_CLI_FIELDS_H
#define ROCELAB_CLI_FIELDS_H

#include <stdbool.h>
#include <stdio.h>

/* A topic: of one kind of document; NULL: the list of kinds.  False after a message. */
bool cli_fields(const char *kind, bool json, FILE *out);

#endif
