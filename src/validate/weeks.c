/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of weeks: expected loss in closed form, its interval by drawing weeks, what to improve.
 *
 * Failures of a source are a Poisson process.  A stop loses the time since the last checkpoint, which is anything from
 * nothing to the interval, the restart, and the repair where no spare can take its place.  A failure that only slows
 * the job down loses (1 - 1/slowdown) of the repair.  Failures that come while another is being handled are counted
 * as if they came alone: right while little is lost, too much where most is.
 */
#include "validate/weeks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

#define YEAR_S 31557600.0
#define WEEK_S 604800.0
#define STREAM UINT64_C(0x7765656b73) /* "weeks" */
#define DRAWN_MOST 10000.0            /* failures of a source that are drawn one by one; more are near to normal */

static double seconds(ps_t time)
{
    return (double)time / (double)PS_S;
}

/* --- the mean --- */

/* Of a stop, besides the steps that are done again.  A spare takes the place of a host, also of one behind a link that
 * is gone; not of the many behind a switch. */
static double stop_s(const struct weeks *weeks, const struct weeks_source *source)
{
    bool waits = !weeks->reliability.spares || source->part == RATE_SWITCH;

    return (waits ? source->repair_s : 0) + seconds(weeks->reliability.restart_ps);
}

static double slow_s(const struct weeks_source *source)
{
    return source->slowdown > 1 ? source->repair_s * (1 - 1 / source->slowdown) : 0;
}

/* Of one failure. */
static double mean_loss_s(const struct weeks *weeks, const struct weeks_source *source)
{
    double again = seconds(weeks->reliability.checkpoint_ps) / 2;

    return source->stops * (again + stop_s(weeks, source)) + (1 - source->stops) * slow_s(source);
}

