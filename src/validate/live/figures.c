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

const char *live_unsteady(const struct validate_case *of, const struct machine_steady *steady)
{
    double deviation = machine_deviation(steady);

    if (of->plan->live_fault || deviation <= LIVE_UNSTEADY) return NULL;
    return case_text(
        of, "the machine is not steady: copies in memory on its processors deviated by %.0f %% between the runs",
        deviation * 100);
}

static bool same_machine(const struct baseline_machine *one, const struct baseline_machine *other)
{
    return strcmp(one->cpu, other->cpu) == 0 && strcmp(one->kernel, other->kernel) == 0 &&
           one->processors == other->processors;
}

/* Why nothing of the baseline holds for this machine; NULL: something may. */
static const char *is_useless(const struct validate_case *of)
{
    const struct validate *plan = of->plan;
    struct machine_name here;
    struct baseline_machine own;

    if (!plan->baseline)
        return plan->signer ? "a baseline is written with it, and none was given to hold it against"
                            : "no baseline: --live --write-baseline FILE --by NAME writes one, --baseline FILE holds "
                              "it against that";
    if (plan->baseline->lives == 0) return "the baseline has no figures of live programs: write it with --live";
    const struct baseline_machine *there = &plan->baseline->machine;
    own = machine_name(&here);
    if (same_machine(&own, there)) return NULL;
    return case_text(
        of, "the baseline is of another machine: %llu x %.60s, Linux %.40s; this one is %llu x %.60s, Linux %.40s",
        (unsigned long long)there->processors, there->cpu, there->kernel, (unsigned long long)own.processors, own.cpu,
        own.kernel);
}

uint32_t live_runs(const struct validate_case *of)
{
    if (of->plan->live_fault) return 1; /* what is lost is waited for, and no median is needed to find it */
    return of->plan->signer || !is_useless(of) ? RUNS : 1;
}

const char *live_runs_text(const struct validate_case *of)
{
    return live_runs(of) > 1 ? case_text(of, ", median of %u runs", live_runs(of)) : "";
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
    const char *useless = is_useless(of);
    double base = 0;

    if (figures->count < live_runs(of)) { /* a baseline of another machine says nothing at any other time either */
        if (baseline && useless)
            validate_skip(of, finding->subject, "%s", useless);
        else
            live_skip_busy(of, finding->subject, figures->others, "its figure is neither judged nor kept");
        return;
    }
    finding->excuse = live_unsteady(of, &figures->steady);
    if (validate_skip_if(of, finding->excuse && of->plan->signer, finding->subject, "%s; its figure is not kept",
                         finding->excuse))
        return;
    finding->value = median(figures);
    if (!useless) base = baseline_figure(baseline->live, baseline->lives, finding);
    finding->why = "it was better when the baseline was signed: another version of rocelab, a slower processor clock, "
                   "or faults on the wire";
    baseline_hold(of, finding, base, useless ? useless : "the baseline has no figure of it");
}

void live_hold_program(struct validate_case *of, const struct live_program *program)
{
    bool time = live_is_time(program);
    struct live_figures figures = {0};
    const char *useless = is_useless(of);
    const char *subject = case_text(of, "%.200s: %s%s", live_pair_name(of, program, program->many),
                                    time ? "latency" : "bandwidth", live_runs_text(of));

    if (validate_skip_if(of, of->plan->live_fault && useless, subject,
                         "with --fault it is only held against a baseline; %.250s", useless))
        return;
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
