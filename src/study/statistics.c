/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mean and confidence interval of a few independent runs.
 *
 * The interval is Student's: mean +- t * s / sqrt(n), with s the standard deviation of the sample (n - 1) and t for
 * n - 1 degrees of freedom.  It holds for means of values that are about normal; what a run measures is often itself a
 * sum over many packets, and then it is.  Of a single value there is none, and of values that are all the same it is 0.
 *
 * t up to 30 degrees is a table; above it is the expansion of Cornish and Fisher about the normal quantile, which at 31
 * degrees is off by less than 1e-5.
 */
#include "study/statistics.h"

#include <math.h>

#include "base/check.h"
#include "base/wide.h"

double student_t95(uint32_t freedom)
{
    static const double table[] = {12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600,
                                   2.26216, 2.22814, 2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991,
                                   2.10982, 2.10092, 2.09302, 2.08596, 2.07961, 2.07387, 2.06866, 2.06390,
                                   2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227};
    const double z = 1.959963985, n = freedom;

    CHECK(freedom > 0);
    if (freedom <= sizeof table / sizeof table[0]) return table[freedom - 1];
    double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

/* From the sum of squared deviations from the mean. */
static double half_of(double squares, uint32_t count)
{
    return student_t95(count - 1) * sqrt(squares / (count - 1)) / sqrt(count);
}

double interval_half(const double *value, uint32_t count)
{
    double sum = 0, squares = 0;
    bool same = true;

    if (count < 2) return NAN;
    for (uint32_t i = 0; i < count; i++) {
        sum += value[i];
        same &= value[i] == value[0];
    }
    if (same) return 0;
    for (uint32_t i = 0; i < count; i++)
        squares += (value[i] - sum / count) * (value[i] - sum / count);
    return half_of(squares, count);
}

static uint64_t rounded(double value)
{
    return value < 18e18 ? (uint64_t)(value + 0.5) : SUMMARY_NOTHING - 1;
}

struct summary summary_of(const uint64_t *value, uint32_t count, uint32_t scale)
{
    struct summary summary = {SUMMARY_NOTHING, SUMMARY_NOTHING, SUMMARY_NOTHING, SUMMARY_NOTHING};
    u128 sum = 0;

    if (count == 0) return summary;
    summary.least = summary.most = value[0];
    for (uint32_t i = 0; i < count; i++) {
        sum += value[i];
        if (value[i] < summary.least) summary.least = value[i];
        if (value[i] > summary.most) summary.most = value[i];
    }
    u128 mean = (sum * scale + count / 2) / count;
    summary.mean = mean < SUMMARY_NOTHING ? (uint64_t)mean : SUMMARY_NOTHING - 1;
    if (count == 1) return summary;
    summary.half = 0;
    if (summary.least == summary.most) return summary; /* exactly, whatever rounding would make of it */
    double middle = (double)sum / count, squares = 0;
    for (uint32_t i = 0; i < count; i++)
        squares += ((double)value[i] - middle) * ((double)value[i] - middle);
    summary.half = rounded(half_of(squares, count) * scale);
    return summary;
}
