/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person sees while a capture is read: status lines for a pipe, a progress line for a large
 * file.  The only part of `rocelab capture` that reads a clock.
 */
#ifndef ROCELAB_CLI_WATCH_H
#define ROCELAB_CLI_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/capture.h"
#include "packet/capfile/capfile.h"

enum watch_kind {
    WATCH_NOTHING,
    WATCH_STATUS,   /* lines on the output, when something is new */
    WATCH_PROGRESS, /* one line on standard error, drawn over itself */
};

struct watch {
    enum watch_kind kind;
    FILE *out;
    uint64_t interval_ns;
    uint64_t begun_ns, due_ns;             /* of the monotonic clock */
    uint64_t packets, roce_bytes, last_ns; /* at the last line */
    unsigned lines;
    bool drawn;
};

/* kind WATCH_PROGRESS becomes WATCH_NOTHING where it would show nothing worth seeing. */
void watch_begin(struct watch *watch, enum watch_kind kind, FILE *out, uint64_t interval_ns,
                 const struct capfile *file);
void watch_look(struct watch *watch, const struct capfile *file, const struct capture_totals *totals);
void watch_end(struct watch *watch);

#endif
