/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the answer is better, in sentences: what the same runs say of marks, queues, pauses and waits, before and after.
 * Means over the fresh seeds; nothing is said that did not change.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/text.h"
#include "tune/tune_int.h"

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
    bool known, up, down; /* by a twentieth at least */
};

static struct change change_of(const struct tune *tune, enum measure measure)
{
    struct change change = {.before = mean_of(tune, tune->point[0], measure),
                            .after = mean_of(tune, tune->point[tune->answer], measure)};

    change.known = !isnan(change.before) && !isnan(change.after);
    change.up = change.known && change.after > change.before * 1.05;
    change.down = change.known && change.after < change.before * 0.95;
    return change;
}

static void explain_queues(struct tune *tune)
{
    struct change queue = change_of(tune, MEASURE_QUEUE), marks = change_of(tune, MEASURE_MARKS);
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (queue.up || queue.down)
        say(tune, "The longest queue is %s instead of %s.", text_bytes((uint64_t)queue.after, a),
            text_bytes((uint64_t)queue.before, b));
    if (marks.up || marks.down)
        say(tune, "Switches mark %s packets instead of %s: senders are slowed %s.",
            text_count((uint64_t)marks.after, a), text_count((uint64_t)marks.before, b),
            marks.up ? "earlier, or more often" : "less often");
}

static void explain_pauses(struct tune *tune)
{
    struct change paused = change_of(tune, MEASURE_PAUSED), held = change_of(tune, MEASURE_HELD);
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (paused.known && paused.before == 0 && paused.after == 0)
        say(tune, "No port stands paused, before or after.");
    else if (paused.up || paused.down)
        say(tune, "Ports stand paused for %s in all instead of %s.", text_ps((uint64_t)paused.after, a),
            text_ps((uint64_t)paused.before, b));
    if (held.up || held.down)
        say(tune, "Hosts are held back for %s in all instead of %s.", text_ps((uint64_t)held.after, a),
            text_ps((uint64_t)held.before, b));
}

static void explain_rates(struct tune *tune)
{
    struct change cnps = change_of(tune, MEASURE_CNPS), marks = change_of(tune, MEASURE_MARKS);
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (cnps.up || cnps.down)
        say(tune, "Adapters send %s CNPs instead of %s.", text_count((uint64_t)cnps.after, a),
            text_count((uint64_t)cnps.before, b));
    if (cnps.known && !cnps.up && !cnps.down && !marks.up && !marks.down && marks.before > 0)
        say(tune, "As many packets are marked as before: what changes is how rates follow.");
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

static void explain_none(struct tune *tune)
{
    const struct tune_point *answer = tune->point[tune->answer];
    struct change marks = change_of(tune, MEASURE_MARKS), paused = change_of(tune, MEASURE_PAUSED);

    if (answer->worthless)
        say(tune, "The best setting of the search is worth nothing on fresh seeds: %s.", answer->why);
    else if (tune->answer == 0)
        say(tune, "No setting that was tried is better than the file's own with the seeds of the search.");
    else
        say(tune,
            "The best setting of the search is not better on fresh seeds: %+.1f%% (95%% interval %+.1f to %+.1f%%).",
            100 * expm1(answer->goal.mean), 100 * expm1(answer->goal.mean - answer->goal.half),
            100 * expm1(answer->goal.mean + answer->goal.half));
    if (marks.known && marks.before == 0 && paused.before == 0)
        say(tune,
            "No packet is marked and no port is paused as the file is: its traffic meets no queue that thresholds "
            "could shorten.");
}

void tune_explain(struct tune *tune)
{
    if (!tune->helps) {
        explain_none(tune);
        return;
    }
    explain_queues(tune);
    explain_rates(tune);
    explain_pauses(tune);
    explain_work(tune);
}
