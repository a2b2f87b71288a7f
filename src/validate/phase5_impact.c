/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, no impact: iterations while a spine is drained (routes avoid it, it is down, it is back), against iterations
 * without.
 *
 * An iteration is a message from each host to the next, the next one when all have arrived, as in training.  Steady
 * ones are of several runs, each with its own seed, because a hash draws other ways in each: what a drain costs must be
 * told from luck.  A drain has no impact where the slowest iteration of it is within the P99 of these; of less than a
 * hundred that is the slowest.  Where capacity is gone, so much more is allowed.
 */
#include <math.h>
#include <stdlib.h>

#include "fabric/fabric.h"
#include "fabric/override.h"
#include "study/each.h"
#include "validate/failures.h"

#define LONGEST_PS (10 * PS_S)
#define STEADY_ITERATIONS 6u
#define BEFORE 2u /* iterations before the drain begins */
#define DOWN_PS (200 * PS_US)

static const uint32_t seeds[VALIDATE_LEVELS] = {2, 4, 16};
static const ps_t lengths[VALIDATE_LEVELS] = {300 * PS_US, 500 * PS_US, 2 * PS_MS}; /* of an iteration at line rate */

struct iterations {
    double time[16 * STEADY_ITERATIONS];
    uint32_t count;
};

static bool run_iterations(struct validate_case *of, const struct failures *failures, const char *name, uint32_t count,
                           const char *fault, uint64_t seed, struct variant *variant)
{
    const struct sim_options options = {.threads = 1, .seed = seed};
    const char *const faults[] = {fault};
    const char *jobs =
        case_text(of, "[{permutation: 1, size: %lluB, ranks: %s, repeat: %u}]", (unsigned long long)failures->bytes,
                  case_list(of, failures->rank, failures->ranks), count);

    *variant = (struct variant){.fault = faults, .faults = 1};
    if (!of->fabric->converge.on)
        variant->override[variant->overrides++] = (struct fabric_override){"converge", failures->converge_text};
    bool good = variant_open(of, name, jobs, variant, &options);
    variant->fault = NULL; /* they are in the fabric by now, and the list is not to outlive this */
    variant->faults = 0;
    return good && variant_run(of, name, variant, LONGEST_PS);
}

static double iteration_time(const struct sim_job *job)
{
    return job->failed || job->end == PS_NEVER ? INFINITY : (double)(job->end - job->start);
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

/* In order; false after a row. */
static bool steady_iterations(struct validate_case *of, const struct failures *failures, struct iterations *ret)
{
    struct variant variant;

    ret->count = 0;
    for (uint32_t s = 0; s < seeds[of->plan->level]; s++) {
        if (!run_iterations(of, failures, "steady iterations", STEADY_ITERATIONS, "", of->plan->seed + s, &variant))
            return false;
        for (uint32_t j = 0; j < variant.result.jobs && j < STEADY_ITERATIONS; j++)
            ret->time[ret->count++] = iteration_time(&variant.result.job[j]);
        variant_close(&variant);
    }
    qsort(ret->time, ret->count, sizeof ret->time[0], ascending);
    if (ret->count && !isinf(ret->time[ret->count - 1])) return true;
    validate_tell(of, VALIDATE_FAIL, "steady iterations", "they complete", "some do not");
    return false;
}

static void judge_impact(struct validate_case *of, const char *name, const struct iterations *steady, double slowest,
                         const struct failures *failures)
{
    double p99 = steady->time[(uint64_t)steady->count * 99 / 100];
    uint64_t num = 1, den = 1;

    each_loss(of->fabric, failures->spine, FABRIC_NONE, &num, &den);
    const char *subject = case_text(of, "%s: slowest iteration%s", name, slowest <= p99 ? " (no impact)" : "");
    const char *words = case_text(of, "P99 of %u steady iterations, %s, x capacity before over after, %.3f",
                                  steady->count, case_number(of, VALIDATE_TIME, p99), (double)num / (double)den);
    JUDGE(of, .subject = subject, .criterion = CRITERION_IMPACT, .warn = CRITERION_IMPACT_WARN, .unit = VALIDATE_TIME,
          .value = slowest, .base = p99 * (double)num / (double)den, .of = words,
          .why = "what moved to other links is in the way of others there, or packets that came out of order were sent "
                 "again");
}

void test_impact(struct validate_case *of)
{
    static const char name[] = "drain of a spine";
    struct iterations steady;
    struct failures failures;
    struct variant variant;

    if (!failures_choose(of, lengths[of->plan->level], &failures)) return;
    if (validate_skip_if(of, failures.spine == FABRIC_NONE, "", "no switch can go without an adapter being cut off"))
        return;
    if (!steady_iterations(of, &failures, &steady)) return;
    ps_t at = BEFORE * (ps_t)steady.time[0], ahead = ps_add(failures_routes_ps(&failures), DOWN_PS);
    uint32_t count = BEFORE + (uint32_t)((double)ps_add(2 * ahead, DOWN_PS) / steady.time[0]) + 2;
    double slowest = 0;
    const char *fault = case_text(of, "drain %.64s at %lluns for %lluns ahead %lluns",
                                  of->fabric->node[failures.spine].name, in_ns(at), in_ns(DOWN_PS), in_ns(ahead));
    if (!run_iterations(of, &failures, name, count, fault, of->plan->seed, &variant)) return;
    for (uint32_t j = 0; j < variant.result.jobs; j++)
        if (variant.result.job[j].end > at) slowest = fmax(slowest, iteration_time(&variant.result.job[j]));
    variant_close(&variant);
    judge_impact(of, name, &steady, slowest, &failures);
}
