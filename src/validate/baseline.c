/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What phase 4 measured, held against a signed baseline, and gathered for one.  The file is src/cli's.
 *
 * A value is known again by the name of its job or collective, ranks and bytes: of other sizes nothing is compared.
 */
#include <math.h>
#include <string.h>

#include "diagnose/baseline.h"
#include "fabric/owners.h"
#include "validate/case.h"

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
    char subject[VALIDATE_TEXT], words[VALIDATE_TEXT], number[VALIDATE_NUMBER];

    if (!baseline || !finding->job || (!rate && finding->criterion != CRITERION_JCT_RATIO)) return;
    double base = stored(baseline, finding);
    snprintf(subject, sizeof subject, "%.250s, against the baseline", finding->subject);
    if (base <= 0) {
        validate_skip(of, subject, "the baseline%s%s has no '%.100s' of these ranks and bytes",
                      baseline->level ? " of level " : "", baseline->level ? baseline->level : "", finding->job);
        return;
    }
    snprintf(words, sizeof words, "the baseline's %s", validate_number(finding->unit, base, number));
    validate_judge(of, &(struct validate_finding){.subject = subject,
                                                  .criterion = rate ? CRITERION_BASELINE_RATE : CRITERION_BASELINE_STEP,
                                                  .unit = finding->unit,
                                                  .value = finding->value,
                                                  .base = base,
                                                  .of = words,
                                                  .why = "it was better when the baseline was signed",
                                                  .source = finding->source});
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

bool validate_baseline(const struct validate *validate, struct arena *arena, struct diagnose_baseline *ret)
{
    struct diagnose_baseline_job *job =
        ARENA_NEW(arena, struct diagnose_baseline_job, validate->rows ? validate->rows : 1);

    *ret = (struct diagnose_baseline){.digest = validate->fabric->source_hash,
                                      .program = cache_program(),
                                      .by = validate->signer,
                                      .owner = fabric_owner(validate->fabric, "baseline"),
                                      .level = validate_level_names[validate->level],
                                      .job = job};
    for (uint32_t i = 0; job && i < validate->rows; i++) {
        const struct validate_row *row = &validate->row[i];
        if (row->job[0] == '\0' || isnan(row->value)) continue;
        struct diagnose_baseline_job *entry = entry_of(job, &ret->jobs, row);
        if (row->criterion == CRITERION_BUSBW) entry->busbw = row->value / 8;
        if (row->criterion == CRITERION_JCT_RATIO) entry->step_ns = row->value / (double)PS_NS;
        if (row->criterion == CRITERION_EXPOSED_SHARE) entry->exposed = row->value;
    }
    return job != NULL;
}
