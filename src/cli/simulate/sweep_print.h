/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown of a sweep, and how.  Private to the verb sweep.
 */
#ifndef ROCELAB_CLI_SWEEP_PRINT_H
#define ROCELAB_CLI_SWEEP_PRINT_H

#include "study/summary.h"
#include "study/sweep.h"

#define SWEEP_SHOWN 14

struct sweep_view {
    bool json, csv;
    bool partial; /* it was interrupted: points without all of their runs are left out */
    struct sweep_shown {
        uint8_t column;        /* enum measure */
        char job[FABRIC_NAME]; /* "": of all */
    } shown[SWEEP_SHOWN];
    uint32_t showns;
    struct row_summary *summary; /* [points], with --seeds; NULL: of each the only row */
};

/* The value of --show; false after a message. */
bool sweep_show(void *view, const char *argument);
void sweep_list_columns(FILE *out);
/* The columns that tables show: those of --show, else the usual ones that say something. */
uint32_t sweep_columns(const struct sweep *sweep, const struct sweep_view *view, struct sweep_shown ret[SWEEP_SHOWN]);
void sweep_print(const struct sweep *sweep, const struct sweep_view *view, FILE *out);
void sweep_json(const struct sweep *sweep, const struct sweep_view *view, FILE *out);
void sweep_csv(const struct sweep *sweep, const struct sweep_view *view, FILE *out);
/* "" where every job ended well. */
const char *sweep_note(const struct row *row);

#endif
