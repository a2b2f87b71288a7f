/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth and latency of live programs: measured while the rest of the machine is idle, held against what a baseline
 * has of this very machine.
 *
 * A figure is the median of RUNS runs without a capture.  A run waits until others leave the processors, and does not
 * count where they used them meanwhile; where too few are left the row is skipped with their share, and a baseline that
 * is written does not get the figure.  Nor does it from a machine that is not steady (steady.c), where what is too slow
 * is skipped as well.
 */
#include "validate/live/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "diagnose/baseline.h"

#define RUNS 9u
#define LOOKS 5u /* of a tenth of a second, until others are idle */

bool live_skip_busy(struct validate_case *of, const char *subject, double others, const char *what)
{
    if (others <= LIVE_BUSY_MOST) return false;
    validate_skip(of, subject, "the machine is busy: others used %.0f %% of its processors meanwhile; %s", others * 100,
                  what);
    return true;
}

const char *live_unsteady(const struct validate_case *of, const struct machine_steady *steady, char buf[VALIDATE_TEXT])
{
    double deviation = machine_deviation(steady);

    if (of->plan->live_fault || deviation <= LIVE_UNSTEADY) return NULL;
    snprintf(buf, VALIDATE_TEXT,
             "the machine is not steady: copies in memory on its processors deviated by %.0f %% between the runs",
             deviation * 100);
    return buf;
}

static bool same_machine(const struct baseline_machine *one, const struct baseline_machine *other)
{
    return strcmp(one->cpu, other->cpu) == 0 && strcmp(one->kernel, other->kernel) == 0 &&
           one->processors == other->processors;
}

/* Why nothing of the baseline holds for this machine; false: something may. */
static bool is_useless(const struct validate *plan, char why[VALIDATE_TEXT])
{
    struct machine_name here;
    struct baseline_machine own;

    if (!plan->baseline) {
        snprintf(why, VALIDATE_TEXT, "%s",
                 plan->signer ? "a baseline is written with it, and none was given to hold it against"
                              : "no baseline: --live --write-baseline FILE --by NAME writes one, --baseline FILE "
                                "holds it against that");
        return true;
    }
    if (plan->baseline->lives == 0) {
        snprintf(why, VALIDATE_TEXT, "the baseline has no figures of live programs: write it with --live");
        return true;
    }
    const struct baseline_machine *there = &plan->baseline->machine;
    own = machine_name(&here);
    if (same_machine(&own, there)) return false;
    snprintf(why, VALIDATE_TEXT,
             "the baseline is of another machine: %llu x %.60s, Linux %.40s; this one is %llu x %.60s, Linux %.40s",
             (unsigned long long)there->processors, there->cpu, there->kernel, (unsigned long long)own.processors,
             own.cpu, own.kernel);
    return true;
}

uint32_t live_runs(const struct validate_case *of)
{
    char why[VALIDATE_TEXT];

    if (of->plan->live_fault) return 1; /* what is lost is waited for, and no median is needed to find it */
    return of->plan->signer || !is_useless(of->plan, why) ? RUNS : 1;
}

const char *live_runs_text(const struct validate_case *of, char buf[LIVE_RUNS_TEXT])
{
    buf[0] = '\0';
    if (live_runs(of) > 1) snprintf(buf, LIVE_RUNS_TEXT, ", median of %u runs", live_runs(of));
    return buf;
}

bool live_more(const struct validate_case *of, const struct live_figures *figures, uint32_t tried)
{
    return figures->count < live_runs(of) && tried < 2 * live_runs(of);
}

void live_add(struct live_figures *figures, double value, double others)
{
    if (others > LIVE_BUSY_MOST) {
        if (others > figures->others) figures->others = others;
        return;
    }
    CHECK(figures->count < LIVE_RUNS_MOST);
    figures->value[figures->count++] = value;
    machine_steady_look(&figures->steady);
}

bool live_wait_idle(struct live_figures *figures)
{
    struct machine_watch watch;
    double others = 0;

    for (uint32_t look = 0; look < LOOKS; look++) {
        machine_watch(&watch);
        machine_pause();
        machine_pause();
        others = machine_others(&watch);
        if (others <= LIVE_BUSY_MOST) return true;
    }
    if (others > figures->others) figures->others = others;
    return false;
}

static int compare(const void *a, const void *b)
{
    const double *one = a, *other = b;

    return *one < *other ? -1 : *one > *other;
}

static double median(struct live_figures *figures)
{
    qsort(figures->value, figures->count, sizeof figures->value[0], compare);
    return (figures->value[(figures->count - 1) / 2] + figures->value[figures->count / 2]) / 2;
}

void live_hold(struct validate_case *of, struct validate_finding *finding, struct live_figures *figures)
{
    const struct diagnose_baseline *baseline = of->plan->baseline;
    char why[VALIDATE_TEXT], unsteady[VALIDATE_TEXT];
    bool useless = is_useless(of->plan, why);
    double base = 0;

    if (figures->count < live_runs(of)) { /* a baseline of another machine says nothing at any other time either */
        if (baseline && useless)
            validate_skip(of, finding->subject, "%s", why);
        else
            live_skip_busy(of, finding->subject, figures->others, "its figure is neither judged nor kept");
        return;
    }
    finding->excuse = live_unsteady(of, &figures->steady, unsteady);
    if (finding->excuse && of->plan->signer) {
        validate_skip(of, finding->subject, "%s; its figure is not kept", finding->excuse);
        return;
    }
    finding->value = median(figures);
    if (!useless) {
        base = baseline_figure(baseline->live, baseline->lives, finding);
        snprintf(why, sizeof why, "the baseline has no figure of it");
    }
    finding->why = "it was better when the baseline was signed: another version of rocelab, a slower processor clock, "
                   "or faults on the wire";
    baseline_hold(of, finding, base, why);
}

void live_hold_program(struct validate_case *of, const struct live_program *program)
{
    bool time = live_is_time(program);
    char subject[VALIDATE_TEXT], name[VALIDATE_TEXT], runs[LIVE_RUNS_TEXT], why[VALIDATE_TEXT];
    struct live_figures figures = {0};

    snprintf(subject, sizeof subject, "%.200s: %s%s", live_pair_name(program, program->many, name),
             time ? "latency" : "bandwidth", live_runs_text(of, runs));
    if (of->plan->live_fault && is_useless(of->plan, why)) {
        validate_skip(of, subject, "with --fault it is only held against a baseline; %.250s", why);
        return;
    }
    for (uint32_t tried = 0; live_more(of, &figures, tried) && live_wait_idle(&figures); tried++) {
        struct live_pair pair = {.program = program, .fault = of->plan->live_fault};
        const char *wrong = live_pair_try(&pair);
        if (wrong && pair.others <= LIVE_BUSY_MOST) {
            validate_tell(of, VALIDATE_FAIL, subject, "it completes", "%s", wrong);
            return;
        }
        live_add(&figures, pair.figure, pair.others);
    }
    live_hold(of,
              &(struct validate_finding){.subject = subject,
                                         .criterion = time ? CRITERION_LIVE_LATENCY : CRITERION_LIVE_RATE,
                                         .unit = time ? VALIDATE_TIME : VALIDATE_RATE,
                                         .job = program->name,
                                         .bytes = program->bytes},
              &figures);
}
