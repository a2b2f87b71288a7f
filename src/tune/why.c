/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the answer is better, in sentences: what the same runs say of marks, queues, pauses and waits, before and after.
 * Means over the fresh seeds; nothing is said that did not change.
 *
 * These are no causes, and src/diagnose is not asked: it judges one run, and a setting that is better may have no fault
 * before or after.  What a change is, and what a pause costs, are its limits.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "diagnose/limits.h"
#include "fabric/fabric.h"
#include "report/text.h"
#include "tune/tune_int.h"

#define JOBS_SAID 4

__attribute__((format(printf, 2, 3))) static void say(struct tune *tune, const char *format, ...)
{
    va_list args;

    if (tune->why_count == TUNE_WHYS) return;
    va_start(args, format);
    vsnprintf(tune->whys[tune->why_count++], TUNE_SENTENCE, format, args);
    va_end(args);
}

/* Over the fresh seeds of the file's own traffic; NAN: not known. */
static double mean_of(const struct tune *tune, const struct tune_point *point, enum measure measure)
{
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t seed = TUNE_SEARCH_SEEDS; seed < TUNE_SEARCH_SEEDS + tune->plan.fresh_seeds; seed++) {
        const struct row *row = tune_row(point, 0, seed);
        if (row == NULL || row->error || row->value[measure] == MEASURE_NOTHING) continue;
        sum += (double)row->value[measure];
        count++;
    }
    return count ? sum / count : NAN;
}

struct change {
    double before, after;
    bool known, up, down; /* by as much as makes a step slow, or as much less */
};

static struct change change_of(const struct tune *tune, enum measure measure)
{
    struct change change = {.before = mean_of(tune, tune->point[0], measure),
                            .after = mean_of(tune, tune->point[tune->answer], measure)};

    change.known = !isnan(change.before) && !isnan(change.after);
    change.up = change.known && change.after > change.before * diagnose_said.slow_ratio;
    change.down = change.known && change.after < change.before * (2 - diagnose_said.slow_ratio);
    return change;
}

static const char *slowed(const struct change *by)
{
    return by->up ? "more often" : by->down ? "less often" : "as often as before";
}

/* Marks alone slow nobody: what senders get is CNPs, where their algorithm has them, or echoed marks. */
static void explain_marks(struct tune *tune)
{
    struct change marks = change_of(tune, MEASURE_MARKS), cnps = change_of(tune, MEASURE_CNPS);
    bool by_cnps = cnps.known && (cnps.before > 0 || cnps.after > 0), marks_move = marks.up || marks.down;
    char a[TEXT_COUNT], b[TEXT_COUNT], c[TEXT_COUNT], d[TEXT_COUNT];

    if (marks_move) {
        text_count((uint64_t)marks.after, a);
        text_count((uint64_t)marks.before, b);
    }
    if (by_cnps) {
        text_count((uint64_t)cnps.after, c);
        text_count((uint64_t)cnps.before, d);
    }
    if (marks_move && by_cnps)
        say(tune,
            "Switches mark %s packets instead of %s, and adapters send %s CNPs instead of %s: senders are told "
            "to slow down %s.",
            a, b, c, d, slowed(&cnps));
    else if (marks_move)
        say(tune, "Switches mark %s packets instead of %s: senders are told to slow down %s.", a, b, slowed(&marks));
    else if (cnps.up || cnps.down)
        say(tune, "Adapters send %s CNPs instead of %s, of as many marked packets: senders are told to slow down %s.",
            c, d, slowed(&cnps));
    else if (by_cnps)
        say(tune, "About as many packets are marked as before, and about as many CNPs sent.");
}

static void explain_queues(struct tune *tune)
{
    struct change queue = change_of(tune, MEASURE_QUEUE);
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (queue.up || queue.down)
        say(tune, "The longest queue is %s instead of %s.", text_bytes((uint64_t)queue.after, a),
            text_bytes((uint64_t)queue.before, b));
}