static double total_s(const struct weeks *weeks)
{
    return weeks->weeks * WEEK_S;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void expect(struct weeks *weeks)
{
    double total = total_s(weeks);

    weeks->failures = weeks->stops = weeks->lost_s = 0;
    for (uint32_t s = 0; s < weeks->sources; s++) {
        struct weeks_source *source = &weeks->source[s];
        source->failures = (double)source->parts * source->failures_a_year * total / YEAR_S;
        source->lost_s = source->failures * mean_loss_s(weeks, source);
        weeks->failures += source->failures;
        weeks->stops += source->failures * source->stops;
        weeks->lost_s += source->lost_s;
    }
    weeks->writing_s = total * seconds(weeks->reliability.write_ps) / seconds(weeks->reliability.checkpoint_ps);
    weeks->lost_s = least(weeks->lost_s + weeks->writing_s, total);
    weeks->useful = 1 - weeks->lost_s / total;
    weeks->between_stops_s = weeks->stops > 0 ? total / weeks->stops : 0;
    weeks->gpu_hours = (double)weeks->gpus * total / 3600;
    weeks->gpu_hours_lost = (1 - weeks->useful) * weeks->gpu_hours;
}

/* --- the interval --- */

static double uniform(struct rng *rng) /* above 0, at most 1 */
{
    return ((double)(rng_u64(rng) >> 11) + 1) / 9007199254740992.0;
}

static double normal(struct rng *rng)
{
    double radius = sqrt(-2 * log(uniform(rng)));

    return radius * cos(6.283185307179586 * uniform(rng));
}

/* Many failures: their sum has the mean and the variance of a compound Poisson. */
static double draw_many(const struct weeks *weeks, const struct weeks_source *source, struct rng *rng)
{
    double interval = seconds(weeks->reliability.checkpoint_ps), stop = stop_s(weeks, source), slow = slow_s(source);
    double square =
        source->stops * (stop * stop + stop * interval + interval * interval / 3) + (1 - source->stops) * slow * slow;
    double drawn = source->lost_s + sqrt(source->failures * square) * normal(rng);

    return drawn > 0 ? drawn : 0;
}

static double draw_source(const struct weeks *weeks, const struct weeks_source *source, struct rng *rng)
{
    double lost = 0;

    if (source->failures <= 0) return 0;
    if (source->failures > DRAWN_MOST) return draw_many(weeks, source, rng);
    for (double at = -log(uniform(rng)); at < source->failures; at += -log(uniform(rng))) {
        bool stops = uniform(rng) <= source->stops;
        double again = stops ? uniform(rng) * seconds(weeks->reliability.checkpoint_ps) : 0;
        lost += stops ? again + stop_s(weeks, source) : slow_s(source);
    }
    return lost;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static void draw(struct weeks *weeks)
{
    double useful[WEEKS_TRIALS], total = total_s(weeks);
    struct rng rng;

    rng_init(&rng, weeks->seed, STREAM);
    for (uint32_t t = 0; t < WEEKS_TRIALS; t++) {
        double lost = weeks->writing_s;
        for (uint32_t s = 0; s < weeks->sources; s++)
            lost += draw_source(weeks, &weeks->source[s], &rng);
        useful[t] = 1 - least(lost, total) / total;
    }
    qsort(useful, WEEKS_TRIALS, sizeof useful[0], ascending);
    weeks->useful_least = useful[WEEKS_TRIALS / 40];
    weeks->useful_most = useful[WEEKS_TRIALS - 1 - WEEKS_TRIALS / 40];
    weeks->lost_least = (1 - weeks->useful_most) * weeks->gpu_hours;
    weeks->lost_most = (1 - weeks->useful_least) * weeks->gpu_hours;
}

/* --- what to improve --- */

static struct weeks_better *better(struct weeks *weeks, double saved_s)
{
    struct weeks_better *one = &weeks->better[weeks->betters];

    if (saved_s <= 0) return NULL;
    one->saved_gpu_hours = saved_s / total_s(weeks) * weeks->gpu_hours;
    weeks->betters++;
    return one;
}

static int by_saving(const void *x, const void *y)
{
    const struct weeks_better *a = x, *b = y;

    return (a->saved_gpu_hours < b->saved_gpu_hours) - (a->saved_gpu_hours > b->saved_gpu_hours);
}

/* Young's: as long between two checkpoints as makes writing them cost what doing steps again does. */
static void better_checkpoint(struct weeks *weeks)
{
    double now = seconds(weeks->reliability.checkpoint_ps), write = seconds(weeks->reliability.write_ps);
    double total = total_s(weeks), a_second = weeks->stops / total;

    weeks->best_checkpoint_s = weeks->stops > 0 ? sqrt(2 * write / a_second) : 0;
    if (weeks->best_checkpoint_s <= 0) return;
    double saved = total * (write / now + a_second * now / 2 - sqrt(2 * write * a_second));
    struct weeks_better *one = saved > total * 1e-6 ? better(weeks, saved) : NULL;
    if (one)
        snprintf(one->what, sizeof one->what, "a checkpoint every %.0f s, not every %.0f s", weeks->best_checkpoint_s,
                 now);
}

static void improve(struct weeks *weeks)
{
    double restart_s = weeks->stops * seconds(weeks->reliability.restart_ps), repair_s = 0;
    struct weeks_better *one;

    weeks->betters = 0;
    for (uint32_t p = 0; p < RATE_PARTS; p++) {
        double lost = 0;
        for (uint32_t s = 0; s < weeks->sources; s++)
            if (weeks->source[s].part == p) lost += weeks->source[s].lost_s;
        one = better(weeks, lost / 2);
        if (one) snprintf(one->what, sizeof one->what, "half as many failures of kind '%s'", rate_infos[p].name);
    }
    for (uint32_t s = 0; s < weeks->sources; s++) {
        const struct weeks_source *source = &weeks->source[s];
        double waits = source->stops * (stop_s(weeks, source) - seconds(weeks->reliability.restart_ps));
        repair_s += source->failures * (waits + (1 - source->stops) * slow_s(source));
    }
    one = better(weeks, restart_s / 2);
    if (one) snprintf(one->what, sizeof one->what, "a restart in half the time");
    one = better(weeks, repair_s / 2);
    if (one) snprintf(one->what, sizeof one->what, "repairs in half the time");
    better_checkpoint(weeks);
    qsort(weeks->better, weeks->betters, sizeof weeks->better[0], by_saving);
}

void weeks_compute(struct weeks *weeks)
{
    expect(weeks);
    draw(weeks);
    improve(weeks);
}
