/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several runs with different seeds say together: mean and 95 % confidence interval.
 */
#ifndef ROCELAB_STUDY_STATISTICS_H
#define ROCELAB_STUDY_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#define SUMMARY_NOTHING UINT64_MAX

struct summary {
    uint64_t mean;        /* SUMMARY_NOTHING: of no value */
    uint64_t half;        /* the interval is mean - half to mean + half; SUMMARY_NOTHING: of one value there is none */
    uint64_t least, most; /* in the values' own unit */
};

/* Of values that were drawn independently.  `scale`: mean and half are in 1/scale of the values' unit, rounded. */
struct summary summary_of(const uint64_t *value, uint32_t count, uint32_t scale);

/* Half the width of the interval about the mean of values that are not whole numbers; NAN: of less than two. */
double interval_half(const double *value, uint32_t count);

/* Student's t that 2.5 % of the distribution are above, for so many degrees of freedom (1 and more). */
double student_t95(uint32_t freedom);

#endif
