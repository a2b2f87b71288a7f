/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parameters the goal depends on: of the settings that were drawn, how much of the differences between them goes
 * with the third of the range that a parameter is in.  What chance would give is taken off.
 */
#include <math.h>
#include <stdlib.h>

#include "tune/tune_int.h"

#define THIRDS 3
#define LEAST 12 /* settings */
#define WORST 3  /* log(cost): what is worse is as bad */

static double value_of(const struct tune *tune, const struct tune_point *point)
{
    return fmin(tune_score_over(tune, point, 0, 1), WORST);
}

static uint32_t third_of(const struct tune *tune, const struct tune_point *point, uint32_t i)
{
    uint64_t value = tune_has(point, i) ? point->value[i] : tune->parameter[i].own;
    double where = parameter_where(&tune->parameter[i], value);

    return where < 1.0 / 3 ? 0 : where < 2.0 / 3 ? 1 : 2;
}

static bool counts(const struct tune_point *point)
{
    return point->origin != TUNE_PRESET && !point->refused && point->searched > 0;
}

void tune_sense(struct tune *tune)
{
    double sum = 0, squares = 0;
    uint32_t known = 0;

    for (uint32_t p = 0; p < tune->drawn; p++) {
        if (!counts(tune->point[p])) continue;
        double value = value_of(tune, tune->point[p]);
        sum += value;
        squares += value * value;
        known++;
    }
    double total = known ? squares - sum * sum / known : 0;
    for (uint32_t i = 0; i < tune->parameters; i++) {
        double part[THIRDS] = {0}, between = 0;
        uint32_t count[THIRDS] = {0};
        struct tune_sensitivity *sensitivity = &tune->sensitivity[i];
        sensitivity->share = sensitivity->set_back = NAN;
        if (!tune->parameter[i].varied || known < LEAST || total <= 0) continue;
        for (uint32_t p = 0; p < tune->drawn; p++) {
            if (!counts(tune->point[p])) continue;
            uint32_t third = third_of(tune, tune->point[p], i);
            part[third] += value_of(tune, tune->point[p]);
            count[third]++;
        }
        for (uint32_t t = 0; t < THIRDS; t++) {
            if (count[t] == 0) continue;
            double mean = part[t] / count[t];
            between += count[t] * (mean - sum / known) * (mean - sum / known);
        }
        double chance = (THIRDS - 1.0) / (known - 1.0);
        sensitivity->share = fmax(0, (between / total - chance) / (1 - chance));
    }
}
