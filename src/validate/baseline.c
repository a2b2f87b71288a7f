/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What phase 4 measured, and what single programs reached here or on a cluster's hosts, held against a signed baseline,
 * and gathered for one.  The file's text is baseline_file.c's.
 *
 * A value is known again by the name of its job, collective or program, ranks and bytes: of other sizes nothing is
 * compared.  Figures of programs on this machine also by the machine (live/figures.c).
 */
#include <math.h>
#include <string.h>

#include "diagnose/baseline.h"
#include "fabric/handle.h"
#include "fabric/owners.h"
#include "validate/case.h"
#include "validate/live/machine.h"
#include "validate/measured/measured.h"

/* Of what is not known nothing is held against it. */
static bool alike(uint64_t one, uint64_t other)
{
    return one == 0 || other == 0 || one == other;
}

/* In the unit of a row: bits a second, picoseconds; 0: the baseline has none. */
static double stored(const struct diagnose_baseline *baseline, const struct validate_finding *finding)
{
    for (uint32_t i = 0; i < baseline->jobs; i++) {
        const struct diagnose_baseline_job *job = &baseline->job[i];
        double value = finding->criterion == CRITERION_BUSBW ? job->busbw * 8 : job->step_ns * (double)PS_NS;
        if (value > 0 && strcmp(job->job, finding->job) == 0 && alike(job->ranks, finding->ranks) &&
            alike(job->message_bytes, finding->bytes))
            return value;
    }
    return 0;
}

void baseline_judge(struct validate_case *of, const struct validate_finding *finding)
{
    const struct diagnose_baseline *baseline = of->plan->baseline;
    bool rate = finding->criterion == CRITERION_BUSBW;

    if (!baseline || !finding->job || (!rate && finding->criterion != CRITERION_JCT_RATIO)) return;
    double base = stored(baseline, finding);
    const char *subject = case_text(of, "%.250s, against the baseline", finding->subject);
    if (base <= 0) {
        struct validate_finding left = *finding;
        left.subject = subject;
        left.criterion = rate ? CRITERION_BASELINE_RATE : CRITERION_BASELINE_STEP;
        validate_leave(of, &left, "the baseline%s%s has no '%.100s' of these ranks and bytes",
                       baseline->level ? " of level " : "", baseline->level ? baseline->level : "", finding->job);
        return;
    }
    const char *words = case_text(of, "the baseline's %s", case_number(of, finding->unit, base));
    JUDGE(of, .subject = subject, .criterion = rate ? CRITERION_BASELINE_RATE : CRITERION_BASELINE_STEP,
          .unit = finding->unit, .value = finding->value, .base = base, .of = words,
          .why = "it was better when the baseline was signed", .job = finding->job, .ranks = finding->ranks,
          .bytes = finding->bytes, .source = finding->source);
}

static bool same_host(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

double baseline_figure(const struct diagnose_baseline_program *list, uint32_t count,
                       const struct validate_finding *finding)
{
    bool rate = finding->criterion == CRITERION_LIVE_RATE;

    for (uint32_t i = 0; i < count; i++) {
        double value = rate ? list[i].rate_bps : list[i].latency_ns * (double)PS_NS;
        if (value > 0 && strcmp(list[i].program, finding->job) == 0 && same_host(list[i].host, finding->host) &&
            list[i].message_bytes == finding->bytes)
            return value;
    }
    return 0;
}

void baseline_hold(struct validate_case *of, struct validate_finding *finding, double base, const char *lacking)
{
    if (base <= 0) {
        validate_leave(of, finding, "%s", lacking);
        return;
    }
    const char *words = case_text(of, "the baseline's %s", case_number(of, finding->unit, base));
    finding->base = base;
    finding->of = words;
    validate_judge(of, finding);
}

/* The entry of the row's job, a new one where there is none. */
static struct diagnose_baseline_job *entry_of(struct diagnose_baseline_job *job, uint32_t *jobs,
                                              const struct validate_row *row)
{
    for (uint32_t i = 0; i < *jobs; i++)
        if (strcmp(job[i].job, row->job) == 0 && job[i].ranks == row->ranks && job[i].message_bytes == row->bytes)
            return &job[i];
    job[*jobs] = (struct diagnose_baseline_job){
        .job = row->job, .ranks = row->ranks, .message_bytes = row->bytes, .exposed = -1};
    return &job[(*jobs)++];
}

/* Rows of programs that ran here. */
static void gather_live(const struct validate *validate, struct arena *arena, struct diagnose_baseline *ret)
{
    struct diagnose_baseline_program *live =
        ARENA_NEW(arena, struct diagnose_baseline_program, validate->rows ? validate->rows : 1);
    struct machine_name *name = ARENA_NEW(arena, struct machine_name, 1);

    for (uint32_t i = 0; i < validate->rows; i++) {
        const struct validate_row *row = &validate->row[i];
        bool rate = row->criterion == CRITERION_LIVE_RATE;
        if (row->job[0] == '\0' || isnan(row->value) || (!rate && row->criterion != CRITERION_LIVE_LATENCY)) continue;
        live[ret->lives++] = (struct diagnose_baseline_program){.program = row->job,
                                                                .message_bytes = row->bytes,
                                                                .rate_bps = rate ? row->value : 0,
                                                                .latency_ns = rate ? 0 : row->value / (double)PS_NS};
    }
    ret->live = live;
    ret->machine = machine_name(name);
}

void validate_baseline(const struct validate *validate, struct arena *arena, struct diagnose_baseline *ret)
{
    struct diagnose_baseline_job *job =
        ARENA_NEW(arena, struct diagnose_baseline_job, validate->rows ? validate->rows : 1);

    *ret = (struct diagnose_baseline){.digest = fabric_source_hash(validate->fabric),
                                      .program = cache_program(),
                                      .by = validate->signer,
                                      .owner = fabric_owner(validate->fabric, "baseline"),
                                      .level = validate_level_names[validate->level],
                                      .job = job};
    for (uint32_t i = 0; i < validate->rows; i++) {
        const struct validate_row *row = &validate->row[i];
        bool rate = row->criterion == CRITERION_BUSBW, exposed = row->criterion == CRITERION_EXPOSED_SHARE;
        bool step = row->criterion == CRITERION_JCT_RATIO || row->criterion == CRITERION_BASELINE_STEP;
        if (row->job[0] == '\0' || isnan(row->value) || !(rate || step || exposed)) continue;
        struct diagnose_baseline_job *entry = entry_of(job, &ret->jobs, row);
        if (rate) entry->busbw = row->value / 8;
        if (step) entry->step_ns = row->value / (double)PS_NS;
        if (exposed) entry->exposed = row->value;
    }
    if (validate->measured)
        measured_programs(validate->measured, arena, ret);
    else if (validate->live)
        gather_live(validate, arena, ret);
}
