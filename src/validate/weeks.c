/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of weeks: useful time in closed form, its interval by drawing weeks, what to improve.
 *
 * Stops are a Poisson process of rate r.  Between two checkpoints lie P seconds, the last w of which write the second.
 * A stop loses what was done since the first, the restart R, and the repair D where no spare can take its place; one
 * during a restart begins it anew.  Then P - w seconds of work take (e^(rR)/r + D) (e^(rP) - 1), which is Daly's
 * (Future Generation Computer Systems 22, 2006) with a repair besides.  A failure that only slows the job down loses
 * (1 - 1/slowdown) of the time to repair.  What is lost is shared out among the parts by what one failure of each
 * loses.
 */
#include "validate/weeks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

#define YEAR_S 31557600.0
#define WEEK_S 604800.0
#define STREAM UINT64_C(0x7765656b73) /* "weeks" */
#define DRAWN_MOST 2000.0             /* failures of a trial; of more a shorter time is drawn, and stretched */

static double seconds(ps_t time)
{
    return (double)time / (double)PS_S;
}

/* --- the mean --- */

/* Until a part of that kind is replaced, while the job stands.  A spare takes the place of a host, also of one behind a
 * link that is gone; not of the many behind a switch. */
static double wait_s(const struct weeks *weeks, const struct weeks_source *source)
{
    return weeks->reliability.spares && source->part != RATE_SWITCH ? 0 : source->repair_s;
}

static double slow_s(const struct weeks_source *source)
{
    return source->slowdown > 1 ? source->repair_s * (1 - 1 / source->slowdown) : 0;
}

/* Of one failure, where few others come: what is lost is shared out by this. */
static double alone_s(const struct weeks *weeks, const struct weeks_source *source)
{
    double stop =
        seconds(weeks->reliability.checkpoint_ps) / 2 + wait_s(weeks, source) + seconds(weeks->reliability.restart_ps);

    return source->stops * stop + (1 - source->stops) * slow_s(source);
}

static double total_s(const struct weeks *weeks)
{
    return weeks->weeks * WEEK_S;
}

struct load {                 /* what all sources do together */
    double stops_a_second;    /* stops */
    double waited_s, slowed;  /* mean wait of a stop; share of the time that slowdowns take */
    double failures_a_second; /* all of them */
};

static struct load load_of(const struct weeks *weeks)
{
    struct load load = {0};
    double waits = 0;

    for (uint32_t s = 0; s < weeks->sources; s++) {
        const struct weeks_source *source = &weeks->source[s];
        double rate = (double)source->parts * source->failures_a_year / YEAR_S;
        load.failures_a_second += rate;
        load.stops_a_second += rate * source->stops;
        waits += rate * source->stops * wait_s(weeks, source);
        load.slowed += rate * (1 - source->stops) * slow_s(source);
    }
    if (load.stops_a_second > 0) load.waited_s = waits / load.stops_a_second;
    if (load.slowed > 1) load.slowed = 1;
    return load;
}

/* Share of the time that is useful with so many seconds between checkpoints. */
static double useful_with(const struct weeks *weeks, const struct load *load, double period)
{
    double work = period - seconds(weeks->reliability.write_ps), rate = load->stops_a_second;

    if (work <= 0) return 0;
    if (rate <= 0) return work / period * (1 - load->slowed);
    double begun = exp(rate * seconds(weeks->reliability.restart_ps)) / rate + load->waited_s;
    return work / (begun * expm1(rate * period)) * (1 - load->slowed);
}

static double useful_of(const struct weeks *weeks)
{
    const struct load load = load_of(weeks);

    return useful_with(weeks, &load, seconds(weeks->reliability.checkpoint_ps));
}

static void expect(struct weeks *weeks)
{
    double total = total_s(weeks), period = seconds(weeks->reliability.checkpoint_ps);
    double work = period - seconds(weeks->reliability.write_ps), alone = 0;
    const struct load load = load_of(weeks);

    weeks->failures = load.failures_a_second * total;
    weeks->stops = load.stops_a_second * total;
    weeks->between_stops_s = weeks->stops > 0 ? total / weeks->stops : 0;
    weeks->useful = useful_with(weeks, &load, period);
    weeks->lost_s = (1 - weeks->useful) * total;
    weeks->writing_s = work > 0 ? weeks->useful * total * (period - work) / work : total;
    for (uint32_t s = 0; s < weeks->sources; s++) {
        struct weeks_source *source = &weeks->source[s];
        source->failures = (double)source->parts * source->failures_a_year * total / YEAR_S;
        alone += source->failures * alone_s(weeks, source);
    }
    for (uint32_t s = 0; s < weeks->sources; s++) {
        struct weeks_source *source = &weeks->source[s];
        double share = alone > 0 ? source->failures * alone_s(weeks, source) / alone : 0;
        source->lost_s = share * (weeks->lost_s - weeks->writing_s);
    }
    weeks->gpu_hours = (double)weeks->gpus * total / 3600;
    weeks->gpu_hours_lost = (1 - weeks->useful) * weeks->gpu_hours;
}

/* --- the interval --- */

static double uniform(struct rng *rng) /* above 0, at most 1 */
{
    return ((double)(rng_u64(rng) >> 11) + 1) / 9007199254740992.0;
}

static double exponential(struct rng *rng, double rate)
{
    return -log(uniform(rng)) / rate;
}

