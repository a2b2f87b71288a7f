/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the same point with different seeds, summed up.
 */
#ifndef ROCELAB_STUDY_SUMMARY_H
#define ROCELAB_STUDY_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "study/row.h"
#include "study/statistics.h"

struct summary_job {
    const char *name;
    struct summary time, busbw;
};

/* Runs without values (they were refused, or killed) are left out.  Of the others each must have a value, or there is
 * no mean of it: the time of jobs that end with some seeds alone would flatter. */
struct row_summary {
    uint32_t runs, ended; /* asked for; those whose jobs all ended well, or reached the time to stop */
    const char *error;    /* of the first run without values; NULL: none is */
    uint32_t state;       /* enum sim_state: of the first run that is not among `ended`, else of the first */
    uint64_t failed;      /* work requests, of all runs */
    struct summary measure[MEASURES];
    uint32_t jobs;
    struct summary_job *job; /* of the first run that has values */
};

/* Decimals that are kept of a mean: 1/scale of a value's unit. */
uint32_t measure_scale(enum measure_kind kind);
/* The rows must outlive it.  False: no memory. */
bool row_summarise(const struct row *row, uint32_t rows, struct row_summary *ret);
void row_summary_release(struct row_summary *summary);

#endif