static void explain_pauses(struct tune *tune)
{
    struct change paused = change_of(tune, MEASURE_PAUSED), held = change_of(tune, MEASURE_HELD);
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (paused.known && paused.before == 0 && paused.after == 0)
        say(tune, "No port is paused, before or after.");
    else if (paused.up || paused.down)
        say(tune, "Ports are paused for %s instead of %s, summed over all of them.", text_ps((uint64_t)paused.after, a),
            text_ps((uint64_t)paused.before, b));
    if (held.up || held.down)
        say(tune, "Hosts are held back by pauses for %s instead of %s, summed over all of them.",
            text_ps((uint64_t)held.after, a), text_ps((uint64_t)held.before, b));
}

/* The value that the goal misses most when it alone is set back, and the next. */
static void explain_values(struct tune *tune)
{
    const struct tune_point *answer = tune->point[tune->answer];
    uint32_t first = UINT32_MAX, second = UINT32_MAX, changed = 0;
    bool refused = false;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        double loss = tune->sensitivity[i].set_back;
        changed += tune_has(answer, i);
        refused |= tune_has(answer, i) && isnan(loss);
        if (!tune_has(answer, i) || isnan(loss) || loss <= TUNE_WORTH) continue;
        if (first == UINT32_MAX || loss > tune->sensitivity[first].set_back) {
            second = first;
            first = i;
        } else if (second == UINT32_MAX || loss > tune->sensitivity[second].set_back) {
            second = i;
        }
    }
    if (changed < 2 || !tune->sensitivity_known) return; /* the change is the value; it is not known */
    if (first == UINT32_MAX && !refused)
        say(tune, "No single value does it: any one of them can be set back alone.");
    else if (first != UINT32_MAX && second != UINT32_MAX)
        say(tune, "Of the values that change, %s matters most, then %s.", tune->parameter[first].path,
            tune->parameter[second].path);
    else if (first != UINT32_MAX)
        say(tune, "Of the values that change, %s is the one that matters.", tune->parameter[first].path);
}

/* Over the fresh seeds: of the time and all ports. */
static double paused_share(const struct tune *tune, const struct tune_point *point)
{
    double sum = 0;

    for (uint32_t seed = TUNE_SEARCH_SEEDS; seed < TUNE_SEARCH_SEEDS + tune->plan.fresh_seeds; seed++)
        sum += tune_cost(tune, tune_row(point, 0, seed), TUNE_FOR_PAUSED) - TUNE_PAUSED_LEAST;
    return sum / tune->plan.fresh_seeds;
}

/* What else gets worse, beyond the interval and a per cent; of pauses, more than PFC is for. */
static void explain_price(struct tune *tune)
{
    const struct tune_point *answer = tune->point[tune->answer];
    double share = paused_share(tune, answer);

    for (uint32_t k = 0; k < TUNE_OBJECTIVES; k++) {
        const struct tune_interval *at = &answer->objective[k];
        enum tune_goal what = tune_objective(tune, k);
        if (what == tune->goal || isnan(at->mean) || isnan(at->half) || at->mean - at->half <= 0.01) continue;
        if (what == TUNE_FOR_BUSBW)
            say(tune, "The price: bus bandwidth is %.0f%% lower.", -100 * expm1(-at->mean));
        else if (what != TUNE_FOR_PAUSED)
            say(tune, "The price: %s is %.0f%% %s.", k ? "p99" : "the time", 100 * expm1(at->mean),
                k ? "higher" : "longer");
        else if (share >= diagnose_said.paused_share)
            say(tune, "The price: ports are paused %.2f%% of the time instead of %.2f%%.", 100 * share,
                100 * paused_share(tune, tune->point[0]));
    }
}

/* What a run of a job takes, over the fresh seeds; NAN: not known. */
static double job_time(const struct tune *tune, const struct tune_point *point, uint32_t job)
{
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t seed = TUNE_SEARCH_SEEDS; seed < TUNE_SEARCH_SEEDS + tune->plan.fresh_seeds; seed++) {
        const struct row *row = tune_row(point, 0, seed);
        if (row == NULL || row->error || job >= row->jobs || row->job[job].ended == 0) continue;
        sum += (double)row->job[job].time_ps;
        count++;
    }
    return count ? sum / count : NAN;
}

