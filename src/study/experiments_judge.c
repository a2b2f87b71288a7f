/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured against published: the verdicts.
 *
 * An explanation holds for the value it explains.  When the model changes and the number moves away from it, the
 * verdict is a miss again, and somebody looks.
 */
#include <errno.h>
#include <math.h>

#include "study/experiments.h"
#include "study/statistics.h"

static bool within(const struct limit *limit, double value)
{
    if (!isfinite(value)) return false;
    if (limit->has_tolerance && limit->published_is_number) {
        double magnitude = limit->published < 0 ? -limit->published : limit->published;
        double room = limit->share ? limit->tolerance * magnitude : limit->tolerance;
        double off = value > limit->published ? value - limit->published : limit->published - value;
        if (off > room * (1 + 1e-9)) return false;
    }
    return !(limit->has_least && value < limit->least) && !(limit->has_most && value > limit->most);
}

/* The mean of an expression over seeds has an interval, a median or an extreme has none of this kind. */
static double half_of(const struct experiment *experiment, const struct experiment_measure *measure, uint32_t seeds)
{
    double value[EXPERIMENT_SEEDS];
    const char *why = NULL;

    if (measure->over != OVER_MEAN) return NAN;
    for (uint32_t k = 0; k < seeds; k++)
        if (value_evaluate_seed(experiment, measure->value, k, &value[k], &why) != 0 || !isfinite(value[k])) return NAN;
    return interval_half(value, seeds);
}

int experiment_judge(struct experiment *experiment, const struct experiment_options *options, struct study_error *error)
{
    for (uint32_t i = 0; i < experiment->measures; i++) {
        struct experiment_measure *measure = &experiment->measure[i];
        const char *why = NULL;
        if (value_evaluate(experiment, measure->value, measure->over, &measure->measured, &why) != 0) {
            study_fail(error, "%s: %s: %s", experiment->path, measure->value, why);
            return -EINVAL;
        }
        measure->half = half_of(experiment, measure, options->seeds);
        if (within(&measure->limit, measure->measured))
            measure->verdict = VERDICT_PASS;
        else if (measure->because && within(&measure->explained, measure->measured))
            measure->verdict = VERDICT_EXPLAINED;
        else
            measure->verdict = VERDICT_MISS;
    }
    return 0;
}

const char *limit_text(const struct limit *limit, char buf[48])
{
    if (limit->has_tolerance && limit->tolerance == 0)
        snprintf(buf, 48, "exact");
    else if (limit->has_tolerance)
        snprintf(buf, 48, limit->share ? "%.4g%%" : "%.4g", limit->share ? limit->tolerance * 100 : limit->tolerance);
    else if (limit->has_least && limit->has_most)
        snprintf(buf, 48, "%.4g to %.4g", limit->least, limit->most);
    else if (limit->has_least)
        snprintf(buf, 48, "at least %.4g", limit->least);
    else
        snprintf(buf, 48, "at most %.4g", limit->most);
    return buf;
}
