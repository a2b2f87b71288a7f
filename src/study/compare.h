/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job on several systems: a sweep whose first axis is `system`, and what follows from its rows: why each system is
 * where it is (compare_why.c), which one the weights of the file choose, and how far a weight must move to change that.
 */
#ifndef ROCELAB_STUDY_COMPARE_H
#define ROCELAB_STUDY_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/prices.h"
#include "study/summary.h"
#include "study/sweep.h"

#define COMPARE_NONE UINT32_MAX
#define COMPARE_WHY 640

struct compared { /* a system with one combination of the other values */
    const char *system;
    uint32_t point;             /* of the sweep */
    const struct row *row;      /* [seeds] */
    struct row_summary summary; /* of several seeds; else there is only row[0] */
    const char *error;          /* why it has no values; NULL: it has */
    bool ended;                 /* every run's jobs ended well, or reached the time to stop */
    uint64_t value[MEASURES];   /* of its run, or the mean over its seeds; MEASURE_NOTHING: not known */
    double score;               /* 1: the best in all that counts; NAN: cannot be judged */
    char why[COMPARE_WHY];
};

struct compare_move { /* of a weight, all others as they are */
    double to;        /* NAN: however far it moves, the answer stays */
    uint32_t system;  /* that is the answer beyond it */
};

struct comparison {
    struct compared *system;
    uint32_t systems;
    struct fabric_decision decision;
    bool counts[DECISIONS]; /* it has a weight, and something has that value */
    uint32_t answer;        /* into system; COMPARE_NONE: none can be judged */
    struct compare_move down[DECISIONS], up[DECISIONS];
};

/* Which measure a weight is about. */
enum measure compare_measure(enum decision which);

/* Of the combination with this number among those of all axes but the first.  The sweep must outlive it.  endpoints: of
 * the fabric, for shares of the time.  False: no memory. */
bool compare_make(const struct sweep *sweep, uint32_t set, const struct fabric_decision *decision, uint32_t endpoints,
                  struct comparison *ret);
void compare_release(struct comparison *comparison);

/* compare_why.c: fills in each system's `why`. */
void compare_explain(struct comparison *comparison, uint32_t endpoints);

#endif
