/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many runs, so many at once, each in a process of its own: from the number of a point to its row.
 */
#ifndef ROCELAB_STUDY_POOL_H
#define ROCELAB_STUDY_POOL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "study/error.h"

#define POOL_ROW_MAX ((size_t)1 << 20)

struct pool_row { /* what came of a point */
    const char *bytes;
    size_t length;
    const char *why; /* there is no row, and this is the reason; NULL: there is one */
};

struct pool_work {
    uint32_t points;
    uint32_t at_once; /* processes; 0: as many as processors */
    const char *noun; /* of the progress line: "points" */
    bool quiet;       /* no progress line */
    const volatile sig_atomic_t *stopped;
    void *context;
    /* In a process of its own: writes the row, at most POOL_ROW_MAX bytes. */
    void (*run)(const void *context, uint32_t point, FILE *row);
    /* In the caller's process, in the order in which points end.  True: its row is one from before. */
    bool (*take)(void *context, uint32_t point, const struct pool_row *row);
    struct study_error *error;
};

struct pool_done {
    uint32_t done, reused; /* points; of them, rows from before */
};

/* Every point once.  False after an error, or when *stopped: what was under way is ended and not taken. */
bool pool_run(const struct pool_work *work, struct pool_done *ret);

#endif
