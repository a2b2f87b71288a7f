/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters --watch: ports or adapters as a table that is renewed every second, the busiest first.
 *
 * On a terminal it has the whole screen, and keys; elsewhere a table follows the other.  Whoever calls brings samples;
 * shares and rates are of the time between two of them, by the clock of what is watched.
 */
#ifndef ROCELAB_CLI_TOP_H
#define ROCELAB_CLI_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"

#define TOP_NAME 96 /* of a port: FABRIC_NAME */

struct top_row { /* counters since the beginning, and the queue as it is */
    char name[TOP_NAME];
    uint64_t tx_bytes, paused_ps, marks, drops, queue_bytes;
};
struct top_sample {
    char title[128];
    uint64_t at_ps; /* by the clock of what is watched */
    struct top_row *row;
    uint32_t rows, room;
};
/* False: not enough memory. */
bool top_add(struct top_sample *sample, const struct top_row *row);

enum top_sort { TOP_PAUSED, TOP_RATE, TOP_MARKS, TOP_DROPS, TOP_QUEUE, TOP_SORTS };

/* Fills an empty sample; CLI_GO, or the status with which all ends, after a message. */
typedef int top_source(void *context, struct top_sample *ret);
/* Until an interrupt or q, or until the source ends. */
int top_run(top_source *source, void *context, enum top_sort sort, FILE *out);

#endif