/* Which source it was, by their rates. */
static const struct weeks_source *draw_source(const struct weeks *weeks, const struct load *load, struct rng *rng)
{
    double at = uniform(rng) * load->failures_a_second;
    uint32_t s = 0;

    for (; s + 1 < weeks->sources; s++) {
        at -= (double)weeks->source[s].parts * weeks->source[s].failures_a_year / YEAR_S;
        if (at <= 0) break;
    }
    return &weeks->source[s];
}

/* Until a restart comes through: one that a stop meets begins anew. */
static double draw_restart(const struct weeks *weeks, const struct load *load, struct rng *rng)
{
    double restart = seconds(weeks->reliability.restart_ps), time = 0, next;

    while ((next = exponential(rng, load->stops_a_second)) < restart && time < total_s(weeks))
        time += next;
    return time + restart;
}

/* Share of `total` that was useful in one draw of it. */
static double draw_once(const struct weeks *weeks, const struct load *load, double total, struct rng *rng)
{
    double period = seconds(weeks->reliability.checkpoint_ps), work = period - seconds(weeks->reliability.write_ps);
    double at = 0, since = 0, useful = 0, slowed = 0; /* since: the last stop, or the begin */

    while (load->failures_a_second > 0 && (at += exponential(rng, load->failures_a_second)) < total) {
        const struct weeks_source *source = draw_source(weeks, load, rng);
        if (uniform(rng) > source->stops) {
            slowed += slow_s(source);
            continue;
        }
        useful += floor((at - since) / period) * work;
        at = since = at + wait_s(weeks, source) + draw_restart(weeks, load, rng);
    }
    if (since < total) { /* what is done since the last checkpoint is not lost: the time is up, not the job */
        double whole = floor((total - since) / period);
        useful += whole * work + fmin(total - since - whole * period, work);
    }
    return fmax(0, useful / total * (1 - fmin(1, slowed / total)));
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static void draw(struct weeks *weeks)
{
    double useful[WEEKS_TRIALS], total = total_s(weeks), period = seconds(weeks->reliability.checkpoint_ps), shrink = 1;
    const struct load load = load_of(weeks);
    struct rng rng;

    if (weeks->failures > DRAWN_MOST) {
        double part = fmax(DRAWN_MOST / weeks->failures, fmin(1, 100 * period / total));
        total *= part;
        shrink = sqrt(part);
    }
    rng_init(&rng, weeks->seed, STREAM);
    for (uint32_t t = 0; t < WEEKS_TRIALS; t++)
        useful[t] = period > seconds(weeks->reliability.write_ps) ? draw_once(weeks, &load, total, &rng) : 0;
    qsort(useful, WEEKS_TRIALS, sizeof useful[0], ascending);
    weeks->useful_least = weeks->useful + (useful[WEEKS_TRIALS / 40] - weeks->useful) * shrink;
    weeks->useful_most = weeks->useful + (useful[WEEKS_TRIALS - 1 - WEEKS_TRIALS / 40] - weeks->useful) * shrink;
    weeks->lost_least = (1 - weeks->useful_most) * weeks->gpu_hours;
    weeks->lost_most = (1 - weeks->useful_least) * weeks->gpu_hours;
}

/* --- what to improve --- */

/* With something changed; NULL: it saves nothing. */
static struct weeks_better *better(struct weeks *weeks, double useful)
{
    struct weeks_better *one = &weeks->better[weeks->betters];

    if (useful - weeks->useful <= 1e-9) return NULL;
    one->saved_gpu_hours = (useful - weeks->useful) * weeks->gpu_hours;
    weeks->betters++;
    return one;
}

static int by_saving(const void *x, const void *y)
{
    const struct weeks_better *a = x, *b = y;

    return (a->saved_gpu_hours < b->saved_gpu_hours) - (a->saved_gpu_hours > b->saved_gpu_hours);
}

/* The best time between checkpoints: near to Young's sqrt(2 x time to write one x time between stops), which is where
 * the search begins. */
static void better_checkpoint(struct weeks *weeks)
{
    double write = seconds(weeks->reliability.write_ps), young;
    const struct load load = load_of(weeks);

    weeks->best_checkpoint_s = 0;
    if (load.stops_a_second <= 0 || write <= 0) return;
    young = sqrt(2 * write / load.stops_a_second);
    double low = fmax(young / 10, write), high = young * 10 + 10 * write;
    for (int i = 0; i < 200; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (useful_with(weeks, &load, a) < useful_with(weeks, &load, b))
            low = a;
        else
            high = b;
    }
    weeks->best_checkpoint_s = low;
    struct weeks_better *one = better(weeks, useful_with(weeks, &load, low));
    if (one)
        snprintf(one->what, sizeof one->what, "a checkpoint every %.0f s, not every %.0f s,", low,
                 seconds(weeks->reliability.checkpoint_ps));
}

static void improve(struct weeks *weeks)
{
    static struct weeks with; /* what is changed in turn */
    struct weeks_better *one;

    weeks->betters = 0;
    for (uint32_t p = 0; p < RATE_PARTS; p++) {
        with = *weeks;
        for (uint32_t s = 0; s < with.sources; s++)
            if (with.source[s].part == p) with.source[s].failures_a_year /= 2;
        one = better(weeks, useful_of(&with));
        if (one) snprintf(one->what, sizeof one->what, "half as many failures of kind '%s'", rate_infos[p].name);
    }
    with = *weeks;
    with.reliability.restart_ps /= 2;
    one = better(weeks, useful_of(&with));
    if (one) snprintf(one->what, sizeof one->what, "a restart in half the time");
    with = *weeks;
    for (uint32_t s = 0; s < with.sources; s++)
        with.source[s].repair_s /= 2;
    one = better(weeks, useful_of(&with));
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
