/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of this folder as JSON: each is the members of an object, in their order, with what `rocelab help fields`
 * says of them (cli/fields.h); a list is included where the object is written, as statements that see what is there.
 *
 *     COLUMN(u64, frames, port->frames, "frames sent, pauses included")
 *
 * A help of "" joins the member to the row before it there.  COLUMN and its like are in a CSV file too
 * (sim_csv.c).
 */
#ifndef ROCELAB_REPORT_ROWS_H
#define ROCELAB_REPORT_ROWS_H

#include "report/json_out.h"

#define ROW(kind, key, value, help) jout_##kind(jout, #key, value);
#define FIXED(key, digits, value, help) jout_fixed(jout, #key, value, digits);
#define KNOWN(key, known, value, help) jout_known(jout, #key, value, known); /* else null */
#define KNOWN_FIXED(key, digits, known, value, help)                                                                   \
    if (known)                                                                                                         \
        jout_fixed(jout, #key, value, digits);                                                                         \
    else                                                                                                               \
        jout_null(jout, #key);
/* Of what the statement writes for each i; LINE_LIST on one line. */
#define LIST(key, i, count, statement, help) JOUT_LIST(jout, #key, i, count, statement);
#define LINE_LIST(key, i, count, statement, help) JOUT_LIST_LINE(jout, #key, i, count, statement);
#define WHEN(condition, kind, key, value, help)                                                                        \
    if (condition) jout_##kind(jout, #key, value); /* else absent */
#define SOME(key, number, help) WHEN((number) != 0, u64, key, number, help)
#define MADE(keys, statement, help) statement; /* what is no plain value; keys as in "from, to" */

#define COLUMN(kind, key, value, help) jout_##kind(jout, #key, value);
#define COLUMN_FIXED(key, digits, column, value, help) jout_fixed(jout, #key, value, digits);
#define COLUMN_ALONE(kind, column, value) /* in CSV and tables alone */
#define TABLE(kind, key, value, help)     /* in tables of the library alone (lib/tables.c) */

#endif