/* Which of several jobs it is that gain or lose: a per cent and more. */
static void explain_jobs(struct tune *tune)
{
    char text[TUNE_SENTENCE] = "", a[TEXT_COUNT], b[TEXT_COUNT];
    uint32_t said = 0;

    for (uint32_t j = 0; tune->fabric->jobs > 1 && j < tune->fabric->jobs && said < JOBS_SAID; j++) {
        const char *name = tune->fabric->job[j].name;
        double before = job_time(tune, tune->point[0], j), after = job_time(tune, tune->point[tune->answer], j);
        if (isnan(before) || isnan(after) || fabs(after / before - 1) < 0.01) continue;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.40s %s instead of %s", said++ ? ", " : "", name,
                 text_ps((uint64_t)after, a), text_ps((uint64_t)before, b));
    }
    if (said) say(tune, "A run of a job takes, in the mean: %s.", text);
}

static void explain_work(struct tune *tune)
{
    struct change imbalance = change_of(tune, MEASURE_IMBALANCE), again = change_of(tune, MEASURE_AGAIN);
    struct change exposed = change_of(tune, MEASURE_EXPOSED), drops = change_of(tune, MEASURE_DROPS);
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (imbalance.up || imbalance.down)
        say(tune, "The fullest of parallel links carries %s times the mean instead of %s.",
            text_fixed((uint64_t)imbalance.after, 1000, 2, a), text_fixed((uint64_t)imbalance.before, 1000, 2, b));
    if (exposed.up || exposed.down)
        say(tune, "A training step waits %s for the network instead of %s.", text_ps((uint64_t)exposed.after, a),
            text_ps((uint64_t)exposed.before, b));
    if (again.up || again.down)
        say(tune, "%s packets are sent again instead of %s.", text_count((uint64_t)again.after, a),
            text_count((uint64_t)again.before, b));
    if (drops.up || drops.down)
        say(tune, "%s packets of lossy classes are dropped instead of %s.", text_count((uint64_t)drops.after, a),
            text_count((uint64_t)drops.before, b));
}

/* A setting against the file's, as the table has it: of bus bandwidth more is better. */
static void say_goal(struct tune *tune, const char *what, const struct tune_interval *goal)
{
    double mean = tune->goal == TUNE_FOR_BUSBW ? -goal->mean : goal->mean;

    say(tune, "%s: %+.1f%% (95%% interval %+.1f to %+.1f%%).", what, 100 * expm1(mean), 100 * expm1(mean - goal->half),
        100 * expm1(mean + goal->half));
}

/* Which setting was judged, where the search's best did not hold. */
static void explain_choice(struct tune *tune)
{
    const struct tune_point *first = tune->first_choice;

    if (first == NULL) return;
    if (first == tune->point[0])
        say(tune, "No setting is better than the file's own with the seeds of the search.");
    else if (first->worthless)
        say(tune, "The best setting of the search is worth nothing on fresh seeds: %s.", first->why);
    else
        say_goal(tune, "The best setting of the search is not surely better on fresh seeds", &first->goal);
    if (tune->helps)
        say(tune,
            "The answer is another one, which is better beyond its interval on these seeds; what is said of it is "
            "from further seeds alone.");
}

static void explain_none(struct tune *tune)
{
    const struct tune_point *answer = tune->point[tune->answer];
    const char *where = tune->first_choice ? "of the others, with further seeds," : "of the search, on fresh seeds,";
    struct change marks = change_of(tune, MEASURE_MARKS), paused = change_of(tune, MEASURE_PAUSED);

    if (answer->worthless)
        say(tune, "The best setting %s is worth nothing there: %s.", where, answer->why);
    else if (tune->answer == 0)
        say(tune, "No setting that was tried is better than the file's own with the seeds of the search.");
    else {
        char what[128];
        snprintf(what, sizeof what, "The best setting %s is not better", where);
        say_goal(tune, what, &answer->goal);
    }
    if (tune->goal == TUNE_FOR_PAUSED && paused.before == 0)
        say(tune, "No port is paused as the file is: there is nothing to gain.");
    else if (marks.known && marks.before == 0 && paused.before == 0)
        say(tune,
            "No packet is marked and no port is paused as the file is: its traffic meets no queue that thresholds "
            "could shorten.");
}

void tune_explain(struct tune *tune)
{
    explain_choice(tune);
    if (!tune->helps) {
        explain_none(tune);
        return;
    }
    explain_values(tune);
    explain_jobs(tune);
    explain_marks(tune);
    explain_queues(tune);
    explain_pauses(tune);
    explain_work(tune);
    explain_price(tune);
}
